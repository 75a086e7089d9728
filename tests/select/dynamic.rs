//! S11: the dynamic `Select` follows the rules of the others, on any number of channels; what is its own is that the
//! set goes on after each select.

use std::cell::Cell;
use std::fmt::Debug;
use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures_core::FusedFuture;
use leno::channel::{RecvError, SendError};
use leno::fiber::{CancelToken, Cord};
use leno::select::{Operation, RecvToken, Select, SelectFuture, SendToken, foreign, select};
use leno::{Receiver, Sender, bounded, rendezvous};

use crate::support::{
    Crew, Kind, Place, PollExt, Tracked, Tracker, hardly, impatient_peer, message_of, panicking_waker, within,
};
use crate::{KINDS, assert_one_is_stranded, each_place, impls};

/// Selects as people do it in this place.
async fn choose<'s, 'a>(at: Place, set: &'s mut Select<'a>) -> Operation<'s, 'a> {
    match at {
        Place::Thread => set.select().wait(),
        _ => set.select().await,
    }
}

/// The operation of a select that waits until `serve` has served it.
#[track_caller]
fn served<'s, 'a>(set: &'s mut Select<'a>, serve: impl FnOnce()) -> Operation<'s, 'a> {
    let mut selecting = set.select();
    let woken = selecting.must_wait("nothing is ready");
    serve();
    assert!(woken.was_woken(), "a peer has served it");
    let operation = selecting.must_be_ready("a peer has served it");
    assert_eq!(Arc::strong_count(&woken), 1, "S1: no waker is kept");
    operation
}

#[track_caller]
pub(crate) fn panic_message(misuse: impl FnOnce()) -> String {
    message_of(catch_unwind(AssertUnwindSafe(misuse)).expect_err("must panic"))
}

/// S1, S3, S5, S9: ready or not, by `try_select`, by a first poll, and after a wait: one operation happens, and no other.
#[test]
fn one_operation_happens() {
    for kind in KINDS {
        for waits in [false, true] {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |_| tracker.value());
            let (_silent, silents) = kind.open::<u8>();
            let mut set = Select::biased();
            let silence = set.recv(&silents);
            let receive = set.recv(&rx);
            let send = set.send(&full, tracker.value());
            assert!(set.try_select().is_none(), "S6: nothing is ready; {kind:?}");
            assert_eq!(tx.try_send(tracker.value()).is_ok(), kind.is_buffered(), "S6: nobody is registered");
            rx.drain().for_each(drop);
            let mut sending = tx.send(tracker.value());
            let operation = if waits {
                served(&mut set, || _ = sending.poll_with(Waker::noop()))
            } else {
                let _ = sending.poll_with(Waker::noop());
                set.try_select().expect("a value is there")
            };
            assert!(operation.is(receive) && !operation.is(silence) && !operation.is(send));
            assert_eq!(operation.recv(receive).expect("a value").id, room + 2, "{kind:?}");
            assert!(rx.is_empty() && fulls.len() == room, "S1: nothing else happened");
            assert!(set.try_select().is_none(), "S6: nothing is ready any more");
            // The send is still there.
            let taken = if kind.is_buffered() {
                drop(fulls.try_recv().expect("full"));
                set.try_select().expect("there is room").send(send)
            } else {
                let mut taking = fulls.recv();
                taking.must_wait("nobody sends");
                let sent = set.try_select().expect("a receiver waits").send(send);
                assert_eq!(taking.must_be_ready("met").expect("a value").id, room);
                sent
            };
            assert!(taken.is_ok());
            assert!(set.try_select().is_none(), "the send is done, and takes no part any more");
            drop((set, sending));
            drop((rx, fulls));
            tracker.assert_done();
        }
    }
}

/// S2: each ready operation has its share; a biased set takes the first that was registered.
#[test]
fn ready_operations_are_chosen_evenly_or_in_order() {
    for count in [2, 3, 8, 9, 20] {
        let channels = (0..count).map(|_| bounded(1)).collect::<Vec<_>>();
        for (tx, _) in &channels {
            tx.try_send(()).expect("there is room");
        }
        let mut set = Select::new();
        let tokens = channels.iter().map(|(_, rx)| set.recv(rx)).collect::<Vec<_>>();
        let mut counts = vec![0_usize; count];
        for round in 0..1000 * count {
            let operation = match round % 2 {
                0 => set.select().must_be_ready("all are ready"),
                _ => set.try_select().expect("all are ready"),
            };
            let chosen = tokens.iter().position(|token| operation.is(*token)).expect("one of them");
            operation.recv(tokens[chosen]).expect("a value");
            channels[chosen].0.try_send(()).expect("there is room");
            counts[chosen] += 1;
        }
        // A fair choice is off by this much once in 10^20 runs.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 300), "S2: {counts:?}");
        let mut set = Select::biased();
        let tokens = channels.iter().rev().map(|(_, rx)| set.recv(rx)).collect::<Vec<_>>();
        for (token, (tx, _)) in tokens.iter().zip(channels.iter().rev()) {
            for _ in 0..10 {
                set.select().must_be_ready("some are").recv(*token).expect("S2: the first that is ready");
                tx.try_send(()).expect("there is room");
            }
            set.select().must_be_ready("some are").recv(*token).expect("S2: the first that is ready");
        }
        assert!(set.try_select().is_none());
    }
}

