//! S4: both sides of one channel in one select, and selects that oppose each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use leno::rendezvous;
use leno::select::{Selected2, Selected3, Selected4, select, select_biased};
use leno::{Receiver, Sender};

use crate::support::{Crew, Kind, Place, PollExt, Tracker, within};
use crate::{KINDS, choose, each_place};

/// S4: on a rendezvous channel the two sides of one select wait for others, in both orders.
#[test]
fn the_two_sides_of_one_select_never_meet() {
    let (tx, rx) = rendezvous();
    let mut send_first = select_biased((tx.send(1), rx.recv()));
    for _ in 0..3 {
        assert!(!send_first.must_wait("S4: nobody else is there").was_woken(), "S4: it does not spin");
    }
    tx.assert_valid();
    drop(send_first);
    let mut recv_first = select_biased((rx.recv(), tx.send(1)));
    for _ in 0..3 {
        assert!(!recv_first.must_wait("S4: nobody else is there").was_woken(), "S4: it does not spin");
    }
    drop(recv_first);
    let mut many = select((rx.recv(), tx.send(1), rx.recv(), tx.send(2)));
    many.must_wait("S4: nobody else is there");
    drop(many);
    assert!(tx.try_send(1).is_err() && rx.try_recv().is_err(), "S1: nobody was left behind");
    tx.assert_valid();
}

/// S4: a buffered channel: the send or the receive happens, by what there is, and a select never receives its own
/// value.
#[test]
fn the_two_sides_of_a_buffered_channel() {
    for kind in KINDS.into_iter().filter(|kind| kind.is_buffered()) {
        for send_first in [true, false] {
            let (tx, rx) = kind.open();
            let go = |value: usize| {
                if send_first {
                    match select((tx.send(value), rx.recv())).must_be_ready("S4: one of them can") {
                        Selected2::First(sent) => Err(sent),
                        Selected2::Second(received) => Ok(received),
                    }
                } else {
                    match select((rx.recv(), tx.send(value))).must_be_ready("S4: one of them can") {
                        Selected2::First(received) => Ok(received),
                        Selected2::Second(sent) => Err(sent),
                    }
                }
            };
            assert_eq!(go(1), Err(Ok(())), "empty: it sends");
            assert_eq!(rx.try_recv(), Ok(1));
            let room = kind.fill(&tx, |i| 10 + i);
            assert_eq!(go(1), Ok(Ok(10)), "full: it receives");
            assert_eq!(rx.drain().count(), room - 1, "S1: one value was taken, none was sent");
        }
    }
}

/// S4: peers meet either side: by trying, and as those that waited before.
#[test]
fn peers_meet_either_side() {
    for send_first in [true, false] {
        for peer_sends in [true, false] {
            for peer_waits in [true, false] {
                let what = format!("send first: {send_first}, peer sends: {peer_sends}, waits: {peer_waits}");
                let (tx, rx) = rendezvous();
                let (mut sending, mut receiving) = (tx.send(7), rx.recv());
                if peer_waits && peer_sends {
                    sending.must_wait("nobody is there");
                } else if peer_waits {
                    receiving.must_wait("nobody is there");
                }
                let mut send_then_recv = select((tx.send(1), rx.recv()));
                let mut recv_then_send = select((rx.recv(), tx.send(1)));
                let mut poll = || {
                    if send_first {
                        send_then_recv.poll_with(std::task::Waker::noop()).map(|outcome| match outcome {
                            Selected2::First(sent) => sent.map(|()| 0).map_err(|_| ()),
                            Selected2::Second(received) => received.map_err(|_| ()),
                        })
                    } else {
                        recv_then_send.poll_with(std::task::Waker::noop()).map(|outcome| match outcome {
                            Selected2::First(received) => received.map_err(|_| ()),
                            Selected2::Second(sent) => sent.map(|()| 0).map_err(|_| ()),
                        })
                    }
                };
                let expected = Poll::Ready(Ok(if peer_sends { 7 } else { 0 }));
                if peer_waits {
                    assert_eq!(poll(), expected, "S4: {what}");
                } else {
                    assert_eq!(poll(), Poll::Pending, "{what}");
                    if peer_sends {
                        assert_eq!(sending.must_be_ready("S4: the select receives"), Ok(()));
                        assert!(
                            tx.try_send(8).is_err(),
                            "S1: it has received one, and sends no more; {what}"
                        );
                        assert!(rx.try_recv().is_err(), "S1: {what}");
                    } else {
                        assert_eq!(receiving.must_be_ready("S4: the select sends"), Ok(1));
                        assert!(rx.try_recv().is_err(), "S1: it has sent, and receives no more; {what}");
                        assert!(tx.try_send(8).is_err(), "S1: {what}");
                    }
                    assert_eq!(poll(), expected, "S4: {what}");
                }
                drop((send_then_recv, recv_then_send));
                tx.assert_valid();
            }
        }
    }
}

