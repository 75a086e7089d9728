//! A line of those who wait to be told, without what it is about: the kernel of [`Notify`](super::notify), the
//! [condition variable](super::condvar), the [group](super::wait_group), the [barrier](super::barrier), and a group of one that is
//! a [`CancelToken`](crate::fiber::CancelToken).
//!
//! ```text
//!   63       28 27           6 5          0
//!   [ version  ][first waiter][   flags   ]      flags: – STORED – MANY MORE –
//!
//!   63    32 31     0
//!   [ round  ][ count  ]     how often all were told; of a group, how many are at work; of a barrier, how many have come
//! ```
//!
//! | part | set by | means |
//! |---|---|---|
//! | `STORED` | `tell_one`, if nobody waits | the next one who would wait need not |
//! | `version` | whoever changes who waits, `tell_one` with STORED, and `tell_all` in any case | see [`line`](crate::wait) |
//! | round | `tell_all`, before the version | one that began in an earlier round was told |
//! | count | a group's workers | the last one to be done tells all: the round ends in the exchange that makes it zero, and who comes after that is of the next |
//! | | who comes to a barrier | the last one to come tells all, in the same way: see [`barrier`](super::barrier) |
//!
//! # Steps
//!
//! `next`: the next waiter comes into the word. `V`: version + 1.
//!
//! | word | operation | exchange | then |
//! |---|---|---|---|
//! | its round is over | wait | – | was told |
//! | STORED | wait | not STORED | was told |
//! | nobody waits, not STORED | wait | me | |
//! | somebody waits | wait | joins the line behind the word | |
//! | somebody waits | tell one | next, V | grants, or leaves it in the node; one that has left, or whose round or select is over, or that only watches: goes on |
//! | nobody waits | tell one | STORED, V | where these are kept |
//! | any | tell all | round + 1, and V | goes on with those in line |
//! | any | the last worker is done | count 0 and round + 1, and V | the same |
//! | the first one's round is over | tell those in line | next, V | grants |
//! | the first one's round is not over | tell those in line | – | all others came later: wakes those told |
//!
//! Each waiter's place says in which round it began, so that `tell_all` tells exactly those that began before it. (That is
//! when the future was made, and not when it was first polled: between these two nothing is missed.)
//!
//! One that was told alone and leaves without having taken note passes it on; one that was told with all others does not.
//!
//! *A select at work.* A branch waits also while its select is polled, when nobody can claim that: its node goes back to the
//! select. What it was told is in that node, put there before the claim is tried, when the node is the peer's (popped is
//! claimed), and the claim's exchange hands it over with the node. So it counts as told. The select finds it when it takes the
//! node back, as it does before it waits again, wins, or leaves: the branch has *heard*, and need not wait; if another one has
//! won, it passes that on. (To go on as if nobody waited, as elsewhere, would lose it: what is stored is one.) A select that has
//! ended has no use for what is in a node that was popped, nor does it look there; one that only asks what is ready is not told,
//! as it takes nothing: there it is as if nobody waited.
//!
//! # Invariants
//! 1. STORED implies that nobody waits.
//! 2. Nobody whose round is over waits, unless a `tell_all` is at work.
//! 3. No foreign code runs before all who are to be told have been.
//!
//! *Why 2 holds.* Whoever enters loads the word first, then the round. If it has loaded the word after the exchange of `tell_all`,
//! it acquires that, and sees the round; otherwise its own exchange fails. Whoever joins the line confirms by an exchange, and
//! looks at the round once more after that: if `tell_all` came before, it leaves again by itself, as somebody of the next round may
//! stand in front of it; otherwise `tell_all` finds it. That look is a read-modify-write, as a load might be carried out before the
//! exchange of the word: so it comes before that of `tell_all`, which acquires it, or after it, and sees the round.
//!
//! # Limits
//!
//! One that waits, and is lent to a select, leaves the line as the select begins: until that stands in the line itself, having
//! looked at each of its branches, it does not wait.
//!
//! A round has 32 bits: one that was not polled, or is suspended in the middle of a poll, while exactly a multiple of 2^32 rounds
//! come and go takes a later one for its own, and waits for the next.
//!
//! # Progress, cost
//!
//! Lock-free. Locked instructions, counted: tell one 1, tell all 2, nobody waits; wait 1, behind somebody 3, and the cloned waker;
//! each told 2, or 3 to 5 where it stood behind somebody, and the waking. Nothing recurs.
//!
//! # Orderings
//!
//! Telling releases and being told acquires, on the word, the round, the node's state, or the anchor. Who has joined behind
//! somebody releases that on the round, and acquires.

use super::borrowed::Borrowed;
use crate::prim::{self, AtomicU64, Ordering};
use crate::task::watch::Thing;
use crate::wait::{
    Attempt, Branch, By, Left, Line, Met, NodeRef, OWN, Parcel, Primitive, State, Tray, Waiter, Word,
    outcome, stands,
};

