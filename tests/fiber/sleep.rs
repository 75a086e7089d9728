//! Sleeping, time limits, clocks.

use crate::support::{
    CountingWaker, Defer, Drops, Latch, SECOND, SeqCst, cord, in_time, panicking_waker, set_timer, until,
    waits_for_no_timer, waker,
};
use leno::fiber::{self, Cord, Runtime, Sleep, sleep_until, spawn_local};
use leno::time::Clock;
use std::cell::RefCell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

#[test]
fn sleeps_take_exactly_their_time_and_no_real_time() {
    // F12
    let real = Instant::now();
    let cord = cord();
    cord.block_on(async {
        let start = fiber::now();
        leno::sleep(3600 * SECOND).await;
        assert_eq!(fiber::now() - start, 3600 * SECOND);
        sleep_until(start + 7200 * SECOND).await;
        assert_eq!(fiber::now() - start, 7200 * SECOND);
    });
    assert!(real.elapsed() < 60 * SECOND);
}

#[test]
fn zero_and_past_are_ready_at_once_and_max_never() {
    // F12
    let cord = cord();
    cord.block_on(async {
        let start = fiber::now();
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            assert!(Pin::new(&mut leno::sleep(Duration::ZERO)).poll(cx).is_ready());
            assert!(Pin::new(&mut sleep_until(start)).poll(cx).is_ready());
            assert!(Pin::new(&mut sleep_until(start - SECOND)).poll(cx).is_ready());
            Poll::Ready(())
        })
        .await;
        assert_eq!(polls, 1);
        assert!(leno::timeout(1_000_000 * SECOND, leno::sleep(Duration::MAX)).await.is_err());
        assert_eq!(leno::sleep(Duration::MAX).deadline(), None);
        assert_eq!(fiber::now() - start, 1_000_000 * SECOND);
    });
}

#[test]
fn equal_deadlines_fire_in_the_order_in_which_they_were_set() {
    // F12
    let cord = cord();
    let log = Rc::new(RefCell::new(Vec::new()));
    let at = cord.block_on(async { fiber::now() }) + SECOND;
    for name in 0..100 {
        let log = log.clone();
        drop(cord.spawn_local(async move {
            sleep_until(at).await;
            log.borrow_mut().push(name);
        }));
    }
    cord.block_on(leno::sleep(2 * SECOND));
    assert!(log.borrow().iter().copied().eq(0..100));
}

#[test]
fn a_sleep_made_outside_the_cord_counts_on_its_clock() {
    let cord = cord();
    let start = cord.block_on(async { fiber::now() });
    cord.block_on(leno::sleep(5 * SECOND));
    assert_eq!(cord.block_on(async { fiber::now() }) - start, 5 * SECOND);
}

#[test]
fn virtual_time_passes_only_when_all_wait() {
    // F12: yielding fibers hold it up; reading it doesn't move it.
    let clock = Clock::virtual_time();
    let cord = Cord::with_clock(clock.clone());
    let start = clock.now();
    cord.block_on(async {
        let sleeper = spawn_local(leno::sleep(SECOND));
        for _ in 0..1000 {
            leno::yield_now().await;
        }
        assert_eq!(clock.now(), start);
        assert!(!sleeper.is_finished());
        sleeper.await.unwrap();
        assert_eq!(clock.now(), start + SECOND);
    });
    assert_eq!(clock.now(), start + SECOND);
    std::thread::sleep(Duration::from_millis(1));
    assert_eq!(clock.now(), start + SECOND);
    assert!(clock.is_virtual() && !Clock::real().is_virtual());
}

#[test]
fn virtual_time_on_a_runtime_with_several_workers() {
    // F12: jumps only when all workers, and the thread of `block_on`, wait.
    in_time(|| {
        let clock = Clock::virtual_time();
        let runtime = Runtime::builder().workers(3).clock(clock.clone()).build().unwrap();
        let start = clock.now();
        runtime.block_on(async {
            let fibers: Vec<_> = (1..=50_u32)
                .map(|n| {
                    leno::spawn(async move {
                        for _ in 0..4 {
                            leno::sleep(n * SECOND).await;
                        }
                        fiber::now()
                    })
                })
                .collect();
            // The main fiber blocks its own thread: no time passes.
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(fiber::now(), start);
            for (n, fiber) in (1..=50_u32).zip(fibers) {
                assert_eq!(fiber.await.unwrap() - start, 4 * n * SECOND);
            }
        });
        // Nobody in `block_on`: the runtime's own fibers still get their time.
        let fiber = runtime.spawn(async { leno::sleep(3600 * SECOND).await });
        fiber.wait().unwrap();
        // A fiber that blocks its worker holds time up as well.
        let blocker = runtime.spawn(async {
            let sleeper = leno::spawn(leno::sleep(SECOND));
            std::thread::sleep(Duration::from_millis(5));
            sleeper.is_finished()
        });
        assert!(!blocker.wait().unwrap());
    });
}

#[test]
fn never_early_in_real_time() {
    // F12
    leno::block_on(async {
        for micros in [1, 50, 500, 1500, 3000] {
            let span = Duration::from_micros(micros);
            let start = Instant::now();
            leno::sleep(span).await;
            assert!(start.elapsed() >= span);
        }
    });
}

