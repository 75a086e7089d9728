//! C26: a future that waits leaves its queue when it is dropped, so its handle must still be there.

use leno::sync::Mutex;

fn main() {
    let sending;
    let (tx, _rx) = leno::bounded(1);
    sending = tx.send(1);

    let receiving;
    let (_tx, rx) = leno::bounded::<u8>(1);
    receiving = rx.recv();

    let streaming;
    let (_tx, rx) = leno::bounded::<u8>(1);
    streaming = rx.stream();

    let locking;
    let mutex = Mutex::new(1);
    locking = mutex.lock();

    let _all = (&sending, &receiving, &streaming, &locking);
}
