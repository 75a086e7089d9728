// Included once for each kind, as the module `kind`.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kind::{Receiver, Sender};
use leno::channel::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use leno::select::Select;
use leno::{select, select_biased, select_blocking};

#[allow(unused_imports, reason = "each kind uses a part of it")]
use crate::support::{Crew, Event, Place, PollExt, Tracked, Tracker, hooked_waker, unequal_waker, within};

type Ends<T> = (Sender<T>, Receiver<T>);

const CAPACITIES: [Option<usize>; 8] =
    [Some(0), Some(1), Some(2), Some(3), Some(64), Some(255), Some(1000), None];

fn open<T>(capacity: Option<usize>) -> Ends<T> {
    match capacity {
        Some(0) => kind::rendezvous(),
        Some(capacity) => kind::bounded(capacity),
        None => kind::unbounded(),
    }
}

/// Runs a contract over each capacity.
fn each(contract: impl Fn(Option<usize>)) {
    CAPACITIES.into_iter().for_each(contract);
}

/// Over each that has a limit.
fn each_limited(contract: impl Fn(Option<usize>)) {
    CAPACITIES.into_iter().filter(Option::is_some).for_each(contract);
}

/// Sends until it is full, or a hundred; gives the number.
fn fill<T>(tx: &mut Sender<T>, mut value: impl FnMut(usize) -> T) -> usize {
    let count = tx.capacity().unwrap_or(100);
    (0..count).for_each(|number| tx.try_send(value(number)).expect("there is room"));
    count
}

/// C2, C17: what fits is received in order; counts are exact.
#[test]
fn values_come_in_order() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        assert_eq!((tx.capacity(), rx.capacity()), (capacity, capacity));
        for round in 0..5 {
            let count = fill(&mut tx, |number| round * 1000 + number);
            assert_eq!((tx.len(), rx.len()), (count, count), "C17");
            assert_eq!((tx.is_full(), rx.is_empty()), (capacity.is_some(), count == 0));
            if capacity.is_some() {
                assert_eq!(tx.try_send(7), Err(TrySendError::Full(7)));
            }
            for number in 0..count {
                assert_eq!(rx.try_recv(), Ok(round * 1000 + number), "C2");
            }
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
        tx.assert_valid();
    });
}

/// Positions and blocks: many values through, at any fill.
#[test]
fn many_values_at_each_fill() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        for fill in [1, 2, 3, 64, 127, 128, 129, 300] {
            let fill = capacity.map_or(fill, |capacity| fill.min(capacity));
            let mut expected = 0;
            for number in 0..700 {
                if tx.len() == fill && fill > 0 {
                    assert_eq!(rx.try_recv(), Ok(expected));
                    expected += 1;
                }
                if fill > 0 {
                    tx.try_send(number).expect("there is room");
                }
            }
            rx.try_iter().for_each(|value| {
                assert_eq!(value, expected);
                expected += 1;
            });
            assert_eq!(expected, if fill > 0 { 700 } else { 0 });
        }
    });
}

/// C3: a rendezvous needs the other side.
#[test]
fn a_rendezvous_needs_both() {
    let (mut tx, mut rx) = kind::rendezvous();
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)));
    {
        let mut receiving = rx.recv();
        receiving.must_wait("nobody sends");
        assert_eq!(tx.try_send(2), Ok(()));
        assert_eq!(receiving.must_be_ready("served"), Ok(2));
    }
    let mut sending = tx.send(3);
    sending.must_wait("nobody receives");
    assert_eq!(rx.try_recv(), Ok(3));
    assert_eq!(sending.must_be_ready("taken"), Ok(()));
}

/// C4: a receive moves the waiting sender's value into the room it made, and completes it.
#[test]
fn a_receive_lets_the_waiting_value_in() {
    each_limited(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let mut expected = 0;
        let mut held = fill(&mut tx, |number| number);
        for _ in 0..70 {
            let mut sending = tx.send(held);
            let waker = sending.must_wait("full");
            held += 1;
            assert_eq!(rx.try_recv(), Ok(expected), "C2");
            expected += 1;
            assert!(waker.was_woken(), "C4");
            assert_eq!(Some(rx.len()), capacity, "C4: moved at once");
            assert_eq!(sending.must_be_ready("C4"), Ok(()));
        }
        tx.assert_valid();
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), (expected..held).collect::<Vec<_>>());
    });
}