/// S4: a send and a receive on one channel never meet within a set; two sets that oppose each other do.
#[test]
fn both_sides_of_a_channel() {
    let (tx, rx) = rendezvous();
    let (other, others) = rendezvous();
    let mut set = Select::new();
    let send = set.send(&tx, 1);
    let _receive = set.recv(&rx);
    let back = set.recv(&others);
    for _ in 0..3 {
        assert!(set.try_select().is_none(), "S4: it does not meet itself");
    }
    let mut selecting = set.select();
    selecting.must_wait("S4: it does not meet itself");
    let woken = selecting.must_wait("S4: nor in a later poll");
    let mut opposing = Select::biased();
    let opposing_send = opposing.send(&other, 2);
    let opposing_receive = opposing.recv(&rx);
    let operation = opposing.select().must_be_ready("S4: they meet");
    assert!(woken.was_woken());
    let outcome = selecting.must_be_ready("S4: they meet");
    if operation.is(opposing_send) {
        assert_eq!((operation.send(opposing_send), outcome.recv(back)), (Ok(()), Ok(2)));
    } else {
        assert_eq!((operation.recv(opposing_receive), outcome.send(send)), (Ok(1), Ok(())));
    }
    drop(opposing);
    tx.assert_valid();
    other.assert_valid();
}

/// S5: a closed channel completes its branches with the error: a send once, with its value; a receive again and again.
#[test]
fn closed_channels() {
    for kind in KINDS {
        for waits in [false, true] {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open::<Tracked>();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |_| tracker.value());
            let mut set = Select::biased();
            let send = set.send(&full, tracker.value());
            let receive = set.recv(&rx);
            if waits {
                let error = served(&mut set, || _ = full.close()).send(send).expect_err("S5: closed");
                assert!(error.0 == room, "S5: its value");
            } else {
                full.close();
                let error = set.select().must_be_ready("closed").send(send).expect_err("S5: closed");
                assert!(error.0 == room, "S5: its value");
            }
            assert!(set.try_select().is_none(), "the send is done; {kind:?}");
            drop(tx);
            for _ in 0..3 {
                let received = set.select().must_be_ready("closed").recv(receive);
                assert!(matches!(received, Err(RecvError)), "S5: {kind:?}");
            }
            drop(set);
            drop(fulls);
            tracker.assert_done();
        }
    }
}

/// A send has its value from its registration until it has happened, through selects that completed elsewhere, were
/// dropped, were forgotten, or timed out; the set drops what was not sent (S9).
#[test]
fn a_send_stays_registered_until_it_is_done() {
    for kind in KINDS {
        for sent in [true, false] {
            let tracker = Tracker::new();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |_| tracker.value());
            let (tick, ticks) = rendezvous();
            let mut set = Select::new();
            let send = set.send(&full, tracker.value());
            let on_tick = set.recv(&ticks);
            for round in 0..60 {
                match round % 6 {
                    0 => drop(set.select()),
                    1 => drop(set.select().must_wait("nothing is ready")),
                    2 => assert!(set.select().wait_timeout(Duration::ZERO).is_err(), "C16"),
                    3 => {
                        let mut selecting = set.select();
                        selecting.must_wait("nothing is ready");
                        std::mem::forget(selecting);
                    }
                    4 => {
                        let operation = served(&mut set, || tick.try_send(round).expect("the set waits"));
                        assert_eq!(operation.recv(on_tick), Ok(round));
                    }
                    _ => assert!(set.try_select().is_none()),
                }
            }
            assert_eq!(fulls.len(), room, "S1: nothing was sent; {kind:?}");
            assert_eq!(tracker.drops(room), 0, "S9: the set keeps the value");
            if sent {
                let take = || assert!(fulls.try_recv().is_ok_and(|taken| taken == 0), "C2: {kind:?}");
                served(&mut set, take).send(send).expect("open");
            }
            drop(set);
            assert_eq!(tracker.drops(room), u32::from(!sent || !kind.is_buffered()), "S9: {kind:?}");
            assert!(tick.try_send(1).is_err(), "S10: nobody waits");
            drop(fulls);
            tracker.assert_done();
        }
    }
}

/// S10, C9, C11: a select that is dropped (or forgotten, which the set finds out when it is used again) after a peer has
/// served it: a value goes on, a send has happened, and the set is good for more.
#[test]
fn a_dropped_select_that_was_served() {
    for kind in KINDS {
        for forgotten in [false, true] {
            for waiting in [false, true] {
                let what = format!("{kind:?}, forgotten: {forgotten}, another waits: {waiting}");
                let end = |selecting: SelectFuture<'_, '_>| match forgotten {
                    true => std::mem::forget(selecting),
                    false => drop(selecting),
                };
                let tracker = Tracker::new();
                let (tx, rx) = kind.open();
                let (full, fulls) = kind.open();
                let room = kind.fill(&full, |_| tracker.value());
                let mut set = Select::new();
                let receive = set.recv(&rx);
                let send = set.send(&full, tracker.value());
                // A value was handed over, or announced.
                let mut next = rx.recv();
                let mut selecting = set.select();
                selecting.must_wait("nothing is ready");
                let next_woken = waiting.then(|| next.must_wait("empty"));
                tx.try_send(tracker.value()).expect("the set waits, or there is room");
                end(selecting);
                if forgotten {
                    // The set finds out when it is used again.
                    drop(set.select());
                }
                if let Some(next_woken) = next_woken {
                    assert!(next_woken.was_woken(), "C11: passed on; {what}");
                    assert_eq!(next.must_be_ready("C9").expect("a value").id, room + 1, "{what}");
                    assert!(set.try_select().is_none(), "S10: it is somebody else's; {what}");
                } else {
                    assert_eq!(rx.len(), 1, "C9: it came back; {what}");
                    let operation = set.select().must_be_ready("C9: a value is there");
                    assert_eq!(operation.recv(receive).expect("a value").id, room + 1, "{what}");
                }
                drop(next);
                // A value was taken.
                let mut selecting = set.select();
                selecting.must_wait("nothing is ready");
                drop(fulls.try_recv().expect("full, or the set sends"));
                end(selecting);
                let operation = set.try_select().expect("S11: the set tells what has happened");
                operation.send(send).expect("sent");
                assert!(set.try_select().is_none(), "sent once; {what}");
                drop(set);
                assert_eq!(fulls.drain().count(), room, "C10: sent once; {what}");
                drop(rx);
                tracker.assert_done();
            }
        }
    }
}

