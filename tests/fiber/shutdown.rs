//! The ends of runtimes and cords; `block_on` where it must not be.

use crate::support::{Defer, Drops, Latch, SeqCst, Stash, in_time, set_timer, until};
use leno::fiber::{self, Builder, Cord, JoinHandle, Runtime, spawn_local, unblock};
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

#[test]
fn dropping_a_runtime_drops_all_its_fibers() {
    // F7: queued, sleeping, parked, blocked in `unblock`, waiting for each other, yielding for ever.
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let drops = Drops::default();
        let leave = Latch::default();
        let spawned = Arc::new(AtomicUsize::new(0));
        let mut handles = Vec::new();
        for _ in 0..10 {
            let probes: [_; 5] = std::array::from_fn(|_| drops.probe());
            let wait = leave.clone();
            let has_spawned = spawned.clone();
            let [a, b, c, d, e] = probes;
            handles.push(runtime.spawn(async move {
                let _probe = a;
                leno::sleep(Duration::from_secs(3600)).await;
            }));
            handles.push(runtime.spawn(async move {
                let _probe = b;
                fiber::park().await;
            }));
            handles.push(runtime.spawn(async move {
                let _probe = c;
                unblock(move || wait.wait()).await;
            }));
            handles.push(runtime.spawn(async move {
                let _probe = d;
                let child = leno::spawn(pending::<()>());
                has_spawned.fetch_add(1, SeqCst);
                child.await.unwrap();
            }));
            handles.push(runtime.spawn(async move {
                let _probe = e;
                loop {
                    leno::yield_now().await;
                }
            }));
        }
        until(|| spawned.load(SeqCst) == 10);
        drop(runtime);
        assert_eq!(drops.count(), 50);
        for handle in handles {
            assert!(handle.wait().unwrap_err().is_cancelled());
        }
        leave.open();
    });
}

#[test]
fn dropping_a_runtime_inside_its_own_fiber() {
    // F7: in a poll, and in a future's drop; nothing hangs, all is dropped.
    in_time(|| {
        for workers in [1, 3] {
            for in_drop in [false, true] {
                let runtime = Runtime::builder().workers(workers).build().unwrap();
                let drops = Drops::default();
                let (own, other) = (drops.probe(), drops.probe());
                drop(runtime.spawn(async move {
                    let _probe = other;
                    pending::<()>().await;
                }));
                let slot = Arc::new(Mutex::new(None));
                let take = slot.clone();
                let ready = Latch::default();
                let go = ready.clone();
                let fiber = runtime.spawn(async move {
                    let _probe = own;
                    let kill = move || {
                        go.wait();
                        drop(take.lock().unwrap().take().expect("the runtime"));
                    };
                    if in_drop {
                        let mut kill = Some(kill);
                        let _kills = Defer(move || kill.take().unwrap()());
                        leno::yield_now().await;
                    } else {
                        kill();
                        pending::<()>().await;
                    }
                });
                *slot.lock().unwrap() = Some(runtime);
                ready.open();
                assert_eq!(fiber.wait().is_ok(), in_drop);
                until(|| drops.count() == 2);
            }
        }
    });
}

#[test]
fn dropping_a_runtime_inside_its_own_block_on_of_another() {
    // F7: another runtime's thread may wait for the workers.
    in_time(|| {
        let outer = Runtime::builder().workers(1).build().unwrap();
        let inner = Runtime::builder().workers(1).build().unwrap();
        let stash = Stash::default();
        drop(inner.spawn(stash.pending()));
        until(|| stash.polls() == 1);
        outer.block_on(async move { drop(inner) });
        outer.spawn(async {}).wait().unwrap();
        stash.waker().unwrap().wake();
    });
}

