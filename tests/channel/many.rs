//! Batches: `send_many` and `recv_many` of all kinds of channels, waiting, trying, on threads, dropped, and in selects (C22).

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;
use leno::channel::{
    Builder, Overflow, RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError,
    mpsc, spsc,
};
use leno::select::Select;
use leno::{bounded, rendezvous, select, select_biased, select_blocking, unbounded};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{CountingWaker, PollExt, Tracked, Tracker, panicking_waker, within};

/// What the same tests need of each kind.
macro_rules! kinds {
    ($($module:ident = $kind:ident;)+) => {$(
        #[allow(unused_mut, reason = "some kinds need less than others")]
        mod $module {
            use super::*;

            fn open<T>(capacity: Option<usize>) -> ($kind::Sender<T>, $kind::Receiver<T>) {
                match capacity {
                    Some(0) => $kind::rendezvous(),
                    Some(capacity) => $kind::bounded(capacity),
                    None => $kind::unbounded(),
                }
            }

            kinds! { @tests
                rendezvous = Some(0), bounded_1 = Some(1), bounded_3 = Some(3), bounded_64 = Some(64),
                bounded_255 = Some(255), bounded_1000 = Some(1000), unbounded = None,
            }
        }
    )+};
    (@tests $($name:ident = $capacity:expr,)+) => {$(
        mod $name {
            use super::*;

            const CAPACITY: Option<usize> = $capacity;

            /// C22: what is asked of `try_` is counted exactly, in order; what does not go stays.
            #[test]
            fn tries() {
                let (mut tx, mut rx) = super::open(CAPACITY);
                let room = CAPACITY.unwrap_or(500).min(500);
                let mut values = (0..500).collect::<VecDeque<usize>>();
                let mut out = vec![1000];
                assert_eq!(rx.try_recv_many(&mut out, 7), Err(TryRecvError::Empty));
                assert_eq!(rx.try_recv_many(&mut out, 0), Ok(0));
                assert_eq!(tx.try_send_many(&mut VecDeque::new()), Ok(0));
                for turn in 0..3 {
                    values.clear();
                    values.extend(0..500);
                    let sent = tx.try_send_many(&mut values);
                    assert_eq!(sent, if room == 0 { Err(TrySendError::Full(())) } else { Ok(room) });
                    assert!(values.iter().copied().eq(room..500), "C22: the rest, in order");
                    assert_eq!(tx.len(), room, "C17");
                    if room < 500 {
                        assert_eq!(tx.try_send_many(&mut values), Err(TrySendError::Full(())));
                    }
                    // In pieces of another size each turn.
                    let piece = [7, 40, usize::MAX][turn];
                    out.clear();
                    while out.len() < room {
                        let expected = piece.min(room - out.len());
                        assert_eq!(rx.try_recv_many(&mut out, piece), Ok(expected));
                    }
                    assert!(out.iter().copied().eq(0..room), "C22: in order");
                    assert!(out.capacity() <= 2048, "room for what there is");
                    tx.assert_valid();
                }
                values.clear();
                values.extend([1, 2]);
                let sent = tx.try_send_many(&mut values).unwrap_or(0);
                assert!(rx.close());
                assert_eq!(tx.try_send_many(&mut VecDeque::from([9])), Err(TrySendError::Closed(())));
                out.clear();
                if sent > 0 {
                    assert_eq!(rx.try_recv_many(&mut out, 9), Ok(sent));
                }
                assert_eq!(rx.try_recv_many(&mut out, 9), Err(TryRecvError::Closed));
                assert_eq!(out.len(), sent);
            }

            /// C22, F10: a batch of nothing is through at once, also where the budget had run out: with any part of it spent before.
            #[test]
            fn nothing_is_asked_for() {
                leno::block_on(async {
                    let fiber = leno::spawn(async {
                        let (mut tx, mut rx) = super::open(CAPACITY);
                        let (feed, _fed) = unbounded();
                        let mut out = Vec::new();
                        for (spent, holds_one) in (0..600).map(|turn| (turn / 2, turn % 2 > 0)) {
                            let held = holds_one && tx.try_send(7).is_ok();
                            for is_send in [true, false] {
                                leno::yield_now().await;
                                for _ in 0..spent {
                                    feed.send(()).await.expect("it is open");
                                }
                                match is_send {
                                    true => assert_eq!(tx.send_many(&mut VecDeque::new()).await, Ok(0), "{spent}"),
                                    false => assert_eq!(rx.recv_many(&mut out, 0).await, Ok(0), "{spent}"),
                                }
                            }
                            assert!(out.is_empty());
                            assert_eq!(rx.try_recv().is_ok(), held);
                        }
                    });
                    fiber.await.expect("it does not panic");
                });
            }

            /// C22: two threads, batches of many sizes: all of it, in order.
            #[test]
            fn threads() {
                within("batches between two threads", || {
                    const ALL: usize = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
                    let (mut tx, mut rx) = super::open(CAPACITY);
                    let sender = std::thread::spawn(move || {
                        let (mut next, mut values) = (0, VecDeque::new());
                        while next < ALL {
                            let size = (next % 97 + 1).min(ALL - next);
                            values.extend(next..next + size);
                            next += size;
                            assert_eq!(tx.send_many(&mut values).wait(), Ok(size));
                            assert!(values.is_empty());
                        }
                    });
                    let (mut seen, mut out) = (0, Vec::new());
                    while let Ok(count) = rx.recv_many(&mut out, seen % 61 + 1).wait() {
                        assert!(count > 0 && count == out.len(), "at least one");
                        for value in out.drain(..) {
                            assert_eq!(value, seen, "C2: in order");
                            seen += 1;
                        }
                    }
                    sender.join().expect("nothing panics");
                    assert_eq!(seen, ALL, "C1");
                });
            }

            /// The same, with fibers.
            #[test]
            fn fibers() {
                leno::block_on(async {
                    const ALL: usize = 5_000;
                    let (mut tx, mut rx) = super::open(CAPACITY);
                    let sender = leno::spawn(async move {
                        let mut values = (0..ALL).collect::<VecDeque<_>>();
                        assert_eq!(tx.send_many(&mut values).await, Ok(ALL));
                    });
                    let mut out = Vec::new();
                    while let Ok(count) = rx.recv_many(&mut out, 100).await {
                        assert!((1..=100).contains(&count));
                    }
                    sender.await.expect("nothing panics");
                    assert!(out.into_iter().eq(0..ALL), "C1, C2");
                });
            }

            /// C22: a send that is dropped at any of its awaits leaves the rest, in order.
            #[test]
            fn dropped_sends() {
                for turns in 0..6 {
                    let tracker = Tracker::new();
                    let (mut tx, mut rx) = super::open::<Tracked>(CAPACITY);
                    let room = CAPACITY.unwrap_or(20).min(20);
                    let mut values = (0..20).map(|_| tracker.value()).collect::<VecDeque<_>>();
                    let mut out = Vec::new();
                    {
                        let mut sending = tx.send_many(&mut values);
                        if room == 20 {
                            assert_eq!(sending.must_be_ready("there is room"), Ok(20));
                            assert!(sending.is_terminated());
                        } else {
                            for _ in 0..turns {
                                let woken = sending.must_wait("it is full");
                                assert_eq!(rx.try_recv_many(&mut out, 1), Ok(1));
                                assert!(woken.was_woken(), "C4: there is room for the next one");
                            }
                            if turns % 2 == 0 {
                                // In the line, too.
                                sending.must_wait("it is full");
                            }
                        }
                    }
                    let left = out.len();
                    _ = rx.try_recv_many(&mut out, 100);
                    assert!(out.len() - left <= room);
                    out.extend(values);
                    assert!(out.iter().map(|value| value.id).eq(0..20), "C1, C22");
                    drop(out);
                    tracker.assert_done();
                    drop((tx, rx));
                }
            }

            /// C9, C22: a receive that is dropped while it waits, or with a value in its hands, loses nothing.
            #[test]
            fn dropped_receives() {
                let (mut tx, mut rx) = super::open(CAPACITY);
                let mut out = Vec::new();
                rx.recv_many(&mut out, 9).must_wait("it is empty");
                {
                    let mut receiving = rx.recv_many(&mut out, 9);
                    let woken = receiving.must_wait("it is empty");
                    assert_eq!(tx.try_send_many(&mut (0..2).collect()), Ok(1 + CAPACITY.unwrap_or(2).min(1)));
                    assert!(woken.was_woken(), "C2");
                }
                assert!(out.is_empty());
                let count = rx.recv_many(&mut out, 9).must_be_ready("C9: it is there");
                assert_eq!(count, Ok(1 + CAPACITY.unwrap_or(2).min(1)));
                assert!(out.iter().copied().eq(0..out.len()), "C9: it was the first");
            }

            /// C5, C22: closed in the middle, a send says how many it has sent; closed before, it fails.
            #[test]
            fn closed() {
                let (mut tx, mut rx) = super::open(CAPACITY);
                let mut values = (0..1500).collect::<VecDeque<_>>();
                let mut out = Vec::new();
                if CAPACITY.is_some() {
                    let mut sending = tx.send_many(&mut values);
                    let woken = sending.must_wait("it is full");
                    let before = rx.try_recv_many(&mut out, 5).expect("there are some");
                    rx.close();
                    assert!(woken.was_woken(), "C5");
                    let sent = sending.must_be_ready("C5").expect("some were sent");
                    assert!(sent >= before);
                    drop(sending);
                    assert!(values.iter().copied().eq(sent..1500), "C22");
                    _ = rx.try_recv_many(&mut out, usize::MAX);
                    assert!(out.into_iter().eq(0..sent), "C5: what was sent is received");
                } else {
                    assert_eq!(tx.send_many(&mut values).must_be_ready("there is room"), Ok(1500));
                    rx.close_now();
                    assert!(values.is_empty());
                    values.push_back(3);
                }
                let before = values.clone();
                assert_eq!(tx.send_many(&mut values).must_be_ready("C5"), Err(SendError(())));
                assert_eq!(tx.send_many(&mut values).wait(), Err(SendError(())));
                assert_eq!(
                    tx.send_many(&mut values).wait_timeout(Duration::MAX),
                    Err(SendTimeoutError::Closed(()))
                );
                assert_eq!(values, before, "C22");
                assert_eq!(tx.send_many(&mut VecDeque::new()).wait(), Ok(0), "nothing is sent, whatever it is");
                assert_eq!(rx.recv_many(&mut Vec::new(), 3).wait(), Err(RecvError));
                assert_eq!(rx.recv_many(&mut Vec::new(), 0).wait(), Ok(0));
            }

            /// C16, C28: limits of time.
            #[test]
            fn limits() {
                let (mut tx, mut rx) = super::open(CAPACITY);
                let mut out = Vec::<usize>::new();
                assert_eq!(
                    rx.recv_many(&mut out, 3).wait_timeout(Duration::ZERO),
                    Err(RecvTimeoutError::Timeout)
                );
                assert_eq!(rx.recv_many(&mut out, 3).wait_deadline(Instant::now()), Err(RecvTimeoutError::Timeout));
                assert_eq!(rx.recv_many(&mut out, 0).wait_deadline(Instant::now()), Ok(0));
                let mut values = (0..1500).collect::<VecDeque<_>>();
                let sent = tx.send_many(&mut values).wait_timeout(Duration::from_millis(1));
                match CAPACITY {
                    Some(0) => assert_eq!(sent, Err(SendTimeoutError::Timeout(()))),
                    room => assert_eq!(sent, Ok(room.unwrap_or(1500))),
                }
                assert!(values.into_iter().eq(sent.unwrap_or(0)..1500), "C16: given back, in order");
                if let Ok(sent) = sent {
                    assert_eq!(rx.recv_many(&mut out, 9999).wait_timeout(Duration::ZERO), Ok(sent), "C28");
                }
            }

            /// C26: a forgotten send strands one value at most, and does no harm to the others.
            #[test]
            fn forgotten() {
                let (mut tx, mut rx) = super::open(CAPACITY);
                let mut values = (0..1500).collect::<VecDeque<usize>>();
                let mut sending = tx.send_many(&mut values);
                if CAPACITY.is_none() {
                    return;
                }
                sending.must_wait("it is full");
                std::mem::forget(sending);
                let left = 1500 - CAPACITY.unwrap_or(0) - 1;
                assert!(values.iter().copied().eq(1500 - left..1500), "C26");
                let mut out = Vec::new();
                assert_eq!(rx.try_recv_many(&mut out, 9999), Ok(1500 - left), "what waits is sent");
                let mut receiving = rx.recv_many(&mut out, 9999);
                receiving.must_wait("it is empty");
                std::mem::forget(receiving);
                assert!(out.iter().copied().eq(0..1500 - left));
                // On the restricted kinds the next operation takes it out.
                assert_eq!(tx.try_send_many(&mut (0..1).collect()), Ok(1));
            }

            /// S1, C9: in a select a batch has won, or has done nothing.
            #[test]
            fn selected() {
                leno::block_on(async {
                    let (mut tx, mut rx) = super::open(CAPACITY);
                    let (quit, quitting) = bounded::<()>(1);
                    let (mut values, mut out) = ((0..5).collect::<VecDeque<usize>>(), Vec::new());
                    let room = CAPACITY.unwrap_or(5).min(5);
                    let sent = select_biased! {
                        sent = tx.send_many(&mut values) => sent,
                        default => Ok(0),
                    };
                    assert_eq!(sent, Ok(room));
                    assert_eq!(values.len(), 5 - room, "what was not sent is in the deque");
                    let received = select_biased! {
                        received = rx.recv_many(&mut out, 3) => received,
                        default => Ok(0),
                    };
                    assert_eq!(received, Ok(room.min(3)));
                    _ = rx.try_recv_many(&mut out, 9);
                    assert!(out.drain(..).eq(0..room));
                    // A loser.
                    quit.try_send(()).expect("there is room");
                    select! {
                        _ = rx.recv_many(&mut out, 3) => unreachable!("it is empty"),
                        _ = quitting.recv() => {}
                    }
                    select_blocking! {
                        received = rx.recv_many(&mut out, 0) => assert_eq!(received, Ok(0)),
                        default => unreachable!("nothing is asked for"),
                    }
                    assert!(out.is_empty());
                    // One that waits, and is served.
                    let sender = leno::spawn(async move {
                        let mut values = (7..9).collect::<VecDeque<usize>>();
                        let mut sent = 0;
                        while sent < 2 {
                            sent += select! {
                                sent = tx.send_many(&mut values) => sent.expect("open"),
                                _ = std::future::pending::<()>() => unreachable!(),
                            };
                        }
                        tx
                    });
                    let mut received = 0;
                    while received < 2 {
                        received += select! {
                            received = rx.recv_many(&mut out, 9) => received.expect("open"),
                            _ = quitting.recv() => unreachable!("nobody quits"),
                        };
                    }
                    assert_eq!(out, [7, 8]);
                    drop(sender.await.expect("nothing panics"));
                    select! {
                        received = rx.recv_many(&mut out, 9) => assert_eq!(received, Err(RecvError)),
                        _ = quitting.recv() => unreachable!("nobody quits"),
                    }
                    drop(quit);
                });
            }

            /// In a set: asking does nothing; a batch of none would not wait, and both sides of a rendezvous would.
            #[test]
            fn in_a_set() {
                let (mut tx, mut rx) = super::open(CAPACITY);
                let (mut values, mut none, mut out) = ((0..2).collect(), VecDeque::new(), Vec::new());
                let room = CAPACITY.unwrap_or(2).min(2);
                {
                    let mut set = Select::biased();
                    set.add(rx.recv_many(&mut out, 9));
                    assert_eq!(set.try_ready(), None, "it is empty");
                    set.add(tx.send_many(&mut values));
                    assert_eq!(set.try_ready(), (room > 0).then_some(1));
                }
                {
                    let mut set = Select::biased();
                    let sending = set.add(tx.send_many(&mut none));
                    assert_eq!(set.try_ready(), Some(0), "there is nothing to be sent");
                    assert_eq!(set.try_select().expect("as it was").output(sending), Ok(0));
                    let receiving = set.add(rx.recv_many(&mut out, 0));
                    assert_eq!(set.try_ready(), Some(1), "nothing is asked for");
                    assert_eq!(set.try_select().expect("as it was").output(receiving), Ok(0));
                }
                assert_eq!((&values, out.len()), (&VecDeque::from([0, 1]), 0));
                {
                    let mut set = Select::biased();
                    let sending = set.add(tx.send_many(&mut values));
                    let sent = set.try_select().map(|operation| operation.output(sending));
                    assert_eq!(sent, (room > 0).then_some(Ok(room)));
                }
                let mut set = Select::biased();
                let receiving = set.add(rx.recv_many(&mut out, 9));
                assert_eq!(set.try_ready(), (room > 0).then_some(0));
                let received = set.try_select().map(|operation| operation.output(receiving));
                assert_eq!(received, (room > 0).then_some(Ok(room)));
                drop(set);
                assert!(out.into_iter().chain(values).eq(0..2));
            }

            /// C12, S9: lent to a select, and polled by itself, with another waker.
            #[test]
            fn lent() {
                let (mut tx, mut rx) = super::open(CAPACITY);
                let (_quit, quitting) = rendezvous::<()>();
                let mut out = Vec::new();
                {
                    let mut receiving = rx.recv_many(&mut out, 9);
                    receiving.must_wait("it is empty");
                    leno::select::select((&mut receiving, quitting.recv())).must_wait("it is empty");
                    let woken = receiving.must_wait("it is empty");
                    assert_eq!(tx.try_send_many(&mut (0..1).collect()), Ok(1));
                    assert!(woken.was_woken(), "C12");
                    assert_eq!(receiving.must_be_ready("it has one"), Ok(1));
                }
                let mut values = (0..1500).collect::<VecDeque<usize>>();
                let mut sending = tx.send_many(&mut values);
                if CAPACITY.is_none() {
                    return;
                }
                sending.must_wait("it is full");
                leno::select::select((&mut sending, quitting.recv())).must_wait("it is full");
                let woken = sending.must_wait("it is full");
                out.clear();
                assert_eq!(rx.try_recv_many(&mut out, 1), Ok(1));
                assert!(woken.was_woken(), "C12");
                sending.must_wait("it is full again");
                drop(sending);
                _ = rx.try_recv_many(&mut out, 9999);
                out.extend(values);
                assert!(out.into_iter().eq(0..1500), "C22");
            }
        }
    )+};
}

