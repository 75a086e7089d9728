//! Fibers that are joined as they end.

use crate::support::{Drops, SECOND, cord, in_time};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use leno::fiber::{Builder, Cord, JoinHandle, JoinSet, Runtime, find, spawn_local};
use leno::{rendezvous, sleep, spawn, yield_now};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

/// Ends after so many seconds.
async fn after(seconds: u32) -> u32 {
    sleep(seconds * SECOND).await;
    seconds
}

/// A fiber that never ends, and counts the drop of what it has.
fn held(drops: &Drops) -> impl Future<Output = u32> + use<> {
    let probe = drops.probe();
    async move {
        let _probe = probe;
        pending().await
    }
}

#[test]
fn outcomes_come_as_fibers_end_also_of_those_that_come_later() {
    cord().block_on(async {
        let mut set = JoinSet::new();
        assert!(set.is_empty() && set.join_next().await.is_none(), "there are none");
        [5, 2, 4].into_iter().for_each(|seconds| _ = set.spawn(after(seconds)));
        assert_eq!((set.len(), set.try_join_next().is_none()), (3, true));
        assert_eq!(set.join_next().await.unwrap().unwrap(), 2);
        set.spawn(after(1));
        let mut rest = Vec::new();
        while let Some(outcome) = set.join_next().await {
            rest.push(outcome.unwrap());
            assert_eq!(set.len(), 3 - rest.len());
        }
        assert_eq!(rest, [1, 4, 5]);
        set.spawn(after(1));
        assert_eq!(set.join_next().await.unwrap().unwrap(), 1, "it goes on after its end");
    });
}

/// F6: awaiting oneself is an error, and costs nobody anything; nor does a handle that has given its outcome.
#[test]
fn misuse_does_not_cancel() {
    cord().block_on(async {
        let (tx, rx) = rendezvous::<JoinHandle<()>>();
        let went_on = Rc::new(Cell::new(false));
        let goes_on = Rc::clone(&went_on);
        let fiber = spawn_local(async move {
            let mut set = JoinSet::new();
            set.push(rx.recv().await.expect("its own handle"));
            let joined = set.join_next().await.expect("one is in the set");
            assert!(joined.is_err_and(|error| error.is_self_join()));
            yield_now().await;
            goes_on.set(true);
        });
        let seen = fiber.fiber();
        tx.send(fiber).await.unwrap();
        while !seen.is_finished() {
            yield_now().await;
        }
        assert!(went_on.get());
        let mut joined = spawn(after(0));
        (&mut joined).await.unwrap();
        let mut set = JoinSet::new();
        set.spawn(after(1));
        catch_unwind(AssertUnwindSafe(|| set.push(joined))).unwrap_err();
        assert_eq!(set.join_next().await.unwrap().unwrap(), 1, "the others are there still");
    });
}

#[test]
fn it_says_how_each_fiber_ended() {
    cord().block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async { panic!("planted: a fiber panics") });
        let first = set.join_next().await.unwrap();
        assert!(first.unwrap_err().is_panic());
        let cancelled = set.spawn(after(1));
        let other = set.spawn(after(1));
        cancelled.cancel();
        let error = set.join_next().await.unwrap().unwrap_err();
        assert_eq!((error.is_cancelled(), error.id()), (true, Some(cancelled.id())));
        assert!(find(other.id()).is_some(), "it goes on");
        assert_eq!(set.join_next().await.unwrap().unwrap(), 1);
    });
}

#[test]
fn it_takes_fibers_of_any_kind() {
    in_time(|| {
        let elsewhere = Runtime::builder().workers(1).build().unwrap();
        Cord::new().block_on(async {
            let shared = Rc::new(Cell::new(0));
            let mut set: JoinSet<u32> = (1..=2).map(|n| spawn(async move { n })).collect();
            let copy = Rc::clone(&shared);
            set.push(spawn_local(async move { copy.replace(3) + 4 }));
            let named = set.push(Builder::new().name("named").spawn(async { 8 }));
            assert_eq!(named.name(), Some("named"));
            set.extend([elsewhere.spawn(async { 16 })]);
            let mut seen = BTreeSet::new();
            while let Some(outcome) = set.join_next().await {
                seen.insert(outcome.unwrap());
            }
            assert_eq!((seen, shared.get()), (BTreeSet::from([1, 2, 4, 8, 16]), 3));
        });
    });
}