/// C10, C11: a waiting send that goes was not sent, unless a receive has let it in before.
#[test]
fn a_waiting_send_that_is_dropped() {
    each_limited(|capacity| {
        let tracker = Tracker::new();
        let (mut tx, mut rx) = open(capacity);
        let held = fill(&mut tx, |_| tracker.value());
        let mut sending = tx.send(tracker.value());
        let waker = sending.must_wait("full");
        drop(sending);
        assert_eq!(tracker.drops(held), 1, "C10: not sent, and dropped with its future");
        assert_eq!(Arc::strong_count(&waker), 1, "it keeps no waker");
        let mut sending = tx.send(tracker.value());
        sending.must_wait("full");
        assert_eq!(sending.into_inner().expect("C10"), held + 1);
        let mut sending = tx.send(tracker.value());
        sending.must_wait("full");
        drop(rx.try_recv().expect("the first, or the one that waits"));
        drop(sending);
        if held > 0 {
            assert_eq!(rx.len(), held, "C4, C11: it was moved in");
        }
        rx.try_iter().for_each(drop);
        let left = tracker.created();
        let mut receiving = rx.recv();
        receiving.must_wait("empty");
        tx.try_send(tracker.value()).expect("a receiver waits");
        assert_eq!(receiving.must_be_ready("served").expect("open"), left);
        drop(receiving);
        drop((tx, rx));
        tracker.assert_done();
    });
}

/// C9: a receive that was served and is dropped leaves its value to the next one, before all others; it is counted.
#[test]
fn a_served_receive_that_is_dropped() {
    each(|capacity| {
        let tracker = Tracker::new();
        let (mut tx, mut rx) = open(capacity);
        for round in 0..20 {
            let first = tracker.created();
            let mut receiving = rx.recv();
            let waker = receiving.must_wait("empty");
            tx.try_send(tracker.value()).expect("a receiver waits");
            assert!(waker.was_woken());
            let also = tx.try_send(tracker.value()).is_ok();
            assert_eq!(also, capacity != Some(0));
            drop(receiving);
            assert_eq!(rx.len(), 1 + usize::from(also), "C9: counted");
            let value = match round % 4 {
                0 => rx.try_recv().expect("C9"),
                1 => rx.recv().must_be_ready("C9").expect("C9"),
                2 => rx.recv_blocking().expect("C9"),
                _ => rx.drain().next().expect("C9"),
            };
            assert_eq!(value, first, "C9: first in line");
            assert_eq!(rx.try_recv().is_ok(), also);
            assert!(rx.is_empty());
        }
        let mut receiving = rx.recv();
        receiving.must_wait("empty");
        tx.try_send(tracker.value()).expect("a receiver waits");
        drop(receiving);
        tracker.assert_live(1, "C9: it waits for the next receive");
        drop(rx);
        tracker.assert_done();
        assert!(tx.is_closed());
    });
}

/// C5, C18: what was sent before the close is received, then the error; sends give their values back.
#[test]
fn close() {
    each(|capacity| {
        for side in 0..3 {
            let (mut tx, mut rx) = open(capacity);
            let held = fill(&mut tx, |number| number);
            match side {
                0 => assert!(tx.close(), "C5: the first"),
                1 => assert!(rx.close(), "C5: the first"),
                _ => assert!(!rx.is_closed()),
            }
            if side < 2 {
                assert!(!tx.close() && !rx.close(), "C5: the later ones");
                assert!(tx.is_closed() && rx.is_closed());
                assert_eq!(tx.try_send(7), Err(TrySendError::Closed(7)));
                assert_eq!(tx.send(8).must_be_ready("closed"), Err(SendError(8)));
                assert_eq!(tx.send_blocking(9), Err(SendError(9)));
                assert!(tx.send_timeout(9, Duration::MAX).is_err_and(|error| error.is_closed()));
                tx.closed().must_be_ready("closed");
            }
            drop(tx);
            assert!(rx.is_closed(), "C7");
            assert_eq!(rx.len(), held, "C17");
            assert_eq!(rx.iter().collect::<Vec<_>>(), (0..held).collect::<Vec<_>>(), "C5: buffered");
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "C18");
            assert_eq!(rx.recv_blocking(), Err(RecvError));
            assert_eq!(rx.recv().must_be_ready("closed"), Err(RecvError));
            assert_eq!(rx.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Closed));
            assert_eq!(rx.len(), 0);
        }
    });
}

