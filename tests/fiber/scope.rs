//! Scopes: all fibers of one have ended before it is over, and fail together.

use crate::support::{Defer, Drops, Latch, OnDrop, SeqCst, in_time, panicking_waker, until};
use leno::fiber::{self, Builder, CancelToken, Cord, Runtime, Scope, TryScope, scope, try_scope};
use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Everywhere that a scope can run: a runtime of one and of several workers, a cord, leno's default runtime from a task of
/// another executor.
fn everywhere<F: Future<Output = ()> + Send + 'static>(test: impl Fn() -> F) {
    for workers in [1, 3] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        runtime.block_on(test());
        runtime.spawn(test()).wait().unwrap();
    }
    Cord::new().block_on(test());
    futures_lite::future::block_on(test());
}

async fn held(probe: OnDrop) {
    let _probe = probe;
    pending::<()>().await;
}

#[test]
fn a_scope_is_over_when_its_last_fiber_is() {
    in_time(|| {
        everywhere(|| async {
            let ended = Arc::new(AtomicUsize::new(0));
            let counter = ended.clone();
            let given = scope(async move |s: &Scope| {
                for _ in 0..10 {
                    let (inner, counter) = (s.clone(), counter.clone());
                    s.spawn(async move {
                        fiber::yield_now().await;
                        let nested = counter.clone();
                        // A fiber of the scope that another one starts, after the body.
                        inner.spawn(async move {
                            fiber::yield_now().await;
                            nested.fetch_add(1, SeqCst);
                        });
                        counter.fetch_add(1, SeqCst);
                    });
                }
                "body"
            })
            .await;
            assert_eq!((given.unwrap(), ended.load(SeqCst)), ("body", 20));
        });
    });
}

#[test]
fn an_ended_fiber_has_left_nothing_when_the_scope_is_over() {
    in_time(|| {
        everywhere(|| async {
            let drops = Drops::default();
            let (joined, detached) = (drops.probe(), drops.probe());
            let (handle,) = scope(async |s: &Scope| {
                drop(s.spawn(async move { detached }));
                (s.spawn(async move { joined }),)
            })
            .await
            .unwrap();
            assert!(handle.is_finished());
            assert_eq!(fiber::find(handle.id()), None);
            // What nobody joins is dropped before the scope is over.
            assert_eq!(drops.count(), 1);
            drop(handle);
            assert_eq!(drops.count(), 2);
        });
    });
}

#[test]
fn a_scope_without_fibers_is_its_body() {
    everywhere(|| async {
        assert_eq!(scope(async |_: &Scope| 5).await.unwrap(), 5);
        assert_eq!(try_scope(async |_: &TryScope<()>| Ok(6)).await.unwrap(), Ok(6));
    });
}

#[test]
fn the_first_panic_cancels_the_others_and_the_body() {
    // F4
    in_time(|| {
        everywhere(|| async {
            let drops = Drops::default();
            let probes = [drops.probe(), drops.probe(), drops.probe()];
            let failed = scope(async move |s: &Scope| {
                let [first, second, body] = probes;
                s.spawn(held(first));
                s.spawn(held(second));
                drop(s.spawn(async { panic!("no luck") }));
                held(body).await;
            })
            .await
            .unwrap_err();
            assert_eq!(drops.count(), 3, "all have ended before the scope");
            // Nobody had joined it, so the payload itself came here.
            assert_eq!(failed.into_panic().downcast_ref::<&str>(), Some(&"no luck"));
        });
    });
}

#[test]
fn who_joins_a_panic_gets_it_and_the_scope_its_message() {
    in_time(|| {
        everywhere(|| async {
            let (tx, rx) = leno::bounded(1);
            let (go, gone) = leno::rendezvous::<()>();
            let failed = scope(async move |s: &Scope| {
                let fiber = s.spawn(async move {
                    gone.recv().await.unwrap_err();
                    panic!("{}", String::from("at 5"))
                });
                tx.send(fiber).await.unwrap();
                drop(go);
                pending::<()>().await;
            })
            .await
            .unwrap_err();
            let fiber = rx.recv().await.unwrap();
            let id = fiber.id();
            assert_eq!((failed.id(), failed.to_string()), (Some(id), format!("fiber {id} panicked: at 5")));
            let joined = fiber.await.unwrap_err();
            assert_eq!(joined.id(), Some(id));
            assert_eq!(joined.into_panic().downcast_ref::<String>(), Some(&String::from("at 5")));
        });
    });
}

