//! S1, S3: one branch happens, and the others have done nothing and leave nothing.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use leno::channel::{broadcast, oneshot, watch};
use leno::fiber::CancelToken;
use leno::select::{Selected2, Selected4, foreign, select, select_biased};
use leno::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, WaitGroup};
use leno::{bounded, rendezvous};

use crate::KINDS;
use crate::support::{CountingWaker, Event, Kind, PollExt, Tracker, hooked_waker, panicking_waker};

/// S1: with everything ready, one thing happens, whichever it is.
#[test]
fn exactly_one_of_the_ready_branches_happens() {
    let mut seen = [0; 4];
    for _ in 0..200 {
        for kind in [Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000)] {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (out, outs) = kind.open();
            let (quit, quits) = kind.open::<u8>();
            let mutex = Mutex::fair(());
            tx.try_send(tracker.value()).expect("there is room");
            drop(quits);
            let mut selecting = select((rx.recv(), out.send(tracker.value()), quit.closed(), mutex.lock()));
            let outcome = selecting.must_be_ready("S1: all are");
            let winner = match &outcome {
                Selected4::First(received) => {
                    assert!(matches!(received, Ok(value) if *value == 0));
                    0
                }
                Selected4::Second(sent) => {
                    assert!(sent.is_ok());
                    1
                }
                Selected4::Third(()) => 2,
                Selected4::Fourth(_guard) => 3,
            };
            seen[winner] += 1;
            assert_eq!(rx.len(), usize::from(winner != 0), "S1: nothing else was taken");
            assert_eq!(outs.len(), usize::from(winner == 1), "S1: nothing else was sent");
            assert_eq!(mutex.try_lock().is_none(), winner == 3, "S1: nothing else was locked");
            drop((outcome, selecting));
            tracker.assert_live(
                usize::from(winner != 0) + usize::from(winner == 1),
                "S9: the losing send's is gone",
            );
            drop((rx, outs));
            tracker.assert_done();
        }
    }
    assert!(seen.iter().all(|seen| *seen > 0), "S2: {seen:?}");
}

/// S1: a select that waited on everything leaves nobody behind, whichever branch has happened.
#[test]
fn losing_branches_leave_no_waiter() {
    for kind in KINDS {
        for winner in 0..5 {
            let what = format!("{kind:?}, winner {winner}");
            let (tx, rx) = kind.open::<u32>();
            let (full, fulls) = kind.open::<u32>();
            let (open, _opens) = kind.open::<u32>();
            let room = kind.fill(&full, |i| i as u32);
            let mutex = Mutex::fair(0);
            let guard = mutex.try_lock().expect("free");
            let mut guard = Some(guard);
            let mut selecting = select((rx.recv(), full.send(77), open.closed(), mutex.lock()));
            let waker = selecting.must_wait("nothing is ready");
            match winner {
                0 => tx.try_send(5).expect("a receiver waits, or there is room"),
                1 => drop(fulls.try_recv().expect("a sender waits, or there are values")),
                2 => drop(open.close()),
                3 => guard = None,
                _ => {}
            }
            assert_eq!(waker.was_woken(), winner < 4, "{what}");
            if winner < 4 {
                let outcome = selecting.must_be_ready(&what);
                assert!(
                    match &outcome {
                        Selected4::First(received) => winner == 0 && *received == Ok(5),
                        Selected4::Second(sent) => winner == 1 && sent.is_ok(),
                        Selected4::Third(()) => winner == 2,
                        Selected4::Fourth(_) => winner == 3,
                    },
                    "{what}"
                );
                drop(outcome);
            } else {
                drop(selecting);
            }
            assert_eq!(Arc::strong_count(&waker), 1, "S1: no waker is kept; {what}");
            // Whoever came for a branch that is still in a queue would meet it.
            let sent = tx.try_send(6).is_ok();
            assert_eq!(sent, kind.is_buffered(), "S1: {what}");
            assert_eq!(rx.try_recv().is_ok(), sent, "S1: {what}");
            let left = fulls.drain().count();
            assert_eq!(
                left,
                if kind.is_buffered() { room } else { 0 },
                "S1: the send is not in line; {what}"
            );
            assert!(fulls.try_recv().is_err(), "S1: {what}");
            drop(guard);
            assert!(mutex.try_lock().is_some(), "S1: nobody is granted the lock; {what}");
            tx.assert_valid();
            full.assert_valid();
            open.assert_valid();
            mutex.assert_valid();
        }
    }
}