/// C5, C7: those who wait are told of the end, whoever brings it; a send gets its value back.
#[test]
fn the_end_tells_those_who_wait() {
    each(|capacity| {
        for drops in [false, true] {
            let tracker = Tracker::new();
            let (mut tx, mut rx) = open(capacity);
            let mut receiving = rx.recv();
            let waker = receiving.must_wait("empty");
            if drops { drop(tx) } else { assert!(tx.close()) }
            assert!(waker.was_woken(), "C5");
            assert!(receiving.must_be_ready("C5").is_err());
            drop(receiving);

            (tx, rx) = open(capacity);
            let held = fill(&mut tx, |_| tracker.value());
            let mut closed = tx.closed();
            let told = closed.must_wait("open");
            drop(closed);
            assert_eq!(Arc::strong_count(&told), 1, "it keeps no waker");
            if capacity.is_some() {
                let mut sending = tx.send(tracker.value());
                let waker = sending.must_wait("full");
                if drops { drop(rx) } else { assert!(rx.close()) }
                assert!(waker.was_woken(), "C5, C7");
                let SendError(value) = sending.must_be_ready("closed").expect_err("C5");
                assert_eq!(value, held);
                if drops {
                    tracker.assert_live(1, "C7: the buffer is dropped at once");
                }
            }
            drop(tx);
        }
    });
}

/// C6: `close_now`, by either side, discards what is in the channel; also what came back.
#[test]
fn close_now() {
    each(|capacity| {
        for (by_sender, before, stray) in
            [(true, false, false), (false, false, false), (true, true, false), (false, true, true), (true, false, true)]
        {
            let tracker = Tracker::new();
            let (mut tx, mut rx) = open(capacity);
            if stray {
                let mut receiving = rx.recv();
                receiving.must_wait("empty");
                tx.try_send(tracker.value()).expect("a receiver waits");
                drop(receiving);
            }
            for _ in 0..2 {
                if capacity.is_some() {
                    fill(&mut tx, |_| tracker.value());
                    (0..capacity.unwrap_or(0)).for_each(|_| drop(rx.try_recv().expect("filled")));
                    if stray && capacity != Some(0) {
                        drop(rx.try_recv().expect("one more than that"));
                    }
                    break;
                }
            }
            fill(&mut tx, |_| tracker.value());
            assert_eq!(before && rx.close(), before);
            let closed = if by_sender { tx.close_now() } else { rx.close_now() };
            assert_eq!(closed, !before, "C5: true once");
            tracker.assert_live(0, "C6");
            assert_eq!((tx.len(), rx.len()), (0, 0), "C6");
            assert_eq!(rx.try_recv().expect_err("C6"), TryRecvError::Closed, "C18");
            assert!(tx.try_send(tracker.value()).is_err());
            tracker.assert_done();
        }
    });
}

/// C6: what was handed over is not discarded, and counts when it comes back no more.
#[test]
fn close_now_leaves_what_was_handed_over() {
    each(|capacity| {
        let tracker = Tracker::new();
        let (mut tx, mut rx) = open(capacity);
        let mut receiving = rx.recv();
        receiving.must_wait("empty");
        tx.try_send(tracker.value()).expect("a receiver waits");
        tx.close_now();
        drop(receiving.must_be_ready("served").expect("C6"));
        drop(receiving);
        assert_eq!(rx.try_recv().expect_err("closed"), TryRecvError::Closed);
        tracker.assert_done();
    });
}

/// C7: values may own the handles of their own channel.
#[test]
fn values_may_own_handles() {
    enum Knot {
        Sender(#[allow(dead_code, reason = "it is dropped")] Sender<Knot>),
        Receiver(#[allow(dead_code, reason = "it is dropped")] Receiver<Knot>),
    }
    within("C7: values that own handles", || {
        each(|capacity| {
            if capacity == Some(0) {
                return;
            }
            let (mut tx, rx) = open(capacity);
            assert!(tx.try_send(Knot::Receiver(rx)).is_ok());
            assert!(!tx.is_closed());
            assert!(tx.close_now(), "C6");
            let (mut tx, rx) = open(capacity);
            let (mut other, others) = open(capacity);
            assert!(other.try_send(Knot::Sender(tx)).is_ok());
            (tx, _) = open(capacity);
            drop((others, tx));
            assert!(rx.is_closed(), "C7: its sender was in the other channel");
        });
    });
}

/// C12: the last waker counts; C13: an unequal one is as good.
#[test]
fn the_last_waker_counts() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let mut receiving = rx.recv();
        let first = receiving.must_wait("empty");
        let second = receiving.must_wait("empty");
        let (unequal, wakes) = unequal_waker();
        assert!(receiving.poll_with(&unequal).is_pending());
        tx.try_send(1).expect("a receiver waits");
        assert!(!first.was_woken() && !second.was_woken());
        assert_eq!(wakes.load(Ordering::SeqCst), 1, "C12");
        assert_eq!(receiving.must_be_ready("served"), Ok(1));
        drop(receiving);
        if capacity.is_some() {
            fill(&mut tx, |_| 0);
            let mut sending = tx.send(1);
            let first = sending.must_wait("full");
            let second = sending.must_wait("full");
            rx.try_recv().expect("full");
            assert!(!first.was_woken() && second.was_woken(), "C12");
            assert_eq!(sending.must_be_ready("C4"), Ok(()));
        }
    });
}

