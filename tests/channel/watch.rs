//! `channel::watch`: the latest value, and who has seen it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use leno::channel::RecvError;
use leno::channel::watch::{Changed, Closed, Receiver, Ref, Sender, WaitFor, channel};
use leno::fiber::Cord;

use crate::impls;
use crate::support::{
    Crew, Event, Place, PollExt, Tracker, hooked_waker, panicking_waker, unequal_waker, within,
};

/// C15, C26.
#[test]
fn types() {
    type Wanted<T> = WaitFor<'static, T, fn(&T) -> bool>;
    const {
        assert!(impls!(Sender<u8>: Send) && impls!(Sender<u8>: Sync));
        assert!(impls!(Receiver<u8>: Send) && impls!(Receiver<u8>: Sync) && impls!(Receiver<u8>: Clone));
        assert!(impls!(Changed<'static, u8>: Send) && impls!(Closed<'static, u8>: Send));
        assert!(impls!(Wanted<u8>: Send) && impls!(Wanted<u8>: Unpin));
        // Several look at once, on any thread: that needs T: Sync as well.
        assert!(!impls!(Sender<Cell<u8>>: Send) && !impls!(Receiver<Rc<u8>>: Send));
        assert!(!impls!(Sender<Cell<u8>>: Sync) && !impls!(Changed<'static, Cell<u8>>: Send));
        assert!(!impls!(Ref<'static, u8>: Send) && impls!(Ref<'static, u8>: Sync));
        assert!(impls!(Changed<'static, std::marker::PhantomPinned>: Unpin));
    }
}

#[test]
fn what_is_seen() {
    let (tx, mut rx) = channel(0);
    assert_eq!((*rx.borrow(), rx.has_changed()), (0, Ok(false)));
    rx.changed().must_wait("the first value is seen");
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert_eq!(rx.has_changed(), Ok(true));
    assert!(rx.borrow().has_changed());
    assert_eq!(*rx.borrow(), 2);
    assert_eq!(rx.has_changed(), Ok(true), "a borrow sees nothing");
    let mut late = tx.subscribe();
    assert_eq!(late.has_changed(), Ok(false));
    let clone = rx.clone();
    assert_eq!(clone.has_changed(), Ok(true), "a clone has seen what the original has");
    rx.changed().must_be_ready("two values").unwrap();
    rx.changed().must_wait("they are one change");
    {
        let value = rx.borrow_and_update();
        assert!(!value.has_changed());
        assert_eq!(*value, 2);
    }
    tx.send(3).unwrap();
    assert!(rx.borrow_and_update().has_changed());
    rx.changed().must_wait("updated");
    rx.mark_changed();
    rx.changed().must_be_ready("marked").unwrap();
    late.mark_unchanged();
    late.changed().must_wait("marked");
    assert!(rx.same_channel(&late) && tx.same_channel(&tx.clone()));
    assert_eq!((tx.receiver_count(), tx.sender_count()), (3, 1));
    assert!(!tx.borrow().has_changed());
    tx.send(4).unwrap();
    assert!(!rx.is_closed());
    drop(tx);
    assert_eq!(
        (rx.is_closed(), rx.has_changed()),
        (true, Ok(true)),
        "it is closed, and there is a value to see"
    );
}

#[test]
fn forms_of_send() {
    let tracker = Tracker::new();
    let (tx, rx) = channel(tracker.value());
    drop(tx.send_replace(tracker.value()));
    assert_eq!(rx.borrow().id, 1);
    assert!(!tx.send_if_modified(|_| false));
    tx.send_modify(|value| drop(std::mem::replace(value, tracker.value())));
    assert_eq!(rx.borrow().id, 2);
    tracker.assert_live(1, "only the latest");
    drop(rx);
    let back = tx.send(tracker.value()).unwrap_err().into_inner();
    assert_eq!((back.id, tx.borrow().id), (3, 2), "nobody is there: it comes back");
    drop(tx.send_replace(back));
    assert_eq!(tx.subscribe().borrow().id, 3, "whether or not somebody is there");
    drop(tx);
    tracker.assert_done();
}

/// C7, C18: what was sent last is seen before the end.
#[test]
fn the_last_sender_goes() {
    let (tx, mut rx) = channel(0);
    let other = tx.clone();
    let mut waiting = rx.changed();
    let woken = waiting.must_wait("nothing new");
    drop(tx);
    assert!(!woken.was_woken());
    other.send(1).unwrap();
    drop(other);
    assert_eq!(woken.count(), 1);
    assert_eq!(waiting.must_be_ready("a value, and the end"), Ok(()));
    drop(waiting);
    assert_eq!(rx.has_changed(), Err(RecvError));
    assert_eq!(rx.changed().must_be_ready("the end"), Err(RecvError));
    assert_eq!(*rx.borrow(), 1, "it stays");
    assert_eq!(rx.wait_for(|value| *value == 1).must_be_ready("it is there").map(|value| *value), Ok(1));
    assert!(rx.wait_for(|value| *value == 2).must_be_ready("it never will").is_err());
}

#[test]
fn the_last_receiver_goes() {
    let (tx, rx) = channel(0);
    let clone = rx.clone();
    let mut closed = tx.closed();
    let woken = closed.must_wait("there are two");
    drop(rx);
    assert!(!woken.was_woken() && !tx.is_closed());
    drop(clone);
    assert!(woken.was_woken() && tx.is_closed());
    closed.must_be_ready("nobody is there");
    let late = tx.subscribe();
    assert!(!tx.is_closed());
    tx.closed().must_wait("one has come");
    assert!(tx.closed().wait_timeout(Duration::from_millis(1)).is_err());
    drop(late);
    tx.closed().wait();
}

#[test]
fn wait_for_a_value() {
    let (tx, mut rx) = channel(1);
    let asked = AtomicUsize::new(0);
    {
        let mut waiting = rx.wait_for(|value| {
            asked.fetch_add(1, SeqCst);
            *value > 2
        });
        waiting.must_wait("it is 1");
        waiting.must_wait("still, and not asked again");
        assert_eq!(asked.load(SeqCst), 1);
        tx.send(2).unwrap();
        waiting.must_wait("it is 2");
        tx.send(3).unwrap();
        let found = waiting.must_be_ready("it is 3").unwrap();
        assert_eq!((*found, found.has_changed()), (3, true));
        assert_eq!(asked.load(SeqCst), 3);
    }
    assert_eq!(rx.has_changed(), Ok(false), "found is seen");
    let found = rx.wait_for(|value| *value == 3).wait_timeout(Duration::ZERO).unwrap();
    assert_eq!(found.map(|found| (*found, found.has_changed())), Ok((3, false)), "it was seen");
    assert!(rx.wait_for(|value| *value == 4).wait_timeout(Duration::from_millis(1)).is_err());
    tx.send(4).unwrap();
    rx.wait_for(|value| *value == 9).must_wait("no");
    assert_eq!(rx.has_changed(), Ok(true), "what was not wanted was not seen");
    let past = Instant::now();
    assert!(rx.changed().wait_deadline(past).unwrap().is_ok());
}

/// C12.
#[test]
fn the_last_waker_counts() {
    let (tx, mut rx) = channel(0);
    let mut others = (0..3).map(|_| rx.clone()).collect::<Vec<_>>();
    let mut others = others.iter_mut().map(Receiver::changed).collect::<Vec<_>>();
    let of_others = others.iter_mut().map(|other| other.must_wait("nothing new")).collect::<Vec<_>>();
    let mut waiting = rx.changed();
    let first = waiting.must_wait("nothing new");
    let second = waiting.must_wait("nothing new");
    assert_eq!(Arc::strong_count(&first), 1, "the first is let go");
    let (unequal, wakes) = unequal_waker();
    tx.send_if_modified(|_| false);
    assert!(!second.was_woken());
    tx.send(1).unwrap();
    assert_eq!((first.count(), second.count()), (0, 1));
    assert!(of_others.iter().all(|woken| woken.count() == 1));
    assert!(waiting.poll_with(&unequal).is_ready());
    assert_eq!(wakes.load(SeqCst), 0);
    drop((waiting, others));
    assert_eq!(tx.assert_valid(), 0);
}

/// C9, C11: who leaves is out of the line, wherever it stood, and has seen nothing.
#[test]
fn cancelled_anywhere() {
    let (tx, _rx) = channel(0);
    for leaves in 0..4 {
        let mut all = [(); 4].map(|()| tx.subscribe());
        let mut waiting = all.each_mut().map(|rx| Some(rx.changed()));
        for one in waiting.iter_mut().flatten() {
            one.must_wait("nothing new");
        }
        let before = tx.assert_valid();
        assert_eq!(before, 4);
        waiting[leaves] = None;
        assert_eq!(tx.assert_valid(), 3);
        tx.send_modify(|value| *value += 1);
        waiting[(leaves + 1) % 4] = None;
        let seen = waiting.iter_mut().flatten().filter_map(|one| one.must_be_ready("it has changed").ok());
        assert_eq!(seen.count(), 2);
        drop(waiting);
        assert_eq!(all.iter().filter(|rx| rx.has_changed() == Ok(true)).count(), 2);
        all.iter_mut().for_each(Receiver::mark_unchanged);
    }
}

/// C26.
#[test]
fn forgotten() {
    let (tx, mut forgetful) = channel(0);
    let mut forgotten = forgetful.changed();
    forgotten.must_wait("nothing new");
    std::mem::forget(forgotten);
    tx.send_modify(|value| *value += 1);
    forgetful.changed().must_be_ready("a forgotten one is alone in its misery").unwrap();
}

/// S1: also in fibers that go from thread to thread.
#[test]
fn a_select_over_wait_for_may_move() {
    use leno::select::Select;
    let (tx, mut rx) = channel(0);
    let (_tx, mut never) = channel(0);
    let fiber = leno::spawn(async move {
        let first = leno::select! {
            Ok(value) = rx.wait_for(|value| *value == 1) => *value,
            _ = never.changed() => unreachable!("it never does"),
        };
        let mut set = Select::new();
        let wanted = set.add(rx.wait_for(|value| *value == 1));
        (first, set.select().await.output(wanted).map(|value| *value))
    });
    tx.send(1).unwrap();
    assert_eq!(fiber.wait().unwrap(), (1, Ok(1)));
}

/// S1, S10: a select that loses, or is dropped, has seen nothing.
#[test]
fn branches_of_select() {
    let (tx, mut rx) = channel(0);
    let (other_tx, mut other) = channel(0);
    tx.send(1).unwrap();
    other_tx.send(1).unwrap();
    leno::block_on(async {
        leno::select_biased! {
            changed = rx.changed() => changed.unwrap(),
            _ = other.changed() => unreachable!("the first is ready"),
        }
        assert_eq!((rx.has_changed(), other.has_changed()), (Ok(false), Ok(true)));
        leno::select! {
            Ok(value) = other.wait_for(|value| *value == 1) => assert_eq!(*value, 1),
            () = tx.closed() => unreachable!("rx is there"),
        }
    });
    {
        let mut select = Box::pin(async {
            leno::select! { _ = rx.changed() => {}, _ = other.changed() => {} }
        });
        select.must_wait("nothing new");
        tx.send(2).unwrap();
    }
    assert_eq!(rx.has_changed(), Ok(true));
    within("selects over watches", || {
        let (tx, mut rx) = channel(0);
        let (_silent, mut other) = channel(0);
        let sender = thread::spawn(move || (1..=100).for_each(|n| tx.send(n).unwrap()));
        let mut last = 0;
        loop {
            let over = leno::select_blocking! {
                changed = rx.changed() => changed.is_err(),
                _ = other.changed() => unreachable!("nothing is sent there"),
            };
            if over {
                break;
            }
            let now = *rx.borrow();
            assert!(now >= last);
            last = now;
        }
        assert_eq!(last, 100);
        sender.join().unwrap();
    });
}

/// C13: wakers that look and send, and that panic.
#[test]
fn wakers() {
    let (tx, mut rx) = channel(0);
    let (to_self, inner) = (tx.clone(), rx.clone());
    let uses = hooked_waker(move |event| {
        if event == Event::Wake && *inner.borrow() < 3 {
            to_self.send_modify(|value| *value += 1);
        }
    });
    let mut waiting = rx.changed();
    assert!(waiting.poll_with(&uses).is_pending());
    tx.send(1).unwrap();
    waiting.must_be_ready("it has changed").unwrap();
    drop(waiting);
    assert_eq!(*rx.borrow_and_update(), 2);
    let panics = panicking_waker();
    let mut other = rx.clone();
    let mut first = rx.changed();
    assert!(first.poll_with(&panics).is_pending());
    let mut second = other.changed();
    let woken = second.must_wait("nothing new");
    catch_unwind(AssertUnwindSafe(|| tx.send(5))).expect_err("the panic goes through");
    assert!(woken.was_woken(), "C29: the others are woken");
    first.must_be_ready("sent").unwrap();
    second.must_be_ready("sent").unwrap();
}

/// C13: closures and drops that panic leave it usable.
#[test]
fn foreign_code_that_panics() {
    let (tx, mut rx) = channel(0);
    catch_unwind(AssertUnwindSafe(|| tx.send_modify(|_| panic!("planted")))).expect_err("it goes through");
    assert_eq!(rx.has_changed(), Ok(false), "nobody is told");
    catch_unwind(AssertUnwindSafe(|| rx.wait_for(|_| panic!("planted")).wait().is_ok()))
        .expect_err("through");
    tx.send(1).unwrap();
    assert_eq!(*rx.borrow_and_update(), 1);
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "planted: a drop panics");
        }
    }
    let (tx, mut rx) = channel(Bomb(true));
    let mut waiting = rx.changed();
    let woken = waiting.must_wait("nothing new");
    catch_unwind(AssertUnwindSafe(|| tx.send(Bomb(false)).is_ok())).expect_err("it goes through");
    assert!(woken.was_woken(), "C29: the new value is there");
    waiting.must_be_ready("sent").unwrap();
    // Beside a waker that panics.
    let (tx, mut rx) = channel(Bomb(true));
    let panics = panicking_waker();
    let mut waiting = rx.changed();
    assert!(waiting.poll_with(&panics).is_pending());
    catch_unwind(AssertUnwindSafe(|| tx.send(Bomb(false)).is_ok())).expect_err("one goes through");
    waiting.must_be_ready("sent").unwrap();
    assert!(!tx.borrow().0);
}

/// Who looks keeps the value; who has looked may look again, also while somebody waits to send.
#[test]
fn a_look_keeps_the_value() {
    within("a borrow against a send", || {
        let (tx, rx) = channel(String::from("warp"));
        let look = rx.borrow();
        let sender = thread::spawn(move || tx.send(String::from("weft")).map(|()| tx));
        for _ in 0..50 {
            assert_eq!((&**look, &**rx.borrow()), ("warp", "warp"));
            thread::yield_now();
        }
        drop(look);
        let _tx = sender.join().unwrap().unwrap();
        assert_eq!(*rx.borrow(), "weft");
    });
}

/// C25.
#[test]
fn blocking_on_a_cord_panics() {
    Cord::new().block_on(async {
        let (tx, mut rx) = channel(0);
        tx.send(1).unwrap();
        catch_unwind(AssertUnwindSafe(|| rx.changed().wait().is_ok())).expect_err("C25");
        catch_unwind(AssertUnwindSafe(|| rx.wait_for(|_| true).wait().is_ok())).expect_err("C25");
        drop(rx);
        catch_unwind(AssertUnwindSafe(|| tx.closed().wait())).expect_err("C25");
    });
}

/// C19: followers everywhere see values grow, and the last one.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn followers_everywhere() {
    const LAST: usize = 2_000;
    let (tx, rx) = channel((0, 0));
    let mut crew = Crew::new("followers of a watch", &Place::ALL);
    let senders = 3;
    for _ in 0..8 {
        let mut rx = rx.clone();
        crew.add(move |place| async move {
            let mut last = 0;
            loop {
                let changed = match place {
                    Place::Thread => rx.changed().wait(),
                    _ => rx.changed().await,
                };
                let (a, b) = *rx.borrow_and_update();
                assert_eq!(a, b, "a value is seen whole");
                assert!(a >= last);
                last = a;
                if changed.is_err() {
                    break;
                }
            }
            assert_eq!(last, senders * LAST);
        });
    }
    drop(rx);
    for _ in 0..senders {
        let tx = tx.clone();
        crew.add(move |place| async move {
            for n in 0..LAST {
                tx.send_modify(|(a, b)| {
                    *a += 1;
                    *b += 1;
                });
                if n % 16 == 0 {
                    place.pause().await;
                }
            }
        });
    }
    drop(tx);
    crew.run();
}

/// C15.
#[test]
fn a_sender_by_default() {
    let tx = Sender::<Vec<u8>>::default();
    assert!(tx.is_closed() && tx.borrow().is_empty());
}
