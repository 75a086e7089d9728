//! Models of a runtime's workers: what they push, steal, and sleep for. F9: no ready fiber is left alone; a lost one is a
//! deadlock here. The fibers are numbers, and each model says what its "poll" does.
//!
//! Planted bugs: `crew_…`, `ring_…`, `slot_…`, `timers_…`.

use crate::explore::{large_model, model};
use crate::scenarios::harness::thread;
use leno::model::crew::{Bell, Crew, Ring};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

/// Which numbers have run: each once. And what wakes workers in calls that block.
#[derive(Default)]
struct Ran(Mutex<Vec<usize>>, Condvar, Bell);

impl Ran {
    fn add(&self, number: usize) {
        let mut ran = self.0.lock().unwrap();
        assert!(!ran.contains(&number), "{number} ran twice");
        ran.push(number);
        self.1.notify_all();
    }

    /// A poll that does not end before that.
    fn wait_for(&self, number: usize) {
        let mut ran = self.0.lock().unwrap();
        while !ran.contains(&number) {
            ran = self.1.wait(ran).unwrap();
        }
    }

    fn has(&self, number: usize) -> bool {
        self.0.lock().unwrap().contains(&number)
    }

    fn all(&self) -> Vec<usize> {
        let mut ran = self.0.lock().unwrap().clone();
        ran.sort();
        ran
    }
}

/// A worker's life; `poll` says what a fiber does.
fn work(crew: &Crew, i: usize, ran: &Ran, poll: impl Fn(usize)) {
    while let Some(number) = crew.next(i) {
        poll(number);
        ran.add(number);
    }
    for number in crew.left(i) {
        ran.add(number);
    }
}

/// A crew of so many, with a thread for each that lives `life`, while `outside` goes on.
fn with_workers(
    workers: usize,
    life: impl Fn(&Arc<Crew>, usize, &Arc<Ran>) + Copy + Send + Sync + 'static,
    outside: impl FnOnce(&Arc<Crew>, &Arc<Ran>),
) -> Vec<usize> {
    let (crew, ran) = (Arc::new(Crew::new(workers)), Arc::new(Ran::default()));
    let threads: Vec<_> = (0..workers)
        .map(|i| {
            let (crew, ran) = (crew.clone(), ran.clone());
            thread::spawn(move || life(&crew, i, &ran))
        })
        .collect();
    outside(&crew, &ran);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    ran.all()
}

/// The worker may be on its way to sleep. `crew_injects_without_fence`, `crew_parks_unchecked`.
#[test]
fn inject_against_park() {
    model(|| {
        let crew = Arc::new(Crew::new(1));
        let worker = crew.clone();
        let worker = thread::spawn(move || [worker.next(0), worker.next(0)]);
        assert!(crew.inject(1));
        assert!(crew.inject(2));
        assert_eq!(worker.join().unwrap(), [Some(1), Some(2)]);
    });
}

/// The same with two that may sleep, each of which takes one and is not seen again, as in a poll that does not end.
/// `crew_forgets_last_search`.
#[test]
fn two_injected_reach_two_workers() {
    model(|| {
        let ran = with_workers(
            2,
            |crew, i, ran| ran.add(crew.next(i).unwrap()),
            |crew, _| {
                crew.inject(1);
                crew.inject(2);
            },
        );
        assert_eq!(ran, [1, 2]);
    });
}

/// The first one makes the second one ready on its worker, and waits for it, in a way that leno does not see (`push`) or
/// does: the watcher has to find it, or is needed no more. Each worker runs one.
fn long_poll(push: fn(&Arc<Crew>, usize)) {
    model(move || {
        let ran = with_workers(
            2,
            move |crew, i, ran| match crew.next(i) {
                Some(1) => {
                    push(crew, i);
                    ran.wait_for(2);
                }
                next => ran.add(next.expect("the crew does not end")),
            },
            |crew, _| assert!(crew.inject(1)),
        );
        assert_eq!(ran, [2]);
    });
}

