//! The line: who waits for a primitive. The first one stands in the primitive's [word](super::word), the next ones in a
//! [small array](super::few), all others in a [list](super::list).
//!
//! ```text
//!   word:  [ rest | A | flags ]          one:  the number in the word
//!                   │ MORE
//!   few:   [ C ][ – ][ B ][ – ] …        few:  a cache line, allocated with the first second waiter
//!                   │ MANY
//!   many:  E ─▶ D ─▶ nil                 many: any number
//! ```
//!
//! Nothing moves from level to level: those in *one* came first, then *few*, then *many*. Who pops takes the first one and
//! brings the next one into the word in the same compare-exchange.
//!
//! # The steps
//!
//! * **enter**: nobody waits, the word says that one has to: one compare-exchange, `A := me`.
//! * **pop**: one compare-exchange, `A := next` or nobody. Without `MORE` nothing else is looked at. With it:
//!   load the word *w*; read A's [place](super::place), and its cell; load the word again, it must still be *w*; if A came up from
//!   the line, *settle* it: from now on it cannot leave through the line. If it has left already, go past it. Scan for the oldest
//!   of the word's side. Then the exchange; if it fails, look again: nothing is in anybody's hands. If it succeeds, A's cell is
//!   freed, before anything else happens to A.
//! * **join**: place := a new stay, in the line; push; then, as long as one has to wait still, *confirm*: raise `MORE` by an
//!   exchange that changes the version. Brought into the word meanwhile: it waits. No reason any more: leave, start again.
//! * **leave**: if it stands in the word, a pop of itself. From few: free the cell, unless it is settled; from the list: place →
//!   `Left`, out of the list; then one exchange of the word, which changes the version: only then is the node free. If it is
//!   settled, and does not stand in the word, a peer has it.
//! * **park** another waker: put it beside, then change the version while the node still waits. Whoever pops later sees it.
//!
//! *The version* is part of the primitive's rest, and [`Primitive::bump`] changes it and nothing else.
//!
//! # Why it holds
//!
//! If a pop's exchange succeeds, nobody has confirmed, left the line, or been brought into the word since *w* was loaded,
//! as all of these change the word. So the word is the sequence lock of what is behind it: a scan need not be a snapshot, and the
//! number that it found is still the oldest one's when it goes into the word. Since the first waiter leaves the word in the same
//! step that brings in the next one, nobody ever waits behind an empty word. So newcomers have one rule: who finds somebody joins,
//! who finds nobody enters.
//!
//! # Invariants
//! 1. Nobody in the word implies neither `MORE` nor `MANY`.
//! 2. Somebody who has confirmed and still stands in the line implies `MORE`, and is of the word's side.
//! 3. Who was brought into the word is popped only under `MORE`, and after it was settled.
//! 4. A node is freed, or enters again, only when no exchange that brings it into the word can succeed any more.
//! 5. Confirming, leaving the line and parking anew change the version. (Most primitives do not change that of a free word: there
//!    only the exchange counts. Whoever comes later has seen it, and no word from before comes again.)
//!
//! # Progress, cost
//!
//! Lock-free: an exchange fails only because another one has succeeded, or, in a primitive with few versions, because a scan that
//! began half of them ago is still under way ([`Primitive::may_turn`]): its thread is waited for. Locked instructions: enter, pop
//! and leave 1 each in *one*; join, pop and leave 2 each in *few*; join 2 and pop 4 in *many* (plus a pin each where they look at
//! nodes of other chunks, see [`Look`]).
//!
//! # Orderings
//!
//! All exchanges of the word are acquire and release: who pops a node sees what its owner wrote before it entered, and who
//! enters after a pop comes after it. A node that a peer brings up was released where it was pushed: each popper that reads its
//! number from the word has acquired either the exchange of its owner, or that of a peer that had acquired the cell or the link.
//!
//! Sources: the three representations of a channel's queue are N. Koval's ("Algorithms in Kotlin coroutines"); he proposes
//! hardware transactions for the step from one to the next, which current processors do not offer any more.

