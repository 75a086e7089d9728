//! The shapes that are measured, each written once, generic over executor and channel.
//!
//! A shape does `ops` operations, a multiple of its grain, and checks what arrived (a sum, a last prime): a
//! channel that loses a value fails instead of looking fast.

use std::future::Future;

use crate::exec::Exec;
use crate::measure::GRAIN;
use crate::peers::Channel;

mod alone;
mod executor;
mod lock;
mod many;
mod once;
mod select;
mod transfer;

pub use alone::{Abandon, Create, Uncontended};
pub use executor::{ExecutorWork, Jobs, Skynet, SpawnMany, SpawnOne, Yields, round_trips, timers};
pub use lock::lock;
pub use many::{Ring, Sieve};
pub use once::once;
pub use select::{Select, SelectSet, SelectWaits};
pub use transfer::{PingPong, Transfer};

/// Something done with channels of one library.
pub trait ChannelWork: Copy + Send + Sync + 'static {
    /// Operations come in multiples of this.
    const GRAIN: u64 = GRAIN;

    /// Whether the library's channel can do it.
    fn fits<C: Channel>(self) -> bool;
    /// Does it.
    fn run<E: Exec, C: Channel>(self, ops: u64) -> impl Future<Output = ()> + Send + 'static;
}
