//! Telling one, telling all, leaving; the condition variable, the barrier, the group, the cell over it or beside it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use leno::select::{Selected2, foreign, select_biased as select};
use leno::sync::{Barrier, Condvar, Mutex, Notify, OnceCell, WaitGroup};

use super::harness::atomic::{AtomicUsize, Ordering};
use super::harness::thread;
use super::support::{Woken, poll, poll_with, settle};

/// One that begins to wait meets the telling of one: it is told, or finds it kept.
pub(crate) fn notify_against_wait() {
    let notify = Arc::new(Notify::new());
    let other = Arc::clone(&notify);
    let telling = thread::spawn(move || other.notify_one());
    notify.notified().wait();
    telling.join().unwrap();
    assert!(poll(&mut notify.notified()).is_pending(), "told once");
    notify.assert_valid();
}

/// One that was made before all are told, and is polled for the first time meanwhile.
pub(crate) fn notify_all_against_wait() {
    let notify = Arc::new(Notify::new());
    let waiting = notify.notified();
    let other = Arc::clone(&notify);
    let telling = thread::spawn(move || other.notify_waiters());
    waiting.wait();
    telling.join().unwrap();
    notify.assert_valid();
}

/// The same behind another one that waits, and beside one of the next round.
pub(crate) fn notify_all_against_joining() {
    let notify = Arc::new(Notify::new());
    let (mut first, mut joining) = (notify.notified(), notify.notified());
    assert!(poll(&mut first).is_pending());
    let other = Arc::clone(&notify);
    let telling = thread::spawn(move || {
        other.notify_waiters();
        // In the line, of the next round.
        let mut next = other.notified();
        assert!(poll(&mut next).is_pending());
    });
    let woken = Woken::new();
    let polled = poll_with(&mut joining, &woken);
    telling.join().unwrap();
    assert!(polled.is_ready() || woken.count() > 0, "it was made before");
    assert!(settle(&mut first).is_ready());
    notify.assert_valid();
}

/// All are told, and one of them comes again at once: it is not told a second time.
pub(crate) fn notify_all_against_the_next_round() {
    // (Futures borrow it, and one goes to a thread.)
    let notify: &'static Notify = Box::leak(Box::new(Notify::new()));
    let mut first = notify.notified();
    assert!(poll(&mut first).is_pending());
    let again = thread::spawn(move || {
        first.wait();
        let mut next = notify.notified();
        assert!(poll(&mut next).is_pending());
        next
    });
    notify.notify_waiters();
    let mut next = again.join().unwrap();
    assert!(poll(&mut next).is_pending(), "it came after the round began");
    notify.assert_valid();
}

/// All are told, and one of them comes again and tells one: that is the one of the next round, and not one that was told.
pub(crate) fn notify_one_during_notify_all() {
    // (Futures borrow it, and one goes to a thread.)
    let notify: &'static Notify = Box::leak(Box::new(Notify::new()));
    let (mut first, mut early) = (notify.notified(), notify.notified());
    assert!(poll(&mut first).is_pending());
    let telling = thread::spawn(move || notify.notify_waiters());
    if poll(&mut early).is_ready() {
        let mut next = notify.notified();
        assert!(poll(&mut next).is_pending(), "nobody was told alone");
        notify.notify_one();
        telling.join().unwrap();
        assert!(settle(&mut next).is_ready(), "told alone");
    } else {
        telling.join().unwrap();
        assert!(settle(&mut early).is_ready());
    }
    assert!(settle(&mut first).is_ready());
    assert!(poll(&mut notify.notified()).is_pending(), "nothing is kept");
    notify.assert_valid();
}

/// One that is told is dropped meanwhile: the next one is told.
pub(crate) fn notified_dropped() {
    let notify = Arc::new(Notify::new());
    let mut leaving = notify.notified();
    assert!(poll(&mut leaving).is_pending());
    let mut behind = notify.notified();
    let woken = Woken::new();
    assert!(poll_with(&mut behind, &woken).is_pending());
    let other = Arc::clone(&notify);
    let telling = thread::spawn(move || other.notify_one());
    drop(leaving);
    telling.join().unwrap();
    assert!(woken.count() > 0, "told, or passed on");
    assert!(settle(&mut behind).is_ready());
    notify.assert_valid();
}

/// The same with nobody behind it: it is kept.
pub(crate) fn notified_dropped_alone() {
    let notify = Arc::new(Notify::new());
    let mut leaving = notify.notified();
    assert!(poll(&mut leaving).is_pending());
    let other = Arc::clone(&notify);
    let telling = thread::spawn(move || other.notify_one());
    drop(leaving);
    telling.join().unwrap();
    assert!(settle(&mut notify.notified()).is_ready(), "kept");
}

