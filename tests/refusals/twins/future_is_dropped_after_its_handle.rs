//! The twin that compiles: each future goes before its handle.

use leno::sync::Mutex;

pub(crate) fn main() {
    let (tx, _rx) = leno::bounded(1);
    let sending = tx.send(1);

    let (_tx, rx) = leno::bounded::<u8>(1);
    let receiving = rx.recv();

    let (_tx, rx) = leno::bounded::<u8>(1);
    let streaming = rx.stream();

    let mutex = Mutex::new(1);
    let locking = mutex.lock();

    let _all = (&sending, &receiving, &streaming, &locking);
}