use leno::channel as general;

kinds! {
    any = general;
    one_receiver = mpsc;
    one_each = spsc;
}

/// The capacities of the tests that need several handles.
const CAPACITIES: [Option<usize>; 6] = [Some(0), Some(1), Some(3), Some(64), Some(1000), None];

fn open<T>(capacity: Option<usize>) -> (leno::Sender<T>, leno::Receiver<T>) {
    capacity.map_or_else(unbounded, bounded)
}

/// C2: receivers that wait are served by a batch in their order, and woken; then the buffer.
#[test]
fn a_batch_of_sends_serves_receivers_in_order() {
    for capacity in CAPACITIES {
        let (tx, rx) = open(capacity);
        let mut waiting = (0..4).map(|_| rx.recv()).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().map(|waiting| waiting.must_wait("it is empty")).collect::<Vec<_>>();
        let mut values = (0..6).collect::<VecDeque<_>>();
        let sent = 4 + capacity.unwrap_or(2).min(2);
        assert_eq!(tx.try_send_many(&mut values), Ok(sent));
        assert!(wakers.iter().all(|waker| waker.was_woken()));
        for (number, waiting) in waiting.iter_mut().enumerate() {
            assert_eq!(waiting.must_be_ready("it has one"), Ok(number));
        }
        assert_eq!((rx.len(), values.len()), (sent - 4, 6 - sent));
        rx.assert_valid();
    }
}

