//! The workers of an executor, what is ready for them, and which of them search, sleep and are woken.
//!
//! ```text
//!   worker 0: slot, ring ──┐ steal ┌── worker 1: slot, ring          pushed by their own workers
//!                          ▼       ▼
//!       inject (a locked queue) ◀── everybody else, and what a ring has no room for
//!
//!   idle = parked:16… | searching:16          sleepers (a lock): who is asleep, and who of them keeps watch
//! ```
//!
//! Here is what is pushed and taken; [`worker`] is one worker's part, [`park`] how workers sleep and are woken, [`contention`]
//! how those that are in each other's way part, [`closed`] how it shows that fibers wait only for each other.
//!
//! A crew of one, a cord's or that of a runtime with one worker, has a plain queue instead of the ring, as there are no
//! thieves, and at each turn moves what was injected behind that. A *strict* one, a cord's, has no slot either, and does the same
//! before it queues anything itself: first in, first out.
//!
//! **States of a worker.** *Working*: it runs fibers, and has taken the last one from somewhere. *Searching*: it has
//! nothing, and looks everywhere (a lone one, or one on a virtual clock, in its own queue and `inject` only). *Parked*: it is
//! among the `sleepers`, under whose lock it gets there and is taken out. `idle` counts the last two, by read-modify-writes;
//! `parked` changes under the lock only.
//!
//! **No ready fiber is left alone.** Who makes one ready from elsewhere pushes it into `inject`, then looks at `idle`, and
//! unless somebody searches wakes a sleeper. A worker that makes one ready pushes it into its own queue and goes on: it
//! wakes nobody, and has no fence. So:
//!
//! 1. Whoever is woken, or leaves the park for any other reason, is a searcher until it has found something, or timers are due:
//!    while it calls their wakers, which may take long, or wait for a fiber, it is not. Then it searches anew.
//! 2. Who ends the last search looks at `inject` afterwards, and wakes one if there is more: pushers may have relied on the
//!    search.
//! 3. Who parks looks at `inject` after it has been counted as parked.
//! 4. A worker that takes a fiber and leaves others in its ring which have stood there for long (or will, as polls took long just
//!    now) wakes a sleeper, if nobody searches. Searchers take from a ring only what has stood there for long, by their own
//!    observation or by the owner's word. (So short polls stay together; and a lone fiber is left to its worker, unless the slot,
//!    or a long poll, keeps it waiting: it is next, and moving it costs more than waiting.)
//! 5. What a worker has pushed during a poll that does not end is not covered by these. While somebody sleeps and somebody
//!    works, one sleeper keeps *watch*: its sleep has an end, and then it looks for workers whose poll has not ended since
//!    its last look, and takes what they keep waiting. Where all sleep there is nothing to watch, so the watch may have
//!    run out when one of them is woken. Then the crew is *dormant*, which that worker sees, as it was asleep itself, and
//!    at its first push it has a sleeper take the watch. A watcher that leaves otherwise hands the watch on. Besides,
//!    those who work visit each other, about every millisecond, and do the same (by a real clock only; one with more waiting itself
//!    takes over later, as its count is halved with each visit).
//! 6. A leno call that blocks its worker, in a fiber, a hook or a waker, hands the worker's queue to the others
//!    ([`Crew::blocks`]) once all that it wakes is injected, as if from elsewhere ([`context::stand_aside`]). Meanwhile it looks
//!    after the timers.
//!
//! ORDERING of 1 to 3: a pusher pushes, fences, reads `idle`; who parks or ends a search changes `idle`, fences, reads
//! `injected`. Both fences are SeqCst: one of the two sees the other.
//!
//! **Away.** The only worker of a runtime owns what it has taken, also while it blocks in a call of leno's, or drives
//! another executor. If the runtime ends meanwhile, its end must not wait for the call, which may wait for one of these fibers. So
//! the worker says under a lock that it goes, and that it is back; and whoever closes the crew waits until it is gone for good,
//! having ended its fibers, or away, and then ends them in its place. One that is back and finds itself replaced is the worker no
//! more: it does not wait either, as what is ended may wait for the poll it is in, but ends what it polls and leaves. Whoever acts
//! in its place may have to go away in turn, in what is dropped, and is replaced then.
//!
//! **The end.** CLOSED stands in the word that every turn reads, and is set under `inject`'s lock, so what is pushed is
//! either there for who closes, or refused. A worker ends what is in its own queue when it leaves. Owned entries are
//! never just dropped. What is dropped may wait for others that are to be dropped: so whoever waits in it leaves the rest to a
//! *helper*, a thread of its own (how many there are says `core.rs`), and for that nothing that is to be ended is kept where
//! another thread does not come to it.
//!
//! **Safety.** All unsafe functions of a crew ask for the same: this is the thread of the worker that they are given, which is one
//! of this crew's; or, where they are given none, of its only one.
//!
//! Progress: pushing and taking in a worker's own queue is wait-free but for thieves (`ring.rs`); `inject`, parking and
//! waking take locks, under which no foreign code runs.
//!
//! Locked instructions: own push 0 (1 into a slot that is taken), own take 0 (crew of one) or 1; injecting into a crew at work 3,
//! waking a sleeper 5 and the system calls'.
//!
//! Sources: the searchers and their rules are Go's (`proc.go`, "Worker thread parking/unparking") and tokio's; that a
//! fiber is left where it was woken until it has waited for long is after "resume on the same thread" in Kotlin's scheduler.

