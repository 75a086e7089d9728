//! What the two ends of a oneshot channel share: one allocation, with one word, a place for the receiver's waker and one
//! for the value.
//!
//! ```text
//!   63         32 31       28 27          6 5          0
//!   [  version   ][  state   ][first waiter][  flags   ]      state: RX_GONE RX_CLOSED TX_GONE SENT; flags: PARKED …
//!   [ waker: data, vtable ]
//!   [ operation, of a wait by a node ]
//!   [ value ]
//! ```
//!
//! | state | set by | means |
//! |---|---|---|
//! | `SENT` | send, together with `TX_GONE`; cleared by the receiver, who takes the value | the value is in its place |
//! | `TX_GONE` | send; the drop of a sender | the sender touches nothing here any more |
//! | `RX_CLOSED` | `close`; the drop of a receiver | no value enters any more |
//! | `RX_GONE` | the drop of a receiver, together with `RX_CLOSED` | the receiver touches nothing here any more |
//! | `PARKED` | the receiver; cleared by it, or by the exchange that sets one of the others | the receiver waits, and its waker is in its place |
//!
//! A receiver that is polled as a future parks: it needs no node, and stands in no line. As a branch of a select, and on a
//! plain thread, it waits by a node as all operations do ([`wait`](crate::wait)), and so does a `closed`. As far as its
//! [`Operation`](crate::wait) goes a parked receiver is fresh; whoever begins something else with it takes PARKED off first.
//!
//! # Steps
//!
//! | state | operation | exchange | then |
//! |---|---|---|---|
//! | none of the sender's, not RX_CLOSED | recv parks | PARKED, a new version | |
//! | the same | recv waits by a node | me, or joins behind a `closed` | |
//! | the same | `closed` waits | me, or joins behind the receiver | |
//! | PARKED | recv with another waker; in a select; on a thread | not PARKED | drops the waker, goes on |
//! | not RX_CLOSED | send | SENT, TX_GONE, not PARKED, nobody | whoever waited is done |
//! | RX_CLOSED | send | as the sender's drop | the value comes back |
//! | not RX_GONE | drop of the sender | TX_GONE, not PARKED, nobody | whoever waited is done |
//! | RX_GONE | drop of the sender | – | frees it |
//! | neither TX_GONE nor RX_CLOSED | close | RX_CLOSED, not PARKED, nobody | whoever waited is done |
//! | not TX_GONE | drop of the receiver | RX_CLOSED, RX_GONE, not PARKED, nobody | whoever waited is done; its own waker is dropped |
//! | TX_GONE | drop of the receiver | – | frees it, and drops the value |
//! | SENT | recv | – (a plain store: not SENT) | has the value |
//!
//! The receiver's [`Operation`] lies here as well, so that a receiver is one word: two that are written one by one, and moved as
//! one right after that, stall the processor for as long as sending and receiving take.
//!
//! Each step that sets one of the four bits empties the line: with several in it (a receiver and a `closed` beside it, which takes
//! one that waits on both sides, or a future that was forgotten) all but the last are taken out first, one by one, and the bits are
//! set by the exchange that takes out the last one. So a one-sided change and its waiters are one step.
//!
//! # Whose waker it is
//!
//! Who sets TX_GONE may touch nothing here afterwards. So it reads the waker before its exchange, as two words, and they are a
//! waker, and its own, only if the exchange succeeds from a word that says PARKED:
//!
//! ```text
//!   sender                                   receiver, polled with another waker
//!   word = PARKED, version 7
//!   reads the waker: data of A               not PARKED (version 7); A is its own again
//!                    vtable of B             puts B there; PARKED, version 8
//!   PARKED, version 7 → SENT: fails          drops A
//! ```
//!
//! Each parking has a version of its own, so each word that says PARKED is exchanged away by one of the two only, and while
//! it is there nothing is put into the place. The version has 32 bits: for a stale read to pass, a sender would have to sleep
//! between its load and its exchange for exactly 2^32 parkings, or a multiple of that, which at one in 20 ns is a minute and
//! a half. (The bumps of a `closed` that comes and goes count as well.)
//!
//! # Invariants
//! 1. SENT implies TX_GONE: who sees it has the allocation for itself.
//! 2. Who sets TX_GONE or RX_GONE by an exchange touches nothing here after it, unless the other of the two was set before:
//!    then it frees it. (What it has yet to do with the waiters it does with their nodes.)
//! 3. While somebody waits, or PARKED is set, neither TX_GONE nor RX_CLOSED is set; so whoever waits is told by the exchange
//!    that sets one.
//! 4. A waiter that is DONE finds its outcome in the word, for good: SENT, or one of TX_GONE and RX_CLOSED.
//! 5. The receiver alone writes the waker's place, and only while PARKED is not set. Who takes PARKED off owns the waker that
//!    lay there under that very word.
//! 6. A receiver is parked, or has a node in the line, or neither.
//!
//! # Orderings
//!
//! The exchange that sets SENT releases the value, and the receiver's load acquires it. An exchange that sets one GONE releases
//! what that side has done here, and the other side, which frees it, acquires that. The exchange that parks releases the waker,
//! and the load of who takes PARKED off acquires it. Waiters: see [`wait`](crate::wait).
//!
//! # Progress, cost
//!
//! Lock-free. Locked instructions: send 1, recv of what is there 0, the ends' drops 0 after that; recv that waits 1 more, and 2
//! more with each other waker that it is polled with (the waker's clone, call and drop apart).

