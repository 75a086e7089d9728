//! Permits, without what they are for: the kernel of the [semaphore](super::semaphore) and of the
//! [lock for readers and writers](super::rwlock). One word, which says how many are free or who waits for them.
//!
//! ```text
//!   63                       28 27          6 5           0
//!   [ permits that are free    ][     0      ][   flags   ]      nobody waits         flags: UPGRADING CLOSED – MANY MORE –
//!   [ version                  ][first waiter][   flags   ]      somebody waits
//!
//!   [ stays | permits          ]  the pot: what is free, and too little for the first waiter
//! ```
//!
//! | part | set by | means |
//! |---|---|---|
//! | permits | whoever takes some, or gives some back | as many are free |
//! | `CLOSED` | `close`, for good | nobody takes, or is granted, any more; permits still come back |
//! | `UPGRADING` | a reader that becomes the writer ([`rwlock`](super::rwlock)) | what comes back is that reader's |
//! | `version` | whoever changes who waits | see [`line`](crate::wait); it begins anew with each first waiter, at another number |
//! | the pot | whoever has some in hand that are too few for the first waiter | they belong to whoever is first |
//!
//! A waiter's [place](crate::wait) says how much it wants, so that this is known before the waiter is popped.
//!
//! # Steps
//!
//! `next`: the next waiter comes into the word. `hand`: permits in the hands of who is at work. `want`: what the first waiter
//! wants.
//!
//! | word | operation | exchange | then |
//! |---|---|---|---|
//! | nobody waits, at least `want` | take | permits − want | has them |
//! | nobody waits, too few | take waits | me, a version | hand := what was free; *serve* |
//! | somebody waits | take waits | joins the line behind the word | |
//! | nobody waits | give back | permits + hand | |
//! | somebody waits | give back | – | *serve* |
//! | somebody waits, hand ≥ want | serve | next, version + 1; nobody comes next: permits := hand − want | grants; hand − want; goes on |
//! | somebody waits, hand < want, or CLOSED | serve | – | the hand goes into the pot; *looks* at who is first now |
//! | nobody waits | serve | permits + hand | |
//! | any | look | – | the pot has enough and not CLOSED, or nobody waits: hand := all of it; goes on with serve |
//! | any | close | CLOSED | pops all, tells them to look, *serves*, then wakes them |
//! | UPGRADING | serve | – | all that is in hand and in the pot is the reader's that becomes the writer |
//!
//! Strictly first come, first served: who finds somebody waiting waits behind. A large wish is served before a small one that
//! came later, however long that takes; what comes back meanwhile gathers in the pot.
//!
//! That a waiter has left before the grant is noticed (the grant is an exchange of the node's state), and the next one is served;
//! one that leaves after the grant gives them back. A grant to a select that has lost to another branch goes on to the next in the
//! same way.
//!
//! # Invariants
//! 1. The permits in the word, in the pot, in the hands of those at work, and held (by a [`Taken`] or a DONE operation), are
//!    together as many as were made and added, less those forgotten.
//! 2. Nobody is at work here: somebody waits ⇒ the pot holds less than the first waiter wants; nobody waits ⇒ it is empty.
//! 3. Not CLOSED, or its closing is under way, if somebody waits.
//! 4. No foreign code runs while permits are in hand.
//!
//! *Why 2 holds.* It can become false in two ways: permits are added to the pot, or a waiter that wants more than one is no longer
//! first. (While only wishes for one are in line no hand is too small, and nothing comes into the pot.) Whoever adds looks at the word
//! after that; whoever takes such a waiter out looks into the pot after that, by emptying it. Both touch the pot by
//! read-modify-writes. If the emptying comes first, the one that adds acquires it, and sees a word at least as new as the other has
//! seen; if the addition comes first, it is emptied out. (The same with a close: it empties the pot when all are taken out.)
//!
//! # Progress, cost
//!
//! Lock-free. Locked instructions, counted: take 1 and give back 1, uncontended (52 instructions for the future, 27 for `try_`);
//! wait 2 (a stay and the entry), and the cloned waker; a hand-over 2 (the pop and the grant), or 3 to 5 to one that stood behind
//! somebody, and the waking. Wishes for more than one: 1 more for the pot. No recursion: one loop serves all who can be served.
//!
//! # Orderings
//!
//! Taking acquires and giving back releases, on the word or the pot. A grant passes through the node's state: released by who
//! hands over, and has acquired the word or the pot; acquired by who gets it. The waiters' own: see [`line`](crate::wait).
//!
//! Source: one kernel of weighted permits under several primitives is tokio's (`sync/batch_semaphore.rs`), which gives what
//! comes back to the first waiter bit by bit, under a lock.

