//! The lock itself, without what it guards: one word, which says whether it is held and who waits for it.
//!
//! ```text
//!   63         36  35  34      28 27          6 5          0
//!   [  version   ][vain][starving][first waiter][  flags   ]   flags: FAIR LOCKED – MANY MORE –
//! ```
//!
//! | part | set by | means |
//! |---|---|---|
//! | `LOCKED` | whoever takes the lock, or hands it over | somebody holds it |
//! | `FAIR` | the constructor, for good | who unlocks hands over; newcomers wait behind those who wait |
//! | `starving` | a waiter that was told in vain [`PATIENCE`] times | newcomers step back before they barge |
//! | `vain` | the newcomer that has stepped back to the end | none steps back until another starves, or one waits again or ends |
//! | `version` | whoever changes who waits | see [`line`](crate::wait) |
//!
//! # Steps
//!
//! `next`: the next waiter comes into the word. `V`: version + 1.
//!
//! | word | operation | exchange | then |
//! |---|---|---|---|
//! | not LOCKED, nobody waits or not FAIR | lock | LOCKED | has it |
//! | the same, somebody starves | lock, a newcomer | – | steps back |
//! | the same | a newcomer, with the last step | vain | has the lock when it comes next |
//! | LOCKED, nobody waits | lock waits | me | |
//! | LOCKED, or FAIR, and somebody waits | lock waits | joins the line behind the word | |
//! | LOCKED | unlock | not LOCKED | somebody waits: *tells*, or *hands over* |
//! | not LOCKED, somebody waits, not FAIR | tell | next, V | makes the first look for itself; goes on, or not |
//! | not LOCKED, somebody waits, FAIR | hand over | next, LOCKED, V | grants; one that has left: goes on, holding |
//! | LOCKED, held by who hands over, somebody waits | hand over | next, V | the same |
//! | the same, nobody waits | hand over | not LOCKED | |
//!
//! # Barging
//!
//! The default. An unlock frees the lock, and whoever comes first has it. Those who wait are told to look for themselves,
//! the first one first. A waiter that was told is in the line no more; if it finds the lock taken, it waits again at the
//! back.
//!
//! A future may be told and never be polled again, and the unlock cannot know. So it goes on until it has told one that is
//! *known to answer*: one that was told before, looked, found the lock taken, and waits again. (Each node says how often its
//! operation was told in vain.) All others are passed by, any number of them: whoever is behind them is told too, unless
//! somebody has taken the lock meanwhile, whose own unlock goes on from there then.
//!
//! *The price*: one that waits may be woken once in vain; so an unlock wakes one, and over time all that have come to wait since
//! the unlock before. Counted, for a hand-over on one worker with the lock held over a yield, and with another yield before the
//! next lock, which makes all wait: instructions, and in brackets how many of them are locked. (Measured when cloning a fiber's
//! waker still changed its count: one locked instruction more for each wait.)
//!
//! | an unlock tells | 10 fibers | 100 | 8 that yield twice | 100 that yield twice | it gets past |
//! |---|---:|---:|---:|---:|---|
//! | the first one, and no other | 1659 (15) | 1746 (16) | 1853 (11) | 2042 (16) | nobody that is dead |
//! | the first two | 3000 (27) | 3287 (30) | | | one that is dead |
//! | *up to one that is known to answer* | 1895 (17) | 1949 (18) | 2761 (18) | 3352 (29) | any number that are dead and never answered |
//! | everybody | 6004 (44) | 65906 (658) | | | any number that are dead |
//! | nobody: FAIR, it hands over | 1624 (15) | 1624 (15) | 1674 (10) | 1863 (15) | nobody that is dead |
//!
//! Letting each newcomer look twice before it enters the line, and trusting it for that, comes down to 1665 (15), 1752 (16), 2177
//! (11), 2386 (16). But a future that its owner forgets soon after it was made has been polled twice by then, too: tried, and given
//! up.
//!
//! *The limit*: one that has answered once and is dead from then on is told once more, and that unlock goes no
//! further. Those behind it wait for the next one; whoever comes, or is polled, has the lock at once. There is no way around
//! that within the lock: an unlock may be the last thing that ever happens to it, and what it knows of those that wait is
//! what they did before. So it tells everybody, or there is one that it trusts; and it trusts only those that have earned it.
//!
//! A waiter that was told in vain [`PATIENCE`] times starves; while one does, a newcomer that finds the lock free lets the
//! others run before it takes it (unless it only tries, or finds it held at first), and one that finds it held does not linger
//! for it. They do so for as long as it takes to wake a thread, or to move a fiber to another worker: [`STEPS`] times all together,
//! or for [`LONGEST`] if turns are long; an operation that has to answer now does so once. So a starving waiter that is polled has
//! its chance before whoever came later. One that is not costs the newcomers that time, and then nothing any more, until another
//! one starves. An operation that has waited itself does not step back: it may be the one that was told.
//!
//! # Fair
//!
//! While somebody waits newcomers cannot have the lock, also while it is not LOCKED: so an unlock frees it first, whether
//! somebody waits or not, and hands over what nobody else can take. `unlock_fair` of a barging mutex has to hold it until
//! it is granted. A grant is an exchange of the node's state: an owner that has left meanwhile is noticed, and the next one
//! gets the lock; an owner that leaves after the grant unlocks.
//!
//! # Invariants
//! 1. LOCKED is set exactly while a guard, a [`Locked`], a DONE operation or somebody in `hand_over` has the lock.
//! 2. Nobody begins to wait unless LOCKED is set, or FAIR and somebody waits.
//! 3. Barging, not LOCKED, somebody waits: an unlock is at work in `tell`; or an operation that is known to answer was
//!    told, and has neither looked nor left. One that was told and leaves without a look goes on with telling.
//! 4. FAIR, not LOCKED, somebody waits: an unlock is at work in `hand_over`. Another one that comes to it first does the
//!    same.
//! 5. `starving` counts the operations that say so of themselves; at its maximum no more are counted, and these do not say so.
//! 6. No foreign code runs before the lock has been freed or granted.
//!
//! # Limits
//!
//! The version has 28 bits, as the counts beside it take the rest: an operation that is suspended between its look at the word and
//! its exchange, while exactly a multiple of 2^28 waiters come up or go, and the same node stands there again, takes the word for
//! the one that it has seen.
//!
//! # Progress, cost
//!
//! The steps are lock-free. Locked instructions: lock 1 and unlock 1, uncontended; wait 1, and the cloned waker; tell 2,
//! hand over 2, or 3 to 5 to one that stood behind somebody, and the waking.
//!
//! # Orderings
//!
//! Taking the lock acquires and freeing it releases, on the word. A grant passes through the node's state: released by who
//! hands over, and has acquired the word; acquired by who gets it. The waiters' own: see [`line`](crate::wait).
//!
//! Sources: the step aside for those who starve is after the eventual fairness of WebKit's `WTF::Lock` and parking_lot.

