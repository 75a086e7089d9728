//! Scenarios that run in every place, and with all places mixed on one channel: C1, C2, C5, C7, C19, C25.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use leno::channel::{RecvError, SendError};
use leno::fiber::{Cord, Runtime};
use leno::{Receiver, Sender};

use crate::each_place;
use crate::support::{Crew, Kind, Place, Tracker, message_of};

const KINDS: [Kind; 5] =
    [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(2), Kind::Bounded(64), Kind::Bounded(5000)];

/// Tries to receive and gives up soon: a receive polled once and dropped, or one that times out.
async fn recv_briefly<T>(at: Place, rx: &Receiver<T>) -> Option<Result<T, RecvError>> {
    if at == Place::Thread {
        return match rx.recv_timeout(Duration::from_micros(5)) {
            Ok(value) => Some(Ok(value)),
            Err(e) => e.is_closed().then_some(Err(RecvError)),
        };
    }
    let mut receiving = Some(rx.recv());
    poll_fn(move |cx| {
        let Some(future) = receiving.as_mut() else { return Poll::Ready(None) };
        match Pin::new(future).poll(cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending => {
                // Leaves the waiter registered while others run, and drops it at the next poll.
                cx.waker().wake_by_ref();
                let future = receiving.take();
                drop(future);
                Poll::Pending
            }
        }
    })
    .await
}

/// Tries to send and gives up soon; gives the value back if it was not sent.
async fn send_briefly<T>(at: Place, tx: &Sender<T>, value: T) -> Result<(), T> {
    if at == Place::Thread {
        return tx.send_timeout(value, Duration::from_micros(5)).map_err(|e| e.into_inner());
    }
    let mut sending = Some(tx.send(value));
    let mut polls = 0;
    poll_fn(move |cx| {
        polls += 1;
        let future = sending.as_mut().expect("polled no more after it was ready");
        match Pin::new(future).poll(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Ready(Err(SendError(value))) => Poll::Ready(Err(value)),
            Poll::Pending if polls < 2 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => match sending.take().and_then(|future| future.into_inner()) {
                Some(value) => Poll::Ready(Err(value)),
                None => Poll::Ready(Ok(())),
            },
        }
    })
    .await
}

/// C1, C2, C7, C19: many producers, many consumers: each value once, each producer's in order.
fn many_to_many(places: &[Place]) {
    const PRODUCERS: usize = 4;
    const VALUES: usize = 300;
    for kind in KINDS {
        let (tx, rx) = kind.open::<(usize, usize)>();
        let received = Arc::new(Mutex::new(vec![0; PRODUCERS]));
        let mut crew = Crew::new(format!("C1: many to many, {kind:?}"), places);
        for producer in 0..PRODUCERS {
            let (tx, rx, received) = (tx.clone(), rx.clone(), Arc::clone(&received));
            crew.add(move |at| async move {
                for i in 0..VALUES {
                    at.send(&tx, (producer, i)).await.expect("C7: receivers are left");
                }
            });
            crew.add(move |at| async move {
                let mut last = [None; PRODUCERS];
                while let Ok((producer, i)) = at.recv(&rx).await {
                    assert!(
                        last[producer] < Some(i),
                        "C2: {i} after {:?} of producer {producer}",
                        last[producer]
                    );
                    last[producer] = Some(i);
                    received.lock().unwrap()[producer] += 1;
                }
            });
        }
        drop((tx, rx));
        crew.run();
        assert_eq!(*received.lock().unwrap(), vec![VALUES; PRODUCERS], "C1: each value once, {kind:?}");
    }
}

/// C2, C3: two parties throw one value to and fro.
fn ping_pong(places: &[Place]) {
    for kind in KINDS {
        let (tx1, rx1) = kind.open::<usize>();
        let (tx2, rx2) = kind.open::<usize>();
        let mut crew = Crew::new(format!("ping-pong, {kind:?}"), places);
        crew.add(move |at| async move {
            for i in 0..300 {
                at.send(&tx1, i).await.expect("open");
                assert_eq!(at.recv(&rx2).await, Ok(i + 1), "C2: the answer");
            }
        });
        crew.add(move |at| async move {
            while let Ok(i) = at.recv(&rx1).await {
                at.send(&tx2, i + 1).await.expect("open");
            }
        });
        crew.run();
    }
}

