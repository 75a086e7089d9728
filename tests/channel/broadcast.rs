//! `channel::broadcast`: each value to every receiver; who lags, and who is held back.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_lite::StreamExt;
use leno::channel::broadcast::{
    Closed, Feed, IntoFeed, Lag, Lagged, Receiver, Recv, RecvError, RecvTimeoutError, SendAsync, SendError,
    SendTimeoutError, Sender, TryRecvError, TrySendError, channel, with_lag,
};
use leno::fiber::Cord;

use crate::impls;
use crate::support::{
    CountingWaker, Crew, Event, Place, PollExt, Tracked, Tracker, hooked_waker, panicking_waker, within,
};

/// C15, C26.
#[test]
fn types() {
    const {
        assert!(impls!(Sender<u8>: Send) && impls!(Sender<u8>: Sync) && impls!(Sender<u8>: Clone));
        assert!(impls!(Receiver<u8>: Send) && impls!(Receiver<u8>: Sync) && impls!(Receiver<u8>: Clone));
        assert!(impls!(Recv<'static, u8>: Send) && impls!(SendAsync<'static, u8>: Send));
        assert!(impls!(Feed<'static, u8>: Send) && impls!(IntoFeed<u8>: Send));
        assert!(impls!(Closed<'static, u8>: Send) && impls!(SendAsync<'static, u8>: Sync));
        // Receivers clone what they share, each on its own thread: that needs T: Sync as well.
        assert!(!impls!(Sender<Cell<u8>>: Send) && !impls!(Receiver<Rc<u8>>: Send));
        assert!(!impls!(Recv<'static, Rc<u8>>: Send) && !impls!(IntoFeed<Cell<u8>>: Send));
        assert!(impls!(SendAsync<'static, std::marker::PhantomPinned>: Unpin));
        assert!(impls!(IntoFeed<u8>: Unpin));
    }
}

/// A value that is cloned, and whose copies are counted.
#[derive(Clone)]
struct Copied(Arc<Tracked>);

fn drain<T: Clone>(rx: &mut Receiver<T>) -> Vec<Result<T, u64>> {
    let mut all = Vec::new();
    loop {
        match rx.try_recv() {
            Ok(value) => all.push(Ok(value)),
            Err(TryRecvError::Lagged(missed)) => all.push(Err(missed)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => return all,
        }
    }
}

#[test]
fn each_receiver_sees_each_value() {
    let (tx, mut first) = channel(4);
    let mut second = tx.subscribe();
    assert_eq!(tx.send(1), Ok(2));
    let mut late = tx.subscribe();
    assert_eq!(tx.send(2), Ok(3));
    assert_eq!((first.len(), second.len(), late.len(), tx.len()), (2, 2, 1, 2));
    assert_eq!((first.try_recv(), first.try_recv()), (Ok(1), Ok(2)));
    assert_eq!(first.try_recv(), Err(TryRecvError::Empty));
    let mut clone = second.clone();
    assert_eq!(drain(&mut second), [Ok(1), Ok(2)]);
    assert_eq!(drain(&mut clone), [Ok(1), Ok(2)], "a clone begins where the original was");
    assert!(clone.resubscribe().is_empty());
    assert_eq!(drain(&mut late), [Ok(2)]);
    assert!(tx.is_empty() && first.is_empty());
    assert_eq!((tx.receiver_count(), tx.sender_count(), tx.capacity()), (4, 1, 4));
    assert!(first.same_channel(&late) && tx.same_channel(&tx.clone()));
    assert_eq!(tx.assert_valid(), 0);
}

/// The oldest go, each receiver learns how many it has missed, and then gets those that are there, exactly.
#[test]
fn who_is_slow_lags() {
    for capacity in 1..5_u64 {
        for sent in 0..12_u64 {
            for seen in 0..=sent.min(capacity) {
                let (tx, mut rx) = channel(capacity as usize);
                (0..seen).for_each(|n| {
                    tx.send(n).unwrap();
                    assert_eq!(rx.try_recv(), Ok(n));
                });
                (seen..sent).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
                let missed = (sent - seen).saturating_sub(capacity);
                let lag = (missed > 0).then_some(Err(missed));
                let expected = lag.into_iter().chain((seen + missed..sent).map(Ok)).collect::<Vec<_>>();
                assert_eq!(drain(&mut rx), expected);
                tx.assert_valid();
            }
        }
    }
}

/// C1: a value lives until the last receiver has seen it, is gone then, and is cloned for all but that one.
#[test]
fn values_are_dropped_once_all_have_seen_them() {
    let tracker = Tracker::new();
    let (tx, mut first) = channel(2);
    let (mut second, idle) = (tx.subscribe(), tx.subscribe());
    let send = || tx.send(Copied(Arc::new(tracker.value()))).map_err(drop).unwrap();
    send();
    drop(first.try_recv().unwrap());
    drop(second.try_recv().unwrap());
    tracker.assert_live(1, "one has yet to see it");
    drop(idle);
    tracker.assert_live(0, "the last one goes");
    send();
    let seen = first.try_recv().unwrap();
    let last = second.try_recv().unwrap();
    assert_eq!(Arc::strong_count(&last.0), 2, "the channel keeps none");
    drop((seen, last));
    (0..5).for_each(|_| assert_eq!(send(), 2));
    tracker.assert_live(2, "no more than there is room for");
    drop(first);
    drop(second);
    tracker.assert_live(0, "C7: nobody is left");
    assert!(tx.is_closed() && tx.is_empty());
    let Err(SendError(back)) = tx.send(Copied(Arc::new(tracker.value()))) else { panic!("nobody is there") };
    drop(back);
    tracker.assert_done();
}

/// C7, C18.
#[test]
fn the_last_sender_goes() {
    let (tx, mut rx) = channel(2);
    let other = tx.clone();
    let mut waiting = rx.recv();
    let woken = waiting.must_wait("nothing is there");
    drop(tx);
    assert!(!woken.was_woken());
    other.send(1).unwrap();
    drop(other);
    assert_eq!(woken.count(), 1);
    assert_eq!(waiting.must_be_ready("sent"), Ok(1));
    drop(waiting);
    assert!(rx.is_closed());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(rx.recv().must_be_ready("the end"), Err(RecvError::Closed));
    assert_eq!(rx.resubscribe().recv_blocking(), Err(RecvError::Closed));
}

#[test]
fn the_last_receiver_goes() {
    let (tx, rx) = channel::<u8>(1);
    let mut closed = tx.closed();
    let woken = closed.must_wait("one is there");
    let clone = rx.clone();
    drop(rx);
    assert!(!woken.was_woken());
    drop(clone);
    assert!(woken.was_woken());
    closed.must_be_ready("nobody");
    drop(closed);
    assert_eq!(tx.try_send(1), Err(TrySendError::Closed(1)));
    let mut late = tx.subscribe();
    assert_eq!(tx.send(2), Ok(1));
    assert_eq!(late.try_recv(), Ok(2));
    assert!(tx.closed().wait_timeout(Duration::from_millis(1)).is_err());
}

/// The slowest receiver holds the senders back: nothing is lost.
#[test]
fn who_is_slow_holds_back() {
    let (tx, mut fast) = with_lag(2, Lag::Suspend);
    let mut slow = tx.subscribe();
    assert_eq!(tx.lag(), Lag::Suspend);
    assert_eq!((tx.send(1), tx.try_send(2)), (Ok(2), Ok(2)));
    assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!(tx.send(3), Err(SendError(3)));
    let mut sending = tx.send_async(3);
    let woken = sending.must_wait("full");
    assert_eq!((fast.try_recv(), fast.try_recv()), (Ok(1), Ok(2)));
    assert!(!woken.was_woken(), "the other one has seen nothing");
    assert_eq!(slow.try_recv(), Ok(1));
    assert!(woken.was_woken());
    assert_eq!(sending.must_be_ready("there is room"), Ok(2));
    drop(sending);
    let mut sending = tx.send_async(4);
    let woken = sending.must_wait("full");
    drop(slow);
    assert!(woken.was_woken(), "it is in nobody's way any more");
    assert_eq!(sending.must_be_ready("there is room"), Ok(1));
    drop(sending);
    assert_eq!(drain(&mut fast), [Ok(3), Ok(4)]);
    (5..7).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    let mut sending = tx.send_async(7);
    let woken = sending.must_wait("full");
    drop(fast);
    assert!(woken.was_woken());
    assert_eq!(sending.must_be_ready("nobody is there"), Err(SendError(7)), "C7");
    assert_eq!(tx.assert_valid(), 0);
    // Where nobody is held back it never waits.
    let (tx, mut rx) = channel(1);
    (0..3).for_each(|n| assert_eq!(tx.send_async(n).must_be_ready("it drops"), Ok(1)));
    assert_eq!(drain(&mut rx), [Err(2), Ok(2)]);
}

/// C9, C10, C11: who leaves has sent and seen nothing; those who wait behind it go on.
#[test]
fn cancelled_anywhere() {
    let tracker = Tracker::new();
    let value = || Copied(Arc::new(tracker.value()));
    let (tx, mut rx) = with_lag(1, Lag::Suspend);
    drop(tx.send_async(value()));
    tx.send_async(value()).must_be_ready("there is room").map_err(drop).unwrap();
    let mut first = tx.send_async(value());
    let mut second = tx.send_async(value());
    let mut third = tx.send_async(value());
    for sending in [&mut first, &mut second, &mut third] {
        assert!(sending.poll_once(&CountingWaker::new()).is_pending());
    }
    assert_eq!(first.into_inner().map(|value| value.0.id), Some(2), "C10");
    drop(rx.try_recv().unwrap());
    // Told, and gone.
    drop(second);
    third.must_be_ready("C11").map_err(drop).unwrap();
    assert!(third.into_inner().is_none());
    assert_eq!(rx.try_recv().unwrap().0.id, 4);
    for polls in 0..2 {
        let mut receiving = rx.recv();
        (0..polls).for_each(|_| drop(receiving.must_wait("nothing is there")));
        tx.send(value()).map_err(drop).unwrap();
        drop(receiving);
        drop(rx.try_recv().expect("C9"));
    }
    tracker.assert_done();
}

/// C26.
#[test]
fn forgotten() {
    let (tx, mut rx) = with_lag(1, Lag::Suspend);
    let mut forgotten = rx.recv();
    forgotten.must_wait("nothing is there");
    std::mem::forget(forgotten);
    tx.send(1).unwrap();
    let mut sending = tx.send_async(2);
    sending.must_wait("full");
    std::mem::forget(sending);
    assert_eq!(rx.recv().must_be_ready("a forgotten one is alone in its misery"), Ok(1));
    assert_eq!(tx.send_async(3).must_be_ready("there is room"), Ok(1));
    assert_eq!(rx.recv_blocking(), Ok(3));
}

/// C12.
#[test]
fn the_last_waker_counts() {
    let (tx, mut rx) = channel(1);
    let mut waiting = rx.recv();
    let first = waiting.must_wait("nothing is there");
    let second = waiting.must_wait("nothing is there");
    assert_eq!(Arc::strong_count(&first), 1, "the first is let go");
    tx.send(1).unwrap();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert_eq!(waiting.must_be_ready("sent"), Ok(1));
}

/// C16, C28.
#[test]
fn timeouts() {
    let (tx, mut rx) = with_lag(1, Lag::Suspend);
    let past = Instant::now();
    assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
    assert_eq!(rx.recv().wait_deadline(past), Err(RecvTimeoutError::Timeout));
    assert_eq!(rx.recv_deadline(past), Err(RecvTimeoutError::Timeout));
    assert_eq!(tx.send_async(1).wait_timeout(Duration::ZERO), Ok(1));
    assert_eq!(tx.send_async(2).wait_timeout(Duration::from_millis(1)), Err(SendTimeoutError::Timeout(2)));
    assert_eq!(tx.send_async(2).wait_deadline(past), Err(SendTimeoutError::Timeout(2)));
    assert_eq!(rx.recv_timeout(Duration::MAX), Ok(1));
    assert_eq!(tx.send_async(3).wait(), Ok(1));
    drop(tx);
    assert_eq!(rx.recv_blocking(), Ok(3));
    assert_eq!(rx.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Closed));
    let (tx, mut rx) = channel(1);
    (0..3).for_each(|n| drop(tx.send(n).unwrap().to_string()));
    assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Lagged(2)));
    drop(rx);
    assert_eq!(tx.send_async(1).wait_timeout(Duration::MAX), Err(SendTimeoutError::Closed(1)));
}

/// C20: streams end, stay ended, and leave no waiter behind.
#[test]
fn streams() {
    let (tx, mut rx) = channel(2);
    (1..=3).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    {
        let mut stream = rx.stream();
        let waker = CountingWaker::new();
        assert_eq!(stream.next_once(&waker), Poll::Ready(Some(Err(Lagged(1)))));
        assert_eq!(stream.next_once(&waker), Poll::Ready(Some(Ok(2))));
        assert_eq!(stream.next_once(&waker), Poll::Ready(Some(Ok(3))));
        assert_eq!(stream.next_once(&waker), Poll::Pending);
    }
    assert_eq!(tx.assert_valid(), 0, "nobody waits");
    tx.send(4).unwrap();
    let mut stream = rx.into_stream();
    assert_eq!(leno::block_on(stream.next()), Some(Ok(4)));
    // What a stream that waits was handed is the receiver's.
    let waker = CountingWaker::new();
    assert_eq!(stream.next_once(&waker), Poll::Pending);
    tx.send(5).unwrap();
    assert!(waker.was_woken());
    let mut rx = stream.into_receiver();
    assert_eq!(tx.assert_valid(), 0, "nobody waits");
    assert_eq!(rx.recv_blocking(), Ok(5), "C11");
    let mut stream = rx.into_stream();
    drop(tx);
    assert_eq!(leno::block_on(stream.next()), None);
    assert_eq!(leno::block_on(stream.next()), None, "C20: it stays ended");
}

/// S1, S9, S10.
#[test]
fn branches_of_select() {
    let (tx, mut rx) = with_lag(1, Lag::Suspend);
    let (other_tx, mut other) = channel(4);
    tx.send(1).unwrap();
    other_tx.send(2).unwrap();
    leno::block_on(async {
        let mut sending = tx.send_async(3);
        let got = leno::select! {
            _ = &mut sending => unreachable!("it is full"),
            got = other.recv() => got,
        };
        assert_eq!(got, Ok(2));
        assert_eq!(sending.into_inner(), Some(3), "S9");
        let got = leno::select_biased! {
            got = rx.recv() => got,
            got = other.recv() => got,
            () = tx.closed() => unreachable!("rx is there"),
        };
        assert_eq!(got, Ok(1));
    });
    {
        let mut select = Box::pin(async {
            leno::select! { _ = rx.recv() => {}, _ = other.recv() => {} }
        });
        select.must_wait("nothing is there");
        tx.send(5).unwrap();
    }
    assert_eq!((rx.try_recv(), other.try_recv()), (Ok(5), Err(TryRecvError::Empty)), "S10");
    within("selects over broadcasts", || {
        let (tx, mut rx) = with_lag(2, Lag::Suspend);
        let (_silent, mut silent) = channel::<usize>(1);
        let sender = thread::spawn(move || {
            for n in 0..500 {
                let sending = tx.send_async(n);
                leno::select_blocking! { sent = sending => assert_eq!(sent, Ok(1)) }
            }
        });
        for n in 0..500 {
            let got = leno::select_blocking! { got = silent.recv() => got, got = rx.recv() => got };
            assert_eq!(got, Ok(n));
        }
        sender.join().unwrap();
    });
}

/// C13, C29: wakers that use the channel, and that panic; clones and drops that panic.
#[test]
fn foreign_code() {
    let (tx, mut rx) = channel(4);
    let inner = Mutex::new((tx.clone(), tx.subscribe()));
    let uses = hooked_waker(move |event| {
        if event == Event::Wake {
            let mut inner = inner.lock().unwrap();
            let seen = inner.1.try_recv().unwrap();
            inner.0.send(seen + 1).unwrap();
        }
    });
    let mut waiting = rx.recv();
    assert!(waiting.poll_with(&uses).is_pending());
    tx.send(1).unwrap();
    assert_eq!(waiting.must_be_ready("sent"), Ok(1));
    drop(waiting);
    assert_eq!(rx.try_recv(), Ok(2));
    let panics = panicking_waker();
    let mut other = tx.subscribe();
    let mut first = rx.recv();
    assert!(first.poll_with(&panics).is_pending());
    let mut second = other.recv();
    let woken = second.must_wait("nothing is there");
    catch_unwind(AssertUnwindSafe(|| tx.send(7))).expect_err("the panic goes through");
    assert!(woken.was_woken());
    assert_eq!((first.must_be_ready("sent"), second.must_be_ready("sent")), (Ok(7), Ok(7)));
    // A sender that waits has the waker that panics: the value is not lost.
    let (tx, mut rx) = with_lag(1, Lag::Suspend);
    tx.send(1).unwrap();
    let mut sending = tx.send_async(2);
    assert!(sending.poll_with(&panics).is_pending());
    catch_unwind(AssertUnwindSafe(|| rx.try_recv())).expect_err("the panic goes through");
    assert_eq!(rx.try_recv(), Ok(1), "C29");
    assert_eq!(sending.must_be_ready("there is room"), Ok(1));
    let mut another = tx.send_async(3);
    assert!(another.poll_with(&panics).is_pending());
    catch_unwind(AssertUnwindSafe(|| rx.recv_blocking())).expect_err("the panic goes through");
    assert_eq!(rx.len(), 1);
    assert_eq!(rx.clone().try_recv(), Ok(2));
    assert_eq!(rx.recv_blocking(), Ok(2), "C29");
    #[derive(Debug)]
    struct Fragile(bool);
    impl Clone for Fragile {
        fn clone(&self) -> Self {
            assert!(!self.0, "planted: a clone panics");
            Fragile(false)
        }
    }
    let (tx, mut rx) = channel(4);
    let _keeps_it = tx.subscribe();
    tx.send(Fragile(true)).unwrap();
    tx.send(Fragile(false)).unwrap();
    catch_unwind(AssertUnwindSafe(|| rx.try_recv().is_ok())).expect_err("the panic goes through");
    assert!(rx.try_recv().is_ok(), "the next one");
    tx.assert_valid();
}

/// C13, C29: of several panics one goes on, and nothing is lost by them; the drop of the original does not cost its clone.
#[test]
fn drops_that_panic() {
    struct Bomb {
        is_original: bool,
        /// Sees the value while it is being cloned.
        other: Mutex<Option<Box<Receiver<Bomb>>>>,
    }
    impl Bomb {
        fn new() -> Self {
            Bomb { is_original: true, other: Mutex::new(None) }
        }
    }
    impl Clone for Bomb {
        fn clone(&self) -> Self {
            let other = self.other.lock().unwrap().take();
            if let Some(mut other) = other {
                assert!(other.try_recv().is_ok());
            }
            Bomb { is_original: false, other: Mutex::new(None) }
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.is_original, "planted: a drop panics");
        }
    }
    let panics_once =
        |f: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(f)).expect_err("the panic goes through");
    let (tx, rx) = channel(4);
    (0..3).for_each(|_| assert!(tx.send(Bomb::new()).is_ok()));
    let mut rx = Some(rx);
    panics_once(&mut || drop(rx.take()));
    assert!(tx.is_closed() && tx.is_empty());
    // During a panic.
    let mut rx = Some(tx.subscribe());
    assert!(tx.send(Bomb::new()).is_ok());
    panics_once(&mut || {
        let _dropped = rx.take();
        panic!("planted");
    });
    // What has to go, beside a waker that panics.
    let panics = panicking_waker();
    let (tx, mut first) = channel(1);
    let slow = tx.subscribe();
    assert!(tx.send(Bomb::new()).is_ok() && first.try_recv().is_ok());
    let mut waiting = first.recv();
    assert!(waiting.poll_with(&panics).is_pending());
    let mut bomb = Some(Bomb::new());
    panics_once(&mut || assert!(tx.send(bomb.take().unwrap()).is_ok()));
    assert!(waiting.must_be_ready("sent").is_ok());
    let mut left = Some((tx, slow));
    panics_once(&mut || drop(left.take()));
    // The last one sees the value while this one clones it: so this one drops the original.
    let (tx, mut rx) = channel(1);
    let bomb = Bomb::new();
    *bomb.other.lock().unwrap() = Some(Box::new(tx.subscribe()));
    assert!(tx.send(bomb).is_ok());
    panics_once(&mut || assert!(rx.try_recv().is_ok()));
    assert!(rx.try_recv().is_ok_and(|bomb| !bomb.is_original), "C29");
}

/// C10, S13: a send that has found that nobody receives, in a select that is dropped unused, has its value still.
#[test]
fn a_send_that_finds_nobody_keeps_its_value() {
    let (tx, rx) = channel(1);
    drop(rx);
    let mut sending = tx.send_async(String::from("warp"));
    let mut set = leno::select::Select::new();
    let token = set.add(&mut sending);
    assert!(set.try_select().expect("nobody receives").is(token));
    drop(set);
    assert_eq!(sending.into_inner().as_deref(), Some("warp"));
    let mut sending = tx.send_async(String::from("weft"));
    let mut set = leno::select::Select::new();
    set.add(&mut sending);
    assert!(set.try_select().is_some());
    drop(set);
    let Err(SendError(value)) = sending.must_be_ready("nobody receives") else { panic!("nobody receives") };
    assert_eq!(value, "weft");
}

#[test]
fn misuse() {
    catch_unwind(|| channel::<u8>(0)).expect_err("it could keep nothing");
    // C17: room is taken as it is used.
    let (tx, mut rx) = channel(usize::MAX / 2);
    (0..100).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    assert_eq!(drain(&mut rx).len(), 100);
    // C25.
    Cord::new().block_on(async move {
        catch_unwind(AssertUnwindSafe(|| rx.recv_blocking())).expect_err("C25");
        catch_unwind(AssertUnwindSafe(|| tx.send_async(1).wait())).expect_err("C25");
    });
}

/// C19: with `Lag::Suspend` everybody sees everything, wherever they are.
#[test]
fn nothing_is_lost_anywhere() {
    const EACH: usize = 300;
    let (tx, rx) = with_lag(3, Lag::Suspend);
    let mut crew = Crew::new("a broadcast that holds back", &Place::ALL);
    for _ in 0..4 {
        let mut rx = rx.clone();
        crew.add(move |place| async move {
            let mut next = [0; 4];
            loop {
                let got = match place {
                    Place::Thread => rx.recv_blocking(),
                    _ => rx.recv().await,
                };
                let Ok((sender, n)) = got else { break assert_eq!(got, Err(RecvError::Closed)) };
                assert_eq!(n, next[sender], "C2: in order");
                next[sender] += 1;
            }
            assert_eq!(next, [EACH; 4]);
        });
    }
    drop(rx);
    for sender in 0..4 {
        let tx = tx.clone();
        crew.add(move |place| async move {
            for n in 0..EACH {
                match place {
                    Place::Thread => tx.send_async((sender, n)).wait().map(drop),
                    _ => tx.send_async((sender, n)).await.map(drop),
                }
                .unwrap();
            }
        });
    }
    drop(tx);
    crew.run();
}

/// With `Lag::Drop` each sees or misses each value: the counts are exact.
#[test]
fn lags_are_counted_anywhere() {
    const EACH: u64 = 3_000;
    let (tx, rx) = channel(16);
    let mut crew = Crew::new("a broadcast that lags", &Place::ALL);
    for _ in 0..4 {
        let mut rx = rx.clone();
        crew.add(move |place| async move {
            let (mut seen, mut missed, mut last) = (0, 0, None);
            loop {
                let got = match place {
                    Place::Thread => rx.recv_blocking(),
                    _ => rx.recv().await,
                };
                match got {
                    Ok(n) => {
                        assert!(last < Some(n), "C2: in order");
                        last = Some(n);
                        seen += 1;
                    }
                    Err(RecvError::Lagged(n)) => missed += n,
                    Err(RecvError::Closed) => break,
                }
            }
            assert_eq!((seen + missed, last), (EACH, Some(EACH - 1)));
        });
    }
    drop(rx);
    crew.add(move |place| async move {
        for n in 0..EACH {
            tx.send(n).unwrap();
            if n % 8 == 0 {
                place.pause().await;
            }
        }
    });
    crew.run();
}

/// Receivers come, are cloned and go while others send and wait for room.
#[test]
fn receivers_come_and_go() {
    within("a broadcast whose receivers come and go", || {
        let tracker = Tracker::new();
        let (tx, rx) = with_lag(2, Lag::Suspend);
        let coming = tx.clone();
        let visitors = thread::spawn(move || {
            let mut rx = rx;
            for round in 0..2_000 {
                let mut other = if round % 3 == 0 { rx.clone() } else { coming.subscribe() };
                let _ = other.try_recv().map(drop);
                if round % 2 == 0 {
                    let _ = rx.recv_timeout(Duration::from_micros(50)).map(drop);
                    rx = other;
                }
            }
        });
        let mut sent = 0;
        while tx.send_async(Copied(Arc::new(tracker.value()))).wait().is_ok() {
            sent += 1;
        }
        visitors.join().unwrap();
        assert!(sent > 0);
        assert_eq!(tx.assert_valid(), 0);
        tracker.assert_done();
    });
}