use super::borrowed::Borrowed;
use crate::prim::{self, AtomicU64, Ordering};
use crate::task::thread;
use crate::task::watch::Thing;
use crate::wait::{
    Attempt, Branch, By, Left, Line, NodeRef, OWN, Primitive, REST_BITS, REST_SHIFT, Tray, Waiter, Word,
    abandon_grant, apart, outcome,
};

const CLOSED: u64 = OWN[0];
pub(super) const UPGRADING: u64 = OWN[1];

/// As many can be free at once.
pub(super) const MOST: u64 = (1 << (REST_BITS - 2)) - 1;

/// Of the pot.
const PERMITS: u64 = (1 << REST_BITS) - 1;
const ONE_STAY: u64 = 1 << REST_BITS;

pub struct Permits {
    pub(super) line: Line,
    pot: AtomicU64,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Try {
    Taken,
    TooFew,
    Closed,
}

impl Primitive for Permits {
    const SAYS: bool = true;

    fn has_few(&self) -> bool {
        true
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn bump(&self, word: Word) -> Word {
        if word.is_free() { word } else { word.plus(1) }
    }

    /// It comes with a version that nobody has seen lately.
    fn arrive(&self, word: Word) -> Word {
        let stay = self.pot.fetch_add(ONE_STAY, Ordering::Relaxed) >> REST_BITS;
        word.with_rest(apart(stay))
    }

    fn empty(&self, word: Word) -> Word {
        word.with_rest(0)
    }

    fn is_to_wait(&self, word: Word) -> bool {
        !word.has(CLOSED)
    }
}

impl Permits {
    prim::const_fn! {
        pub(super) fn new(permits: u64) -> Permits {
            Permits { line: Line::new(permits << REST_SHIFT), pot: AtomicU64::new(0) }
        }
    }

    /// One exchange, if so many are free.
    #[inline(always)]
    pub(super) fn quick(&self, permits: u64) -> bool {
        let word = self.line.glance();
        word.is_free()
            && word.rest() >= permits
            && !word.has(CLOSED)
            // ORDERING: Acquire pairs with the Release of `release`: what was done by those who had them is seen.
            && self.cas(word, word.with_rest(word.rest() - permits))
    }

    #[inline]
    pub(super) fn try_take(&self, permits: u64) -> Try {
        loop {
            let word = self.line.load();
            if word.has(CLOSED) {
                return Try::Closed;
            }
            if !word.is_free() && permits > 0 || word.is_free() && word.rest() < permits {
                return Try::TooFew;
            }
            if permits == 0 || self.cas(word, word.with_rest(word.rest() - permits)) {
                return Try::Taken;
            }
        }
    }

    /// Gives permits back by one exchange, if nobody waits for them.
    #[inline]
    fn release_quickly(&self, permits: u64) -> bool {
        let word = self.line.glance();
        // ORDERING: Release pairs with `quick`; Acquire: they may be handed on.
        word.is_free()
            && !word.has(UPGRADING)
            && word.rest() + permits <= MOST
            && self.cas(word, word.plus(permits))
    }

    /// Adds new ones. False, and nothing done: more than `most` would be free.
    #[must_use]
    pub(super) fn add(&self, permits: u64, most: u64) -> bool {
        loop {
            let word = self.line.load();
            if permits > most.saturating_sub(self.free_or_in_pot(word)) {
                return false;
            }
            if !word.is_free() || bug!("adds_by_two_steps") {
                self.release_slowly(permits);
                return true;
            }
            if self.cas(word, word.plus(permits)) {
                return true;
            }
        }
    }

