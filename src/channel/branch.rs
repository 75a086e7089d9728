//! The operations of a channel as branches: what its futures, its blocking calls and select are made of.

use std::mem::MaybeUninit;

use super::bell::{Bell, Listen, Look};
use super::close::is_shut;
use super::shared::{End, Shared, SharedRef};
use super::{Receiver, RecvError, SendError, Sender};
use crate::task::thread::Prospects;
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, Meeting, NodeRef, Parcel, Tray, Waiter, Word};

/// A send. The value is here until the operation is over, or in the node while it waits.
pub struct Send<T> {
    shared: SharedRef<T>,
    pub(super) value: MaybeUninit<T>,
}

/// A receive.
pub struct Recv<T> {
    shared: SharedRef<T>,
}

/// Waiting for the channel to close.
pub struct Watch<T> {
    shared: SharedRef<T>,
}

/// Branches with a `SharedRef`; what that gives.
macro_rules! branch {
    ($($name:ident)*) => {$(
        // SAFETY: a branch is a reference to the channel, and perhaps a value.
        unsafe impl<T: ::core::marker::Send> ::core::marker::Send for $name<T> {}
        // SAFETY: a shared branch gives access to nothing.
        unsafe impl<T: ::core::marker::Send> Sync for $name<T> {}

        impl<T> $name<T> {
            #[inline(always)]
            pub(super) fn shared(&self) -> &Shared<T> {
                // SAFETY: whoever makes a branch keeps a handle for as long.
                unsafe { self.shared.as_ref() }
            }
        }
    )*};
}
pub(super) use branch;

branch!(Send Recv Watch);

impl<T> Send<T> {
    /// The value may also come there later, before the branch is used.
    ///
    /// # Safety
    /// The sender outlives the branch.
    #[inline(always)]
    pub(super) unsafe fn new(sender: &Sender<T>, value: MaybeUninit<T>) -> Self {
        Send { shared: sender.shared(), value }
    }
}

impl<T> Recv<T> {
    /// # Safety
    /// The receiver outlives the branch.
    #[inline(always)]
    pub(super) unsafe fn new(receiver: &Receiver<T>) -> Self {
        Recv { shared: receiver.shared() }
    }
}

impl<T> Watch<T> {
    /// # Safety
    /// The sender outlives the branch.
    pub(super) unsafe fn listen(sender: &Sender<T>) -> Listen<Self> {
        Listen(Watch { shared: sender.shared() })
    }
}

/// What a branch of either side does.
macro_rules! common {
    ($end:ident) => {
        fn prospects(&self) -> Prospects {
            self.shared().prospects(End::$end)
        }

        #[inline(always)]
        fn idle(&self) -> Option<Word> {
            self.shared().idle(End::$end)
        }

        #[inline(always)]
        fn enter(&self, word: Word, node: &Waiter) -> bool {
            self.shared().enter(End::$end, word, node)
        }

        fn is_unsure(&self) -> bool {
            self.shared().is_unsure(End::$end)
        }

        fn has_both_sides(&self) -> bool {
            self.shared().is_rendezvous()
        }

        fn opposite(&self) -> Option<usize> {
            self.shared().opposite(End::$end)
        }

        fn register(&mut self, node: &Waiter, pair: bool) -> bool {
            self.shared().register(End::$end, node, pair)
        }

        #[inline(always)]
        fn leave(&self, node: &Waiter) -> bool {
            self.shared().leave(End::$end, node)
        }

        fn touch(&self, node: &Waiter) -> bool {
            self.shared().touch(End::$end, node)
        }
    };
}

impl<T> Branch for Send<T> {
    type Output = Result<(), SendError<T>>;
    type Goods = ();

    const ONCE: bool = true;

    common!(Sender);

    fn wish(&self) -> (&'static str, Thing) {
        ("send", self.shared().thing())
    }

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<()>) -> bool {
        let is_sent = self.shared().quick_send(&self.value);
        if is_sent {
            tray.put(());
        }
        is_sent
    }

    #[inline(always)]
    fn meet(&mut self, tray: &mut Tray<()>) -> Meeting {
        let meeting = self.shared().meet_receiver(&self.value);
        if matches!(meeting, Meeting::Peer(_)) {
            tray.put(());
        }
        meeting
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<()>) -> Attempt<()> {
        // SAFETY: as in `shared`; the value is borrowed beside it.
        unsafe { self.shared.as_ref() }.try_send(&mut self.value, tray, by)
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

    fn discard(&mut self) {
        // SAFETY: the operation did not happen, and is over; the value is borrowed beside the channel.
        unsafe { self.shared.as_ref().dispose_at(self.value.as_mut_ptr()) };
    }

    unsafe fn unsent(&mut self, to: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast::<Option<T>>() = Some(self.value.assume_init_read()) };
    }
}

impl<T> Branch for Recv<T> {
    type Output = Result<T, RecvError>;
    type Goods = T;

    common!(Receiver);

    fn wish(&self) -> (&'static str, Thing) {
        ("recv", self.shared().thing())
    }

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<T>) -> bool {
        self.shared().quick_recv(tray)
    }

    #[inline(always)]
    fn meet(&mut self, tray: &mut Tray<T>) -> Meeting {
        self.shared().meet_sender(tray)
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<T>) -> Attempt<()> {
        self.shared().try_recv(tray, by)
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
        self.shared().abandon_recv(node)
    }

    fn note_taken(&self, tray: &mut Tray<T>) {
        self.shared().note_taken(tray);
    }

    fn restore(&mut self, tray: &mut Tray<T>) {
        self.shared().restore(tray);
    }
}

impl<T> Look for Watch<T> {
    type Output = ();

    fn wish(&self) -> (&'static str, Thing) {
        ("closed", self.shared().thing())
    }

    fn bell(&self) -> &Bell {
        &self.shared().watchers
    }

    fn is_ready(&self) -> bool {
        is_shut(self.bell())
    }

    fn look(&mut self, _by: &mut By) -> Option<()> {
        self.shared().is_closed().then_some(())
    }

    fn restore(&mut self, (): ()) {}
}