/// `crew_stays_dormant`.
#[test]
fn long_poll_before_the_slot() {
    long_poll(|crew, i| crew.push_next(i, 2));
}

#[test]
fn long_poll_before_the_ring() {
    long_poll(|crew, i| crew.push_last(i, 2));
}

#[test]
fn blocks_before_it_waits() {
    long_poll(|crew, i| {
        crew.push_next(i, 2);
        crew.blocks(i);
    });
}

/// What a timer wakes: it makes a fiber ready, from elsewhere.
struct Injects(Arc<Crew>, usize);

impl Wake for Injects {
    fn wake(self: std::sync::Arc<Self>) {
        assert!(self.0.inject(self.1));
    }
}

/// What a timer wakes: calls that block.
struct Runs(Arc<Ran>, usize);

impl Wake for Runs {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.add(self.1);
        self.0.2.ring();
    }
}

fn injects(crew: &Arc<Crew>, number: usize) -> Waker {
    Waker::from(std::sync::Arc::new(Injects(crew.clone(), number)))
}

/// A timer that is set from outside while the worker goes to sleep. `crew_timer_set_unseen`.
#[test]
fn timer_from_outside_against_park() {
    model(|| {
        let crew = Arc::new(Crew::new(1));
        let worker = crew.clone();
        let worker = thread::spawn(move || worker.next(0));
        crew.set_timer(None, injects(&crew, 1));
        assert_eq!(worker.join().unwrap(), Some(1));
    });
}

/// The same with two workers, one of which may sleep as the watcher.
#[test]
fn timer_from_outside_against_two_that_park() {
    large_model(1, || {
        let ran = with_workers(
            2,
            |crew, i, ran| work(crew, i, ran, |_| {}),
            |crew, ran| {
                crew.set_timer(None, injects(crew, 1));
                ran.wait_for(1);
                assert_eq!(crew.close(), []);
            },
        );
        assert_eq!(ran, [1]);
    });
}

/// A fiber sets a timer on its worker, and keeps that from firing it: the poll does not end before. Somebody else does.
/// `timers_of_others_are_theirs`.
#[test]
fn timer_of_a_stuck_worker() {
    long_poll(|crew, i| crew.set_timer(Some(i), injects(crew, 2)));
}

/// A deadline wakes the watcher, who finds a fiber as well, whose poll waits for what the timer makes ready; or the fiber
/// wakes the sleeper that was to look after the timer. `crew_takes_before_it_fires`, `crew_timer_names_no_watch`.
#[test]
fn timer_and_a_fiber_that_waits_for_it() {
    model(|| {
        let ran = with_workers(
            2,
            |crew, i, ran| match crew.next(i) {
                Some(1) => ran.wait_for(2),
                next => ran.add(next.expect("the crew does not end")),
            },
            |crew, _| {
                crew.set_timer(None, injects(crew, 2));
                assert!(crew.inject(1));
            },
        );
        assert_eq!(ran, [2]);
    });
}

/// Workers that are in calls that block until a timer has fired, which is set from outside before the call or after it.
fn timer_while_all_block(workers: usize) {
    model(move || {
        let ran = with_workers(
            workers,
            |crew, i, ran| {
                crew.next(i).unwrap();
                crew.wait_aside(&ran.2, || ran.all() == [0]);
            },
            |crew, ran| {
                (1..=workers).for_each(|number| assert!(crew.inject(number)));
                crew.set_timer(None, Waker::from(std::sync::Arc::new(Runs(ran.clone(), 0))));
            },
        );
        assert_eq!(ran, [0]);
    });
}

/// `crew_rings_no_bell`.
#[test]
fn timer_while_the_only_worker_blocks() {
    timer_while_all_block(1);
}

#[test]
fn timer_while_two_workers_block() {
    timer_while_all_block(2);
}