/// S11: an operation that was dropped unused is given again; a token that is not its own takes nothing.
#[test]
fn an_unused_operation_is_given_again() {
    let tracker = Tracker::new();
    let (tx, rx) = rendezvous();
    let (_silent, silents) = rendezvous::<Tracked>();
    let mut others = Select::new();
    let foreign = others.recv(&rx);
    let mut set = Select::new();
    let receive = set.recv(&rx);
    let silence = set.recv(&silents);
    drop(served(&mut set, || tx.try_send(tracker.value()).expect("the set waits")));
    drop(set.select().must_be_ready("S11: kept"));
    let operation = set.try_select().expect("S11: kept");
    assert!(!operation.is(foreign), "another set's");
    let message = panic_message(|| drop(operation.recv(foreign)));
    assert!(message.contains("made by another `Select`"), "{message}");
    let operation = set.select().wait();
    assert!(!operation.is(silence));
    let message = panic_message(|| drop(operation.recv(silence)));
    assert!(message.contains("another branch has happened"), "{message}");
    // Also with one more operation in the set.
    set.send(&tx, tracker.value());
    let operation = set.select().wait_timeout(Duration::ZERO).expect("S11: kept");
    assert_eq!(operation.recv(receive).expect("a value").id, 0);
    drop(set);
    tracker.assert_done();
    assert!(tx.try_send(tracker.value()).is_err(), "S11: nobody waits");
}

/// S11: a set that is dropped with an operation that nobody used: its channel is usable, and the value goes on.
#[test]
fn a_dropped_set_passes_on_what_nobody_used() {
    for waiting in [false, true] {
        let tracker = Tracker::new();
        let (tx, rx) = rendezvous();
        let mut set = Select::new();
        set.recv(&rx);
        drop(served(&mut set, || tx.try_send(tracker.value()).expect("the set waits")));
        let mut next = rx.recv();
        if waiting {
            next.must_wait("the set has it");
        }
        drop(set);
        assert_eq!(rx.len(), usize::from(!waiting), "C9");
        drop(next.must_be_ready("C9: passed on").expect("a value"));
        tracker.assert_done();
        tx.assert_valid();
    }
}

/// S13: the same on a buffered channel: it is the next to be received, in its old place.
#[test]
fn a_dropped_set_gives_back_what_it_has_received() {
    let (tx, rx) = bounded(1);
    let mut set = Select::new();
    set.recv(&rx);
    tx.try_send(0).expect("there is room");
    drop(set.try_select().expect("a value is there"));
    tx.try_send(1).expect("there is room again");
    drop(set);
    assert_eq!(rx.len(), 2, "S13");
    assert_eq!(rx.drain().collect::<Vec<_>>(), [0, 1], "S13");
}

/// C26: a set that is forgotten while it waits, or when it was served, strands its own claim at most: the channels go on,
/// and can be dropped.
#[test]
fn forgotten_sets() {
    for kind in KINDS {
        for served in [false, true] {
            let (tx, rx) = kind.open();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |i| i);
            let mut set = Box::new(Select::new());
            set.recv(&rx);
            set.send(&full, 1000);
            let mut selecting = set.select();
            selecting.must_wait("nothing is ready");
            if served {
                tx.try_send(0).expect("the set waits, or there is room");
            }
            std::mem::forget(selecting);
            std::mem::forget(set);
            assert_one_is_stranded(&tx, &rx);
            assert!(fulls.drain().count() >= room, "C26: {kind:?}");
            tx.assert_valid();
            full.assert_valid();
        }
    }
}

/// A waker that panics while the set completes: the outcome is not lost, and the set goes on (C13, C29).
#[test]
fn a_panicking_waker_loses_no_outcome() {
    let (a, a_rx) = bounded(1);
    a.try_send(1).expect("there is room");
    let mut set = Select::biased();
    let first = set.recv(&a_rx);
    // As the set takes from a it completes the send that waits there, whose waker panics.
    let mut next = a.send(2);
    let panics = panicking_waker();
    assert!(next.poll_with(&panics).is_pending());
    let panic = catch_unwind(AssertUnwindSafe(|| set.try_select().is_some()));
    assert!(panic.is_err(), "the waker's panic goes through");
    assert_eq!(set.try_select().expect("C29: kept").recv(first), Ok(1));
    assert_eq!(set.try_select().expect("C13: usable").recv(first), Ok(2));
    assert!(set.try_select().is_none());
    drop(next);
    drop(set);
    a.assert_valid();
}

/// C1, C29: a waker panics as the set takes a value, while the output of a future that it has only asked is there: whoever polls
/// again gets that value, and the output stays for the next select.
#[test]
fn a_panicking_waker_lets_no_older_output_win() {
    let (tx, rx) = rendezvous();
    let mut panics = 0;
    // (Each time it may begin with the future.)
    for round in 0..200 {
        let mut set = Select::new();
        let asked = set.add(foreign(ready("asked")));
        let received = set.recv(&rx);
        assert_eq!(set.try_ready(), Some(0), "it is ready");
        let mut sending = tx.send(round);
        assert!(sending.poll_with(&panicking_waker()).is_pending());
        let mut selecting = set.select();
        let Ok(polled) = catch_unwind(AssertUnwindSafe(|| {
            selecting.poll_with(Waker::noop()).map(|operation| operation.is(asked))
        })) else {
            panics += 1;
            let operation = selecting.must_be_ready("it has completed");
            assert_eq!(operation.recv(received), Ok(round), "C1, C29: this is what has happened");
            drop(selecting);
            assert_eq!(set.try_select().expect("S13: kept").output(asked), "asked");
            assert_eq!(sending.must_be_ready("C29"), Ok(()));
            set.select().must_wait("all has happened");
            continue;
        };
        assert_eq!(polled, Poll::Ready(true), "it is ready");
    }
    assert!(panics > 0, "of 200 one begins with the receive");
    rx.assert_valid();
}

