//! One after the other; and what only looks goes beside the rest of its side.
use leno::channel::{mpsc, spsc};

pub(crate) fn main() {
    let (mut tx, mut rx) = spsc::bounded::<u8>(1);
    drop(tx.send(1));
    let _ = tx.try_send(2);
    drop(rx.recv());
    let receiving = rx.recv();
    let looks = (tx.len(), tx.is_closed());
    drop((receiving, looks));
    let (tx, mut rx) = mpsc::bounded::<u8>(1);
    let sends = (tx.send(1), tx.send(2));
    drop(sends);
    drop(rx.recv());
    let _ = rx.try_recv();
}