/// Two are told of while a select polls a future that is none of leno's: the select is told of one, and the other is kept.
pub(crate) fn notify_one_twice_against_a_select() {
    let notify = Arc::new(Notify::new());
    let mut never = poll_fn(|_| Poll::<()>::Pending);
    let mut selecting = select((notify.notified(), foreign(&mut never)));
    assert!(poll(&mut selecting).is_pending());
    let other = Arc::clone(&notify);
    let telling = thread::spawn(move || {
        other.notify_one();
        other.notify_one();
    });
    let early = poll(&mut selecting);
    telling.join().unwrap();
    assert!(early.is_ready() || settle(&mut selecting).is_ready(), "it waits");
    assert!(poll(&mut notify.notified()).is_ready(), "the other one is kept");
    assert!(poll(&mut notify.notified()).is_pending(), "two were told of");
    notify.assert_valid();
}

/// One is told of while a select polls a future that completes: the select takes note of it, or the next one in line is told.
pub(crate) fn notify_one_against_a_select_that_goes() {
    let notify = Arc::new(Notify::new());
    let mut polls = 0;
    let mut second = poll_fn(|_| {
        polls += 1;
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    });
    let mut notified = notify.notified();
    let mut selecting = select((&mut notified, foreign(&mut second)));
    assert!(poll(&mut selecting).is_pending());
    let mut behind = notify.notified();
    let woken = Woken::new();
    assert!(poll_with(&mut behind, &woken).is_pending());
    let other = Arc::clone(&notify);
    let telling = thread::spawn(move || other.notify_one());
    let early = poll(&mut selecting);
    telling.join().unwrap();
    let outcome = if early.is_ready() { early } else { settle(&mut selecting) };
    drop(selecting);
    match outcome {
        Poll::Ready(Selected2::First(())) => {
            assert!(woken.count() == 0 && poll(&mut behind).is_pending(), "one was told of");
        }
        Poll::Ready(Selected2::Second(())) => {
            assert!(poll(&mut notified).is_pending(), "it has lost");
            assert!(woken.count() > 0 && settle(&mut behind).is_ready(), "it is passed on");
        }
        Poll::Pending => panic!("one of the two has happened"),
    }
    notify.assert_valid();
}

/// A wait under a mutex meets who brings the condition about.
pub(crate) fn condvar_against_notify() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&shared);
    let telling = thread::spawn(move || {
        *other.0.lock_blocking() = true;
        other.1.notify_one();
    });
    let guard = shared.0.lock_blocking();
    assert!(*shared.1.wait_while(guard, |ready| !*ready).wait());
    telling.join().unwrap();
}

/// C11: the time of one that waits is up just when somebody is told: it says so, or the next one is told.
pub(crate) fn condvar_told_at_its_limit() {
    let shared = Arc::new((Mutex::new(()), Condvar::new()));
    let (mutex, condvar) = &*shared;
    let [first, mut next] = [(); 2].map(|()| {
        let mut waiting = condvar.wait(mutex.try_lock().unwrap());
        assert!(poll(&mut waiting).is_pending());
        waiting
    });
    let woken = Woken::new();
    assert!(poll_with(&mut next, &woken).is_pending());
    let other = Arc::clone(&shared);
    let telling = thread::spawn(move || other.1.notify_one());
    let (guard, result) = first.wait_timeout(Duration::ZERO);
    drop(guard);
    telling.join().unwrap();
    assert_eq!(woken.count() > 0, result.timed_out(), "one of the two was told");
    condvar.assert_valid();
}

/// A wait is dropped while it is told: the next one is, unless the first one has ended with that.
pub(crate) fn condvar_wait_dropped() {
    wait_dropped(false);
}

/// The same of one that has noted it, and waits for the lock. Planted bug: `condvar_keeps_what_it_was_told`.
pub(crate) fn condvar_wait_for_the_lock_dropped() {
    wait_dropped(true);
}

fn wait_dropped(is_locked: bool) {
    let shared = Arc::new((Mutex::new(()), Condvar::new()));
    let mut leaving = shared.1.wait(shared.0.try_lock().unwrap());
    assert!(poll(&mut leaving).is_pending());
    let mut behind = shared.1.wait(shared.0.try_lock().unwrap());
    let woken = Woken::new();
    assert!(poll_with(&mut behind, &woken).is_pending());
    let other = Arc::clone(&shared);
    let telling = thread::spawn(move || other.1.notify_one());
    let guard = is_locked.then(|| shared.0.try_lock().unwrap());
    let has_ended = poll(&mut leaving).is_ready();
    drop((leaving, guard));
    telling.join().unwrap();
    assert!(woken.count() > 0 || (has_ended && !is_locked), "one of the two was told");
}

