//! One of several: selects that find something ready, and selects that wait.

use std::hint::black_box;

use super::ChannelWork;
use crate::exec::Exec;
use crate::peers::{Channel, Received, Sent};

/// One task sends into one of `channels` and selects the receive; an operation is one send and one select. The branch
/// that is ready changes each time.
#[derive(Clone, Copy)]
pub struct Select {
    /// 2 or 8.
    pub channels: usize,
}

impl ChannelWork for Select {
    fn fits<C: Channel>(self) -> bool {
        C::open(1).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (mut txs, mut rxs) = several::<C>(self.channels);
        for value in 0..ops {
            let at = value as usize % txs.len();
            assert!(C::try_send(&mut txs[at], black_box(value)), "there is room");
            assert_eq!(C::recv_any(&mut rxs).await.value(), Some(value));
        }
    }
}

/// A task waits in a select over `channels`, another one sends into one of them, and waits for the answer; an operation
/// is one select that waits.
#[derive(Clone, Copy)]
pub struct SelectWaits {
    /// 2 or 8.
    pub channels: usize,
}

impl ChannelWork for SelectWaits {
    fn fits<C: Channel>(self) -> bool {
        C::open(1).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (mut txs, mut rxs) = several::<C>(self.channels);
        let (mut answer, mut answers) = C::open(1).expect("checked by `fits`");
        let selecting = E::spawn(async move {
            for value in 0..ops {
                assert_eq!(C::recv_any(&mut rxs).await.value(), Some(value));
                assert!(C::send(&mut answer, value).await.sent(), "it is open");
            }
        });
        for value in 0..ops {
            let at = value as usize % txs.len();
            assert!(C::send(&mut txs[at], value).await.sent(), "it is open");
            assert_eq!(C::recv(&mut answers).await.value(), Some(value));
        }
        selecting.await;
    }
}

/// As [`Select`], on a thread, with the library's set of operations; over any number of channels.
#[derive(Clone, Copy)]
pub struct SelectSet {
    /// How many.
    pub channels: usize,
}

impl ChannelWork for SelectSet {
    fn fits<C: Channel>(self) -> bool {
        C::open(1).is_some_and(|(_, rx)| C::recv_any_blocking(&[rx], 0, || {}).is_some())
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (mut txs, rxs) = several::<C>(self.channels);
        let mut next = 0;
        let send = || {
            assert!(C::try_send(&mut txs[next], black_box(1)), "there is room");
            next = (next + 1) % self.channels;
        };
        C::recv_any_blocking(&rxs, ops, send).expect("checked by `fits`");
    }
}

fn several<C: Channel>(count: usize) -> (Vec<C::Tx>, Vec<C::Rx>) {
    (0..count).map(|_| C::open(1).expect("checked by `fits`")).unzip()
}