use std::cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::task::Waker;

use super::parked::{ParkedWaker, Seen};
use crate::channel::{RecvError, SendError};
use crate::prim::{self, Life, Ordering, UnsafeCell};
use crate::task::error::call;
use crate::task::finally;
use crate::task::watch::Thing;
use crate::wait::{
    Attempt, Branch, By, Foreign, Line, NodeRef, OWN, Operation, Primitive, STAMP_MASK, Tray, Waiter, Word,
    outcome, stands, wake_one,
};

/// The state, in the rest of the word.
pub(super) const SENT: u64 = 1;
pub(super) const TX_GONE: u64 = 1 << 1;
pub(super) const RX_CLOSED: u64 = 1 << 2;
pub(super) const RX_GONE: u64 = 1 << 3;

/// A flag of the word.
const PARKED: u64 = OWN[0];

const STATE_BITS: u32 = 4;
const STATE: u64 = (1 << STATE_BITS) - 1;
const ONE_VERSION: u64 = 1 << STATE_BITS;

/// All that is the same for every `T`.
pub(super) struct Head {
    line: Line,
    /// The receiver's, while the word says PARKED.
    waker: ParkedWaker,
    life: Life,
}

pub(super) struct Shared<T> {
    head: Head,
    /// The receiver's alone, as long as that is not gone.
    operation: cell::UnsafeCell<MaybeUninit<Operation<Recv<T>>>>,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// A pointer to what is shared, for one of the two ends; copied to where that end waits. Invariant in `T`: a value goes in
/// at one end and comes out at the other.
pub(super) struct SharedRef<T>(NonNull<Shared<T>>, PhantomData<fn(T) -> T>);

impl<T> Clone for SharedRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedRef<T> {}

// SAFETY: the two ends pass a `T` from one to the other, and touch it one at a time.
unsafe impl<T: Send> Send for SharedRef<T> {}
// SAFETY: as above; a shared end reads the word only.
unsafe impl<T: Send> Sync for SharedRef<T> {}

impl Primitive for Head {
    #[inline(always)]
    fn line(&self) -> &Line {
        &self.line
    }

    fn bump(&self, word: Word) -> Word {
        word.plus(ONE_VERSION)
    }

    fn stamp(&self, word: Word) -> u32 {
        (word.rest() >> STATE_BITS) as u32 & STAMP_MASK
    }