#[test]
fn a_body_that_panics_is_caught_wherever_it_does() {
    // In its call and in a poll.
    in_time(|| {
        everywhere(|| async {
            let drops = Drops::default();
            let probe = drops.probe();
            let failed = scope(|s: &Scope| {
                s.spawn(held(probe));
                if drops.count() == 0 {
                    panic!("called");
                }
                std::future::ready(())
            })
            .await;
            assert_eq!(failed.unwrap_err().to_string(), "the body of a scope panicked: called");
            assert_eq!(drops.count(), 1);

            let probe = drops.probe();
            let failed: Result<(), leno::fiber::JoinError> = scope(async move |s: &Scope| {
                s.spawn(held(probe));
                fiber::yield_now().await;
                panic!("polled")
            })
            .await;
            assert_eq!(failed.unwrap_err().to_string(), "the body of a scope panicked: polled");
            assert_eq!(drops.count(), 2);
        });
    });
}

#[test]
fn a_cancelled_scope_says_so() {
    in_time(|| {
        everywhere(|| async {
            let drops = Drops::default();
            let (fiber, body, late) = (drops.probe(), drops.probe(), drops.probe());
            let (tx, rx) = leno::bounded(1);
            let error = scope(async move |s: &Scope| {
                s.spawn(held(fiber));
                tx.send((s.clone(), s.token())).await.unwrap();
                s.cancel();
                s.spawn(held(late));
                held(body).await;
            })
            .await
            .unwrap_err();
            assert!(error.is_cancelled());
            assert_eq!(drops.count(), 3);
            let (scope, token) = rx.recv().await.unwrap();
            assert!(token.is_cancelled());
            assert!(scope.spawn(pending::<()>()).await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_value_that_the_body_gave_stands_though_its_last_act_was_a_cancel() {
    let given = leno::block_on(scope(async |s: &Scope| {
        s.spawn(pending::<()>());
        s.cancel();
        5
    }));
    assert_eq!(given.unwrap(), 5);
}

#[test]
fn cancelling_one_fiber_is_no_failure() {
    in_time(|| {
        let given = leno::block_on(scope(async |s: &Scope| {
            let other = s.spawn(async { 1 });
            let fiber = s.spawn(pending::<()>());
            fiber.cancel();
            assert!(fiber.await.unwrap_err().is_cancelled());
            other.await.unwrap()
        }));
        assert_eq!(given.unwrap(), 1);
    });
}

#[test]
fn from_outside_a_token_cancels_it() {
    in_time(|| {
        let (tx, rx) = leno::bounded(1);
        let thread = std::thread::spawn(move || {
            let token: leno::fiber::CancelToken = rx.recv_blocking().unwrap();
            token.cancel();
        });
        let ended = leno::block_on(scope(async move |s: &Scope| {
            tx.send(s.token()).await.unwrap();
            s.spawn(pending::<()>());
            pending::<()>().await;
        }));
        assert!(ended.unwrap_err().is_cancelled());
        thread.join().unwrap();
    });
}

#[test]
fn dropping_the_future_cancels_and_does_not_wait() {
    in_time(|| {
        let (drops, inside, leave) = (Drops::default(), Latch::default(), Latch::default());
        let (probe, body, entered, wait) = (drops.probe(), drops.probe(), inside.clone(), leave.clone());
        let mut future = Box::pin(scope(async move |s: &Scope| {
            s.spawn(async move {
                let _probe = probe;
                entered.open();
                wait.wait();
                pending::<()>().await;
            });
            held(body).await;
        }));
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        inside.wait();
        drop(future);
        assert_eq!(drops.count(), 1, "the body; the fiber is in its poll");
        leave.open();
        until(|| drops.count() == 2);
    });
}

#[test]
fn cancelling_the_fiber_cancels_the_scope_in_it() {
    // F4
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let drops = Drops::default();
        let started = Arc::new(AtomicUsize::new(0));
        let (probes, counter) = ([drops.probe(), drops.probe()], started.clone());
        let fiber = runtime.spawn(async move {
            scope(async move |s: &Scope| {
                for probe in probes {
                    let counter = counter.clone();
                    s.spawn(async move {
                        counter.fetch_add(1, SeqCst);
                        held(probe).await;
                    });
                }
                pending::<()>().await;
            })
            .await
        });
        until(|| started.load(SeqCst) == 2);
        fiber.cancel();
        assert!(fiber.wait().unwrap_err().is_cancelled());
        until(|| drops.count() == 2);
    });
}

#[test]
fn the_first_error_is_the_scopes() {
    in_time(|| {
        everywhere(|| async {
            let drops = Drops::default();
            let (held_by, body) = (drops.probe(), drops.probe());
            let failed = try_scope(async move |s: &TryScope<String>| {
                s.spawn(async move {
                    held(held_by).await;
                    Ok(())
                });
                let failing = s.spawn(async { Err::<(), _>(String::from("first")) });
                // Cancelled with the scope, as the body is: never seen.
                let _ = failing.await;
                held(body).await;
                Ok(())
            })
            .await;
            assert_eq!(failed.unwrap(), Err(String::from("first")));
            assert_eq!(drops.count(), 2);

            let failed = try_scope(async |s: &TryScope<u8>| {
                s.spawn(pending::<Result<(), u8>>());
                Err::<(), _>(7)
            });
            assert_eq!(failed.await.unwrap(), Err(7));

            let panicked = try_scope(async |s: &TryScope<u8>| {
                drop(s.spawn::<_, ()>(async { panic!("worse") }));
                pending::<Result<(), u8>>().await
            });
            assert!(panicked.await.unwrap_err().is_panic());

            let cancelled = try_scope(async |s: &TryScope<u8>| {
                s.cancel();
                pending::<Result<(), u8>>().await
            });
            assert!(cancelled.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn later_errors_are_dropped_once() {
    in_time(|| {
        everywhere(|| async {
            let drops = Drops::default();
            let probes: Vec<_> = (0..8).map(|_| drops.probe()).collect();
            let first = try_scope(async move |s: &TryScope<OnDrop>| {
                for probe in probes {
                    drop(s.spawn(async move { Err::<(), _>(probe) }));
                }
                pending::<Result<(), OnDrop>>().await
            })
            .await
            .unwrap();
            assert_eq!(drops.count(), 7);
            drop(first);
            assert_eq!(drops.count(), 8);
        });
    });
}

#[test]
fn a_fiber_may_be_built_for_a_scope_and_need_not_be_send() {
    let cord = Cord::new();
    let sum = cord.block_on(scope(async |s: &Scope| {
        let sum = Rc::new(Cell::new(0));
        for n in 1..=3 {
            let sum = sum.clone();
            let fiber = Builder::new().name(format!("part {n}")).scope(s).spawn_local(async move {
                fiber::yield_now().await;
                sum.set(sum.get() + n);
            });
            assert_eq!(fiber.name(), Some(&*format!("part {n}")));
        }
        let twice = sum.clone();
        s.spawn_local(async move { twice.set(twice.get() * 2) });
        sum
    }));
    assert_eq!(sum.unwrap().get(), 6);
}

#[test]
fn on_a_cord_an_error_need_not_be_send() {
    let cord = Cord::new();
    let given = cord.block_on(try_scope(async |s: &TryScope<Rc<u8>>| {
        s.spawn_local(async { Err::<(), _>(Rc::new(3)) });
        std::future::pending::<Result<(), _>>().await
    }));
    assert_eq!(given.unwrap(), Err(Rc::new(3)));
}

#[test]
fn a_prepared_fiber_is_of_the_scope_once_it_is_started() {
    in_time(|| {
        everywhere(|| async {
            let drops = Drops::default();
            let (first, second) = (drops.probe(), drops.probe());
            let (prepared, late) = scope(async move |s: &Scope| {
                let prepare = |probe| {
                    Builder::new().scope(s).prepare(async move {
                        fiber::yield_now().await;
                        drop(probe);
                    })
                };
                drop(prepare(first).start());
                (Builder::new().scope(s).prepare(pending::<()>()), prepare(second))
            })
            .await
            .unwrap();
            assert_eq!(drops.count(), 1);
            // Once it is over, the scope is cancelled.
            assert!(prepared.start().await.unwrap_err().is_cancelled());
            drop(late);
            assert_eq!(drops.count(), 2);
        });
    });
}

#[test]
fn a_runtime_that_ends_ends_its_scopes() {
    // F8
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let drops = Drops::default();
        let started = Arc::new(AtomicBool::new(false));
        let (probe, late, body, tells) = (drops.probe(), drops.probe(), drops.probe(), started.clone());
        let fiber = runtime.spawn(scope(async move |s: &Scope| {
            let inner = s.clone();
            // Spawned from a drop during the end.
            let mut late = Some(late);
            let spawns = Defer(move || drop(inner.spawn(held(late.take().unwrap()))));
            s.spawn(async move {
                let _spawns = spawns;
                tells.store(true, SeqCst);
                held(probe).await;
            });
            held(body).await;
        }));
        until(|| started.load(SeqCst));
        drop(runtime);
        assert!(fiber.wait().unwrap_err().is_cancelled());
        assert_eq!(drops.count(), 3);
    });
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn ended_fibers_leave_while_the_scope_goes_on() {
    // F16: the scope holds those that live, not all there ever were.
    let cord = Cord::new();
    let given = cord.block_on(scope(async |s: &Scope| {
        for _ in 0..10_000 {
            s.spawn(fiber::yield_now()).await.unwrap();
            let shown = format!("{s:?}");
            assert!(shown.contains("live: 0"), "{shown}");
        }
    }));
    given.unwrap();
}

#[test]
fn a_cancel_at_every_await_point_leaves_nothing() {
    // Each number of polls that the scope may have had when it is dropped.
    in_time(|| {
        for polls in 0..12 {
            let cord = Cord::new();
            let drops = Drops::default();
            let probes: Vec<_> = (0..4).map(|_| drops.probe()).collect();
            let made = probes.len();
            cord.block_on(async {
                let mut future = Box::pin(scope(async move |s: &Scope| {
                    for probe in probes {
                        s.spawn(async move {
                            let _probe = probe;
                            for _ in 0..3 {
                                fiber::yield_now().await;
                            }
                        });
                        fiber::yield_now().await;
                    }
                }));
                let mut left = polls;
                poll_fn(|cx| {
                    if left == 0 {
                        return Poll::Ready(());
                    }
                    left -= 1;
                    cx.waker().wake_by_ref();
                    future.as_mut().poll(cx).map(|given| given.unwrap())
                })
                .await;
                drop(future);
                while drops.count() < made {
                    fiber::yield_now().await;
                }
            });
        }
    });
}

/// Counts how often it is woken; panics when it is, if it shall.
struct Counts(AtomicUsize, bool);

impl std::task::Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
        assert!(!self.1, "in a waker");
    }
}

#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn no_fiber_runs_once_the_scope_is_over() {
    // One that comes as the last look is taken is waited for, or born cancelled.
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let late = Arc::new(AtomicUsize::new(0));
        for _ in 0..1_000 {
            let over = Arc::new(AtomicBool::new(false));
            let (tx, rx) = std::sync::mpsc::channel::<Scope>();
            let (ended, counter) = (over.clone(), late.clone());
            let spawner = std::thread::spawn(move || {
                let scope = rx.recv().unwrap();
                for _ in 0..3 {
                    let (ended, counter) = (ended.clone(), counter.clone());
                    drop(scope.spawn(async move {
                        counter.fetch_add(usize::from(ended.load(SeqCst)), SeqCst);
                    }));
                }
            });
            runtime.block_on(scope(async move |s: &Scope| tx.send(s.clone()).unwrap())).unwrap();
            over.store(true, SeqCst);
            spawner.join().unwrap();
        }
        drop(runtime);
        assert_eq!(late.load(SeqCst), 0);
    });
}

#[test]
fn a_body_that_panics_when_it_is_dropped_is_caught_too() {
    in_time(|| {
        everywhere(|| async {
            let ended = Arc::new(AtomicBool::new(false));
            let tells = ended.clone();
            let failed = scope(async move |s: &Scope| {
                let _panics = Defer(|| panic!("in a drop"));
                let (tx, rx) = leno::rendezvous();
                drop(s.spawn(fiber::shield(async move {
                    tx.send(()).await.unwrap();
                    for _ in 0..10 {
                        fiber::yield_now().await;
                    }
                    tells.store(true, SeqCst);
                })));
                rx.recv().await.unwrap();
                s.cancel();
                pending::<()>().await;
            })
            .await;
            assert!(ended.load(SeqCst), "it did not wait");
            assert_eq!(failed.unwrap_err().to_string(), "the body of a scope panicked: in a drop");
        });
    });
}

#[test]
fn a_scope_that_is_over_keeps_nobodys_waker() {
    for cancels in [false, true] {
        let counts = Arc::new(Counts(AtomicUsize::new(0), false));
        let waker = Waker::from(counts.clone());
        let mut kept = None;
        let mut over = Box::pin(scope(async |s: &Scope| {
            kept = Some((s.clone(), s.token()));
            if cancels {
                s.cancel();
                pending::<()>().await;
            }
        }));
        while over.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {}
        drop((over, waker));
        assert_eq!(Arc::strong_count(&counts), 1);
        drop(kept);
    }
}

#[test]
fn wakers_that_panic_are_no_failure_of_the_scope() {
    // C29
    in_time(|| {
        let waker = Waker::from(Arc::new(Counts(AtomicUsize::new(0), true)));
        let mut waiting = Vec::new();
        let given = leno::block_on(try_scope(async |s: &TryScope<u8>| {
            let token = s.token();
            let mut waits = Box::pin(async move { token.cancelled().await });
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            waiting.push(waits);
            drop(s.spawn(async { Err::<(), _>(7) }));
            pending::<Result<(), u8>>().await
        }));
        assert_eq!(given.unwrap(), Err(7));
    });
}

#[test]
fn a_panic_reaches_somebody_also_if_the_scope_is_dropped() {
    // F5
    in_time(|| {
        let told = Arc::new(AtomicUsize::new(0));
        let counter = told.clone();
        let cord = Cord::builder().on_panic(move |_, _| _ = counter.fetch_add(1, SeqCst)).build();
        cord.block_on(async {
            let mut over = Box::pin(scope(async |s: &Scope| {
                drop(s.spawn_local(async { panic!("of a fiber") }));
                pending::<()>().await;
            }));
            assert!(over.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            fiber::yield_now().await;
            assert_eq!(told.load(SeqCst), 0, "the scope has it");
        });
        assert_eq!(told.load(SeqCst), 1, "nobody was told");
    });
}

#[test]
fn who_learns_of_the_cancel_finds_a_closed_scope() {
    struct Spawns(std::sync::Mutex<Option<Scope>>, Arc<AtomicUsize>);
    impl std::task::Wake for Spawns {
        fn wake(self: Arc<Self>) {
            let scope = self.0.lock().unwrap().take().unwrap();
            assert!(scope.token().is_cancelled());
            let ran = self.1.clone();
            drop(scope.spawn(async move { _ = ran.fetch_add(1, SeqCst) }));
        }
    }
    in_time(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        let ended = leno::block_on(scope(async |s: &Scope| {
            let spawns = Spawns(std::sync::Mutex::new(Some(s.clone())), ran.clone());
            let token = s.token();
            let mut waits = Box::pin(token.cancelled());
            let waker = Waker::from(Arc::new(spawns));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            s.cancel();
            pending::<()>().await;
        }));
        assert!(ended.unwrap_err().is_cancelled());
        assert_eq!(ran.load(SeqCst), 0);
    });
}

/// A fiber that was prepared and never started is no member yet: its panic is told as that of one that nobody joins.
#[test]
fn a_fiber_that_was_never_started_fails_no_scope() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("planted: a drop panics");
        }
    }
    in_time(|| {
        let told = Arc::new(AtomicUsize::new(0));
        let counter = told.clone();
        let cord = Cord::builder().on_panic(move |_, _| _ = counter.fetch_add(1, SeqCst)).build();
        let ended = cord.block_on(scope(async |s: &Scope| {
            let bomb = Bomb;
            drop(Builder::new().scope(s).prepare(async move { drop(bomb) }));
            fiber::yield_now().await;
            7
        }));
        assert_eq!(ended.expect("nothing of the scope's panics"), 7);
        assert_eq!(told.load(SeqCst), 1);
    });
}

/// F4: nothing of it is left that a shield could protect, whoever has the section, the error itself for example.
#[test]
fn a_member_that_fails_ends_though_a_section_of_it_goes_on_elsewhere() {
    type Section = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;
    in_time(|| {
        let failed = leno::block_on(try_scope(async |s: &TryScope<Section>| {
            drop(s.spawn(async {
                let mut section: Section = Box::pin(fiber::shield(pending::<()>()));
                assert!(poll_fn(|cx| Poll::Ready(section.as_mut().poll(cx).is_pending())).await);
                Err::<(), _>(section)
            }));
            Ok(())
        }));
        drop(failed.expect("nothing panics").expect_err("the section"));
    });
}

/// C13: as of whoever waits for something else.
#[test]
fn a_waker_that_panics_in_its_drop_costs_nothing() {
    struct Bomb;
    impl std::task::Wake for Bomb {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a waker's drop");
        }
    }
    in_time(|| {
        let (tx, rx) = leno::rendezvous::<()>();
        let mut over = Box::pin(scope(async move |s: &Scope| drop(s.spawn(async move { rx.recv().await }))));
        let mut waits = |waker: Waker| over.as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
        assert!(waits(Waker::from(Arc::new(Bomb))) && waits(Waker::noop().clone()));
        tx.send_blocking(()).unwrap();
        futures_lite::future::block_on(over).expect("nothing failed");
    });
}

