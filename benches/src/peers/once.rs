//! Channels for one value.

use std::future::Future;

use super::Received;

/// A library's channel for one `u64`.
pub trait Once: 'static {
    /// Its name in tables.
    const NAME: &'static str;
    /// The sending end.
    type Tx: Send + 'static;
    /// The receiving end, or its future.
    type Rx: Future<Output: Received> + Send + Unpin + 'static;

    /// A new one.
    fn open() -> (Self::Tx, Self::Rx);
    /// Sends; false if nobody will receive it.
    fn send(tx: Self::Tx, value: u64) -> bool;
}

macro_rules! once {
    ($(#[$doc:meta])* $Once:ident, $name:literal, $Tx:ty, $Rx:ty, $open:path) => {
        $(#[$doc])*
        pub(super) struct $Once;

        impl Once for $Once {
            const NAME: &'static str = $name;
            type Tx = $Tx;
            type Rx = $Rx;

            fn open() -> (Self::Tx, Self::Rx) {
                $open()
            }
            fn send(tx: Self::Tx, value: u64) -> bool {
                tx.send(value).is_ok()
            }
        }
    };
}

once!(
    /// leno's.
    Leno, "leno", leno::channel::oneshot::Sender<u64>, leno::channel::oneshot::Receiver<u64>,
    leno::channel::oneshot::channel
);
once!(
    /// tokio's.
    Tokio, "tokio", tokio::sync::oneshot::Sender<u64>, tokio::sync::oneshot::Receiver<u64>,
    tokio::sync::oneshot::channel
);
once!(
    /// That of futures-channel.
    Futures, "futures", futures_channel::oneshot::Sender<u64>, futures_channel::oneshot::Receiver<u64>,
    futures_channel::oneshot::channel
);
once!(
    /// The crate of that name.
    Oneshot, "oneshot", oneshot::Sender<u64>, oneshot::AsyncReceiver<u64>,
    oneshot::async_channel
);
