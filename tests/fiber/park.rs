//! Park tokens, names and ids, prepared fibers, `spawn_now`.

use crate::support::{Drops, SeqCst, in_time, until};
use leno::fiber::{self, Builder, Cord, FiberId, JoinHandle, Runtime, spawn_local, spawn_now};
use leno::time::Clock;
use std::collections::HashSet;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Waker};
use std::time::Duration;

#[test]
fn an_unpark_before_the_park_is_not_lost_and_two_are_one() {
    let cord = Cord::with_clock(Clock::virtual_time());
    cord.block_on(async {
        let me = fiber::current();
        me.unpark();
        me.unpark();
        fiber::park().await;
        let start = fiber::now();
        assert!(!fiber::park_timeout(Duration::from_secs(5)).await);
        assert_eq!(fiber::now() - start, Duration::from_secs(5));
        me.unpark();
        assert!(fiber::park_timeout(Duration::ZERO).await, "at one instant the token wins");
    });
}

#[test]
fn a_dropped_park_takes_no_token() {
    let cord = Cord::new();
    cord.block_on(async {
        let fiber = spawn_local(async {
            leno::timeout(Duration::ZERO, fiber::park()).await.unwrap_err();
            leno::yield_now().await;
            fiber::park().await;
        });
        leno::yield_now().await;
        fiber.fiber().unpark();
        fiber.await.unwrap();
    });
}

#[test]
fn a_park_inside_a_combinator_is_woken() {
    // The combinator polls its parts with wakers of its own.
    use futures_util::StreamExt;
    let cord = Cord::new();
    cord.block_on(async {
        let fiber = spawn_local(async {
            let mut parts = futures_util::stream::FuturesUnordered::new();
            parts.push(fiber::park());
            parts.next().await.unwrap();
        });
        leno::yield_now().await;
        leno::yield_now().await;
        assert!(!fiber.is_finished());
        fiber.fiber().unpark();
        fiber.await.unwrap();
    });
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn unparks_from_threads_are_not_lost() {
    // F9, with real threads: two fibers pass a token to and fro.
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let turns = Arc::new(AtomicUsize::new(0));
        let make = |parity: usize| {
            let turns = turns.clone();
            let (give, take) = std::sync::mpsc::channel::<fiber::FiberRef>();
            let fiber = runtime.spawn(async move {
                let peer = take.recv().unwrap();
                for _ in 0..1000 {
                    while turns.load(SeqCst) % 2 != parity {
                        fiber::park().await;
                    }
                    turns.fetch_add(1, SeqCst);
                    peer.unpark();
                }
            });
            (fiber, give)
        };
        let ((a, to_a), (b, to_b)) = (make(0), make(1));
        to_a.send(b.fiber()).unwrap();
        to_b.send(a.fiber()).unwrap();
        a.wait().unwrap();
        b.wait().unwrap();
        assert_eq!(turns.load(SeqCst), 2000);
    });
}

#[test]
fn outside_a_fiber_the_messages_say_what_to_do() {
    for (call, expected) in
        [((|| drop(fiber::current())) as fn(), "try_current"), (|| fiber::park().wait(), "std::thread::park")]
    {
        let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        let message = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(payload.downcast_ref::<&str>().copied())
            .unwrap();
        assert!(message.contains(expected), "{message}");
    }
    assert!(fiber::try_current().is_none());
    assert!(leno::block_on(fiber::unblock(|| fiber::try_current().is_none())));
}

#[test]
fn ids_are_never_used_again_and_stale_ones_find_nothing() {
    // F15
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let mut seen = HashSet::new();
    for _ in 0..500 {
        let fiber = runtime.spawn(async { fiber::current().id() });
        let id = fiber.id();
        assert_eq!(fiber.wait().unwrap(), id);
        assert!(seen.insert(id));
        assert!(fiber::find(id).is_none(), "joined is gone");
    }
    let main: FiberId = leno::block_on(async { fiber::current().id() });
    assert!(seen.insert(main));
    assert!(fiber::find(main).is_none());
}

