//! Cords: order, threads, and cords on threads of their own.

use crate::support::{Defer, Drops, SeqCst, Stash, in_time, until};
use leno::fiber::{self, Cord, JoinHandle, Runtime, spawn_local};
use leno::time::Clock;
use std::cell::RefCell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

#[test]
fn who_yields_goes_behind_whatever_wakes_it_elsewhere() {
    // F14: while `a` is polled another thread wakes it; then it makes `b` ready, and yields.
    let cord = Cord::new();
    let log = Rc::new(RefCell::new(Vec::new()));
    let (stash, b_stash) = (Stash::default(), Stash::default());
    let mut waits = Box::pin(b_stash.pending());
    let b_log = log.clone();
    let b = cord.spawn_local(poll_fn(move |cx| {
        if b_log.borrow().is_empty() {
            return waits.as_mut().poll(cx);
        }
        b_log.borrow_mut().push('b');
        Poll::Ready(())
    }));
    let (leaves, a_log, wakes) = (stash.clone(), log.clone(), b_stash.clone());
    let mut waits = Box::pin(leaves.pending());
    let mut polls = 0;
    let a = cord.spawn_local(poll_fn(move |cx| {
        polls += 1;
        if polls == 1 {
            return waits.as_mut().poll(cx);
        }
        a_log.borrow_mut().push('a');
        if polls == 2 {
            let waker = cx.waker().clone();
            thread::spawn(move || waker.wake()).join().unwrap();
            wakes.take().unwrap().wake();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }));
    cord.block_on(leno::yield_now());
    cord.block_on(async {
        stash.take().unwrap().wake();
        a.await.unwrap();
        b.await.unwrap();
    });
    assert_eq!(*log.borrow(), ['a', 'b', 'a']);
}

/// Spawns a fiber that whenever it is unparked logs its name and calls `then`.
fn logs(
    cord: &Cord,
    log: &Rc<RefCell<Vec<char>>>,
    name: char,
    mut then: impl FnMut() + 'static,
) -> fiber::FiberRef {
    let log = log.clone();
    let parks = async move {
        loop {
            fiber::park().await;
            log.borrow_mut().push(name);
            then();
        }
    };
    cord.spawn_local(parks).fiber()
}

#[test]
fn what_was_woken_elsewhere_and_polled_before_keeps_no_place() {
    // F14: `a` was woken from outside while it was queued, and polled; then `c` wakes it, from here or elsewhere, behind `d`.
    for from_elsewhere in [false, true] {
        let cord = Cord::new();
        let log = Rc::new(RefCell::new(Vec::new()));
        let a = logs(&cord, &log, 'a', || {});
        let wakes = a.clone();
        let c = logs(&cord, &log, 'c', move || {
            let wakes = wakes.clone();
            if from_elsewhere {
                thread::spawn(move || wakes.unpark()).join().unwrap()
            } else {
                wakes.unpark()
            }
        });
        let d = logs(&cord, &log, 'd', || {});
        cord.block_on(leno::yield_now());
        let (wakes_a, wakes_c) = (a.clone(), c.clone());
        cord.block_on(async move {
            wakes_a.unpark();
            wakes_c.unpark();
        });
        a.unpark();
        d.unpark();
        cord.block_on(async {
            for _ in 0..3 {
                leno::yield_now().await;
            }
        });
        assert_eq!(*log.borrow(), ['a', 'c', 'd', 'a']);
    }
}

#[test]
fn who_is_woken_here_after_it_was_woken_elsewhere_keeps_its_place() {
    // F14: while `c` is polled another thread wakes `a` and `d`; then `c` wakes `a`.
    let cord = Cord::new();
    let log = Rc::new(RefCell::new(Vec::new()));
    let (a, d) = (logs(&cord, &log, 'a', || {}), logs(&cord, &log, 'd', || {}));
    let c = logs(&cord, &log, 'c', move || {
        let (also_a, d) = (a.clone(), d.clone());
        let wakes = move || {
            also_a.unpark();
            d.unpark();
        };
        thread::spawn(wakes).join().unwrap();
        a.unpark();
    });
    cord.block_on(leno::yield_now());
    cord.block_on(async move {
        c.unpark();
        for _ in 0..3 {
            leno::yield_now().await;
        }
    });
    assert_eq!(*log.borrow(), ['c', 'a', 'd']);
}

#[test]
fn a_main_fiber_is_woken_here_and_elsewhere() {
    // F1: both wake-ups come before its poll, or it yields between them; it goes on waiting.
    let cord = Cord::new();
    let (mut polls, mut yields) = (0, 0);
    let wakers: Rc<RefCell<Vec<Waker>>> = Rc::default();
    let wakes = wakers.clone();
    let wake = move || {
        let [here, elsewhere] = <[Waker; 2]>::try_from(wakes.take()).unwrap();
        thread::spawn(move || elsewhere.wake()).join().unwrap();
        here.wake();
    };
    cord.block_on(poll_fn(|cx| {
        polls += 1;
        if polls % 2 == 1 && yields < 3 {
            wakers.borrow_mut().extend([cx.waker().clone(), cx.waker().clone()]);
            drop(spawn_local({
                let wake = wake.clone();
                async move { wake() }
            }));
            return Poll::Pending;
        }
        if yields < 3 {
            yields += 1;
            let waker = cx.waker().clone();
            thread::spawn(move || waker.wake()).join().unwrap();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }));
    assert_eq!(polls, 7, "each wake-up is seen, and no poll is in vain");
}

#[test]
fn ready_fibers_run_in_the_order_in_which_they_became_ready() {
    // F14: woken in the order 2, 0, 1, from here and from another thread; the main fiber takes its place, too.
    let cord = Cord::new();
    let log = Rc::new(RefCell::new(Vec::new()));
    let wakers: Rc<RefCell<Vec<Waker>>> = Rc::default();
    for name in 0..3 {
        let (log, wakers) = (log.clone(), wakers.clone());
        let mut polls = 0;
        drop(cord.spawn_local(poll_fn(move |cx| {
            polls += 1;
            if polls == 1 {
                wakers.borrow_mut().push(cx.waker().clone());
                return Poll::Pending;
            }
            log.borrow_mut().push(name);
            Poll::Ready(())
        })));
    }
    cord.block_on(async {});
    let [zero, one, two] = <[Waker; 3]>::try_from(wakers.take()).unwrap();
    two.wake();
    thread::spawn(move || zero.wake()).join().unwrap();
    one.wake();
    let last = log.clone();
    cord.block_on(async move { last.borrow_mut().push(9) });
    assert_eq!(*log.borrow(), [2, 0, 1, 9]);
}

#[test]
fn fibers_progress_only_inside_block_on() {
    // F14
    let cord = Cord::new();
    let ran = Rc::new(RefCell::new(false));
    let sets = ran.clone();
    let fiber = cord.spawn_local(async move { *sets.borrow_mut() = true });
    thread::sleep(Duration::from_millis(1));
    assert!(!*ran.borrow() && !fiber.is_finished());
    cord.block_on(async {});
    assert!(*ran.borrow() && fiber.is_finished());
}

#[test]
fn a_wait_for_a_fiber_of_ones_own_cord_panics() {
    // F14: nobody else could drive it. Once it has ended there is nothing to drive, and a wait with a limit ends by itself.
    in_time(|| {
        let cord = Cord::new();
        let [mut early, late, never] = [1, 2, 3].map(|n| cord.spawn_local(async move { n }));
        assert!(early.wait_timeout(Duration::ZERO).is_err());
        let id = late.id();
        let panic = catch_unwind(AssertUnwindSafe(|| late.wait())).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(
            message.contains("`cord.block_on(handle)`") && message.contains(&id.to_string()),
            "{message}"
        );
        cord.block_on(async {});
        assert_eq!(early.wait().unwrap(), 1);
        assert_eq!(cord.block_on(never).unwrap(), 3);
        let inside = leno::block_on(leno::spawn(async { Cord::new().spawn_local(async {}).wait().is_ok() }));
        assert!(inside.unwrap_err().is_panic());
        // Elsewhere it is the thread's own cord that drives it.
        assert_eq!(Cord::spawn("there", || async { 4 }).unwrap().wait().unwrap(), 4);
    });
}

#[test]
fn wakes_from_other_threads_reach_the_cord() {
    // F11
    in_time(|| {
        let cord = Cord::new();
        let local = Rc::new(5);
        let here = thread::current().id();
        let stash = Stash::default();
        let woken = Arc::new(AtomicBool::new(false));
        let (seen, mut waits) = (woken.clone(), Box::pin(stash.pending()));
        let fiber = cord.spawn_local(poll_fn(move |cx| {
            assert_eq!(thread::current().id(), here);
            if seen.load(SeqCst) {
                return Poll::Ready(*local);
            }
            waits.as_mut().poll(cx).map(|()| 0)
        }));
        let other = thread::spawn(move || {
            until(|| stash.polls() == 1);
            thread::sleep(Duration::from_millis(1));
            woken.store(true, SeqCst);
            stash.waker().unwrap().wake();
        });
        assert_eq!(cord.block_on(fiber).unwrap(), 5);
        other.join().unwrap();
    });
}

#[test]
fn the_last_waker_elsewhere_frees_memory_only() {
    // F11: the future is dropped by the cord although a waker of it goes on living on another thread.
    struct Stays(thread::ThreadId, Rc<()>);
    impl Drop for Stays {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.0);
        }
    }
    let cord = Cord::new();
    let stash = Stash::default();
    let stays = Stays(thread::current().id(), Rc::new(()));
    let weak = Rc::downgrade(&stays.1);
    let waits = stash.pending();
    drop(cord.spawn_local(async move {
        let _stays = stays;
        waits.await;
    }));
    cord.block_on(leno::yield_now());
    drop(cord);
    assert!(weak.upgrade().is_none());
    let waker = stash.take().unwrap();
    thread::spawn(move || drop(waker)).join().unwrap();
}