/// S4: several such selects pair up with each other: of an odd number one is left.
#[test]
fn selects_on_both_sides_pair_up() {
    for count in 2..9 {
        for order in 0..2_usize.pow(count) {
            let (tx, rx) = rendezvous();
            let mut sent = Vec::new();
            let mut received = Vec::new();
            let mut pending = 0;
            let mut sends_first = Vec::new();
            let mut receives_first = Vec::new();
            for i in 0..count {
                if order & 1 << i == 0 {
                    let mut selecting = select((tx.send(i), rx.recv()));
                    let _ = selecting.poll_with(std::task::Waker::noop()).map(|outcome| match outcome {
                        Selected2::First(_) => sent.push(i),
                        Selected2::Second(value) => received.push((i, value.expect("open"))),
                    });
                    sends_first.push((i, selecting));
                } else {
                    let mut selecting = select((rx.recv(), tx.send(i)));
                    let _ = selecting.poll_with(std::task::Waker::noop()).map(|outcome| match outcome {
                        Selected2::First(value) => received.push((i, value.expect("open"))),
                        Selected2::Second(_) => sent.push(i),
                    });
                    receives_first.push((i, selecting));
                }
                tx.assert_valid();
            }
            let over = |i: u32, sent: &[u32], received: &[(u32, u32)]| {
                sent.contains(&i) || received.iter().any(|(other, _)| *other == i)
            };
            for (i, mut selecting) in sends_first {
                if over(i, &sent, &received) {
                    continue;
                }
                match selecting.poll_with(std::task::Waker::noop()) {
                    Poll::Ready(Selected2::First(_)) => sent.push(i),
                    Poll::Ready(Selected2::Second(value)) => received.push((i, value.expect("open"))),
                    Poll::Pending => pending += 1,
                }
            }
            for (i, mut selecting) in receives_first {
                if over(i, &sent, &received) {
                    continue;
                }
                match selecting.poll_with(std::task::Waker::noop()) {
                    Poll::Ready(Selected2::First(value)) => received.push((i, value.expect("open"))),
                    Poll::Ready(Selected2::Second(_)) => sent.push(i),
                    Poll::Pending => pending += 1,
                }
            }
            sent.sort_unstable();
            let mut values = received.iter().map(|(_, value)| *value).collect::<Vec<_>>();
            values.sort_unstable();
            assert_eq!(values, sent, "C1, S4: what was received is what was sent; {count}, {order:b}");
            assert!(received.iter().all(|(i, value)| i != value), "S4: none received its own");
            assert_eq!(pending, count % 2, "S4: all that can pair up have; {count}, {order:b}");
            assert!(tx.try_send(0).is_err() && rx.try_recv().is_err(), "S1: nobody was left behind");
        }
    }
}

/// S10, C9: one of two that were paired is dropped before it runs: its value goes to the other side of the next.
#[test]
fn a_paired_select_is_dropped() {
    let tracker = Tracker::new();
    let (tx, rx) = rendezvous();
    let mut first = select((tx.send(tracker.value()), rx.recv()));
    first.must_wait("nobody is there");
    // It meets the first one's receiver, since sending is its first branch.
    let outcome = select_biased((tx.send(tracker.value()), rx.recv())).must_be_ready("the first waits");
    assert!(matches!(outcome, Selected2::First(Ok(()))));
    let mut next = select((tx.send(tracker.value()), rx.recv()));
    let woken = next.must_wait("the first one is over");
    drop(first);
    assert!(woken.was_woken(), "C9: handed to the next in line");
    let outcome = next.must_be_ready("C9");
    assert!(matches!(outcome, Selected2::Second(Ok(value)) if value == 1), "C9");
    drop(next);
    tracker.assert_done();
    tx.assert_valid();
}

/// S4, by hand: opposing selects meet whichever comes first, and in whatever order they are written.
#[test]
fn opposing_selects_meet() {
    for kind in KINDS {
        let (a, a_rx) = kind.open();
        let (b, b_rx) = kind.open();
        // Full channels: nothing can be sent but to the other select, which then takes what is first.
        let room = kind.fill(&a, |i| i);
        kind.fill(&b, |i| i);
        let mut left = select((a.send(1000), b_rx.recv()));
        let mut right = select((b.send(1000), a_rx.recv()));
        if kind.is_buffered() {
            assert_eq!(left.must_be_ready("values are there"), Selected2::Second(Ok(0)));
            let outcome = right.must_be_ready("room, and values");
            let sent = matches!(outcome, Selected2::First(Ok(())));
            assert_eq!((a.len(), b.len()), if sent { (room, room) } else { (room - 1, room - 1) }, "S1");
        } else {
            let woken = left.must_wait("nobody is there");
            let right = right.must_be_ready("the left one waits");
            assert!(woken.was_woken());
            let left = left.must_be_ready("the right one has completed it");
            let pair = (left, right);
            assert!(
                pair == (Selected2::First(Ok(())), Selected2::Second(Ok(1000)))
                    || pair == (Selected2::Second(Ok(1000)), Selected2::First(Ok(()))),
                "S4: {pair:?}"
            );
        }
    }
}

