//! `Condvar`: M2, M7, M8.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;
use leno::fiber::Cord;
use leno::sync::{Condvar, CondvarWait, Mutex};

use crate::support::{Crew, Place, PollExt, within};
use crate::{each_place, impls};

/// A wait unlocks once it stands in line, and has the lock again when it is told; nobody else is told.
#[test]
fn a_wait_unlocks_and_locks() {
    for mutex in [Mutex::new(0), Mutex::fair(0)] {
        let condvar = Condvar::new();
        let mut first = condvar.wait(mutex.try_lock().expect("free"));
        assert!(mutex.try_lock().is_none(), "locked until it is polled");
        let woken = first.must_wait("not told");
        let mut second = condvar.wait(mutex.try_lock().expect("unlocked"));
        let second_woken = second.must_wait("not told");
        *mutex.try_lock().expect("unlocked") += 1;
        condvar.notify_one();
        assert!(woken.was_woken() && !second_woken.was_woken(), "the first, alone");
        let guard = mutex.try_lock().expect("it has not run yet");
        let woken = first.must_wait("told, and somebody has the lock");
        drop(guard);
        assert!(woken.was_woken());
        let guard = first.must_be_ready("told, and unlocked");
        assert_eq!(*guard, 1);
        second.must_wait("not told");
        drop(guard);
        condvar.notify_all();
        drop(second.must_be_ready("told"));
        condvar.notify_one();
        let mut third = condvar.wait(mutex.try_lock().expect("free"));
        third.must_wait("nothing is kept");
        drop(third);
        condvar.assert_valid();
        mutex.assert_valid();
        assert!(mutex.try_lock().is_some());
    }
}

/// Waits with several mutexes at a time: each locks its own.
#[test]
fn each_wait_has_its_own_mutex() {
    let (one, other) = (Mutex::new(1), Mutex::fair("two"));
    let condvar = Condvar::new();
    let mut first = condvar.wait(one.try_lock().expect("free"));
    let mut second = condvar.wait(other.try_lock().expect("free"));
    first.must_wait("not told");
    second.must_wait("not told");
    let held = one.try_lock().expect("unlocked");
    condvar.notify_all();
    assert_eq!(*second.must_be_ready("told, and nobody has its mutex"), "two");
    first.must_wait("told, and somebody has its mutex");
    drop(held);
    assert_eq!(*first.must_be_ready("told"), 1);
    condvar.assert_valid();
}

/// M2: told and dropped, before or while it locks: the next one is told.
#[test]
fn a_wait_that_is_dropped_passes_it_on() {
    for locks in [false, true] {
        let (mutex, condvar) = (Mutex::new(0), Condvar::new());
        let mut first = condvar.wait(mutex.try_lock().expect("free"));
        first.must_wait("not told");
        let mut second = condvar.wait(mutex.try_lock().expect("free"));
        let woken = second.must_wait("not told");
        condvar.notify_one();
        if locks {
            let guard = mutex.try_lock().expect("free");
            first.must_wait("told, and somebody has the lock");
            drop(guard);
        }
        drop(first);
        assert!(woken.was_woken(), "M2");
        drop(second.must_be_ready("M2"));
        condvar.assert_valid();
        assert!(mutex.try_lock().is_some(), "M1");
    }
    // Never polled: it has the lock, and gives that up.
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    drop(condvar.wait(mutex.try_lock().expect("free")));
    assert!(mutex.try_lock().is_some());
}

/// `wait_while` waits as long as the condition holds.
#[test]
fn waits_while() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    drop(condvar.wait_while(mutex.try_lock().expect("free"), |n| *n > 0).must_be_ready("it is 0"));
    let mut waiting = condvar.wait_while(mutex.try_lock().expect("free"), |n| *n < 2);
    waiting.must_wait("it is 0");
    for expected in 1..=2 {
        *mutex.try_lock().expect("unlocked") += 1;
        condvar.notify_one();
        if expected < 2 {
            waiting.must_wait("it is 1");
        }
    }
    assert_eq!(*waiting.must_be_ready("it is 2"), 2);
}

