//! Values that each fiber has of its own.

use crate::support::{Drops, OnDrop, SeqCst, in_time};
use leno::fiber::{self, Builder, Cord, Runtime, spawn_local};
use leno::fiber_local;
use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

static MADE: AtomicUsize = AtomicUsize::new(0);

fiber_local! {
    static COUNT: Cell<u32> = Cell::new(0);
    /// With a docstring, and no semicolon at the end of the list.
    pub(crate) inherited static PATH: Vec<&'static str> = Vec::new();
    static PROBES: RefCell<Vec<OnDrop>> = RefCell::new(Vec::new());
    static LAZY: usize = MADE.fetch_add(1, SeqCst)
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn each_fiber_has_its_own_wherever_it_runs() {
    in_time(|| {
        let runtime = Runtime::builder().workers(3).build().unwrap();
        runtime.block_on(async {
            let fibers: Vec<_> = (0..100)
                .map(|n| {
                    leno::spawn(async move {
                        for _ in 0..n {
                            COUNT.with(|count| count.set(count.get() + 1));
                            fiber::yield_now().await;
                        }
                        COUNT.with(Cell::get)
                    })
                })
                .collect();
            for (n, fiber) in (0..100).zip(fibers) {
                assert_eq!(fiber.await.unwrap(), n);
            }
            assert_eq!(COUNT.with(Cell::get), 0);
        });
    });
}

#[test]
fn made_when_first_asked_for() {
    let before = MADE.load(SeqCst);
    leno::block_on(async {});
    assert_eq!(MADE.load(SeqCst), before);
    leno::block_on(async { assert_eq!((LAZY.get(), LAZY.get()), (before, before)) });
    assert_eq!(MADE.load(SeqCst), before + 1);
}

#[test]
fn children_inherit_where_asked_for() {
    leno::block_on(async {
        COUNT.with(|count| count.set(5));
        // Before the parent has a value there is nothing to hand down.
        assert_eq!(leno::spawn(async { PATH.get() }).await.unwrap(), Vec::<&str>::new());
        PATH.set(vec!["top"]);
        let child = leno::spawn(async {
            let mut path = PATH.get();
            path.push("child");
            PATH.set(path);
            let grandchild = Builder::new().name("named, too").spawn(async { PATH.get() });
            (grandchild.await.unwrap(), COUNT.with(Cell::get))
        });
        assert_eq!(child.await.unwrap(), (vec!["top", "child"], 0));
        assert_eq!(PATH.get(), ["top"]);
        // Not those of the one who prepares, but of the one who makes.
        let prepared = Builder::new().prepare(async { PATH.get() });
        PATH.set(vec!["later"]);
        assert_eq!(prepared.start().await.unwrap(), ["top"]);
        // No children.
        assert!(Builder::new().root().spawn(async { PATH.get() }).await.unwrap().is_empty());
        let elsewhere = Runtime::builder().workers(1).build().unwrap();
        assert!(elsewhere.spawn(async { PATH.get() }).await.unwrap().is_empty());
        fiber::on(&elsewhere, async { assert!(PATH.get().is_empty()) }).await;
    });
}

#[test]
fn dropped_at_the_end_inside_the_fiber() {
    struct Looks(OnDrop);
    impl Drop for Looks {
        fn drop(&mut self) {
            let _ = &self.0;
            assert!(fiber::try_current().is_some());
            assert!(COUNT.try_with(|_| ()).is_err(), "later ones are refused");
        }
    }
    fiber_local! { static LOOKS: RefCell<Option<Looks>> = RefCell::new(None); }
    let drops = Drops::default();
    let keep = || {
        let (probe, looks) = (drops.probe(), drops.probe());
        move || {
            PROBES.with(|probes| probes.borrow_mut().push(probe));
            LOOKS.with(|kept| *kept.borrow_mut() = Some(Looks(looks)));
        }
    };
    let cord = Cord::new();
    // By a value, a panic, a cancel, the end of a `block_on`, and the end of the executor.
    let keeps = keep();
    cord.block_on(async move { spawn_local(async move { keeps() }).await.unwrap() });
    assert_eq!(drops.count(), 2);
    let keeps = keep();
    let panics = cord.spawn_local(async move {
        keeps();
        panic!("on purpose");
    });
    assert!(cord.block_on(panics).unwrap_err().is_panic());
    assert_eq!(drops.count(), 4);
    let keeps = keep();
    let cancelled = cord.spawn_local(async move {
        keeps();
        fiber::current().cancel();
        fiber::yield_now().await;
    });
    assert!(cord.block_on(cancelled).unwrap_err().is_cancelled());
    assert_eq!(drops.count(), 6);
    let keeps = keep();
    cord.block_on(async move { keeps() });
    assert_eq!(drops.count(), 8);
    let keeps = keep();
    drop(cord.spawn_local(async move {
        keeps();
        std::future::pending::<()>().await;
    }));
    cord.block_on(fiber::yield_now());
    assert_eq!(drops.count(), 8);
    drop(cord);
    assert_eq!(drops.count(), 10);
}

#[test]
fn inherited_values_of_a_fiber_that_never_starts_are_dropped() {
    #[derive(Clone)]
    struct Counted(std::sync::Arc<()>);
    fiber_local! { inherited static COUNTED: Option<Counted> = None }
    let shared = std::sync::Arc::new(());
    let copy = Counted(shared.clone());
    leno::block_on(async move {
        COUNTED.set(Some(copy));
        let prepared = Builder::new().prepare(async {});
        assert_eq!(COUNTED.with(|kept| std::sync::Arc::strong_count(&kept.as_ref().unwrap().0)), 3);
        drop(prepared);
        assert_eq!(COUNTED.with(|kept| std::sync::Arc::strong_count(&kept.as_ref().unwrap().0)), 2);
    });
    assert_eq!(std::sync::Arc::strong_count(&shared), 1);
}

#[test]
fn a_value_that_is_replaced_while_in_use_stays_until_then() {
    fiber_local! { static NAME: String = String::from("first"); }
    leno::block_on(async {
        NAME.with(|name| {
            NAME.set(String::from("second"));
            assert_eq!(name, "first");
            assert_eq!(NAME.get(), "second");
        });
    });
}

#[test]
fn an_initializer_may_use_others_and_itself() {
    fiber_local! {
        static BASE: u32 = 20;
        static SUM: u32 = {
            SUM.set(1);
            BASE.get() + 1
        };
    }
    leno::block_on(async {
        // What it set itself stands.
        assert_eq!((SUM.get(), BASE.get()), (1, 20));
    });
}

#[test]
fn a_panic_in_an_initializer_or_a_drop_harms_nobody() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in a drop");
        }
    }
    static TRIES: Mutex<u32> = Mutex::new(0);
    fiber_local! {
        static FAILS: u32 = {
            let mut tries = TRIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *tries += 1;
            assert!(*tries > 1, "the first try");
            *tries
        };
        static PANICS: Panics = Panics;
    }
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let hook = |_: &fiber::FiberRef, payload: &(dyn std::any::Any + Send)| {
        assert_eq!(payload.downcast_ref(), Some(&"in a drop"));
        TOLD.fetch_add(1, SeqCst);
    };
    let cord = Cord::builder().on_panic(hook).build();
    let drops = Drops::default();
    let probe = drops.probe();
    let ended = cord.block_on(async {
        PANICS.with(|_| ());
        spawn_local(async move {
            PROBES.with(|probes| probes.borrow_mut().push(probe));
            PANICS.with(|_| ());
            let failed = std::panic::catch_unwind(|| FAILS.get());
            assert!(failed.is_err());
            FAILS.get()
        })
        .await
    });
    assert_eq!(ended.unwrap(), 2);
    assert_eq!(drops.count(), 1);
    assert_eq!(TOLD.load(SeqCst), 2, "F5: of the fiber and of the future of `block_on`");
}

