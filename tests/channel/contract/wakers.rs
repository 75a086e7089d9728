//! Wakers: their replacement (C12), re-entrancy, and panics in foreign code (C13).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;

use leno::channel::RecvError;

use crate::support::{CountingWaker, Event, Kind, PollExt, Tracker, hooked_waker, unequal_waker, within};
use crate::{contracts, limited_contracts};

/// C12: the waker of the last poll is woken, the earlier ones are not and are not kept.
fn the_last_waker_counts(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    let earlier = (0..5).map(|_| receiving.must_wait("empty")).collect::<Vec<_>>();
    let last = receiving.must_wait("empty");
    assert!(earlier.iter().all(|w| Arc::strong_count(w) == 1), "C12: replaced wakers are let go");
    tx.try_send(0).expect("a receiver waits");
    assert!(last.was_woken() && !earlier.iter().any(|w| w.was_woken()), "C12: the last waker is woken");
    assert_eq!(receiving.must_be_ready("served"), Ok(0));
    if !kind.has_limit() {
        return;
    }
    let held = kind.fill(&tx, |i| i + 1);
    let mut sending = tx.send(held + 1);
    let earlier = (0..5).map(|_| sending.must_wait("full")).collect::<Vec<_>>();
    let last = sending.must_wait("full");
    assert!(earlier.iter().all(|w| Arc::strong_count(w) == 1), "C12: replaced wakers are let go");
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(last.was_woken() && !earlier.iter().any(|w| w.was_woken()), "C12: the last waker is woken");
    assert_eq!(sending.must_be_ready("served"), Ok(()));
}

/// C2, C12: polling again with another waker keeps the place in the queue.
fn a_new_waker_keeps_the_place(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut waiting = (0..4).map(|_| rx.recv()).collect::<Vec<_>>();
    for receiving in &mut waiting {
        receiving.must_wait("empty");
    }
    // The first is polled last.
    let wakers = waiting.iter_mut().rev().map(|r| r.must_wait("empty")).collect::<Vec<_>>();
    for (i, receiving) in waiting.iter_mut().enumerate() {
        tx.try_send(i).expect("a receiver waits");
        assert!(wakers[3 - i].was_woken(), "C2: receiver {i} is next");
        assert_eq!(receiving.must_be_ready("served"), Ok(i));
    }
}

/// C12: futures move between threads and executors between polls.
fn a_pending_future_moves(kind: Kind) {
    within("C12: a future that moves", move || {
        let (tx, rx) = kind.open();
        let mut receiving = rx.recv();
        receiving.must_wait("polled by hand first");
        thread::scope(|scope| {
            let moved = scope.spawn(move || leno::block_on(receiving));
            let sending = scope.spawn(|| tx.send_blocking(1));
            assert_eq!(moved.join().expect("the receiver ends"), Ok(1), "C12: completed elsewhere");
            assert_eq!(sending.join().expect("the sender ends"), Ok(()));
        });
        if !kind.has_limit() {
            return;
        }
        // A waiting operation can also be finished by blocking.
        let held = kind.fill(&tx, |i| i);
        let mut sending = tx.send(held);
        let before = sending.must_wait("full");
        thread::scope(|scope| {
            let moved = scope.spawn(move || sending.wait());
            assert_eq!(rx.recv_blocking(), Ok(0));
            assert_eq!(moved.join().expect("the sender ends"), Ok(()), "C12: completed elsewhere");
        });
        assert_eq!(Arc::strong_count(&before), 1, "C12: replaced wakers are let go");
    });
}

/// C12: a waker whose clones never equal it (`will_wake` may always say no) can poll again and again.
fn a_waker_that_equals_none_of_its_clones(kind: Kind) {
    within("C12: polling with a waker that equals none of its clones", move || {
        let (tx, rx) = kind.open();
        let (waker, wakes) = unequal_waker();
        let mut receiving = rx.recv();
        for _ in 0..3 {
            assert!(receiving.poll_with(&waker).is_pending(), "empty");
        }
        tx.try_send(0).expect("a receiver waits");
        assert_eq!(wakes.load(Ordering::SeqCst), 1, "C12: woken");
        assert_eq!(receiving.poll_with(&waker), Poll::Ready(Ok(0)));
        let held = kind.fill(&tx, |i| i);
        let senders = kind.waiting(1);
        let mut sending = (0..senders).map(|_| tx.send(held)).collect::<Vec<_>>();
        let mut closed = tx.closed();
        for _ in 0..3 {
            assert!(sending.iter_mut().all(|sending| sending.poll_with(&waker).is_pending()), "full");
            assert!(closed.poll_with(&waker).is_pending(), "open");
        }
        rx.close();
        assert_eq!(wakes.load(Ordering::SeqCst), 2 + senders, "C5, C12: woken");
        assert!(sending.iter_mut().all(|sending| sending.poll_with(&waker).is_ready()), "closed");
        assert!(closed.poll_with(&waker).is_ready(), "closed");
    });
}

