//! The batches of an spsc channel: see [`many`](super::super::many).

use std::collections::VecDeque;
use std::mem::MaybeUninit;

use super::super::many::{Gives, Takes};
use super::branch::{Recv, Send};
use crate::wait::By;

impl<T> Gives<T> for Send<T> {
    #[inline(always)]
    fn place(&mut self) -> &mut MaybeUninit<T> {
        match self {
            Send::Met(send) => send.place(),
            Send::Own(send) => &mut send.value,
        }
    }

    fn several(&self, values: &mut VecDeque<T>) -> usize {
        match self {
            Send::Met(send) => send.several(values),
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
