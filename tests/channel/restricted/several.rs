//! mpsc with several senders at once, by all forms of sending, against all forms of receiving (C1, C2, C6, C17, C26).

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use leno::channel::mpsc::{Receiver, Sender, bounded, unbounded};
use leno::channel::{SendTimeoutError, TryRecvError, TrySendError};

use crate::support::{PollExt, Tracker, within};

const CAPACITIES: [Option<usize>; 9] =
    [Some(0), Some(1), Some(2), Some(3), Some(64), Some(254), Some(255), Some(300), None];

fn open<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    capacity.map_or_else(unbounded, bounded)
}

/// A value of one of the senders.
type Numbered = (usize, usize);

/// Sends in one of the ways that there are; waits as long as it has to.
fn send_somehow(tx: &Sender<Numbered>, value: Numbered) {
    match value.1 % 7 {
        0 => tx.send_blocking(value).unwrap(),
        1 => {
            let mut value = value;
            while let Err(TrySendError::Full(back)) = tx.try_send(value) {
                value = back;
                std::thread::yield_now();
            }
        }
        2 => {
            let mut value = value;
            while let Err(SendTimeoutError::Timeout(back)) = tx.send_timeout(value, Duration::from_micros(10))
            {
                value = back;
            }
        }
        3 => assert_eq!(tx.send_many(&mut VecDeque::from([value])).wait(), Ok(1)),
        4 => {
            let (_other, mut others) = bounded::<u8>(1);
            leno::select_blocking! {
                sent = tx.send(value) => sent.unwrap(),
                _ = others.recv() => unreachable!("nobody sends there"),
            }
        }
        5 => match tx.reserve().wait() {
            Ok(permit) => permit.send(value).unwrap(),
            Err(_) => tx.send_blocking(value).unwrap(),
        },
        _ => {
            // One that waits, is polled, and takes its value back, before one that is sent.
            let mut sending = tx.send(value);
            if sending.poll_with(Waker::noop()).is_pending() {
                std::thread::yield_now();
                if let Some(value) = sending.into_inner() {
                    tx.send_blocking(value).unwrap();
                }
            }
        }
    }
}

/// Receives in one of the ways that there are; false: that was the end.
fn receive_somehow(rx: &mut Receiver<Numbered>, round: usize, out: &mut Vec<Numbered>) -> bool {
    match round % 6 {
        0 => rx.recv_blocking().map(|value| out.push(value)).is_ok(),
        1 => match rx.try_recv() {
            Ok(value) => {
                out.push(value);
                true
            }
            Err(error) => error != TryRecvError::Closed,
        },
        2 => rx.recv_many(out, 1 + round % 5).wait().is_ok(),
        3 => rx.try_recv_many(out, 70) != Err(TryRecvError::Closed),
        4 => {
            out.extend(rx.drain());
            true
        }
        _ => {
            let (_other, mut others) = bounded::<u8>(1);
            leno::select_blocking! {
                value = rx.recv() => value.map(|value| out.push(value)).is_ok(),
                _ = others.recv() => unreachable!("nobody sends there"),
            }
        }
    }
}

