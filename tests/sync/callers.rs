//! The same scenarios for everything that is taken and given back, by all kinds of callers: fibers of a runtime and of a
//! cord, tokio's tasks, threads, and all of them at one lock (M1–M4, M6–M8).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use leno::sync::{AcquireError, Mutex, RwLock, Semaphore};
use leno::{select, select_biased, select_blocking};

use crate::each_place;
use crate::support::{Crew, Place, PollExt};

/// The outcome of what cannot fail.
fn plain<T>(held: T) -> T {
    held
}

/// The outcome of what fails if it is closed.
fn open<T>(held: Result<T, AcquireError>) -> T {
    held.expect("open")
}

/// Polls twice at most: it may leave while it waits, or when it was just granted what it waits for.
pub(crate) async fn twice<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    let mut polls = 0;
    std::future::poll_fn(move |cx| {
        polls += 1;
        match Pin::new(&mut future).poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls == 2 => Poll::Ready(None),
            Poll::Pending => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    })
    .await
}

/// What a future keeps from the others that was granted its wish, and is not polled any more.
#[derive(PartialEq, Eq)]
enum Stale {
    /// M3: nothing.
    HoldsNothing,
    /// M4: what it was granted; no other of its kind fits beside it.
    Holds,
    /// M4: what it was granted; others of its kind fit beside it.
    HoldsItsShare,
}

use Stale::{Holds, HoldsItsShare, HoldsNothing};