#[test]
fn the_end_of_a_runtime_in_a_fiber_of_another_leaves_that_ones_timers_going() {
    // F7, F12: what has to end waits for a timer of the runtime whose worker waits for its end.
    for workers in [1, 2] {
        for graceful in [false, true] {
            in_time(move || {
                let outer = Runtime::builder().workers(1).build().unwrap();
                let fiber = outer.spawn(async move {
                    let inner = Runtime::builder().workers(workers).build().unwrap();
                    let after = leno::channel::ticker::after(Duration::from_millis(5));
                    let begun = Latch::default();
                    let begins = begun.clone();
                    let last = inner.spawn(async move {
                        begins.open();
                        if graceful {
                            after.recv().await.unwrap();
                        } else {
                            // A poll that no end of a runtime cuts short.
                            while after.try_recv().is_err() {
                                std::thread::yield_now();
                            }
                        }
                    });
                    begun.wait();
                    if graceful {
                        assert!(inner.shutdown(Duration::from_secs(3600)).is_empty());
                        last.await.unwrap();
                    } else {
                        drop(inner);
                        let _ended = last.await;
                    }
                });
                fiber.wait().unwrap();
            });
        }
    }
}

#[test]
fn what_is_dropped_with_a_runtime_may_wait_for_a_timer() {
    // F7, F12: of a fiber that was never polled.
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (begun, go) = (Latch::default(), Latch::default());
        let (begins, goes) = (begun.clone(), go.clone());
        drop(runtime.spawn(async move {
            begins.open();
            goes.wait();
        }));
        begun.wait();
        let waits = Defer(move || {
            leno::channel::ticker::after(Duration::from_millis(1)).recv_blocking().unwrap();
            go.open();
        });
        drop(runtime.spawn(async move { drop(waits) }));
        drop(runtime);
    });
}

/// A fiber that holds this until it is dropped. Its first poll is over when this returns.
fn holding(runtime: &Runtime, held: impl Send + 'static) -> JoinHandle<()> {
    let begun = Latch::default();
    let begins = begun.clone();
    let fiber = runtime.spawn(async move {
        let _held = held;
        begins.open();
        pending::<()>().await;
    });
    begun.wait();
    fiber
}

