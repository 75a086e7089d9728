//! Sends and receives that keep their handle, of all kinds of channels that have them: C2, C7, C9, C10, C12, C15, C16, C26, S1, S9.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;
use leno::channel::{
    Builder, IntoRecv, IntoSend, RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError,
    mpsc, spsc,
};
use leno::select::{Select, Selected2};
use leno::{bounded, rendezvous, select, select_blocking};

use crate::support::{CountingWaker, Kind, PollExt, Tracked, Tracker, panicking_waker};

/// A rendezvous, rings, a bounded one in blocks, and one without a bound.
const KINDS: [Kind; 5] =
    [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(3), Kind::Bounded(300), Kind::Unbounded];

/// C15, C26: they borrow nothing, are `Unpin`, and go from one thread to another.
#[test]
fn they_are_values_of_their_own() {
    fn is_own<F: Future + Unpin + Send + Sync + FusedFuture + 'static>(_: &F) {}
    let (tx, rx) = bounded(1);
    let (sending, receiving) = (tx.into_send(String::from("warp")), rx.into_recv());
    is_own(&sending);
    is_own(&receiving);
    let sender = thread::spawn(move || sending.wait());
    assert_eq!(receiving.wait().as_deref(), Ok("warp"));
    sender.join().unwrap().unwrap();
}

/// They do what the borrowed ones do, as futures.
#[test]
fn they_send_and_receive() {
    for kind in KINDS {
        leno::block_on(async move {
            let (tx, rx) = kind.open();
            let sent = leno::spawn(tx.clone().into_send(1));
            let received = leno::spawn(rx.clone().into_recv());
            assert_eq!(received.await.unwrap(), Ok(1), "{kind:?}");
            assert_eq!(sent.await.unwrap(), Ok(()));
            let receiving = rx.clone().into_recv();
            drop(tx);
            assert_eq!(receiving.await, Err(RecvError), "C7: {kind:?}");
            drop(rx);
        });
    }
}

/// The handle stays until it is asked for, also when the operation is through.
#[test]
fn handles_come_back() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let mut receiving = rx.into_recv();
        receiving.must_wait("nothing was sent");
        let mut sending = tx.into_send(1);
        assert_eq!(sending.must_be_ready("a receiver waits"), Ok(()));
        assert!(sending.is_terminated());
        assert_eq!(receiving.must_be_ready("it was sent"), Ok(1));
        assert!(receiving.is_terminated());
        let (tx, value) = sending.into_parts();
        assert_eq!(value, None, "{kind:?}: it was sent");
        let rx = receiving.into_receiver();
        assert!(!tx.is_closed() && !rx.is_closed());
        assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
        tx.assert_valid();
    }
}

/// C10: a send gives its value back that was not begun, or waits; and the error has it where it failed.
#[test]
fn values_come_back() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (tx, value) = tx.into_send(1).into_parts();
        assert_eq!(value, Some(1), "{kind:?}: it was not begun");
        if kind.has_limit() {
            (0..kind.room(1000)).for_each(|n| tx.try_send(n).unwrap());
            let mut sending = tx.into_send(2);
            sending.must_wait("it is full");
            let (tx, value) = sending.into_parts();
            assert_eq!(value, Some(2), "{kind:?}: it waited");
            tx.assert_valid();
            let mut sending = tx.into_send(3);
            sending.must_wait("it is full");
            drop(rx);
            assert_eq!(sending.must_be_ready("it is closed"), Err(SendError(3)));
            assert_eq!(sending.into_parts().1, None, "{kind:?}: it came with the error");
        }
    }
}

/// C10: a send that was taken while it waited was sent, whoever asks then.
#[test]
fn a_send_that_was_taken_was_sent() {
    let (tx, rx) = rendezvous();
    let mut sending = tx.into_send(1);
    sending.must_wait("nobody receives");
    assert_eq!(rx.try_recv(), Ok(1));
    let (tx, value) = sending.into_parts();
    assert_eq!(value, None);
    drop(tx);
}

