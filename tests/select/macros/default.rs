//! S6: `default` runs only if nothing is ready now, `default(d)` after d; with `else`, S8. On a virtual clock, so that
//! nothing here takes time.

use std::cell::Cell;
use std::future::{pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Duration;

use leno::fiber::{Cord, now};
use leno::time::Clock;
use leno::{bounded, rendezvous, select, select_biased, select_blocking, sleep};

use super::KINDS;
use crate::support::{PollExt, Tracker, within};

const SECOND: Duration = Duration::from_secs(1);

fn in_virtual_time<F: Future>(test: F) -> F::Output {
    Cord::with_clock(Clock::virtual_time()).block_on(test)
}

/// C25: what does not wait blocks no cord.
#[test]
fn a_select_that_does_not_wait_may_block_in_a_cord() {
    let (tx, rx) = bounded(1);
    Cord::new().block_on(async {
        assert!(select_blocking! { _ = rx.recv() => false, default => true });
        tx.try_send(7).expect("there is room");
        assert_eq!(select_blocking! { got = rx.recv() => got, default(Duration::ZERO) => Ok(0) }, Ok(7));
        let waits = catch_unwind(AssertUnwindSafe(
            || select_blocking! { _ = rx.recv() => {}, default(SECOND) => {} },
        ));
        assert!(waits.is_err(), "one that waits would block all of its fibers");
    });
}

/// S6: at once, without having registered anything, and with the losers' values where they belong.
#[test]
fn default_runs_if_nothing_is_ready() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (full, fulls) = kind.open();
        let room = kind.fill(&full, |_| tracker.value());
        let mutex = leno::sync::Mutex::fair(());
        let guard = mutex.try_lock().expect("free");
        let mut lent = full.send(tracker.value());
        for zero in [false, true] {
            let mut selecting = pin!(async {
                if zero {
                    select! {
                        _ = rx.recv() => false,
                        _ = full.send(tracker.value()) => false,
                        _ = &mut lent => false,
                        _ = mutex.lock() => false,
                        _ = pending::<()>() => false,
                        default(Duration::ZERO) => true,
                    }
                } else {
                    select! {
                        _ = rx.recv() => false,
                        _ = full.send(tracker.value()) => false,
                        _ = &mut lent => false,
                        _ = mutex.lock() => false,
                        _ = pending::<()>() => false,
                        default => true,
                    }
                }
            });
            assert!(selecting.must_be_ready("S6: at once"), "{kind:?}");
        }
        assert!(lent.into_inner().is_some_and(|value| value == room), "S9: a lent send keeps its value");
        assert_eq!(tx.try_send(tracker.value()).is_ok(), kind.is_buffered(), "S6: nobody waits");
        assert_eq!(fulls.drain().count(), room, "S6: nothing was sent; {kind:?}");
        drop(guard);
        assert!(mutex.try_lock().is_some(), "S6: nobody waits");
        drop((tx, rx));
        tracker.assert_done();
    }
}

/// S6: what is ready is taken, be it a value, a peer, room, a close, a lock or a future.
#[test]
fn default_does_not_run_if_something_is_ready() {
    for kind in KINDS {
        for _ in 0..20 {
            leno::block_on(async {
                let (tx, rx) = kind.open();
                let mut sending = tx.send(1);
                let _ = sending.poll_with(Waker::noop());
                assert_eq!(select! { x = rx.recv() => x, default => panic!("S6: a value or a peer") }, Ok(1));
                let mut receiving = rx.recv();
                receiving.must_wait("empty");
                let sent = select! { x = tx.send(2) => x, default => panic!("S6: room or a peer") };
                assert_eq!((sent, receiving.must_be_ready("sent")), (Ok(()), Ok(2)));
                tx.close();
                assert!(select! { x = rx.recv() => x, default => panic!("S6: closed") }.is_err());
                assert_eq!(select! { x = ready(5) => x, default(SECOND) => panic!("S6: ready") }, 5);
                let mutex = leno::sync::Mutex::new(6);
                assert_eq!(select! { x = mutex.lock() => *x, default => panic!("S6: free") }, 6);
                let blocking = select_blocking! { x = rx.recv() => x, default => panic!("S6: closed") };
                assert!(blocking.is_err());
            });
        }
    }
}