use std::sync::OnceLock;
use std::task::Waker;
use std::time::Instant;

use super::borrowed::Borrowed;
use crate::prim::{self, Ordering};
use crate::task::context;
use crate::task::error::InTurn;
use crate::task::place::Place;
use crate::task::thread;
use crate::task::trace::Sign;
use crate::task::watch::{Holder, Thing};
use crate::wait::{
    Attempt, Branch, By, Left, Line, NodeRef, OWN, Parcel, Primitive, STAMP_MASK, Tray, Waiter, Word,
    abandon_grant, outcome, stands, wake_all,
};

const LOCKED: u64 = OWN[0];
const FAIR: u64 = OWN[1];

const STARVING_BITS: u32 = 7;
/// In terms of the rest.
const STARVING: u64 = (1 << STARVING_BITS) - 1;
const ONE_STARVING: u64 = 1;
const VAIN: u64 = 1 << STARVING_BITS;
const VERSION_SHIFT: u32 = STARVING_BITS + 1;
const ONE_VERSION: u64 = 1 << VERSION_SHIFT;

/// How often a waiter is told in vain before it starves.
const PATIENCE: u32 = 8;

/// At most this often newcomers let others run before one of them takes the lock, counted from when a starving one last showed
/// itself, or somebody was told. (In models once: that shows as much.)
const STEPS: u32 = 8192;
/// For how long, in microseconds of their clocks.
const LONGEST: i32 = 1000;

/// The time in microseconds, modulo 2³²; by the executor's clock, if that is a virtual one: since the executor was made, so that
/// every run is the same.
fn micros() -> u32 {
    static BASE: OnceLock<Instant> = OnceLock::new();
    let by_its_clock = context::with_home_here(|home| {
        home.map(|home| &home.seam).filter(|seam| seam.clock_id() != 0).map(|seam| seam.elapsed())
    });
    by_its_clock.unwrap_or_else(|| BASE.get_or_init(Instant::now).elapsed()).as_micros() as u32
}