/// C29, S13: the rest of a batch goes as its outcome is taken, and that wakes somebody whose waker panics: the batch has left the
/// set, and the set goes on.
#[test]
fn a_panicking_waker_as_a_batch_is_taken() {
    let panics = panicking_waker();
    let (tx, rx) = rendezvous();
    let (other, others) = bounded(1);
    let mut received = Vec::new();
    let mut set = Select::new();
    let one = set.recv(&others);
    let batch = set.add(rx.recv_many(&mut received, 4));
    let (mut first, mut second) = (tx.send(1), tx.send(2));
    first.must_wait("nobody receives");
    assert!(second.poll_with(&panics).is_pending());
    let operation = set.try_select().expect("two senders wait");
    let panic = catch_unwind(AssertUnwindSafe(|| operation.output(batch).is_ok()));
    assert!(panic.is_err(), "the waker's panic goes through");
    assert_eq!(set.len(), 1, "it completes once");
    let mut third = tx.send(3);
    third.must_wait("S1: nobody receives");
    assert!(set.try_select().is_none());
    let operation = served(&mut set, || other.try_send(4).expect("the select waits"));
    assert_eq!(operation.recv(one), Ok(4), "C13: usable");
    drop(set);
    assert_eq!(received, [1]);
    assert_eq!(
        [rx.try_recv(), rx.try_recv()],
        [Ok(2), Ok(3)],
        "C29: what it did not get is the next to be received"
    );
}

/// C29: a select that was served is dropped, and gives what it was handed to the next one in line, whose waker panics: what has
/// given back can be selected again.
#[test]
fn a_panicking_waker_as_a_select_gives_back() {
    let panics = panicking_waker();
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let mut set = Select::new();
        let token = set.recv(&rx);
        let mut lent = rx.recv();
        for is_lent in [false, true] {
            let mut next = rx.recv();
            let panic = if is_lent {
                let mut selecting = select((&mut lent, foreign(pending::<()>())));
                selecting.must_wait("empty");
                assert!(next.poll_with(&panics).is_pending(), "empty");
                tx.try_send(1).expect("the select waits");
                catch_unwind(AssertUnwindSafe(|| drop(selecting)))
            } else {
                let mut selecting = set.select();
                selecting.must_wait("empty");
                assert!(next.poll_with(&panics).is_pending(), "empty");
                tx.try_send(1).expect("the select waits");
                catch_unwind(AssertUnwindSafe(|| drop(selecting)))
            };
            assert!(panic.is_err(), "the waker's panic goes through");
            assert_eq!(next.must_be_ready("C9: it was handed on"), Ok(1), "{kind:?}");
        }
        assert!(!lent.is_terminated(), "S10: it has not happened, {kind:?}");
        let woken = lent.must_wait("empty");
        tx.try_send(2).expect("a receiver waits");
        assert!(woken.was_woken(), "{kind:?}");
        assert_eq!(lent.must_be_ready("served"), Ok(2), "{kind:?}");
        let operation = served(&mut set, || tx.try_send(3).expect("the select waits"));
        assert_eq!(operation.recv(token), Ok(3), "{kind:?}");
    }
}

/// An empty set, and one whose sends are all done: a select panics rather than wait for ever.
#[test]
fn nothing_is_left_in_the_set() {
    let (tx, rx) = bounded(1);
    let mut set = Select::default();
    assert!(set.try_select().is_none());
    for round in 0..2 {
        for how in 0..3 {
            let message = panic_message(|| match how {
                0 => drop(set.select().must_be_ready("no")),
                1 => drop(set.select().wait()),
                _ => drop(set.select().wait_timeout(Duration::MAX)),
            });
            assert!(message.contains("no operation is left in the set"), "{message}");
        }
        // S13: with an end it waits until then.
        let start = Instant::now();
        assert!(set.select().wait_timeout(Duration::ZERO).is_err());
        assert!(set.select().wait_deadline(start).is_err());
        assert!(set.select().wait_timeout(Duration::from_millis(3)).is_err());
        assert!(start.elapsed() >= Duration::from_millis(3));
        assert!(set.select().wait_deadline(start + Duration::from_millis(6)).is_err());
        assert!(start.elapsed() >= Duration::from_millis(6));
        if round == 0 {
            let send = set.send(&tx, 1);
            assert_eq!(set.select().wait().send(send), Ok(()));
        }
    }
    assert_eq!(rx.try_recv(), Ok(1));
}

/// A wait that has panicked, as the set was empty, leaves nothing to the next one: an operation that had completed is refused there,
/// and one that waits by itself does not stand in line twice.
#[test]
fn a_wait_for_nothing_leaves_nothing_behind() {
    for limit in [None, Some(Duration::MAX)] {
        let wait_for_nothing = |set: &mut Select<'_>| {
            let message = panic_message(|| match limit {
                None => drop(set.select().wait()),
                Some(limit) => drop(set.select().wait_timeout(limit)),
            });
            assert!(message.contains("no operation is left in the set"), "{message}");
        };
        let (tx, rx) = bounded(2);
        let value = Arc::new(());
        let mut sent = tx.send(Arc::clone(&value));
        assert_eq!(sent.must_be_ready("there is room"), Ok(()));
        let mut set = Select::new();
        wait_for_nothing(&mut set);
        set.add(&mut sent);
        let message = panic_message(|| drop(set.select().wait()));
        assert!(message.contains("selected after it had completed"), "{message}");
        assert_eq!((rx.len(), Arc::strong_count(&value)), (1, 2));

        let (tx, rx) = rendezvous();
        let mut sending = tx.send(Arc::clone(&value));
        sending.must_wait("nobody receives");
        let mut set = Select::new();
        wait_for_nothing(&mut set);
        set.add(&mut sending);
        set.select().must_wait("nobody receives");
        drop(set);
        sending.must_wait("nobody receives");
        assert!(rx.try_recv().is_ok());
        assert!(rx.try_recv().is_err(), "it was sent once");
        drop((sending, rx));
        assert_eq!(Arc::strong_count(&value), 2);
    }
}