/// F5, F14: whose drop panics as well.
#[test]
fn a_panic_that_nobody_hears_of_is_dropped_with_care() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (tx, rx) = leno::bounded(1);
        let (ends, panics) = (Latch::default(), Latch::default());
        let (member_ends, body_panics) = (ends.clone(), panics.clone());
        let cancelled = runtime.spawn(scope(async move |s: &Scope| {
            drop(s.spawn(fiber::shield(async move {
                tx.send(()).await.unwrap();
                fiber::unblock(move || member_ends.wait()).await;
            })));
            rx.recv().await.unwrap();
            body_panics.open();
            std::panic::panic_any(Defer(|| panic!("in the drop of the payload")));
        }));
        panics.wait();
        cancelled.cancel();
        ends.open();
        assert!(cancelled.wait().unwrap_err().is_cancelled());
    });
}

/// The first panic cancels the token at once, not only at the scope's end.
#[test]
fn a_scope_that_fails_cancels_its_token() {
    in_time(|| {
        let failed = leno::block_on(scope(async |s: &Scope| {
            let (token, below) = (s.token(), s.token().child());
            let (begins, begun) = leno::rendezvous();
            s.spawn(fiber::shield(async move {
                begins.send(()).await.unwrap();
                token.cancelled().await;
                below.cancelled().await;
            }));
            begun.recv().await.unwrap();
            s.spawn(async { panic!("no luck") });
            pending::<()>().await;
        }));
        assert!(failed.unwrap_err().is_panic());
    });
}

