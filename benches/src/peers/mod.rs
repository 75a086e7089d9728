//! One adapter per library, all behind [`Channel`] or [`Lock`].
//!
//! The workloads use a library as programs do, with nothing of the adapter's in between: one for tasks gives the library's own
//! futures, which the workloads await. (Behind an `async fn` of the adapter's an operation would cost up to twice as many
//! instructions, mostly where the library's future is compiled into what awaits it. A bounded sender of futures' has no future
//! for a send, and so is behind one.) One for threads makes the blocking calls, and gives futures that are ready, so that the
//! same workloads run on both ([`crate::exec::Threads`]).

use std::future::Future;

mod async_channel;
mod crossbeam;
mod crossfire;
mod fibre;
mod flume;
mod futures;
mod kanal;
mod leno;
mod locks;
mod loole;
mod once;
mod std_mpsc;
mod thingbuf;
mod tokio;

/// Receives from whichever of 2 or 8 has a value, by a macro like tokio's.
macro_rules! any {
    ($select:path, $recv:path, $rxs:expr) => {
        async move {
            use $select as select;
            match $rxs {
                [a, b] => select! {
                    value = $recv(a) => value,
                    value = $recv(b) => value,
                },
                [a, b, c, d, e, f, g, h] => select! {
                    value = $recv(a) => value,
                    value = $recv(b) => value,
                    value = $recv(c) => value,
                    value = $recv(d) => value,
                    value = $recv(e) => value,
                    value = $recv(f) => value,
                    value = $recv(g) => value,
                    value = $recv(h) => value,
                },
                rxs => unreachable!("there is no macro for {} branches here", rxs.len()),
            }
        }
    };
}
use any;

pub use once::Once;

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
    /// Sends.
    fn send(tx: &mut Self::Tx, value: u64) -> impl Future<Output: Sent> + Send;
    /// Receives.
    fn recv(rx: &mut Self::Rx) -> impl Future<Output: Received> + Send;
    /// Receives from whichever of 2 or 8 has a value, the other receives leaving no trace.
    fn recv_any(rxs: &mut [Self::Rx]) -> impl Future<Output: Received> + Send {
        any!(::tokio::select, Self::recv, rxs)
    }
    /// Does so `ops` times, from any number of receivers, each time after `before`; `None` where the library has no
    /// select over a number of channels that is known as the program runs only.
    fn recv_any_blocking(_rxs: &[Self::Rx], _ops: u64, _before: impl FnMut()) -> Option<()> {
        None
    }
    /// Sends if that is possible without waiting.
    fn try_send(tx: &mut Self::Tx, value: u64) -> bool;
    /// Receives if that is possible without waiting.
    fn try_recv(rx: &mut Self::Rx) -> Option<u64>;
}

/// What a library says of a send.
pub trait Sent: Send {
    /// False: the channel is closed.
    fn sent(self) -> bool;
}

impl Sent for bool {
    #[inline(always)]
    fn sent(self) -> bool {
        self
    }
}

impl<E: Send> Sent for Result<(), E> {
    #[inline(always)]
    fn sent(self) -> bool {
        self.is_ok()
    }
}

/// What a library says of a receive.
pub trait Received: Send {
    /// The value. `None`: the channel is closed.
    fn value(self) -> Option<u64>;
}

impl Received for Option<u64> {
    #[inline(always)]
    fn value(self) -> Option<u64> {
        self
    }
}

impl<E: Send> Received for Result<u64, E> {
    #[inline(always)]
    fn value(self) -> Option<u64> {
        self.ok()
    }
}

/// A library's asynchronous lock around a `u64`.
pub trait Lock: Send + Sync + 'static {
    /// Its name in tables.
    const NAME: &'static str;
    /// What unlocks when it is dropped.
    type Held<'a>: Send;

    /// An unlocked lock.
    fn new(value: u64) -> Self;
    /// Waits for the lock.
    fn lock(&self) -> impl Future<Output = Self::Held<'_>> + Send;
    /// The value, for who holds the lock.
    ///
    /// # Safety
    /// It is this lock that is held.
    unsafe fn value<'a>(&'a self, held: &'a mut Self::Held<'_>) -> &'a mut u64;
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

/// What is called with the type of each channel for one value.
pub trait VisitOnces {
    /// One of them.
    fn once<O: Once>(&mut self);
}