use super::anchor::By;
use super::batch::wake_all;
use super::cache::{self, Look};
use super::few::{Cell, Few};
use super::list::List;
use super::node::{Claim, NodeRef, Popped, Waiter};
use super::place::{At, Stay};
use super::returned::Returned;
use super::steps::interrupt;
use super::word::{MANY, MORE, SENDERS, STAMP_MASK, TWO, Word};
use crate::prim::{self, AtomicU32, AtomicU64, Mutex, MutexGuard, OnceBox, Ordering, fence};
use crate::task::thread;

/// A primitive's word, and who waits behind the first.
pub(crate) struct Line {
    word: AtomicU64,
    behind: OnceBox<Behind>,
}

/// What few primitives ever need.
struct Behind {
    few: Few,
    many: List,
    returned: Mutex<Returned>,
    /// How many scans are under way, of words of either half.
    scans: [AtomicU32; 2],
    /// For the primitive's own use.
    spare: AtomicU64,
}

/// A scan that is under way, until this is dropped.
#[must_use]
pub(crate) struct Scan<'a>(&'a AtomicU32);

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        // ORDERING: Release: what was looked at was so before.
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Line {
    prim::const_fn! {
        pub(crate) fn new(word: u64) -> Line {
            Line { word: AtomicU64::new(word), behind: OnceBox::new() }
        }
    }

    #[inline(always)]
    pub(crate) fn load(&self) -> Word {
        Word(self.word.load(Ordering::Acquire))
    }

    /// The same, once a scan was begun.
    #[inline(always)]
    fn reload(&self) -> Word {
        // ORDERING: see `may_turn`.
        Word(self.word.load(if prim::MODEL { Ordering::Acquire } else { Ordering::SeqCst }))
    }

    /// The same, where an exchange follows that acquires, or where it is only a hint.
    #[inline(always)]
    pub(crate) fn glance(&self) -> Word {
        Word(self.word.load(Ordering::Relaxed))
    }

    /// The word itself, for the quick ways of a primitive.
    #[inline(always)]
    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.word
    }

    #[inline]
    fn behind(&self) -> &Behind {
        self.behind.get_or_make(|| Behind {
            few: Few::new(),
            many: List::new(),
            returned: Mutex::new(Returned::default()),
            scans: [AtomicU32::new(0), AtomicU32::new(0)],
            spare: AtomicU64::new(0),
        })
    }

    /// A number for a primitive that needs one rarely; it is 0 at first. (It may have to be allocated.)
    pub(crate) fn spare(&self) -> &AtomicU64 {
        &self.behind().spare
    }

    fn returned(&self) -> MutexGuard<'_, Returned> {
        self.behind().returned.lock()
    }

    /// How many nodes were given back and not taken yet.
    pub(crate) fn count_returned(&self) -> usize {
        self.returned().held().count()
    }

    pub(crate) fn is_any_returned(&self) -> bool {
        self.returned().held().next().is_some()
    }
}

/// What has a line.
pub(crate) trait Primitive {
    /// Whether the next ones behind the first wait in the small array, which tells by their versions who came first. (Where versions
    /// jump between stays, those that join at the same time may change places.) Otherwise all but the first wait in the list.
    fn has_few(&self) -> bool {
        false
    }

    fn line(&self) -> &Line;

    /// Whether the place of a waiter says how much it wants, all the while it stands in line, instead of the version: for
    /// peers that have to know before they pop. (Such a primitive has one side, and nothing is given back to it.)
    const SAYS: bool = false;

    /// What the place of the first waiter says. It counts only if the word is still this one afterwards, or is changed
    /// from this one.
    #[inline]
    fn said(&self, word: Word) -> u32 {
        cache::place(word.first()).stay().stamp()
    }

    /// The word was just changed to this.
    #[inline(always)]
    fn changed(&self, _to: Word) {}

