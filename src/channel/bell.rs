//! A bell: those who wait for something that all of them see, such as a new value of [`watch`](super::watch). Whoever makes it
//! happen rings, and all who wait look for themselves.
//!
//! ```text
//!   waits:  look at the thing ─▶ enter the line ─▶ look again, if somebody else stood there ─▶ told
//!   rings:  change the thing ─▶ one exchange of the word at least ─▶ take all out, each is told ─▶ wake them
//! ```
//!
//! # Invariants
//! 1. Whoever rings has made its change before. The exchange of a ring changes the version of the word.
//! 2. Whoever stands in the line has looked after it has loaded the word that it entered with, or after it has joined, and has
//!    found nothing.
//!
//! So nobody sleeps through a ring. If the ring's exchange comes before the load of the word, or before the exchange that
//! joins, the look that follows sees the change. If it comes between the load and the entering exchange, that fails. If it
//! comes later, the ring finds the waiter and takes it out.
//!
//! A ring also takes out those who come while it goes on; but they come only if they are polled, and it wakes nobody before it is
//! through. Whoever is told looks, and waits again if it finds nothing: where several ring, it may be told of what it has seen
//! already.
//!
//! # Orderings
//!
//! The exchanges of the word are acquire and release ([`Primitive`]): a look after one sees what was done before a ring that
//! came before it.
//!
//! # Progress, cost
//!
//! Lock-free. Locked instructions: to ring where nobody waits 1; 2 for the first one who waits, 3 for each who stands in the small
//! array behind it, 5 for each in the list; and their wakers.
//!
//! A thread that is suspended between its look and its exchange, for exactly 2^36 rings, waits for the next one.
//!
//! Those who wait for a channel to close stand in a bell, too. That is [closed](super::close) before it is rung: the change is made
//! in its own word.

use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, Line, Primitive, Tray, Waiter, Word, outcome, stands};

pub(crate) struct Bell {
    line: Line,
}

/// The rest of the word is the version.
impl Primitive for Bell {
    fn has_few(&self) -> bool {
        true
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn is_to_wait(&self, _word: Word) -> bool {
        // Who joins looks after that.
        true
    }
}

impl Bell {
    pub(super) fn new() -> Bell {
        Bell { line: Line::new(0) }
    }

    /// Enters the line, unless it `is_ready`.
    pub(super) fn register(&self, node: &Waiter, is_ready: impl Fn() -> bool) -> bool {
        let Some(word) = self.line_up_unless(node, 0, |_| is_ready()) else { return false };
        // Who has joined looks once more, and leaves, unless a ring has it, which tells it.
        let waits = word.is_free() || bug!("bell_joins_unasked") || !is_ready();
        waits || !self.leave(node)
    }

    /// Tells all who wait to look; they are to be woken by `by`.
    pub(super) fn ring(&self, by: &mut By) {
        let mut is_rung = false;
        loop {
            let word = self.line.load();
            if word.is_free() {
                if is_rung || self.cas(word, self.bump(word)) {
                    return;
                }
                continue;
            }
            let Some(popped) = self.pop(word, |word| self.bump(word)) else { continue };
            is_rung = true;
            by.wakes(popped.notify().unwrap_or_else(|(claim, waker)| {
                claim.bury();
                waker
            }));
            if bug!("bell_rings_for_one") {
                return;
            }
        }
    }
}

/// An operation that waits until a bell is rung (or closed), and then looks.
pub(crate) trait Look {
    type Output;

    fn wish(&self) -> (&'static str, Thing);

    fn bell(&self) -> &Bell;

    /// Whether a look may find something; no foreign code.
    fn is_ready(&self) -> bool;

    /// Looks; leaves to `by` those whom it has to wake.
    fn look(&mut self, by: &mut By) -> Option<Self::Output>;

    /// Undoes an outcome that nobody wants. As here where that is nothing.
    fn restore(&mut self, _output: Self::Output) {}
}

/// As a branch.
pub struct Listen<L>(pub(super) L);

impl<L: Look> Branch for Listen<L> {
    outcome!(L::Output);

    fn wish(&self) -> (&'static str, Thing) {
        self.0.wish()
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<L::Output>) -> Attempt<()> {
        self.0.look(by).map_or(Attempt::Wait, |seen| {
            tray.put(seen);
            Attempt::Ready(())
        })
    }

    fn register(&mut self, node: &Waiter, _pair: bool) -> bool {
        self.0.bell().register(node, || self.0.is_ready())
    }

    stands!(self => self.0.bell());

    fn restore(&mut self, tray: &mut Tray<L::Output>) {
        if let Some(output) = tray.take() {
            self.0.restore(output);
        }
    }
}

/// Waiting at the caller's `Shared` for the last receiver to go.
macro_rules! gone {
    () => {
        /// Waiting for the last receiver to go.
        pub struct Gone<'a, T>(pub(super) &'a Shared<T>);

        impl<T> Look for Gone<'_, T> {
            type Output = ();

            fn wish(&self) -> (&'static str, Thing) {
                ("closed", self.0.thing())
            }

            fn bell(&self) -> &Bell {
                &self.0.gone
            }

            fn is_ready(&self) -> bool {
                self.0.receivers() == 0
            }

            fn look(&mut self, _by: &mut By) -> Option<()> {
                self.is_ready().then_some(())
            }
        }
    };
}
pub(super) use gone;

/// What the handles of the caller's `Shared` have in common: how many there are, and waiting for the receivers to go.
macro_rules! sender {
    () => {
        crate::task::unwinds! { [T] Sender<T> }
        crate::task::unwinds! { [T] Receiver<T> }

        impl<T> Sender<T> {
            /// Waits until there is no receiver. ([`subscribe`](Self::subscribe) may create one again later.)
            ///
            /// Cancelling: dropping the future has no effect.
            #[track_caller]
            pub fn closed(&self) -> Closed<'_, T> {
                Closed { operation: Operation::new(Listen(Gone(&self.shared))) }
            }

            /// Whether there is no receiver.
            pub fn is_closed(&self) -> bool {
                self.shared.receivers() == 0
            }

            /// How many receivers there are.
            pub fn receiver_count(&self) -> usize {
                self.shared.receivers()
            }

            /// How many senders there are.
            pub fn sender_count(&self) -> usize {
                self.shared.senders.load($crate::prim::Ordering::Relaxed)
            }

            /// Whether both send to the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.shared, &other.shared)
            }

            /// Panics if an invariant does not hold. For tests.
            #[doc(hidden)]
            pub fn assert_valid(&self) -> usize {
                self.shared.assert_valid()
            }
        }

        impl<T> Receiver<T> {
            /// Whether both receive from the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.shared, &other.shared)
            }
        }

        impl<T> Clone for Sender<T> {
            fn clone(&self) -> Self {
                // ORDERING: Relaxed; the caller has one, so the count is above zero.
                self.shared.senders.fetch_add(1, $crate::prim::Ordering::Relaxed);
                Sender { shared: Arc::clone(&self.shared) }
            }
        }

        impl<T> Drop for Sender<T> {
            fn drop(&mut self) {
                self.shared.drop_sender();
            }
        }

        shows! { [T] Sender<T>, "Sender", it => receivers: it.receiver_count() }

        /// Waits until there is no receiver. Made by [`Sender::closed`].
        #[must_use = "futures do nothing unless polled"]
        pub struct Closed<'a, T> {
            operation: Operation<Listen<Gone<'a, T>>>,
        }

        future! { ['a, T] Closed<'a, T>, "Closed", "closed"; Listen<Gone<'a, T>> => (), |_, ()| (); or Elapsed }
    };
}
pub(super) use sender;
