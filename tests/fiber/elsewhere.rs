//! Parts of a task that run on another runtime or on a thread of their own.

use crate::support::{Drops, Latch, SeqCst, Stash, in_time, message_of, until};
use leno::fiber::{self, Cord, Handle, Runtime, on, on_new_thread, shield};
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[test]
fn runs_there_and_comes_back() {
    in_time(|| {
        let there = Runtime::builder().workers(1).name("there").build().unwrap();
        let thread = || std::thread::current().name().map(str::to_owned);
        let cord = Cord::new();
        let here = std::rc::Rc::new(5);
        let seen = cord.block_on(async {
            let kept = here.clone();
            let name = on(&there, async move { thread() }).await;
            assert_eq!(*kept, 5);
            name
        });
        assert_eq!(seen.as_deref(), Some("there-0"));
        // From another executor, and from a plain thread.
        assert_eq!(futures_lite::future::block_on(on(&there, async { 1 })), 1);
        assert_eq!(on(&there, async { 2 }).wait(), 2);
        assert_eq!(there.handle().on(async { 3 }).wait(), 3);
    });
}

#[test]
fn nothing_runs_before_the_first_poll_and_a_drop_cancels() {
    in_time(|| {
        let there = Runtime::builder().workers(1).build().unwrap();
        let (drops, stash) = (Drops::default(), Stash::default());
        let (probe, pending) = (drops.probe(), stash.pending());
        let mut sent = on(&there, async move {
            let _probe = probe;
            pending.await;
        });
        assert_eq!(stash.polls(), 0);
        assert!(std::pin::Pin::new(&mut sent).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        until(|| stash.polls() == 1);
        drop(sent);
        until(|| drops.count() == 1);
        let unsent = on(&there, {
            let probe = drops.probe();
            async move { drop(probe) }
        });
        drop(unsent);
        assert_eq!(drops.count(), 2);
    });
}

#[test]
fn a_panic_comes_back_and_so_does_the_end_of_the_runtime() {
    in_time(|| {
        let there = Runtime::builder().workers(1).build().unwrap();
        let panics = catch_unwind(AssertUnwindSafe(|| {
            leno::block_on(on(&there, async { panic!("there") }));
        }));
        assert_eq!(message_of(panics.unwrap_err()), "there");
        let stash = Stash::default();
        let mut sent = on(&there, stash.pending());
        assert!(std::pin::Pin::new(&mut sent).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        until(|| stash.polls() == 1);
        drop(there);
        let ended = catch_unwind(AssertUnwindSafe(|| leno::block_on(sent)));
        assert!(message_of(ended.unwrap_err()).contains("keep its runtime"));
    });
}

#[test]
fn a_thread_of_its_own() {
    in_time(|| {
        let named = || std::thread::current().name().map(str::to_owned);
        let cord = Cord::new();
        let name = cord.block_on(on_new_thread("own", named)).unwrap();
        assert_eq!(name.as_deref(), Some("own"));
        assert_eq!(on_new_thread("own", || 5).wait().unwrap(), 5);
        let bad = leno::block_on(on_new_thread("zero\0byte", || ()));
        assert_eq!(bad.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let panics = catch_unwind(|| leno::block_on(on_new_thread("own", || panic!("own"))));
        assert_eq!(message_of(panics.unwrap_err()), "own");
    });
}

#[test]
fn a_thread_is_not_started_for_nothing_and_runs_to_its_end() {
    in_time(|| {
        let drops = Drops::default();
        let probe = drops.probe();
        drop(on_new_thread("never", move || drop(probe)));
        assert_eq!(drops.count(), 1);
        // Dropped while it runs: it goes on, and what it gives is dropped.
        let (inside, leave) = (Latch::default(), Latch::default());
        let (entered, wait, probe) = (inside.clone(), leave.clone(), drops.probe());
        let ended = Arc::new(AtomicBool::new(false));
        let tells = ended.clone();
        let mut call = on_new_thread("runs", move || {
            entered.open();
            wait.wait();
            tells.store(true, SeqCst);
            probe
        });
        leno::block_on(poll_fn(|cx| {
            assert!(std::pin::Pin::new(&mut call).poll(cx).is_pending());
            Poll::Ready(())
        }));
        inside.wait();
        drop(call);
        leave.open();
        until(|| drops.count() == 2);
        assert!(ended.load(SeqCst));
    });
}

#[test]
fn a_thread_that_cannot_be_started_leaves_no_job_behind() {
    // Virtual time stands still while a job runs; here it has to go on.
    in_time(|| {
        let cord = Cord::with_clock(leno::time::Clock::virtual_time());
        cord.block_on(async {
            assert!(on_new_thread("zero\0byte", || ()).await.is_err());
            let mut refused = on_new_thread("zero\0byte", || ());
            poll_fn(|cx| {
                assert!(std::pin::Pin::new(&mut refused).poll(cx).is_ready());
                Poll::Ready(())
            })
            .await;
            leno::sleep(Duration::from_secs(3600)).await;
        });
    });
}

#[test]
fn under_a_shield_it_completes() {
    // F4: nobody's child, also on the runtime that the caller runs on.
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (begun, go) = (Latch::default(), Latch::default());
        let (tx, rx) = leno::bounded(1);
        let (begins, gone) = (begun.clone(), go.clone());
        let sent = on(&runtime, async move {
            begins.open();
            gone.wait();
            fiber::yield_now().await;
            5
        });
        let fiber = runtime.spawn(shield(async move { tx.send(sent.await).await.unwrap() }));
        begun.wait();
        fiber.cancel();
        go.open();
        assert_eq!(rx.recv_blocking(), Ok(5));
    });
}

#[test]
fn virtual_time_stands_still_meanwhile() {
    in_time(|| {
        let there = Runtime::builder().workers(1).build().unwrap();
        let cord = Cord::with_clock(leno::time::Clock::virtual_time());
        let sent = on(&there, leno::sleep(Duration::from_millis(5)));
        assert!(cord.block_on(leno::timeout(Duration::from_secs(3600), sent)).is_ok());
        // Not for the very runtime that has the clock.
        let own = Runtime::builder().workers(1).clock(leno::time::Clock::virtual_time()).build().unwrap();
        own.block_on(on(&own, leno::sleep(Duration::from_secs(3600))));
        // And goes on afterwards, also after one that was dropped.
        let mut dropped = on(&there, std::future::pending::<()>());
        cord.block_on(async {
            poll_fn(|cx| {
                assert!(std::pin::Pin::new(&mut dropped).poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            drop(dropped);
            leno::sleep(Duration::from_secs(3600)).await;
        });
    });
}

/// A plain thread, a cord and another runtime start fibers on a runtime that they do not own.
#[test]
fn a_handle_starts_fibers_from_anywhere() {
    in_time(|| {
        let there = Runtime::builder().workers(1).name("there").build().unwrap();
        let name = || std::thread::current().name().map(str::to_owned);
        let handle = there.handle().clone();
        let thread = std::thread::spawn(move || handle.spawn(async move { name() }).wait());
        assert_eq!(thread.join().unwrap().unwrap().as_deref(), Some("there-0"));
        let handle = there.handle();
        let seen = Cord::new().block_on(async { handle.spawn(async move { name() }).await });
        assert_eq!(seen.unwrap().as_deref(), Some("there-0"));
        let named = leno::block_on(async {
            let fiber = fiber::Builder::new().name("abroad");
            fiber.spawn_on(handle, async { fiber::current().name().map(str::to_owned) }).await
        });
        assert_eq!(named.unwrap().as_deref(), Some("abroad"));
        assert_eq!(handle.dump().fibers().len(), 0);
    });
}

#[test]
fn a_handle_of_the_current_runtime() {
    in_time(|| {
        assert_eq!(Handle::current(), None);
        Cord::new().block_on(async { assert_eq!(Handle::current(), None) });
        let [one, other] = [(); 2].map(|()| Runtime::builder().workers(1).build().unwrap());
        let here = |runtime: &Runtime| runtime.spawn(async { Handle::current() }).wait().unwrap().unwrap();
        assert_eq!(here(&one), *one.handle());
        assert_ne!(here(&one), here(&other));
        assert_eq!(one.block_on(async { Handle::current() }).as_ref(), Some(one.handle()));
    });
}

/// A cord's fibers are not on the default runtime; by its handle they reach it.
#[test]
fn a_handle_of_the_default_runtime() {
    in_time(|| {
        let default = leno::block_on(async { Handle::current() });
        assert_eq!(default, Some(Handle::default()));
        let here = std::thread::current().id();
        Cord::new().block_on(async {
            assert_eq!(Handle::current(), None);
            let fiber = Handle::default().spawn(async { (Handle::current(), std::thread::current().id()) });
            let (home, there) = fiber.await.unwrap();
            assert_eq!(home, default);
            assert_ne!(there, here);
        });
    });
}

/// What a fiber starts by the handle of its own runtime is its child; what another runtime's fiber starts is not.
#[test]
fn a_handle_keeps_families_together() {
    in_time(|| {
        let here = Runtime::builder().workers(1).build().unwrap();
        let there = Runtime::builder().workers(1).build().unwrap();
        let (child, stranger) = (Drops::default(), Drops::default());
        let latch = Latch::default();
        let parent = here.spawn({
            let (here, there, open) = (here.handle().clone(), there.handle().clone(), latch.clone());
            let (child, stranger) = (child.probe(), stranger.probe());
            async move {
                drop(here.spawn(async move {
                    let _probe = child;
                    std::future::pending::<()>().await;
                }));
                drop(there.spawn(async move {
                    let _probe = stranger;
                    std::future::pending::<()>().await;
                }));
                open.open();
                std::future::pending::<()>().await;
            }
        });
        latch.wait();
        parent.cancel();
        assert!(parent.wait().unwrap_err().is_cancelled());
        until(|| child.count() == 1);
        assert_eq!(stranger.count(), 0);
        drop(there);
        assert_eq!(stranger.count(), 1);
    });
}

#[test]
fn a_handle_of_a_runtime_that_has_ended_starts_nothing() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let handle = runtime.handle().clone();
        let drops = Drops::default();
        drop(runtime.shutdown(Duration::ZERO));
        let probe = drops.probe();
        let late = handle.spawn(async move { drop(probe) });
        assert_eq!(drops.count(), 1);
        assert!(late.wait().unwrap_err().is_cancelled());
    });
}

/// What is over holds up no clock, though its future is kept.
#[test]
fn virtual_time_goes_on_once_it_is_over() {
    in_time(|| {
        let there = Runtime::builder().workers(1).build().unwrap();
        crate::support::cord().block_on(async {
            let mut sent = on(&there, async { 5 });
            assert_eq!((&mut sent).await, 5);
            leno::sleep(crate::support::SECOND).await;
            drop(sent);
        });
    });
}

/// It is no child, also where it comes back to the runtime that it is on.
#[test]
fn nothing_is_inherited_there() {
    leno::fiber_local! { inherited static NAME: &'static str = "nobody"; }
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let handle = runtime.handle().clone();
        let names = runtime.spawn(async move {
            NAME.set("parent");
            (leno::spawn(async { NAME.get() }).await.unwrap(), handle.on(async { NAME.get() }).await)
        });
        assert_eq!(names.wait().unwrap(), ("parent", "nobody"));
    });
}
