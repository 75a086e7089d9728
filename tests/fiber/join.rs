//! Join handles.

use crate::support::{CountingWaker, Drops, Latch, until};
use leno::fiber::{Cord, Elapsed, JoinHandle, Prepared, Runtime, spawn_local};
use leno::time::Clock;
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn the_output_is_dropped_once_whenever_the_handle_goes() {
    // F6: before, during and after completion.
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let drops = Drops::default();

    let (start, go) = (Latch::default(), Latch::default());
    let (probe, started, wait) = (drops.probe(), start.clone(), go.clone());
    let before = runtime.spawn(async move {
        started.open();
        wait.wait();
        probe
    });
    start.wait();
    drop(before);
    assert_eq!(drops.count(), 0);
    go.open();
    until(|| drops.count() == 1);

    let probe = drops.probe();
    let after = runtime.spawn(async move { probe });
    until(|| after.is_finished());
    assert_eq!(drops.count(), 1);
    drop(after);
    assert_eq!(drops.count(), 2);

    let probe = drops.probe();
    let taken = runtime.spawn(async move { probe });
    let output = taken.wait().unwrap();
    assert_eq!(drops.count(), 2);
    drop(output);
    assert_eq!(drops.count(), 3);

    // During, with real threads.
    for round in 0..2000 {
        let probe = drops.probe();
        let fiber = runtime.spawn(async move { probe });
        for _ in 0..round % 50 {
            std::hint::spin_loop();
        }
        drop(fiber);
    }
    until(|| drops.count() == 2003);
}

#[test]
fn awaiting_oneself_is_an_error() {
    // F6
    let cord = Cord::new();
    let slot: Rc<RefCell<Option<JoinHandle<bool>>>> = Rc::default();
    let inside = slot.clone();
    let fiber = cord.spawn_local(async move {
        let own = inside.borrow_mut().take().unwrap();
        let error = own.await.unwrap_err();
        error.is_self_join() && !error.is_cancelled() && !error.is_panic()
    });
    let watch = fiber.fiber();
    *slot.borrow_mut() = Some(fiber);
    cord.block_on(leno::yield_now());
    assert!(watch.is_finished());
}

#[test]
fn join_timeout_may_time_out_and_be_tried_again() {
    // F6, F14: on a virtual clock.
    let cord = Cord::with_clock(Clock::virtual_time());
    cord.block_on(async {
        let mut fiber = spawn_local(async {
            leno::sleep(Duration::from_secs(10)).await;
            5
        });
        let start = leno::fiber::now();
        for seconds in [3, 6] {
            let elapsed: Result<_, Elapsed> = fiber.join_timeout(Duration::from_secs(3)).await;
            assert!(elapsed.is_err());
            assert_eq!(leno::fiber::now() - start, Duration::from_secs(seconds));
        }
        // Both at one instant: the fiber wins.
        assert_eq!(fiber.join_timeout(Duration::from_secs(4)).await.unwrap().unwrap(), 5);
        assert_eq!(leno::fiber::now() - start, Duration::from_secs(10));
    });
}

#[test]
fn a_dropped_join_leaves_the_handle_usable() {
    // F6
    let cord = Cord::new();
    cord.block_on(async {
        let mut fiber = spawn_local(async {
            leno::yield_now().await;
            8
        });
        let once = poll_fn(|cx| Poll::Ready(Pin::new(&mut fiber).poll(cx).is_pending())).await;
        assert!(once);
        assert_eq!((&mut fiber).await.unwrap(), 8);
        assert!(fiber.is_finished());
    });
}

#[test]
#[should_panic(expected = "polled after")]
fn a_handle_polled_after_its_outcome_panics() {
    let mut fiber = leno::spawn(async {});
    leno::block_on(&mut fiber).unwrap();
    let _ = Pin::new(&mut fiber).poll(&mut Context::from_waker(Waker::noop()));
}

