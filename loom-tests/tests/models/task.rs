//! Models of the fiber cell: the state word, the join slot, the reference count, the tree.
//!
//! Each is a plain function that runs under loom's scheduler. For each there is a planted bug (see `bug!` in
//! `src/task/state.rs`), switched on by `LENO_BUG=…`, that it must catch.

use crate::explore::model;
use crate::scenarios::harness::thread;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

use leno::fiber::{Shield, shield};
use leno::model::task::{Executor, Group, Outcome, Token, Worker};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// For an executor whose fibers go from worker to worker, and for one with one worker, which is the model's first thread.
fn both(scenario: impl Fn(Executor) + Copy + Send + Sync + 'static) {
    model(move || scenario(Executor::new()));
    model(move || scenario(Executor::alone()));
}

/// Where a fiber leaves its waker for other threads. No part of the model: never contended.
#[derive(Clone, Default)]
struct Stash(Arc<std::sync::Mutex<Option<Waker>>>);

impl Stash {
    fn put(&self, waker: &Waker) {
        *self.0.lock().unwrap() = Some(waker.clone());
    }

    fn take(&self) -> Waker {
        self.0.lock().unwrap().take().expect("the fiber was polled")
    }
}

/// Counts its drops; each must be the only one.
struct Once(Arc<AtomicUsize>);