/// F7: of what is dropped with a runtime one may wait for the other, which is dropped before, after, or by somebody else.
#[test]
fn what_is_dropped_with_a_runtime_may_wait_for_the_rest() {
    struct Joins(Option<JoinHandle<()>>);
    impl Drop for Joins {
        fn drop(&mut self) {
            let fiber = self.0.take().unwrap();
            fiber.cancel();
            assert!(fiber.wait().unwrap_err().is_cancelled());
        }
    }
    struct WhenWoken(Mutex<Option<Joins>>);
    impl Wake for WhenWoken {
        fn wake(self: Arc<Self>) {
            let joins = self.0.lock().unwrap().take();
            drop(joins);
        }
    }
    struct Waits(Mutex<Option<JoinHandle<()>>>);
    impl Wake for Waits {
        fn wake(self: Arc<Self>) {
            let fiber = self.0.lock().unwrap().take().unwrap();
            assert!(fiber.wait().unwrap_err().is_cancelled());
        }
    }
    /// Joins its child in its drop, which does so as well, and so on.
    fn chain(
        begun: Arc<AtomicUsize>,
        drops: Drops,
        depth: usize,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let _probe = drops.probe();
            let child = |depth| Joins(Some(leno::spawn(chain(begun.clone(), drops.clone(), depth))));
            let _child = depth.checked_sub(1).map(child);
            begun.fetch_add(1, SeqCst);
            pending::<()>().await;
        })
    }
    for workers in [1, 2, 3] {
        in_time(move || {
            // Parents that join their children.
            let (begun, drops) = (Arc::new(AtomicUsize::new(0)), Drops::default());
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            drop(runtime.spawn(chain(begun.clone(), drops.clone(), 3)));
            until(|| begun.load(SeqCst) == 4);
            drop(runtime);
            assert_eq!(drops.count(), 4);
            // The same with a runtime that is dropped by a fiber of its own.
            let (begun, drops) = (Arc::new(AtomicUsize::new(0)), Drops::default());
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            drop(runtime.spawn(chain(begun.clone(), drops.clone(), 2)));
            until(|| begun.load(SeqCst) == 3);
            let handle = runtime.handle().clone();
            let fiber = handle.spawn(async move { drop(runtime) });
            let _cancelled = fiber.wait();
            until(|| drops.count() == 3);
            // One that was never polled joins an older one.
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let older = holding(&runtime, ());
            let busy = Latch::default();
            for _ in 0..workers {
                let busy = busy.clone();
                drop(runtime.spawn(async move { busy.wait() }));
            }
            let joins = Joins(Some(older));
            drop(runtime.spawn(async move { drop(joins) }));
            let opens = thread::spawn(move || busy.open());
            drop(runtime);
            opens.join().unwrap();
            // One that waits for another twice, while that waits for this one to say so.
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let ((tx, rx), (back, answer)) = (leno::bounded(1), leno::bounded(1));
            drop(holding(
                &runtime,
                Defer(move || {
                    assert_eq!(rx.recv_blocking(), Ok(1));
                    back.send_blocking(2).unwrap();
                    assert_eq!(rx.recv_blocking(), Ok(3));
                }),
            ));
            drop(holding(
                &runtime,
                Defer(move || {
                    tx.send_blocking(1).unwrap();
                    assert_eq!(answer.recv_blocking(), Ok(2));
                    tx.send_blocking(3).unwrap();
                }),
            ));
            drop(runtime);
            // The waker of a timer waits.
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let waits = holding(&runtime, ());
            let joins = Waker::from(Arc::new(WhenWoken(Mutex::new(Some(Joins(Some(waits)))))));
            let _sleep =
                runtime.block_on(poll_fn(|_| Poll::Ready(set_timer(Duration::from_secs(3600), &joins))));
            drop(runtime);
            // Those of two wait, each for a fiber of its own.
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let joins =
                [(); 2].map(|()| Waker::from(Arc::new(Waits(Mutex::new(Some(holding(&runtime, ())))))));
            let set = |_: &mut Context<'_>| {
                Poll::Ready(joins.each_ref().map(|waker| set_timer(Duration::from_secs(3600), waker)))
            };
            let _sleeps = runtime.block_on(poll_fn(set));
            drop(runtime);
            // One waits without sleeping.
            for by_cord in [false, true] {
                let runtime = Runtime::builder().workers(workers).build().unwrap();
                let waits_for = Arc::new(Mutex::new(None::<JoinHandle<()>>));
                let later = waits_for.clone();
                drop(holding(
                    &runtime,
                    Defer(move || {
                        let fiber = waits_for.lock().unwrap().take().unwrap();
                        if by_cord {
                            Cord::new().block_on(async move {
                                drop(fiber::spawn_local(async {
                                    loop {
                                        fiber::yield_now().await;
                                    }
                                }));
                                fiber.await.unwrap_err();
                            });
                        } else {
                            leno::block_on(async {
                                while !fiber.is_finished() {
                                    fiber::yield_now().await;
                                }
                            });
                        }
                    }),
                ));
                *later.lock().unwrap() = Some(holding(&runtime, ()));
                drop(runtime);
            }
        });
    }
}

/// F7: each is dropped by a fiber of the other one.
#[test]
fn runtimes_that_keep_each_other_end() {
    for (workers, others, busy) in [(1, 1, false), (1, 1, true), (2, 2, false), (2, 2, true), (2, 3, true)] {
        in_time(move || {
            let build = |workers| Arc::new(Runtime::builder().workers(workers).build().unwrap());
            let runtimes: Vec<_> = (0..others).map(|_| build(workers)).collect();
            let drops = Drops::default();
            let ends = Latch::default();
            for (number, runtime) in runtimes.iter().enumerate() {
                let held = (runtimes[(number + 1) % others].clone(), drops.probe());
                let ends = ends.clone();
                drop(runtime.spawn(async move {
                    let _held = held;
                    if number == 0 {
                        unblock(move || ends.wait()).await;
                    } else if busy {
                        loop {
                            fiber::yield_now().await;
                        }
                    } else {
                        pending().await
                    }
                }));
            }
            let threads = runtimes.iter().map(Arc::downgrade).collect::<Vec<_>>();
            drop(runtimes);
            ends.open();
            until(|| drops.count() == others && threads.iter().all(|runtime| runtime.strong_count() == 0));
        });
    }
}