const STORED: u64 = OWN[0];
/// The round, above the count.
const ROUND_SHIFT: u32 = 32;
const ONE_ROUND: u64 = 1 << ROUND_SHIFT;
const COUNT: u64 = ONE_ROUND - 1;

fn round_of(rounds: u64) -> u32 {
    (rounds >> ROUND_SHIFT) as u32
}

pub(crate) struct Signal {
    line: Line,
    rounds: AtomicU64,
}

/// How one was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Alone,
    WithAll,
}

impl Default for Signal {
    fn default() -> Self {
        Signal::new()
    }
}

impl Primitive for Signal {
    const SAYS: bool = true;

    fn has_few(&self) -> bool {
        true
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn is_to_wait(&self, word: Word) -> bool {
        !word.has(STORED)
    }
}

impl Signal {
    prim::const_fn! {
        pub(super) fn new() -> Signal {
            Signal::of(0)
        }

        /// That of a group in which so many are at work.
        pub(crate) fn of(count: u32) -> Signal {
            Signal { line: Line::new(0), rounds: AtomicU64::new(count as u64) }
        }
    }

    /// The round that is now.
    #[inline]
    pub(super) fn round(&self) -> u32 {
        // ORDERING: Acquire pairs with `tell_all`: what was done before it is seen by who sees the round.
        round_of(self.rounds.load(Ordering::Acquire))
    }

    /// Of a group: how many are at work. Of a barrier: how many have come.
    pub(crate) fn count(&self) -> usize {
        // ORDERING: Acquire pairs with `done`: who sees nobody at work sees what they did.
        (self.rounds.load(Ordering::Acquire) & COUNT) as usize
    }

    /// So many more are at work. False, and nothing done: too many.
    #[must_use]
    pub(super) fn add(&self, n: usize) -> bool {
        let n = n as u64;
        // ORDERING: Relaxed: those who wait for what is added know of it by other means.
        self.change_rounds(Ordering::Relaxed, |rounds| (n <= COUNT - (rounds & COUNT)).then(|| rounds + n))
            .is_some()
    }

    /// Changes the round and the count by one exchange; gives what they were. `None`: `change` has refused.
    #[inline]
    fn change_rounds(&self, ordering: Ordering, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let mut rounds = self.rounds.load(Ordering::Relaxed);
        loop {
            match self.rounds.compare_exchange_weak(rounds, change(rounds)?, ordering, Ordering::Relaxed) {
                Ok(_) => return Some(rounds),
                Err(now) => rounds = now,
            }
        }
    }

    /// One less is at work; the last one tells all. False, and nothing done: nobody is.
    #[must_use]
    pub(super) fn done(&self) -> bool {
        let is_last = self.count_down();
        if is_last == Some(true) {
            self.tell_waiting();
        }
        is_last.is_some()
    }

    /// One less is at work; whether that was the last one: then the round is over, and those who wait are to be told. `None`, and
    /// nothing done: nobody is.
    pub(crate) fn count_down(&self) -> Option<bool> {
        // ORDERING: Release pairs with the look at zero, and with `round`; Acquire: the last one hands on what the others did.
        let rounds = self.change_rounds(Ordering::AcqRel, |rounds| match rounds & COUNT {
            0 => None,
            1 if !bug!("group_ends_its_round_late") => Some((rounds - 1).wrapping_add(ONE_ROUND)),
            _ => Some(rounds - 1),
        });
        let is_last = rounds? & COUNT == 1;
        if is_last && bug!("group_ends_its_round_late") {
            self.next_round();
        } else if is_last {
            self.renew_version();
        }
        Some(is_last)
    }

    /// Tells the first one in line that was not told with all others. If nobody waits, and with `store`, the next one need not
    /// wait.
    pub(super) fn tell_one(&self, store: bool) {
        let mut gone = Left::default();
        let mut by = By::plain();
        loop {
            let word = self.line.load();
            if word.is_free() {
                // (Also where it is stored already: who takes it sees what was done before this.)
                if !store || self.cas(word, word.with(STORED).plus(1)) {
                    break;
                }
                continue;
            }
            // (A `tell_all` may be at work, and not have come to it: it was told all the same.)
            let is_over = self.said(word) != self.round() && !bug!("tells_one_of_those_told");
            let told = if is_over { Told::WithAll } else { Told::Alone };
            if self.tell_first(word, told, &mut by, &mut gone) && !is_over {
                break;
            }
        }
        by.wake();
    }

