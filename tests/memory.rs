//! Memory of waits, at scale: what a burst took comes back, and a storm of cancelled waits takes nothing (C9, C10, F16, S1).
//!
//! The allocator counts for the whole process, as nodes are freed by whichever thread comes by, and timers are kept by the default
//! runtime; so the tests here take turns. Short by default; `LENO_STRESS=n` runs n times as much.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use leno::channel::{broadcast, oneshot, ticker, watch};
use leno::fiber::{self, Runtime};
use leno::rendezvous;
use leno::select::select;

use support::memory::Counting;
use support::{CountingWaker, Kind, PollExt, scale, within};

/// Caches that fill up once: a chunk of nodes or two, and what waits in an epoch.
const CACHES: isize = 1 << 20;

/// What a process-wide count has grown by, once whatever waits in an epoch had its chance to go.
fn settled(before: isize) -> isize {
    let waker = CountingWaker::new();
    for _ in 0..100 {
        // Each of these pins an epoch, and is a chance to collect.
        let (_tx, rx) = rendezvous::<u64>();
        let mut waiting = (0..100).map(|_| rx.recv()).collect::<Vec<_>>();
        for receiving in &mut waiting {
            assert!(receiving.poll_once(&waker).is_pending(), "nothing was sent");
        }
    }
    Counting::live() - before
}

/// A hundred thousand wait at once, and go: in the order in which they came, and in the opposite one.
#[test]
fn a_burst_gives_its_memory_back() {
    const MANY: usize = 100_000;
    let _alone = Counting::alone();
    let waker = CountingWaker::new();
    for newest_first in [false, true] {
        let before = Counting::live();
        let (_tx, rx) = rendezvous::<u64>();
        let mut waiting = (0..MANY).map(|_| rx.recv()).collect::<Vec<_>>();
        for receiving in &mut waiting {
            assert!(receiving.poll_once(&waker).is_pending(), "nothing was sent");
        }
        let most = Counting::live() - before;
        assert!(most > (MANY * 64) as isize, "they take memory while they wait, or this test sees nothing");
        if newest_first {
            waiting.reverse();
        }
        waiting.drain(..).for_each(drop);
        drop(waiting);
        let left = settled(before);
        println!("newest first: {newest_first}: {most} bytes at most, {left} are left");
        assert!(left <= CACHES, "of {most} bytes, {left} are left");
    }
}

/// The same, served; and by other threads than those that wait.
#[test]
fn a_burst_that_is_served_gives_its_memory_back() {
    const MANY: usize = 100_000;
    let _alone = Counting::alone();
    let before = Counting::live();
    let (tx, rx) = rendezvous::<usize>();
    let served = Arc::new(Barrier::new(3));
    let threads = (0..2).map(|_| {
        let (rx, served) = (rx.clone(), Arc::clone(&served));
        std::thread::spawn(move || {
            let waker = CountingWaker::new();
            let mut waiting = (0..MANY / 2).map(|_| rx.recv()).collect::<Vec<_>>();
            for receiving in &mut waiting {
                assert!(receiving.poll_once(&waker).is_pending(), "nothing was sent yet");
            }
            served.wait();
            for mut receiving in waiting {
                assert!(receiving.poll_once(&waker).is_ready(), "it was served");
            }
        })
    });
    let threads = threads.collect::<Vec<_>>();
    for number in 0..MANY {
        let mut number = Some(number);
        while let Some(value) = number.take() {
            // Nobody may wait yet.
            if let Err(refused) = tx.try_send(value) {
                number = Some(refused.into_inner());
                std::thread::yield_now();
            }
        }
    }
    served.wait();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    drop(served);
    drop((tx, rx));
    let left = settled(before);
    println!("{left} bytes are left");
    assert!(left <= CACHES, "{left} bytes are left");
}

/// A burst that several threads send and receive leaves no more than they were in the middle of.
#[test]
fn a_burst_of_several_threads_gives_its_memory_back() {
    let _alone = Counting::alone();
    let (tx, rx) = leno::unbounded::<[u64; 4]>();
    let before = Counting::live();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..200_000).for_each(|i| tx.try_send([i; 4]).expect("no limit")));
            scope.spawn(|| (0..160_000).for_each(|i| assert!(rx.recv_blocking().is_ok(), "{i}: more come")));
        }
    });
    assert_eq!(rx.len(), 160_000);
    rx.drain().for_each(drop);
    // (The values took 25 MB.)
    let grown = Counting::live() - before;
    assert!(grown < 8 << 20, "a burst left {grown} bytes");
}

/// Waits on a silent channel, each cancelled at once, behind some that stay: memory does not grow.
#[test]
fn a_storm_of_cancelled_waits_takes_nothing() {
    let _alone = Counting::alone();
    let waker = CountingWaker::new();
    for standing in [0, 1, 100, 10_000] {
        let (_tx, rx) = rendezvous::<u64>();
        let mut waiting = (0..standing).map(|_| rx.recv()).collect::<Vec<_>>();
        for receiving in &mut waiting {
            assert!(receiving.poll_once(&waker).is_pending(), "nothing was sent");
        }
        let before = Counting::live();
        let rounds = 25_000 * scale();
        for _ in 0..rounds {
            assert!(rx.recv().poll_once(&waker).is_pending(), "nothing was sent");
        }
        let grown = Counting::live() - before;
        println!("{rounds} cancelled behind {standing}: {grown} bytes");
        assert!(grown <= 64 << 10, "{rounds} cancelled waits behind {standing} left {grown} bytes");
    }
}