#[test]
fn spawning_during_shutdown_is_cancelled() {
    // F8: from a drop that the shutdown causes, on both executors.
    in_time(|| {
        let late: Arc<Mutex<Vec<JoinHandle<()>>>> = Arc::default();
        let (polled, drops) = (Arc::new(AtomicBool::new(false)), Drops::default());
        let spawner = || {
            let (late, polled, probe) = (late.clone(), polled.clone(), drops.probe());
            let mut probe = Some(probe);
            let spawns = Defer(move || {
                let (polled, probe) = (polled.clone(), probe.take());
                let fiber = leno::spawn(async move {
                    let _probe = probe;
                    polled.store(true, SeqCst);
                });
                late.lock().unwrap().push(fiber);
            });
            async move {
                let _spawns = spawns;
                pending::<()>().await;
            }
        };
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let started = runtime.spawn(spawner());
        drop(runtime);
        assert!(started.wait().unwrap_err().is_cancelled());
        let cord = Cord::new();
        drop(cord.spawn_local(spawner()));
        cord.block_on(leno::yield_now());
        drop(cord);
        assert_eq!(drops.count(), 2);
        assert!(!polled.load(SeqCst));
        for fiber in late.lock().unwrap().drain(..) {
            assert!(fiber.wait().unwrap_err().is_cancelled());
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "an interpreter's clock counts steps")]
fn shutdown_tells_who_was_still_alive() {
    // F8, F15
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let drops = Drops::default();
        let probe = drops.probe();
        let (quick, slow) = runtime.block_on(async {
            let quick =
                Builder::new().name("quick").spawn(async { leno::sleep(Duration::from_millis(5)).await });
            let slow = Builder::new().name("slow").spawn(async move {
                let _probe = probe;
                pending::<()>().await;
            });
            (quick, slow)
        });
        let alive = runtime.shutdown(Duration::from_millis(500));
        assert_eq!(alive.len(), 1);
        assert_eq!(alive[0].name(), Some("slow"));
        assert_eq!(alive[0].id(), slow.id());
        assert!(alive[0].is_finished());
        assert_eq!(drops.count(), 1);
        quick.wait().unwrap();
        assert!(slow.wait().unwrap_err().is_cancelled());
    });
}

#[test]
fn shutdown_tells_of_the_oldest_first() {
    // F8
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let fibers: Vec<_> = (0..20).map(|_| runtime.spawn(pending::<()>())).collect();
        let alive = runtime.shutdown(Duration::ZERO);
        assert!(alive.iter().map(|fiber| fiber.id()).eq(fibers.iter().map(|fiber| fiber.id())));
    });
}

#[test]
fn shutdown_ends_early_when_all_have_ended() {
    // F8
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async { leno::sleep(Duration::from_millis(5)).await });
        assert!(runtime.shutdown(Duration::from_secs(3600)).is_empty());
        fiber.wait().unwrap();
        assert!(Runtime::new().unwrap().shutdown(Duration::MAX).is_empty());
    });
}

#[test]
fn shutdown_refuses_new_fibers_during_the_grace() {
    // F8
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (entered, refused) = (Latch::default(), Arc::new(AtomicUsize::new(0)));
        let (enter, count) = (entered.clone(), refused.clone());
        let fiber = runtime.spawn(async move {
            enter.open();
            loop {
                match leno::spawn(async {}).await {
                    Ok(()) => leno::yield_now().await,
                    Err(error) => {
                        assert!(error.is_cancelled());
                        count.fetch_add(1, SeqCst);
                        break;
                    }
                }
            }
        });
        entered.wait();
        assert!(runtime.shutdown(Duration::from_secs(3600)).is_empty());
        fiber.wait().unwrap();
        assert_eq!(refused.load(SeqCst), 1);
    });
}

#[test]
fn what_outlives_its_executor_is_inert() {
    // F2, F8
    let (stash, drops) = (Stash::default(), Drops::default());
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let probe = drops.probe();
    let pending = stash.pending();
    let fiber = runtime.spawn(async move {
        let _probe = probe;
        pending.await;
    });
    until(|| stash.polls() == 1);
    let reference = fiber.fiber();
    drop(runtime);
    assert_eq!(drops.count(), 1);
    stash.take().unwrap().wake();
    reference.unpark();
    reference.cancel();
    assert!(fiber::find(reference.id()).is_none());
    assert!(fiber.wait().unwrap_err().is_cancelled());
}

