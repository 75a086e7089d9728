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
//! A crew of one, a cord's or that of a runtime with one worker, has a plain queue instead of the ring, as there are no
//! thieves; a *strict* one, a cord's, has no slot either, and moves what was injected behind its own queue at
//! each turn: first in, first out.
//!
//! **States of a worker.** *Working*: it runs fibers, and has taken the last one from somewhere. *Searching*: it has nothing, and
//! looks everywhere. *Parked*: it is among the `sleepers`, under whose lock it got there and is taken out. `idle` counts
//! the last two and is changed by read-modify-writes; `parked` changes under the lock only.
//!
//! **No ready fiber is left alone.** Whoever makes one ready from elsewhere pushes it into `inject`, then looks at `idle`, and
//! unless somebody searches wakes a sleeper ([`Crew::wake_one`]). A worker that makes one ready pushes it
//! into its own queue and goes on; it wakes nobody, and has no fence. So:
//!
//! 1. Who is woken, or leaves the park for any other reason, is a searcher until it has found something.
//! 2. Who ends the last search with something in its hands looks at `inject` afterwards, and wakes one if there
//!    is more: pushers may have relied on the search.
//! 3. Who parks looks at `inject` after it has been counted as parked.
//! 4. Who takes a fiber and leaves two or more in its ring, which have stood there for long, wakes one, if nobody searches. Searchers
//!    take of a ring only what has stood there for long, by their own watch or by the owner's word. (So short polls
//!    stay together; and a lone one is left to its worker: it is next, and moving it costs more than waiting.)
//! 5. What a worker has pushed during a poll that does not end is not covered by these. While somebody sleeps, and somebody
//!    works, one sleeper keeps *watch*: its sleep has an end, and then it looks for workers whose poll has not ended
//!    since its last look, and takes what they keep waiting. Where all sleep there is nothing to watch, so
//!    the watch may have run out when one of them is woken; then the crew is *dormant*, which that worker sees, as it was asleep
//!    itself, and at its first push it has a sleeper take the watch. A watcher that leaves otherwise hands the watch on.
//! 6. A leno call that blocks its worker hands the worker's queue over first ([`Crew::blocks`]).
//!
//! ORDERING of 1 to 3: a pusher pushes, fences, reads `idle`; who parks or ends a search changes `idle`, fences, reads
//! `injected`. Both fences are SeqCst: one of the two sees the other.
//!
//! **Time.** The watcher's sleep also ends at the next deadline, and so does that of the last one to park: who
//! parks with an earlier end than the watcher's takes the watch over. Who sets a timer that is the first one now takes the
//! sleepers' lock afterwards, and has the watcher look again, so it sees the timer, or is woken. Working threads
//! look every 61 turns. On a virtual clock nobody sleeps until a deadline: the last one to park, if nothing is ready and
//! nothing else is busy, moves the clock on to it.
//!
//! **The end.** CLOSED stands in the word that every turn reads, and is set under `inject`'s lock, so what was pushed is either given
//! back to who closes, or refused. A worker ends what is in its own queue when it leaves. Owned entries are never just
//! dropped.
//!
//! Progress: pushing and taking in a worker's own queue is wait-free but for thieves (`ring.rs`); `inject`, parking and waking take
//! locks, under which no foreign code runs.
//!
//! Locked instructions: own push 0, own take 0 (crew of one) or 1; injecting into a crew at work 3, waking a sleeper 5 and
//! the system calls'.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::fiber::ring::{Entry, Ring};
use crate::prim::{
    AtomicBool, AtomicU64, AtomicUsize, Condvar, MODEL, Mutex, Ordering, RUN_SLOTS, SEARCH_PAUSES, UnsafeCell,
    fence, random_below, spin_loop,
};
use crate::time::timers::Timers;

/// One in `idle`'s lower half.
const SEARCHING: usize = 1;
/// One in its upper half.
const PARKED: usize = 1 << 16;

/// In the lowest bit of `injected`, whose rest is the queue's length.
const CLOSED: usize = 1;
const ONE: usize = 2;