#[test]
fn timers_that_are_set_while_all_workers_block_are_fired() {
    // F12: by who waits in a `block_on`.
    for workers in [1, 2] {
        in_time(move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let (tx, rx) = leno::rendezvous();
            let (blocks, blocked) = std::sync::mpsc::channel();
            let fibers: Vec<_> = (0..workers)
                .map(|_| {
                    let (rx, blocks) = (rx.clone(), blocks.clone());
                    runtime.spawn(async move {
                        blocks.send(()).unwrap();
                        rx.recv_blocking()
                    })
                })
                .collect();
            (0..workers).for_each(|_| blocked.recv().unwrap());
            // (They may need a moment more; if it is too short for them, their workers fire the timer.)
            std::thread::sleep(Duration::from_millis(20));
            runtime.block_on(async {
                leno::sleep(Duration::from_millis(1)).await;
                for i in 0..workers {
                    tx.send(i).await.unwrap();
                }
            });
            let mut received: Vec<_> =
                fibers.into_iter().map(|fiber| fiber.wait().unwrap().unwrap()).collect();
            received.sort_unstable();
            assert_eq!(received, (0..workers).collect::<Vec<_>>());
        });
    }
}

#[test]
fn timers_of_a_worker_that_drives_a_cord_are_fired() {
    // F12: the cord waits, on either clock, or is busy.
    type Start = fn() -> Cord;
    let starts: [Start; 2] = [Cord::new, || Cord::with_clock(Clock::virtual_time())];
    for (start, busy) in [(starts[0], false), (starts[0], true), (starts[1], false), (starts[1], true)] {
        in_time(move || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let fiber = runtime.spawn(async move {
                let after = leno::channel::ticker::after(Duration::from_millis(5));
                start().block_on(async {
                    if busy {
                        while after.try_recv().is_err() {
                            leno::yield_now().await;
                        }
                    } else {
                        after.recv().await.unwrap();
                    }
                });
            });
            fiber.wait().unwrap();
        });
    }
}

#[test]
fn an_earlier_timer_overtakes_the_one_being_waited_for() {
    // F12: set while the watcher sleeps for a later one.
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let long = runtime.spawn(leno::sleep(3600 * SECOND));
        std::thread::sleep(Duration::from_millis(2));
        runtime.block_on(leno::sleep(Duration::from_millis(2)));
        assert!(!long.is_finished());
    });
}

#[test]
fn timers_that_another_runtime_sets_while_all_workers_block_are_fired() {
    // F12: a ticker of the first runtime goes on when the second one takes a tick.
    in_time(|| {
        let [one, two] = [1, 1].map(|workers| Runtime::builder().workers(workers).build().unwrap());
        let ((done, over), (hand, get)) = (leno::rendezvous::<()>(), leno::bounded(1));
        let blocks = one.spawn(async move {
            hand.send(leno::channel::ticker::tick(Duration::from_millis(10))).await.unwrap();
            over.recv_blocking()
        });
        let ticks = two.spawn(async move {
            let beat = get.recv().await.unwrap();
            for _ in 0..3 {
                // Each tick is there before it is asked for; the next one is set from here.
                leno::sleep(Duration::from_millis(15)).await;
                beat.recv().await.unwrap();
            }
            done.send(()).await.unwrap();
        });
        ticks.wait().unwrap();
        blocks.wait().unwrap().unwrap();
    });
}

#[test]
fn timers_that_are_set_while_a_worker_drives_a_cord_are_fired() {
    // F12: after one that was cleared; and while a waker of the runtime's timers, or the cord's, waits.
    struct Waits(leno::Receiver<()>, Latch);
    impl Wake for Waits {
        fn wake(self: Arc<Self>) {
            self.1.open();
            self.0.recv_blocking().unwrap();
        }
    }
    #[derive(Clone, Copy, PartialEq)]
    enum Before {
        Cleared,
        OfTheRuntime,
        OfTheCord,
    }
    for before in [Before::Cleared, Before::OfTheRuntime, Before::OfTheCord] {
        in_time(move || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let ((end, ends), (tx, rx), waits) =
                (leno::rendezvous::<()>(), leno::rendezvous(), Latch::default());
            let waker = Waker::from(Arc::new(Waits(rx, waits.clone())));
            let (parks, parked) = mpsc::channel();
            let fiber = runtime.spawn(async move {
                let set = || set_timer(Duration::from_millis(10), &waker);
                let _outer = (before == Before::OfTheRuntime).then(set);
                Cord::new().block_on(async {
                    let _inner = (before == Before::OfTheCord).then(set);
                    parks.send(()).unwrap();
                    ends.recv().await.unwrap();
                });
            });
            parked.recv().unwrap();
            runtime.block_on(async {
                if before == Before::Cleared {
                    let mut cleared = leno::sleep(Duration::from_millis(20));
                    let _unset = Pin::new(&mut cleared).poll(&mut Context::from_waker(Waker::noop()));
                    std::thread::sleep(Duration::from_millis(5));
                    drop(cleared);
                    // Longer than that would have taken.
                    std::thread::sleep(Duration::from_millis(30));
                    leno::sleep(Duration::from_millis(2)).await;
                } else {
                    waits.wait();
                    std::thread::sleep(Duration::from_millis(5));
                    leno::sleep(Duration::from_millis(2)).await;
                    tx.send(()).await.unwrap();
                }
                end.send(()).await.unwrap();
            });
            fiber.wait().unwrap();
        });
    }
}

