//! A runtime's workers: who runs what, what waits behind a long poll, and how they end. The polls that do not end in these
//! tests block on something of std's, of which leno knows nothing; what they wait for has to be run by another worker.

use crate::support::{Defer, Drops, Latch, SeqCst, Stash, in_time, set_timer, until, waker};
use leno::Receiver;
use leno::channel::oneshot;
use leno::fiber::{self, Cord, FiberRef, Runtime, yield_now};
use leno::select::Select;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

#[test]
fn what_waits_behind_a_long_poll_is_run_by_others() {
    // F10
    in_time(|| {
        for workers in [2, 3] {
            let runtime = runtime(workers);
            for children in [1, 2, 3, 300] {
                let parent = runtime.spawn(async move {
                    let (done, all) = mpsc::channel();
                    for _ in 0..children {
                        let done = done.clone();
                        drop(leno::spawn(async move { done.send(()).unwrap() }));
                    }
                    // The worker is stuck here; the children stand in its slot and its ring.
                    (0..children).for_each(|_| all.recv().unwrap());
                });
                parent.wait().unwrap();
            }
        }
    });
}

#[test]
fn two_with_long_polls_come_to_run_at_the_same_time() {
    // F10: one that waits behind polls that do end.
    for (poll, before) in [(100, 0), (500, 30), (5000, 30)] {
        in_time(move || {
            let (poll, before) = (Duration::from_micros(poll), Duration::from_millis(before));
            let runtime = runtime(2);
            let two = runtime.spawn(async move {
                // Short polls first: who keeps watch becomes patient.
                let start = Instant::now();
                while start.elapsed() < before {
                    yield_now().await;
                }
                let (inside, met) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
                let fibers = [(); 2].map(|()| {
                    let (inside, met) = (inside.clone(), met.clone());
                    leno::spawn(async move {
                        while !met.load(SeqCst) {
                            inside.fetch_add(1, SeqCst);
                            let start = Instant::now();
                            while start.elapsed() < poll {
                                if inside.load(SeqCst) == 2 {
                                    met.store(true, SeqCst);
                                }
                            }
                            inside.fetch_sub(1, SeqCst);
                            yield_now().await;
                        }
                    })
                });
                for fiber in fibers {
                    fiber.await.unwrap();
                }
            });
            two.wait().unwrap();
        });
    }
}

#[test]
fn timers_of_a_stuck_worker_are_fired_by_others() {
    // F10
    in_time(|| {
        let runtime = runtime(2);
        let stuck = runtime.spawn(async {
            let (done, slept) = mpsc::channel();
            let sleeper = leno::spawn(async move {
                leno::sleep(Duration::from_millis(5)).await;
                done.send(()).unwrap();
            });
            // Its timer is set on this worker, most of the time.
            yield_now().await;
            slept.recv().unwrap();
            sleeper.await.unwrap();
        });
        stuck.wait().unwrap();
    });
}

/// Calls `f` while a worker has a fiber that is always ready.
fn beside_a_busy_fiber(runtime: &Runtime, f: impl FnOnce()) {
    let over = Arc::new(AtomicBool::new(false));
    let stop = over.clone();
    let busy = runtime.spawn(async move {
        while !stop.load(SeqCst) {
            yield_now().await;
        }
    });
    f();
    over.store(true, SeqCst);
    busy.wait().unwrap();
}

#[test]
fn timers_of_a_stuck_worker_are_fired_by_a_busy_one() {
    // F10: nobody sleeps, so that nobody keeps watch.
    in_time(|| {
        let runtime = runtime(2);
        beside_a_busy_fiber(&runtime, || {
            for _ in 0..5 {
                let stuck = runtime.spawn(async {
                    let (done, slept) = mpsc::channel();
                    // Set on this worker.
                    let _sleep = set_timer(Duration::from_millis(3), &waker(move || done.send(()).unwrap()));
                    slept.recv().unwrap();
                });
                stuck.wait().unwrap();
            }
        });
    });
}

#[test]
fn what_a_stuck_worker_keeps_waiting_is_run_by_a_busy_one() {
    // F10: nobody sleeps, and nobody searches.
    in_time(|| {
        let runtime = runtime(2);
        beside_a_busy_fiber(&runtime, || {
            for keeps in [1, 2, 100] {
                let stuck = runtime.spawn(async move {
                    let (done, all) = mpsc::channel();
                    for _ in 0..keeps {
                        let done = done.clone();
                        leno::spawn(async move { done.send(()).unwrap() });
                    }
                    (0..keeps).for_each(|_| all.recv().unwrap());
                });
                stuck.wait().unwrap();
            }
        });
    });
}