impl Drop for Once {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Is never ready; leaves its waker, and counts its drop.
fn pending(stash: &Stash, drops: &Arc<AtomicUsize>) -> impl Future<Output = ()> + Send + use<> {
    let (keep, once) = (stash.clone(), Once(drops.clone()));
    poll_fn(move |cx| {
        let _ = &once;
        keep.put(cx.waker());
        Poll::Pending
    })
}

/// A foreign waker.
struct Flag(AtomicBool);

impl Flag {
    fn new() -> (Arc<Flag>, Waker) {
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        (flag.clone(), Waker::from(flag))
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// F1: what is written before a wake is seen by a poll after it, even if that wake changes nothing because the
/// fiber is scheduled already. `task_wake_relaxed`, `task_wake_without_write`.
#[test]
fn a_wake_of_a_scheduled_fiber_publishes() {
    both(|executor| {
        let value = loom::sync::Arc::new(AtomicBool::new(false));
        let stash = Stash::default();
        let (seen, keep) = (value.clone(), stash.clone());
        let mut handle = executor.spawn(poll_fn(move |cx| {
            keep.put(cx.waker());
            if seen.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert!(executor.run_one());
        let waker = stash.take();
        waker.wake_by_ref();
        let other = thread::spawn(move || {
            value.store(true, Ordering::Relaxed);
            waker.wake_by_ref();
        });
        executor.run_one();
        other.join().unwrap();
        executor.run_all();
        let (_flag, waker) = Flag::new();
        assert_eq!(handle.poll(&waker), Some(Outcome::Value(())), "a wake-up was lost");
    });
}

/// F1: a wake during a poll on another thread makes one more poll. `task_finish_ignores_wake`.
#[test]
fn a_wake_while_polled_elsewhere() {
    both(|executor| {
        let value = loom::sync::Arc::new(AtomicUsize::new(0));
        let stash = Stash::default();
        let (seen, keep) = (value.clone(), stash.clone());
        let mut handle = executor.spawn(poll_fn(move |cx| {
            keep.put(cx.waker());
            if seen.load(Ordering::Acquire) == 2 { Poll::Ready(7) } else { Poll::Pending }
        }));
        assert!(executor.run_one());
        let waker = stash.take();
        let copy = waker.clone();
        let wakers: Vec<_> = [waker, copy]
            .into_iter()
            .map(|waker| {
                let value = value.clone();
                thread::spawn(move || {
                    value.fetch_add(1, Ordering::Release);
                    waker.wake();
                })
            })
            .collect();
        executor.run_one();
        executor.run_one();
        wakers.into_iter().for_each(|thread| thread.join().unwrap());
        executor.run_all();
        let (_flag, waker) = Flag::new();
        assert_eq!(handle.poll(&waker), Some(Outcome::Value(7)), "a wake-up was lost");
        assert_eq!(executor.living(), 0);
    });
}

/// F1, F2: a wake that races with completion, and is the last to hold the fiber.
#[test]
fn a_wake_racing_completion() {
    both(|executor| {
        let drops = Arc::new(AtomicUsize::new(0));
        let stash = Stash::default();
        let (keep, once) = (stash.clone(), Once(drops.clone()));
        let mut polls = 0;
        let handle = executor.spawn(poll_fn(move |cx| {
            let _ = &once;
            polls += 1;
            if polls == 1 {
                keep.put(cx.waker());
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        }));
        drop(handle);
        executor.run_one();
        let waker = stash.take();
        let other = thread::spawn(move || waker.wake());
        executor.run_one();
        other.join().unwrap();
        executor.run_all();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_eq!(executor.living(), 0);
    });
}

/// F3: a cancel that races with a poll that ends, or doesn't. `task_cancel_forgets_running`.
#[test]
fn a_cancel_racing_completion() {
    for ends in [false, true] {
        both(move |executor| {
            let drops = Arc::new(AtomicUsize::new(0));
            let once = Once(drops.clone());
            let mut handle = executor.spawn(poll_fn(move |_| {
                let _ = &once;
                if ends { Poll::Ready(5) } else { Poll::Pending }
            }));
            let reference = handle.reference();
            let other = thread::spawn(move || reference.cancel());
            executor.run_one();
            other.join().unwrap();
            executor.run_all();
            let (_flag, waker) = Flag::new();
            match handle.poll(&waker) {
                Some(Outcome::Value(5)) => assert!(ends),
                outcome => assert_eq!(outcome, Some(Outcome::Cancelled), "the cancel was lost"),
            }
            assert_eq!(drops.load(Ordering::Relaxed), 1);
        });
    }
}

/// F4: a child spawned while its parent is being cancelled is cancelled.
#[test]
fn a_cancel_racing_the_spawn_of_a_child() {
    both(|executor| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (spawner, once) = (executor.clone(), Once(drops.clone()));
        let mut once = Some(once);
        let handle = executor.spawn(poll_fn(move |_| {
            if let Some(once) = once.take() {
                drop(spawner.spawn(poll_fn(move |_| {
                    let _ = &once;
                    Poll::<()>::Pending
                })));
            }
            Poll::<()>::Pending
        }));
        let reference = handle.reference();
        let other = thread::spawn(move || reference.cancel());
        executor.run_one();
        other.join().unwrap();
        executor.run_all();
        assert!(handle.is_complete());
        assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
    });
}

/// F6: a waker registered, and replaced, while the fiber completes: the last one registered is woken, no other
/// is kept. `task_publish_after_complete`, `task_complete_leaves_waker`.
#[test]
fn joining_races_completion() {
    model(|| {
        let executor = Executor::new();
        let mut handle = executor.spawn(async { 3 });
        let other = thread::spawn(move || {
            let (first, waker) = Flag::new();
            let mut outcome = handle.poll(&waker);
            drop(waker);
            let (second, waker) = Flag::new();
            if outcome.is_none() {
                outcome = handle.poll(&waker);
            }
            drop(waker);
            (handle, outcome, first, second)
        });
        executor.run_one();
        let (mut handle, mut outcome, first, second) = other.join().unwrap();
        if outcome.is_none() {
            assert!(second.0.load(Ordering::Acquire), "the joiner was not woken");
            let (_flag, waker) = Flag::new();
            outcome = handle.poll(&waker);
        }
        assert_eq!(outcome, Some(Outcome::Value(3)));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1), "a waker was kept");
    });
}

/// F6: a handle dropped while the fiber completes: the output is dropped once, and the waker with it.
/// `task_handle_ignores_complete`.
#[test]
fn detaching_races_completion() {
    model(|| {
        let executor = Executor::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let once = Once(drops.clone());
        let mut handle = executor.spawn(async move { once });
        let (flag, waker) = Flag::new();
        assert!(handle.poll(&waker).is_none());
        drop(waker);
        let other = thread::spawn(move || drop(handle));
        executor.run_one();
        other.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1, "the output");
        assert_eq!(Arc::strong_count(&flag), 1, "the waker");
    });
}

/// The last reference, wherever it goes, frees the memory after all others are done with it.
/// `task_release_relaxed`.
#[test]
fn the_last_reference_frees() {
    model(|| {
        let executor = Executor::new();
        let stash = Stash::default();
        let keep = stash.clone();
        let mut handle = executor.spawn(poll_fn(move |cx| {
            keep.put(cx.waker());
            Poll::Ready(1)
        }));
        executor.run_one();
        let waker = stash.take();
        let threads = [
            thread::spawn(move || {
                let (_flag, waker) = Flag::new();
                assert_eq!(handle.poll(&waker), Some(Outcome::Value(1)));
            }),
            thread::spawn(move || drop(waker)),
        ];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// The wakers that a fiber makes of itself in a poll are counted as that ends; others use them before. The fiber's memory is
/// there for all of them, and is freed. `task_without_bias`, `task_owed_is_forgotten`.
#[test]
fn wakers_are_used_before_they_are_counted() {
    for ends in [false, true] {
        both(move |executor| {
            let drops = Arc::new(AtomicUsize::new(0));
            let (made, once) = (loom::sync::Arc::new(AtomicBool::new(false)), Once(drops.clone()));
            let wakers = Arc::new(std::sync::Mutex::new(Vec::new()));
            let (keep, say) = (wakers.clone(), made.clone());
            let mut polls = 0;
            let handle = executor.spawn(poll_fn(move |cx| {
                let _ = &once;
                polls += 1;
                if polls == 1 {
                    keep.lock().unwrap().extend([cx.waker().clone(), cx.waker().clone()]);
                    say.store(true, Ordering::Release);
                    // Others may run here.
                    let _ = say.load(Ordering::Relaxed);
                }
                if polls == 2 || ends { Poll::Ready(()) } else { Poll::Pending }
            }));
            drop(handle);
            let uses = wakers.clone();
            let other = thread::spawn(move || {
                if made.load(Ordering::Acquire) {
                    let used: Vec<Waker> = std::mem::take(&mut *uses.lock().unwrap());
                    used.into_iter().for_each(Waker::wake);
                }
            });
            executor.run_one();
            other.join().unwrap();
            let rest: Vec<Waker> = std::mem::take(&mut *wakers.lock().unwrap());
            rest.into_iter().for_each(Waker::wake);
            executor.run_all();
            assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
        });
    }
}

/// A waker of its own that a fiber drops in a poll, or uses, is counted as that ends; another one is used elsewhere meanwhile.
/// `task_drop_counts_twice`.
#[test]
fn wakers_are_dropped_before_they_are_counted() {
    for wakes in [false, true] {
        both(move |executor| {
            let drops = Arc::new(AtomicUsize::new(0));
            let (stash, other_stash) = (Stash::default(), Stash::default());
            let (mine, others, once) = (stash.clone(), other_stash.clone(), Once(drops.clone()));
            let mut polls = 0;
            let handle = executor.spawn(poll_fn(move |cx| {
                let _ = &once;
                polls += 1;
                match polls {
                    1 => {
                        mine.put(cx.waker());
                        others.put(cx.waker());
                        cx.waker().wake_by_ref();
                    }
                    2 if wakes => mine.take().wake(),
                    2 => drop(mine.take()),
                    _ => return Poll::Ready(()),
                }
                Poll::Pending
            }));
            assert!(executor.run_one());
            let waker = other_stash.take();
            let other = thread::spawn(move || waker.wake());
            while executor.run_one() {}
            other.join().unwrap();
            executor.run_all();
            // (A wake before its second poll is for that one: then nobody is left who could wake it a third time.)
            handle.cancel();
            executor.run_all();
            assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
        });
    }
}

/// A cancelled fiber makes wakers of itself as its future is dropped, outside of any poll; they outlive it, and are used
/// elsewhere before they are counted, or later. `task_owed_is_dropped`.
#[test]
fn wakers_are_made_as_the_future_is_dropped() {
    struct Parting(Option<Waker>, loom::sync::Arc<AtomicBool>, [Stash; 2]);
    impl Drop for Parting {
        fn drop(&mut self) {
            if let Some(waker) = &self.0 {
                self.2.iter().for_each(|stash| stash.put(waker));
                self.1.store(true, Ordering::Release);
                // Others may run here.
                let _ = self.1.load(Ordering::Relaxed);
            }
        }
    }
    both(|executor| {
        let made = loom::sync::Arc::new(AtomicBool::new(false));
        let stashes = [Stash::default(), Stash::default()];
        let mut parting = Parting(None, made.clone(), stashes.clone());
        let handle = executor.spawn(poll_fn(move |cx| {
            parting.0.get_or_insert_with(|| cx.waker().clone());
            Poll::<()>::Pending
        }));
        assert!(executor.run_one());
        handle.reference().cancel();
        let [first, second] = stashes;
        let other = thread::spawn(move || {
            if made.load(Ordering::Acquire) {
                first.take().wake();
            }
        });
        assert!(executor.run_one());
        other.join().unwrap();
        drop(second.take());
        executor.run_all();
        assert_eq!(executor.living(), 0);
        drop(handle);
    });
}

/// F7: the end of an executor races with a poll and a wake: the future is dropped once, on one of the threads.
/// `task_finish_ignores_cancel`.
#[test]
fn the_end_races_a_poll_and_a_wake() {
    model(|| {
        let executor = Executor::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let stash = Stash::default();
        let handle = executor.spawn(pending(&stash, &drops));
        executor.run_one();
        let waker = stash.take();
        let worker = executor.clone();
        let threads = [
            thread::spawn(move || waker.wake()),
            thread::spawn(move || {
                worker.run_one();
            }),
        ];
        executor.end();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(handle.is_complete());
        drop(stash.0.lock().unwrap().take());
        assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
    });
}

/// A fiber that needs so many inputs, and leaves its waker.
fn needs(
    inputs: usize,
    stash: &Stash,
    seen: &loom::sync::Arc<AtomicUsize>,
) -> impl Future<Output = ()> + Send + use<> {
    let (keep, seen) = (stash.clone(), seen.clone());
    poll_fn(move |cx| {
        keep.put(cx.waker());
        if seen.load(Ordering::Relaxed) == inputs { Poll::Ready(()) } else { Poll::Pending }
    })
}

/// F1: a worker's own wake, a wake from elsewhere, and a thief that takes the entry.
#[test]
fn own_and_foreign_wakes_and_a_thief() {
    model(|| {
        let (executor, worker) = (Executor::new(), Worker::default());
        let (stash, input) = (Stash::default(), loom::sync::Arc::new(AtomicUsize::new(0)));
        let handle = executor.spawn(needs(2, &stash, &input));
        executor.drive(&worker, || executor.run_one());
        let waker = stash.take();
        let foreign = {
            let (waker, input) = (waker.clone(), input.clone());
            thread::spawn(move || {
                input.fetch_add(1, Ordering::Relaxed);
                waker.wake();
            })
        };
        let thief = {
            let (executor, victim) = (executor.clone(), worker.clone());
            thread::spawn(move || {
                let mine = Worker::default();
                executor.drive(&mine, || {
                    executor.run_from(&victim);
                    while executor.run_from(&mine) {}
                });
            })
        };
        executor.drive(&worker, || {
            input.fetch_add(1, Ordering::Relaxed);
            waker.wake();
            executor.run_from(&worker);
        });
        foreign.join().unwrap();
        thief.join().unwrap();
        executor.drive(&worker, || while executor.run_from(&worker) || executor.run_one() {});
        assert!(handle.is_complete(), "a wake-up was lost");
        assert_eq!(executor.living(), 0);
    });
}

/// A fiber that wakes itself makes no transition: the entry stays its owner, whoever takes it.
#[test]
fn a_self_wake_and_a_thief() {
    model(|| {
        let (executor, worker) = (Executor::new(), Worker::default());
        let drops = Arc::new(AtomicUsize::new(0));
        let once = Once(drops.clone());
        let mut polls = 0;
        let handle = executor.spawn(poll_fn(move |cx| {
            let _ = &once;
            polls += 1;
            cx.waker().wake_by_ref();
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        }));
        executor.drive(&worker, || executor.run_one());
        let thief = {
            let (executor, victim) = (executor.clone(), worker.clone());
            thread::spawn(move || {
                let mine = Worker::default();
                executor.drive(&mine, || {
                    executor.run_from(&victim);
                    while executor.run_from(&mine) {}
                });
            })
        };
        let reference = handle.reference();
        executor.drive(&worker, || {
            executor.run_from(&worker);
        });
        thief.join().unwrap();
        reference.unpark();
        executor.drive(&worker, || while executor.run_from(&worker) || executor.run_one() {});
        assert!(handle.is_complete());
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// F7: the end of an executor, by one who cannot join its workers, while one of these has the fiber in its own queue, or has
/// just taken it, and a wake comes from elsewhere. Whoever owns it ends it. `task_others_own`, `task_start_ignores_seized`.
fn the_end(ready: bool) {
    model(move || {
        let (executor, worker) = (Executor::new(), Worker::default());
        let drops = Arc::new(AtomicUsize::new(0));
        let stash = Stash::default();
        let handle = executor.spawn(pending(&stash, &drops));
        executor.drive(&worker, || {
            executor.run_one();
            if ready {
                stash.take().wake();
            }
        });
        let reference = handle.reference();
        let foreign = thread::spawn(move || reference.unpark());
        let working = {
            let (executor, worker) = (executor.clone(), worker.clone());
            thread::spawn(move || {
                executor.drive(&worker, || {
                    executor.run_one();
                    executor.run_from(&worker);
                    executor.end_queue(&worker);
                });
            })
        };
        executor.end();
        foreign.join().unwrap();
        working.join().unwrap();
        assert!(handle.is_complete(), "the fiber was left to nobody");
        drop(stash.0.lock().unwrap().take());
        assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
    });
}

#[test]
fn the_end_races_an_idle_fiber() {
    the_end(false);
}

#[test]
fn the_end_races_an_owned_entry() {
    the_end(true);
}

/// F7: the end seizes a fiber whose entry a worker has just taken: that is stale. `task_start_ignores_seized`.
#[test]
fn the_end_races_an_entry_in_hand() {
    model(|| {
        let executor = Executor::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let handle = executor.spawn(pending(&Stash::default(), &drops));
        executor.run_one();
        handle.reference().unpark();
        let end = {
            let executor = executor.clone();
            thread::spawn(move || executor.end())
        };
        executor.run_one();
        end.join().unwrap();
        assert!(handle.is_complete());
        assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
    });
}

/// The park token: an unpark is never lost.
#[test]
fn an_unpark_racing_the_park() {
    both(|executor| {
        let handle = executor.spawn(Token);
        let reference = handle.reference();
        let other = thread::spawn(move || reference.unpark());
        executor.run_one();
        other.join().unwrap();
        executor.run_all();
        assert!(handle.is_complete(), "the unpark was lost");
    });
}

/// A section of two polls: leaves its waker, and counts its polls.
fn section(stash: &Stash, polls: &Arc<AtomicUsize>) -> impl Future<Output = ()> + Send + use<> {
    let (keep, polls) = (stash.clone(), polls.clone());
    poll_fn(move |cx| {
        keep.put(cx.waker());
        if polls.fetch_add(1, Ordering::Relaxed) == 0 { Poll::Pending } else { Poll::Ready(()) }
    })
}

/// F4: a cancel does not cut a section in two, and takes effect after it. `task_cancel_ignores_shield`.
#[test]
fn a_cancel_against_a_section() {
    model(|| {
        let executor = Executor::new();
        let (stash, polls) = (Stash::default(), Arc::new(AtomicUsize::new(0)));
        let inner = section(&stash, &polls);
        let mut handle = executor.spawn(async move {
            shield(inner).await;
            std::future::pending::<()>().await;
        });
        let fiber = handle.reference();
        let canceller = thread::spawn(move || fiber.cancel());
        executor.run_one();
        if polls.load(Ordering::Relaxed) == 1 {
            let waker = stash.take();
            let runs = executor.clone();
            let runner = thread::spawn(move || _ = runs.run_one());
            waker.wake();
            executor.run_one();
            runner.join().unwrap();
        }
        canceller.join().unwrap();
        executor.run_all();
        assert_ne!(polls.load(Ordering::Relaxed), 1, "the section was cut in two");
        let (_flag, waker) = Flag::new();
        assert_eq!(handle.poll(&waker), Some(Outcome::Cancelled));
        assert_eq!(executor.living(), 0);
    });
}

/// F4: a section that was moved away, and is dropped elsewhere, lets the cancel go on. `task_unshield_forgets_cancel`.
#[test]
fn a_section_that_is_dropped_elsewhere() {
    both(|executor| {
        let (stash, drops) = (Stash::default(), Arc::new(AtomicUsize::new(0)));
        type Boxed = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
        let shared: Arc<std::sync::Mutex<Option<Shield<Boxed>>>> = Arc::default();
        *shared.lock().unwrap() = Some(shield(Box::pin(pending(&stash, &drops)) as Boxed));
        let lent = shared.clone();
        let mut handle = executor.spawn(poll_fn(move |cx| -> Poll<()> {
            let shield = lent.lock().unwrap().take();
            if let Some(mut shield) = shield {
                assert!(std::pin::Pin::new(&mut shield).poll(cx).is_pending());
                *lent.lock().unwrap() = Some(shield);
            }
            Poll::Pending
        }));
        assert!(executor.run_one());
        let fiber = handle.reference();
        let canceller = thread::spawn(move || fiber.cancel());
        let section = shared.lock().unwrap().take();
        drop(section);
        canceller.join().unwrap();
        executor.run_all();
        let (_flag, waker) = Flag::new();
        assert_eq!(handle.poll(&waker), Some(Outcome::Cancelled), "the cancel was forgotten");
        assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
    });
}

/// F8: the end of the executor goes through a shield. `task_seize_keeps_shield`.
#[test]
fn the_end_against_a_section() {
    model(|| {
        let executor = Executor::new();
        let (stash, drops) = (Stash::default(), Arc::new(AtomicUsize::new(0)));
        let mut handle = executor.spawn(shield(pending(&stash, &drops)));
        let runs = executor.clone();
        let runner = thread::spawn(move || _ = runs.run_one());
        executor.end();
        runner.join().unwrap();
        let (_flag, waker) = Flag::new();
        assert_eq!(handle.poll(&waker), Some(Outcome::Cancelled), "nobody ended it");
        assert_eq!(executor.living(), 0);
    });
}

/// F4: the cancel of a group while a member is listed, which waits for its child behind a shield: the child is cancelled.
/// `roster_early_cancel_stays`.
#[test]
fn a_groups_cancel_against_a_member_that_shields() {
    model(|| {
        let (executor, group) = (Executor::new(), Group::default());
        let cancels = group.clone();
        let canceller = thread::spawn(move || cancels.cancel());
        let spawns = executor.clone();
        let _member = executor.spawn_in(
            &group,
            shield(async move {
                let mut child = spawns.spawn(std::future::pending::<()>());
                poll_fn(|cx| child.poll(cx.waker()).map_or(Poll::Pending, Poll::Ready)).await
            }),
        );
        executor.run_all();
        canceller.join().unwrap();
        executor.run_all();
        assert!(group.is_over(Waker::noop()), "the member waits for a child that nobody has told");
        assert_eq!(executor.living(), 0);
    });
}

/// Who waits for the last member is woken by its end. `group_ended_wakes_nobody`.
#[test]
fn a_group_against_members_that_end() {
    model(|| {
        let executor = Executor::new();
        let group = Group::default();
        let runs = executor.clone();
        let runner = thread::spawn(move || {
            runs.run_one();
            runs.run_one();
        });
        let first = executor.spawn_in(&group, async {});
        let second = executor.spawn_in(&group, async {});
        let (flag, waker) = Flag::new();
        let over = group.is_over(&waker);
        runner.join().unwrap();
        if !over {
            executor.run_all();
            assert!(flag.0.load(Ordering::Acquire), "nobody woke who waits");
        }
        assert!(first.is_complete() && second.is_complete() && group.is_over(&waker));
    });
}

/// F4: who enters a group during its cancel is cancelled, and after it unpolled. `group_enter_ignores_cancel`.
#[test]
fn a_group_cancelled_against_a_spawn() {
    both(|executor| {
        let group = Group::default();
        let cancels = group.clone();
        let canceller = thread::spawn(move || cancels.cancel());
        let mut handle = executor.spawn_in(&group, std::future::pending::<()>());
        canceller.join().unwrap();
        executor.run_all();
        let (_flag, waker) = Flag::new();
        assert_eq!(handle.poll(&waker), Some(Outcome::Cancelled), "it was not cancelled");
        assert!(group.is_over(&waker));
    });
}