#[test]
fn a_clone_that_panics_leaves_nothing_undone() {
    struct Bad(bool);
    impl Clone for Bad {
        fn clone(&self) -> Self {
            assert!(!self.0, "in a clone");
            Bad(false)
        }
    }
    fiber_local! { inherited static BAD: Bad = Bad(false) }
    in_time(|| {
        let cord = Cord::with_clock(leno::time::Clock::virtual_time());
        cord.block_on(async {
            BAD.set(Bad(true));
            for _ in 0..2 {
                assert!(std::panic::catch_unwind(|| fiber::spawn_now(async {})).is_err());
                assert!(std::panic::catch_unwind(|| leno::spawn(async {})).is_err());
                assert!(std::panic::catch_unwind(|| Builder::new().prepare(async {})).is_err());
            }
            let refused = fiber::scope(async |s: &fiber::Scope| drop(s.spawn(async {}))).await;
            assert!(refused.unwrap_err().is_panic());
            // Time goes on: nothing counts as busy.
            leno::sleep(std::time::Duration::from_secs(3600)).await;
        });
    });
}

#[test]
fn outside_a_fiber_there_are_none() {
    let error = COUNT.try_with(|_| ()).unwrap_err();
    assert!(error.to_string().contains("outside a fiber"));
    let panic = std::panic::catch_unwind(|| COUNT.with(|_| ())).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("try_with"));
    assert!(std::panic::catch_unwind(|| PATH.set(Vec::new())).is_err());
}