/// C13, C29: a waker that panics loses nothing, and leaves the channel usable.
#[test]
fn a_waker_that_panics() {
    each(|capacity| {
        let panics = || {
            hooked_waker(|event| {
                if event == Event::Wake {
                    std::panic::resume_unwind(Box::new("of the waker"));
                }
            })
        };
        let tracker = Tracker::new();
        let (mut tx, mut rx) = open(capacity);
        let mut receiving = rx.recv();
        assert!(receiving.poll_with(&panics()).is_pending());
        let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tx.try_send(tracker.value())));
        assert!(sent.is_err(), "the panic goes on");
        assert_eq!(receiving.must_be_ready("C29").expect("C29"), 0);
        drop(receiving);
        if capacity.is_some() {
            let held = fill(&mut tx, |_| tracker.value());
            let mut sending = tx.send(tracker.value());
            assert!(sending.poll_with(&panics()).is_pending());
            let received = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rx.try_recv()));
            assert!(received.is_err(), "the panic goes on");
            sending.must_be_ready("C4").expect("C4");
            drop(sending);
            for id in 1..=held + 1 {
                assert_eq!(rx.try_recv().expect("C29: none is lost"), id, "C29: in order");
            }
        }
        rx.assert_valid();
        drop((tx, rx));
        tracker.assert_done();
    });
}

/// C13: a waker may use the channel.
#[test]
fn a_waker_that_re_enters() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let (mut back, answers) = kind::unbounded();
        let slot = Arc::new(std::sync::Mutex::new(Some(answers)));
        let seen = Arc::clone(&slot);
        let waker = hooked_waker(move |event| {
            if event == Event::Wake {
                drop(seen.lock().unwrap().take());
            }
        });
        let mut receiving = rx.recv();
        assert!(receiving.poll_with(&waker).is_pending());
        tx.try_send(5).expect("a receiver waits");
        assert!(back.try_send(1).is_err_and(|error| error.is_closed()), "the waker has dropped the receiver");
        assert_eq!(receiving.must_be_ready("served"), Ok(5));
    });
}

/// C15: values of all shapes.
#[test]
fn values_of_all_shapes() {
    macro_rules! aligned {
        ($capacity:ident: $($align:literal)+) => {$({
            #[repr(align($align))]
            #[derive(Debug, PartialEq, Clone, Copy)]
            struct Aligned(u8);
            let (mut tx, mut rx) = open($capacity);
            let count = fill(&mut tx, |number| Aligned(number as u8));
            let mut seen = 0;
            rx.try_iter().for_each(|value| {
                assert_eq!(value, Aligned(seen as u8));
                assert_eq!((&raw const value).addr() % $align, 0);
                seen += 1;
            });
            assert_eq!(seen, count);
        })+};
    }
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let count = fill(&mut tx, |_| ());
        assert_eq!(rx.try_iter().count(), count);
        aligned!(capacity: 32 64 128 256);
        let (mut tx, mut rx) = open(capacity.map(|capacity| capacity.min(3)));
        let count = (0..3).take_while(|number| tx.try_send([*number as u8; 20_000]).is_ok()).count();
        for number in 0..count {
            assert_eq!(rx.try_recv().expect("sent")[19_999], number as u8);
        }
        let mut receiving = rx.recv();
        receiving.must_wait("empty");
        tx.try_send([9; 20_000]).expect("a receiver waits");
        assert_eq!(receiving.must_be_ready("served").expect("open")[0], 9);
    });
}

/// C16, C28: limits of time.
#[test]
fn limits_of_time() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let past = Instant::now();
        assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        assert_eq!(rx.recv().wait_deadline(past), Err(RecvTimeoutError::Timeout));
        assert_eq!(rx.recv_timeout(Duration::from_millis(2)), Err(RecvTimeoutError::Timeout));
        assert!(tx.closed().wait_timeout(Duration::ZERO).is_err());
        let held = fill(&mut tx, |number| number);
        if capacity.is_some() {
            assert!(tx.send_timeout(7, Duration::ZERO).is_err_and(|e| e.is_timeout() && e.into_inner() == 7));
            assert!(tx.send(7).wait_timeout(Duration::from_millis(2)).is_err_and(|e| e.is_timeout()));
            assert!(tx.send(7).wait_deadline(past).is_err_and(|e| e.is_timeout()));
        }
        assert_eq!(rx.len(), held, "C16: nothing was sent or taken");
        if held > 0 {
            assert_eq!(rx.recv().wait_deadline(past), Ok(0), "C16: one in the past tries once");
        }
    });
}

