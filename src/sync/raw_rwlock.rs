//! The lock for readers and writers, without what it guards: permits of different weight, and a place for the one
//! reader that becomes the writer.
//!
//! ```text
//!   all permits:  2·B − 1          read: 1        upgradable read: B        write: all        B = 2^29
//!
//!   permits  [ free, or who waits, in order                ]     what comes back goes to the first in line …
//!   upgrade  [ free, or the one reader that waits to write ]     … but to this one while UPGRADING is set
//! ```
//!
//! Two upgradable reads do not fit beside each other, B − 1 readers fit beside one, and nothing fits beside a writer. All
//! three kinds stand in one line, strictly first come, first served ([`permits`](super::permits)): a writer that waits holds up
//! the readers that come later, and readers that wait hold up the writer that comes later. So neither side starves.
//!
//! # Upgrading
//!
//! The upgradable reader has B, and wants the B − 1 of the readers. It cannot stand in the line: a writer that waits there would
//! wait for it, and it for that. So it has permits of its own to wait for, and takes precedence.
//!
//! | UPGRADING | who | does | then |
//! |---|---|---|---|
//! | no | upgrade, nobody waits, B − 1 are free | takes them | is the writer |
//! | no | `try_upgrade`, or the first look of an upgrade, somebody waits | as if it waited; too few: as if it left, at once | is the writer, or has done nothing |
//! | no | upgrade waits | one exchange: UPGRADING; what is free, or in the pot, goes to `upgrade` | takes B − 1 there, or waits |
//! | yes | who gives back, or has some in hand | they go to `upgrade` | if UPGRADING is set no more: takes all that is there, and begins again |
//! | yes | it has got B − 1 there | not UPGRADING | is the writer |
//! | yes | it leaves | not UPGRADING; takes all that is there | serves the line with it |
//!
//! # Invariants
//! 1. At most one has B, and only that one sets UPGRADING, and clears it.
//! 2. Not UPGRADING and nobody at work: `upgrade` has no permits. UPGRADING and nobody at work: neither the word nor the pot of
//!    `permits` has any.
//!
//! *Why 2 holds.* Whoever brings permits to `upgrade` looks at UPGRADING after that; whoever clears UPGRADING takes all of
//! `upgrade` after that. Both touch the permits by read-modify-writes: either the permits are found, or the one that brings them
//! acquires the taking, and sees that UPGRADING is clear. The same with the pot, where UPGRADING is set.
//!
//! # Progress, cost
//!
//! Lock-free. Locked instructions, counted, uncontended: 1 to take and 1 to give back, for all kinds (43 and 44 instructions for a
//! read and a write by their futures); 1 for an upgrade or a downgrade.

use super::borrowed::Borrowed;
use super::permits::{Permits, Served, Source, Taken, Taking, Try, What};
use crate::prim;
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, NodeRef, Tray, Waiter, abandon_grant, outcome};

pub(super) const READ: u32 = 1;
pub(super) const UPGRADABLE: u32 = 1 << 29;
pub(super) const WRITE: u32 = 2 * UPGRADABLE - 1;
/// What an upgradable reader lacks.
const OTHERS: u32 = WRITE - UPGRADABLE;

pub struct RawRwLock {
    permits: Permits,
    upgrade: Permits,
}

impl Source for RawRwLock {
    #[inline(always)]
    fn permits(&self) -> &Permits {
        &self.permits
    }

    fn serve(&self, hand: u64, look: bool, served: &mut Served) {
        let mut hand = self.permits.hand_out(hand, look, served);
        while hand > 0 {
            self.upgrade.serve(hand, false, served);
            if self.permits.is_upgrading() || bug!("upgrade_is_not_looked_at") {
                return;
            }
            let all = self.upgrade.take_all();
            hand = self.permits.hand_out(all, true, served);
        }
    }
}

impl RawRwLock {
    prim::const_fn! {
        pub(super) fn new() -> RawRwLock {
            RawRwLock { permits: Permits::new(WRITE as u64), upgrade: Permits::new(0) }
        }
    }

    #[inline]
    pub(super) fn try_take(&self, permits: u32) -> bool {
        self.permits.try_take(permits.into()) == Try::Taken
    }

    /// Takes what an upgradable reader lacks, if nobody else reads.
    pub(super) fn try_upgrade(&self) -> bool {
        loop {
            let word = self.permits.line.glance();
            if self.permits.quick(OTHERS.into()) {
                return true;
            }
            if !word.is_free() {
                break;
            }
            if word.rest() < OTHERS.into() {
                return false;
            }
        }
        // Somebody waits: what is free is in the pot, if anything is.
        self.begin_upgrade();
        if self.upgrade.try_take(OTHERS.into()) == Try::Taken {
            self.permits.end_upgrade();
            return true;
        }
        self.cancel_upgrade(0);
        false
    }

