//! What the operations of a channel say when they cannot do what was asked. Errors of senders give the value back.

use std::fmt;

use crate::task::error::{error_cases, errors};

/// The channel is closed; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The channel is closed, and nothing is left in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvError;

const MEETING: &str = "a rendezvous channel has no room to reserve";
const TOO_MANY: &str = "the channel can never hold that many values";
const CLOSED: &str = "the channel is closed";
const DRAINED: &str = "the channel is closed, and nothing is left to receive";

error_cases! {
    /// Why a send did not happen at once; the value comes back.
    TrySendError<T> {
        /// There is no room now, or others already wait for it; on a rendezvous channel: no receiver waits.
        Full(_: T) => "the channel is full, or no receiver is waiting",
            is_full: "Whether a later attempt may succeed.";
        /// The channel is closed.
        Closed(_: T) => CLOSED, is_closed: "Whether every later attempt will fail.";
    }

    /// Why a receive did not happen at once.
    TryRecvError {
        /// There is no value now.
        Empty => "the channel is empty",
            is_empty: "Whether a later attempt may succeed.";
        /// The channel is closed, and nothing is left in it.
        Closed => DRAINED, is_closed: "Whether every later attempt will fail.";
    }

    /// Why a send with a time limit did not happen; the value comes back.
    SendTimeoutError<T> {
        /// The time was up.
        Timeout(_: T) => "timed out before the value was sent",
            is_timeout: "Whether the time was up.";
        /// The channel is closed.
        Closed(_: T) => CLOSED, is_closed: "Whether the channel is closed.";
    }

    /// Why a receive with a time limit did not happen. Nothing was taken.
    RecvTimeoutError {
        /// The time was up.
        Timeout => "timed out before a value was received",
            is_timeout: "Whether the time was up.";
        /// The channel is closed, and nothing is left in it.
        Closed => DRAINED, is_closed: "Whether the channel is closed and empty.";
    }

    /// Why no room was reserved.
    ReserveError {
        /// The channel is closed.
        Closed => CLOSED, is_closed: "Whether the channel is closed.";
        /// It is a rendezvous channel, which has no room.
        Rendezvous => MEETING;
    }

    /// Why no room was reserved for several values.
    ReserveManyError {
        /// The channel is closed.
        Closed => CLOSED, is_closed: "Whether the channel is closed.";
        /// It is a rendezvous channel, which has no room.
        Rendezvous => MEETING;
        /// The channel can never hold that many values.
        TooMany => TOO_MANY;
    }

    /// Why no room was reserved at once.
    TryReserveError {
        /// There is no room now, or others already wait for it.
        Full => "the channel has no room now",
            is_full: "Whether a later attempt may succeed.";
        /// The channel is closed.
        Closed => CLOSED, is_closed: "Whether the channel is closed.";
        /// It is a rendezvous channel, which has no room.
        Rendezvous => MEETING;
    }

    /// Why no room was reserved for several values at once.
    TryReserveManyError {
        /// There is not enough room now, or others already wait for it.
        Full => "the channel does not have enough room now",
            is_full: "Whether a later attempt may succeed.";
        /// The channel is closed.
        Closed => CLOSED, is_closed: "Whether the channel is closed.";
        /// It is a rendezvous channel, which has no room.
        Rendezvous => MEETING;
        /// The channel can never hold that many values.
        TooMany => TOO_MANY;
    }

    /// Why no room was reserved within a time limit. Nothing is reserved.
    ReserveTimeoutError {
        /// The time was up.
        Timeout => "timed out before room was reserved",
            is_timeout: "Whether the time was up.";
        /// The channel is closed.
        Closed => CLOSED, is_closed: "Whether the channel is closed.";
        /// It is a rendezvous channel, which has no room.
        Rendezvous => MEETING;
        /// The channel can never hold that many values.
        TooMany => TOO_MANY;
    }
}

errors! {
    SendError<T> {
        SendError(_) => CLOSED,
    }
    RecvError {
        RecvError => DRAINED,
    }
}

/// Without a bound on `T`, as of the others.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> SendError<T> {
    /// The value that was not sent.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// The value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(value) | TrySendError::Closed(value) => value,
        }
    }
}

impl<T> SendTimeoutError<T> {
    /// The value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(value) | SendTimeoutError::Closed(value) => value,
        }
    }
}

/// Errors that are others as well.
macro_rules! from {
    ($($from:ident $(<$T:ident>)? => $error:ident { $($pattern:pat => $same:expr,)+ })+) => {$(
        impl $(<$T>)? From<$from $(<$T>)?> for $error $(<$T>)? {
            fn from(error: $from $(<$T>)?) -> Self {
                match error { $($pattern => $same,)+ }
            }
        }
    )+};
}

from! {
    SendError<T> => TrySendError {
        SendError(value) => TrySendError::Closed(value),
    }
    SendError<T> => SendTimeoutError {
        SendError(value) => SendTimeoutError::Closed(value),
    }
    RecvError => TryRecvError {
        RecvError => TryRecvError::Closed,
    }
    RecvError => RecvTimeoutError {
        RecvError => RecvTimeoutError::Closed,
    }
    ReserveManyError => ReserveError {
        ReserveManyError::Closed => ReserveError::Closed,
        // A channel for which one place is too many is a rendezvous.
        ReserveManyError::Rendezvous | ReserveManyError::TooMany => ReserveError::Rendezvous,
    }
}

/// Errors whose cases are all those of others, too.
macro_rules! same {
    ($($from:ident => $error:ident: $($case:ident $(($value:ident))?),+;)+) => {$(
        impl From<$from> for $error {
            fn from(error: $from) -> Self {
                match error { $($from::$case $(($value))? => $error::$case $(($value))?,)+ }
            }
        }
    )+};
}
pub(super) use same;

same! {
    ReserveError => ReserveManyError: Closed, Rendezvous;
    ReserveError => TryReserveError: Closed, Rendezvous;
    ReserveError => ReserveTimeoutError: Closed, Rendezvous;
    ReserveManyError => TryReserveManyError: Closed, Rendezvous, TooMany;
    ReserveManyError => ReserveTimeoutError: Closed, Rendezvous, TooMany;
}
