//! Permits: handing over, large and small wishes, leaving, closing.

use leno::sync::Semaphore;

use super::harness::{Arc, thread};
use super::support::{Woken, poll, poll_with, settle};

/// std's, which add no switch points; the semaphore is what orders the two.
type Shared = std::sync::Arc<Semaphore>;

fn semaphore_of_none() -> Semaphore {
    Semaphore::new(0)
}

fn semaphore(permits: usize) -> Shared {
    Shared::new(Semaphore::new(permits))
}

/// At most one has the only permit; what one did under it the other sees.
pub(crate) fn exclusion() {
    let semaphore = semaphore(1);
    let value = Arc::new(loom_cell());
    let (other, same) = (Shared::clone(&semaphore), Arc::clone(&value));
    let counting = thread::spawn(move || {
        let _permit = other.acquire().wait().unwrap();
        add_one(&same);
    });
    let permit = semaphore.acquire().wait().unwrap();
    add_one(&value);
    drop(permit);
    counting.join().unwrap();
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}

#[cfg(leno_loom)]
type Value = loom::cell::UnsafeCell<usize>;
#[cfg(leno_shuttle)]
type Value = std::sync::Mutex<usize>;

fn loom_cell() -> Guarded {
    Guarded(Value::new(0))
}

struct Guarded(Value);

// SAFETY: the semaphore under test lets one in at a time; loom says so if it does not.
unsafe impl Send for Guarded {}
// SAFETY: as above.
unsafe impl Sync for Guarded {}

#[cfg(leno_loom)]
fn add_one(value: &Guarded) {
    // SAFETY: as above.
    value.0.with_mut(|value| unsafe { *value += 1 });
}

#[cfg(leno_shuttle)]
fn add_one(value: &Guarded) {
    *value.0.lock().unwrap() += 1;
}

/// A waiter that was granted a permit is dropped while, or after, it is handed over: the one behind it gets it.
pub(crate) fn grant_against_drop() {
    let semaphore = semaphore(0);
    let mut leaving = semaphore.acquire_arc();
    assert!(poll(&mut leaving).is_pending());
    let mut behind = semaphore.acquire();
    let woken = Woken::new();
    assert!(poll_with(&mut behind, &woken).is_pending());
    let dropping = thread::spawn(move || drop(leaving));
    semaphore.add_permits(1);
    dropping.join().unwrap();
    assert!(woken.count() > 0, "granted");
    assert!(settle(&mut behind).is_ready());
    drop(behind);
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}

/// A give-back meets one that begins to wait.
pub(crate) fn release_against_wait() {
    let semaphore = semaphore(1);
    let permit = std::sync::Arc::clone(&semaphore).try_acquire_arc().unwrap();
    let releasing = thread::spawn(move || drop(permit));
    drop(semaphore.acquire().wait().unwrap());
    releasing.join().unwrap();
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}

/// Two give back one each, for one that wants two.
pub(crate) fn two_releases_for_a_large_one() {
    let semaphore = semaphore(2);
    let held = [(); 2].map(|()| semaphore.try_acquire_arc().unwrap());
    let mut large = semaphore.acquire_many(2);
    let woken = Woken::new();
    assert!(poll_with(&mut large, &woken).is_pending());
    let releasing = held.map(|permit| thread::spawn(move || drop(permit)));
    for thread in releasing {
        thread.join().unwrap();
    }
    assert!(woken.count() > 0, "two are free");
    assert!(settle(&mut large).is_ready());
    drop(large);
    assert_eq!(semaphore.available_permits(), 2);
    semaphore.assert_valid();
}

/// A large one that is first leaves while a permit comes back that is too few for it: the small one behind it gets that.
pub(crate) fn large_leaves_against_release() {
    let semaphore = semaphore(1);
    let permit = semaphore.try_acquire_arc().unwrap();
    let mut large = semaphore.acquire_many_arc(2);
    assert!(poll(&mut large).is_pending());
    let mut small = semaphore.acquire();
    let woken = Woken::new();
    assert!(poll_with(&mut small, &woken).is_pending());
    let leaving = thread::spawn(move || drop(large));
    drop(permit);
    leaving.join().unwrap();
    assert!(woken.count() > 0, "one is free, and nobody else is in line");
    assert!(settle(&mut small).is_ready());
    drop(small);
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}

