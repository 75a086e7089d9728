//! `channel::oneshot`: what it promises, wherever its ends are. Contracts C as far as they apply to one value.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::marker::PhantomPinned;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::FusedFuture;
use leno::channel::oneshot::{self, Closed, Receiver, Sender, channel};
use leno::channel::{RecvError, RecvTimeoutError, TryRecvError};
use leno::fiber::{Cord, yield_now};
use leno::select::Select;

use crate::impls;
use crate::support::{
    CountingWaker, Crew, Event, Place, PollExt, Tracker, hooked_waker, panicking_waker, unequal_waker, within,
};

/// C15, C26.
#[test]
fn types() {
    const {
        assert!(impls!(Sender<Cell<u8>>: Send) && impls!(Sender<Cell<u8>>: Sync));
        assert!(impls!(Receiver<Cell<u8>>: Send) && impls!(Receiver<Cell<u8>>: Sync));
        assert!(impls!(Closed<'static, Cell<u8>>: Send) && impls!(Closed<'static, Cell<u8>>: Sync));
        assert!(!impls!(Sender<Rc<u8>>: Send) && !impls!(Sender<Rc<u8>>: Sync));
        assert!(!impls!(Receiver<Rc<u8>>: Send) && !impls!(Receiver<Rc<u8>>: Sync));
        assert!(!impls!(Closed<'static, Rc<u8>>: Send));
        assert!(impls!(Receiver<PhantomPinned>: Unpin) && impls!(Closed<'static, PhantomPinned>: Unpin));
        assert!(impls!(Sender<u8>: UnwindSafe) && impls!(Receiver<u8>: RefUnwindSafe));
        assert!(!impls!(Sender<u8>: Clone) && !impls!(Receiver<u8>: Clone));
        let pointer = size_of::<*const u8>();
        assert!(size_of::<Sender<[u64; 9]>>() == pointer && size_of::<Receiver<[u64; 9]>>() == pointer);
    }
}

/// C1: sent before and after the receiver waits.
#[test]
fn one_value_goes_through() {
    let tracker = Tracker::new();
    let (tx, mut rx) = channel();
    assert!(rx.is_empty());
    assert!(tx.send(tracker.value()).is_ok());
    assert!(!rx.is_terminated() && !rx.is_empty());
    let value = rx.must_be_ready("it was sent").unwrap();
    assert!(rx.is_terminated() && rx.is_empty());
    drop((rx, value));
    let (tx, mut rx) = channel();
    let woken = rx.must_wait("not yet");
    assert!(tx.send(tracker.value()).is_ok());
    assert_eq!(woken.count(), 1);
    drop(rx.must_be_ready("it was sent").unwrap());
    drop(rx);
    tracker.assert_done();
}

/// C1: whoever has it last drops it, once.
#[test]
fn what_nobody_receives_is_dropped_once() {
    let tracker = Tracker::new();
    let (tx, rx) = channel();
    tx.send(tracker.value()).unwrap();
    drop(rx);
    tracker.assert_live(0, "with its receiver");
    let (tx, mut rx) = channel();
    rx.must_wait("not yet");
    tx.send(tracker.value()).unwrap();
    drop(rx);
    tracker.assert_live(0, "handed over, and not looked at");
    let (tx, rx) = channel();
    drop(rx);
    let back = tx.send(tracker.value()).unwrap_err();
    tracker.assert_live(1, "it comes back");
    drop(back.into_inner());
    tracker.assert_done();
}

/// C7, C18.
#[test]
fn a_sender_that_is_dropped_says_so() {
    let (tx, mut rx) = channel::<u8>();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    let woken = rx.must_wait("not yet");
    drop(tx);
    assert_eq!(woken.count(), 1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(rx.must_be_ready("it is gone"), Err(RecvError));
    let (tx, mut rx) = channel();
    tx.send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1), "C18: never closed with its value still there");
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

/// C5: the value of before is received, the later one comes back.
#[test]
fn close() {
    let (tx, mut rx) = channel();
    tx.send(1).unwrap();
    rx.close();
    assert_eq!(rx.recv_blocking(), Ok(1));
    let (tx, mut rx) = channel();
    let woken = rx.must_wait("not yet");
    assert!(!tx.is_closed());
    rx.close();
    rx.close();
    assert!(tx.is_closed());
    assert_eq!(woken.count(), 1, "its own wait ends");
    assert_eq!(tx.send(1).unwrap_err().into_inner(), 1);
    assert_eq!(rx.must_be_ready("it is closed"), Err(RecvError));
}

/// `closed` resolves at the close, and at the drop, also while the receiver waits; dropped, it leaves nothing behind.
#[test]
fn closed() {
    let (mut tx, mut rx) = channel::<u8>();
    tx.closed().must_wait("open");
    rx.must_wait("not yet");
    let mut closed = tx.closed();
    let woken = closed.must_wait("open");
    rx.close();
    assert_eq!(woken.count(), 1);
    closed.must_be_ready("closed");
    drop(closed);
    tx.closed().must_be_ready("and stays so");
    let (mut tx, rx) = channel::<u8>();
    let mut closed = tx.closed();
    let woken = closed.must_wait("open");
    drop(rx);
    assert!(woken.was_woken());
    closed.wait();
}

/// C26: a forgotten `closed` strands itself only.
#[test]
fn forgotten_closed() {
    let (mut tx, mut rx) = channel();
    let mut closed = tx.closed();
    closed.must_wait("open");
    std::mem::forget(closed);
    let woken = rx.must_wait("not yet");
    tx.closed().must_wait("open, beside a forgotten one");
    tx.send(5).unwrap();
    assert!(woken.was_woken());
    assert_eq!(rx.must_be_ready("sent"), Ok(5));
}

/// C12.
#[test]
fn the_last_waker_counts() {
    let (tx, mut rx) = channel();
    let first = rx.must_wait("not yet");
    let second = rx.must_wait("not yet");
    assert_eq!(Arc::strong_count(&first), 1, "the first is let go");
    tx.send(1).unwrap();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert_eq!(rx.must_be_ready("sent"), Ok(1));
    let (tx, mut rx) = channel();
    let (unequal, wakes) = unequal_waker();
    (0..3).for_each(|_| assert!(rx.poll_with(&unequal).is_pending()));
    tx.send(1).unwrap();
    assert_eq!(wakes.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// C9, C12: whatever a receiver that waits goes on with, its waker is woken or dropped, once; and what comes then is received.
#[test]
fn each_waker_goes_once() {
    /// `end` gets both ends and the waker of the receiver, which waits.
    fn check(wakes: usize, end: impl FnOnce(Sender<u8>, &mut Receiver<u8>, &CountingWaker)) {
        let (tx, mut rx) = channel();
        let woken = rx.must_wait("not yet");
        assert!(rx.poll_once(&woken).is_pending());
        assert_eq!(Arc::strong_count(&woken), 2, "one is kept, however often it is polled");
        end(tx, &mut rx, &woken);
        assert_eq!((Arc::strong_count(&woken), woken.count()), (1, wakes));
    }
    check(1, |tx, rx, _| {
        tx.send(1).unwrap();
        assert_eq!(rx.must_be_ready("sent"), Ok(1));
    });
    check(1, |tx, rx, woken| {
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(woken.count(), 0, "and it waits still");
        drop(tx);
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    });
    check(1, |_tx, rx, _| {
        rx.close();
        assert_eq!(rx.must_be_ready("closed"), Err(RecvError));
    });
    check(0, |mut tx, rx, _| {
        let mut closed = tx.closed();
        closed.must_wait("open");
        drop(std::mem::replace(rx, channel().1));
        closed.must_be_ready("it is gone");
    });
    check(0, |tx, rx, woken| {
        let other = rx.must_wait("with another one");
        assert_eq!(Arc::strong_count(&other), 2);
        tx.send(1).unwrap();
        assert_eq!((other.count(), woken.count()), (1, 0));
        assert_eq!(rx.try_recv(), Ok(1));
        assert_eq!(Arc::strong_count(&other), 1);
    });
    check(0, |tx, rx, woken| {
        assert_eq!(rx.wait_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        tx.send(1).unwrap();
        assert_eq!((woken.count(), rx.must_be_ready("sent")), (0, Ok(1)));
    });
    check(0, |tx, rx, _| {
        let missed = leno::select_blocking! { got = &mut *rx => Some(got), default => None };
        assert_eq!(missed, None);
        let again = rx.must_wait("once more on its own");
        tx.send(1).unwrap();
        assert_eq!((again.count(), rx.must_be_ready("sent")), (1, Ok(1)));
    });
    check(0, |tx, rx, _| {
        let mut select = Box::pin(async {
            leno::select! { got = &mut *rx => got }
        });
        let of_select = select.must_wait("not yet");
        tx.send(1).unwrap();
        assert_eq!((of_select.count(), select.must_be_ready("sent")), (1, Ok(1)));
    });
    check(0, |tx, rx, _| {
        let mut set = Select::new();
        set.add(&mut *rx);
        assert_eq!(set.try_ready(), None);
        let mut ready = set.ready();
        let asks = ready.must_wait("nothing is ready");
        tx.send(1).unwrap();
        assert_eq!((asks.was_woken(), ready.must_be_ready("sent")), (true, 0));
        drop(ready);
        drop(set);
        assert_eq!(rx.must_be_ready("sent"), Ok(1));
    });
}

/// A receiver that waits says so, and so does the fiber that it waits for, each time that it is polled.
#[test]
fn a_receiver_shows_that_it_waits() {
    let (tx, mut rx) = channel();
    assert!(format!("{rx:?}").contains("waits: false"));
    rx.must_wait("not yet");
    assert!(format!("{rx:?}").contains("waits: true"));
    tx.send(1).unwrap();
    assert_eq!(rx.must_be_ready("sent"), Ok(1));
    assert!(format!("{rx:?}").contains("waits: false"));

    let cord = Cord::builder().inspect(true).build();
    let (tx, mut rx) = channel();
    let last = Rc::new(RefCell::new(None));
    let of_fiber = Rc::clone(&last);
    let fiber = cord.spawn_local(poll_fn(move |cx| {
        *of_fiber.borrow_mut() = Some(cx.waker().clone());
        Pin::new(&mut rx).poll(cx)
    }));
    let shown = || {
        let dump = cord.dump();
        let waits = dump.fibers().iter().find(|info| info.id() == fiber.id()).expect("it lives").waits();
        assert_eq!(waits.len(), 1, "{dump}");
        (waits[0].operation(), waits[0].object().map(|object| object.kind()))
    };
    for _ in 0..2 {
        cord.block_on(yield_now());
        assert_eq!(shown(), ("recv", Some("oneshot")));
        last.borrow_mut().take().expect("it was polled").wake();
    }
    tx.send(7).unwrap();
    assert_eq!(cord.block_on(fiber).unwrap(), Ok(7));
}

/// F10: oneshots that are always ready use up the budget of a poll.
#[test]
fn others_run_beside_oneshots_that_are_ready() {
    let cord = Cord::new();
    let ran = Rc::new(Cell::new(false));
    let other = Rc::clone(&ran);
    cord.block_on(async {
        leno::fiber::spawn_local(async move { other.set(true) });
        for round in 0..1000 {
            let (tx, rx) = channel();
            tx.send(round).unwrap();
            assert_eq!(rx.await, Ok(round));
        }
        assert!(ran.get());
    });
}

/// C16, C28: a timeout takes nothing, and it can be waited for again.
#[test]
fn timeouts() {
    let (tx, mut rx) = channel();
    assert_eq!(rx.wait_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
    assert_eq!(rx.wait_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    let past = Instant::now().checked_sub(Duration::from_secs(1)).unwrap_or_else(Instant::now);
    assert_eq!(rx.wait_deadline(past), Err(RecvTimeoutError::Timeout));
    tx.send(1).unwrap();
    assert_eq!(rx.wait_timeout(Duration::ZERO), Ok(1));
    let (tx, mut rx) = channel::<u8>();
    drop(tx);
    assert_eq!(rx.wait_timeout(Duration::MAX), Err(RecvTimeoutError::Closed));
    let (mut tx, rx) = channel::<u8>();
    assert!(tx.closed().wait_timeout(Duration::from_millis(1)).is_err());
    drop(rx);
    assert!(tx.closed().wait_deadline(past).is_ok());
}

/// C19: each place at each end.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn from_anywhere_to_anywhere() {
    for from in Place::ALL {
        for to in Place::ALL {
            let mut crew = Crew::new("oneshots between places", &[from, to]);
            for _ in 0..20 {
                let (tx, rx) = channel();
                let (mut back, owner) = channel::<u8>();
                crew.add(move |place| async move {
                    tx.send(7).unwrap();
                    match place {
                        Place::Thread => back.closed().wait(),
                        _ => back.closed().await,
                    }
                });
                crew.add(move |place| async move {
                    let got = match place {
                        Place::Thread => rx.recv_blocking(),
                        _ => rx.await,
                    };
                    assert_eq!(got, Ok(7));
                    drop(owner);
                });
            }
            crew.run();
        }
    }
}

/// S1, S9: a branch that loses has taken nothing, and can go on.
#[test]
fn branches_of_select() {
    leno::block_on(async {
        let (tx, mut rx) = channel();
        let (other_tx, mut other) = channel();
        tx.send(1).unwrap();
        other_tx.send(2).unwrap();
        let first = leno::select_biased! {
            got = &mut rx => got,
            got = &mut other => got,
        };
        assert_eq!(first, Ok(1));
        assert!(rx.is_terminated() && !other.is_terminated());
        assert_eq!(other.await, Ok(2));
        // By value, a closed one, and `closed` itself.
        let (tx, rx) = channel::<u8>();
        drop(tx);
        let (mut job, owner) = channel::<u8>();
        drop(owner);
        let mut seen = Vec::new();
        for _ in 0..20 {
            let (_tx, idle) = channel::<u8>();
            seen.push(leno::select! {
                () = job.closed() => "closed",
                _ = idle => unreachable!("nobody sends"),
            });
        }
        assert!(seen.iter().all(|branch| *branch == "closed"));
        leno::select! {
            Ok(_) = rx => unreachable!("it is closed"),
            else => {}
        }
    });
}

/// A select waits over several; a thread's, too.
#[test]
fn selects_that_wait() {
    within("selects over oneshots", || {
        for round in 0..200 {
            let (tx, mut rx) = channel();
            let (idle, mut other) = channel::<usize>();
            let sender = thread::spawn(move || tx.send(round).unwrap());
            let got = if round % 2 == 0 {
                leno::select_blocking! { got = &mut rx => got, got = &mut other => got }
            } else {
                leno::block_on(async {
                    leno::select! { got = &mut other => got, got = &mut rx => got }
                })
            };
            assert_eq!(got, Ok(round));
            sender.join().unwrap();
            assert!(!idle.is_closed());
            drop(idle);
            assert_eq!(other.recv_blocking(), Err(RecvError));
        }
    });
}

/// S10: a select that is dropped after the value was handed to it gives it back.
#[test]
fn a_dropped_select_loses_nothing() {
    let tracker = Tracker::new();
    let (tx, mut rx) = channel();
    let (_idle, mut other) = channel::<u8>();
    {
        let mut select = Box::pin(async {
            leno::select! { got = &mut rx => drop(got), _ = &mut other => {} }
        });
        select.must_wait("nothing is there");
        tx.send(tracker.value()).unwrap();
    }
    tracker.assert_live(1, "it is still there");
    drop(rx.try_recv().expect("C9: not lost"));
    tracker.assert_done();
}

/// Wherever a receiver stands when it is dropped: fresh, waiting, handed to; and a sender beside it.
#[test]
fn cancelled_anywhere() {
    let tracker = Tracker::new();
    for polls in 0..3 {
        for sends in [false, true] {
            let (mut tx, mut rx) = channel();
            for _ in 0..polls {
                rx.must_wait("not yet");
            }
            tx.closed().must_wait("open");
            if sends {
                tx.send(tracker.value()).unwrap();
                drop(rx);
            } else {
                drop(rx);
                tx.closed().must_be_ready("closed");
            }
        }
    }
    tracker.assert_done();
}

/// C13: a waker that uses the channel it was woken for.
#[test]
fn wakers_may_use_the_channel() {
    let (tx, rx) = channel();
    let rx = Arc::new(Mutex::new(Some(rx)));
    let got = Arc::new(Mutex::new(None));
    let (of_waker, into) = (Arc::clone(&rx), Arc::clone(&got));
    let waker = hooked_waker(move |event| {
        if event == Event::Wake {
            let mut rx = of_waker.lock().unwrap().take().expect("woken once");
            *into.lock().unwrap() = Some(rx.try_recv());
        }
    });
    let mut lent = rx.lock().unwrap();
    assert!(lent.as_mut().unwrap().poll_with(&waker).is_pending());
    drop(lent);
    tx.send(3).unwrap();
    assert_eq!(*got.lock().unwrap(), Some(Ok(3)));
}

/// C13, C29: a waker that panics; the value is there all the same.
#[test]
fn wakers_may_panic() {
    let tracker = Tracker::new();
    let (tx, mut rx) = channel();
    let panics = panicking_waker();
    assert!(rx.poll_with(&panics).is_pending());
    let value = tracker.value();
    catch_unwind(AssertUnwindSafe(|| tx.send(value))).expect_err("the panic goes through");
    drop(rx.must_be_ready("C29: sent").unwrap());
    let (mut tx, rx) = channel::<u8>();
    let mut closed = tx.closed();
    assert!(closed.poll_with(&panics).is_pending());
    catch_unwind(AssertUnwindSafe(|| drop(rx))).expect_err("the panic goes through");
    closed.must_be_ready("closed");
    drop(closed);
    assert!(tx.is_closed());
    tracker.assert_done();
}

/// C13, C29: a waker that panics when it is cloned or dropped: nobody else's wake is lost, and no value.
#[test]
fn clones_and_drops_of_wakers_may_panic() {
    fn panics_at(at: Event) -> (std::task::Waker, Arc<Mutex<bool>>) {
        let armed = Arc::new(Mutex::new(true));
        let of_waker = Arc::clone(&armed);
        let waker = hooked_waker(move |event| {
            let panics = event == at && std::mem::take(&mut *of_waker.lock().unwrap());
            assert!(!panics, "planted: a waker panics");
        });
        (waker, armed)
    }
    fn panics(f: impl FnOnce()) {
        catch_unwind(AssertUnwindSafe(f)).expect_err("the panic goes through");
    }
    // Cloned, first and instead of another one, which stays.
    let (tx, mut rx) = channel();
    let (waker, armed) = panics_at(Event::Clone);
    panics(|| _ = rx.poll_with(&waker));
    let woken = rx.must_wait("not yet");
    *armed.lock().unwrap() = true;
    panics(|| _ = rx.poll_with(&waker));
    tx.send(1).unwrap();
    assert_eq!((woken.count(), rx.must_be_ready("sent")), (1, Ok(1)));
    // Dropped, for another one, which waits then.
    let (tx, mut rx) = channel();
    let (waker, armed) = panics_at(Event::Drop);
    assert!(rx.poll_with(&waker).is_pending());
    let woken = CountingWaker::new();
    panics(|| _ = rx.poll_once(&woken));
    tx.send(1).unwrap();
    assert_eq!((woken.count(), rx.must_be_ready("sent")), (1, Ok(1)));
    // With its receiver: whoever waits for that is told, and the sender, which goes last, frees all.
    *armed.lock().unwrap() = true;
    let tracker = Tracker::new();
    let (mut tx, mut rx) = channel();
    assert!(rx.poll_with(&waker).is_pending());
    let mut closed = tx.closed();
    let told = closed.must_wait("open");
    panics(|| drop(rx));
    assert_eq!(told.count(), 1);
    closed.must_be_ready("closed");
    drop(closed);
    drop(tx.send(tracker.value()).unwrap_err());
    tracker.assert_done();
    // In a select, and on a thread: the receiver is as it was.
    for blocks in [false, true] {
        *armed.lock().unwrap() = true;
        let (tx, mut rx) = channel();
        assert!(rx.poll_with(&waker).is_pending());
        panics(|| {
            if blocks {
                _ = rx.wait_timeout(Duration::ZERO);
            } else {
                leno::select_blocking! { _ = &mut rx => {}, default => {} }
            }
        });
        assert!(rx.poll_with(std::task::Waker::noop()) == Poll::Pending);
        tx.send(1).unwrap();
        assert_eq!(rx.must_be_ready("sent"), Ok(1));
    }
    // Woken at a close, beside another one.
    let (waker, _) = panics_at(Event::Wake);
    let (mut tx, mut rx) = channel::<u8>();
    assert!(rx.poll_with(&waker).is_pending());
    let mut closed = tx.closed();
    let told = closed.must_wait("open");
    panics(|| rx.close());
    assert_eq!((told.count(), rx.must_be_ready("closed")), (1, Err(RecvError)));
}

/// C13: a value whose drop panics.
#[test]
fn values_may_panic() {
    struct Panics(#[allow(dead_code, reason = "kept to be dropped")] crate::support::Tracked);
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("planted: a drop panics");
        }
    }
    let tracker = Tracker::new();
    let (tx, rx) = channel();
    assert!(tx.send(Panics(tracker.value())).is_ok());
    catch_unwind(AssertUnwindSafe(|| drop(rx))).expect_err("the panic goes through");
    // During another panic.
    let (tx, rx) = channel();
    assert!(tx.send(Panics(tracker.value())).is_ok());
    let both = move || {
        let _rx = rx;
        panic!("planted");
    };
    catch_unwind(AssertUnwindSafe(both)).expect_err("one goes through");
    tracker.assert_done();
}

/// C15: sizes and alignments of all kinds.
#[test]
fn values_of_all_sizes() {
    #[repr(align(256))]
    #[derive(PartialEq, Debug)]
    struct Aligned(u8);
    let (tx, rx) = channel();
    tx.send(()).unwrap();
    assert_eq!(rx.recv_blocking(), Ok(()));
    let (tx, mut rx) = channel();
    rx.must_wait("not yet");
    tx.send(Aligned(7)).unwrap();
    assert_eq!(rx.recv_blocking(), Ok(Aligned(7)));
    let (tx, rx) = channel();
    tx.send(vec![1_u8; 1 << 20]).unwrap();
    assert_eq!(rx.recv_blocking().unwrap().len(), 1 << 20);
}

/// C25: on a cord a blocking receive would wait for itself.
#[test]
fn blocking_on_a_cord_panics() {
    let cord = Cord::new();
    cord.block_on(async {
        let (tx, rx) = channel();
        tx.send(1).unwrap();
        catch_unwind(AssertUnwindSafe(|| rx.recv_blocking())).expect_err("C25");
        let (mut tx, rx) = channel::<u8>();
        drop(rx);
        catch_unwind(AssertUnwindSafe(|| tx.closed().wait())).expect_err("C25");
    });
}

/// No `'static` bound; a value that borrows.
#[test]
fn values_that_borrow() {
    let text = String::from("warp");
    thread::scope(|scope| {
        let (tx, rx) = oneshot::channel();
        let text = &text;
        scope.spawn(move || tx.send(text.as_str()));
        assert_eq!(rx.recv_blocking(), Ok("warp"));
    });
}

/// C1 with real threads: each of many is received or comes back, and each is dropped once.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn many_race() {
    within("oneshots that race", || {
        let tracker = Tracker::new();
        let (pairs, receivers) = leno::bounded::<(usize, Receiver<_>)>(64);
        let of_thread = thread::spawn(move || {
            let mut received = 0;
            for (round, mut rx) in receivers {
                match round % 5 {
                    0 => received += usize::from(rx.recv_blocking().is_ok()),
                    1 => drop(rx),
                    2 => received += usize::from(leno::block_on(rx).is_ok()),
                    3 => {
                        rx.close();
                        received += usize::from(rx.try_recv().is_ok());
                    }
                    _ => {
                        let early = rx.wait_timeout(Duration::from_micros(round as u64 % 50));
                        received += usize::from(early.is_ok());
                        received += usize::from(rx.recv_blocking().is_ok());
                    }
                }
            }
            received
        });
        let mut sent = 0;
        for round in 0..20_000 {
            let (mut tx, rx) = channel();
            pairs.send_blocking((round, rx)).unwrap();
            if round % 7 == 0 {
                let _ = tx.closed().poll_with(std::task::Waker::noop());
            }
            if round % 11 == 3 && round % 5 != 4 {
                drop(tx);
                continue;
            }
            // (Of one whose receiver is dropped nobody knows.)
            sent += usize::from(tx.send(tracker.value()).is_ok() && round % 5 != 1);
        }
        drop(pairs);
        let received = of_thread.join().unwrap();
        assert_eq!(received, sent);
        tracker.assert_done();
    });
}
