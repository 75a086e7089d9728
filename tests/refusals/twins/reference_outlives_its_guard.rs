//! The same, used while the guard is held.
use leno::sync::{Mutex, MutexGuard};

pub(crate) fn main() {
    let mutex = Mutex::new((1, 2));
    let mut guard = MutexGuard::map(mutex.lock_blocking(), |pair| &mut pair.0);
    let first: &mut i32 = &mut guard;
    *first = 3;
    drop(guard);
}
