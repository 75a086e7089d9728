//! Races with real threads: short by default, longer with `LENO_STRESS=<factor>`.

mod fiber_support;

use fiber_support::{Drops, SeqCst, Stash, until};
use leno::fiber::{Runtime, unblock};
use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::Poll;
use std::time::Duration;

fn rounds(n: usize) -> usize {
    let factor = std::env::var("LENO_STRESS").ok().and_then(|text| text.parse::<usize>().ok()).unwrap_or(1);
    n * factor
}

/// Parks and pushes as fast as it can: one fiber at a time, so that the last worker is always about to park.
#[test]
fn no_wake_is_lost_as_the_last_worker_parks() {
    // F9
    for workers in [1, 2, 4] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        for round in 0..rounds(2000) {
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

#[test]
fn each_wake_makes_a_run_and_no_fiber_runs_twice_at_once() {
    // F1, F9
    let runtime = Runtime::builder().workers(3).build().unwrap();
    let fibers = 8;
    let shared: Vec<_> = (0..fibers)
        .map(|_| (Stash::default(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false))))
        .collect();
    let target = rounds(2000);
    let handles: Vec<_> = shared
        .iter()
        .cloned()
        .map(|(stash, sent, running)| {
            let mut waits = Box::pin(stash.pending());
            runtime.spawn(poll_fn(move |cx| {
                assert!(!running.swap(true, SeqCst), "two threads poll one fiber");
                let _ = waits.as_mut().poll(cx);
                let done = sent.load(SeqCst) == 2 * target;
                running.store(false, SeqCst);
                if done { Poll::Ready(()) } else { Poll::Pending }
            }))
        })
        .collect();
    until(|| shared.iter().all(|(stash, ..)| stash.polls() > 0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..target {
                    for (stash, sent, _) in &shared {
                        sent.fetch_add(1, SeqCst);
                        stash.waker().unwrap().wake();
                    }
                }
            });
        }
    });
    for handle in handles {
        handle.wait().unwrap();
    }
}

#[test]
fn wake_cancel_complete_and_detach_race() {
    // F1, F2, F3, F6: every future and every output is dropped exactly once, whatever wins.
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let drops = Drops::default();
    let total = rounds(2000);
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

#[test]
fn shutdown_races_with_wakes_and_spawns() {
    // F7, F8
    for _ in 0..rounds(30) {
        let runtime = Runtime::builder().workers(2).build().unwrap();
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
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let fibers: Vec<_> = (0..rounds(200) as u64)
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

#[test]
fn jobs_race_with_drops() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let drops = Drops::default();
    let total = rounds(300);
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

#[test]
fn a_blocked_worker_keeps_nobody_waiting() {
    // F10: with two workers, one blocked: what is woken behind it runs on the other.
    let runtime = Runtime::builder().workers(2).build().unwrap();
    for _ in 0..5 {
        let start = std::time::Instant::now();
        let blocker = runtime.spawn(async {
            let woken = leno::spawn(async { std::time::Instant::now() });
            std::thread::sleep(Duration::from_millis(30));
            woken.await.unwrap()
        });
        let at = blocker.wait().unwrap();
        assert!(at - start < Duration::from_millis(25), "it waited for the blocked worker");
    }
    drop(runtime.spawn(pending::<()>()));
}