#[test]
fn wakers_of_timers_are_called_in_no_fiber() {
    // F12: also where the worker that fires them is in a call that blocks.
    for blocks in [false, true] {
        in_time(move || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let (tell, told) = mpsc::channel();
            drop(runtime.spawn(async move {
                let asks = move || tell.send(fiber::try_current().map(|fiber| fiber.to_string())).unwrap();
                let _sleep = set_timer(Duration::from_millis(5), &waker(asks));
                if blocks {
                    let (_sender, receiver) = leno::rendezvous::<()>();
                    assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
                }
                pending::<()>().await;
            }));
            assert_eq!(told.recv().unwrap(), None);
        });
    }
}

#[test]
fn wakers_of_timers_that_wait_do_not_pile_up_without_an_end() {
    // F12: while one waits it fires others, which wait.
    in_time(|| {
        const TIMERS: usize = 500;
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (tx, rx) = leno::bounded(1);
        let depth = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let of_waker = depth.clone();
        let sends = waker(move || {
            let [now, most] = &*of_waker;
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            tx.send_blocking(()).unwrap();
            now.fetch_sub(1, SeqCst);
        });
        let sleeps =
            runtime.spawn(async move { [(); TIMERS].map(|()| set_timer(Duration::from_millis(5), &sends)) });
        let _sleeps = sleeps.wait().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        (0..TIMERS).for_each(|_| rx.recv_blocking().unwrap());
        assert!(depth[1].load(SeqCst) < 32);
    });
}

/// F12, F7: what was due with it comes from a timer after it, or ends with the runtime.
#[test]
fn a_waker_of_a_timer_may_wait_for_what_was_due_with_it() {
    for (ends, workers, by_cord) in [
        (false, 2, false),
        (true, 2, false),
        (false, 2, true),
        (true, 2, true),
        (false, 1, true),
        (true, 1, true),
    ] {
        in_time(move || {
            let clock = Clock::virtual_time();
            let runtime = Runtime::builder().workers(workers).clock(clock).build().unwrap();
            let (tx, rx) = leno::rendezvous();
            let (tell, told) = mpsc::channel();
            let receives = waker(move || {
                let received = if by_cord { Cord::new().block_on(rx.recv()) } else { rx.recv_blocking() };
                tell.send(received.unwrap()).unwrap();
            });
            let sends = waker(move || tx.send_blocking(7).unwrap());
            let sleeps = runtime.block_on(async { [receives, sends].map(|waker| set_timer(SECOND, &waker)) });
            if ends {
                drop(runtime);
            } else {
                runtime.block_on(leno::sleep(2 * SECOND));
            }
            assert_eq!(told.recv(), Ok(7));
            drop(sleeps);
        });
    }
}

/// F12: time goes on where one waker waits for a virtual clock, in the middle of another one that does.
#[test]
fn wakers_of_timers_may_wait_for_another_clock() {
    in_time(|| {
        let build = || Arc::new(Runtime::builder().workers(1).clock(Clock::virtual_time()).build().unwrap());
        let (runtime, other) = (build(), build());
        let (tx, rx) = leno::rendezvous();
        let (tell, told) = mpsc::channel();
        let receives = other.clone();
        let receives = waker(move || tell.send(receives.block_on(rx.recv()).unwrap()).unwrap());
        let sends = waker(move || {
            let tx = tx.clone();
            let sending = other.spawn(async move {
                leno::sleep(SECOND).await;
                tx.send(7).await.unwrap();
            });
            sending.wait().unwrap();
        });
        let wakers = [receives, sends];
        let sleeps = runtime.block_on(async { wakers.each_ref().map(|waker| set_timer(SECOND, waker)) });
        runtime.block_on(leno::sleep(2 * SECOND));
        assert_eq!(told.recv(), Ok(7));
        drop(sleeps);
    });
}

/// F7: a cord is not driven by a waker that it calls.
#[test]
fn a_cord_is_not_driven_within_itself() {
    thread_local! {
        static CORD: Cord = Cord::new();
    }
    struct Drives(AtomicUsize);
    impl Wake for Drives {
        fn wake(self: Arc<Self>) {
            let panic = catch_unwind(|| CORD.with(|cord| cord.block_on(async {})));
            self.0.store(if panic.is_err() { 2 } else { 1 }, Ordering::Relaxed);
        }
    }
    in_time(|| {
        let drives = Arc::new(Drives(AtomicUsize::new(0)));
        let waker = Waker::from(drives.clone());
        CORD.with(|cord| {
            cord.block_on(async {
                let _sleep = set_timer(Duration::from_millis(1), &waker);
                while drives.0.load(Ordering::Relaxed) == 0 {
                    leno::yield_now().await;
                }
            });
        });
        assert_eq!(drives.0.load(Ordering::Relaxed), 2);
    });
}

