//! The operations of a channel as branches: what its futures, its blocking calls and select are made of.

use std::mem::MaybeUninit;

use super::bell::{Bell, Listen, Look};
use super::close::is_shut;
use super::shared::{End, SharedRef};
use super::{Receiver, RecvError, SendError, Sender};
use crate::task::thread::Prospects;
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, Meeting, NodeRef, Parcel, Tray, Waiter, Word};

/// A send. The value is here until the operation is over, or in the node while it waits.
pub struct Send<T> {
    pub(super) shared: SharedRef<T>,
    pub(super) value: MaybeUninit<T>,
}

/// A receive.
pub struct Recv<T> {
    pub(super) shared: SharedRef<T>,
}

/// Waiting for the channel to close.
pub struct Watch<T> {
    shared: SharedRef<T>,
}

// SAFETY: a shared branch gives access to nothing but the channel.
unsafe impl<T: ::core::marker::Send> Sync for Send<T> {}

impl<T> Send<T> {
    /// The value may also come there later, before the branch is used.
    ///
    /// # Safety
    /// The sender outlives the branch.
    #[inline(always)]
    pub(super) unsafe fn new(sender: &Sender<T>, value: MaybeUninit<T>) -> Self {
        Send { shared: sender.shared, value }
    }
}

impl<T> Recv<T> {
    /// # Safety
    /// The receiver outlives the branch.
    #[inline(always)]
    pub(super) unsafe fn new(receiver: &Receiver<T>) -> Self {
        Recv { shared: receiver.shared }
    }
}

impl<T> Watch<T> {
    /// # Safety
    /// The sender outlives the branch.
    pub(super) unsafe fn listen(sender: &Sender<T>) -> Listen<Self> {
        Listen(Watch { shared: sender.shared })
    }
}

/// What a branch of either side does; or that of a batch, `$branch` of which is that of one, where `$may_wait` says whether it waits,
/// and `$is_nothing` whether it is ready whatever is in the channel: nothing is asked for, or it had come before.
macro_rules! common {
    ($call:literal, $end:ident $(, $branch:ident, $may_wait:ident, $is_nothing:ident)?) => {
        fn wish(&self) -> (&'static str, Thing) {
            ($call, self$(.$branch)?.shared.thing())
        }

        fn prospects(&self) -> Prospects {
            self$(.$branch)?.shared.prospects(End::$end)
        }

        #[inline(always)]
        fn idle(&self) -> Option<Word> {
            $(if self.$is_nothing() {
                return None;
            })?
            self$(.$branch)?.shared.idle(End::$end)
        }

        #[inline(always)]
        fn enter(&self, word: Word, node: &Waiter) -> bool {
            $(self.$may_wait() &&)? self$(.$branch)?.shared.enter(End::$end, word, node)
        }

        fn is_unsure(&self) -> bool {
            self$(.$branch)?.shared.is_unsure(End::$end)
        }

        fn has_both_sides(&self) -> bool {
            self$(.$branch)?.shared.is_rendezvous()
        }

        fn opposite(&self) -> Option<usize> {
            $(if !self.$may_wait() {
                return Some(0);
            })?
            self$(.$branch)?.shared.opposite(End::$end)
        }

        fn register(&mut self, node: &Waiter, pair: bool) -> bool {
            $(self.$may_wait() &&)? self$(.$branch)?.shared.register(End::$end, node, pair)
        }

        #[inline(always)]
        fn leave(&mut self, node: &Waiter) -> bool {
            self$(.$branch)?.shared.leave(End::$end, node)
        }

        fn touch(&self, node: &Waiter) -> bool {
            self$(.$branch)?.shared.touch(End::$end, node)
        }
    };
}
pub(super) use common;

impl<T> Branch for Send<T> {
    type Output = Result<(), SendError<T>>;
    type Goods = ();

    const ONCE: bool = true;

    common!("send", Sender);

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<()>) -> bool {
        let is_sent = self.shared.quick_send(&self.value);
        if is_sent {
            tray.put(());
        }
        is_sent
    }

    #[inline(always)]
    fn meet(&mut self, tray: &mut Tray<()>) -> Meeting {
        let meeting = self.shared.meet_receiver(&self.value);
        if matches!(meeting, Meeting::Peer(_)) {
            tray.put(());
        }
        meeting
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<()>) -> Attempt<()> {
        self.shared.try_send(&mut self.value, tray, by)
    }

    fn stow(&mut self, node: NodeRef) {
        // SAFETY: the node is the owner's, and empty; an operation that is not over has its value.
        unsafe { node.put(Parcel::pack(&self.value)) };
    }

    fn unstow(&mut self, node: NodeRef) {
        // SAFETY: the node is the owner's, and holds what `stow` put.
        unsafe { node.take() }.unpack(&mut self.value);
    }

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<()>) {
        tray.put(());
    }

    #[inline(always)]
    fn output(&mut self, tray: &mut Tray<()>) -> Self::Output {
        // SAFETY: it was not sent, and is over.
        tray.take().ok_or_else(|| SendError(unsafe { self.value.assume_init_read() }))
    }

    fn retell(&mut self) {}

    fn discard(&mut self) {
        // SAFETY: the operation did not happen, and is over.
        unsafe { self.shared.dispose_at(self.value.as_mut_ptr()) };
    }

    unsafe fn unsent(&mut self, to: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast::<Option<T>>() = Some(self.value.assume_init_read()) };
    }
}

impl<T> Branch for Recv<T> {
    type Output = Result<T, RecvError>;
    type Goods = T;

    common!("recv", Receiver);

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<T>) -> bool {
        self.shared.quick_recv(tray)
    }

    #[inline(always)]
    fn meet(&mut self, tray: &mut Tray<T>) -> Meeting {
        self.shared.meet_sender(tray)
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<T>) -> Attempt<()> {
        self.shared.try_recv(tray, by)
    }

    unsafe fn finish(&mut self, node: NodeRef, tray: &mut Tray<T>) {
        // SAFETY: DONE: a peer has put a value there.
        unsafe { node.take() }.serve(tray);
    }

    #[inline(always)]
    fn output(&mut self, tray: &mut Tray<T>) -> Self::Output {
        tray.take().ok_or(RecvError)
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        self.shared.abandon_recv(node)
    }

    fn note_taken(&self, tray: &mut Tray<T>) {
        self.shared.note_taken(tray);
    }

    fn restore(&mut self, tray: &mut Tray<T>) {
        self.shared.restore(tray);
    }
}

impl<T> Look for Watch<T> {
    type Output = ();

    fn wish(&self) -> (&'static str, Thing) {
        ("closed", self.shared.thing())
    }

    fn bell(&self) -> &Bell {
        &self.shared.watchers
    }

    fn is_ready(&self) -> bool {
        is_shut(self.bell())
    }

    fn look(&mut self, _by: &mut By) -> Option<()> {
        self.shared.is_closed().then_some(())
    }
}
