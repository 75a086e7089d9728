//! Blocking calls in fibers, and `unblock`.

use crate::support::{Defer, Drops, Latch, SeqCst, in_time, keep_warnings, until, warnings};
use leno::channel::ticker;
use leno::fiber::{self, Cord, Runtime, spawn_local, unblock};
use leno::select::{Select, Selected2, select};
use leno::time::Clock;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

#[test]
fn in_a_runtimes_fiber_blocking_is_reported_once_per_place() {
    // C25
    keep_warnings();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let mut lines = Vec::new();
    let fiber = runtime.spawn(async move {
        for _ in 0..3 {
            leno::sleep(Duration::from_millis(1)).wait();
            lines.push(line!() - 1);
        }
        assert_eq!(leno::spawn(async { 4 }).wait().unwrap(), 4);
        lines.push(line!() - 1);
        leno::block_on(async {});
        lines.push(line!() - 1);
        let (tx, rx) = leno::bounded(1);
        tx.try_send(5).unwrap();
        assert_eq!(rx.into_recv().wait(), Ok(5));
        lines.push(line!() - 1);
        let (_never, nevers) = leno::rendezvous::<i32>();
        let (tx, rx) = leno::rendezvous();
        leno::spawn(async move { while tx.send(6).await.is_ok() {} });
        assert_eq!(select((rx.recv(), nevers.recv())).wait(), Selected2::First(Ok(6)));
        lines.push(line!() - 1);
        let mut set = Select::new();
        let token = set.recv(&rx);
        let operation = set.select().wait();
        lines.push(line!() - 1);
        assert_eq!(operation.recv(token), Ok(6));
        lines.dedup();
        lines
    });
    let lines = fiber.wait().unwrap();
    let mut mine = Vec::new();
    for line in lines {
        let here = warnings(&format!("fiber/blocking.rs:{line}:"));
        assert_eq!(here.len(), usize::from(cfg!(debug_assertions)), "{line}: {here:?}");
        mine.extend(here);
    }
    assert!(mine.iter().all(|text| text.contains("unblock")), "{mine:?}");
    assert_eq!(warnings("src/select/"), [""; 0], "a place of leno's own");
    if cfg!(debug_assertions) {
        assert!(mine[0].contains("Sleep::wait") && mine[1].contains("JoinHandle::wait"));
        assert!(mine[2].contains("block_on") && mine[3].contains("recv"));
    }
}

#[test]
fn a_place_is_warned_of_for_each_reason() {
    /// Spawns a fiber with a limit for its polls, and waits for it; both are at the caller's place.
    #[track_caller]
    fn spawn_and_wait() {
        let builder = fiber::Builder::new().slice_limit(Duration::ZERO);
        builder.spawn(async { std::thread::sleep(Duration::from_millis(1)) }).wait().unwrap();
    }

    keep_warnings();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let line = runtime.spawn(async {
        spawn_and_wait();
        line!() - 1
    });
    let line = line.wait().unwrap();
    // (It is told of a poll after that.)
    drop(runtime);
    let told = warnings(&format!("fiber/blocking.rs:{line}:"));
    let of = |what: &str| told.iter().filter(|text| text.contains(what)).count();
    assert_eq!(of("JoinHandle::wait"), usize::from(cfg!(debug_assertions)), "{told:?}");
    assert_eq!(of("was polled for"), 1, "{told:?}");
}

#[test]
fn in_a_cords_fiber_blocking_panics() {
    // C25
    let cord = Cord::new();
    cord.block_on(async {
        for call in [
            (|| leno::sleep(Duration::ZERO).wait()) as fn(),
            || drop(leno::spawn(async {}).wait()),
            || leno::yield_now().wait(),
            || unblock(|| ()).wait(),
            || leno::sleep(Duration::ZERO).wait_timeout(Duration::ZERO).unwrap(),
            || leno::sleep(Duration::ZERO).wait_deadline(Instant::now()).unwrap(),
        ] {
            let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            let message = payload.downcast_ref::<String>().unwrap();
            assert!(message.contains("fiber/blocking.rs:"), "{message}");
            assert!(message.contains(".await") && message.contains("unblock"), "{message}");
        }
        // On a thread of its own kind it is fine, also from a cord.
        assert_eq!(unblock(|| leno::spawn(async { 3 }).wait().unwrap()).await, 3);
    });
    assert!(Cord::spawn("c", || async { leno::yield_now().wait() }).unwrap().wait().unwrap_err().is_panic());
}