/// F7: a waker that is called within a `block_on` of somebody else's may use one of its own.
#[test]
fn a_waker_of_a_timer_may_block_within_a_call_that_blocks() {
    for workers in [1, 2] {
        in_time(move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let (tx, rx) = leno::rendezvous();
            let sends = waker(move || leno::block_on(tx.send(7)).unwrap());
            let fiber = runtime.spawn(async move {
                let sleep = set_timer(Duration::from_millis(1), &sends);
                let received = leno::block_on(rx.recv());
                drop(sleep);
                received
            });
            assert_eq!(fiber.wait().unwrap(), Ok(7));
        });
    }
}

/// F7, F12: whatever is due when a `block_on` begins, no waker of a timer is called before the first poll of its future: it may wait
/// for that.
#[test]
fn a_waker_of_a_timer_may_wait_for_the_call_that_begins() {
    type Call = fn(leno::Receiver<u8>) -> u8;
    let calls: [Call; 3] = [
        |rx| leno::block_on(rx.recv()).unwrap(),
        |rx| Cord::new().block_on(rx.recv()).unwrap(),
        // Behind others.
        |rx| {
            let cord = Cord::new();
            (0..20).for_each(|_| drop(cord.spawn_local(leno::yield_now())));
            cord.block_on(rx.recv()).unwrap()
        },
    ];
    for call in calls {
        in_time(move || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let fiber = runtime.spawn(async move {
                // (Looks come sooner after many operations.)
                let (some, ops) = leno::bounded(1);
                for n in 0..2000 {
                    some.send(n).await.unwrap();
                    ops.recv().await.unwrap();
                }
                let (tx, rx) = leno::rendezvous();
                let sleep = set_timer(Duration::from_millis(1), &waker(move || tx.send_blocking(7).unwrap()));
                std::thread::sleep(Duration::from_millis(5));
                let received = call(rx);
                drop(sleep);
                received
            });
            assert_eq!(fiber.wait().unwrap(), 7);
        });
    }
}

/// F12: nor does a timer wait for ever where a cord is driven by calls that are over at once, or panic.
#[test]
fn short_calls_fire_timers() {
    for panics in [false, true] {
        let (cord, count) = (Cord::new(), CountingWaker::new());
        let waker = Waker::from(count.clone());
        let sleep = cord.block_on(async { Some(set_timer(Duration::from_millis(1), &waker)) });
        std::thread::sleep(Duration::from_millis(5));
        for _ in 0..200 {
            let call =
                catch_unwind(AssertUnwindSafe(|| cord.block_on(async { assert!(!panics, "planted") })));
            assert_eq!(call.is_err(), panics);
        }
        assert!(count.was_woken(), "they panic: {panics}");
        drop(sleep);
    }
    // By calls of one cord each, for a timer of the runtime that they are made on.
    let (runtime, count) = (Runtime::builder().workers(1).build().unwrap(), CountingWaker::new());
    let waker = Waker::from(count.clone());
    let fiber = runtime.spawn(async move {
        let _sleep = set_timer(Duration::from_millis(1), &waker);
        std::thread::sleep(Duration::from_millis(5));
        for _ in 0..200 {
            catch_unwind(|| Cord::new().block_on(async { panic!("planted") })).unwrap_err();
        }
        assert!(count.was_woken());
    });
    fiber.wait().unwrap();
}

#[test]
fn a_limit_for_several_steps() {
    // F12
    cord().block_on(async {
        let start = fiber::now();
        let deadline = start + 10 * SECOND;
        for _ in 0..2 {
            assert!(fiber::timeout_at(deadline, leno::sleep(4 * SECOND)).await.is_ok());
        }
        assert!(fiber::timeout_at(deadline, leno::sleep(4 * SECOND)).await.is_err());
        assert_eq!(fiber::now(), deadline);
        assert!(fiber::timeout_at(start, pending::<()>()).await.is_err());
    });
}

#[test]
fn a_reset_works_both_ways() {
    // F12
    let cord = cord();
    cord.block_on(async {
        let start = fiber::now();
        let mut sleep = leno::sleep(10 * SECOND);
        assert!(leno::timeout(SECOND, &mut sleep).await.is_err());
        sleep.reset(start + 2 * SECOND);
        (&mut sleep).await;
        assert_eq!(fiber::now() - start, 2 * SECOND);
        assert!(sleep.is_elapsed());
        sleep.reset(start + 5 * SECOND);
        assert!(!sleep.is_elapsed());
        assert!(leno::timeout(SECOND, &mut sleep).await.is_err());
        sleep.reset(start + 20 * SECOND);
        (&mut sleep).await;
        assert_eq!(fiber::now() - start, 20 * SECOND);
        assert_eq!(sleep.deadline(), Some(start + 20 * SECOND));
        sleep.reset_after(30 * SECOND);
        (&mut sleep).await;
        assert_eq!(fiber::now() - start, 50 * SECOND);
        sleep.reset_after(Duration::MAX);
        assert_eq!(sleep.deadline(), None);
        assert!(leno::timeout(SECOND, &mut sleep).await.is_err());
    });
}