/// Limits for threads: the lock is had again, told or not.
#[test]
fn limits() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let (guard, result) = condvar.wait_timeout(mutex.lock_blocking(), Duration::ZERO);
    assert!(result.timed_out());
    let (guard, result) = condvar.wait(guard).wait_deadline(Instant::now());
    assert!(result.timed_out());
    let (guard, result) = condvar.wait_timeout_while(guard, Duration::from_millis(1), |n| *n == 0);
    assert!(result.timed_out() && mutex.try_lock().is_none());
    let (guard, result) = condvar.wait_timeout_while(guard, Duration::ZERO, |n| *n == 1);
    assert!(!result.timed_out(), "it need not wait");
    let (guard, result) = condvar.wait_while(guard, |n| *n == 0).wait_deadline(Instant::now());
    assert!(result.timed_out());
    // One that waits as a future goes on where it is.
    let mut waiting = condvar.wait_while(guard, |n| *n == 0);
    waiting.must_wait("it is 0");
    *mutex.try_lock().expect("unlocked") = 1;
    let (guard, result) = waiting.wait_timeout(Duration::ZERO);
    assert!(!result.timed_out() && *guard == 1, "not told, but the condition holds no more");
    drop(guard);
    condvar.notify_one();
    condvar.assert_valid();
}

/// C25: on a cord a wait that blocks panics, also if its condition does not hold.
#[test]
fn a_wait_that_need_not_wait_panics_on_a_cord() {
    let misuses: [fn(&Mutex<u32>, &Condvar); 2] = [
        |mutex, condvar| drop(condvar.wait_while(mutex.try_lock().expect("free"), |_| false).wait()),
        |mutex, condvar| {
            let guard = mutex.try_lock().expect("free");
            _ = condvar.wait_timeout_while(guard, Duration::ZERO, |_| false);
        },
    ];
    for misuse in misuses {
        let cord = Cord::new();
        let fiber = cord.spawn_local(async move { misuse(&Mutex::new(0), &Condvar::new()) });
        assert!(cord.block_on(fiber).expect_err("it blocks").is_panic());
    }
}

/// In a select it is polled; if it loses nothing is lost.
#[test]
fn a_branch_that_loses() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let (tx, rx) = leno::bounded(1);
    tx.try_send(1).expect("room");
    let mut behind;
    {
        let mut first = condvar.wait(mutex.try_lock().expect("free"));
        first.must_wait("not told");
        behind = condvar.wait(mutex.try_lock().expect("free"));
        behind.must_wait("not told");
        condvar.notify_one();
        leno::block_on(async {
            leno::select! {
                biased;
                got = rx.recv() => assert_eq!(got, Ok(1)),
                _ = first => unreachable!("the other one is first"),
            }
        });
    }
    drop(behind.must_be_ready("M2: passed on"));
}

/// M7: ten thousand are told by one call.
#[test]
fn ten_thousand_waiters() {
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
        let (mutex, condvar) = (Mutex::new(0), Condvar::new());
        let waits = (0..10_000).map(|_| {
            let mut wait = condvar.wait(mutex.try_lock().expect("free"));
            assert!(wait.poll_with(Waker::noop()).is_pending());
            wait
        });
        let mut waits = waits.collect::<Vec<_>>();
        condvar.notify_all();
        waits.iter_mut().for_each(|wait| *wait.must_be_ready("M7") += 1);
        assert_eq!(*mutex.lock_blocking(), 10_000);
    });
    small.expect("a thread starts").join().expect("M7: no deep recursion");
}

/// M8: a bounded queue out of a mutex and two condition variables, in all places.
fn a_queue(places: &[Place]) {
    let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new(), Condvar::new()));
    let mut crew = Crew::new("M8: a queue", places);
    for member in 0..8 {
        let queue = Arc::clone(&queue);
        crew.add(move |at| async move {
            let (values, filled, emptied) = &*queue;
            for i in 0..100 {
                let guard = at.lock(values).await;
                if member % 2 == 0 {
                    let full = |values: &mut VecDeque<_>| values.len() == 2;
                    let mut guard = match at {
                        Place::Thread => emptied.wait_while(guard, full).wait(),
                        _ => emptied.wait_while(guard, full).await,
                    };
                    assert!(guard.len() < 2);
                    guard.push_back(i);
                    filled.notify_one();
                } else {
                    let empty = |values: &mut VecDeque<_>| values.is_empty();
                    let mut guard = match at {
                        Place::Thread => filled.wait_while(guard, empty).wait(),
                        _ => filled.wait_while(guard, empty).await,
                    };
                    guard.pop_front().expect("not empty");
                    emptied.notify_one();
                }
            }
        });
    }
    crew.run();
    assert!(queue.0.try_lock().expect("free").is_empty());
    queue.1.assert_valid();
    queue.2.assert_valid();
}

