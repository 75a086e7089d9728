//! Fibers that begin, wait, are woken, cancelled and joined on several workers at once (F1–F4, F6–F9, F11, F12, F15, F16).

use crate::support::{Drops, SeqCst, Stash, scale, until};
use leno::fiber::{Runtime, unblock};
use std::collections::HashMap;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::Poll;
use std::time::Duration;

/// As `until`, for what takes a million steps on a busy machine.
fn until_late(done: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(100), "it never happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Parks and pushes as fast as it can: one fiber at a time, so that the last worker is always about to park.
#[test]
fn no_wake_is_lost_as_the_last_worker_parks() {
    // F9
    for workers in [1, 2, 4] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        for round in 0..2000 * scale() {
            let fiber = runtime.spawn(async move { round });
            if round % 2 == 0 {
                for _ in 0..round % 64 {
                    std::hint::spin_loop();
                }
            }
            assert_eq!(fiber.wait().unwrap(), round);
        }
    }
}

/// Futures of `block_on` and fibers answer each other, several at once on one runtime, so that threads and workers look around
/// for each other, yield and sleep. Some calls wait as the thread does, beside the wait of its `block_on`.
#[test]
fn futures_of_block_on_and_fibers_answer_each_other() {
    // F9, F11
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let talk = |capacity: usize, last: usize| {
            let (ask, asked) = leno::bounded(capacity);
            let (answer, answered) = leno::bounded(capacity);
            runtime.block_on(async move {
                let fiber = leno::spawn(async move {
                    while let Ok(number) = asked.recv().await {
                        answer.send(number + 1).await.expect("it is waited for");
                    }
                });
                for number in 0..last {
                    match number % 3 {
                        0 => ask.send_blocking(number).expect("the fiber is there"),
                        _ => ask.send(number).await.expect("the fiber is there"),
                    }
                    let came = match number % 4 {
                        0 => answered.recv_blocking(),
                        _ => answered.recv().await,
                    };
                    assert_eq!(came, Ok(number + 1));
                }
                drop(ask);
                fiber.await.expect("no panic");
            });
        };
        std::thread::scope(|scope| {
            for capacity in [0, 1, 8] {
                scope.spawn(move || (0..200 * scale()).for_each(|round| talk(capacity, round % 32)));
            }
        });
    }
}

#[test]
fn each_wake_makes_a_run_and_no_fiber_runs_twice_at_once() {
    // F1, F9
    for workers in [1, 3] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let fibers = 8;
        let shared: Vec<_> = (0..fibers)
            .map(|_| (Stash::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false))))
            .collect();
        let target = 2000 * scale();
        let handles: Vec<_> = shared
            .iter()
            .cloned()
            .map(|(stash, sent, running)| {
                let mut waits = Box::pin(stash.pending());
                runtime.spawn(poll_fn(move |cx| {
                    assert!(!running.swap(true, SeqCst), "two threads poll one fiber");
                    let _ = waits.as_mut().poll(cx);
                    let done = sent.load(SeqCst) == 3 * target;
                    running.store(false, SeqCst);
                    if done { Poll::Ready(()) } else { Poll::Pending }
                }))
            })
            .collect();
        until(|| shared.iter().all(|(stash, ..)| stash.polls() > 0));
        let wake_all = |shared: &[(Stash, Arc<AtomicUsize>, Arc<AtomicBool>)]| {
            for (stash, sent, _) in shared {
                sent.fetch_add(1, SeqCst);
                stash.waker().unwrap().wake();
            }
        };
        let inside = shared.clone();
        let inside = runtime.spawn(async move {
            for _ in 0..target {
                wake_all(&inside);
                leno::yield_now().await;
            }
        });
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..target).for_each(|_| wake_all(&shared)));
            }
        });
        inside.wait().unwrap();
        for handle in handles {
            handle.wait().unwrap();
        }
    }
}

/// Polled first by who makes it, on a thread that is no worker, while a wake-up comes; then by a worker.
#[test]
fn spawned_now_elsewhere_while_it_is_woken() {
    // F1
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        for _ in 0..500 * scale() {
            let (stash, inputs) = (Stash::default(), Arc::new(AtomicUsize::new(0)));
            let feeder = {
                let (stash, inputs) = (stash.clone(), inputs.clone());
                std::thread::spawn(move || {
                    for _ in 0..3 {
                        until(|| stash.polls() > 0);
                        inputs.fetch_add(1, SeqCst);
                        stash.waker().unwrap().wake();
                    }
                })
            };
            let mut waits = Box::pin(stash.pending());
            let mut fiber = None;
            runtime.block_on(async {
                fiber = Some(leno::fiber::spawn_now(poll_fn(move |cx| {
                    let _ = waits.as_mut().poll(cx);
                    if inputs.load(SeqCst) == 3 { Poll::Ready(()) } else { Poll::Pending }
                })));
            });
            feeder.join().unwrap();
            fiber.unwrap().wait().unwrap();
        }
    }
}

