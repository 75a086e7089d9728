//! The value is borrowed from the guard, not from the mutex.
use leno::sync::{Mutex, MutexGuard};

fn main() {
    let mutex = Mutex::new((1, 2));
    let mut guard = MutexGuard::map(mutex.lock_blocking(), |pair| &mut pair.0);
    let first: &mut i32 = &mut guard;
    drop(guard);
    *first = 3;
}
