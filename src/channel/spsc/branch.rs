//! The operations of an spsc channel as branches: those of capacities 0 and 1 are the [core's](super::super::branch), those
//! of all others are here.

use std::mem::MaybeUninit;

use super::super::branch::{self as core, branch, prospects, receives, sends, watch};
use super::super::shared::{End, Sent, SharedRef as CoreRef};
use super::super::{RecvError, SendError};
use super::end::SharedRef;
use super::shared::{Quick, Shared};
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, Meeting, NodeRef, Parcel, Primitive, Tray, Waiter, Word};

/// Which of the two a channel is.
pub(in super::super) enum Channel<T> {
    /// Both sides wait in one word.
    Met(CoreRef<T>),
    Own(SharedRef<T>),
}

impl<T> Clone for Channel<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Channel<T> {}

/// What a handle asks the channel, whichever it is.
macro_rules! on {
    ($($method:ident() -> $result:ty;)+) => {
        impl<T> Channel<T> {$(
            pub(super) fn $method(self) -> $result {
                match self {
                    // SAFETY: a handle keeps the channel alive, and asks.
                    Channel::Met(shared) => unsafe { shared.as_ref() }.$method(),
                    // SAFETY: as above.
                    Channel::Own(shared) => unsafe { shared.as_ref() }.$method(),
                }
            }
        )+}
    };
}
on! {
    close() -> bool;
    close_now() -> bool;
    is_closed() -> bool;
    len() -> usize;
    is_full() -> bool;
    capacity() -> Option<usize>;
    assert_valid() -> ();
}

impl<T> Channel<T> {
    pub(super) fn is(self, other: Self) -> bool {
        match (self, other) {
            (Channel::Met(one), Channel::Met(other)) => one == other,
            (Channel::Own(one), Channel::Own(other)) => one == other,
            _ => false,
        }
    }
}

/// A branch of whichever it is.
pub enum Either<M, O> {
    Met(M),
    Own(O),
}

/// A send.
pub(in super::super) type Send<T> = Either<core::Send<T>, OwnSend<T>>;

/// A receive.
pub(in super::super) type Recv<T> = Either<core::Recv<T>, OwnRecv<T>>;

/// Waiting for the channel to close.
pub(in super::super) type Watch<T> = Either<core::Watch<T>, OwnWatch<T>>;

/// The value is here until the operation is over, or in the node while it waits.
pub struct OwnSend<T> {
    shared: SharedRef<T>,
    pub(super) value: MaybeUninit<T>,
    /// It is in the channel, and the receiver that came to wait meanwhile is to be told.
    sent: bool,
}

pub struct OwnRecv<T> {
    shared: SharedRef<T>,
}

pub struct OwnWatch<T> {
    shared: SharedRef<T>,
}

branch!(OwnSend OwnRecv OwnWatch);

impl<T> Send<T> {
    /// As [`core::Send::new`].
    ///
    /// # Safety
    /// The handle outlives the branch, and is used for nothing else meanwhile.
    #[inline(always)]
    pub(in super::super) unsafe fn new(channel: Channel<T>, value: MaybeUninit<T>) -> Self {
        match channel {
            // SAFETY: the caller's promise.
            Channel::Met(shared) => Send::Met(unsafe { core::Send::new(shared, value) }),
            Channel::Own(shared) => Send::Own(OwnSend { shared, value, sent: false }),
        }
    }
}

impl<T> Recv<T> {
    /// # Safety
    /// The handle outlives the branch, and is used for nothing else meanwhile.
    #[inline(always)]
    pub(in super::super) unsafe fn new(channel: Channel<T>) -> Self {
        match channel {
            // SAFETY: the caller's promise.
            Channel::Met(shared) => Recv::Met(unsafe { core::Recv::new(shared) }),
            Channel::Own(shared) => Recv::Own(OwnRecv { shared }),
        }
    }
}

impl<T> Watch<T> {
    /// # Safety
    /// A handle outlives the branch.
    pub(in super::super) unsafe fn new(channel: Channel<T>) -> Self {
        match channel {
            // SAFETY: the caller's promise.
            Channel::Met(shared) => Watch::Met(unsafe { core::Watch::new(shared) }),
            Channel::Own(shared) => Watch::Own(OwnWatch { shared }),
        }
    }
}