#[test]
fn wake_cancel_complete_and_detach_race() {
    // F1, F2, F3, F6: every future and every output is dropped exactly once, whatever wins.
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let drops = Drops::default();
        let total = 2000 * scale();
        for round in 0..total {
            let (stash, finish) = (Stash::default(), Arc::new(AtomicBool::new(false)));
            let (ended, in_future, in_output) = (finish.clone(), drops.probe(), drops.probe());
            let mut waits = Box::pin(stash.pending());
            let mut output = Some(in_output);
            let handle = runtime.spawn(poll_fn(move |cx| {
                let _ = &in_future;
                let _ = waits.as_mut().poll(cx);
                if ended.load(SeqCst) { Poll::Ready(output.take()) } else { Poll::Pending }
            }));
            let fiber = handle.fiber();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    finish.store(true, SeqCst);
                    stash.waker().into_iter().for_each(std::task::Waker::wake);
                });
                match round % 4 {
                    0 => fiber.cancel(),
                    1 => drop(handle),
                    2 => {
                        drop(handle);
                        fiber.cancel();
                    }
                    _ => {
                        fiber.cancel();
                        drop(handle.wait());
                    }
                }
            });
            fiber.cancel();
            stash.take();
        }
        drop(runtime);
        assert_eq!(drops.count(), 2 * total);
    }
}

#[test]
fn shutdown_races_with_wakes_and_spawns() {
    // F7, F8
    for round in 0..60 * scale() {
        let runtime = Runtime::builder().workers(1 + round % 2).build().unwrap();
        let (drops, made) = (Drops::default(), Arc::new(AtomicUsize::new(0)));
        let stashes: Vec<_> = (0..20).map(|_| Stash::default()).collect();
        for stash in &stashes {
            let (probe, waits, probes, made) = (drops.probe(), stash.pending(), drops.clone(), made.clone());
            made.fetch_add(1, SeqCst);
            drop(runtime.spawn(async move {
                let _probe = probe;
                made.fetch_add(1, SeqCst);
                let child = probes.probe();
                drop(leno::spawn(async move {
                    let _probe = child;
                    leno::sleep(Duration::from_secs(60)).await;
                }));
                waits.await;
            }));
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(SeqCst) {
                    for stash in &stashes {
                        stash.waker().into_iter().for_each(std::task::Waker::wake);
                    }
                }
            });
            drop(runtime);
            stop.store(true, SeqCst);
        });
        assert_eq!(drops.count(), made.load(SeqCst));
    }
}

#[test]
fn timers_race_with_drops_and_resets() {
    // F12, with real time: no timer is lost, none kills anybody.
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let fibers: Vec<_> = (0..200 * scale() as u64)
            .map(|n| {
                runtime.spawn(async move {
                    let start = std::time::Instant::now();
                    let span = Duration::from_micros(n * 37 % 3000);
                    let mut long = leno::sleep(Duration::from_secs(60));
                    let _ = leno::timeout(Duration::from_micros(n % 500), &mut long).await;
                    long.reset(start + span);
                    long.await;
                    assert!(start.elapsed() >= span);
                })
            })
            .collect();
        for fiber in fibers {
            fiber.wait().unwrap();
        }
    }
}

#[test]
fn jobs_race_with_drops() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let drops = Drops::default();
    let total = 300 * scale();
    for round in 0..total {
        let probe = drops.probe();
        let fiber = runtime.spawn(unblock(move || probe));
        if round % 3 == 0 {
            fiber.cancel();
        }
        drop(fiber.wait());
    }
    until(|| drops.count() == total);
}

#[test]
fn many_fibers_many_parents() {
    // F9, F15, F16: a tree of ten thousand fibers; every id once.
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let fibers = runtime.block_on(async {
        let parents: Vec<_> = (0..100)
            .map(|_| {
                leno::spawn(async {
                    let children: Vec<_> =
                        (0..100).map(|_| leno::spawn(async { leno::fiber::current().id() })).collect();
                    let mut ids = Vec::new();
                    for child in children {
                        ids.push(child.await.unwrap());
                    }
                    ids
                })
            })
            .collect();
        let mut seen = HashMap::new();
        for parent in parents {
            for id in parent.await.unwrap() {
                *seen.entry(id).or_insert(0) += 1;
            }
        }
        seen
    });
    assert_eq!(fibers.len(), 10_000);
    assert!(fibers.values().all(|count| *count == 1));
}

