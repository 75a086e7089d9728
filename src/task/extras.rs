//! What few fibers have beside their header; allocated when first needed.

use std::task::Waker;

use crate::prim::{Arc, Mutex};
use crate::task::group::Group;

/// See the module.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) name: Option<Box<str>>,
    /// Who polls the fiber's park, where that isn't the fiber's own waker (see `fiber/park.rs`).
    pub(crate) parked: Mutex<Option<Waker>>,
    /// Whose member it is.
    pub(crate) group: Option<Arc<Group>>,
}