/// One leaves a barrier for two while another one comes: it opens if the first one counted. Nobody counts after that.
pub(crate) fn barrier_cancel() {
    let barrier = Arc::new(Barrier::new(2));
    let mut leaving = barrier.wait_for_all();
    assert!(poll(&mut leaving).is_pending());
    let other = Arc::clone(&barrier);
    let coming = thread::spawn(move || {
        let mut coming = other.wait_for_all();
        settle(&mut coming).map(|result| assert!(result.is_leader())).is_ready()
    });
    drop(leaving);
    // The one that came, if it has not opened it, has left again by now.
    let _opened = coming.join().unwrap();
    let mut one = barrier.wait_for_all();
    assert!(poll(&mut one).is_pending(), "nobody else counts");
    assert!(settle(&mut barrier.wait_for_all()).is_ready());
    assert!(settle(&mut one).is_ready());
    barrier.assert_valid();
}

/// Two come and leave again, at one time: nobody counts after that.
pub(crate) fn barrier_two_leave() {
    let barrier = Arc::new(Barrier::new(3));
    let other = Arc::clone(&barrier);
    let leaving = thread::spawn(move || assert!(poll(&mut other.wait_for_all()).is_pending()));
    assert!(poll(&mut barrier.wait_for_all()).is_pending());
    leaving.join().unwrap();
    let (mut one, mut two) = (barrier.wait_for_all(), barrier.wait_for_all());
    assert!(poll(&mut one).is_pending() && poll(&mut two).is_pending(), "nobody else counts");
    assert!(settle(&mut barrier.wait_for_all()).is_ready());
    assert!(settle(&mut one).is_ready() && settle(&mut two).is_ready());
    barrier.assert_valid();
}

/// Two come at one time. Each sees then what the other one did before it came.
pub(crate) fn barrier_of_two() {
    let barrier = Arc::new(Barrier::new(2));
    let did = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let come = |own: usize| {
        let (barrier, did) = (Arc::clone(&barrier), Arc::clone(&did));
        move || {
            did[own].store(1, Ordering::Relaxed);
            let is_leader = barrier.wait_for_all().wait().is_leader();
            assert_eq!(did[1 - own].load(Ordering::Relaxed), 1, "the other one has come");
            is_leader
        }
    };
    let coming = thread::spawn(come(0));
    let is_leader = come(1)();
    assert!(is_leader != coming.join().unwrap(), "one leads");
    barrier.assert_valid();
}

/// The last worker is done while somebody begins to wait.
pub(crate) fn group_against_wait() {
    let group = WaitGroup::new();
    let worker = group.worker();
    let working = thread::spawn(move || drop(worker));
    group.wait_all().wait();
    working.join().unwrap();
    group.assert_valid();
}

/// Who sees that nobody is at work, and uses the group again, waits for the new worker.
pub(crate) fn group_used_again() {
    let group = WaitGroup::new();
    let worker = group.worker();
    let working = thread::spawn(move || drop(worker));
    if poll(&mut group.wait_all()).is_pending() {
        return working.join().unwrap();
    }
    let worker = group.worker();
    let mut waiting = group.wait_all();
    assert!(poll(&mut waiting).is_pending(), "one is at work");
    working.join().unwrap();
    assert!(poll(&mut waiting).is_pending(), "the last of those before has told those of its round only");
    drop(worker);
    assert!(poll(&mut waiting).is_ready());
    group.assert_valid();
}

/// Two need the value: it is made once, and seen by both.
pub(crate) fn once_twice() {
    let cell = Arc::new(OnceCell::new());
    let other = Arc::clone(&cell);
    let making = thread::spawn(move || *other.get_or_init_blocking(|| 1));
    let value = *cell.get_or_init_blocking(|| 2);
    assert_eq!(making.join().unwrap(), value);
}

/// Who makes it is dropped while another one waits, or begins to: that one makes it.
pub(crate) fn once_against_cancel() {
    let cell = Arc::new(OnceCell::new());
    let making = Arc::clone(&cell);
    let mut making = Box::pin(async move { *making.get_or_init(std::future::pending).await });
    assert!(poll(&mut making).is_pending());
    let other = Arc::clone(&cell);
    let waiting = thread::spawn(move || *other.get_or_init_blocking(|| 1));
    drop(making);
    assert_eq!(waiting.join().unwrap(), 1);
    assert_eq!(cell.get(), Some(&1));
}

/// Two fill it: one of them does; who looks meanwhile sees nothing, or the value.
pub(crate) fn once_filled_twice() {
    let cell = Arc::new(OnceCell::new());
    let other = Arc::clone(&cell);
    let filling = thread::spawn(move || other.set(7).is_ok());
    let filled = cell.set(8).is_ok();
    let expected = if filled { 8 } else { 7 };
    assert!(cell.get().is_none_or(|value| *value == expected));
    assert!(filled != filling.join().unwrap(), "one of the two");
    assert_eq!(cell.get(), Some(&expected));
}
