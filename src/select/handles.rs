//! The handles whose operations a dynamic [`Select`](super::Select) takes by name. (What others have, as broadcast, is added as an
//! operation.)

#![allow(private_interfaces, unnameable_types, reason = "sealed: only this crate names these")]

use std::rc::Rc;
use std::sync::Arc;

use super::arm::{Arm, Claimed};
use crate::channel::{Receiver, Sender, mpsc, spsc};

/// The receiver of a channel, be it general, mpsc or spsc, by value, or borrowed as it has to be. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no receiver of a queue",
    label = "no receiver that `Select::recv` can take",
    note = "a receiver of `mpsc` or `spsc` is passed by `&mut` or by value; for a broadcast, a watch or a oneshot use \
            `Select::add` with its future"
)]
pub trait Receives<'a, T>: Receive<'a, T> {}

/// The sender of a channel, be it general, mpsc or spsc, by value, or borrowed as it has to be. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no sender of a queue",
    label = "no sender that `Select::send` can take",
    note = "a sender of `spsc` is passed by `&mut` or by value; for a broadcast use `Select::add` with the future of its \
            `send_async`"
)]
pub trait Sends<'a, T>: Sending<'a, T> {}

pub trait Receive<'a, T> {
    /// A receive of a `T`.
    fn receive(self) -> Box<dyn Arm + Send + 'a>;
}

pub trait Sending<'a, T> {
    /// A send of a `T`.
    fn sending(self, value: T) -> Box<dyn Arm + Send + 'a>;
}

macro_rules! receives {
    ($recv:ident: $($handle:ty)*) => {$(
        impl<'a, T: Send + 'a> Receive<'a, T> for $handle {
            #[track_caller]
            fn receive(self) -> Box<dyn Arm + Send + 'a> {
                Box::new(Claimed::new(self.$recv()))
            }
        }

        impl<'a, T: Send + 'a> Receives<'a, T> for $handle {}
    )*};
}

macro_rules! sends {
    ($send:ident: $($handle:ty)*) => {$(
        impl<'a, T: Send + 'a> Sending<'a, T> for $handle {
            #[track_caller]
            fn sending(self, value: T) -> Box<dyn Arm + Send + 'a> {
                Box::new(Claimed::new(self.$send(value)))
            }
        }

        impl<'a, T: Send + 'a> Sends<'a, T> for $handle {}
    )*};
}

// A handle that may be shared may also be borrowed uniquely, so that a program can change the kind of a channel. And it may be
// borrowed by way of whatever would coerce to a reference to it, if that type were asked for.
receives! {
    recv: &'a Receiver<T> &'_ &'a Receiver<T> &'a Arc<Receiver<T>> &'a Rc<Receiver<T>> &'a Box<Receiver<T>>
    &'a mut Receiver<T>
    &'a mut mpsc::Receiver<T>
    &'a mut spsc::Receiver<T>
}
receives!(into_recv: Receiver<T> mpsc::Receiver<T> spsc::Receiver<T>);
sends! {
    send: &'a Sender<T> &'_ &'a Sender<T> &'a Arc<Sender<T>> &'a Rc<Sender<T>> &'a Box<Sender<T>> &'a mut Sender<T>
    &'a mpsc::Sender<T> &'_ &'a mpsc::Sender<T> &'a Arc<mpsc::Sender<T>> &'a Rc<mpsc::Sender<T>>
    &'a Box<mpsc::Sender<T>> &'a mut mpsc::Sender<T>
    &'a mut spsc::Sender<T>
}
sends!(into_send: Sender<T> mpsc::Sender<T> spsc::Sender<T>);
