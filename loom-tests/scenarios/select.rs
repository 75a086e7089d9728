//! Selects against each other, against plain operations, closes, foreign futures and their own end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_core::future::FusedFuture as _;
use leno::select::{Selected2, foreign, select_biased as select};
use leno::{Receiver, Sender, bounded, rendezvous};

use super::harness::atomic::{AtomicBool, AtomicUsize, Ordering};
use super::harness::{Arc, Mutex, thread};
use super::support::{Values, full, poll, settle};

/// Sends or receives, whichever happens: 0 if it has sent.
fn exchange(tx: &Sender<usize>, value: usize, rx: &Receiver<usize>, sends_first: bool) -> usize {
    if sends_first {
        match select((tx.send(value), rx.recv())).wait() {
            Selected2::First(sent) => sent.map(|()| 0).unwrap(),
            Selected2::Second(received) => received.unwrap(),
        }
    } else {
        match select((rx.recv(), tx.send(value))).wait() {
            Selected2::First(received) => received.unwrap(),
            Selected2::Second(sent) => sent.map(|()| 0).unwrap(),
        }
    }
}

/// Runs a scenario with the older select as the senior, or the younger one.
fn by_youth(youngest: bool, scenario: impl FnOnce()) {
    leno::model::youngest_first(youngest);
    scenario();
    leno::model::youngest_first(false);
}

fn oppose(channels: [(Sender<usize>, Receiver<usize>); 2], first: [bool; 2]) {
    // On threads of their own: loom does not let a thread that joins be unparked.
    let [a, b] = channels;
    let parties = [(a.0.clone(), b.1.clone(), 1, first[0]), (b.0.clone(), a.1.clone(), 2, first[1])];
    let parties =
        parties.map(|(tx, rx, value, first)| thread::spawn(move || exchange(&tx, value, &rx, first)));
    let done = parties.map(|party| party.join().unwrap());
    assert!(matches!(done, [0, 1] | [2, 0]), "one sends and the other receives: {done:?}");
    a.0.assert_valid();
    b.0.assert_valid();
}

/// Two selects, each sending where the other receives: exactly one value is exchanged.
pub(crate) fn opposing() {
    oppose([rendezvous(), rendezvous()], [true, true]);
}

/// The same, the younger one being the senior.
pub(crate) fn opposing_the_younger() {
    by_youth(true, || oppose([rendezvous(), rendezvous()], [true, true]));
}

/// The same, in the other order of branches on one side: they meet on one channel at once.
pub(crate) fn opposing_on_one() {
    oppose([rendezvous(), rendezvous()], [true, false]);
}

/// The same, the younger one being the senior.
pub(crate) fn opposing_on_one_the_younger() {
    by_youth(true, || oppose([rendezvous(), rendezvous()], [true, false]));
}

/// A select against a plain sender on each of its channels: it takes one value and leaves the other.
pub(crate) fn against_two_senders() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let value = values.make(1);
    let sender = thread::spawn(move || a.send_blocking(value).is_ok());
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    let early = poll(&mut selecting);
    let mut sending = b.send(values.make(2));
    let sent = poll(&mut sending).is_ready();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    let got = match outcome {
        Poll::Ready(Selected2::First(received) | Selected2::Second(received)) => received.unwrap().number,
        Poll::Pending => panic!("a sender is there"),
    };
    drop(selecting);
    assert!(got == 2 || !sent, "what was sent is received");
    assert_eq!(sending.into_inner().is_none(), got == 2);
    drop((a_rx, b_rx));
    assert_eq!(sender.join().unwrap(), got == 1);
    assert_eq!(values.alive(), 0);
}

/// A select is dropped while a peer sends to one of its branches.
pub(crate) fn cancelled_against_send() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let value = values.make(1);
    let sender = thread::spawn(move || (a.try_send(value).is_ok(), a));
    drop(selecting);
    let (sent, _a) = sender.join().unwrap();
    assert_eq!(a_rx.try_recv().is_ok(), sent, "what was handed over is given back");
    assert_eq!(values.alive(), 0);
    a_rx.assert_valid();
    drop(b);
}

/// A select that sends is dropped while a peer receives.
pub(crate) fn cancelled_against_recv() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a.send(values.make(1)), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || drop(a_rx.try_recv()));
    drop(selecting);
    receiver.join().unwrap();
    assert_eq!(values.alive(), 0);
    drop(b);
}