    /// There is something now that was given back, or nothing any more. (Called under the lock of what was given back; the flag in
    /// the word is set before, and cleared after.)
    fn says_given(&self, _is_given: bool) {}

    /// The same with another version, if somebody waits.
    fn bump(&self, word: Word) -> Word {
        word.plus(1)
    }

    /// The version, as a stamp.
    fn stamp(&self, word: Word) -> u32 {
        word.rest() as u32 & STAMP_MASK
    }

    /// The first waiter comes; the word has not got it yet.
    fn arrive(&self, word: Word) -> Word {
        word
    }

    /// The last waiter has gone.
    fn empty(&self, word: Word) -> Word {
        word
    }

    /// Whether the first waiter may have come with a version that is over: it had looked before others came and went, who left the
    /// word as it was. Also true once it was given a new one for that.
    #[inline(always)]
    fn is_stale(&self, _word: Word) -> bool {
        false
    }

    /// A stale word with a new version; or itself, if it has that.
    fn renewed(&self, word: Word) -> Word {
        word
    }

    /// Of a primitive with so few versions that a word with waiters could come again while a thread is suspended between a scan and
    /// its exchange: the bit that tells in which half of its versions a word is. For others 0.
    #[inline(always)]
    fn half(&self) -> u64 {
        0
    }

    /// Begins a scan, which counts only if the word is still this one after that. Until the scan ends, a word that has changed does
    /// not come again: see [`may_turn`](Self::may_turn).
    #[inline(always)]
    fn scan(&self, word: Word) -> Option<Scan<'_>> {
        if self.half() == 0 {
            return None;
        }
        let scans = &self.line().behind().scans[usize::from(word.has(self.half()))];
        // ORDERING: see `may_turn`.
        if prim::MODEL {
            scans.fetch_add(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        } else {
            scans.fetch_add(1, Ordering::SeqCst);
        }
        Some(Scan(scans))
    }

    /// Whether an exchange may bring the word into `to`'s half of its versions: not while a scan of a word of that half is under
    /// way. For the scan's word to come again, the word would have to leave that half, and come back to it.
    ///
    /// ORDERING: the scan has counted itself, and then found its word by a `reload`, both SeqCst; whoever comes back has loaded a
    /// later word, then makes a fence, then looks at the count. The reload comes before that later word, and so before the fence;
    /// the scan's counting comes before the reload: so it is seen. (Models have a fence instead, as SeqCst alone is no more than
    /// acquire and release there.)
    #[cold]
    #[inline(never)]
    fn may_turn(&self, to: Word) -> bool {
        fence(Ordering::SeqCst);
        let Some(behind) = self.line().behind.get() else { return true };
        // ORDERING: Acquire pairs with the end of a scan.
        let may = behind.scans[usize::from(to.has(self.half()))].load(Ordering::Acquire) == 0;
        if !may {
            // (A sleep: the scan's thread may have to run first, and this one could keep it from that.)
            thread::pause(&mut { 16 });
        }
        may || bug!("turns_into_a_scan")
    }

    /// Whether one that joins behind those of the word has reason to wait.
    fn is_to_wait(&self, word: Word) -> bool;

    #[inline(always)]
    fn cas(&self, from: Word, to: Word) -> bool {
        let flips = from.0 ^ to.0;
        // (It is the highest bit, except in models: mostly only this is checked.)
        if (prim::MODEL || flips >> 63 != 0) && flips & self.half() != 0 && !self.may_turn(to) {
            return false;
        }
        self.cas_within(from, to)
    }

    /// The same, of a change that leaves the word in its half.
    #[inline(always)]
    fn cas_within(&self, from: Word, to: Word) -> bool {
        // ORDERING: see the header.
        let changed =
            self.line().word.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if changed {
            self.changed(to);
        }
        changed
    }

    /// Changes the word, unless `change` refuses; gives what it was.
    #[inline(always)]
    fn update(&self, change: impl Fn(Word) -> Option<Word>) -> Option<Word> {
        loop {
            let word = self.line().load();
            if self.cas(word, change(word)?) {
                return Some(word);
            }
        }
    }

