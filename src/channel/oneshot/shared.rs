//! What the two ends of a oneshot channel share: one allocation, with one word and a place for the value.
//!
//! ```text
//!   63         32 31       28 27          6 5          0
//!   [  version   ][  state   ][first waiter][  flags   ]      state: RX_GONE RX_CLOSED TX_GONE SENT
//! ```
//!
//! | state | set by | means |
//! |---|---|---|
//! | `SENT` | send, together with `TX_GONE`; cleared by the receiver, who takes the value | the value is in its place |
//! | `TX_GONE` | send; the drop of a sender | the sender touches nothing here any more |
//! | `RX_CLOSED` | `close`; the drop of a receiver | no value enters any more |
//! | `RX_GONE` | the drop of a receiver, together with `RX_CLOSED` | the receiver touches nothing here any more |
//!
//! # Steps
//!
//! | state | operation | exchange | then |
//! |---|---|---|---|
//! | none of the sender's, not RX_CLOSED | recv waits | me | |
//! | the same | `closed` waits | me, or joins behind the receiver | |
//! | not RX_CLOSED | send | SENT, TX_GONE, nobody | whoever waited is done |
//! | RX_CLOSED | send | as the sender's drop | the value comes back |
//! | not RX_GONE | drop of the sender | TX_GONE, nobody | whoever waited is done |
//! | RX_GONE | drop of the sender | – | frees it |
//! | any | close | RX_CLOSED, nobody | whoever waited is done |
//! | not TX_GONE | drop of the receiver | RX_CLOSED, RX_GONE, nobody | whoever waited is done |
//! | TX_GONE | drop of the receiver | – | frees it, and drops the value |
//! | SENT | recv | – (a plain store: not SENT) | has the value |
//!
//! Each of these empties the line: with several in it (a receiver and a `closed` beside it, which takes one that waits on
//! both sides, or a future that was forgotten) all but the last are taken out before, one by one, and the bits are set by
//! the exchange that takes out the last one. So a one-sided change and its waiters are one step.
//!
//! # Invariants
//! 1. SENT implies TX_GONE: who sees it has the allocation for itself.
//! 2. Who sets TX_GONE or RX_GONE by an exchange touches nothing here after it, unless the other of the two was set before:
//!    then it frees it. (What it has yet to do with the waiters it does with their nodes.)
//! 3. While somebody waits, neither TX_GONE nor RX_CLOSED is set; so whoever waits is told by the exchange that sets one.
//! 4. A waiter that is DONE finds its outcome in the word, for good: SENT, or one of TX_GONE and RX_CLOSED.
//!
//! # Orderings
//!
//! The exchange that sets SENT releases the value, and the receiver's load acquires it. An exchange that sets one GONE releases
//! what that side has done here, and the other side, which frees it, acquires that. Waiters: see [`wait`](crate::wait).
//!
//! # Progress, cost
//!
//! Lock-free. Locked instructions: send 1, recv of what is there 0, the ends' drops 0 after that; recv that waits 1 more.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::Waker;

use crate::channel::RecvError;
use crate::prim::{self, Life, Ordering, UnsafeCell};
use crate::task::thread;
use crate::task::watch::Thing;
use crate::wait::{
    Attempt, Branch, By, Claim, Line, NodeRef, Primitive, STAMP_MASK, Tray, Waiter, Word, abandon_send,
    wake_all,
};

/// In terms of the rest.
pub(super) const SENT: u64 = 1;
pub(super) const TX_GONE: u64 = 1 << 1;
pub(super) const RX_CLOSED: u64 = 1 << 2;
pub(super) const RX_GONE: u64 = 1 << 3;

const STATE_BITS: u32 = 4;
const STATE: u64 = (1 << STATE_BITS) - 1;
const ONE_VERSION: u64 = 1 << STATE_BITS;

/// The order of the exchanges that end something.
#[inline(always)]
fn end_order() -> Ordering {
    if bug!("oneshot_end_relaxed") { Ordering::Relaxed } else { Ordering::AcqRel }
}

