//! How a channel closes: sends fail from then on, and all who wait are told to look.
//!
//! CLOSED is set in each of the channel's words, one after the other, and everybody is taken out of their lines, and woken when
//! nobody waits there any more. The word that says who closed the channel is the first: that of its places, if it has any. So
//! somebody may learn of a close that is not through: he helps ([`Shared::finish_close`]). In a large channel this waits for the
//! forced sends under way: see [`room`](super::room).

use super::queue::SEND;
use super::shared::{CLOSED, RETURNED, Shared};
use crate::task::error::InTurn;
use crate::task::finally;
use crate::task::thread;
use crate::wait::{Attempt, By, Left, Parcel, Primitive, Tray, for_all};

impl<T> Shared<T> {
    /// Whether this call closed the channel.
    pub(super) fn close(&self) -> bool {
        let is_first = self.begin_close();
        self.finish_close();
        is_first
    }

    /// Where there are places these close first, and whoever closes them is the first; others may help with the rest.
    pub(super) fn begin_close(&self) -> bool {
        match self.room() {
            Some(room) => shut(&room.queue),
            None => shut(self),
        }
    }

    /// Takes everybody out of the lines, then wakes them, in order: all find out by looking that the channel is closed, and
    /// senders keep their values. Whoever sees that the channel is closed calls this, so that the closing is complete for
    /// everybody who knows of it.
    #[inline]
    pub(super) fn finish_close(&self) {
        if !self.has_closed() {
            self.finish_close_slowly();
        }
    }

    /// Whether it is closed everywhere, and nobody waits.
    fn has_closed(&self) -> bool {
        is_done(self) && is_done(&self.watchers) && self.queue().is_none_or(is_done)
    }

    #[cold]
    #[inline(never)]
    fn finish_close_slowly(&self) {
        if let Some(room) = self.room() {
            // The places first, also for one that helps.
            shut(&room.queue);
            room.wait_for_forced();
        }
        shut(self);
        shut(&self.watchers);
        // (Mostly nobody waits.)
        if !self.has_closed() {
            self.tell_all();
        }
    }

    /// Wakes them, and drops what they have left, also when a waker panics.
    #[inline(never)]
    fn tell_all(&self) {
        let (mut by, mut values, mut left) = (By::plain(), Vec::new(), Left::default());
        tell_all(self, &mut by, &mut values, &mut left);
        if let Some(queue) = self.queue() {
            shut(queue);
            tell_all(queue, &mut by, &mut values, &mut left);
        }
        self.watchers.ring(&mut by);
        let _values = finally(move || for_all(values.into_iter(), |value| self.dispose_of(value)));
        by.wake();
    }

    /// Closes the channel and drops what is in it, also when a waker panics.
    pub(super) fn close_now(&self) -> bool {
        let _discard = finally(|| self.discard());
        self.close_to_permits()
    }

    /// Closes the channel, also to what permits send, as what is in it is about to be dropped.
    pub(super) fn close_to_permits(&self) -> bool {
        let is_first = self.end_turns();
        self.finish_close();
        is_first
    }

    /// Disposes of what is in the closed channel; of the rest even if one value's disposal panics. Waits for those who are in the
    /// middle of publishing a value: otherwise a value that owns a handle of this channel would keep both alive.
    fn discard(&self) {
        let word = self.line.load();
        if !self.is_linked() && !word.has(RETURNED) && self.ring_len(word) == 0 {
            return;
        }
        let (mut pauses, mut values) = (0, InTurn::default());
        Tray::in_passing(|tray| {
            loop {
                match self.try_recv(tray, &mut By::plain()) {
                    Attempt::Ready(()) if tray.is_full() => _ = values.call(|| self.dispose(tray)),
                    Attempt::Ready(()) | Attempt::Wait => break,
                    Attempt::Again if bug!("discard_does_not_wait") => break,
                    Attempt::Again => thread::pause(&mut pauses),
                }
            }
        });
        values.end();
    }

    pub(super) fn is_closed(&self) -> bool {
        let closed = self.line.load().has(CLOSED);
        if closed {
            self.finish_close();
        }
        closed
    }
}

/// Takes all out who wait; they are to be woken by `by`. Whoever has left may have left the value of a send.
fn tell_all<P: Primitive, T>(primitive: &P, by: &mut By, values: &mut Vec<Parcel<T>>, left: &mut Left) {
    loop {
        let word = primitive.line().load();
        if word.is_free() {
            return;
        }
        let is_reservation = P::SAYS && primitive.said(word) != SEND;
        let Some(popped) = primitive.pop(word, |word| primitive.bump(word)) else { continue };
        match popped.notify() {
            Ok(waker) => by.wakes(waker),
            Err(remains) if is_reservation => left.add(remains),
            Err((claim, waker)) => {
                // SAFETY: a receive is never left in a peer's hands; so it is a send of this channel.
                values.push(unsafe { claim.take() });
                claim.bury();
                by.wakes(waker);
            }
        }
    }
}

/// Whether it is closed, and nobody waits in its line.
pub(super) fn is_done<P: Primitive>(primitive: &P) -> bool {
    let word = primitive.line().load();
    word.is_free() && word.has(CLOSED)
}

/// Whether it is closed.
pub(super) fn is_shut<P: Primitive>(primitive: &P) -> bool {
    primitive.line().load().has(CLOSED)
}

/// Sets CLOSED; true the first time.
pub(super) fn shut<P: Primitive>(primitive: &P) -> bool {
    primitive.update(|word| (!word.has(CLOSED)).then(|| word.with(CLOSED))).is_some()
}