    /// The step *serve* of the header; `look`: also what is in the pot. What is returned, and no longer in the pot, belongs to the
    /// reader that becomes the writer.
    #[must_use]
    pub(super) fn hand_out(&self, mut hand: u64, mut look: bool, served: &mut Served) -> u64 {
        loop {
            if hand == 0 {
                if !std::mem::take(&mut look) {
                    return 0;
                }
                hand = self.empty_pot();
                continue;
            }
            let word = self.line.load();
            if word.has(UPGRADING) {
                return hand + if look { self.empty_pot() } else { 0 };
            }
            if word.is_free() {
                // (More than can be free are lost: `add` refuses before it comes to that, if nobody waits.)
                if self.cas(word, word.plus(hand.min(MOST.saturating_sub(word.rest())))) {
                    hand = 0;
                }
                continue;
            }
            let want = self.wanted(word);
            if hand < want {
                if self.line.load() != word {
                    // It may be what somebody else wants.
                    continue;
                }
                // ORDERING: AcqRel: see the header.
                self.pot.fetch_add(hand, Ordering::AcqRel);
                hand = 0;
                look = self.is_worth_a_look();
                continue;
            }
            let rest = hand - want;
            let mut is_last = false;
            let popped = self.pop(word, |word| {
                is_last = word.is_free();
                if is_last { word.with_rest(rest.min(MOST)) } else { self.bump(word) }
            });
            let Some(popped) = popped else { continue };
            look |= want > 1 && !bug!("large_leaves_the_pot");
            if is_last {
                // What is left went into the word.
                hand = want;
            }
            let Some(claim) = popped.claim(0, &mut served.by) else { continue };
            let granted = if bug!("permits_granted_unchecked") { Ok(claim.done()) } else { claim.grant() };
            if served.by.wakes_unless_gone(granted, &mut served.gone) {
                hand -= want;
            }
        }
    }

    /// How much has to be in hand for the first waiter to be served. Where they are closed that is more than there can be: whoever
    /// closes tells it, and looks into the pot after that.
    #[inline]
    fn wanted(&self, word: Word) -> u64 {
        if word.has(CLOSED) && !bug!("grants_after_close") { u64::MAX } else { u64::from(self.said(word)) }
    }

    /// Whether the pot has enough for who is first now, or something where nobody waits.
    fn is_worth_a_look(&self) -> bool {
        if bug!("pot_is_not_looked_at") {
            return false;
        }
        loop {
            let word = self.line.load();
            let want = if word.is_free() || word.has(UPGRADING) { 1 } else { self.wanted(word) };
            let there = self.in_pot();
            if self.line.load() == word {
                return there >= want;
            }
        }
    }

    fn in_pot(&self) -> u64 {
        self.pot.load(Ordering::Acquire) & PERMITS
    }

    fn empty_pot(&self) -> u64 {
        // ORDERING: AcqRel: see the header.
        self.pot.fetch_and(!PERMITS, Ordering::AcqRel) & PERMITS
    }

    /// Takes all that is free, or in the pot: both by a read-modify-write, so that who comes to either later sees what was
    /// done before this.
    pub(super) fn take_all(&self) -> u64 {
        let free = self.update(|word| word.is_free().then(|| word.with_rest(0))).map_or(0, Word::rest);
        free + self.empty_pot()
    }

    /// How many are free.
    pub(super) fn available(&self) -> u64 {
        self.free_or_in_pot(self.line.load())
    }

    fn free_or_in_pot(&self, word: Word) -> u64 {
        if word.is_free() { word.rest() } else { self.in_pot() }
    }

