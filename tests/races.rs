//! Two or three threads with a few operations each, on every kind of thing that they can have in common: for an interpreter,
//! which sees each access and lends each schedule (`.ci/long` runs them in Miri, under many seeds). It finds what no model
//! here can: a borrow that outlives what it borrows, or that somebody writes behind. What larger programs do is tested elsewhere.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use leno::channel::broadcast::{self, Lag};
use leno::channel::{Builder, Overflow, mpsc, oneshot, spsc, watch};
use leno::fiber::{self, Cord, Runtime};
use leno::select::{Selected2, Selected3};
use leno::sync::{Barrier, Condvar, Mutex, Notify, OnceCell, RwLock, Semaphore};
use leno::{Receiver, Sender, bounded, rendezvous, select_blocking, unbounded};

/// Polls once, for nobody.
fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Both handles of a channel. (Boxes: who frees one too often, or reads what is gone, is seen.)
type Pair = (Sender<Box<u32>>, Receiver<Box<u32>>);

/// One of each: no buffer, a ring, blocks.
fn channels() -> [Pair; 5] {
    [rendezvous(), bounded(1), bounded(3), bounded(300), unbounded()]
}

/// What is sent arrives, or comes back, whatever goes first: the sum is right.
#[test]
fn values_and_handles() {
    for (tx, rx) in channels() {
        let other = tx.clone();
        let send = |tx: Sender<Box<u32>>| {
            move || (1..=3).map(|n| tx.send_blocking(Box::new(n)).map_or(0, |()| n)).sum::<u32>()
        };
        let (a, b) = (thread::spawn(send(tx)), thread::spawn(send(other)));
        let received: u32 = rx.iter().map(|value| *value).sum();
        assert_eq!(received, a.join().unwrap() + b.join().unwrap());
        assert_eq!(received, 12);
    }
}

/// The last receiver goes while senders are at work.
#[test]
fn receivers_go() {
    for (tx, rx) in channels() {
        let sender = thread::spawn(move || {
            let mut sent = 0;
            while sent < 10 && tx.send_blocking(Box::new(sent)).is_ok() {
                sent += 1;
            }
        });
        drop(rx.try_recv());
        drop(rx);
        sender.join().unwrap();
    }
}

/// A receive that waits, and a send that waits, are dropped while a peer comes by.
#[test]
fn operations_are_dropped() {
    for (tx, rx) in channels() {
        let sender = thread::spawn(move || {
            let mut send = tx.send(Box::new(7));
            if poll(&mut send).is_pending() { send.into_inner().is_none() } else { true }
        });
        let mut receive = rx.recv();
        let mut received = matches!(poll(&mut receive), Poll::Ready(Ok(_)));
        drop(receive);
        let sent = sender.join().unwrap();
        received |= rx.try_recv().is_ok();
        assert_eq!(sent, received);
    }
}

/// A close meets both sides.
#[test]
fn closes() {
    for (tx, rx) in channels() {
        let closer = rx.clone();
        let sender = thread::spawn(move || tx.send_blocking(Box::new(1)).is_ok());
        let receiver = thread::spawn(move || rx.recv_blocking().is_ok());
        closer.close();
        let (sent, received) = (sender.join().unwrap(), receiver.join().unwrap());
        assert_eq!(sent, received || closer.try_recv().is_ok());
    }
}

/// Weak handles are upgraded while the last one goes.
#[test]
fn weak_handles() {
    for (tx, rx) in channels() {
        let weak = tx.downgrade();
        let upgrade =
            thread::spawn(move || weak.upgrade().is_some_and(|tx| tx.try_send(Box::new(2)).is_ok()));
        drop(tx);
        let sent = upgrade.join().unwrap();
        assert_eq!(rx.try_recv().is_ok(), sent);
    }
}

#[test]
fn single_sides() {
    for capacity in [2, 64] {
        let (mut tx, mut rx) = spsc::bounded(capacity);
        let values = 0..2 * capacity;
        let all = values.clone().sum::<usize>();
        let sender = thread::spawn(move || values.for_each(|n| tx.send_blocking(Box::new(n)).unwrap()));
        assert_eq!(std::iter::from_fn(|| rx.recv_blocking().ok()).map(|value| *value).sum::<usize>(), all);
        sender.join().unwrap();
    }

    let (tx, mut rx) = mpsc::bounded(2);
    let other = tx.clone();
    let a = thread::spawn(move || (0..3).for_each(|n| tx.send_blocking(Box::new(n)).unwrap()));
    let b = thread::spawn(move || (0..3).for_each(|n| other.send_blocking(Box::new(n)).unwrap()));
    assert_eq!(std::iter::from_fn(|| rx.recv_blocking().ok()).map(|value| *value).sum::<i32>(), 6);
    a.join().unwrap();
    b.join().unwrap();
}