/// A worker sets a timer of its own, and its poll waits for what that does; the other one is in a call that blocks.
/// `crew_own_timer_rings_no_bell`, `crew_own_timer_unfenced`.
#[test]
fn timer_of_a_stuck_worker_while_the_other_one_blocks() {
    model(|| {
        let ran = with_workers(
            2,
            |crew, i, ran| {
                if crew.next(i) == Some(1) {
                    crew.set_timer(Some(i), Waker::from(std::sync::Arc::new(Runs(ran.clone(), 0))));
                    ran.wait_for(0);
                } else {
                    crew.wait_aside(&ran.2, || ran.has(0));
                }
            },
            |crew, _| (1..=2).for_each(|number| assert!(crew.inject(number))),
        );
        assert_eq!(ran, [0]);
    });
}

/// Somebody comes from outside while the last worker goes to sleep, and a virtual clock goes on: before all that one does, or
/// once it is done. F12. `crew_is_busy_during_a_jump`, `crew_jumps_late`.
#[test]
fn time_stands_still_for_who_is_busy() {
    const HOUR: Duration = Duration::from_secs(3600);
    model(|| {
        let (crew, ran) = (Arc::new(Crew::simulated(1)), Arc::new(Ran::default()));
        let runs = |number| Waker::from(std::sync::Arc::new(Runs(ran.clone(), number)));
        crew.set_timer_at(None, crew.now() + HOUR, runs(3));
        let worker = {
            let (crew, ran) = (crew.clone(), ran.clone());
            thread::spawn(move || work(&crew, 0, &ran, |number| assert_eq!((number, ran.has(2)), (1, false))))
        };
        crew.busy();
        let now = crew.now();
        assert!(crew.inject(1));
        crew.set_timer_at(None, now + HOUR / 2, runs(2));
        assert_eq!(crew.now(), now);
        crew.calm();
        ran.wait_for(2);
        ran.wait_for(3);
        assert!(ran.has(1), "its deadline has come before it");
        assert_eq!(crew.close(), []);
        worker.join().unwrap();
    });
}

/// Three workers, two of which wait for the third: the first one has made both others ready. The watch has to go on after
/// the one who had it has found something. `crew_hands_no_watch_on`.
#[test]
fn watch_is_handed_on() {
    large_model(1, || {
        let ran = with_workers(
            3,
            |crew, i, ran| {
                let number = crew.next(i).unwrap();
                if number == 1 {
                    crew.push_next(i, 3);
                    crew.push_next(i, 2);
                }
                if number < 3 {
                    ran.wait_for(3);
                } else {
                    ran.add(3);
                }
            },
            |crew, _| assert!(crew.inject(1)),
        );
        assert_eq!(ran, [3]);
    });
}

/// A sleeper that was given the watch finds that all sleep again, and sleeps without an end: it has no watch then, and the next
/// long poll needs one. `crew_keeps_the_watchs_name`.
#[test]
fn watch_ends_with_what_was_watched() {
    large_model(2, || {
        let life = |crew: &Arc<Crew>, i, ran: &Arc<Ran>| {
            work(crew, i, ran, |number| {
                if number % 2 == 1 {
                    crew.push_next(i, number + 1);
                }
                if number == 3 {
                    ran.wait_for(4);
                }
            });
        };
        let ran = with_workers(2, life, |crew, ran| {
            crew.inject(1);
            ran.wait_for(2);
            crew.inject(3);
            ran.wait_for(3);
            assert_eq!(crew.close(), []);
        });
        assert_eq!(ran, [1, 2, 3, 4]);
    });
}

