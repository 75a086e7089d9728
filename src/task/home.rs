//! A home: the executor as its fibers see it. They keep it alive; it ends when its owner closes it.

use crate::task::roster::Roster;
use crate::task::seam::Seam;

/// The executor that a fiber belongs to, for life.
pub(crate) struct Home {
    /// The living fibers.
    pub(crate) roster: Roster,
    /// One thread runs all fibers: a cord. Then futures are polled and dropped on that thread only.
    pub(crate) local: bool,
    pub(crate) seam: Box<dyn Seam>,
}

impl Home {
    pub(crate) fn new(local: bool, seam: Box<dyn Seam>) -> Self {
        Home { roster: Roster::new(), local, seam }
    }

    /// Cancels `task` and all below it; those that have to be scheduled for it are.
    pub(crate) fn cancel(&self, task: &crate::task::header::Task) {
        for ready in self.roster.cancel(task) {
            ready.schedule();
        }
    }
}
