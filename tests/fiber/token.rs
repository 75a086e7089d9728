//! Cancel tokens.

use crate::support::{Drops, in_time};
use futures_core::future::FusedFuture;
use leno::fiber::{self, CancelToken, JoinError, Runtime, Scope, TryScope};
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[test]
fn cancelled_with_the_parent_and_not_the_other_way_round() {
    let root = CancelToken::new();
    let (left, right) = (root.child(), root.child());
    let below = left.child();
    assert!(left.cancel());
    assert!(!left.cancel(), "once");
    let seen = || [&root, &left, &right, &below].map(|token| token.is_cancelled());
    assert_eq!(seen(), [false, true, false, true]);
    assert!(root.clone().cancel());
    assert_eq!(seen(), [true; 4]);
    assert!(root.child().child().is_cancelled(), "a child of a cancelled one is so from the start");
}

#[test]
fn who_waits_is_woken_whoever_it_is() {
    in_time(|| {
        let token = CancelToken::new();
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let fibers: Vec<_> = (0..100)
            .map(|_| {
                let token = token.child();
                runtime.spawn(async move { token.cancelled().await })
            })
            .collect();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let token = token.clone();
                std::thread::spawn(move || token.cancelled().wait())
            })
            .collect();
        let task = token.clone();
        let foreign = std::thread::spawn(move || {
            let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
            tokio.block_on(async move { task.cancelled().await });
        });
        assert!(token.cancelled().wait_timeout(Duration::ZERO).is_err());
        token.cancel();
        fibers.into_iter().for_each(|fiber| fiber.wait().unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        foreign.join().unwrap();
        token.cancelled().wait();
    });
}

#[test]
fn a_branch_of_a_select() {
    leno::block_on(async {
        let token = CancelToken::new();
        let (tx, rx) = leno::bounded::<u8>(1);
        leno::select! {
            () = token.cancelled() => panic!("not cancelled"),
            default => {}
        }
        token.cancel();
        leno::select! {
            () = token.cancelled() => {}
            _ = rx.recv() => panic!("nothing was sent"),
        }
        drop(tx);
    });
}

#[test]
fn what_runs_until_a_cancel_is_dropped_by_it() {
    leno::block_on(async {
        let token = CancelToken::new();
        assert_eq!(token.run_until_cancelled(async { 5 }).await, Some(5));
        let drops = Drops::default();
        let probe = drops.probe();
        let canceller = token.clone();
        let held = async move {
            let _probe = probe;
            canceller.cancel();
            pending::<()>().await;
        };
        assert_eq!(token.run_until_cancelled(held).await, None);
        assert_eq!(drops.count(), 1);
        // Not even polled.
        assert_eq!(token.run_until_cancelled(async { unreachable!() }).await, None::<()>);
    });
}

/// It is a future as the others: it stays where it is lent to a select, serves threads, and ends once.
#[test]
fn what_runs_until_a_cancel_can_be_lent_and_waited_for() {
    let token = CancelToken::new();
    let drops = Drops::default();
    let probe = drops.probe();
    let (tx, rx) = leno::bounded::<u8>(1);
    let mut running = token.run_until_cancelled(Box::pin(async move {
        let _probe = probe;
        rx.recv().await
    }));
    leno::block_on(async {
        leno::select! {
            _ = &mut running => panic!("nothing was sent"),
            default(Duration::from_millis(1)) => {}
        }
    });
    assert!(running.wait_timeout(Duration::ZERO).is_err() && !running.is_terminated());
    assert_eq!(drops.count(), 0);
    std::thread::scope(|s| {
        s.spawn(|| token.cancel());
        assert_eq!(running.wait_timeout(Duration::MAX), Ok(None));
    });
    assert!(running.is_terminated());
    assert_eq!(drops.count(), 1, "at once, though the future is kept");
    assert!(tx.is_closed());
    let again = catch_unwind(AssertUnwindSafe(|| leno::block_on(&mut running)));
    assert!(again.is_err());
    assert_eq!(CancelToken::new().run_until_cancelled(async { 5 }).wait(), Some(5));
}

