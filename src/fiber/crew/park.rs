//! How workers sleep and are woken: the rules are in [`crew`](super).
//!
//! A sleeper waits with the lock of the sleepers, and who takes it out does so under that lock; a bell only says that there is
//! something to look at, so one that is rung in vain, or too early, costs a look.
//!
//! **Time.** The watcher's sleep also ends at the next deadline of all wheels ([`timers`](crate::time::timers)), and so does that
//! of the last one to park: a worker that parks with an earlier end than the watcher's takes the watch over. Whoever sets a timer
//! from outside that is now the first one of its wheel takes the lock afterwards, and has the watcher look again: it sees the
//! timer, or is woken. (A worker that sets one looks itself, every few turns and before it sleeps; in a poll that goes on and on,
//! the watcher sees it at its next look.) A worker woken by a deadline fires what is due before it takes a fiber, which might wait
//! for just that in a poll without end, and hands the watch on if there are more deadlines. On a virtual clock nobody sleeps until
//! a deadline: the last one to park, if nothing is ready and nobody is busy, moves the clock on to it, with the lock. `busy` is
//! JUMPING then: whoever becomes busy meanwhile waits for the lock, so that no time goes by for those who are busy.
//!
//! Where nobody sleeps, all may be in calls that block. A worker in one hangs up a bell with the lock, and sleeps until what is
//! then the next deadline. Whoever changes that (sets an earlier timer, takes the last sleeper out, takes a bell down) rings one of
//! these bells with the lock, unless somebody sleeps, or one of those who block sleeps no longer than until the next deadline
//! anyway: so it is looked after. (A worker that sets one takes the lock only if it sees in `blocked` that there are such bells.) A
//! cord that is driven in a fiber of a runtime hangs up a bell in the runtime's crew, too, as it sleeps. (Whoever rings that one
//! has the lock of the runtime's sleepers, and takes that of the cord's.)

use std::ptr;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::worker::Own;
use super::{Crew, PARKED, SEARCHING, Worker};
use crate::fiber::ring::Entry;
use crate::prim::{Ordering, fence, is_late, now};
use crate::task::context;
use crate::task::seam::{Bell, TimerKey};

/// The watcher's first look comes after the first, and so do those while something waits; others ever later, up to the second.
const PATIENCE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(3)];

/// In `busy`: the virtual clock is just being moved on. (A bit above any count.)
const JUMPING: usize = 1 << (usize::BITS - 1);

/// Who is asleep.
#[derive(Default)]
pub(super) struct Sleepers {
    pub(super) asleep: Vec<usize>,
    pub(super) watch: Option<Watch>,
    /// Those who sleep in calls that block.
    aside: Vec<Aside>,
}

struct Aside {
    bell: &'static dyn Bell,
    until: Option<Instant>,
}

/// The sleeper that looks after the others, and after time.
pub(super) struct Watch {
    worker: usize,
    until: Option<Instant>,
    /// Whether it looks after long polls, and not after time only.
    looks: bool,
}

/// How a worker's sleep has ended.
enum Slept<T> {
    /// With what it has found as the watcher.
    Found(T),
    /// There may be something to look for.
    Enough,
    /// A virtual clock has gone on.
    Jumped,
    /// A deadline has come.
    Late,
}

/// Whether somebody sleeps, and nobody searches.
fn needs_searcher(idle: usize) -> bool {
    idle >= PARKED && idle % PARKED == 0
}

/// The thread of a lone worker that sleeps looks again.
impl<T: Entry> Bell for Crew<T> {
    fn ring(&self) {
        let _sleepers = self.sleepers.lock();
        self.notify([0]);
    }
}

impl<T: Entry> Crew<T> {
    /// Somebody has the watch after a push that wakes nobody (5).
    #[inline]
    pub(super) fn leave_watched(&self) {
        // ORDERING: Relaxed: set before this worker left the park, which took the lock under which it was.
        if self.dormant.load(Ordering::Relaxed) && !bug!("crew_stays_dormant") {
            self.rouse();
        }
    }

    /// Has a sleeper keep watch.
    #[cold]
    fn rouse(&self) {
        let watcher = self.appoint(&mut self.sleepers.lock());
        self.notify(watcher);
    }

    /// Has these look whether they are still asleep, and until when.
    pub(super) fn notify(&self, workers: impl IntoIterator<Item = usize>) {
        for index in workers {
            self.workers[index].bell.notify_one();
        }
    }

