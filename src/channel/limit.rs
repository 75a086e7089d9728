//! Places that are reserved: a permit holds one, and whoever waits for one stands in the same line as the sends that wait.
//!
//! # Rings
//!
//! A ring has room in its [word](super::ring) for the count of its values, not for that of its permits. These lower the
//! *limit* beside the word, which takes the place of the capacity for all who send. It changes under a lock, and while the
//! word says HELD:
//!
//! ```text
//!   not HELD:  sends compare len with the limit, one exchange each        senders wait in the word
//!       │ hold                      ▲ let go: V
//!       ▼                           │
//!   HELD:      sends go by turns, under the lock                          all who send wait in the queue
//!              receives take what there is, then serve the queue
//! ```
//!
//! | word | operation, under the lock | then |
//! |---|---|---|
//! | CLOSED | reserve | fails |
//! | not HELD, len + n <= limit | reserve n | hold; limit − n; *serve* |
//! | not HELD, too few | reserve waits | hold; enters the queue |
//! | HELD | reserve, send | *serve*; if it is HELD still somebody waits, or no place is left |
//! | HELD | reserve waits, send waits | enters the queue |
//! | any | a permit sends | hold; to a receiver that waits, or len + 1 whatever the limit; limit + 1; *serve* |
//! | any | a permit goes | hold; limit + 1; *serve* |
//! | HELD | a receive took a value | *serve* |
//!
//! *Serve*, while there is room (len < limit): the senders in the word, which came before; then the first of the queue: a send's
//! value goes to a receiver or into the ring, a reservation gets limit − n. Who wants several waits until as many are free
//! at once: those behind wait for it. Nobody left in the queue, and limit > 0: let go.
//!
//! A plain sender in the word is taken out, and `len` raised, by one exchange, as where a receive lets it in. With two, a receive
//! in between could let in the next sender, which stands in the word by then, before it. (A select is taken out and claimed first,
//! as in the ring.)
//!
//! So senders that wait while all places are reserved wait in the queue, not in the word, where receivers may have to
//! wait. Those do not serve them: like reservations they wait for places; nobody overtakes.
//!
//! ## Invariants
//! 1. The limit changes under the lock and while the word says HELD; who lets go changes the version. So an exchange that
//!    was decided by another limit fails: the word was HELD between its load and the exchange.
//! 2. The limit is 0 (of a ring that has a capacity) only while it is HELD.
//! 3. Somebody is in the queue only while it is HELD; who makes room then serves afterwards.
//! 4. The lock is free, and nobody who made room is on the way to it: then the first of the queue wants more than there is.
//! 5. len + permits <= capacity, but for the moment in which a permit's value is in the ring and its place is not free yet.
//!
//! ## Orderings
//! Who loads a word that was let go acquires the limit that was stored before. Who loads one from before *hold* may read a
//! limit that comes after only if its exchange fails: *hold* acquires the exchanges before it, and what was read before
//! those. Who has read such a limit has acquired *hold* with it, and so does not look at the older word again for ever. A look that
//! comes to "full", or "empty", makes no exchange, and may be wrong: who is going to tell it asks under the lock
//! ([`Shared::is_unsure`]).
//!
//! # Other channels
//!
//! There a permit is a place that was taken from the [room](super::room), where places are counted from the first reservation on,
//! and reservations wait in that as senders do: see [`places`](super::places).
//!
//! # Progress
//!
//! While the word says HELD each operation of either side (but a receive that finds the ring empty) takes the lock, for a few
//! instructions, and waits for whoever has it.
//! Who serves a ring by turns fills the slot behind the last, which a receive may not be through with: it is waited for, under the
//! lock, so also in the drop of a permit, and of a reservation that gives way to a send.
//!
//! # After a close
//!
//! A permit sends all the same, and the value stays to be received, unless the channel is also emptied: by `close_now`,
//! or because the last receiver has gone. Both are decided under the lock (*gone*), under which such a close begins as well: so a
//! value is discarded with the others, or comes back; and comes back to who has seen the close. (Unless the very first reservation
//! came at that moment.)
//!
//! # Cost
//!
//! Locked instructions: a reservation of a ring 4 (the lock 2, HELD 2), its send 5 (and one less with each that finds it
//! HELD). Where nobody has ever reserved: none more than before, and nothing to look at. A channel has 12 bytes for this;
//! the lock and the queue are allocated with the first reservation.

