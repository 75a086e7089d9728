//! Drops that wait while a runtime ends: which threads go on with the rest meanwhile, and how many.

use std::collections::HashSet;
use std::future::pending;
use std::process::Command;
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
    let runtime = Runtime::builder().workers(workers).stack_size(2 << 20).build().unwrap();
    let handles: Arc<Vec<Slot>> = Arc::new((0..fibers).map(|_| Mutex::default()).collect());
    let (drops, begun) = (Arc::new(drops), Arc::new(AtomicUsize::new(0)));
    for number in 0..fibers {
        let (drops, theirs, begins) = (drops.clone(), handles.clone(), begun.clone());
        let held = Defer(move || drops(number, &theirs));
        let fiber = runtime.spawn(async move {
            let _held = held;
            begins.fetch_add(1, SeqCst);
            pending::<()>().await;
        });
        *handles[number].lock().unwrap() = Some(fiber);
    }
    until(|| begun.load(SeqCst) == fibers);
    runtime
}

/// Waits for that fiber's end.
fn join(fiber: &Slot) {
    let fiber = fiber.lock().unwrap().take().expect("joined once");
    assert!(fiber.wait().unwrap_err().is_cancelled());
}

/// Each waits for a while, for nothing that the others do.
#[test]
#[cfg_attr(miri, ignore = "an interpreter's clock counts steps")]
fn drops_that_wait_for_a_while_take_few_threads() {
    const FIBERS: usize = 1_000;
    for workers in [1, 2] {
        in_time(move || {
            let droppers = Droppers::new();
            let (tx, rx) = leno::bounded::<()>(1);
            let notes = droppers.clone();
            let runtime = idle(workers, FIBERS, move |_, _| {
                notes.note();
                rx.recv_timeout(Duration::from_millis(2)).unwrap_err();
            });
            drop(runtime);
            droppers.assert_few(workers);
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

/// They wait in ways that do not ask again whether a helper is due: for the worker of another runtime, and in a cord that never
/// sleeps.
#[test]
fn drops_that_wait_for_another_executor_are_helped() {
    const FIBERS: usize = 9;
    let waits: [fn(Receiver<()>); 2] = [
        |rx| {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            let (begins, begun) = leno::bounded(1);
            let _fiber = runtime.spawn(async move {
                begins.send(()).await.unwrap();
                rx.recv_blocking().unwrap();
            });
            begun.recv_blocking().unwrap();
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

/// Where no thread can be started, who waits goes on itself, but not without end. (In a process of its own, whose threads are too
/// large unless it says otherwise.)
#[test]
#[cfg_attr(miri, ignore = "no processes")]
fn without_threads_drops_that_wait_take_little_stack() {
    const CHILD: &str = "LENO_TEST_NO_THREADS";
    if std::env::var_os(CHILD).is_some() {
        assert!(cfg!(target_pointer_width = "32") || thread::Builder::new().spawn(|| ()).is_err());
        for workers in [1, 2] {
            let (_tx, rx) = leno::bounded::<()>(1);
            drop(idle(workers, 2_000, move |_, _| {
                rx.recv_timeout(Duration::from_micros(500)).unwrap_err();
            }));
            drop(idle(workers, 8, |number, fibers| fibers.get(number + 1).into_iter().for_each(join)));
        }
        return;
    }
    in_time(|| {
        let name = "helpers::without_threads_drops_that_wait_take_little_stack";
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name, "--nocapture", "--test-threads=1"]);
        let output = child.env(CHILD, "1").env("RUST_MIN_STACK", (1_u64 << 46).to_string()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
}
