//! The same, without a change of the value's lifetime.
use leno::sync::{Mutex, MutexGuard};

fn keep<'m, 'a>(guard: MutexGuard<'m, &'a str>, _text: &'a str) -> MutexGuard<'m, &'a str> {
    guard
}

pub(crate) fn main() {
    let mutex = Mutex::new("a");
    if let Some(guard) = mutex.try_lock() {
        drop(keep(guard, "b"));
    }
}
