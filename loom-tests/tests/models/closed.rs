//! Models of a closed world: F17. Who waits in a `block_on` is told once nobody is active, and not before. One that is not
//! told is a deadlock here. The fibers are numbers; the main thread is that of the `block_on`, and is busy as that is.
//!
//! Planted bugs: `closed_…`.

use crate::explore::model;
use crate::scenarios::harness::thread;
use leno::model::crew::Crew;
use loom::sync::{Arc, Condvar, Mutex};

/// Where the thread of a `block_on` waits.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    /// Once.
    fn open(&self) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap(), true);
        assert!(!before, "it was told before, and is active");
        self.1.notify_one();
    }

    fn wait(&self) {
        let mut open = self.0.lock().unwrap();
        while !*open {
            open = self.1.wait(open).unwrap();
        }
    }
}

/// The gate of the `block_on`, and which fibers have run.
#[derive(Default)]
struct World {
    gate: Gate,
    ran: Mutex<Vec<usize>>,
}

/// A crew of so many; `poll` says what a fiber does. The thread of a `block_on` polls `first`, waits at its gate, and is told
/// once those fibers have run.
fn told_after(
    workers: usize,
    expected: &'static [usize],
    poll: impl Fn(&Arc<Crew>, usize, usize) + Copy + Send + Sync + 'static,
    first: impl FnOnce(&Arc<Crew>),
) {
    let world = Arc::new(World::default());
    let of_tell = world.clone();
    let crew = Arc::new(Crew::closed(workers, move |_| {
        let mut ran = of_tell.ran.lock().unwrap().clone();
        ran.sort();
        assert_eq!(ran, expected, "somebody is active");
        of_tell.gate.open();
    }));
    let threads: Vec<_> = (0..workers)
        .map(|i| {
            let (crew, world) = (crew.clone(), world.clone());
            thread::spawn(move || {
                while let Some(number) = crew.next(i) {
                    poll(&crew, i, number);
                    world.ran.lock().unwrap().push(number);
                }
            })
        })
        .collect();
    // The fiber of the `block_on` is scheduled; then it is on the list, and polled.
    crew.busy();
    crew.expect_main(0);
    first(&crew);
    crew.calm();
    world.gate.wait();
    crew.dismiss_main(0);
    assert_eq!(crew.close(), []);
    crew.calm();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// One fiber, of the `block_on`.
fn told_after_one(workers: usize) {
    model(move || {
        told_after(
            workers,
            &[1],
            |_, _, _| {},
            |crew| {
                crew.inject(1);
            },
        );
    });
}

/// The worker may be asleep before the `block_on` begins, or on its way. `closed_calm_is_silent`, `closed_ignores_busy`,
/// `closed_counts_mains_late`.
#[test]
fn told_once_its_fiber_has_run() {
    told_after_one(1);
}

/// One of two workers sleeps while the other one is in a poll. `closed_counts_no_workers`.
#[test]
fn told_once_all_workers_sleep() {
    told_after_one(2);
}

/// A call of `unblock`, from the `block_on`: its thread wakes a fiber, and ends.
#[test]
fn told_once_unblock_has_ended() {
    model(|| {
        let mut job = None;
        told_after(
            1,
            &[1],
            |_, _, _| {},
            |crew| {
                crew.busy();
                let crew = crew.clone();
                job = Some(thread::spawn(move || {
                    crew.inject(1);
                    crew.calm();
                }));
            },
        );
        job.unwrap().join().unwrap();
    });
}

/// The same from a fiber, whose worker sleeps then.
#[test]
fn told_once_a_fibers_unblock_has_ended() {
    model(|| {
        told_after(
            1,
            &[1, 2],
            |crew, _, number| {
                if number == 1 {
                    crew.busy();
                    let crew = crew.clone();
                    thread::spawn(move || {
                        crew.inject(2);
                        crew.calm();
                    });
                }
            },
            |crew| {
                crew.inject(1);
            },
        );
    });
}

/// Threads with a `block_on` each, one of which may end and the other begin while the worker looks: nobody waits for ever, and
/// nobody is told. `closed_looks_unlocked`.
#[test]
fn nobody_is_told_while_others_come_and_go() {
    model(|| {
        let gates = Arc::new([Gate::default(), Gate::default()]);
        let crew = Arc::new(Crew::closed(1, |main| panic!("somebody is active, and {main} was told")));
        let worker = {
            let (crew, gates) = (crew.clone(), gates.clone());
            thread::spawn(move || {
                while let Some(number) = crew.next(0) {
                    crew.busy();
                    gates[number].open();
                }
            })
        };
        let block_on = |main: usize| {
            let (crew, gates) = (crew.clone(), gates.clone());
            move || {
                crew.busy();
                crew.expect_main(main);
                assert!(crew.inject(main));
                crew.calm();
                gates[main].wait();
                crew.dismiss_main(main);
                crew.calm();
            }
        };
        let other = thread::spawn(block_on(1));
        block_on(0)();
        other.join().unwrap();
        assert_eq!(crew.close(), []);
        worker.join().unwrap();
    });
}
