//! Producers and consumers, and two who answer each other.

use super::ChannelWork;
use crate::exec::Exec;
use crate::peers::{Channel, Received, Sent};

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
                        sum += C::recv(&mut rx).await.value().expect("all values come before the end");
                    }
                    sum
                })
            })
            .collect();
        let producers: Vec<_> = copies(tx, C::another_tx, self.producers)
            .map(|mut tx| {
                E::spawn(async move {
                    for value in 0..ops / self.producers {
                        assert!(C::send(&mut tx, value).await.sent(), "receivers stay to the end");
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
                let value = C::recv(&mut ping_rx).await.value().expect("the client stays");
                assert!(C::send(&mut pong_tx, value + 1).await.sent(), "the client stays");
            }
        });
        let client = E::spawn(async move {
            let mut value = 0;
            for _ in 0..ops {
                assert!(C::send(&mut ping_tx, value).await.sent(), "the server stays");
                value = C::recv(&mut pong_rx).await.value().expect("the server stays");
            }
            value
        });
        server.await;
        assert_eq!(client.await, ops, "each round adds one");
    }
}