/// S6: exactly at its time, however often the select is woken before; what comes earlier wins.
#[test]
fn default_runs_after_its_time() {
    for kind in KINDS {
        in_virtual_time(async {
            let (tx, rx) = kind.open();
            let start = now();
            let outcome = select! {
                x = rx.recv() => x.unwrap(),
                default(SECOND) => 7,
            };
            assert_eq!((outcome, now() - start), (7, SECOND), "S6: {kind:?}");
            assert_eq!(tx.try_send(1).is_ok(), kind.is_buffered(), "S6: nobody waits");
            rx.drain().for_each(drop);
            // A peer comes first.
            let peer = leno::fiber::spawn_local({
                let tx = tx.clone();
                async move {
                    sleep(SECOND / 2).await;
                    tx.send(2).await
                }
            });
            let start = now();
            let outcome = select! {
                default(SECOND) => 7,
                x = rx.recv() => x.unwrap(),
            };
            assert_eq!((outcome, now() - start), (2, SECOND / 2), "S6: {kind:?}");
            peer.await.unwrap().unwrap();
            // It is woken often, for nothing: a branch looks, and another one is switched off.
            let start = now();
            let mut polls = 0;
            let outcome = select! {
                () = async { for _ in 0..9 { sleep(SECOND / 10).await; polls += 1; } pending().await } => 1,
                x = async { sleep(SECOND / 3).await } , if kind.is_buffered() => { let () = x; 2 }
                3 = async { sleep(SECOND / 4).await; 4 } => 3,
                _ = rx.recv() => 4,
                default(SECOND / 2) => 5,
            };
            let expected = if kind.is_buffered() { (2, SECOND / 3) } else { (5, SECOND / 2) };
            assert_eq!((outcome, now() - start), expected, "S6: counted from the first poll");
            assert!(polls >= 3);
        });
    }
}

/// S13: with all branches off it waits as long as it was told.
#[test]
fn default_with_all_branches_off() {
    let (tx, rx) = bounded::<usize>(1);
    in_virtual_time(async {
        let start = now();
        let outcome = select! { _ = rx.recv(), if tx.is_closed() => 1, default(SECOND) => 2 };
        assert_eq!((outcome, now() - start), (2, SECOND));
        let outcome = select! { _ = rx.recv(), if tx.is_closed() => 1, default(Duration::ZERO) => 2 };
        assert_eq!((outcome, now() - start), (2, SECOND));
        // The pattern of the only one does not fit.
        tx.try_send(5).unwrap();
        let outcome = select! { Ok(4) = rx.recv() => 1, default(SECOND) => 2 };
        assert_eq!((outcome, now() - start), (2, 2 * SECOND));
    });
    let start = std::time::Instant::now();
    let d = Duration::from_millis(3);
    assert_eq!(select_blocking! { _ = rx.recv(), if tx.is_closed() => 1, default(d) => 2 }, 2);
    assert!(start.elapsed() >= d);
}

/// C28: what is there when the time is up is taken.
#[test]
fn default_looks_once_more() {
    for kind in KINDS {
        in_virtual_time(async {
            let (tx, rx) = kind.open();
            let start = now();
            let peer = leno::fiber::spawn_local(async move {
                sleep(SECOND).await;
                tx.send(2).await
            });
            leno::yield_now().await;
            let outcome = select! { x = rx.recv() => x.unwrap(), default(SECOND) => 7 };
            assert_eq!((outcome, now() - start), (2, SECOND), "{kind:?}");
            peer.await.unwrap().unwrap();
        });
    }
}

/// S6: a branch that is ready at the same instant is found first.
#[test]
fn a_branch_at_the_same_instant_wins() {
    in_virtual_time(async {
        for _ in 0..20 {
            let start = now();
            let outcome = select! { _ = sleep(SECOND) => 1, default(SECOND) => 2 };
            assert_eq!((outcome, now() - start), (1, SECOND));
        }
    });
}

/// S6: a select that comes to its time in a poll that could not look, since the fiber had done so much else in it, looks
/// all the same before `default` runs.
#[test]
fn a_ready_branch_wins_although_the_budget_is_spent() {
    for kind in KINDS.into_iter().filter(|kind| kind.is_buffered()) {
        in_virtual_time(async {
            let (tx, rx) = kind.open();
            let (other, others) = bounded(1);
            let mut timer = pin!(sleep(SECOND));
            let mut selecting = pin!(async {
                select! { x = rx.recv() => x.unwrap(), default(SECOND) => 7 }
            });
            let outcome = poll_fn(|cx| {
                if timer.as_mut().poll(cx).is_ready() {
                    // A value comes, and then this fiber spends its budget.
                    let _ = tx.try_send(1);
                    while let Poll::Ready(sent) = pin!(other.send(0)).poll(cx) {
                        sent.expect("open");
                        others.try_recv().expect("just sent");
                    }
                }
                selecting.as_mut().poll(cx)
            });
            assert_eq!(outcome.await, 1, "S6: {kind:?}");
        });
    }
}

