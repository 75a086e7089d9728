//! A lost wake-up is a deadlock here: nobody wakes twice.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use leno::model::recycle_nodes;
use leno::model::task::thread::{Host, Wait, block_on};

use super::harness::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use super::harness::{Arc, Mutex, thread};

/// Something to wait for. It is relaxed: only the wake orders what it says.
#[derive(Debug, Default)]
struct Event {
    happened: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Event {
    fn new() -> Arc<Event> {
        Arc::new(Event { happened: AtomicBool::new(false), waker: Mutex::new(None) })
    }

    /// Wakes who is there, and those who come later find that it has happened.
    fn happen(&self) {
        self.happened.store(true, Relaxed);
        let waker = self.waker.lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        *self.waker.lock().unwrap() = Some(waker.clone());
        if self.happened.load(Relaxed) { Poll::Ready(()) } else { Poll::Pending }
    }

    async fn wait(&self) {
        poll_fn(|cx| self.poll(cx.waker())).await;
    }
}

/// What was written before the wake is seen after it. `parker_sleeps_unasked`, `parker_wake_relaxed`.
pub(crate) fn wake_against_sleep() {
    let mut wait = Wait::new();
    let value = Arc::new(AtomicUsize::new(0));
    let (waker, written) = (wait.waker(), value.clone());
    let peer = thread::spawn(move || {
        written.store(1, Relaxed);
        waker.wake();
    });
    wait.sleep();
    assert_eq!(value.load(Relaxed), 1);
    peer.join().unwrap();
}

/// The second wake may come while the first one is taken note of: it counts for the next sleep.
pub(crate) fn second_wake_against_sleep() {
    let mut wait = Wait::new();
    let value = Arc::new(AtomicUsize::new(0));
    let (waker, written) = (wait.waker(), value.clone());
    let peer = thread::spawn(move || {
        for number in 1..=2 {
            written.store(number, Relaxed);
            waker.wake_by_ref();
        }
    });
    while value.load(Relaxed) < 2 {
        wait.sleep();
    }
    peer.join().unwrap();
}

/// Of two wakes by two threads none is lost, and each brings along what was written before it.
pub(crate) fn spurious_wake_against_wake() {
    let mut wait = Wait::new();
    let value = Arc::new(AtomicUsize::new(0));
    let (waker, spurious, written) = (wait.waker(), wait.waker(), value.clone());
    let peers = [
        thread::spawn(move || spurious.wake()),
        thread::spawn(move || {
            written.store(1, Relaxed);
            waker.wake();
        }),
    ];
    while value.load(Relaxed) < 1 {
        wait.sleep();
    }
    peers.into_iter().for_each(|peer| peer.join().unwrap());
}

/// One thread waits and goes, another one has its parker then, or one of its own; a wake for the first comes at any
/// time. `parker_keeps_its_thread`.
pub(crate) fn late_wake_of_a_former_owner() {
    recycle_nodes(true);
    let event = Event::new();
    let mut former = Wait::new();
    let (first, late) = (former.waker(), former.waker());
    let happens = event.clone();
    let peer = thread::spawn(move || {
        first.wake();
        late.wake();
        happens.happen();
    });
    former.sleep();
    drop(former);
    let next = thread::spawn(move || block_on(event.wait()));
    next.join().unwrap();
    peer.join().unwrap();
}

/// A wake that comes during the poll is not slept through. `block_on_looks_late`.
pub(crate) fn wake_against_poll() {
    let event = Event::new();
    let happens = event.clone();
    let peer = thread::spawn(move || happens.happen());
    block_on(event.wait());
    peer.join().unwrap();
}

/// A poll waits for something else meanwhile, on the same thread. `block_on_looks_late`.
pub(crate) fn wake_during_a_nested_wait() {
    let (outer, inner) = (Event::new(), Event::new());
    let (first, second) = (outer.clone(), inner.clone());
    let peer = thread::spawn(move || {
        first.happen();
        second.happen();
    });
    block_on(poll_fn(|cx| {
        let polled = outer.poll(cx.waker());
        block_on(inner.wait());
        polled
    }));
    peer.join().unwrap();
}

/// Both recycle, both wake and are woken.
pub(crate) fn two_wait_for_each_other() {
    recycle_nodes(true);
    let (here, there) = (Event::new(), Event::new());
    let (reached, happens) = (here.clone(), there.clone());
    let peer = thread::spawn(move || {
        block_on(reached.wait());
        happens.happen();
    });
    here.happen();
    block_on(there.wait());
    peer.join().unwrap();
}

/// What was written before something is brought is seen by who takes it, which may be before the bell rings; the gate is gone then.
/// `gate_entry_relaxed`, `gate_looks_late`.
pub(crate) fn entry_against_wait() {
    let host = Host::new();
    let guest = host.guest();
    let peer = thread::spawn(move || {
        let value = AtomicUsize::new(0);
        value.store(1, Relaxed);
        guest.bring(Box::new(value));
    });
    let value = host.wait();
    drop(host);
    assert_eq!(value.load(Relaxed), 1);
    peer.join().unwrap();
}

/// The second one comes when the first was taken, whose bell may ring late.
pub(crate) fn second_entry_against_late_bell() {
    let host = Host::new();
    let bring = |number| {
        let guest = host.guest();
        thread::spawn(move || guest.bring(Box::new(number)))
    };
    let peers = [1, 2].map(|number| {
        let peer = bring(number);
        assert_eq!(*host.wait(), number);
        peer
    });
    peers.into_iter().for_each(|peer| peer.join().unwrap());
}
