//! The state of a fiber: one atomic word, flags below, reference count above.
//!
//! ```text
//!  63 …  11  10     9          8        7      6       5       4          3           2          1         0
//! │ count │ TIED │ SHIELDED │ SEIZED │ MAIN │ TOKEN │ WAKER │ INTEREST │ CANCELLED │ COMPLETE │ RUNNING │ SCHEDULED │
//! ```
//!
//! | flag | set by, when | cleared by |
//! |---|---|---|
//! | SCHEDULED | a wake or cancel from elsewhere of an idle fiber: a count of it is in a queue or on its way there; any wake or cancel of a running one (of a TIED one: see 9) | `start`, `finish_poll` |
//! | RUNNING | creation; a wake on the worker that then queues it; `start`; `seize`: the fiber is *owned* | `finish_poll`, `complete` |
//! | COMPLETE | `complete`: the future is gone, the outcome stored | never |
//! | CANCELLED | `cancel`, `seize`, `mark_ended` | never |
//! | INTEREST | creation: a join handle lives and owns the outcome | `drop_handle`, before COMPLETE only |
//! | WAKER | `publish_waker`: the join slot holds a waker | `withdraw_waker`, `drop_handle`, before COMPLETE only |
//! | TOKEN | `unpark` | `take_token` |
//! | MAIN | creation: the future of a `block_on`, which nobody can cancel | never |
//! | SEIZED | `seize` of a fiber that nobody owned: entries of it that queues still hold are stale | never |
//! | SHIELDED | `shield`, in a poll that no cancel came before: CANCELLED has to wait | `unshield`; `seize`, which does not wait |
//! | TIED | `finish_poll`, on the only worker of the executor, of a fiber that waits for the first time: see 9 | never |
//!
//! Invariants:
//!
//! 1. SCHEDULED without RUNNING: exactly one count is in a queue, or in the hands of who puts it there.
//! 2. RUNNING: the fiber is owned, by exactly one of: a thread that polls or ends it; its creator; one entry of a queue; whoever
//!    has seized it; for one that is TIED, see 9. The owner holds a count and alone may touch the future; an entry passes that on
//!    to whoever takes it out (each queue's release and acquire carry it), so a poll needs no more than a load to begin. SCHEDULED
//!    beside RUNNING is a wake-up since the last poll began. An owned entry is polled or ended, never just dropped.
//! 3. COMPLETE and RUNNING exclude each other, and no flag changes after COMPLETE except TOKEN and SHIELDED.
//! 4. The future exists exactly until its owner has dropped it, before COMPLETE. The outcome exists
//!    from COMPLETE on and belongs to the join handle if INTEREST is set, else to the thread that completed.
//! 5. The roster holds a count of a listed fiber until it is retired, and an unlisted fiber is completed by
//!    the one who created it; so the last count goes after COMPLETE, and it frees memory only.
//! 6. The join slot: see `join.rs`.
//! 7. Nothing of the fiber is touched after a transition that gave up the last count one held.
//! 8. Until COMPLETE there are `BIAS` counts more than holders. So a fiber that makes wakers of itself, or drops
//!    them, while it runs need not count at once: the frame of its poll notes how many (`here.rs`), and the word gets
//!    them all by the transition that ends the poll, or by `settle`. Others who have such a waker may give up its count before
//!    that; these are at most `MOST_OWED` counts, so the word does not say "the last" too early. And a count too many for a while
//!    does no harm: whoever runs the fiber has one.
//! 9. A TIED fiber is its worker's for life: RUNNING stays until COMPLETE, and that worker alone knows whether the fiber is
//!    queued, polled or waits, by the [tie](super::tie). So on that worker its polls, waits and wake-ups need no exchange at
//!    all. Anybody else who wakes or cancels it sets SCHEDULED, and injects an entry if that was not set. The entry *arrives*
//!    when the worker takes it from what was injected: there it becomes the fiber's one entry in the worker's hands if the fiber
//!    rests and is still SCHEDULED, and is dropped otherwise. For where the fiber is queued, what comes up polls it; where it is
//!    being polled, the end of the poll looks at SCHEDULED; and where that was cleared, the fiber was polled since, for this
//!    wake-up, too. (A cord has what was injected arrive before it queues anything itself, and so each fiber has the place of
//!    its first wake-up; or of the end of its poll, if it was woken in that. But an entry that arrives when the fiber was polled
//!    meanwhile may serve a later wake-up from elsewhere; and one that is cancelled with its parent has its place behind that.
//!    As all arrive at each turn, few of a fiber are on their way.) An entry that does not come up because the executor has
//!    ended may be dropped: the worker ends all its fibers as it leaves.
//!
//! Progress: every transition is lock-free (a retry means that another transition succeeded).
//!
//! ORDERING (whole file): each transition is an AcqRel read-modify-write of one location, so they are totally
//! ordered and each sees what happened before the previous ones. Pairs that matter: `wake*` → `start` (the
//! poll sees what the waker wrote; this is why a wake that changes nothing still writes), `finish_poll` →
//! `wake*` → queue → `start` (the next thread sees the future as the last poll left it; of a TIED one it is the same
//! thread), `complete` → `is_complete` and `drop_handle` (the outcome), `publish_waker` → `complete` (the waker),
//! `release` → `release` (the memory).
//!
//! Source: the word and the named transitions follow tokio's `runtime/task/state.rs`; that a wake which finds
//! the fiber scheduled must still write is from `async-task`.