/// C9: a receive that was handed a value gives it to the next one, when it is dropped, and when its receiver is asked for.
#[test]
fn a_handed_value_goes_on() {
    for kind in KINDS {
        for asks in [false, true] {
            let (tx, rx) = kind.open();
            let mut first = rx.clone().into_recv();
            let mut second = rx.clone().into_recv();
            first.must_wait("nothing was sent");
            let waker = second.must_wait("nothing was sent");
            tx.try_send(1).unwrap();
            let other = if asks {
                Some(first.into_receiver())
            } else {
                drop(first);
                None
            };
            assert!(waker.was_woken(), "C11: {kind:?}");
            assert_eq!(second.must_be_ready("it was handed over"), Ok(1));
            // Nobody else waits: it is the next to be received.
            second = second.into_receiver().into_recv();
            second.must_wait("nothing was sent");
            tx.try_send(2).unwrap();
            drop(tx);
            let last = second.into_receiver();
            assert_eq!(last.len(), 1);
            assert_eq!(last.try_recv(), Ok(2), "C9: {kind:?}");
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
            drop(other);
        }
    }
}

/// C9, C7: the last receiver is in a receive that is dropped at each of its stages: the side is gone, and every value.
#[test]
fn the_last_receive_is_dropped() {
    for kind in KINDS {
        for stage in 0..4 {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let mut receiving = rx.into_recv();
            if stage > 0 {
                receiving.must_wait("nothing was sent");
            }
            if stage > 1 {
                assert!(tx.try_send(tracker.value()).is_ok(), "it waits");
            }
            if stage > 2 {
                assert!(receiving.must_be_ready("it was sent").is_ok());
            }
            drop(receiving);
            assert!(tx.is_closed(), "C7: {kind:?}, stage {stage}");
            assert_eq!(tx.receiver_count(), 0);
            tracker.assert_done();
            assert!(tx.try_send(tracker.value()).is_err());
            tx.assert_valid();
        }
    }
}

/// C10, C7: the last sender is in a send that is dropped at each of its stages: the side is gone, and the value is there only if it
/// was sent.
#[test]
fn the_last_send_is_dropped() {
    for kind in KINDS {
        for stage in 0..4 {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let full = if kind.has_limit() { kind.room(1000) } else { 0 };
            (0..full).for_each(|_| assert!(tx.try_send(tracker.value()).is_ok()));
            let mut sending = tx.into_send(tracker.value());
            let mut received = 0;
            if stage > 0 && kind.has_limit() {
                sending.must_wait("it is full");
                if stage > 1 {
                    assert!(rx.try_recv().is_ok());
                    received += 1;
                }
                if stage > 2 {
                    assert!(sending.must_be_ready("it was taken").is_ok());
                }
            } else if stage > 0 {
                assert!(sending.must_be_ready("there is room").is_ok());
            }
            drop(sending);
            assert!(rx.is_closed(), "C7: {kind:?}, stage {stage}");
            assert_eq!(rx.sender_count(), 0);
            let was_sent = stage > 1 || stage > 0 && !kind.has_limit();
            while rx.try_recv().is_ok() {
                received += 1;
            }
            assert_eq!(received, full + usize::from(was_sent), "C10: {kind:?}, stage {stage}");
            assert_eq!(rx.try_recv().err(), Some(TryRecvError::Closed));
            tracker.assert_done();
            rx.assert_valid();
        }
    }
}

/// C13: the value's drop panics when the send is dropped: the sender goes all the same.
#[test]
fn a_drop_that_panics_keeps_no_handle() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("a drop");
        }
    }
    let (tx, rx) = rendezvous();
    let mut sending = tx.into_send(Panics);
    sending.must_wait("nobody receives");
    assert!(catch_unwind(AssertUnwindSafe(|| drop(sending))).is_err());
    assert!(rx.is_closed());
    rx.assert_valid();
}

