//! A process-wide counter: std's in all builds, as no model depends on it.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// Process-wide consecutive numbers from 1 on; models need none of their orders.
#[derive(Debug)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) const fn new() -> Self {
        Counter(AtomicU64::new(1))
    }

    pub(crate) fn next(&self) -> NonZeroU64 {
        let next = self.0.fetch_add(1, Ordering::Relaxed);
        NonZeroU64::new(next).expect("2^64 numbers last")
    }
}
