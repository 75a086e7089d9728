//! Locks that ignore poisoning, over std's or a checker's.

use std::sync::PoisonError;

use super::{checker, const_fn};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = checker::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    const_fn! {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(checker::sync::Mutex::new(value))
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The facades say how it waits, by `wait_until`.
#[derive(Debug, Default)]
pub(crate) struct Condvar(pub(super) checker::sync::Condvar);

impl Condvar {
    const_fn! {
        pub(crate) fn new() -> Condvar {
            Condvar(checker::sync::Condvar::new())
        }
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