use crate::prim::{AtomicUsize, Ordering};
use crate::task::tie::Tie;

const SCHEDULED: usize = 1 << 0;
const RUNNING: usize = 1 << 1;
const COMPLETE: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
const INTEREST: usize = 1 << 4;
const WAKER: usize = 1 << 5;
const TOKEN: usize = 1 << 6;
const MAIN: usize = 1 << 7;
const SEIZED: usize = 1 << 8;
const SHIELDED: usize = 1 << 9;
const TIED: usize = 1 << 10;
const ONE: usize = 1 << 11;

/// The counts that a fiber has beside those of its holders, until it is complete.
const BIAS: usize = 1 << 10;

/// How many counts a poll may owe.
pub(super) const MOST_OWED: isize = BIAS as isize;

/// So many counts that only a leak in a loop gets there (on 32-bit machines, a million wakers of one fiber); beyond lies a
/// wrap-around, so the process ends.
const MAX: usize = usize::MAX / 8 * 7;

// Weaker with a planted bug, which a model in `loom-tests/tests/models/task.rs` must catch.
#[inline(always)]
fn bias() -> usize {
    if bug!("task_without_bias") { 0 } else { BIAS }
}

/// The word.
#[derive(Debug)]
pub(crate) struct State(AtomicUsize);

/// What a wake-up, an unpark or a cancel asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wake {
    /// A count for the run queue is in the caller's hands: schedule the fiber with it.
    Schedule,
    /// Nothing is to be done.
    Nothing,
}

/// As [`Wake`], for a wake-up that consumes a count.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum WakeByValue {
    /// The caller's count is the run queue's now: schedule the fiber with it.
    Schedule,
    /// The caller's count is gone.
    Nothing,
    /// The caller's count is gone and was the last: free the memory.
    Last,
}

/// Who is to queue a fiber that a wake-up makes ready.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By<'a> {
    /// A worker of its executor, which puts it into a queue of its own: the entry owns the fiber. Its tie, if it is the only
    /// worker.
    Owner(&'a Tie),
    /// Anybody else. It must not take ownership: a fiber that is not `Send` has to be ended by its cord.
    Other,
}

/// What is to be done with a fiber taken from a run queue.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Start {
    /// Poll it.
    Poll,
    /// Drop its future unpolled.
    Cancelled,
    /// Somebody else ended it or is about to: drop the queue's count.
    Stale,
}

/// What a poll has left behind in its frame.
#[derive(Debug)]
#[must_use]
pub(crate) struct Left {
    /// The fiber has woken itself.
    pub(crate) woke_itself: bool,
    /// Counts that the word has yet to get.
    pub(crate) owed: isize,
}

/// What follows a poll that returned `Pending`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Finish {
    /// The poller's count is gone; the fiber must not be touched.
    Idle,
    /// It was woken meanwhile: still owned, and to be queued again.
    Again,
    /// It was cancelled meanwhile: still owned; drop the future and complete.
    Cancelled,
}

/// Who has a fiber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Nobody: it waits to be woken.
    Idle,
    /// A queue, or who puts it there.
    Queued,
    /// A thread, or a queue.
    Owned,
    /// It has ended.
    Complete,
}

/// What the completing thread owns.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Completed {
    /// No join handle: the outcome is the completing thread's to drop.
    pub(crate) outcome: bool,
    /// The join slot holds a waker: take it and wake it.
    pub(crate) waker: bool,
    /// Its count is gone, as nothing is left to do: it must not touch the fiber.
    pub(crate) gone: bool,
}

/// What a join handle that goes away owns.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum DropHandle {
    /// The fiber lives on, detached. `waker`: the join slot's waker is the caller's to drop.
    Detached { waker: bool },
    /// The fiber is complete: the outcome, unless it was taken, is the caller's to drop.
    Complete,
}

impl State {
    /// A fiber that its creator is about to queue, or to end. Counts: the roster's, the queue's, the join handle's.
    pub(crate) fn spawned() -> Self {
        State(AtomicUsize::new(RUNNING | INTEREST | ((3 + bias()) * ONE)))
    }

    /// The fiber of a `block_on`, about to be queued. Counts: the roster's, the queue's, the caller's.
    pub(crate) fn main() -> Self {
        State(AtomicUsize::new(RUNNING | MAIN | ((3 + bias()) * ONE)))
    }