#[test]
fn the_latest_waker_is_woken_and_a_dropped_sleep_lets_go() {
    // F12, C12
    let cord = cord();
    let (a, b) = (CountingWaker::new(), CountingWaker::new());
    cord.block_on(async {
        let mut sleep = leno::sleep(SECOND);
        for count in [&a, &b] {
            let waker = Waker::from(count.clone());
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!((Arc::strong_count(&a), Arc::strong_count(&b)), (1, 2));
        leno::sleep(2 * SECOND).await;
        assert_eq!((a.count(), b.count()), (0, 1));
        let mut dropped = leno::sleep(SECOND);
        let waker = Waker::from(a.clone());
        assert!(Pin::new(&mut dropped).poll(&mut Context::from_waker(&waker)).is_pending());
        drop((dropped, waker));
        assert_eq!(Arc::strong_count(&a), 1);
        let start = fiber::now();
        leno::sleep(5 * SECOND).await;
        assert_eq!(fiber::now() - start, 5 * SECOND);
    });
    assert_eq!(a.count(), 0);
}

#[test]
fn a_sleep_moves_between_executors() {
    // F12, C12: begun on one cord, ended on another, whose clock differs; the rest is what it sleeps there.
    let first = cord();
    let mut sleep = leno::sleep(10 * SECOND);
    let (sleep,) = first.block_on(async move {
        assert!(leno::timeout(4 * SECOND, &mut sleep).await.is_err());
        (sleep,)
    });
    let cord = cord();
    let start = cord.block_on(async { fiber::now() });
    cord.block_on(sleep);
    assert_eq!(cord.block_on(async { fiber::now() }) - start, 6 * SECOND);
}

#[test]
fn a_sleep_survives_the_runtime_it_was_set_on() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let start = Instant::now();
        let mut sleep = leno::sleep(Duration::from_millis(20));
        let (sleep,) = runtime.block_on(async move {
            _ = poll_fn(|cx| Poll::Ready(Pin::new(&mut sleep).poll(cx))).await;
            (sleep,)
        });
        drop(runtime);
        sleep.wait();
        assert!(start.elapsed() >= Duration::from_millis(20));
    });
}

#[test]
fn what_sleeps_during_the_end_of_a_virtual_runtime_sleeps_its_rest_elsewhere() {
    // F7, F12: the runtime's clock is a year ahead; it keeps no timers any more, and real time ends these sleeps.
    in_time(|| {
        let runtime = Runtime::builder().workers(1).clock(Clock::virtual_time()).build().unwrap();
        runtime.block_on(leno::sleep(365 * 86_400 * SECOND));
        let (polled, is_polled) = mpsc::channel();
        drop(runtime.spawn(async move {
            let mut begun = Some(leno::sleep(Duration::from_millis(4)));
            let _new = Defer(|| leno::sleep(Duration::from_millis(4)).wait());
            // Set before the end, and so closed by it.
            let first = Pin::new(begun.as_mut().unwrap()).poll(&mut Context::from_waker(Waker::noop()));
            assert!(first.is_pending());
            let _begun = Defer(move || begun.take().unwrap().wait());
            polled.send(()).unwrap();
            // Not idle: virtual time stands still until the end.
            loop {
                leno::yield_now().await;
            }
        }));
        is_polled.recv().unwrap();
        drop(runtime);
    });
}

#[test]
fn sleeping_on_another_executor_and_on_threads() {
    // F12: the default runtime keeps the timers.
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tokio.block_on(async {
        let start = Instant::now();
        leno::sleep(Duration::from_millis(3)).await;
        assert!(start.elapsed() >= Duration::from_millis(3));
        assert!(leno::timeout(Duration::from_millis(1), pending::<()>()).await.is_err());
    });
    assert!(leno::sleep(Duration::from_secs(3600)).wait_timeout(Duration::ZERO).is_err());
}

#[test]
fn a_timeout_and_its_result_at_one_instant() {
    // F12: the future wins; a timeout of zero polls once.
    let cord = cord();
    cord.block_on(async {
        assert!(leno::timeout(SECOND, leno::sleep(SECOND)).await.is_ok());
        assert!(leno::timeout(SECOND, leno::sleep(SECOND + Duration::from_nanos(1))).await.is_err());
        assert_eq!(leno::timeout(Duration::ZERO, async { 1 }).await.unwrap(), 1);
        assert!(leno::timeout(Duration::ZERO, leno::yield_now()).await.is_err());
        // A future that completes at the very instant, by way of another fiber.
        let other = spawn_local(leno::sleep(SECOND));
        leno::yield_now().await;
        assert!(leno::timeout(SECOND, other).await.is_ok());
    });
}