/// S13: where something else ends the wait an empty set waits; where nothing does it panics, also after one that was beside.
#[test]
fn nothing_is_left_in_the_set_and_something_beside_it() {
    const MS: Duration = Duration::from_millis(1);
    fn panics(select: impl FnOnce()) {
        let message = panic_message(select);
        assert!(message.contains("no operation is left in the set"), "{message}");
    }
    Cord::new().block_on(async {
        let mut set = Select::new();
        leno::select! { _ = set.select() => unreachable!(), default => {} }
        leno::select! { _ = set.ready() => unreachable!(), default(MS) => {} }
        let (tx, rx) = bounded(1);
        tx.try_send(1).expect("room");
        leno::select_biased! { _ = set.select() => unreachable!(), one = rx.recv() => assert_eq!(one, Ok(1)) }
        panics(|| drop(set.select().must_be_ready("no")));
        assert!(leno::timeout(MS, set.select()).await.is_err());
        assert!(leno::timeout(Duration::ZERO, set.ready()).await.is_err());
        assert!(!leno::fiber::race(set.select(), async {}).await.is_left());
        panics(|| drop(set.select().must_be_ready("no")));
        let token = CancelToken::new();
        let ended = leno::fiber::race(token.run_until_cancelled(set.select()), async { token.cancel() });
        assert!(!ended.await.is_left());
    });
    let mut set = Select::new();
    leno::select_blocking! { _ = set.select() => unreachable!(), default(MS) => {} }
    panics(|| drop(set.select().wait()));
    // A call that blocks within a branch has nothing beside it; nor has what never comes for a limit.
    let blocks = async { panics(|| Cord::new().block_on(async { drop(Select::new().select().await) })) };
    leno::select_blocking! { () = blocks => {}, default(MS) => unreachable!() }
    panics(|| leno::block_on(async { drop(leno::timeout(Duration::MAX, Select::new().select()).await) }));
    leno::select_blocking! { () = async { panics(|| drop(set.select().wait())) } => {}, default(MS) => unreachable!() }
}

/// C28: when the time is up a set takes what is there, also what the last poll has not seen.
#[test]
fn a_set_looks_once_more() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (other, other_rx) = kind.open::<usize>();
        let mut set = Select::new();
        let first = set.recv(&rx);
        let second = set.recv(&other_rx);
        for limit in [Duration::ZERO, Duration::from_micros(10)] {
            assert!(set.select().wait_timeout(limit).is_err());
            let mut sending = tx.send(7);
            let _ = sending.poll_with(Waker::noop());
            let operation = set.select().wait_timeout(limit).expect("C28: there is a value");
            assert!(operation.is(first) && !operation.is(second));
            assert_eq!(operation.recv(first), Ok(7));
            if !kind.is_buffered() {
                assert_eq!(sending.must_be_ready("taken"), Ok(()));
            }
        }
        drop(set);
        drop(other);
    }
}

/// More branches than there is room for without the heap, and than bits in a word; added as the set is used; each of
/// them is found, ready or waiting, and none but it happens.
#[test]
fn many_branches() {
    for kind in [Kind::Rendezvous, Kind::Bounded(1)] {
        let channels = (0..200).map(|_| kind.open::<usize>()).collect::<Vec<_>>();
        let mut set = Select::new();
        let mut tokens = Vec::new();
        for (i, (_, rx)) in channels.iter().enumerate() {
            tokens.push(set.recv(rx));
            if ![0, 7, 8, 9, 15, 16, 62, 63, 64, 65, 127, 128, 199].contains(&i) {
                continue;
            }
            for winner in 0..=i {
                let tx = &channels[winner].0;
                let operation =
                    served(&mut set, || tx.try_send(winner).expect("the set waits, or there is room"));
                assert!(tokens.iter().enumerate().all(|(i, token)| operation.is(*token) == (i == winner)));
                assert_eq!(operation.recv(tokens[winner]), Ok(winner));
            }
            assert!(set.try_select().is_none());
        }
        drop(set);
        assert!(channels.iter().all(|(tx, _)| tx.try_send(0).is_ok() == kind.is_buffered()), "nobody waits");
        channels.iter().for_each(|(tx, _)| tx.assert_valid());
    }
}

/// A set whose sends complete one by one while its receives go on.
#[test]
fn a_set_is_used_many_times() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (back, backs) = kind.open();
        let mut set = Select::new();
        let received = set.recv(&rx);
        let mut sends = Vec::new();
        let (mut got, mut sent) = (0, 0);
        for round in 0..500 {
            if round < 100 {
                sends.push((round, set.send(&back, round)));
            }
            let mut receiving = backs.recv();
            let mut sending = tx.send(got);
            let (receives, sends_now) =
                (receiving.poll_with(Waker::noop()), sending.poll_with(Waker::noop()).is_ready());
            assert!(receives.is_pending() || kind.is_buffered());
            let operation = set.select().must_be_ready("somebody is there");
            if operation.is(received) {
                assert_eq!(operation.recv(received), Ok(got), "C2");
                got += 1;
            } else {
                let (value, token) =
                    *sends.iter().find(|(_, token)| operation.is(*token)).expect("one of them");
                assert_eq!(operation.send(token), Ok(()));
                assert!(value < 100);
                sent += 1;
            }
            drop((sending, receiving));
            // What was sent and not received yet is the next round's.
            let left = rx.drain().count();
            assert!(left <= usize::from(sends_now));
            backs.drain().for_each(drop);
        }
        assert_eq!(sent, 100, "each send once; {kind:?}");
        assert!(got > 0);
    }
}

