//! Several futures in one fiber: race, join_all, map_concurrent, and what tells about futures.

use crate::support::{CountingWaker, Drops, OnDrop, SECOND, SeqCst, Stash, cord, in_time, message_of};
use futures_core::stream::FusedStream;
use futures_lite::Stream;
use leno::fiber::{
    self, Cord, Either, FutureExt, JoinHandle, Runtime, join_all, map_concurrent, map_unordered, race,
    spawn_local, try_join_all, try_map_concurrent,
};
use leno::{Receiver, Sender, bounded, yield_now};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The message of the panic of `f`.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    message_of(catch_unwind(AssertUnwindSafe(f)).map(drop).unwrap_err())
}

/// Pending for ever, counts its drop.
async fn held(probe: OnDrop) {
    let _probe = probe;
    pending().await
}

/// Runs a test on each kind of executor.
fn everywhere<F: Future<Output = ()>>(test: impl Fn() -> F + Copy + Send + 'static) {
    in_time(move || {
        Runtime::builder().workers(2).build().unwrap().block_on(test());
        Cord::new().block_on(test());
        leno::block_on(test());
        futures_lite::future::block_on(test());
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test());
    });
}

mod racing {
    use super::*;

    #[test]
    fn the_first_that_is_ready_wins_and_the_first_argument_if_both_are() {
        everywhere(|| async {
            assert_eq!(race(async { 1 }, pending::<()>()).await, Either::Left(1));
            assert_eq!(race(pending::<()>(), async { 2 }).await, Either::Right(2));
            for _ in 0..100 {
                let polled = Cell::new(false);
                let second = poll_fn(|_| {
                    polled.set(true);
                    Poll::Ready(2)
                });
                assert_eq!(race(async { 1 }, second).await, Either::Left(1));
                assert!(!polled.get());
            }
            // Both at the second poll.
            let later = |n| async move {
                yield_now().await;
                n
            };
            assert_eq!(race(later(1), later(2)).await.into_inner(), 1);
            let either = race(leno::sleep(SECOND * 3600), yield_now()).await;
            assert!(either.is_right() && !either.is_left());
            assert_eq!((either.right(), either.left()), (Some(()), None));
        });
    }

    #[test]
    fn the_loser_is_dropped_before_the_result_is_there() {
        // F4, F12
        for loses in ["first", "second"] {
            let drops = Drops::default();
            let (loser, winner) = (held(drops.probe()), yield_now());
            let mut race: Pin<Box<dyn Future<Output = ()>>> = if loses == "first" {
                Box::pin(async { assert!(race(loser, winner).await.is_right()) })
            } else {
                Box::pin(async { assert!(race(winner, loser).await.is_left()) })
            };
            assert!(poll_once(race.as_mut()).is_pending());
            assert_eq!(drops.count(), 0);
            assert!(poll_once(race.as_mut()).is_ready());
            assert_eq!(drops.count(), 1, "{loses}");
        }
        // The race itself is still there.
        let drops = Drops::default();
        let mut first_loses = pin!(race(held(drops.probe()), ready(())));
        assert!(poll_once(first_loses.as_mut()).is_ready());
        assert_eq!(drops.count(), 1);
        let mut second_loses = pin!(race(yield_now(), held(drops.probe())));
        assert!(poll_once(second_loses.as_mut()).is_pending());
        assert!(poll_once(second_loses.as_mut()).is_ready());
        assert_eq!(drops.count(), 2);
        assert!(panic_of(|| poll_once(first_loses.as_mut())).contains("polled after it was ready"));
        assert_eq!(drops.count(), 2);
    }

    #[test]
    fn the_losers_timer_is_gone() {
        // F12: nobody holds the waker any more, though the race is still there.
        let cord = cord();
        let count = CountingWaker::new();
        cord.block_on(async {
            let waker = Waker::from(count.clone());
            let mut gate = pin!(race(leno::sleep(3600 * SECOND), yield_now()));
            let mut cx = Context::from_waker(&waker);
            assert!(gate.as_mut().poll(&mut cx).is_pending());
            assert_eq!(Arc::strong_count(&count), 3);
            assert!(gate.as_mut().poll(&mut cx).is_ready());
            assert_eq!(Arc::strong_count(&count), 2);
            let woken = count.count();
            leno::sleep(7200 * SECOND).await;
            assert_eq!(count.count(), woken);
            // The earlier of two timers wins, at its instant.
            let start = fiber::now();
            assert!(race(leno::sleep(2 * SECOND), leno::sleep(SECOND)).await.is_right());
            assert_eq!(fiber::now() - start, SECOND);
        });
    }

    #[test]
    fn a_losing_fiber_is_cancelled_if_asked_and_the_parent_is_not() {
        // F4
        let cord = cord();
        cord.block_on(async {
            let parent = spawn_local(async {
                let drops = Drops::default();
                let (probe, other) = (drops.probe(), drops.probe());
                let loser = spawn_local(held(probe)).cancel_on_drop();
                let detached = spawn_local(held(other));
                let id = detached.id();
                assert!(race(loser, yield_now()).await.is_right());
                assert!(race(detached, yield_now()).await.is_right());
                yield_now().await;
                assert_eq!(drops.count(), 1);
                fiber::find(id).expect("it goes on").cancel();
                yield_now().await;
                assert_eq!(drops.count(), 2);
                "not cancelled"
            });
            assert_eq!(parent.await.unwrap(), "not cancelled");
        });
    }

    #[test]
    fn a_panic_of_one_drops_the_other() {
        // F4, F5
        for panics in ["first", "second"] {
            let drops = Drops::default();
            let angry = || poll_fn(|_| -> Poll<()> { panic!("no luck") });
            let mut a = Box::pin(race(angry(), held(drops.probe())));
            let mut b = Box::pin(race(held(drops.probe()), angry()));
            let message = if panics == "first" {
                panic_of(|| poll_once(a.as_mut()))
            } else {
                panic_of(|| poll_once(b.as_mut()))
            };
            assert_eq!(message, "no luck");
            assert_eq!(drops.count(), 1, "{panics}");
            drop((a, b));
            assert_eq!(drops.count(), 2);
        }
    }

