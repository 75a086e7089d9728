//! S7: any future may be a branch, in whatever form; leno's own operations are claimed wherever the type says that they
//! are (M8).

use std::future::{Future, IntoFuture, pending, ready};
use std::marker::PhantomPinned;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use leno::select::{Selected2, Selected3};
use leno::sync::Mutex;
use leno::{Receiver, Sender, bounded, rendezvous, select, select_biased};

use crate::support::PollExt;

/// S1, S9: an operation that was pinned, though it need not be, is claimed, and its owner's again when it loses.
#[test]
fn a_pinned_operation_is_claimed() {
    let ((a, a_rx), (b, b_rx)) = (rendezvous(), rendezvous());
    let (mut first, mut second) = (pin!(a_rx.recv()), pin!(b_rx.recv()));
    {
        let mut selecting = pin!(async {
            select! { x = &mut first => x, x = &mut second => x }
        });
        selecting.as_mut().must_wait("nobody sends");
        assert!(a.try_send(1).is_ok());
        assert!(b.try_send(2).is_err(), "S1: one of them happens");
        assert_eq!(selecting.as_mut().must_be_ready("it was handed over"), Ok(1));
    }
    second.as_mut().must_wait("it is as new");
    let selecting = leno::select::select_biased((first.as_mut(), second.as_mut()));
    assert!(catch_unwind(AssertUnwindSafe(|| selecting.wait())).is_err(), "the first one is over");
    assert!(b.try_send(3).is_ok());
    assert_eq!(second.must_be_ready("it waited"), Ok(3));
}

/// S1: so is one in a box, by value or lent: a send that loses has sent nothing, and one that is the select's is dropped with it.
#[test]
fn a_boxed_operation_is_claimed() {
    let ((tx, rx), (other_tx, other)) = (rendezvous(), rendezvous());
    let mut sending = Box::pin(tx.send(1));
    {
        let mut selecting = pin!(async {
            select! { x = &mut sending => x.map(|()| 0).unwrap(), x = Box::new(other.recv()) => x.unwrap() }
        });
        selecting.as_mut().must_wait("nobody is there");
        assert_eq!(rx.try_recv(), Ok(1));
        assert!(other_tx.try_send(2).is_err(), "S1: one of them happens");
        assert_eq!(selecting.as_mut().must_be_ready("it is sent"), 0);
    }
    let mut sending = Box::pin(tx.send(3));
    let mut selecting = leno::select::select_biased((&mut sending, Box::pin(other.recv())));
    selecting.must_wait("nobody is there");
    assert!(other_tx.try_send(4).is_ok());
    assert!(rx.try_recv().is_err(), "S1: it has lost");
    assert!(matches!(selecting.must_be_ready("it was handed over"), Selected2::Second(Ok(4))));
    drop(selecting);
    sending.as_mut().must_wait("it is as new");
    assert_eq!(rx.try_recv(), Ok(3));
    // What the select owns ends as it loses; what a box only borrows does not.
    let (bounded_tx, bounded_rx) = bounded(1);
    let (value, lent) = (Arc::new(()), Arc::new(()));
    let (shared_tx, _shared_rx) = rendezvous();
    let mut lent_send = shared_tx.send(Arc::clone(&lent));
    bounded_tx.try_send(5).unwrap();
    let selecting = leno::select::select_biased((
        bounded_rx.recv(),
        Box::new(shared_tx.send(Arc::clone(&value))),
        Box::new(&mut lent_send),
    ));
    assert!(matches!(selecting.wait(), Selected3::First(Ok(5))));
    assert_eq!((Arc::strong_count(&value), Arc::strong_count(&lent)), (1, 2));
    lent_send.must_wait("it was only lent");
}