/// C4: senders that wait are let in by a batch in their order, and woken.
#[test]
fn a_batch_of_receives_lets_senders_in_in_order() {
    for capacity in CAPACITIES.into_iter().flatten() {
        let (tx, rx) = bounded(capacity);
        for value in 0..capacity {
            tx.try_send(value).expect("there is room");
        }
        let mut waiting = (0..4).map(|number| tx.send(capacity + number)).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().map(|waiting| waiting.must_wait("it is full")).collect::<Vec<_>>();
        let mut out = Vec::new();
        assert_eq!(rx.try_recv_many(&mut out, 2), Ok(2));
        let served = wakers.iter().map(|waker| waker.was_woken()).collect::<Vec<_>>();
        assert_eq!(served, [true, true, false, false], "C4: those whose room was made");
        assert_eq!(rx.try_recv_many(&mut out, 9999), Ok(capacity + 2));
        for waiting in &mut waiting {
            assert_eq!(waiting.must_be_ready("it is sent"), Ok(()));
        }
        assert!(out.into_iter().eq(0..capacity + 4));
        tx.assert_valid();
    }
}

/// C29: what was received stays, and nobody is forgotten, if the waker of a sender that was let in panics.
#[test]
fn a_waker_that_panics() {
    for capacity in [1, 3, 1000] {
        let (tx, rx) = bounded(capacity);
        tx.try_send_many(&mut (0..capacity).collect()).expect("there is room");
        let panics = panicking_waker();
        let (mut first, mut second) = (tx.send(capacity), tx.send(capacity + 1));
        assert!(first.poll_with(&panics).is_pending());
        let woken = second.must_wait("it is full");
        let mut out = Vec::new();
        catch_unwind(AssertUnwindSafe(|| rx.try_recv_many(&mut out, 9999)))
            .expect_err("the panic goes through");
        let more = rx.try_recv_many(&mut out, 9999);
        assert_eq!(more.unwrap_or(0) > 0, more.is_ok());
        assert!(woken.was_woken());
        assert_eq!(first.must_be_ready("it is sent"), Ok(()));
        assert_eq!(second.must_be_ready("it is sent"), Ok(()));
        assert!(out.into_iter().eq(0..capacity + 2), "C1, C2");
        tx.assert_valid();
    }
}