/// S1: what comes for a select that has completed elsewhere, and has not run yet, goes to the next in line.
#[test]
fn a_value_for_a_completed_select_goes_to_the_next() {
    for kind in KINDS {
        let (a, a_rx) = kind.open();
        let (b, b_rx) = rendezvous();
        let mut selecting = select_biased((a_rx.recv(), b_rx.recv()));
        let woken = selecting.must_wait("nothing is ready");
        let mut next = a_rx.recv();
        let next_woken = next.must_wait("nothing is ready");
        b.try_send(1).expect("the select waits");
        assert!(woken.was_woken());
        a.try_send(2).expect("the next waits, or there is room");
        assert!(next_woken.was_woken(), "S1: the next in line is served; {kind:?}");
        assert_eq!(next.must_be_ready("S1"), Ok(2), "{kind:?}");
        assert_eq!(selecting.must_be_ready("a peer has completed it"), Selected2::Second(Ok(1)));
    }
}

/// S1: the same for room: a send that was in line for it, in a select that completed elsewhere.
#[test]
fn room_for_a_completed_select_goes_to_the_next() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (b, b_rx) = rendezvous();
        let room = kind.fill(&tx, |i| i);
        let mut selecting = select((tx.send(777), b_rx.recv()));
        selecting.must_wait("nothing is ready");
        let mut next = tx.send(888);
        let next_woken = next.must_wait("full");
        b.try_send(1).expect("the select waits");
        let mut received = vec![rx.try_recv().expect("somebody waits, or there are values")];
        assert!(next_woken.was_woken(), "C4, S1: the next in line; {kind:?}");
        assert_eq!(next.must_be_ready("S1"), Ok(()));
        assert_eq!(selecting.must_be_ready("a peer has completed it"), Selected2::Second(Ok(1)));
        received.extend(rx.drain());
        assert_eq!(received, (0..room).chain([888]).collect::<Vec<_>>(), "S1: the loser has sent nothing");
    }
}

/// S3: a ready branch is found before anything is registered, wherever it stands: no waker is cloned, and at the
/// moment of the look (a foreign future looks last) nobody waits in any queue.
#[test]
fn ready_branches_are_found_before_anything_is_registered() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u32>();
        let (full, fulls) = kind.open();
        let room = kind.fill(&full, |i| i);
        let mutex = Mutex::new(());
        let _guard = mutex.try_lock();
        let last = std::future::poll_fn(|_| {
            if !kind.is_buffered() {
                assert!(tx.try_send(1).is_err(), "S3: a receiver is registered");
                assert!(fulls.try_recv().is_err(), "S3: a sender is registered");
            }
            Poll::Ready(7)
        });
        let mut selecting = select_biased((rx.recv(), full.send(1000), mutex.lock(), foreign(last)));
        let waker = hooked_waker(|event| assert_eq!(event, Event::Drop, "S3: the waker is not used"));
        assert!(matches!(selecting.poll_with(&waker), Poll::Ready(Selected4::Fourth(7))), "S3: {kind:?}");
        assert_eq!((rx.len(), fulls.len()), (0, room));
    }
}