/// C28: what is there for an operation when the time is up is taken, also if it came at that very instant, or if the fiber
/// has used up what it may do in one turn.
#[test]
fn a_timeout_looks_once_more() {
    let cord = cord();
    cord.block_on(async {
        for (tx, rx) in [leno::rendezvous(), leno::bounded(1), leno::unbounded()] {
            // A second fiber sends at the instant at which the time is up: before the first one looks for the last time, or after.
            for sends_first in [true, false] {
                let start = fiber::now();
                let (tx, rx) = (tx.clone(), rx.clone());
                let sends = async move {
                    sleep_until(start + SECOND).await;
                    assert_eq!(tx.try_send(5).is_ok(), sends_first || tx.capacity() != Some(0));
                };
                let late = rx.clone();
                let receives = async move {
                    let received = leno::timeout(SECOND, rx.recv()).await;
                    assert_eq!(received.is_ok_and(|value| value == Ok(5)), sends_first);
                };
                let fibers = if sends_first {
                    let sender = spawn_local(sends);
                    leno::yield_now().await;
                    [sender, spawn_local(receives)]
                } else {
                    let receiver = spawn_local(receives);
                    leno::yield_now().await;
                    [receiver, spawn_local(sends)]
                };
                for fiber in fibers {
                    fiber.await.unwrap();
                }
                assert_eq!(
                    late.try_recv().is_ok(),
                    !sends_first && late.capacity() != Some(0),
                    "C28: it is not lost"
                );
                assert_eq!(fiber::now() - start, SECOND);
            }
        }
        // The budget of a turn is used up.
        let (tx, rx) = leno::bounded(400);
        (0..400).for_each(|i| tx.try_send(i).unwrap());
        let mut taken = 0;
        while leno::timeout(Duration::ZERO, rx.recv()).await.is_ok() {
            taken += 1;
        }
        assert_eq!(taken, 400, "C28: a value is there");
    });
}

/// C28: the future is polled after the time was found to be up.
#[test]
fn a_timeout_polls_once_more_after_its_timer() {
    let cord = cord();
    cord.block_on(async {
        // Ready at its fourth poll: begun, woken by itself, by the timer, and the last look.
        let mut polls = 0;
        let future = poll_fn(|cx| {
            polls += 1;
            if polls == 1 {
                cx.waker().wake_by_ref();
            }
            if polls == 4 { Poll::Ready(()) } else { Poll::Pending }
        });
        assert!(leno::timeout(SECOND, future).await.is_ok());
        assert_eq!(polls, 4);
    });
}

/// C28: also if the time runs out during the first poll; but a limit that was over before it polls once.
#[test]
fn a_timeout_polls_once_more_after_a_first_poll_that_takes_long() {
    Cord::new().block_on(async {
        let polls = std::cell::Cell::new(0);
        let future = || {
            poll_fn(|_| {
                polls.set(polls.get() + 1);
                std::thread::sleep(Duration::from_millis(30));
                if polls.get() % 2 == 0 { Poll::Ready(()) } else { Poll::Pending }
            })
        };
        let limit = Duration::from_millis(20);
        assert!(leno::timeout(limit, future()).await.is_ok());
        let limited = loop {
            let at = fiber::now() + limit;
            let limited = fiber::timeout_at(at, future());
            // (One that is over from the start is polled once.)
            if fiber::now() < at {
                break limited;
            }
        };
        assert!(limited.await.is_ok());
        assert_eq!(polls.get(), 4);
        assert!(leno::timeout(Duration::ZERO, future()).await.is_err());
        assert!(fiber::timeout_at(fiber::now(), future()).await.is_ok());
        assert_eq!(polls.get(), 6);
    });
}

/// F10: what is over at once counts, also if nothing in it does.
#[test]
fn timeouts_that_are_over_at_once_let_others_run() {
    let cord = cord();
    cord.block_on(async {
        let turns = Rc::new(std::cell::Cell::new(0));
        let counts = turns.clone();
        let other = spawn_local(async move {
            loop {
                counts.set(counts.get() + 1);
                leno::yield_now().await;
            }
        });
        let token = leno::fiber::CancelToken::new();
        token.cancel();
        for _ in 0..2000 {
            assert!(leno::timeout(Duration::ZERO, std::future::pending::<()>()).await.is_err());
        }
        assert!(turns.get() >= 2000 / 256);
        turns.set(0);
        for _ in 0..2000 {
            assert_eq!(token.run_until_cancelled(std::future::pending::<()>()).await, None);
        }
        assert!(turns.get() >= 2000 / 256);
        other.cancel();
    });
}

