//! What the operations of a channel say when they cannot do what was asked. Errors of senders give the value back.

use std::fmt;

use crate::task::error::{asks, errors};

/// The channel is closed; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The channel is closed, and nothing is left in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvError;

/// Why a send did not happen at once; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room now, or others already wait for it; on a rendezvous channel: no receiver waits.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

/// Why a receive did not happen at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is no value now.
    Empty,
    /// The channel is closed, and nothing is left in it.
    Closed,
}

/// Why a send with a time limit did not happen; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The time was up.
    Timeout(T),
    /// The channel is closed.
    Closed(T),
}

/// Why a receive with a time limit did not happen. Nothing was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The time was up.
    Timeout,
    /// The channel is closed, and nothing is left in it.
    Closed,
}

/// Why no room was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveError {
    /// The channel is closed.
    Closed,
    /// It is a rendezvous channel, which has no room.
    Rendezvous,
}

/// Why no room was reserved for several values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveManyError {
    /// The channel is closed.
    Closed,
    /// It is a rendezvous channel, which has no room.
    Rendezvous,
    /// The channel can never hold that many values.
    TooMany,
}

/// Why no room was reserved at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryReserveError {
    /// There is no room now, or others already wait for it.
    Full,
    /// The channel is closed.
    Closed,
    /// It is a rendezvous channel, which has no room.
    Rendezvous,
}

/// Why no room was reserved for several values at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryReserveManyError {
    /// There is not enough room now, or others already wait for it.
    Full,
    /// The channel is closed.
    Closed,
    /// It is a rendezvous channel, which has no room.
    Rendezvous,
    /// The channel can never hold that many values.
    TooMany,
}

/// Why no room was reserved within a time limit. Nothing is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveTimeoutError {
    /// The time was up.
    Timeout,
    /// The channel is closed.
    Closed,
    /// It is a rendezvous channel, which has no room.
    Rendezvous,
    /// The channel can never hold that many values.
    TooMany,
}

const MEETING: &str = "a rendezvous channel has no room to reserve";
const TOO_MANY: &str = "the channel can never hold that many values";
const CLOSED: &str = "the channel is closed";
const DRAINED: &str = "the channel is closed and empty";

errors! {
    SendError<T> {
        SendError(_) => CLOSED,
    }
    TrySendError<T> {
        TrySendError::Full(_) => "the channel is full, or no receiver is waiting",
        TrySendError::Closed(_) => CLOSED,
    }
    SendTimeoutError<T> {
        SendTimeoutError::Timeout(_) => "timed out before the value was sent",
        SendTimeoutError::Closed(_) => CLOSED,
    }
    RecvError {
        RecvError => DRAINED,
    }
    TryRecvError {
        TryRecvError::Empty => "the channel is empty",
        TryRecvError::Closed => DRAINED,
    }
    RecvTimeoutError {
        RecvTimeoutError::Timeout => "timed out before a value was received",
        RecvTimeoutError::Closed => DRAINED,
    }
    ReserveError {
        ReserveError::Closed => CLOSED,
        ReserveError::Rendezvous => MEETING,
    }
    ReserveManyError {
        ReserveManyError::Closed => CLOSED,
        ReserveManyError::Rendezvous => MEETING,
        ReserveManyError::TooMany => TOO_MANY,
    }
    TryReserveError {
        TryReserveError::Full => "the channel has no room now",
        TryReserveError::Closed => CLOSED,
        TryReserveError::Rendezvous => MEETING,
    }
    TryReserveManyError {
        TryReserveManyError::Full => "the channel does not have enough room now",
        TryReserveManyError::Closed => CLOSED,
        TryReserveManyError::Rendezvous => MEETING,
        TryReserveManyError::TooMany => TOO_MANY,
    }
    ReserveTimeoutError {
        ReserveTimeoutError::Timeout => "timed out before room was reserved",
        ReserveTimeoutError::Closed => CLOSED,
        ReserveTimeoutError::Rendezvous => MEETING,
        ReserveTimeoutError::TooMany => TOO_MANY,
    }
}

/// Without a bound on `T`, so that `?` and `unwrap` work for any value.
macro_rules! debug {
    ($($error:ident { $($pattern:pat => $text:literal,)+ })+) => {$(
        impl<T> fmt::Debug for $error<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($pattern => $text,)+ })
            }
        }
    )+};
}

debug! {
    SendError {
        SendError(_) => "SendError(..)",
    }
    TrySendError {
        TrySendError::Full(_) => "Full(..)",
        TrySendError::Closed(_) => "Closed(..)",
    }
    SendTimeoutError {
        SendTimeoutError::Timeout(_) => "Timeout(..)",
        SendTimeoutError::Closed(_) => "Closed(..)",
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

asks! {
    TrySendError<T> {
        /// Whether a later attempt may succeed.
        is_full: Full,
        /// Whether every later attempt will fail.
        is_closed: Closed,
    }
    SendTimeoutError<T> {
        /// Whether the time was up.
        is_timeout: Timeout,
        /// Whether the channel is closed.
        is_closed: Closed,
    }
    TryRecvError {
        /// Whether a later attempt may succeed.
        is_empty: Empty,
        /// Whether every later attempt will fail.
        is_closed: Closed,
    }
    RecvTimeoutError {
        /// Whether the time was up.
        is_timeout: Timeout,
        /// Whether the channel is closed and empty.
        is_closed: Closed,
    }
    TryReserveError {
        /// Whether a later attempt may succeed.
        is_full: Full,
        /// Whether the channel is closed.
        is_closed: Closed,
    }
    TryReserveManyError {
        /// Whether a later attempt may succeed.
        is_full: Full,
        /// Whether the channel is closed.
        is_closed: Closed,
    }
    ReserveTimeoutError {
        /// Whether the time was up.
        is_timeout: Timeout,
        /// Whether the channel is closed.
        is_closed: Closed,
    }
    ReserveError {
        /// Whether the channel is closed.
        is_closed: Closed,
    }
    ReserveManyError {
        /// Whether the channel is closed.
        is_closed: Closed,
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
        // What one place is too many for is a rendezvous.
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
