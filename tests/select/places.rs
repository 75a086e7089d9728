//! Branches of all sorts in one select, in every place; and the blocking forms.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use leno::channel::SendError;
use leno::fiber::{Cord, Runtime};
use leno::select::{Selected2, Selected4, foreign, select, select_biased};
use leno::sync::Mutex;
use leno::{bounded, rendezvous};

use crate::support::{Crew, Kind, Place, PollExt, Tracker, hardly, impatient_peer, message_of, within};
use crate::{KINDS, choose, each_place};

/// S1, C1, M8: parties that send, receive and lock by one select, beside plain ones, until the channel closes.
fn mixed_branches(places: &[Place]) {
    const TURNS: usize = 200;
    for kind in KINDS {
        for fair in [false, true] {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (quit, quits) = rendezvous::<()>();
            let mutex = Arc::new(if fair { Mutex::fair(0_usize) } else { Mutex::new(0) });
            let counts = Arc::new([const { AtomicUsize::new(0) }; 3]);
            let mut crew = Crew::new(format!("S1: mixed branches, {kind:?}, fair: {fair}"), places);
            let parties = Arc::new(AtomicUsize::new(4));
            for _ in 0..4 {
                let (tx, rx, quit, mutex) = (tx.clone(), rx.clone(), quit.clone(), Arc::clone(&mutex));
                let (tracker, counts, parties) = (tracker.clone(), Arc::clone(&counts), Arc::clone(&parties));
                crew.add(move |at| async move {
                    for i in 0..TURNS {
                        let selecting =
                            select((tx.send(tracker.value()), rx.recv(), mutex.lock(), quit.closed()));
                        let winner = match choose(at, selecting).await {
                            Selected4::First(sent) => {
                                sent.expect("open");
                                0
                            }
                            Selected4::Second(received) => {
                                received.expect("open");
                                1
                            }
                            Selected4::Third(mut guard) => {
                                let before = *guard;
                                if i % 4 == 0 {
                                    at.pause().await;
                                }
                                assert_eq!(*guard, before, "M1");
                                *guard += 1;
                                2
                            }
                            Selected4::Fourth(()) => panic!("nobody closes it"),
                        };
                        counts[winner].fetch_add(1, Ordering::SeqCst);
                    }
                    if parties.fetch_sub(1, Ordering::SeqCst) == 1 {
                        tx.close();
                    }
                });
            }
            crew.run();
            let [sent, received, locked] = [0, 1, 2].map(|i| counts[i].load(Ordering::SeqCst));
            assert_eq!(sent + received + locked, 4 * TURNS, "S1: one thing per turn; {kind:?}");
            assert_eq!(received + rx.drain().count(), sent, "C1: {kind:?}");
            assert_eq!(*mutex.try_lock().expect("M1: free"), locked, "S1: {kind:?}");
            assert!(quit.try_send(()).is_err(), "nobody waits there");
            drop((rx, quits));
            tracker.assert_done();
        }
    }
}

/// S12, C7: workers take from two inputs by a select and put into one output; all ends as the inputs end.
fn a_merge_ends(places: &[Place]) {
    const VALUES: usize = 300;
    for kind in KINDS {
        let (a, a_rx) = kind.open::<usize>();
        let (b, b_rx) = kind.open::<usize>();
        let (out, outs) = kind.open::<usize>();
        let mut crew = Crew::new(format!("S5: a merge ends, {kind:?}"), places);
        for (tx, base) in [(a, 0), (b, VALUES)] {
            crew.add(move |at| async move {
                for i in base..base + VALUES {
                    at.send(&tx, i).await.expect("open");
                }
            });
        }
        for _ in 0..2 {
            let (a_rx, b_rx, out) = (a_rx.clone(), b_rx.clone(), out.clone());
            crew.add(move |at| async move {
                loop {
                    let (rest, received) = match choose(at, select((a_rx.recv(), b_rx.recv()))).await {
                        Selected2::First(received) => (&b_rx, received),
                        Selected2::Second(received) => (&a_rx, received),
                    };
                    match received {
                        Ok(value) => at.send(&out, value).await.expect("open"),
                        Err(_) => {
                            // One has ended; the rest is the other's.
                            while let Ok(value) = at.recv(rest).await {
                                at.send(&out, value).await.expect("open");
                            }
                            return;
                        }
                    }
                }
            });
        }
        drop((a_rx, b_rx, out));
        crew.add(move |at| async move {
            let mut seen = vec![0; 2 * VALUES];
            while let Ok(value) = at.recv(&outs).await {
                seen[value] += 1;
            }
            assert!(seen.iter().all(|seen| *seen == 1), "C1: each value once, {kind:?}");
        });
        crew.run();
    }
}

each_place!(mixed_branches, a_merge_ends);