    #[test]
    fn no_value_is_lost_with_the_loser() {
        // C9: what was handed to it before it lost is the next to be received.
        let cord = cord();
        cord.block_on(async {
            for (tx, rx) in [leno::rendezvous(), leno::bounded(1), leno::unbounded()] {
                let (other_tx, other) = leno::rendezvous();
                let mut race = race(other.recv(), rx.recv());
                assert!(poll_once(Pin::new(&mut race)).is_pending());
                tx.try_send(1).unwrap();
                other_tx.try_send(2).unwrap();
                assert_eq!(race.await, Either::Left(Ok(2)));
                assert_eq!(rx.try_recv(), Ok(1));
            }
        });
    }

    #[test]
    fn dropped_midway_both_are_dropped_once() {
        let drops = Drops::default();
        let mut race = Box::pin(race(held(drops.probe()), held(drops.probe())));
        assert!(poll_once(race.as_mut()).is_pending());
        drop(race);
        assert_eq!(drops.count(), 2);
        drop(fiber::race(held(drops.probe()), held(drops.probe())));
        assert_eq!(drops.count(), 4);
    }

    #[test]
    fn a_thread_can_wait_and_what_can_be_moved_can_race() {
        fn is_unpin<T: Unpin>(value: T) -> T {
            value
        }
        let (tx, rx) = leno::bounded(1);
        tx.try_send(1).unwrap();
        let (_other_tx, other) = leno::bounded::<i32>(1);
        assert_eq!(is_unpin(race(other.recv(), rx.recv())).wait(), Either::Right(Ok(1)));
        assert!(race(other.recv(), rx.recv()).wait_timeout(Duration::from_millis(1)).is_err());
        // What becomes a future.
        struct Into;
        impl IntoFuture for Into {
            type Output = i32;
            type IntoFuture = std::future::Ready<i32>;
            fn into_future(self) -> Self::IntoFuture {
                ready(5)
            }
        }
        assert_eq!(race(Into, Into).wait().into_inner(), 5);
        assert_eq!(join_all([Into, Into]).wait(), [5, 5]);
    }

    /// Also for what cannot be moved, as the future of an `async` block.
    #[test]
    fn a_thread_can_wait_for_what_wraps_any_future() {
        let hour = Duration::from_secs(3600);
        let later = async || {
            yield_now().await;
            3
        };
        assert_eq!(race(later(), pending::<i32>()).wait().into_inner(), 3);
        assert_eq!(fiber::timeout(hour, later()).wait(), Ok(3));
        assert!(fiber::timeout(Duration::from_millis(1), async { pending::<i32>().await }).wait().is_err());
        assert_eq!(fiber::shield(later()).wait(), 3);
        assert_eq!(later().timed().wait().0, 3);
        assert_eq!(later().debug("later").wait(), 3);
        // What can be moved stays, once the time is up.
        let (tx, rx) = leno::bounded(1);
        let mut limited = fiber::timeout(hour, rx.recv());
        assert!(limited.wait_timeout(Duration::ZERO).is_err());
        tx.try_send(7).unwrap();
        assert_eq!(limited.wait_timeout(hour).unwrap().unwrap(), Ok(7));
    }
}

mod joining {
    use super::*;

    #[test]
    fn joining_nothing_returns_at_once() {
        // F13
        let nothing: [std::future::Ready<Result<i32, ()>>; 0] = [];
        assert_eq!(poll_once(pin!(join_all(nothing.clone()))), Poll::Ready(vec![]));
        assert_eq!(poll_once(pin!(try_join_all(nothing))), Poll::Ready(Ok(vec![])));
    }

    #[test]
    fn outputs_come_in_the_order_of_the_futures() {
        let cord = cord();
        cord.block_on(async {
            let start = fiber::now();
            let order = RefCell::new(Vec::new());
            let waits = (0..10_u32).map(|n| {
                let order = &order;
                async move {
                    leno::sleep((10 - n) * SECOND).await;
                    order.borrow_mut().push(n);
                    n
                }
            });
            assert!(join_all(waits).await.into_iter().eq(0..10));
            assert!(order.borrow().iter().rev().copied().eq(0..10));
            assert_eq!(fiber::now() - start, 10 * SECOND);
            let waits = (0..10_u32).map(|n| async move {
                leno::sleep((10 - n) * SECOND).await;
                Ok::<_, ()>(n)
            });
            assert!(try_join_all(waits).await.unwrap().into_iter().eq(0..10));
        });
    }

    #[test]
    fn on_every_executor_and_of_spawned_fibers() {
        everywhere(|| async {
            let channels: Vec<_> = (0..100).map(|_| leno::rendezvous()).collect();
            let fibers = channels.iter().cloned().rev().map(|(tx, _)| {
                leno::spawn(async move {
                    yield_now().await;
                    tx.send(1).await
                })
            });
            let fibers: Vec<_> = fibers.collect();
            let received = join_all(channels.iter().map(|(_, rx)| rx.recv())).await;
            assert_eq!(received, [Ok(1); 100]);
            let sent = try_join_all(fibers).await.unwrap();
            assert_eq!(sent, [Ok(()); 100]);
        });
    }

    #[test]
    fn on_a_thread() {
        let channels: Vec<_> = (0..10).map(|_| leno::bounded(1)).collect();
        let mut all = join_all(channels.iter().map(|(_, rx): &(_, Receiver<i32>)| rx.recv()));
        assert!(all.wait_timeout(Duration::from_millis(1)).is_err());
        for (n, (tx, _)) in (0..).zip(&channels) {
            tx.try_send(n).unwrap();
        }
        assert!(all.wait().into_iter().map(Result::unwrap).eq(0..10));
    }

    #[test]
    fn dropped_midway_everything_is_dropped_once() {
        let drops = Drops::default();
        let member = |n: usize| {
            let (probe, stays) = (drops.probe(), drops.probe());
            async move {
                let _stays = stays;
                if n % 2 == 1 {
                    pending::<()>().await;
                }
                probe
            }
        };
        // Never polled.
        drop(join_all((0..10).map(member)));
        assert_eq!(drops.count(), 20);
        // Half of them have given their outputs, which are still here.
        let mut all = Box::pin(join_all((0..10).map(member)));
        assert!(poll_once(all.as_mut()).is_pending());
        assert_eq!(drops.count(), 25);
        drop(all);
        assert_eq!(drops.count(), 40);
    }