    /// Gives a sleeper the watch, who has it at once, and has to be told.
    fn appoint(&self, sleepers: &mut Sleepers) -> Option<usize> {
        let watcher =
            sleepers.watch.as_ref().map(|watch| watch.worker).or(sleepers.asleep.last().copied())?;
        sleepers.watch = Some(Watch { worker: watcher, until: None, looks: true });
        self.dormant.store(false, Ordering::Relaxed);
        Some(watcher)
    }

    /// Takes a sleeper out of the park, as a searcher, unless somebody searches already.
    pub(super) fn wake_one(&self) {
        // ORDERING: Relaxed: see the header for the fence before.
        if !needs_searcher(self.idle.load(Ordering::Relaxed)) {
            return;
        }
        let woken = {
            let mut sleepers = self.sleepers.lock();
            if !needs_searcher(self.idle.load(Ordering::Relaxed)) {
                return;
            }
            // Rather not the watcher.
            let watcher = sleepers.watch.as_ref().map(|watch| watch.worker);
            let at = sleepers.asleep.iter().rposition(|index| Some(*index) != watcher).unwrap_or(0);
            let index = sleepers.asleep[at];
            self.rise(&mut sleepers, index);
            index
        };
        self.notify([woken]);
    }

    /// Takes a sleeper off the list: it is a searcher from now on (1).
    fn rise(&self, sleepers: &mut Sleepers, index: usize) {
        let all = sleepers.asleep.len() == self.workers.len();
        sleepers.asleep.retain(|sleeper| *sleeper != index);
        self.idle.fetch_sub(PARKED - SEARCHING, Ordering::SeqCst);
        let was_watcher = sleepers.watch.as_ref().is_some_and(|watch| watch.worker == index);
        if was_watcher {
            sleepers.watch = None;
        }
        let unwatched =
            !sleepers.asleep.is_empty() && !sleepers.watch.as_ref().is_some_and(|watch| watch.looks);
        self.dormant.store(unwatched, Ordering::Relaxed);
        self.cover(sleepers);
        // Where all slept, only the one that rises now can push, or have the next timer watched, and it sees the mark.
        // Otherwise another one may have pushed already.
        if was_watcher && unwatched && !all && !bug!("crew_hands_no_watch_on") {
            self.notify(self.appoint(sleepers));
        }
    }

    /// Sleeps until there is something to look for; gives what it has found as the watcher. Afterwards the worker is a
    /// searcher, unless it has called wakers.
    pub(super) unsafe fn park(&self, worker: &Worker<T>, searching: &mut bool) -> Option<T> {
        // SAFETY: by contract.
        let mut sleep = |deadline| unsafe { self.sleep(worker, searching, deadline) };
        // (The bell hangs for one sleep, and not while wakers are called, in which this thread may sleep elsewhere.)
        let slept = if self.strict { context::asleep(self, None, sleep) } else { sleep(None) };
        match slept {
            Slept::Found(task) => return Some(task),
            Slept::Enough => {}
            Slept::Jumped if bug!("crew_jumps_late") && !self.timers.jump() => {}
            Slept::Jumped => self.timers.fire_after(|| self.prepare_wakers(searching)),
            Slept::Late if bug!("crew_takes_before_it_fires") => {}
            Slept::Late => {
                // Before anything else: what it finds may be a poll that doesn't end. And there may be no watch
                // now (see `rise`), for the next deadline; also if what was due had been cleared.
                self.timers.fire_after(|| self.prepare_wakers(searching));
                if self.timers.next().is_some() {
                    self.leave_watched();
                }
                if self.strict {
                    context::fire_timers();
                }
            }
        }
        None
    }

