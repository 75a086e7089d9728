//! What the ends of a watch channel share: the value with its version, and two bells.
//!
//! ```text
//!   sender:    value := new, state + 2 (under the lock) ─▶ ring `changed`
//!   receiver:  seen ≠ version of the state? ─▶ yes: seen := it.  no: wait for `changed`
//!   the last sender goes:    CLOSED in the state ─▶ ring `changed`
//!   the last receiver goes:  receivers := 0 ─▶ ring `gone`
//! ```
//!
//! | word | written by | means |
//! |---|---|---|
//! | `state`, all but the lowest bit | who changes the value, under the lock | the version of the value |
//! | `state`, `CLOSED` | the last sender | the value will not change any more |
//! | a receiver's `seen` | that receiver | the version that it has seen |
//!
//! # Invariants
//! 1. Whoever has the lock, to read or to write, sees the value and its version together.
//! 2. A bell is rung after what it is rung for; so nobody sleeps through a change ([`bell`](crate::channel::bell)).
//! 3. No bell is rung under the lock. Foreign code runs under it where the docs say so: what is given to `send_modify`,
//!    `send_if_modified` and `wait_for`, and what a user does with a `Ref`. Also wakers: a `wait_for` that is through has its `Ref`
//!    before it drops a waker that it did not need in the end, and in a select before the other arms are over, which wake others,
//!    and drop wakers. Old values are dropped after it.
//! 4. CLOSED is set once, by the last sender, and no version comes after it.
//!
//! # Orderings
//!
//! A new version releases, and a receiver's look at the state acquires: who has seen the version reads that value, or a later
//! one. (The value itself is under the lock.)
//!
//! # Progress, cost
//!
//! Who writes waits for those who read, and the other way round: the thread blocks. All else is lock-free. Locked
//! instructions: send 4, borrow 2, changed 0 where something has, and to wait 1.

use super::lock::{Lock, Read};
use crate::channel::RecvError;
use crate::channel::bell::{Bell, Look, gone};
use crate::prim::{AtomicU64, AtomicUsize, Ordering};
use crate::task::watch::Thing;
use crate::wait::{By, Primitive};

const CLOSED: u64 = 1;
const ONE_VERSION: u64 = 2;

pub(super) struct Shared<T> {
    value: Lock<T>,
    state: AtomicU64,
    pub(super) senders: AtomicUsize,
    receivers: AtomicUsize,
    changed: Bell,
    gone: Bell,
}

impl<T> Shared<T> {
    /// With one of each end.
    pub(super) fn new(value: T) -> Self {
        Shared {
            value: Lock::new(value),
            state: AtomicU64::new(0),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
            changed: Bell::new(),
            gone: Bell::new(),
        }
    }

    fn state(&self) -> u64 {
        self.state.load(Ordering::Acquire)
    }

    pub(super) fn version(&self) -> u64 {
        self.state() & !CLOSED
    }

    /// The value, kept from being changed, and its version.
    pub(super) fn read(&self) -> (Read<'_, T>, u64) {
        let value = self.value.read();
        (value, self.version())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state() & CLOSED != 0
    }

    pub(super) fn receivers(&self) -> usize {
        self.receivers.load(Ordering::Acquire)
    }

    /// Whether there is something that a receiver has not seen; `Err`: no, nor will there be.
    pub(super) fn has_changed(&self, seen: u64) -> Result<bool, RecvError> {
        let state = self.state();
        match state & !CLOSED != seen {
            false if state & CLOSED != 0 => Err(RecvError),
            changed => Ok(changed),
        }
    }

    /// Changes the value by `f`, which says whether it did; then all are told.
    pub(super) fn change(&self, f: impl FnOnce(&mut T) -> bool) -> bool {
        let mut by = By::plain();
        if bug!("watch_rings_early") {
            self.changed.ring(&mut by);
        }
        let changed = self.value.write(|value| {
            let changed = f(value);
            if changed {
                // ORDERING: Release pairs with `state`.
                self.state.fetch_add(ONE_VERSION, Ordering::AcqRel);
            }
            changed
        });
        if changed && !bug!("watch_rings_early") {
            self.changed.ring(&mut by);
        }
        by.wake();
        changed
    }