pub(super) struct Shared<T> {
    line: Line,
    value: UnsafeCell<MaybeUninit<T>>,
    life: Life,
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

impl<T> Primitive for Shared<T> {
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

#[inline(always)]
fn with(word: Word, state: u64) -> Word {
    word.with_rest(word.rest() | state)
}

/// Those who waited, and are to be woken where foreign code may run.
#[must_use]
pub(super) struct Wakes {
    first: Vec<Waker>,
    last: Option<Waker>,
}

impl Wakes {
    #[inline(always)]
    fn none() -> Wakes {
        Wakes { first: Vec::new(), last: None }
    }

    #[cold]
    fn and(mut self, more: Wakes) -> Wakes {
        self.first.extend(self.last.into_iter().chain(more.first));
        Wakes { first: self.first, last: more.last }
    }

    #[inline(always)]
    pub(super) fn wake(self) {
        if !self.first.is_empty() {
            wake_all(self.first.into_iter().chain(self.last));
        } else if let Some(last) = self.last {
            last.wake();
        }
    }
}

impl<T> SharedRef<T> {
    pub(super) fn new() -> Self {
        let shared =
            Shared { line: Line::new(0), value: UnsafeCell::new(MaybeUninit::uninit()), life: Life::new() };
        SharedRef(NonNull::from(Box::leak(Box::new(shared))), PhantomData)
    }

    /// # Safety
    /// The caller's end is not gone, or the other one is.
    #[inline(always)]
    pub(super) unsafe fn get<'a>(self) -> &'a Shared<T> {
        // SAFETY: invariant 2.
        let shared = unsafe { self.0.as_ref() };
        shared.life.touch();
        shared
    }

    /// Sets bits in the exchange that empties the line; who waited is done, and to be woken. `Err`: one of `unless` is set.
    ///
    /// # Safety
    /// As for [`get`](Self::get); after an exchange that sets a GONE bit nothing here is touched.
    #[inline(always)]
    unsafe fn end(self, bits: u64, unless: u64) -> Result<Wakes, Wakes> {
        // SAFETY: the caller's promise.
        let shared = unsafe { self.get() };
        let word = shared.line.load();
        if has(word, unless) {
            return Err(Wakes::none());
        }
        if word.is_free() && shared.set(word, bits) {
            return Ok(Wakes::none());
        }
        // SAFETY: as above: no bit was set.
        unsafe { self.end_slowly(bits, unless) }
    }

    /// # Safety
    /// As for [`end`](Self::end).
    #[inline(never)]
    unsafe fn end_slowly(self, bits: u64, unless: u64) -> Result<Wakes, Wakes> {
        // SAFETY: the caller's promise.
        let shared = unsafe { self.get() };
        let mut claims = Vec::new();
        let mut by = By::plain();
        let mut lost = 0;
        let ended = loop {
            let word = shared.line.load();
            if has(word, unless) {
                break Err(None);
            }
            if word.is_free() {
                if shared.set(word, bits) {
                    break Ok(None);
                }
            } else {
                let mut is_last = false;
                let popped = shared.pop(word, |to| {
                    is_last = to.is_free() || bug!("oneshot_ends_before_the_last");
                    if is_last { with(to, bits) } else { shared.bump(to) }
                });
                if let Some(popped) = popped {
                    // (A select that is at work, or over, looks for itself, or does not want to know.)
                    let claim = popped.claim(0, &mut by);
                    if is_last {
                        break Ok(claim);
                    }
                    claims.extend(claim);
                    continue;
                }
            }
            thread::back_off(lost);
            lost += 1;
        };
        let mut first =
            if claims.is_empty() { Vec::new() } else { claims.into_iter().filter_map(Claim::done).collect() };
        if by.keeps() {
            first.extend(by.take_kept().poke());
        }
        let wakes = |last: Option<Claim>| Wakes { first, last: last.and_then(Claim::done) };
        match ended {
            Ok(last) => Ok(wakes(last)),
            Err(nobody) => Err(wakes(nobody)),
        }
    }