    /// Puts a node in line, where one has to wait with this word: into it, or behind who stands there. `flags`: its side, and
    /// perhaps TWO. False: it stands nowhere; the word has changed, or there is no reason to wait any more.
    #[inline(always)]
    fn line_up(&self, word: Word, node: &Waiter, flags: u64) -> bool {
        self.line_up_saying(word, node, flags, 0)
    }

    /// The same; its place is to say this, if the primitive [`SAYS`](Self::SAYS) something.
    #[inline(always)]
    fn line_up_saying(&self, word: Word, node: &Waiter, flags: u64, said: u32) -> bool {
        if word.is_free() { self.enter(word, node, flags, said) } else { self.join(word, node, flags, said) }
    }

    /// Puts a node in line, of a primitive with one side, unless there is nothing to wait for: `refuses` says so of each word that
    /// was loaded, and looks at anything else after that. The word that it entered with, or joined behind; `None`: it stands
    /// nowhere.
    #[inline]
    fn line_up_unless(&self, node: &Waiter, said: u32, refuses: impl Fn(Word) -> bool) -> Option<Word> {
        loop {
            let word = self.line().load();
            if refuses(word) {
                return None;
            }
            if self.line_up_saying(word, node, 0, said) {
                return Some(word);
            }
            thread::back_off();
        }
    }

    /// Puts a node into the word, where nobody stands. False: the word has changed.
    #[inline]
    fn enter(&self, word: Word, node: &Waiter, flags: u64, said: u32) -> bool {
        debug_assert!(word.is_free());
        let arrived = self.arrive(word);
        let stamp = if Self::SAYS { said } else { self.stamp(arrived) };
        node.as_ref().place().begin(At::Word, stamp);
        self.cas(word, arrived.with_first(node.number()).with(flags))
    }

    /// Puts a node in line behind the word, where somebody of its side stands. False: there is no reason to wait any more;
    /// it stands nowhere.
    #[cold]
    fn join(&self, word: Word, node: &Waiter, side: u64, said: u32) -> bool {
        let behind = self.line().behind();
        let (number, place) = (node.number(), node.as_ref().place());
        let in_few = self.has_few() && (!word.has(MANY) || bug!("few_beside_many"));
        let push_to_few = || {
            let stay = place.begin(At::Few, said);
            let version = || self.stamp(self.line().load());
            Some((behind.few.push(number, stay, side, version)?, stay))
        };
        let (cell, stay, flags) = match in_few.then(push_to_few).flatten() {
            Some((cell, stay)) => (Some(cell), stay, MORE),
            None => {
                let stay = place.begin(At::Many, if Self::SAYS { said } else { side as u32 });
                behind.many.push(number, &Look::by(node));
                (None, stay, MORE | MANY)
            }
        };
        interrupt();
        if bug!("no_confirm") {
            return self.update(|word| Some(word.with(flags))).is_some();
        }
        loop {
            let word = self.line().load();
            let is_unchanged = cell.map_or_else(|| place.stay() == stay, Cell::is_unchanged);
            if !is_unchanged || word.first() == number {
                // A peer has brought it up.
                return true;
            }
            if !word.is_free() && word.side() == side && !word.has(TWO) && self.is_to_wait(word) {
                let confirmed = word.with(flags);
                let to = if bug!("confirm_by_nothing") { confirmed } else { self.bump(confirmed) };
                if self.cas(word, to) {
                    return true;
                }
            } else {
                return !self.leave(node);
            }
        }
    }

    /// Takes the first waiter out and the next one in, and changes the rest: one exchange. `None`: look again.
    #[inline(always)]
    fn pop(&self, word: Word, change: impl FnOnce(Word) -> Word) -> Option<Popped> {
        if self.is_stale(word) && !bug!("stale_is_popped") && !self.renew(word) {
            return None;
        }
        if word.has(MORE) {
            return self.pop_more(word, change);
        }
        // SAFETY: taken out by this very exchange.
        self.cas(word, change(self.empty(word.freed()))).then(|| unsafe { Popped::new(word) })
    }