/// C9, C10, S1: memory is flat after a million waits, cancelled on several threads while others come and go.
///
/// (A leak of one small node per wait would be 32 MB and more.)
#[test]
fn memory_is_flat_after_a_million_cancelled_waits() {
    let _alone = Counting::alone();
    let before = Counting::live();
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(5000)] {
        within(&format!("cancelled waits, {kind:?}"), move || {
            let (tx, rx) = kind.open::<u64>();
            let (full_tx, full_rx) = kind.open::<u64>();
            kind.fill(&full_tx, |i| i as u64);
            let rounds = 1_000_000 / 3 / 4 * scale();
            let threads = (0..4).map(|i| {
                let (tx, rx) = (tx.clone(), rx.clone());
                let (full_tx, full_rx) = (full_tx.clone(), full_rx.clone());
                thread::spawn(move || {
                    let _keep = (tx, full_rx);
                    let waker = CountingWaker::new();
                    for _ in 0..rounds {
                        if i % 2 == 0 {
                            assert!(rx.recv().poll_once(&waker).is_pending(), "nothing was ever sent");
                        } else {
                            assert!(full_tx.send(0).poll_once(&waker).is_pending(), "full for good");
                        }
                    }
                    assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
                })
            });
            let threads = threads.collect::<Vec<_>>();
            threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
            drop((tx, rx, full_tx, full_rx));
        });
    }
    let grown = Counting::live() - before;
    assert!(grown < 8 << 20, "a million cancelled waits left {grown} bytes");
}

/// S1: selects over all kinds that lose leave nothing behind, timers included.
#[test]
fn losing_selects_leave_nothing() {
    let _alone = Counting::alone();
    let (_watched, mut watching) = watch::channel(0);
    let (_feed, mut listening) = broadcast::channel::<u8>(1);
    let (full, mut reading) = broadcast::with_lag(1, broadcast::Lag::Suspend);
    full.send(0).unwrap();
    let (_reply, mut answer) = oneshot::channel::<u8>();
    let never = ticker::never();
    let mut round = || {
        let hour = ticker::after(Duration::from_secs(3600));
        let mut select = Box::pin(async {
            leno::select! {
                _ = &mut answer => {}
                _ = watching.changed() => {}
                _ = listening.recv() => {}
                _ = full.send_async(1) => {}
                _ = never.recv() => {}
                _ = hour.recv() => {}
            }
        });
        select.must_wait("nothing happens");
    };
    (0..100).for_each(|_| round());
    let before = Counting::live();
    (0..20_000).for_each(|_| round());
    let after = Counting::live();
    assert!(after - before <= 256 << 10, "{} bytes stayed allocated", after - before);
    assert_eq!(reading.try_recv(), Ok(0));
    assert_eq!(full.assert_valid(), 0);
}

/// F16: a million fibers are parked, at two cache lines each and a bit, and their memory comes back.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn a_million_parked_fibers_give_their_memory_back() {
    const MANY: usize = 1_000_000;
    let _alone = Counting::alone();
    let runtime = Runtime::builder().workers(2).inspect(false).build().unwrap();
    let parked = Arc::new(AtomicUsize::new(0));
    for _ in 0..2 {
        parked.store(0, SeqCst);
        let mut fibers = Vec::with_capacity(MANY);
        let before = Counting::live();
        fibers.extend((0..MANY).map(|_| {
            let parked = Arc::clone(&parked);
            runtime.spawn(async move {
                parked.fetch_add(1, SeqCst);
                fiber::park().await;
            })
        }));
        while parked.load(SeqCst) < MANY {
            std::thread::yield_now();
        }
        let each = (Counting::live() - before) / MANY as isize;
        assert!((96..=144).contains(&each), "{each} bytes for each");
        fibers.iter().for_each(|fiber| fiber.fiber().unpark());
        fibers.drain(..).for_each(|fiber| fiber.wait().unwrap());
        let left = settled(before);
        assert!(left < CACHES, "{left} bytes are left of a million fibers");
    }
}

/// What stays of so many threads that each do this and end.
fn left_by_threads(threads: usize, f: impl Fn() + Sync) -> isize {
    let round = || {
        thread::scope(|scope| {
            scope.spawn(&f);
        });
    };
    (0..50).for_each(|_| round());
    let before = Counting::live();
    (0..threads).for_each(|_| round());
    settled(before)
}

/// Threads that end give their nodes back.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn threads_that_end_keep_no_nodes() {
    let _alone = Counting::alone();
    let (_tx, rx) = leno::bounded::<u8>(1);
    // (Some 3 KB each, otherwise.)
    let grown = left_by_threads(1000, || _ = rx.recv().must_wait("it is empty"));
    assert!(grown < CACHES, "{grown} bytes stayed allocated");
}

/// Nor do they keep the anchor of their last select.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn threads_that_end_keep_no_anchor() {
    let _alone = Counting::alone();
    let ((_tx, rx), (_other, others)) = (leno::bounded::<u8>(1), leno::bounded::<u8>(1));
    let grown = left_by_threads(10_000, || {
        select((rx.recv(), others.recv())).must_wait("both are empty");
    });
    // (Some 40 bytes each, otherwise.)
    assert!(grown < CACHES / 4, "{grown} bytes stayed allocated");
}
