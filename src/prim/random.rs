//! Random numbers of one's own, which a thread has for a while instead of its own.

use std::cell::Cell;

use super::imp;

/// Their state; while they are a thread's, that of the thread's own.
pub(crate) struct Random(Cell<u64>);

impl Random {
    /// The same for the same seed; mixed as by SplitMix64, as close seeds would begin alike.
    pub(crate) fn new(seed: u64) -> Random {
        let mut x = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        // (0 is the state of a thread that has to seed its own.)
        Random(Cell::new((x ^ x >> 31).max(1)))
    }

    /// Exchanges them with those of this thread.
    pub(crate) fn swap(&self) {
        self.0.set(imp::swap_random(self.0.get()));
    }
}
