//! What few fibers have beside their header; allocated when first needed.

use std::task::Waker;

use crate::prim::{Arc, Mutex};
use crate::task::group::Group;
use crate::task::locals::Locals;
use crate::task::watch::Watch;

/// See the module.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) name: Option<Box<str>>,
    /// Who polls the fiber's park, where that isn't the fiber's own waker (see `fiber/park.rs`).
    pub(crate) parked: Mutex<Option<Waker>>,
    /// How many shields it is under; SHIELDED in the state word changes with it, under the lock.
    pub(crate) shields: Mutex<usize>,
    pub(crate) locals: Locals,
    /// The end of the executor does not wait for it.
    pub(crate) daemon: bool,
    /// Whose member it is.
    pub(crate) group: Option<Arc<Group>>,
    /// What is noted of it.
    pub(crate) watch: Option<Box<Watch>>,
}
