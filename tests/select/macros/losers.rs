//! S1, S5, S7, S9, S10: what becomes of the branches that do not win, when, and of all of them if nobody does.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use leno::channel::{RecvError, SendError};
use leno::sync::Mutex;
use leno::{rendezvous, select, select_biased, select_blocking};

use super::KINDS;
use crate::assert_one_is_stranded;
use crate::support::{CountingWaker, PollExt, Tracker};

/// S1: whichever branch wins, nobody is left behind in the others, and they have done nothing.
#[test]
fn one_branch_happens() {
    for kind in KINDS {
        for winner in 0..5 {
            let what = format!("{kind:?}, winner {winner}");
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (full, fulls) = kind.open();
            let (open, _opens) = kind.open::<u8>();
            let room = kind.fill(&full, |_| tracker.value());
            let mutex = Mutex::fair(0);
            let mut guard = Some(mutex.try_lock().expect("free"));
            let (fire, fired) = (Cell::new(false), RefCell::new(None::<Waker>));
            {
                let mut selecting = pin!(async {
                    select! {
                        received = rx.recv() => { assert!(received.is_ok()); 0 }
                        sent = full.send(tracker.value()) => { assert!(sent.is_ok()); 1 }
                        () = open.closed() => 2,
                        _guard = mutex.lock() => 3,
                        () = std::future::poll_fn(|cx| {
                            *fired.borrow_mut() = Some(cx.waker().clone());
                            if fire.get() { Poll::Ready(()) } else { Poll::Pending }
                        }) => 4,
                    }
                });
                let waker = selecting.must_wait("nothing is ready");
                match winner {
                    0 => tx.try_send(tracker.value()).expect("a receiver waits, or there is room"),
                    1 => drop(fulls.try_recv().expect("a sender waits, or there are values")),
                    2 => drop(open.close()),
                    3 => guard = None,
                    _ => {
                        fire.set(true);
                        fired.borrow_mut().take().expect("polled").wake();
                    }
                }
                assert!(waker.was_woken(), "{what}");
                assert_eq!(selecting.must_be_ready(&what), winner, "S1");
                fired.borrow_mut().take();
                assert_eq!(Arc::strong_count(&waker), 1, "S1: no waker is kept; {what}");
            }
            assert_eq!(tx.try_send(tracker.value()).is_ok(), kind.is_buffered(), "S1: {what}");
            let left = fulls.drain().count();
            assert_eq!(left, room, "S1: {what}");
            assert!(fulls.try_recv().is_err(), "S1: {what}");
            drop(guard);
            assert!(mutex.try_lock().is_some(), "S1: nobody is granted the lock; {what}");
            tx.assert_valid();
            full.assert_valid();
            mutex.assert_valid();
            drop((rx, fulls));
            tracker.assert_done();
        }
    }
}

/// S5: a closed channel makes its branch ready, with the error; a guard that is false keeps even that out.
#[test]
fn closed_channels() {
    for kind in KINDS {
        leno::block_on(async {
            let (tx, rx) = kind.open();
            let (_silent, silents) = rendezvous::<u8>();
            tx.close();
            let error = select! { _ = silents.recv() => panic!("silent"), sent = tx.send(5) => sent };
            assert_eq!(error, Err(SendError(5)), "S5: {kind:?}");
            let error = select! { received = rx.recv() => received, _ = silents.recv() => panic!("silent") };
            assert_eq!(error, Err(RecvError), "S5: {kind:?}");
            assert_eq!(select! { () = tx.closed() => 1, _ = silents.recv() => 2 }, 1);
            assert_eq!(select! { _ = rx.recv(), if false => 1, _ = silents.recv() => 2, default => 3 }, 3);
        });
        let (tx, rx) = kind.open::<u8>();
        let thread = std::thread::spawn(move || drop(tx));
        let error = select_blocking! { received = rx.recv() => received, _ = pending::<()>() => Ok(1) };
        assert_eq!(error, Err(RecvError), "S5: {kind:?}");
        thread.join().expect("no panic");
    }
}

/// Says when it is dropped.
struct Noted<'a, F> {
    future: F,
    name: &'static str,
    log: &'a RefCell<Vec<String>>,
}

impl<F: Future + Unpin> Future for Noted<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        Pin::new(&mut self.future).poll(cx)
    }
}

impl<F> Drop for Noted<'_, F> {
    fn drop(&mut self) {
        self.log.borrow_mut().push(format!("{} is dropped", self.name));
    }
}