mod closed;
mod contention;
mod park;
mod worker;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::vec;

use crossbeam_utils::CachePadded;

use self::closed::Closed;
use self::park::Sleepers;
pub(crate) use self::worker::Worker;
use self::worker::{KEEP, LATE, MOST_TURNS, Own};
use crate::fiber::ring::Entry;
use crate::prim::{
    AtomicBool, AtomicUsize, MODEL, Mutex, Ordering, RUN_SLOTS, SEARCH_PAUSES, fence, spin_loop,
};
use crate::task::{budget, context, thread};
use crate::time::Clock;
use crate::time::timers::Timers;

/// One in `idle`'s lower half.
const SEARCHING: usize = 1;
/// One in its upper half.
const PARKED: usize = 1 << 16;
/// `idle` counts so many.
pub(crate) const MOST_WORKERS: usize = PARKED - 1;

/// In the lowest bit of `injected`, whose rest is the queue's length.
const CLOSED: usize = 1;
const ONE: usize = 2;

/// How long a worker of several that has nothing to do looks around before it sleeps; until [`LATE`], if a ring of others has
/// more than one fiber.
const SPIN: Duration = Duration::from_micros(5);
/// After this long it lets others run meanwhile: one of them may be about to make fibers ready. (What is injected just then wakes
/// nobody, and waits if a third party has its turn on the core; then there are no such yields for 64 times as long.)
const UNDISTURBED: Duration = Duration::from_micros(1);

/// Where a runtime's workers are.
#[derive(Default)]
struct Presence {
    /// Nobody acts as the only one: see the module, "Away".
    is_vacant: bool,
    /// How many have acted in its place, one after the other: all but the last are the worker no more.
    replaced: usize,
    /// How many are over, and have ended what they had (except one that was replaced).
    gone: usize,
    /// So many threads help to end what is left.
    helpers: usize,
    /// Who ends the runtime, or helps, and waits for one of these to change.
    waiters: Vec<Waker>,
}

impl Presence {
    /// Comes in the place of the only worker, if that is vacant.
    fn take_place(&mut self) -> Option<usize> {
        let is_vacant = self.is_vacant;
        self.is_vacant &= bug!("crew_is_taken_by_two");
        self.replaced += usize::from(is_vacant);
        is_vacant.then_some(self.replaced)
    }
}

/// See the module.
pub(crate) struct Crew<T> {
    workers: Box<[CachePadded<Worker<T>>]>,
    strict: bool,
    idle: CachePadded<AtomicUsize>,
    /// The length of `inject`, and whether it is closed. Written under its lock.
    injected: CachePadded<AtomicUsize>,
    inject: Mutex<VecDeque<T>>,
    /// Somebody sleeps, somebody works, and nobody keeps watch. Written under the sleepers' lock.
    dormant: AtomicBool,
    sleepers: Mutex<Sleepers>,
    /// Whatever else may make fibers ready: on a virtual clock time stands still meanwhile. Counted there, and in a
    /// closed world. The highest bit: see `park.rs`.
    busy: AtomicUsize,
    /// So many have stepped aside.
    aside: AtomicUsize,
    /// So many sleep in calls that block. Written under the sleepers' lock.
    blocked: AtomicUsize,
    /// Nobody outside makes fibers ready.
    closed: Option<Closed<T>>,
    presence: Mutex<Presence>,
    pub(crate) timers: Timers,
}