#[test]
fn timers_of_a_stuck_worker_are_fired_by_one_that_blocks() {
    // F10, C25: nobody sleeps elsewhere.
    in_time(|| {
        let runtime = runtime(2);
        let (tx, rx) = leno::bounded::<()>(1);
        let blocks = runtime.spawn(async move { rx.recv_blocking() });
        let stuck = runtime.spawn(async move {
            // (Most of the time the other one sleeps by then.)
            std::thread::sleep(Duration::from_millis(20));
            let (done, slept) = mpsc::channel();
            let _sleep = set_timer(Duration::from_millis(3), &waker(move || done.send(()).unwrap()));
            slept.recv().unwrap();
            drop(tx);
        });
        stuck.wait().unwrap();
        blocks.wait().unwrap().unwrap_err();
    });
}

#[test]
fn two_that_wake_each_other_starve_nobody() {
    // F10
    in_time(|| {
        let runtime = runtime(1);
        let (to, from) = (leno::rendezvous::<()>(), leno::rendezvous::<()>());
        let over = Arc::new(AtomicBool::new(false));
        let (ping, pong) = ((to.0, from.1), (to.1, from.0));
        let stop = over.clone();
        let first = runtime.spawn(async move {
            while !stop.load(SeqCst) {
                ping.0.send(()).await.unwrap();
                ping.1.recv().await.unwrap();
            }
        });
        let second = runtime.spawn(async move {
            while pong.0.recv().await.is_ok() {
                if pong.1.send(()).await.is_err() {
                    break;
                }
            }
        });
        let third = runtime.spawn(async move {
            for _ in 0..100 {
                yield_now().await;
            }
            over.store(true, SeqCst);
        });
        third.wait().unwrap();
        first.wait().unwrap();
        second.wait().unwrap();
    });
}

#[test]
fn two_that_wake_each_other_for_many_values_at_once_keep_others_waiting_no_longer() {
    // F10
    in_time(|| {
        let runtime = runtime(1);
        let (tx, rx) = leno::bounded(64);
        let received = Arc::new(AtomicUsize::new(0));
        let counts = received.clone();
        // (First, so that it counts from the beginning.)
        let third = runtime.spawn(async move {
            let mut most = 0;
            let mut before = 0;
            while before < 100_000 {
                yield_now().await;
                let now = received.load(SeqCst);
                most = most.max(now - before);
                before = now;
            }
            most
        });
        let sender = runtime.spawn(async move { while tx.send(()).await.is_ok() {} });
        let receiver = runtime.spawn(async move {
            for _ in 0..100_000 {
                rx.recv().await.unwrap();
                counts.fetch_add(1, SeqCst);
            }
        });
        let most = third.wait().unwrap();
        assert!((64..=1000).contains(&most), "received between two turns of the third: {most}");
        receiver.wait().unwrap();
        sender.wait().unwrap();
    });
}

/// F10: who drives an operation to its end within a poll, by an executor of its own, gets there, though the budget is spent.
#[test]
fn an_executor_within_a_poll_is_not_refused_for_ever() {
    in_time(|| {
        let (tx, rx) = leno::unbounded();
        (0..1000).for_each(|value| tx.try_send(value).unwrap());
        let runtime = runtime(1);
        let fiber = runtime.spawn(async move {
            for _ in 0..256 {
                rx.recv().await.unwrap();
            }
            let mut receiving = rx.recv();
            let cx = &mut Context::from_waker(Waker::noop());
            loop {
                if let Poll::Ready(received) = Pin::new(&mut receiving).poll(cx) {
                    return received;
                }
            }
        });
        assert_eq!(fiber.wait().unwrap(), Ok(256));
    });
}

/// F10: what a fiber leaves does not depend on what the one has used up that ends it.
#[test]
fn who_ends_has_a_budget_of_its_own() {
    in_time(|| {
        let (tx, rx) = leno::unbounded();
        (0..257).for_each(|value| tx.try_send(value).unwrap());
        let last = Rc::new(Cell::new(None));
        runtime(1).block_on(async {
            let (receiver, left) = (rx.clone(), Rc::clone(&last));
            let receives = Defer(move || {
                let received = pin!(receiver.recv()).poll(&mut Context::from_waker(Waker::noop()));
                left.set(if let Poll::Ready(Ok(value)) = received { Some(value) } else { None });
            });
            let cord = Cord::new();
            drop(cord.spawn_local(async move {
                let _receives = receives;
                std::future::pending::<()>().await;
            }));
            for _ in 0..256 {
                rx.recv().await.unwrap();
            }
            drop(cord);
        });
        assert_eq!(last.get(), Some(256));
    });
}

