//! The batches of an spsc channel: see [`many`](super::super::many).

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;

use super::super::many::{Gives, Giving, Sending, Takes, Taking, UpTo, batches};
use super::super::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::branch::{Recv, Send};
use super::{Receiver, Sender};
use crate::task::context::may_block;
use crate::task::thread::deadline_after;
use crate::wait::{By, Operation};

impl<T> Gives<T> for Send<T> {
    fn place(&mut self) -> &mut MaybeUninit<T> {
        Send::place(self)
    }

    fn quick_several(&self, values: &mut VecDeque<T>) -> usize {
        match self {
            Send::Met(send) => send.quick_several(values),
            Send::Own(send) => {
                let mut by = By::plain();
                let count = send.shared().send_several(values, &mut by);
                by.wake();
                count
            }
        }
    }
}

impl<T> Takes<T> for Recv<T> {
    fn several(&self, out: &mut Vec<T>, max: usize) -> usize {
        match self {
            Recv::Met(recv) => recv.several(out, max),
            Recv::Own(recv) => {
                let mut by = By::plain();
                let count = recv.shared().recv_several(out, max, &mut by);
                by.wake();
                count
            }
        }
    }
}

batches!(channel);