    /// Takes away as many as are free, `permits` at most; gives how many.
    pub(super) fn forget(&self, permits: u64) -> u64 {
        loop {
            let word = self.line.load();
            if word.is_free() {
                let fewer = word.rest().min(permits);
                if self.cas(word, word.with_rest(word.rest() - fewer)) {
                    return fewer;
                }
                continue;
            }
            let pot = self.pot.load(Ordering::Acquire);
            let fewer = (pot & PERMITS).min(permits);
            // ORDERING: AcqRel: see the header.
            if self.pot.compare_exchange(pot, pot - fewer, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return fewer;
            }
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.line.load().has(CLOSED)
    }

    /// Closes; true the first time. All who wait are told, after the last of them was taken out of the line.
    pub(super) fn close(&self) -> bool {
        if self.update(|word| (!word.has(CLOSED)).then(|| word.with(CLOSED))).is_none() {
            return false;
        }
        let mut served = Served::new();
        loop {
            let word = self.line.load();
            if word.is_free() {
                break;
            }
            let Some(popped) = self.pop(word, |word| self.bump(word)) else { continue };
            served.by.wakes_unless_gone(popped.notify(), &mut served.gone);
        }
        self.serve(0, true, &mut served);
        served.by.wake();
        true
    }

    /// Sets UPGRADING, and takes what is free or in the pot.
    pub(super) fn begin_upgrade(&self) -> u64 {
        let begun = |word: Word| if word.is_free() { word.with_rest(0) } else { word }.with(UPGRADING);
        let before = self.update(|word| Some(begun(word)));
        debug_assert!(before.is_some_and(|word| !word.has(UPGRADING)), "there is one upgradable reader");
        before.filter(|word| word.is_free()).map_or(0, Word::rest) + self.empty_pot()
    }

    pub(super) fn end_upgrade(&self) {
        self.update(|word| Some(word.without(UPGRADING)));
    }

    pub(super) fn is_upgrading(&self) -> bool {
        self.line.load().has(UPGRADING)
    }

    /// Panics if an invariant does not hold, while nobody is at work here.
    pub(super) fn assert_valid(&self) {
        Primitive::assert_valid(self);
        let word = self.line.load();
        let there = self.in_pot();
        let want = if word.is_free() { 1 } else { u64::from(self.said(word)) };
        assert!(there < want, "invariant 2: {there} in the pot, and the first wants {want}");
        assert!(word.is_free() || !word.has(CLOSED), "invariant 3");
    }
}

/// Those who were served: to be woken when nothing is in hand.
pub struct Served {
    by: By,
    gone: Left,
}

impl Served {
    fn new() -> Served {
        Served { by: By::plain(), gone: Left::default() }
    }
}

/// What is waited for, as it is called.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Semaphore,
    Read,
    Write,
    UpgradableRead,
    Upgrade,
    Cell,
}

impl What {
    pub(super) const fn operation(self) -> &'static str {
        match self {
            What::Semaphore => "acquire",
            What::Read => "read",
            What::Write => "write",
            What::UpgradableRead => "upgradable_read",
            What::Upgrade => "upgrade",
            What::Cell => "get_or_init",
        }
    }

    pub(super) fn wish<T>(self, at: *const T) -> (&'static str, Thing) {
        let kind = match self {
            What::Semaphore => "semaphore",
            What::Read | What::Write | What::UpgradableRead | What::Upgrade => "rwlock",
            What::Cell => "once cell",
        };
        (self.operation(), Thing::new(kind, at))
    }
}

/// To whom permits go back: there may be more to see to than the permits themselves.
pub trait Source {
    fn permits(&self) -> &Permits;

    /// Gives what is in hand to whoever is to have it; `look`: also what is in the pot.
    fn serve(&self, hand: u64, look: bool, served: &mut Served);

    /// Gives permits back, or adds new ones.
    #[inline]
    fn release(&self, permits: u64) {
        if !self.permits().release_quickly(permits) {
            self.release_slowly(permits);
        }
    }

    /// The same where somebody waits for them.
    #[cold]
    #[inline(never)]
    fn release_slowly(&self, permits: u64) {
        let mut served = Served::new();
        self.serve(permits, false, &mut served);
        served.by.wake();
    }