use std::mem::MaybeUninit;

use super::linked::insist;
use super::queue::{Asking, Queue, SEND};
use super::ring::HELD;
use super::shared::{CLOSED, End, RETURNED, Sent, Shared, Step};
use crate::prim::{AtomicU64, Mutex, Ordering};
use crate::task::thread;
use crate::wait::{By, Claim, Left, Primitive, SENDERS, Waiter, Word};

/// As many places are reserved at once.
pub(super) const MOST: usize = (u32::MAX - 1) as usize;

pub(super) struct Turns {
    /// Whether what was in the channel is discarded, or is about to be: nothing may come any more.
    gone: Mutex<bool>,
    /// Those of a ring who wait for their turn.
    pub(super) queue: Queue,
    /// Of a linked channel: the permits that are out, and above them how often that has changed.
    pub(super) permits: AtomicU64,
}

/// So many bits are the permits'; the other 24 count the changes. (Who is suspended between two looks at it for exactly a multiple of
/// 2^24 changes can say that a channel is full, or empty, that was not.)
pub(super) const CHANGES: u32 = 40;

impl Turns {
    /// Whether a send that finds the ring HELD with this word goes on at once: a receiver waits, to which it hands over, and nobody
    /// comes before it.
    fn needs_no_place(&self, word: Word) -> bool {
        word.serves(0) && self.queue.load().is_free()
    }

    fn permits(&self) -> u64 {
        self.permits.load(Ordering::Acquire) & ((1 << CHANGES) - 1)
    }

    pub(super) fn add(&self, permits: u64) {
        self.permits.fetch_add((1 << CHANGES) + permits, Ordering::AcqRel);
    }

    pub(super) fn remove(&self, permits: u64) {
        self.permits.fetch_add((1u64 << CHANGES).wrapping_sub(permits), Ordering::AcqRel);
    }
}

/// What came of an attempt to reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    Yes,
    Full,
    Closed,
}

/// What is in hand while the lock is held.
pub(super) struct Turn<'a, T> {
    shared: &'a Shared<T>,
    turns: &'a Turns,
    /// Nothing may come any more.
    pub(super) gone: bool,
    /// Reservations that have left: freed without the lock.
    left: &'a mut Left,
}

impl<T> Shared<T> {
    pub(super) fn turns(&self) -> Option<&Turns> {
        self.turns.get()
    }

    /// (Who closes the channel afterwards finds what was made here: every reservation changes the word, or that of the room,
    /// before.)
    pub(super) fn make_turns(&self) -> &Turns {
        self.turns.get_or_make(|| Turns {
            gone: Mutex::new(false),
            queue: Queue::new(0),
            permits: AtomicU64::new(0),
        })
    }