#[test]
fn a_value_that_nobody_takes_is_dropped_on_the_cords_thread() {
    // F11
    struct Stays(thread::ThreadId, #[allow(dead_code, reason = "makes it !Send")] Rc<()>);
    impl Drop for Stays {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.0);
        }
    }
    let drops = Drops::default();
    let cord = Cord::new();
    let value = |probe| {
        let stays = Stays(thread::current().id(), Rc::new(()));
        async move { (stays, probe) }
    };
    drop(cord.spawn_local(value(drops.probe())));
    let kept = cord.spawn_local(value(drops.probe()));
    cord.block_on(leno::yield_now());
    assert_eq!(drops.count(), 1);
    drop(cord);
    assert_eq!(drops.count(), 1);
    drop(kept);
    assert_eq!(drops.count(), 2);
}

#[test]
fn spawn_on_a_cord_stays_there() {
    // Free `spawn` and `spawn_local` use the cord that they are called on.
    let cord = Cord::new();
    let here = thread::current().id();
    cord.block_on(async move {
        assert_eq!(leno::spawn(async { thread::current().id() }).await.unwrap(), here);
        assert_eq!(spawn_local(async { thread::current().id() }).await.unwrap(), here);
    });
}

#[test]
#[should_panic(expected = "`spawn_local` outside a cord")]
fn spawn_local_outside_a_cord_panics() {
    drop(spawn_local(async {}));
}