impl<T: Entry> Crew<T> {
    /// `strict`: first in, first out; for one worker.
    pub(crate) fn new(workers: usize, strict: bool, clock: Clock) -> Self {
        debug_assert!(workers <= MOST_WORKERS && (workers == 1 || !strict));
        Crew {
            workers: (0..workers).map(|index| CachePadded::new(Worker::new(index, workers))).collect(),
            strict,
            idle: CachePadded::new(AtomicUsize::new(0)),
            injected: CachePadded::new(AtomicUsize::new(0)),
            inject: Mutex::new(VecDeque::new()),
            dormant: AtomicBool::new(false),
            sleepers: Mutex::new(Sleepers::default()),
            busy: AtomicUsize::new(0),
            aside: AtomicUsize::new(0),
            blocked: AtomicUsize::new(0),
            closed: None,
            presence: Mutex::new(Presence::default()),
            timers: Timers::new(clock, workers),
        }
    }

    /// Whether somebody may have to act in the place of the only worker. (A cord's thread ends it itself.)
    pub(crate) fn is_replaceable(&self) -> bool {
        self.is_alone() && !self.strict
    }

    pub(crate) fn worker(&self, index: usize) -> &Worker<T> {
        &self.workers[index]
    }

    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.workers.len() == 1
    }

    // What is pushed.

    /// Puts one into the slot; who stood there goes to the back.
    #[inline]
    pub(crate) unsafe fn push_next(&self, worker: &Worker<T>, task: T) {
        if !self.is_alone() {
            // SAFETY: by contract.
            return unsafe { self.push_next_of_several(worker, task) };
        }
        let displaced = if self.strict {
            Some(task)
        } else {
            // SAFETY: by contract; nothing foreign is called.
            unsafe { worker.own(|own| own.next.replace(task)) }
        };
        if let Some(task) = displaced {
            // SAFETY: by contract.
            unsafe { self.push_last(worker, task) };
        }
    }

    /// The same where there are several workers. (A call: an only worker is better off without what this needs.)
    #[inline(never)]
    unsafe fn push_next_of_several(&self, worker: &Worker<T>, task: T) {
        match worker.ring.put_next(task) {
            // SAFETY: by contract.
            Some(displaced) => unsafe { self.push_last(worker, displaced) },
            None => self.leave_watched(),
        }
    }

    /// Puts one at the back.
    #[inline(never)]
    pub(crate) unsafe fn push_last(&self, worker: &Worker<T>, task: T) {
        if self.is_alone() {
            // ORDERING: Relaxed: what came before whatever made this one ready is seen.
            if self.strict && self.injected.load(Ordering::Relaxed) > CLOSED {
                // SAFETY: by contract.
                if !task.goes_behind(|| _ = unsafe { self.fetch(worker) }) {
                    return;
                }
            }
            // SAFETY: by contract; nothing foreign is called.
            return unsafe { worker.own(|own| own.queue.push_back(task)) };
        }
        if let Err(task) = worker.ring.push(task) {
            // SAFETY: by contract.
            unsafe { self.overflow(worker, task) };
        }
        self.leave_watched();
    }

    /// Moves the older half of a full ring away.
    #[cold]
    unsafe fn overflow(&self, worker: &Worker<T>, mut task: T) {
        let mut older = worker.ring.take_half();
        while let Err(full) = worker.ring.push(task) {
            task = full;
            older.extend(worker.ring.take_half());
        }
        if let Err(refused) = self.inject_all(older.into_iter()) {
            // It has ended: this worker ends them as it leaves.
            // SAFETY: by contract; nothing foreign is called.
            unsafe { worker.own(|own| own.queue.extend(refused)) };
        }
    }

    /// Puts one behind all that came from elsewhere.
    ///
    /// # Errors
    ///
    /// The crew has ended: gives it back.
    pub(crate) fn inject(&self, task: T) -> Result<(), T> {
        let refused = |mut task: std::iter::Once<T>| task.next().expect("what is refused is not taken");
        self.inject_all(std::iter::once(task)).map_err(refused)
    }

    /// As [`inject`](Self::inject), for several.
    fn inject_all<I: ExactSizeIterator<Item = T>>(&self, tasks: I) -> Result<(), I> {
        {
            let mut inject = self.inject.lock();
            // ORDERING: Relaxed: written under this lock.
            let injected = self.injected.load(Ordering::Relaxed);
            if injected & CLOSED != 0 && !bug!("crew_accepts_after_close") {
                return Err(tasks);
            }
            // ORDERING: Relaxed: who sees it takes the lock; who must see it: the fence below.
            self.injected.store(injected + ONE * tasks.len(), Ordering::Relaxed);
            inject.extend(tasks);
        }
        // Others rely on it from here on.
        if !bug!("crew_injects_without_fence") {
            fence(Ordering::SeqCst);
        }
        self.wake_one();
        Ok(())
    }

    // What is taken.

    /// The next one to run; waits for one. `None`: the crew has ended.
    #[inline]
    pub(crate) unsafe fn next(&self, worker: &Worker<T>) -> Option<T> {
        // ORDERING: Relaxed: written by this thread only.
        let turn = worker.turn.load(Ordering::Relaxed) + 1;
        worker.turn.store(turn, Ordering::Relaxed);
        if turn >= worker.look.load(Ordering::Relaxed) {
            // SAFETY: by contract.
            unsafe { self.look_up(worker, turn) };
        }
        // ORDERING: Relaxed: who must see a change looks again when it parks.
        let injected = self.injected.load(Ordering::Relaxed);
        if injected != 0 {
            if injected & CLOSED != 0 {
                return None;
            }
            // Every second turn: neither side keeps the other waiting. (A lone worker puts it behind its own.)
            if self.is_alone() || turn % 2 == 0 {
                // SAFETY: by contract.
                if let Some(task) = unsafe { self.take_injected(worker) } {
                    return Some(task);
                }
            }
        }
        // SAFETY: by contract.
        if let Some(task) = unsafe { self.take(worker) } {
            if !self.is_alone() && worker.ring.len() > 0 {
                // SAFETY: by contract.
                unsafe { self.look_for_help(worker) };
            }
            return Some(task);
        }
        // SAFETY: by contract.
        let found = unsafe { self.search(worker) };
        // It may have slept since it was seen in this turn: so it begins what it has found in another one.
        if !bug!("crew_sleeps_in_its_poll") {
            worker.turn.store(turn + 1, Ordering::Relaxed);
        }
        found
    }

    /// Of a lone worker: it makes no look, in which it calls foreign wakers, until [`make_up_look`](Self::make_up_look), or until all
    /// that wait now have had a turn (or [`MOST_TURNS`] of them).
    pub(crate) unsafe fn put_off_looks(&self) {
        let worker = self.worker(0);
        // ORDERING: Relaxed: what this thread has injected it sees.
        let injected = (self.injected.load(Ordering::Relaxed) / ONE) as u64;
        // ORDERING: Relaxed: this thread's only.
        let turn = worker.turn.load(Ordering::Relaxed);
        // SAFETY: by contract; nothing foreign is called.
        unsafe {
            worker.own(|own| {
                let waiting = own.queue.len() as u64 + u64::from(own.next.is_some()) + injected;
                own.held = turn + waiting.min(MOST_TURNS);
            });
        }
    }

    /// Of a lone worker: makes the look that came in the way, if one did.
    pub(crate) unsafe fn make_up_look(&self) {
        let worker = self.worker(0);
        // SAFETY: by contract; nothing foreign is called.
        let owes = unsafe {
            worker.own(|own| {
                own.held = 0;
                own.owes_look
            })
        };
        if owes {
            // ORDERING: Relaxed: this thread's only.
            let turn = worker.turn.load(Ordering::Relaxed);
            // SAFETY: by contract.
            unsafe { self.look_up(worker, turn) };
        }
    }

    /// Looks at the timers, and whether others are in its way.
    #[cold]
    unsafe fn look_up(&self, worker: &Worker<T>, turn: u64) {
        if self.is_closed() {
            return;
        }
        // ORDERING: Relaxed, here and below: this thread's only.
        let look_next_in = |turn| worker.look.store(turn, Ordering::Relaxed);
        // SAFETY: by contract; nothing foreign is called.
        let begun = unsafe {
            worker.own(|own| {
                own.owes_look = turn <= own.held;
                if own.owes_look {
                    look_next_in(own.held + 1);
                    return None;
                }
                own.looked = budget::spent();
                let timed = own.pace.is_timed();
                let (round, turns) = own.pace.look();
                look_next_in(turn + turns);
                Some((timed, round, own.pace.ends_round(turn)))
            })
        };
        let Some((timed, round, ends_round)) = begun else { return };
        if self.strict {
            // (A `block_on` waits here, and need not come to sleep.)
            context::leave_the_rest();
            context::fire_timers();
        }
        if self.timers.clock.is_virtual() {
            return;
        }
        let mut visits = false;
        self.timers.look(worker.index, round, timed, |now| {
            // SAFETY: by contract; nothing foreign is called.
            unsafe {
                worker.own(|own| {
                    visits = own.pace.visits(now);
                    look_next_in(turn + own.pace.time(turn, now));
                });
            }
        });
        if self.is_alone() {
            return;
        }
        // SAFETY: by contract.
        unsafe {
            if visits {
                self.visit(worker);
            }
            if ends_round {
                self.step_aside(worker);
            }
        }
    }

    /// Takes over from those that have been in the same poll since it visited them last, unless more waits here.
    unsafe fn visit(&self, worker: &Worker<T>) {
        for other in self.workers.iter().filter(|other| other.index != worker.index) {
            // SAFETY: by contract; nothing foreign is called.
            let helps =
                unsafe { worker.own(|own| own.visited[other.index].is_to_help(other, worker.ring.len())) };
            if !helps || bug!("crew_visits_nobody") {
                continue;
            }
            for _ in 0..other.ring.len().div_ceil(2).max(1) {
                let task = if bug!("crew_visitor_is_the_owner") {
                    // SAFETY: none, if that one is at work.
                    unsafe { self.take(other) }
                } else {
                    other.ring.steal_one()
                };
                let Some(task) = task else { break };
                // SAFETY: by contract.
                unsafe { self.push_last(worker, task) };
            }
        }
    }

    /// 4.
    #[inline]
    unsafe fn look_for_help(&self, worker: &Worker<T>) {
        // ORDERING: Relaxed: a hint. (For who searches as well as for who sleeps.)
        if self.idle.load(Ordering::Relaxed) != 0 {
            // SAFETY: by contract; nothing foreign is called.
            let late = unsafe { worker.own(|own| own.mark.look(&worker.ring, Instant::now)) };
            if let Some(late) = late {
                worker.late.store(late, Ordering::Relaxed);
                if late {
                    self.wake_one();
                }
            }
        }
    }

    /// From the worker's own queue.
    #[inline(always)]
    unsafe fn take(&self, worker: &Worker<T>) -> Option<T> {
        if self.is_alone() {
            // SAFETY: by contract; nothing foreign is called.
            return unsafe { worker.own(|own| own.take(&worker.look)) };
        }
        if let Some(task) = worker.ring.take_next() {
            // SAFETY: by contract; nothing foreign is called.
            if unsafe { worker.own(Own::streak_goes_on) } {
                return Some(task);
            }
            // SAFETY: by contract.
            unsafe { self.push_last(worker, task) };
        }
        // SAFETY: by contract; nothing foreign is called.
        unsafe { worker.own(|own| own.end_streak(&worker.look)) };
        worker.ring.pop()
    }

    /// Of a lone worker: moves what was injected behind its own queue, but for what need not [arrive](Entry::arrives). False: the
    /// crew has ended, and the own queue may be somebody else's.
    #[cold]
    unsafe fn fetch(&self, worker: &Worker<T>) -> bool {
        let mut inject = self.inject.lock();
        // ORDERING: Relaxed: written under this lock.
        if self.injected.load(Ordering::Relaxed) & CLOSED != 0 {
            return false;
        }
        self.injected.store(0, Ordering::Relaxed);
        // SAFETY: by contract; nothing foreign is called.
        unsafe { worker.own(|own| own.queue.extend(inject.drain(..).filter(T::arrives))) };
        if inject.capacity() > KEEP {
            *inject = VecDeque::new();
        }
        true
    }

    /// From `inject`: a worker of several takes one, and its share of the rest if its ring is empty; a lone one
    /// puts all of it behind its own queue, and takes from that.
    #[cold]
    unsafe fn take_injected(&self, worker: &Worker<T>) -> Option<T> {
        if self.is_alone() {
            // SAFETY: by contract.
            return unsafe { if self.fetch(worker) { self.take(worker) } else { None } };
        }
        let mut inject = self.inject.lock();
        // ORDERING: Relaxed: written under this lock.
        let injected = self.injected.load(Ordering::Relaxed);
        if injected & CLOSED != 0 {
            return None;
        }
        let first = inject.pop_front()?;
        let mut taken = 1;
        if worker.ring.len() == 0 {
            let share = (inject.len() / self.workers.len()).min(RUN_SLOTS / 2);
            while taken <= share {
                let Some(task) = inject.pop_front() else { break };
                let pushed = worker.ring.push(task).is_ok();
                debug_assert!(pushed, "an empty ring has room for its half");
                taken += 1;
            }
        }
        if inject.is_empty() && inject.capacity() > KEEP {
            *inject = VecDeque::new();
        }
        self.injected.store(injected - taken * ONE, Ordering::Relaxed);
        drop(inject);
        if taken > 1 {
            self.leave_watched();
        }
        Some(first)
    }

    /// Looks everywhere, sleeps, and looks again.
    #[cold]
    unsafe fn search(&self, worker: &Worker<T>) -> Option<T> {
        let mut searching = false;
        loop {
            let may_be_replaced = || self.is_replaceable() && self.is_closed();
            // SAFETY: by contract; and nobody acts in its place.
            let take = || if may_be_replaced() { None } else { unsafe { self.take(worker) } };
            // SAFETY: by contract.
            let mut found = take().or_else(|| unsafe { self.take_injected(worker) });
            if found.is_none() && !self.timers.clock.is_virtual() {
                // What it wakes comes behind what was ready before. (A waker is foreign code, in which this thread may go away, and
                // come back to a crew that has ended, where somebody acts in its place.)
                self.timers.fire_after(|| self.prepare_wakers(&mut searching));
                found = take();
            }
            if found.is_none()
                && !searching
                && 2 * (self.idle.load(Ordering::Relaxed) % PARKED) < self.workers.len()
            {
                self.idle.fetch_add(SEARCHING, Ordering::SeqCst);
                searching = true;
            }
            if searching && found.is_none() && !self.is_alone() && !self.timers.clock.is_virtual() {
                // SAFETY: by contract.
                found = unsafe { self.look_around(worker) };
            }
            if found.is_some() || self.is_closed() {
                if searching {
                    self.end_search();
                }
                return found;
            }
            // SAFETY: by contract.
            found = unsafe { self.rest(worker, &mut searching) };
            if found.is_some() {
                self.end_search();
                return found;
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.injected.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Parks. A lone worker, which has nobody to take from, and so has not looked around yet, does that first, if it has paid
    /// lately: for what is injected, or a timer that is set from outside. (It is a searcher by then.)
    unsafe fn rest(&self, worker: &Worker<T>, searching: &mut bool) -> Option<T> {
        // SAFETY: by contract.
        let mut park = || unsafe { self.park(worker, searching) };
        if !self.is_alone() || self.timers.clock.is_virtual() {
            return park();
        }
        let next = self.timers.next();
        // ORDERING: Relaxed: a hint, who finds something looks again.
        let came = || self.injected.load(Ordering::Relaxed) != 0 || self.timers.next() != next;
        thread::rest(self.until(None), || came().then_some(None), || Some(park())).flatten()
    }

    /// Before foreign wakers, which may take long, or wait for what others bring: a searcher stops being one, as it would keep
    /// others from being woken; and somebody else keeps the next deadline.
    pub(super) fn prepare_wakers(&self, searching: &mut bool) {
        if std::mem::take(searching) {
            self.end_search();
        }
        if self.timers.next().is_some() {
            self.leave_watched();
        }
    }

    /// 2.
    fn end_search(&self) {
        let before = self.idle.fetch_sub(SEARCHING, Ordering::SeqCst);
        if before % PARKED == 1 && !bug!("crew_forgets_last_search") {
            fence(Ordering::SeqCst);
            if self.has_work() {
                self.wake_one();
            }
        }
    }

    /// Looks at `inject` for a while, and takes half of another's ring once that has stood there for long.
    unsafe fn look_around(&self, worker: &Worker<T>) -> Option<T> {
        // SAFETY: by contract; nothing foreign is called.
        unsafe { worker.own(|own| self.note(&mut own.seen, |worker| worker.ring.tail())) };
        let start = Instant::now();
        loop {
            for _ in 0..SEARCH_PAUSES {
                // ORDERING: Relaxed: a hint, the lock is taken to look.
                if self.injected.load(Ordering::Relaxed) != 0 {
                    // SAFETY: by contract.
                    return unsafe { self.take_injected(worker) };
                }
                spin_loop();
            }
            let spent = if MODEL { LATE } else { start.elapsed() };
            let mut waits = false;
            for victim in self.workers.iter().filter(|victim| victim.index != worker.index) {
                // SAFETY: by contract; nothing foreign is called.
                let since_the_start =
                    unsafe { worker.own(|own| victim.ring.head() < own.seen[victim.index]) };
                // ORDERING: Relaxed: a hint.
                let late = victim.late.load(Ordering::Relaxed);
                if late || (since_the_start && spent >= LATE) {
                    if let Some(task) = victim.ring.steal_into(&worker.ring, late) {
                        victim.late.store(false, Ordering::Relaxed);
                        return Some(task);
                    }
                }
                waits |= since_the_start && victim.ring.len() > 1;
            }
            if spent >= if waits { LATE } else { SPIN } {
                return None;
            }
            if spent >= UNDISTURBED {
                thread::let_others_run(None, || 0);
            }
        }
    }

    /// Notes something about each worker.
    fn note(&self, seen: &mut [u64], what: impl Fn(&Worker<T>) -> u64) {
        for (worker, seen) in self.workers.iter().zip(seen) {
            *seen = what(worker);
        }
    }

    /// Whether there is something for anybody, or the crew has ended. After a fence.
    fn has_work(&self) -> bool {
        self.injected.load(Ordering::Acquire) != 0
    }

    /// The worker's thread is about to block: the others get what is in its queue.
    ///
    /// # Errors
    ///
    /// The crew has ended: gives it back, one at least.
    pub(crate) unsafe fn blocks(&self, worker: &Worker<T>) -> Result<(), vec::IntoIter<T>> {
        if self.is_alone() {
            // There are no others.
            return Ok(());
        }
        // SAFETY: by contract.
        let left: Vec<_> = std::iter::from_fn(|| unsafe { self.take_left(worker) }).collect();
        if left.is_empty() { Ok(()) } else { self.inject_all(left.into_iter()) }
    }

    /// Whoever acts as the only worker ceases to, until it [returns](Self::returns), with what this gives: see the module, "Away".
    #[must_use]
    pub(crate) fn leaves(&self) -> usize {
        self.change(|presence| {
            if bug!("crew_leaves_unseen") {
                presence.waiters.clear();
            }
            presence.is_vacant = true;
            presence.replaced
        })
    }

    /// Ends [`leaves`](Self::leaves). False: somebody has come in its place, and it is the worker no more.
    #[must_use]
    pub(crate) fn returns(&self, replaced: usize) -> bool {
        let mut presence = self.presence.lock();
        let is_it = presence.replaced == replaced || bug!("crew_returns_to_be_two");
        presence.is_vacant &= !is_it;
        is_it
    }

    // The end.

    /// Changes something in the workers' presence, and has those look who wait for it.
    fn change<R>(&self, change: impl FnOnce(&mut Presence) -> R) -> R {
        let (result, waiters) = {
            let mut presence = self.presence.lock();
            (change(&mut presence), std::mem::take(&mut presence.waiters))
        };
        waiters.into_iter().for_each(Waker::wake);
        result
    }

    /// A worker's thread has ended what it had, or was replaced.
    pub(crate) fn gone(&self) {
        self.change(|presence| presence.gone += 1);
    }

    /// Another thread helps to end what is left, until it has [helped](Self::helped).
    pub(crate) fn helps(&self) {
        self.presence.lock().helpers += 1;
    }

    pub(crate) fn helped(&self) {
        self.change(|presence| presence.helpers -= 1);
    }

    /// Waits for something of the workers' presence.
    fn wait_for<R>(&self, look: impl Fn(&mut Presence) -> Option<R>) -> R {
        let poll = |cx: &mut Context<'_>| {
            let mut presence = self.presence.lock();
            let Some(found) = look(&mut presence) else {
                presence.waiters.push(cx.waker().clone());
                return Poll::Pending;
            };
            Poll::Ready(found)
        };
        thread::block_on(pin!(poll_fn(poll)), None).expect("without a deadline it waits until it is done")
    }

    /// Waits until so many are gone, and nobody helps.
    pub(crate) fn wait_gone(&self, workers: usize) {
        self.wait_for(|presence| (presence.gone >= workers && presence.helpers == 0).then_some(()));
    }

    /// Of a crew that has ended: waits until the worker is gone, and was not replaced, or until its place is vacant; in that case
    /// calls `f`, in its place.
    pub(crate) fn in_its_place(&self, f: impl FnOnce()) {
        let replaced = self.wait_for(|presence| {
            let is_over =
                presence.gone > 0 && (presence.replaced == 0 || bug!("crew_is_gone_where_replaced"));
            if is_over { Some(None) } else { presence.take_place().map(Some) }
        });
        self.act(replaced, f);
    }

    /// The same without waiting, for the worker's own thread while that is away: somebody else may have come in its place.
    pub(crate) fn in_its_own_place(&self, f: impl FnOnce()) {
        let replaced = self.presence.lock().take_place();
        self.act(replaced, f);
    }

    /// In the place that was taken, if it was.
    fn act(&self, replaced: Option<usize>, f: impl FnOnce()) {
        let Some(replaced) = replaced else { return };
        f();
        // Others may come to it as well, to find what is left.
        self.change(|presence| {
            presence.is_vacant |= presence.replaced == replaced || bug!("crew_is_left_by_who_was_replaced");
        });
    }

    /// Whether somebody acts in its place, or has.
    pub(crate) fn is_replaced(&self) -> bool {
        self.presence.lock().replaced > 0
    }

    /// Ends the crew: its workers leave after the poll that is under way. The caller ends what was injected: see
    /// [`take_rest`](Self::take_rest).
    pub(crate) fn close(&self) {
        {
            let _inject = self.inject.lock();
            self.injected.store(CLOSED, Ordering::Release);
        }
        let woken = {
            let mut sleepers = self.sleepers.lock();
            sleepers.watch = None;
            self.dormant.store(false, Ordering::Relaxed);
            let woken = std::mem::take(&mut sleepers.asleep);
            for _ in &woken {
                self.idle.fetch_sub(PARKED - SEARCHING, Ordering::SeqCst);
            }
            woken
        };
        self.notify(woken);
    }

    /// Of a crew that has ended: takes one that was injected before, or that a worker had when it was about to block. The caller
    /// ends it.
    pub(crate) fn take_rest(&self) -> Option<T> {
        self.inject.lock().pop_front()
    }

    /// More of these.
    pub(crate) fn add_rest(&self, tasks: vec::IntoIter<T>) {
        self.inject.lock().extend(tasks);
    }

    /// Of a crew that has ended: takes one from the queue of a worker that is about to leave. The caller ends it.
    pub(crate) unsafe fn take_left(&self, worker: &Worker<T>) -> Option<T> {
        // SAFETY: by contract; nothing foreign is called.
        unsafe { self.take(worker).or_else(|| worker.own(|own| own.take(&worker.look))) }
    }

    /// Of a crew of several that has ended: takes one that a worker keeps waiting. The caller ends it.
    pub(crate) fn steal_left(&self) -> Option<T> {
        self.workers.iter().find_map(|worker| worker.ring.steal_one())
    }
}