/// F10: what waits was counted when it began. Many of them, polled together, do not keep their fiber awake.
#[test]
fn operations_that_wait_use_up_no_budget() {
    const MANY: usize = 500;

    /// One of the channels gets what `send` sends.
    async fn check<F>(receiving: impl Iterator<Item = F>, mut send: impl AsyncFnMut(usize))
    where
        F: Future<Output = usize> + 'static,
    {
        let mut receiving: Vec<_> = receiving.map(Box::pin).map(Some).collect();
        let polls = Rc::new(Cell::new(0));
        let counts = polls.clone();
        let fiber = fiber::spawn_local(async move {
            let mut sum = 0;
            std::future::poll_fn(|cx| {
                counts.set(counts.get() + 1);
                for one in &mut receiving {
                    if let Some(Poll::Ready(received)) = one.as_mut().map(|one| one.as_mut().poll(cx)) {
                        sum += received;
                        *one = None;
                    }
                }
                if receiving.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            sum
        });
        for _ in 0..20 {
            yield_now().await;
        }
        assert_eq!(polls.replace(0), 2, "those that the first poll refuses begin in the second");
        for value in 0..MANY {
            send(value).await;
        }
        assert_eq!(fiber.await.unwrap(), (MANY - 1) * MANY / 2);
        assert!(polls.get() <= MANY, "polled for nothing: {} times", polls.get());
    }

    in_time(|| {
        Cord::new().block_on(async {
            let channels: Vec<_> = (0..MANY).map(|_| leno::rendezvous()).collect();
            let send = async |value: usize| channels[value].0.send(value).await.unwrap();
            let receivers = || channels.iter().map(|(_, rx)| rx.clone());
            check(receivers().map(|rx| async move { rx.recv().await.unwrap() }), send).await;

            let select = |rx: Receiver<usize>| async move {
                let (_keep, never) = leno::rendezvous::<usize>();
                leno::select! {
                    value = rx.recv() => value.unwrap(),
                    _ = never.recv() => unreachable!("nobody sends there"),
                }
            };
            check(receivers().map(select), send).await;

            let ready = |rx: Receiver<usize>| async move {
                let mut select = Select::new();
                select.recv(&rx);
                select.ready().await;
                drop(select);
                rx.recv().await.unwrap()
            };
            check(receivers().map(ready), send).await;

            let (mut txs, rxs): (Vec<_>, Vec<_>) = (0..MANY).map(|_| oneshot::channel()).unzip();
            let send = async |value: usize| txs.pop().unwrap().send(value).unwrap();
            check(rxs.into_iter().map(|rx| async move { rx.await.unwrap() }), send).await;
        });
    });
}

/// F10: what comes after something that uses up each budget begins all the same, in the poll after the one that refused it.
#[test]
fn what_was_refused_begins_the_next_time() {
    async fn is_refused<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx).is_pending())).await
    }

    async fn behind<T>(future: impl Future<Output = T>) -> T {
        let (tx, rx) = leno::bounded(1);
        let busy = async {
            loop {
                tx.send(()).await.unwrap();
                rx.recv().await.unwrap();
            }
        };
        let mut future = pin!(future);
        let mut busy = pin!(busy);
        let mut polls = 0;
        std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls <= 10, "it never begins");
            assert!(busy.as_mut().poll(cx).is_pending());
            future.as_mut().poll(cx)
        })
        .await
    }

    in_time(|| {
        Cord::new().block_on(async {
            let (tx, rx) = leno::bounded(20);
            (0..20).for_each(|value| tx.try_send(value).unwrap());
            let (_keep, never) = leno::rendezvous::<i32>();
            assert_eq!(behind(rx.recv()).await, Ok(0));
            let selected = behind(async {
                leno::select! { value = rx.recv() => value, _ = never.recv() => Ok(-1) }
            });
            assert_eq!(selected.await, Ok(1));
            let selected = behind(async {
                leno::select! { value = rx.recv() => value, default => Ok(-1) }
            });
            assert_eq!(selected.await, Ok(2));
            let mut set = Select::new();
            let token = set.recv(&rx);
            assert_eq!(behind(set.select()).await.recv(token), Ok(3));
            assert_eq!(behind(set.ready()).await, 0);
            drop(set);
            let both = behind(fiber::try_join_all([rx.recv(), rx.recv()])).await;
            assert_eq!(both, Ok(vec![4, 5]));
            // Begun in one way and refused, it goes on in another.
            let mut receiving = rx.recv();
            let lent = behind(async {
                assert!(is_refused(&mut receiving).await);
                leno::select! { value = &mut receiving => value, _ = never.recv() => Ok(-1) }
            });
            assert_eq!(lent.await, Ok(6));
            let sending = behind(async {
                let mut sending = tx.send(20);
                assert!(is_refused(&mut sending).await);
                sending.into_inner()
            });
            assert_eq!(sending.await, Some(20), "nothing was sent");
            let dropped = behind(async {
                let mut sending = tx.send(21);
                assert!(is_refused(&mut sending).await);
            });
            dropped.await;
            assert_eq!(rx.len(), 13);
            let (once, received) = oneshot::channel();
            once.send(7).unwrap();
            assert_eq!(behind(received).await, Ok(7));
            let mutex = leno::sync::Mutex::new(8);
            assert_eq!(*behind(mutex.lock()).await, 8);
        });
    });
}