    /// Does something under the lock.
    pub(super) fn in_turn<R>(&self, turns: &Turns, f: impl FnOnce(&mut Turn<'_, T>) -> R) -> R {
        let mut left = Left::default();
        let gone = turns.gone.lock();
        f(&mut Turn { shared: self, turns, gone: *gone, left: &mut left })
    }

    /// Reserves so many places, if they are there now.
    pub(super) fn try_reserve(&self, count: u32, by: &mut By) -> Reserved {
        let turns = self.make_turns();
        if let Some(linked) = self.linked() {
            return self.try_reserve_linked(linked, turns, count);
        }
        self.in_turn(turns, |turn| turn.reserve(count, by))
    }

    /// Enters the line of those who send, for so many places, or [`SEND`]. False: there is something to look at.
    pub(super) fn register_in_turn(&self, node: &Waiter, count: u32) -> bool {
        let turns = self.make_turns();
        match self.linked() {
            Some(linked) => self.wait_for_places(linked, node, count),
            None => self.in_turn(turns, |turn| turn.register(node, count)),
        }
    }

    /// Whether an operation of this side that waits does so in the queue, and not in the word.
    #[inline(always)]
    pub(super) fn stands_in_queue(&self, end: End, node: &Waiter) -> bool {
        end == End::Sender && (self.is_linked() || node.as_ref().stamp() == SEND)
    }

    /// Where those wait who want places, of a channel that has such a line.
    pub(super) fn queue(&self) -> Option<&Queue> {
        match self.linked() {
            Some(linked) => linked.room.as_ref().map(|room| &room.queue),
            None => self.turns().map(|turns| &turns.queue),
        }
    }

    /// The same, for one that has entered it.
    pub(super) fn own_queue(&self) -> &Queue {
        self.queue().expect("somebody has entered it")
    }

    /// Takes a send or a reservation out of that line. False: a peer has it.
    pub(super) fn leave_queue(&self, node: &Waiter) -> bool {
        let rest = || self.linked().map_or(0, |linked| self.rest_of_room(linked));
        Asking(self.own_queue(), &rest).leave(node)
    }

    /// Takes a reservation out of its line. False: a peer has it.
    pub(super) fn leave_reservation(&self, node: &Waiter, count: u32) -> bool {
        let has_left = self.leave_queue(node);
        if has_left && count > 1 && !bug!("many_leave_silently") {
            // It may have been the first, and have kept those behind from what there was.
            self.in_passing(|by| match self.linked() {
                Some(linked) => self.share_out(linked, 0, by),
                None => self.serve_turns(by),
            });
        }
        has_left
    }

    /// Serves those who wait, in the middle of something: panics of wakers end here.
    pub(super) fn in_passing<R>(&self, serve: impl FnOnce(&mut By) -> R) -> R {
        let mut by = By::plain();
        let outcome = serve(&mut by);
        by.end_in_passing();
        outcome
    }

    /// Gives places back that were reserved, and wakes those who get them.
    pub(super) fn free_places(&self, count: usize) {
        if count == 0 || self.capacity().is_none() {
            return;
        }
        let (turns, mut by) = (self.make_turns(), By::plain());
        if let Some(linked) = self.linked() {
            turns.remove(count as u64);
            self.release(linked, count, &mut by);
        } else {
            self.in_turn(turns, |turn| {
                turn.hold();
                turn.raise(count as u32);
                if !bug!("permit_goes_silently") {
                    turn.serve(&mut by);
                }
            });
        }
        by.wake();
    }

    /// Sends with a permit, whose place is free then. False: nobody can receive it any more; the value is where it was.
    pub(super) fn send_reserved(&self, value: &mut MaybeUninit<T>, by: &mut By) -> bool {
        let turns = self.make_turns();
        if let Some(linked) = self.linked() {
            return self.send_reserved_linked(linked, turns, value, by);
        }
        self.in_turn(turns, |turn| {
            let is_sent = !turn.gone || bug!("sends_what_is_gone");
            turn.hold();
            if is_sent {
                turn.put(value, true, by);
            }
            turn.raise(1);
            turn.serve(by);
            is_sent
        })
    }

    /// A send that finds the ring HELD.
    #[cold]
    pub(super) fn send_in_turn(&self, value: &mut MaybeUninit<T>, by: &mut By) -> Step<Sent> {
        self.in_turn(self.make_turns(), |turn| {
            turn.serve(by);
            let word = self.line.load();
            if word.has(CLOSED) {
                return Step::Ready(Sent::Closed);
            }
            if !word.has(HELD) {
                return Step::Lost;
            }
            if turn.turns.needs_no_place(word) {
                return self.hand_over(word, value, by);
            }
            Step::Wait
        })
    }

    /// Gives what is free to those who wait for their turn.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_turns(&self, by: &mut By) {
        if let Some(turns) = self.turns() {
            self.in_turn(turns, |turn| turn.serve(by));
        }
    }

