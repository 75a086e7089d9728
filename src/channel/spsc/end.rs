//! How an spsc channel is made, closed and freed.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use super::super::bell::Bell;
use super::super::close::{Told, is_done, shut};
use super::super::lines::{self, Lined};
use super::super::shared::End;
use super::shared::Shared;
use super::store::{Slot, Store};
use super::words::{CLOSED, MOST, Side, TAKEN, distance, further};
use crate::prim::{AtomicPtr, AtomicU32, Ordering};
use crate::task::finally;
use crate::wait::{Primitive, Tray, for_all};

/// A pointer to a channel, kept alive by a handle.
pub(super) type SharedRef<T> = NonNull<Shared<T>>;

impl<T> Shared<T> {
    /// A new channel, of a capacity above 0, with its two handles. `None`: no bound.
    pub(super) fn new(capacity: Option<usize>) -> SharedRef<T> {
        debug_assert!(capacity != Some(0), "a rendezvous has both sides in one word");
        let (store, begin) = Store::new(capacity);
        let (allocation, lead) = lines::allocate(Layout::new::<Self>(), true);
        let shared = allocation.cast::<Self>();
        let new = Shared {
            front: Lined(Side::new(begin)),
            store,
            capacity: capacity.map_or(MOST, |capacity| (capacity as u64).min(MOST)),
            stray: AtomicPtr::new(ptr::null_mut()),
            bound: capacity,
            watchers: Bell::new(),
            handles: AtomicU32::new(2),
            lead,
            back: Lined(Side::new(begin)),
        };
        // SAFETY: freshly allocated.
        unsafe { shared.write(new) };
        shared
    }

    /// # Safety
    /// Consumes the handle of this end.
    pub(super) unsafe fn drop_handle(shared: SharedRef<T>, end: End) {
        // Frees the channel also when the drop of a value, or a waker, panics.
        let _release = finally(move || {
            // ORDERING: AcqRel: whoever frees it comes after all that the other side has done.
            // SAFETY: the count keeps it alive; then nobody has it any more, and the receiver has dropped what was in it.
            unsafe {
                if shared.as_ref().handles.fetch_sub(1, Ordering::AcqRel) == 1 {
                    let this = shared.as_ref();
                    this.store.free(&this.front);
                    let lead = this.lead;
                    ptr::drop_in_place(shared.as_ptr());
                    lines::free(shared.cast(), Layout::new::<Self>(), true, lead);
                }
            }
        });
        // SAFETY: the handle keeps it alive.
        let this = unsafe { shared.as_ref() };
        match end {
            End::Sender => this.close(),
            End::Receiver => this.close_now(),
        };
    }

    /// Whether this call closed the channel.
    pub(super) fn close(&self) -> bool {
        let first = shut(&*self.back);
        self.finish_close();
        first
    }

    /// Takes everybody out of the words, then wakes them. Whoever sees that the channel is closed calls this, so that the
    /// closing is complete for everybody who knows of it.
    #[inline]
    pub(super) fn finish_close(&self) {
        if !self.has_closed() {
            self.finish_close_slowly();
        }
    }

    /// Whether it is closed everywhere, and nobody waits.
    fn has_closed(&self) -> bool {
        is_done(&*self.back) && is_done(&*self.front) && is_done(&self.watchers)
    }

    #[cold]
    #[inline(never)]
    fn finish_close_slowly(&self) {
        shut(&*self.back);
        shut(&*self.front);
        shut(&self.watchers);
        // (Mostly nobody waits.)
        if !self.has_closed() {
            self.tell_all();
        }
    }

    #[inline(never)]
    fn tell_all(&self) {
        let mut told = Told::<T>::new();
        told.tell_all(&*self.back, true);
        told.tell_all(&*self.front, true);
        told.tell_all(&self.watchers, false);
        told.wake(|values| values);
    }

    /// Closes the channel and drops what is in it, also when a waker panics.
    pub(super) fn close_now(&self) -> bool {
        let _discard = finally(|| self.discard());
        self.close()
    }

    /// Drops what is in the channel, which is closed; the rest also when a value's drop panics.
    fn discard(&self) {
        // (First: the receiver, which may be at work, is to get nothing behind what goes.)
        let slots = self.take_all();
        let _values = finally(move || {
            // (Not where they lie: a receiver that will not get one of them may be copying it.)
            Tray::in_passing(|tray| {
                for_all(slots, |slot| {
                    // SAFETY: this one's, and each once.
                    slot.with(|place| unsafe { place.copy_to_nonoverlapping(tray.place(), 1) });
                    tray.clear();
                });
            });
        });
        drop(self.take_stray_value());
    }

    /// The slots with what is in the channel, which is closed, but for a stray value; it is for the first one who asks. The blocks
    /// stay where they are: a receiver may be looking into them.
    fn take_all(&self) -> impl Iterator<Item = &Slot<T>> {
        let take = |side: &Side<T>| side.update(|word| (!word.has(TAKEN)).then(|| word.with(TAKEN)));
        let bounds = take(&self.front).map(|room| {
            let word = take(&self.back).expect("whoever takes the front takes the back");
            (room.rest(), distance(room.rest(), word.rest()))
        });
        let bounds = bounds.filter(|(_, count)| *count > 0);
        let each = bounds.map(|(head, count)| {
            let positions = (0..count).map(move |by| further(head, by));
            // SAFETY: TAKEN: the receiver takes nothing from `head` on, and no value is published from the tail on.
            unsafe { self.store.slots_at(&self.front, further(head, u64::MAX), positions) }
        });
        each.into_iter().flatten()
    }

    pub(super) fn is_closed(&self) -> bool {
        let closed = self.back.load().has(CLOSED);
        if closed && !bug!("spsc_closed_on_its_way") {
            self.finish_close();
        }
        closed
    }

    /// The invariants of the words.
    pub(super) fn assert_valid(&self) {
        Primitive::assert_valid(&*self.back);
        Primitive::assert_valid(&*self.front);
        self.watchers.assert_valid();
        let (room, word) = (self.front.load(), self.back.load());
        if word.has(CLOSED) {
            return;
        }
        let len = distance(room.rest(), word.rest());
        assert!(len <= self.capacity, "more values than there is room for");
        assert!(word.is_free() || len == 0, "a receiver waits beside a value");
        assert!(room.is_free() || len == self.capacity, "a sender waits beside room");
    }
}
