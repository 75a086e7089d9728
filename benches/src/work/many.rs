//! Many tasks and many channels: a ring and a sieve.

use super::ChannelWork;
use crate::exec::Exec;
use crate::peers::{Channel, Received, Sent};

/// Tasks of a ring.
const RING: u64 = 1_000;

/// Tasks in a ring hand a token round; an operation is one hand-over. Where a library has no capacity 0, with capacity 1.
#[derive(Clone, Copy)]
pub struct Ring;

impl Ring {
    fn open<C: Channel>() -> Option<(C::Tx, C::Rx)> {
        C::open(0).or_else(|| C::open(1))
    }
}

impl ChannelWork for Ring {
    const GRAIN: u64 = RING;

    fn fits<C: Channel>(self) -> bool {
        Self::open::<C>().is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let laps = ops / RING;
        let (mut first, mut rx) = Self::open::<C>().expect("checked by `fits`");
        let mut tasks = Vec::new();
        for _ in 1..RING {
            let (mut tx, next) = Self::open::<C>().expect("checked by `fits`");
            tasks.push(E::spawn(async move {
                for _ in 0..laps {
                    let token = C::recv(&mut rx).await.value().expect("the ring is closed");
                    assert!(C::send(&mut tx, token + 1).await.sent(), "the ring is closed");
                }
            }));
            rx = next;
        }
        let last = E::spawn(async move {
            let mut token = 0;
            for _ in 0..laps {
                assert!(C::send(&mut first, token + 1).await.sent(), "the ring is closed");
                token = C::recv(&mut rx).await.value().expect("the ring is closed");
            }
            token
        });
        assert_eq!(last.await, ops, "each task adds one in each lap");
        for task in tasks {
            task.await;
        }
    }
}

/// How many primes a sieve finds, and the last of them.
const PRIMES: (u64, u64) = (300, 1_987);

/// The prime sieve: a task for each prime, which takes that prime's multiples out of what it passes on; an operation is
/// one prime, several hundred hand-overs.
#[derive(Clone, Copy)]
pub struct Sieve {
    /// The channels' capacity.
    pub capacity: usize,
}

impl ChannelWork for Sieve {
    const GRAIN: u64 = PRIMES.0;

    fn fits<C: Channel>(self) -> bool {
        C::open(self.capacity).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        for _ in 0..ops / PRIMES.0 {
            self.once::<E, C>().await;
        }
    }
}

impl Sieve {
    async fn once<E: Exec, C: Channel>(self) {
        let (mut tx, mut rx) = C::open(self.capacity).expect("checked by `fits`");
        let numbers = E::spawn(async move {
            for number in 2.. {
                if !C::send(&mut tx, number).await.sent() {
                    break;
                }
            }
        });
        let mut filters = Vec::new();
        let mut prime = 0;
        for _ in 0..PRIMES.0 {
            prime = C::recv(&mut rx).await.value().expect("there is always a next prime");
            let (tx, passed) = C::open(self.capacity).expect("checked by `fits`");
            filters.push(E::spawn(filter::<C>(prime, rx, tx)));
            rx = passed;
        }
        assert_eq!(prime, PRIMES.1, "the last prime");
        drop(rx);
        numbers.await;
        for filter in filters {
            filter.await;
        }
    }
}

/// Passes on what is no multiple of `prime`, as long as somebody wants it.
async fn filter<C: Channel>(prime: u64, mut rx: C::Rx, mut tx: C::Tx) {
    while let Some(number) = C::recv(&mut rx).await.value() {
        if number % prime != 0 && !C::send(&mut tx, number).await.sent() {
            break;
        }
    }
}
