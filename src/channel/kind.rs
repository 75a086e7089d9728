//! What the futures, streams, iterators and sinks that own a handle ask of its kind: which types of handles it has. So each of those
//! is written once. (What borrows a handle borrows the general one.)

#![allow(
    private_interfaces,
    private_bounds,
    unnameable_types,
    reason = "nobody outside the crate can name what is here"
)]

use std::fmt;

use super::{Receiver, Sender, mpsc, spsc};
use crate::channel;

/// Whether a side may have several handles.
pub trait Kind: Sized {
    type Sender<T>: fmt::Debug;
    type Receiver<T>: fmt::Debug;

    /// The general sender that a sender of this kind is.
    fn sender<T>(sender: &Self::Sender<T>) -> &Sender<T>;

    /// The same of a receiver.
    fn receiver<T>(receiver: &Self::Receiver<T>) -> &Receiver<T>;
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
    ($($kind:ident: $module:ident [$($general:tt)?];)*) => {$(
        impl Kind for $kind {
            type Sender<T> = $module::Sender<T>;
            type Receiver<T> = $module::Receiver<T>;

            fn sender<T>(sender: &Self::Sender<T>) -> &Sender<T> {
                &sender$(.$general)?
            }

            fn receiver<T>(receiver: &Self::Receiver<T>) -> &Receiver<T> {
                &receiver$(.$general)?
            }
        }
    )*};
}
kinds! {
    Many: channel [];
    Mpsc: mpsc [0];
    Single: spsc [0];
}

/// The types of a kind's module that are those of `channel`, for this kind.
macro_rules! of_kind {
    ($kind:ident: $($name:ident)+) => {$(
        #[doc = concat!("See [`channel::", stringify!($name), "`](super::", stringify!($name), ").")]
        pub type $name<T> = super::$name<T, $kind>;
    )+};
}
pub(super) use of_kind;