    /// Tells the one that stands in this word; `by` is to wake it. False: look again.
    fn tell_first(&self, word: Word, told: Told, by: &mut By, gone: &mut Left) -> bool {
        let Some(popped) = self.pop(word, |word| self.bump(word)) else { return false };
        // SAFETY: a `Hearing` hears how it was told, if it was, and there is one side. (Who wraps one does not ask what came back.)
        let claim = match unsafe { popped.tell(Some(told), by) } {
            Met::Waiting(claim) => claim,
            Met::AtWork => return !bug!("told_at_work_is_nobody"),
            Met::Nobody => return false,
        };
        by.wakes_unless_gone(if bug!("told_unchecked") { Ok(claim.done()) } else { claim.grant() }, gone)
    }

    /// Tells all who began before this.
    pub(super) fn tell_all(&self) {
        self.next_round();
        self.tell_waiting();
    }

    /// Tells those who wait, and whose round is over.
    pub(crate) fn tell_waiting(&self) {
        let mut by = By::plain();
        self.tell_those_in_line(&mut by);
        by.wake();
    }

    /// Begins the next round; those of the one before are to be told.
    fn next_round(&self) {
        // ORDERING: Release pairs with `round`.
        self.rounds.fetch_add(ONE_ROUND, Ordering::AcqRel);
        self.renew_version();
    }

    /// Whoever is about to enter the line and has not seen the round fails.
    fn renew_version(&self) {
        if !bug!("round_is_silent") {
            self.update(|word| Some(self.bump(word)));
        }
    }

    /// Tells those in line whose round is over; `by` is to wake them.
    fn tell_those_in_line(&self, by: &mut By) {
        let mut gone = Left::default();
        loop {
            let word = self.line.load();
            if word.is_free() {
                break;
            }
            let said = self.said(word);
            if said == self.round() && !bug!("tells_newcomers") {
                if self.line.load() == word {
                    break;
                }
                continue;
            }
            self.tell_first(word, Told::WithAll, by, &mut gone);
        }
    }

    /// Takes what is stored.
    #[inline]
    fn take_stored(&self) -> bool {
        self.update(|word| word.has(STORED).then(|| word.without(STORED))).is_some()
    }

    /// Panics if an invariant does not hold, while nobody is at work here.
    pub(super) fn assert_valid(&self) {
        let word = self.line.load();
        let count = Primitive::assert_valid(self);
        assert!(count == 0 || !word.has(STORED), "invariant 1");
        assert!(word.is_free() || self.said(word) == self.round(), "invariant 2");
    }
}

/// Whether who comes to a barrier for so many is the last one.
fn is_last(rounds: u64, size: usize) -> bool {
    (rounds & COUNT) + 1 >= size as u64
}

/// What a node says of which nobody was told.
const NOT_TOLD: Option<Told> = None;

/// Waiting to be told, as a branch.
pub struct Hearing {
    signal: Borrowed<Signal>,
    /// In which it began.
    round: u32,
    what: What,
    /// How it was told, if it was asked before it was awaited, or while its select was at work.
    heard: Option<Told>,
    /// It was the latter: if the select goes without it, so does what was heard.
    heard_at_work: bool,
}

/// For whom it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Notify,
    Condvar,
    Group,
    Barrier,
    Token,
}

impl Hearing {
    /// # Safety
    /// The signal outlives this.
    pub(crate) unsafe fn new(signal: *const Signal, what: What) -> Self {
        // SAFETY: the caller's promise.
        let signal = unsafe { Borrowed::new(signal) };
        Hearing { signal, round: signal.round(), what, heard: None, heard_at_work: false }
    }

    /// It was told, and is to say so when it is asked the next time.
    pub(super) fn remember(&mut self, told: Told) {
        (self.heard, self.heard_at_work) = (Some(told), false);
    }

    /// How it was told, if it was to say so, which it is not any more.
    pub(super) fn forget(&mut self) -> Option<Told> {
        self.heard.take()
    }

    /// Of a barrier for so many: one more has come, which counts in the present round. False, and nothing done: it is the last one.
    pub(super) fn come(&mut self, size: usize) -> bool {
        // ORDERING: Release pairs with `come_last`.
        let rounds = self.signal.change_rounds(order!(AcqRel, "barrier_comes_relaxed"), |rounds| {
            (!is_last(rounds, size)).then(|| rounds + 1)
        });
        self.round = rounds.map_or(self.round, round_of);
        rounds.is_some()
    }

    /// Of a barrier for so many: the last one has come, and all are told; `by` is to wake them. False, and nothing done: it is not
    /// the last.
    pub(super) fn come_last(&self, size: usize, by: &mut By) -> bool {
        // ORDERING: Acquire: what was done by those who came is handed on; Release pairs with `round`.
        let rounds = self.signal.change_rounds(Ordering::AcqRel, |rounds| {
            is_last(rounds, size).then(|| (rounds & !COUNT).wrapping_add(ONE_ROUND))
        });
        if rounds.is_some() {
            self.signal.renew_version();
            self.signal.tell_those_in_line(by);
        }
        rounds.is_some()
    }