/// C2: they wait in one line with the borrowed ones.
#[test]
fn one_line_for_all() {
    let (tx, rx) = rendezvous();
    let (mut first, mut second, mut third) = (rx.recv(), rx.clone().into_recv(), rx.recv());
    first.must_wait("nothing was sent");
    second.must_wait("nothing was sent");
    third.must_wait("nothing was sent");
    (1..=3).for_each(|n| tx.try_send(n).unwrap());
    assert_eq!(third.must_be_ready("it was sent"), Ok(3));
    assert_eq!(second.must_be_ready("it was sent"), Ok(2));
    assert_eq!(first.must_be_ready("it was sent"), Ok(1));
}

/// C12: one that moved to another task wakes that one.
#[test]
fn the_last_waker_is_woken() {
    let (tx, rx) = rendezvous();
    let mut receiving = rx.into_recv();
    let (before, after) = (CountingWaker::new(), CountingWaker::new());
    assert_eq!(receiving.poll_once(&before), Poll::Pending);
    let mut receiving = Box::new(receiving);
    assert_eq!(receiving.poll_once(&after), Poll::Pending);
    tx.try_send(1).unwrap();
    assert!(after.was_woken());
    assert_eq!(receiving.poll_once(&after), Poll::Ready(Ok(1)));
}