/// S3: the same with a clone that would panic.
#[test]
fn a_ready_select_clones_no_waker() {
    let (tx, rx) = leno::bounded(1);
    let (_other, others) = rendezvous::<u8>();
    tx.try_send(1).expect("there is room");
    let waker = hooked_waker(|event| assert_ne!(event, Event::Clone, "planted: a clone panics"));
    let mut selecting = select((others.recv(), rx.recv()));
    assert_eq!(selecting.poll_with(&waker), Poll::Ready(Selected2::Second(Ok(1))), "S3");
    // The same waker does panic where the select has to wait, and leaves all usable (C13).
    let mut selecting = select((others.recv(), rx.recv()));
    let panic = catch_unwind(AssertUnwindSafe(|| selecting.poll_with(&waker)));
    assert!(panic.is_err(), "a select that waits keeps its waker");
    drop(selecting);
    assert!(_other.try_send(1).is_err(), "C13, S10: nobody waits there");
    tx.try_send(2).expect("there is room");
    assert_eq!(rx.try_recv(), Ok(2), "C13: usable");
    rx.assert_valid();
    others.assert_valid();
}

/// C12: a select that is polled with another waker wakes that one, and keeps none.
#[test]
fn the_last_waker_counts() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (_other, others) = kind.open::<u8>();
        let mut selecting = select((others.recv(), rx.recv()));
        let first = selecting.must_wait("nothing is ready");
        let second = selecting.must_wait("nothing is ready");
        tx.try_send(1).expect("a receiver waits, or there is room");
        assert!(!first.was_woken() && second.was_woken(), "C12: {kind:?}");
        assert_eq!(second.count(), 1, "one wake-up");
        assert_eq!(selecting.must_be_ready("woken"), Selected2::Second(Ok(1)));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1), "no waker is kept");
    }
}

/// C14 for a select: what comes while it waits is its own, and nobody robs it.
#[test]
fn a_waiting_select_is_not_robbed() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (_other, others) = kind.open::<u8>();
        let mut selecting = select((rx.recv(), others.recv()));
        let waker = selecting.must_wait("nothing is ready");
        let mut next = rx.recv();
        let next_woken = next.must_wait("nothing is ready");
        tx.try_send(0).expect("the select waits");
        assert!(waker.was_woken() && !next_woken.was_woken(), "C14: its place is the first");
        assert!(rx.try_recv().is_err(), "C2: it was handed over");
        assert_eq!(selecting.must_be_ready("C14"), Selected2::First(Ok(0)));
        next.must_wait("nothing is left");
    }
}

/// A value, or a future, that panics when it is dropped.
#[derive(Clone)]
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "planted: a drop panics");
    }
}

impl Future for Panics {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// Selects these two by the functions and by the macros, on a thread and in a task: the first one completes, and the drop of the
/// other one panics. Each time `$then`.
macro_rules! each_way {
    ($winner:expr, $loser:expr, $then:expr) => {{
        let ways: [&dyn Fn(); 4] = [
            &|| drop(select_biased(($winner, $loser)).wait()),
            &|| drop(leno::block_on(select_biased(($winner, $loser)))),
            &|| leno::select_blocking! { biased; won = $winner => _ = won, lost = $loser => _ = lost },
            &|| {
                leno::block_on(async {
                    leno::select_biased! { won = $winner => _ = won, lost = $loser => _ = lost }
                });
            },
        ];
        for (way, select) in ways.iter().enumerate() {
            assert!(catch_unwind(AssertUnwindSafe(select)).is_err(), "way {way}: the panic goes on");
            $then(way);
        }
    }};
}

/// C29, M1, M2, C23: a loser panics as it is dropped. What the winner was given is not lost: a value is the next to be received, a
/// lock is free, room is free.
#[test]
fn a_loser_that_panics_takes_nothing_with_it() {
    let (panics, _taker) = rendezvous::<Panics>();
    for kind in [Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000)] {
        let (tx, rx) = kind.open::<u8>();
        each_way!(tx.reserve(), panics.send(Panics), |way| {
            let permits = std::iter::from_fn(|| tx.try_reserve().ok()).take(2).collect::<Vec<_>>();
            assert_eq!(permits.len(), kind.room(2), "way {way}, {kind:?}");
        });
        tx.try_send(1).unwrap();
        each_way!(rx.recv(), panics.send(Panics), |way| {
            assert_eq!(rx.try_recv(), Ok(1), "way {way}, {kind:?}");
            tx.try_send(1).unwrap();
        });
    }
    let (all, _all_rx) = broadcast::channel::<Panics>(1);
    let (tx, rx) = bounded::<u8>(1);
    tx.try_send(1).unwrap();
    each_way!(rx.recv(), all.send_async(Panics), |way| {
        assert_eq!(rx.try_recv(), Ok(1), "way {way}, beside a broadcast");
        tx.try_send(1).unwrap();
    });
    let (mutex, semaphore, lock) = (Mutex::fair(()), Semaphore::new(1), RwLock::new(()));
    each_way!(mutex.lock(), panics.send(Panics), |way| assert!(mutex.try_lock().is_some(), "way {way}"));
    each_way!(semaphore.acquire(), panics.send(Panics), |way| assert_eq!(
        semaphore.available_permits(),
        1,
        "way {way}"
    ));
    each_way!(lock.write(), panics.send(Panics), |way| assert!(lock.try_read().is_some(), "way {way}"));
}

