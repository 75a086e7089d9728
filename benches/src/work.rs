//! The shapes that are measured, each written once, generic over executor and channel.
//!
//! A function here does `ops` operations, a multiple of [`crate::measure::GRAIN`], and checks the sum of what
//! arrived: a channel that loses a value fails instead of looking fast.

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::exec::Exec;
use crate::peers::{Channel, Lock};

/// Tasks that a group of spawns starts before it joins them; also the waiters of a crowded lock.
const GROUP: u64 = 100;

/// Something done with channels of one library.
pub trait ChannelWork: Copy + Send + Sync + 'static {
    /// Whether the library's channel can do it.
    fn fits<C: Channel>(self) -> bool;
    /// Does it.
    fn run<E: Exec, C: Channel>(self, ops: u64) -> impl Future<Output = ()> + Send + 'static;
}

/// Producers and consumers on one channel; an operation is one value passed.
#[derive(Clone, Copy)]
pub struct Transfer {
    /// The channel's capacity.
    pub capacity: usize,
    /// Tasks that send.
    pub producers: u64,
    /// Tasks that receive.
    pub consumers: u64,
}

impl ChannelWork for Transfer {
    fn fits<C: Channel>(self) -> bool {
        C::open(self.capacity).is_some_and(|(tx, rx)| {
            (self.producers == 1 || C::another_tx(&tx).is_some())
                && (self.consumers == 1 || C::another_rx(&rx).is_some())
        })
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (tx, rx) = C::open(self.capacity).expect("checked by `fits`");
        let consumers: Vec<_> = copies(rx, C::another_rx, self.consumers)
            .map(|mut rx| {
                E::spawn(async move {
                    let mut sum = 0;
                    for _ in 0..ops / self.consumers {
                        sum += C::recv(&mut rx).await.expect("all values come before the end");
                    }
                    sum
                })
            })
            .collect();
        let producers: Vec<_> = copies(tx, C::another_tx, self.producers)
            .map(|mut tx| {
                E::spawn(async move {
                    for value in 0..ops / self.producers {
                        assert!(C::send(&mut tx, value).await, "receivers stay to the end");
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.await;
        }
        let mut sum = 0;
        for consumer in consumers {
            sum += consumer.await;
        }
        let each = ops / self.producers;
        assert_eq!(sum, self.producers * (each * (each - 1) / 2), "each value arrives once");
    }
}

/// `count` handles: `count - 1` copies, then the original.
fn copies<H>(handle: H, another: fn(&H) -> Option<H>, count: u64) -> impl Iterator<Item = H> {
    let mut handles: Vec<H> = (1..count).map(|_| another(&handle).expect("checked by `fits`")).collect();
    handles.push(handle);
    handles.into_iter()
}

/// Two tasks send a value to and fro over two channels; an operation is one round trip.
#[derive(Clone, Copy)]
pub struct PingPong {
    /// The channels' capacity.
    pub capacity: usize,
}

impl ChannelWork for PingPong {
    fn fits<C: Channel>(self) -> bool {
        C::open(self.capacity).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (mut ping_tx, mut ping_rx) = C::open(self.capacity).expect("checked by `fits`");
        let (mut pong_tx, mut pong_rx) = C::open(self.capacity).expect("checked by `fits`");
        let server = E::spawn(async move {
            for _ in 0..ops {
                let value = C::recv(&mut ping_rx).await.expect("the client stays");
                assert!(C::send(&mut pong_tx, value + 1).await, "the client stays");
            }
        });
        let client = E::spawn(async move {
            let mut value = 0;
            for _ in 0..ops {
                assert!(C::send(&mut ping_tx, value).await, "the server stays");
                value = C::recv(&mut pong_rx).await.expect("the server stays");
            }
            value
        });
        server.await;
        assert_eq!(client.await, ops, "each round adds one");
    }
}

/// One task sends to itself, so that nothing ever waits; an operation is one send and one receive.
#[derive(Clone, Copy)]
pub struct Uncontended {
    /// The channel's capacity.
    pub capacity: usize,
    /// With `try_send` and `try_recv` instead of the futures.
    pub tried: bool,
}

impl ChannelWork for Uncontended {
    fn fits<C: Channel>(self) -> bool {
        C::open(self.capacity).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (mut tx, mut rx) = C::open(self.capacity).expect("checked by `fits`");
        if self.tried {
            for value in 0..ops {
                assert!(C::try_send(&mut tx, black_box(value)), "there is room");
                assert_eq!(C::try_recv(&mut rx), Some(value));
            }
        } else {
            for value in 0..ops {
                assert!(C::send(&mut tx, black_box(value)).await, "there is room");
                assert_eq!(C::recv(&mut rx).await, Some(value));
            }
        }
    }
}

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
            assert_eq!(C::recv_any(&mut rxs).await, Some(value));
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
                assert_eq!(C::recv_any(&mut rxs).await, Some(value));
                assert!(C::send(&mut answer, value).await, "it is open");
            }
        });
        for value in 0..ops {
            let at = value as usize % txs.len();
            assert!(C::send(&mut txs[at], value).await, "it is open");
            assert_eq!(C::recv(&mut answers).await, Some(value));
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

/// A channel is made, passes one value and is dropped; that is one operation.
#[derive(Clone, Copy)]
pub struct Create;

impl ChannelWork for Create {
    fn fits<C: Channel>(self) -> bool {
        C::open(1).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        for value in 0..ops {
            let (mut tx, mut rx) = C::open(1).expect("checked by `fits`");
            assert!(C::send(&mut tx, value).await, "there is room");
            assert_eq!(C::recv(&mut rx).await, Some(value));
        }
    }
}

/// A receive on an empty channel is polled once and dropped; that is one operation.
#[derive(Clone, Copy)]
pub struct Abandon {
    /// The channel's capacity.
    pub capacity: usize,
}

impl ChannelWork for Abandon {
    fn fits<C: Channel>(self) -> bool {
        C::open(self.capacity).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (_tx, mut rx) = C::open(self.capacity).expect("checked by `fits`");
        for _ in 0..ops {
            let mut recv = pin!(C::recv(&mut rx));
            poll_fn(|cx| {
                assert!(recv.as_mut().poll(cx).is_pending(), "nothing was sent");
                Poll::Ready(())
            })
            .await;
        }
    }
}

/// Tasks take turns at one lock; an operation is one lock and unlock. `held`: over a yield, so that others
/// have to queue.
pub async fn lock<E: Exec, L: Lock>(tasks: u64, held: bool, ops: u64) {
    let lock = Arc::new(L::new(0));
    let tasks: Vec<_> = (0..tasks)
        .map(|_| {
            let lock = Arc::clone(&lock);
            E::spawn(async move {
                for _ in 0..ops / tasks {
                    let mut value = lock.lock().await;
                    *value += 1;
                    if held {
                        E::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
    assert_eq!(*lock.lock().await, ops, "no increment is lost");
}

/// Two tasks yield; an operation is one yield.
pub async fn yields<E: Exec>(ops: u64) {
    let task = || {
        E::spawn(async move {
            for _ in 0..ops / 2 {
                E::yield_now().await;
            }
        })
    };
    let (a, b) = (task(), task());
    a.await;
    b.await;
}

/// Spawns one task and joins it, again and again; that is one operation.
pub async fn spawn_one<E: Exec>(ops: u64) {
    for value in 0..ops {
        assert_eq!(E::spawn(async move { black_box(value) }).await, value);
    }
}

/// Spawns a group of tasks, then joins them; an operation is one task.
pub async fn spawn_many<E: Exec>(ops: u64) {
    for _ in 0..ops / GROUP {
        let tasks: Vec<_> = (0..GROUP).map(|value| E::spawn(async move { black_box(value) })).collect();
        for (value, task) in (0..).zip(tasks) {
            assert_eq!(task.await, value);
        }
    }
}