/// No waker outlives what it waits for, whatever ended the wait.
fn no_waker_is_kept(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut wakers = Vec::new();
    let held = kind.fill(&tx, |i| i);
    let mut waiting = (0..kind.waiting(6)).map(|i| tx.send(held + i)).collect::<Vec<_>>();
    wakers.extend(waiting.iter_mut().map(|s| s.must_wait("full")));
    assert_eq!(rx.try_recv(), Ok(0));
    drop(waiting.split_off(kind.waiting(3)));
    rx.try_iter().for_each(drop);
    drop(waiting);
    let mut waiting = (0..6).map(|_| rx.recv()).collect::<Vec<_>>();
    wakers.extend(waiting.iter_mut().map(|r| r.must_wait("empty")));
    tx.try_send(0).expect("a receiver waits");
    drop(waiting.split_off(3));
    tx.close();
    drop(waiting);
    let kept = wakers.iter().filter(|w| Arc::strong_count(w) > 1).count();
    assert_eq!(kept, 0, "wakers still held by a channel on which nobody waits");
}

/// C13: a receiver's `wake` sends, receives, closes and drops handles of the same channel.
fn wake_may_reenter(kind: Kind) {
    within("C13: wake re-enters the channel", move || {
        let (tx, rx) = kind.open();
        let (mut first, mut second) = (rx.recv(), rx.recv());
        let results = Arc::new(Mutex::new(Vec::new()));
        let waker = hooked_waker({
            let (tx, rx, results) = (tx.clone(), rx.clone(), Arc::clone(&results));
            move |event| {
                if event == Event::Wake {
                    // `second` waits behind, so there is somebody to send to.
                    let sent = tx.try_send(2).is_ok();
                    let mut sending = tx.send(3);
                    let pending = sending.poll_with(Waker::noop()).is_pending();
                    drop(sending);
                    let mut receiving = rx.recv();
                    let _ = receiving.poll_with(Waker::noop());
                    drop(receiving);
                    drop((tx.clone(), rx.clone()));
                    let closed = tx.close();
                    results.lock().unwrap().push((sent, pending, closed));
                }
            }
        });
        assert!(first.poll_with(&waker).is_pending(), "empty");
        second.must_wait("empty");
        tx.try_send(1).expect("a receiver waits");
        let results = std::mem::take(&mut *results.lock().unwrap());
        assert_eq!(results.len(), 1, "C13: woken once");
        assert!(results[0].2, "C13: closed from inside wake");
        assert!(tx.is_closed());
        // Whatever was taken in between, nothing hangs and both are decided.
        let decided = [first.poll_with(Waker::noop()), second.poll_with(Waker::noop())];
        assert!(decided.iter().all(Poll::is_ready), "C5: both are decided, got {decided:?}");
    });
}

/// C13: a sender's `wake` uses the same channel.
fn a_senders_wake_may_reenter(kind: Kind) {
    within("C13: a sender's wake re-enters the channel", move || {
        let (tx, rx) = kind.open();
        let held = kind.fill(&tx, |i| i);
        let mut sending = tx.send(held);
        let received = Arc::new(Mutex::new(Vec::new()));
        let waker = hooked_waker({
            let (rx, received) = (rx.clone(), Arc::clone(&received));
            move |event| {
                if event == Event::Wake {
                    received.lock().unwrap().extend(rx.drain());
                    rx.close_now();
                }
            }
        });
        assert!(sending.poll_with(&waker).is_pending(), "full");
        assert_eq!(rx.try_recv(), Ok(0));
        assert_eq!(*received.lock().unwrap(), (1..held + usize::from(held > 0)).collect::<Vec<_>>());
        assert_eq!(sending.must_be_ready("taken"), Ok(()));
        assert!(tx.is_closed(), "C13: closed from inside wake");
    });
}