/// S9, C29: the same where the winner is a send that was only lent: it has sent, and says so later.
#[test]
#[allow(clippy::await_holding_refcell_ref, reason = "one way at a time")]
fn a_lent_send_that_won_beside_a_loser_that_panics_has_sent() {
    let (panics, _taker) = rendezvous::<Panics>();
    for kind in [Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000)] {
        let (tx, rx) = kind.open::<u8>();
        let sending = RefCell::new(tx.send(1));
        each_way!(&mut *sending.borrow_mut(), panics.send(Panics), |way| {
            let mut sent = sending.replace(tx.send(1));
            assert_eq!(sent.must_be_ready("it has sent"), Ok(()), "way {way}, {kind:?}");
            assert_eq!((rx.try_recv(), rx.len()), (Ok(1), 0), "C1: once, way {way}, {kind:?}");
        });
    }
    let (all, mut all_rx) = broadcast::channel::<u8>(1);
    let sending = RefCell::new(all.send_async(1));
    each_way!(&mut *sending.borrow_mut(), panics.send(Panics), |way| {
        let mut sent = sending.replace(all.send_async(1));
        assert_eq!(sent.must_be_ready("it has sent"), Ok(1), "way {way}, a broadcast");
        assert_eq!((all_rx.try_recv(), all_rx.try_recv().is_ok()), (Ok(1), false), "C1: once, way {way}");
    });
}

/// S9, C29: the same where it has failed, and of a receive: it finds the close again, and the send has its value.
#[test]
#[allow(clippy::await_holding_refcell_ref, reason = "one way at a time")]
fn a_lent_one_that_found_a_close_beside_a_loser_that_panics_finds_it_again() {
    let (panics, _taker) = rendezvous::<Panics>();
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        tx.close();
        let sending = RefCell::new(tx.send(tracker.value()));
        each_way!(&mut *sending.borrow_mut(), panics.send(Panics), |way| {
            let mut kept = sending.replace(tx.send(tracker.value()));
            if way % 2 == 0 {
                assert!(
                    kept.must_be_ready("closed").is_err_and(|error| error.0 == way),
                    "way {way}, {kind:?}"
                );
            } else {
                assert!(kept.into_inner().is_some_and(|value| value == way), "way {way}, {kind:?}");
            }
        });
        let receiving = RefCell::new(rx.recv());
        each_way!(&mut *receiving.borrow_mut(), panics.send(Panics), |way| {
            assert!(receiving.replace(rx.recv()).must_be_ready("closed").is_err(), "way {way}, {kind:?}");
        });
        drop((sending, receiving));
        tracker.assert_done();
    }
    let (all, all_rx) = broadcast::channel::<u8>(1);
    drop(all_rx);
    let sending = RefCell::new(all.send_async(1));
    each_way!(&mut *sending.borrow_mut(), panics.send(Panics), |way| {
        let kept = sending.replace(all.send_async(1));
        assert_eq!(kept.into_inner(), Some(1), "way {way}, a broadcast");
    });
}