/// C29: the same with receivers that a batch serves: what was not sent is in the deque.
#[test]
fn a_waker_that_panics_in_a_send() {
    for capacity in CAPACITIES {
        let (tx, rx) = open(capacity);
        let panics = panicking_waker();
        let mut first = rx.recv();
        assert!(first.poll_with(&panics).is_pending());
        let mut values = (0..3).collect::<VecDeque<_>>();
        catch_unwind(AssertUnwindSafe(|| tx.try_send_many(&mut values))).expect_err("the panic goes through");
        assert_eq!(first.must_be_ready("it has one"), Ok(0));
        let mut seen = (1..1 + rx.len()).collect::<VecDeque<_>>();
        seen.extend(values);
        assert_eq!(seen, [1, 2], "C22");
    }
}

/// Any number of senders and receivers, batches and single values: each value once.
#[test]
fn crowds() {
    for capacity in CAPACITIES {
        within("a crowd", move || {
            const EACH: usize = if cfg!(debug_assertions) { 4_000 } else { 40_000 };
            let (tx, rx) = open(capacity);
            let senders = (0..3).map(|number| {
                let tx = tx.clone();
                std::thread::spawn(move || {
                    let mut values = (0..EACH).map(|i| number * EACH + i).collect::<VecDeque<_>>();
                    if number == 2 {
                        values.into_iter().for_each(|value| tx.send_blocking(value).expect("open"));
                        return;
                    }
                    while !values.is_empty() {
                        let rest = values.split_off(values.len().min(33));
                        let count = values.len();
                        // Some give up early, and go on.
                        let mut sent = 0;
                        while sent < count {
                            sent += tx
                                .send_many(&mut values)
                                .wait_timeout(Duration::from_micros(50))
                                .unwrap_or(0);
                        }
                        values = rest;
                    }
                })
            });
            let senders = senders.collect::<Vec<_>>();
            drop(tx);
            let receivers = (0..2).map(|number| {
                let rx = rx.clone();
                std::thread::spawn(move || {
                    let mut seen = Vec::new();
                    while match number {
                        0 => rx.recv_many(&mut seen, 17).wait().is_ok(),
                        _ => rx.recv_blocking().map(|value| seen.push(value)).is_ok(),
                    } {}
                    // Those of one sender come in order.
                    for sender in 0..3 {
                        let own = seen.iter().filter(|value| **value / EACH == sender);
                        assert!(own.is_sorted(), "C2");
                    }
                    seen
                })
            });
            let receivers = receivers.collect::<Vec<_>>();
            senders.into_iter().for_each(|sender| sender.join().expect("nothing panics"));
            let seen = receivers.into_iter().flat_map(|receiver| receiver.join().expect("nothing panics"));
            let mut seen = seen.collect::<Vec<_>>();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..3 * EACH), "C1");
        });
    }
}