/// `room`: so many of its kind fit at once. `take`, `try_take`: one of them; `all`: all that there is. `by`: what takes the
/// outcome.
macro_rules! kinds {
    ($($kind:ident: $new:expr, room $room:literal, $lock:ident, take $take:expr, by $open:ident, try_take $try_take:expr, all $all:expr, $stale:expr;)+) => {$(
        mod $kind {
            use super::*;

            /// M1, M6, M8: never more at once than fit, whoever asks and however; all is there in the end.
            fn exclusion(places: &[Place]) {
                let (lock, inside) = (Arc::new($new), Arc::new(AtomicUsize::new(0)));
                let mut crew = Crew::new(concat!("M1: ", stringify!($kind)), places);
                for _ in 0..8 {
                    let (lock, inside) = (Arc::clone(&lock), Arc::clone(&inside));
                    crew.add(move |at| async move {
                        let $lock = &lock;
                        for i in 0..100 {
                            let held = match at {
                                Place::Thread => $open($take.wait()),
                                _ => $open($take.await),
                            };
                            assert!(inside.fetch_add(1, Ordering::SeqCst) < $room, "M1");
                            if i % 8 == 0 {
                                at.pause().await;
                            }
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(held);
                        }
                    });
                }
                crew.run();
                let $lock = &lock;
                assert!($all.is_some(), "M1: all have left");
            }

            /// M2, M8: who gives up, by a limit, a drop or a select, has taken nothing; who waits is served.
            fn giving_up(places: &[Place]) {
                let (lock, given_up) = (Arc::new($new), Arc::new(AtomicUsize::new(0)));
                // (That who waits is served is seen by its end.)
                let mut crew = Crew::new(concat!("M2: ", stringify!($kind)), places);
                for member in 0..9 {
                    let (lock, given_up) = (Arc::clone(&lock), Arc::clone(&given_up));
                    crew.add(move |at| async move {
                        let ($lock, brief) = (&lock, Duration::from_micros(5));
                        for _ in 0..100 {
                            let held = match (at, member % 3) {
                                (Place::Thread, 0) => Some($open($take.wait())),
                                (_, 0) => Some($open($take.await)),
                                (Place::Thread, 1) => $take.wait_timeout(brief).ok(),
                                (_, 1) => twice($take).await.map($open),
                                (Place::Thread, _) => select_blocking! {
                                    held = $take => Some($open(held)),
                                    default(brief) => None,
                                },
                                _ => select_biased! {
                                    held = $take => Some($open(held)),
                                    () = at.pause() => None,
                                },
                            };
                            given_up.fetch_add(usize::from(held.is_none()), Ordering::SeqCst);
                            at.pause().await;
                            drop(held);
                            at.pause().await;
                            if member == 0 {
                                // (For this all of them have to wait, also those whose kinds fit beside each other.)
                                let all = $all;
                                at.pause().await;
                                at.pause().await;
                                drop(all);
                            }
                        }
                    });
                }
                crew.run();
                // (Elsewhere it is not certain that anybody meets another one.)
                if places == [Place::Cord] {
                    assert!(given_up.load(Ordering::SeqCst) > 0, "M2: nobody had to give up");
                }
                let $lock = &lock;
                assert!($all.is_some(), "M2: nothing is lost");
                lock.assert_valid();
            }

            /// M8, S1: of two locks and a channel each select takes one, and nothing of the others.
            fn selects(places: &[Place]) {
                let (one, other) = (Arc::new($new), Arc::new($new));
                let (tx, rx) = leno::bounded(1);
                let mut crew = Crew::new(concat!("M8: ", stringify!($kind)), places);
                let received = Arc::new(AtomicUsize::new(0));
                for _ in 0..6 {
                    let (one, other, rx) = (Arc::clone(&one), Arc::clone(&other), rx.clone());
                    let received = Arc::clone(&received);
                    crew.add(move |at| async move {
                        for _ in 0..100 {
                            let one = { let $lock = &one; $take };
                            let other = { let $lock = &other; $take };
                            let held = match at {
                                Place::Thread => select_blocking! {
                                    held = one => Some($open(held)),
                                    held = other => Some($open(held)),
                                    Ok(()) = rx.recv() => None,
                                },
                                _ => select! {
                                    held = one => Some($open(held)),
                                    held = other => Some($open(held)),
                                    Ok(()) = rx.recv() => None,
                                },
                            };
                            received.fetch_add(usize::from(held.is_none()), Ordering::SeqCst);
                            at.pause().await;
                        }
                    });
                }
                let sender = tx.clone();
                crew.add(move |at| async move {
                    for _ in 0..50 {
                        let _ = sender.try_send(());
                        at.pause().await;
                    }
                });
                crew.run();
                assert!(received.load(Ordering::SeqCst) <= 50, "S1: nothing is received twice");
                for lock in [&one, &other] {
                    lock.assert_valid();
                    let $lock = lock;
                    assert!($all.is_some(), "S1: nothing is lost");
                }
                drop(tx);
            }

            /// M3 or M4, and M7: a future that is not polled any more is first in line, and many behind it.
            fn stale(places: &[Place]) {
                let members = if places.contains(&Place::Thread) { 64 } else { 1000 };
                let (lock, begun) = (Arc::new($new), Arc::new(AtomicUsize::new(0)));
                let mut crew = Crew::new(concat!("M3, M4: ", stringify!($kind)), places);
                for _ in 0..members {
                    let (lock, begun) = (Arc::clone(&lock), Arc::clone(&begun));
                    crew.add(move |at| async move {
                        let $lock = &lock;
                        begun.fetch_add(1, Ordering::SeqCst);
                        drop(match at {
                            Place::Thread => $open($take.wait()),
                            _ => $open($take.await),
                        });
                    });
                }
                let $lock = &lock;
                let all = $all.expect("free");
                let mut stale = $take;
                let woken = stale.must_wait("held");
                std::thread::scope(|scope| {
                    let crew = scope.spawn(move || crew.run());
                    while begun.load(Ordering::SeqCst) < members {
                        std::thread::yield_now();
                    }
                    drop(all);
                    assert!(woken.was_woken() || $stale == HoldsNothing, "M4: it was granted what it waits for");
                    if $stale == Holds {
                        assert!($try_take.is_none(), "M4: it is held by who is not polled");
                        drop(stale);
                        crew.join().expect("M4: and goes on when that is dropped");
                    } else {
                        crew.join().expect("M3: it holds up nobody");
                        assert!(woken.was_woken(), "M3: it was told, perhaps after some who barged in");
                        let alone = $all.is_some();
                        assert_eq!(alone, $stale == HoldsNothing, "M4: its share is kept for it");
                        drop($open(stale.must_be_ready("free, or its own")));
                    }
                });
                lock.assert_valid();
                assert!($all.is_some(), "M7: all have left");
            }

            each_place!(exclusion, giving_up, selects, stale);

            /// M8, S1: both become free before the select is polled: one of them is its own, and the other one nobody's.
            #[test]
            fn one_is_claimed() {
                let (one, other) = (Arc::new($new), Arc::new($new));
                let (first, second) = ({ let $lock = &one; $all }, { let $lock = &other; $all });
                assert!(first.is_some() && second.is_some(), "free");
                let (one_taken, other_taken) = ({ let $lock = &one; $take }, { let $lock = &other; $take });
                let mut selecting = std::pin::pin!(async {
                    select! {
                        held = one_taken => ("one", $open(held)),
                        held = other_taken => ("other", $open(held)),
                    }
                });
                let woken = selecting.must_wait("both are held");
                drop(first);
                assert!(woken.was_woken(), "it has the first, or was told of it");
                drop(second);
                let is_free = { let $lock = &other; $all.is_some() };
                assert!(is_free, "S1: it has lost the second");
                let is_free = { let $lock = &one; $all.is_some() };
                assert_eq!(is_free, $stale == HoldsNothing, "M4: the first was handed to it");
                let held = selecting.must_be_ready("free, or its own");
                assert!(held.0 == "one" || $stale == HoldsNothing, "M4");
                drop(held);
                for lock in [&one, &other] {
                    let $lock = lock;
                    assert!($all.is_some(), "S1: nothing is lost");
                }
            }
        }
    )+};
}