    fn begin_upgrade(&self) {
        let free = self.permits.begin_upgrade();
        if free > 0 {
            self.upgrade.release(free);
        }
    }

    /// The upgrade leaves; this many were granted to it.
    #[cold]
    fn cancel_upgrade(&self, granted: u32) {
        let early = bug!("upgrade_ends_late").then(|| self.upgrade.take_all());
        self.permits.end_upgrade();
        self.look_into_pot(u64::from(granted) + early.unwrap_or_else(|| self.upgrade.take_all()));
    }

    /// Panics if an invariant does not hold, while nobody is at work here.
    pub(super) fn assert_valid(&self) {
        self.upgrade.assert_valid();
        if self.permits.is_upgrading() {
            assert_eq!(self.permits.available(), 0, "invariant 2");
        } else {
            self.permits.assert_valid();
            assert_eq!(self.upgrade.available(), 0, "invariant 2");
        }
    }

    /// How many permits are free.
    pub(super) fn available(&self) -> u64 {
        self.permits.available()
    }
}

/// Becoming the writer, for who has B, as a branch.
pub struct Upgrading {
    raw: Borrowed<RawRwLock>,
    /// Of `upgrade`.
    taking: Taking,
    /// It has set UPGRADING.
    began: bool,
}

impl Upgrading {
    /// # Safety
    /// The lock outlives this, and the caller has B of it, for as long.
    pub(super) unsafe fn new(raw: *const RawRwLock) -> Self {
        // SAFETY: the caller's promise; whoever becomes the writer keeps the lock.
        let raw = unsafe { Borrowed::new(raw) };
        // SAFETY: as above.
        let taking = unsafe { Taking::new(&raw const raw.upgrade, OTHERS, What::Upgrade) };
        Upgrading { raw, taking, began: false }
    }

    /// What the upgradable reader lacked, before it becomes the writer.
    #[inline(always)]
    fn taken(&self) -> Taken<RawRwLock> {
        Taken { source: self.raw, permits: OTHERS }
    }

    /// It has what it wants.
    fn upgraded(&mut self) -> Taken<RawRwLock> {
        if std::mem::take(&mut self.began) {
            self.raw.permits.end_upgrade();
        }
        self.taken()
    }

    fn cancel(&mut self, granted: u32) {
        if std::mem::take(&mut self.began) {
            self.raw.cancel_upgrade(granted);
        }
    }
}

impl Branch for Upgrading {
    outcome!(Taken<RawRwLock>);

    fn wish(&self) -> (&'static str, Thing) {
        What::Upgrade.wish(&*self.raw)
    }

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<Taken<RawRwLock>>) -> bool {
        let is_upgraded = !self.began && self.raw.permits.quick(OTHERS.into());
        if is_upgraded {
            tray.put(self.taken());
        }
        is_upgraded
    }

    fn attempt(&mut self, _by: &mut By, tray: &mut Tray<Taken<RawRwLock>>) -> Attempt<()> {
        let is_taken = if self.began {
            self.raw.upgrade.try_take(OTHERS.into()) == Try::Taken
        } else {
            self.raw.try_upgrade()
        };
        if !is_taken {
            return Attempt::Wait;
        }
        tray.put(self.upgraded());
        Attempt::Ready(())
    }

    fn register(&mut self, node: &Waiter, pair: bool) -> bool {
        if !std::mem::replace(&mut self.began, true) {
            self.raw.begin_upgrade();
        }
        self.taking.register(node, pair)
    }

    fn leave(&mut self, node: &Waiter) -> bool {
        let left = self.taking.leave(node);
        if left {
            self.cancel(0);
        }
        left
    }

    fn touch(&self, node: &Waiter) -> bool {
        self.taking.touch(node)
    }

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<Taken<RawRwLock>>) {
        tray.put(self.upgraded());
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        let mut granted = 0;
        let is_told = abandon_grant(node, || granted = OTHERS);
        debug_assert!(!is_told, "nobody closes a lock");
        // If nothing was granted, whoever grants finds that it has left, and sees to what it has in hand.
        self.cancel(granted);
        false
    }

    fn lost(&mut self) {
        if !bug!("lost_upgrade_stays") {
            self.cancel(0);
        }
    }

    fn discard(&mut self) {
        self.cancel(0);
    }
}
