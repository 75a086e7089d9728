//! Hooks: who is told that a fiber begins and ends.

use crate::support::{Defer, Drops, SeqCst, in_time, keep_warnings, until, warnings};
use leno::fiber::{self, Builder, Cord, FiberId, Runtime};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Log = Arc<Mutex<Vec<(&'static str, FiberId)>>>;

fn note(log: &Log, what: &'static str) -> impl Fn(&fiber::FiberRef) + Send + Sync + 'static {
    let log = log.clone();
    move |fiber| log.lock().unwrap().push((what, fiber.id()))
}

#[test]
fn told_of_each_fiber_once_in_order() {
    let log = Log::default();
    let cord = Cord::builder().on_spawn(note(&log, "spawn")).on_stop(note(&log, "stop")).build();
    let (value, panics, cancelled) = cord.block_on(async {
        let value = leno::fiber::spawn_local(async {});
        let panics = leno::fiber::spawn_local(async { panic!("on purpose") });
        let cancelled = leno::fiber::spawn_local(std::future::pending::<()>());
        cancelled.cancel();
        let ids = (value.id(), panics.id(), cancelled.id());
        value.await.unwrap();
        // Told before who joins it goes on.
        assert!(log.lock().unwrap().contains(&("stop", ids.0)));
        panics.await.unwrap_err();
        cancelled.await.unwrap_err();
        ids
    });
    let log = log.lock().unwrap();
    let main = log[0].1;
    assert_eq!(
        *log,
        [
            ("spawn", main),
            ("spawn", value),
            ("spawn", panics),
            ("spawn", cancelled),
            ("stop", value),
            ("stop", panics),
            ("stop", cancelled),
            ("stop", main),
        ]
    );
}

/// Of its beginning, by the thread that starts it; of its end, by the one that ends it.
#[test]
fn told_where_it_happens() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let note = || {
        let told = told.clone();
        move |_: &fiber::FiberRef| told.lock().unwrap().push(std::thread::current().id())
    };
    let runtime = Runtime::builder().workers(1).on_spawn(note()).on_stop(note()).build().unwrap();
    let here = std::thread::current().id();
    let worker = runtime.spawn(async { std::thread::current().id() }).wait().unwrap();
    assert_eq!(*told.lock().unwrap(), [here, worker]);
    told.lock().unwrap().clear();
    let waits = runtime.spawn(async { Some(leno::spawn(std::future::pending::<()>())) }).wait().unwrap();
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), [here, worker, worker], "its child is its own");
    let waits = waits.unwrap();
    waits.cancel();
    assert!(waits.wait().unwrap_err().is_cancelled());
    let ended = std::mem::take(&mut *told.lock().unwrap());
    assert!(ended == [here] || ended == [worker], "by who cancels, or by who was polling it");
    runtime.block_on(async {});
    assert_eq!(*told.lock().unwrap(), [here, here], "the future of a `block_on` is its caller's");
}

#[test]
fn a_prepared_fiber_begins_when_it_is_started() {
    let log = Log::default();
    let runtime = Runtime::builder().workers(1).on_spawn(note(&log, "spawn")).build().unwrap();
    runtime.block_on(async {
        let (one, other) = (Builder::new().prepare(async {}), Builder::new().prepare(async {}));
        assert_eq!(log.lock().unwrap().len(), 1);
        drop(other);
        let id = one.id();
        one.start().await.unwrap();
        assert_eq!(log.lock().unwrap()[1..], [("spawn", id)]);
    });
}

#[test]
fn nothing_of_a_fiber_happens_before_its_hook_returns() {
    // Cancelled and unparked meanwhile, by whoever finds it; also a prepared one.
    in_time(|| {
        let log = Log::default();
        let notes = log.clone();
        let runtime = Runtime::builder()
            .workers(2)
            .on_spawn(move |fiber| {
                if fiber.name().is_some() {
                    let found = fiber::find(fiber.id()).unwrap();
                    std::thread::spawn(move || {
                        found.unpark();
                        found.cancel();
                    })
                    .join()
                    .unwrap();
                    // Long enough for a worker that wanted to.
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    notes.lock().unwrap().push(("spawn", fiber.id()));
                }
            })
            .on_stop(note(&log, "stop"))
            .build()
            .unwrap();
        let stopped = |id| {
            let log = log.lock().unwrap();
            let of_it: Vec<_> = log.iter().filter(|(_, of)| *of == id).map(|(what, _)| *what).collect();
            assert_eq!(of_it, ["spawn", "stop"]);
        };
        runtime.block_on(async {
            let named = || Builder::new().name("named");
            for fiber in [named().spawn(async {}), named().prepare(async {}).start()] {
                let id = fiber.id();
                assert!(fiber.await.unwrap_err().is_cancelled());
                stopped(id);
            }
            // In a scope, which ends.
            let started =
                fiber::scope(async |s: &fiber::Scope| named().scope(s).prepare(async {}).start().id());
            stopped(started.await.unwrap());
        });
    });
}