/// C1, C2, C17: nothing is lost, what one sender sends stays in order, and there is never more than fits.
#[test]
fn all_that_is_sent_is_received() {
    const SENDERS: usize = 4;
    const EACH: usize = 1400;
    within("several senders", || {
        for capacity in CAPACITIES {
            let (tx, mut rx) = open(capacity);
            let senders = (0..SENDERS).map(|me| {
                let tx = tx.clone();
                std::thread::spawn(move || (0..EACH).for_each(|number| send_somehow(&tx, (me, number))))
            });
            let senders = senders.collect::<Vec<_>>();
            drop(tx);
            let mut out = Vec::new();
            let mut round = 0;
            while receive_somehow(&mut rx, round, &mut out) {
                assert!(capacity.is_none_or(|capacity| rx.len() <= capacity), "C17");
                round += 1;
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            for me in 0..SENDERS {
                let of_one = out.iter().filter(|value| value.0 == me).map(|value| value.1);
                assert!(of_one.eq(0..EACH), "C1, C2: {capacity:?}");
            }
            rx.assert_valid();
        }
    });
}

/// C1: forced sends beside those that wait: each value is received, or comes back, once.
#[test]
fn forced_sends_at_random() {
    within("forced sends", || {
        for capacity in CAPACITIES {
            let tracker = Tracker::new();
            let back = std::sync::Arc::new(AtomicUsize::new(0));
            let (tx, mut rx) = open(capacity);
            let senders = (0..3).map(|me| {
                let (tx, tracker, back) = (tx.clone(), tracker.clone(), back.clone());
                std::thread::spawn(move || {
                    for number in 0..2000 {
                        if (me + number) % 3 == 0 {
                            tx.send_blocking(tracker.value()).unwrap();
                        } else if tx.force_send(tracker.value()).unwrap().is_some() {
                            back.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            });
            let senders = senders.collect::<Vec<_>>();
            drop(tx);
            let (mut out, mut received) = (Vec::new(), 0);
            while rx.recv_blocking().is_ok() {
                received += 1 + rx.recv_many(&mut out, 3).wait().unwrap_or(0);
                out.clear();
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            assert_eq!(received + back.load(Ordering::Relaxed), 6000, "C1: {capacity:?}");
            tracker.assert_done();
        }
    });
}

/// C6: senders close, and discard, while all are at work: nothing is left, and each value is dropped once.
#[test]
fn discarded_at_random() {
    within("discards", || {
        for round in 0..1000 {
            let capacity = CAPACITIES[round % CAPACITIES.len()];
            let tracker = Tracker::new();
            let (tx, mut rx) = open(capacity);
            let senders = (0..3).map(|me| {
                let (tx, tracker) = (tx.clone(), tracker.clone());
                std::thread::spawn(move || {
                    for number in 0.. {
                        let sent = match number % 3 {
                            0 => tx.force_send(tracker.value()).map(drop),
                            _ => tx.send_blocking(tracker.value()),
                        };
                        if sent.is_err() {
                            return;
                        }
                        if me < 2 && number == round % 40 {
                            tx.close_now();
                            assert_eq!(tx.len(), 0, "C6");
                            return;
                        }
                    }
                })
            });
            let senders = senders.collect::<Vec<_>>();
            let mut out = Vec::new();
            loop {
                let is_over = match round % 3 {
                    0 => rx.recv_blocking().is_err(),
                    1 => rx.recv_many(&mut out, 100).wait().is_err(),
                    _ => rx.try_recv_many(&mut out, 100) == Err(TryRecvError::Closed),
                };
                if is_over {
                    break;
                }
                out.clear();
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            assert_eq!((rx.len(), rx.try_recv().map(drop)), (0, Err(TryRecvError::Closed)), "C6");
            tracker.assert_live(0, "C6");
            drop((tx, rx));
            tracker.assert_done();
        }
    });
}

/// C26: a receive that is forgotten while it waits keeps one value; the receives after it are still one at a time, and get all
/// others.
#[test]
fn a_forgotten_receive_is_no_second_receiver() {
    within("a forgotten receive", || {
        for capacity in CAPACITIES {
            let tracker = Tracker::new();
            let (tx, mut rx) = open(capacity);
            for forms in 0..3 {
                let polled = match forms {
                    0 => {
                        let mut forgotten = rx.recv();
                        let polled = forgotten.poll_with(Waker::noop()).is_pending();
                        mem::forget(forgotten);
                        polled
                    }
                    1 => {
                        let mut forgotten = rx.stream();
                        let polled = forgotten.next_once(&crate::support::CountingWaker::new());
                        mem::forget(forgotten);
                        polled.is_pending()
                    }
                    _ => {
                        let out = Box::leak(Box::new(Vec::new()));
                        let mut forgotten = rx.recv_many(out, 3);
                        let polled = forgotten.poll_with(Waker::noop()).is_pending();
                        mem::forget(forgotten);
                        polled
                    }
                };
                assert!(polled, "nothing is sent yet");
            }
            let senders = (0..3).map(|_| {
                let (tx, tracker) = (tx.clone(), tracker.clone());
                std::thread::spawn(move || {
                    (0..1000).for_each(|_| tx.send_blocking(tracker.value()).unwrap());
                })
            });
            let senders = senders.collect::<Vec<_>>();
            drop(tx);
            let mut received = 0;
            let mut poll = || match rx.recv().poll_with(Waker::noop()) {
                Poll::Ready(received) => Some(received.is_ok()),
                Poll::Pending => None,
            };
            loop {
                match poll() {
                    Some(true) => received += 1,
                    Some(false) => break,
                    None => std::thread::yield_now(),
                }
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            assert_eq!(received, 3000 - 3, "C26: {capacity:?}");
            assert!(rx.is_empty());
        }
    });
}