#[test]
fn its_drop_cancels_and_detaching_does_not() {
    cord().block_on(async {
        let drops = Drops::default();
        let mut set = JoinSet::new();
        set.push(spawn(held(&drops)));
        set.spawn(held(&drops));
        yield_now().await;
        drop(set);
        yield_now().await;
        assert_eq!(drops.count(), 2);

        let (tx, rx) = rendezvous();
        let mut set = JoinSet::default();
        set.push(spawn(async move { tx.send(1).await.unwrap() }).cancel_on_drop());
        set.detach_all();
        assert!(set.is_empty());
        drop(set);
        assert_eq!(rx.recv().await, Ok(1), "it has gone on");
    });
}

#[test]
fn those_that_are_cancelled_are_joined() {
    cord().block_on(async {
        let drops = Drops::default();
        let mut set = JoinSet::new();
        set.spawn(async { 7 });
        yield_now().await;
        (0..3).for_each(|_| _ = set.spawn(held(&drops)));
        set.cancel_all();
        assert_eq!(set.len(), 4);
        let mut cancelled = 0;
        while let Some(outcome) = set.join_next().await {
            match outcome {
                Ok(value) => assert_eq!(value, 7, "it had ended"),
                Err(error) => cancelled += u32::from(error.is_cancelled()),
            }
        }
        assert_eq!((cancelled, drops.count()), (3, 3));
    });
}

#[test]
fn a_join_that_is_given_up_loses_nothing() {
    cord().block_on(async {
        let mut set = JoinSet::new();
        set.spawn(after(2));
        set.spawn(after(3));
        assert!(leno::timeout(SECOND, set.join_next()).await.is_err());
        leno::select! {
            _ = set.join_next() => panic!("nobody has ended"),
            default => {}
        }
        assert!(set.try_join_next().is_none());
        let outcome = leno::select! {
            outcome = set.join_next() => outcome,
            () = sleep(2 * SECOND) => panic!("it is woken, also after a look without a waker"),
        };
        assert_eq!(outcome.unwrap().unwrap(), 2);
        sleep(2 * SECOND).await;
        assert_eq!(set.try_join_next().unwrap().unwrap(), 3);
        assert!(set.try_join_next().is_none() && set.is_empty());
    });
}

#[test]
fn a_look_finds_what_has_ended_whatever_the_budget() {
    cord().block_on(async {
        let mut set: JoinSet<u32> = (0..1000).map(|n| spawn(async move { n })).collect();
        sleep(SECOND).await;
        let seen: BTreeSet<_> = std::iter::from_fn(|| set.try_join_next()).map(Result::unwrap).collect();
        assert!(seen.into_iter().eq(0..1000));
    });
}

/// However many have ended, joining them lets others run. (F10)
#[test]
fn joining_lets_others_run() {
    cord().block_on(async {
        let mut set: JoinSet<u32> = (0..10_000).map(|n| spawn(async move { n })).collect();
        sleep(SECOND).await;
        let other = spawn(async {});
        for _ in 0..1000 {
            set.join_next().await.unwrap().unwrap();
        }
        assert!(other.is_finished() && set.len() == 9000);
    });
}

#[test]
fn it_serves_threads_and_is_a_stream() {
    in_time(|| {
        let mut set = JoinSet::new();
        set.spawn(pending::<u32>());
        assert!(set.join_next().wait_timeout(SECOND / 1000).is_err());
        set.spawn(async { 1 });
        assert_eq!(set.join_next().wait().unwrap().unwrap(), 1);
        assert!(!set.is_terminated() && set.size_hint() == (1, Some(1)));
        assert_eq!(format!("{set:?}"), "JoinSet { len: 1, .. }");
        set.cancel_all();
        assert!(set.join_next().wait().unwrap().unwrap_err().is_cancelled());
        assert!(set.is_terminated());
        let polled = Pin::new(&mut set).poll_next(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready(), "at its end");
    });
}

#[test]
fn auto_traits() {
    fn is<T: Send + Sync + Unpin + UnwindSafe + RefUnwindSafe>() {}
    is::<JoinSet<Cell<u8>>>();
    is::<JoinHandle<Cell<u8>>>();
}