/// C15: values without a size, and large ones.
#[test]
fn sizes() {
    let (tx, rx) = bounded(100);
    let mut out = Vec::new();
    assert_eq!(tx.try_send_many(&mut VecDeque::from([(); 70])), Ok(70));
    assert_eq!(rx.try_recv_many(&mut out, usize::MAX), Ok(70));
    let (tx, rx) = unbounded();
    let mut values = (0..50).map(|number| [number; 2000]).collect::<VecDeque<_>>();
    let mut out = Vec::new();
    assert_eq!(tx.try_send_many(&mut values), Ok(50));
    assert_eq!(rx.try_recv_many(&mut out, usize::MAX), Ok(50));
    assert!(out.into_iter().map(|value: [usize; 2000]| value[1999]).eq(0..50));
}

/// A sequential model: the buffer, and the sends that wait, each with one value in the line.
struct Model {
    capacity: usize,
    buffer: VecDeque<usize>,
    /// The numbers of sends that wait.
    line: VecDeque<usize>,
}

/// A send that was begun: its deque, what is in the line of it, its future.
struct Begun {
    /// Not in the channel yet.
    left: VecDeque<usize>,
    waker: Arc<CountingWaker>,
    /// Its first value went in meanwhile.
    is_served: bool,
}

impl Model {
    /// Takes as a receive does; the first in the line goes in.
    fn take(&mut self, begun: &mut [Begun]) -> Option<usize> {
        let served = self.line.pop_front().map(|number| {
            begun[number].is_served = true;
            begun[number].left.pop_front().expect("the value that waits")
        });
        self.buffer.extend(served);
        self.buffer.pop_front()
    }

