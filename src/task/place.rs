//! Where in the source an operation was begun.
//!
//! A word in builds with debug assertions, nothing at all in others: futures keep their size there. It is filled by
//! `#[track_caller]` on the public functions that make the futures.

use std::panic::Location;

#[cfg(debug_assertions)]
mod known {
    use std::panic::Location;

    /// See the module.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Place(&'static Location<'static>);

    impl Place {
        #[inline(always)]
        #[track_caller]
        pub(crate) fn here() -> Place {
            Place(Location::caller())
        }

        pub(crate) fn location(self) -> Option<&'static Location<'static>> {
            Some(self.0)
        }
    }
}

#[cfg(not(debug_assertions))]
mod known {
    use std::panic::Location;

    /// See the module.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Place;

    impl Place {
        #[inline(always)]
        pub(crate) fn here() -> Place {
            Place
        }

        pub(crate) fn location(self) -> Option<&'static Location<'static>> {
            None
        }
    }
}

pub(crate) use known::Place;

/// A place in the source, where it is known.
pub(crate) type Known = Option<&'static Location<'static>>;
