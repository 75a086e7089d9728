//! What few fibers have beside their header; allocated when first needed.

use std::ptr;
use std::task::Waker;

use crate::prim::{Arc, Mutex, Ordering};
use crate::task::error::call;
use crate::task::group::Group;
use crate::task::header::{Header, Task};
use crate::task::locals::Locals;
use crate::task::state::Wake;
use crate::task::watch::Watch;
use crate::task::{shows, trace};

/// See the module.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) name: Option<Box<str>>,
    /// Who polls the fiber's park, where that isn't the fiber's own waker (see `fiber/park.rs`).
    pub(crate) parked: Mutex<Option<Waker>>,
    /// How many shields it is under; SHIELDED in the state word changes with it, under the lock (but is
    /// cleared without it as the fiber is seized).
    pub(crate) shields: Mutex<usize>,
    pub(crate) locals: Locals,
    /// The end of the executor does not wait for it.
    pub(crate) daemon: bool,
    /// Whose member it is.
    pub(crate) group: Option<Arc<Group>>,
    /// What is noted of it.
    pub(crate) watch: Option<Box<Watch>>,
}

impl Extras {
    /// For a header, which owns them.
    pub(super) fn into_address(extras: Option<Box<Extras>>) -> *mut () {
        extras.map_or(ptr::null_mut(), Box::into_raw).cast()
    }
}

impl Header {
    #[inline]
    pub(crate) fn extras(&self) -> Option<&Extras> {
        // ORDERING: Acquire pairs with the exchange in `extras_or_new`.
        let extras = self.extras.load(Ordering::Acquire).cast::<Extras>();
        // SAFETY: null, or from `into_address` and this header's until it is freed.
        unsafe { extras.as_ref() }
    }

    pub(crate) fn extras_or_new(&self) -> &Extras {
        if let Some(extras) = self.extras() {
            return extras;
        }
        let new = Extras::into_address(Some(Box::default()));
        // ORDERING: AcqRel: publishes the new extras, or sees the contents of those that came first.
        let set = self.extras.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        let there = match set {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: `new` was not published.
                drop(unsafe { Box::from_raw(new.cast::<Extras>()) });
                first
            }
        };
        // SAFETY: as in `extras`.
        unsafe { &*there.cast::<Extras>() }
    }

    /// # Safety
    ///
    /// The header is being dropped, and this is called once.
    #[inline]
    pub(super) unsafe fn take_extras(&mut self) -> Option<Box<Extras>> {
        // ORDERING: Relaxed: the last count is gone, so this thread sees everything (`State::release`).
        let extras = self.extras.load(Ordering::Relaxed).cast::<Extras>();
        // SAFETY: from `Box::into_raw`; taken here only.
        (!extras.is_null()).then(|| unsafe { Box::from_raw(extras) })
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.extras()?.name.as_deref()
    }

    /// Whether the end of its executor waits for it.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.extras().is_some_and(|extras| extras.daemon)
    }

    /// The group that it is a member of.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.extras()?.group.as_deref()
    }

    /// What is noted of it, if anything is.
    #[inline]
    pub(crate) fn watch(&self) -> Option<&Watch> {
        self.extras()?.watch.as_deref()
    }

    /// Keeps `waker` for the next unpark; gives back the one kept before.
    #[inline]
    pub(crate) fn set_parked(&self, waker: Option<Waker>) -> Option<Waker> {
        match waker {
            None => self.extras()?.parked.lock().take(),
            Some(waker) => self.extras_or_new().parked.lock().replace(waker),
        }
    }
}

shows! {
    [] Header, "Fiber",
    it => id: it.id.get(), name: it.name(), spawned_at: format_args!("{}", it.spawned_at)
}

impl Task {
    /// Gives the fiber its park token and wakes it, and whoever polls its park.
    pub(crate) fn unpark(&self) {
        trace::waker(self, "waker.wake_by_ref");
        let wake = self.state.unpark(self.by());
        self.follow(wake);
        if let Some(waker) = self.set_parked(None) {
            call(|| waker.wake());
        }
    }

    /// Puts it under a shield, in a poll: a cancel waits until [`unshield`](Self::unshield). False: it was cancelled before.
    #[must_use]
    pub(crate) fn shield(&self) -> bool {
        let mut shields = self.extras_or_new().shields.lock();
        let shielded = *shields > 0 || self.state.shield();
        *shields += usize::from(shielded);
        shielded
    }

    /// Takes one shield away.
    pub(crate) fn unshield(&self) {
        self.leave_shields(|shields| shields.saturating_sub(1));
    }

    /// Takes all shields away, of a fiber that has nothing left for them to protect.
    pub(crate) fn unshield_all(&self) {
        self.leave_shields(|_| 0);
    }

    fn leave_shields(&self, left: impl FnOnce(usize) -> usize) {
        let Some(extras) = self.extras() else { return };
        let mut shields = extras.shields.lock();
        let before = *shields;
        *shields = left(before);
        let wake = if before > 0 && *shields == 0 { self.state.unshield(self.by()) } else { Wake::Nothing };
        drop(shields);
        self.follow(wake);
    }
}