pub(super) struct RawMutex {
    line: Line,
    /// Touched by who has the lock.
    holder: Holder,
    sign: Sign,
}

impl Primitive for RawMutex {
    fn has_few(&self) -> bool {
        true
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn bump(&self, word: Word) -> Word {
        word.plus(ONE_VERSION)
    }

    fn stamp(&self, word: Word) -> u32 {
        (word.rest() >> VERSION_SHIFT) as u32 & STAMP_MASK
    }

    fn is_to_wait(&self, word: Word) -> bool {
        word.has(LOCKED | FAIR)
    }
}

/// Whether whoever comes may have the lock.
#[inline(always)]
fn is_open(word: Word) -> bool {
    !word.has(LOCKED) && (word.is_free() || !word.has(FAIR))
}

#[inline(always)]
fn starving(word: Word) -> u64 {
    word.rest() & STARVING
}

#[inline(always)]
fn is_vain(word: Word) -> bool {
    word.rest() & VAIN != 0
}

impl RawMutex {
    prim::const_fn! {
        #[cfg_attr(feature = "tracing", track_caller)]
        pub(super) fn new(fair: bool) -> RawMutex {
            RawMutex { line: Line::new(if fair { FAIR } else { 0 }), holder: Holder::new(), sign: Sign::new() }
        }
    }

    pub(super) fn is_fair(&self) -> bool {
        self.line.load().has(FAIR)
    }

