//! Through a guard of `&'static str` no shorter-lived one can be stored.
use leno::sync::{Mutex, MutexGuard};

fn shorten<'m, 'a>(guard: MutexGuard<'m, &'static str>, _text: &'a str) -> MutexGuard<'m, &'a str> {
    guard
}

fn main() {
    let mutex = Mutex::new("a");
    let _ = shorten(mutex.lock_blocking(), "b");
}