#[test]
fn a_timeout_drops_its_future_with_itself() {
    let cord = cord();
    let drops = Drops::default();
    let probe = drops.probe();
    cord.block_on(async {
        let limited = leno::timeout(SECOND, async move {
            let _probe = probe;
            pending::<()>().await;
        });
        let error = limited.await.unwrap_err();
        assert_eq!(error.to_string(), "timed out");
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn dropped_while_firing() {
    // F12: the first of two equal timers wakes a fiber that drops the second's.
    let cord = cord();
    cord.block_on(async {
        let at = fiber::now() + SECOND;
        let victim: Rc<RefCell<Option<Sleep>>> = Rc::default();
        let mut sleep = sleep_until(at);
        let take = victim.clone();
        let killer = spawn_local(async move {
            sleep_until(at).await;
            drop(take.borrow_mut().take());
        });
        leno::yield_now().await;
        assert!(poll_fn(|cx| Poll::Ready(Pin::new(&mut sleep).poll(cx).is_pending())).await);
        *victim.borrow_mut() = Some(sleep);
        killer.await.unwrap();
        assert!(victim.borrow().is_none());
    });
}

/// F12, C13: the waker of the first of two equal timers drops the second, which is due and not woken yet; and perhaps sets
/// another.
#[test]
fn dropped_by_the_waker_before_it() {
    struct Ends(std::sync::Mutex<Option<Sleep>>, bool);
    impl Wake for Ends {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take().expect("once"));
            if self.1 {
                // In its place, perhaps.
                let mut another = leno::sleep(SECOND);
                assert!(Pin::new(&mut another).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
        }
    }
    for anew in [false, true] {
        cord().block_on(async move {
            let at = fiber::now() + SECOND;
            let woken = CountingWaker::new();
            let mut second = sleep_until(at);
            let ends = Arc::new(Ends(std::sync::Mutex::default(), anew));
            let waker = Waker::from(ends.clone());
            let mut first = sleep_until(at);
            assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&waker)).is_pending());
            let counts = Waker::from(woken.clone());
            assert!(Pin::new(&mut second).poll(&mut Context::from_waker(&counts)).is_pending());
            *ends.0.lock().unwrap() = Some(second);
            leno::sleep(2 * SECOND).await;
            assert!(ends.0.lock().unwrap().is_none());
            assert!(woken.count() <= 1, "{}", woken.count());
            drop((ends, waker, first));
            assert_eq!(Arc::strong_count(&woken), 2, "no waker of it is kept");
        });
    }
}

#[test]
fn a_panicking_waker_loses_nobody_elses_timer() {
    let cord = cord();
    cord.block_on(async {
        let start = fiber::now();
        let mut angry = leno::sleep(SECOND);
        let waker = panicking_waker();
        assert!(Pin::new(&mut angry).poll(&mut Context::from_waker(&waker)).is_pending());
        leno::sleep(SECOND).await;
        assert_eq!(fiber::now() - start, SECOND);
    });
}

#[test]
fn a_waker_that_waits_for_a_fiber_finds_another_worker_for_it() {
    // F9, F12
    struct Waits(leno::Receiver<()>, AtomicBool);
    impl Wake for Waits {
        fn wake(self: Arc<Self>) {
            self.1.store(true, SeqCst);
            self.0.recv_blocking().expect("a fiber sends it");
        }
    }
    for workers in [2, 4] {
        in_time(move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let (tx, rx) = leno::rendezvous();
            let waits = Arc::new(Waits(rx, AtomicBool::new(false)));
            let waker = Waker::from(waits.clone());
            let set = poll_fn(move |_| Poll::Ready(set_timer(Duration::from_millis(1), &waker)));
            let asleep = runtime.spawn(set);
            let _sleep = asleep.wait().unwrap();
            until(|| waits.1.load(SeqCst));
            let timely = runtime.spawn(leno::sleep(Duration::from_millis(1)));
            timely.wait().expect("others are woken, and their timers fire");
            runtime.spawn(async move { tx.send(()).await }).wait().unwrap().unwrap();
        });
    }
}

#[test]
fn a_waker_may_set_and_drop_timers_while_it_is_woken() {
    // The timers' lock isn't held.
    let cord = cord();
    cord.block_on(async {
        let mut other = leno::sleep(5 * SECOND);
        assert!(poll_fn(|cx| Poll::Ready(Pin::new(&mut other).poll(cx).is_pending())).await);
        let other = std::sync::Mutex::new(Some(other));
        let busy = waker(move || {
            drop(other.lock().unwrap().take());
            let mut another = leno::sleep(SECOND);
            let _ = Pin::new(&mut another).poll(&mut Context::from_waker(Waker::noop()));
        });
        let mut sleep = leno::sleep(SECOND);
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&busy)).is_pending());
        leno::sleep(2 * SECOND).await;
    });
}

#[test]
fn who_writes_a_virtual_clock_may_look_at_it() {
    // F12: what it is written to is foreign code.
    struct Looks(Clock, usize);
    impl std::fmt::Write for Looks {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.now();
            self.1 += text.len();
            Ok(())
        }
    }
    in_time(|| {
        let clock = Clock::virtual_time();
        let mut looks = Looks(clock.clone(), 0);
        std::fmt::Write::write_fmt(&mut looks, format_args!("{clock:?}")).unwrap();
        assert!(looks.1 > 0);
    });
}

#[test]
fn a_hundred_thousand_sleeps() {
    // F12, F16
    let cord = cord();
    let woken = Rc::new(std::cell::Cell::new(0_u32));
    for n in 0..100_000_u64 {
        let woken = woken.clone();
        drop(cord.spawn_local(async move {
            leno::sleep(Duration::from_millis(n * 7919 % 10_000)).await;
            woken.set(woken.get() + 1);
        }));
    }
    cord.block_on(leno::sleep(10 * SECOND));
    assert_eq!(woken.get(), 100_000);
}

