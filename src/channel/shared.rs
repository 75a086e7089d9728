//! What the handles of a channel share.
//!
//! ```text
//!   handles │ watchers │ limit, weak │ turns? │ bound │ extras? │ behind ║ word, line │ hint │ slot slot …, or blocks and room
//! ```
//!
//! One allocation: 88 bytes, and the slots of a [ring](super::ring). What a channel does is told there, and for those that are too
//! large for a ring in [`linked`](super::linked). Here: how it is made and freed, what a dropped receive does, and which of the two
//! it is. How it closes: [`close`](super::close). What becomes of values that nobody gets: [`undelivered`](super::undelivered).
//!
//! What is before ║ changes with handles, permits, and those who wait for the close; what is behind it changes with each value.
//! There are 64 bytes before it, and except for a rendezvous a channel begins with a [cache line](super::lines), if that has 64
//! bytes. So the word of a ring and its first slots share a line: with capacity 1 and values of one word, only this line goes from
//! core to core. With blocks, what senders change is in that line, and what receivers change (except where they leave a block) is
//! in the next one.
//!
//! # Lifetime
//!
//! Both counts of handles stand in one word. The last handle of a side closes the channel, and only then takes its own count out:
//! so whoever finds that it was the last of both sides frees it. The last handle of all changes no count. Where there are weak
//! handles these may do so: see [`weak`](super::weak).

use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, offset_of};
use std::ops::Deref;
use std::ptr::NonNull;

use super::bell::Bell;
use super::blocks::Blocks;
use super::limit::Turns;
use super::lines::{self, CACHE_LINE};
use super::linked::Linked;
use super::queue::SEND;
use super::ring::{HELD, Ring, Slot};
use super::room::{self, Room};
use super::undelivered::Extras;
use crate::prim::{self, AtomicU32, AtomicU64, Life, OnceBox, Ordering};
use crate::task::error::call;
use crate::task::finally;
use crate::task::thread::{self, Prospects};
use crate::task::trace::Sign;
use crate::task::watch::Thing;
use crate::wait::{
    Attempt, By, Claim, Kept, Line, Meeting, OWN, Parcel, Primitive, SENDERS, STAMP_MASK, State, TWO, Tray,
    Waiter, Word,
};

/// No value enters any more.
pub(super) const CLOSED: u64 = OWN[0];
/// Something was given back by a receive that was dropped: receivers take that first, and none waits.
pub(super) const RETURNED: u64 = OWN[1];

#[repr(C)]
pub(super) struct Shared<T> {
    pub(super) handles: AtomicU64,
    /// Those who wait for the channel to close.
    pub(super) watchers: Bell,
    /// Of a ring: the capacity, less the permits that are out.
    pub(super) limit: AtomicU32,
    /// The weak handles, and one for all others together.
    pub(super) weak: AtomicU32,
    /// What reservations need, from the first one on.
    pub(super) turns: OnceBox<Turns>,
    pub(super) bound: Bound,
    /// What only some channels have.
    pub(super) extras: Option<Box<Extras<T>>>,
    /// What is behind it, in the same allocation: the first slot, or a `Linked<T>` if `bound` says so.
    behind: NonNull<Slot<T>>,
    /// Where pointers are short.
    _up_to_the_line: [u8; UP_TO_THE_LINE],
    pub(super) line: Line,
    /// The word after the last exchange that was noted here. The next exchange expects that: a load of a word that was just
    /// exchanged is slow.
    pub(super) hint: AtomicU64,
    /// Only subscribers of `tracing` look at it.
    sign: Sign,
    pub(super) life: Life,
}

const UP_TO_THE_LINE: usize = {
    let counts = size_of::<AtomicU64>() + 2 * size_of::<AtomicU32>();
    let before = counts + size_of::<Bell>() + size_of::<Bound>() + 3 * size_of::<usize>();
    CACHE_LINE.saturating_sub(before)
};