#[test]
fn block_on_inside_block_on_names_both_places() {
    // F7: whatever the two executors are.
    let nested = |outer: &dyn Fn(Box<dyn FnOnce()>), inner: fn()| {
        let caught = catch_unwind(AssertUnwindSafe(|| outer(Box::new(inner))));
        let payload = caught.unwrap_err();
        let message = payload.downcast_ref::<String>().expect("a message").clone();
        let here = "fiber/shutdown.rs:";
        assert_eq!(message.matches(here).count(), 2, "both places: {message}");
        assert!(message.contains("unblock"), "says what to do: {message}");
    };
    let default_inside = || leno::block_on(async {});
    let cord_inside = || Cord::new().block_on(async {});
    for inner in [default_inside as fn(), cord_inside as fn()] {
        nested(&|run| leno::block_on(async { run() }), inner);
        nested(&|run| Cord::new().block_on(async { run() }), inner);
    }
    // Afterwards all is as before.
    assert_eq!(leno::block_on(async { 1 }), 1);
}

#[test]
fn block_on_in_unblock_is_fine() {
    // F7
    let value = leno::block_on(unblock(|| leno::block_on(async { leno::spawn(async { 5 }).await.unwrap() })));
    assert_eq!(value, 5);
}

#[test]
fn a_cord_drops_its_fibers_where_it_is() {
    // F7, F11
    let cord = Cord::new();
    let here = std::thread::current().id();
    let drops = Drops::default();
    for _ in 0..3 {
        let probe = drops.probe();
        drop(cord.spawn_local(async move {
            let _there = Defer(move || {
                let _ = &probe;
                assert_eq!(std::thread::current().id(), here);
            });
            leno::sleep(Duration::from_secs(3600)).await;
        }));
    }
    cord.block_on(leno::yield_now());
    assert_eq!(drops.count(), 0);
    drop(cord);
    assert_eq!(drops.count(), 3);
}

#[test]
fn a_cord_in_a_thread_local_ends_with_its_thread() {
    // F7: dropped while the thread's locals go.
    in_time(|| {
        thread_local! {
            static CORD: Cord = Cord::new();
        }
        let drops = Drops::default();
        let probe = drops.probe();
        std::thread::spawn(move || {
            CORD.with(|cord| {
                drop(cord.spawn_local(async move {
                    let _probe = probe;
                    let _spawns = Defer(|| drop(spawn_local(pending::<()>())));
                    pending::<()>().await;
                }));
                cord.block_on(leno::yield_now());
            });
        })
        .join()
        .unwrap();
        assert_eq!(drops.count(), 1);
    });
}

#[test]
fn daemons_hold_nothing_up_and_are_ended() {
    // F8
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let drops = Drops::default();
        let (daemon, child, rest) = (drops.probe(), drops.probe(), drops.probe());
        let (started, starts) = (Latch::default(), Latch::default());
        let starting = started.clone();
        let (daemon,) = runtime.block_on(async {
            let builder = Builder::new().daemon();
            (builder.spawn(async move {
                let _probe = daemon;
                drop(leno::spawn(async move {
                    let _probe = child;
                    starting.open();
                    pending::<()>().await;
                }));
                pending::<()>().await;
            }),)
        });
        started.wait();
        let going = starts.clone();
        let worker = runtime.spawn(async move {
            let _probe = rest;
            going.open();
            leno::sleep(Duration::from_millis(1)).await;
        });
        starts.wait();
        // Without a limit: only the third one is waited for, and it ends.
        assert_eq!(runtime.shutdown(Duration::MAX), []);
        assert!(worker.wait().is_ok());
        assert!(daemon.wait().unwrap_err().is_cancelled());
        assert_eq!(drops.count(), 3);
    });
}