/// A node of a random tree: it has children, waits for some, cancels some, and ends before the others.
fn node(
    depth: usize,
    seed: u64,
    made: Arc<AtomicUsize>,
    drops: Drops,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    made.fetch_add(1, SeqCst);
    let probe = drops.probe();
    Box::pin(async move {
        let _probe = probe;
        let mut random = seed;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let mut children = Vec::new();
        for _ in 0..below(8) {
            if depth > 0 {
                let child = node(depth - 1, below(u64::MAX), made.clone(), drops.clone());
                children.push(leno::spawn(child));
            }
            match below(32) {
                0..4 => drop(children.pop()),
                4 => children.iter().for_each(leno::fiber::JoinHandle::cancel),
                5 => leno::fiber::current().cancel(),
                6 => return,
                7 => _ = children.pop().map(|child| child.cancel_on_drop()),
                _ => leno::yield_now().await,
            }
        }
        if below(2) == 0 {
            for child in children {
                let _ = child.await;
            }
        } else if below(4) == 0 {
            pending::<()>().await;
        }
    })
}

/// Trees grow, are cancelled and end in parts, while others look for who lives.
fn trees_come_and_go(workers: usize, time: usize) {
    let runtime = Runtime::builder().workers(workers).build().unwrap();
    let (made, drops) = (Arc::new(AtomicUsize::new(0)), Drops::default());
    // Released by its parent, it becomes a root among all the others.
    let stays = runtime
        .spawn(async {
            let stays = leno::spawn(pending::<()>());
            leno::yield_now().await;
            Some(stays)
        })
        .wait()
        .unwrap()
        .expect("it was made");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                assert_eq!(leno::fiber::find(stays.id()), Some(stays.fiber()));
                if over.load(SeqCst) {
                    break;
                }
                std::thread::yield_now();
            }
        });
        let mut grown = std::collections::VecDeque::new();
        for round in 0..100 {
            for root in 0..4 {
                let seed = ((time as u64 * 100 + round) * 4 + root).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                grown.push_back(runtime.spawn(node(5, seed, made.clone(), drops.clone())));
            }
            let ended = runtime.spawn(async { leno::fiber::current() }).wait().unwrap();
            assert!(ended.is_finished());
            assert_eq!(leno::fiber::find(ended.id()), None);
            // The others go on without an end to their roots.
            if grown.len() > 32 {
                grown.drain(..8).step_by(2).for_each(|root| root.cancel());
            }
        }
        over.store(true, SeqCst);
    });
    let left = runtime.shutdown(Duration::ZERO);
    assert!(left.contains(&stays.fiber()), "shutdown knows who lives");
    assert_eq!(drops.count(), made.load(SeqCst));
    assert!(drops.count() > 1000, "there were trees");
}

/// F4, F7, F15: trees grow, are cancelled and end in parts on several workers, while others look for who lives. Each future
/// is dropped once, who waits all the time is found all the time, and who has ended is not.
#[test]
fn trees_come_and_go_while_others_look() {
    // (A look takes longer the more there are, and what has no root any more stays to the end.)
    for time in 0..scale() {
        for workers in [1, 2, 4] {
            trees_come_and_go(workers, time);
        }
    }
}

#[test]
fn a_star_and_a_chain_of_a_million() {
    // F4, F16: in release builds a million. One parent has them all, or each has the next: they are found, released by
    // a parent that ends, cancelled with one that doesn't, and ended with their runtime.
    const MANY: usize = if cfg!(debug_assertions) { 50_000 } else { 1_000_000 };
    fn link(left: usize, drops: Drops, made: Arc<AtomicUsize>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let probe = drops.probe();
        Box::pin(async move {
            let _probe = probe;
            made.fetch_add(1, SeqCst);
            if left > 1 {
                drop(leno::spawn(link(left - 1, drops, made)));
            }
            pending::<()>().await;
        })
    }
    let runtime = Runtime::builder().workers(2).build().unwrap();
    for stays in [true, false] {
        let (drops, made) = (Drops::default(), Arc::new(AtomicUsize::new(0)));
        let (probes, count) = (drops.clone(), made.clone());
        let parent = runtime.spawn(async move {
            let mut last = None;
            for _ in 0..MANY {
                let probe = probes.probe();
                last = Some(leno::spawn(async move {
                    let _probe = probe;
                    pending::<()>().await;
                }));
            }
            count.store(1, SeqCst);
            if stays {
                pending::<()>().await;
            }
            last.unwrap().fiber()
        });
        if stays {
            until_late(|| made.load(SeqCst) == 1);
            parent.cancel();
            assert!(parent.wait().unwrap_err().is_cancelled());
            until_late(|| drops.count() == MANY);
        } else {
            let last = parent.wait().unwrap();
            assert_eq!(leno::fiber::find(last.id()), Some(last));
            assert_eq!(drops.count(), 0, "they were released");
        }
    }
    let (drops, made) = (Drops::default(), Arc::new(AtomicUsize::new(0)));
    let top = runtime.spawn(link(MANY, drops.clone(), made.clone()));
    until_late(|| made.load(SeqCst) == MANY);
    top.cancel();
    until_late(|| drops.count() == MANY);
    drop(runtime.spawn(link(MANY, drops.clone(), made.clone())));
    until_late(|| made.load(SeqCst) == 2 * MANY);
    drop(runtime);
    assert_eq!(drops.count(), 2 * MANY);
}