/// C13: the drop and the clone of a waker use the same channel.
fn a_wakers_clone_and_drop_may_reenter(kind: Kind) {
    within("C13: clone and drop of a waker re-enter the channel", move || {
        let (tx, rx) = kind.open::<usize>();
        let calls = Arc::new(AtomicUsize::new(0));
        let reentrant = || {
            let (tx, rx, calls) = (tx.clone(), rx.clone(), Arc::clone(&calls));
            hooked_waker(move |event| {
                calls.fetch_add(1, Ordering::SeqCst);
                if event != Event::Wake {
                    let mut receiving = rx.recv();
                    let _ = receiving.poll_with(Waker::noop());
                    drop(receiving);
                    let mut closed = tx.closed();
                    let _ = closed.poll_with(Waker::noop());
                    drop((tx.clone(), rx.try_recv()));
                }
            })
        };
        let mut receiving = rx.recv();
        assert!(receiving.poll_with(&reentrant()).is_pending(), "empty");
        assert!(receiving.poll_with(&reentrant()).is_pending(), "C12: replaced");
        drop(receiving);
        let mut closed = tx.closed();
        assert!(closed.poll_with(&reentrant()).is_pending(), "open");
        assert!(closed.poll_with(&reentrant()).is_pending(), "C12: replaced");
        drop(closed);
        let mut receiving = rx.recv();
        assert!(receiving.poll_with(&reentrant()).is_pending(), "empty");
        tx.close();
        assert_eq!(receiving.must_be_ready("closed"), Err(RecvError));
        assert!(calls.load(Ordering::SeqCst) > 0, "the hooks ran");
    });
}

/// C13: `wake` may drop the last handles of the channel.
fn wake_may_drop_the_last_handles(kind: Kind) {
    within("C13: wake drops the last handles", move || {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (tx2, rx2) = kind.open::<()>();
        let mut waiting = rx2.recv();
        // Waiting on another channel, this waker owns all handles of the first one.
        if kind.is_buffered() {
            tx.try_send(tracker.value()).expect("there is room");
        }
        let handles = Mutex::new(Some((tx, rx)));
        let waker = hooked_waker(move |event| {
            if event == Event::Wake {
                drop(handles.lock().unwrap().take());
            }
        });
        assert!(waiting.poll_with(&waker).is_pending(), "empty");
        drop(waker);
        drop(tx2);
        tracker.assert_live(0, "the handles went with the wake");
        assert_eq!(waiting.must_be_ready("closed"), Err(RecvError));
    });
}

fn panicking_waker(at: Event) -> Waker {
    let armed = AtomicUsize::new(1);
    hooked_waker(move |event| {
        if event == at && armed.swap(0, Ordering::SeqCst) == 1 {
            panic!("planted: {event:?} of a waker");
        }
    })
}

/// After foreign code panicked: the channel passes values, waits, closes.
fn assert_usable(tx: &leno::Sender<usize>, rx: &leno::Receiver<usize>) {
    rx.drain().for_each(drop);
    let mut receiving = rx.recv();
    let waker = receiving.must_wait("C13: usable: empty");
    tx.try_send(77).expect("C13: usable: a receiver waits");
    assert!(waker.was_woken(), "C13: usable: wakes");
    assert_eq!(receiving.must_be_ready("C13: usable"), Ok(77));
    let mut last = rx.recv();
    let waker = last.must_wait("C13: usable: empty");
    assert!(tx.close(), "C13: usable: closes");
    assert!(waker.was_woken(), "C13: usable: close wakes");
    assert_eq!(last.must_be_ready("C13: usable: closed"), Err(RecvError));
}

/// C13: a panic in `clone`, `wake` or `drop` of a receiver's waker leaves the channel usable and loses no value.
fn panicking_wakers_of_receivers(kind: Kind) {
    within("C13: panicking wakers of receivers", move || {
        for at in [Event::Clone, Event::Wake, Event::Drop] {
            let (tx, rx) = kind.open();
            let (mut first, mut second) = (rx.recv(), rx.recv());
            let waker = panicking_waker(at);
            let polled = catch_unwind(AssertUnwindSafe(|| first.poll_with(&waker)));
            assert!(
                !matches!(polled, Ok(Poll::Ready(_))),
                "empty: pending, or the panic of {at:?} came through"
            );
            second.must_wait("empty");
            let sent = catch_unwind(AssertUnwindSafe(|| tx.try_send(1)));
            assert!(
                !matches!(sent, Ok(Err(_))),
                "a receiver waits: sent, or the panic of {at:?} came through"
            );
            // The value is with one of the two, or still in the channel, or it was not sent at all.
            let mut found = Vec::new();
            for receiving in [&mut first, &mut second] {
                let waker = CountingWaker::new();
                if let Ok(Poll::Ready(value)) = catch_unwind(AssertUnwindSafe(|| receiving.poll_once(&waker)))
                {
                    found.extend(value);
                }
            }
            let _ = catch_unwind(AssertUnwindSafe(|| drop(waker)));
            drop((first, second));
            found.extend(rx.drain());
            assert!(found == [1] || (found.is_empty() && sent.is_err()), "C1: once, got {found:?} ({at:?})");
            assert_usable(&tx, &rx);
        }
    });
}

