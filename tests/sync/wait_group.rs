//! `WaitGroup`: M7, M8.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use leno::select::{Selected2, select};
use leno::sync::{WaitAll, WaitGroup, Worker};

use crate::support::{Crew, Place, PollExt};
use crate::{each_place, impls};

/// None more is counted than can be, and none is lost for it.
#[test]
fn as_many_as_can_be() {
    let group = WaitGroup::new();
    let worker = group.worker();
    group.add(u32::MAX as usize - 2);
    let last = worker.clone();
    assert!(catch_unwind(AssertUnwindSafe(|| group.add(1))).is_err(), "too many");
    assert!(catch_unwind(AssertUnwindSafe(|| group.add(usize::MAX))).is_err(), "too many");
    assert!(catch_unwind(AssertUnwindSafe(|| group.worker())).is_err(), "too many");
    assert!(catch_unwind(AssertUnwindSafe(|| last.clone())).is_err(), "too many");
    assert_eq!(group.count(), u32::MAX as usize);
    group.done();
    drop((group.worker(), last));
    assert_eq!(group.count(), u32::MAX as usize - 2);
    group.assert_valid();
}

#[test]
fn all_are_waited_for() {
    let group = WaitGroup::new();
    group.wait_all().must_be_ready("nobody is at work");
    let worker = group.worker();
    let more = worker.clone();
    group.add(1);
    assert_eq!(group.count(), 3);
    let (mut first, mut second) = (group.wait_all(), group.wait_all());
    let woken = [first.must_wait("three"), second.must_wait("three")];
    drop(worker);
    group.done();
    first.must_wait("one");
    assert!(group.wait_all().wait_timeout(Duration::ZERO).is_err());
    assert!(!woken[1].was_woken());
    drop(more);
    assert!(woken[1].was_woken());
    first.must_be_ready("none");
    let _again = group.worker();
    second.must_be_ready("there was a moment at which nobody was at work");
    group.wait_all().must_wait("one is at work again");
    group.assert_valid();
    let empty = WaitGroup::default();
    assert!(catch_unwind(AssertUnwindSafe(|| empty.done())).is_err(), "there is none");
    assert_eq!(empty.count(), 0);
    empty.wait_all().wait();
    let one = empty.worker();
    assert!(catch_unwind(AssertUnwindSafe(|| empty.add(u32::MAX as usize))).is_err(), "too many");
    assert_eq!(empty.count(), 1, "none was added");
    drop(one);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _worker = empty.worker();
        panic!("planted");
    }));
    assert!(panicked.is_err());
    empty.clone().wait_all().must_be_ready("a panic ends a worker, too");
    // One is counted down instead of a worker: that shows when the worker goes, unless there is a panic already.
    let worker = empty.worker();
    empty.done();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(worker))).is_err(), "more are done than there were");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _worker = empty.worker();
        empty.done();
        resume_unwind(Box::new("planted"));
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"planted"));
    assert_eq!(empty.count(), 0);
}

#[test]
fn a_branch_of_a_select() {
    let (group, (tx, rx)) = (WaitGroup::new(), leno::bounded(1));
    let worker = group.worker();
    let mut selecting = select((group.wait_all(), rx.recv()));
    let woken = selecting.must_wait("neither");
    drop(worker);
    assert!(woken.was_woken());
    assert!(matches!(selecting.must_be_ready("none"), Selected2::First(())));
    let _worker = group.worker();
    let mut selecting = select((group.wait_all(), rx.recv()));
    selecting.must_wait("neither");
    tx.try_send(1).expect("room");
    assert!(matches!(selecting.must_be_ready("sent"), Selected2::Second(Ok(1))));
    group.assert_valid();
}

/// M7.
#[test]
fn ten_thousand_waiters() {
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
        let group = WaitGroup::new();
        let worker = group.worker();
        let mut waits = (0..10_000).map(|_| group.wait_all()).collect::<Vec<_>>();
        waits.iter_mut().for_each(|wait| assert!(wait.poll_with(Waker::noop()).is_pending()));
        drop(worker);
        waits.iter_mut().for_each(|wait| wait.must_be_ready("M7"));
    });
    small.expect("a thread starts").join().expect("M7: no deep recursion");
}

/// M8: workers and those who wait for them, in all places.
fn workers(places: &[Place]) {
    let group = WaitGroup::new();
    let done = Arc::new(AtomicUsize::new(0));
    let mut crew = Crew::new("M8: workers", places);
    for member in 0..8 {
        let worker = (member % 2 == 0).then(|| group.worker());
        let (group, done) = (group.clone(), Arc::clone(&done));
        crew.add(move |at| async move {
            let Some(worker) = worker else {
                match at {
                    Place::Thread => group.wait_all().wait(),
                    _ => group.wait_all().await,
                }
                assert_eq!(done.load(Ordering::Relaxed), 400, "what they did is seen");
                return;
            };
            for _ in 0..100 {
                done.fetch_add(1, Ordering::Relaxed);
                at.pause().await;
            }
            drop(worker);
        });
    }
    crew.run();
    assert_eq!(group.count(), 0);
}

each_place!(workers);

#[test]
fn auto_traits() {
    const {
        assert!(impls!(WaitGroup: Send + Sync + Clone) && impls!(Worker: Send + Sync + Clone));
        assert!(impls!(WaitAll<'static>: Send + Unpin));
    }
}

/// S13: a wait that was over in a set that is dropped stays over, though somebody works again.
#[test]
fn what_was_over_in_a_select_that_was_dropped_stays_over() {
    let group = WaitGroup::new();
    let mut waiting = group.wait_all();
    let mut set = leno::select::Select::new();
    set.add(&mut waiting);
    assert!(set.try_select().is_some(), "nobody works");
    drop(set);
    let worker = group.worker();
    waiting.must_be_ready("nobody worked");
    drop(worker);
}