/// C17: large capacities take little, and work.
#[test]
fn large_capacities() {
    for capacity in [1000, 5000, 1 << 30, usize::MAX / 2] {
        let (mut tx, mut rx) = kind::bounded(capacity);
        assert_eq!(tx.capacity(), Some(capacity), "C17");
        (0..900).for_each(|number| tx.try_send(number).expect("there is room"));
        assert_eq!((0..900).map(|_| rx.try_recv().expect("sent")).collect::<Vec<_>>(), (0..900).collect::<Vec<_>>());
    }
}

/// C20: streams and iterators.
#[test]
fn streams_and_iterators() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let held = fill(&mut tx, |number| number);
        assert_eq!(rx.drain().collect::<Vec<_>>(), (0..held).collect::<Vec<_>>());
        let waker = crate::support::CountingWaker::new();
        let mut stream = rx.stream();
        assert!(stream.next_once(&waker).is_pending());
        tx.try_send(1).expect("the stream waits");
        assert!(waker.was_woken());
        drop(stream);
        assert_eq!(Arc::strong_count(&waker), 1, "C20: it leaves no waiter");
        let mut stream = rx.stream();
        assert_eq!(stream.next_once(&waker), std::task::Poll::Ready(Some(1)), "C20: passed on");
        drop(stream);
        let mut stream = rx.into_stream();
        assert!(stream.next_once(&waker).is_pending());
        drop(tx);
        assert_eq!(stream.next_once(&waker), std::task::Poll::Ready(None));
        assert_eq!(stream.next_once(&waker), std::task::Poll::Ready(None), "C20: it stays ended");

        let (mut tx, rx) = open(capacity);
        let sender = std::thread::spawn(move || (0..100).for_each(|number| tx.send_blocking(number).unwrap()));
        assert_eq!(rx.into_iter().sum::<i32>(), 4950);
        sender.join().unwrap();
        let (mut tx, mut rx) = open(capacity);
        let sender = std::thread::spawn(move || (0..100).for_each(|number| tx.send_blocking(number).unwrap()));
        let mut sum = 0;
        for number in rx.iter() {
            sum += number;
        }
        assert_eq!(sum, 4950);
        sender.join().unwrap();
    });
}

/// C26: a forgotten receive strands one value at most, and no operation after it.
#[test]
fn forgotten_receives() {
    each(|capacity| {
        for (waits, served) in [(false, false), (true, false), (true, true)] {
            let (mut tx, mut rx) = open(capacity);
            let mut forgotten = rx.recv();
            if waits {
                forgotten.must_wait("empty");
            }
            if served {
                tx.try_send(100).expect("a receiver waits");
            }
            mem::forget(forgotten);
            assert!(rx.try_recv().is_err());
            let mut receiving = rx.recv();
            let waker = receiving.must_wait("empty");
            let mut sent = 0;
            while !waker.was_woken() {
                assert!(sent < 2, "C26: no more than one is stranded");
                tx.try_send(sent).expect("a receiver waits");
                sent += 1;
            }
            assert_eq!(receiving.must_be_ready("C26"), Ok(sent - 1));
            drop(receiving);
            let held = fill(&mut tx, |number| number);
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), (0..held).collect::<Vec<_>>());
            drop(tx);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        }
    });
}

/// C26: a forgotten send was sent, or was not; those after it go on in order, and a receive is not stranded.
#[test]
fn forgotten_sends() {
    each_limited(|capacity| {
        for let_in in [false, true] {
            let (mut tx, mut rx) = open(capacity);
            let held = fill(&mut tx, |number| number);
            let mut forgotten = tx.send(held);
            forgotten.must_wait("full");
            let mut received = Vec::new();
            if let_in {
                received.push(rx.try_recv().expect("full"));
            }
            mem::forget(forgotten);
            let mut sending = tx.send(held + 1);
            sending.must_wait("full");
            while let Ok(value) = rx.try_recv() {
                received.push(value);
            }
            assert_eq!(sending.must_be_ready("C26"), Ok(()));
            drop(sending);
            assert!(received.is_sorted(), "C2");
            assert_eq!(received.last(), Some(&(held + 1)), "C26");
            assert!(received.len() > held);
            tx.assert_valid();
            let held = fill(&mut tx, |number| number);
            assert_eq!(rx.try_iter().count(), held);
            let mut forgotten = tx.send(1);
            let _ = forgotten.poll_with(std::task::Waker::noop());
            mem::forget(forgotten);
            drop(tx);
            while rx.try_recv().is_ok() {}
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        }
    });
}