    /// Gives what is in hand, and in the pot, to whoever is to have it, in the middle of something: a waker that panics does so for
    /// itself.
    #[cold]
    fn look_into_pot(&self, hand: u64) {
        let mut served = Served::new();
        self.serve(hand, true, &mut served);
        let Served { by, gone: _gone } = served;
        by.end_in_passing();
    }
}

impl Source for Permits {
    #[inline(always)]
    fn permits(&self) -> &Permits {
        self
    }

    fn serve(&self, hand: u64, look: bool, served: &mut Served) {
        let left = self.hand_out(hand, look, served);
        debug_assert_eq!(left, 0, "these are not upgraded");
    }
}

/// Taking permits, as a branch.
pub struct Taking<S: Source = Permits> {
    source: Borrowed<S>,
    permits: u32,
    what: What,
}

/// Permits that were taken, before they are a guard's or a user's: dropped, they go back. (On any thread.)
pub(crate) struct Taken<S: Source = Permits> {
    pub(super) source: Borrowed<S>,
    pub(super) permits: u32,
}

/// The permits are closed.
#[derive(Debug)]
pub(crate) struct Shut;

impl<S: Source> Taking<S> {
    /// # Safety
    /// The source outlives this.
    #[inline]
    pub(super) unsafe fn new(source: *const S, permits: u32, what: What) -> Self {
        // SAFETY: the caller's promise; whoever gets permits keeps their source.
        Taking { source: unsafe { Borrowed::new(source) }, permits, what }
    }

    #[inline(always)]
    pub(super) fn permits(&self) -> u32 {
        self.permits
    }

    #[inline(always)]
    fn taken(&self) -> Taken<S> {
        Taken { source: self.source, permits: self.permits }
    }
}

impl<S: Source> Branch for Taking<S> {
    outcome!(Result<Taken<S>, Shut>);

    fn wish(&self) -> (&'static str, Thing) {
        self.what.wish(&*self.source)
    }

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<Self::Output>) -> bool {
        let is_taken = self.source.permits().quick(self.permits.into());
        if is_taken {
            tray.put(Ok(self.taken()));
        }
        is_taken
    }

    fn attempt(&mut self, _by: &mut By, tray: &mut Tray<Self::Output>) -> Attempt<()> {
        let outcome = match self.source.permits().try_take(self.permits.into()) {
            Try::Taken => Ok(self.taken()),
            Try::Closed => Err(Shut),
            Try::TooFew => return Attempt::Wait,
        };
        tray.put(outcome);
        Attempt::Ready(())
    }

    fn register(&mut self, node: &Waiter, pair: bool) -> bool {
        debug_assert!(!pair, "permits have one side");
        let want = u64::from(self.permits);
        let permits = self.source.permits();
        loop {
            let word = permits.line.load();
            if word.has(CLOSED) && !bug!("waits_after_close")
                || word.is_free() && word.rest() >= want
                || want == 0
            {
                return false;
            }
            let waits = permits.line_up_saying(word, node, 0, self.permits);
            if waits && word.is_free() && word.rest() > 0 {
                // Too few, but a later wish may be smaller, and this one gone by then.
                self.source.look_into_pot(word.rest());
            }
            if waits {
                return true;
            }
            if !word.is_free() && want > 1 && !bug!("large_joins_silently") {
                // It may have been first for a moment.
                self.source.look_into_pot(0);
            }
            thread::back_off();
        }
    }

    fn leave(&mut self, node: &Waiter) -> bool {
        let left = self.source.permits().leave(node);
        if left && self.permits > 1 && !bug!("large_leaves_silently") {
            self.source.look_into_pot(0);
        }
        left
    }

    fn touch(&self, node: &Waiter) -> bool {
        self.source.permits().touch(node)
    }

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<Self::Output>) {
        tray.put(Ok(self.taken()));
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        abandon_grant(node, || self.source.release(self.permits.into()))
    }
}

impl<S: Source> Taken<S> {
    /// They are a guard's or a user's now, or there are none any more.
    #[inline]
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl<S: Source> Drop for Taken<S> {
    fn drop(&mut self) {
        self.source.release(self.permits.into());
    }
}