/// A destructor of a value that asks for its own local, or for one that is gone, gets an error; no initializer runs again.
#[test]
fn a_value_that_looks_for_itself_at_its_end() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    struct Asks;
    impl Asks {
        fn new() -> Asks {
            MADE.fetch_add(1, SeqCst);
            Asks
        }
    }
    impl Drop for Asks {
        fn drop(&mut self) {
            assert!(ONE.try_with(|_| ()).is_err() && OTHER.try_with(|_| ()).is_err());
            REFUSED.fetch_add(1, SeqCst);
        }
    }
    fiber_local! {
        static ONE: Asks = Asks::new();
        static OTHER: Asks = Asks::new();
    }
    Cord::new().block_on(async {
        spawn_local(async {
            ONE.with(|_| ());
            OTHER.with(|_| ());
        })
        .await
        .unwrap();
        spawn_local(async { ONE.with(|_| ()) }).await.unwrap();
    });
    assert_eq!((MADE.load(SeqCst), REFUSED.load(SeqCst)), (3, 3));
}

/// What is inherited goes on to the grandchildren; fibers of a `blocking_scope` are nobody's children.
#[test]
fn what_was_inherited_is_handed_on() {
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let seen = runtime.spawn(async {
            PATH.set(vec!["top"]);
            let grandchild = leno::spawn(async { leno::spawn(async { PATH.get() }).await.unwrap() });
            let stranger = fiber::blocking_scope(|s| s.spawn(async { PATH.get() }).wait().unwrap());
            (grandchild.await.unwrap(), stranger.unwrap())
        });
        assert_eq!(seen.wait().unwrap(), (vec!["top"], vec![]));
    });
}

/// A fiber's future has its values to its end; then these go, the last one first, and none can be set any more.
#[test]
fn values_outlive_the_future_and_take_no_others() {
    static LOG: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    struct Notes(&'static str);
    impl Drop for Notes {
        fn drop(&mut self) {
            let set = std::panic::catch_unwind(|| PATH.set(vec!["too late"]));
            LOG.lock().unwrap().extend([self.0, if set.is_err() { "refused" } else { "kept" }]);
        }
    }
    struct Looks;
    impl Drop for Looks {
        fn drop(&mut self) {
            LOG.lock().unwrap().push(FIRST.try_with(|notes| notes.0).unwrap_or("gone"));
        }
    }
    fiber_local! {
        static FIRST: Notes = Notes("first");
        static SECOND: Notes = Notes("second");
    }
    Cord::new().block_on(async {
        let fiber = spawn_local(async {
            let _looks = Looks;
            FIRST.with(|_| ());
            SECOND.with(|_| ());
            std::future::pending::<()>().await;
        });
        fiber::yield_now().await;
        fiber.cancel();
        assert!(fiber.await.unwrap_err().is_cancelled());
    });
    assert_eq!(*LOG.lock().unwrap(), ["first", "second", "refused", "first", "refused"]);
}