/// Who waits for a token below that of the scope may panic when woken: the scope's outcome is what it is.
#[test]
fn wakers_that_panic_below_a_scope_are_no_failure_of_it() {
    let waits = |token: &leno::fiber::CancelToken| {
        let below = token.child();
        let mut waits = Box::pin(async move { below.cancelled().await });
        let waker = crate::support::panicking_waker();
        assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        waits
    };
    in_time(move || {
        let kept = std::cell::RefCell::new(Vec::new());
        // At its end, as a member fails, and as the body does.
        let given = leno::block_on(scope(async |s: &Scope| {
            kept.borrow_mut().push(waits(&s.token()));
            5
        }));
        assert_eq!(given.unwrap(), 5);
        let failed = leno::block_on(scope(async |s: &Scope| {
            kept.borrow_mut().push(waits(&s.token()));
            s.spawn(async { panic!("no luck") });
            pending::<()>().await;
        }));
        assert_eq!(failed.unwrap_err().into_panic().downcast_ref::<&str>(), Some(&"no luck"));
        let failed = leno::block_on(try_scope(async |s: &TryScope<u8>| {
            kept.borrow_mut().push(waits(&s.token()));
            s.spawn(async { Err::<(), _>(3) });
            pending::<Result<(), u8>>().await
        }));
        assert_eq!(failed.unwrap(), Err(3));
        let failed = leno::block_on(try_scope(async |s: &TryScope<u8>| {
            kept.borrow_mut().push(waits(&s.token()));
            Err::<(), _>(4)
        }));
        assert_eq!(failed.unwrap(), Err(4));
    });
}

