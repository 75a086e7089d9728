//! broadcast: who sends, suspended or not, against receivers that come, see, lag, go. Each sees what it has to; each value is
//! dropped once all have.

use leno::channel::broadcast::{Lag, Receiver, RecvError, Sender, TryRecvError, channel, with_lag};

use super::harness::thread;
use super::support::{Value, Values, poll, settle};

/// A value that is cloned and counted.
#[derive(Debug)]
struct Shared(Value, Values);

impl Shared {
    fn new(values: &Values, number: usize) -> Self {
        Shared(values.make(number), values.clone())
    }
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Shared::new(&self.1, self.0.number)
    }
}

fn receive(mut rx: Receiver<Shared>) -> thread::JoinHandle<usize> {
    thread::spawn(move || rx.recv_blocking().map(|value| value.0.number).unwrap())
}

/// Two that wait both see what is sent; it is gone then.
pub(crate) fn send_against_two() {
    let values = Values::default();
    let (tx, rx) = channel(1);
    let other = tx.subscribe();
    let receiving = [receive(rx), receive(other)];
    assert_eq!(tx.send(Shared::new(&values, 1)).map_err(drop), Ok(2));
    assert_eq!(receiving.map(|thread| thread.join().unwrap()), [1, 1]);
    assert_eq!(values.alive(), 0);
    assert_eq!(tx.assert_valid(), 0);
}

/// Sees all that is there, and counts what went unseen.
fn drain(rx: &mut Receiver<usize>) -> (Vec<usize>, u64) {
    let (mut seen, mut missed) = (Vec::new(), 0);
    loop {
        match rx.try_recv() {
            Ok(value) => seen.push(value),
            Err(TryRecvError::Lagged(n)) => missed += n,
            Err(_) => return (seen, missed),
        }
    }
}

/// A receiver lags as another one comes: both see the last values, and know what they have missed.
pub(crate) fn lag_against_subscribe() {
    let (tx, mut slow) = channel(1);
    let other = tx.clone();
    let sending = thread::spawn(move || (1..=2).for_each(|n| assert!(other.send(n).is_ok())));
    let mut late = tx.subscribe();
    let (early, missed_early) = drain(&mut slow);
    sending.join().unwrap();
    let (rest, missed) = drain(&mut slow);
    let seen = early.into_iter().chain(rest).collect::<Vec<_>>();
    assert_eq!(seen.len() as u64 + missed_early + missed, 2, "seen or missed");
    assert_eq!(seen.last(), Some(&2));
    let (seen, missed) = drain(&mut late);
    // It may have come after one or both.
    assert!(seen.len() as u64 + missed <= 2 && seen.last().is_none_or(|last| *last == 2));
    assert_eq!(tx.assert_valid(), 0);
    assert!(tx.is_empty());
}

/// One that comes as something is sent sees that, or what comes after it; nothing is kept for nobody.
pub(crate) fn send_against_subscribe() {
    let (tx, mut rx) = channel(4);
    let other = tx.clone();
    let sending = thread::spawn(move || other.send(1).unwrap());
    let mut late = tx.subscribe();
    let receivers = sending.join().unwrap();
    assert_eq!(tx.send(2), Ok(2));
    assert_eq!(drain(&mut rx), (vec![1, 2], 0));
    assert_eq!(drain(&mut late), (if receivers == 2 { vec![1, 2] } else { vec![2] }, 0));
    tx.assert_valid();
    assert!(tx.is_empty());
}

/// The last receiver goes: what is sent comes back, or goes with it.
pub(crate) fn send_against_last_receiver() {
    let values = Values::default();
    let (tx, rx) = channel(2);
    let going = thread::spawn(move || drop(rx));
    drop(tx.send(Shared::new(&values, 1)));
    going.join().unwrap();
    tx.closed().wait();
    tx.assert_valid();
    assert_eq!(values.alive(), 0);
}

fn suspended(tx: Sender<usize>, value: usize) -> thread::JoinHandle<bool> {
    thread::spawn(move || tx.send_async(value).wait().is_ok())
}

/// A full channel: a send waits until the slower of two has seen the oldest value.
pub(crate) fn suspend_against_slow_receiver() {
    let (tx, mut fast) = with_lag(1, Lag::Suspend);
    let mut slow = tx.subscribe();
    tx.try_send(1).unwrap();
    assert_eq!(fast.try_recv(), Ok(1));
    let sending = suspended(tx, 2);
    assert_eq!(slow.try_recv(), Ok(1));
    assert!(sending.join().unwrap());
    assert_eq!((fast.try_recv(), slow.try_recv()), (Ok(2), Ok(2)));
    assert_eq!(slow.try_recv(), Err(TryRecvError::Closed));
}