/// Futures by value, by `&mut`, pinned, boxed, not Unpin, of leno and of others.
#[test]
fn futures_of_all_sorts() {
    leno::block_on(async {
        let pinned_inside = || async {
            let _pinned = PhantomPinned;
            leno::yield_now().await;
            5
        };
        assert_eq!(select! { x = pinned_inside() => x }, 5);
        let mut boxed: Pin<Box<dyn Future<Output = i32>>> = Box::pin(pinned_inside());
        let mut pinned = pin!(pinned_inside());
        let (mut one, mut other) = (0, 0);
        while one == 0 || other == 0 {
            select! {
                x = &mut boxed, if one == 0 => one = x,
                x = &mut pinned, if other == 0 => other = x,
            }
        }
        assert_eq!((one, other), (5, 5));
        let boxed: Pin<Box<dyn Future<Output = i32> + Send>> = Box::pin(ready(6));
        assert_eq!(select! { x = boxed => x, () = pending() => 0 }, 6);
        let unpinned: Box<dyn Future<Output = i32> + Unpin> = Box::new(ready(7));
        assert_eq!(select! { x = unpinned => x, () = pending() => 0 }, 7);
        // A future is kept beside many selects, and is not started again.
        let mut counted = pin!(async {
            for _ in 0..3 {
                leno::yield_now().await;
            }
            "done"
        });
        let mut turns = 0;
        let text = loop {
            select_biased! {
                text = &mut counted => break text,
                () = leno::yield_now() => turns += 1,
            }
        };
        assert!(text == "done" && turns > 0);
    });
}

/// What turns into a future.
struct Later(i32);

impl IntoFuture for Later {
    type Output = i32;
    type IntoFuture = std::future::Ready<i32>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.0)
    }
}

#[test]
fn what_turns_into_a_future() {
    leno::block_on(async {
        assert_eq!(select! { x = Later(5) => x, () = pending() => 0 }, 5);
        assert_eq!(select_biased! { x = Later(6), if false => x, x = Later(7) => x }, 7);
    });
}

/// Fibers, timers, time limits, yields; losing, and winning.
#[test]
fn fibers_and_timers() {
    leno::block_on(async {
        let mut fiber = leno::spawn(async { 3 });
        let done = loop {
            select! {
                joined = &mut fiber => break joined,
                () = leno::sleep(Duration::from_secs(3600)) => panic!("an hour has passed"),
                () = leno::yield_now() => {}
            }
        };
        assert_eq!(done.expect("no panic"), 3);
        let fiber = leno::spawn(pending::<u8>());
        select! {
            _ = fiber => panic!("pending"),
            () = leno::sleep(Duration::from_millis(1)) => {}
        }
        select! {
            limited = leno::timeout(Duration::from_millis(1), pending::<u8>()) => assert!(limited.is_err()),
            () = leno::sleep(Duration::from_secs(3600)) => panic!("an hour has passed"),
        }
    });
}

/// On tokio, with its futures.
#[test]
fn futures_of_tokio() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("tokio starts");
    tokio.block_on(async {
        let (tx, rx) = rendezvous();
        let sender = tokio::spawn(async move { tx.send(5).await });
        let received = select! {
            received = rx.recv() => received,
            () = tokio::time::sleep(Duration::from_secs(3600)) => panic!("an hour has passed"),
        };
        assert_eq!(received, Ok(5));
        select! {
            joined = sender => joined.expect("no panic").expect("open"),
            () = tokio::time::sleep(Duration::from_secs(3600)) => panic!("an hour has passed"),
        }
        select! {
            closed = rx.recv() => assert!(closed.is_err()),
            () = tokio::time::sleep(Duration::ZERO) => {}
        }
    });
}

/// A peer of each of two branches comes before the select runs: they are claimed, so the second one finds nobody.
#[track_caller]
fn assert_claimed<F: Future<Output = i32>>(selecting: F, one: &Sender<i32>, other: &Sender<i32>, what: &str) {
    let mut selecting = pin!(selecting);
    selecting.must_wait("nothing is ready");
    one.try_send(1).expect("the select waits");
    assert!(other.try_send(2).is_err(), "S1: claimed: {what}");
    assert_eq!(selecting.must_be_ready("served"), 1, "{what}");
}

async fn generic<T>(a: &Receiver<T>, b: &Receiver<T>, of: impl Fn(T) -> i32) -> i32 {
    select! {
        Ok(x) = a.recv() => of(x),
        Ok(x) = b.recv() => of(x),
        else => 0,
    }
}

