//! Cancelling fibers, and the trees they are in.

use crate::support::{Defer, Drops, Latch, SeqCst, Stash, until};
use leno::fiber::{self, Builder, Cord, Runtime, spawn_local};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::Poll;

#[test]
fn cancelled_while_queued_is_dropped_without_a_poll() {
    // F3
    let cord = Cord::new();
    let drops = Drops::default();
    let (probe, polled) = (drops.probe(), Arc::new(AtomicBool::new(false)));
    let sets = polled.clone();
    let fiber = cord.spawn_local(async move {
        let _probe = probe;
        sets.store(true, SeqCst);
    });
    fiber.cancel();
    assert_eq!(drops.count(), 0, "the cord drops it, not the canceller");
    let error = cord.block_on(fiber).unwrap_err();
    assert!(error.is_cancelled() && !error.is_panic() && !error.is_self_join());
    assert_eq!((drops.count(), polled.load(SeqCst)), (1, false));
}

#[test]
fn cancelled_while_idle_is_dropped_where_it_waits() {
    // F3
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (stash, drops) = (Stash::default(), Drops::default());
    let (pending, probe) = (stash.pending(), drops.probe());
    let fiber = runtime.spawn(async move {
        let _probe = probe;
        pending.await;
    });
    until(|| stash.polls() == 1);
    fiber.cancel();
    fiber.cancel();
    assert!(fiber.wait().unwrap_err().is_cancelled());
    assert_eq!((stash.polls(), drops.count()), (1, 1));
}

#[test]
fn cancelled_during_a_poll_elsewhere_is_dropped_after_that_poll() {
    // F3
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (drops, inside, leave) = (Drops::default(), Latch::default(), Latch::default());
    let (probe, entered, wait) = (drops.probe(), inside.clone(), leave.clone());
    let fiber = runtime.spawn(async move {
        let _probe = probe;
        entered.open();
        wait.wait();
        pending::<()>().await;
    });
    inside.wait();
    fiber.cancel();
    assert!(!fiber.is_finished());
    assert_eq!(drops.count(), 0);
    leave.open();
    assert!(fiber.wait().unwrap_err().is_cancelled());
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_fiber_that_ends_in_the_poll_it_was_cancelled_in_gives_its_value() {
    // F3
    let cord = Cord::new();
    let value = cord.block_on(async {
        let fiber = spawn_local(async {
            fiber::current().cancel();
            7
        });
        fiber.await
    });
    assert_eq!(value.unwrap(), 7);
}

#[test]
fn cancelling_oneself_works_at_the_next_suspension() {
    // F3
    let cord = Cord::new();
    let reached = Arc::new(AtomicUsize::new(0));
    let at = reached.clone();
    let fiber = cord.spawn_local(async move {
        fiber::current().cancel();
        at.store(1, SeqCst);
        leno::yield_now().await;
        at.store(2, SeqCst);
    });
    assert!(cord.block_on(fiber).unwrap_err().is_cancelled());
    assert_eq!(reached.load(SeqCst), 1);
}

#[test]
fn a_cancelled_fiber_that_yields_ends_after_that_poll() {
    // F3
    let yields = || {
        fiber::spawn_now(async {
            fiber::current().cancel();
            leno::yield_now().await;
        })
    };
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        runtime.block_on(async { assert!(yields().is_finished()) });
    }
    Cord::new().block_on(async {
        assert!(yields().is_finished());
        // Also one that has waited before, and belongs to the cord's thread for good.
        let waited = spawn_local(async {
            fiber::park().await;
            fiber::current().cancel();
            leno::yield_now().await;
        });
        leno::yield_now().await;
        waited.fiber().unpark();
        assert!(spawn_local(async move { waited.is_finished() }).await.unwrap());
    });
}

