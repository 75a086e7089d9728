//! What every rival has to do, leno's queue among them; figures of a queue that is wrong are worth nothing.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Rival;
use super::few::Few;
use super::leno::Leno;
use super::locked::Locked;
use super::segments::Segments;
use super::spin::Spin;
use super::tickets::Tickets;
use crate::work::{self, Shape};

macro_rules! each {
    ($($name:ident: $rival:ty),* $(,)?) => {
        $(mod $name {
            use super::*;

            #[test]
            fn the_first_leaves_first() {
                in_order::<$rival>();
            }

            #[test]
            fn anyone_may_be_cancelled() {
                cancelled::<$rival>();
            }

            #[test]
            fn a_model_agrees() {
                like_a_model::<$rival>();
            }

            #[test]
            fn two_threads_lose_nobody() {
                stress::<$rival>();
            }

            #[test]
            fn workloads_leave_as_many_as_they_found() {
                workloads::<$rival>();
            }
        })*
    };
}

each! {
    leno: Leno,
    locked: Locked,
    spin: Spin,
    segments: Segments,
    few_4: Few<4, false>,
    few_7: Few<7, false>,
    few_8: Few<8, false>,
    few_4_lock_free: Few<4, true>,
    few_8_lock_free: Few<8, true>,
    tickets_8: Tickets<8>,
    tickets_16: Tickets<16>,
}

/// Waiters for a test, as many as can wait but not more than `n`.
fn waiters<Q: Rival>(n: usize) -> Vec<Q::Waiter> {
    (0..n.min(Q::MOST)).map(|_| Q::waiter()).collect()
}

fn in_order<Q: Rival>() {
    let (queue, mut waiters) = (Q::new(), waiters::<Q>(100));
    for _ in 0..3 {
        waiters.iter_mut().for_each(|waiter| queue.enter(waiter));
        for i in 0..waiters.len() {
            assert!(queue.take());
            let first_waits = waiters.iter().position(Q::waits);
            assert_eq!(first_waits, Some(i + 1).filter(|&next| next < waiters.len()));
        }
        assert!(!queue.take());
    }
    waiters.into_iter().for_each(Q::free);
}

fn cancelled<Q: Rival>() {
    for step in [1, 2, 3, 5] {
        let (queue, mut waiters) = (Q::new(), waiters::<Q>(100));
        waiters.iter_mut().for_each(|waiter| queue.enter(waiter));
        for waiter in waiters.iter_mut().step_by(step) {
            assert!(queue.remove(waiter));
        }
        let stand: Vec<usize> = (0..waiters.len()).filter(|i| i % step != 0).collect();
        for &i in &stand {
            assert!(queue.take());
            assert!(!Q::waits(&waiters[i]), "the first that stands must be taken");
            assert!(!queue.remove(&mut waiters[i]), "it was taken already");
        }
        assert!(!queue.take());
        waiters.into_iter().for_each(Q::free);
    }
}

fn like_a_model<Q: Rival>() {
    let (queue, mut waiters) = (Q::new(), waiters::<Q>(70));
    let mut free: Vec<usize> = (0..waiters.len()).collect();
    let mut line: Vec<usize> = Vec::new();
    let mut random = 7_u64;
    for _ in 0..50_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = (random >> 33) as usize;
        // Long phases in which the line grows, then shrinks.
        let grows = choice >> 2 & 7 < if random >> 60 & 1 == 0 { 5 } else { 3 };
        if grows && !free.is_empty() {
            let waiter = free.swap_remove((choice >> 5) % free.len());
            queue.enter(&mut waiters[waiter]);
            line.push(waiter);
        } else if choice & 1 == 0 || line.is_empty() {
            assert_eq!(queue.take(), !line.is_empty());
            if !line.is_empty() {
                let first = line.remove(0);
                assert!(!Q::waits(&waiters[first]));
                free.push(first);
            }
        } else {
            let waiter = line.remove((choice >> 5) % line.len());
            assert!(queue.remove(&mut waiters[waiter]));
            free.push(waiter);
        }
        assert!(line.iter().all(|&waiter| Q::waits(&waiters[waiter])));
    }
    while queue.take() {}
    waiters.into_iter().for_each(Q::free);
}

/// Each of two threads enters, cancels and takes; every stay has to end exactly once.
fn stress<Q: Rival>() {
    const STEPS: usize = 100_000;
    let queue = &Q::new();
    let (taken, start) = (&AtomicUsize::new(0), &Barrier::new(2));
    let each = Q::MOST.min(200) / 2;
    let (entered, removed): (usize, usize) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2_u64)
            .map(|seed| {
                scope.spawn(move || {
                    let mut waiters = waiters::<Q>(each);
                    let mut stands = vec![false; waiters.len()];
                    let (mut entered, mut removed, mut random) = (0, 0, seed);
                    start.wait();
                    for _ in 0..STEPS {
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        let i = (random >> 40) as usize % waiters.len();
                        let waiter = &mut waiters[i];
                        if random >> 34 & 1 == 0 {
                            taken.fetch_add(queue.take().into(), Ordering::Relaxed);
                        } else if !stands[i] {
                            queue.enter(waiter);
                            stands[i] = true;
                            entered += 1;
                        } else if queue.remove(waiter) {
                            stands[i] = false;
                            removed += 1;
                        } else {
                            // A peer has it, and gives it back.
                            while Q::waits(waiter) {
                                std::thread::yield_now();
                            }
                            stands[i] = false;
                        }
                    }
                    for (waiter, _) in waiters.iter_mut().zip(stands).filter(|(_, stands)| *stands) {
                        if queue.remove(waiter) {
                            removed += 1;
                        } else {
                            while Q::waits(waiter) {
                                std::thread::yield_now();
                            }
                        }
                    }
                    (entered, removed, waiters)
                })
            })
            .collect();
        let done: Vec<_> = threads.into_iter().map(|t| t.join().expect("nothing panics")).collect();
        done.into_iter().fold((0, 0), |(entered, removed), (e, r, waiters)| {
            waiters.into_iter().for_each(Q::free);
            (entered + e, removed + r)
        })
    });
    assert!(!queue.take());
    assert_eq!(entered, removed + taken.load(Ordering::Relaxed));
}

fn workloads<Q: Rival>() {
    for shape in Shape::ALL {
        for &threads in shape.threads() {
            for waiters in [1, 2, 4, 8, 100] {
                if work::most(shape, threads, waiters) <= Q::MOST {
                    work::run::<Q>(shape, threads, waiters, 20_000);
                }
            }
        }
    }
}