/// M2, M8: each telling reaches one that waits: those that give up, also at their limit or while they lock, lose none.
fn giving_up(places: &[Place]) {
    const TELLINGS: u32 = 300;
    /// Of those that do not give up so many wait, or are told; so many tellings have reached nobody yet.
    #[derive(Default)]
    struct Books {
        patient: u32,
        told: u32,
        over: bool,
    }
    impl Books {
        fn take(&mut self) {
            if !self.over {
                assert!(self.told > 0, "nobody told it");
                self.told -= 1;
            }
        }
    }
    let shared = Arc::new((Mutex::new(Books::default()), Condvar::new()));
    let mut crew = Crew::new("M2: giving up", places);
    for member in 0..8 {
        let shared = Arc::clone(&shared);
        crew.add(move |at| async move {
            let (books, told) = &*shared;
            for round in 0.. {
                let mut guard = at.lock(books).await;
                if guard.over {
                    break;
                }
                if member % 2 == 0 {
                    guard.patient += 1;
                    let wait = told.wait(guard);
                    let mut guard = if at == Place::Thread { wait.wait() } else { wait.await };
                    guard.patient -= 1;
                    guard.take();
                } else if at == Place::Thread {
                    let (mut guard, result) = told.wait_timeout(guard, Duration::from_micros(round % 50));
                    if !result.timed_out() {
                        guard.take();
                    }
                } else {
                    let mut waiting = told.wait(guard);
                    assert!(waiting.poll_with(Waker::noop()).is_pending());
                    at.pause().await;
                    if let Poll::Ready(mut guard) = waiting.poll_with(Waker::noop()) {
                        guard.take();
                    }
                }
            }
        });
    }
    let telling = Arc::clone(&shared);
    crew.add(move |at| async move {
        let (books, condvar) = &*telling;
        let mut left = TELLINGS;
        loop {
            let mut guard = at.lock(books).await;
            if left == 0 && guard.told == 0 {
                guard.over = true;
                break;
            }
            // Only what somebody can take who does not give up.
            if left > 0 && guard.patient > guard.told {
                left -= 1;
                guard.told += 1;
                drop(guard);
                condvar.notify_one();
            } else {
                drop(guard);
            }
            at.pause().await;
        }
        condvar.notify_all();
    });
    crew.run();
    assert_eq!(shared.0.try_lock().expect("free").told, 0);
    shared.1.assert_valid();
}

each_place!(a_queue, giving_up);

#[test]
fn auto_traits() {
    const {
        assert!(impls!(Condvar: Send + Sync));
        assert!(impls!(CondvarWait<'static, 'static, u8>: Send + Unpin));
        assert!(!impls!(CondvarWait<'static, 'static, std::rc::Rc<u8>>: Send));
    }
    static STATIC: Condvar = Condvar::new();
    STATIC.notify_all();
}

/// As all operations: terminated once it has given the guard, and not as long as it has only been told.
#[test]
fn a_wait_tells_whether_it_is_over() {
    let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    let mut waiting = condvar.wait(mutex.try_lock().expect("free"));
    assert!(!waiting.is_terminated(), "not polled");
    waiting.must_wait("not told");
    assert!(!waiting.is_terminated());
    let guard = mutex.try_lock().expect("unlocked");
    condvar.notify_one();
    waiting.must_wait("told, and somebody has the lock");
    assert!(!waiting.is_terminated(), "the lock is to come");
    drop(guard);
    let guard = waiting.must_be_ready("told, and unlocked");
    assert!(waiting.is_terminated());

    let mut waiting = condvar.wait_while(guard, |ready| !*ready);
    assert!(!waiting.is_terminated(), "not polled");
    waiting.must_wait("not ready");
    assert!(!waiting.is_terminated());
    *mutex.try_lock().expect("unlocked") = true;
    condvar.notify_one();
    let guard = waiting.must_be_ready("ready");
    assert!(waiting.is_terminated());

    // Told before its first poll.
    let mut waiting = condvar.wait(guard);
    condvar.notify_all();
    drop(waiting.must_be_ready("told"));
    assert!(waiting.is_terminated());
}