/// Everything that was accepted is run, or ended by the one who closes, or by a worker that leaves.
/// `crew_accepts_after_close`.
#[test]
fn close_against_inject_and_park() {
    model(|| {
        let (crew, ran) = (Arc::new(Crew::new(1)), Arc::new(Ran::default()));
        let worker = {
            let (crew, ran) = (crew.clone(), ran.clone());
            thread::spawn(move || {
                work(&crew, 0, &ran, |number| {
                    if number == 1 {
                        crew.push_next(0, 2);
                        crew.push_last(0, 3);
                    }
                });
            })
        };
        let injector = {
            let crew = crew.clone();
            thread::spawn(move || crew.inject(1))
        };
        crew.close().into_iter().for_each(|number| ran.add(number));
        let accepted = injector.join().unwrap();
        worker.join().unwrap();
        let ran = ran.all();
        assert_eq!(ran.contains(&1), accepted);
        assert_eq!(ran.contains(&2), ran.contains(&3));
    });
}

/// The only worker owns something, and either blocks until that is ended, so that who closes the crew has to act in its place, or
/// ends it itself. `crew_leaves_unseen`, `crew_returns_to_be_two`.
#[test]
fn away_against_close() {
    for blocks in [false, true] {
        model(move || {
            let (crew, ended) = (Arc::new(Crew::new(1)), Arc::new(Ran::default()));
            let own = Arc::new(Cells::new());
            let worker = {
                let (crew, ended, own) = (crew.clone(), ended.clone(), own.clone());
                thread::spawn(move || {
                    own.write(0);
                    if blocks {
                        let left = crew.leaves();
                        ended.wait_for(1);
                        if crew.returns(left) {
                            own.write(0);
                        }
                    } else {
                        own.write(0);
                    }
                    crew.gone();
                })
            };
            assert!(crew.close().is_empty());
            crew.in_its_place(|| {
                own.write(0);
                ended.add(1);
                own.write(0);
            });
            worker.join().unwrap();
            assert_eq!(ended.all(), if blocks { vec![1] } else { vec![] });
            own.write(0);
        });
    }
}

/// Two come in the place of the only worker, one after the other: the first one blocks in turn until the second has ended what it
/// waits for. Neither that one nor the worker, which is over by then, goes on as the worker; and the first one leaves the place to
/// nobody else as long as the second has it. `crew_returns_to_be_two`, `crew_is_taken_by_two`, `crew_is_gone_where_replaced`,
/// `crew_is_left_by_who_was_replaced`.
#[test]
fn away_in_its_place() {
    large_model(1, || {
        let (crew, ended) = (Arc::new(Crew::new(1)), Arc::new(Ran::default()));
        let own = Arc::new(Cells::new());
        let worker = {
            let (crew, ended, own) = (crew.clone(), ended.clone(), own.clone());
            thread::spawn(move || {
                own.write(0);
                let left = crew.leaves();
                ended.wait_for(1);
                if crew.returns(left) {
                    own.write(0);
                }
                crew.gone();
            })
        };
        let acts = {
            let (crew, ended, own) = (crew.clone(), ended.clone(), own.clone());
            move || {
                crew.in_its_place(|| {
                    own.write(0);
                    if ended.all().is_empty() {
                        ended.add(1);
                        let left = crew.leaves();
                        ended.wait_for(2);
                        if crew.returns(left) {
                            own.write(0);
                        }
                    } else {
                        ended.add(2);
                        own.write(0);
                    }
                });
                crew.in_its_own_place(|| own.write(0));
            }
        };
        assert!(crew.close().is_empty());
        let helper = thread::spawn(acts.clone());
        acts();
        helper.join().unwrap();
        worker.join().unwrap();
        assert_eq!(ended.all(), [1, 2]);
        own.write(0);
    });
}

/// A ring overflows while another worker searches.
#[test]
fn overflow_against_a_searcher() {
    large_model(1, || {
        let (crew, ran) = (Arc::new(Crew::new(2)), Arc::new(Ran::default()));
        let other = {
            let (crew, ran) = (crew.clone(), ran.clone());
            thread::spawn(move || crew.next(1).into_iter().for_each(|number| ran.add(number)))
        };
        (1..=5).for_each(|number| crew.push_last(0, number));
        (0..4).for_each(|_| ran.add(crew.next(0).unwrap()));
        other.join().unwrap();
        assert_eq!(ran.all(), [1, 2, 3, 4, 5]);
    });
}