/// C12, C19: one select of a set is polled by hand, by a fiber, and awaited on tokio.
#[test]
fn a_select_moves_between_executors() {
    within("C12: a select that moves", || {
        let (tx, rx) = rendezvous();
        let mut set = Select::new();
        let receive = set.recv(&rx);
        let mut selecting = set.select();
        let by_hand = selecting.must_wait("nothing is ready");
        leno::block_on(std::future::poll_fn(|cx| {
            assert!(std::pin::Pin::new(&mut selecting).poll(cx).is_pending(), "nothing is ready");
            Poll::Ready(())
        }));
        assert_eq!(Arc::strong_count(&by_hand), 1, "C12: the waker of before is gone");
        let tokio = tokio::runtime::Builder::new_current_thread().build().expect("tokio's runtime starts");
        let sender = thread::spawn(move || tx.send_blocking(9));
        assert_eq!(tokio.block_on(selecting).recv(receive), Ok(9), "C12");
        sender.join().expect("no panic").expect("open");
    });
}

/// Handles that a set was given by value, of all kinds of channels: it keeps a receiver until that is removed, or the set dropped,
/// and a sender until its send has left. Whatever waits leaves its line before its handle goes.
#[test]
#[allow(unused_mut, reason = "a side that is single works alone")]
fn handles_that_a_set_keeps() {
    fn owned() -> Select<'static> {
        Select::new()
    }
    macro_rules! each_kind {
        ($($channel:path),+) => {$(
            // Many values, from one place in the set, which is elsewhere meanwhile.
            let (mut tx, rx) = $channel(1);
            let mut set = owned();
            let receive = set.recv(rx);
            let selecting = thread::spawn(move || {
                let received = (0..3).map(|_| set.select().wait().recv(receive)).collect::<Vec<_>>();
                (set, received)
            });
            (0..2).for_each(|i| tx.send_blocking(i).expect("open"));
            tx.send_blocking(2).expect("open");
            let (mut set, received) = selecting.join().expect("no panic");
            assert_eq!(received, [Ok(0), Ok(1), Ok(2)], "S11");
            // A select that waits, and is dropped.
            set.select().must_wait("nothing is there");
            set.remove(receive);
            assert_eq!(tx.send_blocking(3), Err(SendError(3)), "the receiver went with its receive");

            // What was received, and not taken, goes with the last receiver.
            let tracker = Tracker::new();
            let (mut tx, rx) = $channel(1);
            let mut set = owned();
            set.recv(rx);
            let mut selecting = set.select();
            let woken = selecting.must_wait("nothing is ready");
            tx.send_blocking(tracker.value()).expect("open");
            assert!(woken.was_woken(), "it was served");
            drop(selecting);
            tracker.assert_live(1, "the set has it");
            drop(set);
            tracker.assert_done();

            // Sends: one that happens, one that is taken back, one that the set's end cancels.
            let (tx, mut rx) = $channel(1);
            let mut set = owned();
            let send = set.send(tx, 1);
            let sent = set.try_select().expect("there is room").send(send);
            assert_eq!(sent, Ok(()));
            assert_eq!((rx.try_recv(), rx.recv_blocking()), (Ok(1), Err(RecvError)), "the sender has gone");
            let (mut tx, mut rx) = $channel(1);
            tx.send_blocking(0).expect("open");
            let send = set.send(tx, 1);
            set.select().must_wait("it is full");
            assert_eq!(set.remove(send), Some(1));
            assert_eq!((rx.recv_blocking(), rx.recv_blocking()), (Ok(0), Err(RecvError)), "the sender has gone");
            let (mut tx, mut rx) = $channel(1);
            tx.send_blocking(tracker.value()).expect("open");
            let mut set = owned();
            set.send(tx, tracker.value());
            set.select().must_wait("it is full");
            drop(set);
            assert_eq!(rx.recv_blocking().expect("it was there before"), 1);
            assert!(rx.recv_blocking().is_err(), "the sender has gone");
            tracker.assert_done();
        )+};
    }
    each_kind!(bounded, leno::channel::mpsc::bounded, leno::channel::spsc::bounded);
}

/// C16: the blocking forms.
#[test]
fn waiting_on_a_thread() {
    for kind in KINDS {
        within("a dynamic select on a thread", move || {
            let (tx, rx) = kind.open();
            let (_silent, silents) = kind.open::<u8>();
            let mut set = Select::new();
            set.recv(&silents);
            let receive = set.recv(&rx);
            assert!(set.select().wait_timeout(Duration::ZERO).is_err(), "C16: nothing is ready");
            let past = Instant::now() - Duration::from_millis(1);
            assert!(set.select().wait_deadline(past).is_err(), "C16: nothing is ready");
            assert_eq!(tx.try_send(0).is_ok(), kind.is_buffered(), "C16: nobody waits");
            rx.drain().for_each(drop);
            let sender = thread::spawn(move || (1..=3).try_for_each(|i| tx.send_blocking(i)));
            assert_eq!(set.select().wait().recv(receive), Ok(1));
            let far = Instant::now() + Duration::from_secs(3600);
            assert_eq!(set.select().wait_deadline(far).expect("far").recv(receive), Ok(2));
            assert_eq!(set.select().wait_timeout(Duration::MAX).expect("far").recv(receive), Ok(3));
            sender.join().expect("no panic").expect("open");
            // And closed is ready, however short the time.
            let outcome = set.select().wait_timeout(Duration::ZERO).expect("closed").recv(receive);
            assert_eq!(outcome, Err(RecvError));
        });
    }
}