    fn is_to_wait(&self, word: Word) -> bool {
        // Invariant 3.
        !has(word, TX_GONE | RX_CLOSED)
    }
}

#[inline(always)]
fn has(word: Word, state: u64) -> bool {
    word.rest() & STATE & state != 0
}

/// Whether the receiver is parked.
#[inline(always)]
pub(super) fn is_parked(word: Word) -> bool {
    word.has(PARKED)
}

#[inline(always)]
fn with(word: Word, state: u64) -> Word {
    word.with_rest(word.rest() | state)
}

impl Head {
    #[inline(always)]
    pub(super) fn load(&self) -> Word {
        self.life.touch();
        self.line.load()
    }

    pub(super) fn has(&self, state: u64) -> bool {
        has(self.load(), state)
    }

    /// Sets bits where nobody waits in the line. False: the word has changed.
    #[inline(always)]
    fn set(&self, word: Word, bits: u64) -> bool {
        let to = with(word.without(PARKED), bits).0;
        let order = order!(AcqRel, "oneshot_end_relaxed");
        self.line.word().compare_exchange(word.0, to, order, Ordering::Relaxed).is_ok()
    }

    /// The receiver's waker, if it is parked: for the caller if it takes PARKED off by an exchange of this very word.
    #[inline(always)]
    fn seen(&self, word: Word) -> Option<Seen> {
        word.has(PARKED).then(|| self.waker.see())
    }

    /// Sets bits where nothing else has ended, and wakes the receiver, if that is all there is to do. False: nothing happened.
    ///
    /// # Safety
    /// The caller's end is not gone; after an exchange that sets a GONE bit nothing here is touched. The word was this one.
    #[inline(always)]
    unsafe fn end_quick(&self, word: Word, bits: u64) -> bool {
        if !word.is_free() {
            return false;
        }
        if !word.has(PARKED) || bug!("oneshot_send_forgets_parked") {
            return self.set(word, bits);
        }
        // SAFETY: the caller's promise.
        unsafe { self.end_parked(word, bits) }
    }

    /// The same where the receiver is parked, and nobody else waits.
    ///
    /// # Safety
    /// As for [`end_quick`](Self::end_quick).
    #[inline(never)]
    unsafe fn end_parked(&self, word: Word, bits: u64) -> bool {
        // Before the exchange, after which nothing here may be touched.
        let before = self.waker.see();
        let done = self.set(word, bits);
        if done {
            let seen = if bug!("oneshot_reads_the_waker_late") { self.waker.see() } else { before };
            // SAFETY: invariant 5.
            wake_one(unsafe { seen.own() });
        }
        done
    }

    /// Sets bits in the exchange that empties the line, and who waited is done, and to be woken by `by`; gives the waker of the
    /// receiver, if that was parked. False: one of `unless` is set.
    ///
    /// # Safety
    /// The caller's end is not gone; after an exchange that sets a GONE bit nothing here is touched.
    #[cold]
    #[inline(never)]
    unsafe fn end_slowly(&self, bits: u64, unless: u64, by: &mut By) -> (bool, Option<Waker>) {
        let mut claims = Vec::new();
        let (ended, parked) = loop {
            let word = self.load();
            if has(word, unless) {
                break (false, None);
            }
            let seen = self.seen(word);
            if word.is_free() {
                if self.set(word, bits) {
                    break (true, seen);
                }
            } else {
                let mut is_last = false;
                let popped = self.pop(word, |to| {
                    is_last = to.is_free() || bug!("oneshot_ends_before_the_last");
                    if is_last { with(to.without(PARKED), bits) } else { self.bump(to) }
                });
                if let Some(popped) = popped {
                    // (A select that is at work, or over, looks for itself, or does not want to know.)
                    claims.extend(popped.claim(0, by));
                    if is_last {
                        break (true, seen);
                    }
                    continue;
                }
            }
        };
        for claim in claims {
            by.wakes(claim.done());
        }
        // SAFETY: invariant 5.
        (ended, parked.map(|seen| unsafe { seen.own() }))
    }