/// The second worker has so many turns, all with the fiber 10.
fn take_turns(crew: &Crew, turns: usize) {
    for _ in 0..turns {
        assert_eq!(crew.next(1), Some(10));
        crew.push_last(1, 10);
    }
}

/// A worker that is always busy comes across one whose poll does not end, and runs what that one keeps waiting.
#[test]
fn a_busy_worker_visits_a_stuck_one() {
    model(|| {
        let crew = Crew::new(2);
        assert!(crew.inject(1));
        assert_eq!(crew.next(0), Some(1));
        // In the poll of 1.
        crew.push_next(0, 2);
        crew.push_last(0, 3);
        crew.push_last(1, 10);
        let ran: Vec<_> = (11..100)
            .map(|number| {
                let ran = crew.next(1);
                crew.push_last(1, number);
                ran
            })
            .collect();
        assert!(ran.contains(&Some(2)) && ran.contains(&Some(3)), "{ran:?}");
        crew.close();
        (0..2).for_each(|i| _ = crew.left(i));
    });
}

/// The same as that poll ends: each fiber is run by one of the two. `crew_visitor_is_the_owner`.
#[test]
fn a_visit_as_a_poll_ends() {
    model(|| {
        let (crew, ran) = (Arc::new(Crew::new(2)), Arc::new(Ran::default()));
        assert!(crew.inject(1));
        assert_eq!(crew.next(0), Some(1));
        crew.push_next(0, 2);
        crew.push_last(0, 3);
        // The first visit, in the 64th turn.
        crew.push_last(1, 10);
        take_turns(&crew, 64);
        let other = {
            let (crew, ran) = (crew.clone(), ran.clone());
            thread::spawn(move || {
                for number in 11..=14 {
                    ran.add(crew.next(1).unwrap());
                    crew.push_last(1, number);
                }
            })
        };
        ran.add(crew.next(0).unwrap());
        other.join().unwrap();
        let rest = crew.close().into_iter().chain((0..2).flat_map(|i| crew.left(i)));
        rest.for_each(|number| ran.add(number));
        assert_eq!(ran.all(), [2, 3, 10, 11, 12, 13, 14]);
    });
}

/// First in, first out, whoever pushes.
#[test]
fn a_strict_crew_keeps_the_order() {
    model(|| {
        let crew = Arc::new(Crew::strict());
        let other = {
            let crew = crew.clone();
            thread::spawn(move || {
                crew.inject(1);
                crew.inject(2);
            })
        };
        crew.push_next(0, 11);
        crew.push_last(0, 12);
        let got: Vec<_> = (0..4).map(|_| crew.next(0).unwrap()).collect();
        let of = |numbers: [usize; 2]| numbers.map(|number| got.iter().position(|n| *n == number));
        assert!(of([1, 2]).is_sorted() && of([11, 12]).is_sorted(), "{got:?}");
        other.join().unwrap();
    });
}

/// What stands for fibers, or for what a worker owns: cells that only the one who has taken the number may touch.
struct Cells([UnsafeCell<usize>; 5]);

// SAFETY: that is what the models check.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

impl Cells {
    fn new() -> Self {
        Cells(std::array::from_fn(|_| UnsafeCell::new(0)))
    }

    fn write(&self, number: usize) {
        // SAFETY: loom says if it is not exclusive.
        self.0[number].with_mut(|cell| unsafe { *cell = 1 });
    }

    fn take(&self, number: usize) {
        // SAFETY: loom says if it is not exclusive.
        self.0[number].with_mut(|cell| unsafe {
            assert_eq!(*cell, 1, "{number} was not there, or was taken twice");
            *cell = 2;
        });
    }
}