    /// Takes the first waiter out, and claims it, which waits on `side`. `None`: look again.
    #[inline(always)]
    fn pop_and_claim(&self, word: Word, side: u64, by: &mut By) -> Option<Claim> {
        self.pop(word, |word| self.bump(word))?.claim(side, by)
    }

    /// Gives a stale word a new version, and then its first waiter that as its stamp, unless it came up from the line: so stamps
    /// are in the order of the hand-overs. (In this order, and before it is popped: whoever comes late with a stamp finds one
    /// there.) True: both are done.
    #[cold]
    #[inline(never)]
    fn renew(&self, word: Word) -> bool {
        let now = self.renewed(word);
        if now != word {
            self.cas(word, now);
            return false;
        }
        let place = cache::place(word.first());
        let stay = place.stay();
        // The place has to be that of the stay that the word speaks of.
        if self.line().load() != word {
            return false;
        }
        interrupt();
        let stamped = stay.stamped(At::Word, self.stamp(word));
        stay.at() != At::Word
            || stay == stamped
            || bug!("renewed_keeps_its_stamp")
            || place.change(stay, stamped)
    }

    #[inline(never)]
    fn pop_more(&self, word: Word, change: impl FnOnce(Word) -> Word) -> Option<Popped> {
        let _scan = self.scan(word);
        let place = cache::place(word.first());
        let stay = place.stay();
        let found = self.cell(word.first(), stay);
        // The place has to be that of the stay that the word speaks of, and the cell its cell.
        if self.line().reload() != word && !bug!("settle_unchecked") {
            return None;
        }
        let look = Look::at(word.first());
        let (cell, stay) = match found {
            Some(cell) => (Some(cell.settle(self.stamp(word))?), stay),
            None => (None, self.settle(word, stay, &look)?),
        };
        let to = self.without_first(word, &look)?;
        interrupt();
        if bug!("freed_before_it_is_popped") {
            cell.into_iter().for_each(Cell::free);
        }
        if self.cas(word, change(to)) {
            if let Some(cell) = cell {
                // (Where the place says a wish it keeps saying that, and `Few`: without a cell it waits no more.)
                if !Self::SAYS {
                    place.set(cell.popped(stay));
                }
                interrupt();
                if !bug!("freed_before_it_is_popped") {
                    cell.free();
                }
            }
            // SAFETY: taken out by this very exchange.
            return Some(unsafe { Popped::new(word) });
        }
        if stay.at() == At::Settling {
            // Whoever looks again need not ask the list. Fails if somebody else was quicker.
            place.change(stay, stay.moved(At::Word));
        }
        None
    }