/// S1, M8: leno's operations are claimed by value, as `&mut`, as `&mut` of `&mut`, through functions that name their
/// types, in generic functions; in a guard's and in other futures' company.
#[test]
fn operations_are_claimed() {
    fn named(rx: &Receiver<i32>) -> leno::channel::RecvFuture<'_, i32> {
        rx.recv()
    }
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    for (one, other) in [(&a, &b), (&b, &a)] {
        let by_value = async {
            select! { x = a_rx.recv() => x.unwrap(), x = b_rx.recv() => x.unwrap() }
        };
        assert_claimed(by_value, one, other, "by value");
        let lent = async {
            let (mut first, mut second) = (a_rx.recv(), b_rx.recv());
            select! { x = &mut first => x.unwrap(), x = &mut second => x.unwrap() }
        };
        assert_claimed(lent, one, other, "by `&mut`");
        let lent_twice = async {
            let (mut first, mut second) = (a_rx.recv(), b_rx.recv());
            let (first, second) = (&mut first, &mut second);
            select! { x = &mut *first => x.unwrap(), x = { second } => x.unwrap() }
        };
        assert_claimed(lent_twice, one, other, "by `&mut` again");
        let through_functions = async {
            select! {
                x = named(&a_rx) => x.unwrap(),
                () = pending() => 0,
                x = { let x = 1; std::hint::black_box(x); named(&b_rx) }, if true => x.unwrap(),
            }
        };
        assert_claimed(through_functions, one, other, "through functions");
        assert_claimed(generic(&a_rx, &b_rx, |x| x), one, other, "in a generic function");
        let biased = async {
            select_biased! { x = a_rx.recv() => x.unwrap(), x = b_rx.recv() => x.unwrap() }
        };
        assert_claimed(biased, one, other, "biased");
    }
    a.assert_valid();
    b.assert_valid();
}

/// M8, S1: locks and `closed()` are claimed, too: a lock that is freed goes to one of them alone.
#[test]
fn locks_and_closes_are_claimed() {
    let mutex = Mutex::fair(1);
    let other = Mutex::fair(2);
    let (guard, other_guard) = (mutex.try_lock(), other.try_lock());
    let (tx, _rx) = bounded::<u8>(1);
    let mut selecting = pin!(async {
        select! {
            guard = mutex.lock() => *guard,
            guard = other.lock() => *guard,
            () = tx.closed() => 3,
        }
    });
    selecting.must_wait("nothing is ready");
    drop(guard);
    drop(other_guard);
    assert!(other.try_lock().is_some(), "S1: the select has been granted the first");
    tx.close();
    assert_eq!(selecting.must_be_ready("granted"), 1);
    assert!(mutex.try_lock().is_some(), "the guard went with the handler");
}

async fn race<F: Future<Output = i32>, G: IntoFuture<Output = i32>>(f: F, g: G) -> i32 {
    select! { x = f => x, y = g => y + 1 }
}

/// Futures of types that are parameters; they are polled, also if they are leno's own.
#[test]
fn futures_of_generic_types() {
    leno::block_on(async {
        assert_eq!(race(ready(1), pending()).await, 1);
        assert_eq!(race(pending(), Later(1)).await, 2);
        assert_eq!(
            race(
                async {
                    leno::yield_now().await;
                    5
                },
                Box::pin(pending())
            )
            .await,
            5
        );
        let (tx, rx) = bounded(1);
        tx.send(4).await.unwrap();
        let either =
            async |f: &mut (dyn Future<Output = i32> + Unpin)| select! { x = f => x, () = pending() => 0 };
        assert_eq!(either(&mut Box::pin(async { rx.recv().await.unwrap() })).await, 4);
    });
}

/// The future of a select crosses threads if its branches and what its handlers keep do.
#[test]
fn a_select_crosses_threads() {
    fn crosses<T: Send>(value: T) -> T {
        value
    }
    let (tx, rx) = rendezvous::<std::cell::Cell<i32>>();
    let mutex = Mutex::new(());
    let selecting = crosses(async {
        select! {
            x = rx.recv() => { leno::yield_now().await; x.map(|x| x.get()).unwrap_or(0) }
            _ = tx.send(std::cell::Cell::new(1)) => 2,
            _ = mutex.lock() => 3,
            default(Duration::from_secs(3600)) => 4,
        }
    });
    assert_eq!(leno::block_on(selecting), 3);
}
