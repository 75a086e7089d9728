//! What the futures, streams, iterators and sinks of a channel ask of its kind: what its operations are, and how one is made of a
//! handle. So each of those types is written once, although there are three kinds of handles, and two of operations.

#![allow(
    private_interfaces,
    private_bounds,
    unnameable_types,
    reason = "nobody outside the crate can name what is here"
)]

use std::fmt;
use std::mem::MaybeUninit;

use super::bell::Listen;
use super::many::{Gives, Takes};
use super::shared::SharedRef;
use super::{RecvError, SendError, mpsc, spsc};
use crate::channel;
use crate::wait::Branch;

/// Whether a side may have several operations at a time.
pub trait Kind: Sized {
    type Sender<T>: fmt::Debug;
    type Receiver<T>: fmt::Debug;
    type Send<T>: Branch<Output = Result<(), SendError<T>>, Goods = ()> + Gives<T>;
    type Recv<T>: Branch<Output = Result<T, RecvError>, Goods = T> + Takes<T>;
    type Watch<T>: Branch<Output = (), Goods = ()>;

    /// A send; the value may also come to its [`place`](Gives::place) before it is used.
    ///
    /// # Safety
    /// The handle outlives the branch and, if its side is single, is used for nothing else meanwhile. The same holds for the
    /// others.
    unsafe fn send<T>(sender: &Self::Sender<T>, value: MaybeUninit<T>) -> Self::Send<T>;

    /// A receive.
    ///
    /// # Safety
    /// As for [`Kind::send`].
    unsafe fn recv<T>(receiver: &Self::Receiver<T>) -> Self::Recv<T>;

    /// Waiting for the channel to close.
    ///
    /// # Safety
    /// As for [`Kind::send`].
    unsafe fn watch<T>(sender: &Self::Sender<T>) -> Self::Watch<T>;
}

/// Any number on each side.
#[derive(Debug)]
pub enum Many {}

/// Any number of senders and one receiver; its operations are those of [`Many`].
#[derive(Debug)]
pub enum Mpsc {}

/// One sender and one receiver.
#[derive(Debug)]
pub enum Single {}

macro_rules! kind {
    ($kind:ident, $module:ident, $operations:ident) => {
        impl Kind for $kind {
            type Sender<T> = $module::Sender<T>;
            type Receiver<T> = $module::Receiver<T>;
            type Send<T> = $operations::branch::Send<T>;
            type Recv<T> = $operations::branch::Recv<T>;
            type Watch<T> = Listen<$operations::branch::Watch<T>>;

            #[inline(always)]
            unsafe fn send<T>(sender: &Self::Sender<T>, value: MaybeUninit<T>) -> Self::Send<T> {
                $operations::branch::Send { shared: sender.shared(), value }
            }

            #[inline(always)]
            unsafe fn recv<T>(receiver: &Self::Receiver<T>) -> Self::Recv<T> {
                $operations::branch::Recv { shared: receiver.shared() }
            }

            unsafe fn watch<T>(sender: &Self::Sender<T>) -> Self::Watch<T> {
                Listen($operations::branch::Watch { shared: sender.shared() })
            }
        }
    };
}
kind!(Many, channel, channel);
kind!(Mpsc, mpsc, channel);
kind!(Single, spsc, spsc);

/// The types of a kind's module that are those of `channel`, for this kind.
macro_rules! of_kind {
    ($kind:ident: $($name:ident $(<$lifetime:lifetime>)?)+) => {$(
        #[doc = concat!("See [`channel::", stringify!($name), "`](super::", stringify!($name), ").")]
        pub type $name<$($lifetime,)? T> = super::$name<$($lifetime,)? T, $kind>;
    )+};
}
pub(super) use of_kind;

/// A kind that has permits: its channels are those of [`Many`].
pub trait Reserves: Kind {
    fn shared<T>(sender: &Self::Sender<T>) -> SharedRef<T>;
}

impl Reserves for Many {
    fn shared<T>(sender: &Self::Sender<T>) -> SharedRef<T> {
        sender.shared()
    }
}

impl Reserves for Mpsc {
    fn shared<T>(sender: &Self::Sender<T>) -> SharedRef<T> {
        sender.shared()
    }
}