/// F10: a loop of what is over at once, though it is no operation of a channel, lets others run, and can be cancelled.
#[test]
fn what_is_over_at_once_lets_others_run() {
    type Step = fn() -> Pin<Box<dyn Future<Output = ()> + Send>>;
    let steps: [(&str, Step); 4] = [
        ("sleep", || Box::pin(leno::sleep(Duration::ZERO))),
        ("sleep_until", || Box::pin(fiber::sleep_until(fiber::now()))),
        ("join", || Box::pin(async { drop(fiber::spawn_now(async {}).await) })),
        ("park", || {
            fiber::current().unpark();
            Box::pin(fiber::park())
        }),
    ];
    for (name, step) in steps {
        Cord::new().block_on(async move {
            let turns = Rc::new(Cell::new(0));
            let counts = turns.clone();
            let other = fiber::spawn_local(async move {
                loop {
                    counts.set(counts.get() + 1);
                    yield_now().await;
                }
            });
            for _ in 0..1000 {
                step().await;
            }
            assert!((1000 / 256..100).contains(&turns.get()), "{name}: {}", turns.get());
            other.cancel();
        });
        in_time(move || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let endless = runtime.spawn(async move {
                loop {
                    step().await;
                }
            });
            endless.cancel();
            assert!(endless.wait().unwrap_err().is_cancelled(), "{name}");
        });
    }
}

/// F10, C28: a limit that is over at once is no way around the budget, and does not throw away what is there.
#[test]
fn a_limit_of_zero_keeps_to_the_budget() {
    let cord = Cord::new();
    cord.block_on(async {
        let (tx, rx) = leno::unbounded();
        (0..2000).for_each(|value| tx.try_send(value).unwrap());
        let turns = Rc::new(RefCell::new(0));
        let counts = turns.clone();
        let other = fiber::spawn_local(async move {
            loop {
                *counts.borrow_mut() += 1;
                yield_now().await;
            }
        });
        for value in 0..1000 {
            assert_eq!(leno::timeout(Duration::ZERO, rx.recv()).await, Ok(Ok(value)));
        }
        assert!(*turns.borrow() >= 1000 / 256, "F10");
        for value in 0..300 {
            let three = async { [rx.recv().await, rx.recv().await, rx.recv().await] };
            let first = 1000 + 3 * value;
            assert_eq!(
                leno::timeout(Duration::ZERO, three).await,
                Ok([first, first + 1, first + 2].map(Ok)),
                "C28"
            );
        }
        other.cancel();
    });
}

#[test]
fn fibers_that_only_yield_do_not_keep_a_runtime_from_ending() {
    // F7
    in_time(|| {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            let drops = Drops::default();
            for _ in 0..4 {
                let probe = drops.probe();
                drop(runtime.spawn(async move {
                    let _probe = probe;
                    loop {
                        yield_now().await;
                    }
                }));
            }
            runtime.spawn(yield_now()).wait().unwrap();
            drop(runtime);
            assert_eq!(drops.count(), 4);
        }
    });
}

#[test]
fn a_runtime_ends_what_a_stuck_worker_waits_for() {
    // F7: the end of the children, which nobody runs, is what frees the worker that is to be joined.
    in_time(|| {
        for workers in [2, 3] {
            let runtime = runtime(workers);
            let (began, begun) = mpsc::channel();
            drop(runtime.spawn(async move {
                let (kept, gone) = mpsc::channel::<()>();
                for _ in 0..3 {
                    let kept = kept.clone();
                    drop(leno::spawn(async move {
                        std::future::pending::<()>().await;
                        drop(kept);
                    }));
                }
                drop(kept);
                began.send(()).unwrap();
                assert!(gone.recv().is_err(), "all senders are dropped, none has sent");
            }));
            begun.recv().unwrap();
            drop(runtime);
        }
    });
}