/// C13: a panic in `clone`, `wake` or `drop` of a sender's waker leaves the channel usable.
fn panicking_wakers_of_senders(kind: Kind) {
    within("C13: panicking wakers of senders", move || {
        for at in [Event::Clone, Event::Wake, Event::Drop] {
            let (tx, rx) = kind.open();
            let held = kind.fill(&tx, |i| i);
            let mut sending = tx.send(held);
            let waker = panicking_waker(at);
            let polled = catch_unwind(AssertUnwindSafe(|| sending.poll_with(&waker)));
            assert!(
                !matches!(polled, Ok(Poll::Ready(_))),
                "full: pending, or the panic of {at:?} came through"
            );
            let received = catch_unwind(AssertUnwindSafe(|| rx.try_recv()));
            if held > 0 {
                assert!(
                    !matches!(received, Ok(Err(_))),
                    "a value is there, or the panic of {at:?} came through"
                );
            }
            let _ = catch_unwind(AssertUnwindSafe(|| drop(waker)));
            let _ = catch_unwind(AssertUnwindSafe(|| drop(sending)));
            assert_usable(&tx, &rx);
        }
    });
}

/// C5, C13: a `wake` that panics, or several, does not leave the others asleep when the channel closes; one panic goes on.
fn a_panicking_wake_leaves_nobody_asleep(kind: Kind) {
    within("C13: a panicking wake during close", move || {
        for bad in [&[0][..], &[5], &[11], &[0, 1, 11]] {
            let (tx, rx) = kind.open::<usize>();
            let mut waiting = (0..12).map(|_| rx.recv()).collect::<Vec<_>>();
            let mut wakers = Vec::new();
            for (i, receiving) in waiting.iter_mut().enumerate() {
                if bad.contains(&i) {
                    assert!(receiving.poll_with(&panicking_waker(Event::Wake)).is_pending(), "empty");
                } else {
                    wakers.push(receiving.must_wait("empty"));
                }
            }
            let closed = catch_unwind(AssertUnwindSafe(|| tx.close()));
            assert!(
                closed.is_err() && tx.is_closed(),
                "C13, C29: the closing happened, and the panic went on"
            );
            let asleep = wakers.iter().filter(|w| !w.was_woken()).count();
            assert_eq!(asleep, 0, "C13: receivers left asleep after the wake of {bad:?} panicked");
            for receiving in &mut waiting {
                assert_eq!(receiving.must_be_ready("closed"), Err(RecvError));
            }
        }
    });
}

/// C29: who takes a value, and wakes a sender whose waker panics, has not lost the value; the other sender goes on.
fn a_panicking_wake_loses_no_value(kind: Kind) {
    within("C29: a sender's waker panics", move || {
        for how in 0..6 {
            let (tx, rx) = kind.open();
            let held = kind.fill(&tx, |i| i);
            let (mut first, mut second) = (tx.send(held), tx.send(held + 1));
            assert!(first.poll_with(&panicking_waker(Event::Wake)).is_pending(), "full");
            let waker = second.must_wait("full");
            let mut found = Vec::new();
            let received = catch_unwind(AssertUnwindSafe(|| match how {
                0 => rx.try_recv().ok(),
                1 => rx.recv().must_be_ready("there").ok(),
                2 => rx.recv_blocking().ok(),
                3 => leno::select_blocking! { x = rx.recv() => x.ok(), () = std::future::pending() => None },
                4 => {
                    let mut set = leno::select::Select::new();
                    let token = set.recv(&rx);
                    set.select().wait().recv(token).ok()
                }
                _ => rx.iter().next(),
            }));
            assert!(received.is_err(), "C29: the panic goes on, way {how}");
            while let Ok(value) = rx.try_recv() {
                found.push(value);
            }
            assert_eq!(found, (0..held + 2).collect::<Vec<_>>(), "C29: way {how}");
            assert!(waker.was_woken(), "C29: the other one is woken");
            assert_eq!(first.must_be_ready("sent"), Ok(()));
            assert_eq!(second.must_be_ready("sent"), Ok(()));
            assert_usable(&tx, &rx);
        }
    });
}

