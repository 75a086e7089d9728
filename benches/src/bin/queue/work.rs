//! The workloads: what owners do with their waiters, while a given number of these stands in the queue.
//!
//! An operation is one waiter's stay: it enters, and it leaves, by being taken or cancelled. Its owner notices by
//! the waiter's own word that it was taken, and uses it again, the latest first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::Backoff;

use crate::rivals::Rival;

/// What a step does after one more waiter has entered at the back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// It takes the first.
    Line,
    /// It cancels the one that has just entered.
    CancelLast,
    /// It cancels a random one.
    CancelAny,
    /// By turns it cancels a random one or takes the first: half of all are cancelled.
    Mixed,
    /// One thread enters only, another takes only; the number of waiters is the most that can stand.
    TwoSided,
}

impl Shape {
    pub(crate) const ALL: [Shape; 5] =
        [Shape::Line, Shape::CancelLast, Shape::CancelAny, Shape::Mixed, Shape::TwoSided];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Shape::Line => "line",
            Shape::CancelLast => "cancel-last",
            Shape::CancelAny => "cancel-any",
            Shape::Mixed => "mixed",
            Shape::TwoSided => "two-sided",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Shape::Line => "enter at the back, take the first",
            Shape::CancelLast => "enter at the back, cancel that one",
            Shape::CancelAny => "enter at the back, cancel a random one",
            Shape::Mixed => "enter at the back, take the first or cancel a random one",
            Shape::TwoSided => "one enters, the other takes",
        }
    }

    pub(crate) fn threads(self) -> &'static [usize] {
        if self == Shape::TwoSided { &[2] } else { &[1, 2] }
    }
}

/// How many waiters stand at most, of `waiters` wanted.
pub(crate) fn most(shape: Shape, threads: usize, waiters: usize) -> usize {
    if shape == Shape::TwoSided { waiters } else { waiters.max(threads) }
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) ns_per_op: f64,
    /// Which share of the time each of its threads had a core: of the thread for which it was the least.
    pub(crate) on_core: f64,
}