/// One comes back, too little for the large one, and two, enough for it: what is in the pot then is for the small one behind.
pub(crate) fn a_small_release_against_a_large_one() {
    let semaphore = semaphore(3);
    let (one, two) = (semaphore.try_acquire_arc().unwrap(), semaphore.try_acquire_many_arc(2).unwrap());
    let (mut large, mut small) = (semaphore.acquire_many(2), semaphore.acquire());
    let woken = [Woken::new(), Woken::new()];
    assert!(poll_with(&mut large, &woken[0]).is_pending());
    assert!(poll_with(&mut small, &woken[1]).is_pending());
    let releasing = thread::spawn(move || drop(one));
    drop(two);
    releasing.join().unwrap();
    assert!(woken.iter().all(|woken| woken.count() > 0), "three are free");
    assert!(settle(&mut large).is_ready());
    assert!(settle(&mut small).is_ready());
    assert_eq!(semaphore.available_permits(), 3);
    semaphore.assert_valid();
}

/// A large one begins to wait where one is free, while another one comes back.
pub(crate) fn large_waits_against_release() {
    let semaphore = semaphore(2);
    let permit = semaphore.try_acquire_arc().unwrap();
    let releasing = thread::spawn(move || drop(permit));
    let large = semaphore.acquire_many(2).wait().unwrap();
    releasing.join().unwrap();
    drop(large);
    assert_eq!(semaphore.available_permits(), 2);
    semaphore.assert_valid();
}

/// One comes back for a large one and a small one, each of a thread; a second one then.
pub(crate) fn large_and_small() {
    let semaphore = semaphore(2);
    let permit = semaphore.try_acquire_arc().unwrap();
    let wishes = [2, 1].map(|n| {
        let semaphore = Shared::clone(&semaphore);
        thread::spawn(move || drop(semaphore.acquire_many(n).wait().unwrap()))
    });
    drop(permit);
    for wish in wishes {
        wish.join().unwrap();
    }
    assert_eq!(semaphore.available_permits(), 2);
    semaphore.assert_valid();
}

/// The large one leaves while the small one joins behind it and a permit comes back.
pub(crate) fn small_joins_against_large_leaving() {
    let semaphore = semaphore(1);
    let mut large = semaphore.acquire_many_arc(2);
    assert!(poll(&mut large).is_pending());
    let other = Shared::clone(&semaphore);
    let small = thread::spawn(move || drop(other.acquire().wait().unwrap()));
    drop(large);
    small.join().unwrap();
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}

/// A large one joins behind one that is served just then, is the first of the next line for a moment, and looks again: the small
/// one behind it gets what was too little for it.
pub(crate) fn large_is_first_for_a_moment() {
    let semaphore = semaphore(0);
    let mut first = semaphore.acquire();
    assert!(poll(&mut first).is_pending());
    let other = Shared::clone(&semaphore);
    let granting = thread::spawn(move || other.add_permits(1));
    let other = Shared::clone(&semaphore);
    let serving = thread::spawn(move || {
        let mut small = [(); 2].map(|()| Shared::clone(&other).acquire_arc());
        small.iter_mut().for_each(|small| _ = poll(small).is_pending());
        other.add_permits(2);
        small
    });
    let mut large = semaphore.acquire_many(2);
    let _large = poll(&mut large).is_ready();
    granting.join().unwrap();
    let _small = serving.join().unwrap();
    semaphore.assert_valid();
}

/// A close meets one that begins to wait: it waits for nothing.
pub(crate) fn close_against_acquire() {
    let semaphore = semaphore(0);
    let other = Shared::clone(&semaphore);
    let closing = thread::spawn(move || assert!(other.close()));
    assert!(semaphore.acquire().wait().is_err());
    closing.join().unwrap();
    semaphore.assert_valid();
}

