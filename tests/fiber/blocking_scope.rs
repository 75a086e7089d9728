//! Scopes of a thread: fibers that borrow from its stack.

use crate::support::{Drops, OnDrop, SeqCst, in_time};
use leno::fiber::{self, Builder, Cord, Runtime, blocking_scope};
use std::future::{Future, pending};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

#[test]
fn fibers_borrow_and_give_back() {
    in_time(|| {
        let words = ["warp", "weft", "leno"];
        let mut longest = String::new();
        let mut parts = [0; 3];
        let total = blocking_scope(|s| {
            let lengths: Vec<_> = words.iter().map(|word| s.spawn(async move { word.len() })).collect();
            for (part, n) in parts.iter_mut().zip(1..) {
                s.spawn(async move {
                    fiber::yield_now().await;
                    *part = n;
                });
            }
            // What a fiber gives may borrow, too.
            let found = s.spawn(async { words.iter().max_by_key(|word| word.len()).unwrap() });
            longest.push_str(found.wait().unwrap());
            lengths.into_iter().map(|length| length.wait().unwrap()).sum::<usize>()
        });
        assert_eq!((total.unwrap(), parts), (12, [1, 2, 3]));
        assert_eq!(longest.len(), 4);
    });
}

#[test]
fn all_have_ended_when_it_returns() {
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        for round in 0..200 {
            let ended = AtomicUsize::new(0);
            let drops = Drops::default();
            let given = runtime.blocking_scope(|s| {
                for n in 0..20 {
                    let (ended, probe) = (&ended, drops.probe());
                    s.spawn(async move {
                        for _ in 0..n % 3 {
                            fiber::yield_now().await;
                        }
                        // Another one, by a fiber, after the body.
                        s.spawn(async move {
                            ended.fetch_add(1, SeqCst);
                            drop(probe);
                        });
                        ended.fetch_add(1, SeqCst);
                    });
                }
                round
            });
            assert_eq!((given.unwrap(), ended.into_inner(), drops.count()), (round, 40, 20));
        }
    });
}

/// A value that looks at what it borrows when it is dropped.
struct Looks<'a>(&'a Mutex<Vec<u32>>, u32);

impl Drop for Looks<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1);
    }
}

#[test]
fn what_nobody_takes_is_dropped_while_it_may_borrow() {
    in_time(|| {
        for _ in 0..200 {
            let seen = Mutex::new(Vec::new());
            blocking_scope(|s| {
                let seen = &seen;
                drop(s.spawn(async move { Looks(seen, 1) }));
                let forgotten_by_the_body = s.spawn(async move { Looks(seen, 2) });
                let cancelled = s.spawn(async move {
                    let _held = Looks(seen, 3);
                    pending::<()>().await;
                });
                cancelled.cancel();
                drop(forgotten_by_the_body);
                // A fiber that keeps the handle of another.
                let kept = s.spawn(async move { Looks(seen, 4) });
                s.spawn(async move {
                    fiber::yield_now().await;
                    drop(kept);
                });
            })
            .unwrap();
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert!(seen == [1, 2, 3, 4] || seen == [1, 2, 4], "{seen:?}");
        }
    });
}

#[test]
fn the_first_panic_cancels_the_others() {
    in_time(|| {
        let drops = Drops::default();
        let held = |probe: OnDrop| async move {
            let _probe = probe;
            pending::<()>().await;
        };
        let failed = blocking_scope(|s| {
            s.spawn(held(drops.probe()));
            drop(s.spawn(async { panic!("in a fiber") }));
        });
        assert_eq!(failed.unwrap_err().into_panic().downcast_ref::<&str>(), Some(&"in a fiber"));
        assert_eq!(drops.count(), 1);
        let failed: Result<(), _> = blocking_scope(|s| {
            s.spawn(held(drops.probe()));
            panic!("in the body")
        });
        assert_eq!(failed.unwrap_err().into_panic().downcast_ref::<&str>(), Some(&"in the body"));
        assert_eq!(drops.count(), 2);
    });
}

#[test]
fn fibers_have_names_and_ids() {
    in_time(|| {
        let text = String::from("borrowed");
        let (len, id, seen) = blocking_scope(|s| {
            let named =
                s.spawn_with(Builder::new().name("counts"), async { (fiber::current().id(), text.len()) });
            assert_eq!(named.name(), Some("counts"));
            let id = named.id();
            let (seen, len) = named.wait().unwrap();
            (len, id, seen)
        })
        .unwrap();
        assert_eq!((len, id), (8, seen));
    });
}

#[test]
fn cancelled_fibers_do_not_end_the_body() {
    in_time(|| {
        let given = blocking_scope(|s| {
            let fiber = s.spawn(pending::<()>());
            s.cancel();
            assert!(fiber.wait().unwrap_err().is_cancelled());
            assert!(s.spawn(async {}).wait().unwrap_err().is_cancelled());
            assert!(s.token().is_cancelled());
            5
        });
        assert_eq!(given.unwrap(), 5);
    });
}

#[test]
fn a_waker_that_panics_ends_nothing() {
    // Who waits for the scope's token with such a waker, while the scope fails.
    in_time(|| {
        let mut waiting = None;
        let failed: Result<(), _> = blocking_scope(|s| {
            let token = s.token();
            let waker = crate::support::panicking_waker();
            let mut waits = Box::pin(async move { token.cancelled().await });
            assert!(waits.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
            waiting = Some(waits);
            panic!("in the body")
        });
        assert!(failed.unwrap_err().is_panic());
        futures_lite::future::block_on(waiting.unwrap());
    });
}

#[test]
fn in_a_fiber_of_a_cord_it_would_stop_it() {
    // C25
    let cord = Cord::new();
    let refused =
        cord.block_on(async { leno::fiber::spawn_local(async { blocking_scope(|_| ()).unwrap() }).await });
    assert!(refused.unwrap_err().to_string().contains("blocking_scope"));
    // In one of a runtime with another worker it may block.
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let fiber =
            runtime.spawn(async { blocking_scope(|s| s.spawn(async { 5 }).wait().unwrap()).unwrap() });
        assert_eq!(fiber.wait().unwrap(), 5);
    });
}

#[test]
fn the_token_goes_with_the_scope() {
    in_time(|| {
        assert!(blocking_scope(|s| s.token()).unwrap().is_cancelled());
        // With a failure, while the body still runs.
        let failed = blocking_scope(|s| {
            let token = s.token();
            assert!(s.spawn(async { panic!("a fiber") }).wait().unwrap_err().is_panic());
            token.cancelled().wait();
        });
        assert!(failed.unwrap_err().is_panic());
    });
}

#[test]
fn a_worker_hands_over_what_the_body_made_ready() {
    // F7: a lone worker that blocks, and the end of its runtime.
    in_time(|| {
        for _ in 0..20 {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let inside = crate::support::Latch::default();
            let entered = inside.clone();
            let fiber = runtime.spawn(async move {
                let _ = blocking_scope(|s| {
                    drop(s.spawn(async {}));
                    entered.open();
                });
            });
            inside.wait();
            std::thread::yield_now();
            drop(runtime);
            // Cancelled, or through by then.
            let _ = fiber.wait();
        }
    });
}

#[test]
fn in_a_hook_of_a_cord_the_fibers_are_elsewhere() {
    in_time(|| {
        let cord = Cord::builder()
            .on_stop(|_| {
                assert_eq!(blocking_scope(|s| s.spawn(async { 5 }).wait().unwrap()).unwrap(), 5);
            })
            .build();
        cord.block_on(async { leno::fiber::spawn_local(async {}).await.unwrap() });
    });
}
