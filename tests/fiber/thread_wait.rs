//! Plain threads that wait: wake-ups, calls inside of calls, the end of a thread, many threads. A lost wake-up is a test
//! that hangs.

use std::cell::Cell;
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::{Defer, SeqCst, Stash, in_time, until};
use leno::fiber::shield;
use leno::{bounded, rendezvous, select_blocking};

/// Drives a foreign future on this thread.
fn wait_for<F: Future>(future: F) -> F::Output {
    let future = pin!(future);
    select_blocking! { output = future => output }
}

/// The waker of a wait on this thread.
fn waker() -> Waker {
    wait_for(poll_fn(|cx| Poll::Ready(cx.waker().clone())))
}

/// Counts up for whoever waits; wakes them when it is asked to.
#[derive(Clone, Default)]
struct Count(Arc<(AtomicUsize, Mutex<Option<Waker>>)>);

impl Count {
    fn up(&self) {
        self.0.0.fetch_add(1, SeqCst);
        if let Some(waker) = self.0.1.lock().unwrap().take() {
            waker.wake();
        }
    }

    async fn reaches(&self, count: usize) {
        poll_fn(|cx| {
            *self.0.1.lock().unwrap() = Some(cx.waker().clone());
            if self.0.0.load(SeqCst) >= count { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

#[test]
fn two_threads_wake_each_other() {
    in_time(|| {
        let (ping, pong) = (Count::default(), Count::default());
        let (pings, pongs) = (ping.clone(), pong.clone());
        let peer = std::thread::spawn(move || {
            for i in 1..=5000 {
                wait_for(pings.reaches(i));
                pongs.up();
            }
        });
        for i in 1..=5000 {
            ping.up();
            wait_for(pong.reaches(i));
        }
        peer.join().unwrap();
    });
}

#[test]
fn wakes_in_vain_end_no_wait() {
    in_time(|| {
        let stash = Stash::default();
        let (tx, rx) = bounded(1);
        let pending = stash.clone();
        let waits = std::thread::spawn(move || {
            let pending = pin!(pending.pending());
            select_blocking! {
                x = rx.recv() => x.unwrap(),
                _ = pending => unreachable!(),
            }
        });
        for _ in 0..100 {
            let polls = stash.polls();
            if let Some(waker) = stash.waker() {
                waker.wake();
                until(|| stash.polls() > polls);
            }
        }
        tx.send_blocking(7).unwrap();
        assert_eq!(waits.join().unwrap(), 7);
    });
}

#[test]
fn who_wakes_itself_is_polled_again() {
    let mut polls = 0;
    wait_for(poll_fn(|cx| {
        polls += 1;
        cx.waker().wake_by_ref();
        if polls < 30 { Poll::Pending } else { Poll::Ready(()) }
    }));
    assert_eq!(polls, 30);
}

/// C28: what was woken during its poll is looked at once more, though the time is up by then.
#[test]
fn a_wake_in_time_is_looked_at_when_it_is_late() {
    let end = Instant::now() + Duration::from_millis(1);
    let mut polls = 0;
    let mut late = shield(poll_fn(|cx| {
        polls += 1;
        if polls == 2 {
            return Poll::Ready(7);
        }
        cx.waker().wake_by_ref();
        while Instant::now() < end {}
        Poll::Pending
    }));
    assert_eq!(late.wait_deadline(end), Ok(7));
    let mut polls = 0;
    let mut never = shield(poll_fn(|cx| -> Poll<()> {
        polls += 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }));
    assert!(never.wait_deadline(end).is_err());
    assert_eq!(polls, 2, "and no more than once");
}

/// C28: also what is ready when the time is up, and has woken nobody yet.
#[test]
fn what_has_not_woken_yet_is_looked_at_when_the_time_is_up() {
    let mut polls = 0;
    let mut silent = shield(poll_fn(|_| {
        polls += 1;
        if polls == 2 { Poll::Ready(7) } else { Poll::Pending }
    }));
    assert_eq!(silent.wait_timeout(Duration::from_millis(20)), Ok(7));
    let mut polls = 0;
    let mut never = shield(poll_fn(|_| -> Poll<()> {
        polls += 1;
        Poll::Pending
    }));
    assert!(never.wait_timeout(Duration::from_millis(20)).is_err());
    assert_eq!(polls, 2, "and no more than once");
    let mut polls = 0;
    let mut once = shield(poll_fn(|_| -> Poll<()> {
        polls += 1;
        Poll::Pending
    }));
    assert!(once.wait_timeout(Duration::ZERO).is_err());
    assert_eq!(polls, 1, "C16: it was up before");
}

#[test]
fn the_users_park_token_is_left_alone() {
    in_time(|| {
        let (tx, rx) = rendezvous();
        let here = std::thread::current();
        let peer = std::thread::spawn(move || {
            for i in 0..100 {
                here.unpark();
                tx.send_blocking(i).unwrap();
            }
            here.unpark();
        });
        for i in 0..100 {
            assert_eq!(rx.recv_blocking(), Ok(i));
        }
        // At least one of them is still there, or comes.
        std::thread::park();
        peer.join().unwrap();
    });
}

#[test]
fn a_wait_inside_of_a_wait_takes_nothing_from_it() {
    in_time(|| {
        for _ in 0..200 {
            let outer = Count::default();
            let (tx, rx) = rendezvous();
            let ups = outer.clone();
            let mut peer = Some(std::thread::spawn(move || {
                ups.up();
                tx.send_blocking(()).unwrap();
            }));
            // The outer one is woken, if it has to be, while the inner one waits.
            let mut reached = pin!(outer.reaches(1));
            wait_for(poll_fn(|cx| {
                let polled = reached.as_mut().poll(cx);
                if let Some(peer) = peer.take() {
                    rx.recv_blocking().unwrap();
                    peer.join().unwrap();
                }
                polled
            }));
        }
    });
}

#[test]
fn wakes_of_an_inner_wait_are_none_of_the_outer_one() {
    let outer = Stash::default();
    let mut polls = 0;
    let waited = {
        let mut pending = pin!(outer.pending());
        let both = poll_fn(|cx| {
            polls += 1;
            // It wakes itself, and so is woken during the poll of the outer one.
            let mut again = true;
            wait_for(poll_fn(|cx| {
                cx.waker().wake_by_ref();
                if std::mem::take(&mut again) { Poll::Pending } else { Poll::Ready(()) }
            }));
            pending.as_mut().poll(cx)
        });
        let mut both = pin!(both);
        select_blocking! { _ = both.as_mut() => true, default(Duration::from_millis(20)) => false }
    };
    assert!(!waited);
    // The first one, and one or the other look at the end; not one after another.
    assert!(polls < 10, "{polls} polls");
}

#[test]
fn a_thread_waits_while_its_locals_go() {
    fn exchange() {
        let (tx, rx) = rendezvous();
        let peer = std::thread::spawn(move || tx.send_blocking(1).unwrap());
        assert_eq!(rx.recv_blocking(), Ok(1));
        // One in the other.
        wait_for(poll_fn(|_| Poll::Ready(waker())));
        peer.join().unwrap();
    }
    thread_local! {
        static EARLY: Defer<fn()> = const { Defer(exchange) };
        static LATE: Defer<fn()> = const { Defer(exchange) };
    }
    in_time(|| {
        for _ in 0..20 {
            std::thread::spawn(|| {
                // One goes before the thread's own waiting place, the other after it.
                EARLY.with(|_| ());
                exchange();
                LATE.with(|_| ());
            })
            .join()
            .unwrap();
            // It waits for the first time as its locals go.
            std::thread::spawn(|| EARLY.with(|_| ())).join().unwrap();
        }
    });
}

#[test]
fn a_waker_outlives_its_thread() {
    in_time(|| {
        for _ in 0..100 {
            let late = std::thread::spawn(waker).join().unwrap();
            let (tx, rx) = rendezvous();
            let waits = std::thread::spawn(move || rx.recv_blocking());
            for waker in vec![late.clone(); 10] {
                waker.wake();
            }
            late.wake_by_ref();
            tx.send_blocking(3).unwrap();
            late.wake_by_ref();
            assert_eq!(waits.join().unwrap(), Ok(3));
        }
    });
}

#[test]
fn threads_come_and_go_and_memory_stays() {
    in_time(|| {
        let places: HashSet<_> =
            (0..1000).map(|_| std::thread::spawn(|| waker().data() as usize).join().unwrap()).collect();
        // Other tests run beside this one, and have some of their own.
        assert!(places.len() <= 200, "{} places for threads one after another", places.len());
    });
}

#[test]
fn a_thousand_waits_inside_of_each_other() {
    fn nested(depth: usize) -> usize {
        if depth == 0 { 0 } else { wait_for(poll_fn(|_| Poll::Ready(nested(depth - 1) + 1))) }
    }
    assert_eq!(
        std::thread::Builder::new().stack_size(64 << 20).spawn(|| nested(1000)).unwrap().join().unwrap(),
        1000
    );
}

#[test]
fn a_panic_leaves_the_thread_able_to_wait() {
    in_time(|| {
        for _ in 0..3 {
            let panics = Cell::new(true);
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                wait_for(poll_fn(|_| if panics.get() { panic!("on purpose") } else { Poll::Ready(()) }));
            }));
            assert!(caught.is_err());
            let (tx, rx) = rendezvous();
            let peer = std::thread::spawn(move || tx.send_blocking(5).unwrap());
            assert_eq!(rx.recv_blocking(), Ok(5));
            peer.join().unwrap();
        }
    });
}

#[test]
fn no_wait_ends_before_its_time() {
    let (_tx, rx) = rendezvous::<()>();
    for micros in [0, 1, 50, 500, 5000, 15_000] {
        let (start, limit) = (Instant::now(), Duration::from_micros(micros));
        assert!(rx.recv_timeout(limit).is_err());
        assert!(start.elapsed() >= limit);
    }
}

/// A thread that waits for a time looks when that has come, though nobody has time to fire its timer: all workers are stuck.
#[test]
#[cfg_attr(miri, ignore = "an interpreter's clock counts steps")]
fn a_thread_wakes_in_time_beside_workers_that_are_stuck() {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (stuck, leave) = (Arc::new(Barrier::new(workers + 1)), Arc::new(Barrier::new(workers + 1)));
    for _ in 0..workers {
        let (stuck, leave) = (stuck.clone(), leave.clone());
        drop(leno::spawn(async move {
            stuck.wait();
            leave.wait();
        }));
    }
    stuck.wait();
    let (done, ended) = std::sync::mpsc::channel();
    let waits = std::thread::spawn(move || {
        leno::sleep(Duration::from_millis(3)).wait();
        leno::sleep(Duration::from_millis(3)).wait_timeout(Duration::from_secs(3600)).unwrap();
        done.send(()).unwrap();
    });
    let in_time = ended.recv_timeout(Duration::from_secs(10));
    leave.wait();
    waits.join().unwrap();
    assert!(in_time.is_ok(), "it has waited for a worker");
}
