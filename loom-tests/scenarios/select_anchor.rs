//! The anchor of a select: each pair of its transitions, its losing branches, and what becomes of the values.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc as StdArc;
use std::task::Poll;

use futures_core::future::FusedFuture as _;
use leno::select::{Selected2, Selected3, foreign, select_biased as select};
use leno::{Receiver, Sender, bounded, rendezvous, unbounded};

use super::harness::thread;
use super::support::{Values, Woken, poll, poll_with, settle};

/// Runs a scenario with the younger select as the senior.
fn by_youth(scenario: impl FnOnce()) {
    leno::model::youngest_first(true);
    scenario();
    leno::model::youngest_first(false);
}

fn number(
    outcome: Poll<
        Selected2<Result<usize, leno::channel::RecvError>, Result<usize, leno::channel::RecvError>>,
    >,
) -> Option<usize> {
    match outcome {
        Poll::Ready(Selected2::First(received) | Selected2::Second(received)) => Some(received.unwrap()),
        Poll::Pending => None,
    }
}

/// Peers come for both branches, from two threads, while the select is dropped: the one that has served it finds its
/// value again, and the last one frees the anchor.
pub(crate) fn two_claims_against_drop() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let senders = [(a, 1), (b, 2)].map(|(tx, value)| thread::spawn(move || (tx.try_send(value).is_ok(), tx)));
    drop(selecting);
    let [first, second] = senders.map(|sender| sender.join().unwrap());
    assert!(!first.0 || !second.0, "a select is served once");
    assert_eq!((a_rx.try_recv().is_ok(), b_rx.try_recv().is_ok()), (first.0, second.0));
    a_rx.assert_valid();
    b_rx.assert_valid();
}

/// The same while the select is polled with another waker.
pub(crate) fn two_claims_against_poll() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let senders = [(a, 1), (b, 2)].map(|(tx, value)| thread::spawn(move || (tx.try_send(value).is_ok(), tx)));
    let early = poll(&mut selecting);
    let [first, second] = senders.map(|sender| sender.join().unwrap());
    assert!(!first.0 || !second.0, "a select is served once");
    let outcome = number(if early.is_pending() { settle(&mut selecting) } else { early });
    assert_eq!(outcome, if first.0 { Some(1) } else { second.0.then_some(2) });
    if outcome.is_none() {
        // Both were given back: it stands in both lines again.
        second.1.try_send(3).unwrap();
        assert_eq!(number(settle(&mut selecting)), Some(3));
    }
    drop(selecting);
    a_rx.assert_valid();
    b_rx.assert_valid();
}

/// A claim meets a select that polls a foreign future: it is given back, and the branch stands in its line again.
pub(crate) fn claim_against_a_foreign_poll() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut never = pin!(pending::<()>());
    let mut selecting = select((a_rx.recv(), b_rx.recv(), foreign(&mut never)));
    let woken = Woken::new();
    assert!(poll_with(&mut selecting, &woken).is_pending());
    let sender = thread::spawn(move || (a.try_send(1).is_ok(), a));
    let early = poll_with(&mut selecting, &woken);
    let (sent, a) = sender.join().unwrap();
    let mut outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    if !sent {
        assert!(outcome.is_pending());
        a.try_send(1).unwrap();
        outcome = settle(&mut selecting);
    }
    assert_eq!(outcome, Poll::Ready(Selected3::First(Ok(1))));
    a_rx.assert_valid();
}

/// The same with peers that wait: they are met.
pub(crate) fn waiting_peer_against_a_foreign_poll() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let selecting = thread::spawn(move || {
        let mut never = pin!(pending::<()>());
        select((b_rx.recv(), a_rx.recv(), foreign(&mut never))).wait()
    });
    let sender = thread::spawn(move || a.send_blocking(1));
    sender.join().unwrap().unwrap();
    assert_eq!(selecting.join().unwrap(), Selected3::Second(Ok(1)));
}