#[test]
fn without_a_budget_a_cancel_is_seen_all_the_same() {
    leno::block_on(async {
        let token = CancelToken::new();
        token.cancel();
        let (tx, rx) = leno::bounded(1);
        for n in 0..128 {
            tx.send(n).await.unwrap();
            rx.recv().await.unwrap();
        }
        assert_eq!(token.run_until_cancelled(std::future::ready(5)).await, None);
    });
}

#[test]
fn a_scope_of_a_token_is_cancelled_with_it() {
    in_time(|| {
        let server = CancelToken::new();
        let drops = Drops::default();
        let probe = drops.probe();
        let cancels = server.clone();
        let ended = leno::block_on(server.scope(async move |s: &leno::fiber::Scope| {
            let below = s.token();
            s.spawn(async move {
                let _probe = probe;
                pending::<()>().await;
            });
            cancels.cancel();
            assert!(below.is_cancelled());
            pending::<()>().await;
        }));
        assert!(ended.unwrap_err().is_cancelled());
        assert_eq!(drops.count(), 1);
        // One whose body may fail: its error, or that it was cancelled.
        let server = CancelToken::new();
        let failed = leno::block_on(server.try_scope(async |_: &TryScope<u8>| Err::<(), _>(7)));
        assert_eq!(failed.unwrap(), Err(7));
        assert!(!server.is_cancelled());
        let cancels = server.clone();
        let ended = leno::block_on(server.try_scope(async move |s: &TryScope<u8>| {
            cancels.cancel();
            assert!(s.token().is_cancelled());
            pending::<Result<(), u8>>().await
        }));
        assert!(ended.unwrap_err().is_cancelled());
        // Of a cancelled one, from the start; and not the other way round.
        let refused = leno::block_on(server.scope(async |_: &leno::fiber::Scope| ()));
        assert!(refused.unwrap_err().is_cancelled());
        let server = CancelToken::new();
        leno::block_on(server.scope(async |s: &leno::fiber::Scope| s.cancel())).unwrap();
        assert!(!server.is_cancelled());
    });
}

#[test]
fn guards_cancel() {
    let token = CancelToken::new();
    let kept = token.child().drop_guard().disarm();
    assert!(!kept.is_cancelled());
    let guard = token.clone().drop_guard();
    assert!(!token.is_cancelled());
    drop(guard);
    assert!(token.is_cancelled() && kept.is_cancelled());
}

#[test]
fn a_million_in_a_chain_and_a_million_that_are_gone() {
    let root = CancelToken::new();
    let mut chain = vec![root.clone()];
    for _ in 0..1_000_000 {
        let next = chain[chain.len() - 1].child();
        chain.push(next);
    }
    root.cancel();
    assert!(chain.iter().all(CancelToken::is_cancelled));
    // Each in turn the last owner of the one above, and all at once.
    let last = chain.pop().unwrap();
    drop(chain);
    drop((root, last));

    let root = CancelToken::new();
    for _ in 0..1_000_000 {
        drop(root.child());
    }
    root.cancel();
}

#[test]
fn one_that_is_gone_still_stands_between() {
    let root = CancelToken::new();
    let below = root.child().child();
    root.cancel();
    assert!(below.is_cancelled());
}

#[test]
fn a_child_made_during_the_cancel_is_cancelled() {
    in_time(|| {
        for _ in 0..2_000 {
            let token = CancelToken::new();
            let start = Arc::new(Barrier::new(2));
            let (other, ready) = (token.clone(), start.clone());
            let thread = std::thread::spawn(move || {
                ready.wait();
                [other.child(), other.child().child()]
            });
            start.wait();
            token.cancel();
            let children = thread.join().unwrap();
            assert!(children.iter().all(CancelToken::is_cancelled));
        }
    });
}

/// A waker that panics keeps nobody from being cancelled, and its panic goes on afterwards; the last of several does no harm.
#[test]
fn a_waker_that_panics_is_heard_of_when_all_are_cancelled() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("planted: a payload panics in its drop");
        }
    }
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::panic_any(Bomb);
        }
    }
    let root = CancelToken::new();
    let tokens: Vec<_> = (0..4).map(|_| root.child()).collect();
    let waiting: Vec<_> = tokens[..3]
        .iter()
        .map(|token| {
            let mut waits = token.cancelled();
            let waker = Waker::from(Arc::new(Panics));
            assert!(Pin::new(&mut waits).poll(&mut Context::from_waker(&waker)).is_pending());
            waits
        })
        .collect();
    let payload = catch_unwind(AssertUnwindSafe(|| root.cancel())).expect_err("a waker's panic goes on");
    std::mem::forget(payload.downcast::<Bomb>().expect("the waker's"));
    assert!(tokens.iter().all(CancelToken::is_cancelled));
    drop(waiting);
    assert!(!root.cancel());
}