/// C5: a close reaches everybody who waits, on both sides.
fn close_reaches_everybody(places: &[Place]) {
    for kind in KINDS {
        let (tx, rx) = kind.open::<usize>();
        let (full_tx, full_rx) = kind.open::<usize>();
        let held = kind.fill(&full_tx, |i| i);
        let about_to_wait = Arc::new(AtomicUsize::new(0));
        let mut crew = Crew::new(format!("C5: close reaches everybody, {kind:?}"), places);
        for i in 0..8 {
            let (tx, rx, waits) = (tx.clone(), rx.clone(), Arc::clone(&about_to_wait));
            let (full_tx, full_rx, waits2) = (full_tx.clone(), full_rx.clone(), Arc::clone(&about_to_wait));
            crew.add(move |at| async move {
                let _tx = tx;
                waits.fetch_add(1, Ordering::SeqCst);
                assert_eq!(at.recv(&rx).await, Err(RecvError), "C5: closed while it waited");
            });
            crew.add(move |at| async move {
                let _rx = full_rx;
                waits2.fetch_add(1, Ordering::SeqCst);
                if i == 0 {
                    at.closed(&full_tx).await;
                    assert!(full_tx.is_closed(), "closed() resolves when sends can only fail");
                } else {
                    assert_eq!(at.send(&full_tx, i).await, Err(SendError(i)), "C5: closed while it waited");
                }
            });
        }
        crew.add(move |at| async move {
            while about_to_wait.load(Ordering::SeqCst) < 16 {
                at.pause().await;
            }
            assert!(tx.close() && full_rx.close());
            assert_eq!(full_rx.drain().count(), held, "C5: buffered values stay");
        });
        crew.run();
    }
}