/// A select within a foreign future of another one, on the two sides of a channel, beside a third party on a thread of its
/// own: the two meet, or one of them meets that, and neither goes round for ever.
fn nested_beside_a_sender() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let other = a.clone();
    let sender = thread::spawn(move || other.try_send(2).is_ok());
    let mut inner = select((b_rx.recv(), a.send(1)));
    let mut selecting = select((a_rx.recv(), b_rx.recv(), foreign(&mut inner)));
    let early = settle(&mut selecting);
    let sent = sender.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    drop(selecting);
    assert_eq!(outcome, Poll::Ready(Selected3::First(Ok(if sent { 2 } else { 1 }))));
    assert_eq!(poll(&mut inner).is_ready(), !sent);
    drop(inner);
    a_rx.assert_valid();
    b_rx.assert_valid();
}

/// The same beside a select, which opposes the outer one.
fn nested_beside_a_select() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous::<usize>();
    let (other, other_rx) = (a.clone(), b_rx.clone());
    let third = thread::spawn(move || {
        let mut third = select((other.send(2), other_rx.recv()));
        settle(&mut third)
    });
    let mut inner = select((b_rx.recv(), a.send(1)));
    let mut selecting = select((a_rx.recv(), foreign(&mut inner)));
    let early = settle(&mut selecting);
    // (It may have been dropped as it was claimed: sent, too.)
    let third_knows = third.join().unwrap().is_ready();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    drop(selecting);
    let Poll::Ready(Selected2::First(Ok(received))) = outcome else { panic!("{outcome:?}") };
    assert!(received == 2 || !third_knows);
    assert_eq!(poll(&mut inner).is_ready(), received == 1);
    drop((inner, b));
    a_rx.assert_valid();
    b_rx.assert_valid();
}

/// The same where the outer one waits on both sides of the channel, the inner one to receive, and the third party as well.
fn nested_in_both_sides() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let other = a_rx.clone();
    let receiver = thread::spawn(move || other.try_recv().is_ok());
    let mut inner = select((a_rx.recv(), b_rx.recv()));
    let mut selecting = select((a_rx.recv(), a.send(1), foreign(&mut inner)));
    let early = settle(&mut selecting);
    let received = receiver.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    drop(selecting);
    assert_eq!(outcome, Poll::Ready(Selected3::Second(Ok(()))), "one of the two has received");
    assert_eq!(poll(&mut inner).is_ready(), !received);
    drop(inner);
    a_rx.assert_valid();
    b_rx.assert_valid();
}

pub(crate) fn nested_selects_in_both_sides() {
    nested_in_both_sides();
}

pub(crate) fn nested_selects_in_both_sides_the_younger() {
    by_youth(nested_in_both_sides);
}

pub(crate) fn nested_selects() {
    nested_beside_a_sender();
}

pub(crate) fn nested_selects_the_younger() {
    by_youth(nested_beside_a_sender);
}

pub(crate) fn nested_selects_beside_a_third() {
    nested_beside_a_select();
}

pub(crate) fn nested_selects_beside_a_third_the_younger() {
    by_youth(nested_beside_a_select);
}

/// Whoever claims a select wakes it by the waker that it was polled with last.
pub(crate) fn last_waker_against_claim() {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let sender = thread::spawn(move || (a.try_send(1).is_ok(), a));
    let last = Woken::new();
    let early = poll_with(&mut selecting, &last);
    let (sent, _a) = sender.join().unwrap();
    if early.is_pending() {
        assert_eq!(last.count() > 0, sent, "it was woken if there is something");
        assert_eq!(number(settle(&mut selecting)), sent.then_some(1));
    } else {
        assert!(sent);
    }
}

fn senior_against_junior(drops: bool) {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let (_c, c_rx) = rendezvous::<usize>();
    let other = thread::spawn({
        let value = values.make(1);
        move || {
            let mut selecting = select((a.send(value), c_rx.recv()));
            let sent = matches!(settle(&mut selecting), Poll::Ready(Selected2::First(Ok(()))));
            let sent = sent || matches!(settle(&mut selecting), Poll::Ready(Selected2::First(Ok(()))));
            drop(selecting);
            (sent, a)
        }
    });
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    let mut received = settle(&mut selecting).is_ready();
    if !drops {
        received = received || settle(&mut selecting).is_ready();
        let (sent, _a) = other.join().unwrap();
        received = received || settle(&mut selecting).is_ready();
        assert!(received || !sent, "what was sent is received");
    } else {
        drop(selecting);
        let (sent, _a) = other.join().unwrap();
        received = received || a_rx.try_recv().is_ok();
        assert!(received || !sent, "what was sent is received");
    }
    assert_eq!(values.alive(), 0);
    a_rx.assert_valid();
}