    /// One transition: always a write, also where nothing changes (see the header).
    fn update<R>(&self, order: Ordering, mut step: impl FnMut(usize) -> (usize, R)) -> R {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let (next, result) = step(seen);
            // ORDERING: see the header; a failure only reads the word again.
            match self.0.compare_exchange_weak(seen, next, order, Ordering::Relaxed) {
                Ok(_) => return result,
                Err(now) => seen = now,
            }
        }
    }

    fn has_to_end(word: usize) -> bool {
        word & CANCELLED != 0 && (word & SHIELDED == 0 || bug!("task_cancel_ignores_shield"))
    }

    /// How a wake-up changes the word, but for that of a TIED fiber by its worker; true: the fiber has to be queued.
    fn woken(word: usize, by: By<'_>) -> (usize, bool) {
        if word & (COMPLETE | TIED) == TIED && !bug!("task_tied_is_not_told") {
            (word | SCHEDULED, word & SCHEDULED == 0)
        } else if word & (COMPLETE | SCHEDULED) != 0 {
            (word, false)
        } else if word & RUNNING != 0 {
            (word | SCHEDULED, false)
        } else if matches!(by, By::Owner(_)) || bug!("task_others_own") {
            (word | RUNNING, true)
        } else {
            (word | SCHEDULED, true)
        }
    }

    /// The same, with a count for the queue.
    fn scheduled(word: usize, by: By<'_>) -> (usize, Wake) {
        match Self::woken(word, by) {
            (next, true) => (Self::one_more(next), Wake::Schedule),
            (next, false) => (next, Wake::Nothing),
        }
    }

    /// The tie, if the fiber is TIED and this is its worker.
    #[inline]
    fn tie<'a>(&self, by: By<'a>) -> Option<&'a Tie> {
        match by {
            // ORDERING: Relaxed: set on this thread, or by who was the worker before.
            By::Owner(tie) if self.0.load(Ordering::Relaxed) & TIED != 0 => Some(tie),
            _ => None,
        }
    }

    /// A wake-up of a TIED fiber by its worker.
    #[inline]
    fn wake_tied(&self, tie: &Tie) -> Wake {
        if !tie.wake() {
            return Wake::Nothing;
        }
        self.retain();
        Wake::Schedule
    }

    /// A transition that a wake-up may be part of: `step` says how else the word changes, and whether it is. The worker of a TIED
    /// fiber wakes it after that.
    fn update_and_wake(&self, by: By<'_>, mut step: impl FnMut(usize) -> (usize, bool)) -> Wake {
        let tie = self.tie(by);
        let wake = self.update(Ordering::AcqRel, |word| match step(word) {
            (next, false) => (next, Wake::Nothing),
            (next, true) if tie.is_some() => (next, Wake::Schedule),
            (next, true) => Self::scheduled(next, by),
        });
        match tie {
            Some(tie) if wake == Wake::Schedule => self.wake_tied(tie),
            _ => wake,
        }
    }

    /// idle → RUNNING or SCHEDULED, running → SCHEDULED|RUNNING; the count goes to the queue, or is dropped.
    #[inline]
    pub(crate) fn wake_by_value(&self, by: By<'_>) -> WakeByValue {
        match self.tie(by) {
            None => self.wake_loose(by),
            Some(tie) if tie.wake() => WakeByValue::Schedule,
            Some(_) if self.release() => WakeByValue::Last,
            Some(_) => WakeByValue::Nothing,
        }
    }

    fn wake_loose(&self, by: By<'_>) -> WakeByValue {
        self.update(order!(AcqRel, "task_wake_relaxed"), |word| match Self::woken(word, by) {
            (next, true) => (next, WakeByValue::Schedule),
            (next, false) if next < 2 * ONE => (next - ONE, WakeByValue::Last),
            (next, false) => (next - ONE, WakeByValue::Nothing),
        })
    }

    /// idle → RUNNING or SCHEDULED with a new count, running → SCHEDULED|RUNNING.
    pub(crate) fn wake_by_ref(&self, by: By<'_>) -> Wake {
        if let Some(tie) = self.tie(by) {
            return self.wake_tied(tie);
        }
        if bug!("task_wake_without_write") && self.0.load(Ordering::Acquire) & SCHEDULED != 0 {
            return Wake::Nothing;
        }
        self.update(order!(AcqRel, "task_wake_relaxed"), |word| Self::scheduled(word, by))
    }

    /// As `wake_by_ref`, and sets TOKEN.
    pub(crate) fn unpark(&self, by: By<'_>) -> Wake {
        self.update_and_wake(by, |word| (word | TOKEN, true))
    }

    /// TOKEN → none; false if there was none.
    pub(crate) fn take_token(&self) -> bool {
        // ORDERING: pairs with `unpark`: the unparked fiber sees what the other did before.
        self.0.fetch_and(!TOKEN, Ordering::AcqRel) & TOKEN != 0
    }

    /// Sets CANCELLED; an idle fiber is queued, so that its own executor drops the future, unless it is SHIELDED. `None`: it was
    /// cancelled before, is complete, or cannot be cancelled.
    #[must_use]
    pub(crate) fn cancel(&self, by: By<'_>) -> Option<Wake> {
        let mut marked = false;
        let wake = self.update_and_wake(by, |word| {
            marked = word & (COMPLETE | CANCELLED | MAIN) == 0;
            if !marked || (bug!("task_cancel_forgets_running") && word & RUNNING != 0) {
                return (word, false);
            }
            (word | CANCELLED, word & SHIELDED == 0)
        });
        marked.then_some(wake)
    }

    /// Sets CANCELLED, of a fiber whose executor has ended.
    pub(crate) fn mark_ended(&self) {
        self.update(Ordering::AcqRel, |word| {
            (if word & (COMPLETE | MAIN) == 0 { word | CANCELLED } else { word }, ())
        });
    }

    /// Sets SHIELDED, in a poll. False: cancelled before, so that the poll had better end.
    #[must_use]
    pub(crate) fn shield(&self) -> bool {
        self.update(Ordering::AcqRel, |word| {
            debug_assert!(word & RUNNING != 0);
            if word & (CANCELLED | SHIELDED) == CANCELLED { (word, false) } else { (word | SHIELDED, true) }
        })
    }

    /// SHIELDED → none. A cancel that has waited goes on: an idle fiber is queued for it. (In a poll of its own it is not
    /// idle; but what shields may have moved away, and be dropped elsewhere.)
    pub(crate) fn unshield(&self, by: By<'_>) -> Wake {
        self.update_and_wake(by, |word| {
            let goes_on = word & (SHIELDED | CANCELLED) == SHIELDED | CANCELLED;
            (word & !SHIELDED, goes_on && !bug!("task_unshield_forgets_cancel"))
        })
    }

    /// An entry was taken from what was injected, by a worker: false: drop it (it is not the last count). See the header, 9.
    pub(crate) fn arrives(&self, tie: &Tie) -> bool {
        // ORDERING: Relaxed: all up to the wake-up that this entry is of was acquired with it.
        let word = self.0.load(Ordering::Relaxed);
        if word & (TIED | COMPLETE) != TIED {
            return true;
        }
        word & SCHEDULED != 0 && tie.wake_up()
    }

    /// An entry goes behind what was injected, which `arrive` has arrive: false: drop it (it is not the last count), as an entry of
    /// the same fiber was among that. (One that is ready only now goes behind that one's place.)
    pub(crate) fn goes_behind(&self, tie: &Tie, arrive: impl FnOnce()) -> bool {
        // ORDERING: Relaxed: this thread has it, or has just made it ready.
        let word = self.0.load(Ordering::Relaxed);
        let aside = word & (TIED | COMPLETE) == TIED && tie.step_aside();
        arrive();
        !aside || tie.wake_up()
    }

    /// SCHEDULED or owned by the entry → owned by the caller, who took the entry out.
    #[inline]
    pub(crate) fn start(&self, by: By<'_>) -> Start {
        // ORDERING: Relaxed: all up to the owner's push was acquired with the entry (invariant 2). A wake-up or a cancel
        // since then that is not seen here is seen by `finish_poll`, or an entry is on its way (9).
        let word = self.0.load(Ordering::Relaxed);
        match by {
            By::Owner(tie) if word & (TIED | COMPLETE) == TIED && tie.begin() => self.start_tied(word),
            _ if word & TIED != 0 && !bug!("task_tied_is_anybodys") => Start::Stale,
            _ if word & (RUNNING | SCHEDULED | CANCELLED | COMPLETE | SEIZED) == RUNNING => Start::Poll,
            _ => self.start_loose(),
        }
    }

    #[inline]
    fn start_tied(&self, word: usize) -> Start {
        if word & (SCHEDULED | CANCELLED) == 0 { Start::Poll } else { self.start_told() }
    }

    /// It was woken from elsewhere, or cancelled.
    #[cold]
    fn start_told(&self) -> Start {
        self.update(order!(AcqRel, "task_told_relaxed"), |word| {
            let start = if Self::has_to_end(word) { Start::Cancelled } else { Start::Poll };
            (word & !SCHEDULED, start)
        })
    }

    #[cold]
    fn start_loose(&self) -> Start {
        self.update(Ordering::AcqRel, |word| {
            if word & COMPLETE != 0 || (word & SEIZED != 0 && !bug!("task_start_ignores_seized")) {
                return (word, Start::Stale);
            }
            debug_assert!(word & (SCHEDULED | RUNNING) != 0, "a fiber was queued without being ready");
            let start = if Self::has_to_end(word) { Start::Cancelled } else { Start::Poll };
            ((word & !SCHEDULED) | RUNNING, start)
        })
    }

    /// RUNNING → idle, after a poll that returned `Pending`; or still owned, if it was woken or cancelled. `tie`: this is the only
    /// worker, with which it stays.
    #[inline]
    pub(crate) fn finish_poll(&self, left: &Left, tie: Option<&Tie>) -> Finish {
        // ORDERING: Relaxed: TIED is set by whoever polls the fiber. For a wake-up or a cancel that is not seen here an entry is on
        // its way (or it comes from the executor's end, which ends all).
        let word = self.0.load(Ordering::Relaxed);
        match tie {
            _ if word & TIED != 0 => self.finish_tied(word, left, tie),
            _ if left.woke_itself => {
                self.settle(left.owed);
                if Self::has_to_end(word) { Finish::Cancelled } else { Finish::Again }
            }
            Some(tie) => self.finish_first(left.owed, tie),
            None => self.finish_loose(left.owed, 0),
        }
    }

    #[inline]
    fn finish_tied(&self, word: usize, left: &Left, tie: Option<&Tie>) -> Finish {
        debug_assert!(word & RUNNING != 0 && word & COMPLETE == 0);
        // (The entry may have arrived in the poll, and so be gone.)
        // ORDERING: Acquire: what was injected before that arrives before this one is queued.
        let is_told = word & SCHEDULED != 0
            && !bug!("task_tied_forgets_what_arrived")
            && self.0.load(Ordering::Acquire) & SCHEDULED != 0;
        let (finish, given_up) = match tie {
            // The executor has ended, and another thread acts as its worker.
            None => (Finish::Cancelled, 0),
            Some(_) if Self::has_to_end(word) => (Finish::Cancelled, 0),
            Some(tie) if left.woke_itself || is_told || (tie.woken() && !bug!("task_tied_is_not_woken")) => {
                tie.queue_behind();
                (Finish::Again, 0)
            }
            Some(tie) => {
                tie.rest();
                (Finish::Idle, 1)
            }
        };
        // A poll that has left one waker behind has nothing to count: the waker gets the entry's count.
        if !bug!("task_tied_owes_nothing") {
            self.settle(left.owed - given_up);
        }
        finish
    }

    #[cold]
    fn finish_first(&self, owed: isize, tie: &Tie) -> Finish {
        let finish = self.finish_loose(owed, RUNNING | TIED);
        if finish == Finish::Idle {
            tie.rest();
        }
        finish
    }

    /// `kept`: the flags of one that waits.
    fn finish_loose(&self, owed: isize, kept: usize) -> Finish {
        self.update(Ordering::AcqRel, |word| {
            let word = Self::settled(word, owed);
            debug_assert!(word & RUNNING != 0 && word & (COMPLETE | SEIZED) == 0);
            if Self::has_to_end(word) && !bug!("task_finish_ignores_cancel") {
                (word, Finish::Cancelled)
            } else if word & SCHEDULED != 0 && !bug!("task_finish_ignores_wake") {
                (word & !SCHEDULED, Finish::Again)
            } else {
                debug_assert!(word >= (2 + bias()) * ONE, "the roster's count must be left");
                (((word & !RUNNING) | kept) - ONE, Finish::Idle)
            }
        })
    }

    /// idle or SCHEDULED → RUNNING|CANCELLED|SEIZED, from outside the executor (which has stopped, or never had it); a TIED one
    /// is for its worker to seize. A shield ends with the executor: whoever runs the fiber has to see the cancel. True: the caller
    /// owns it now, and has to end it. False: it is complete, or has an owner, who will end it (after the poll, if it is being
    /// polled).
    #[must_use]
    pub(crate) fn seize(&self, by: By<'_>) -> bool {
        let tie = self.tie(by);
        let seized = self.update(Ordering::AcqRel, |word| {
            let word = if bug!("task_seize_keeps_shield") { word } else { word & !SHIELDED };
            if word & COMPLETE != 0 {
                (word, Some(false))
            } else if word & RUNNING != 0 {
                (word | CANCELLED, None)
            } else {
                (word | RUNNING | CANCELLED | SEIZED, Some(true))
            }
        });
        // (A TIED one is always RUNNING: its tie knows more.)
        seized.unwrap_or_else(|| tie.is_some_and(Tie::seize))
    }

    /// RUNNING → COMPLETE; the outcome is stored, and nothing owed. `listed`: gives up the roster's count with it, which is not the
    /// last, as the caller has one. `leaves`: the caller's too, if neither the outcome nor a waker is left to it; that is not
    /// the last either, as then there is a join handle.
    pub(crate) fn complete(&self, listed: bool, leaves: bool) -> Completed {
        self.update(Ordering::AcqRel, |word| {
            debug_assert!(word & RUNNING != 0 && word & COMPLETE == 0);
            let (outcome, waker) = (word & INTEREST == 0, word & WAKER != 0);
            let gone = leaves && !outcome && (!waker || bug!("task_complete_leaves_waker"));
            let next = (word & !RUNNING) | COMPLETE;
            let counts = usize::from(listed) + usize::from(gone) + bias();
            (next - ONE * counts, Completed { outcome, waker, gone })
        })
    }

    /// Sets WAKER; false: complete, the slot's waker stays the handle's.
    #[must_use]
    pub(crate) fn publish_waker(&self) -> bool {
        self.update(Ordering::AcqRel, |word| {
            debug_assert!(word & (INTEREST | WAKER) == INTEREST);
            if word & COMPLETE != 0 && !bug!("task_publish_after_complete") {
                (word, false)
            } else {
                (word | WAKER, true)
            }
        })
    }

    /// WAKER → none; false: complete, the slot is the completing thread's.
    #[must_use]
    pub(crate) fn withdraw_waker(&self) -> bool {
        self.update(Ordering::AcqRel, |word| {
            debug_assert!(word & (INTEREST | WAKER) == INTEREST | WAKER);
            if word & COMPLETE != 0 { (word, false) } else { (word & !WAKER, true) }
        })
    }

    /// INTEREST → none before COMPLETE. The handle's count is given up apart, by `release`.
    pub(crate) fn drop_handle(&self) -> DropHandle {
        self.update(Ordering::AcqRel, |word| {
            if word & COMPLETE != 0 {
                let bug = DropHandle::Detached { waker: false };
                (word, if bug!("task_handle_ignores_complete") { bug } else { DropHandle::Complete })
            } else {
                (word & !(INTEREST | WAKER), DropHandle::Detached { waker: word & WAKER != 0 })
            }
        })
    }

    /// Ends the process where there are too many counts.
    #[inline(always)]
    fn limited(word: usize) -> usize {
        if word > MAX {
            std::process::abort();
        }
        word
    }

    fn one_more(word: usize) -> usize {
        Self::limited(word) + ONE
    }

    fn settled(word: usize, owed: isize) -> usize {
        Self::limited(word).wrapping_add_signed(owed * ONE as isize)
    }

    /// Counts what a poll owes, where no other transition does. For the owner, before COMPLETE.
    #[inline]
    pub(crate) fn settle(&self, owed: isize) {
        if owed != 0 {
            // ORDERING: as `release`, should it be counts that were given up.
            let before = self.0.fetch_add(Self::settled(0, owed), order!(AcqRel, "task_release_relaxed"));
            // (A fiber that wakes itself in each poll, and leaks wakers, may count nowhere else.)
            Self::limited(before);
        }
    }

    /// One count more; the caller holds one.
    pub(crate) fn retain(&self) {
        // ORDERING: Relaxed: the caller's own count keeps the fiber, and nothing is read because of this.
        Self::limited(self.0.fetch_add(ONE, Ordering::Relaxed));
    }

    /// One count less; true: it was the last, free the memory.
    #[must_use]
    pub(crate) fn release(&self) -> bool {
        // ORDERING: pairs with itself: the last one sees all that the others did.
        self.0.fetch_sub(ONE, order!(AcqRel, "task_release_relaxed")) < 2 * ONE
    }

    /// Whether the outcome is stored.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        // ORDERING: pairs with `complete`.
        self.0.load(Ordering::Acquire) & COMPLETE != 0
    }

    /// Who has it, for those who look.
    pub(crate) fn activity(&self, tie: &Tie) -> Activity {
        // ORDERING: Acquire: of an idle fiber, what its last poll has noted is seen.
        match self.0.load(Ordering::Acquire) {
            word if word & COMPLETE != 0 => Activity::Complete,
            word if word & RUNNING != 0 && !(word & TIED != 0 && tie.rests()) => Activity::Owned,
            word if word & SCHEDULED != 0 => Activity::Queued,
            _ => Activity::Idle,
        }
    }

    /// Whether a cancel has been asked for. (Of the fiber of a `block_on` never, though its end seizes it.)
    pub(crate) fn is_cancelled(&self) -> bool {
        // ORDERING: pairs with `cancel`.
        self.0.load(Ordering::Acquire) & (CANCELLED | MAIN) == CANCELLED
    }

    /// Whether the join slot holds a waker. For the join handle, which alone sets and clears it before COMPLETE.
    pub(crate) fn has_waker(&self) -> bool {
        self.0.load(Ordering::Acquire) & WAKER != 0
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;

    /// One that nobody owns, with two counts.
    fn idle() -> State {
        State(AtomicUsize::new(INTEREST | ((2 + BIAS) * ONE)))
    }

    fn left(owed: isize) -> Left {
        Left { woke_itself: false, owed }
    }

    /// Without the bias.
    fn count(state: &State) -> usize {
        state.0.load(Ordering::Relaxed) / ONE - if state.is_complete() { 0 } else { BIAS }
    }

    #[test]
    fn many_wakes_make_one_poll() {
        let tie = Tie::new();
        for by in [By::Owner(&tie), By::Other] {
            let state = idle();
            assert_eq!(state.wake_by_ref(by), Wake::Schedule);
            assert_eq!(count(&state), 3);
            for by in [By::Owner(&tie), By::Other, By::Owner(&tie)] {
                assert_eq!(state.wake_by_ref(by), Wake::Nothing);
            }
            assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
            assert_eq!(state.finish_poll(&left(0), None), Finish::Idle);
            assert_eq!(count(&state), 2);
        }
    }

    #[test]
    fn a_wake_during_the_poll_queues_again() {
        let state = State::spawned();
        assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
        assert_eq!(state.wake_by_ref(By::Other), Wake::Nothing);
        assert_eq!(state.finish_poll(&left(0), None), Finish::Again);
        assert_eq!(count(&state), 3);
        assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
        assert_eq!(state.complete(true, false), Completed { outcome: false, waker: false, gone: false });
        assert_eq!(count(&state), 2);
        assert_eq!(state.wake_by_ref(By::Owner(&Tie::new())), Wake::Nothing);
        assert_eq!(state.cancel(By::Owner(&Tie::new())), None);
        assert!(!state.seize(By::Other));
        assert_eq!(state.start(By::Owner(&Tie::new())), Start::Stale);
    }

    #[test]
    fn a_cancel_is_seen_wherever_the_fiber_is() {
        let tie = Tie::new();
        for by in [By::Owner(&tie), By::Other] {
            let queued = State::spawned();
            assert_eq!(queued.cancel(by), Some(Wake::Nothing));
            assert_eq!(queued.cancel(by), None);
            assert_eq!(queued.start(By::Owner(&Tie::new())), Start::Cancelled);

            let waits = idle();
            assert_eq!(waits.cancel(by), Some(Wake::Schedule));
            assert_eq!(waits.start(By::Owner(&Tie::new())), Start::Cancelled);

            let running = State::spawned();
            assert_eq!(running.start(By::Owner(&Tie::new())), Start::Poll);
            assert_eq!(running.cancel(by), Some(Wake::Nothing));
            assert_eq!(running.finish_poll(&left(0), None), Finish::Cancelled);

            let main = State::main();
            assert_eq!(main.cancel(by), None);
            assert_eq!(main.start(By::Owner(&Tie::new())), Start::Poll);
        }
    }

    #[test]
    fn who_seizes_makes_entries_stale() {
        let state = idle();
        assert_eq!(state.wake_by_ref(By::Other), Wake::Schedule);
        assert!(state.seize(By::Other));
        assert_eq!(state.start(By::Owner(&Tie::new())), Start::Stale);

        let owned = idle();
        assert_eq!(owned.wake_by_ref(By::Owner(&Tie::new())), Wake::Schedule);
        assert!(!owned.seize(By::Other));
        assert_eq!(owned.start(By::Owner(&Tie::new())), Start::Cancelled);
    }

    #[test]
    fn a_shield_lets_a_cancel_wait() {
        let idle = |by| {
            let state = State::spawned();
            assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
            assert!(state.shield() && state.shield());
            assert_eq!(state.finish_poll(&left(0), None), Finish::Idle);
            assert_eq!(state.cancel(by), Some(Wake::Nothing));
            state
        };
        let tie = Tie::new();
        for by in [By::Owner(&tie), By::Other] {
            let state = idle(by);
            assert!(state.is_cancelled());
            assert_eq!(state.wake_by_ref(by), Wake::Schedule);
            assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
            assert_eq!(state.unshield(by), Wake::Nothing);
            assert!(!state.shield(), "none begins after the cancel");
            assert_eq!(state.finish_poll(&left(0), None), Finish::Cancelled);

            let state = idle(by);
            assert_eq!(state.unshield(by), Wake::Schedule);
            assert_eq!(state.start(By::Owner(&Tie::new())), Start::Cancelled);

            let state = idle(by);
            assert!(state.seize(By::Other));

            let state = State::spawned();
            assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
            assert!(state.shield());
            assert!(!state.seize(By::Other));
            assert!(!state.shield());
            assert_eq!(state.finish_poll(&left(0), None), Finish::Cancelled);
        }
    }

    #[test]
    fn what_a_poll_owes_is_counted_as_it_ends() {
        let state = State::spawned();
        assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
        // Of two wakers that the poll has made one has been used.
        assert_eq!(state.wake_by_value(By::Other), WakeByValue::Nothing);
        assert_eq!(state.finish_poll(&left(2), None), Finish::Again);
        assert_eq!(count(&state), 4);
        assert_eq!(state.start(By::Owner(&Tie::new())), Start::Poll);
        assert_eq!(state.finish_poll(&left(-1), None), Finish::Idle);
        assert_eq!(count(&state), 2);
        assert_eq!(state.wake_by_ref(By::Owner(&Tie::new())), Wake::Schedule);
        state.settle(1);
        assert_eq!(count(&state), 4);
        assert_eq!(state.complete(true, false), Completed { outcome: false, waker: false, gone: false });
        assert_eq!(count(&state), 3);
    }

    /// One that waits with its only worker, with two counts.
    fn tied(tie: &Tie) -> State {
        let state = State::spawned();
        assert_eq!(state.start(By::Owner(tie)), Start::Poll);
        assert_eq!(state.finish_poll(&left(0), Some(tie)), Finish::Idle);
        assert_eq!((count(&state), state.activity(tie)), (2, Activity::Idle));
        state
    }

    #[test]
    fn what_a_tied_fiber_does_on_its_worker_leaves_the_word_as_it_is() {
        let tie = Tie::new();
        let by = By::Owner(&tie);
        let state = tied(&tie);
        let word = state.0.load(Ordering::Relaxed);
        for _ in 0..3 {
            // It has left one waker behind, which is used.
            assert_eq!(state.wake_by_value(by), WakeByValue::Schedule);
            assert_eq!(state.activity(&tie), Activity::Owned);
            assert_eq!(state.start(by), Start::Poll);
            assert_eq!(state.finish_poll(&left(1), Some(&tie)), Finish::Idle);
            assert_eq!(state.0.load(Ordering::Relaxed), word);
        }
        // Woken more than once, and in its poll.
        assert_eq!((state.wake_by_ref(by), state.wake_by_ref(by)), (Wake::Schedule, Wake::Nothing));
        assert_eq!(state.start(by), Start::Poll);
        assert_eq!((state.wake_by_ref(by), state.unpark(by)), (Wake::Nothing, Wake::Nothing));
        assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Again);
        assert_eq!(state.start(by), Start::Poll);
        assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Idle);
        assert_eq!(count(&state), 2);
        assert!(state.take_token());
    }

    /// An entry that is dropped.
    fn dropped(state: &State) {
        assert!(!state.release(), "it is never the last count");
    }

    #[test]
    fn a_tied_fiber_has_one_entry_in_its_workers_hands() {
        let tie = Tie::new();
        let by = By::Owner(&tie);
        let state = tied(&tie);
        assert_eq!(
            (state.wake_by_ref(By::Other), state.wake_by_ref(By::Other)),
            (Wake::Schedule, Wake::Nothing)
        );
        assert_eq!(state.activity(&tie), Activity::Queued);
        // Elsewhere an entry is nobody's.
        assert_eq!(state.start(By::Other), Start::Stale);
        assert!(state.arrives(&tie));
        assert_eq!(state.wake_by_ref(by), Wake::Nothing);
        assert_eq!(state.start(by), Start::Poll);
        assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Idle);
        assert_eq!((count(&state), state.activity(&tie)), (2, Activity::Idle));
        // It arrives where there is one, or after the poll.
        for before in [true, false] {
            assert_eq!(
                (state.wake_by_ref(By::Other), state.wake_by_ref(by)),
                (Wake::Schedule, Wake::Schedule)
            );
            assert_eq!(count(&state), 4);
            assert!(!before || !state.arrives(&tie));
            assert_eq!(state.start(by), Start::Poll);
            assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Idle);
            assert!(before || !state.arrives(&tie));
            dropped(&state);
            assert_eq!((count(&state), state.activity(&tie)), (2, Activity::Idle));
        }
        // It arrives in the poll, or after it.
        for within in [true, false] {
            assert_eq!(state.wake_by_ref(by), Wake::Schedule);
            assert_eq!(state.start(by), Start::Poll);
            assert_eq!(state.wake_by_ref(By::Other), Wake::Schedule);
            assert!(!within || !state.arrives(&tie));
            assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Again);
            assert!(within || !state.arrives(&tie));
            dropped(&state);
            assert_eq!((state.start(by), state.wake_by_ref(by)), (Start::Poll, Wake::Nothing));
            assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Again);
            assert_eq!(state.start(by), Start::Poll);
            assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Idle);
            assert_eq!(count(&state), 2);
        }
    }

    #[test]
    fn a_tied_fiber_has_the_place_of_its_first_wake_up() {
        let tie = Tie::new();
        let by = By::Owner(&tie);
        let state = tied(&tie);
        // From elsewhere before its worker's.
        assert_eq!((state.wake_by_ref(By::Other), state.wake_by_ref(by)), (Wake::Schedule, Wake::Schedule));
        assert!(!state.goes_behind(&tie, || assert!(state.arrives(&tie))));
        dropped(&state);
        assert_eq!(state.start(by), Start::Poll);
        // A yield: behind what came before it.
        assert_eq!(state.wake_by_ref(By::Other), Wake::Schedule);
        let yields = Left { woke_itself: true, owed: 0 };
        assert_eq!(state.finish_poll(&yields, Some(&tie)), Finish::Again);
        assert!(state.goes_behind(&tie, || assert!(!state.arrives(&tie))));
        dropped(&state);
        assert_eq!(state.start(by), Start::Poll);
        assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Idle);
        // An entry whose wake-up an earlier poll was for.
        assert_eq!((state.wake_by_ref(by), state.wake_by_ref(By::Other)), (Wake::Schedule, Wake::Schedule));
        assert_eq!(state.start(by), Start::Poll);
        assert_eq!(state.finish_poll(&left(0), Some(&tie)), Finish::Idle);
        assert_eq!(state.wake_by_ref(by), Wake::Schedule);
        assert!(state.goes_behind(&tie, || assert!(!state.arrives(&tie))));
        dropped(&state);
        assert_eq!(state.start(by), Start::Poll);
        assert_eq!(count(&state), 3);
        // Another thread acts as its worker, at the end.
        assert_eq!(state.finish_poll(&yields, None), Finish::Cancelled);
    }

    #[test]
    fn a_tied_fiber_is_its_workers_to_seize() {
        let tie = Tie::new();
        let by = By::Owner(&tie);
        for woken in [false, true] {
            let state = tied(&tie);
            if woken {
                assert_eq!(state.wake_by_ref(by), Wake::Schedule);
            }
            assert!(!state.seize(By::Other));
            assert!(state.seize(by));
            assert!(!state.seize(by));
            let _ = state.complete(true, false);
            assert_eq!((state.seize(by), state.start(by)), (false, Start::Stale));
            tie.queue_behind();
        }
    }

    #[test]
    fn a_cancel_of_a_tied_fiber_comes_up() {
        for by_worker in [false, true] {
            let tie = Tie::new();
            let owner = By::Owner(&tie);
            let by = if by_worker { owner } else { By::Other };
            let waits = tied(&tie);
            assert_eq!(waits.cancel(by), Some(Wake::Schedule));
            assert_eq!(waits.cancel(by), None);
            assert!(by_worker || waits.arrives(&tie));
            assert_eq!(waits.start(owner), Start::Cancelled);

            let tie = Tie::new();
            let owner = By::Owner(&tie);
            let by = if by_worker { owner } else { By::Other };
            let shielded = tied(&tie);
            assert_eq!(shielded.wake_by_ref(owner), Wake::Schedule);
            assert_eq!(shielded.start(owner), Start::Poll);
            assert!(shielded.shield());
            assert_eq!(shielded.finish_poll(&left(0), Some(&tie)), Finish::Idle);
            assert_eq!(shielded.cancel(by), Some(Wake::Nothing));
            assert_eq!(shielded.unshield(by), Wake::Schedule);
            assert!(by_worker || shielded.arrives(&tie));
            assert_eq!(shielded.start(owner), Start::Cancelled);
        }
    }

    #[test]
    fn tokens_do_not_add_up() {
        let state = idle();
        assert_eq!(state.unpark(By::Other), Wake::Schedule);
        assert_eq!(state.unpark(By::Other), Wake::Nothing);
        assert!(state.take_token());
        assert!(!state.take_token());
    }
}