/// S7: the futures, the winner's too, are dropped after the winner is decided and before its handler runs; those of a
/// future that was switched off as well; those of `&mut` futures are not.
#[test]
fn the_losers_are_dropped_before_the_handler_runs() {
    let log = RefCell::new(Vec::new());
    let noted = |name, future| Noted { future, name, log: &log };
    let (tx, rx) = rendezvous();
    let mut kept = noted("kept", Box::pin(pending::<i32>()) as Pin<Box<dyn Future<Output = i32>>>);
    {
        let mut selecting = pin!(async {
            select_biased! {
                2 = noted("off", Box::pin(ready(1))) => panic!("it does not match"),
                _ = noted("out", Box::pin(ready(1))), if false => panic!("its guard is false"),
                _ = noted("loser", Box::pin(pending())) => panic!("pending"),
                _ = &mut kept => panic!("pending"),
                received = rx.recv() => {
                    log.borrow_mut().push(format!("handler: {received:?}"));
                    std::future::poll_fn(|_| if log.borrow().len() < 100 { Poll::Ready(()) } else { Poll::Pending }).await;
                }
            }
        });
        selecting.must_wait("nothing is ready");
        assert!(log.borrow().is_empty(), "S7: not before the winner is decided: {log:?}");
        tx.try_send(7).expect("the select waits");
        selecting.must_be_ready("served");
    }
    drop(kept);
    let log = log.into_inner();
    let (dropped, rest) = log.split_at(3);
    assert!(
        ["off", "out", "loser"].iter().all(|name| dropped.contains(&format!("{name} is dropped"))),
        "S7: {log:?}"
    );
    assert_eq!(rest, ["handler: Ok(7)", "kept is dropped"], "S7: {log:?}");
}

/// S7: the winner's drop, too, comes before its handler; and at that time the winner is decided.
#[test]
fn the_winner_is_decided_before_the_losers_are_dropped() {
    struct Looks<'a>(&'a leno::Sender<i32>, &'a leno::Receiver<i32>, &'a Cell<bool>);
    impl Drop for Looks<'_> {
        fn drop(&mut self) {
            assert!(self.0.try_send(8).is_err(), "S7: nobody waits there any more");
            assert!(self.1.is_empty());
            self.2.set(true);
        }
    }
    let (tx, rx) = rendezvous();
    let dropped = Cell::new(false);
    let mut selecting = pin!(async {
        let looks = Looks(&tx, &rx, &dropped);
        select! {
            received = rx.recv() => {
                assert!(dropped.get(), "S7: before the handler");
                received
            }
            () = async move { let _looks = looks; pending().await } => panic!("pending"),
        }
    });
    selecting.must_wait("nothing is ready");
    tx.try_send(7).expect("the select waits");
    assert_eq!(selecting.must_be_ready("served"), Ok(7));
}

/// S9: a losing send drops its value if it was made in the branch; `&mut` keeps it, through many selects.
#[test]
fn losing_sends() {
    for kind in KINDS {
        leno::block_on(async {
            let tracker = Tracker::new();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |_| tracker.value());
            let mut sending = full.send(tracker.value());
            for round in 0..10 {
                select! {
                    sent = &mut sending => panic!("{sent:?}"),
                    sent = full.send(tracker.value()) => panic!("{sent:?}"),
                    () = leno::yield_now() => assert_eq!(tracker.drops(room + 1 + round), 1, "S9: dropped by now"),
                }
            }
            assert_eq!(tracker.drops(room), 0, "S9: kept");
            // It is sent in the end, or given back.
            if kind.is_buffered() {
                drop(fulls.try_recv());
                select! { sent = &mut sending => sent.expect("open"), default => panic!("there is room") }
                assert!(sending.into_inner().is_none(), "S9: sent");
            } else {
                assert!(sending.into_inner().is_some_and(|value| value == room), "S9: given back");
            }
            drop(fulls);
            tracker.assert_done();
        });
    }
}