/// C26: so do a forgotten select, and a forgotten stream.
#[test]
fn forgotten_selects() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let (_other, mut others) = open::<i32>(capacity);
        let mut forgotten = leno::select::select((rx.recv(), others.recv()));
        forgotten.must_wait("empty");
        mem::forget(forgotten);
        let mut stream = rx.stream();
        assert!(stream.next_once(&crate::support::CountingWaker::new()).is_pending());
        mem::forget(stream);
        let mut receiving = rx.recv();
        let waker = receiving.must_wait("empty");
        let mut sent = 0;
        while !waker.was_woken() {
            assert!(sent < 3, "C26: no more than one each");
            tx.try_send(sent).expect("a receiver waits");
            sent += 1;
        }
        assert_eq!(receiving.must_be_ready("C26"), Ok(sent - 1));
        drop(receiving);
        if capacity.is_some() {
            let held = fill(&mut tx, |number| number);
            let mut forgotten = leno::select::select((tx.send(held), others.recv()));
            forgotten.must_wait("full");
            mem::forget(forgotten);
            let mut sending = tx.send(held + 1);
            sending.must_wait("full");
            let received = std::iter::from_fn(|| rx.try_recv().ok()).collect::<Vec<_>>();
            assert!(received.is_sorted());
            assert_eq!(received.last(), Some(&(held + 1)), "C26");
            assert_eq!(sending.must_be_ready("C26"), Ok(()));
        }
    });
}

/// S1, S2, S9, S11: all forms of select.
#[test]
fn selects() {
    each(|capacity| {
        leno::block_on(async {
            let (mut tx, mut rx) = open(capacity);
            let (mut other, mut others) = open::<i32>(capacity);
            let chosen = select! {
                Ok(number) = rx.recv() => number,
                Ok(number) = others.recv() => number,
                default => -1,
            };
            assert_eq!(chosen, -1);
            if capacity != Some(0) {
                tx.try_send(1).unwrap();
                other.try_send(2).unwrap();
                let mut seen = Vec::new();
                for _ in 0..2 {
                    seen.push(select_biased! {
                        Ok(number) = rx.recv() => number,
                        Ok(number) = others.recv() => number,
                    });
                }
                assert_eq!(seen, [1, 2], "S2");
                other.try_send(3).unwrap();
                let chosen = select_blocking! {
                    Ok(number) = rx.recv() => number,
                    Ok(number) = others.recv() => number,
                };
                assert_eq!(chosen, 3);
            }
            if capacity.is_some() {
                fill(&mut tx, |_| 0);
                let mut sending = tx.send(7);
                select! {
                    sent = &mut sending => sent.unwrap(),
                    _ = others.recv() => {},
                    default => {},
                }
                assert_eq!(sending.into_inner(), Some(7), "S9");
                rx.try_iter().for_each(drop);
            }
        });
        // Waiting ones, served by either.
        for second in [false, true] {
            let (mut tx, mut rx) = open(capacity);
            let (mut other, mut others) = open(capacity);
            let mut selecting = leno::select::select((rx.recv(), others.recv()));
            let waker = selecting.must_wait("both are empty");
            let sender = if second { &mut other } else { &mut tx };
            sender.try_send(5).expect("a select waits");
            assert!(waker.was_woken());
            match selecting.must_be_decided("served") {
                leno::select::Selected2::First(value) => assert_eq!((value, second), (Ok(5), false)),
                leno::select::Selected2::Second(value) => assert_eq!((value, second), (Ok(5), true)),
            }
            drop(selecting);
            tx.assert_valid();
            other.assert_valid();
            assert!(rx.is_empty() && others.is_empty());
        }
        if capacity.is_some() {
            // A select that waits to send is let in; one that has lost is not.
            let (mut tx, mut rx) = open(capacity);
            let (mut other, mut others) = open(capacity);
            let held = fill(&mut tx, |number| number);
            fill(&mut other, |number| number);
            let mut selecting = leno::select::select((tx.send(held), other.send(held)));
            let waker = selecting.must_wait("both are full");
            assert_eq!(rx.try_recv(), Ok(0));
            assert!(waker.was_woken(), "C4");
            assert!(matches!(selecting.must_be_decided("let in"), leno::select::Selected2::First(Ok(()))));
            drop(selecting);
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), (1..=held).collect::<Vec<_>>());
            assert_eq!(others.try_iter().collect::<Vec<_>>(), (0..held).collect::<Vec<_>>(), "S1");
        }
    });
}

