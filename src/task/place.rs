//! Where in the source an operation was begun.
//!
//! A word in builds with debug assertions, nothing at all in others: futures keep their size there. It is filled by
//! `#[track_caller]` on the public functions that make the futures.

use std::panic::Location;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(#[cfg(debug_assertions)] &'static Location<'static>);

impl Place {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here() -> Place {
        Place(
            #[cfg(debug_assertions)]
            Location::caller(),
        )
    }

    pub(crate) fn location(self) -> Known {
        #[cfg(debug_assertions)]
        return Some(self.0);
        #[cfg(not(debug_assertions))]
        None
    }
}

/// A place in the source, where it is known.
pub(crate) type Known = Option<&'static Location<'static>>;