/// A close meets a grant, and one that leaves: no permit is lost.
pub(crate) fn close_against_release() {
    let semaphore = semaphore(0);
    let (mut first, mut second) = (semaphore.acquire(), semaphore.acquire());
    let woken = [Woken::new(), Woken::new()];
    assert!(poll_with(&mut first, &woken[0]).is_pending());
    assert!(poll_with(&mut second, &woken[1]).is_pending());
    let other = Shared::clone(&semaphore);
    let adding = thread::spawn(move || other.add_permits(1));
    semaphore.close();
    adding.join().unwrap();
    assert!(woken.iter().all(|woken| woken.count() > 0), "granted, or closed");
    let _ = settle(&mut first).is_ready();
    drop(second);
    drop(first);
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}

/// A permit comes back after the close was seen, which has not told the one that waits: that one gets nothing.
pub(crate) fn release_against_a_close_that_is_seen() {
    let semaphore = semaphore(1);
    let permit = semaphore.try_acquire_arc().unwrap();
    let mut waiting = semaphore.acquire();
    assert!(poll(&mut waiting).is_pending());
    let looking = thread::spawn(move || {
        let is_closed = permit.semaphore().is_closed();
        drop(permit);
        is_closed
    });
    semaphore.close();
    let is_closed = looking.join().unwrap();
    match settle(&mut waiting) {
        std::task::Poll::Ready(outcome) => assert!(outcome.is_err() || !is_closed, "nobody gets any more"),
        std::task::Poll::Pending => panic!("granted, or closed"),
    }
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}

/// Two add as many as there is room for, at one time: one of them is refused.
pub(crate) fn add_twice_too_many() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let semaphore = semaphore(1);
    let add = |semaphore: &Semaphore| {
        catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(Semaphore::MAX_PERMITS - 1))).is_ok()
    };
    let other = Shared::clone(&semaphore);
    let adding = thread::spawn(move || add(&other));
    let added = add(&semaphore);
    assert!(added != adding.join().unwrap(), "one of the two");
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
    semaphore.assert_valid();
}

/// A select over two semaphores, both of which get a permit: it has one, and the other is free.
pub(crate) fn select_against_two_releases() {
    use leno::select::{Selected2, select};
    let (a, b) = (semaphore(0), semaphore(0));
    let mut selecting = select((a.acquire(), b.acquire()));
    assert!(poll(&mut selecting).is_pending());
    let adding = [&a, &b].map(|semaphore| {
        let semaphore = Shared::clone(semaphore);
        thread::spawn(move || semaphore.add_permits(1))
    });
    for thread in adding {
        thread.join().unwrap();
    }
    match settle(&mut selecting) {
        std::task::Poll::Ready(Selected2::First(permit) | Selected2::Second(permit)) => {
            let _permit = permit.unwrap();
            assert_eq!(a.available_permits() + b.available_permits(), 1);
        }
        std::task::Poll::Pending => panic!("both are free"),
    }
    assert_eq!((a.available_permits(), b.available_permits()), (1, 1));
}

/// A select with a large wish loses while a permit comes back.
pub(crate) fn large_branch_loses_against_release() {
    let semaphore = semaphore(0);
    let mut small = semaphore.acquire();
    let woken = Woken::new();
    {
        let other = semaphore_of_none();
        let mut selecting = leno::select::select((semaphore.acquire_many(2), other.acquire()));
        assert!(poll(&mut selecting).is_pending());
        assert!(poll_with(&mut small, &woken).is_pending());
        let adder = Shared::clone(&semaphore);
        let adding = thread::spawn(move || adder.add_permits(1));
        other.add_permits(1);
        assert!(settle(&mut selecting).is_ready());
        adding.join().unwrap();
    }
    assert!(woken.count() > 0, "one is free, and nobody else is in line");
    assert!(settle(&mut small).is_ready());
    drop(small);
    assert_eq!(semaphore.available_permits(), 1);
    semaphore.assert_valid();
}