    /// Of a strict crew it is one sleep, until `deadline` at most: the bell that hangs elsewhere meanwhile says so, whatever becomes of
    /// the timer there that this is due to.
    unsafe fn sleep(&self, worker: &Worker<T>, searching: &mut bool, deadline: Option<Instant>) -> Slept<T> {
        let me = worker.index;
        let was_searching = std::mem::replace(searching, true);
        let mut patience = PATIENCE[0];
        let mut sleepers = self.sleepers.lock();
        sleepers.asleep.push(me);
        let all = sleepers.asleep.len() == self.workers.len();
        if all {
            self.dormant.store(false, Ordering::Relaxed);
        }
        self.idle.fetch_add(PARKED - if was_searching { SEARCHING } else { 0 }, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // (Of a strict crew: something may have been called just before this sleep, on this thread.)
        // SAFETY: by contract; nothing foreign is called.
        let has_own = self.strict && unsafe { worker.own(|own| own.next.is_some() || !own.queue.is_empty()) };
        // 3.
        if has_own || (self.has_work() && !bug!("crew_parks_unchecked")) {
            self.rise(&mut sleepers, me);
            return Slept::Enough;
        }
        // SAFETY: by contract; nothing foreign is called.
        unsafe { worker.own(|own| self.note(&mut own.seen, |worker| worker.turn.load(Ordering::Relaxed))) };
        loop {
            let all = sleepers.asleep.len() == self.workers.len();
            // First: this may find that no timer is left.
            if all && self.jumps() {
                self.rise(&mut sleepers, me);
                return Slept::Jumped;
            }
            if self.tell_if_stuck(all, || self.rise(&mut sleepers, me)) {
                return Slept::Enough;
            }
            let until = self.until(if all { deadline } else { Some(now() + patience) });
            // Its own watch, if it had it, is over: it may sleep without an end from here on.
            if sleepers.watch.as_ref().is_some_and(|watch| watch.worker == me)
                && !bug!("crew_keeps_the_watchs_name")
            {
                sleepers.watch = None;
            }
            let looks = !all;
            let is_better = |than: &Watch| {
                (looks && !than.looks) || until.is_some_and(|at| than.until.is_none_or(|than| at < than))
            };
            let watches = until.is_some() && sleepers.watch.as_ref().is_none_or(is_better);
            if watches {
                sleepers.watch = Some(Watch { worker: me, until, looks });
                self.dormant.store(false, Ordering::Relaxed);
            }
            sleepers = worker.bell.wait_until(&self.sleepers, sleepers, until.filter(|_| watches));
            if !sleepers.asleep.contains(&me) {
                return Slept::Enough;
            }
            let is_time = watches && is_late(until);
            if is_time && is_late(self.until(None)) {
                self.rise(&mut sleepers, me);
                return Slept::Late;
            }
            if self.strict {
                self.rise(&mut sleepers, me);
                return Slept::Enough;
            }
            if !is_time {
                // Somebody has it look anew.
                continue;
            }
            // SAFETY: by contract; nothing foreign is called.
            if let Some(stuck) = unsafe { worker.own(|own| self.look_at_turns(own)) } {
                self.rise(&mut sleepers, me);
                drop(sleepers);
                return self.workers[stuck].ring.steal_one().map_or(Slept::Enough, Slept::Found);
            }
            let waits = self.workers.iter().any(|worker| worker.ring.keeps_waiting());
            patience = if waits { PATIENCE[0] } else { (patience * 2).min(PATIENCE[1]) };
        }
    }

    /// A virtual clock goes on, if nothing is left to be done now. With the lock of the sleepers, where all workers are asleep.
    fn jumps(&self) -> bool {
        if !self.timers.clock.is_virtual() || self.timers.next().is_none() {
            return false;
        }
        if self.busy.compare_exchange(0, JUMPING, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return false;
        }
        let jumps =
            self.injected.load(Ordering::SeqCst) == 0 && (bug!("crew_jumps_late") || self.timers.jump());
        self.busy.fetch_sub(JUMPING, Ordering::SeqCst);
        jumps
    }

    /// Until when a worker that is about to sleep until `deadline` at most may do so, for the sake of timers. A cord's thread
    /// may have others to look after besides.
    pub(super) fn until(&self, deadline: Option<Instant>) -> Option<Instant> {
        let next = deadline.into_iter().chain(self.next_timer()).min();
        if self.strict { context::until(next) } else { next }
    }

    /// The next deadline in real time, or one before it.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        if self.timers.clock.is_virtual() { None } else { self.timers.next() }
    }

    /// A worker is about to sleep in a call that blocks: see the module. (Nothing is done for the crew's own bell.)
    pub(crate) fn hang_up(&self, bell: &'static dyn Bell) -> Option<Instant> {
        if ptr::addr_eq(bell, self) {
            return self.next_timer();
        }
        let mut sleepers = self.sleepers.lock();
        self.blocked.store(sleepers.aside.len() + 1, Ordering::Relaxed);
        // ORDERING: pairs with `timer_set`, for a worker's own: one of the two sees the other.
        fence(Ordering::SeqCst);
        let until = self.next_timer();
        sleepers.aside.push(Aside { bell, until });
        until
    }