#[test]
fn spawn_local_on_a_runtime_panics() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let fiber = runtime.spawn(async { drop(spawn_local(async {})) });
    assert!(fiber.wait().unwrap_err().to_string().contains("outside a cord"));
}

#[test]
fn a_cord_on_its_own_thread() {
    // F11: started there, ends with its first fiber, whose others it drops; names show.
    in_time(|| {
        let drops = Drops::default();
        let probe = drops.probe();
        let here = thread::current().id();
        let cord = Cord::spawn("loom", move || {
            let there = Rc::new(thread::current().id());
            async move {
                assert_eq!(thread::current().name(), Some("loom"));
                assert_eq!(fiber::current().name(), Some("loom"));
                drop(spawn_local(async move {
                    let _probe = probe;
                    pending::<()>().await;
                }));
                let doubled = spawn_local(async { leno::sleep(Duration::from_millis(1)).await });
                doubled.await.unwrap();
                *there
            }
        })
        .unwrap();
        assert_eq!(cord.name(), Some("loom"));
        assert_ne!(cord.wait().unwrap(), here);
        until(|| drops.count() == 1);
    });
}

#[test]
fn a_cord_on_its_own_thread_has_settings() {
    in_time(|| {
        let stopped = Arc::new(AtomicUsize::new(0));
        let counts = stopped.clone();
        let cord = Cord::builder()
            .clock(Clock::virtual_time())
            .on_stop(move |_| _ = counts.fetch_add(1, SeqCst))
            .spawn("settings", || async {
                let begin = leno::fiber::now();
                leno::sleep(Duration::from_secs(3600)).await;
                leno::fiber::now() - begin
            })
            .unwrap();
        assert_eq!(cord.wait().unwrap(), Duration::from_secs(3600));
        assert_eq!(stopped.load(SeqCst), 1);
    });
}