/// A thread that steals into a ring of its own, and empties that; how many it got.
fn thief(ring: &Arc<Ring>, cells: &Arc<Cells>) -> thread::JoinHandle<usize> {
    let (ring, cells) = (ring.clone(), cells.clone());
    thread::spawn(move || {
        let mine = Ring::default();
        let stolen = ring.steal_into(&mine).into_iter().chain(std::iter::from_fn(|| mine.pop()));
        stolen.map(|number| cells.take(number)).count()
    })
}

/// Takes what is left in the owner's ring; how many.
fn empty(ring: &Ring, cells: &Cells) -> usize {
    std::iter::from_fn(|| ring.pop()).map(|number| cells.take(number)).count()
}

/// The owner pushes and pops, a thief steals. `ring_push_relaxed`, `ring_pop_stores`.
#[test]
fn push_and_pop_against_a_thief() {
    model(|| {
        let (ring, cells) = (Arc::new(Ring::default()), Arc::new(Cells::new()));
        let thief = thief(&ring, &cells);
        for number in 1..=4 {
            cells.write(number);
            assert!(ring.push(number));
        }
        assert_eq!(empty(&ring, &cells) + thief.join().unwrap(), 4);
    });
}

/// A full ring gives up its older half while a thief takes one.
#[test]
fn overflow_against_a_thief() {
    model(|| {
        let (ring, cells) = (Arc::new(Ring::default()), Arc::new(Cells::new()));
        for number in 1..=4 {
            cells.write(number);
            assert!(ring.push(number));
        }
        let thief = thief(&ring, &cells);
        let half = ring.take_half();
        half.iter().for_each(|number| cells.take(*number));
        assert_eq!(half.len() + empty(&ring, &cells) + thief.join().unwrap(), 4);
    });
}

/// The slot: the owner puts and takes, a thief takes. `slot_put_relaxed`.
#[test]
fn slot_against_a_thief() {
    model(|| {
        let (ring, cells) = (Arc::new(Ring::default()), Arc::new(Cells::new()));
        let thief = {
            let (ring, cells) = (ring.clone(), cells.clone());
            thread::spawn(move || {
                let got = ring.steal_one();
                got.into_iter().for_each(|number| cells.take(number));
                got.is_some()
            })
        };
        let mut count = 0;
        for number in 1..=2 {
            cells.write(number);
            if let Some(displaced) = ring.put_next(number) {
                cells.take(displaced);
                count += 1;
            }
        }
        if let Some(number) = ring.take_next() {
            cells.take(number);
            count += 1;
        }
        assert_eq!(count + usize::from(thief.join().unwrap()), 2);
    });
}

/// A worker that was asleep is not stuck in the poll with which it wakes up. `crew_sleeps_in_its_poll`.
#[test]
fn a_visit_as_a_sleeper_begins() {
    model(|| {
        let (crew, ran) = (Arc::new(Crew::new(2)), Arc::new(Ran::default()));
        crew.push_last(1, 10);
        take_turns(&crew, 63);
        let sleeper = {
            let (crew, ran) = (crew.clone(), ran.clone());
            thread::spawn(move || {
                if crew.next(0) != Some(1) {
                    return;
                }
                // The poll of 1 has begun just now.
                crew.push_next(0, 2);
                ran.add(1);
                ran.wait_for(100);
            })
        };
        // It goes to sleep.
        thread::yield_now();
        // A visit, in the 64th turn.
        take_turns(&crew, 1);
        assert!(crew.inject(1));
        thread::yield_now();
        let is_sleepers = ran.has(1);
        let taken: Vec<_> = (11..=15)
            .map(|number| {
                let taken = crew.next(1).unwrap();
                crew.push_last(1, number);
                taken
            })
            .collect();
        // (If it is in the poll of 1 it has been for no time at all.)
        assert!(!(is_sleepers && taken.contains(&2)), "{taken:?}");
        ran.add(100);
        crew.close();
        sleeper.join().unwrap();
        (0..2).for_each(|i| _ = crew.left(i));
    });
}
