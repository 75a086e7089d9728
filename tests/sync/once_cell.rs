//! `OnceCell` and `Lazy`: M1, M2, M7, M8.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use leno::sync::{Lazy, OnceCell};

use crate::support::{Crew, Place, PollExt};
use crate::{each_place, impls};

/// The first makes the value, the others wait for that.
#[test]
fn it_is_made_once() {
    let cell = OnceCell::new();
    assert!(cell.get().is_none() && !cell.is_initialized());
    let (tx, rx) = leno::rendezvous();
    let mut first = pin!(cell.get_or_init(|| async { rx.recv().await.expect("sent") }));
    first.must_wait("nothing is sent");
    assert_eq!(cell.set(9), Err(9), "somebody makes it");
    let mut second = pin!(cell.get_or_init(|| async { unreachable!("the first one makes it") }));
    let woken = second.must_wait("the first one makes it");
    tx.try_send(5).expect("it waits");
    assert_eq!(*first.must_be_ready("sent"), 5);
    assert!(woken.was_woken());
    assert_eq!(*second.must_be_ready("made"), 5);
    assert_eq!((cell.get(), cell.set(6)), (Some(&5), Err(6)));
    assert_eq!(*cell.get_or_init_blocking(|| unreachable!("it is there")), 5);
}

/// M2: whoever makes it is dropped, or panics, or fails: the next one tries.
#[test]
fn the_next_one_tries() {
    for how in 0..3 {
        let cell = OnceCell::new();
        let (tx, rx) = leno::rendezvous::<u32>();
        let mut first = Box::pin(cell.get_or_try_init(|| async {
            match rx.recv().await {
                Ok(_) => panic!("planted"),
                Err(error) => Err(error),
            }
        }));
        first.must_wait("it makes it");
        let mut second = pin!(cell.get_or_try_init(|| async { Ok::<_, ()>(7) }));
        let woken = second.must_wait("the first one makes it");
        let mut third = pin!(cell.get_or_init(|| async { unreachable!("the second one makes it") }));
        third.must_wait("the first one makes it");
        match how {
            0 => {}
            1 => {
                tx.try_send(1).expect("it waits");
                assert!(
                    catch_unwind(AssertUnwindSafe(|| first.poll_with(Waker::noop()).is_ready())).is_err()
                );
            }
            _ => {
                tx.close();
                assert!(first.must_be_ready("closed").is_err());
            }
        }
        drop(first);
        assert!(woken.was_woken(), "M2: its turn");
        assert_eq!(second.must_be_ready("M2"), Ok(&7));
        assert_eq!(*third.must_be_ready("made"), 7);
    }
    // Its turn, and dropped before it runs.
    let cell = OnceCell::new();
    let mut first = Box::pin(cell.get_or_init(std::future::pending));
    first.must_wait("it makes it for ever");
    let mut second = Box::pin(cell.get_or_init(async || 1));
    second.must_wait("the first one makes it");
    drop(first);
    drop(second);
    assert_eq!(cell.set(3), Ok(()), "M2: passed on");
    let panicked = OnceCell::new();
    let make = AssertUnwindSafe(|| *panicked.get_or_init_blocking(|| panic!("planted")));
    assert!(catch_unwind(make).is_err());
    assert_eq!(*panicked.get_or_init_blocking(|| 2), 2);
    let failed = OnceCell::new();
    assert_eq!(failed.get_or_try_init_blocking(|| Err("planted")), Err("planted"));
    assert_eq!(failed.get_or_try_init_blocking(|| Ok::<_, &str>(3)), Ok(&3), "M2: the turn came back");
    assert_eq!(failed.get_or_try_init_blocking(|| Err("it is there")), Ok(&3));
}

#[test]
fn filled_emptied_and_owned() {
    let mut cell = OnceCell::from(String::from("twill"));
    cell.get_mut().expect("full").push('!');
    assert_eq!(format!("{cell:?}"), "OnceCell(\"twill!\")");
    assert_eq!(cell.take().as_deref(), Some("twill!"));
    assert_eq!((cell.get(), format!("{cell:?}")), (None, String::from("OnceCell(<empty>)")));
    assert_eq!(cell.set(String::from("satin")), Ok(()));
    assert_eq!(cell.into_inner().as_deref(), Some("satin"));
    assert_eq!(OnceCell::<u8>::default().into_inner(), None);
}

/// M8: in a select it is polled; if it loses, its turn, or what it has begun, goes to the next one.
#[test]
fn a_branch_that_loses() {
    for has_begun in [false, true] {
        let cell = OnceCell::new();
        let (tx, rx) = leno::bounded(1);
        let mut first = Box::pin(cell.get_or_init(std::future::pending::<u8>));
        let mut behind = Box::pin(cell.get_or_init(async || 2));
        if !has_begun {
            first.must_wait("it makes it for ever");
        }
        let mut selecting = pin!(async {
            leno::select! {
                biased;
                _ = cell.get_or_init(std::future::pending) => unreachable!("it is never made"),
                got = rx.recv() => assert_eq!(got, Ok(1)),
            }
        });
        selecting.must_wait("neither");
        behind.must_wait("another one makes it, or has its turn");
        drop(first);
        tx.try_send(1).expect("it waits");
        selecting.must_be_ready("sent");
        assert_eq!(*behind.must_be_ready("M2: its turn"), 2);
    }
}