/// Every channel that tasks can use; leno's first.
pub fn channels_for_tasks(visitor: &mut impl VisitChannels) {
    visitor.channel::<leno::Leno>();
    visitor.channel::<async_channel::AsyncChannel>();
    visitor.channel::<crossfire::Crossfire>();
    visitor.channel::<crossfire::CrossfireUnbounded>();
    visitor.channel::<crossfire::CrossfireMpsc>();
    visitor.channel::<crossfire::CrossfireMpscUnbounded>();
    visitor.channel::<crossfire::CrossfireSpsc>();
    visitor.channel::<crossfire::CrossfireSpscUnbounded>();
    visitor.channel::<fibre::Fibre>();
    visitor.channel::<fibre::FibreRendezvous>();
    visitor.channel::<fibre::FibreUnbounded>();
    visitor.channel::<fibre::FibreMpsc>();
    visitor.channel::<fibre::FibreMpscRendezvous>();
    visitor.channel::<fibre::FibreMpscUnbounded>();
    visitor.channel::<fibre::FibreSpsc>();
    visitor.channel::<fibre::FibreSpscRendezvous>();
    visitor.channel::<flume::Flume>();
    visitor.channel::<futures::Futures>();
    visitor.channel::<futures::FuturesUnbounded>();
    visitor.channel::<kanal::Kanal>();
    visitor.channel::<loole::Loole>();
    visitor.channel::<thingbuf::Thingbuf>();
    visitor.channel::<tokio::Tokio>();
    visitor.channel::<tokio::TokioUnbounded>();
}

/// Every channel that threads can use; leno's first.
pub fn channels_for_threads(visitor: &mut impl VisitChannels) {
    visitor.channel::<leno::LenoBlocking>();
    visitor.channel::<async_channel::AsyncChannelBlocking>();
    visitor.channel::<crossbeam::Crossbeam>();
    visitor.channel::<crossfire::CrossfireBlocking>();
    visitor.channel::<crossfire::CrossfireUnboundedBlocking>();
    visitor.channel::<crossfire::CrossfireMpscBlocking>();
    visitor.channel::<crossfire::CrossfireMpscUnboundedBlocking>();
    visitor.channel::<crossfire::CrossfireSpscBlocking>();
    visitor.channel::<fibre::FibreBlocking>();
    visitor.channel::<fibre::FibreRendezvousBlocking>();
    visitor.channel::<fibre::FibreUnboundedBlocking>();
    visitor.channel::<fibre::FibreMpscBlocking>();
    visitor.channel::<fibre::FibreMpscRendezvousBlocking>();
    visitor.channel::<fibre::FibreMpscUnboundedBlocking>();
    visitor.channel::<fibre::FibreSpscBlocking>();
    visitor.channel::<fibre::FibreSpscRendezvousBlocking>();
    visitor.channel::<flume::FlumeBlocking>();
    visitor.channel::<kanal::KanalBlocking>();
    visitor.channel::<loole::LooleBlocking>();
    visitor.channel::<std_mpsc::Std>();
    visitor.channel::<std_mpsc::StdSync>();
    visitor.channel::<thingbuf::ThingbufBlocking>();
    visitor.channel::<tokio::TokioBlocking>();
    visitor.channel::<tokio::TokioUnboundedBlocking>();
}

/// Every lock; leno's first.
pub fn locks(visitor: &mut impl VisitLocks) {
    visitor.lock::<locks::Leno>();
    visitor.lock::<locks::AsyncLock>();
    visitor.lock::<locks::Fibre>();
    visitor.lock::<locks::Tokio>();
}

/// Every semaphore, with one permit as a lock; leno's first.
pub fn semaphores(visitor: &mut impl VisitLocks) {
    visitor.lock::<locks::LenoSemaphore>();
    visitor.lock::<locks::AsyncLockSemaphore>();
    visitor.lock::<locks::TokioSemaphore>();
}

/// Every lock for readers and writers, written; leno's first.
pub fn written(visitor: &mut impl VisitLocks) {
    visitor.lock::<locks::LenoWrite>();
    visitor.lock::<locks::AsyncLockWrite>();
    visitor.lock::<locks::TokioWrite>();
}

/// Every channel for one value; leno's first.
pub fn onces(visitor: &mut impl VisitOnces) {
    visitor.once::<once::Leno>();
    visitor.once::<once::Futures>();
    visitor.once::<once::Oneshot>();
    visitor.once::<once::Tokio>();
}

/// Implements [`Channel`] for a unit type: kind, name, handles, and one expression per operation.
macro_rules! adapter {
    (
        $(#[$doc:meta])* $Adapter:ident, $name:literal, $Kind:ident, $Tx:ty, $Rx:ty;
        open($capacity:ident) $open:expr $(, unbounded $unbounded:expr)?;
        send($tx:ident, $value:ident) $send:expr, try $try_send:expr;
        recv($rx:ident) $recv:expr, try $try_recv:expr;
        $(any($rxs:ident) $any:expr;)?
        $(any_blocking($all:ident, $ops:ident, $before:ident) $any_blocking:expr;)?
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
            #[inline(always)]
            fn send($tx: &mut Self::Tx, $value: u64) -> impl Future<Output: super::Sent> + Send {
                $send
            }
            #[inline(always)]
            fn recv($rx: &mut Self::Rx) -> impl Future<Output: super::Received> + Send {
                $recv
            }
            $(fn recv_any($rxs: &mut [Self::Rx]) -> impl Future<Output: super::Received> + Send {
                $any
            })?
            $(fn recv_any_blocking($all: &[Self::Rx], $ops: u64, mut $before: impl FnMut()) -> Option<()> {
                $any_blocking;
                Some(())
            })?
            #[inline(always)]
            fn try_send($tx: &mut Self::Tx, $value: u64) -> bool {
                $try_send
            }
            #[inline(always)]
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
