//! Floors: what the instructions cost of which queues are made, without any queue, on one thread.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::work::Run;

/// A name, and what takes the time of a number of operations.
pub(crate) type Floor = (&'static str, fn(u64) -> Run);

/// What a lock-free list can do at best costs a pin and one compare-exchange to enter, two to take, and one to claim.
pub(crate) const ALL: [Floor; 6] = [
    ("compare-exchange", |ops| {
        let word = Word::new();
        time(ops, || word.change())
    }),
    ("pin", |ops| time(ops, || drop(black_box(crossbeam_epoch::pin())))),
    ("lock and unlock", |ops| {
        let lock = Mutex::new(0);
        time(ops, || *black_box(&lock).lock().expect("nothing panics under the lock") += 1)
    }),
    ("a stay in a word: enter, take, claim", |ops| {
        let (queue, waiter) = (Word::new(), Word::new());
        time(ops, || {
            queue.change();
            queue.change();
            waiter.change();
        })
    }),
    ("a stay in a lock-free list: pin, enter; pin, mark, unlink, claim", |ops| {
        let (queue, link, waiter) = (Word::new(), Word::new(), Word::new());
        time(ops, || {
            {
                let _pin = black_box(crossbeam_epoch::pin());
                queue.change();
            }
            let _pin = black_box(crossbeam_epoch::pin());
            link.change();
            queue.change();
            waiter.change();
        })
    }),
    ("a stay in a list under a lock: lock, enter; lock, take, claim", |ops| {
        let (queue, waiter) = (Mutex::new(0), Word::new());
        time(ops, || {
            *black_box(&queue).lock().expect("nothing panics under the lock") += 1;
            *black_box(&queue).lock().expect("nothing panics under the lock") -= 1;
            waiter.change();
        })
    }),
];

#[repr(align(64))]
struct Word(AtomicUsize);

impl Word {
    fn new() -> Word {
        Word(AtomicUsize::new(0))
    }

    fn change(&self) {
        let word = black_box(&self.0);
        let seen = word.load(Ordering::Acquire);
        let changed = word.compare_exchange(seen, seen + 1, Ordering::AcqRel, Ordering::Acquire);
        assert_eq!(changed, Ok(seen));
    }
}

fn time(ops: u64, mut op: impl FnMut()) -> Run {
    Run::of(|| {
        (0..ops).for_each(|_| op());
        ops
    })
}
