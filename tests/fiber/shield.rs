//! Sections under a shield, and asking whether one was cancelled.

use crate::support::{Drops, Latch, SeqCst, Stash, in_time, until};
use leno::fiber::{self, Builder, Cord, Runtime, check_cancel, shield};
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

#[test]
fn a_cancel_waits_for_the_section() {
    // F4
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (tx, rx) = leno::rendezvous();
        let drops = Drops::default();
        let probe = drops.probe();
        let fiber = runtime.spawn(async move {
            let _probe = probe;
            shield(async {
                for n in 0..3 {
                    tx.send((n, check_cancel().is_err())).await.unwrap();
                }
            })
            .await;
            assert!(check_cancel().is_err(), "the rest of this poll still runs");
            pending::<()>().await;
        });
        assert_eq!(rx.recv_blocking(), Ok((0, false)));
        fiber.cancel();
        assert_eq!(rx.recv_blocking().map(|(n, _)| n), Ok(1));
        assert_eq!(rx.recv_blocking(), Ok((2, true)));
        assert!(fiber.wait().unwrap_err().is_cancelled());
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn a_value_after_the_section_is_the_outcome() {
    // F3: exactly one outcome.
    let cord = Cord::new();
    let fiber = cord.spawn_local(async {
        shield(fiber::yield_now()).await;
        5
    });
    cord.block_on(fiber::yield_now());
    fiber.cancel();
    assert_eq!(cord.block_on(fiber).unwrap(), 5);
}

#[test]
fn a_section_in_a_cancelled_fiber_does_not_begin_in_a_call_that_blocks() {
    in_time(|| {
        let begun = Arc::new(AtomicUsize::new(0));
        let steps = begun.clone();
        leno::block_on(async {
            // The call blocks the thread, not this fiber, which is polled within it.
            let fiber = fiber::spawn_now(async move {
                fiber::current().cancel();
                shield(async {
                    steps.fetch_add(1, SeqCst);
                    fiber::yield_now().await;
                    steps.fetch_add(1, SeqCst);
                })
                .await;
            });
            assert!(fiber.await.unwrap_err().is_cancelled());
        });
        assert_eq!(begun.load(SeqCst), 0, "all or nothing");
    });
}

#[test]
fn a_section_that_is_waited_for_blocking_begins_after_the_cancel() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async {
            fiber::current().cancel();
            let section = Box::pin(shield(async {
                fiber::yield_now().await;
                5
            }));
            fiber::race(section, pending::<()>()).wait()
        });
        assert_eq!(fiber.wait().unwrap(), fiber::Either::Left(5), "all of it is one poll");
    });
}

#[test]
fn no_section_begins_after_the_cancel() {
    let cord = Cord::new();
    let begun = Arc::new(AtomicBool::new(false));
    let sets = begun.clone();
    let fiber = cord.spawn_local(async move {
        fiber::current().cancel();
        shield(async move { sets.store(true, SeqCst) }).await;
    });
    assert!(cord.block_on(fiber).unwrap_err().is_cancelled());
    assert!(!begun.load(SeqCst));
}

#[test]
fn shields_nest_and_overlap() {
    let cord = Cord::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let notes = log.clone();
    let fiber = cord.spawn_local(async move {
        let note = |what: &'static str| notes.lock().unwrap().push(what);
        shield(async {
            shield(fiber::yield_now()).await;
            note("inner");
            fiber::yield_now().await;
            note("outer");
            // Two that overlap: the first to end leaves the other's shield up.
            let (mut short, mut long) = (
                shield(fiber::yield_now()),
                Box::pin(shield(async {
                    fiber::yield_now().await;
                    fiber::yield_now().await;
                    fiber::yield_now().await;
                })),
            );
            poll_fn(|cx| match Pin::new(&mut short).poll(cx) {
                Poll::Pending => long.as_mut().poll(cx).map(|()| ()),
                ready => ready,
            })
            .await;
            drop(short);
            long.await;
            note("overlapping");
        })
        .await;
        note("after");
        fiber::yield_now().await;
        note("never");
    });
    cord.block_on(fiber::yield_now());
    fiber.cancel();
    assert!(cord.block_on(fiber).unwrap_err().is_cancelled());
    assert_eq!(*log.lock().unwrap(), ["inner", "outer", "overlapping", "after"]);
}