#[test]
fn a_fiber_with_no_budget_left_may_block() {
    // C25, F10
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async {
            let (tx, rx) = leno::bounded(1);
            let (out, outs) = leno::rendezvous();
            let mutex = leno::sync::Mutex::new(());
            let guard = mutex.try_lock().unwrap();
            // In some of the rounds the budget is spent by the time at which the fiber blocks.
            for i in 0..300 {
                tx.try_send(i).unwrap();
                assert_eq!(rx.recv().await, Ok(i));
                let peer = std::thread::scope(|scope| {
                    let peer = scope.spawn(|| outs.recv_blocking());
                    if i % 10 == 0 {
                        out.send(i).wait().unwrap();
                    } else {
                        out.send_blocking(i).unwrap();
                    }
                    peer.join().unwrap()
                });
                assert_eq!(peer, Ok(i));
                assert!(mutex.lock_timeout(Duration::ZERO).is_none());
            }
            drop(guard);
        });
        fiber.wait().unwrap();
    });
}

#[test]
fn waits_on_plain_threads() {
    let start = Instant::now();
    leno::sleep(Duration::from_millis(5)).wait();
    assert!(start.elapsed() >= Duration::from_millis(5));
    leno::yield_now().wait();
    assert_eq!(unblock(|| 6).wait(), 6);
    let mut forever = leno::sleep(Duration::MAX);
    assert!(forever.wait_timeout(Duration::from_millis(1)).is_err());
    assert!(forever.wait_deadline(Instant::now()).is_err());
}

#[test]
fn a_single_worker_that_waits_for_a_timer_gets_it() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async {
            leno::sleep(Duration::from_millis(2)).wait();
            assert!(leno::sleep(Duration::from_millis(1)).wait_timeout(Duration::from_secs(60)).is_ok());
            assert!(!fiber::park_timeout(Duration::from_millis(1)).wait());
        });
        fiber.wait().unwrap();
    });
}

#[test]
fn workers_that_all_wait_fire_their_timers() {
    // F12
    for workers in [1, 2] {
        in_time(move || {
            let runtime = Arc::new(Runtime::builder().workers(workers).build().unwrap());
            let fibers: Vec<_> = (0..workers)
                .map(|_| {
                    let inner = runtime.clone();
                    runtime.spawn(async move {
                        let sleep = |millis| leno::sleep(Duration::from_millis(millis));
                        fiber::race(sleep(1), pending::<()>()).wait();
                        fiber::join_all([sleep(2), sleep(1), sleep(3)]).wait();
                        inner.block_on(async move {
                            sleep(1).await;
                            leno::timeout(Duration::from_millis(1), pending::<()>()).await.unwrap_err();
                        });
                        ticker::after(Duration::from_millis(1)).recv_blocking().unwrap();
                        // A call in a call, and waits that are woken all the time.
                        let ticks = ticker::after(Duration::from_millis(1));
                        inner.block_on(async { ticks.recv_blocking() }).unwrap();
                        let busy = || {
                            Box::pin(async {
                                loop {
                                    fiber::yield_now().await;
                                }
                            })
                        };
                        let ticks = ticker::after(Duration::from_millis(1));
                        let _: fiber::Either<(), _> = fiber::race(busy(), ticks.recv()).wait();
                        let ticks = ticker::after(Duration::from_millis(1));
                        inner.block_on(async {
                            let _: fiber::Either<(), _> = fiber::race(busy(), ticks.recv()).await;
                        });
                    })
                })
                .collect();
            fibers.into_iter().for_each(|fiber| fiber.wait().unwrap());
        });
    }
}

#[test]
fn unblock_gives_the_result_or_the_panic() {
    leno::block_on(async {
        let thread = std::thread::current().id();
        assert_ne!(unblock(|| std::thread::current().id()).await, thread);
        let fiber = leno::spawn(async { unblock(|| panic_any(5_u8)).await });
        assert_eq!(*fiber.await.unwrap_err().into_panic().downcast::<u8>().unwrap(), 5);
        // The pool survives.
        assert_eq!(unblock(|| 7).await, 7);
    });
}