/// S9, C29: and of what only locks, reserves or hears of something: it is as before, and completes when it is polled again.
#[test]
#[allow(clippy::await_holding_refcell_ref, reason = "one way at a time")]
fn a_lent_one_that_won_beside_a_loser_that_panics_completes_again() {
    let (panics, _taker) = rendezvous::<Panics>();
    macro_rules! completes_again {
        ($($operation:expr),+ $(,)?) => {$(
            let lent = RefCell::new($operation);
            each_way!(&mut *lent.borrow_mut(), panics.send(Panics), |way| {
                let mut again = lent.replace($operation);
                let _ = again.must_be_ready(&format!("way {way}, {}", stringify!($operation)));
            });
        )+};
    }
    let (mutex, lock, semaphore) =
        (Arc::new(Mutex::new(())), Arc::new(RwLock::new(())), Arc::new(Semaphore::new(2)));
    completes_again!(
        mutex.lock(),
        mutex.lock_arc(),
        lock.read(),
        lock.write(),
        lock.upgradable_read(),
        lock.write_arc()
    );
    completes_again!(semaphore.acquire(), semaphore.acquire_many(2), semaphore.acquire_arc());
    let (token, group) = (CancelToken::new(), WaitGroup::new());
    token.cancel();
    completes_again!(token.cancelled(), group.wait_all());
    let (all, all_rx) = broadcast::channel::<u8>(1);
    drop(all_rx);
    completes_again!(all.closed());
    for kind in KINDS {
        let (tx, rx) = kind.open::<u8>();
        if kind.room(2) > 0 {
            completes_again!(tx.reserve(), tx.reserve_many(kind.room(2)));
        }
        tx.close();
        completes_again!(tx.closed(), tx.reserve(), tx.reserve_many(1));
        drop(rx);
    }
}

/// S9, C29: and of batches: they have moved what they have moved, tell of it when they are polled again, and a send does the rest.
#[test]
#[allow(clippy::await_holding_refcell_ref, reason = "one way at a time")]
fn a_lent_batch_that_won_beside_a_loser_that_panics_tells_of_all_that_it_has_moved() {
    let (panics, _taker) = rendezvous::<Panics>();
    for kind in [Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000), Kind::Unbounded] {
        let (tx, rx) = kind.open::<u8>();
        let mut batches: [VecDeque<u8>; 5] = std::array::from_fn(|_| (0..3).collect());
        let mut batches = batches.iter_mut();
        let mut next = || tx.send_many(batches.next().expect("there is one for each way"));
        let lent = RefCell::new(next());
        each_way!(&mut *lent.borrow_mut(), panics.send(Panics), |way| {
            let mut sending = lent.replace(next());
            let mut received = Vec::new();
            let sent = loop {
                match sending.poll_once(&CountingWaker::new()) {
                    Poll::Ready(sent) => break sent,
                    Poll::Pending => received.push(rx.try_recv().expect("it waits for room")),
                }
            };
            received.extend(std::iter::from_fn(|| rx.try_recv().ok()));
            assert_eq!((sent, received), (Ok(3), vec![0, 1, 2]), "way {way}, {kind:?}");
        });
        drop(lent);

        let there = kind.room(2);
        let fill = || (0..there as u8).for_each(|value| tx.try_send(value).expect("there is room"));
        let mut received: [Vec<u8>; 5] = Default::default();
        let mut outs = received.iter_mut();
        let mut next = || rx.recv_many(outs.next().expect("there is one for each way"), 3);
        let lent = RefCell::new(next());
        fill();
        each_way!(&mut *lent.borrow_mut(), panics.send(Panics), |way| {
            let mut receiving = lent.replace(next());
            assert_eq!(rx.len(), 0, "way {way}, {kind:?}");
            assert_eq!(receiving.must_be_ready("they have come"), Ok(there), "way {way}, {kind:?}");
            fill();
        });
        drop(lent);
        let all = (0..there as u8).collect::<Vec<_>>();
        assert_eq!(received, [all.clone(), all.clone(), all.clone(), all, vec![]], "{kind:?}");
    }
}