/// C16: `wait` returns what is ready, and blocks until something is.
#[test]
fn waiting_on_a_thread() {
    for kind in KINDS {
        within("a select on a thread", move || {
            let (tx, rx) = kind.open();
            let (_silent, silents) = kind.open::<u8>();
            let sender = thread::spawn(move || tx.send_blocking(5).map(|()| tx));
            assert_eq!(select((silents.recv(), rx.recv())).wait(), Selected2::Second(Ok(5)), "{kind:?}");
            let tx = sender.join().expect("no panic").expect("open");
            let receiver = thread::spawn(move || (rx.recv_blocking(), rx));
            let sent = select((tx.send(6), silents.recv())).wait_timeout(Duration::MAX);
            assert_eq!(sent, Ok(Selected2::First(Ok(()))), "C16: Duration::MAX never passes");
            let (received, rx) = receiver.join().expect("no panic");
            assert_eq!(received, Ok(6));
            drop(rx);
            let far = Instant::now() + Duration::from_secs(3600);
            let closed = select((silents.recv(), tx.send(7))).wait_deadline(far);
            assert_eq!(closed, Ok(Selected2::Second(Err(SendError(7)))), "S5");
        });
    }
}

/// C16: a zero timeout and a past deadline try once; a timed-out select has done nothing.
#[test]
fn a_select_that_timed_out_has_done_nothing() {
    for kind in KINDS {
        for how in 0..3 {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |_| tracker.value());
            let mutex = Mutex::fair(());
            let guard = mutex.try_lock();
            let mut kept = full.send(tracker.value());
            {
                let selecting = select((rx.recv(), full.send(tracker.value()), mutex.lock(), &mut kept));
                let timed_out = match how {
                    0 => selecting.wait_timeout(Duration::ZERO).is_err(),
                    1 => selecting.wait_deadline(Instant::now() - Duration::from_millis(1)).is_err(),
                    _ => selecting.wait_timeout(Duration::from_micros(50)).is_err(),
                };
                assert!(timed_out, "C16: nothing was ready; {kind:?}");
            }
            assert_eq!(tracker.drops(room + 1), 1, "S9: a send made in the branch");
            assert!(kept.into_inner().expect("S9: a lent one keeps its value") == room);
            assert_eq!(
                tx.try_send(tracker.value()).is_ok(),
                kind.is_buffered(),
                "C16: nobody waits; {kind:?}"
            );
            assert_eq!(fulls.drain().count(), room, "C16: nothing was sent; {kind:?}");
            drop(guard);
            assert!(mutex.try_lock().is_some(), "C16: nothing was locked");
            drop((rx, fulls));
            tracker.assert_done();
            // And what is ready is taken, however short the time.
            let (tx, rx) = bounded(1);
            tx.try_send(1).expect("there is room");
            let tried = match how {
                0 => select((rx.recv(), rx.recv())).wait_timeout(Duration::ZERO),
                _ => select((rx.recv(), rx.recv())).wait_deadline(Instant::now() - Duration::from_millis(1)),
            };
            assert!(
                matches!(tried, Ok(Selected2::First(Ok(1)) | Selected2::Second(Ok(1)))),
                "C16: it tries once"
            );
        }
    }
}

/// C16: the time is up just as a peer comes: either the select gives the outcome, or nothing has happened.
#[test]
fn a_timeout_and_a_peer_at_one_time() {
    const ROUNDS: usize = 3000;
    for kind in [Kind::Rendezvous, Kind::Bounded(1)] {
        within("C16: a timeout and a peer", move || {
            let (tx, rx) = kind.open();
            let (out, outs) = kind.open();
            kind.fill(&out, |_| usize::MAX);
            let sender = thread::spawn(move || (0..ROUNDS).all(|i| tx.send_blocking(i).is_ok()));
            let receiver =
                thread::spawn(move || outs.iter().filter(|value| *value != usize::MAX).collect::<Vec<_>>());
            let (mut received, mut sent, mut tries) = (Vec::new(), Vec::new(), 0);
            while received.len() < ROUNDS {
                tries += 1;
                let mut sending = out.send(tries);
                // At the deadline a peer of either branch may be in the middle of its work.
                let patience = Duration::from_micros(tries as u64 % 30);
                match select((rx.recv(), &mut sending)).wait_timeout(patience) {
                    Ok(Selected2::First(Ok(value))) => received.push(value),
                    Ok(Selected2::First(Err(_))) => break,
                    Ok(Selected2::Second(done)) => {
                        done.expect("open");
                        sent.push(tries);
                    }
                    Err(_) => {}
                }
                let over = sending.into_inner().is_none();
                assert_eq!(over, sent.last() == Some(&tries), "C16: sent exactly if the select says so");
            }
            assert_eq!(received, (0..ROUNDS).collect::<Vec<_>>(), "C1, C2: {kind:?}");
            assert!(sender.join().expect("no panic"));
            drop(out);
            assert_eq!(receiver.join().expect("no panic"), sent, "C1, C16: {kind:?}");
        });
    }
}