/// At least `ops` operations on one or two threads, with up to `waiters` in the queue.
///
/// Two threads are kept on a core each, begin together, and go on until the first of them has done its half, so
/// that all that is measured is done side by side.
pub(crate) fn run<Q: Rival>(shape: Shape, threads: usize, waiters: usize, ops: u64) -> Run {
    let queue = &Q::new();
    let standing = if shape == Shape::TwoSided { 0 } else { most(shape, threads, waiters) - threads };
    // One more may be in the hands of a peer that has yet to give it back, and one is about to enter.
    let owned = if shape == Shape::TwoSided { waiters } else { waiters + 2 };
    let mut owners: Vec<Owner<Q>> = (0..threads)
        .map(|i| {
            let mut owner = Owner::new(queue, i, owned);
            (i..standing).step_by(threads).for_each(|_| owner.enter());
            owner
        })
        .collect();
    let spans: Vec<Span> = match owners.as_mut_slice() {
        [only] => vec![Span::of(|| only.work(shape, ops, &AtomicBool::new(false)))],
        all => {
            let (ready, over) = (&AtomicUsize::new(0), &AtomicBool::new(false));
            std::thread::scope(|scope| {
                let threads: Vec<_> = all
                    .iter_mut()
                    .enumerate()
                    .map(|(i, owner)| {
                        scope.spawn(move || {
                            stay_on_core(i);
                            ready.fetch_add(1, Ordering::AcqRel);
                            while ready.load(Ordering::Acquire) < threads {
                                std::hint::spin_loop();
                            }
                            Span::of(|| match shape {
                                Shape::TwoSided => owner.work_on_side(i == 0, ops),
                                _ => owner.work(shape, ops / 2, over),
                            })
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().expect("no workload panics")).collect()
            })
        }
    };
    let left = std::iter::from_fn(|| queue.take().then_some(())).count();
    assert_eq!(left, standing, "{}: waiters were lost, or taken twice", Q::NAME);
    owners.into_iter().for_each(Owner::free);
    Run::during(&spans)
}

impl Run {
    /// Of one thread, which says how many operations it has done.
    pub(crate) fn of(work: impl FnOnce() -> u64) -> Run {
        Run::during(&[Span::of(work)])
    }

    fn during(spans: &[Span]) -> Run {
        let began = spans.iter().map(|span| span.began).min().expect("there is a thread");
        let ended = spans.iter().map(|span| span.ended).max().expect("there is a thread");
        let ops: u64 = spans.iter().map(|span| span.ops).sum();
        Run {
            ns_per_op: (ended - began).as_nanos() as f64 / ops as f64,
            on_core: spans.iter().map(Span::on_core).fold(1.0, f64::min),
        }
    }
}

/// When a thread worked, how much of that time it had a core, and how many operations it did.
struct Span {
    began: Instant,
    ended: Instant,
    cpu: Duration,
    ops: u64,
}

impl Span {
    fn of(work: impl FnOnce() -> u64) -> Span {
        let (began, cpu) = (Instant::now(), thread_cpu_time());
        let ops = work();
        Span { cpu: thread_cpu_time() - cpu, ended: Instant::now(), began, ops }
    }

    fn on_core(&self) -> f64 {
        self.cpu.as_secs_f64() / (self.ended - self.began).as_secs_f64()
    }
}

/// CPU time that this thread has used so far.
fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to writable memory of the right type.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "a thread's clock can be read");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Keeps this thread on the `i`th of the cores that it may use, if there are as many.
fn stay_on_core(i: usize) {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: all zeros is the empty set.
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the sets are of the size given, and the numbers within it. If it fails, the thread stays free to move.
    unsafe {
        libc::sched_getaffinity(0, SIZE, &raw mut cores);
        let Some(core) = (0..8 * SIZE).filter(|&core| libc::CPU_ISSET(core, &cores)).nth(i) else { return };
        libc::CPU_ZERO(&mut cores);
        libc::CPU_SET(core, &mut cores);
        libc::sched_setaffinity(0, SIZE, &raw const cores);
    }
}

/// A place in an owner's line whose waiter was cancelled.
const VACANT: u32 = u32::MAX;

/// A thread's waiters.
struct Owner<'q, Q: Rival> {
    queue: &'q Q,
    waiters: Vec<Q::Waiter>,
    /// Those that do not wait.
    free: Vec<u32>,
    /// Those that have entered, in order: places `first..next`, modulo the length, which is a power of two.
    line: Vec<u32>,
    first: usize,
    next: usize,
    random: u64,
}

impl<'q, Q: Rival> Owner<'q, Q> {
    fn new(queue: &'q Q, i: usize, waiters: usize) -> Self {
        Owner {
            queue,
            waiters: (0..waiters).map(|_| Q::waiter()).collect(),
            free: (0..waiters as u32).rev().collect(),
            line: vec![VACANT; (4 * waiters).next_power_of_two()],
            first: 0,
            next: 0,
            random: 0x9E37_79B9_7F4A_7C15 + i as u64,
        }
    }

    /// A random number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.random >> 32) * n as u64) >> 32) as usize
    }

    fn place(&mut self, at: usize) -> &mut u32 {
        let mask = self.line.len() - 1;
        &mut self.line[at & mask]
    }

    /// Takes back those of its first waiters that have left.
    fn reap(&mut self) {
        while self.first < self.next {
            let waiter = *self.place(self.first);
            if waiter != VACANT {
                if Q::waits(&self.waiters[waiter as usize]) {
                    return;
                }
                self.free.push(waiter);
            }
            self.first += 1;
        }
    }

    fn has_room(&self) -> bool {
        !self.free.is_empty() && self.next - self.first < self.line.len()
    }

    /// One more enters, as soon as one is there that does not wait.
    fn enter(&mut self) {
        self.reap();
        let backoff = Backoff::new();
        while !self.has_room() {
            backoff.snooze();
            self.reap();
        }
        let waiter = self.free.pop().expect("there is room");
        self.queue.enter(&mut self.waiters[waiter as usize]);
        *self.place(self.next) = waiter;
        self.next += 1;
    }

    /// Takes the first, whoever owns it; somebody is there, or about to be.
    fn take(&self) {
        let backoff = Backoff::new();
        while !self.queue.take() {
            backoff.snooze();
        }
    }

    /// Cancels the waiter at a place of the line, if it still stands.
    fn cancel(&mut self, at: usize) -> bool {
        let waiter = *self.place(at);
        let removed = waiter != VACANT && self.queue.remove(&mut self.waiters[waiter as usize]);
        if removed {
            *self.place(at) = VACANT;
            self.free.push(waiter);
        }
        removed
    }

    fn cancel_last(&mut self) {
        assert!(self.cancel(self.next - 1), "nobody takes any out");
        self.next -= 1;
    }

    /// Cancels a random one, and closes the gap in the line, as nobody takes any out.
    fn cancel_any(&mut self) {
        let at = self.first + self.below(self.next - self.first);
        let last = *self.place(self.next - 1);
        assert!(self.cancel(at), "nobody takes any out");
        *self.place(at) = last;
        self.next -= 1;
    }

    /// Cancels a random one; takes the first if peers have taken all of its own.
    fn cancel_some(&mut self) {
        let standing = self.next - self.first;
        let start = self.below(standing);
        for i in 0..standing {
            let at = start + i;
            let at = if at < standing { at } else { at - standing };
            if self.cancel(self.first + at) {
                return;
            }
        }
        self.take();
    }

    /// Does `ops` operations, or stops as soon as a peer has done its own. How many it has done.
    fn work(&mut self, shape: Shape, ops: u64, over: &AtomicBool) -> u64 {
        /// Between two looks at `over`; even, as a mixed workload comes in pairs.
        const STEPS: u64 = 50;
        let mut done = 0;
        while done < ops && !over.load(Ordering::Relaxed) {
            self.steps(shape, STEPS);
            done += STEPS;
        }
        over.store(true, Ordering::Relaxed);
        done
    }

    /// What is measured; a function of its own, so that instructions can be counted in it alone.
    #[inline(never)]
    fn steps(&mut self, shape: Shape, ops: u64) {
        for op in 0..ops {
            self.enter();
            match shape {
                Shape::Line => self.take(),
                Shape::CancelLast => self.cancel_last(),
                Shape::CancelAny => self.cancel_any(),
                Shape::Mixed if op % 2 == 0 => self.cancel_some(),
                Shape::Mixed => self.take(),
                Shape::TwoSided => unreachable!("each of its threads has a side"),
            }
        }
    }

    /// Enters or takes `ops` times. How many stays it has ended.
    fn work_on_side(&mut self, enters: bool, ops: u64) -> u64 {
        if enters {
            (0..ops).for_each(|_| self.enter());
            return 0;
        }
        (0..ops).for_each(|_| self.take());
        ops
    }

    fn free(self) {
        self.waiters.into_iter().for_each(Q::free);
    }
}