/// Of several errors the first is the scope's, also if a shielded section ends with another one; a panic outdoes it, also later.
#[test]
fn the_first_error_stands_unless_something_panics() {
    in_time(|| {
        for panics in [false, true] {
            let failed = leno::block_on(try_scope(async |s: &TryScope<u8>| {
                let token = s.token();
                let (begins, begun) = leno::rendezvous();
                s.spawn::<_, ()>(fiber::shield(async move {
                    begins.send(()).await.unwrap();
                    token.cancelled().await;
                    assert!(!panics, "worse");
                    Err(2)
                }));
                begun.recv().await.unwrap();
                s.spawn::<_, ()>(async { Err(1) });
                pending::<Result<(), u8>>().await
            }));
            if panics {
                assert!(failed.unwrap_err().is_panic());
            } else {
                assert_eq!(failed.unwrap(), Err(1));
            }
        }
    });
}

/// A scope that was dropped takes no panic: the executor's hook is told.
#[test]
fn a_panic_after_the_scope_was_dropped_is_told() {
    in_time(|| {
        let told = Arc::new(AtomicUsize::new(0));
        let counter = told.clone();
        let runtime = Runtime::builder().workers(1).on_panic(move |_, _| _ = counter.fetch_add(1, SeqCst));
        let runtime = runtime.build().unwrap();
        let (inside, leave) = (Latch::default(), Latch::default());
        let (entered, wait) = (inside.clone(), leave.clone());
        let handle = runtime.handle().clone();
        let mut over = Box::pin(scope(async move |s: &Scope| {
            drop(Builder::new().scope(s).spawn_on(&handle, async move {
                entered.open();
                wait.wait();
                panic!("too late for the scope");
            }));
            pending::<()>().await;
        }));
        assert!(over.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        inside.wait();
        drop(over);
        leave.open();
        until(|| told.load(SeqCst) == 1);
    });
}

/// Who polls a scope may panic when woken: neither the worker whose fiber fails, nor who cancels the scope, learns of that; and of
/// a second panic that is in the way nobody does.
#[test]
fn wakers_of_a_scope_that_panic_and_second_panics_end_nothing() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in the drop of a payload");
        }
    }
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        for cancels in [false, true] {
            let (handle, go) = (runtime.handle().clone(), Latch::default());
            let wait = go.clone();
            let (give, given) = leno::bounded(1);
            let mut over = Box::pin(scope(async move |s: &Scope| {
                drop(Builder::new().scope(s).spawn_on(&handle, async move {
                    wait.wait();
                    assert!(cancels, "no luck");
                    pending::<()>().await;
                }));
                give.send(s.clone()).await.unwrap();
                let _bomb = Defer(move || {
                    if !cancels {
                        std::panic::panic_any(Bomb)
                    }
                });
                pending::<()>().await;
            }));
            let panics = panicking_waker();
            assert!(over.as_mut().poll(&mut Context::from_waker(&panics)).is_pending());
            let given = given.recv_blocking().unwrap();
            go.open();
            if cancels {
                given.cancel();
            }
            until(|| given.token().is_cancelled());
            let failed = leno::block_on(over).unwrap_err();
            assert_eq!(failed.is_cancelled(), cancels);
            assert_eq!(runtime.spawn(async { 1 }).wait().unwrap(), 1, "the worker lives");
        }
    });
}