/// S4: both sides of one channel in one select never meet.
#[test]
fn a_select_does_not_meet_itself() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let mut selecting = leno::select::select((tx.send(1), rx.recv()));
        if capacity == Some(0) {
            selecting.must_wait("nobody else is there");
            drop(selecting);
        } else {
            let chosen = selecting.must_be_decided("there is room, and no value");
            assert!(matches!(chosen, leno::select::Selected2::First(Ok(()))), "S4");
            drop(selecting);
            assert_eq!(rx.try_recv(), Ok(1));
        }
    });
}

/// S10, C9: a select that was served and is dropped leaves its value.
#[test]
fn a_served_select_that_is_dropped() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let (_other, mut others) = open::<i32>(capacity);
        let mut selecting = leno::select::select((rx.recv(), others.recv()));
        selecting.must_wait("empty");
        tx.try_send(3).expect("a select waits");
        drop(selecting);
        assert_eq!(rx.len(), 1, "C9");
        assert_eq!(rx.try_recv(), Ok(3), "S10");
    });
}

/// S11, S13: the dynamic set; what is won and not used stays.
#[test]
fn sets() {
    each(|capacity| {
        let (mut tx, mut rx) = open(capacity);
        let (mut other, mut others) = open::<i32>(capacity);
        {
            let mut set = Select::new();
            let one = set.recv(&mut rx);
            let two = set.recv(&mut others);
            assert!(set.try_select().is_none());
            {
                let mut selecting = set.select();
                selecting.must_wait("both are empty");
                tx.try_send(1).expect("a set waits");
                let operation = selecting.must_be_decided("served");
                assert!(operation.is(one) && !operation.is(two));
                assert_eq!(operation.recv(one), Ok(1));
            }
            let mut selecting = set.select();
            selecting.must_wait("both are empty");
            other.try_send(2).expect("a set waits");
            drop(selecting.must_be_decided("served"));
        }
        assert_eq!(others.try_recv(), Ok(2), "S13: nobody has used it");
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        let mut set = Select::new();
        let sending = set.send(&mut tx, 4);
        if capacity != Some(0) {
            assert_eq!(set.select().wait().send(sending), Ok(()));
            drop(set);
            assert_eq!(rx.try_recv(), Ok(4));
        }
    });
}

/// C19: all places, on both sides, mixed; no value is lost, and all are in order.
fn across(capacity: Option<usize>, places: [Place; 2]) {
    const COUNT: usize = 3000;
    let (tx, rx) = open(capacity);
    let mut crew = Crew::new(format!("{capacity:?}"), &places);
    crew.add(move |place| async move {
        let mut tx = tx;
        for number in 0..COUNT {
            match place {
                Place::Thread => match number % 3 {
                    0 => tx.send_blocking(number).unwrap(),
                    1 => tx.send(number).wait().unwrap(),
                    _ => tx.send_timeout(number, Duration::MAX).unwrap(),
                },
                _ => tx.send(number).await.unwrap(),
            }
        }
    });
    crew.add(move |place| async move {
        let mut rx = rx;
        for number in 0..COUNT {
            let received = match place {
                Place::Thread => match number % 3 {
                    0 => rx.recv_blocking().unwrap(),
                    1 => rx.recv().wait().unwrap(),
                    _ => rx.recv_timeout(Duration::MAX).unwrap(),
                },
                _ => rx.recv().await.unwrap(),
            };
            assert_eq!(received, number, "C1, C2");
        }
        assert!(rx.try_recv().is_err());
    });
    crew.run();
}

#[test]
fn across_places() {
    for capacity in [Some(0), Some(1), Some(2), Some(64), Some(1000), None] {
        for one in Place::ALL {
            for other in Place::ALL {
                across(capacity, [one, other]);
            }
        }
    }
}

