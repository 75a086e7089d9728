//! One adapter per library, all behind [`Channel`] or [`Lock`].
//!
//! An adapter for tasks awaits the library's futures. One for threads makes the blocking calls inside futures
//! that are ready at once, so that the same workloads run on both ([`crate::exec::Threads`]).

use std::future::Future;
use std::ops::DerefMut;

mod async_channel;
mod crossbeam;
mod crossfire;
mod fibre;
mod flume;
mod kanal;
mod leno;
mod locks;
mod std_mpsc;
mod tokio;

/// The capacity that stands for an unbounded channel.
pub const UNBOUNDED: usize = usize::MAX;

/// A library's channel of `u64`.
pub trait Channel: 'static {
    /// Its name in tables.
    const NAME: &'static str;
    /// The sending side.
    type Tx: Send + 'static;
    /// The receiving side.
    type Rx: Send + 'static;

    /// A new channel; `None` where the library has none of this capacity.
    fn open(capacity: usize) -> Option<(Self::Tx, Self::Rx)>;
    /// Another sender; `None` where there can be only one.
    fn another_tx(tx: &Self::Tx) -> Option<Self::Tx>;
    /// Another receiver; `None` where there can be only one.
    fn another_rx(rx: &Self::Rx) -> Option<Self::Rx>;
    /// Sends; false on a closed channel.
    fn send(tx: &mut Self::Tx, value: u64) -> impl Future<Output = bool> + Send;
    /// Receives; `None` on a closed channel.
    fn recv(rx: &mut Self::Rx) -> impl Future<Output = Option<u64>> + Send;
    /// Receives from whichever has a value, the other receive leaving no trace; `None` on a closed channel.
    fn recv_either(a: &mut Self::Rx, b: &mut Self::Rx) -> impl Future<Output = Option<u64>> + Send {
        async {
            ::tokio::select! {
                value = Self::recv(a) => value,
                value = Self::recv(b) => value,
            }
        }
    }
    /// Sends if that is possible without waiting.
    fn try_send(tx: &mut Self::Tx, value: u64) -> bool;
    /// Receives if that is possible without waiting.
    fn try_recv(rx: &mut Self::Rx) -> Option<u64>;
}

/// A library's asynchronous lock around a `u64`.
pub trait Lock: Send + Sync + 'static {
    /// Its name in tables.
    const NAME: &'static str;
    /// What unlocks when it is dropped.
    type Guard<'a>: DerefMut<Target = u64> + Send;

    /// An unlocked lock.
    fn new(value: u64) -> Self;
    /// Waits for the lock.
    fn lock(&self) -> impl Future<Output = Self::Guard<'_>> + Send;
}

/// What is called with each adapter's type.
pub trait VisitChannels {
    /// One adapter.
    fn channel<C: Channel>(&mut self);
}

/// What is called with each lock's type.
pub trait VisitLocks {
    /// One lock.
    fn lock<L: Lock>(&mut self);
}

/// Every channel that tasks can use; leno's first.
pub fn channels_for_tasks(visitor: &mut impl VisitChannels) {
    visitor.channel::<leno::Leno>();
    visitor.channel::<async_channel::AsyncChannel>();
    visitor.channel::<crossfire::Crossfire>();
    visitor.channel::<crossfire::CrossfireSpsc>();
    visitor.channel::<fibre::Fibre>();
    visitor.channel::<fibre::FibreRendezvous>();
    visitor.channel::<fibre::FibreSpsc>();
    visitor.channel::<fibre::FibreSpscRendezvous>();
    visitor.channel::<flume::Flume>();
    visitor.channel::<kanal::Kanal>();
    visitor.channel::<tokio::Tokio>();
}

/// Every channel that threads can use; leno's first.
pub fn channels_for_threads(visitor: &mut impl VisitChannels) {
    visitor.channel::<leno::LenoBlocking>();
    visitor.channel::<async_channel::AsyncChannelBlocking>();
    visitor.channel::<crossbeam::Crossbeam>();
    visitor.channel::<crossfire::CrossfireBlocking>();
    visitor.channel::<crossfire::CrossfireSpscBlocking>();
    visitor.channel::<fibre::FibreBlocking>();
    visitor.channel::<fibre::FibreRendezvousBlocking>();
    visitor.channel::<flume::FlumeBlocking>();
    visitor.channel::<kanal::KanalBlocking>();
    visitor.channel::<std_mpsc::StdMpsc>();
    visitor.channel::<tokio::TokioBlocking>();
}

/// Every lock; leno's first.
pub fn locks(visitor: &mut impl VisitLocks) {
    visitor.lock::<locks::Leno>();
    visitor.lock::<locks::AsyncLock>();
    visitor.lock::<locks::Fibre>();
    visitor.lock::<locks::Tokio>();
}

/// Implements [`Channel`] for a unit type: kind, name, handles, and one expression per operation.
macro_rules! adapter {
    (
        $(#[$doc:meta])* $Adapter:ident, $name:literal, $Kind:ident, $Tx:ty, $Rx:ty;
        open($capacity:ident) $open:expr $(, unbounded $unbounded:expr)?;
        send($tx:ident, $value:ident) $send:expr, try $try_send:expr;
        recv($rx:ident) $recv:expr, try $try_recv:expr;
        $(either($a:ident, $b:ident) $either:expr;)?
    ) => {
        $(#[$doc])*
        pub(super) struct $Adapter;

        impl super::Channel for $Adapter {
            const NAME: &'static str = $name;
            type Tx = $Tx;
            type Rx = $Rx;

            fn open($capacity: usize) -> Option<(Self::Tx, Self::Rx)> {
                if $capacity == super::UNBOUNDED {
                    return super::adapter!(@unbounded $($unbounded)?);
                }
                $open
            }
            fn another_tx(_tx: &Self::Tx) -> Option<Self::Tx> {
                super::adapter!(@tx $Kind _tx)
            }
            fn another_rx(_rx: &Self::Rx) -> Option<Self::Rx> {
                super::adapter!(@rx $Kind _rx)
            }
            async fn send($tx: &mut Self::Tx, $value: u64) -> bool {
                $send
            }
            async fn recv($rx: &mut Self::Rx) -> Option<u64> {
                $recv
            }
            $(async fn recv_either($a: &mut Self::Rx, $b: &mut Self::Rx) -> Option<u64> {
                $either
            })?
            fn try_send($tx: &mut Self::Tx, $value: u64) -> bool {
                $try_send
            }
            fn try_recv($rx: &mut Self::Rx) -> Option<u64> {
                $try_recv
            }
        }
    };
    (@unbounded) => { None };
    (@unbounded $unbounded:expr) => { Some($unbounded) };
    (@tx Spsc $tx:ident) => { None };
    (@tx $Many:ident $tx:ident) => { Some($tx.clone()) };
    (@rx Mpmc $rx:ident) => { Some($rx.clone()) };
    (@rx $Single:ident $rx:ident) => { None };
}
use adapter;