async fn one_scope_after_the_other() {
    loop {
        let _ = scope(async |s| {
            s.spawn(leno::sleep(Duration::from_millis(1)));
        })
        .await;
        let _ = try_scope(async |_: &TryScope<()>| Ok(())).await;
    }
}

#[test]
fn a_fiber_of_scopes_that_are_over_at_once_ends_when_it_is_cancelled() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let cancelled = runtime.spawn(async {
            fiber::current().cancel();
            let token = CancelToken::new();
            token.cancel();
            loop {
                let _ = token.scope(async |s| drop(s.spawn(pending::<()>()))).await;
            }
        });
        assert!(cancelled.wait().unwrap_err().is_cancelled());
    });
}

/// F8
#[test]
fn a_runtime_ends_where_one_scope_follows_the_other() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(one_scope_after_the_other());
        let alive = runtime.shutdown(Duration::from_millis(20));
        assert!(alive.iter().any(|one| one.id() == fiber.id()));
        assert!(fiber.wait().unwrap_err().is_cancelled());
    });
}

/// F10
#[test]
fn scopes_without_fibers_let_others_run() {
    in_time(|| {
        Cord::new().block_on(async {
            let other = fiber::spawn_local(async {});
            while !other.is_finished() {
                scope(async |_| ()).await.unwrap();
            }
        });
    });
}