/// C1, C9, C10: operations of both sides are broken off at random, on threads; nothing is lost, and all are in order.
#[test]
fn broken_off_at_random() {
    within("operations that are broken off", || {
        for capacity in [Some(0), Some(1), Some(2), Some(3), Some(64), Some(300), None] {
            let tracker = Tracker::new();
            let sent = Arc::new(AtomicUsize::new(0));
            let (tx, rx) = open(capacity);
            let sending = std::thread::spawn({
                let (tracker, sent) = (tracker.clone(), Arc::clone(&sent));
                move || {
                    let mut tx = tx;
                    for round in 0..4000 {
                        let value = tracker.value();
                        match round % 5 {
                            0 => drop(tx.send(value).poll_with(std::task::Waker::noop())),
                            1 => drop(tx.try_send(value)),
                            2 => {
                                let mut sending = tx.send(value);
                                if sending.poll_with(std::task::Waker::noop()).is_pending() {
                                    std::thread::yield_now();
                                    drop(sending.into_inner());
                                }
                            }
                            3 => drop(tx.send_timeout(value, Duration::from_micros(20))),
                            _ => {
                                tx.send_blocking(value).expect("open");
                                sent.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                    }
                }
            });
            let mut rx = rx;
            let mut last = None;
            let mut received = 0;
            let mut see = |value: Tracked| {
                assert!(last < Some(value.id), "C2: in order");
                last = Some(value.id);
                received += 1;
            };
            for round in 0.. {
                let value = match round % 4 {
                    0 => match rx.recv().poll_with(std::task::Waker::noop()) {
                        std::task::Poll::Ready(Err(_)) => break,
                        std::task::Poll::Ready(Ok(value)) => Some(value),
                        std::task::Poll::Pending => None,
                    },
                    1 => match rx.try_recv() {
                        Err(TryRecvError::Closed) => break,
                        value => value.ok(),
                    },
                    2 => match rx.recv_timeout(Duration::from_micros(20)) {
                        Err(RecvTimeoutError::Closed) => break,
                        value => value.ok(),
                    },
                    _ => match rx.recv_blocking() {
                        Err(_) => break,
                        value => value.ok(),
                    },
                };
                value.into_iter().for_each(&mut see);
            }
            sending.join().unwrap();
            assert!(received >= sent.load(Ordering::SeqCst), "C1: what was sent for certain has come");
            drop(rx);
            tracker.assert_done();
        }
    });
}

/// C5–C8: the end at random, by either side, while both are at work; each value is dropped once.
#[test]
fn ended_at_random() {
    within("ends at random", || {
        for round in 0..600 {
            let capacity = CAPACITIES[round % CAPACITIES.len()];
            let tracker = Tracker::new();
            let (tx, rx) = open(capacity);
            let sending = std::thread::spawn({
                let tracker = tracker.clone();
                move || {
                    let mut tx = tx;
                    let most = if round % 3 == 0 { 40 } else { 100_000 };
                    for _ in 0..most {
                        if tx.send_blocking(tracker.value()).is_err() {
                            return;
                        }
                    }
                    if round % 2 == 0 {
                        tx.close_now();
                    }
                }
            });
            let mut rx = rx;
            for _ in 0..round % 50 {
                if rx.recv_blocking().is_err() {
                    break;
                }
            }
            match round % 4 {
                0 => drop(rx.close()),
                1 => drop(rx.close_now()),
                2 => {}
                _ => while rx.recv_blocking().is_ok() && round % 3 == 0 {},
            }
            drop(rx);
            sending.join().unwrap();
            tracker.assert_done();
        }
    });
}

/// Handles stay small, and are as free as the general ones: C15, C26.
#[test]
fn types() {
    use std::cell::Cell;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::rc::Rc;

    use crate::impls;
    const {
        assert!(impls!(Sender<Cell<u8>>: Send + Sync + UnwindSafe + RefUnwindSafe));
        assert!(impls!(Receiver<Cell<u8>>: Send + Sync + UnwindSafe + RefUnwindSafe));
        assert!(!impls!(Sender<Rc<u8>>: Send));
        assert!(!impls!(Sender<Rc<u8>>: Sync));
        assert!(!impls!(Receiver<Rc<u8>>: Send));
        assert!(!impls!(Receiver<Rc<u8>>: Sync));
        assert!(impls!(kind::SendFuture<'static, std::marker::PhantomPinned>: Unpin));
        assert!(impls!(kind::SendFuture<'static, u8>: Send + Sync));
        assert!(impls!(kind::RecvFuture<'static, u8>: Send + Sync));
        assert!(!impls!(kind::SendFuture<'static, Rc<u8>>: Send));
        assert!(!impls!(kind::RecvFuture<'static, Rc<u8>>: Send));
        assert!(impls!(kind::IntoStream<u8>: Send + Unpin));
    }
    assert!(size_of::<Sender<[u8; 64]>>() <= 2 * size_of::<usize>());
    assert!(size_of::<Receiver<[u8; 64]>>() <= 2 * size_of::<usize>());
}

/// Handles of one channel know each other.
#[test]
fn same_channel() {
    each(|capacity| {
        let (one, rx) = open::<u8>(capacity);
        let (other, _others) = open::<u8>(capacity);
        assert!(one.same_channel(&one) && !one.same_channel(&other) && rx.same_channel(&rx));
        assert!(format!("{one:?} {rx:?}").contains("closed: false"));
    });
}