/// A waker that waits for all of these.
struct WaitsFor(Vec<CancelToken>);

impl std::task::Wake for WaitsFor {
    fn wake(self: Arc<Self>) {
        self.0.iter().for_each(|token| token.cancelled().wait());
    }
}

/// A scope under `root` that has begun with this, and is pending; and its token.
fn begun(
    root: &CancelToken,
    begin: impl FnOnce(&Scope),
) -> (Pin<Box<impl Future<Output = Result<(), JoinError>>>>, CancelToken) {
    let (give, token) = leno::bounded(1);
    let mut scope = Box::pin(root.scope(async move |scope: &Scope| {
        give.try_send(scope.token()).unwrap();
        begin(scope);
        pending().await
    }));
    assert!(scope.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    (scope, token.try_recv().unwrap())
}

/// A waker may wait for the cancel of any other token of the tree.
#[test]
fn all_are_cancelled_before_any_is_woken() {
    in_time(|| {
        let root = CancelToken::new();
        let (child, other) = (root.child(), root.child());
        let tree = vec![root.clone(), child.clone(), child.child(), other.clone(), other.child()];
        let waker = Waker::from(Arc::new(WaitsFor(tree.clone())));
        let mut waits: Vec<_> = tree.iter().map(CancelToken::cancelled).collect();
        for wait in &mut waits {
            assert!(Pin::new(wait).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert!(root.cancel());
        for wait in &mut waits {
            assert!(Pin::new(wait).poll(&mut Context::from_waker(&waker)).is_ready());
        }
    });
}

#[test]
fn nor_is_any_woken_where_scopes_are_among_them() {
    in_time(|| {
        let root = CancelToken::new();
        let (mut scope, of_scope) = begun(&root, |_| {});
        // (After the scope in its parent's list.)
        let sibling = root.child();
        let waker = Waker::from(Arc::new(WaitsFor(vec![of_scope.clone(), sibling.clone()])));
        let mut cx = Context::from_waker(&waker);
        let mut wait = of_scope.cancelled();
        // Who waits at the scope's token, and who waits for the scope.
        assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
        assert!(scope.as_mut().poll(&mut cx).is_pending());
        assert!(root.cancel());
        assert!(Pin::new(&mut wait).poll(&mut cx).is_ready());
        assert!(matches!(scope.as_mut().poll(&mut cx), Poll::Ready(Err(error)) if error.is_cancelled()));
    });
}

#[test]
fn nor_where_a_scope_fails() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (go, wait) = leno::bounded::<()>(1);
        let root = CancelToken::new();
        let fails = async move {
            wait.recv().await.unwrap();
            panic!("no luck");
        };
        let handle = runtime.handle();
        let (mut scope, token) =
            begun(&root, |scope| drop(fiber::Builder::new().scope(scope).spawn_on(handle, fails)));
        let waker = Waker::from(Arc::new(WaitsFor(vec![token.clone(), token.child()])));
        assert!(scope.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        go.try_send(()).unwrap();
        token.cancelled().wait();
        assert!(leno::block_on(scope).unwrap_err().is_panic());
        assert_eq!(runtime.spawn(async { 1 }).wait().unwrap(), 1, "the worker is through with the waker");
    });
}

#[test]
fn the_panic_of_whoever_waits_at_a_scope_comes_out_of_the_cancel() {
    let root = CancelToken::new();
    let sibling = root.child();
    let (_scope, of_scope) = begun(&root, |_| {});
    let waker = crate::support::panicking_waker();
    let mut wait = of_scope.cancelled();
    assert!(Pin::new(&mut wait).poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(catch_unwind(|| root.cancel()).is_err());
    assert!(root.is_cancelled() && of_scope.is_cancelled() && sibling.is_cancelled());
}