#[test]
fn a_cancelled_fiber_takes_its_timer_with_it() {
    // F12: otherwise virtual time would jump there, as soon as all wait.
    let cord = cord();
    cord.block_on(async {
        let start = fiber::now();
        let fiber = spawn_local(leno::sleep(3600 * SECOND));
        leno::yield_now().await;
        fiber.cancel();
        fiber.await.unwrap_err();
        waits_for_no_timer().await;
        assert_eq!(fiber::now(), start);
    });
}

/// A waker that keeps its thread for a while.
fn holds() -> Waker {
    waker(|| std::thread::sleep(Duration::from_millis(700)))
}

/// C28, F12: a wait that comes back late fires the timers that nobody else looks after before it gives up, if these were due in time.
#[test]
fn what_was_due_before_the_limit_is_found_by_who_comes_late() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async {
            let holds = set_timer(Duration::from_millis(5), &holds());
            let one = leno::channel::ticker::after(Duration::from_millis(50));
            let received = one.recv_timeout(Duration::from_millis(400));
            drop(holds);
            received
        });
        fiber.wait().unwrap().expect("it was due before the limit");
    });
}

/// But not what is due after it: a waker may wait for what comes after that wait.
#[test]
fn what_is_due_after_the_limit_is_not_fired_by_who_comes_late() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async {
            let ((tx, rx), (_silent, silence)) = (leno::rendezvous(), leno::rendezvous::<()>());
            let receives = waker(move || rx.recv_blocking().expect("it is sent after the wait"));
            let timers = [
                set_timer(Duration::from_millis(5), &holds()),
                set_timer(Duration::from_millis(600), &receives),
            ];
            let received = silence.recv_timeout(Duration::from_millis(100));
            tx.send_blocking(()).unwrap();
            drop(timers);
            received
        });
        fiber.wait().unwrap().expect_err("nothing was sent");
    });
}

/// Once the time is up by the clock it is up, whether or not somebody has had time to fire the timer; and then it is so everywhere.
#[test]
fn what_is_over_is_over_before_its_timer_is_fired_and_on_any_clock() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async {
            let mut sleep = set_timer(Duration::from_millis(1), Waker::noop());
            while !sleep.is_elapsed() {
                std::hint::spin_loop();
            }
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(Waker::noop())).is_ready());
        });
        fiber.wait().unwrap();
        let mut sleep = leno::sleep(SECOND);
        let [mut sleep] = cord().block_on(async move {
            leno::sleep(5 * SECOND).await;
            (&mut sleep).await;
            [sleep]
        });
        let mut poll = || Pin::new(&mut sleep).poll(&mut Context::from_waker(Waker::noop()));
        cord().block_on(async { assert!(poll().is_ready()) });
        assert!(poll().is_ready());
    });
}

/// F12: it is over by the clock that is asked when a poll there would be ready, whichever clock it was begun on.
#[test]
fn whether_it_is_over_is_said_by_the_clock_that_is_asked() {
    let ahead = cord();
    ahead.block_on(leno::sleep(3600 * SECOND));
    let mut sleep = leno::sleep(SECOND);
    let poll = |sleep: &mut Sleep| Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()));
    ahead.block_on(async {
        assert!(!sleep.is_elapsed(), "begun outside");
        assert!(poll(&mut sleep).is_pending());
        assert!(!sleep.is_elapsed());
    });
    assert!(!sleep.is_elapsed());
    cord().block_on(async { assert!(!sleep.is_elapsed(), "begun on a clock that is ahead") });
    ahead.block_on(leno::sleep(SECOND));
    assert!(sleep.is_elapsed(), "its time is up where it was begun");
    ahead.block_on(async { assert!(poll(&mut sleep).is_ready()) });
    assert!(sleep.is_elapsed());
    cord().block_on(async { assert!(sleep.is_elapsed(), "it is over") });
    assert!(poll(&mut sleep).is_ready());
}

/// Those that are found due at one time are woken in the order of their deadlines, whenever they were set.
#[test]
fn what_is_overdue_is_woken_in_the_order_of_deadlines() {
    Cord::new().block_on(async {
        let log = Arc::<std::sync::Mutex<Vec<usize>>>::default();
        // (On a busy machine some may be over before they are set: then all are set anew.)
        let sleeps = loop {
            let start = fiber::now() + Duration::from_millis(5);
            let set = [3, 0, 4, 1, 2].map(|at| {
                let mut sleep = sleep_until(start + at as u32 * Duration::from_micros(1));
                let log = log.clone();
                let notes = waker(move || log.lock().unwrap().push(at));
                let set = Pin::new(&mut sleep).poll(&mut Context::from_waker(&notes)).is_pending();
                (sleep, set)
            });
            if set.iter().all(|(_, set)| *set) {
                break set;
            }
        };
        std::thread::sleep(Duration::from_millis(10));
        while log.lock().unwrap().is_empty() {
            fiber::yield_now().await;
        }
        assert_eq!(*log.lock().unwrap(), [0, 1, 2, 3, 4]);
        drop(sleeps);
    });
}