#[test]
fn dropping_the_section_goes_through_its_shield() {
    let drops = Drops::default();
    let probe = drops.probe();
    leno::block_on(async {
        let section = shield(async move {
            let _probe = probe;
            pending::<()>().await;
        });
        assert!(leno::timeout(std::time::Duration::ZERO, section).await.is_err());
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn the_end_of_the_runtime_goes_through_a_shield() {
    // F7, F8
    in_time(|| {
        for running in [false, true] {
            let runtime = Runtime::builder().workers(2).build().unwrap();
            let (drops, stash) = (Drops::default(), Stash::default());
            let (inside, leave) = (Latch::default(), Latch::default());
            let (probe, pending, entered, wait) =
                (drops.probe(), stash.pending(), inside.clone(), leave.clone());
            let fiber = runtime.spawn(shield(async move {
                let _probe = probe;
                if running {
                    entered.open();
                    wait.wait();
                }
                pending.await;
            }));
            if running {
                inside.wait();
                let opener = std::thread::spawn(move || {
                    // Comes before or after the stop, which waits for the poll in any case.
                    leave.open();
                });
                drop(runtime);
                opener.join().unwrap();
            } else {
                until(|| stash.polls() == 1);
                drop(runtime);
            }
            assert!(fiber.wait().unwrap_err().is_cancelled());
            assert_eq!(drops.count(), 1);
        }
    });
}

#[test]
fn children_of_a_section_are_cancelled_and_roots_are_not() {
    // F4
    let cord = Cord::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    let fiber = cord.spawn_local(async move {
        shield(async {
            fiber::current().cancel();
            let child = leno::spawn(async { "child" }).await;
            let root = Builder::new().root().spawn(async { "root" }).await;
            notes.lock().unwrap().push((child.is_err(), root.unwrap()));
        })
        .await;
        pending::<()>().await;
    });
    assert!(cord.block_on(fiber).unwrap_err().is_cancelled());
    assert_eq!(*seen.lock().unwrap(), [(true, "root")]);
}

#[test]
fn a_section_may_move_to_another_fiber() {
    in_time(|| {
        let cord = Cord::new();
        let drops = Drops::default();
        let probe = drops.probe();
        let mut section = Box::pin(shield(async move {
            let _probe = probe;
            for _ in 0..3 {
                fiber::yield_now().await;
            }
            5
        }));
        let (tx, rx) = leno::bounded(1);
        let first = cord.spawn_local(async move {
            poll_fn(|cx| {
                assert!(section.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            tx.send(section).await.unwrap();
            pending::<()>().await;
        });
        cord.block_on(async {
            let mut section = rx.recv().await.unwrap();
            // The first fiber is still under the section's shield, the second comes under it.
            first.cancel();
            fiber::yield_now().await;
            assert!(!first.is_finished());
            let second = leno::fiber::spawn_local(async move { section.as_mut().await });
            fiber::yield_now().await;
            second.cancel();
            assert_eq!(second.await.unwrap(), 5);
            assert!(first.await.unwrap_err().is_cancelled());
        });
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn outside_a_fiber_a_shield_is_nothing() {
    assert_eq!(futures_lite::future::block_on(shield(async { 5 })), 5);
    assert_eq!(check_cancel(), Ok(()));
    let mut pending = Box::pin(shield(pending::<()>()));
    assert!(pending.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[test]
fn a_long_computation_asks_now_and_then() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (inside, rounds) = (Latch::default(), Arc::new(AtomicUsize::new(0)));
        let (entered, counter) = (inside.clone(), rounds.clone());
        let fiber = runtime.spawn(async move {
            entered.open();
            while check_cancel().is_ok() {
                counter.fetch_add(1, SeqCst);
            }
        });
        inside.wait();
        fiber.cancel();
        // It ended by itself, in that poll.
        assert!(fiber.wait().is_ok());
    });
}

/// The shield goes with the end of the section, though its future is kept.
#[test]
fn a_section_that_is_over_and_kept_shields_nobody() {
    let cord = Cord::new();
    let fiber = cord.spawn_local(async {
        let mut section = Box::pin(shield(fiber::yield_now()));
        section.as_mut().await;
        fiber::yield_now().await;
        drop(section);
    });
    cord.block_on(fiber::yield_now());
    fiber.cancel();
    assert!(cord.block_on(fiber).unwrap_err().is_cancelled());
}

/// A section that has begun goes on in a fiber that was cancelled before it came there; and polled outside of fibers it shields
/// nobody any more.
#[test]
fn a_section_that_has_begun_goes_on_where_it_comes() {
    let cord = Cord::new();
    let begin = |turns| {
        let (tx, rx) = leno::bounded(1);
        let fiber = cord.spawn_local(async move {
            let mut section = Box::pin(shield(async move {
                for _ in 0..turns {
                    fiber::yield_now().await;
                }
                5
            }));
            let begun = poll_fn(|cx| Poll::Ready(section.as_mut().poll(cx).is_pending()));
            assert!(begun.await);
            tx.send(section).await.unwrap();
            pending::<()>().await;
        });
        (fiber, cord.block_on(rx.recv()).unwrap())
    };
    let (first, section) = begin(1);
    let second = cord.spawn_local(async move {
        fiber::current().cancel();
        section.await
    });
    assert_eq!(cord.block_on(second).unwrap(), 5);
    first.cancel();
    assert!(cord.block_on(first).unwrap_err().is_cancelled());
    let (first, mut section) = begin(2);
    assert!(section.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    first.cancel();
    cord.block_on(fiber::yield_now());
    assert!(first.is_finished());
    drop(section);
}