/// Peers come for both branches at once: one of them alone is served.
pub(crate) fn both_branches_at_once() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let sender = thread::spawn(move || (a.try_send(1).is_ok(), a));
    let second = b.try_send(2).is_ok();
    let (first, _a) = sender.join().unwrap();
    assert!(first ^ second, "exactly one value is taken");
    match settle(&mut selecting) {
        Poll::Ready(Selected2::First(received)) => assert_eq!((received, first), (Ok(1), true)),
        Poll::Ready(Selected2::Second(received)) => assert_eq!((received, second), (Ok(2), true)),
        Poll::Pending => panic!("the select was served"),
    }
    a_rx.assert_valid();
    b_rx.assert_valid();
}

/// A close of one channel wakes the select, which keeps nothing in the other.
pub(crate) fn against_close() {
    let (a, a_rx) = rendezvous::<usize>();
    let (b, b_rx) = rendezvous::<usize>();
    let closing = thread::spawn(move || drop(a));
    assert!(matches!(select((a_rx.recv(), b_rx.recv())).wait(), Selected2::First(Err(_))));
    closing.join().unwrap();
    assert!(b.try_send(1).is_err(), "the losing branch waits no more");
}

/// A foreign future becomes ready while a peer claims: one of the two happens.
pub(crate) fn foreign_against_claim() {
    let (tx, rx) = rendezvous();
    let ready = Arc::new((AtomicBool::new(false), Mutex::new(None::<Waker>)));
    let flag = Arc::clone(&ready);
    let mut foreign_future = poll_fn(move |cx| {
        *flag.1.lock().unwrap() = Some(cx.waker().clone());
        if flag.0.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    });
    // On a thread of its own, which nobody joins early: loom does not let a thread that joins be unparked.
    let receiver = rx.clone();
    let selecting = thread::spawn(move || {
        matches!(select((receiver.recv(), foreign(&mut foreign_future))).wait(), Selected2::First(Ok(1)))
    });
    let sender = thread::spawn(move || (tx.try_send(1).is_ok(), tx));
    ready.0.swap(true, Ordering::AcqRel);
    let waker = ready.1.lock().unwrap().take();
    if let Some(waker) = waker {
        waker.wake();
    }
    let received = selecting.join().unwrap();
    let (sent, _tx) = sender.join().unwrap();
    assert_eq!(sent, received, "a value is taken exactly if its branch has won");
    assert_eq!(rx.len(), 0);
    rx.assert_valid();
}

/// Both sides of one channel in one select: it never meets itself, and a peer meets it.
pub(crate) fn both_sides_of_one_channel() {
    let (tx, rx) = rendezvous();
    let mut selecting = select((tx.send(1), rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let peer = tx.clone();
    let sender = thread::spawn(move || peer.send_blocking(2).unwrap());
    loop {
        match settle(&mut selecting) {
            Poll::Ready(outcome) => break assert_eq!(outcome, Selected2::Second(Ok(2))),
            Poll::Pending => thread::yield_now(),
        }
    }
    sender.join().unwrap();
    tx.assert_valid();
}

/// A losing send that was lent keeps its value, also while a peer holds its node.
pub(crate) fn losing_send_keeps_its_value() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let mut sending = a.send(values.make(1));
    let mut selecting = select((&mut sending, b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || (a_rx.try_recv().is_ok(), a_rx));
    let served = b.try_send(2).is_ok();
    let early = poll(&mut selecting);
    let (received, _a_rx) = receiver.join().unwrap();
    assert!(received ^ served, "exactly one branch happens");
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    match outcome {
        Poll::Ready(Selected2::First(sent)) => assert_eq!((sent.is_ok(), received), (true, true)),
        Poll::Ready(Selected2::Second(got)) => assert_eq!((got, served), (Ok(2), true)),
        Poll::Pending => panic!("the select was served"),
    }
    drop(selecting);
    assert_eq!(sending.into_inner().is_some(), !received);
    assert_eq!(values.alive(), 0);
}

/// A select is polled while a peer sends to it: they meet, or the peer finds nobody. The node that the peer has
/// taken out stays its branch's as long as the peer may claim the select by it.
pub(crate) fn polled_against_send() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let sender = thread::spawn(move || (a.try_send(1).is_ok(), a));
    let early = poll(&mut selecting);
    let (sent, _a) = sender.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    assert_eq!(outcome, if sent { Poll::Ready(Selected2::First(Ok(1))) } else { Poll::Pending });
}

/// The same with a select that sends.
pub(crate) fn polled_against_recv() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a.send(1), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || (a_rx.try_recv().is_ok(), a_rx));
    let early = poll(&mut selecting);
    let (received, _a_rx) = receiver.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    assert_eq!(outcome, if received { Poll::Ready(Selected2::First(Ok(()))) } else { Poll::Pending });
}