/// The slower one goes instead.
pub(crate) fn suspend_against_drop() {
    let (tx, mut fast) = with_lag(1, Lag::Suspend);
    let slow = tx.subscribe();
    tx.try_send(1).unwrap();
    assert_eq!(fast.try_recv(), Ok(1));
    let sending = suspended(tx, 2);
    drop(slow);
    assert!(sending.join().unwrap());
    assert_eq!(fast.try_recv(), Ok(2));
}

/// All go: the send is told.
pub(crate) fn suspend_against_last_receiver() {
    let (tx, rx) = with_lag(1, Lag::Suspend);
    tx.try_send(1).unwrap();
    let sending = suspended(tx, 2);
    drop(rx);
    assert!(!sending.join().unwrap());
}

/// Two wait for room: both get it.
pub(crate) fn two_suspended() {
    let (tx, mut rx) = with_lag(1, Lag::Suspend);
    tx.try_send(1).unwrap();
    let sending = [suspended(tx.clone(), 2), suspended(tx, 3)];
    assert_eq!(rx.recv_blocking(), Ok(1));
    let both = [rx.recv_blocking(), rx.recv_blocking()];
    assert!(both == [Ok(2), Ok(3)] || both == [Ok(3), Ok(2)]);
    assert!(sending.map(|thread| thread.join().unwrap()) == [true, true]);
}

/// The last sender goes: what it has sent is seen first.
pub(crate) fn last_sender_against_recv() {
    let (tx, mut rx) = channel(2);
    let sending = thread::spawn(move || assert!(tx.send(1).is_ok()));
    assert_eq!(rx.recv_blocking(), Ok(1));
    assert_eq!(rx.recv_blocking(), Err(RecvError::Closed));
    sending.join().unwrap();
}

/// A clone begins where the original is, which goes on meanwhile.
pub(crate) fn clone_against_recv() {
    let values = Values::default();
    let (tx, rx) = channel(2);
    let mut other = tx.subscribe();
    tx.send(Shared::new(&values, 1)).map_err(drop).unwrap();
    let cloning = thread::spawn(move || rx.clone());
    assert_eq!(other.try_recv().map(|value| value.0.number), Ok(1));
    let mut clone = cloning.join().unwrap();
    assert_eq!(clone.try_recv().map(|value| value.0.number), Ok(1));
    tx.assert_valid();
    assert_eq!(values.alive(), 0);
}

/// A send that waits is dropped as room is made: the room is there for another one.
pub(crate) fn suspended_against_cancel() {
    let values = Values::default();
    let (tx, mut rx) = with_lag(1, Lag::Suspend);
    tx.try_send(Shared::new(&values, 1)).map_err(drop).unwrap();
    let mut leaving = tx.send_async(Shared::new(&values, 2));
    assert!(poll(&mut leaving).is_pending());
    let other = tx.clone();
    let of_other = values.clone();
    let sending = thread::spawn(move || other.send_async(Shared::new(&of_other, 3)).wait().is_ok());
    let receiving = thread::spawn(move || {
        let first = rx.recv_blocking().map(|value| value.0.number);
        (first, rx.recv_blocking().map(|value| value.0.number))
    });
    drop(leaving);
    assert_eq!(receiving.join().unwrap(), (Ok(1), Ok(3)));
    assert!(sending.join().unwrap());
    assert_eq!(values.alive(), 0);
    assert_eq!(tx.assert_valid(), 0);
}

/// A receive that waits is dropped as something is sent: that is still to be seen.
pub(crate) fn recv_against_cancel() {
    let (tx, mut rx) = channel(1);
    let mut leaving = rx.recv();
    assert!(poll(&mut leaving).is_pending());
    let sending = thread::spawn(move || tx.send(1).is_ok());
    drop(leaving);
    assert!(sending.join().unwrap());
    assert_eq!(rx.try_recv(), Ok(1));
}

/// A select that sends to one channel and receives from another: one of both happens.
pub(crate) fn suspended_in_a_select() {
    let (full, mut full_rx) = with_lag(1, Lag::Suspend);
    full.try_send(1).unwrap();
    let (feed, mut feed_rx) = channel(1);
    let feeding = thread::spawn(move || {
        assert_eq!(feed.send(5), Ok(1));
        feed
    });
    let making_room = thread::spawn(move || {
        let first = full_rx.try_recv();
        (first, full_rx)
    });
    let mut sending = full.send_async(2);
    let sent = leno::select_blocking! {
        sent = &mut sending => sent.is_ok(),
        received = feed_rx.recv() => {
            assert_eq!(received, Ok(5));
            false
        }
    };
    assert_eq!(sending.into_inner().is_none(), sent);
    let (first, mut full_rx) = making_room.join().unwrap();
    assert_eq!(first, Ok(1));
    let _feed = feeding.join().unwrap();
    assert_eq!(full_rx.try_recv().is_ok(), sent);
    let mut rest = feed_rx.recv();
    assert_eq!(settle(&mut rest).is_ready(), sent);
}