    /// Sends; the caller's end is gone then. `Err`: the value comes back.
    ///
    /// # Safety
    /// The sender's, which is not gone.
    #[inline]
    pub(super) unsafe fn send(self, value: T) -> Result<Wakes, (T, Wakes)> {
        // SAFETY: the sender is there.
        let shared = unsafe { self.get() };
        // SAFETY: without SENT the place is the sender's.
        shared.value.with_mut(|place| unsafe { (*place).write(value) });
        // SAFETY: as above.
        match unsafe { self.end(SENT | TX_GONE, RX_CLOSED) } {
            Ok(wakes) => Ok(wakes),
            Err(wakes) => {
                // SAFETY: it was not sent: the sender is there, and its value.
                let value = unsafe { shared.value.with(|place| (*place).assume_init_read()) };
                // SAFETY: as above.
                let more = unsafe { self.drop_sender() };
                Err((value, wakes.and(more)))
            }
        }
    }

    /// The sender goes without having sent.
    ///
    /// # Safety
    /// The sender's, which is gone then.
    pub(super) unsafe fn drop_sender(self) -> Wakes {
        // SAFETY: the sender is there.
        let ended = unsafe { self.end(TX_GONE, RX_GONE) };
        ended.unwrap_or_else(|wakes| {
            // SAFETY: invariant 2: the receiver has gone before, and nothing was sent.
            unsafe { self.free() };
            wakes
        })
    }

    /// The receiver closes the channel.
    ///
    /// # Safety
    /// The receiver's, which is not gone.
    pub(super) unsafe fn close(self) -> Wakes {
        // SAFETY: the receiver is there.
        unsafe { self.end(RX_CLOSED, RX_CLOSED | TX_GONE) }.unwrap_or_else(|wakes| wakes)
    }

    /// The receiver goes; gives the value, if it was sent and not taken.
    ///
    /// # Safety
    /// The receiver's, which is gone then, and waits no more.
    #[inline]
    pub(super) unsafe fn drop_receiver(self) -> (Option<T>, Wakes) {
        let unless = if bug!("oneshot_receiver_frees_nothing") { SENT } else { TX_GONE };
        // SAFETY: the receiver is there.
        match unsafe { self.end(RX_CLOSED | RX_GONE, unless) } {
            Ok(wakes) => (None, wakes),
            Err(wakes) => {
                // SAFETY: the sender has gone before: all is the receiver's.
                let value = unsafe { self.get().take() };
                // SAFETY: as above.
                unsafe { self.free() };
                (value, wakes)
            }
        }
    }

    /// # Safety
    /// Both ends are gone, and nothing is in the value's place.
    unsafe fn free(self) {
        // SAFETY: the caller's promise; from `Box::leak`.
        let shared = unsafe { Box::from_raw(self.0.as_ptr()) };
        shared.life.end();
        prim::free(shared);
    }
}

impl<T> Shared<T> {
    pub(super) fn has(&self, state: u64) -> bool {
        has(self.line.load(), state)
    }

    /// Sets bits where nobody waits. False: the word has changed.
    #[inline(always)]
    fn set(&self, word: Word, bits: u64) -> bool {
        let to = with(word, bits).0;
        self.line.word().compare_exchange(word.0, to, end_order(), Ordering::Relaxed).is_ok()
    }

    /// Takes the value, if it was sent.
    ///
    /// # Safety
    /// For the receiver.
    #[inline]
    unsafe fn take(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        unsafe { self.take_at(self.line.load()) }
    }

    /// # Safety
    /// As for `take`; the word is what it was.
    #[inline]
    unsafe fn take_at(&self, word: Word) -> Option<T> {
        has(word, SENT).then(|| {
            // SAFETY: invariant 1.
            let value = unsafe { self.value.with(|place| (*place).assume_init_read()) };
            // ORDERING: Relaxed, and no exchange: nobody else is left.
            self.line.word().store(word.with_rest(word.rest() & !SENT).0, Ordering::Relaxed);
            value
        })
    }

    /// Puts back what was taken.
    ///
    /// # Safety
    /// For the receiver, which has taken it.
    unsafe fn put_back(&self, value: T) {
        // SAFETY: as in `take`.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        let word = self.line.load();
        // ORDERING: as in `take`.
        self.line.word().store(with(word, SENT).0, Ordering::Relaxed);
    }