/// The same with a fair mutex, whose unlock passes by a select that looks.
pub(crate) fn polled_against_unlock() {
    let mutex = StdArc::new(leno::sync::Mutex::fair(()));
    let guard = mutex.try_lock_arc().unwrap();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((mutex.lock(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let unlocking = thread::spawn(move || drop(guard));
    let early = poll(&mut selecting);
    unlocking.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    assert!(matches!(outcome, Poll::Ready(Selected2::First(_))), "nobody holds the lock");
    drop(outcome);
    assert!(mutex.try_lock().is_some());
    mutex.assert_valid();
}

fn both_sides_twice(first: [bool; 2]) {
    let channel = rendezvous();
    oppose([channel.clone(), channel], first);
}

/// Two selects, each on both sides of one channel: they meet, and neither meets itself.
pub(crate) fn both_sides_in_two_selects() {
    both_sides_twice([true, false]);
}

/// The same, the younger one being the senior.
pub(crate) fn both_sides_in_two_selects_the_younger() {
    by_youth(true, || both_sides_twice([true, false]));
}

/// The same, in the same order of branches.
pub(crate) fn both_sides_in_order() {
    both_sides_twice([true, true]);
}

/// A value comes back from a dropped receive while a select arrives on both sides of the channel: it gets the value.
pub(crate) fn given_back_against_both_sides() {
    let (tx, rx) = rendezvous();
    let mut handed = rx.recv();
    assert!(poll(&mut handed).is_pending());
    tx.try_send(1).unwrap();
    let selecting = thread::spawn({
        let (tx, rx) = (tx.clone(), rx.clone());
        move || select((tx.send(2), rx.recv())).wait()
    });
    drop(handed);
    assert_eq!(selecting.join().unwrap(), Selected2::Second(Ok(1)));
    rx.assert_valid();
}

/// A select that has borrowed a send is dropped while a peer receives: the send knows whether it has happened.
pub(crate) fn lent_send_against_recv() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut sending = a.send(1);
    let mut selecting = select((&mut sending, b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || (a_rx.try_recv().is_ok(), a_rx));
    drop(selecting);
    let (received, _a_rx) = receiver.join().unwrap();
    // (If the peer was not through with it the send has yet to learn of it.)
    assert!(!sending.is_terminated() || received);
    assert_eq!(sending.into_inner().is_some(), !received);
}

/// The same while the channel closes: nobody has taken the value, so the send keeps it, or learns of the close with it.
pub(crate) fn lent_send_against_close() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut sending = a.send(values.make(1));
    let mut selecting = select((&mut sending, b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let closing = thread::spawn(move || {
        a_rx.close();
        a_rx
    });
    drop(selecting);
    assert!(sending.into_inner().is_some());
    closing.join().unwrap();
    assert_eq!(values.alive(), 0);
}

/// A select runs out of time while a peer receives: it has sent, or it says so.
pub(crate) fn timed_out_against_recv() {
    let (a, a_rx) = rendezvous();
    // On a thread of its own: see above.
    let selecting = thread::spawn(move || {
        let (_b, b_rx) = rendezvous::<usize>();
        select((a.send(1), b_rx.recv())).wait_timeout(Duration::ZERO).ok()
    });
    let receiver = thread::spawn(move || (a_rx.try_recv().is_ok(), a_rx));
    let outcome = selecting.join().unwrap();
    let (received, _a_rx) = receiver.join().unwrap();
    assert_eq!(outcome, received.then_some(Selected2::First(Ok(()))));
}

/// A select runs out of time while a peer sends: what was sent is its outcome, or nobody has taken it.
pub(crate) fn timed_out_against_send() {
    let (a, a_rx) = rendezvous();
    let selecting = thread::spawn(move || {
        let (_b, b_rx) = rendezvous::<usize>();
        let outcome = select((a_rx.recv(), b_rx.recv())).wait_timeout(Duration::ZERO).ok();
        (outcome, a_rx)
    });
    let sender = thread::spawn(move || (a.try_send(1).is_ok(), a));
    let (outcome, _a_rx) = selecting.join().unwrap();
    let (sent, _a) = sender.join().unwrap();
    assert_eq!(outcome, sent.then_some(Selected2::First(Ok(1))));
}

/// A waker whose count is seen by the other threads of a model, as a waker's effects are.
#[derive(Default)]
struct Seen(AtomicUsize);

impl Wake for Seen {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Polls a select three times while a peer decides; once it has, the select is ready or was woken since.
fn looks_until_decided<F: Future + Unpin>(mut selecting: F, decide: impl FnOnce()) -> Poll<F::Output> {
    let woken = StdArc::new(Seen::default());
    let waker = Waker::from(StdArc::clone(&woken));
    let mut before = 0;
    for _ in 0..3 {
        before = woken.0.load(Ordering::Acquire);
        let outcome = Pin::new(&mut selecting).poll(&mut Context::from_waker(&waker));
        if outcome.is_ready() {
            decide();
            return outcome;
        }
    }
    decide();
    assert_ne!(woken.0.load(Ordering::Acquire), before, "a select that can proceed was not woken");
    settle(&mut selecting)
}

/// A select looks while a value is claimed but not yet published: it goes on to look until it is.
pub(crate) fn looks_against_publish() {
    let (tx, rx) = bounded(1);
    let (_b, b_rx) = bounded::<usize>(1);
    let sender = thread::spawn(move || {
        tx.try_send(1).unwrap();
        tx
    });
    let outcome = looks_until_decided(select((rx.recv(), b_rx.recv())), || drop(sender.join().unwrap()));
    assert_eq!(outcome, Poll::Ready(Selected2::First(Ok(1))));
}

/// The same with room that is claimed but not yet free.
pub(crate) fn looks_against_room() {
    let (tx, rx) = bounded(1);
    let (_b, b_rx) = bounded::<usize>(1);
    tx.try_send(1).unwrap();
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv(), Ok(1));
        rx
    });
    let mut kept = None;
    let selecting = select((tx.send(2), b_rx.recv()));
    let outcome = looks_until_decided(selecting, || kept = Some(receiver.join().unwrap()));
    assert_eq!(outcome, Poll::Ready(Selected2::First(Ok(()))));
    assert_eq!(kept.unwrap().try_recv(), Ok(2));
}

/// A select comes to wait to send while a receive makes room, and another sender wants that, too.
pub(crate) fn looks_against_a_sender_and_a_receive() {
    let values = Values::default();
    let (tx, rx) = full(&values, 1);
    let (value, other) = (values.make(2), tx.clone());
    let selecting = thread::spawn(move || {
        let (_b, b) = bounded::<usize>(1);
        let mut selecting = select((other.send(value), b.recv()));
        matches!(settle(&mut selecting), Poll::Ready(Selected2::First(Ok(()))))
    });
    let value = values.make(3);
    let sender = thread::spawn(move || tx.try_send(value).is_ok());
    assert_eq!(rx.try_recv().unwrap().number, 1);
    assert!(rx.len() <= 1, "more than it holds");
    let (selected, sent) = (selecting.join().unwrap(), sender.join().unwrap());
    rx.assert_valid();
    // (A select that is dropped may have been let in before.)
    let left = rx.try_iter().map(|value| value.number).collect::<Vec<_>>();
    assert!(left.contains(&2) || !selected, "{left:?}");
    assert_eq!(left.contains(&3), sent, "{left:?}");
    assert_eq!(values.alive(), 0);
}

/// A select comes to wait to send while a receive makes room, and is dropped: it is let in before, or not at all.
pub(crate) fn cancelled_against_room() {
    let values = Values::default();
    let (tx, rx) = full(&values, 1);
    let value = values.make(2);
    let selecting = thread::spawn(move || {
        let (_b, b) = bounded::<usize>(1);
        let mut selecting = select((tx.send(value), b.recv()));
        let _ = poll(&mut selecting);
        drop(selecting);
        tx
    });
    assert_eq!(rx.try_recv().unwrap().number, 1);
    let tx = selecting.join().unwrap();
    tx.assert_valid();
    assert!(rx.try_iter().all(|value| value.number == 2));
    assert_eq!(values.alive(), 0);
}

/// A select that waits to send, beside a sender, is polled again or dropped as room is made: whoever waits is let in.
pub(crate) fn cancelled_beside_a_sender() {
    let values = Values::default();
    let (tx, rx) = full(&values, 1);
    let (value, other) = (values.make(2), tx.clone());
    let selecting = thread::spawn(move || {
        let (_b, b) = bounded::<usize>(1);
        let mut selecting = select((other.send(value), b.recv()));
        let _ = poll(&mut selecting);
    });
    let value = values.make(3);
    let sender = thread::spawn(move || tx.send_blocking(value).unwrap());
    assert_eq!(rx.try_recv().unwrap().number, 1);
    selecting.join().unwrap();
    let mut left = vec![rx.recv_blocking().unwrap().number];
    sender.join().unwrap();
    left.extend(rx.try_iter().map(|value| value.number));
    assert!(left.contains(&3) && left.len() <= 2, "{left:?}");
    assert_eq!(values.alive(), 0);
}