#[test]
fn a_runtime_ends_what_its_only_worker_waits_for() {
    // F7: in calls that leno sees. What the worker waits for is held by a fiber that waits, and by one that was never polled.
    type Wait = fn(leno::Receiver<()>);
    let waits: [Wait; 4] = [
        |gone| assert!(gone.recv_blocking().is_err()),
        |gone| assert!(Cord::new().block_on(gone.recv()).is_err()),
        |gone| {
            let inner = runtime(1);
            drop(inner.spawn(async move { assert!(gone.recv_blocking().is_err()) }));
            inner.spawn(async {}).wait().unwrap();
        },
        |gone| {
            let inner = runtime(1);
            inner.block_on(async { assert!(gone.recv().await.is_err()) });
        },
    ];
    in_time(move || {
        for wait in waits {
            for late in [false, true] {
                let runtime = runtime(1);
                let (began, begun) = mpsc::channel();
                let (go, goes) = mpsc::channel();
                let stuck = runtime.spawn(async move {
                    let (kept, gone) = leno::rendezvous::<()>();
                    for _ in 0..2 {
                        let kept = kept.clone();
                        drop(leno::spawn(async move {
                            std::future::pending::<()>().await;
                            drop(kept);
                        }));
                        yield_now().await;
                    }
                    drop(leno::spawn(async move { drop(kept) }));
                    began.send(()).unwrap();
                    if late {
                        // The runtime ends before the call, most likely.
                        goes.recv().unwrap();
                    }
                    wait(gone);
                });
                begun.recv().unwrap();
                let end = std::thread::spawn(move || drop(runtime));
                if late {
                    until(|| leno::fiber::find(stuck.id()).is_none());
                    go.send(()).unwrap();
                }
                end.join().unwrap();
            }
        }
    });
}

#[test]
fn what_ends_with_a_runtime_may_wait_for_a_fiber_that_blocks_its_only_worker() {
    // F7: the fiber holds a lock during a call of leno's, and waits for what one of the others keeps; a third one takes the
    // lock as it is dropped. Also where the runtime ends before the call.
    in_time(|| {
        for late in [false, true] {
            for locks_first in [false, true] {
                let runtime = runtime(1);
                let lock = Arc::new(std::sync::Mutex::new(()));
                let (kept, gone) = leno::rendezvous::<()>();
                let (began, begun) = mpsc::channel();
                let (go, goes) = mpsc::channel::<()>();
                let keeps = async move {
                    std::future::pending::<()>().await;
                    drop(kept);
                };
                let (of_drop, released) = (lock.clone(), Arc::new(AtomicBool::new(false)));
                let seen = released.clone();
                let locks = async move {
                    let _locks = Defer(move || {
                        // Not before the fiber that holds it can go on: that would be a deadlock of the test's own.
                        if !locks_first || seen.load(SeqCst) {
                            drop(of_drop.lock());
                        }
                    });
                    std::future::pending::<()>().await;
                };
                if locks_first {
                    drop(runtime.spawn(locks));
                    drop(runtime.spawn(keeps));
                } else {
                    drop(runtime.spawn(keeps));
                    drop(runtime.spawn(locks));
                }
                let stuck = runtime.spawn(async move {
                    yield_now().await;
                    let held = lock.lock().unwrap();
                    began.send(()).unwrap();
                    if late {
                        goes.recv().unwrap();
                    }
                    assert!(gone.recv_blocking().is_err());
                    released.store(true, SeqCst);
                    drop(held);
                });
                begun.recv().unwrap();
                let end = std::thread::spawn(move || drop(runtime));
                if late {
                    until(|| fiber::find(stuck.id()).is_none());
                    go.send(()).unwrap();
                }
                end.join().unwrap();
                assert!(stuck.is_finished());
            }
        }
    });
}

#[test]
fn a_waker_may_block_an_only_worker_that_fires_its_timer() {
    // F7: the runtime ends meanwhile, and what the waker waits for is ended in the worker's place; one fiber is ready then.
    struct Blocks(leno::Receiver<()>, Latch, FiberRef);
    impl Wake for Blocks {
        fn wake(self: Arc<Self>) {
            self.2.unpark();
            self.1.open();
            assert!(self.0.recv_blocking().is_err());
        }
    }
    in_time(|| {
        let runtime = runtime(1);
        let (kept, gone) = leno::rendezvous::<()>();
        let (called, drops) = (Latch::default(), Drops::default());
        let probe = drops.probe();
        let ready = runtime.spawn(async move {
            let _probe = probe;
            fiber::park().await;
            std::future::pending::<()>().await;
        });
        let waker = Waker::from(Arc::new(Blocks(gone, called.clone(), ready.fiber())));
        let probe = drops.probe();
        drop(runtime.spawn(async move {
            let (_kept, _probe) = (kept, probe);
            let _sleep = set_timer(Duration::from_millis(20), &waker);
            std::future::pending::<()>().await;
        }));
        called.wait();
        drop(runtime);
        assert_eq!(drops.count(), 2);
        assert!(ready.wait().unwrap_err().is_cancelled());
    });
}

