//! The kinds of channels that share the generic contracts.

use leno::{Receiver, Sender, bounded, rendezvous};

/// A kind of channel. A new one needs a variant (or just a capacity) here and a line in `each_kind!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Rendezvous,
    Bounded(usize),
}

impl Kind {
    pub(crate) fn open<T>(self) -> (Sender<T>, Receiver<T>) {
        match self {
            Kind::Rendezvous => rendezvous(),
            Kind::Bounded(cap) => bounded(cap),
        }
    }

    /// How many values fit; `None` for kinds without a limit.
    pub(crate) fn capacity(self) -> Option<usize> {
        match self {
            Kind::Rendezvous => Some(0),
            Kind::Bounded(cap) => Some(cap),
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

    /// Sends what `value` makes until the channel is full; gives the number sent. For kinds with a limit only.
    pub(crate) fn fill<T>(self, tx: &Sender<T>, mut value: impl FnMut(usize) -> T) -> usize {
        let cap = self.capacity().expect("only a kind with a limit can be filled");
        for i in 0..cap {
            tx.try_send(value(i)).unwrap_or_else(|e| panic!("value {i} of {cap} must find room, got {e:?}"));
        }
        cap
    }
}

/// One `#[test]` per kind for the contract `$contract: fn(Kind)`.
#[macro_export]
macro_rules! each_kind {
    ($contract:path) => {
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