#[test]
fn cancelling_a_cord_on_its_own_thread_ends_it() {
    // F3, F11
    in_time(|| {
        let drops = Drops::default();
        let (own, child) = (drops.probe(), drops.probe());
        let started = Arc::new(AtomicUsize::new(0));
        let count = started.clone();
        let cord: JoinHandle<()> = Cord::spawn("ends", move || async move {
            let _probe = own;
            drop(fiber::Builder::new().root().spawn_local(async move {
                let _probe = child;
                pending::<()>().await;
            }));
            count.store(1, SeqCst);
            pending().await
        })
        .unwrap();
        until(|| started.load(SeqCst) == 1);
        cord.cancel();
        assert!(cord.wait().unwrap_err().is_cancelled());
        until(|| drops.count() == 2);

        // Cancelled before the thread got to it: the closure is dropped uncalled, or called and cancelled.
        for _ in 0..50 {
            let probe = drops.probe();
            let cord = Cord::spawn("never", move || async move {
                let _probe = probe;
                pending::<()>().await;
            })
            .unwrap();
            cord.cancel();
            assert!(cord.wait().unwrap_err().is_cancelled());
        }
        until(|| drops.count() == 52);
    });
}

#[test]
fn a_panic_in_a_cord_on_its_own_thread_is_joined() {
    // F5: in the closure, and in the future.
    in_time(|| {
        let closure = Cord::spawn("closure", || -> std::future::Ready<()> { panic!("at once") }).unwrap();
        assert!(closure.wait().unwrap_err().is_panic());
        let future: JoinHandle<()> = Cord::spawn("future", || async { panic!("later") }).unwrap();
        assert!(future.wait().unwrap_err().is_panic());
        let zero = Cord::spawn("a\0b", || async {});
        assert_eq!(zero.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    });
}

#[test]
fn timers_and_yields_mix_in_a_fixed_order() {
    // F14, F12: a virtual clock makes it so.
    let run = || {
        let log = Rc::new(RefCell::new(Vec::new()));
        let cord = Cord::with_clock(Clock::virtual_time());
        let start = cord.block_on(async { fiber::now() });
        for name in 0..4_u64 {
            let log = log.clone();
            drop(cord.spawn_local(async move {
                for round in 0..3 {
                    leno::sleep(Duration::from_millis((name + round) % 3)).await;
                    leno::yield_now().await;
                    log.borrow_mut().push((name, (fiber::now() - start).as_millis()));
                }
            }));
        }
        cord.block_on(leno::sleep(Duration::from_secs(1)));
        log.take()
    };
    let first = run();
    assert_eq!(first.len(), 12);
    assert!(first.is_sorted_by_key(|(_, at)| *at));
    for _ in 0..10 {
        assert_eq!(run(), first);
    }
}

#[test]
fn nested_cords_in_turn() {
    // Two cords on one thread, one after the other and interleaved.
    let (a, b) = (Cord::new(), Cord::new());
    let log = Rc::new(RefCell::new(Vec::new()));
    for (cord, name) in [(&a, 'a'), (&b, 'b')] {
        let log = log.clone();
        drop(cord.spawn_local(async move {
            let _end = Defer({
                let log = log.clone();
                move || log.borrow_mut().push(name.to_ascii_uppercase())
            });
            for _ in 0..2 {
                log.borrow_mut().push(name);
                leno::yield_now().await;
            }
        }));
    }
    a.block_on(async {});
    b.block_on(async {});
    a.block_on(async {});
    b.block_on(leno::yield_now());
    drop((b, a));
    assert_eq!(log.borrow().iter().collect::<String>(), "ababBA");
}

#[test]
fn a_seed_makes_selects_go_the_same_way() {
    /// Which branch was first, of many selects over four that are ready; in two parts.
    async fn half() -> Vec<usize> {
        let ready = |index: usize| {
            let (sender, receiver) = leno::bounded(1);
            sender.try_send(index).unwrap();
            receiver
        };
        let mut firsts = Vec::new();
        for _ in 0..100 {
            let [a, b, c, d] = [0, 1, 2, 3].map(ready);
            firsts.push(leno::select! {
                index = a.recv() => index,
                index = b.recv() => index,
                index = c.recv() => index,
                index = d.recv() => index,
            });
        }
        firsts.into_iter().map(Result::unwrap).collect()
    }
    let builder = |seed| Cord::builder().seed(seed);
    let whole = |seed| {
        let cord = builder(seed).build();
        [cord.block_on(half()), cord.block_on(half())].concat()
    };
    let first = whole(7);
    for index in 0..4 {
        let count = first.iter().filter(|first| **first == index).count();
        assert!((20..80).contains(&count), "{index} was first {count} times of 200");
    }
    assert_ne!(first, whole(8));
    // What others on the same thread draw changes nothing, not even between the two halves; nor does a panic.
    let (one, other) = (builder(7).build(), builder(7).build());
    let one_half = one.block_on(half());
    let unseeded = Cord::new().block_on(half());
    assert_ne!(unseeded, one_half);
    let panics =
        std::panic::AssertUnwindSafe(|| Cord::builder().seed(9).build().block_on(async { panic!("over") }));
    assert!(catch_unwind::<_, ()>(panics).is_err());
    let mut others = vec![other.block_on(half())];
    let one = [one_half, one.block_on(half())].concat();
    others.push(other.block_on(half()));
    assert_eq!([one, others.concat()], [first.clone(), first.clone()]);
    // On a thread of its own as well, and where fibers are dropped with their cord.
    let spawned = builder(7).spawn("seeded", || async { [half().await, half().await].concat() });
    assert_eq!(spawned.unwrap().wait().unwrap(), first);
    assert_ne!(Cord::new().block_on(half()), unseeded, "without a seed they differ");
    let dropped = || {
        let (cord, log) = (builder(7).build(), Rc::new(RefCell::new(Vec::new())));
        let said = log.clone();
        drop(cord.spawn_local(async move {
            let _end = Defer(|| match pin!(half()).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(firsts) => said.borrow_mut().extend(firsts),
                Poll::Pending => unreachable!("all are ready"),
            });
            pending::<()>().await;
        }));
        cord.block_on(leno::yield_now());
        drop(cord);
        log.take()
    };
    assert_eq!(dropped(), first[..100]);
}