#[test]
fn what_is_dropped_with_an_only_worker_may_block() {
    // F7: a runtime dropped in its own fiber; what it ends drives a cord, and drops a runtime.
    in_time(|| {
        let runtime = runtime(1);
        let drops = Drops::default();
        let (give, take) = mpsc::channel::<Runtime>();
        let sleepers: Vec<_> = (0..3)
            .map(|_| {
                let probe = drops.probe();
                runtime.spawn(async move {
                    let inner = self::runtime(1);
                    drop(inner.spawn(std::future::pending::<()>()));
                    let _blocks = Defer(|| Cord::new().block_on(yield_now()));
                    let _inner = inner;
                    let _probe = probe;
                    fiber::park().await;
                    std::future::pending::<()>().await;
                })
            })
            .collect();
        let fibers: Vec<_> = sleepers.iter().map(leno::fiber::JoinHandle::fiber).collect();
        let inside = runtime.spawn(async move {
            yield_now().await;
            let mine = take.recv().unwrap();
            fibers.iter().for_each(fiber::FiberRef::unpark);
            drop(mine);
        });
        give.send(runtime).unwrap();
        let _ = inside.wait();
        for sleeper in sleepers {
            assert!(sleeper.wait().unwrap_err().is_cancelled());
        }
        assert_eq!(drops.count(), 3);
    });
}

#[test]
fn what_a_worker_wakes_after_the_end_is_ended_while_it_blocks() {
    // F7: more than its ring has room for; it waits for what they hold.
    in_time(|| {
        const FIBERS: usize = 2000;
        let runtime = runtime(2);
        let (tx, rx) = leno::rendezvous::<()>();
        let parked = Arc::new(AtomicUsize::new(0));
        let parks = |tx, parked: Arc<AtomicUsize>| {
            runtime.spawn(async move {
                let _tx: leno::Sender<()> = tx;
                parked.fetch_add(1, SeqCst);
                fiber::park().await;
                std::future::pending::<()>().await;
            })
        };
        let fibers: Vec<_> = (0..FIBERS).map(|_| parks(tx.clone(), parked.clone()).fiber()).collect();
        drop(tx);
        until(|| parked.load(SeqCst) == FIBERS);
        let [closed, pushed, through] = [(); 3].map(|()| Latch::default());
        let (begin, end) = (Arc::new(Barrier::new(3)), Arc::new(AtomicBool::new(false)));
        let (waits, pushes, ends) = (closed.clone(), pushed.clone(), end.clone());
        let begins = begin.clone();
        drop(runtime.spawn(async move {
            begins.wait();
            waits.wait();
            fibers.iter().for_each(FiberRef::unpark);
            pushes.open();
            assert!(rx.recv_blocking().is_err());
            ends.store(true, SeqCst);
        }));
        let (begins, waits) = (begin.clone(), through.clone());
        drop(runtime.spawn(async move {
            begins.wait();
            waits.wait();
        }));
        begin.wait();
        // Stays where it is injected, and is dropped by who ends the runtime, once that is closed.
        let on_drop = Defer(move || {
            closed.open();
            pushed.wait();
            through.open();
        });
        drop(runtime.spawn(async move { drop(on_drop) }));
        drop(runtime);
        assert!(end.load(SeqCst));
    });
}

#[test]
fn a_cord_inside_a_fiber_of_a_runtime_takes_its_place_and_gives_it_back() {
    // What is woken meanwhile, on either, is run; afterwards spawns go to the runtime again.
    in_time(|| {
        let runtime = runtime(1);
        let count = Arc::new(AtomicUsize::new(0));
        let seen = count.clone();
        let outer = runtime.spawn(async move {
            let (outbox, inbox) = leno::unbounded::<usize>();
            let waiting = {
                let seen = seen.clone();
                leno::spawn(async move {
                    while let Ok(n) = inbox.recv().await {
                        seen.fetch_add(n, SeqCst);
                    }
                })
            };
            yield_now().await;
            let here = fiber::current().id();
            let inner = Cord::new().block_on(async {
                // Wakes a fiber of the runtime, whose only worker is this thread.
                outbox.send(1).await.unwrap();
                let local = fiber::spawn_local(async { 40 });
                yield_now().await;
                outbox.send(1).await.unwrap();
                local.await.unwrap()
            });
            assert_eq!(fiber::current().id(), here);
            drop(outbox);
            waiting.await.unwrap();
            inner + leno::spawn(async { 2 }).await.unwrap()
        });
        assert_eq!(outer.wait().unwrap(), 42);
        assert_eq!(count.load(SeqCst), 2);
    });
}

#[test]
fn a_blocking_call_of_lenos_hands_the_queue_on() {
    // C25
    in_time(|| {
        let runtime = runtime(2);
        let parent = runtime.spawn(async {
            let children: Vec<_> = (0..10).map(|n| leno::spawn(async move { n })).collect();
            children.into_iter().map(|child| child.wait().unwrap()).sum::<i32>()
        });
        assert_eq!(parent.wait().unwrap(), 45);
    });
}

