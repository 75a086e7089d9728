//! Wake-ups: how many polls they make, and when they make none.

use crate::support::{Defer, Drops, Latch, SeqCst, Stash, until};
use leno::fiber::{Cord, Runtime, spawn_local};
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Poll;

/// Lets everything that is ready on the cord run.
async fn settle() {
    for _ in 0..4 {
        leno::yield_now().await;
    }
}

#[test]
fn a_wake_during_the_poll_makes_one_more() {
    // F1
    let cord = Cord::new();
    let polls = Rc::new(Cell::new(0));
    let seen = polls.clone();
    let fiber = cord.spawn_local(poll_fn(move |cx| {
        polls.set(polls.get() + 1);
        if polls.get() == 1 {
            for _ in 0..10 {
                cx.waker().wake_by_ref();
            }
        }
        Poll::<()>::Pending
    }));
    cord.block_on(settle());
    assert_eq!(seen.get(), 2);
    drop(fiber);
}

#[test]
fn a_thousand_wakes_make_one_poll() {
    // F1
    let cord = Cord::new();
    let stash = Stash::default();
    let fiber = cord.spawn_local(stash.pending());
    cord.block_on(settle());
    assert_eq!(stash.polls(), 1);
    for _ in 0..1000 {
        stash.waker().unwrap().wake();
    }
    cord.block_on(settle());
    assert_eq!(stash.polls(), 2);
    drop(fiber);
}

#[test]
fn a_thousand_wakes_make_one_poll_on_a_runtime() {
    // F1, F9
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let stash = Stash::default();
        let fiber = runtime.spawn(stash.pending());
        until(|| stash.polls() == 1 && stash.waker().is_some());
        // All workers are busy meanwhile.
        let (began, gate) = (Arc::new(AtomicUsize::new(0)), Latch::default());
        let busy = [(); 2].map(|()| {
            let (began, gate) = (began.clone(), gate.clone());
            runtime.spawn(async move {
                began.fetch_add(1, SeqCst);
                gate.wait();
            })
        });
        until(|| began.load(SeqCst) == workers);
        for _ in 0..1000 {
            stash.waker().unwrap().wake();
        }
        assert_eq!(stash.polls(), 1);
        gate.open();
        busy.into_iter().for_each(|fiber| fiber.wait().unwrap());
        until(|| stash.polls() == 2);
        runtime.block_on(settle());
        assert_eq!(stash.polls(), 2);
        drop(fiber);
    }
}

#[test]
fn a_wake_after_completion_does_nothing() {
    // F1
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let stash = Stash::default();
    let pending = stash.pending();
    let fiber = runtime.spawn(async move {
        let mut pending = Box::pin(pending);
        poll_fn(|cx| {
            let _ = pending.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
    });
    fiber.wait().unwrap();
    for _ in 0..3 {
        stash.waker().unwrap().wake();
    }
    drop(runtime);
    assert_eq!(stash.polls(), 1);
    stash.waker().unwrap().wake_by_ref();
    stash.take().unwrap().wake();
}

#[test]
fn wakes_from_drops_are_inert() {
    // F2: from the future's drop, from the output's drop, and after the runtime is gone.
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (stash, drops) = (Stash::default(), Drops::default());
    let (in_future, in_output) = (stash.clone(), stash.clone());
    let (first, second) = (drops.probe(), drops.probe());
    let pending = stash.pending();
    let fiber = runtime.spawn(async move {
        let _wakes = Defer(move || {
            let _ = &first;
            in_future.waker().unwrap().wake();
        });
        let mut pending = Box::pin(pending);
        poll_fn(|cx| {
            let _ = pending.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
        Defer(move || {
            let _ = &second;
            in_output.waker().unwrap().wake();
        })
    });
    until(|| fiber.is_finished());
    drop(fiber);
    assert_eq!(drops.count(), 2);
    drop(runtime);
    let waker = stash.take().unwrap();
    waker.wake_by_ref();
    let copy = waker.clone();
    drop(waker);
    copy.wake();
    assert_eq!(stash.polls(), 1);
}

#[test]
fn the_last_waker_may_go_first_or_last() {
    // F2: a waker dropped inside the future's own drop, and one kept beyond the runtime.
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let stash = Stash::default();
    let inner = stash.clone();
    let pending = stash.pending();
    let fiber = runtime.spawn(async move {
        let _takes = Defer(move || drop(inner.take()));
        pending.await;
    });
    until(|| stash.polls() == 1);
    let kept = stash.waker().unwrap();
    fiber.cancel();
    assert!(fiber.wait().unwrap_err().is_cancelled());
    assert!(stash.waker().is_none());
    drop(runtime);
    kept.wake();
}

#[test]
fn what_the_waker_wrote_is_seen_by_the_poll() {
    // F1, with real threads: each value is followed by a wake, none may be missed.
    const ROUNDS: usize = 2000;
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let value = Arc::new(AtomicUsize::new(0));
    let stash = Stash::default();
    let ready = Latch::default();
    let (seen, keep, go) = (value.clone(), stash.clone(), ready.clone());
    let fiber = runtime.spawn(async move {
        let mut pending = Box::pin(keep.pending());
        poll_fn(|cx| {
            let _ = pending.as_mut().poll(cx);
            go.open();
            if seen.load(std::sync::atomic::Ordering::Relaxed) == 2 * ROUNDS {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    });
    ready.wait();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    value.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    stash.waker().unwrap().wake();
                }
            });
        }
    });
    fiber.wait().unwrap();
    assert_eq!(value.load(SeqCst), 2 * ROUNDS);
}

#[test]
fn the_future_of_block_on_is_woken_from_anywhere() {
    // F11 for the main fiber, on both executors, with a real thread.
    fn go(block_on: impl Fn(std::pin::Pin<Box<dyn Future<Output = ()>>>)) {
        for _ in 0..100 {
            let flag = Arc::new(AtomicUsize::new(0));
            let copy = flag.clone();
            block_on(Box::pin(poll_fn(move |cx| match copy.load(SeqCst) {
                2 => Poll::Ready(()),
                seen => {
                    if seen == 0 {
                        copy.store(1, SeqCst);
                        let (waker, copy) = (cx.waker().clone(), copy.clone());
                        std::thread::spawn(move || {
                            copy.store(2, SeqCst);
                            waker.wake();
                        });
                    }
                    Poll::Pending
                }
            })));
        }
    }
    let cord = Cord::new();
    go(|future| cord.block_on(future));
    go(|future| leno::block_on(future));
}

#[test]
fn a_fiber_that_wakes_itself_goes_to_the_back() {
    // F14, F10: three fibers that yield take turns.
    let cord = Cord::new();
    let order = Rc::new(std::cell::RefCell::new(Vec::new()));
    let log = order.clone();
    cord.block_on(async move {
        let fibers: Vec<_> = (0..3)
            .map(|name| {
                let log = log.clone();
                spawn_local(async move {
                    for _ in 0..3 {
                        log.borrow_mut().push(name);
                        leno::yield_now().await;
                    }
                })
            })
            .collect();
        for fiber in fibers {
            fiber.await.unwrap();
        }
    });
    assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}