/// The same where a loser passes on what it has got, to somebody whose waker panics.
#[test]
fn a_loser_that_wakes_somebody_who_panics_takes_nothing_with_it() {
    let (mutex, notify) = (Mutex::fair(()), Notify::new());
    let panics = panicking_waker();
    let next = RefCell::new(None);
    let hears = || {
        let mut heard = notify.notified();
        notify.notify_one();
        assert!(heard.enable());
        let mut behind = notify.notified();
        assert!(behind.poll_with(&panics).is_pending());
        *next.borrow_mut() = Some(behind);
        heard
    };
    each_way!(mutex.lock(), hears(), |way| {
        assert!(mutex.try_lock().is_some(), "way {way}");
        next.take();
    });
}

/// The same after a wait; and for the functions with a loser that is no operation.
#[test]
fn a_loser_that_panics_after_a_wait_takes_nothing_with_it() {
    let (panics, _taker) = rendezvous::<Panics>();
    for kind in KINDS {
        let (tx, rx) = kind.open::<u8>();
        let mut ways: [Pin<Box<dyn Future<Output = ()> + '_>>; 2] = [
            Box::pin(async { _ = select_biased((rx.recv(), foreign(Panics))).await }),
            Box::pin(async {
                leno::select! { won = rx.recv() => _ = won, _ = panics.send(Panics) => {} }
            }),
        ];
        for (way, select) in ways.iter_mut().enumerate() {
            let waker = CountingWaker::new();
            assert!(select.poll_once(&waker).is_pending());
            tx.try_send(1).expect("it waits");
            assert!(catch_unwind(AssertUnwindSafe(|| select.poll_once(&waker).is_ready())).is_err());
            assert_eq!(rx.try_recv(), Ok(1), "way {way}, {kind:?}");
        }
    }
}

/// What was received by other kinds of receives is given back, too.
#[test]
fn what_others_receive_beside_a_loser_that_panics_comes_back() {
    let (panics, _taker) = rendezvous::<Panics>();
    /// By the macro; the functions' outcome is still in its place.
    macro_rules! select {
        ($winner:expr) => {
            assert!(
                catch_unwind(AssertUnwindSafe(|| leno::select_blocking! {
                    biased;
                    won = $winner => _ = won,
                    _ = panics.send(Panics) => {}
                }))
                .is_err()
            )
        };
    }
    let (tx, mut rx) = watch::channel(0);
    tx.send(1).unwrap();
    select!(rx.changed());
    assert_eq!(rx.has_changed(), Ok(true));

    select!(rx.wait_for(|value| *value == 1));
    assert_eq!(rx.has_changed(), Ok(true));

    let (tx, mut rx) = broadcast::channel(2);
    tx.send(1).unwrap();
    select!(rx.recv());
    assert_eq!(rx.try_recv(), Ok(1));

    let (tx, mut rx) = oneshot::channel();
    tx.send(1).unwrap();
    select!(&mut rx);
    assert_eq!(rx.try_recv(), Ok(1));

    // To the next one who waits; or it is stored.
    let notify = Notify::new();
    for waits in [true, false] {
        let (mut first, mut next) = (notify.notified(), notify.notified());
        assert!(!(first.enable() || waits && next.enable()));
        notify.notify_one();
        select!(&mut first);
        next.must_be_ready("it was passed on");
    }
    let mut all = notify.notified();
    notify.notify_waiters();
    select!(&mut all);
    all.must_be_ready("it was told with all");

    let barrier = Barrier::new(1);
    let mut coming = barrier.wait_for_all();
    select!(&mut coming);
    assert!(coming.must_be_ready("it was the last one").is_leader());
}
