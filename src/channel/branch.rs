//! The operations of a channel as branches: what its futures, its blocking calls and select are made of.

use std::mem::MaybeUninit;

use super::ring::Ring;
use super::shared::{End, Shared, SharedRef};
use super::{RecvError, SendError};
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, Meeting, NodeRef, Parcel, Primitive, Tray, Waiter, Word};

/// A send. The value is here until the operation is over, or in the node while it waits.
pub struct Send<T> {
    shared: SharedRef<T>,
    pub(super) value: MaybeUninit<T>,
}

/// A receive. `ALONE`: there is no other receiver.
pub struct Recv<T, const ALONE: bool = false> {
    shared: SharedRef<T>,
}

/// Waiting for the channel to close.
pub struct Watch<T> {
    shared: SharedRef<T>,
}

/// Branches of the caller's `Shared`.
macro_rules! branch {
    ($($name:ident $(<$alone:ident>)?)*) => {$(
        // SAFETY: a branch is a reference to the channel, and perhaps a value.
        unsafe impl<T: ::core::marker::Send $(, const $alone: bool)?> ::core::marker::Send for $name<T $(, $alone)?> {}
        // SAFETY: a shared branch gives access to nothing.
        unsafe impl<T: ::core::marker::Send $(, const $alone: bool)?> Sync for $name<T $(, $alone)?> {}

        impl<T $(, const $alone: bool)?> $name<T $(, $alone)?> {
            pub(super) fn shared(&self) -> &Shared<T> {
                // SAFETY: whoever makes a branch keeps a handle for as long.
                unsafe { self.shared.as_ref() }
            }
        }
    )*};
}
pub(super) use branch;

branch!(Send Recv<ALONE> Watch);

impl<T> Send<T> {
    /// The value may also come to its [`place`](super::many::Gives::place) before it is used.
    ///
    /// # Safety
    /// A handle outlives the branch.
    #[inline]
    pub(super) unsafe fn new(shared: SharedRef<T>, value: MaybeUninit<T>) -> Self {
        Send { shared, value }
    }

    /// Sends without waiting; `gone`: for the value that there was no room for. False: the channel is closed. The operation
    /// is not over.
    pub(super) fn force(&mut self, gone: &mut Tray<T>, by: &mut By) -> bool {
        // SAFETY: as in `shared`; the value is borrowed beside it.
        unsafe { self.shared.as_ref() }.try_force(&mut self.value, gone, by)
    }
}

impl<T, const ALONE: bool> Recv<T, ALONE> {
    /// # Safety
    /// A handle outlives the branch; if it is alone nothing else receives meanwhile.
    pub(super) unsafe fn new(shared: SharedRef<T>) -> Self {
        Recv { shared }
    }
}

impl<T> Watch<T> {
    /// # Safety
    /// A handle outlives the branch.
    pub(super) unsafe fn new(shared: SharedRef<T>) -> Self {
        Watch { shared }
    }
}

/// What all sends have in common. The value is in their field `value`, or in the node while they wait.
macro_rules! sends {
    () => {
        type Output = Result<(), SendError<T>>;
        type Goods = ();

        const ONCE: bool = true;

        fn wish(&self) -> (&'static str, Thing) {
            ("send", self.shared().thing())
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
    };
}
pub(super) use sends;

/// What all receives have in common.
macro_rules! receives {
    () => {
        type Output = Result<T, RecvError>;
        type Goods = T;

        fn wish(&self) -> (&'static str, Thing) {
            ("recv", self.shared().thing())
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
    };
}
pub(super) use receives;

/// What a branch of either side says of what may happen there soon.
macro_rules! prospects {
    ($end:ident) => {
        fn most(&self) -> usize {
            self.shared().most()
        }

        fn supply(&self) -> usize {
            self.shared().supply(End::$end)
        }

        fn enough(&self) -> usize {
            self.shared().enough()
        }

        fn progress(&self) -> u32 {
            self.shared().progress()
        }
    };
}
pub(super) use prospects;

/// What a branch of either side does.
macro_rules! common {
    ($end:ident) => {
        prospects!($end);

        fn is_unsure(&self) -> bool {
            self.shared().is_unsure(End::$end)
        }

        fn has_both_sides(&self) -> bool {
            self.shared().is_rendezvous()
        }

        fn opposite(&self) -> Option<usize> {
            self.shared().opposite(End::$end)
        }

        #[inline(always)]
        fn enter(&self, word: Word, node: &Waiter) -> bool {
            let (shared, side) = (self.shared(), End::$end.side());
            let word = if bug!("enters_by_another_look") { shared.line().load() } else { word };
            debug_assert!(!shared.is_linked(), "only a ring's look says that there is nobody");
            Ring(shared).line_up(word, node, side)
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
    sends!();
    common!(Sender);

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<()>) -> bool {
        let is_sent = self.shared().quick_send(&self.value);
        if is_sent {
            tray.put(());
        }
        is_sent
    }

    #[inline(always)]
    fn idle(&self) -> Option<Word> {
        self.shared().idle(End::Sender)
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

    fn discard(&mut self) {
        // SAFETY: the operation did not happen, and is over; the value is borrowed beside the channel.
        unsafe { self.shared.as_ref().dispose_at(self.value.as_mut_ptr()) };
    }

    unsafe fn unsent(&mut self, to: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast::<Option<T>>() = Some(self.value.assume_init_read()) };
    }
}

impl<T, const ALONE: bool> Branch for Recv<T, ALONE> {
    receives!();
    common!(Receiver);

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<T>) -> bool {
        let shared = self.shared();
        if ALONE { shared.quick_recv_alone(tray) } else { shared.quick_recv(tray) }
    }

    #[inline(always)]
    fn idle(&self) -> Option<Word> {
        self.shared().idle(End::Receiver)
    }

    #[inline(always)]
    fn meet(&mut self, tray: &mut Tray<T>) -> Meeting {
        self.shared().meet_sender(tray)
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<T>) -> Attempt<()> {
        self.shared().try_recv(tray, by)
    }

    fn restore(&mut self, tray: &mut Tray<T>) {
        self.shared().restore(tray);
    }
}

/// Waiting for the channel to close, by a branch of the caller's `Shared`.
macro_rules! watch {
    ($name:ident) => {
        impl<T> Branch for $name<T> {
            type Output = ();
            type Goods = ();

            fn wish(&self) -> (&'static str, Thing) {
                ("closed", self.shared().thing())
            }

            fn attempt(&mut self, _by: &mut By, _tray: &mut Tray<()>) -> Attempt<()> {
                if self.shared().is_closed() { Attempt::Ready(()) } else { Attempt::Wait }
            }

            fn register(&mut self, node: &Waiter, _pair: bool) -> bool {
                self.shared().watchers.register(node)
            }

            fn leave(&self, node: &Waiter) -> bool {
                self.shared().watchers.leave(node, 0)
            }

            fn touch(&self, node: &Waiter) -> bool {
                self.shared().watchers.touch(node)
            }

            unsafe fn finish(&mut self, _node: NodeRef, _tray: &mut Tray<()>) {
                unreachable!("who watches is told to look");
            }

            #[inline(always)]
            fn output(&mut self, _tray: &mut Tray<()>) {}
        }
    };
}
pub(super) use watch;

watch!(Watch);