/// F8: a fiber that a daemon has prepared is one, whoever starts it; what somebody else has prepared is none though a daemon starts
/// it.
#[test]
fn who_prepares_makes_a_daemon() {
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let (end, ends) = leno::rendezvous::<()>();
        let waited_for = ended.clone();
        runtime.block_on(async move {
            let plain = Builder::new().prepare(async move {
                ends.recv().await.unwrap();
                waited_for.store(true, SeqCst);
            });
            let daemon = Builder::new().daemon().spawn(async {
                drop(plain.start());
                Builder::new().prepare(pending::<()>())
            });
            drop(daemon.await.unwrap().start());
        });
        let last = std::thread::spawn(move || end.send_blocking(()));
        assert_eq!(runtime.shutdown(Duration::MAX), [], "nobody waits for the fiber that stays pending");
        assert!(ended.load(SeqCst), "the other one is waited for");
        last.join().unwrap().unwrap();
    });
}

/// What the hooks of an executor hold goes with it, once the last of its fibers is unknown; a panic in that drop is nobody's.
#[test]
fn the_hooks_go_with_their_executor() {
    in_time(|| {
        for workers in [1, 2] {
            let drops = Drops::default();
            let held = (drops.probe(), Defer(|| panic!("planted")));
            let builder = Runtime::builder().workers(workers).on_panic(move |_, _| _ = &held);
            let runtime = builder.build().unwrap();
            let kept = runtime.spawn(async {
                // Timers, fired and cleared, and children.
                leno::sleep(Duration::from_millis(1)).await;
                drop(set_timer(Duration::from_secs(100), Waker::noop()));
                (0..200).for_each(|_| drop(leno::spawn(fiber::yield_now())));
                pending::<()>().await;
            });
            let sleeps = runtime.block_on(async { [set_timer(Duration::from_millis(2), Waker::noop())] });
            thread::sleep(Duration::from_millis(10));
            drop(runtime);
            drop(sleeps);
            assert_eq!(drops.count(), 0, "a fiber of it is known still");
            drop(kept);
            until(|| drops.count() == 1);
        }
        let drops = Drops::default();
        let held = drops.probe();
        let cord = Cord::builder().on_panic(move |_, _| _ = &held).build();
        cord.block_on(async { spawn_local(leno::sleep(Duration::from_millis(1))).await.unwrap() });
        drop(cord);
        assert_eq!(drops.count(), 1);
    });
}

/// The only worker's own fiber drops the runtime in a call that blocks, and waits for another fiber then.
#[test]
fn a_runtime_dropped_by_its_only_worker_in_a_call_ends_the_rest() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let other = runtime.spawn(pending::<()>());
        let handle = runtime.handle().clone();
        let (tell, told) = std::sync::mpsc::channel();
        drop(handle.spawn(async move {
            fiber::yield_now().await;
            let ended = Cord::new().block_on(async move {
                drop(runtime);
                other.await
            });
            tell.send(ended).unwrap();
        }));
        assert!(told.recv().unwrap().unwrap_err().is_cancelled());
    });
}

/// It has a helper by then, as what was dropped first has waited; that waits for the only worker to go away. But the one that ends
/// the runtime in a fiber of its own is at work while it ends what it has not polled yet: nobody else may do so then.
#[test]
fn a_runtime_dropped_by_its_only_worker_has_no_other_one() {
    const NEWBORN: usize = 20_000;
    in_time(|| {
        for _ in 0..5 {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let handle = runtime.handle().clone();
            let [ended, ending, together] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
            let counts = (ended.clone(), ending, together.clone());
            let done = handle.spawn(async move {
                drop(fiber::spawn(async {
                    let _waits = Defer(|| leno::yield_now().wait());
                    pending::<()>().await;
                }));
                leno::yield_now().await;
                for _ in 0..NEWBORN {
                    let (ended, ending, together) = counts.clone();
                    let alone = Defer(move || {
                        together.fetch_add(ending.fetch_add(1, SeqCst), SeqCst);
                        ending.fetch_sub(1, SeqCst);
                        ended.fetch_add(1, SeqCst);
                    });
                    drop(fiber::spawn(async move {
                        let _alone = alone;
                    }));
                }
                drop(runtime);
            });
            done.wait().unwrap();
            until(|| ended.load(SeqCst) == NEWBORN);
            assert_eq!(together.load(SeqCst), 0, "two workers at once");
        }
    });
}