#[test]
fn the_end_tells_of_all_that_lived() {
    // F8
    in_time(|| {
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (begins, ends) = (begun.clone(), ended.clone());
        let drops = Drops::default();
        let runtime = Runtime::builder()
            .workers(2)
            .on_spawn(move |_| _ = begins.fetch_add(1, Ordering::Relaxed))
            .on_stop(move |_| _ = ends.fetch_add(1, Ordering::Relaxed))
            .build()
            .unwrap();
        for _ in 0..100 {
            let probe = drops.probe();
            drop(runtime.spawn(async move {
                let _probe = probe;
                std::future::pending::<()>().await;
            }));
        }
        let late = runtime.spawn(async {});
        late.wait().unwrap();
        drop(runtime);
        assert_eq!((begun.load(SeqCst), ended.load(SeqCst), drops.count()), (101, 101, 100));
    });
}

#[test]
fn a_hook_may_panic_spawn_and_find() {
    in_time(|| {
        let spawned = Arc::new(AtomicUsize::new(0));
        let counter = spawned.clone();
        let runtime = Runtime::builder()
            .workers(2)
            .on_spawn(move |fiber| {
                assert_eq!(fiber::find(fiber.id()).as_ref(), Some(fiber));
                if counter.fetch_add(1, SeqCst) == 0 {
                    drop(leno::spawn(async {}));
                }
                panic!("in a hook");
            })
            .on_stop(|_| panic!("in a hook"))
            .build()
            .unwrap();
        let fiber = runtime.spawn(async { 5 });
        assert_eq!(fiber.wait().unwrap(), 5);
        until(|| spawned.load(SeqCst) >= 1);
    });
}

#[test]
fn a_cords_hook_may_wait_for_a_timer() {
    // F12: also of the fiber of its `block_on`, at both ends.
    in_time(|| {
        let wait = |_: &fiber::FiberRef| {
            leno::channel::ticker::after(Duration::from_millis(1)).recv_blocking().unwrap();
        };
        let cord = Cord::builder().on_spawn(wait).on_stop(wait).build();
        assert_eq!(cord.block_on(async { fiber::spawn_local(async { 5 }).await.unwrap() }), 5);
        drop(cord.spawn_local(async {}));
        drop(cord);
    });
}

/// Both for a call that blocks, and for a slow poll.
#[test]
fn a_warning_hook_may_panic() {
    in_time(|| {
        keep_warnings();
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let builder = Builder::new().name("warned of").slice_limit(Duration::ZERO);
        let fiber = builder.spawn_on(runtime.handle(), async {
            leno::sleep(Duration::from_millis(1)).wait();
            5
        });
        assert_eq!(fiber.wait().unwrap(), 5);
        let blocks = warnings("`Sleep::wait` at tests/fiber/hooks.rs");
        assert_eq!(blocks.len(), usize::from(cfg!(debug_assertions)), "{blocks:?}");
        assert_eq!(warnings("`warned of` (spawned at tests/fiber/hooks.rs").len(), 1);
    });
}

/// Nobody is told of the end of a fiber that has not begun: one that was prepared only, or was refused.
#[test]
fn what_has_not_begun_does_not_end() {
    let log = Log::default();
    let runtime = Runtime::builder().workers(1).on_stop(note(&log, "stop")).build().unwrap();
    let handle = runtime.handle().clone();
    let main = runtime.block_on(async {
        drop(Builder::new().prepare(async {}));
        fiber::current().id()
    });
    drop(runtime);
    assert!(handle.spawn(async {}).wait().unwrap_err().is_cancelled());
    assert_eq!(*log.lock().unwrap(), [("stop", main)]);
}

/// C29
#[test]
fn hooks_whose_drops_panic() {
    let owns = |message: &'static str| {
        let bomb = Defer(move || panic!("{message}"));
        move |_: &fiber::FiberRef| _ = &bomb
    };
    let builder = move || Runtime::builder().workers(1).on_spawn(owns("first")).on_stop(owns("second"));
    in_time(move || {
        let runtime = builder().build().unwrap();
        assert_eq!(runtime.block_on(async { leno::spawn(async { 5 }).await.unwrap() }), 5);
        drop(runtime);
        drop(builder());
    });
}