/// S4: two threads that oppose each other, many times: each select completes by meeting the other one.
#[test]
fn opposing_selects_on_threads() {
    const ROUNDS: usize = 10_000;
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)] {
        let (sent, received) = within("S4: opposing selects on threads", move || {
            let (a, a_rx) = kind.open();
            let (b, b_rx) = kind.open();
            let oppose = |tx: Sender<usize>, rx: Receiver<usize>, base: usize| {
                std::thread::spawn(move || {
                    let (mut sent, mut received) = (Vec::new(), Vec::new());
                    for i in base..base + ROUNDS {
                        // Both orders, by turns.
                        let got = if i % 2 == 0 {
                            match select((tx.send(i), rx.recv())).wait() {
                                Selected2::First(sent) => sent.map(|()| None).expect("open"),
                                Selected2::Second(received) => Some(received.expect("open")),
                            }
                        } else {
                            match select((rx.recv(), tx.send(i))).wait() {
                                Selected2::First(received) => Some(received.expect("open")),
                                Selected2::Second(sent) => sent.map(|()| None).expect("open"),
                            }
                        };
                        match got {
                            Some(value) => received.push(value),
                            None => sent.push(i),
                        }
                    }
                    (sent, received)
                })
            };
            let left = oppose(a.clone(), b_rx.clone(), 0);
            let right = oppose(b.clone(), a_rx.clone(), ROUNDS);
            let (mut sent, mut received) = left.join().expect("the left one ends");
            let (more_sent, more_received) = right.join().expect("the right one ends");
            sent.extend(more_sent);
            received.extend(more_received);
            received.extend(a_rx.drain().chain(b_rx.drain()));
            assert_eq!(a.try_send(0).is_ok(), kind.is_buffered(), "S1: nobody is left behind");
            assert_eq!(b.try_send(0).is_ok(), kind.is_buffered(), "S1: nobody is left behind");
            a.assert_valid();
            b.assert_valid();
            (sent, received)
        });
        if !kind.is_buffered() {
            assert_eq!((sent.len(), received.len()), (ROUNDS, ROUNDS), "S4: each meeting is one exchange");
        }
        let (mut sent, mut received) = (sent, received);
        sent.sort_unstable();
        received.sort_unstable();
        assert_eq!(sent.len(), received.len(), "C1: {kind:?}");
        assert_eq!(sent, received, "C1: {kind:?}");
    }
}

/// S12, smaller: three parties that select over three channels, each sending on one and receiving on the others.
fn three_over_three(places: &[Place]) {
    const EACH: usize = 10_000;
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)] {
        let channels = (0..3).map(|_| kind.open::<usize>()).collect::<Vec<_>>();
        let seen = Arc::new(Mutex::new(vec![0_u8; 3 * EACH]));
        let count = Arc::new(AtomicUsize::new(0));
        let mut crew = Crew::new(format!("S12: three selects over three channels, {kind:?}"), places);
        for party in 0..3 {
            let tx = channels[party].0.clone();
            let own = channels[party].1.clone();
            let left = channels[(party + 1) % 3].1.clone();
            let right = channels[(party + 2) % 3].1.clone();
            let all = channels.iter().map(|(tx, _)| tx.clone()).collect::<Vec<_>>();
            let (seen, count) = (Arc::clone(&seen), Arc::clone(&count));
            crew.add(move |at| async move {
                let mut next = 0;
                loop {
                    let value = party * EACH + next;
                    let received = match (next < EACH, next % 2 == 0) {
                        // Its own channel as well: what it sends it never receives in the same select.
                        (true, true) => {
                            match choose(at, select((tx.send(value), left.recv(), own.recv(), right.recv())))
                                .await
                            {
                                Selected4::First(sent) => {
                                    sent.expect("closed only when all has arrived");
                                    next += 1;
                                    continue;
                                }
                                Selected4::Second(received) | Selected4::Third(received) => received,
                                Selected4::Fourth(received) => received,
                            }
                        }
                        (true, false) => {
                            match choose(at, select((left.recv(), right.recv(), tx.send(value)))).await {
                                Selected3::First(received) | Selected3::Second(received) => received,
                                Selected3::Third(sent) => {
                                    sent.expect("closed only when all has arrived");
                                    next += 1;
                                    continue;
                                }
                            }
                        }
                        (false, _) => match choose(at, select((left.recv(), right.recv(), own.recv()))).await
                        {
                            Selected3::First(received)
                            | Selected3::Second(received)
                            | Selected3::Third(received) => received,
                        },
                    };
                    let Ok(value) = received else { return };
                    seen.lock().unwrap()[value] += 1;
                    if count.fetch_add(1, Ordering::SeqCst) + 1 == 3 * EACH {
                        all.iter().for_each(|tx| _ = tx.close());
                    }
                }
            });
        }
        crew.run();
        assert!(seen.lock().unwrap().iter().all(|seen| *seen == 1), "S12: each value arrives once; {kind:?}");
        channels.iter().for_each(|(tx, _)| tx.assert_valid());
    }
}

each_place!(three_over_three);
