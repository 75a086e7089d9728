//! Models of fibers that are tied to the only worker of their executor (`src/task/state.rs`, invariant 9): the model's first
//! thread. What they have in common with other fibers is in `task.rs`.
//!
//! Planted bugs: `task_tied_…`.

use crate::explore::model;
use crate::scenarios::harness::thread;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use leno::model::task::{Executor, Handle};
use loom::sync::atomic::{AtomicUsize, Ordering};

/// A fiber that has waited once, so that it is tied, and waits for so many inputs.
struct Tied {
    executor: Executor,
    handle: Handle<()>,
    waker: Waker,
    inputs: loom::sync::Arc<AtomicUsize>,
    polls: Arc<AtomicUsize>,
    drops: Arc<AtomicUsize>,
}

struct Once(Arc<AtomicUsize>);

impl Drop for Once {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Tied {
    fn new(needs: usize) -> Tied {
        Tied::doing(needs, |_, _| {})
    }

    /// Calls `also` in each poll, which has seen its inputs by then.
    fn doing(needs: usize, mut also: impl FnMut(usize, &Waker) + Send + 'static) -> Tied {
        let executor = Executor::alone();
        let inputs = loom::sync::Arc::new(AtomicUsize::new(0));
        let (polls, drops): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let (seen, count, once) = (inputs.clone(), Arc::clone(&polls), Once(Arc::clone(&drops)));
        let left = Arc::new(std::sync::Mutex::new(None));
        let leaves = left.clone();
        let handle = executor.spawn(poll_fn(move |cx| {
            let _ = &once;
            let polls = count.fetch_add(1, Ordering::Relaxed) + 1;
            if polls == 1 {
                *leaves.lock().unwrap() = Some(cx.waker().clone());
            }
            let given = seen.load(Ordering::Relaxed);
            also(polls, cx.waker());
            if given == needs { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert!(executor.run_one() && !executor.run_one());
        let waker = left.lock().unwrap().take().expect("left by the first poll");
        Tied { executor, handle, waker, inputs, polls, drops }
    }

    /// Another thread gives an input, and wakes it.
    fn fed(&self) -> thread::JoinHandle<()> {
        let (inputs, waker) = (self.inputs.clone(), self.waker.clone());
        thread::spawn(move || {
            inputs.fetch_add(1, Ordering::Relaxed);
            waker.wake();
        })
    }

    /// As a fiber of the same worker does.
    fn feed(&self) {
        self.inputs.fetch_add(1, Ordering::Relaxed);
        let waker = self.waker.clone();
        self.executor.as_worker(|| waker.wake());
    }

    /// All wakers are gone, and everything has run; gives the number of polls.
    fn ends(self) -> usize {
        drop(self.waker);
        self.executor.run_all();
        assert!(self.handle.is_complete(), "a wake-up was lost");
        drop(self.handle);
        assert_eq!((self.drops.load(Ordering::Relaxed), self.executor.living()), (1, 0));
        self.polls.load(Ordering::Relaxed)
    }
}

/// F1: where it waits, and as it comes to wait again. `task_tied_is_not_told`.
#[test]
fn woken_from_elsewhere() {
    for needs in [1, 2] {
        model(move || {
            let fiber = Tied::new(needs);
            let others: Vec<_> = (0..needs).map(|_| fiber.fed()).collect();
            fiber.executor.run_one();
            fiber.executor.run_one();
            others.into_iter().for_each(|other| other.join().unwrap());
            assert!(fiber.ends() <= 1 + needs, "each wake-up makes one poll at most");
        });
    }
}

/// F1: a wake-up that changes nothing, as it was woken before, publishes all the same. `task_told_relaxed`.
#[test]
fn woken_from_elsewhere_after_it_was_woken() {
    model(|| {
        let fiber = Tied::new(1);
        fiber.waker.wake_by_ref();
        let other = fiber.fed();
        fiber.executor.run_one();
        other.join().unwrap();
        fiber.ends();
    });
}

/// F1: by a fiber of its worker, and from elsewhere: it has one entry, which makes one poll if both wake-ups were there before it.
#[test]
fn woken_by_its_worker_and_from_elsewhere() {
    for both_before in [false, true] {
        model(move || {
            let fiber = Tied::new(3);
            let mut others = vec![fiber.fed()];
            if both_before {
                others.drain(..).for_each(|other| other.join().unwrap());
            }
            fiber.feed();
            fiber.executor.run_one();
            others.into_iter().for_each(|other| other.join().unwrap());
            fiber.executor.run_all();
            let polls = fiber.polls.load(Ordering::Relaxed);
            assert!(polls == 2 || (polls == 3 && !both_before), "{polls} polls");
            fiber.feed();
            fiber.ends();
        });
    }
}

/// An entry from elsewhere that comes up after the fiber has ended.
#[test]
fn woken_from_elsewhere_as_it_ends() {
    model(|| {
        let fiber = Tied::new(1);
        fiber.feed();
        let waker = fiber.waker.clone();
        let other = thread::spawn(move || waker.wake());
        fiber.executor.run_one();
        other.join().unwrap();
        fiber.ends();
    });
}

/// F1: during its poll, by a fiber of another executor that its thread runs meanwhile. `task_tied_is_not_woken`.
#[test]
fn woken_by_its_thread_during_its_poll() {
    model(|| {
        let inner = Executor::new();
        let fiber = Tied::doing(2, move |polls, waker| {
            if polls == 2 {
                let waker = waker.clone();
                drop(inner.spawn(async move { waker.wake() }));
                assert!(inner.run_one());
            }
        });
        fiber.feed();
        assert!(fiber.executor.run_one());
        fiber.inputs.fetch_add(1, Ordering::Relaxed);
        assert_eq!(fiber.ends(), 3);
    });
}

/// F1: during its poll, which makes another fiber ready, whereby what was injected arrives. `task_tied_forgets_what_arrived`.
#[test]
fn woken_from_elsewhere_during_its_poll() {
    model(|| {
        let place = Arc::new(std::sync::Mutex::new(None::<Executor>));
        let takes = place.clone();
        let fiber = Tied::doing(2, move |_, _| {
            if let Some(executor) = takes.lock().unwrap().take() {
                drop(executor.spawn(std::future::ready(())));
            }
        });
        *place.lock().unwrap() = Some(fiber.executor.clone());
        fiber.feed();
        let other = fiber.fed();
        fiber.executor.run_one();
        other.join().unwrap();
        assert!(fiber.ends() <= 3);
    });
}

/// F1: it yields while an entry of it is coming, for another input: neither is lost, nor what comes later.
#[test]
fn yields_where_an_entry_is_coming() {
    model(|| {
        let fiber = Tied::doing(3, |polls, waker| {
            if polls == 2 {
                waker.wake_by_ref();
            }
        });
        fiber.feed();
        let other = fiber.fed();
        fiber.executor.run_one();
        fiber.executor.run_one();
        other.join().unwrap();
        fiber.executor.run_all();
        fiber.fed().join().unwrap();
        assert!(fiber.ends() <= 5);
    });
}

/// A fiber that another thread polls first, as it makes it, while a wake-up comes: its worker alone ties it.
/// `task_ties_elsewhere`.
#[test]
fn first_polled_elsewhere() {
    model(|| {
        let executor = Executor::alone();
        let (inputs, drops) = (loom::sync::Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let left = Arc::new(std::sync::Mutex::new(None::<Waker>));
        let made = loom::sync::Arc::new(AtomicUsize::new(0));
        let (seen, says, leaves, once) = (inputs.clone(), made.clone(), left.clone(), Once(drops.clone()));
        let feeder = {
            let (inputs, made, left) = (inputs.clone(), made.clone(), left.clone());
            thread::spawn(move || {
                if made.load(Ordering::Acquire) == 1 {
                    let waker = left.lock().unwrap().clone().expect("left before it was said");
                    inputs.fetch_add(1, Ordering::Relaxed);
                    waker.wake();
                }
            })
        };
        let maker = {
            let executor = executor.clone();
            thread::spawn(move || {
                executor.spawn_now(poll_fn(move |cx| {
                    let _ = &once;
                    *leaves.lock().unwrap() = Some(cx.waker().clone());
                    says.store(1, Ordering::Release);
                    if seen.load(Ordering::Relaxed) == 2 { Poll::Ready(()) } else { Poll::Pending }
                }))
            })
        };
        executor.run_one();
        let handle = maker.join().unwrap();
        feeder.join().unwrap();
        executor.run_all();
        let waker = left.lock().unwrap().take().expect("it was polled");
        inputs.store(2, Ordering::Relaxed);
        let other = thread::spawn(move || waker.wake());
        executor.run_one();
        other.join().unwrap();
        executor.run_all();
        assert!(handle.is_complete(), "a wake-up was lost");
        drop(handle);
        assert_eq!((drops.load(Ordering::Relaxed), executor.living()), (1, 0));
    });
}

/// What a poll has made of wakers, or has used, is counted as it comes to wait. `task_tied_owes_nothing`.
#[test]
fn wakers_are_counted() {
    for makes in [0, 2] {
        model(move || {
            let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
            let keeps = kept.clone();
            let fiber = Tied::doing(2, move |polls, waker| {
                if polls == 2 {
                    keeps.lock().unwrap().extend((0..makes).map(|_| waker.clone()));
                }
            });
            let other = fiber.fed();
            fiber.executor.run_one();
            other.join().unwrap();
            fiber.executor.run_all();
            let kept = std::mem::take(&mut *kept.lock().unwrap());
            drop(kept);
            fiber.feed();
            assert_eq!(fiber.ends(), 3);
        });
    }
}

/// F3: a cancel of one that waits, is queued, or is polled.
#[test]
fn cancelled_from_elsewhere() {
    for feeds in [false, true] {
        model(move || {
            let fiber = Tied::new(2);
            let reference = fiber.handle.reference();
            let other = thread::spawn(move || reference.cancel());
            if feeds {
                fiber.feed();
                fiber.executor.run_one();
            }
            fiber.executor.run_one();
            other.join().unwrap();
            assert!(fiber.ends() <= 2);
        });
    }
}

/// The same by its worker, and from elsewhere at once.
#[test]
fn cancelled_by_its_worker_and_from_elsewhere() {
    model(|| {
        let fiber = Tied::new(1);
        let reference = fiber.handle.reference();
        let other = thread::spawn(move || reference.cancel());
        fiber.executor.as_worker(|| fiber.handle.reference().cancel());
        fiber.executor.run_one();
        other.join().unwrap();
        assert_eq!(fiber.ends(), 1);
    });
}

/// F7: the executor ends elsewhere, where its entries are: these are dropped, and its worker ends what it has.
/// `task_tied_is_anybodys`.
#[test]
fn the_end_against_a_wake() {
    model(|| {
        let fiber = Tied::new(2);
        let executor = fiber.executor.clone();
        let (end, other) = (thread::spawn(move || executor.end()), fiber.fed());
        fiber.executor.run_one();
        fiber.executor.leave();
        other.join().unwrap();
        end.join().unwrap();
        fiber.executor.leave();
        assert!(fiber.ends() <= 2);
    });
}

/// The same with one that its own worker has made ready.
#[test]
fn the_end_against_an_entry_of_the_worker() {
    model(|| {
        let fiber = Tied::new(2);
        let executor = fiber.executor.clone();
        fiber.feed();
        let end = thread::spawn(move || executor.end());
        fiber.executor.leave();
        end.join().unwrap();
        assert_eq!(fiber.ends(), 1);
    });
}