/// (With `tracing` the sign is in between.)
const _: () = assert!(
    prim::MODEL
        || offset_of!(Shared<u64>, line) == CACHE_LINE
            && size_of::<Blocks<u64>>() == offset_of!(Blocks<u64>, front) + CACHE_LINE
            && (cfg!(feature = "tracing")
                || size_of::<Shared<u64>>() + offset_of!(Blocks<u64>, front) == 2 * CACHE_LINE)
);

/// The size of a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// The capacity; 0 if it is no ring.
    pub(super) capacity: u16,
    /// The bytes of the allocation that are before it.
    lead: u16,
    /// The slots, less one, and perhaps [`OVERFLOWS`]; or [`LINKED`].
    pub(super) mask: u32,
}

/// In the place of the mask, of a channel that is no ring. What is less is a mask.
const LINKED: u32 = u32::MAX;
/// Of a ring whose senders never wait. No position has this bit, and in a word there is no room for it, so that a mask
/// with it gives the same slots and the same versions; and one look tells rings where a send may wait from all others.
pub(super) const OVERFLOWS: u32 = 1 << 31;

/// One side of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
}

impl End {
    pub(super) const fn one(self) -> u64 {
        match self {
            End::Sender => 1,
            End::Receiver => 1 << 32,
        }
    }

    /// Count and flags.
    pub(super) const fn all(self) -> u64 {
        self.one() * 0xffff_ffff
    }

    pub(super) const fn counted(self) -> u64 {
        self.one() * COUNT
    }

    /// The flag of a side that a weak handle was made of.
    pub(super) const fn downgraded(self) -> u64 {
        self.one() << 30
    }

    /// The flag of a side whose last handle is being dropped, if it was downgraded.
    pub(super) const fn gone(self) -> u64 {
        self.one() << 31
    }

    /// The side as waiters know it.
    pub(super) const fn side(self) -> u64 {
        match self {
            End::Sender => SENDERS,
            End::Receiver => 0,
        }
    }
}

/// The handles of a side, beside two flags.
pub(super) const COUNT: u64 = (1 << 30) - 1;

/// A pointer to a channel. Whoever makes or copies one keeps a handle, or a share of the weak count, for as long as it is used.
/// Invariant in `T`: a value goes in at one end and comes out at the other.
pub(super) struct SharedRef<T>(NonNull<Shared<T>>, PhantomData<fn(T) -> T>);

// SAFETY: it gives access to values by value only, and to the channel, which is made for sharing.
unsafe impl<T: Send> Send for SharedRef<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedRef<T> {}
crate::task::unwinds! { [T] SharedRef<T> }

impl<T> SharedRef<T> {
    /// # Safety
    /// What keeps the channel for the caller does so for as long as this is used.
    pub(super) unsafe fn of(shared: &Shared<T>) -> Self {
        SharedRef(NonNull::from(shared), PhantomData)
    }
}

impl<T> Clone for SharedRef<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedRef<T> {}

impl<T> Deref for SharedRef<T> {
    type Target = Shared<T>;

    #[inline(always)]
    fn deref(&self) -> &Shared<T> {
        // SAFETY: see the type.
        unsafe { self.0.as_ref() }
    }
}

/// What one look at the word came to.
pub(super) enum Step<R> {
    Ready(R),
    Wait,
    /// A slot is in the hands of somebody who is not through with it.
    Busy,
    /// The word has changed.
    Lost,
    /// Something was brought up that was behind, or turned out to be nothing: nobody else is in the way.
    Moved,
}

/// What became of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is in the channel.
    Kept,
    HandedOver,
    /// It is where it was.
    Closed,
}

/// For a ring the version is its head; otherwise what the rest of the word says while somebody waits.
impl<T> Primitive for Shared<T> {
    fn has_few(&self) -> bool {
        !self.is_linked()
    }

    #[inline(always)]
    fn line(&self) -> &Line {
        &self.line
    }

    #[inline(always)]
    fn changed(&self, to: Word) {
        // ORDERING: Release: who expects this word has seen what led to it.
        self.hint.store(to.0, Ordering::Release);
    }

    #[inline(always)]
    fn bump(&self, word: Word) -> Word {
        match self.linked() {
            None => Ring(self).bump(word),
            Some(_) if word.is_free() => word,
            Some(linked) => word.with_rest(linked.next_version(word.rest())),
        }
    }

