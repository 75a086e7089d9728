//! Drops that wait while a runtime ends: which threads go on with the rest meanwhile, and how many.

use std::cell::RefCell;
use std::collections::HashSet;
use std::future::{Future, pending};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use leno::Receiver;
use leno::fiber::{Cord, JoinHandle, Runtime, spawn_local, yield_now};

use crate::support::{Defer, SeqCst, in_time, until};

/// The threads that have dropped something.
#[derive(Clone)]
struct Droppers(Arc<Mutex<HashSet<ThreadId>>>, Instant);

impl Droppers {
    fn new() -> Self {
        Droppers(Arc::default(), Instant::now())
    }

    fn note(&self) {
        self.0.lock().unwrap().insert(thread::current().id());
    }

    /// As few as there can be on a slow machine: after a second there are ten more a second.
    fn assert_few(&self, workers: usize) {
        let (count, most) = (self.0.lock().unwrap().len(), 40 + self.1.elapsed().as_millis() / 100);
        assert!(count as u128 <= most, "{count} threads, where {workers} workers end");
    }
}

/// For a fiber's handle.
type Slot = Mutex<Option<JoinHandle<()>>>;

/// A runtime with so many idle fibers, the older the lower their numbers. With each goes a call of `drops`, once the runtime ends,
/// with its number and the handles of all.
fn idle(workers: usize, fibers: usize, drops: impl Fn(usize, &[Slot]) + Send + Sync + 'static) -> Runtime {
    idle_in(workers, None, fibers, pending, drops)
}

/// The same with stacks of this size, and fibers that wait in what `waits` gives.
fn idle_in<F: Future<Output = ()> + Send + 'static>(
    workers: usize,
    stack_size: Option<usize>,
    fibers: usize,
    waits: impl Fn() -> F,
    drops: impl Fn(usize, &[Slot]) + Send + Sync + 'static,
) -> Runtime {
    let runtime =
        Runtime::builder().workers(workers).stack_size(stack_size.unwrap_or(2 << 20)).build().unwrap();
    let handles: Arc<Vec<Slot>> = Arc::new((0..fibers).map(|_| Mutex::default()).collect());
    let (drops, begun) = (Arc::new(drops), Arc::new(AtomicUsize::new(0)));
    for number in 0..fibers {
        let (drops, theirs, begins, wait) = (drops.clone(), handles.clone(), begun.clone(), waits());
        let held = Defer(move || drops(number, &theirs));
        let fiber = runtime.spawn(async move {
            let _held = held;
            begins.fetch_add(1, SeqCst);
            wait.await;
        });
        *handles[number].lock().unwrap() = Some(fiber);
    }
    until(|| begun.load(SeqCst) == fibers);
    runtime
}

/// Ends another runtime, whose only worker is in this fiber's poll.
fn end_another(poll: impl Future<Output = ()> + Send + 'static) {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (begins, begun) = leno::bounded(1);
    let _fiber = runtime.spawn(async move {
        begins.send(()).await.unwrap();
        poll.await;
    });
    begun.recv_blocking().unwrap();
}

/// Waits for that fiber's end.
fn join(fiber: &Slot) {
    let fiber = fiber.lock().unwrap().take().expect("joined once");
    assert!(fiber.wait().unwrap_err().is_cancelled());
}

/// Each waits for a while, for nothing that the others do: in a call, in a cord, or for the end of another runtime.
#[test]
#[cfg_attr(miri, ignore = "an interpreter's clock counts steps")]
fn drops_that_wait_for_a_while_take_few_threads() {
    const FIBERS: usize = 1_000;
    const WHILE: Duration = Duration::from_millis(2);
    let waits: [fn(Receiver<()>); 3] = [
        |rx| _ = rx.recv_timeout(WHILE).unwrap_err(),
        |_| Cord::new().block_on(leno::sleep(WHILE)),
        |rx| end_another(async move { _ = rx.recv_timeout(WHILE).unwrap_err() }),
    ];
    for (workers, wait) in [1, 2].into_iter().flat_map(|workers| waits.map(|wait| (workers, wait))) {
        in_time(move || {
            let droppers = Droppers::new();
            let (tx, rx) = leno::bounded::<()>(1);
            let notes = droppers.clone();
            let runtime = idle(workers, FIBERS, move |_, _| {
                notes.note();
                wait(rx.clone());
            });
            drop(runtime);
            droppers.assert_few(workers);
            drop(tx);
        });
    }
}

/// Each wakes others, which come into a worker's own queue, and waits for a while. The worker ends the runtime itself, in one of its
/// fibers, or leaves it as somebody else does.
#[test]
#[cfg_attr(miri, ignore = "an interpreter's clock counts steps")]
fn drops_on_a_worker_that_wake_others_take_few_threads() {
    const FIBERS: usize = 4_000;
    for is_its_own in [true, false] {
        in_time(move || {
            let droppers = Droppers::new();
            let (notes, dropped) = (droppers.clone(), Arc::new(AtomicUsize::new(0)));
            let ((wake, woken), (tx, rx)) = (leno::unbounded(), leno::bounded::<()>(1));
            let (wakes, counts) = (wake.clone(), dropped.clone());
            let waits = move || {
                let woken = woken.clone();
                async move { woken.recv().await.unwrap() }
            };
            let runtime = idle_in(2, None, FIBERS, waits, move |_, _| {
                notes.note();
                let _closed = wakes.try_send(());
                rx.recv_timeout(Duration::from_millis(2)).unwrap_err();
                let _closed = wakes.try_send(());
                counts.fetch_add(1, SeqCst);
            });
            let handle = runtime.handle().clone();
            if is_its_own {
                drop(handle.spawn(async move { drop(runtime) }));
            } else {
                let (begins, begun) = leno::bounded(1);
                let counts = dropped.clone();
                drop(handle.spawn(async move {
                    begins.try_send(()).unwrap();
                    until(|| counts.load(SeqCst) > 0);
                    wake.try_send(()).unwrap();
                }));
                begun.recv_blocking().unwrap();
                drop(runtime);
            }
            until(|| dropped.load(SeqCst) == FIBERS);
            droppers.assert_few(2);
            drop(tx);
        });
    }
}