/// M7: ten thousand wait for one value.
#[test]
fn ten_thousand_waiters() {
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
        let cell = OnceCell::new();
        let (tx, rx) = leno::rendezvous();
        let mut first = pin!(cell.get_or_init(|| async { rx.recv().await.expect("sent") }));
        first.must_wait("nothing is sent");
        let waits = (0..10_000).map(|_| {
            let mut wait = Box::pin(cell.get_or_init(async || 0));
            assert!(wait.poll_with(Waker::noop()).is_pending());
            wait
        });
        let mut waits = waits.collect::<Vec<_>>();
        tx.try_send(5).expect("it waits");
        first.must_be_ready("sent");
        waits.iter_mut().for_each(|wait| assert_eq!(*wait.must_be_ready("M7"), 5));
    });
    small.expect("a thread starts").join().expect("M7: no deep recursion");
}

/// M1, M8: made once, wherever it is asked for; some that make it give up.
fn made_once(places: &[Place]) {
    let (cell, made) = (Arc::new(OnceCell::new()), Arc::new(AtomicUsize::new(0)));
    let mut crew = Crew::new("M1: made once", places);
    for member in 0..8 {
        let (cell, made) = (Arc::clone(&cell), Arc::clone(&made));
        crew.add(move |at| async move {
            if at == Place::Thread {
                assert_eq!(*cell.get_or_init_blocking(|| made.fetch_add(1, Ordering::SeqCst)), 0);
                return;
            }
            if member % 2 == 0 {
                // Polled once.
                let making = cell.get_or_init(|| async { std::future::pending().await });
                let _ = futures_util::poll!(pin!(making));
            }
            let make = || async {
                at.pause().await;
                made.fetch_add(1, Ordering::SeqCst)
            };
            assert_eq!(*cell.get_or_init(make).await, 0);
        });
    }
    crew.run();
    assert_eq!(made.load(Ordering::SeqCst), 1, "M1");
}

each_place!(made_once);

/// A lazy value, in a static and elsewhere; a first future that is dropped.
#[test]
fn lazy_values() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static LAZY: Lazy<usize> = Lazy::new(|| Box::pin(async { MADE.fetch_add(1, Ordering::SeqCst) }));
    assert_eq!(LAZY.try_get(), None);
    leno::block_on(async { assert_eq!((*LAZY.get().await, *LAZY.force().await), (0, 0)) });
    assert_eq!((*LAZY.get_blocking(), LAZY.try_get(), MADE.load(Ordering::SeqCst)), (0, Some(&0), 1));
    let calls = Cell::new(0);
    let lazy = Lazy::new(|| {
        calls.set(calls.get() + 1);
        leno::yield_now()
    });
    {
        let mut getting = Box::pin(lazy.get());
        getting.must_wait("it yields once");
    }
    leno::block_on(async { lazy.get().await });
    assert_eq!((calls.get(), lazy.into_value()), (2, Some(())), "the one that was dropped was made again");
}

#[test]
fn auto_traits() {
    const {
        assert!(impls!(OnceCell<u8>: Send + Sync));
        assert!(impls!(OnceCell<Cell<u8>>: Send) && !impls!(OnceCell<Cell<u8>>: Sync));
        assert!(!impls!(OnceCell<Rc<u8>>: Send));
        assert!(impls!(Lazy<u8>: Send + Sync));
    }
    let cell = OnceCell::new();
    fn is_send<T: Send>(_: &T) {}
    is_send(&cell.get_or_init(async || 1));
    assert_eq!(leno::spawn(async move { *cell.get_or_init(async || 1).await }).wait().expect("no panic"), 1);
    static LAZY: Lazy<usize> = Lazy::new(|| Box::pin(async { 1 }));
    is_send(&LAZY.get());
    let lazy = Lazy::new(async || 2);
    is_send(&lazy.get());
    let sum = leno::spawn(async move { *LAZY.get().await + *lazy.get().await });
    assert_eq!(sum.wait().expect("no panic"), 3);
}

/// M1.
#[test]
fn a_clone_has_what_is_there() {
    let cell = OnceCell::new();
    assert_eq!(cell, cell.clone());
    cell.set(String::from("twill")).unwrap();
    let mut copy = cell.clone();
    assert_eq!(cell, copy);
    assert_eq!(copy.take().as_deref(), Some("twill"));
    assert!(cell != copy && cell.get().is_some());
}