    /// One exchange, from a word that is open.
    #[inline(always)]
    fn take(&self, word: Word) -> bool {
        // ORDERING: Acquire pairs with the Release of `unlock`: what was done under the lock is seen.
        let acquire = order!(AcqRel, "lock_relaxed");
        self.line.word().compare_exchange(word.0, word.0 | LOCKED, acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock if that needs no waiting.
    #[inline]
    pub(super) fn try_lock(&self) -> bool {
        loop {
            let word = self.line.glance();
            if !is_open(word) {
                return false;
            }
            if self.take(word) {
                return true;
            }
        }
    }

    /// Takes the lock if its holder is through with it in a moment: waiting costs both more.
    #[cold]
    fn lock_soon(&self) -> bool {
        thread::linger(|| self.try_lock().then_some(())).is_some()
    }

    fn wish(&self) -> (&'static str, Thing) {
        ("lock", Thing::signed("mutex", self, &self.sign))
    }

    /// The lock is now a guard's, for the fiber that runs here.
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline(always)]
    pub(super) unsafe fn held(&self, place: Place) {
        // SAFETY: the caller's promise.
        unsafe { self.holder.enter(place, || self.wish()) };
    }

    /// Unlocks by the mutex's policy.
    #[inline]
    pub(super) fn unlock(&self) {
        // SAFETY: the caller has the lock.
        let _left = unsafe { self.holder.leave() };
        // ORDERING: Release pairs with `take`; Acquire: those who wait are seen.
        let word = Word(self.line.word().fetch_sub(LOCKED, order!(AcqRel, "unlock_relaxed")));
        debug_assert!(word.has(LOCKED));
        if !word.is_free() {
            self.unlocked(word);
        }
    }

    #[cold]
    #[inline(never)]
    fn unlocked(&self, word: Word) {
        if word.has(FAIR) { self.hand_over(false) } else { self.tell() }
    }

    pub(super) fn is_locked(&self) -> bool {
        self.line.load().has(LOCKED)
    }

    /// Unlocks by handing over to the first waiter, whatever the policy.
    pub(super) fn unlock_fair(&self) {
        // SAFETY: the caller has the lock.
        let _left = unsafe { self.holder.leave() };
        self.hand_over(true);
    }

    /// Grants the lock to the first waiter, or frees it. `holds`: it is the caller's still.
    fn hand_over(&self, mut holds: bool) {
        // (Foreign code, for which the lock must not be held.)
        let mut gone = Left::default();
        let mut by = By::plain();
        let granted = loop {
            let word = self.line.load();
            if !holds && (word.has(LOCKED) || word.is_free()) {
                // Invariant 4: somebody else was quicker, or nobody waits any more.
                break None;
            }
            if word.is_free() {
                if self.cas(word, word.without(LOCKED)) {
                    break None;
                }
                continue;
            }
            let Some(popped) = self.pop(word, |word| self.bump(word.with(LOCKED))) else { continue };
            holds = true;
            let Some(claim) = popped.claim(0, &mut by) else { continue };
            if bug!("grant_unchecked") {
                break claim.done();
            }
            match claim.grant() {
                Ok(waker) => break waker,
                Err(left) if bug!("left_goes_at_once") => Left::default().add(left),
                Err(left) => gone.add(left),
            }
        };
        wake_all(granted.into_iter());
    }

    /// Goes on for somebody who was told that the lock is free, and does not look.
    fn pass_on(&self) {
        let word = self.line.load();
        if !word.has(LOCKED) && !word.is_free() {
            self.unlocked(word);
        }
    }

    /// Tells those who wait that the lock is free: see the header.
    #[cold]
    fn tell(&self) {
        let word = self.line.glance();
        if starving(word) > 0 && !is_vain(word) {
            self.step_anew();
        }
        let mut wakes = InTurn::default();
        // (The next one only after the one before was woken, who may have taken the lock by then.)
        while let Some((waker, answers)) = self.pop_told() {
            // A waker that panics may not have woken anybody.
            if wakes.call(|| waker.wake()) && answers {
                break;
            }
        }
        wakes.end();
    }

    /// Takes out the first of those who wait and can be woken, to be told; and says whether it is known to answer. `None`: nobody
    /// waits, or somebody has taken the lock, who will tell the others.
    fn pop_told(&self) -> Option<(Waker, bool)> {
        loop {
            let word = self.line.load();
            if word.has(LOCKED) || word.is_free() {
                return None;
            }
            let Some(popped) = self.pop(word, |word| self.bump(word)) else { continue };
            // SAFETY: all that waits here is an `Acquire`, which stows this.
            let missed = unsafe { popped.peek::<usize>() };
            match popped.notify() {
                // Without a waker: a select that is over, or at work already, and that may or may not look.
                Ok(None) => {}
                Ok(Some(waker)) => return Some((waker, missed > 0 || bug!("everybody_answers"))),
                // (At once: nothing is held.)
                Err(left) => Left::default().add(left),
            }
        }
    }

    /// Counts one more that starves, or one less. False: there are too many for one more.
    #[cold]
    fn count_starving(&self, one_more: bool) -> bool {
        self.step_anew();
        let changed = self.update(|word| {
            let rest = word.rest() & !VAIN;
            match (one_more, starving(word)) {
                (true, STARVING) => None,
                (true, _) => Some(word.with_rest(rest + ONE_STARVING)),
                (false, count) => {
                    debug_assert!(count > 0, "invariant 5");
                    Some(word.with_rest(rest - ONE_STARVING))
                }
            }
        });
        changed.is_some()
    }

    /// One more step back of a newcomer; false: there were enough.
    fn step(&self) -> bool {
        if prim::MODEL {
            return false;
        }
        // (Acquire: one that starves has begun the count anew before it said so.)
        self.line.load();
        let now = micros() | 1;
        // Since when, in the upper half (odd), and how often: 0 before the first time.
        let begun = |steps| if steps == 0 { u64::from(now) << 32 } else { steps };
        // ORDERING: Relaxed: a number; the word orders what has to be.
        let one_more = self
            .line
            .spare()
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |steps| Some(begun(steps) + 1));
        let before = one_more.map_or(0, begun);
        // (Signed: who has read the clock before the first one did is early, not late.)
        let late = now.wrapping_sub((before >> 32) as u32) as i32;
        (before as u32) + 1 < STEPS && late < LONGEST
    }

    /// Begins the count anew: those told from now on get as much time.
    fn step_anew(&self) {
        if !prim::MODEL {
            // ORDERING: as in `step`.
            self.line.spare().store(0, Ordering::Relaxed);
        }
    }

    /// Says whether it is in vain that newcomers step back for long. (Said late, it may undo what one that starves has said
    /// meanwhile, until that one is told in vain once more.)
    #[cold]
    fn set_vain(&self, vain: bool) {
        let _ = self.update(|word| {
            let is_new = starving(word) > 0 && vain != is_vain(word);
            is_new.then(|| word.with_rest(word.rest() ^ VAIN))
        });
    }