    #[test]
    fn siblings_are_dropped_when_one_fails() {
        let drops = Drops::default();
        let member = |n: i32| {
            let (probe, stays) = (drops.probe(), drops.probe());
            async move {
                let _stays = stays;
                match n {
                    0 => Ok(probe),
                    5 => {
                        yield_now().await;
                        yield_now().await;
                        Err("five")
                    }
                    _ => pending().await,
                }
            }
        };
        let mut all = pin!(try_join_all((0..10).map(member)));
        let error = loop {
            match poll_once(all.as_mut()) {
                Poll::Ready(result) => break result.map(drop).unwrap_err(),
                Poll::Pending => assert!(drops.count() < 10),
            }
        };
        // While the future itself is still there.
        assert_eq!((error, drops.count()), ("five", 20));
        assert!(panic_of(|| poll_once(all.as_mut()).map(drop)).contains("polled after it was ready"));
    }

    #[test]
    fn sibling_fibers_are_cancelled_when_one_fails() {
        // F4
        let cord = cord();
        cord.block_on(async {
            let drops = Drops::default();
            let mut fibers = Vec::new();
            for n in 0..10 {
                let probe = drops.probe();
                fibers.push(
                    spawn_local(async move {
                        if n == 5 {
                            leno::sleep(SECOND).await;
                            drop(probe);
                            panic!("five");
                        }
                        held(probe).await;
                    })
                    .cancel_on_drop(),
                );
            }
            let error = try_join_all(fibers).await.unwrap_err();
            assert!(error.is_panic());
            yield_now().await;
            assert_eq!(drops.count(), 10);
        });
    }

    #[test]
    fn a_panic_of_one_drops_the_others() {
        // F5
        let drops = Drops::default();
        let member = |n| {
            let probe = drops.probe();
            async move {
                let _probe = probe;
                yield_now().await;
                if n == 3 {
                    panic!("three");
                }
                pending::<()>().await;
            }
        };
        let mut all = Box::pin(join_all((0..10).map(member)));
        let message = panic_of(|| while poll_once(all.as_mut()).is_pending() {});
        assert_eq!((message.as_str(), drops.count()), ("three", 10));
        drop(all);
        assert_eq!(drops.count(), 10);
        // As a fiber sees it.
        let cord = cord();
        let failed = cord.block_on(async { spawn_local(join_all([async { panic!("in a fiber") }])).await });
        assert!(failed.unwrap_err().is_panic());
    }

    /// Its drop panics.
    struct Angry {
        _probe: OnDrop,
    }
    impl Drop for Angry {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn a_panicking_drop_keeps_no_other_from_being_dropped() {
        // C29
        let drops = Drops::default();
        let member = |n: i32| {
            let probe = drops.probe();
            async move {
                let _probe: Result<OnDrop, Angry> =
                    if n % 3 == 0 { Err(Angry { _probe: probe }) } else { Ok(probe) };
                if n == 8 {
                    yield_now().await;
                    return Err("eight");
                }
                pending::<Result<(), _>>().await
            }
        };
        let mut all = Box::pin(join_all((0..10).map(member)));
        assert!(poll_once(all.as_mut()).is_pending());
        assert_eq!(panic_of(|| drop(all)), "dropped");
        assert_eq!(drops.count(), 10);
        // When one fails.
        let mut all = Box::pin(try_join_all((0..10).map(member)));
        assert_eq!(panic_of(|| while poll_once(all.as_mut()).is_pending() {}), "dropped");
        assert_eq!(drops.count(), 20);
        drop(all);
        // When one panics in its poll: that one is told.
        let futures = (0..10).map(|n| {
            let member = member(n);
            async move {
                if n == 7 {
                    yield_now().await;
                    panic!("seven");
                }
                member.await
            }
        });
        let mut all = Box::pin(join_all(futures));
        assert_eq!(panic_of(|| while poll_once(all.as_mut()).is_pending() {}), "seven");
        assert_eq!(drops.count(), 30);
        // A future that is no block of code is dropped after its panic, and may panic once more.
        let mut all = Box::pin(join_all([Furious(drops.probe())]));
        assert_eq!(panic_of(|| poll_once(all.as_mut())), "polled");
        assert_eq!(drops.count(), 31);
        // What was given before an error is dropped after the others, of which none is left then.
        let given = (0..3).map(|n| {
            let probe = drops.probe();
            async move {
                match n {
                    0 => return Ok(Angry { _probe: probe }),
                    1 => return Err("one"),
                    _ => pending::<()>().await,
                }
                drop(probe);
                Err("never")
            }
        });
        let mut all = Box::pin(try_join_all(given));
        assert_eq!(panic_of(|| poll_once(all.as_mut()).map(|outcome| outcome.map(drop))), "dropped");
        assert_eq!(drops.count(), 34);
    }

    /// Both its poll and its drop panic.
    struct Furious(#[allow(dead_code, reason = "it counts")] OnDrop);
    impl Future for Furious {
        type Output = ();

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            panic!("polled");
        }
    }
    impl Drop for Furious {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn the_losers_of_a_race_may_panic_in_their_drops() {
        // C29
        let drops = Drops::default();
        let angry = || {
            let angry = Angry { _probe: drops.probe() };
            async move {
                let _angry = angry;
                pending::<()>().await;
            }
        };
        // One panics in its poll, and both in their drops: the first panic of all is told.
        let mut both = Box::pin(race(Furious(drops.probe()), angry()));
        assert_eq!((panic_of(|| poll_once(both.as_mut()).map(drop)).as_str(), drops.count()), ("polled", 2));
        // The winner panics in its drop: the other one is dropped as well.
        let probe = drops.probe();
        let other = async move {
            let _probe = probe;
            pending::<()>().await;
        };
        let mut both = Box::pin(race(Ready(Angry { _probe: drops.probe() }), other));
        assert_eq!((panic_of(|| poll_once(both.as_mut()).map(drop)).as_str(), drops.count()), ("dropped", 4));
        // Midway.
        let mut both = Box::pin(race(angry(), angry()));
        assert!(poll_once(both.as_mut()).is_pending());
        assert_eq!((panic_of(|| drop(both)).as_str(), drops.count()), ("dropped", 6));
    }

