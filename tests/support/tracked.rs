//! Values that count their drops.

use std::fmt;
use std::sync::{Arc, Mutex};

/// Hands out [`Tracked`] values, numbered from 0, and knows how often each was dropped.
#[derive(Clone, Default)]
pub(crate) struct Tracker {
    drops: Arc<Mutex<Vec<u32>>>,
}

impl Tracker {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The next value.
    pub(crate) fn value(&self) -> Tracked {
        let mut drops = self.drops.lock().unwrap();
        drops.push(0);
        Tracked { id: drops.len() - 1, tracker: self.clone() }
    }

    pub(crate) fn created(&self) -> usize {
        self.drops.lock().unwrap().len()
    }

    /// How often value `id` was dropped.
    pub(crate) fn drops(&self, id: usize) -> u32 {
        self.drops.lock().unwrap()[id]
    }

    /// How many values have not been dropped yet.
    pub(crate) fn live(&self) -> usize {
        self.drops.lock().unwrap().iter().filter(|&&drops| drops == 0).count()
    }

    /// Every value was dropped exactly once.
    #[track_caller]
    pub(crate) fn assert_done(&self) {
        for (id, &drops) in self.drops.lock().unwrap().iter().enumerate() {
            assert_eq!(drops, 1, "value {id} must be dropped exactly once");
        }
    }

    #[track_caller]
    pub(crate) fn assert_live(&self, expected: usize, why: &str) {
        assert_eq!(self.live(), expected, "values still alive: {why}");
    }
}

/// A value that knows its number and tells its [`Tracker`] when it is dropped.
pub(crate) struct Tracked {
    pub(crate) id: usize,
    tracker: Tracker,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        // A poisoned lock would only hide the assertion that failed first.
        let mut drops = self.tracker.drops.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        drops[self.id] += 1;
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.id)
    }
}

impl PartialEq<usize> for Tracked {
    fn eq(&self, id: &usize) -> bool {
        self.id == *id
    }
}