#[test]
fn oneshots() {
    for keep in [true, false] {
        let (tx, rx) = oneshot::channel();
        let sender = thread::spawn(move || tx.send(Box::new(1)).is_ok());
        if keep {
            assert_eq!(rx.recv_blocking().map(|value| *value), Ok(1));
            assert!(sender.join().unwrap());
        } else {
            drop(rx);
            let _ = sender.join().unwrap();
        }
    }
    let (tx, mut rx) = oneshot::channel::<Box<u32>>();
    let sender = thread::spawn(move || drop(tx));
    drop(poll(&mut rx));
    drop(rx);
    sender.join().unwrap();
}

#[test]
fn overflow_and_undelivered() {
    let (tx, rx) =
        Builder::new().capacity(1).overflow(Overflow::DropOldest).on_undelivered(drop::<Box<u32>>).build();
    let sender = thread::spawn(move || (0..3).for_each(|n| tx.send_blocking(Box::new(n)).unwrap()));
    let last = rx.iter().last();
    sender.join().unwrap();
    assert_eq!(last, Some(Box::new(2)));
}

#[test]
fn permits() {
    let (tx, rx) = bounded(1);
    let other = tx.clone();
    let reserving =
        thread::spawn(move || other.reserve().wait().map(|permit| permit.send(Box::new(1)).is_ok()));
    let sending = thread::spawn(move || tx.send_blocking(Box::new(2)).unwrap());
    let received: u32 = rx.iter().map(|value| *value).sum();
    assert!(reserving.join().unwrap().unwrap());
    sending.join().unwrap();
    assert_eq!(received, 3);
}

#[test]
fn the_latest_value_and_every_value() {
    let (tx, mut rx) = watch::channel(Box::new(0));
    let sender = thread::spawn(move || (1..=2).for_each(|n| tx.send(Box::new(n)).unwrap()));
    while rx.changed().wait().is_ok() {}
    assert_eq!(**rx.borrow(), 2);
    sender.join().unwrap();

    for lag in [Lag::Drop, Lag::Suspend] {
        let (tx, mut rx) = broadcast::with_lag(2, lag);
        let mut other = rx.clone();
        let sender = thread::spawn(move || (0..3).for_each(|n| drop(tx.send_async(Arc::new(n)).wait())));
        let receiver = thread::spawn(move || while other.recv_blocking().is_ok() {});
        while rx.recv_blocking().is_ok() {}
        sender.join().unwrap();
        receiver.join().unwrap();
    }
}

/// Selects against plain peers.
#[test]
fn selects() {
    let ((left, lefts), (right, rights)) = (bounded(1), rendezvous());
    let a = thread::spawn(move || left.send_blocking(Box::new(1)).unwrap());
    let b = thread::spawn(move || right.send_blocking(Box::new(2)).unwrap());
    let mut sum = 0;
    for _ in 0..2 {
        sum += select_blocking! {
            Ok(value) = lefts.recv() => *value,
            Ok(value) = rights.recv() => *value,
        };
    }
    assert_eq!(sum, 3);
    a.join().unwrap();
    b.join().unwrap();
}

/// Selects against each other, each on both sides of both channels. (Several: who ends another's select keeps what is left of
/// it, and makes its next one of that.)
#[test]
fn selects_meet() {
    let ((left, lefts), (right, rights)) = (rendezvous(), rendezvous());
    let select = |tx: Sender<Box<u32>>, rx: Receiver<Box<u32>>| {
        move || {
            let select = |_| {
                select_blocking! {
                    sent = tx.send(Box::new(3)) => u32::from(sent.is_ok()),
                    value = rx.recv() => value.map_or(0, |value| *value),
                }
            };
            (0..4).map(select).sum::<u32>()
        }
    };
    let a = thread::spawn(select(left.clone(), rights.clone()));
    let b = thread::spawn(select(right.clone(), lefts.clone()));
    assert_eq!(a.join().unwrap() + b.join().unwrap(), 4 * 4);
}

