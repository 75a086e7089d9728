//! S11, S12: in fibers, on cords, on tokio and on threads; and all of them at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leno::fiber::{Cord, Runtime};
use leno::sync::Mutex;
use leno::{rendezvous, select, select_blocking};

use crate::support::{Crew, Kind, Place, Tracker, hardly, impatient_peer, within};
use crate::{KINDS, each_place};

/// Selects as people do it in the place `$at`.
macro_rules! select_at {
    ($at:expr; $($branches:tt)*) => {
        match $at {
            Place::Thread => select_blocking! { $($branches)* },
            _ => select! { $($branches)* },
        }
    };
}

/// S1, S6, C1, M8: parties that send, receive and lock by one select, some of which give up at times; then they empty
/// the channel.
fn mixed_branches(places: &[Place]) {
    const TURNS: usize = 200;
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let mutex = Arc::new(Mutex::fair(0_usize));
        let counts = Arc::new([const { AtomicUsize::new(0) }; 4]);
        let mut crew = Crew::new(format!("S1: mixed branches, {kind:?}"), places);
        for _ in 0..4 {
            let (tx, rx, tracker) = (tx.clone(), rx.clone(), tracker.clone());
            let (mutex, counts) = (Arc::clone(&mutex), Arc::clone(&counts));
            crew.add(move |at| async move {
                for turn in 0..TURNS {
                    let patience = if turn % 3 == 0 { Duration::ZERO } else { Duration::from_micros(20) };
                    let done = select_at! { at;
                        received = rx.recv() => {
                            received.expect("open");
                            0
                        }
                        sent = tx.send(tracker.value()) => {
                            sent.expect("open");
                            1
                        }
                        mut guard = mutex.lock(), if turn % 2 == 0 => {
                            let before = *guard;
                            at.pause().await;
                            assert_eq!(*guard, before, "M1");
                            *guard += 1;
                            2
                        }
                        default(patience) => 3,
                    };
                    counts[done].fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        crew.run();
        let [sent, received, locked] = [1, 0, 2].map(|i| counts[i].load(Ordering::SeqCst));
        assert_eq!(received + rx.drain().count(), sent, "C1: {kind:?}");
        assert_eq!(*mutex.try_lock().expect("M1: free"), locked, "S1: {kind:?}");
        assert!(tx.try_send(tracker.value()).is_ok() == kind.is_buffered(), "S1: nobody waits");
        drop(rx);
        tracker.assert_done();
    }
}

/// S5, S8, C7: workers take from two inputs until both have ended, and put into one output.
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
                    // A branch whose channel has ended is switched off.
                    select_at! { at;
                        Ok(value) = a_rx.recv() => at.send(&out, value).await.expect("open"),
                        Ok(value) = b_rx.recv() => at.send(&out, value).await.expect("open"),
                        else => return,
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

/// S4, S12: three parties that select over three channels, each sending on one and receiving on all.
fn three_over_three(places: &[Place]) {
    const EACH: usize = 3000;
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)] {
        let channels = [(); 3].map(|()| kind.open::<usize>());
        let seen = Arc::new([const { AtomicUsize::new(0) }; 3 * EACH]);
        let count = Arc::new(AtomicUsize::new(0));
        let mut crew = Crew::new(format!("S12: three selects over three channels, {kind:?}"), places);
        for party in 0..3 {
            let channels = channels.clone();
            let (seen, count) = (Arc::clone(&seen), Arc::clone(&count));
            crew.add(move |at| async move {
                let [(_, own), (_, left), (_, right)] = [0, 1, 2].map(|i| &channels[(party + i) % 3]);
                let tx = &channels[party].0;
                let mut next = 0;
                loop {
                    let value = party * EACH + next;
                    let received = select_at! { at;
                        sent = tx.send(value), if next < EACH => {
                            sent.expect("closed only when all has arrived");
                            next += 1;
                            continue;
                        }
                        received = left.recv() => received,
                        // What it sends it never receives in the same select.
                        received = own.recv(), if next % 2 == 0 || next == EACH => received,
                        received = right.recv() => received,
                    };
                    let Ok(value) = received else { return };
                    seen[value].fetch_add(1, Ordering::Relaxed);
                    if count.fetch_add(1, Ordering::SeqCst) + 1 == 3 * EACH {
                        channels.iter().for_each(|(tx, _)| _ = tx.close());
                    }
                }
            });
        }
        crew.run();
        let once = seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1);
        assert!(once, "S12: each value arrives once; {kind:?}");
        channels.iter().for_each(|(tx, _)| tx.assert_valid());
    }
}

each_place!(mixed_branches, a_merge_ends, three_over_three);

/// S11, C16: the time is up just as a peer comes: `default` runs and nothing has happened, or the branch has won.
#[test]
fn a_timeout_and_a_peer_at_one_time() {
    const VALUES: usize = 2000;
    within("S6: a timeout and a peer", || {
        let (tx, rx) = rendezvous();
        let (out, outs) = rendezvous();
        let peer = impatient_peer(tx, outs, VALUES);
        let (mut next, mut sent) = (0, Vec::new());
        for round in 0.. {
            let mut sending = out.send(round);
            select_blocking! {
                received = rx.recv() => match received {
                    Ok(value) => {
                        assert_eq!(value, next, "C1, C2: none is lost");
                        next += 1;
                    }
                    Err(_) => break,
                },
                done = &mut sending => match done {
                    Ok(()) => sent.push(round),
                    // The peer has gone, and both are closed.
                    Err(_) => break,
                },
                default(hardly(round).max(Duration::from_nanos(1))) => {
                    assert!(sending.into_inner().is_some(), "C16: nothing was sent");
                    assert_eq!(rx.len(), 0, "C16: nothing was taken");
                }
            }
        }
        assert_eq!(next, VALUES);
        assert_eq!(peer.join().expect("no panic"), sent, "C1, C16");
    });
}

/// S11, C25: inside a fiber: allowed on a runtime; on a cord it panics at its user's line, and names what to use.
#[test]
fn blocking_inside_a_fiber() {
    within("C25: a blocking select inside a fiber", || {
        let runtime = Runtime::builder().workers(2).build().expect("a runtime starts");
        let (tx, rx) = rendezvous();
        let selecting = runtime.spawn(async move {
            select_blocking! { x = rx.recv() => x }
        });
        let sending = runtime.spawn(async move { tx.send_blocking(5) });
        assert_eq!(runtime.block_on(selecting).expect("no panic"), Ok(5), "C25");
        assert!(matches!(runtime.block_on(sending), Ok(Ok(()))));
        let cord = Cord::new();
        #[rustfmt::skip]
        let (fiber, line) = (cord.spawn_local(async { select_blocking! { () = async {} => {} } }), line!());
        let panic = cord.block_on(fiber).expect_err("C25: panics").into_panic();
        let message = panic.downcast::<String>().expect("a message");
        assert!(message.contains("unblock") && message.contains("select_blocking!"), "C25: {message}");
        assert!(message.contains(&format!("places.rs:{line}:")), "C25: {message}");
    });
}