/// C16: peers that never wait reach a set that never waits in one moment only, after its last look and before it leaves;
/// what happens there is its outcome, and nothing is lost or doubled.
#[test]
fn a_peer_between_the_last_look_and_the_end() {
    const VALUES: usize = 2000;
    within("C16: a peer at the last moment", || {
        let (tx, rx) = rendezvous();
        let (out, outs) = rendezvous();
        let sender = impatient_peer(tx, outs, VALUES);
        let mut set = Select::new();
        let receive = set.recv(&rx);
        let (mut received, mut sent) = (0, Vec::new());
        let (mut next, mut send) = (1, set.send(&out, 0));
        let mut patience = (0..).map(hardly);
        while let Ok(operation) = match set.select().wait_timeout(patience.next().expect("endless")) {
            Ok(operation) if operation.is(send) => operation.send(send).map_or(Err(()), |()| {
                sent.push(next - 1);
                Ok(None)
            }),
            Ok(operation) => operation.recv(receive).map(Some).map_err(drop),
            Err(_) => Ok(Some(usize::MAX)),
        } {
            match operation {
                Some(usize::MAX) => assert_eq!(rx.len(), 0, "C16: nothing was taken"),
                Some(value) => {
                    assert_eq!(value, received, "C1, C16: none is lost");
                    received += 1;
                }
                None => {
                    send = set.send(&out, next);
                    next += 1;
                }
            }
        }
        assert_eq!(received, VALUES);
        assert_eq!(sender.join().expect("no panic"), sent, "C1, C16");
    });
}

/// S10, C1: selects of one set, dropped or forgotten at any moment of the peers' work: every value arrives once.
#[test]
fn dropped_while_peers_are_at_work() {
    const ROUNDS: usize = 5000;
    for kind in [Kind::Rendezvous, Kind::Bounded(1)] {
        within("S10: dropped while peers are at work", move || {
            let (a, a_rx) = kind.open();
            let (b, b_rx) = kind.open();
            let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let sender = thread::spawn({
                let (a, over) = (a.clone(), Arc::clone(&over));
                move || {
                    (0..)
                        .take_while(|_| !over.load(Ordering::Acquire))
                        .filter(|i| a.try_send(*i).is_ok())
                        .collect::<Vec<usize>>()
                }
            });
            let receiver = thread::spawn({
                let (b_rx, over) = (b_rx.clone(), Arc::clone(&over));
                move || {
                    let mut taken = Vec::new();
                    while !over.load(Ordering::Acquire) {
                        taken.extend(b_rx.try_recv().ok());
                    }
                    taken
                }
            });
            let mut set = Select::new();
            let receive = set.recv(&a_rx);
            let (mut received, mut sent) = (Vec::new(), Vec::new());
            let mut send = set.send(&b, 0);
            for round in 0.. {
                if round >= ROUNDS && received.len().min(sent.len()) >= 20 {
                    break;
                }
                let mut selecting = set.select();
                let mut polled = selecting.poll_with(Waker::noop());
                if polled.is_pending() && round % 2 == 0 {
                    polled = selecting.poll_with(Waker::noop());
                }
                if round % 3 == 0 {
                    std::mem::forget(selecting)
                } else {
                    drop(selecting)
                }
                let Poll::Ready(operation) = polled else { continue };
                if operation.is(send) {
                    operation.send(send).expect("open");
                    sent.push(sent.len());
                    send = set.send(&b, sent.len());
                } else {
                    received.push(operation.recv(receive).expect("open"));
                }
            }
            over.store(true, Ordering::Release);
            let given = sender.join().expect("the sender ends");
            let mut taken = receiver.join().expect("the receiver ends");
            // What has happened, and no select has told of yet.
            match set.try_select() {
                Some(operation) if operation.is(send) => {
                    operation.send(send).expect("open");
                    sent.push(sent.len());
                }
                operation => {
                    received.extend(operation.map(|operation| operation.recv(receive).expect("open")))
                }
            }
            drop(set);
            received.extend(a_rx.drain());
            taken.extend(b_rx.drain());
            received.sort_unstable();
            assert_eq!(received, given, "C1, C9: {kind:?}");
            assert_eq!(taken, sent, "C1, C10: {kind:?}");
            a.assert_valid();
            b.assert_valid();
        });
    }
}

/// C25: the blocking forms inside a cord's fiber.
#[test]
fn blocking_inside_a_cord() {
    let cord = Cord::new();
    for how in 0..3 {
        let fiber = cord.spawn_local(async move {
            let (_tx, rx) = rendezvous::<u8>();
            let mut set = Select::new();
            set.recv(&rx);
            match how {
                0 => drop(set.select().wait()),
                1 => drop(set.select().wait_timeout(Duration::MAX)),
                _ => drop(set.select().wait_deadline(Instant::now())),
            }
        });
        let panic = cord.block_on(fiber).expect_err("C25: panics").into_panic();
        let message = panic.downcast::<String>().expect("a message");
        assert!(message.contains("unblock") && message.contains("select"), "C25: {message}");
    }
}