    pub(super) fn add_receiver(&self) {
        // ORDERING: Relaxed: a look at the count is as good before as after.
        self.receivers.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn drop_receiver(&self) {
        if self.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            let mut by = By::plain();
            self.gone.ring(&mut by);
            by.wake();
        }
    }

    pub(super) fn drop_sender(&self) {
        if self.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.state.fetch_or(CLOSED, Ordering::AcqRel);
            let mut by = By::plain();
            if !bug!("watch_closes_silently") {
                self.changed.ring(&mut by);
            }
            by.wake();
        }
    }

    fn thing(&self) -> Thing {
        Thing::new("watch", self)
    }

    /// How many wait, while nobody is at work here; the invariants of the lines hold.
    pub(super) fn assert_valid(&self) -> usize {
        self.changed.assert_valid() + self.gone.assert_valid()
    }
}

/// Waiting for another value than the one seen.
pub struct Change<'a, T> {
    pub(super) shared: &'a Shared<T>,
    pub(super) seen: &'a mut u64,
    /// What was seen before, for an outcome that nobody wants.
    pub(super) before: u64,
}

impl<T> Look for Change<'_, T> {
    type Output = Result<(), RecvError>;

    fn wish(&self) -> (&'static str, Thing) {
        ("changed", self.shared.thing())
    }

    fn bell(&self) -> &Bell {
        &self.shared.changed
    }

    fn is_ready(&self) -> bool {
        self.shared.has_changed(*self.seen) != Ok(false)
    }

    fn look(&mut self, _by: &mut By) -> Option<Self::Output> {
        match self.shared.has_changed(*self.seen) {
            Ok(false) => None,
            Ok(true) => {
                self.before = std::mem::replace(self.seen, self.shared.version());
                Some(Ok(()))
            }
            Err(closed) => Some(Err(closed)),
        }
    }

    fn restore(&mut self, changed: Self::Output) {
        if changed.is_ok() {
            *self.seen = self.before;
        }
    }
}

/// Waiting for a value of which something is true.
pub struct Wanted<'a, T, F> {
    pub(super) shared: &'a Shared<T>,
    pub(super) seen: &'a mut u64,
    /// What it had seen before it found the value.
    pub(super) before: u64,
    /// The version of which it was found not to be true.
    pub(super) refused: Option<u64>,
    pub(super) is_wanted: F,
}

impl<'a, T, F: FnMut(&T) -> bool> Look for Wanted<'a, T, F> {
    /// The value, and whether it was not seen before.
    type Output = Result<(Read<'a, T>, bool), RecvError>;

    fn wish(&self) -> (&'static str, Thing) {
        ("wait_for", self.shared.thing())
    }

    fn bell(&self) -> &Bell {
        &self.shared.changed
    }

    fn is_ready(&self) -> bool {
        self.refused.is_none_or(|refused| self.shared.has_changed(refused) != Ok(false))
    }

    fn look(&mut self, _by: &mut By) -> Option<Self::Output> {
        if !self.is_ready() {
            return None;
        }
        // Before: what is sent up to then is looked at.
        let closed = self.shared.is_closed();
        let (value, version) = self.shared.read();
        if self.refused != Some(version) && (self.is_wanted)(&value) {
            self.before = std::mem::replace(self.seen, version);
            return Some(Ok((value, self.before != version)));
        }
        drop(value);
        self.refused = Some(version);
        closed.then_some(Err(RecvError))
    }

    fn restore(&mut self, found: Self::Output) {
        if found.is_ok() {
            *self.seen = self.before;
            self.refused = None;
        }
    }
}

gone!();