    /// The receiver waits for an end of something, which wakes this waker. False: something has ended.
    ///
    /// # Safety
    /// The receiver's; it has no node in the line. Nothing had ended at this word.
    #[inline(never)]
    unsafe fn park(&self, word: Word, waker: &Waker) -> bool {
        if word.has(PARKED) {
            return self.park_again(word, waker);
        }
        // Foreign code, while nothing has changed yet. (Invariant 5: it is not parked.)
        self.waker.put(waker.clone());
        self.cas_parked(word) || self.park_slowly()
    }

    /// The same of one that is parked already.
    #[inline(never)]
    fn park_again(&self, word: Word, waker: &Waker) -> bool {
        if self.seen(word).is_some_and(|seen| seen.is(waker)) {
            return true;
        }
        // Foreign code, as above.
        let waker = waker.clone();
        let _before = Foreign(self.unpark());
        // Invariant 5: it is no more.
        self.waker.put(waker);
        self.park_slowly()
    }

    /// The waker is in its place: parks, unless something has ended.
    #[cold]
    #[inline(never)]
    fn park_slowly(&self) -> bool {
        loop {
            let word = self.load();
            if !self.is_to_wait(word) {
                // SAFETY: nobody was told that it is there.
                drop(unsafe { self.waker.see().own() });
                return false;
            }
            if self.cas_parked(word) {
                return true;
            }
        }
    }

    #[inline(always)]
    fn cas_parked(&self, word: Word) -> bool {
        let parked = word.with(PARKED);
        let to = if bug!("oneshot_park_keeps_version") { parked } else { self.bump(parked) };
        // ORDERING: Release, for the waker; the load of who takes PARKED off acquires it.
        let order = order!(AcqRel, "oneshot_park_relaxed");
        self.line.word().compare_exchange(word.0, to.0, order, Ordering::Relaxed).is_ok()
    }

    /// The receiver waits no more, if it was parked and nothing has ended; gives its waker.
    #[inline]
    fn unpark(&self) -> Option<Waker> {
        loop {
            let word = self.load();
            let seen = self.seen(word)?;
            if self.cas(word, word.without(PARKED)) {
                // SAFETY: invariant 5.
                return Some(unsafe { seen.own() });
            }
        }
    }

    /// Enters the line, if one has to wait.
    fn register(&self, node: &Waiter) -> bool {
        self.life.touch();
        self.line_up_unless(node, 0, |word| !self.is_to_wait(word)).is_some()
    }
}

impl<T> SharedRef<T> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new() -> Self {
        let shared = Shared {
            head: Head { line: Line::new(0), waker: ParkedWaker::new(), life: Life::new() },
            operation: cell::UnsafeCell::new(MaybeUninit::uninit()),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        let this = SharedRef(NonNull::from(Box::leak(Box::new(shared))), PhantomData);
        // SAFETY: nobody else has it yet.
        unsafe { (*this.get().operation.get()).write(Operation::new(Recv(this))) };
        this
    }

    /// # Safety
    /// The caller's end is not gone, or the other one is.
    #[inline(always)]
    unsafe fn get<'a>(self) -> &'a Shared<T> {
        // SAFETY: invariant 2.
        let shared = unsafe { self.0.as_ref() };
        shared.head.life.touch();
        shared
    }

    /// # Safety
    /// As for [`get`](Self::get).
    #[inline(always)]
    pub(super) unsafe fn head<'a>(self) -> &'a Head
    where
        T: 'a,
    {
        // SAFETY: the caller's promise.
        unsafe { &self.get().head }
    }