    #[inline(always)]
    fn stamp(&self, word: Word) -> u32 {
        match self.linked() {
            None => Ring(self).stamp(word),
            Some(_) => word.rest() as u32 & STAMP_MASK,
        }
    }

    #[inline(always)]
    fn arrive(&self, word: Word) -> Word {
        match self.linked() {
            None => word,
            Some(linked) => word.with_rest(linked.version()),
        }
    }

    #[inline(always)]
    fn empty(&self, word: Word) -> Word {
        match self.linked() {
            None => word,
            Some(linked) => {
                linked.end_stay(word.rest());
                word.with_rest(linked.rest())
            }
        }
    }

    #[inline(always)]
    fn is_stale(&self, word: Word) -> bool {
        self.linked().is_some_and(|linked| linked.is_over(word.rest()))
    }

    #[inline(always)]
    fn half(&self) -> u64 {
        Ring(self).half()
    }

    fn renewed(&self, word: Word) -> Word {
        self.linked().map_or(word, |linked| word.with_rest(linked.renewed(word.rest())))
    }

    fn is_to_wait(&self, word: Word) -> bool {
        !word.has(CLOSED)
    }

    fn says_given(&self, is_given: bool) {
        if let Some(linked) = self.linked() {
            linked.set_given(is_given && !bug!("head_does_not_say"));
        }
    }
}

impl<T> Shared<T> {
    /// For those who look at who waits.
    #[cold]
    #[inline(never)]
    pub(super) fn thing(&self) -> Thing {
        let mut thing = Thing::signed("channel", self, &self.sign);
        thing.object.name = self.name().map(Box::from);
        thing
    }

    /// Its layout with so many slots behind, or the linked part; where these lie; whether it begins with a cache line.
    fn layout(slots: Option<usize>) -> (Layout, usize, bool) {
        let behind = match slots {
            Some(slots) => Layout::array::<Slot<T>>(slots).expect("a ring is small"),
            None => Layout::new::<Linked<T>>(),
        };
        let (layout, at) = Layout::new::<Self>().extend(behind).expect("both are small");
        (layout, at, slots != Some(0))
    }

    /// A new channel with one handle on each side. `None`: no bound. `ring`: the largest capacity of a ring.
    #[cfg_attr(feature = "tracing", track_caller)]
    pub(super) fn create(
        capacity: Option<usize>,
        ring: usize,
        extras: Option<Box<Extras<T>>>,
    ) -> SharedRef<T> {
        let slots = capacity.and_then(|capacity| Slot::<T>::ring(capacity, ring));
        let (places, mask) = match (capacity, slots) {
            (Some(capacity), Some(slots)) => {
                let overflows =
                    if extras.as_ref().is_some_and(|extras| extras.overflows()) { OVERFLOWS } else { 0 };
                (capacity as u16, (slots as u32).saturating_sub(1) | overflows)
            }
            _ => (0, LINKED),
        };
        let (layout, at, lined) = Self::layout(slots);
        let (allocation, lead) = lines::allocate(layout, lined);
        let shared = allocation.cast::<Self>();
        // SAFETY: freshly allocated, and large enough for what is behind.
        unsafe {
            let behind = shared.byte_add(at).cast::<Slot<T>>();
            if slots.is_none() {
                behind.cast::<Linked<T>>().write(Linked::new(capacity));
            }
            shared.write(Shared {
                handles: AtomicU64::new(End::Sender.one() + End::Receiver.one()),
                line: Line::new(0),
                hint: AtomicU64::new(0),
                watchers: Bell::new(),
                bound: Bound { capacity: places, lead, mask },
                limit: AtomicU32::new(places.into()),
                weak: AtomicU32::new(1),
                turns: OnceBox::new(),
                extras,
                behind,
                _up_to_the_line: [0; UP_TO_THE_LINE],
                sign: Sign::new(),
                life: Life::new(),
            });
            Slot::create(behind, slots.unwrap_or(0));
        }
        SharedRef(shared, PhantomData)
    }