    /// The cell of a stay in few, if it has one still.
    #[inline(always)]
    fn cell(&self, number: usize, stay: Stay) -> Option<Cell<'_>> {
        if stay.at() == At::Few { self.line().behind().few.find(number, stay) } else { None }
    }

    /// The word with the next one of the line in it. `None`: look again.
    #[inline(always)]
    fn without_first(&self, word: Word, look: &Look<'_>) -> Option<Word> {
        Some(match self.next(word, look)? {
            0 => self.empty(word.freed()),
            next => word.with_first(next),
        })
    }

    /// The oldest in line of the word's side; 0: nobody. `None`: look again. It counts if the word has not changed since it
    /// was loaded.
    #[inline(always)]
    fn next(&self, word: Word, look: &Look<'_>) -> Option<usize> {
        if !word.has(MORE) {
            return Some(0);
        }
        let behind = self.line().behind();
        if self.has_few() {
            if let Some(number) = behind.few.oldest(word.side()) {
                return Some(number);
            }
        }
        if !word.has(MANY) {
            return Some(0);
        }
        let oldest = behind.many.oldest(look, |number| {
            let stay = cache::place(number).stay();
            stay.at() == At::Many && (Self::SAYS || u64::from(stay.stamp()) == word.side())
        });
        oldest.ok().map(|oldest| oldest.unwrap_or(0))
    }

    /// For a first waiter that has no cell: makes sure that it cannot leave through the line any more, and stands in no list.
    /// `stay` is what its place said while the word was `word`. Gives what the place says now; `None`: look again.
    #[inline(always)]
    fn settle(&self, word: Word, stay: Stay, look: &Look<'_>) -> Option<Stay> {
        let (number, place) = (word.first(), cache::place(word.first()));
        let now = match stay.at() {
            At::Word => return Some(stay),
            // (In few: its cell was gone while the word was this one. So it has left.)
            At::Few | At::Left => {
                if bug!("ghosts_are_served") {
                    return Some(stay);
                }
                if let Some(to) = self.without_first(word, look) {
                    self.cas(word, self.bump(to));
                }
                return None;
            }
            At::Many => {
                let stamp = if Self::SAYS { stay.stamp() } else { self.stamp(word) };
                let now = stay.stamped(At::Settling, stamp);
                if !place.change(stay, now) {
                    return None;
                }
                now
            }
            At::Settling if bug!("settling_is_settled") => return Some(stay),
            At::Settling => stay,
        };
        self.line().behind().many.take_out(number, look, || place.stay() == now);
        Some(now)
    }

    /// Takes a node of its owner out. False: a peer has it.
    #[inline(always)]
    fn leave(&self, node: &Waiter) -> bool {
        if !prim::MODEL {
            // As the slow way does first.
            let word = self.line().load();
            let is_alone = word.first() == node.number() && !word.has(MORE);
            if is_alone && self.cas(word, self.bump(self.empty(word.freed()))) {
                return true;
            }
        }
        self.leave_slowly(node)
    }

    #[cold]
    #[inline(never)]
    fn leave_slowly(&self, node: &Waiter) -> bool {
        let (number, place) = (node.number(), node.as_ref().place());
        loop {
            // The place and the cell first: once they say that the word decides, that stays so.
            let stay = place.stay();
            let cell = self.cell(number, stay);
            let word = self.line().load();
            if word.first() == number {
                if let Some(_popped) = self.pop(word, |word| self.bump(word)) {
                    return true;
                }
                continue;
            }
            match (stay.at(), cell) {
                (At::Few, Some(cell)) if !cell.is_settled() => {
                    if !cell.leave() {
                        continue;
                    }
                }
                (At::Many, _) => {
                    let left = stay.moved(At::Left);
                    if !place.change(stay, left) {
                        continue;
                    }
                    interrupt();
                    self.line().behind().many.take_out(number, &Look::by(node), || place.stay() == left);
                }
                // What is settled, or has no cell any more, leaves the word only by a pop; what came from the list, only after it
                // has left that.
                _ => return false,
            }
            if bug!("leaves_without_a_step") {
                return true;
            }
            // Nobody can bring it into the word after this. (Also if the word seems free: the load may be old, and whoever has come
            // since be about to bring it up. The exchange sees what is there.)
            loop {
                let word = self.line().load();
                let _scan;
                let to = if word.first() == number {
                    _scan = self.scan(word);
                    if self.line().reload() != word {
                        continue;
                    }
                    self.without_first(word, &Look::by(node))
                } else {
                    Some(word)
                };
                if to.is_some_and(|to| self.cas(word, self.bump(to))) {
                    return true;
                }
            }
        }
    }

    /// Changes the version while the node of the caller waits. False: a peer has it.
    #[cold]
    fn touch(&self, node: &Waiter) -> bool {
        let (number, place) = (node.number(), node.as_ref().place());
        loop {
            // The word first: if it is still this one in the end, and has been all the while, nobody was brought up since.
            let word = self.line().load();
            if word.first() == number {
                // (That the word comes again does no harm: then the node stands there again, which only its owner brings about.)
                if bug!("touch_changes_nothing") || self.cas(word, self.bump(word)) {
                    return true;
                }
                continue;
            }
            let _scan = if bug!("touch_lets_the_word_come_again") { None } else { self.scan(word) };
            if self.half() != 0 && self.line().reload() != word {
                continue;
            }
            let stay = place.stay();
            let stands = match stay.at() {
                At::Few => self.cell(number, stay).is_some_and(|cell| !cell.is_settled()),
                at => at == At::Many,
            };
            if !stands {
                if self.line().load() == word {
                    return false;
                }
                // It may have come up meanwhile.
                continue;
            }
            if bug!("touch_changes_nothing") || self.cas(word, self.bump(word)) {
                return true;
            }
        }
    }

    /// Passes on a node that was given back, finished or not: to the first receiver, or to the next one that comes.
    /// `flag` says in the word that something was given back.
    #[cold]
    fn give_back(&self, node: NodeRef, flag: u64) {
        // Whoever has popped it may not have said its place in the order yet: so this does.
        let stay = node.place().stay();
        if let Some(cell) = self.cell(node.number(), stay) {
            debug_assert!(cell.is_settled(), "who waits still leaves, and gives nothing back");
            if !bug!("given_back_unstamped") {
                node.place().set(cell.popped(stay));
            }
        }
        let mut by = By::plain();
        loop {
            let word = self.line().load();
            // (If there is no reason to wait any more, whoever stands there is about to be told to look.)
            let has_taker =
                |word: Word| word.serves(0) && (self.is_to_wait(word) || bug!("redirects_after_close"));
            if has_taker(word) {
                if let Some(claim) = self.pop_and_claim(word, 0, &mut by) {
                    return wake_all(Claim::redirect(claim, node).into_iter());
                }
                continue;
            }
            let mut returned = self.line().returned();
            // Under the lock nobody clears the flag. While it is set no receiver waits.
            let word = self.line().load();
            if word.has(flag) || !has_taker(word) && self.cas(word, word.with(flag)) {
                returned.insert(node);
                self.says_given(true);
                return;
            }
        }
    }

    /// Takes the first of what was given back that is finished. `Err(true)`: there is none that is; `Err(false)`: look
    /// again.
    #[cold]
    fn take_returned(&self, flag: u64) -> Result<NodeRef, bool> {
        let mut returned = self.line().returned();
        let taken = returned.take();
        if let Err(false) = taken {
            self.says_none_returned(flag);
        }
        taken
    }

    /// Whether something was given back that holds a value, or will; takes what does not.
    #[cold]
    fn is_anything_returned(&self, flag: u64) -> bool {
        loop {
            let mut returned = self.line().returned();
            if returned.held().next().is_some() {
                return true;
            }
            let Ok(node) = returned.take() else {
                self.says_none_returned(flag);
                return false;
            };
            drop(returned);
            Waiter::of(node).free();
        }
    }

    /// Under their lock: there are none.
    fn says_none_returned(&self, flag: u64) {
        self.says_given(false);
        let word = self.line().load();
        self.cas(word, word.without(flag));
    }

    /// How many there are in line, while nobody is at work here; the invariants hold.
    fn assert_valid(&self) -> usize {
        let word = self.line().load();
        let Some(behind) = self.line().behind.get() else {
            assert!(!word.has(MORE | MANY), "more wait, and there is nowhere to");
            return usize::from(!word.is_free());
        };
        // Who was brought up stands in both: from few until it is popped, from the list until it is settled.
        let mut len = behind.few.len() + behind.many.assert_valid();
        if !word.is_free() && matches!(cache::place(word.first()).stay().at(), At::Word | At::Settling) {
            len += 1;
        }
        assert!(!word.is_free() || len == 0, "nobody in the word, and somebody waits behind it");
        assert!(len <= 1 || word.has(MORE), "more wait, and the word does not say so");
        assert!(word.has(SENDERS) <= !word.is_free(), "a side, and nobody on it");
        len
    }
}
