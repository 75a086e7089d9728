//! What the futures, streams, iterators and sinks of a channel ask of its kind: which channel a handle is of. So each of those types
//! is written once, although there are three kinds of handles.

#![allow(
    private_interfaces,
    private_bounds,
    unnameable_types,
    reason = "nobody outside the crate can name what is here"
)]

use std::fmt;
use std::mem::MaybeUninit;

use super::bell::Listen;
use super::branch::{Recv, Send, Watch};
use super::shared::SharedRef;
use super::{mpsc, spsc};
use crate::channel;

/// Whether a side may have several operations at a time.
pub trait Kind: Sized {
    type Sender<T>: fmt::Debug;
    type Receiver<T>: fmt::Debug;

    /// The channel of a sender.
    fn of_sender<T>(sender: &Self::Sender<T>) -> SharedRef<T>;

    /// The channel of a receiver.
    fn of_receiver<T>(receiver: &Self::Receiver<T>) -> SharedRef<T>;

    /// A send; the value may also come to its [`place`](Send::value) before it is used.
    ///
    /// # Safety
    /// The handle outlives the branch and, if its side is single, is used for nothing else meanwhile. The same holds for the
    /// others.
    #[inline(always)]
    unsafe fn send<T>(sender: &Self::Sender<T>, value: MaybeUninit<T>) -> Send<T> {
        Send { shared: Self::of_sender(sender), value }
    }

    /// A receive.
    ///
    /// # Safety
    /// As for [`Kind::send`].
    #[inline(always)]
    unsafe fn recv<T>(receiver: &Self::Receiver<T>) -> Recv<T> {
        Recv { shared: Self::of_receiver(receiver) }
    }

    /// Waiting for the channel to close.
    ///
    /// # Safety
    /// As for [`Kind::send`].
    unsafe fn watch<T>(sender: &Self::Sender<T>) -> Listen<Watch<T>> {
        Listen(Watch { shared: Self::of_sender(sender) })
    }
}

/// Any number on each side.
#[derive(Debug)]
pub enum Many {}

/// Any number of senders and one receiver.
#[derive(Debug)]
pub enum Mpsc {}

/// One sender and one receiver.
#[derive(Debug)]
pub enum Single {}

macro_rules! kinds {
    ($($kind:ident: $module:ident)*) => {$(
        impl Kind for $kind {
            type Sender<T> = $module::Sender<T>;
            type Receiver<T> = $module::Receiver<T>;

            #[inline(always)]
            fn of_sender<T>(sender: &Self::Sender<T>) -> SharedRef<T> {
                sender.shared()
            }

            #[inline(always)]
            fn of_receiver<T>(receiver: &Self::Receiver<T>) -> SharedRef<T> {
                receiver.shared()
            }
        }
    )*};
}
kinds!(Many: channel Mpsc: mpsc Single: spsc);

/// The types of a kind's module that are those of `channel`, for this kind.
macro_rules! of_kind {
    ($kind:ident: $($name:ident $(<$lifetime:lifetime>)?)+) => {$(
        #[doc = concat!("See [`channel::", stringify!($name), "`](super::", stringify!($name), ").")]
        pub type $name<$($lifetime,)? T> = super::$name<$($lifetime,)? T, $kind>;
    )+};
}
pub(super) use of_kind;