/// C16: zero and past try once; a send that timed out gives its value back, and the handle is gone with the future.
#[test]
fn timed_forms() {
    let (tx, rx) = bounded(1);
    let past = Instant::now();
    assert_eq!(tx.clone().into_send(1).wait_timeout(Duration::ZERO), Ok(()));
    assert_eq!(tx.clone().into_send(2).wait_timeout(Duration::ZERO), Err(SendTimeoutError::Timeout(2)));
    assert_eq!(tx.clone().into_send(3).wait_deadline(past), Err(SendTimeoutError::Timeout(3)));
    assert_eq!(tx.sender_count(), 1);
    assert_eq!(rx.clone().into_recv().wait_timeout(Duration::MAX), Ok(1));
    assert_eq!(rx.clone().into_recv().wait_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    assert_eq!(rx.clone().into_recv().wait_deadline(past), Err(RecvTimeoutError::Timeout));
    assert_eq!(rx.receiver_count(), 1);
    let (other, closed) = bounded(1);
    drop(closed);
    assert_eq!(other.into_send(4).wait_timeout(Duration::ZERO), Err(SendTimeoutError::Closed(4)));
    drop(tx);
    assert_eq!(rx.into_recv().wait_deadline(past), Err(RecvTimeoutError::Closed));
}

/// C16: the handles' own forms with a deadline, of all kinds.
#[test]
fn deadlines_of_handles() {
    let past = Instant::now();
    let later = || Instant::now() + Duration::from_secs(3600);
    macro_rules! check {
        ($open:expr) => {{
            #[allow(unused_mut, reason = "some kinds take `&mut`")]
            let (mut tx, mut rx) = $open;
            assert_eq!(tx.send_deadline(1, past), Ok(()), "there is room");
            assert_eq!(tx.send_deadline(2, past), Err(SendTimeoutError::Timeout(2)));
            assert_eq!(rx.recv_deadline(past), Ok(1), "it is there");
            assert_eq!(rx.recv_deadline(past), Err(RecvTimeoutError::Timeout));
            let sender = thread::spawn(move || {
                assert_eq!(tx.send_deadline(3, later()), Ok(()));
                assert_eq!(tx.send_deadline(4, later()), Ok(()));
            });
            assert_eq!((rx.recv_deadline(later()), rx.recv_deadline(later())), (Ok(3), Ok(4)));
            sender.join().unwrap();
            assert_eq!(rx.recv_deadline(later()), Err(RecvTimeoutError::Closed));
        }};
    }
    check!(bounded(1));
    check!(mpsc::bounded(1));
    check!(spsc::bounded(1));
    let (tx, rx) = bounded(1);
    drop(rx);
    assert_eq!(tx.send_deadline(1, later()), Err(SendTimeoutError::Closed(1)));
}

/// S1, S9: branches of a select, claimed as the borrowed ones; lent by `&mut` they keep value and handle.
#[test]
fn branches_of_a_select() {
    for kind in KINDS {
        leno::block_on(async move {
            let (tx, rx) = kind.open();
            let (other, quiet) = rendezvous::<u8>();
            let (mut receiving, mut sending) = (rx.clone().into_recv(), other.into_send(7));
            let feeding = leno::spawn(async move { tx.send(1).await });
            select! {
                received = &mut receiving => assert_eq!(received, Ok(1), "{kind:?}"),
                _ = &mut sending => panic!("nobody receives that"),
            }
            feeding.await.unwrap().unwrap();
            let (other, value) = sending.into_parts();
            assert_eq!(value, Some(7), "S9: it has lost");
            assert_eq!(quiet.try_recv(), Err(TryRecvError::Empty), "S1");
            let rx = receiving.into_receiver();
            // By value: the loser's handle goes with it.
            select! {
                received = rx.into_recv() => assert_eq!(received, Err(RecvError), "{kind:?}"),
                _ = quiet.into_recv() => panic!("nothing was sent there"),
            }
            assert!(other.is_closed());
        });
    }
}

/// S10: a select that is dropped while it waits leaves no waiter behind, and what was handed over goes on (C9).
#[test]
fn a_select_of_owned_branches_is_dropped() {
    let (tx, rx) = rendezvous();
    let (mut receiving, (quiet, _nobody)) = (rx.clone().into_recv(), rendezvous::<u8>());
    let mut sending = quiet.into_send(1);
    let mut selecting = Box::pin(async {
        select! {
            received = &mut receiving => received.unwrap(),
            _ = &mut sending => 0,
        }
    });
    selecting.must_wait("nothing happens");
    tx.try_send(1).unwrap();
    drop(selecting);
    assert_eq!(rx.try_recv(), Ok(1), "C9");
    assert_eq!(sending.into_parts().1, Some(1));
    receiving.must_wait("it can be polled again");
    tx.try_send(2).unwrap();
    assert_eq!(receiving.must_be_ready("it was sent"), Ok(2));
}

/// S11: on threads, and as a future over two.
#[test]
fn other_selects() {
    let (tx, rx) = bounded(1);
    let (other, _nobody) = rendezvous::<u8>();
    select_blocking! {
        sent = tx.clone().into_send(1) => assert_eq!(sent, Ok(())),
        _ = other.into_send(2) => panic!("nobody receives that"),
    }
    leno::block_on(async {
        let selected = select::select((rx.into_recv(), tx.into_send(3))).await;
        assert_eq!(selected, Selected2::First(Ok(1)), "it is full");
    });
}

/// mpsc, spsc: their own handles come back.
#[test]
fn those_of_other_kinds() {
    macro_rules! check {
        ($kind:ident, $capacity:literal) => {{
            let (tx, rx) = $kind::bounded($capacity);
            let (tx, value): ($kind::Sender<u8>, _) = tx.into_send(1).into_parts();
            assert_eq!(value, Some(1), "C10");
            let mut receiving: $kind::IntoRecv<u8> = rx.into_recv();
            receiving.must_wait("nothing was sent");
            let mut sending: $kind::IntoSend<u8> = tx.into_send(2);
            assert_eq!(sending.must_be_ready("a receiver waits"), Ok(()));
            let rx: $kind::Receiver<u8> = receiving.into_receiver();
            let mut rx = rx.into_recv();
            assert_eq!(rx.must_be_ready("C9: it was handed over"), Ok(2));
            drop(sending);
            assert_eq!(rx.into_receiver().try_recv(), Err(TryRecvError::Closed), "C7");
        }};
    }
    check!(mpsc, 1);
    check!(spsc, 0);
    check!(spsc, 1);
    check!(spsc, 4);
    // A send that waits, in a select, gives its value and its handle back.
    let (tx, rx) = spsc::bounded(2);
    let mut filling = tx.into_send(1);
    for n in 2..=3 {
        assert_eq!(filling.must_be_ready("there is room"), Ok(()));
        filling = filling.into_parts().0.into_send(n);
    }
    let (other, quiet) = spsc::rendezvous::<u8>();
    let mut selecting = Box::pin(async {
        select! {
            _ = &mut filling => panic!("it is full"),
            received = quiet.into_recv() => received,
        }
    });
    selecting.must_wait("nothing happens");
    drop(selecting);
    assert!(other.is_closed());
    let (tx, value) = filling.into_parts();
    assert_eq!((value, tx.len()), (Some(3), 2), "S9");
    drop(rx);
    assert_eq!(tx.into_send(4).wait(), Err(SendError(4)));
}

/// C26: one that is forgotten strands its handle and its own claim, and nothing else.
#[test]
fn forgotten_ones_strand_their_own_claim() {
    let (tx, rx) = rendezvous();
    let mut forgotten: IntoRecv<u8> = rx.clone().into_recv();
    forgotten.must_wait("nothing was sent");
    mem::forget(forgotten);
    let mut next = rx.clone().into_recv();
    next.must_wait("nothing was sent");
    (1..=2).for_each(|n| tx.try_send(n).unwrap());
    assert_eq!(next.must_be_ready("the first one is lost"), Ok(2));
    let mut forgotten: IntoSend<u8> = tx.clone().into_send(3);
    forgotten.must_wait("nobody receives");
    mem::forget(forgotten);
    let mut sending = tx.into_send(4);
    sending.must_wait("nobody receives");
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(3), Ok(4)));
    assert_eq!(sending.must_be_ready("it was received"), Ok(()));
    drop((sending, next));
    assert!(!rx.is_closed(), "a sender was forgotten");
    rx.assert_valid();
}