/// C29: a value that is handed over to a receiver whose waker panics is that receiver's; and what is given back goes to the
/// next one although its waker panics.
fn a_panicking_wake_at_a_hand_over(kind: Kind) {
    within("C29: a receiver's waker panics", move || {
        for how in 0..5 {
            let (tx, rx) = kind.open();
            let (mut first, mut second, mut third) = (rx.recv(), rx.recv(), rx.recv());
            if how == 0 {
                first.must_wait("empty");
                assert!(second.poll_with(&panicking_waker(Event::Wake)).is_pending(), "empty");
                third.must_wait("empty");
                tx.try_send(1).expect("a receiver waits");
                let given_back = catch_unwind(AssertUnwindSafe(|| drop(first)));
                // A ring has it again; the others hand it to the next one.
                let _ = given_back;
            } else {
                drop(first);
                assert!(second.poll_with(&panicking_waker(Event::Wake)).is_pending(), "empty");
                third.must_wait("empty");
                let sent = catch_unwind(AssertUnwindSafe(|| match how {
                    1 => tx.try_send(1).is_ok(),
                    2 => tx.send(1).must_be_ready("a receiver waits").is_ok(),
                    3 => tx.send_blocking(1).is_ok(),
                    _ => {
                        leno::select_blocking! { x = tx.send(1) => x.is_ok(), () = std::future::pending() => false }
                    }
                }));
                assert!(sent.is_err(), "C29: the panic goes on, way {how}");
            }
            assert_eq!(second.must_be_ready("C29: it was handed over"), Ok(1), "{how}");
            let waker = third.must_wait("empty");
            tx.try_send(2).expect("a receiver waits");
            assert!(waker.was_woken(), "C29: everybody else is woken");
            assert_eq!(third.must_be_ready("served"), Ok(2));
            assert_usable(&tx, &rx);
        }
    });
}

/// C29: as a lock is given up a waker panics: the lock is not lost, nor is the next one forgotten.
#[test]
fn a_panicking_wake_at_an_unlock() {
    within("C29: the waker of one that waits for a lock panics", || {
        for fair in [true, false] {
            for drop_first in [true, false] {
                let mutex = if fair { leno::sync::Mutex::fair(0) } else { leno::sync::Mutex::new(0) };
                let guard = mutex.try_lock().expect("free");
                let (mut first, mut second) = (mutex.lock(), mutex.lock());
                assert!(first.poll_with(&panicking_waker(Event::Wake)).is_pending(), "locked");
                let waker = second.must_wait("locked");
                let unlocked = catch_unwind(AssertUnwindSafe(|| drop(guard)));
                assert!(unlocked.is_err(), "the panic comes through");
                if drop_first {
                    drop(first);
                } else {
                    drop(first.must_be_ready("C29: it has the lock, or may take it"));
                }
                assert!(waker.was_woken(), "C29: the next one is woken");
                drop(second.must_be_ready("C29: it is its turn"));
                assert!(mutex.try_lock().is_some(), "C29: free");
                mutex.assert_valid();
            }
        }
    });
}

/// A value whose drop panics, once in its life, if it is armed.
struct Bomb {
    armed: bool,
    drops: Arc<AtomicUsize>,
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
        if self.armed {
            panic!("planted: drop of a value");
        }
    }
}