    /// Sends; the caller's end is gone then. An error: the value comes back.
    ///
    /// # Safety
    /// The sender's, which is not gone.
    #[inline]
    pub(super) unsafe fn send(self, value: T) -> Result<(), SendError<T>> {
        // SAFETY: the sender is there.
        let shared = unsafe { self.get() };
        // SAFETY: without SENT the place is the sender's.
        shared.value.with_mut(|place| unsafe { (*place).write(value) });
        let word = shared.head.load();
        // SAFETY: as above.
        if !has(word, RX_CLOSED) && unsafe { shared.head.end_quick(word, SENT | TX_GONE) } {
            return Ok(());
        }
        // SAFETY: nothing has happened.
        unsafe { self.send_slowly() }
    }

    /// # Safety
    /// As for [`send`](Self::send); the value is in its place.
    #[cold]
    #[inline(never)]
    unsafe fn send_slowly(self) -> Result<(), SendError<T>> {
        // SAFETY: the sender is there.
        let shared = unsafe { self.get() };
        let mut by = By::plain();
        // SAFETY: as above.
        let (sent, parked) = unsafe { shared.head.end_slowly(SENT | TX_GONE, RX_CLOSED, &mut by) };
        if sent {
            by.wakes(parked);
            by.wake();
            return Ok(());
        }
        // SAFETY: the sender is there still, and its value.
        let value = shared.value.with(|place| unsafe { (*place).assume_init_read() });
        // (Foreign, as are the wakers.)
        let mut value = Foreign(Some(value));
        // SAFETY: as above.
        unsafe { self.end(TX_GONE, RX_GONE, by) };
        Err(SendError(value.0.take().expect("it is there until now")))
    }

    /// The sender goes without having sent.
    ///
    /// # Safety
    /// The sender's, which is gone then.
    #[inline]
    pub(super) unsafe fn drop_sender(self) {
        // SAFETY: the sender is there.
        let head = unsafe { self.head() };
        let word = head.load();
        if has(word, RX_GONE) {
            // SAFETY: invariant 2: the receiver has gone before, and nothing was sent.
            unsafe { self.free() };
        // SAFETY: as above.
        } else if !unsafe { head.end_quick(word, TX_GONE) } {
            // SAFETY: as above.
            unsafe { self.end(TX_GONE, RX_GONE, By::plain()) };
        }
    }

    /// One end goes: these bits say so. `unless`: the one that says that the other end has gone before.
    ///
    /// # Safety
    /// The end is there, and is gone then; of a receiver there is no node in the line.
    #[cold]
    #[inline(never)]
    unsafe fn end(self, bits: u64, unless: u64, mut by: By) {
        // SAFETY: the end is there.
        let (ended, parked) = unsafe { self.head().end_slowly(bits, unless, &mut by) };
        // Frees what the other one has left (invariant 2): after all others are told, also when one of their wakers panics.
        // SAFETY: this end is there, and nobody else.
        let _left = (!ended).then(|| finally(|| unsafe { self.free_all(self.head().load()) }));
        // A receiver's own is let go, and not woken.
        let (told, own) = if bits & RX_GONE == 0 { (parked, None) } else { (None, parked) };
        let _own = Foreign(own);
        by.wakes(told);
        // Behind the others, so before them when something panics.
        let mut by = by;
        by.wake();
    }

    /// The receiver closes the channel.
    ///
    /// # Safety
    /// The receiver's, which is not gone.
    pub(super) unsafe fn close(self) {
        let mut by = By::plain();
        // SAFETY: the receiver is there; RX_CLOSED alone lets nobody go.
        let (_, parked) = unsafe { self.head().end_slowly(RX_CLOSED, RX_CLOSED | TX_GONE, &mut by) };
        by.wakes(parked);
        by.wake();
    }