    /// Begins to close the channel, whereupon what there is, is discarded: nothing may come any more, not even by a permit, whose
    /// owner has seen that it is closed.
    pub(super) fn end_turns(&self) -> bool {
        let Some(turns) = self.turns().filter(|_| !bug!("turns_end_after_the_close")) else {
            let is_first = self.begin_close();
            // Made meanwhile: see `make_turns`.
            self.turns().into_iter().for_each(|turns| *turns.gone.lock() = true);
            return is_first;
        };
        let mut gone = turns.gone.lock();
        *gone = true;
        self.begin_close()
    }

    /// How many places are reserved.
    pub(super) fn reserved(&self) -> usize {
        match (self.turns(), self.linked()) {
            (None, _) => 0,
            (Some(turns), Some(_)) => turns.permits() as usize,
            (Some(_), None) => (u32::from(self.bound.capacity) - self.limit()) as usize,
        }
    }

    /// Whether a ring may be neither full nor empty, though it seemed to be: somebody is between two steps of his turn.
    #[cold]
    pub(super) fn is_unsure_ring(&self, turns: &Turns, end: End) -> bool {
        if bug!("full_in_transit") {
            return false;
        }
        self.in_passing(|by| {
            self.in_turn(turns, |turn| {
                // Somebody may have made room, and be on the way to the lock.
                turn.serve(by);
                let word = self.line.load();
                let len = self.ring_len(word);
                match end {
                    End::Sender => !word.has(HELD | CLOSED) && len < self.limit(),
                    End::Receiver => len > 0 || word.has(SENDERS | RETURNED),
                }
            })
        })
    }

    /// Sends the value of a waiter, by `put`. Closed: the waiter is told to look, and has its value; if its owner has left, that is
    /// disposed of once the caller's operation is through.
    pub(super) fn send_for(
        &self,
        claim: Claim,
        by: &mut By,
        put: impl FnOnce(&mut MaybeUninit<T>, &mut By) -> Sent,
    ) -> Sent {
        // SAFETY: a send of this channel.
        let mut parcel = unsafe { claim.take::<T>() };
        // (Being plain, it may claim whomever it meets.)
        let mut handing = By::plain();
        // SAFETY: the parcel has its value until it is sent.
        let sent = put(unsafe { &mut *parcel.place() }, &mut handing);
        by.adopt(&mut handing);
        if sent != Sent::Closed {
            // SAFETY: the value is gone.
            unsafe { parcel.forget() };
            by.wakes(claim.done());
            return sent;
        }
        // SAFETY: a send of this channel, which has its value again.
        unsafe { claim.put(parcel) };
        match claim.look() {
            Ok(waker) => by.wakes(waker),
            Err((claim, waker)) => {
                // SAFETY: its owner has left it.
                let parcel = unsafe { claim.take::<T>() };
                claim.bury();
                by.wakes(waker);
                self.dispose_later(parcel, by);
            }
        }
        sent
    }
}