kinds! {
    mutex: Mutex::new(()), room 1, lock, take lock.lock(), by plain,
        try_take lock.try_lock(), all lock.try_lock(), HoldsNothing;
    mutex_owned: Mutex::new(()), room 1, lock, take lock.lock_arc(), by plain,
        try_take lock.try_lock_arc(), all lock.try_lock(), HoldsNothing;
    mutex_fair: Mutex::fair(()), room 1, lock, take lock.lock(), by plain,
        try_take lock.try_lock(), all lock.try_lock(), Holds;
    mutex_fair_owned: Mutex::fair(()), room 1, lock, take lock.lock_arc(), by plain,
        try_take lock.try_lock_arc(), all lock.try_lock(), Holds;
    write: RwLock::new(()), room 1, lock, take lock.write(), by plain,
        try_take lock.try_write(), all lock.try_write(), Holds;
    write_owned: RwLock::new(()), room 1, lock, take lock.write_arc(), by plain,
        try_take lock.try_write_arc(), all lock.try_write(), Holds;
    read: RwLock::new(()), room 8, lock, take lock.read(), by plain,
        try_take lock.try_read(), all lock.try_write(), HoldsItsShare;
    read_owned: RwLock::new(()), room 8, lock, take lock.read_arc(), by plain,
        try_take lock.try_read_arc(), all lock.try_write(), HoldsItsShare;
    upgradable_read: RwLock::new(()), room 1, lock, take lock.upgradable_read(), by plain,
        try_take lock.try_upgradable_read(), all lock.try_write(), Holds;
    permit: Semaphore::new(1), room 1, lock, take lock.acquire(), by open,
        try_take lock.try_acquire().ok(), all lock.try_acquire().ok(), Holds;
    permits: Semaphore::new(5), room 2, lock, take lock.acquire_many(2), by open,
        try_take lock.try_acquire_many(2).ok(), all lock.try_acquire_many(5).ok(), HoldsItsShare;
    permits_owned: Semaphore::new(3), room 1, lock, take lock.acquire_many_arc(2), by open,
        try_take lock.try_acquire_many_arc(2).ok(), all lock.try_acquire_many(3).ok(), Holds;
}