/// Two selects that meet, both polled by hand and dropped early: a poke finds its target open, busy, or gone.
pub(crate) fn poke_against_drop() {
    senior_against_junior(true);
}

/// The same, the younger one being the senior.
pub(crate) fn poke_against_drop_the_younger() {
    by_youth(|| senior_against_junior(true));
}

/// The same with a senior that stays.
pub(crate) fn poke_against_poll() {
    senior_against_junior(false);
}

/// The same, the younger one being the senior.
pub(crate) fn poke_against_poll_the_younger() {
    by_youth(|| senior_against_junior(false));
}

/// A close pokes a select that a peer claims by its other branch, or that is dropped then.
fn close_and_claim(ends: bool) {
    let (a, a_rx) = rendezvous::<usize>();
    let (b, b_rx) = rendezvous();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let closing = thread::spawn(move || a.close());
    let sender = thread::spawn(move || (b.try_send(2).is_ok(), b));
    if ends {
        drop(selecting);
        closing.join().unwrap();
        let (sent, _b) = sender.join().unwrap();
        assert_eq!(b_rx.try_recv().is_ok(), sent);
        return;
    }
    let early = poll(&mut selecting);
    closing.join().unwrap();
    let (sent, _b) = sender.join().unwrap();
    match if early.is_pending() { settle(&mut selecting) } else { early } {
        Poll::Ready(Selected2::First(closed)) => assert!(closed.is_err() && !sent),
        Poll::Ready(Selected2::Second(received)) => assert_eq!((received, sent), (Ok(2), true)),
        Poll::Pending => panic!("the channel is closed"),
    }
    drop(selecting);
    assert_eq!(b_rx.len(), 0);
    b_rx.assert_valid();
}

pub(crate) fn close_against_claim() {
    close_and_claim(false);
}

pub(crate) fn close_against_claim_and_drop() {
    close_and_claim(true);
}