/// C1, C9–C11: operations that give up at every moment lose and double nothing.
fn giving_up_loses_nothing(places: &[Place]) {
    const VALUES: usize = 200;
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let received = Arc::new(AtomicUsize::new(0));
        let mut crew = Crew::new(format!("C9–C11: giving up, {kind:?}"), places);
        for _ in 0..3 {
            let (tx, rx) = (tx.clone(), rx.clone());
            let (tracker, received) = (tracker.clone(), Arc::clone(&received));
            crew.add(move |at| async move {
                for i in 0..VALUES {
                    // Gives up a few times, then waits.
                    let mut left = Some(tracker.value());
                    for _ in 0..i % 4 {
                        let Some(value) = left.take() else { break };
                        left = send_briefly(at, &tx, value).await.err();
                    }
                    if let Some(value) = left {
                        at.send(&tx, value).await.expect("C7: receivers are left");
                    }
                }
            });
            crew.add(move |at| async move {
                loop {
                    let result = match recv_briefly(at, &rx).await {
                        Some(result) => result,
                        None => at.recv(&rx).await,
                    };
                    if result.is_err() {
                        break;
                    }
                    received.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        drop((tx, rx));
        crew.run();
        assert_eq!(received.load(Ordering::SeqCst), 3 * VALUES, "C1: each value once, {kind:?}");
        tracker.assert_done();
    }
}

/// C7: a pipeline of stages ends from its head to its tail when the first sender goes.
fn a_pipeline_ends(places: &[Place]) {
    for kind in KINDS {
        let mut crew = Crew::new(format!("C7: a pipeline, {kind:?}"), places);
        let (tx, mut rx) = kind.open::<usize>();
        crew.add(move |at| async move {
            for i in 0..100 {
                at.send(&tx, i).await.expect("open");
            }
        });
        for _ in 0..6 {
            let (tx, next) = kind.open();
            let input = std::mem::replace(&mut rx, next);
            crew.add(move |at| async move {
                while let Ok(i) = at.recv(&input).await {
                    at.send(&tx, i + 1).await.expect("open");
                }
            });
        }
        crew.add(move |at| async move {
            for i in 0..100 {
                assert_eq!(at.recv(&rx).await, Ok(i + 6), "C2: in order through six stages");
            }
            assert_eq!(at.recv(&rx).await, Err(RecvError), "C7: the stage before ended");
        });
        crew.run();
    }
}

/// C7: receivers that leave early give waiting senders their values back.
fn the_last_receiver_leaves(places: &[Place]) {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let mut crew = Crew::new(format!("C7: the last receiver leaves, {kind:?}"), places);
        for _ in 0..4 {
            let (tx, tracker) = (tx.clone(), tracker.clone());
            crew.add(move |at| async move { while at.send(&tx, tracker.value()).await.is_ok() {} });
        }
        for _ in 0..2 {
            let rx = rx.clone();
            crew.add(move |at| async move {
                for _ in 0..50 {
                    drop(at.recv(&rx).await.expect("senders are left"));
                }
            });
        }
        drop((tx, rx));
        crew.run();
        tracker.assert_done();
    }
}

each_place!(
    many_to_many,
    ping_pong,
    close_reaches_everybody,
    giving_up_loses_nothing,
    a_pipeline_ends,
    the_last_receiver_leaves,
);

/// C25: a blocking call inside a fiber of a runtime is allowed.
#[test]
fn blocking_in_a_runtimes_fiber_is_allowed() {
    crate::support::within("C25: blocking calls inside fibers", || {
        let runtime = Runtime::builder().workers(2).build().expect("a runtime starts");
        let (tx, rx) = Kind::Rendezvous.open();
        let receiving = runtime.spawn(async move { rx.recv_blocking() });
        let sending = runtime.spawn(async move { tx.send_blocking(5) });
        assert!(matches!(runtime.block_on(receiving), Ok(Ok(5))), "C25: allowed on a runtime");
        assert!(matches!(runtime.block_on(sending), Ok(Ok(()))), "C25: allowed on a runtime");
    });
}

/// C25: a blocking call that would wait inside a fiber of a cord panics, and names what to use instead.
#[test]
fn blocking_in_a_cords_fiber_panics_with_advice() {
    type Misuse = fn(Sender<u8>, Receiver<u8>);
    let misuses: [(&str, Misuse); 6] = [
        ("recv", |_tx, rx| _ = rx.recv_blocking()),
        ("recv", |_tx, rx| _ = rx.recv().wait()),
        ("recv", |_tx, rx| _ = rx.recv_timeout(Duration::MAX)),
        ("recv", |_tx, rx| _ = rx.iter().next()),
        ("send", |tx, _rx| _ = tx.send_blocking(1)),
        ("send", |tx, _rx| _ = tx.send_timeout(1, Duration::MAX)),
    ];
    for (i, (form, misuse)) in misuses.into_iter().enumerate() {
        let message = crate::support::within("C25: blocking inside a cord's fiber", move || {
            let cord = Cord::new();
            let (tx, rx) = Kind::Rendezvous.open();
            let fiber = cord.spawn_local(async move { misuse(tx, rx) });
            let error = cord.block_on(fiber).expect_err("C25: blocking on a cord panics");
            message_of(error.into_panic())
        });
        assert!(message.contains("unblock"), "C25: misuse {i}: names `unblock`, got: {message}");
        assert!(message.contains(form), "C25: misuse {i}: names the async form of {form}, got: {message}");
    }
}

/// C25: outside of fibers, on a thread, the same calls just block.
#[test]
fn blocking_on_a_thread_is_the_normal_case() {
    let (tx, rx) = Kind::Rendezvous.open();
    std::thread::scope(|scope| {
        scope.spawn(|| tx.send_blocking(1).expect("open"));
        assert_eq!(rx.recv_blocking(), Ok(1), "C19");
    });
}