/// Whether a fiber runs, and sends, that was made ready on a worker which waits for it then: the other one has enough to do by
/// itself until then. Both happens in the `last` poll of a fiber, or in the `hook` which is called after that.
fn the_rest_is_handed_on(
    last: impl FnOnce(Waker, &Receiver<()>) + Send + 'static,
    hook: impl Fn(&Receiver<()>) + Send + Sync + 'static,
) {
    in_time(move || {
        let (tx, rx) = leno::bounded(0);
        let (over, hooked) = (Arc::new(AtomicBool::new(false)), rx.clone());
        let stop = over.clone();
        let hook = move |fiber: &FiberRef| {
            if fiber.name() == Some("last") {
                hook(&hooked);
                stop.store(true, SeqCst);
            }
        };
        let runtime = Runtime::builder().workers(2).on_stop(hook).build().unwrap();
        let (stash, busy, woken) = (Stash::default(), Arc::new(AtomicUsize::new(0)), AtomicBool::new(false));
        let mut waits = Box::pin(stash.pending());
        let first = move |cx: &mut Context<'_>| {
            if woken.swap(true, SeqCst) { Poll::Ready(()) } else { waits.as_mut().poll(cx) }
        };
        let sender = runtime.spawn(async move {
            std::future::poll_fn(first).await;
            tx.send(()).await.unwrap();
        });
        until(|| stash.polls() > 0);
        let counts = busy.clone();
        let last = fiber::Builder::new().name("last").spawn_on(runtime.handle(), async move {
            counts.fetch_add(1, SeqCst);
            until(|| counts.load(SeqCst) == 3);
            last(stash.take().unwrap(), &rx);
        });
        until(|| busy.load(SeqCst) == 1);
        let yields = move || {
            let (over, busy) = (over.clone(), busy.clone());
            async move {
                busy.fetch_add(1, SeqCst);
                while !over.load(SeqCst) {
                    yield_now().await;
                }
            }
        };
        let others = runtime.spawn(async move {
            let other = leno::spawn(yields());
            yields().await;
            other.await.unwrap();
        });
        for fiber in [sender, last, others] {
            fiber.wait().unwrap();
        }
    });
}

#[test]
fn a_hook_that_blocks_hands_the_queue_on() {
    // F10
    the_rest_is_handed_on(|sender, _| sender.wake(), |rx| rx.recv_blocking().unwrap());
}

#[test]
fn a_runtime_that_ends_in_a_fiber_hands_the_queue_on() {
    // F10: what it drops makes fibers of the one that drops it ready, and its own worker waits for one of those.
    let last = |sender: Waker, rx: &Receiver<()>| {
        let ending = runtime(2);
        let (mut sender, rx, waits) = (Some(sender), rx.clone(), Arc::new(AtomicUsize::new(0)));
        let counts = waits.clone();
        drop(ending.spawn(async move {
            let _wakes = Defer(move || sender.take().unwrap().wake());
            counts.fetch_add(1, SeqCst);
            std::future::pending::<()>().await;
        }));
        until(|| waits.load(SeqCst) == 1);
        let counts = waits.clone();
        drop(ending.spawn(async move {
            counts.fetch_add(1, SeqCst);
            rx.recv_blocking().unwrap();
        }));
        until(|| waits.load(SeqCst) == 2);
        drop(ending);
    };
    the_rest_is_handed_on(last, |_| {});
}

#[test]
fn many_ready_fibers_overflow_and_each_runs_once() {
    // F9: one worker of several, whose ring has no room for all.
    in_time(|| {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            let ran = Arc::new(AtomicUsize::new(0));
            let count = ran.clone();
            runtime.block_on(async move {
                leno::spawn(async move {
                    let all: Vec<_> = (0..5_000)
                        .map(|_| {
                            let count = count.clone();
                            leno::spawn(async move {
                                yield_now().await;
                                count.fetch_add(1, SeqCst);
                            })
                        })
                        .collect();
                    for fiber in all {
                        fiber.await.unwrap();
                    }
                })
                .await
                .unwrap();
            });
            assert_eq!(ran.load(SeqCst), 5_000);
        }
    });
}

#[test]
fn timers_that_come_and_go_leave_the_next_one_watched() {
    // F9: each earlier timer has the sleeper look again, and is gone by then; the last one must not be forgotten.
    in_time(|| {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            for _ in 0..30 {
                runtime.block_on(async {
                    for limit in [30, 25, 20, 15, 10] {
                        let limit = Duration::from_millis(limit);
                        leno::timeout(limit, yield_now()).await.unwrap();
                        std::thread::sleep(Duration::from_micros(200));
                    }
                    leno::sleep(Duration::from_millis(35)).await;
                });
            }
        }
    });
}

#[test]
fn two_long_polls_in_a_row_are_both_found() {
    // F10: the sleeper that has taken the first child runs into a long poll itself, and makes nothing ready.
    in_time(|| {
        for workers in [3, 4] {
            let runtime = runtime(workers);
            for _ in 0..10 {
                let parent = runtime.spawn(async {
                    let there = Arc::new(Barrier::new(3));
                    for _ in 0..2 {
                        let there = there.clone();
                        drop(leno::spawn(async move { there.wait() }));
                    }
                    there.wait();
                });
                parent.wait().unwrap();
            }
        }
    });
}