impl<T> Turn<'_, T> {
    /// From here on all who send go by turns.
    fn hold(&self) {
        self.shared.update(|word| (!word.has(HELD)).then(|| word.with(HELD)));
    }

    /// False: the word has changed.
    fn let_go(&self, word: Word) -> bool {
        let to = word.without(HELD);
        self.shared.cas(word, if bug!("lets_go_unseen") { to } else { self.shared.bump(to) })
    }

    fn raise(&self, count: u32) {
        self.set_limit(self.shared.limit() + count);
    }

    fn lower(&self, count: u32) {
        self.set_limit(self.shared.limit() - count);
    }

    fn set_limit(&self, limit: u32) {
        // ORDERING: Release pairs with `Shared::limit`.
        self.shared.limit.store(limit, Ordering::Release);
    }

    /// Row by row: see the header.
    fn reserve(&mut self, count: u32, by: &mut By) -> Reserved {
        loop {
            let word = self.shared.line.load();
            if word.has(CLOSED) {
                return Reserved::Closed;
            }
            if word.has(HELD) {
                self.serve(by);
                let word = self.shared.line.load();
                if word.has(HELD) && !word.has(CLOSED) {
                    return Reserved::Full;
                }
                continue;
            }
            if self.shared.ring_len(word) + count > self.shared.limit() {
                return Reserved::Full;
            }
            if bug!("reserves_unheld") || self.shared.cas(word, word.with(HELD)) {
                self.lower(count);
                self.serve(by);
                return Reserved::Yes;
            }
        }
    }

    fn register(&mut self, node: &Waiter, count: u32) -> bool {
        let queue = &self.turns.queue;
        loop {
            let word = self.shared.line.load();
            if word.has(CLOSED) {
                return false;
            }
            if word.has(HELD) {
                if count == SEND && self.turns.needs_no_place(word) {
                    return false;
                }
                break;
            }
            if count == SEND || self.shared.ring_len(word) + count <= self.shared.limit() {
                return false;
            }
            if self.shared.cas(word, word.with(HELD)) {
                break;
            }
        }
        loop {
            let word = queue.load();
            if word.has(CLOSED) {
                return false;
            }
            if queue.line_up_saying(word, node, SENDERS, count) {
                return true;
            }
        }
    }

    /// The step *serve* of the header. The word says HELD, or there is nothing to do.
    fn serve(&mut self, by: &mut By) {
        let (shared, queue) = (self.shared, &self.turns.queue);
        let mut pauses = 0;
        loop {
            let word = shared.line.load();
            if !word.has(HELD) {
                return;
            }
            let limit = shared.limit();
            let first = queue.load();
            // (Those who wait are told by whoever closes it.)
            let is_over = word.has(CLOSED) || first.is_free() && limit > 0;
            let room = limit.saturating_sub(shared.ring_len(word));
            let senders = word.has(SENDERS);
            if word.has(CLOSED) || room == 0 || !senders && first.is_free() {
                if !is_over || self.let_go(word) {
                    return;
                }
                continue;
            }
            if senders && !word.first_is_branch() && !bug!("lets_in_by_two_steps") {
                if let Step::Busy = shared.let_in(word, by) {
                    thread::pause(&mut pauses);
                }
                continue;
            }
            if senders {
                let Some(claim) = shared.pop_and_claim(word, SENDERS, by) else { continue };
                shared.send_for(claim, by, |value, by| self.put(value, false, by));
                continue;
            }
            let said = queue.said(first);
            if said != SEND && said > room {
                if queue.load() != first {
                    continue;
                }
                return;
            }
            let Some(claim) = queue.pop_and_claim(first, SENDERS, by) else { continue };
            if said == SEND {
                shared.send_for(claim, by, |value, by| self.put(value, false, by));
                continue;
            }
            self.lower(said);
            if !grant(claim, by, self.left) {
                self.raise(said);
            }
        }
    }

    /// Puts a value where there is a place for it, or hands it over. The slot may be in the hands of a receive that is not through
    /// with it: then it waits for that.
    fn put(&self, value: &mut MaybeUninit<T>, even_closed: bool, by: &mut By) -> Sent {
        insist(|| {
            let word = self.shared.line.load();
            if word.has(CLOSED) && !even_closed {
                return Step::Ready(Sent::Closed);
            }
            if word.serves(0) && !word.has(CLOSED) {
                return self.shared.hand_over(word, value, by);
            }
            self.shared.put_behind(word, value)
        })
    }
}

/// Gives a reservation what it wants. False: its owner has left.
pub(super) fn grant(claim: Claim, by: &mut By, gone: &mut Left) -> bool {
    let granted = if bug!("places_granted_unchecked") { Ok(claim.done()) } else { claim.grant() };
    if bug!("frees_in_turn") {
        return by.wakes_unless_gone(granted, &mut Left::default());
    }
    by.wakes_unless_gone(granted, gone)
}