/// C16: a sender that never waits can reach a select that never waits in one moment only: after its last look, before it
/// leaves. Each value that was sent there is the select's outcome.
#[test]
fn a_peer_between_the_last_look_and_the_end() {
    const VALUES: usize = 2000;
    within("C16: a peer at the last moment", || {
        let (tx, rx) = rendezvous();
        let (out, outs) = rendezvous();
        let sender = impatient_peer(tx, outs, VALUES);
        let (mut received, mut sent) = (0, Vec::new());
        for i in 0.. {
            let mut sending = out.send(i);
            match select((rx.recv(), &mut sending)).wait_timeout(hardly(i)) {
                Ok(Selected2::First(Ok(value))) => {
                    assert_eq!(value, received, "C1, C16: none is lost");
                    received += 1;
                }
                Ok(Selected2::Second(Ok(()))) => sent.push(i),
                Ok(_) => break,
                Err(_) => {
                    assert!(sending.into_inner().is_some(), "C16: nothing was sent");
                    assert_eq!(rx.len(), 0, "C16: nothing was taken");
                }
            }
        }
        assert_eq!(received, VALUES);
        assert_eq!(sender.join().expect("no panic"), sent, "C1, C16");
    });
}

/// C16: completed before the deadline's look at the word: the outcome is given, not the error. The peer comes during
/// the last poll, by way of a foreign future, and finds the select when that has opened.
#[test]
fn a_peer_that_comes_at_the_deadline() {
    within("C16: a peer at the deadline", || {
        for _ in 0..300 {
            let (tx, rx) = rendezvous();
            let mut peer = None;
            let look = poll_fn(|_| {
                let tx = tx.clone();
                peer.get_or_insert_with(|| thread::spawn(move || tx.send_blocking(5)));
                Poll::<()>::Pending
            });
            let outcome = select((foreign(look), rx.recv())).wait_deadline(Instant::now());
            match outcome {
                Ok(outcome) => assert_eq!(outcome, Selected2::Second(Ok(5))),
                Err(_) => assert_eq!(rx.recv_blocking(), Ok(5), "C16: nothing was taken"),
            }
            peer.expect("polled").join().expect("no panic").expect("C1: sent, to one or the other");
        }
    });
}

/// C25: a blocking select inside a fiber: allowed on a runtime; on a cord it panics, and names what to use instead.
#[test]
fn blocking_inside_a_fiber() {
    within("C25: a blocking select inside a fiber", || {
        let runtime = Runtime::builder().workers(2).build().expect("a runtime starts");
        let (tx, rx) = rendezvous();
        let (_silent, silents) = rendezvous::<u8>();
        let selecting = runtime.spawn(async move { select((rx.recv(), silents.recv())).wait() });
        let sending = runtime.spawn(async move { tx.send_blocking(5) });
        assert!(matches!(runtime.block_on(selecting), Ok(Selected2::First(Ok(5)))), "C25");
        assert!(matches!(runtime.block_on(sending), Ok(Ok(()))));
        for how in 0..3 {
            let cord = Cord::new();
            let fiber = cord.spawn_local(async move {
                let (_tx, rx) = rendezvous::<u8>();
                let selecting = select((rx.recv(), foreign(pending::<()>())));
                match how {
                    0 => drop(selecting.wait()),
                    1 => drop(selecting.wait_timeout(Duration::MAX)),
                    _ => drop(selecting.wait_deadline(Instant::now() + Duration::from_secs(3600))),
                }
            });
            let message = message_of(cord.block_on(fiber).expect_err("C25: panics").into_panic());
            assert!(message.contains("unblock") && message.contains("select"), "C25: {message}");
        }
    });
}

/// F10: a select that is always ready lets other fibers of its cord run.
#[test]
fn a_ready_select_yields_by_budget() {
    within("F10: a select that is always ready", || {
        let cord = Cord::new();
        let other_ran = std::rc::Rc::new(std::cell::Cell::new(false));
        let flag = std::rc::Rc::clone(&other_ran);
        let busy = cord.spawn_local(async move {
            let (tx, rx) = bounded(1);
            for turns in 0..100_000 {
                match select_biased((rx.recv(), tx.send(turns))).await {
                    Selected2::First(received) => _ = received.expect("open"),
                    Selected2::Second(sent) => sent.expect("open"),
                }
                if flag.get() {
                    return turns;
                }
            }
            panic!("F10: nobody else ran");
        });
        let _other = cord.spawn_local(async move { other_ran.set(true) });
        assert!(cord.block_on(busy).expect("no panic") < 100_000);
    });
}

/// C12, C19: one select is polled by hand, on a fiber, and awaited on tokio.
#[test]
fn a_select_moves_between_executors() {
    within("C12: a select that moves", || {
        let (tx, rx) = rendezvous();
        let (_silent, silents) = rendezvous::<u8>();
        let mut selecting = select((rx.recv(), silents.recv()));
        let by_hand = selecting.must_wait("nothing is ready");
        leno::block_on(poll_fn(|cx| {
            assert!(Pin::new(&mut selecting).poll(cx).is_pending(), "nothing is ready");
            Poll::Ready(())
        }));
        assert_eq!(Arc::strong_count(&by_hand), 1, "C12: the waker of before is gone");
        let tokio = tokio::runtime::Builder::new_current_thread().build().expect("tokio's runtime starts");
        let sender = thread::spawn(move || tx.send_blocking(9));
        assert_eq!(tokio.block_on(selecting), Selected2::First(Ok(9)), "C12");
        sender.join().expect("no panic").expect("open");
        assert!(!by_hand.was_woken(), "C12: the last waker counts");
    });
}