/// What a branch of either side does; it waits in a word of its own.
macro_rules! common {
    ($end:ident, $word:ident) => {
        prospects!($end);

        fn register(&mut self, node: &Waiter, pair: bool) -> bool {
            debug_assert!(!pair, "one side is ready");
            self.shared().register(End::$end, node)
        }

        fn leave(&self, node: &Waiter) -> bool {
            self.shared().$word.leave(node, End::$end.side())
        }

        fn touch(&self, node: &Waiter) -> bool {
            self.shared().$word.touch(node)
        }
    };
}

impl<T> Branch for OwnSend<T> {
    sends!();
    common!(Sender, front);

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<()>) -> bool {
        if self.sent {
            return false;
        }
        match self.shared().quick_send(&self.value) {
            Quick::Sent => tray.put(()),
            Quick::ToTell => self.sent = true,
            Quick::No => {}
        }
        tray.is_full()
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<()>) -> Attempt<()> {
        self.shared().try_send(&self.value, self.sent, by).map(|sent| {
            if sent != Sent::Closed {
                tray.put(());
            }
        })
    }

    fn discard(&mut self) {
        if !self.sent {
            // SAFETY: the operation did not happen, and is over.
            unsafe { self.value.assume_init_drop() };
        }
    }

    unsafe fn unsent(&mut self, to: *mut ()) {
        if !self.sent {
            // SAFETY: the caller's promise; the operation did not happen.
            unsafe { *to.cast::<Option<T>>() = Some(self.value.assume_init_read()) };
        }
    }
}

impl<T> Branch for OwnRecv<T> {
    receives!();
    common!(Receiver, back);

    #[inline(always)]
    fn quick(&mut self, tray: &mut Tray<T>) -> bool {
        self.shared().quick_recv(tray)
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<T>) -> Attempt<()> {
        self.shared().try_recv(tray, by)
    }

    fn restore(&mut self, tray: &mut Tray<T>) {
        if let Some(value) = tray.take() {
            self.shared().put_value(value);
        }
    }
}

watch!(OwnWatch);

/// Each method is that of whichever it is.
macro_rules! either {
    (&self: $($method:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {$(
        fn $method(&self, $($argument: $type),*) -> $result {
            either!(self, branch => branch.$method($($argument),*))
        }
    )+};
    (&mut self: $($(#[$attribute:meta])? $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {$(
        $(#[$attribute])?
        fn $method(&mut self, $($argument: $type),*) -> $result {
            either!(self, branch => branch.$method($($argument),*))
        }
    )+};
    ($this:expr, $branch:ident => $call:expr) => {
        match $this {
            Either::Met($branch) => $call,
            Either::Own($branch) => $call,
        }
    };
}

impl<M: Branch, O: Branch<Output = M::Output, Goods = M::Goods>> Branch for Either<M, O> {
    type Output = M::Output;
    type Goods = M::Goods;

    const ONCE: bool = M::ONCE;

    either! { &self:
        wish() -> (&'static str, Thing);
        idle() -> Option<Word>;
        enter(word: Word, node: &Waiter) -> bool;
        is_unsure() -> bool;
        most() -> usize;
        supply() -> usize;
        enough() -> usize;
        progress() -> u32;
        has_both_sides() -> bool;
        opposite() -> Option<usize>;
        leave(node: &Waiter) -> bool;
        touch(node: &Waiter) -> bool;
    }
    either! { &mut self:
        #[inline(always)]
        quick(tray: &mut Tray<M::Goods>) -> bool;
        #[inline(always)]
        meet(tray: &mut Tray<M::Goods>) -> Meeting;
        attempt(by: &mut By, tray: &mut Tray<M::Goods>) -> Attempt<()>;
        output(tray: &mut Tray<M::Goods>) -> M::Output;
        stow(node: NodeRef) -> ();
        unstow(node: NodeRef) -> ();
        register(node: &Waiter, pair: bool) -> bool;
        abandon(node: Waiter) -> bool;
        restore(tray: &mut Tray<M::Goods>) -> ();
        discard() -> ();
    }

    unsafe fn unsent(&mut self, to: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { either!(self, branch => branch.unsent(to)) }
    }

    unsafe fn finish(&mut self, node: NodeRef, tray: &mut Tray<M::Goods>) {
        // SAFETY: the caller's promise.
        unsafe { either!(self, branch => branch.finish(node, tray)) }
    }
}