/// A select that has popped its own branch, and others after it on the same thread.
#[test]
fn selects_meet_themselves() {
    for capacity in [1, 3, 300] {
        let (tx, rx) = bounded(capacity);
        let permits = tx.reserve_many(capacity).wait().unwrap();
        let mut select = leno::select::select_biased((tx.send(Box::new(1)), rx.recv(), tx.reserve()));
        assert!(poll(&mut select).is_pending() && poll(&mut select).is_pending());
        drop(permits);
        assert!(matches!(poll(&mut select), Poll::Ready(Selected3::First(Ok(())))));
    }
}

/// A select is dropped while peers claim it.
#[test]
fn selects_are_dropped() {
    let ((left, lefts), (right, rights)) = (bounded(1), rendezvous());
    let sender = thread::spawn(move || {
        left.send_blocking(Box::new(1)).unwrap();
        right.try_send(Box::new(2)).is_ok()
    });
    let mut select = leno::select::select((lefts.recv(), rights.recv()));
    let won = matches!(poll(&mut select), Poll::Ready(Selected2::First(Ok(_)) | Selected2::Second(Ok(_))));
    drop(select);
    let sent = 1 + u32::from(sender.join().unwrap());
    let taken = u32::from(won) + u32::from(lefts.try_recv().is_ok()) + u32::from(rights.try_recv().is_ok());
    assert_eq!(taken, sent);
}

#[test]
fn locks() {
    for mutex in [Mutex::new(0), Mutex::fair(0)] {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..3 {
                        *mutex.lock_blocking() += 1;
                    }
                    drop(poll(&mut mutex.lock()));
                });
            }
        });
        assert_eq!(mutex.into_inner(), 6);
    }
    let lock = RwLock::new(0);
    thread::scope(|scope| {
        scope.spawn(|| *lock.write_blocking() += 1);
        scope.spawn(|| assert!(*lock.read_blocking() <= 1));
        drop(poll(&mut lock.write()));
    });
    assert_eq!(lock.into_inner(), 1);
    let semaphore = Semaphore::new(1);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| drop(semaphore.acquire_blocking().unwrap()));
        }
        drop(poll(&mut semaphore.acquire_many(1)));
    });
    assert_eq!(semaphore.available_permits(), 1);
}

#[test]
fn meetings() {
    let (mutex, condvar, notify, barrier) =
        (Mutex::new(false), Condvar::new(), Notify::new(), Barrier::new(2));
    let cell = OnceCell::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            *mutex.lock_blocking() = true;
            condvar.notify_one();
            notify.notify_one();
            assert_eq!(**cell.get_or_init_blocking(|| Box::new(5)), 5);
            barrier.wait_for_all().wait();
        });
        assert!(*condvar.wait_while(mutex.lock_blocking(), |set| !*set).wait());
        notify.notified().wait();
        assert_eq!(**cell.get_or_init_blocking(|| Box::new(5)), 5);
        barrier.wait_for_all().wait();
    });
}

/// Fibers and threads on one channel; a fiber is cancelled, and one is joined, while it is woken; the runtime goes.
#[test]
fn fibers() {
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let (tx, rx) = rendezvous();
        let receiving = runtime.spawn(async move { rx.recv().await.map(|value: Box<u32>| *value) });
        let (other, others) = bounded(1);
        let waiting = runtime.spawn(async move { others.recv().await.map(|value: Box<u32>| *value) });
        let sender = thread::spawn(move || drop(other.send_blocking(Box::new(2))));
        waiting.cancel();
        let _ = tx.send_blocking(Box::new(1));
        assert_eq!(receiving.wait().unwrap(), Ok(1));
        let _ = waiting.wait();
        let left = runtime.spawn(async { fiber::park().await });
        left.fiber().unpark();
        drop(runtime);
        let _ = left.wait();
        sender.join().unwrap();
    }
}

#[test]
fn cords() {
    let (tx, rx) = bounded(1);
    let sender = thread::spawn(move || (0..3).for_each(|n| tx.send_blocking(Box::new(n)).unwrap()));
    let cord = Cord::new();
    let sum = cord.block_on(async move {
        let adding = fiber::spawn_local(async move {
            let mut sum = 0;
            while let Ok(value) = rx.recv().await {
                sum += *value;
            }
            sum
        });
        adding.await.unwrap()
    });
    assert_eq!(sum, 3);
    sender.join().unwrap();
}