/// Each waits for the end of the next one, which is younger, or older.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn drops_that_wait_for_each_other_by_age_take_few_threads() {
    const FIBERS: usize = 2_000;
    for workers in [1, 2] {
        for for_younger in [false, true] {
            in_time(move || {
                let droppers = Droppers::new();
                let notes = droppers.clone();
                drop(idle(workers, FIBERS, move |number, fibers| {
                    notes.note();
                    let next = if for_younger { Some(number + 1) } else { number.checked_sub(1) };
                    next.and_then(|next| fibers.get(next)).into_iter().for_each(join);
                }));
                droppers.assert_few(workers);
            });
        }
    }
}

/// Each waits for an older one, and the oldest one for all of them.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn helpers_go_in_both_directions() {
    const FIBERS: usize = 1_000;
    for workers in [1, 2] {
        in_time(move || {
            let droppers = Droppers::new();
            let notes = droppers.clone();
            let (end, ended) = leno::bounded(1);
            drop(idle(workers, FIBERS, move |number, fibers| {
                notes.note();
                match number {
                    0 => ended.recv_blocking().unwrap(),
                    1 => {}
                    _ => join(&fibers[number - 1]),
                }
                if number == FIBERS - 1 {
                    end.send_blocking(()).unwrap();
                }
            }));
            droppers.assert_few(workers);
        });
    }
}

/// From both ends to the middle, each waits for one at the other end: so all but the last one wait at the same time.
#[test]
fn drops_that_wait_for_each_other_come_to_an_end_in_any_order() {
    const FIBERS: usize = 16;
    for workers in [1, 2] {
        in_time(move || {
            drop(idle(workers, FIBERS, |number, fibers| {
                let next = if number < FIBERS / 2 { FIBERS - 1 - number } else { FIBERS - number };
                if next != FIBERS / 2 {
                    join(&fibers[next]);
                }
            }));
        });
    }
}

/// They ask again and again, and wait only for a moment each time, for one that is in the middle.
#[test]
#[cfg_attr(miri, ignore = "an interpreter's clock counts steps")]
fn drops_that_wait_by_moments_are_helped() {
    for workers in [1, 2] {
        in_time(move || {
            let (tx, rx) = leno::bounded(1);
            drop(idle(workers, 5, move |number, _| {
                while number != 2 && rx.recv_timeout(Duration::from_micros(100)).is_err() {}
                tx.send_blocking(()).unwrap();
            }));
        });
    }
}

/// They wait for the worker of another runtime, in its fiber or as its thread ends, and in a cord that never sleeps.
#[test]
fn drops_that_wait_for_another_executor_are_helped() {
    type Call = Defer<Box<dyn FnMut()>>;
    thread_local! {
        static AT_THE_END: RefCell<Option<Call>> = const { RefCell::new(None) };
    }
    const FIBERS: usize = 9;
    let waits: [fn(Receiver<()>); 3] = [
        |rx| end_another(async move { rx.recv_blocking().unwrap() }),
        |rx| {
            end_another(async move {
                let waits: Call = Defer(Box::new(move || rx.recv_blocking().unwrap()));
                AT_THE_END.with_borrow_mut(|at_the_end| *at_the_end = Some(waits));
            })
        },
        |rx| {
            Cord::new().block_on(async move {
                let _busy = spawn_local(async {
                    loop {
                        yield_now().await;
                    }
                });
                rx.recv().await.unwrap();
            });
        },
    ];
    for (workers, wait) in [1, 2].into_iter().flat_map(|workers| waits.map(|wait| (workers, wait))) {
        in_time(move || {
            let (tx, rx) = leno::bounded(FIBERS);
            drop(idle(workers, FIBERS, move |number, _| match number {
                4 => (1..FIBERS).for_each(|_| tx.try_send(()).unwrap()),
                _ => wait(rx.clone()),
            }));
        });
    }
}

/// A drop may need as much stack as a poll. Those on other threads wait for the first one to which a helper comes.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn helpers_have_stacks_as_large_as_workers() {
    const KIBIBYTES: usize = 8 << 10;
    #[inline(never)]
    fn recurse(depth: usize) -> usize {
        let large = std::hint::black_box([1_u8; 1 << 10]);
        if depth == 0 { 0 } else { recurse(depth - 1) + usize::from(large[depth % large.len()]) }
    }
    for workers in [1, 2] {
        in_time(move || {
            let (helps, helped) = leno::bounded::<()>(0);
            let stack_size = 4 * (KIBIBYTES << 10);
            drop(idle_in(workers, Some(stack_size), 3, pending, move |_, _| {
                if thread::current().name() != Some("leno-end") {
                    return assert!(helped.recv_blocking().is_err(), "it is closed in the end");
                }
                assert_eq!(recurse(KIBIBYTES), KIBIBYTES);
                helps.close();
            }));
        });
    }
}