    /// What there is to be received. `None`: nothing yet.
    ///
    /// # Safety
    /// For the receiver.
    #[inline]
    pub(super) unsafe fn look(&self) -> Option<Result<T, RecvError>> {
        let word = self.line.load();
        // SAFETY: the caller's promise.
        if let Some(value) = unsafe { self.take_at(word) } {
            return Some(Ok(value));
        }
        has(word, TX_GONE | RX_CLOSED).then_some(Err(RecvError))
    }

    /// Enters the line, if one has to wait.
    fn register(&self, node: &Waiter) -> bool {
        let mut lost = 0;
        loop {
            let word = self.line.load();
            if !self.is_to_wait(word) {
                return false;
            }
            if if word.is_free() { self.enter(word, node, 0) } else { self.join(word, node, 0) } {
                return true;
            }
            thread::back_off(lost);
            lost += 1;
        }
    }

    pub(super) fn thing(&self) -> Thing {
        Thing::new("oneshot", self)
    }
}

/// A receive.
pub struct Recv<T>(pub(super) SharedRef<T>);

/// Waiting for the receiver to close.
pub struct Watch<T>(pub(super) SharedRef<T>);

impl<T> Recv<T> {
    fn shared(&self) -> &Shared<T> {
        // SAFETY: the receiver has its operation, and is there.
        unsafe { self.0.get() }
    }
}

impl<T> Watch<T> {
    fn shared(&self) -> &Shared<T> {
        // SAFETY: the sender is borrowed, and is there.
        unsafe { self.0.get() }
    }
}

impl<T> Branch for Recv<T> {
    type Output = Result<T, RecvError>;
    type Goods = Self::Output;

    fn wish(&self) -> (&'static str, Thing) {
        ("recv", self.shared().thing())
    }

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<Self::Output>) -> bool {
        // SAFETY: the receiver's.
        let value = unsafe { self.shared().take() };
        value.map(|value| tray.put(Ok(value))).is_some()
    }

    fn attempt(&mut self, _by: &mut By<'_>, tray: &mut Tray<Self::Output>) -> Attempt<()> {
        // SAFETY: the receiver's.
        unsafe { self.shared().look() }.map_or(Attempt::Wait, |outcome| {
            tray.put(outcome);
            Attempt::Ready(())
        })
    }

    fn register(&mut self, node: &Waiter, _pair: bool) -> bool {
        self.shared().register(node)
    }

    fn leave(&self, node: &Waiter) -> bool {
        Primitive::leave(self.shared(), node, 0)
    }

    fn touch(&self, node: &Waiter) -> bool {
        Primitive::touch(self.shared(), node)
    }

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<Self::Output>) {
        // SAFETY: the receiver's.
        tray.put(unsafe { self.shared().look() }.expect("invariant 4: who is done finds its outcome"));
    }

    #[inline(always)]
    fn output(&mut self, tray: &mut Tray<Self::Goods>) -> Self::Output {
        tray.take().expect("what is through has its outcome")
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        abandon_send(node)
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
        ("closed", self.shared().thing())
    }

    fn attempt(&mut self, _by: &mut By<'_>, _tray: &mut Tray<()>) -> Attempt<()> {
        if self.shared().has(RX_CLOSED) { Attempt::Ready(()) } else { Attempt::Wait }
    }

    fn register(&mut self, node: &Waiter, _pair: bool) -> bool {
        self.shared().register(node)
    }

    fn leave(&self, node: &Waiter) -> bool {
        Primitive::leave(self.shared(), node, 0)
    }

    fn touch(&self, node: &Waiter) -> bool {
        Primitive::touch(self.shared(), node)
    }

    /// (The sender is borrowed: it was the receiver that ended something.)
    unsafe fn finish(&mut self, _node: NodeRef, _tray: &mut Tray<()>) {}

    #[inline(always)]
    fn output(&mut self, _tray: &mut Tray<()>) {}

    fn abandon(&mut self, node: Waiter) -> bool {
        abandon_send(node)
    }
}