fn two_pokes(drops: bool) {
    let (a, a_rx) = rendezvous::<usize>();
    let (b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let closing = [a, b].map(|tx| thread::spawn(move || drop(tx)));
    if drops {
        drop(selecting);
        closing.into_iter().for_each(|closing| closing.join().unwrap());
    } else {
        let early = poll(&mut selecting);
        closing.into_iter().for_each(|closing| closing.join().unwrap());
        assert!(early.is_ready() || settle(&mut selecting).is_ready());
        drop(selecting);
    }
    a_rx.assert_valid();
    b_rx.assert_valid();
}

/// Both channels close at once while the select is polled.
pub(crate) fn two_pokes_against_poll() {
    two_pokes(false);
}

/// The same while it is dropped: the one that has yet to let the parker go looks at the anchor once more.
pub(crate) fn two_pokes_against_drop() {
    two_pokes(true);
}

/// Both channels close, on one other thread, while the select waits on a thread of its own.
pub(crate) fn two_pokes_against_wait() {
    let (a, a_rx) = rendezvous::<usize>();
    let (b, b_rx) = rendezvous();
    let selecting = thread::spawn(move || select((a_rx.recv(), b_rx.recv())).wait());
    let sender = thread::spawn(move || b.send_blocking(2));
    a.close();
    match selecting.join().unwrap() {
        Selected2::First(closed) => assert!(closed.is_err()),
        Selected2::Second(received) => assert_eq!(received, Ok(2)),
    }
    let _ = sender.join().unwrap();
}

/// Both sides of one channel in one select; what it did.
fn both_sides(tx: &Sender<usize>, rx: &Receiver<usize>) -> Option<usize> {
    match select((tx.send(1), rx.recv())).wait() {
        Selected2::First(sent) => sent.ok().map(|()| 0),
        Selected2::Second(received) => received.ok(),
    }
}

/// A select on both sides against a receiver.
pub(crate) fn both_sides_against_receiver() {
    let (tx, rx) = rendezvous();
    let peer = rx.clone();
    let receiver = thread::spawn(move || peer.recv_blocking());
    let selecting = thread::spawn(move || (both_sides(&tx, &rx), tx));
    assert_eq!(receiver.join().unwrap(), Ok(1));
    let (did, tx) = selecting.join().unwrap();
    assert_eq!(did, Some(0));
    tx.assert_valid();
}

/// Against a sender and a receiver at once, who may as well meet each other.
pub(crate) fn both_sides_against_both() {
    let (tx, rx) = rendezvous();
    let mut selecting = select((tx.send(1), rx.recv()));
    let early = poll(&mut selecting);
    assert!(early.is_pending());
    let (peer, peer_rx) = (tx.clone(), rx.clone());
    let sender = thread::spawn(move || peer.try_send(2).is_ok());
    let receiver = thread::spawn(move || peer_rx.try_recv().ok());
    let early = poll(&mut selecting);
    let (sent, received) = (sender.join().unwrap(), receiver.join().unwrap());
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    match outcome {
        Poll::Ready(Selected2::First(Ok(()))) => assert_eq!((sent, received), (false, Some(1))),
        Poll::Ready(Selected2::Second(Ok(2))) => assert_eq!((sent, received), (true, None)),
        Poll::Pending => {
            assert_eq!((sent, received), (false, None));
            // It stands for both sides again.
            tx.try_send(3).unwrap();
            assert_eq!(settle(&mut selecting), Poll::Ready(Selected2::Second(Ok(3))));
        }
        outcome => panic!("{outcome:?}"),
    }
    tx.assert_valid();
}

/// Against a close: both branches learn of it.
pub(crate) fn both_sides_against_close() {
    let (tx, rx) = rendezvous();
    let closing = rx.clone();
    let closing = thread::spawn(move || closing.close());
    let selecting = thread::spawn(move || (both_sides(&tx, &rx), tx));
    closing.join().unwrap();
    let (did, tx) = selecting.join().unwrap();
    assert_eq!(did, None);
    tx.assert_valid();
}

fn both_sides_dropped(sends: bool) {
    let values = Values::default();
    let (tx, rx) = rendezvous();
    let mut selecting = select((tx.send(values.make(1)), rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let (peer, peer_rx, value) = (tx.clone(), rx.clone(), values.make(2));
    let other = thread::spawn(move || {
        if sends {
            peer.try_send(value).is_ok()
        } else {
            drop(value);
            peer_rx.try_recv().is_ok()
        }
    });
    drop(selecting);
    let met = other.join().unwrap();
    assert_eq!(rx.try_recv().is_ok(), sends && met);
    assert_eq!(values.alive(), 0);
    tx.assert_valid();
}

/// A select on both sides is dropped while a peer sends.
pub(crate) fn both_sides_dropped_against_send() {
    both_sides_dropped(true);
}

/// The same while a peer receives: the partner's node is handed over.
pub(crate) fn both_sides_dropped_against_recv() {
    both_sides_dropped(false);
}

/// A value is handed to a receive, and the next one to the receiving side of a select on both sides. Both are dropped, the select
/// while it is handed over: what was sent first is received first.
pub(crate) fn both_sides_given_back_in_order() {
    let (tx, rx) = rendezvous();
    let mut first = rx.recv();
    assert!(poll(&mut first).is_pending());
    tx.try_send(1).unwrap();
    let mut selecting = select((tx.send(3), rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let peer = tx.clone();
    let sender = thread::spawn(move || peer.try_send(2).is_ok());
    drop(selecting);
    drop(first);
    let sent = sender.join().unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv().ok(), sent.then_some(2));
    tx.assert_valid();
}

/// Three selects on two channels: two of them meet, or the third one leaves too early.
fn three_on_two() {
    let (a, a_rx) = rendezvous::<usize>();
    let (b, b_rx) = rendezvous::<usize>();
    let parties = [(a.clone(), 1, b_rx.clone()), (b.clone(), 2, a_rx.clone())];
    let parties = parties.map(|(tx, value, rx)| {
        thread::spawn(move || {
            let mut selecting = select((tx.send(value), rx.recv()));
            match settle(&mut selecting) {
                Poll::Ready(Selected2::First(sent)) => sent.map(|()| 0).ok(),
                Poll::Ready(Selected2::Second(received)) => received.ok(),
                // It leaves, and may have sent all the same.
                Poll::Pending => Some(8),
            }
        })
    });
    let mut selecting = select((a.send(3), b_rx.recv()));
    let here = match settle(&mut selecting) {
        Poll::Ready(Selected2::First(sent)) => sent.map(|()| 0).ok(),
        Poll::Ready(Selected2::Second(received)) => received.ok(),
        Poll::Pending => Some(9),
    };
    let [one, two] = parties.map(|party| party.join().unwrap().unwrap());
    let here = if here == Some(9) {
        match settle(&mut selecting) {
            Poll::Ready(Selected2::First(sent)) => sent.map_or(9, |()| 0),
            Poll::Ready(Selected2::Second(received)) => received.unwrap(),
            Poll::Pending => 9,
        }
    } else {
        here.unwrap()
    };
    // Whoever has received has done so from one that has sent, or has left while it was sending.
    let done = [one, two, here];
    let received: Vec<usize> = done.into_iter().filter(|done| (1..4).contains(done)).collect();
    assert!(received.len() <= 1, "each of them takes part once, and two of them are on one side: {done:?}");
    for value in received {
        assert!(matches!(done[value - 1], 0 | 8), "{done:?}");
    }
    drop(selecting);
    a.assert_valid();
    b.assert_valid();
}

pub(crate) fn three_selects_on_two_channels() {
    three_on_two();
}

pub(crate) fn three_selects_on_two_channels_the_younger() {
    by_youth(three_on_two);
}

/// A select that sends into a full ring, and two receivers: its value comes after the one that was there.
pub(crate) fn places_against_receivers() {
    let (tx, rx) = bounded(1);
    let (_b, b_rx) = rendezvous::<usize>();
    tx.try_send(1).unwrap();
    let mut selecting = select((tx.send(2), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receivers = [rx.clone(), rx.clone()].map(|rx| thread::spawn(move || rx.try_recv().ok()));
    let mut got: Vec<usize> = receivers.into_iter().filter_map(|receiver| receiver.join().unwrap()).collect();
    assert_eq!(settle(&mut selecting), Poll::Ready(Selected2::First(Ok(()))));
    got.extend(rx.try_recv());
    got.sort_unstable();
    assert_eq!(got, [1, 2]);
    tx.assert_valid();
}

/// The same, with the poll of the select and a sender that overtakes.
pub(crate) fn places_against_sender() {
    let (tx, rx) = bounded(1);
    let (_b, b_rx) = rendezvous::<usize>();
    tx.try_send(1).unwrap();
    let mut selecting = select((tx.send(2), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || (rx.try_recv().unwrap(), rx));
    let peer = tx.clone();
    let sender = thread::spawn(move || peer.try_send(3).is_ok());
    let early = poll(&mut selecting);
    let (first, rx) = receiver.join().unwrap();
    let sent = sender.join().unwrap();
    let mut got = vec![first];
    got.extend(rx.try_recv());
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    assert_eq!(outcome, Poll::Ready(Selected2::First(Ok(()))));
    got.extend(rx.try_recv());
    got.extend(rx.try_recv());
    got.sort_unstable();
    assert_eq!(got, if sent { vec![1, 2, 3] } else { vec![1, 2] });
    tx.assert_valid();
}

/// The same against a close: nothing enters after it, and the value is received or comes back.
pub(crate) fn places_against_close() {
    let values = Values::default();
    let (tx, rx) = bounded(1);
    let (_b, b_rx) = rendezvous::<usize>();
    tx.try_send(values.make(1)).unwrap();
    let mut selecting = select((tx.send(values.make(2)), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let own = rx.clone();
    let receiver = thread::spawn(move || own.try_recv().map_or(0, |value| value.number));
    tx.close();
    let mut got = 0;
    while let Ok(value) = rx.try_recv() {
        got += value.number;
    }
    // It is closed and empty: so it stays.
    let before = got;
    let first = receiver.join().unwrap();
    got += first;
    assert!(rx.try_recv().is_err(), "a value came after the end ({before})");
    match settle(&mut selecting) {
        Poll::Ready(Selected2::First(sent)) => {
            assert_eq!(got, if sent.is_ok() { 3 } else { 1 });
            assert!(sent.is_err() || first == 1, "it had no room before the end");
        }
        _ => panic!("the channel is closed"),
    }
    drop(selecting);
    assert_eq!(values.alive(), 0);
    tx.assert_valid();
}

/// The same against its own drop: the value is placed, or gone.
pub(crate) fn places_against_drop() {
    let values = Values::default();
    let (tx, rx) = bounded(1);
    let (_b, b_rx) = rendezvous::<usize>();
    tx.try_send(values.make(1)).unwrap();
    let mut selecting = select((tx.send(values.make(2)), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let own = rx.clone();
    let receiver = thread::spawn(move || own.try_recv().unwrap().number);
    drop(selecting);
    assert_eq!(receiver.join().unwrap(), 1);
    let left = rx.try_recv().ok();
    assert_eq!(values.alive(), left.iter().count());
    drop(left);
    assert_eq!(rx.len(), 0);
    tx.assert_valid();
}

/// Against its own drop and a close.
pub(crate) fn places_against_drop_and_close() {
    let values = Values::default();
    let (tx, rx) = bounded(1);
    let (_b, b_rx) = rendezvous::<usize>();
    tx.try_send(values.make(1)).unwrap();
    let mut selecting = select((tx.send(values.make(2)), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let closing = tx.clone();
    let receiver = thread::spawn(move || drop(rx.try_recv()));
    let closing = thread::spawn(move || closing.close());
    drop(selecting);
    receiver.join().unwrap();
    closing.join().unwrap();
    assert_eq!(values.alive(), 0);
    tx.assert_valid();
}

/// A select is the first in line, with one behind it in the small array and one in the list: it is dropped while values
/// come.
fn in_line(select_is: usize, drops: bool) {
    let values = Values::default();
    let (tx, rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut receiving = [rx.recv(), rx.recv()];
    let mut selecting = select((rx.recv(), b_rx.recv()));
    let mut plain = receiving.iter_mut();
    for place in 0..3 {
        if place == select_is {
            assert!(poll(&mut selecting).is_pending());
        } else {
            assert!(poll(plain.next().unwrap()).is_pending());
        }
    }
    // To a select that is polled the third one goes, in many.
    let given: Vec<_> = (0..if drops { 2 } else { 3 }).map(|number| values.make(number)).collect();
    let sender = thread::spawn(move || {
        let sent: Vec<bool> = given.into_iter().map(|value| tx.try_send(value).is_ok()).collect();
        (sent, tx)
    });
    if drops {
        drop(selecting);
        let (sent, tx) = sender.join().unwrap();
        assert_eq!(sent, [true, true], "somebody waits");
        let got =
            receiving.iter_mut().map(|receiving| usize::from(settle(receiving).is_ready())).sum::<usize>();
        assert_eq!(got, 2);
        drop(receiving);
        tx.assert_valid();
    } else {
        let mut early = poll(&mut selecting).is_ready();
        let (sent, tx) = sender.join().unwrap();
        early = early || settle(&mut selecting).is_ready();
        let got =
            receiving.iter_mut().map(|receiving| usize::from(settle(receiving).is_ready())).sum::<usize>();
        assert_eq!(usize::from(early) + got, sent.iter().filter(|sent| **sent).count());
        assert!(sent[0] || sent[1], "somebody waits");
        drop((selecting, receiving));
        tx.assert_valid();
    }
    assert_eq!(values.alive(), 0);
}

pub(crate) fn first_in_line_dropped() {
    in_line(0, true);
}

pub(crate) fn in_few_dropped() {
    in_line(1, true);
}

pub(crate) fn in_many_dropped() {
    in_line(2, true);
}

pub(crate) fn first_in_line_polled() {
    in_line(0, false);
}

pub(crate) fn in_few_polled() {
    in_line(1, false);
}

pub(crate) fn in_many_polled() {
    in_line(2, false);
}

/// A select that was handed a value is dropped while another one waits, or comes: that gets the value.
pub(crate) fn handed_over_and_dropped() {
    let (tx, rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let other = thread::spawn({
        let (rx, b_rx) = (rx.clone(), b_rx.clone());
        move || select((b_rx.recv(), rx.recv())).wait()
    });
    tx.try_send(1).unwrap();
    drop(selecting);
    assert_eq!(other.join().unwrap(), Selected2::Second(Ok(1)));
    rx.assert_valid();
    b_rx.assert_valid();
}

/// The same while the value is on its way.
pub(crate) fn dropped_while_handed_over() {
    let (tx, rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let other = thread::spawn({
        let (rx, b_rx) = (rx.clone(), b_rx.clone());
        move || select((b_rx.recv(), rx.recv())).wait()
    });
    let sender = thread::spawn(move || (tx.send_blocking(1), tx));
    drop(selecting);
    assert_eq!(other.join().unwrap(), Selected2::Second(Ok(1)));
    sender.join().unwrap().0.unwrap();
    rx.assert_valid();
}

/// A receive that was lent is its owner's again once the select is dropped, with the value that was on its way.
pub(crate) fn lent_recv_against_send() {
    let (tx, rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut receiving = rx.recv();
    let mut selecting = select((&mut receiving, b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let sender = thread::spawn(move || (tx.try_send(1).is_ok(), tx));
    drop(selecting);
    let (sent, tx) = sender.join().unwrap();
    assert_eq!(settle(&mut receiving), if sent { Poll::Ready(Ok(1)) } else { Poll::Pending });
    drop(receiving);
    tx.assert_valid();
}

/// A select over a lock and a channel is told of an unlock and leaves: the next one in line gets the lock.
fn told_and_left(fair: bool) {
    let mutex = StdArc::new(if fair { leno::sync::Mutex::fair(0) } else { leno::sync::Mutex::new(0) });
    let guard = mutex.try_lock_arc().unwrap();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((mutex.lock(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let other = StdArc::clone(&mutex);
    let waiting = thread::spawn(move || *other.lock_blocking() += 1);
    let unlocking = thread::spawn(move || drop(guard));
    drop(selecting);
    unlocking.join().unwrap();
    waiting.join().unwrap();
    assert_eq!(*mutex.try_lock().unwrap(), 1);
    mutex.assert_valid();
}

pub(crate) fn unlock_against_drop() {
    told_and_left(false);
}

pub(crate) fn fair_unlock_against_drop() {
    told_and_left(true);
}

/// The same with one that is won by its channel.
fn told_and_won_elsewhere(fair: bool) {
    let mutex = StdArc::new(if fair { leno::sync::Mutex::fair(0) } else { leno::sync::Mutex::new(0) });
    let guard = mutex.try_lock_arc().unwrap();
    let (b, b_rx) = rendezvous();
    let mut selecting = select((b_rx.recv(), mutex.lock()));
    assert!(poll(&mut selecting).is_pending());
    let mut waiting = mutex.lock();
    assert!(poll(&mut waiting).is_pending());
    let unlocking = thread::spawn(move || drop(guard));
    let sender = thread::spawn(move || (b.try_send(2).is_ok(), b));
    let early = poll(&mut selecting);
    unlocking.join().unwrap();
    let (sent, _b) = sender.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    match outcome {
        Poll::Ready(Selected2::First(received)) => assert_eq!((received, sent), (Ok(2), true)),
        Poll::Ready(Selected2::Second(guard)) => {
            assert!(!sent);
            drop(guard);
        }
        Poll::Pending => assert!(!sent),
    }
    drop(selecting);
    assert!(settle(&mut waiting).is_ready(), "the lock is free");
    drop(waiting);
    mutex.assert_valid();
}

pub(crate) fn unlock_against_claim() {
    told_and_won_elsewhere(false);
}

pub(crate) fn fair_unlock_against_claim() {
    told_and_won_elsewhere(true);
}

/// A select that waits for a close beside a channel.
pub(crate) fn watching_against_close() {
    let (a, a_rx) = rendezvous::<usize>();
    let (b, b_rx) = rendezvous();
    let mut selecting = select((a.closed(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let closing = thread::spawn(move || drop(a_rx));
    let sender = thread::spawn(move || (b.try_send(2).is_ok(), b));
    let early = poll(&mut selecting);
    closing.join().unwrap();
    let (sent, _b) = sender.join().unwrap();
    match if early.is_pending() { settle(&mut selecting) } else { early } {
        Poll::Ready(Selected2::First(())) => assert!(!sent),
        Poll::Ready(Selected2::Second(received)) => assert_eq!((received, sent), (Ok(2), true)),
        Poll::Pending => panic!("the channel is closed"),
    }
    drop(selecting);
    b_rx.assert_valid();
}

/// A channel of capacity 4, which is no ring in models, and is full.
fn full_channel() -> (Sender<usize>, Receiver<usize>) {
    let (tx, rx) = bounded(4);
    (0..4).for_each(|value| tx.try_send(value).unwrap());
    (tx, rx)
}

/// A select waits for room in a channel that is no ring, and another send behind it: it is polled while two receive.
pub(crate) fn room_against_poll() {
    let (tx, rx) = full_channel();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((tx.send(4), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let mut sending = tx.send(5);
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || ((rx.try_recv(), rx.try_recv()), rx));
    let early = poll(&mut selecting);
    let (received, rx) = receiver.join().unwrap();
    assert_eq!(received, (Ok(0), Ok(1)));
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    assert_eq!(outcome, Poll::Ready(Selected2::First(Ok(()))));
    assert_eq!(settle(&mut sending), Poll::Ready(Ok(())));
    drop((selecting, sending));
    assert_eq!(rx.len(), 4);
    rx.assert_valid();
}

/// The same while the select is dropped: the room is the next one's.
pub(crate) fn room_against_drop() {
    let (tx, rx) = full_channel();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((tx.send(4), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let mut sending = tx.send(5);
    let woken = Woken::new();
    assert!(poll_with(&mut sending, &woken).is_pending());
    let receiver = thread::spawn(move || (rx.try_recv(), rx));
    drop(selecting);
    let (received, rx) = receiver.join().unwrap();
    assert_eq!(received, Ok(0));
    let sent = settle(&mut sending).is_ready();
    drop(sending);
    assert_eq!(rx.len(), 4, "the room was used");
    assert_eq!(woken.count() > 0, sent);
    (1..4).for_each(|value| assert_eq!(rx.try_recv(), Ok(value)));
    assert_eq!(rx.try_recv(), Ok(if sent { 5 } else { 4 }));
    rx.assert_valid();
}

/// A select receives from a channel without a bound, first in line, and is dropped while values come: those behind it get
/// them.
pub(crate) fn unbounded_against_drop() {
    let (tx, rx) = unbounded();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let mut receiving = rx.recv();
    let woken = Woken::new();
    assert!(poll_with(&mut receiving, &woken).is_pending());
    let sender = thread::spawn(move || (tx.try_send(1), tx));
    drop(selecting);
    let (sent, _tx) = sender.join().unwrap();
    sent.unwrap();
    assert!(woken.count() > 0, "there is a value");
    assert_eq!(settle(&mut receiving), Poll::Ready(Ok(1)));
    drop(receiving);
    rx.assert_valid();
}

/// A receiver that is about to give a place away finds senders and receivers that wait: it serves them all.
pub(crate) fn a_place_for_many() {
    let (tx, rx) = bounded(1);
    let large = |number: u8| [number; 1000];
    tx.try_send(large(0)).unwrap();
    let mut sending = [tx.send(large(1)), tx.send(large(2))];
    for sending in &mut sending {
        assert!(poll(sending).is_pending());
    }
    let own = rx.clone();
    let receiver = thread::spawn(move || own.try_recv().ok().map(|value| value[0]));
    let mut receiving = [rx.recv(), rx.recv()];
    let mut got: Vec<u8> = receiving
        .iter_mut()
        .filter_map(|receiving| match poll(receiving) {
            Poll::Ready(received) => Some(received.unwrap()[0]),
            Poll::Pending => None,
        })
        .collect();
    got.extend(receiver.join().unwrap());
    for receiving in &mut receiving {
        if !receiving.is_terminated() {
            if let Poll::Ready(received) = settle(receiving) {
                got.push(received.unwrap()[0]);
            }
        }
    }
    drop(receiving);
    while let Ok(value) = rx.try_recv() {
        got.push(value[0]);
    }
    for sending in &mut sending {
        assert!(settle(sending).is_ready());
    }
    got.sort_unstable();
    assert_eq!(got, [0, 1, 2]);
    drop(sending);
    rx.assert_valid();
}

/// A poke that is over before the owner has counted who is left: the owner frees the anchor.
pub(crate) fn poke_against_drop_elsewhere() {
    let (a, a_rx) = rendezvous::<usize>();
    let (_b, b_rx) = rendezvous::<usize>();
    // SAFETY: the thread that has the select is joined before the receivers end.
    let lent = unsafe { (&*std::ptr::from_ref(&a_rx), &*std::ptr::from_ref(&b_rx)) };
    let mut selecting = select((lent.0.recv(), lent.1.recv()));
    assert!(poll(&mut selecting).is_pending());
    let dropping = thread::spawn(move || drop(selecting));
    a.close();
    dropping.join().unwrap();
    a_rx.assert_valid();
}
