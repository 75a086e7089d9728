//! An owned guard keeps its mutex alive.
use std::sync::Arc;

use leno::sync::Mutex;

pub(crate) fn main() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.lock_arc().wait();
    drop(mutex);
    drop(guard);
}