    /// Ends [`hang_up`](Self::hang_up).
    pub(crate) fn take_down(&self, bell: &'static dyn Bell) {
        if ptr::addr_eq(bell, self) {
            return;
        }
        let mut sleepers = self.sleepers.lock();
        let at = sleepers.aside.iter().rposition(|aside| ptr::addr_eq(aside.bell, bell));
        sleepers.aside.swap_remove(at.expect("it was hung up"));
        self.blocked.store(sleepers.aside.len(), Ordering::Relaxed);
        self.cover(&sleepers);
    }

    /// Has one of those who block look after the next deadline, if nobody sleeps who does.
    fn cover(&self, sleepers: &Sleepers) {
        if let ([], [first, ..], false) = (&*sleepers.asleep, &*sleepers.aside, bug!("crew_rings_no_bell")) {
            let next = self.next_timer();
            let in_time = |aside: &Aside| aside.until.is_some_and(|until| next.is_some_and(|at| until <= at));
            if next.is_some() && !sleepers.aside.iter().any(in_time) {
                first.bell.ring();
            }
        }
    }

    /// A worker that keeps something waiting and has been in the same poll since the last look.
    fn look_at_turns(&self, own: &mut Own<T>) -> Option<usize> {
        // (All of them are looked at.)
        self.workers.iter().zip(&mut own.seen).fold(None, |stuck, (worker, seen)| {
            if worker.is_stuck_since(seen) { Some(worker.index) } else { stuck }
        })
    }

    /// Sets a timer, by a worker of this crew or from outside. `None`: it has ended.
    pub(crate) fn set_timer(&self, worker: Option<usize>, at: Instant, waker: Waker) -> Option<TimerKey> {
        let (key, first) = self.timers.set(worker, at, waker)?;
        if first {
            self.timer_set(at, worker.is_some());
        }
        Some(key)
    }

    /// A timer was set that is the first one now, due at `at`. `own`: by a worker of this crew, which looks at it itself,
    /// unless its poll goes on and on; then the watcher does, or one of those who block.
    fn timer_set(&self, at: Instant, own: bool) {
        if own {
            // ORDERING: pairs with `hang_up`: it sees the timer, or is seen.
            if !bug!("crew_own_timer_unfenced") {
                fence(Ordering::SeqCst);
            }
            if self.blocked.load(Ordering::Relaxed) != 0 && !bug!("crew_own_timer_rings_no_bell") {
                self.cover(&self.sleepers.lock());
            }
            return self.leave_watched();
        }
        if bug!("crew_timer_set_unseen") {
            return;
        }
        let whom = {
            let mut sleepers = self.sleepers.lock();
            let whom = match &sleepers.watch {
                Some(watch) if watch.until.is_some_and(|until| until <= at) => None,
                None if bug!("crew_timer_names_no_watch") => sleepers.asleep.last().copied(),
                // It is the watcher at once: who wakes one for a fiber takes another one, if there is.
                _ => self.appoint(&mut sleepers),
            };
            self.cover(&sleepers);
            whom
        };
        self.notify(whom);
    }

    /// One more that may make fibers ready. While a virtual clock goes on this waits for the lock of the sleepers: never with that
    /// lock held, as the clock goes on under it only.
    pub(crate) fn busy(&self) {
        if self.counts_busy()
            && self.busy.fetch_add(1, Ordering::SeqCst) >= JUMPING
            && !bug!("crew_is_busy_during_a_jump")
        {
            drop(self.sleepers.lock());
        }
    }

    /// One less.
    pub(crate) fn calm(&self) {
        if self.counts_busy()
            && self.busy.fetch_sub(1, Ordering::SeqCst) == 1
            && !bug!("closed_calm_is_silent")
        {
            let last = self.sleepers.lock().asleep.last().copied();
            self.notify(last);
        }
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;
    use crate::fiber::ring::Number;
    use crate::time::Clock;

    /// Where the bell of a cord's thread hangs, a timer was the first one until which it was to sleep. It wakes then, even if that
    /// was cleared before it fell asleep: whoever sets another one relies on that.
    #[test]
    fn a_cord_sleeps_no_longer_than_its_bell_says() {
        let crew = Crew::<Number>::new(1, true, Clock::real());
        let deadline = now() + Duration::from_millis(1);
        // SAFETY: this thread is the worker.
        let slept = unsafe { crew.sleep(crew.worker(0), &mut false, Some(deadline)) };
        assert!(matches!(slept, Slept::Enough) && is_late(Some(deadline)));
    }
}