    /// Whether it is no ring.
    #[inline(always)]
    pub(super) fn is_linked(&self) -> bool {
        self.bound.mask == LINKED
    }

    /// What it has if it is no ring.
    #[inline(always)]
    pub(super) fn linked(&self) -> Option<&Linked<T>> {
        // SAFETY: `bound` says what is there; it lives as long as the channel.
        self.is_linked().then(|| unsafe { self.behind.cast().as_ref() })
    }

    pub(super) fn is_rendezvous(&self) -> bool {
        self.bound.capacity == 0 && !self.is_linked()
    }

    pub(super) fn room(&self) -> Option<&Room> {
        self.linked()?.room.as_ref()
    }

    /// The slot of a position.
    #[inline(always)]
    pub(super) fn slot(&self, position: u32) -> &Slot<T> {
        debug_assert!(self.bound.capacity > 0);
        // SAFETY: the mask keeps it within the ring, which lives as long as the channel.
        unsafe { self.behind.add((position & self.bound.mask) as usize).as_ref() }
    }

    /// The slots from a position on, by their distance; for many of them.
    #[inline(always)]
    pub(super) fn slots_from<'a>(&'a self, position: u32) -> impl Fn(u32) -> &'a Slot<T> + 'a {
        let (slots, mask) = (self.behind, self.bound.mask);
        // SAFETY: as in `slot`.
        move |at| unsafe { slots.add((position.wrapping_add(at) & mask) as usize).as_ref() }
    }

    /// # Safety
    /// Nobody has the channel any more.
    #[cold]
    pub(super) unsafe fn free(shared: SharedRef<T>) {
        // SAFETY: the caller's promise.
        unsafe {
            shared.life.end();
            let (extras, lead) = ((*shared.0.as_ptr()).extras.take(), shared.bound.lead);
            let slots = match shared.bound.capacity {
                _ if shared.is_linked() => {
                    shared.behind.cast::<Linked<T>>().drop_in_place();
                    None
                }
                0 => Some(0),
                _ => Some((shared.bound.mask & !OVERFLOWS) as usize + 1),
            };
            for index in 0..slots.unwrap_or(0) {
                shared.behind.add(index).drop_in_place();
            }
            shared.0.drop_in_place();
            let (layout, _, lined) = Self::layout(slots);
            lines::free(shared.0.cast(), layout, lined, lead);
            // A hook is foreign code, and so is its drop.
            call(|| drop(extras));
        }
    }

    pub(super) fn count(&self, end: End) -> usize {
        let handles = self.handles.load(Ordering::Relaxed);
        if handles & end.gone() != 0 { 0 } else { ((handles & end.counted()) / end.one()) as usize }
    }

    pub(super) fn add_handle(&self, end: End) {
        // ORDERING: Relaxed; the caller has a handle, so the count is above zero.
        let before = self.handles.fetch_add(end.one(), Ordering::Relaxed);
        if (before & end.counted()) / end.one() > COUNT / 2 {
            // Only forgotten handles can add up to this; an overflow would free the channel under them.
            std::process::abort();
        }
    }

    /// # Safety
    /// Consumes a handle of this end.
    #[inline]
    pub(super) unsafe fn drop_handle(shared: SharedRef<T>, end: End) {
        // ORDERING: Acquire: the last handle closes after all that was done through the others.
        let mut handles = shared.handles.load(Ordering::Acquire);
        loop {
            let is_last = handles & end.counted() == end.one();
            let trusts = bug!("weak_trusts_its_count") && is_last && shared.weak.load(Ordering::Acquire) == 1;
            if handles & end.all() == end.one() || trusts {
                // SAFETY: the last one, and there is no weak one of this side.
                return unsafe { Self::drop_last(shared, end) };
            }
            let mark = if bug!("weak_last_is_not_marked") { 0 } else { end.gone() };
            let less = if is_last { handles | mark } else { handles - end.one() };
            match shared.handles.compare_exchange(handles, less, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: the last one, and no weak one is upgraded any more.
                Ok(_) if is_last => return unsafe { Self::drop_last(shared, end) },
                Ok(_) => return,
                Err(now) => handles = now,
            }
        }
    }

    /// # Safety
    /// Consumes the last handle of this end.
    unsafe fn drop_last(shared: SharedRef<T>, end: End) {
        // Frees the channel also when the drop of a value, or a waker, panics.
        let _release = finally(move || {
            // ORDERING: AcqRel: whoever frees it comes after all that the other side has done.
            let one = end.one();
            if shared.handles.load(Ordering::Acquire) == one {
                // SAFETY: both sides are gone, and neither was downgraded.
                unsafe { Shared::free(shared) };
            } else {
                let both = End::Sender.counted() | End::Receiver.counted();
                if shared.handles.fetch_sub(one, Ordering::AcqRel) & both == one {
                    // SAFETY: both sides are gone.
                    unsafe { Shared::drop_share(shared) };
                }
            }
        });
        match end {
            End::Sender => shared.close(),
            End::Receiver => shared.close_now(),
        };
    }

    /// Sends, if that is possible now. `Ready`: the tray is full; or the channel is closed, and the value where it was.
    #[inline(never)]
    pub(super) fn try_send(
        &self,
        value: &mut MaybeUninit<T>,
        tray: &mut Tray<()>,
        by: &mut By,
    ) -> Attempt<()> {
        let attempt = self.attempts(
            |word, by| match self.linked() {
                None => self.send_step(word, value, by),
                Some(linked) => self.send_linked(linked, word, value, by),
            },
            by,
        );
        let attempt = match attempt {
            Attempt::Wait | Attempt::Again if self.extras.is_some() => self.send_over(attempt, value, by),
            attempt => attempt,
        };
        attempt.map(|sent| match sent {
            // (Foreign code may run there; after a forced send that has been seen to.)
            Sent::Closed => self.finish_close(),
            Sent::Kept | Sent::HandedOver => tray.put(()),
        })
    }

    /// Receives, if that is possible now. `Ready`: the tray is full, or the channel closed.
    #[inline(never)]
    pub(super) fn try_recv(&self, tray: &mut Tray<T>, by: &mut By) -> Attempt<()> {
        let attempt = self.attempts(
            |word, by| {
                if word.has(RETURNED) {
                    return self.recv_returned(tray);
                }
                match self.linked() {
                    None => self.recv_step(word, tray, by),
                    Some(linked) => self.recv_linked(linked, word, tray, by),
                }
            },
            by,
        );
        if matches!(attempt, Attempt::Ready(())) && !tray.is_full() {
            self.finish_close();
        }
        attempt
    }

    /// Steps until one is decisive.
    #[inline(always)]
    fn attempts<R>(&self, mut step: impl FnMut(Word, &mut By) -> Step<R>, by: &mut By) -> Attempt<R> {
        loop {
            match step(self.line.load(), by) {
                Step::Ready(output) => return Attempt::Ready(output),
                Step::Wait => return Attempt::Wait,
                Step::Busy => return Attempt::Again,
                Step::Moved => {}
                // A select's own node: it has to see to that first.
                Step::Lost if by.has_own() => return Attempt::Wait,
                Step::Lost => match self.linked() {
                    None => thread::back_off(),
                    Some(_) => thread::give_way(|| self.prospects(End::Sender).steps()),
                },
            }
        }
    }

    /// Takes what a receive that was dropped has given back.
    #[cold]
    fn recv_returned(&self, tray: &mut Tray<T>) -> Step<()> {
        let node = match self.take_returned(RETURNED) {
            Ok(node) => node,
            Err(true) => return Step::Busy,
            Err(false) => return Step::Lost,
        };
        let mut step = Step::Lost;
        if node.state() == State::DONE {
            // SAFETY: a receive's node that is DONE holds a value; it is the caller's now.
            unsafe { node.take() }.serve(tray);
            tray.note(node.stamp());
            step = Step::Ready(());
        }
        Waiter::of(node).free();
        step
    }

    /// Gives a value back that was taken, to be received in its old place.
    #[cold]
    pub(super) fn restore(&self, tray: &mut Tray<T>) {
        if self.count(End::Receiver) == 0 {
            return self.dispose(tray);
        }
        self.note_taken(tray);
        let stamp = tray.take_stamp().expect("noted just now, or before");
        let Some(parcel) = tray.take().map(Parcel::new) else { return };
        let node = Waiter::holding(parcel, stamp);
        self.give_back(node.as_ref(), RETURNED);
    }

    /// Notes the place, in the order of hand-overs, of what was taken just now, unless that is noted: behind all hand-overs so far,
    /// before all that come. (It is behind those, too, that came since it was taken.)
    pub(super) fn note_taken(&self, tray: &mut Tray<T>) {
        if tray.is_noted() {
            return;
        }
        let next = match self.linked() {
            None => Ring(self).stamp(self.line.load()),
            Some(linked) => linked.skip_stay() as u32,
        };
        tray.note(next.wrapping_sub(1) & STAMP_MASK);
    }

    /// A receive was dropped in a peer's hands.
    #[cold]
    pub(super) fn abandon_recv(&self, node: Waiter) -> bool {
        if node.as_ref().state() == State::LOOK {
            return true;
        }
        self.give_back(node.as_ref(), RETURNED);
        false
    }

    /// The word, if one look at it says that there is nothing for this side, of a ring.
    #[inline(always)]
    pub(super) fn idle(&self, end: End) -> Option<Word> {
        let word = self.line.load();
        self.is_idle_at(end, word).then_some(word)
    }

    #[inline(always)]
    fn is_idle_at(&self, end: End, word: Word) -> bool {
        self.bound.mask < OVERFLOWS && self.is_idle_ring_at(end, word)
    }

    /// The same of a ring whose senders wait where it is full.
    #[inline(always)]
    fn is_idle_ring_at(&self, end: End, word: Word) -> bool {
        match end {
            End::Sender => {
                let is_full = || word.is_free() && self.ring_len(word) == self.limit();
                !word.has(CLOSED | TWO | HELD) && (word.has(SENDERS) || is_full())
            }
            End::Receiver => !word.has(CLOSED | RETURNED | TWO | SENDERS) && self.ring_len(word) == 0,
        }
    }

    /// Hands a value to a waiting receiver, if that is all there is to do: as `send_step`.
    #[inline(always)]
    pub(super) fn meet_receiver(&self, value: &MaybeUninit<T>) -> Meeting {
        if self.bound.mask >= OVERFLOWS {
            return Meeting::Unclear(Kept::default());
        }
        let word = self.line.load();
        // (Apart from the rest: asked together that takes more instructions.)
        if word.is_free() {
            return self.nobody_at(End::Sender, word);
        }
        if !Parcel::<T>::FITS || !word.is_one_sided(0, CLOSED | HELD) {
            return self.nobody_at(End::Sender, word);
        }
        match self.claim_first(word, 0) {
            Ok(claim) => {
                // SAFETY: a receive of this channel; a send has a value until it is done.
                unsafe { claim.put(Parcel::pack(value)) };
                Meeting::Peer(claim.done())
            }
            Err(kept) => Meeting::Unclear(kept),
        }
    }

    /// Takes a waiting sender's value, or the first value, to let the sender's in, if that is all there is to do: as `recv_step`.
    #[inline(always)]
    pub(super) fn meet_sender(&self, tray: &mut Tray<T>) -> Meeting {
        if self.bound.mask >= OVERFLOWS {
            return Meeting::Unclear(Kept::default());
        }
        let word = self.line.load();
        // (As above.)
        if word.is_free() {
            return self.nobody_at(End::Receiver, word);
        }
        let returned = if bug!("meets_past_returned") { 0 } else { RETURNED };
        if !word.is_one_sided(SENDERS, CLOSED | returned | HELD) {
            return self.nobody_at(End::Receiver, word);
        }
        let len = self.ring_len(word);
        if len > 0 {
            let is_plain = !word.first_is_branch();
            return match is_plain.then(|| self.refill(word, len, tray)) {
                Some(Ok(waker)) => Meeting::Peer(waker),
                _ => Meeting::Unclear(Kept::default()),
            };
        }
        match self.claim_first(word, SENDERS) {
            Ok(claim) => {
                // SAFETY: a send of this channel.
                unsafe { claim.take() }.serve(tray);
                Meeting::Peer(claim.done())
            }
            Err(kept) => Meeting::Unclear(kept),
        }
    }

    /// What a look that has found nobody to meet says of such a ring.
    #[inline(always)]
    fn nobody_at(&self, end: End, word: Word) -> Meeting {
        if self.is_idle_ring_at(end, word) {
            Meeting::Nobody(word)
        } else {
            Meeting::Unclear(Kept::default())
        }
    }

    /// Pops the first waiter of a ring, which is on `side`, and claims it, for a plain operation.
    #[inline(always)]
    fn claim_first(&self, word: Word, side: u64) -> Result<Claim, Kept> {
        let ring = Ring(self);
        let popped = ring.pop(word, |word| ring.bump(word)).ok_or_else(Kept::default)?;
        popped.claim_plainly(side)
    }

    /// Enters the line of its side, where this word of a ring said that one has to wait.
    #[inline(always)]
    pub(super) fn enter(&self, end: End, word: Word, node: &Waiter) -> bool {
        let word = if bug!("enters_by_another_look") { self.line.load() } else { word };
        debug_assert!(!self.is_linked(), "only a ring's look says that there is nobody");
        Ring(self).line_up(word, node, end.side())
    }

    /// Enters the line of its side, if one has to wait.
    #[inline]
    pub(super) fn register(&self, end: End, node: &Waiter, pair: bool) -> bool {
        if !prim::MODEL {
            // Mostly it is the first one; as the slow way does first.
            let word = self.line.load();
            let enters = !pair && word.is_free() && self.is_idle_at(end, word);
            if enters && self.line_up(word, node, end.side()) {
                return true;
            }
        }
        self.register_slowly(end, node, pair)
    }

    #[inline(never)]
    fn register_slowly(&self, end: End, node: &Waiter, pair: bool) -> bool {
        debug_assert!(!pair || self.is_rendezvous(), "elsewhere one side is ready");
        let side = end.side();
        loop {
            if end == End::Sender && self.bound.mask >= OVERFLOWS {
                let linked = self.linked().filter(|_| !self.overflows());
                return linked.is_some_and(|linked| self.wait_for_places(linked, node, SEND));
            }
            let word = self.line.load();
            if end == End::Sender && word.has(HELD) {
                return self.register_in_turn(node, SEND);
            }
            if word.has(CLOSED) || (end == End::Receiver || pair) && word.has(RETURNED) {
                return false;
            }
            let waits = if !word.is_free() {
                !pair && word.side() == side && !word.has(TWO)
            } else if end == End::Sender {
                self.ring_len(word) >= self.limit()
            } else {
                self.held(word) == 0
            };
            if !waits {
                return false;
            }
            if self.line_up(word, node, side | if pair { TWO } else { 0 }) {
                return true;
            }
            thread::back_off();
        }
    }

    /// What keeps those of `end` out of the line: the number of the node that stands on the other side, or on both, if that is a
    /// select's; otherwise 0. `None`: nothing.
    pub(super) fn opposite(&self, end: End) -> Option<usize> {
        let word = self.line.load();
        if word.has(CLOSED) || end == End::Sender && self.overflows() {
            return Some(0);
        }
        if end == End::Receiver && word.has(RETURNED) {
            return self.is_anything_returned(RETURNED).then_some(0);
        }
        let is_in_the_way = !word.is_free() && (word.side() != end.side() || word.has(TWO));
        // (A receiver in the word, and no room: all places are reserved. Otherwise one side of a buffer is ready.)
        let node = if is_in_the_way && word.first_is_branch() { word.first() } else { 0 };
        (is_in_the_way || !self.is_rendezvous()).then_some(node)
    }

    /// Takes the node of an operation out of its line. False: a peer has it.
    #[inline(always)]
    pub(super) fn leave(&self, end: End, node: &Waiter) -> bool {
        if self.stands_in_queue(end, node) { self.leave_queue(node) } else { Primitive::leave(self, node) }
    }

    pub(super) fn touch(&self, end: End, node: &Waiter) -> bool {
        if self.stands_in_queue(end, node) {
            self.own_queue().touch(node)
        } else {
            Primitive::touch(self, node)
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len_with(Line::count_returned)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len_with(|line| line.is_any_returned().into()) == 0
    }

    /// How many values there are, with those that were given back as `returned` counts them; 0 only if there was nothing at some
    /// moment.
    fn len_with(&self, returned: impl Fn(&Line) -> usize) -> usize {
        // The head before the word: it only grows. (By that alone it could be more than there ever was.)
        let linked = self.linked().map(|linked| (linked, linked.load_head()));
        loop {
            let word = self.line.load();
            let held = match linked {
                None => self.ring_len(word) as usize,
                Some((linked, head)) => linked.len(word).max(linked.len_from(head, word).min(1)),
            };
            let len = held + if word.has(RETURNED) { returned(&self.line) } else { 0 };
            if len > 0 || !word.has(RETURNED) || self.line.load().0 == word.0 {
                return len;
            }
        }
    }

    /// The values that take up room: not those that were given back.
    fn held(&self, word: Word) -> usize {
        match self.linked() {
            None => self.ring_len(word) as usize,
            Some(linked) => linked.len(word),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.held(self.line.load()).saturating_add(self.reserved()) >= self.most()
    }

    /// How many values fit.
    fn most(&self) -> usize {
        self.capacity().map_or(usize::MAX, |capacity| room::most(capacity) as usize)
    }

    /// How many sends may happen soon, or receives. A side had better begin with half of it where the other one is at work in its
    /// own word meanwhile.
    #[inline]
    pub(super) fn prospects(&self, end: End) -> Prospects {
        let most = self.most();
        let word = self.line.load();
        let (enough, progress) = match self.linked() {
            None => (most, self.head(word).wrapping_mul(2).wrapping_add(self.ring_len(word))),
            Some(linked) => (most / 2, linked.moves(word)),
        };
        let supply = match end {
            End::Sender => most.saturating_sub(self.len()),
            End::Receiver => self.len().min(most),
        };
        Prospects { most, supply, enough, progress }
    }

    /// What was asked for; it may be more than [`most`](Self::most).
    pub(super) fn capacity(&self) -> Option<usize> {
        match self.linked() {
            None => Some(self.bound.capacity as usize),
            Some(linked) => linked.room.as_ref().map(|room| room.capacity),
        }
    }

    /// The invariants of the lines.
    pub(super) fn assert_valid(&self) {
        let word = self.line.load();
        Primitive::assert_valid(self);
        self.watchers.assert_valid();
        if let Some(linked) = self.linked().filter(|linked| linked.room.is_some()) {
            linked.assert_valid(word);
        } else if let Some(turns) = self.turns() {
            turns.queue.assert_valid();
            assert!(turns.queue.load().is_free() || word.has(HELD) || word.has(CLOSED));
        }
        if !self.is_linked() && !word.is_free() && !word.has(CLOSED) {
            assert!(match word.has(SENDERS) {
                true => self.ring_len(word) == self.limit(),
                false => self.ring_len(word) == 0,
            });
        }
        assert!(!word.serves(0) || !word.has(RETURNED), "a receiver waits beside what was given back");
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use crate::channel::rendezvous;
    use crate::wait::steps_of;

    #[test]
    fn what_was_given_back_is_not_counted_to_find_out_whether_there_is_something() {
        const MANY: usize = 100;
        let (tx, rx) = rendezvous();
        let mut receives = (0..MANY).map(|_| rx.recv()).collect::<Vec<_>>();
        let cx = &mut Context::from_waker(Waker::noop());
        receives.iter_mut().for_each(|receive| assert!(Pin::new(receive).poll(cx).is_pending()));
        (0..MANY).for_each(|value| tx.try_send(value).expect("one waits"));
        drop(receives);
        assert_eq!(steps_of(|| rx.len()), (MANY, MANY as u64), "all were given back");
        for value in 0..MANY {
            assert_eq!(steps_of(|| rx.is_empty()), (false, 1));
            assert_eq!(rx.try_recv(), Ok(value));
        }
        assert!(rx.is_empty());
    }
}