/// S12: three parties, each with one set over three channels, both ways.
fn three_over_three(places: &[Place]) {
    const EACH: usize = 3000;
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)] {
        let channels = (0..3).map(|_| kind.open::<usize>()).collect::<Vec<_>>();
        let seen = Arc::new(Mutex::new(vec![0_u8; 3 * EACH]));
        let count = Arc::new(AtomicUsize::new(0));
        let mut crew = Crew::new(format!("S12: three sets over three channels, {kind:?}"), places);
        for party in 0..3 {
            let channels = channels.clone();
            let (seen, count) = (Arc::clone(&seen), Arc::clone(&count));
            crew.add(move |at| async move {
                // What a party sends it receives itself at times, but never in the same select.
                let mut set = Select::new();
                let receives = channels.iter().map(|(_, rx)| set.recv(rx)).collect::<Vec<_>>();
                let mut next = 0;
                let mut send = set.send(&channels[party].0, party * EACH);
                loop {
                    let operation = choose(at, &mut set).await;
                    if operation.is(send) {
                        operation.send(send).expect("closed only when all has arrived");
                        next += 1;
                        if next < EACH {
                            send = set.send(&channels[party].0, party * EACH + next);
                        }
                        continue;
                    }
                    let token = receives.iter().find(|token| operation.is(**token)).expect("one of them");
                    let Ok(value) = operation.recv(*token) else { return };
                    seen.lock().unwrap()[value] += 1;
                    if count.fetch_add(1, Ordering::SeqCst) + 1 == 3 * EACH {
                        channels.iter().for_each(|(tx, _)| _ = tx.close());
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

/// What the types are: they cross threads, tokens are copies whatever they name, and values may borrow (C15, C26).
#[test]
fn what_the_types_are() {
    const {
        assert!(impls!(Select<'static>: Send));
        assert!(impls!(SelectFuture<'static, 'static>: Send + Unpin), "C26");
        assert!(impls!(Operation<'static, 'static>: Send));
        assert!(impls!(RecvToken<Rc<Cell<u8>>>: Copy + Send + Sync + Debug));
        assert!(impls!(SendToken<Rc<Cell<u8>>>: Copy + Send + Sync + Debug));
    }
    #[derive(Debug, PartialEq)]
    #[repr(align(128))]
    struct Aligned(u8);
    let text = String::from("borrowed");
    let (texts, texts_rx) = bounded::<&str>(1);
    let (units, units_rx) = bounded::<()>(1);
    let (large, large_rx) = bounded::<[u64; 1000]>(1);
    let (aligned, aligned_rx) = rendezvous::<Aligned>();
    let mut set = Select::biased();
    let (on_text, on_unit, on_large) = (set.recv(&texts_rx), set.recv(&units_rx), set.recv(&large_rx));
    let on_aligned = set.send(&aligned, Aligned(7));
    let shown = format!("{set:?} {on_text:?} {on_aligned:?}");
    assert!(shown.contains("Select") && shown.contains("RecvToken(0)") && shown.contains("SendToken(3)"));
    texts.try_send(&text).expect("there is room");
    units.try_send(()).expect("there is room");
    large.try_send([9; 1000]).expect("there is room");
    let operation = set.select().wait();
    assert!(format!("{operation:?}").contains("Operation"));
    assert_eq!(operation.recv(on_text), Ok("borrowed"));
    assert_eq!(set.select().wait().recv(on_unit), Ok(()));
    assert_eq!(set.select().wait().recv(on_large), Ok([9; 1000]));
    drop(aligned_rx);
    assert_eq!(set.select().wait().send(on_aligned), Err(SendError(Aligned(7))));
}

/// A set may be made of handles of one loop's making, and be handed to a function.
#[test]
fn a_set_is_passed_around() {
    fn first<'a, T: Send>(set: &mut Select<'a>, from: &'a [(Sender<T>, Receiver<T>)]) -> Vec<RecvToken<T>> {
        from.iter().map(|(_, rx)| set.recv(rx)).collect()
    }
    let numbers = (0..3).map(|_| bounded(1)).collect::<Vec<_>>();
    let words = (0..3).map(|_| bounded(1)).collect::<Vec<_>>();
    let mut set = Select::new();
    let number_tokens = first(&mut set, &numbers);
    let word_tokens = first(&mut set, &words);
    numbers[1].0.try_send(5).expect("there is room");
    words[2].0.try_send("five").expect("there is room");
    let handed = thread::scope(|scope| {
        scope
            .spawn(|| {
                let mut found = Vec::new();
                for _ in 0..2 {
                    let operation = set.select().wait();
                    if operation.is(number_tokens[1]) {
                        found.push(operation.recv(number_tokens[1]).expect("open").to_string());
                    } else {
                        found.push(operation.recv(word_tokens[2]).expect("open").to_string());
                    }
                }
                found.sort_unstable();
                found
            })
            .join()
            .expect("no panic")
    });
    assert_eq!(handed, ["5", "five"]);
}

/// S7: tokens can be keys.
#[test]
fn tokens_are_told_apart() {
    let (_tx, rx) = leno::bounded::<u8>(1);
    let (mut one, mut other) = (Select::new(), Select::new());
    let (first, second, elsewhere) = (one.recv(&rx), one.recv(&rx), other.recv(&rx));
    let names = std::collections::HashMap::from([(first, "first"), (second, "second")]);
    assert_eq!((names[&first], names[&second]), ("first", "second"));
    assert!(!names.contains_key(&elsewhere), "another set's");
}

/// Handles that others share, or that lie elsewhere, are borrowed from there.
#[test]
fn handles_behind_pointers() {
    let (tx, rx) = bounded(1);
    let (by_arc, by_rc, by_box) = (Arc::new(tx.clone()), Rc::new(tx.clone()), Box::new(tx));
    let (from_arc, from_rc, from_box) = (Arc::new(rx.clone()), Rc::new(rx.clone()), Box::new(rx));
    for n in 0..3 {
        let mut set = Select::new();
        let sent = match n {
            0 => set.send(&by_arc, n),
            1 => set.send(&by_rc, n),
            _ => set.send(&by_box, n),
        };
        assert_eq!(set.select().wait().send(sent), Ok(()));
        let received = match n {
            0 => set.recv(&from_arc),
            1 => set.recv(&from_rc),
            _ => set.recv(&from_box),
        };
        assert_eq!(set.select().wait().recv(received), Ok(n));
    }
}