#[test]
fn a_fiber_cancelled_when_it_was_handed_a_value_gives_it_back() {
    // F3, C9
    for (tx, rx) in [leno::rendezvous(), leno::bounded(1), leno::bounded(1000), leno::unbounded()] {
        Cord::new().block_on(async {
            let receiver = rx.clone();
            let fiber = spawn_local(async move { receiver.recv().await });
            leno::yield_now().await;
            tx.try_send(7).expect("it waits");
            fiber.cancel();
            assert!(fiber.await.unwrap_err().is_cancelled());
            assert_eq!(rx.try_recv(), Ok(7), "C9: it goes to the next one");
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn cancel_racing_completion_has_one_outcome() {
    // F3, with real threads.
    let runtime = Runtime::builder().workers(2).build().unwrap();
    for round in 0..1000 {
        let drops = Drops::default();
        let probe = drops.probe();
        let fiber = runtime.spawn(async move {
            for _ in 0..round % 4 {
                leno::yield_now().await;
            }
            probe
        });
        let canceller = fiber.fiber();
        let thread = (round % 16 == 0).then(|| std::thread::spawn(move || canceller.cancel()));
        if thread.is_none() {
            fiber.cancel();
        }
        match fiber.wait() {
            Ok(_probe) => {}
            Err(error) => assert!(error.is_cancelled()),
        }
        if let Some(thread) = thread {
            thread.join().unwrap();
        }
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn cancelling_what_has_ended_does_nothing() {
    // F3
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let fiber = runtime.spawn(async { 1 });
    until(|| fiber.is_finished());
    fiber.cancel();
    assert_eq!(fiber.wait().unwrap(), 1);
}

#[test]
fn a_cancelled_parent_takes_its_children_with_it() {
    // F4: three generations, all idle.
    let cord = Cord::new();
    let drops = Drops::default();
    let probes = drops.clone();
    cord.block_on(async move {
        let parent = spawn_local(async move {
            let _own = probes.probe();
            for _ in 0..2 {
                let probes = probes.clone();
                drop(spawn_local(async move {
                    let _own = probes.probe();
                    let grandchild = probes.probe();
                    drop(spawn_local(async move {
                        let _own = grandchild;
                        pending::<()>().await;
                    }));
                    pending::<()>().await;
                }));
            }
            pending::<()>().await;
        });
        for _ in 0..5 {
            leno::yield_now().await;
        }
        assert_eq!(drops.count(), 0);
        parent.cancel();
        assert!(parent.await.unwrap_err().is_cancelled());
        leno::yield_now().await;
        assert_eq!(drops.count(), 5);
    });
}

#[test]
fn a_parent_that_ends_releases_its_children() {
    // F4: by value and by panic; then a cancel of the (ended) parent reaches nobody.
    let cord = Cord::builder().on_panic(|_, _| ()).build();
    for panics in [false, true] {
        cord.block_on(async {
            let (parent, child) = {
                let (give, take) = std::sync::mpsc::channel();
                let parent = spawn_local(async move {
                    give.send(spawn_local(async {
                        for _ in 0..5 {
                            leno::yield_now().await;
                        }
                        9
                    }))
                    .unwrap();
                    assert!(!panics, "as asked");
                });
                leno::yield_now().await;
                (parent, take.recv().unwrap())
            };
            assert!(parent.is_finished());
            parent.cancel();
            assert_eq!(parent.await.is_err(), panics);
            assert_eq!(child.await.unwrap(), 9);
        });
    }
}

/// F4: so does a member of a scope that fails by it, while the others, which are cancelled, take their children with them.
#[test]
fn a_member_that_panics_releases_its_children() {
    Cord::new().block_on(async {
        let (tx, rx) = leno::unbounded();
        let failed = fiber::scope(async move |s: &fiber::Scope| {
            for panics in [false, true] {
                let tx = tx.clone();
                drop(s.spawn_local(async move {
                    let child = spawn_local(async {
                        for _ in 0..5 {
                            leno::yield_now().await;
                        }
                        9
                    });
                    tx.try_send(child).unwrap();
                    leno::yield_now().await;
                    assert!(!panics, "as asked");
                    pending::<()>().await;
                }));
            }
            pending::<()>().await
        });
        assert!(failed.await.unwrap_err().is_panic());
        let children = rx.drain().collect::<Vec<_>>();
        let [of_the_other, its] = <[_; 2]>::try_from(children).unwrap();
        assert!(of_the_other.await.unwrap_err().is_cancelled());
        assert_eq!(its.await.unwrap(), 9);
    });
}

#[test]
fn roots_and_strangers_are_not_children() {
    // F4: `Builder::root`, and a fiber on another executor.
    let cord = Cord::new();
    let other = Runtime::builder().workers(1).build().unwrap();
    cord.block_on(async {
        let (give, take) = std::sync::mpsc::channel();
        let remote = other.spawn(async { leno::yield_now().await });
        drop(remote);
        let parent = spawn_local(async move {
            let root = Builder::new().root().spawn_local(async {
                leno::yield_now().await;
                1
            });
            let foreign = other.spawn(async { 2 });
            give.send((root, foreign)).unwrap();
            pending::<()>().await;
            drop(other);
        });
        leno::yield_now().await;
        let (root, foreign) = take.recv().unwrap();
        assert_eq!(foreign.await.unwrap(), 2);
        parent.cancel();
        assert_eq!(root.await.unwrap(), 1);
    });
}

#[test]
fn a_child_spawned_during_the_cancel_is_cancelled() {
    // F4: spawned after the mark, in the same poll; and in the drop of the future that the cancel causes.
    let cord = Cord::new();
    let polls = Arc::new(AtomicUsize::new(0));
    let (first, second) = (polls.clone(), polls.clone());
    let drops = Drops::default();
    let (probe, late_probe) = (drops.probe(), drops.probe());
    cord.block_on(async {
        let mut late_probe = Some(late_probe);
        let parent = spawn_local(async move {
            let _spawns = Defer(move || {
                let (polls, probe) = (second.clone(), late_probe.take());
                drop(spawn_local(async move {
                    let _probe = probe;
                    polls.fetch_add(1, SeqCst);
                }));
            });
            fiber::current().cancel();
            let child = spawn_local(async move {
                let _probe = probe;
                first.fetch_add(1, SeqCst);
            });
            drop(child);
            leno::yield_now().await;
        });
        assert!(parent.await.unwrap_err().is_cancelled());
        for _ in 0..3 {
            leno::yield_now().await;
        }
    });
    assert_eq!((polls.load(SeqCst), drops.count()), (0, 2));
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn a_chain_of_many_generations_overflows_nothing() {
    // F4: a million generations in release builds; each holds the next one's handle and cancels it on drop.
    const DEEP: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    fn generation(left: usize, drops: Drops) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let _probe = drops.probe();
            if left > 0 {
                let _child = spawn_local(generation(left - 1, drops)).cancel_on_drop();
                pending::<()>().await;
            }
            pending::<()>().await;
        })
    }
    let cord = Cord::new();
    for by_cancel in [true, false] {
        let drops = Drops::default();
        let first = cord.spawn_local(generation(DEEP, drops.clone()));
        cord.block_on(async {
            for _ in 0..=DEEP {
                leno::yield_now().await;
            }
            if by_cancel {
                first.cancel();
                assert!(first.await.unwrap_err().is_cancelled());
                while drops.count() <= DEEP {
                    leno::yield_now().await;
                }
            }
        });
        if by_cancel {
            assert_eq!(drops.count(), DEEP + 1);
        }
    }
    // The second chain is alive when its cord ends.
    drop(cord);
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn cancelling_a_wide_tree_while_it_grows() {
    // F4, with real threads: whatever was spawned is dropped.
    let runtime = Runtime::builder().workers(2).build().unwrap();
    for _ in 0..50 {
        let (drops, made) = (Drops::default(), Arc::new(AtomicUsize::new(0)));
        let (probes, count) = (drops.clone(), made.clone());
        let parent = runtime.spawn(async move {
            loop {
                for _ in 0..20 {
                    let probe = probes.probe();
                    count.fetch_add(1, SeqCst);
                    drop(leno::spawn(async move {
                        let _probe = probe;
                        pending::<()>().await;
                    }));
                }
                leno::yield_now().await;
            }
        });
        until(|| made.load(SeqCst) > 40);
        parent.cancel();
        assert!(parent.wait().unwrap_err().is_cancelled());
        until(|| drops.count() == made.load(SeqCst));
    }
}

#[test]
fn the_fiber_of_block_on_cannot_be_cancelled() {
    let cord = Cord::new();
    cord.block_on(async {
        let child = spawn_local(async { 3 });
        fiber::current().cancel();
        leno::yield_now().await;
        assert_eq!(child.await.unwrap(), 3);
    });
    leno::block_on(async {
        fiber::current().cancel();
        leno::yield_now().await;
    });
}

#[test]
fn cancel_on_drop_cancels_and_a_plain_drop_detaches() {
    let cord = Cord::new();
    let drops = Drops::default();
    let (first, second) = (drops.probe(), drops.probe());
    let ran = Arc::new(AtomicBool::new(false));
    let sets = ran.clone();
    drop(
        cord.spawn_local(async move {
            let _probe = first;
            pending::<()>().await;
        })
        .cancel_on_drop(),
    );
    drop(cord.spawn_local(async move {
        let _probe = second;
        leno::yield_now().await;
        sets.store(true, SeqCst);
    }));
    cord.block_on(async {
        for _ in 0..3 {
            leno::yield_now().await;
        }
    });
    assert_eq!(drops.count(), 2);
    assert!(ran.load(SeqCst));
}

#[test]
fn cancel_from_inside_a_drop_of_the_same_tree() {
    // A future's drop cancels its parent, whose children are being released: no deadlock.
    let cord = Cord::new();
    cord.block_on(async {
        let parent = spawn_local(async {
            let me = fiber::current();
            let child = spawn_local(async move {
                let _cancels = Defer(move || me.cancel());
                poll_fn(|_| Poll::<()>::Pending).await;
            });
            leno::yield_now().await;
            child.cancel();
            pending::<()>().await;
        });
        assert!(parent.await.unwrap_err().is_cancelled());
    });
}