/// S2, S6: nor does a branch that can only be polled seem to wait since the fiber has spent its budget: the first one wins where
/// the order counts, and `default` does not run.
#[test]
fn a_polled_branch_looks_although_the_budget_is_spent() {
    in_virtual_time(async {
        let (tx, rx) = leno::unbounded();
        (0..10_000).for_each(|n| tx.try_send(n).expect("it is open"));
        let mutex = leno::sync::Mutex::new(());
        // Operations of a round: more than one, to come by the end of the budget at each of them.
        for _ in 0..1000 {
            let received = select! { _ = async { rx.recv().await } => true, default => false };
            assert!(received, "S6");
            let received = select! { biased; _ = async { rx.recv().await } => true, _ = ready(()) => false };
            assert!(received, "S2");
            let received = async {
                let _guard = mutex.lock().await;
                rx.recv().await
            };
            let received = select! { biased; _ = received => true, default(Duration::ZERO) => false };
            assert!(received, "S6: of several operations");
            let limited = leno::timeout(SECOND, rx.recv());
            assert!(select! { biased; _ = limited => true, _ = ready(()) => false }, "S2: in a timeout");
        }
    });
}

/// F10: selects in branches of selects look so as well, and each turn ends nevertheless; so does a yield in a branch.
#[test]
fn polled_branches_keep_to_the_budget() {
    in_virtual_time(async {
        fn within(depth: u32, taken: &Cell<u32>) -> std::pin::Pin<Box<dyn Future<Output = ()> + '_>> {
            Box::pin(async move {
                if depth > 0 {
                    select! { () = within(depth - 1, taken) => {}, () = pending() => {} }
                }
                let (tx, rx) = bounded(1);
                loop {
                    tx.send(()).await.expect("it is open");
                    rx.recv().await.expect("it is open");
                    taken.set(taken.get() + 2);
                }
            })
        }
        for depth in 1..8 {
            let taken = Cell::new(0);
            let mut endless = within(depth, &taken);
            for turn in 1..4 {
                // (A fiber's turn is a poll of it.)
                poll_fn(|cx| Poll::Ready(endless.as_mut().poll(cx).is_pending())).await;
                assert!(taken.get() <= turn * 600, "F10: depth {depth}, turn {turn}: {}", taken.get());
                leno::yield_now().await;
            }
            assert!(taken.get() > 300, "it goes on: depth {depth}: {}", taken.get());
        }
        let turns = std::rc::Rc::new(Cell::new(0));
        let counts = turns.clone();
        let other = leno::fiber::spawn_local(async move {
            loop {
                counts.set(counts.get() + 1);
                leno::yield_now().await;
            }
        });
        for before in 0..600 {
            let (tx, rx) = bounded(1);
            for _ in 0..before % 300 {
                tx.send(()).await.expect("it is open");
                rx.recv().await.expect("it is open");
            }
            let turn = turns.get();
            select! { biased; () = leno::yield_now() => {}, () = pending() => {} }
            assert!(turns.get() > turn, "F10: a yield yields");
        }
        other.cancel();
    });
}

/// S2, S6: a token is cancelled for a select at once, as a channel is closed.
#[test]
fn a_cancelled_token_is_seen_by_each_select() {
    in_virtual_time(async {
        let token = leno::fiber::CancelToken::new();
        let (tx, rx) = leno::unbounded();
        (0..1000).for_each(|n| tx.try_send(n).expect("it is open"));
        let waits = select! { _ = token.cancelled() => false, default(SECOND) => true };
        assert!(waits, "S6");
        token.cancel();
        for _ in 0..1000 {
            assert!(select! { biased; _ = token.cancelled() => true, _ = rx.recv() => false }, "S2");
            assert!(select! { _ = token.cancelled() => true, default => false }, "S6");
        }
        let mut set = leno::select::Select::new();
        let cancelled = set.add(token.cancelled());
        set.try_select().expect("it is cancelled").output(cancelled);
    });
}

/// F10: a loop that never waits, thanks to `default`, lets the other fibers of its cord run.
#[test]
fn default_yields_by_budget() {
    within("F10: a select with `default` in a loop", || {
        in_virtual_time(async {
            let over = std::rc::Rc::new(Cell::new(false));
            let flag = over.clone();
            let other = leno::fiber::spawn_local(async move { flag.set(true) });
            let (_tx, rx) = rendezvous::<u8>();
            for turns in 0.. {
                assert!(turns < 100_000, "F10: nobody else ran");
                select! { _ = rx.recv() => {}, default => {} }
                if over.get() {
                    break;
                }
            }
            other.await.unwrap();
        });
    });
}