/// So many fibers in a row may run from the slot: two that wake each other starve nobody.
const STREAK: u32 = 64;
/// A worker looks at the timers after so many fibers.
const LOOK_EVERY: u64 = 61;
/// What stands in a ring for so long may move to another worker. Less, and fibers that wake each other are torn
/// apart: two workers that share a channel are slower than one, and one gets through many short polls meanwhile.
const LATE: Duration = Duration::from_micros(30);
/// So long a worker that has nothing to do looks around before it sleeps.
const SPIN: Duration = Duration::from_micros(5);
/// A queue that has grown beyond this gives its memory back when it is empty.
const KEEP: usize = 1024;
/// The watcher's first look comes after the one, and further ones ever later, up to the other.
const PATIENCE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];

const BUG_FORGETS_LAST_SEARCH: bool = cfg!(leno_bug = "crew_forgets_last_search");
const BUG_PARKS_UNCHECKED: bool = cfg!(leno_bug = "crew_parks_unchecked");
const BUG_DORMANT: bool = cfg!(leno_bug = "crew_stays_dormant");
const BUG_WATCH_ENDS: bool = cfg!(leno_bug = "crew_hands_no_watch_on");
const BUG_NO_FENCE: bool = cfg!(leno_bug = "crew_injects_without_fence");
const BUG_CLOSES_LATE: bool = cfg!(leno_bug = "crew_accepts_after_close");

/// One worker's part.
pub(crate) struct Worker<T> {
    index: usize,
    ring: Ring<T>,
    /// How many fibers it has begun with, for the watcher.
    turn: AtomicU64,
    /// By its own account, what stands in its ring has stood there for long.
    late: AtomicBool,
    /// Where it sleeps, with the sleepers' lock.
    bell: Condvar,
    /// Touched by its own thread only, in none of the foreign code that it calls.
    own: UnsafeCell<Own<T>>,
}

struct Own<T> {
    /// In a crew of one, the slot; otherwise empty.
    next: Option<T>,
    /// In a crew of one, the queue. Otherwise what came after the end, and found no room in the ring.
    queue: VecDeque<T>,
    /// So many in a row came from the slot.
    streak: u32,
    mark: Mark,
    /// The others' turns at the last look, as the watcher.
    seen: Vec<u64>,
}

// SAFETY: `own` is its thread's (`Crew`'s unsafe functions ask for it); entries may be sent.
unsafe impl<T: Send> Sync for Worker<T> {}

impl<T: Entry> Worker<T> {
    /// Opens the worker's own part.
    ///
    /// # Safety
    ///
    /// This is the worker's thread, and not inside another call of this.
    unsafe fn own<R>(&self, f: impl FnOnce(&mut Own<T>) -> R) -> R {
        // SAFETY: exclusive by contract.
        self.own.with_mut(|own| f(unsafe { &mut *own }))
    }
}

struct Sleepers {
    asleep: Vec<usize>,
    watch: Option<Watch>,
}

/// The sleeper that looks after the others, and after time.
struct Watch {
    worker: usize,
    until: Option<Instant>,
    /// Whether it looks after long polls, and not after time only.
    looks: bool,
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
    /// Whatever else may make fibers ready: on a virtual clock time stands still meanwhile.
    busy: AtomicUsize,
    pub(crate) timers: Timers,
}

impl<T: Entry> Crew<T> {
    /// `strict`: first in, first out; for one worker.
    pub(crate) fn new(workers: usize, strict: bool, timers: Timers) -> Self {
        assert!(workers < PARKED && (workers == 1 || !strict));
        let worker = |index| {
            CachePadded::new(Worker {
                index,
                ring: Ring::new(if workers == 1 { 0 } else { RUN_SLOTS }),
                turn: AtomicU64::new(0),
                late: AtomicBool::new(false),
                bell: Condvar::new(),
                own: UnsafeCell::new(Own {
                    next: None,
                    queue: VecDeque::new(),
                    streak: 0,
                    mark: Mark::NONE,
                    seen: vec![0; workers],
                }),
            })
        };
        Crew {
            workers: (0..workers).map(worker).collect(),
            strict,
            idle: CachePadded::new(AtomicUsize::new(0)),
            injected: CachePadded::new(AtomicUsize::new(0)),
            inject: Mutex::new(VecDeque::new()),
            dormant: AtomicBool::new(false),
            sleepers: Mutex::new(Sleepers { asleep: Vec::new(), watch: None }),
            busy: AtomicUsize::new(0),
            timers,
        }
    }