#[test]
fn a_runtime_that_goes_frees_workers_that_wait_for_its_fibers() {
    // F7: the end of one fiber has a second one wake a third, on its own worker, and wait for that.
    in_time(|| {
        let runtime = runtime(2);
        let ((go, went), (began, begun)) = (mpsc::channel(), mpsc::channel());
        let polled = Stash::default();
        let (woke, woken) = mpsc::channel();
        drop(runtime.spawn(async move {
            let _end = Defer(move || {
                go.send(()).unwrap();
                woken.recv().unwrap();
            });
            std::future::pending::<()>().await;
        }));
        let third = runtime.spawn(polled.pending());
        // It is idle when it is woken: the worker that polled it has run another one since.
        until(|| polled.polls() == 1);
        (0..2).for_each(|_| runtime.spawn(yield_now()).wait().unwrap());
        let second = runtime.spawn(async move {
            began.send(()).unwrap();
            went.recv().unwrap();
            third.fiber().unpark();
            woke.send(()).unwrap();
            let _ended = third.wait();
        });
        begun.recv().unwrap();
        drop(runtime);
        second.wait().unwrap();
    });
}

#[test]
fn a_runtime_dropped_in_its_own_fiber_ends_what_that_worker_has_made_ready() {
    // F7
    in_time(|| {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            let (give, take) = mpsc::channel::<Runtime>();
            let inside = runtime.spawn(async move {
                let mine = take.recv().unwrap();
                let other = leno::spawn(std::future::pending::<()>());
                drop(mine);
                other.wait().unwrap_err().is_cancelled()
            });
            give.send(runtime).unwrap();
            assert!(inside.wait().unwrap(), "it ends by itself, and finds the other one cancelled");
        }
    });
}

#[test]
fn block_on_in_a_fiber_leaves_nothing_in_its_workers_queue() {
    // C25: the other worker is busy all the time, and keeps no watch.
    in_time(|| {
        let runtime = Arc::new(runtime(2));
        let stop = Arc::new(AtomicBool::new(false));
        let (inner, stopped) = (runtime.clone(), stop.clone());
        let busy = runtime.spawn(async move {
            while !stopped.load(SeqCst) {
                yield_now().await;
            }
        });
        let outer =
            runtime.spawn(async move { inner.block_on(async { leno::spawn(async { 5 }).await.unwrap() }) });
        assert_eq!(outer.wait().unwrap(), 5);
        stop.store(true, SeqCst);
        busy.wait().unwrap();
    });
}

#[test]
fn a_cord_keeps_the_order_of_wake_ups_from_elsewhere() {
    // F14
    let cord = Cord::new();
    let (log, (go, went), (woke, woken)) =
        (Rc::new(RefCell::new(Vec::new())), mpsc::channel(), mpsc::channel());
    let other = std::thread::spawn(move || {
        let first: fiber::FiberRef = went.recv().unwrap();
        first.unpark();
        woke.send(()).unwrap();
    });
    let parked = |name| {
        let log = log.clone();
        cord.spawn_local(async move {
            fiber::park().await;
            log.borrow_mut().push(name);
        })
    };
    let (first, second) = (parked("first"), parked("second"));
    cord.block_on(async {
        yield_now().await;
        go.send(first.fiber()).unwrap();
        woken.recv().unwrap();
        second.fiber().unpark();
        first.await.unwrap();
        second.await.unwrap();
    });
    assert_eq!(*log.borrow(), ["first", "second"]);
    other.join().unwrap();
}

#[test]
fn what_no_runtime_can_be_is_an_error() {
    let builder = Runtime::builder;
    for impossible in [builder().workers(0), builder().workers(65_536), builder().name("zero\0byte")] {
        let error = impossible.build().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
    }
}

#[test]
fn two_that_only_wake_each_other_starve_nobody() {
    // F10: without any operation of leno's.
    in_time(|| {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            let over = Arc::new(AtomicBool::new(false));
            let stop = over.clone();
            let stuck = runtime.spawn(async move {
                let wakers = Arc::new([(); 2].map(|()| std::sync::Mutex::new(None::<Waker>)));
                let pair = [0, 1].map(|me| {
                    let (wakers, over) = (wakers.clone(), over.clone());
                    leno::spawn(std::future::poll_fn(move |cx| {
                        *wakers[me].lock().unwrap() = Some(cx.waker().clone());
                        let other = wakers[1 - me].lock().unwrap().take();
                        other.into_iter().for_each(Waker::wake);
                        if over.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
                    }))
                });
                for _ in 0..3 {
                    yield_now().await;
                }
                stop.store(true, SeqCst);
                for fiber in pair {
                    fiber.await.unwrap();
                }
            });
            stuck.wait().unwrap();
        }
    });
}
