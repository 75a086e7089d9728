//! A guard borrows its mutex.
use leno::sync::Mutex;

fn main() {
    let mutex = Mutex::new(0);
    let guard = mutex.lock_blocking();
    drop(mutex);
    drop(guard);
}