    /// The receiver goes; so does the value, if it was sent and not taken.
    ///
    /// # Safety
    /// The receiver's, which is gone then, and has no node in the line.
    #[inline]
    pub(super) unsafe fn drop_receiver(self) {
        let unless = if bug!("oneshot_receiver_frees_nothing") { SENT } else { TX_GONE };
        // SAFETY: the receiver is there.
        let head = unsafe { self.head() };
        let word = head.load();
        if has(word, unless) {
            // SAFETY: invariant 2.
            unsafe { self.free_all(word) };
        } else if !word.is_free() || word.has(PARKED) || !head.set(word, RX_CLOSED | RX_GONE) {
            // SAFETY: the receiver is there still.
            unsafe { self.end(RX_CLOSED | RX_GONE, unless, By::plain()) };
        }
    }

    /// # Safety
    /// Both ends are gone, and nothing is in the value's place.
    #[inline]
    unsafe fn free(self) {
        // SAFETY: the caller's promise; from `Box::leak`.
        let shared = unsafe { Box::from_raw(self.0.as_ptr()) };
        shared.head.waker.end();
        shared.head.life.end();
        prim::free(shared);
    }

    /// The same with the value, if this word says that it is there.
    ///
    /// # Safety
    /// Both ends are gone, or the receiver is the last one; the word is what it was.
    #[inline]
    unsafe fn free_all(self, word: Word) {
        // SAFETY: the caller's promise.
        unsafe { if has(word, SENT) { self.free_with_value() } else { self.free() } }
    }

    /// Drops the value where it lies.
    ///
    /// # Safety
    /// Both ends are gone, and the value is in its place.
    #[inline(never)]
    unsafe fn free_with_value(self) {
        // SAFETY: the caller's promise; the value was dropped.
        let _free = finally(|| unsafe { self.free() });
        // SAFETY: the caller's promise.
        call(|| unsafe { self.get().value.with_mut(|place| ptr::drop_in_place((*place).as_mut_ptr())) });
    }
}

impl<T> Shared<T> {
    /// What there is to be received under this word; a value is taken. `None`: nothing yet.
    ///
    /// # Safety
    /// For the receiver; the word was this one.
    #[inline(always)]
    unsafe fn look_at(&self, word: Word) -> Option<Result<T, RecvError>> {
        if !has(word, SENT) {
            return has(word, TX_GONE | RX_CLOSED).then_some(Err(RecvError));
        }
        // SAFETY: invariant 1.
        let value = unsafe { self.value.with(|place| (*place).assume_init_read()) };
        // ORDERING: Relaxed, and no exchange: nobody else is left.
        self.head.line.word().store(word.with_rest(word.rest() & !SENT).0, Ordering::Relaxed);
        Some(Ok(value))
    }

    /// Puts back what was taken.
    ///
    /// # Safety
    /// For the receiver, which has taken it.
    unsafe fn put_back(&self, value: T) {
        // SAFETY: as in `look_at`.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        let word = self.head.load();
        // ORDERING: as in `look_at`.
        self.head.line.word().store(with(word, SENT).0, Ordering::Relaxed);
    }
}

/// The receiver's end, of which there is one: its operation, in its place. Dropping it lets go of both.
pub(super) struct InPlace<T>(pub(super) SharedRef<T>);

impl<T> InPlace<T> {
    #[inline(always)]
    fn operation(&self) -> *mut Operation<Recv<T>> {
        // SAFETY: the receiver is there.
        unsafe { self.0.get().operation.get().cast() }
    }
}

impl<T> Deref for InPlace<T> {
    type Target = Operation<Recv<T>>;

    #[inline(always)]
    fn deref(&self) -> &Operation<Recv<T>> {
        // SAFETY: it is there from the beginning on, and this end's alone.
        unsafe { &*self.operation() }
    }
}

impl<T> DerefMut for InPlace<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Operation<Recv<T>> {
        // SAFETY: as above.
        unsafe { &mut *self.operation() }
    }
}