#[test]
fn the_latest_waker_is_woken() {
    // F6 (C12 for handles): polled with A, then with B, which is woken; A is let go.
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let mut fiber = runtime.spawn(async move { gone.recv().unwrap() });
    let (a, b) = (CountingWaker::new(), CountingWaker::new());
    for (count, times) in [(&a, 2), (&b, 3)] {
        let waker = Waker::from(count.clone());
        for _ in 0..times {
            assert!(Pin::new(&mut fiber).poll(&mut Context::from_waker(&waker)).is_pending());
        }
    }
    assert_eq!(Arc::strong_count(&a), 1);
    assert_eq!(Arc::strong_count(&b), 2);
    go.send(()).unwrap();
    until(|| b.count() == 1);
    fiber.wait().unwrap();
    assert_eq!(a.count(), 0);
    assert_eq!(Arc::strong_count(&b), 1);
}

#[test]
fn a_handle_dropped_early_lets_go_of_its_waker() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let mut fiber = runtime.spawn(pending::<()>());
    let count = CountingWaker::new();
    let waker = Waker::from(count.clone());
    assert!(Pin::new(&mut fiber).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    drop(fiber);
    assert_eq!(Arc::strong_count(&count), 1);
    drop(runtime);
    assert_eq!(count.count(), 0);
}

#[test]
fn waiting_on_a_thread() {
    let (end, ends) = leno::channel::oneshot::channel();
    let mut fiber = leno::spawn(async {
        ends.await.unwrap();
        3
    });
    assert!(fiber.wait_timeout(Duration::from_millis(1)).is_err());
    assert!(fiber.wait_deadline(Instant::now()).is_err());
    assert!(fiber.join_timeout(Duration::from_millis(1)).wait().is_err());
    end.send(()).unwrap();
    assert_eq!(fiber.wait_timeout(Duration::MAX).unwrap().unwrap(), 3);
}

#[test]
fn joining_from_another_executor() {
    // F11, F6: a cord joins a runtime's fiber, a tokio task joins one, a runtime joins a cord on its own thread.
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let cord = Cord::new();
    assert_eq!(cord.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
    let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(tokio.block_on(runtime.spawn(async { 2 })).unwrap(), 2);
    let other = Cord::spawn("other", || async { 3 }).unwrap();
    assert_eq!(runtime.block_on(other).unwrap(), 3);
}

fn sends<T: Send + Sync + Unpin>() {}

#[test]
fn handles_are_send_where_the_value_is() {
    // F11
    sends::<JoinHandle<u8>>();
    sends::<Prepared<u8>>();
    sends::<leno::fiber::FiberRef>();
    sends::<leno::fiber::JoinError>();
    sends::<leno::fiber::Sleep>();
    sends::<leno::fiber::Unblock<u8>>();
    sends::<leno::fiber::ParkTimeout>();
    sends::<leno::fiber::JoinTimeout<'static, u8>>();
    sends::<Runtime>();
}

#[test]
fn errors_say_what_they_are() {
    // F6
    use std::io;
    let error = |fiber: JoinHandle<()>| fiber.wait().unwrap_err();
    let panicked = || error(leno::spawn(async { panic!("no luck") }));
    assert_eq!(panicked().try_into_panic().unwrap().downcast_ref(), Some(&"no luck"));
    let cancelled = leno::spawn(pending::<()>());
    cancelled.cancel();
    assert!(error(cancelled).try_into_panic().unwrap_err().is_cancelled());
    let panicked = panicked();
    let said = panicked.to_string();
    let told = io::Error::from(panicked);
    assert_eq!((told.kind(), told.to_string()), (io::ErrorKind::Other, said));
    let late = leno::block_on(leno::timeout(Duration::ZERO, pending::<()>())).map_err(io::Error::from);
    assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[test]
fn handles_can_be_told_apart_and_caught() {
    fn is_caught<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    is_caught::<(Runtime, Cord, leno::fiber::FiberRef, JoinHandle<Rc<RefCell<u8>>>)>();
    is_caught::<(leno::fiber::Prepared<Rc<RefCell<u8>>>, leno::fiber::JoinError)>();
    let cord = Cord::new();
    let (one, two) = (cord.spawn_local(pending::<()>()), cord.spawn_local(async {}));
    let all = std::collections::HashSet::from([one.fiber(), two.fiber(), one.fiber()]);
    assert!(all.len() == 2 && all.contains(&two.fiber()));
    use futures_core::future::FusedFuture;
    let mut two = two;
    assert!(!two.is_terminated());
    cord.block_on(&mut two).unwrap();
    assert!(two.is_terminated());
}