    /// Of a barrier: it does not count any more. False, and nothing done: its round is over.
    pub(super) fn forgo(&self) -> bool {
        let is_over = |rounds| round_of(rounds) != self.round && !bug!("forgoes_in_a_later_round");
        // ORDERING: Relaxed: see the header of the barrier.
        let change = |rounds| (!is_over(rounds)).then(|| rounds - 1);
        self.signal.change_rounds(Ordering::Relaxed, change).is_some()
    }

    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.signal.round() != self.round
    }

    /// The same, asked by one that has joined the line: either it sees the next round, or who begins that finds it.
    fn is_over_by_now(&self) -> bool {
        // ORDERING: AcqRel: see the header.
        round_of(self.signal.rounds.fetch_add(0, Ordering::AcqRel)) != self.round
    }

    /// How it was told that waits by this node.
    ///
    /// # Safety
    /// The node is this operation's, and DONE.
    unsafe fn told(node: NodeRef) -> Told {
        // SAFETY: who has told it has put this.
        unsafe { node.take::<Option<Told>>() }.open().expect("it was told")
    }

    /// Whether what is told alone while nobody waits is stored for who comes.
    fn keeps(&self) -> bool {
        matches!(self.what, What::Notify)
    }

    /// Whether it is a group's, and nobody is at work.
    fn is_at_zero(&self) -> bool {
        matches!(self.what, What::Group | What::Token) && self.signal.count() == 0
    }

    /// Told, and not taken note of.
    pub(super) fn pass(&self, told: Told) {
        if told == Told::Alone && !bug!("told_alone_is_lost") {
            self.signal.tell_one(self.keeps());
        }
    }
}

impl Branch for Hearing {
    outcome!(Told);

    const DISCARDS: bool = true;

    fn wish(&self) -> (&'static str, Thing) {
        let (operation, kind) = match self.what {
            What::Notify => ("notified", "notify"),
            What::Condvar => ("wait", "condvar"),
            What::Group => ("wait_all", "wait group"),
            What::Barrier => ("wait_for_all", "barrier"),
            What::Token => ("cancelled", "cancel token"),
        };
        (operation, Thing::new(kind, &*self.signal))
    }

    fn attempt(&mut self, _by: &mut By, tray: &mut Tray<Told>) -> Attempt<()> {
        tray.put(if let Some(told) = self.heard.take() {
            told
        } else if self.is_over() || self.is_at_zero() {
            Told::WithAll
        } else if self.keeps() && self.signal.take_stored() {
            Told::Alone
        } else {
            return Attempt::Wait;
        });
        Attempt::Ready(())
    }

    fn stow(&mut self, node: NodeRef) {
        // SAFETY: the node is this operation's, and empty.
        unsafe { node.put(Parcel::new(NOT_TOLD)) };
    }

    fn given_back(&mut self, node: NodeRef) {
        // SAFETY: the node is this operation's; `stow` has put this, or who has told it.
        let told = unsafe { node.take() }.open();
        if told != NOT_TOLD && !bug!("heard_at_work_is_forgotten") {
            (self.heard, self.heard_at_work) = (told, true);
        }
    }

    fn pass_on(&mut self) {
        if std::mem::take(&mut self.heard_at_work) && !bug!("heard_at_work_is_kept") {
            self.discard();
        }
    }

    fn register(&mut self, node: &Waiter, pair: bool) -> bool {
        debug_assert!(!pair, "a signal has one side");
        // The word first: see invariant 2.
        let is_told =
            |word: Word| word.has(STORED) || self.heard.is_some() || self.is_over() || self.is_at_zero();
        let Some(word) = self.signal.line_up_unless(node, self.round, is_told) else { return false };
        // It may have come behind one of the next round: see invariant 2.
        let waits = word.is_free() || bug!("joins_late") || !self.is_over_by_now();
        waits || !self.signal.leave(node)
    }

    stands!(self => &*self.signal);

    unsafe fn finish(&mut self, node: NodeRef, tray: &mut Tray<Told>) {
        // SAFETY: DONE.
        tray.put(unsafe { Self::told(node) });
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        match node.as_ref().leave() {
            State::DONE => {
                // SAFETY: DONE.
                let told = unsafe { Self::told(node.as_ref()) };
                node.free();
                self.pass(told);
            }
            // Whoever tells it finds that it has left, and frees the node.
            state => debug_assert_eq!(state, State::OPEN),
        }
        false
    }

    fn restore(&mut self, tray: &mut Tray<Told>) {
        match tray.take() {
            // (A count that was zero once may not be so any more.)
            Some(Told::WithAll) => self.remember(Told::WithAll),
            Some(Told::Alone) => self.pass(Told::Alone),
            None => {}
        }
    }

    fn discard(&mut self) {
        if let Some(told) = self.heard.take() {
            self.pass(told);
        }
    }
}