impl<T> Drop for InPlace<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: used up.
        let gone = || unsafe { self.0.drop_receiver() };
        if !self.waits() {
            return gone();
        }
        // Once it has no node any more; also when a waker panics that it has waited with.
        let _gone = finally(gone);
        // SAFETY: as in `deref`; it is not used after this.
        unsafe { self.operation().drop_in_place() };
    }
}

/// A receive.
pub struct Recv<T>(pub(super) SharedRef<T>);

/// Waiting for the receiver to close.
pub struct Watch<T>(pub(super) SharedRef<T>);

impl<T> Recv<T> {
    #[inline(always)]
    fn shared(&self) -> &Shared<T> {
        // SAFETY: the receiver has its operation, and is there.
        unsafe { self.0.get() }
    }

    pub(super) fn head(&self) -> &Head {
        &self.shared().head
    }

    /// What there is to be received. `None`: nothing yet.
    #[inline(always)]
    pub(super) fn look(&mut self) -> Option<Result<T, RecvError>> {
        let shared = self.shared();
        // SAFETY: the receiver's.
        unsafe { shared.look_at(shared.head.load()) }
    }

    /// The same at this word, which was there just now; if there is nothing the receiver parks, for an operation that is fresh.
    #[inline(always)]
    pub(super) fn look_or_park(&mut self, word: Word, waker: &Waker) -> Option<Result<T, RecvError>> {
        // SAFETY: the receiver's.
        let outcome = unsafe { self.shared().look_at(word) };
        // SAFETY: the receiver's; a fresh operation has no node in the line.
        if outcome.is_some() || unsafe { self.head().park(word, waker) } {
            return outcome;
        }
        self.look()
    }
}

impl<T> Watch<T> {
    fn head(&self) -> &Head {
        // SAFETY: the sender is borrowed, and is there.
        unsafe { self.0.head() }
    }
}

impl<T> Branch for Recv<T> {
    outcome!(Result<T, RecvError>);

    fn wish(&self) -> (&'static str, Thing) {
        ("recv", Thing::new("oneshot", self.head()))
    }

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<Self::Output>) -> bool {
        self.look().map(|outcome| tray.put(outcome)).is_some()
    }

    fn attempt(&mut self, _by: &mut By, tray: &mut Tray<Self::Output>) -> Attempt<()> {
        let is_through = self.quick(tray) || {
            // It is going to wait by a node, or not at all. (The waker may panic in its drop: nothing has happened then.)
            let was_parked = self.head().unpark().is_some();
            was_parked && self.quick(tray)
        };
        if is_through { Attempt::Ready(()) } else { Attempt::Wait }
    }

    fn register(&mut self, node: &Waiter, _pair: bool) -> bool {
        // (One that only asks whether it is ready does not look before.)
        drop(self.head().unpark());
        self.head().register(node)
    }

    stands!(self => self.head());

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<Self::Output>) {
        tray.put(self.look().expect("invariant 4: who is done finds its outcome"));
    }

    fn restore(&mut self, tray: &mut Tray<Self::Output>) {
        if let Some(Ok(value)) = tray.take() {
            // SAFETY: the receiver's, which has just taken it.
            unsafe { self.shared().put_back(value) };
        }
    }
}

impl<T> Branch for Watch<T> {
    type Output = ();
    type Goods = ();

    fn wish(&self) -> (&'static str, Thing) {
        ("closed", Thing::new("oneshot", self.head()))
    }

    fn attempt(&mut self, _by: &mut By, _tray: &mut Tray<()>) -> Attempt<()> {
        if self.head().has(RX_CLOSED) { Attempt::Ready(()) } else { Attempt::Wait }
    }

    fn register(&mut self, node: &Waiter, _pair: bool) -> bool {
        self.head().register(node)
    }

    stands!(self => self.head());

    /// (The sender is borrowed: it was the receiver that ended something.)
    unsafe fn finish(&mut self, _node: NodeRef, _tray: &mut Tray<()>) {}

    #[inline(always)]
    fn output(&mut self, _tray: &mut Tray<()>) {}
}
