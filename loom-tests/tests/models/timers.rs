//! Models of timers: firing against whoever has set one. All timers are due; F12, C12.
//!
//! Planted bugs: `timers_…`.

use crate::explore::model;
use crate::scenarios::harness::thread;
use leno::model::crew::Timers;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc as StdArc;
use std::task::{Wake, Waker};

/// How often it was woken.
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Woken {
    fn new() -> (StdArc<Woken>, Waker) {
        let woken = StdArc::new(Woken(AtomicUsize::new(0)));
        (woken.clone(), Waker::from(woken))
    }

    /// How often, now that nobody keeps its waker.
    fn finally(self: StdArc<Woken>) -> usize {
        StdArc::into_inner(self).expect("a waker was kept").0.load(Ordering::Relaxed)
    }
}

fn fire(timers: &Arc<Timers>) -> thread::JoinHandle<()> {
    let timers = timers.clone();
    thread::spawn(move || timers.fire())
}

/// Who renews in time is the one that is woken, who is told that it has fired is not. `timers_renew_unchecked`.
#[test]
fn fire_against_renew() {
    model(|| {
        let timers = Arc::new(Timers::default());
        let ((first, first_waker), (second, second_waker)) = (Woken::new(), Woken::new());
        let timer = timers.set(first_waker).unwrap();
        let other = fire(&timers);
        let renewed = timers.renew(timer, &second_waker);
        drop(second_waker);
        other.join().unwrap();
        assert!(!timers.renew(timer, Waker::noop()));
        assert_eq!((first.finally(), second.finally()), if renewed { (0, 1) } else { (1, 0) });
    });
}

/// Two that fire, and the owner drops it: it is woken once at most, and its waker is gone.
#[test]
fn two_fire_against_drop() {
    model(|| {
        let timers = Arc::new(Timers::default());
        let ((first, first_waker), (second, second_waker)) = (Woken::new(), Woken::new());
        let timer = timers.set(first_waker).unwrap();
        timers.set(second_waker).unwrap();
        let others = [fire(&timers), fire(&timers)];
        timers.clear(timer);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(first.finally() <= 1);
        assert_eq!(second.finally(), 1);
    });
}

/// The entry of a timer that has fired is another one's by the time the first one is dropped. `timers_forget_numbers`.
#[test]
fn fire_against_drop_and_set() {
    model(|| {
        let timers = Arc::new(Timers::default());
        let ((first, first_waker), (second, second_waker)) = (Woken::new(), Woken::new());
        let timer = timers.set(first_waker).unwrap();
        let other = fire(&timers);
        timers.set(second_waker).unwrap();
        timers.clear(timer);
        other.join().unwrap();
        timers.fire();
        assert!(first.finally() <= 1);
        assert_eq!(second.finally(), 1);
    });
}

/// The end: who was accepted is woken, and who was not is told. `timers_set_after_close`.
#[test]
fn close_against_set_and_fire() {
    model(|| {
        let timers = Arc::new(Timers::default());
        let ((first, first_waker), (second, second_waker)) = (Woken::new(), Woken::new());
        timers.set(first_waker).unwrap();
        let other = fire(&timers);
        let closer = {
            let timers = timers.clone();
            thread::spawn(move || timers.close())
        };
        let accepted = timers.set(second_waker).is_some();
        other.join().unwrap();
        closer.join().unwrap();
        assert_eq!((first.finally(), second.finally()), (1, usize::from(accepted)));
    });
}
