//! The kinds of channels that share the generic contracts.

use leno::{Receiver, Sender, bounded, rendezvous, unbounded};

/// A kind of channel. A new one needs a variant (or just a capacity) here and a line in `each_kind!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rendezvous,
    Bounded(usize),
    Unbounded,
}

impl Kind {
    pub(crate) fn open<T>(self) -> (Sender<T>, Receiver<T>) {
        match self {
            Kind::Rendezvous => rendezvous(),
            Kind::Bounded(cap) => bounded(cap),
            Kind::Unbounded => unbounded(),
        }
    }

    /// How many values fit; `None` for kinds without a limit.
    pub(crate) fn capacity(self) -> Option<usize> {
        match self {
            Kind::Rendezvous => Some(0),
            Kind::Bounded(cap) => Some(cap),
            Kind::Unbounded => None,
        }
    }

    /// Whether a value can stay in the channel while nobody receives.
    pub(crate) fn is_buffered(self) -> bool {
        self.capacity() != Some(0)
    }

    /// How many of `wanted` values can be sent now although nobody receives.
    pub(crate) fn room(self, wanted: usize) -> usize {
        self.capacity().map_or(wanted, |cap| cap.min(wanted))
    }

    /// Whether a send can have to wait.
    pub(crate) fn has_limit(self) -> bool {
        self.capacity().is_some()
    }

    /// How many of `wanted` senders a test can have wait.
    pub(crate) fn waiting(self, wanted: usize) -> usize {
        if self.has_limit() { wanted } else { 0 }
    }

    /// Sends what `value` makes until the channel is full, or three hundred where there is no limit; gives the number
    /// sent.
    pub(crate) fn fill<T>(self, tx: &Sender<T>, mut value: impl FnMut(usize) -> T) -> usize {
        let cap = self.capacity().unwrap_or(300);
        for i in 0..cap {
            tx.try_send(value(i)).unwrap_or_else(|e| panic!("value {i} of {cap} must find room, got {e:?}"));
        }
        cap
    }
}

/// One `#[test]` per kind, or per kind with a limit, for the contract `$contract: fn(Kind)`.
#[macro_export]
macro_rules! each_kind {
    ($contract:path) => {
        $crate::each_kind! { limited $contract }
        $crate::each_kind! { @list $contract; unbounded = Unbounded, }
    };
    (limited $contract:path) => {
        $crate::each_kind! { @list $contract;
            rendezvous = Rendezvous,
            bounded_1 = Bounded(1),
            bounded_2 = Bounded(2),
            bounded_3 = Bounded(3),
            bounded_64 = Bounded(64),
            bounded_1000 = Bounded(1000),
            bounded_5000 = Bounded(5000),
        }
    };
    (@list $contract:path; $($name:ident = $kind:ident $(($cap:expr))?,)*) => {$(
        #[test]
        fn $name() {
            $contract($crate::support::Kind::$kind $(($cap))?)
        }
    )*};
}

/// A module of tests for each contract named: `contracts!(a, b)` gives `a::rendezvous`, `a::bounded_1`, … .
#[macro_export]
macro_rules! contracts {
    ($($contract:ident),* $(,)?) => {$(
        mod $contract {
            $crate::each_kind!(super::$contract);
        }
    )*};
}

/// The same for contracts of senders that wait, which they do only where there is a limit.
#[macro_export]
macro_rules! limited_contracts {
    ($($contract:ident),* $(,)?) => {$(
        mod $contract {
            $crate::each_kind!(limited super::$contract);
        }
    )*};
}
