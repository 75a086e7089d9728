//! At the edges: threads that end, and other crates' garbage.

use super::super::model::Queue;
use super::super::node::{Hand, Waiter};
use super::super::queue;
use super::{Recv, come_back, wait};
use crate::prim::{Arc, AtomicUsize, Ordering, thread};

/// A node that is taken after the thread's cache has gone is as new as any other.
#[test]
fn nodes_at_the_end_of_a_thread() {
    struct Late(Arc<AtomicUsize>);

    impl Drop for Late {
        fn drop(&mut self) {
            let queue = queue::Queue::new();
            let anchor = Waiter::anchor();
            for branch in 0..3 {
                let waiter = Waiter::branch(&anchor, branch);
                if waiter.hand() != Hand::Queue {
                    return;
                }
                // SAFETY: a new node.
                let entered = unsafe { queue.enter(queue::Side::Recv, waiter.as_ref()) };
                assert!(matches!(entered, queue::Entered::Waits));
                // The select is BUSY, so that the peer gives the node back.
                assert!(queue.take(queue::Side::Recv).expect("it waits").claim().is_none());
                waiter.part();
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    std::thread_local! {
        static LATE: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) };
    }

    let count = Arc::new(AtomicUsize::new(0));
    let late = Late(Arc::clone(&count));
    let thread = thread::Builder::new().spawn(|| {
        // Made before the cache, and so dropped after it.
        LATE.set(Some(late));
        let queue = Queue::new();
        let entry = wait(&queue, Recv, 1);
        assert_eq!(queue.leave(entry), Ok(()));
    });
    let thread = thread.expect("the thread starts");
    thread.join().expect("nothing panics as the thread ends");
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

/// What others have deferred in crossbeam's shared collector does not run inside the queue, under its lock.
#[test]
fn other_crates_garbage_is_not_collected_here() {
    let queue = Arc::new(Queue::new());
    let standing = [(1, 7), (2, 8)].map(|(number, rank)| come_back(&queue, Recv, number, rank));
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..2000 {
        let (queue, ran) = (Arc::clone(&queue), Arc::clone(&ran));
        crossbeam_epoch::pin().defer(move || {
            ran.fetch_add(1, Ordering::Relaxed);
            queue.assert_valid();
        });
    }
    let before = ran.load(Ordering::Relaxed);
    for _ in 0..5000 {
        let entry = come_back(&queue, Recv, 3, 9);
        assert_eq!(queue.leave(entry), Ok(()));
    }
    assert_eq!(ran.load(Ordering::Relaxed), before);
    for entry in standing {
        assert_eq!(queue.leave(entry), Ok(()));
    }
}