/// S10: dropped at each of its await points, also within its handler, with each of the peers' deeds done before: all is
/// as if the branches had been dropped, and what the handler had is gone.
#[test]
fn dropped_at_every_await_point() {
    for kind in KINDS {
        for deed in 0..4 {
            for polls in 0..4 {
                let what = format!("{kind:?}, deed {deed}, dropped after {polls} polls");
                let tracker = Tracker::new();
                let (tx, rx) = kind.open();
                let (full, fulls) = kind.open();
                kind.fill(&full, |_| tracker.value());
                let mutex = Mutex::fair(());
                let mut guard = mutex.try_lock();
                let done = Cell::new(0);
                {
                    let mut selecting = Box::pin(async {
                        let first = tracker.value();
                        select! {
                            received = rx.recv() => {
                                done.set(1);
                                leno::yield_now().await;
                                drop(received);
                            }
                            sent = full.send(tracker.value()) => {
                                done.set(2);
                                leno::yield_now().await;
                                drop(sent);
                            }
                            guard = mutex.lock() => {
                                done.set(3);
                                leno::yield_now().await;
                                drop(guard);
                            }
                            _ = pending::<()>() => {}
                        }
                        leno::yield_now().await;
                        drop(first);
                    });
                    for poll in 0..polls {
                        if poll == 1 {
                            match deed {
                                0 => {}
                                1 => {
                                    tx.try_send(tracker.value()).expect("the select waits, or there is room")
                                }
                                2 => drop(fulls.try_recv().expect("the select waits, or there are values")),
                                _ => drop(guard.take()),
                            }
                        }
                        let _ = selecting.poll_once(&CountingWaker::new());
                    }
                }
                assert_eq!(done.get(), if polls > 1 { deed } else { 0 }, "S1: {what}");
                drop(guard);
                assert!(mutex.try_lock().is_some(), "S10, M2: {what}");
                assert_eq!(rx.len(), 0, "S1: {what}");
                assert_eq!(
                    tx.try_send(tracker.value()).is_ok(),
                    kind.is_buffered(),
                    "S10: nobody waits; {what}"
                );
                fulls.drain().for_each(drop);
                assert!(fulls.try_recv().is_err(), "S10: nobody waits; {what}");
                tx.assert_valid();
                full.assert_valid();
                mutex.assert_valid();
                drop((rx, fulls));
                tracker.assert_done();
            }
        }
    }
}

/// S10, C9, C11: dropped after a peer has served it, before it runs: a value goes to the next in line, or comes back; a
/// send has happened; a lock is free.
#[test]
fn dropped_after_it_was_served() {
    let tracker = Tracker::new();
    for waiting in [false, true] {
        let (tx, rx) = rendezvous();
        let (out, outs) = rendezvous();
        for receives in [false, true] {
            let mut next = rx.recv();
            {
                let mut selecting = pin!(async {
                    select! {
                        _ = rx.recv() => panic!("dropped before"),
                        _ = out.send(tracker.value()) => panic!("dropped before"),
                    }
                });
                selecting.must_wait("nothing is ready");
                if waiting {
                    next.must_wait("behind the select");
                }
                match receives {
                    true => tx.try_send(tracker.value()).expect("the select waits"),
                    false => drop(outs.try_recv().expect("the select sends")),
                }
            }
            if receives {
                drop(next.must_be_ready("C9: the next in line, or it came back"));
            }
            assert!(rx.is_empty() && outs.try_recv().is_err(), "S10");
        }
    }
    tracker.assert_done();
}

/// C26: a select that is forgotten while it waits strands its own claim at most: the channels go on, and can be dropped.
#[test]
fn forgotten_selects() {
    for kind in KINDS {
        let channel = kind.open();
        let other = kind.open();
        let (tx, rx) = (channel.0.clone(), channel.1.clone());
        kind.fill(&other.0, |i| i);
        let mut selecting = Box::pin(async move {
            let mut lent = other.0.send(1000);
            select! {
                _ = channel.1.recv() => {}
                _ = &mut lent => {}
                _ = channel.0.closed() => {}
                _ = pending::<()>() => {}
            }
            drop(other.1);
        });
        selecting.must_wait("nothing is ready");
        std::mem::forget(selecting);
        assert_one_is_stranded(&tx, &rx);
        tx.close();
        tx.assert_valid();
    }
}

/// S8: a value that came by a hand-over and does not match is dropped, and its sender has sent it; the others are waited
/// for from then on, also by the peers.
#[test]
fn a_handed_value_that_does_not_match() {
    let tracker = Tracker::new();
    let (tx, rx) = rendezvous();
    let (other, others) = rendezvous();
    {
        let mut selecting = pin!(async {
            select! {
                Ok((true, _)) = rx.recv() => panic!("it does not match"),
                Ok(n) = others.recv() => n,
            }
        });
        selecting.must_wait("nothing is ready");
        tx.try_send((false, tracker.value())).expect("the select waits");
        assert!(other.try_send(1).is_err(), "S1: the select is completed, as far as peers can tell");
        let woken = selecting.must_wait("S8: the other one is waited for");
        tracker.assert_done();
        assert!(tx.try_send((true, tracker.value())).is_err(), "S8: nobody waits in the branch that is off");
        other.try_send(2).expect("S8: the other one waits again");
        assert!(woken.was_woken());
        assert_eq!(selecting.must_be_ready("served"), 2);
    }
    tx.assert_valid();
    tracker.assert_done();
}