/// M8: a wait that was told, and stands in line for the lock, goes on from there on a thread.
#[test]
fn a_wait_goes_on_on_a_thread() {
    for timed in [false, true] {
        for mutex in [Mutex::new(0), Mutex::fair(0)] {
            within("M8: it has begun to lock", move || {
                let condvar = Condvar::new();
                let mut waiting = condvar.wait(mutex.try_lock().expect("free"));
                waiting.must_wait("not told");
                let guard = mutex.try_lock().expect("free");
                condvar.notify_one();
                waiting.must_wait("told, and somebody has the lock");
                drop(guard);
                if timed {
                    let (guard, result) = waiting.wait_timeout(Duration::from_secs(10));
                    assert!(!result.timed_out());
                    drop(guard);
                } else {
                    drop(waiting.wait());
                }
                assert!(mutex.try_lock().is_some());
            });
        }
    }
}

/// It unlocks in its first poll, also where its fiber has had its turn.
#[test]
fn a_wait_unlocks_at_the_end_of_a_turn() {
    for spent in 0..300 {
        let unlocked = leno::block_on(async move {
            let (mutex, condvar) = (Mutex::new(0), Condvar::new());
            let mut waiting = condvar.wait(mutex.try_lock().expect("free"));
            leno::yield_now().await;
            std::future::poll_fn(|cx| {
                let (tx, rx) = leno::unbounded();
                for _ in 0..spent {
                    tx.try_send(0).expect("there is room");
                    let _ = std::pin::pin!(rx.recv()).poll(cx);
                }
                assert!(std::pin::pin!(&mut waiting).poll(cx).is_pending(), "not told");
                std::task::Poll::Ready(mutex.try_lock().is_some())
            })
            .await
        });
        assert!(unlocked, "after {spent} operations");
    }
}

/// A wait that stands in line for the lock keeps its place there when it goes on on a thread.
#[test]
fn a_wait_keeps_its_place_on_a_thread() {
    within("its place", || {
        let (mutex, condvar) = (Mutex::fair(0), Condvar::new());
        let mut waiting = condvar.wait(mutex.try_lock().expect("free"));
        waiting.must_wait("not told");
        let guard = mutex.try_lock().expect("free");
        condvar.notify_one();
        waiting.must_wait("told, and somebody has the lock");
        let mut behind = mutex.lock();
        behind.must_wait("the second in line");
        drop(guard);
        // (One that is granted the lock, and is not polled, holds it.)
        drop(waiting.wait());
        drop(behind.must_be_ready("the next one"));
    });
}

/// C25: on a cord a wait that blocks panics.
#[test]
fn a_wait_that_blocks_panics_on_a_cord() {
    let misuses: [fn(&Mutex<u32>, &Condvar); 2] = [
        |mutex, condvar| drop(condvar.wait(mutex.try_lock().expect("free")).wait()),
        |mutex, condvar| drop(condvar.wait_timeout(mutex.try_lock().expect("free"), Duration::ZERO)),
    ];
    for misuse in misuses {
        within("C25: it panics", move || {
            let cord = Cord::new();
            let fiber = cord.spawn_local(async move { misuse(&Mutex::new(0), &Condvar::new()) });
            assert!(cord.block_on(fiber).expect_err("it blocks").is_panic());
        });
    }
}

/// The time is up, and nobody has told it; but the condition, which is asked once more, holds no more.
#[test]
fn what_holds_no_more_is_not_timed_out() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let mut holds = [true, false].into_iter();
    let condition = |_: &mut i32| holds.next().expect("asked twice");
    let (_guard, result) =
        condvar.wait_timeout_while(mutex.lock_blocking(), Duration::from_millis(1), condition);
    assert!(!result.timed_out());
}