/// `default(Duration::MAX)` never runs; its handler may await; the duration is an expression.
#[test]
fn durations_and_handlers() {
    in_virtual_time(async {
        let (_tx, rx) = rendezvous::<u8>();
        let start = now();
        let outcome = select! {
            _ = rx.recv() => 1,
            _ = sleep(1_000_000 * SECOND) => 2,
            default(Duration::MAX) => 3,
        };
        assert_eq!((outcome, now() - start), (2, 1_000_000 * SECOND));
        let seconds = async || 2;
        let outcome = select! {
            _ = rx.recv() => 1,
            default(SECOND * seconds().await) => { sleep(SECOND).await; 3 }
        };
        assert_eq!((outcome, now() - start), (3, 1_000_003 * SECOND));
    });
}

/// S6, S8: guards that are false, patterns that do not match, `default` and `else` together.
#[test]
fn with_branches_that_are_off() {
    in_virtual_time(async {
        let (tx, rx) = bounded(4);
        let (_silent, silents) = rendezvous::<i32>();
        let start = now();
        // All are off: `else` runs at once, `default` in its time.
        assert_eq!(select! { _ = rx.recv(), if false => 1, default => 2, else => 3 }, 3);
        assert_eq!(select! { _ = rx.recv(), if false => 1, default(SECOND) => 2, else => 3 }, 3);
        assert_eq!(select! { _ = rx.recv(), if false => 1, default => 2 }, 2);
        assert_eq!(now(), start);
        assert_eq!(select! { _ = rx.recv(), if false => 1, default(SECOND) => 2 }, 2);
        assert_eq!(now() - start, SECOND);
        // A pattern does not match.
        tx.send(1).await.unwrap();
        assert_eq!(select_biased! { Ok(2) = rx.recv() => 1, default => 2, else => 3 }, 3);
        tx.send(1).await.unwrap();
        assert_eq!(
            select_biased! { Ok(2) = rx.recv() => 1, _ = silents.recv() => 4, default => 2, else => 3 },
            2
        );
        tx.send(1).await.unwrap();
        assert_eq!(select_biased! { Ok(2) = rx.recv() => 1, x = ready(5) => x, default => 2 }, 5);
        // The branch that was switched off is looked at no more, though it is ready again.
        tx.send(1).await.unwrap();
        tx.send(2).await.unwrap();
        let outcome =
            select! { Ok(2) = rx.recv() => 1, _ = silents.recv() => 4, default(SECOND) => 2, else => 3 };
        assert_eq!((outcome, now() - start), (2, 2 * SECOND));
        assert_eq!(rx.recv().await, Ok(2), "S8: one value was taken, and no more");
        // The last one is switched off as the time runs.
        let outcome =
            select! { 1 = async { sleep(SECOND).await; 2 } => 1, default(2 * SECOND) => 2, else => 3 };
        assert_eq!((outcome, now() - start), (3, 3 * SECOND), "S8: `else` does not wait");
    });
    // The same on a thread.
    let (tx, rx) = bounded(1);
    assert_eq!(select_blocking! { _ = rx.recv(), if false => 1, default(Duration::MAX) => 2, else => 3 }, 3);
    assert_eq!(select_blocking! { _ = rx.recv(), if false => 1, default(Duration::ZERO) => 2 }, 2);
    assert_eq!(select_blocking! { _ = rx.recv(), if false => 1, default(Duration::from_micros(9)) => 2 }, 2);
    tx.try_send(1).unwrap();
    assert_eq!(select_blocking! { Ok(2) = rx.recv() => 1, default(Duration::from_micros(9)) => 2 }, 2);
}

/// S6, S13: `default` may stand alone: it runs now, or after its time; with `else`, all branches are off.
#[test]
fn default_alone() {
    in_virtual_time(async {
        let begin = now();
        assert_eq!(select! { default => 1 }, 1);
        assert_eq!(select_biased! { default => { 2 } }, 2);
        assert_eq!(now(), begin);
        assert_eq!(select! { default(SECOND) => now() - begin }, SECOND);
        assert_eq!(select! { default(SECOND) => 1, else => 2 }, 2, "there is nothing to wait for");
        for round in 0..5 {
            select! { default => if round < 3 { continue } else { break } }
        }
    });
    assert_eq!(select_blocking! { default => 3 }, 3);
    let begin = std::time::Instant::now();
    select_blocking! { default(Duration::from_millis(2)) => assert!(begin.elapsed() >= Duration::from_millis(2)) }
}

/// As in tokio.
#[test]
fn else_alone() {
    leno::block_on(async {
        assert_eq!(select! { else => 1 }, 1);
        assert_eq!(select_biased! { else => 2 }, 2);
    });
}