    pub(crate) fn worker(&self, index: usize) -> &Worker<T> {
        &self.workers[index]
    }

    #[inline]
    fn is_alone(&self) -> bool {
        self.workers.len() == 1
    }

    // What is pushed.

    /// Puts one into the slot; who stood there goes to the back.
    ///
    /// # Safety
    ///
    /// This is the thread of that worker, which is one of this crew's.
    #[inline]
    pub(crate) unsafe fn push_next(&self, worker: &Worker<T>, task: T) {
        let displaced = if self.strict {
            Some(task)
        } else if self.is_alone() {
            // SAFETY: by contract; nothing foreign is called.
            unsafe { worker.own(|own| own.next.replace(task)) }
        } else {
            let displaced = worker.ring.put_next(task);
            if displaced.is_none() {
                self.leave_watched();
            }
            displaced
        };
        if let Some(task) = displaced {
            // SAFETY: by contract.
            unsafe { self.push_last(worker, task) };
        }
    }

    /// Puts one at the back.
    ///
    /// # Safety
    ///
    /// This is the thread of that worker, which is one of this crew's.
    #[inline]
    pub(crate) unsafe fn push_last(&self, worker: &Worker<T>, task: T) {
        if self.is_alone() {
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
    ///
    /// # Safety
    ///
    /// As for `push_last`.
    #[cold]
    unsafe fn overflow(&self, worker: &Worker<T>, mut task: T) {
        let mut older = worker.ring.take_half();
        loop {
            match worker.ring.push(task) {
                Ok(()) => break,
                Err(full) => {
                    task = full;
                    older.extend(worker.ring.take_half());
                }
            }
        }
        if let Err(refused) = self.inject_all(older) {
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
        {
            let mut inject = self.inject.lock();
            // ORDERING: Relaxed: written under this lock.
            let injected = self.injected.load(Ordering::Relaxed);
            if injected & CLOSED != 0 && !BUG_CLOSES_LATE {
                return Err(task);
            }
            inject.push_back(task);
            // ORDERING: Relaxed: who sees it takes the lock; who must see it: the fence below.
            self.injected.store(injected + ONE, Ordering::Relaxed);
        }
        self.relied_on();
        Ok(())
    }

    fn inject_all(&self, tasks: Vec<T>) -> Result<(), Vec<T>> {
        {
            let mut inject = self.inject.lock();
            let injected = self.injected.load(Ordering::Relaxed);
            if injected & CLOSED != 0 {
                return Err(tasks);
            }
            self.injected.store(injected + ONE * tasks.len(), Ordering::Relaxed);
            inject.extend(tasks);
        }
        self.relied_on();
        Ok(())
    }

    /// Something was pushed that any worker may take.
    fn relied_on(&self) {
        if !BUG_NO_FENCE {
            fence(Ordering::SeqCst);
        }
        self.wake_one();
    }

    /// Somebody has the watch after a push that wakes nobody (5).
    #[inline]
    fn leave_watched(&self) {
        // ORDERING: Relaxed: set before this worker left the park, which took the lock under which it was.
        if self.dormant.load(Ordering::Relaxed) && !BUG_DORMANT {
            self.rouse();
        }
    }

    /// Has a sleeper keep watch.
    #[cold]
    fn rouse(&self) {
        let watcher = Self::appoint(&mut self.sleepers.lock(), &self.dormant);
        if let Some(index) = watcher {
            self.workers[index].bell.notify_one();
        }
    }

    /// Gives a sleeper the watch, who has it at once, and has to be told.
    fn appoint(sleepers: &mut Sleepers, dormant: &AtomicBool) -> Option<usize> {
        let watcher = sleepers.watch.as_ref().map(|watch| watch.worker).or(sleepers.asleep.last().copied())?;
        sleepers.watch = Some(Watch { worker: watcher, until: None, looks: true });
        dormant.store(false, Ordering::Relaxed);
        Some(watcher)
    }

    /// Whether somebody sleeps, and nobody searches.
    fn needs_searcher(idle: usize) -> bool {
        idle >= PARKED && idle % PARKED == 0
    }

    /// Takes a sleeper out of the park, as a searcher, unless somebody searches already.
    fn wake_one(&self) {
        // ORDERING: Relaxed: see the header for the fence before.
        if !Self::needs_searcher(self.idle.load(Ordering::Relaxed)) {
            return;
        }
        let woken = {
            let mut sleepers = self.sleepers.lock();
            if !Self::needs_searcher(self.idle.load(Ordering::Relaxed)) {
                return;
            }
            // Rather not the watcher.
            let watcher = sleepers.watch.as_ref().map(|watch| watch.worker);
            let at = sleepers.asleep.iter().rposition(|index| Some(*index) != watcher).unwrap_or(0);
            let index = sleepers.asleep[at];
            self.rise(&mut sleepers, index);
            index
        };
        self.workers[woken].bell.notify_one();
    }

    // What is taken.

    /// The next one to run; waits for one. `None`: the crew has ended.
    ///
    /// # Safety
    ///
    /// This is the thread of that worker, which is one of this crew's.
    #[inline]
    pub(crate) unsafe fn next(&self, worker: &Worker<T>) -> Option<T> {
        // ORDERING: Relaxed: written by this thread only.
        let turn = worker.turn.load(Ordering::Relaxed) + 1;
        worker.turn.store(turn, Ordering::Relaxed);
        // ORDERING: Relaxed: who must see a change looks again when it parks.
        let injected = self.injected.load(Ordering::Relaxed);
        if injected != 0 {
            if injected & CLOSED != 0 {
                return None;
            }
            // Every second turn: neither side keeps the other waiting.
            if self.strict || turn % 2 == 0 {
                // SAFETY: by contract.
                if let Some(task) = unsafe { self.take_injected(worker) } {
                    return Some(task);
                }
            }
        }
        if turn % LOOK_EVERY == 0 && !self.timers.clock.is_virtual() {
            self.timers.fire();
        }
        // SAFETY: by contract.
        if let Some(task) = unsafe { self.take(worker) } {
            if worker.ring.len() > 1 {
                // SAFETY: by contract.
                unsafe { self.look_for_help(worker) };
            }
            return Some(task);
        }
        // SAFETY: by contract.
        unsafe { self.search(worker) }
    }

    /// 4.
    ///
    /// # Safety
    ///
    /// As for `next`.
    #[inline]
    unsafe fn look_for_help(&self, worker: &Worker<T>) {
        if Self::needs_searcher(self.idle.load(Ordering::Relaxed)) {
            // SAFETY: by contract; nothing foreign is called.
            let late = unsafe { worker.own(|own| own.mark.is_late(&worker.ring)) };
            if late {
                worker.late.store(true, Ordering::Relaxed);
                self.wake_one();
            }
        }
    }

    /// From the worker's own queue.
    ///
    /// # Safety
    ///
    /// As for `next`.
    #[inline]
    unsafe fn take(&self, worker: &Worker<T>) -> Option<T> {
        if self.is_alone() {
            // SAFETY: by contract; nothing foreign is called.
            return unsafe { worker.own(Own::take) };
        }
        if let Some(task) = worker.ring.take_next() {
            // SAFETY: by contract; nothing foreign is called.
            let streak = unsafe {
                worker.own(|own| {
                    own.streak += 1;
                    own.streak
                })
            };
            if streak <= STREAK {
                return Some(task);
            }
            // SAFETY: by contract.
            unsafe { self.push_last(worker, task) };
        }
        // SAFETY: by contract; nothing foreign is called.
        unsafe { worker.own(|own| own.streak = 0) };
        worker.ring.pop()
    }

    /// From `inject`: a worker of several takes one, and its share of the rest if its ring is empty; a strict one
    /// puts all of it behind its own queue, and takes from that.
    ///
    /// # Safety
    ///
    /// As for `next`.
    #[cold]
    unsafe fn take_injected(&self, worker: &Worker<T>) -> Option<T> {
        let mut inject = self.inject.lock();
        // ORDERING: Relaxed: written under this lock.
        let injected = self.injected.load(Ordering::Relaxed);
        if injected & CLOSED != 0 {
            return None;
        }
        if self.strict {
            self.injected.store(0, Ordering::Relaxed);
            // SAFETY: by contract; nothing foreign is called.
            unsafe { worker.own(|own| own.queue.extend(inject.drain(..))) };
            drop(inject);
            // SAFETY: by contract.
            return unsafe { self.take(worker) };
        }
        let first = inject.pop_front()?;
        let mut taken = 1;
        if !self.is_alone() && worker.ring.len() == 0 {
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
        Some(first)
    }

    /// Looks everywhere, sleeps, and looks again.
    ///
    /// # Safety
    ///
    /// As for `next`.
    #[cold]
    unsafe fn search(&self, worker: &Worker<T>) -> Option<T> {
        let mut searching = false;
        loop {
            if !self.timers.clock.is_virtual() {
                self.timers.fire();
            }
            // SAFETY: by contract.
            let mut found = unsafe { self.take(worker).or_else(|| self.take_injected(worker)) };
            if found.is_none() && !searching && 2 * (self.idle.load(Ordering::Relaxed) % PARKED) < self.workers.len()
            {
                self.idle.fetch_add(SEARCHING, Ordering::SeqCst);
                searching = true;
            }
            if searching && found.is_none() && !self.timers.clock.is_virtual() {
                // SAFETY: by contract.
                found = unsafe { self.look_around(worker) };
            }
            let closed = self.injected.load(Ordering::Acquire) & CLOSED != 0;
            if found.is_some() || closed {
                if searching {
                    self.end_search();
                }
                return found;
            }
            // SAFETY: by contract.
            found = unsafe { self.park(worker, searching) };
            searching = true;
            if found.is_some() {
                self.end_search();
                return found;
            }
        }
    }

    /// 2.
    fn end_search(&self) {
        let before = self.idle.fetch_sub(SEARCHING, Ordering::SeqCst);
        if before % PARKED == 1 && !BUG_FORGETS_LAST_SEARCH {
            fence(Ordering::SeqCst);
            if self.has_work() {
                self.wake_one();
            }
        }
    }

    /// Looks at `inject` for a while, and takes half of another's ring once that has stood there for long.
    ///
    /// # Safety
    ///
    /// As for `next`.
    unsafe fn look_around(&self, worker: &Worker<T>) -> Option<T> {
        // SAFETY: by contract; nothing foreign is called.
        unsafe { worker.own(|own| self.note(&mut own.seen, |worker| worker.ring.tail())) };
        let start = Instant::now();
        loop {
            if self.injected.load(Ordering::Relaxed) != 0 {
                // SAFETY: by contract.
                return unsafe { self.take_injected(worker) };
            }
            let spent = if MODEL { LATE } else { start.elapsed() };
            let mut waits = false;
            for victim in self.workers.iter().filter(|victim| victim.index != worker.index) {
                // SAFETY: by contract; nothing foreign is called.
                let since_the_start = unsafe { worker.own(|own| victim.ring.head() < own.seen[victim.index]) };
                // ORDERING: Relaxed: a hint.
                if (since_the_start && spent >= LATE) || victim.late.load(Ordering::Relaxed) {
                    if let Some(task) = victim.ring.steal_into(&worker.ring) {
                        victim.late.store(false, Ordering::Relaxed);
                        return Some(task);
                    }
                }
                waits |= since_the_start && victim.ring.len() > 1;
            }
            if spent >= if waits { LATE } else { SPIN } {
                return None;
            }
            (0..SEARCH_PAUSES).for_each(|_| spin_loop());
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

    // Sleeping.

    /// Takes a sleeper off the list: it is a searcher from now on (1).
    fn rise(&self, sleepers: &mut Sleepers, index: usize) {
        let all = sleepers.asleep.len() == self.workers.len();
        sleepers.asleep.retain(|sleeper| *sleeper != index);
        self.idle.fetch_sub(PARKED - SEARCHING, Ordering::SeqCst);
        let was_watcher = sleepers.watch.as_ref().is_some_and(|watch| watch.worker == index);
        if was_watcher {
            sleepers.watch = None;
        }
        let unwatched = !sleepers.asleep.is_empty() && !sleepers.watch.as_ref().is_some_and(|watch| watch.looks);
        self.dormant.store(unwatched, Ordering::Relaxed);
        // Where all slept, only the one that rises now can push, and it sees the mark. Otherwise another one may
        // have pushed already; and timers cannot wait for a push.
        if was_watcher && unwatched && (!all || self.timers.next().is_some()) && !BUG_WATCH_ENDS {
            if let Some(heir) = Self::appoint(sleepers, &self.dormant) {
                self.workers[heir].bell.notify_one();
            }
        }
    }

    /// Sleeps until there is something to look for; gives what it has found as the watcher. Afterwards the worker is a
    /// searcher.
    ///
    /// # Safety
    ///
    /// As for `next`.
    unsafe fn park(&self, worker: &Worker<T>, searching: bool) -> Option<T> {
        let me = worker.index;
        let mut patience = PATIENCE[0];
        let mut sleepers = self.sleepers.lock();
        sleepers.asleep.push(me);
        let all = sleepers.asleep.len() == self.workers.len();
        if all {
            self.dormant.store(false, Ordering::Relaxed);
        }
        self.idle.fetch_add(PARKED - if searching { SEARCHING } else { 0 }, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // 3.
        if self.has_work() && !BUG_PARKS_UNCHECKED {
            self.rise(&mut sleepers, me);
            return None;
        }
        // SAFETY: by contract; nothing foreign is called.
        unsafe { worker.own(|own| self.note(&mut own.seen, |worker| worker.turn.load(Ordering::Relaxed))) };
        loop {
            let all = sleepers.asleep.len() == self.workers.len();
            let until = match self.sleep_until(all, patience) {
                Ok(until) => until,
                Err(Jump) => {
                    self.rise(&mut sleepers, me);
                    drop(sleepers);
                    self.timers.jump();
                    return None;
                }
            };
            let is_earlier = |than: &Watch| until.is_some_and(|at| than.until.is_none_or(|than| at < than));
            let watches = until.is_some() && sleepers.watch.as_ref().is_none_or(|watch| watch.worker == me || is_earlier(watch));
            if watches {
                sleepers.watch = Some(Watch { worker: me, until, looks: !all && !self.is_alone() });
                self.dormant.store(false, Ordering::Relaxed);
            }
            sleepers = worker.bell.wait_until(sleepers, until.filter(|_| watches));
            if !sleepers.asleep.contains(&me) {
                return None;
            }
            if !watches || until.is_none_or(|at| Instant::now() < at) {
                // Somebody has it look anew.
                continue;
            }
            if sleepers.watch.as_ref().is_some_and(|watch| watch.worker == me) {
                sleepers.watch = None;
            }
            if self.timers.next().is_some_and(|at| Instant::now() >= at) && !self.timers.clock.is_virtual() {
                self.rise(&mut sleepers, me);
                return None;
            }
            // SAFETY: by contract; nothing foreign is called.
            if let Some(stuck) = unsafe { worker.own(|own| self.look_at_turns(own)) } {
                self.rise(&mut sleepers, me);
                drop(sleepers);
                return self.workers[stuck].ring.steal_one();
            }
            patience = (patience * 2).min(PATIENCE[1]);
        }
    }

    /// Until when one who is about to sleep should do so, if there is nobody else to keep watch. `Err`: on a virtual clock it is
    /// time to go on.
    fn sleep_until(&self, all: bool, patience: Duration) -> Result<Option<Instant>, Jump> {
        let next = self.timers.next();
        let watch = (!all).then(|| Instant::now() + patience);
        if self.timers.clock.is_virtual() {
            let still = self.busy.load(Ordering::SeqCst) == 0 && self.injected.load(Ordering::SeqCst) == 0;
            return if all && still && next.is_some() { Err(Jump) } else { Ok(watch) };
        }
        Ok(match (next, watch) {
            (Some(next), Some(watch)) => Some(next.min(watch)),
            (next, watch) => next.or(watch),
        })
    }

    /// A worker that keeps something waiting and has been in the same poll since the last look.
    fn look_at_turns(&self, own: &mut Own<T>) -> Option<usize> {
        let mut stuck = None;
        for (worker, seen) in self.workers.iter().zip(&mut own.seen) {
            // ORDERING: Relaxed: a turn that is seen late costs another look.
            let turn = worker.turn.load(Ordering::Relaxed);
            let same = std::mem::replace(seen, turn) == turn;
            if same && (worker.ring.len() > 0 || worker.ring.has_next()) {
                stuck = Some(worker.index);
            }
        }
        stuck
    }

    /// A timer was set that is the first one now, due at `at`. `own`: by a worker of this crew, which looks at it itself,
    /// unless its poll goes on and on; then the watcher does.
    pub(crate) fn timer_set(&self, at: Instant, own: bool) {
        if own {
            return self.leave_watched();
        }
        let whom = {
            let sleepers = self.sleepers.lock();
            match &sleepers.watch {
                Some(watch) if watch.until.is_some_and(|until| until <= at) => None,
                Some(watch) => Some(watch.worker),
                None => sleepers.asleep.last().copied(),
            }
        };
        if let Some(index) = whom {
            self.workers[index].bell.notify_one();
        }
    }

    /// One more that may make fibers ready.
    pub(crate) fn busy(&self) {
        if self.timers.clock.is_virtual() {
            self.busy.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// One less.
    pub(crate) fn calm(&self) {
        if self.timers.clock.is_virtual() && self.busy.fetch_sub(1, Ordering::SeqCst) == 1 {
            let last = self.sleepers.lock().asleep.last().copied();
            if let Some(index) = last {
                self.workers[index].bell.notify_one();
            }
        }
    }

    /// The worker's thread is about to block: the others get what is in its queue.
    ///
    /// # Safety
    ///
    /// As for `next`.
    pub(crate) unsafe fn blocks(&self, worker: &Worker<T>) {
        let mut left = Vec::new();
        // SAFETY: by contract.
        while let Some(task) = unsafe { self.take(worker) } {
            left.push(task);
        }
        if left.is_empty() {
            return;
        }
        if let Err(refused) = self.inject_all(left) {
            // SAFETY: by contract; nothing foreign is called.
            unsafe { worker.own(|own| own.queue.extend(refused)) };
        }
    }

    // The end.

    /// Ends the crew: its workers leave after the poll that is under way. Gives what was injected; the caller ends it.
    #[must_use]
    pub(crate) fn close(&self) -> VecDeque<T> {
        let left = {
            let mut inject = self.inject.lock();
            self.injected.store(CLOSED, Ordering::Release);
            std::mem::take(&mut *inject)
        };
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
        for index in woken {
            self.workers[index].bell.notify_one();
        }
        left
    }

    /// Of a crew that has ended: takes one from the queue of a worker that is about to leave. The caller ends it.
    ///
    /// # Safety
    ///
    /// As for `next`.
    pub(crate) unsafe fn take_left(&self, worker: &Worker<T>) -> Option<T> {
        // SAFETY: by contract; nothing foreign is called.
        unsafe { self.take(worker).or_else(|| worker.own(Own::take)) }
    }

    /// Of a crew of several that has ended: takes one that a worker keeps waiting. The caller ends it.
    pub(crate) fn steal_left(&self) -> Option<T> {
        self.workers.iter().find_map(|worker| worker.ring.steal_one())
    }
}

/// How long what stands in a worker's ring has stood there: one entry at a time is timed, and the clock is read rarely
/// where it does not stand for long.
struct Mark {
    /// The end of the ring at the time; all before it has been taken once `head` gets there.
    at: u64,
    since: Option<Instant>,
    /// Looks since then.
    looks: u32,
    /// Looks without a mark before the next one.
    pause: u32,
}

impl Mark {
    const NONE: Mark = Mark { at: 0, since: None, looks: 0, pause: 1 };

    fn is_late<T: Entry>(&mut self, ring: &Ring<T>) -> bool {
        self.looks += 1;
        let Some(since) = self.since else {
            if self.looks >= self.pause {
                *self = Mark { at: ring.tail(), since: Some(Instant::now()), looks: 0, pause: self.pause };
            }
            return false;
        };
        if ring.head() >= self.at {
            *self = Mark { since: None, looks: 0, pause: (self.pause * 2).min(16), ..*self };
            return false;
        }
        let late = (self.looks <= 4 || self.looks % 8 == 0) && since.elapsed() >= LATE;
        if late {
            *self = Mark::NONE;
        }
        late
    }
}

/// On a virtual clock: nothing is left to be done now.
struct Jump;

impl<T> Own<T> {
    #[inline]
    fn take(&mut self) -> Option<T> {
        if let Some(task) = self.next.take() {
            self.streak += 1;
            if self.streak <= STREAK {
                return Some(task);
            }
            self.queue.push_back(task);
        }
        self.streak = 0;
        let task = self.queue.pop_front();
        if task.is_none() && self.queue.capacity() > KEEP {
            self.queue = VecDeque::new();
        }
        task
    }
}