    fn put(&mut self, values: &mut VecDeque<usize>) -> usize {
        let room = if self.line.is_empty() { self.capacity - self.buffer.len() } else { 0 };
        let count = room.min(values.len());
        self.buffer.extend(values.drain(..count));
        count
    }
}

/// C1–C4, C10, C22: random scripts of sends and receives, single ones and batches, that wait, go on and leave.
#[test]
fn scripts() {
    let mut rng = StdRng::seed_from_u64(0xba7c);
    for round in 0..400 {
        let capacity = [0, 1, 3, 5, 64, 300][round % 6];
        let (tx, rx) = bounded(capacity);
        let mut model = Model { capacity, buffer: VecDeque::new(), line: VecDeque::new() };
        // Each send has a deque of its own, so that futures can lie beside each other.
        let mut deques = vec![VecDeque::new(); 120];
        let mut deques = deques.iter_mut();
        let mut futures = Vec::new();
        let mut begun = Vec::<Begun>::new();
        let mut next = 0;
        for _ in 0..rng.random_range(20..120) {
            let size = rng.random_range(0..8);
            match rng.random_range(0..6) {
                0 => {
                    let mut values = (next..next + size).collect::<VecDeque<usize>>();
                    let mut expected = values.clone();
                    next += size;
                    let sent = tx.try_send_many(&mut values);
                    let count = model.put(&mut expected);
                    assert_eq!(sent.unwrap_or(0), count);
                    assert_eq!(sent.is_err(), count == 0 && size > 0);
                    assert_eq!(values, expected, "C22");
                }
                1 => {
                    let mut out = Vec::new();
                    let received = rx.try_recv_many(&mut out, size).unwrap_or(0);
                    let expected = (0..size).map_while(|_| model.take(&mut begun)).collect::<Vec<_>>();
                    assert_eq!((received, out), (expected.len(), expected), "C2, C4");
                }
                2 => {
                    let expected = model.take(&mut begun).ok_or(TryRecvError::Empty);
                    assert_eq!(rx.try_recv(), expected);
                }
                3 => {
                    let values = deques.next().expect("one for each step");
                    values.extend(next..next + size);
                    next += size;
                    begun.push(Begun { left: values.clone(), waker: CountingWaker::new(), is_served: true });
                    futures.push(Some(tx.send_many(values)));
                    step(begun.len() - 1, &mut model, &mut begun, &mut futures);
                }
                _ if futures.is_empty() => {}
                4 => {
                    // One goes on that was woken.
                    let number = rng.random_range(0..futures.len());
                    let mut turn = (0..futures.len()).map(|i| (i + number) % futures.len());
                    let woken = |i: &usize| futures[*i].is_some() && begun[*i].is_served;
                    if let Some(number) = turn.find(woken) {
                        assert!(begun[number].waker.was_woken(), "C4");
                        step(number, &mut model, &mut begun, &mut futures);
                    }
                }
                _ => {
                    // One leaves.
                    let number = rng.random_range(0..futures.len());
                    futures[number] = None;
                    model.line.retain(|other| *other != number);
                }
            }
            assert_eq!(rx.len(), model.buffer.len(), "C17");
            tx.assert_valid();
        }
    }

    /// Polls a send.
    fn step(
        number: usize,
        model: &mut Model,
        begun: &mut [Begun],
        futures: &mut [Option<leno::channel::SendMany<'_, usize>>],
    ) {
        let own = &mut begun[number];
        model.put(&mut own.left);
        let mut future = futures[number].take().expect("it waits");
        let polled = future.poll_once(&own.waker);
        assert_eq!(polled.is_ready(), own.left.is_empty(), "C22");
        if let Poll::Ready(sent) = polled {
            assert!(sent.is_ok());
        } else {
            own.is_served = false;
            model.line.push_back(number);
            futures[number] = Some(future);
        }
    }
}

/// Batches where places are reserved: they leave those alone, and let reservations in.
#[test]
fn reserved() {
    for capacity in [1, 3, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        let permit = tx.try_reserve().expect("there is room");
        let (mut values, mut out) = ((0..capacity).collect::<VecDeque<_>>(), Vec::new());
        assert_eq!(tx.try_send_many(&mut values).unwrap_or(0), capacity - 1);
        assert_eq!(values, [capacity - 1], "the last place is reserved");
        permit.send(values[0]).expect("it is open");
        let mut all = tx.reserve_many(capacity);
        let woken = all.must_wait("it is full");
        let mut sending = tx.send_many(&mut values);
        sending.must_wait("a reservation is before it");
        assert_eq!(rx.try_recv_many(&mut out, 9999), Ok(capacity));
        assert!(woken.was_woken());
        let permits = all.must_be_ready("it is empty").expect("it is open");
        sending.must_wait("all places are reserved");
        drop(permits);
        assert_eq!(sending.must_be_ready("none is reserved"), Ok(1));
        drop(sending);
        assert_eq!(rx.try_recv_many(&mut out, 9999), Ok(1));
        assert!(out.into_iter().eq((0..capacity).chain([capacity - 1])), "C1, C2");
        tx.assert_valid();
    }
}

/// Batches of senders that never wait, and what they lose.
#[test]
fn overflowing() {
    for capacity in [0, 1, 3, 64, 1000] {
        for overflow in [Overflow::DropOldest, Overflow::DropNewest] {
            let lost = Arc::new(Mutex::new(Vec::new()));
            let losing = Arc::clone(&lost);
            let hook = move |value| losing.lock().unwrap().push(value);
            let (tx, rx) = Builder::new().capacity(capacity).overflow(overflow).on_undelivered(hook).build();
            let all = capacity + 2;
            let mut values = (0..all).collect::<VecDeque<_>>();
            assert_eq!(tx.send_many(&mut values).must_be_ready("it never waits"), Ok(all));
            let mut out = Vec::new();
            assert_eq!(rx.try_recv_many(&mut out, 9999).unwrap_or(0), capacity);
            let (kept, gone) = match overflow {
                Overflow::DropOldest if capacity > 0 => (2..all, 0..2),
                _ => (0..capacity, capacity..all),
            };
            assert!(out.into_iter().eq(kept));
            assert!(lost.lock().unwrap().drain(..).eq(gone));
            tx.assert_valid();
        }
    }
}

/// What a batch has not sent is its caller's, and nobody else's.
#[test]
fn nothing_is_undelivered() {
    for capacity in [0, 1, 3, 1000] {
        let hook = |value| unreachable!("{value} is in the deque");
        let (tx, rx) = Builder::<usize>::new().capacity(capacity).on_undelivered(hook).build();
        let mut values = (0..capacity + 2).collect::<VecDeque<_>>();
        tx.send_many(&mut values).must_wait("it is full");
        assert_eq!(values.len(), 2);
        let mut out = Vec::new();
        assert_eq!(rx.try_recv_many(&mut out, 9999).unwrap_or(0), capacity);
        drop(rx);
        assert_eq!(tx.send_many(&mut values).wait(), Err(SendError(())));
        assert!(out.into_iter().chain(values).eq(0..capacity + 2), "C22");
    }
}

/// S13: a receive of several wins in a set that is dropped: it goes on as one that is through.
#[test]
fn what_came_in_a_select_that_was_dropped_counts() {
    for is_polled in [true, false] {
        let (tx, rx) = bounded(8);
        (0..3).for_each(|n| tx.try_send(n).expect("there is room"));
        let mut out = Vec::new();
        let mut receiving = rx.recv_many(&mut out, 8);
        for _ in 0..2 {
            let mut set = Select::new();
            set.add(&mut receiving);
            assert!(set.try_select().is_some(), "they are there");
        }
        if is_polled {
            assert_eq!(receiving.must_be_ready("they have come"), Ok(3));
        } else {
            // S2: nor is it passed over, though the channel is empty by now.
            let (other, others) = bounded(1);
            other.try_send(()).expect("there is room");
            let first = select_blocking! { biased; received = &mut receiving => received, _ = others.recv() => Ok(0) };
            assert_eq!((first, others.len()), (Ok(3), 1));
        }
        drop(receiving);
        assert_eq!(out, [0, 1, 2]);
    }
}

/// S2: a batch of nothing is ready, and is taken for that beside others, whatever is in the channel.
#[test]
fn a_batch_of_nothing_is_ready_beside_others() {
    let (tx, rx) = bounded(1);
    let (other, others) = bounded(1);
    other.try_send(1).expect("there is room");
    let (mut out, mut none) = (Vec::new(), VecDeque::new());
    for len in 0..2 {
        assert_eq!(rx.len(), len);
        select_blocking! {
            biased;
            received = rx.recv_many(&mut out, 0) => assert_eq!(received, Ok(0)),
            _ = others.recv() => unreachable!("the batch is first"),
        }
        select_blocking! {
            biased;
            sent = tx.send_many(&mut none) => assert_eq!(sent, Ok(0)),
            _ = others.recv() => unreachable!("the batch is first"),
        }
        let mut set = Select::biased();
        let sent = set.add(tx.send_many(&mut none));
        set.recv(&others);
        assert_eq!(set.select().wait().output(sent), Ok(0));
        drop(set);
        _ = tx.try_send(1);
    }
}