#[test]
fn unblock_does_nothing_before_it_is_polled() {
    let drops = Drops::default();
    let probe = drops.probe();
    drop(unblock(move || drop(probe)));
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_dropped_unblock_that_runs_finishes_and_drops_its_result() {
    in_time(|| {
        let cord = Cord::with_clock(Clock::virtual_time());
        let (drops, inside, leave) = (Drops::default(), Latch::default(), Latch::default());
        let (probe, enter, wait) = (drops.probe(), inside.clone(), leave.clone());
        cord.block_on(async move {
            let fiber = spawn_local(unblock(move || {
                enter.open();
                wait.wait();
                probe
            }));
            leno::yield_now().await;
            inside.wait();
            fiber.cancel();
            assert!(fiber.await.err().unwrap().is_cancelled());
        });
        assert_eq!(drops.count(), 0);
        leave.open();
        until(|| drops.count() == 1);
    });
}

#[test]
fn many_jobs_run_at_once_and_more_wait_their_turn() {
    in_time(|| {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let gate = Latch::default();
        let jobs = (0..520).map(|_| {
            let (running, most, gate) = (running.clone(), most.clone(), gate.clone());
            leno::spawn(unblock(move || {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                gate.wait();
                running.fetch_sub(1, SeqCst);
            }))
        });
        let jobs: Vec<_> = jobs.collect();
        until(|| running.load(SeqCst) == 512);
        gate.open();
        jobs.into_iter().for_each(|job| job.wait().unwrap());
        assert_eq!(most.load(SeqCst), 512);
    });
}

#[test]
fn virtual_time_stands_still_while_a_job_runs() {
    // F12, F17's exception: also when the future that waits for it has been dropped.
    in_time(|| {
        for dropped in [false, true] {
            let cord = Cord::with_clock(Clock::virtual_time());
            let leave = Latch::default();
            let wait = leave.clone();
            let opener = leave.clone();
            let start = cord.block_on(async { fiber::now() });
            let slept = cord.spawn_local(async move {
                leno::sleep(Duration::from_secs(60)).await;
                fiber::now()
            });
            let job = cord.spawn_local(async move {
                unblock(move || wait.wait()).await;
                fiber::now()
            });
            let thread = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                opener.open();
            });
            let ended = cord.block_on(async move {
                leno::yield_now().await;
                if dropped {
                    job.cancel();
                }
                job.await
            });
            assert_eq!(ended.is_err(), dropped);
            if let Ok(at) = ended {
                assert_eq!(at, start);
            }
            assert!(!slept.is_finished());
            assert_eq!(cord.block_on(slept).unwrap() - start, Duration::from_secs(60));
            thread.join().unwrap();
        }
    });
}

/// C25: that it may block shows on a cord in any case, and not only where there is something to wait for.
#[test]
fn in_a_cords_fiber_what_need_not_wait_panics_as_well() {
    use leno::sync::{Lazy, OnceCell};
    in_time(|| {
        Cord::new().block_on(async {
            for call in [
                (|| _ = OnceCell::<u8>::new().get_or_init_blocking(|| 1)) as fn(),
                || _ = OnceCell::<u8>::new().get_or_try_init_blocking(|| Err(())),
                || _ = Lazy::new(async || 1).get_blocking(),
                || drop(Runtime::builder().workers(1).build().unwrap().shutdown(Duration::ZERO)),
            ] {
                let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
                let message = payload.downcast_ref::<String>().unwrap();
                assert!(message.contains("fiber/blocking.rs:") && message.contains("unblock"), "{message}");
            }
            // What is there is there.
            let cell = OnceCell::from(3);
            assert_eq!(*cell.get_or_init_blocking(|| 4), 3);
        });
    });
}

/// A result that nobody wants may panic in its drop, however often: its thread goes on with other jobs.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn unwanted_results_may_panic_in_their_drops() {
    in_time(|| {
        leno::block_on(async {
            // More than there can be threads.
            for _ in 0..600 {
                let (inside, leave) = (Latch::default(), Latch::default());
                let (entered, wait) = (inside.clone(), leave.clone());
                let mut job = unblock(move || {
                    entered.open();
                    wait.wait();
                    Defer(|| panic!("planted: a result panics in its drop"))
                });
                assert!(leno::timeout(Duration::ZERO, &mut job).await.is_err());
                inside.wait();
                drop(job);
                leave.open();
            }
            assert_eq!(unblock(|| 5).await, 5);
        });
    });
}