    #[test]
    fn of_two_that_panic_in_their_drops_the_first_is_told() {
        struct Panics(&'static str);
        impl Drop for Panics {
            fn drop(&mut self) {
                std::panic::panic_any(self.0);
            }
        }
        let held = |name| {
            let panics = Panics(name);
            async move {
                let _panics = panics;
                pending::<()>().await;
            }
        };
        let first = Panics("first");
        let winner = poll_fn(move |_| {
            let _kept = &first;
            Poll::Ready(())
        });
        let mut both = Box::pin(race(winner, held("second")));
        assert_eq!(panic_of(|| poll_once(both.as_mut()).map(drop)), "first");
    }

    /// Ready at once; what it keeps goes with it.
    struct Ready(#[allow(dead_code, reason = "it is dropped")] Angry);
    impl Future for Ready {
        type Output = ();

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }
    }

    /// Members of a join, each woken by hand.
    #[derive(Default)]
    struct Wakers {
        polls: AtomicUsize,
        waiting: Mutex<BTreeMap<usize, Waker>>,
        open: Mutex<std::collections::HashSet<usize>>,
    }

    impl Wakers {
        fn member(self: &Arc<Self>, n: usize) -> impl Future<Output = usize> + use<> {
            let wakers = self.clone();
            poll_fn(move |cx| {
                wakers.polls.fetch_add(1, SeqCst);
                if wakers.open.lock().unwrap().contains(&n) {
                    return Poll::Ready(n);
                }
                wakers.waiting.lock().unwrap().insert(n, cx.waker().clone());
                Poll::Pending
            })
        }

        fn release(&self, n: usize) {
            self.open.lock().unwrap().insert(n);
            self.waiting.lock().unwrap().remove(&n).expect("it waits").wake();
        }
    }

    #[test]
    fn ten_thousand_members_are_polled_when_they_are_woken_only() {
        // One poll to begin with and one when it is woken: linear, whoever runs it.
        const N: usize = 10_000;
        async fn one_by_one(wakers: Arc<Wakers>) {
            while wakers.waiting.lock().unwrap().len() < N {
                yield_now().await;
            }
            for n in 0..N {
                // Every order will do.
                wakers.release(n * 7919 % N);
                yield_now().await;
            }
        }
        let check = |wakers: &Wakers, outputs: Vec<usize>| {
            assert!(outputs.into_iter().eq(0..N));
            assert_eq!(wakers.polls.load(SeqCst), 2 * N);
        };

        let wakers = Arc::new(Wakers::default());
        let outputs = cord().block_on(async {
            let releases = spawn_local(one_by_one(wakers.clone()));
            let outputs = join_all((0..N).map(|n| wakers.member(n))).await;
            releases.await.unwrap();
            outputs
        });
        check(&wakers, outputs);

        in_time(move || {
            let wakers = Arc::new(Wakers::default());
            let releases = leno::spawn(one_by_one(wakers.clone()));
            let all = map_concurrent(0..N, usize::MAX, |n| wakers.member(n));
            check(&wakers, futures_lite::future::block_on(all));
            releases.wait().unwrap();

            let wakers = Arc::new(Wakers::default());
            let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
            let outputs = tokio.block_on(async {
                tokio::spawn(one_by_one(wakers.clone()));
                join_all((0..N).map(|n| wakers.member(n))).await
            });
            check(&wakers, outputs);
        });
    }

    /// A fiber that counts its turns, which others let it have.
    fn counts_turns() -> (JoinHandle<()>, Rc<Cell<u32>>) {
        let turns = Rc::new(Cell::new(0));
        let counts = turns.clone();
        let fiber = spawn_local(async move {
            loop {
                counts.set(counts.get() + 1);
                yield_now().await;
            }
        });
        (fiber, turns)
    }

    #[test]
    fn members_that_are_ready_at_once_let_others_run() {
        // F10: by the budget.
        cord().block_on(async {
            let (other, turns) = counts_turns();
            let all = join_all((0..10_000).map(ready)).await;
            assert_eq!(all.len(), 10_000);
            let after_one = turns.replace(0);
            assert!((10..1000).contains(&after_one), "{after_one}");
            let all = map_concurrent(0..10_000, 1, ready).await;
            assert_eq!(all.len(), 10_000);
            assert!((10..1000).contains(&turns.get()), "{}", turns.get());
            other.cancel();
            // Members that use up the budget themselves.
            let (tx, rx) = leno::unbounded();
            (0..10_000).for_each(|n| tx.try_send(n).unwrap());
            let all = join_all((0..10_000).map(|_| rx.recv())).await;
            assert!(all.into_iter().map(Result::unwrap).eq(0..10_000));
        });
    }

    #[test]
    fn a_loser_that_panics_in_its_drop_takes_no_output_with_it() {
        // C1, C29
        for (loses, both_panic) in [("first", false), ("second", false), ("first", true), ("second", true)] {
            let drops = Drops::default();
            let probe = Cell::new(Some(drops.probe()));
            let winner = async {
                yield_now().await;
                (probe.take(), both_panic.then(|| crate::support::Defer(|| panic!("in the output's drop"))))
            };
            let bomb = crate::support::Defer(|| panic!("in the loser's drop"));
            let loser = async move {
                let _bomb = bomb;
                pending::<()>().await;
            };
            let raced = catch_unwind(AssertUnwindSafe(|| {
                cord().block_on(async {
                    if loses == "first" {
                        drop(race(loser, winner).await);
                    } else {
                        drop(race(winner, loser).await);
                    }
                });
            }));
            assert!(raced.is_err());
            assert_eq!(drops.count(), 1, "{loses}");
        }
    }

    /// C29: an output and what it comes from.
    #[test]
    fn whose_drops_both_panic() {
        let both = || {
            let bomb = crate::support::Defer(|| panic!("in the future's drop"));
            poll_fn(move |_| {
                let _inside = &bomb;
                Poll::Ready(crate::support::Defer(|| panic!("in the output's drop")))
            })
        };
        let message = panic_of(|| cord().block_on(join_all([both()])).len());
        assert_eq!(message, "in the future's drop");
        let message = panic_of(|| {
            cord().block_on(async { drop(fiber::CancelToken::new().run_until_cancelled(both()).await) });
        });
        assert_eq!(message, "in the future's drop");
        let message = panic_of(|| {
            let fails = Cell::new(true);
            let both = [(); 2].map(|()| async {
                if fails.replace(false) {
                    yield_now().await;
                    return Err::<(), _>(crate::support::Defer(|| panic!("in the error's drop")));
                }
                let _bomb = crate::support::Defer(|| panic!("in the other's drop"));
                pending().await
            });
            cord().block_on(try_join_all(both)).is_err()
        });
        assert_eq!(message, "in the other's drop");
        // Several outputs, that an error or a drop leaves.
        let outputs = |last: bool| {
            (0..4).map(move |n| async move {
                if n == 3 && last {
                    yield_now().await;
                    return Err(());
                } else if n == 3 {
                    pending::<()>().await;
                }
                Ok(crate::support::Defer(|| panic!("in an output's drop")))
            })
        };
        let message = panic_of(|| cord().block_on(try_join_all(outputs(true))).is_err());
        assert_eq!(message, "in an output's drop");
        let message = panic_of(|| {
            let mut all = Box::pin(try_join_all(outputs(false)));
            assert!(all.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        });
        assert_eq!(message, "in an output's drop");
    }

    /// C29: what a scope leaves, that gives something else.
    #[test]
    fn whose_drops_all_panic_in_a_scope() {
        let bomb = |message: &'static str| crate::support::Defer(move || panic!("{message}"));
        let message = panic_of(|| {
            let ended = cord().block_on(fiber::scope(async |s: &fiber::Scope| {
                let payload = bomb("in the payload's drop");
                drop(s.spawn_local(async { std::panic::panic_any(payload) }));
                bomb("in the value's drop")
            }));
            drop(ended);
        });
        assert_eq!(message, "in the value's drop");
        for panics in [false, true] {
            let message = panic_of(|| {
                let ended = cord().block_on(fiber::try_scope(async |s: &fiber::TryScope<_>| {
                    drop(s.spawn_local(async move {
                        yield_now().await;
                        Err::<(), _>(bomb("in the error's drop"))
                    }));
                    if panics {
                        drop(s.spawn_local::<_, ()>(fiber::shield(async {
                            yield_now().await;
                            yield_now().await;
                            panic!("planted")
                        })));
                    }
                    Ok(bomb("in the value's drop"))
                }));
                drop(ended);
            });
            assert_eq!(message, if panics { "in the error's drop" } else { "in the value's drop" });
        }
    }

    /// C29
    #[test]
    fn an_output_that_panics_in_its_drop_during_a_panic_ends_nothing() {
        let joined = Cell::new(false);
        let joins = crate::support::Defer(|| {
            let all = [false, true].map(|fails| async move {
                (!fails).then(|| crate::support::Defer(|| panic!("in the output's drop"))).ok_or(())
            });
            joined.set(cord().block_on(try_join_all(all)).is_err());
        });
        let message = panic_of(move || {
            let _joins = joins;
            panic!("outer");
        });
        assert_eq!((message.as_str(), joined.get()), ("outer", true));
    }

    #[test]
    fn the_first_of_a_race_wins_although_the_budget_is_spent() {
        cord().block_on(async {
            let (tx, rx) = leno::unbounded();
            (0..2000).for_each(|n| tx.try_send(n).unwrap());
            let (other, turns) = counts_turns();
            for n in 0..1000 {
                assert_eq!(race(rx.recv(), ready(())).await, Either::Left(Ok(n)));
            }
            // F10: and lets others run.
            assert!((2..100).contains(&turns.get()), "{}", turns.get());
            other.cancel();
            // Where the first has used up the budget and waits, the second one's turn comes nevertheless.
            let greedy = poll_fn(|cx| {
                while let Poll::Ready(n) = pin!(rx.recv()).poll(cx) {
                    tx.try_send(n.unwrap()).unwrap();
                }
                Poll::Pending
            });
            assert_eq!(race(greedy, ready(())).await, Either::<(), ()>::Right(()));
        });
    }

    #[test]
    fn one_member_may_park() {
        cord().block_on(async {
            let me = fiber::current();
            let other = spawn_local(async move {
                for _ in 0..3 {
                    leno::sleep(SECOND).await;
                    me.unpark();
                }
            });
            let parks = async {
                for _ in 0..3 {
                    fiber::park().await;
                }
                3
            };
            let all: [Pin<Box<dyn Future<Output = i32>>>; 2] = [
                Box::pin(async {
                    leno::sleep(10 * SECOND).await;
                    1
                }),
                Box::pin(parks),
            ];
            assert_eq!(join_all(all).await, [1, 3]);
            other.await.unwrap();
        });
    }

    #[test]
    fn another_waker_and_another_executor() {
        // C12, F12: begun on one cord, ended on another.
        let (tx, rx) = bounded::<i32>(1);
        let mut all = Box::pin(join_all([rx.recv(), rx.recv()]));
        let (a, b) = (CountingWaker::new(), CountingWaker::new());
        for count in [&a, &b] {
            // (A set that has polled all its members wakes itself once.)
            for _ in 0..2 {
                let waker = Waker::from(count.clone());
                assert!(all.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            }
        }
        let before = (a.count(), b.count());
        tx.try_send(1).unwrap();
        assert_eq!((a.count(), b.count()), (before.0, before.1 + 1));
        cord().block_on(async {
            let sender = spawn_local(async move { tx.send(2).await });
            assert_eq!(all.await, [Ok(1), Ok(2)]);
            sender.await.unwrap().unwrap();
        });
    }
}

mod mapping {
    use super::*;

    /// Futures that run until they are told to end.
    struct Gates {
        gates: Vec<(Sender<()>, Receiver<()>)>,
        running: RefCell<Vec<usize>>,
        most: Cell<usize>,
    }

    impl Gates {
        fn new(n: usize) -> Rc<Self> {
            let gates = (0..n).map(|_| bounded(1)).collect();
            Rc::new(Gates { gates, running: RefCell::default(), most: Cell::new(0) })
        }

        fn pass(self: &Rc<Self>, n: usize) -> impl Future<Output = usize> + use<> {
            let gates = self.clone();
            async move {
                gates.running.borrow_mut().push(n);
                gates.most.set(gates.most.get().max(gates.running.borrow().len()));
                gates.gates[n].1.recv().await.unwrap();
                gates.running.borrow_mut().retain(|other| *other != n);
                n
            }
        }

        fn open(&self, n: usize) {
            self.gates[n].0.try_send(()).unwrap();
        }

        /// Those that run, once all have done what they can.
        async fn running(&self) -> Vec<usize> {
            for _ in 0..20 {
                yield_now().await;
            }
            self.running.borrow().clone()
        }
    }

    #[test]
    fn at_most_n_run_and_n_do_while_work_remains() {
        // F13
        for n in [1, 2, 3, 9, 10, 11, usize::MAX] {
            cord().block_on(async move {
                let gates = Gates::new(10);
                let inner = gates.clone();
                let pulled = Rc::new(Cell::new(0));
                let pulls = pulled.clone();
                let items = (0..10).inspect(move |_| pulls.set(pulls.get() + 1));
                let all = spawn_local(map_concurrent(items, n, move |item| inner.pass(item)));
                let (mut left, mut begun): (Vec<usize>, _) = ((0..10).collect(), 0);
                while !left.is_empty() {
                    let running = gates.running().await;
                    // The window: the first n of those that are left.
                    let window = &left[..n.min(left.len())];
                    assert_eq!(running, window, "n = {n}");
                    begun = begun.max(window.last().unwrap() + 1);
                    assert_eq!(pulled.get(), begun, "n = {n}: pulled before its turn");
                    // The last of them ends first: no batches, and nothing is held up by the first.
                    let ends = *window.last().unwrap();
                    gates.open(ends);
                    left.retain(|item| *item != ends);
                }
                assert!(all.await.unwrap().into_iter().eq(0..10));
                assert_eq!(gates.most.get(), n.min(10));
            });
        }
    }

    #[test]
    fn unordered_gives_each_output_as_it_comes() {
        // F13
        cord().block_on(async {
            let gates = Gates::new(6);
            let inner = gates.clone();
            let outputs = Rc::new(RefCell::new(Vec::new()));
            let seen = outputs.clone();
            let reader = spawn_local(async move {
                let mut stream = map_unordered(0..6, 3, |item| inner.pass(item));
                assert_eq!(stream.size_hint(), (6, Some(6)));
                while let Some(output) = stream.next().await {
                    seen.borrow_mut().push(output);
                    assert_eq!(stream.size_hint(), (6 - seen.borrow().len(), Some(6 - seen.borrow().len())));
                }
                assert!(stream.is_terminated());
                assert_eq!(stream.next().await, None);
            });
            for (open, running) in [
                (2, vec![0, 1, 2]),
                (0, vec![0, 1, 3]),
                (4, vec![1, 3, 4]),
                (3, vec![1, 3, 5]),
                (5, vec![1, 5]),
                (1, vec![1]),
            ] {
                assert_eq!(gates.running().await, running);
                gates.open(open);
            }
            reader.await.unwrap();
            assert_eq!(*outputs.borrow(), [2, 0, 4, 3, 5, 1]);
            assert_eq!(gates.most.get(), 3);
        });
    }

    #[test]
    fn a_stream_is_not_over_while_members_run() {
        cord().block_on(async {
            let mut stream = map_unordered([1, 2], 3, |n| async move {
                leno::sleep(n * SECOND).await;
                n
            });
            assert_eq!(stream.next().await, Some(1));
            assert!(!stream.is_terminated());
            assert_eq!(stream.next().await, Some(2));
            assert_eq!(stream.next().await, None);
            assert!(stream.is_terminated());
        });
    }

    /// An iterator goes when no more is taken from it: with an error, before that is given; and with a panic, which goes on
    /// though the iterator panics in its drop.
    #[test]
    fn the_iterator_goes_with_an_error_or_a_panic() {
        struct Items(OnDrop, bool);
        impl Iterator for Items {
            type Item = u8;
            fn next(&mut self) -> Option<u8> {
                assert!(!self.1, "planted");
                Some(1)
            }
        }
        impl Drop for Items {
            fn drop(&mut self) {
                let _ = &self.0;
                assert!(!self.1, "in the drop");
            }
        }
        let drops = Drops::default();
        let mut failing = try_map_concurrent(Items(drops.probe(), false), 1, |_| ready(Err::<u8, _>("no")));
        assert_eq!(poll_once(Pin::new(&mut failing)), Poll::Ready(Err("no")));
        assert_eq!(drops.count(), 1);
        drop(failing);
        let mut panicking = map_unordered(Items(drops.probe(), true), 1, ready);
        assert_eq!(panic_of(|| poll_once(pin!(panicking.next())).is_ready()), "planted");
        assert_eq!(drops.count(), 2);
        assert_eq!(poll_once(pin!(panicking.next())), Poll::Ready(None));
    }

    #[test]
    fn items_are_taken_when_the_stream_is_polled() {
        cord().block_on(async {
            let pulled = Cell::new(0);
            let items = (0..10).inspect(|_| pulled.set(pulled.get() + 1));
            let mut stream = map_unordered(items, 3, ready);
            assert_eq!(pulled.get(), 0);
            for taken in 0..8 {
                assert_eq!(stream.next().await, Some(taken));
                assert_eq!(pulled.get(), taken + 3);
                leno::sleep(SECOND).await;
                assert_eq!(pulled.get(), taken + 3);
            }
            assert_eq!(stream.size_hint(), (2, Some(2)));
        });
    }

    #[test]
    fn nothing_to_do_returns_at_once() {
        // F13
        let never = |_: i32| -> std::future::Ready<Result<i32, ()>> { panic!("there is nothing") };
        assert_eq!(poll_once(pin!(map_concurrent([], 1, never))), Poll::Ready(vec![]));
        assert_eq!(poll_once(pin!(try_map_concurrent([], 1, never))), Poll::Ready(Ok(vec![])));
        let mut stream = map_unordered([], 1, never);
        assert!(!stream.is_terminated());
        assert_eq!(poll_once(pin!(stream.next())), Poll::Ready(None));
        assert!(stream.is_terminated());
    }

    #[test]
    fn none_at_a_time_is_refused() {
        // F13
        let item = |n: i32| ready(Ok::<_, ()>(n));
        for (what, message) in [
            ("map_concurrent", panic_of(|| map_concurrent([1], 0, item))),
            ("try_map_concurrent", panic_of(|| try_map_concurrent([1], 0, item))),
            ("map_unordered", panic_of(|| map_unordered([1], 0, item))),
        ] {
            assert!(message.starts_with(&format!("`{what}` with n = 0")), "{message}");
            assert!(message.contains("use 1 or more"), "{message}");
        }
    }

    #[test]
    fn an_ended_iterator_is_not_asked_again() {
        struct Once(bool);
        impl Iterator for Once {
            type Item = i32;
            fn next(&mut self) -> Option<i32> {
                assert!(!self.0, "asked again");
                self.0 = true;
                None
            }
        }
        cord().block_on(async {
            let items = [1, 2, 3].into_iter().chain(Once(false));
            let all = map_concurrent(items, 2, |n| async move {
                leno::sleep(SECOND).await;
                n
            });
            assert_eq!(all.await, [1, 2, 3]);
        });
    }

    #[test]
    fn futures_may_borrow_and_stay_on_their_thread() {
        everywhere(|| async {
            let log = Rc::new(RefCell::new(Vec::new()));
            let words = vec![String::from("a"), String::from("bc")];
            let lengths = map_concurrent(&words, 2, async |word: &String| {
                yield_now().await;
                log.borrow_mut().push(word.as_str());
                word.len()
            });
            assert_eq!(lengths.await, [1, 2]);
            assert_eq!(log.borrow().len(), 2);
        });
    }

    #[test]
    fn fibers_for_the_items() {
        // F13, on several workers: never more than n.
        in_time(|| {
            let runtime = Runtime::builder().workers(3).build().unwrap();
            let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (count, max) = (running.clone(), most.clone());
            let work = move |n: u64| {
                let (count, max) = (count.clone(), max.clone());
                leno::spawn(async move {
                    max.fetch_max(count.fetch_add(1, SeqCst) + 1, SeqCst);
                    for _ in 0..n % 5 {
                        yield_now().await;
                    }
                    count.fetch_sub(1, SeqCst);
                    n
                })
                .cancel_on_drop()
            };
            let outputs = runtime.block_on(try_map_concurrent(0..2000, 7, work)).unwrap();
            assert!(outputs.into_iter().eq(0..2000));
            assert!((1..=7).contains(&most.load(SeqCst)));
            assert_eq!(running.load(SeqCst), 0);
        });
    }

    #[test]
    fn an_error_ends_it_all() {
        cord().block_on(async {
            let drops = Drops::default();
            let mut items = 0..100;
            let failed = try_map_concurrent(&mut items, 3, |n| {
                let (probe, stays) = (drops.probe(), drops.probe());
                async move {
                    let _stays = stays;
                    match n {
                        0 => Ok(probe),
                        2 => {
                            leno::sleep(SECOND).await;
                            Err("two")
                        }
                        _ => pending().await,
                    }
                }
            });
            let mut failed = pin!(failed);
            assert_eq!(failed.as_mut().await.map(drop), Err("two"));
            // 0 to 3 were begun, and are gone.
            assert_eq!(drops.count(), 8);
            assert!(panic_of(|| poll_once(failed.as_mut()).map(drop)).contains("polled after it was ready"));
        });
        let mut items = 0..100;
        let failed = try_map_concurrent(&mut items, 1, |n| ready(if n == 4 { Err(n) } else { Ok(()) }));
        assert_eq!(failed.wait(), Err(4));
        assert_eq!(items.next(), Some(5));
    }

    #[test]
    fn dropped_midway_everything_is_dropped_once() {
        let drops = Drops::default();
        let pulled = Cell::new(0);
        let item = |n: i32| {
            pulled.set(pulled.get() + 1);
            let probe = drops.probe();
            async move {
                if n > 2 {
                    pending::<()>().await;
                }
                probe
            }
        };
        let mut all = Box::pin(map_concurrent(0..100, 4, item));
        while pulled.get() < 7 {
            assert!(poll_once(all.as_mut()).is_pending());
        }
        assert_eq!(drops.count(), 0);
        drop(all);
        assert_eq!((pulled.get(), drops.count()), (7, 7));
        let mut stream = map_unordered(0..100, 4, item);
        drop(poll_once(pin!(stream.next())));
        assert_eq!(drops.count(), 8);
        drop(stream);
        assert_eq!((pulled.get(), drops.count()), (11, 11));
    }

    #[test]
    fn panics_of_the_closure_the_iterator_and_the_futures() {
        for (who, at) in [("closure", 2), ("iterator", 2), ("future", 1)] {
            let drops = Drops::default();
            let items = (0..10).inspect(|n| assert!(who != "iterator" || *n != at, "iterator"));
            let mut all = Box::pin(map_concurrent(items, 5, |n| {
                assert!(who != "closure" || n != at, "closure");
                let probe = drops.probe();
                async move {
                    let _probe = probe;
                    yield_now().await;
                    assert!(who != "future" || n != at, "future");
                    pending::<()>().await;
                }
            }));
            assert_eq!(panic_of(|| while poll_once(all.as_mut()).is_pending() {}), who);
            assert_eq!(drops.count(), if who == "future" { 5 } else { 2 });
        }
    }

    #[test]
    fn on_every_executor() {
        everywhere(|| async {
            let doubled = map_concurrent(0..200, 10, |n| leno::spawn(async move { 2 * n }));
            assert!(doubled.await.into_iter().map(Result::unwrap).eq((0..200).map(|n| 2 * n)));
            let (tx, rx) = leno::rendezvous();
            let sender = leno::spawn(async move {
                for n in 0..200 {
                    tx.send(n).await.unwrap();
                }
            });
            let mut sum = 0;
            let mut stream = map_unordered(0..200, 10, |_| rx.recv());
            while let Some(received) = stream.next().await {
                sum += received.unwrap();
            }
            assert_eq!(sum, 199 * 200 / 2);
            sender.await.unwrap();
        });
        assert_eq!(map_concurrent(0..3, 2, ready).wait(), [0, 1, 2]);
    }

    #[test]
    fn sent_where_what_it_holds_can_be_sent() {
        fn is_send<T: Send>(value: T) -> T {
            value
        }
        fn is_unpin<T: Unpin>(value: T) -> T {
            value
        }
        let item = |n: i32| async move { n };
        drop(is_unpin(is_send(map_concurrent(0..3, 2, item))));
        drop(is_unpin(is_send(map_unordered(0..3, 2, item))));
        drop(is_unpin(is_send(join_all((0..3).map(item)))));
        drop(is_unpin(is_send(try_join_all((0..3).map(|n| ready(Ok::<_, ()>(n)))))));
        drop(is_send(race(async {}, async {})));
    }
}

mod telling {
    use super::*;

    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    /// What was told of `label`, with the times and ids left out.
    fn told(label: &str) -> Vec<String> {
        let lines = LINES.lock().unwrap();
        let prefix = format!("{label}: ");
        lines.iter().filter_map(|line| line.strip_prefix(&prefix)).map(String::from).collect()
    }

    fn listen() {
        fiber::set_debug_hook(|line| {
            LINES.lock().unwrap().push(line.to_string());
            assert!(!line.starts_with("angry hook"), "the hook panics");
        });
    }

    #[test]
    fn what_becomes_of_a_future() {
        listen();
        cord().block_on(async {
            let fiber = fiber::Builder::new().name("miller").spawn_local(async {
                let id = fiber::current().id();
                let five = async {
                    leno::sleep(SECOND).await;
                    Ok::<_, ()>(5)
                };
                assert_eq!(five.debug("value").await, Ok(5));
                assert!(leno::timeout(2 * SECOND, pending::<()>().debug("cancelled")).await.is_err());
                drop(async {}.debug("unpolled"));
                id
            });
            let id = fiber.await.unwrap();
            let place = format!("(fiber {id} `miller`)");
            assert_eq!(told("value"), [format!("begins {place}"), format!("gave Ok(5) after 1s {place}")]);
            assert_eq!(told("cancelled"), [format!("begins {place}"), format!("cancelled after 2s {place}")]);
            assert_eq!(told("unpolled"), [format!("cancelled before it began {place}")]);
            let main = format!("(fiber {})", fiber::current().id());
            async {}.debug("main").await;
            assert_eq!(told("main"), [format!("begins {main}"), format!("gave () after 0ns {main}")]);
            drop(async {}.debug("two\nlines"));
            assert_eq!(told("two lines"), [format!("cancelled before it began {main}")]);
        });
    }

    #[test]
    fn panics_go_on_and_are_told() {
        // F5
        listen();
        cord().block_on(async {
            let fiber = spawn_local(
                async {
                    leno::sleep(SECOND).await;
                    panic!("no luck");
                }
                .debug("panicking"),
            );
            let id = fiber.id();
            let payload = fiber.await.unwrap_err().into_panic();
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"no luck"));
            let expected =
                [format!("begins (fiber {id})"), format!("panicked after 1s: no luck (fiber {id})")];
            assert_eq!(told("panicking"), expected);
        });
    }

    #[test]
    fn outside_a_fiber_and_with_an_angry_hook() {
        listen();
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        let lines = futures_lite::future::block_on(async {
            assert_eq!(rx.recv().debug("elsewhere").await, Ok(1));
            assert_eq!(async { 2 }.debug("angry hook").await, 2);
            told("elsewhere")
        });
        assert_eq!(lines[0], "begins (no fiber)");
        assert!(
            lines[1].starts_with("gave Ok(1) after ") && lines[1].ends_with(" (no fiber)"),
            "{}",
            lines[1]
        );
        assert_eq!(told("angry hook").len(), 2);
        // A value whose `Debug` panics.
        struct Angry;
        impl std::fmt::Debug for Angry {
            fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                panic!("not to be shown")
            }
        }
        futures_lite::future::block_on(async { Angry }.debug("angry value"));
        assert_eq!(told("angry value"), ["begins (no fiber)"]);
    }