/// C13: values whose drops panic take no other value with them and leave the channel usable, also while a waker panics.
fn panicking_drops_of_values(kind: Kind) {
    within("C13: panicking drops of values", move || {
        for how in ["last receiver", "close_now", "waiting send", "handed over"] {
            let drops = Arc::new(AtomicUsize::new(0));
            let bomb = |armed| Bomb { armed, drops: Arc::clone(&drops) };
            let (tx, rx) = kind.open();
            let mut expected = 0;
            // (A panic takes a while where backtraces are printed.)
            let fill = |expected: &mut usize| {
                *expected = kind.fill(&tx, |i| bomb(i != 1 && i < 100));
            };
            match how {
                "last receiver" => {
                    fill(&mut expected);
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(rx)));
                    assert!(tx.is_closed(), "C13: the last receiver went");
                    assert!(tx.try_send(bomb(false)).is_err_and(|e| e.is_closed()), "C13: usable");
                    expected += 1;
                }
                "close_now" => {
                    fill(&mut expected);
                    let mut closed = tx.closed();
                    assert!(closed.poll_with(&panicking_waker(Event::Wake)).is_pending(), "open");
                    let _ = catch_unwind(AssertUnwindSafe(|| tx.close_now()));
                    assert!(rx.is_closed(), "C13: closed");
                    assert!(rx.recv().must_be_ready("C13: usable").is_err(), "C6: discarded");
                }
                "waiting send" if !kind.has_limit() => {}
                "waiting send" => {
                    if kind.is_buffered() {
                        kind.fill(&tx, |_| bomb(false));
                    }
                    let mut sending = tx.send(bomb(true));
                    sending.must_wait("full");
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(sending)));
                    expected = 1 + rx.drain().count();
                    let mut receiving = rx.recv();
                    receiving.must_wait("C13: usable");
                    assert!(tx.try_send(bomb(false)).is_ok(), "C13: usable");
                    drop(receiving.must_be_ready("C13: usable").expect("open"));
                    expected += 1;
                }
                _ => {
                    let (tx2, rx2) = kind.open();
                    let mut receiving = rx2.recv();
                    receiving.must_wait("empty");
                    assert!(tx2.try_send(bomb(true)).is_ok(), "a receiver waits");
                    let _ = catch_unwind(AssertUnwindSafe(|| tx2.close_now()));
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(receiving)));
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(rx2)));
                    assert!(tx2.try_send(bomb(false)).is_err_and(|e| e.is_closed()), "C13: usable");
                    expected = 2;
                }
            }
            drop(tx);
            assert_eq!(drops.load(Ordering::SeqCst), expected, "C1: each value is dropped once ({how})");
        }
    });
}

/// C13: a value's drop uses the channel that it was in.
fn a_values_drop_may_reenter(kind: Kind) {
    struct Nosy(Option<(leno::Sender<Nosy>, leno::Receiver<Nosy>)>);
    impl Drop for Nosy {
        fn drop(&mut self) {
            if let Some((tx, rx)) = self.0.take() {
                drop(tx.try_send(Nosy(None)));
                drop(rx.try_recv());
                tx.close();
                tx.close_now();
            }
        }
    }
    within("C13: the drop of a value re-enters the channel", move || {
        let (tx, rx) = kind.open();
        let mut sending = tx.send(Nosy(Some((tx.clone(), rx.clone()))));
        let _ = sending.poll_with(Waker::noop());
        drop(sending);
        tx.close_now();
        assert!(rx.is_closed() && rx.is_empty(), "C6");
        drop(tx);
        drop(rx);
    });
}

/// C13: a wake in one channel's close closes another, whose receiver is woken in turn.
fn two_channels_wake_each_other(kind: Kind) {
    within("C13: channels that wake each other", move || {
        let (tx1, rx1) = kind.open::<()>();
        let (tx2, rx2) = kind.open::<()>();
        let mut waiting = rx1.recv();
        let tx2 = Mutex::new(Some(tx2));
        let waker = hooked_waker(move |event| {
            if event == Event::Wake {
                drop(tx2.lock().unwrap().take());
            }
        });
        assert!(waiting.poll_with(&waker).is_pending(), "empty");
        let mut other = rx2.recv();
        let woken: Arc<CountingWaker> = other.must_wait("empty");
        drop(tx1);
        assert!(woken.was_woken(), "C7: the first close dropped the second channel's sender");
        assert_eq!(other.must_be_ready("closed"), Err(RecvError));
        assert_eq!(waiting.must_be_ready("closed"), Err(RecvError));
    });
}

contracts!(
    the_last_waker_counts,
    a_new_waker_keeps_the_place,
    a_pending_future_moves,
    a_waker_that_equals_none_of_its_clones,
    no_waker_is_kept,
    wake_may_reenter,
    a_wakers_clone_and_drop_may_reenter,
    wake_may_drop_the_last_handles,
    panicking_wakers_of_receivers,
    a_panicking_wake_at_a_hand_over,
    a_panicking_wake_leaves_nobody_asleep,
    panicking_drops_of_values,
    a_values_drop_may_reenter,
    two_channels_wake_each_other,
);

limited_contracts!(a_senders_wake_may_reenter, panicking_wakers_of_senders, a_panicking_wake_loses_no_value,);