    /// Panics if an invariant does not hold, while nobody is at work here.
    pub(super) fn assert_valid(&self) {
        let word = self.line.load();
        Primitive::assert_valid(self);
        assert!(word.is_free() || !word.has(FAIR) || word.has(LOCKED), "invariant 4");
    }
}

/// Taking the lock, as a branch.
pub struct Acquire {
    raw: Borrowed<RawMutex>,
    /// How often it was told in vain, up to [`PATIENCE`], in units of [`ONE_MISSED`]; and flags. 0 of one that has come just now.
    past: u32,
}

/// It steps back no more for those who starve.
const OLD: u32 = 1;
/// It is counted among them.
const STARVES: u32 = 2;
const ONE_MISSED: u32 = 4;

/// The lock, held, before it is a guard's: dropped, it is unlocked. (On any thread.)
pub(crate) struct Locked(Borrowed<RawMutex>);

impl Acquire {
    /// # Safety
    /// The lock outlives this.
    #[inline]
    pub(super) unsafe fn new(raw: *const RawMutex) -> Self {
        // SAFETY: the caller's promise; whoever gets the lock keeps the mutex.
        Acquire { raw: unsafe { Borrowed::new(raw) }, past: 0 }
    }

    fn missed(&self) -> u32 {
        self.past / ONE_MISSED
    }

    #[cold]
    #[inline(never)]
    fn starve(&mut self) {
        if self.past & STARVES != 0 {
            self.raw.step_anew();
            self.raw.set_vain(false);
        } else if self.raw.count_starving(true) {
            self.past |= STARVES;
        }
    }

    /// Lets others run first, as somebody starves.
    #[cold]
    fn step_back(&mut self) {
        if !self.raw.step() {
            self.past |= OLD;
            self.raw.set_vain(true);
        }
    }

    #[inline]
    fn starve_no_more(&mut self) {
        if self.past & STARVES != 0 {
            self.recover();
        }
    }

    #[cold]
    #[inline(never)]
    fn recover(&mut self) {
        self.raw.count_starving(false);
        self.past &= !STARVES;
    }

    /// (Without a store for one that has come just now: an unlock would have to wait for that.)
    #[inline(always)]
    fn locked(&mut self) -> Locked {
        if self.past != 0 {
            self.settle();
        }
        Locked(self.raw)
    }

    /// What is past is over. (A select may go on with it.)
    #[cold]
    #[inline(never)]
    fn settle(&mut self) {
        self.starve_no_more();
        self.past = 0;
    }
}

impl Branch for Acquire {
    outcome!(Locked);

    fn wish(&self) -> (&'static str, Thing) {
        self.raw.wish()
    }

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<Locked>) -> bool {
        let word = self.raw.line.glance();
        if word.has(LOCKED) || starving(word) > 0 {
            return false;
        }
        let is_taken = is_open(word) && self.raw.take(word);
        if is_taken {
            tray.put(self.locked());
        }
        is_taken
    }

    fn attempt(&mut self, _by: &mut By, tray: &mut Tray<Locked>) -> Attempt<()> {
        let word = self.raw.line.glance();
        let steps_back = starving(word) > 0 && !is_vain(word) && self.past & OLD == 0;
        if steps_back && is_open(word) && !thread::is_in_haste() {
            self.step_back();
            return Attempt::Again;
        }
        if self.raw.try_lock() || (!word.has(FAIR) && !steps_back && self.raw.lock_soon()) {
            tray.put(self.locked());
            Attempt::Ready(())
        } else {
            Attempt::Wait
        }
    }

    /// The payload says whether it is known to answer.
    fn stow(&mut self, node: NodeRef) {
        // SAFETY: the node is the owner's, and empty.
        unsafe { node.put(Parcel::new(self.missed() as usize)) };
    }

    fn register(&mut self, node: &Waiter, pair: bool) -> bool {
        debug_assert!(!pair, "a lock has one side");
        if self.raw.line_up_unless(node, 0, is_open).is_none() {
            return false;
        }
        self.past |= OLD;
        if self.missed() >= PATIENCE {
            self.starve();
        }
        true
    }

    stands!(self => &*self.raw);

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<Locked>) {
        tray.put(self.locked());
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        abandon_grant(node, || self.raw.unlock())
    }

    fn told(&mut self) {
        if self.missed() < PATIENCE {
            self.past += ONE_MISSED;
        }
    }

    /// Invariant 5, for one that is lent: it starves again once it waits again.
    #[inline]
    fn lost(&mut self) {
        self.starve_no_more();
    }

    /// It may be behind one that was told and is dead.
    #[inline]
    fn is_worth_a_look(&self) -> bool {
        is_open(self.raw.line.glance())
    }

    /// Invariant 3.
    fn pass_on(&mut self) {
        if !bug!("told_passes_nothing_on") {
            self.raw.pass_on();
        }
    }
}

impl Drop for Acquire {
    #[inline]
    fn drop(&mut self) {
        self.starve_no_more();
    }
}

impl Locked {
    /// It is a guard's now.
    #[inline]
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.unlock();
    }
}