/// They say what they are.
#[test]
fn debug_says_whether_it_waits() {
    let (tx, rx) = rendezvous();
    let mut sending = tx.into_send(1);
    assert_eq!(format!("{sending:?}"), "IntoSend { waits: false, .. }");
    sending.must_wait("nobody receives");
    assert_eq!(format!("{sending:?}"), "IntoSend { waits: true, .. }");
    assert_eq!(format!("{:?}", rx.into_recv()), "IntoRecv { waits: false, .. }");
}

/// C1, C29: what is on its way to the caller is dropped once if the handle that goes with the call wakes somebody who panics.
#[test]
fn a_handle_that_goes_with_an_outcome_wakes_somebody_who_panics() {
    let ways: [fn(IntoRecv<Tracked>); 3] = [
        |receiving| drop(receiving.wait()),
        |receiving| drop(receiving.wait_timeout(Duration::ZERO)),
        |receiving| drop(receiving.wait_deadline(Instant::now())),
    ];
    for (way, receive) in ways.into_iter().enumerate() {
        let tracker = Tracker::new();
        let (tx, rx) = bounded(1);
        tx.try_send(tracker.value()).unwrap();
        let mut closed = tx.closed();
        assert!(closed.poll_with(&panicking_waker()).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| receive(rx.into_recv()))).is_err(), "way {way}");
        closed.must_be_ready("the last receiver is gone");
        tracker.assert_done();
    }
    let tracker = Tracker::new();
    let (tx, rx) = bounded(1);
    let mut receiving = rx.recv();
    assert!(receiving.poll_with(&panicking_waker()).is_pending());
    let mut set = Select::new();
    let token = set.send(tx, tracker.value());
    assert!(catch_unwind(AssertUnwindSafe(|| set.remove(token))).is_err());
    drop((set, receiving));
    tracker.assert_done();
}

/// C1: the value that a permit could not send comes back, or is dropped, if the sender is the last handle, and with it goes a hook
/// that panics as it is dropped.
#[test]
fn a_sender_that_panics_as_it_goes_takes_no_value_with_it() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(thread::panicking(), "planted: a drop panics");
        }
    }
    let tracker = Tracker::new();
    let bomb = Bomb;
    let (tx, rx) = Builder::new().capacity(1).on_undelivered(move |_: Tracked| _ = &bomb).build();
    let permit = tx.reserve_owned().wait().unwrap();
    rx.close_now();
    drop(rx);
    let value = tracker.value();
    assert!(catch_unwind(AssertUnwindSafe(|| permit.send(value).is_ok())).is_err(), "the panic goes on");
    tracker.assert_done();
}
