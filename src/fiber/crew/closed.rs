//! The closed world: nobody outside wakes its fibers, by its user's promise. Then it can be told when all of them wait for
//! each other: when nobody is left who could make one ready.
//!
//! Who can do so is *active*:
//!
//! | active | from | to |
//! |---|---|---|
//! | a worker | it is taken out of the park | it is in the park, among `asleep` |
//! | what was injected | it is counted in `injected` | a worker has taken it |
//! | who is *busy*: a call of `unblock`, the thread of a `block_on` that doesn't wait at its gate, who spawns from outside | [`busy`](Crew::busy) | [`calm`](Crew::calm) |
//! | a timer | it is set | a worker has fired it, or it was cleared |
//!
//! Activity comes from activity: a worker or somebody busy makes the next one active *before* its own ends. (A wake-up of the
//! fiber of a `block_on` makes its thread busy, and that hands this on to nobody before its future waits again, or is gone.)
//! So once nobody is active, nobody is any more.
//!
//! From outside come `block_on`s and spawns. Their threads are busy from the beginning: what they do counts from then on.
//!
//! **The look** is a worker's in the park when all are asleep, under the locks of the sleepers and of the list of those who wait in
//! a `block_on`, so that nobody comes or goes there. It reads first whether anybody is on the list; then `busy`; then the rest.
//! Whoever is on the list was busy before, and is seen to be so still, or to be calm: in that case it waits, as one that ends
//! leaves the list before it is calm. Let `busy` be 0. No worker rises meanwhile, since that takes the lock. Nobody is busy, so
//! from then on nobody but those who come from outside becomes busy, injects, or sets a timer; and what those who were busy before
//! have done is seen, as it came before their [`calm`](Crew::calm) (Release), which the look has read (Acquire). So if nothing is
//! injected and there is no timer after that, nobody was active at the moment at which `busy` was read, and somebody waited. (Who
//! comes from outside after that moment comes too late: what they make ready no worker takes, and no `block_on` of theirs is
//! polled, before the look is over.)
//!
//! **Somebody looks.** The last to park looks. The last to become calm has a sleeper look again, after it has ceased to be busy: it
//! takes the lock for that, so that a worker that parks meanwhile either looks later, or is woken. A timer that is cleared from
//! elsewhere is noticed when it would have come.
//!
//! **Who is told**: the oldest of the list, in the look itself; it is active then, as it was woken. Its end may make others
//! ready. If it doesn't, the next one is told. Where nobody waits in a `block_on` nobody is told; whoever begins one is busy, so
//! there will be another look.

use super::Crew;
use crate::prim::{Mutex, Ordering};

/// See the module.
pub(crate) struct Closed<T> {
    /// Those who wait in a `block_on`, or run there, oldest first.
    mains: Mutex<Vec<T>>,
    tell: Tell<T>,
}

type Tell<T> = Box<dyn Fn(&Crew<T>, &T) + Send + Sync>;

impl<T> Crew<T> {
    /// Closes the world. `tell` wakes the one it is given, of those who wait in a `block_on`. It must need neither the lock of the
    /// sleepers nor that of the list, and nothing foreign; it may call [`busy`](Crew::busy).
    pub(crate) fn closed(mut self, tell: impl Fn(&Self, &T) + Send + Sync + 'static) -> Self {
        self.closed = Some(Closed { mains: Mutex::new(Vec::new()), tell: Box::new(tell) });
        self
    }

    /// Somebody, who is busy, will wait in a `block_on`: its fiber was made and scheduled, and is not polled before this returns.
    pub(crate) fn expect_main(&self, main: impl FnOnce() -> T) {
        if let Some(closed) = &self.closed {
            closed.mains.lock().push(main());
        }
    }

    /// And, busy again, will do so no more: the fiber is not polled any more.
    pub(crate) fn dismiss_main(&self, is: impl FnMut(&T) -> bool) {
        if let Some(closed) = &self.closed {
            let mut mains = closed.mains.lock();
            let gone = mains.iter().position(is).map(|at| mains.remove(at));
            drop(mains);
            drop(gone);
        }
    }

    /// Whether it matters who is busy.
    #[inline]
    pub(super) fn counts_busy(&self) -> bool {
        self.closed.is_some() || self.timers.clock.is_virtual()
    }

    /// Tells the oldest of those who wait, if nobody is active; `rise`: whoever looks is no sleeper then. With the lock of the
    /// sleepers; `all`: all workers are asleep.
    #[inline]
    pub(super) fn tell_if_stuck(&self, all: bool, rise: impl FnOnce()) -> bool {
        self.closed.as_ref().is_some_and(|closed| {
            (all || bug!("closed_counts_no_workers")) && self.tell_if_quiet(closed, rise)
        })
    }

    /// See the header for the order.
    #[cold]
    fn tell_if_quiet(&self, closed: &Closed<T>, rise: impl FnOnce()) -> bool {
        let nobody_is_busy = || self.busy.load(Ordering::SeqCst) == 0 || bug!("closed_ignores_busy");
        if bug!("closed_counts_mains_late") && !nobody_is_busy() {
            return false;
        }
        let mains = closed.mains.lock();
        if mains.is_empty() {
            return false;
        }
        let mains = (!bug!("closed_looks_unlocked")).then_some(mains);
        let is_quiet = (bug!("closed_counts_mains_late") || nobody_is_busy())
            && self.injected.load(Ordering::SeqCst) == 0
            && self.timers.next().is_none();
        if !is_quiet {
            return false;
        }
        let mains = mains.unwrap_or_else(|| closed.mains.lock());
        let Some(oldest) = mains.first() else { return false };
        rise();
        (closed.tell)(self, oldest);
        true
    }
}