#[test]
fn find_reaches_all_executors_and_names_show() {
    // F15
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let cord = Cord::new();
    let (there,) = runtime.block_on(async { (Builder::new().name("there").spawn(pending::<()>()),) });
    let (here,) = cord.block_on(async { (Builder::new().name("here").spawn_local(pending::<()>()),) });
    for (fiber, name) in [(&there, "there"), (&here, "here")] {
        let found = fiber::find(fiber.id()).unwrap();
        assert_eq!((found.name(), found.id()), (Some(name), fiber.id()));
        assert_eq!(fiber.name(), Some(name));
        assert!(format!("{found:?}").contains(name));
        assert!(format!("{fiber:?}").contains(name));
    }
    fiber::find(there.id()).unwrap().cancel();
    assert!(there.wait().unwrap_err().is_cancelled());
    let id = here.id();
    drop((here, cord));
    assert!(fiber::find(id).is_none());
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn a_thousand_fibers_are_found_while_they_live() {
    // F15: the registry grows and shrinks.
    let cord = Cord::new();
    let mut fibers: Vec<JoinHandle<()>> = (0..1000).map(|_| cord.spawn_local(pending())).collect();
    while let Some(fiber) = fibers.pop() {
        let id = fiber.id();
        assert!(fiber::find(id).is_some());
        fiber.cancel();
        assert!(cord.block_on(fiber).is_err());
        assert!(fiber::find(id).is_none());
        if fibers.len() % 100 == 0 {
            assert!(fibers.iter().all(|fiber| fiber::find(fiber.id()).is_some()));
        }
    }
}

#[test]
fn a_prepared_fiber_runs_nothing_before_start() {
    // F18
    let drops = Drops::default();
    let ran = Arc::new(AtomicBool::new(false));
    let (probe, sets) = (drops.probe(), ran.clone());
    let prepared = Builder::new().name("later").prepare(async move {
        let _probe = probe;
        sets.store(true, SeqCst);
        fiber::current().name().map(String::from)
    });
    let id = prepared.id();
    assert!(fiber::find(id).is_none());
    std::thread::sleep(Duration::from_millis(1));
    assert!(!ran.load(SeqCst));
    let fiber = prepared.start();
    assert_eq!(fiber.id(), id);
    assert_eq!(fiber.wait().unwrap().as_deref(), Some("later"));
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_prepared_fiber_dropped_unstarted_drops_its_future_once() {
    // F18: on the thread that drops it, also one prepared on a cord.
    let drops = Drops::default();
    let probe = drops.probe();
    drop(Builder::new().prepare(async move { drop(probe) }));
    assert_eq!(drops.count(), 1);
    let cord = Cord::new();
    let probe = drops.probe();
    let prepared = cord.block_on(async { Builder::new().prepare(async move { drop(probe) }) });
    std::thread::spawn(move || drop(prepared)).join().unwrap();
    assert_eq!(drops.count(), 2);
    drop(cord);
    assert_eq!(drops.count(), 2);
}

#[test]
fn a_prepared_fiber_started_elsewhere_or_too_late() {
    // F18, F8, F11
    let cord = Cord::new();
    let here = std::thread::current().id();
    let drops = Drops::default();
    let probe = drops.probe();
    let (prepared, late) = cord.block_on(async {
        (
            Builder::new().prepare(async { std::thread::current().id() }),
            Builder::new().prepare(async move { drop(probe) }),
        )
    });
    let fiber = std::thread::spawn(move || prepared.start()).join().unwrap();
    assert_eq!(cord.block_on(fiber).unwrap(), here);
    drop(cord);
    let refused = late.start();
    assert_eq!(drops.count(), 1);
    assert!(refused.wait().unwrap_err().is_cancelled());
}

#[test]
fn a_prepared_fiber_is_the_child_of_who_starts_it() {
    // F4, F18
    let cord = Cord::new();
    let drops = Drops::default();
    let probe = drops.probe();
    cord.block_on(async {
        let prepared = Builder::new().prepare(async move {
            let _probe = probe;
            pending::<()>().await;
        });
        let parent = spawn_local(async move {
            drop(prepared.start());
            pending::<()>().await;
        });
        leno::yield_now().await;
        leno::yield_now().await;
        parent.cancel();
        parent.await.unwrap_err();
        leno::yield_now().await;
    });
    assert_eq!(drops.count(), 1);
}

#[test]
fn spawn_now_runs_to_the_first_suspension() {
    let cord = Cord::new();
    cord.block_on(async {
        let me = fiber::current().id();
        let steps = Arc::new(AtomicUsize::new(0));
        let counts = steps.clone();
        let fiber = spawn_now(async move {
            counts.fetch_add(1, SeqCst);
            let own = fiber::current().id();
            leno::yield_now().await;
            counts.fetch_add(1, SeqCst);
            own
        });
        assert_eq!(steps.load(SeqCst), 1);
        assert_eq!(fiber::current().id(), me);
        assert_eq!(fiber.id(), fiber.await.unwrap());
        assert_eq!(steps.load(SeqCst), 2);
        assert!(spawn_now(async { panic!("stays there") }).await.unwrap_err().is_panic());
        // A child of a cancelled parent isn't polled even once.
        let parent = spawn_local(async move {
            fiber::current().cancel();
            drop(spawn_now(async move { steps.fetch_add(1, SeqCst) }));
            steps_of_parent().await;
        });
        assert!(parent.await.unwrap_err().is_cancelled());
    });
    async fn steps_of_parent() {
        leno::yield_now().await;
    }
}

/// A limit of the caller's is none of the new fiber, whose wait for nothing never ends. (S13)
#[test]
fn spawn_now_within_a_limit_is_not_limited() {
    let within = async { spawn_now(async { _ = leno::select::Select::new().select().await }).await };
    let limited = leno::timeout(Duration::from_secs(3600), within);
    let ended = Cord::with_clock(Clock::virtual_time()).block_on(limited).expect("it ends at once");
    assert!(ended.unwrap_err().to_string().contains("it would wait forever"));
}

#[test]
fn spawn_now_on_a_plain_thread_goes_on_on_the_default_runtime() {
    let here = std::thread::current().id();
    let fiber = spawn_now(async move {
        assert_eq!(std::thread::current().id(), here);
        leno::yield_now().await;
        std::thread::current().id()
    });
    assert_ne!(fiber.wait().unwrap(), here);
}

#[test]
fn many_unparks_of_one_fiber_from_many_threads() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let value = Arc::new(AtomicUsize::new(0));
        let seen = value.clone();
        let fiber = runtime.spawn(async move {
            while seen.load(SeqCst) < 4000 {
                fiber::park().await;
            }
        });
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        value.fetch_add(1, SeqCst);
                        fiber.fiber().unpark();
                    }
                });
            }
        });
        until(|| fiber.is_finished());
        fiber.wait().unwrap();
    });
}

/// Who has polled its park from elsewhere has no more to wait for once the fiber has ended, though somebody knows it still.
#[test]
fn a_fiber_that_ends_lets_go_of_who_has_polled_its_park() {
    let count = crate::support::CountingWaker::new();
    let waker = Waker::from(count.clone());
    let cord = Cord::new();
    let fiber = cord.spawn_local(async move {
        let mut park = pin!(fiber::park());
        assert!(park.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    });
    let known = fiber.fiber();
    cord.block_on(fiber).unwrap();
    assert_eq!(Arc::strong_count(&count), 1);
    known.unpark();
    assert_eq!(count.count(), 0);
}