    #[test]
    fn a_cancelled_fiber_is_told_of_after_its_future_was_dropped() {
        // F3
        listen();
        cord().block_on(async {
            let stash = Stash::default();
            let drops = Drops::default();
            let (waits, probe) = (stash.pending(), drops.probe());
            let fiber = spawn_local(
                async {
                    let _probe = probe;
                    waits.await;
                }
                .debug("in a fiber"),
            );
            let id = fiber.id();
            yield_now().await;
            assert_eq!(stash.polls(), 1);
            fiber.cancel();
            fiber.await.unwrap_err();
            assert_eq!(drops.count(), 1);
            assert_eq!(told("in a fiber")[1], format!("cancelled after 0ns (fiber {id})"));
        });
    }

    #[test]
    fn how_long_it_took() {
        // By the executor's clock, from the first poll.
        cord().block_on(async {
            let timed = async {
                leno::sleep(SECOND).await;
                leno::sleep(2 * SECOND).await;
                7
            }
            .timed();
            leno::sleep(100 * SECOND).await;
            assert_eq!(timed.await, (7, 3 * SECOND));
            assert_eq!(ready(1).timed().await, (1, Duration::ZERO));
            // Both, and on a boxed future.
            let boxed: Pin<Box<dyn Future<Output = ()>>> = Box::pin(leno::sleep(SECOND));
            assert_eq!(boxed.timed().debug("timed").await, ((), SECOND));
        });
        let sleeps = async { leno::sleep(Duration::from_millis(2)).await };
        let (_, took) = futures_lite::future::block_on(sleeps.timed());
        assert!(took >= Duration::from_millis(2));
    }
}
