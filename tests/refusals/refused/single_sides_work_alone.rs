//! C24: a side that is single does one thing at a time.
use leno::channel::{mpsc, spsc};

fn main() {
    let (mut tx, mut rx) = spsc::bounded::<u8>(1);
    let sends = (tx.send(1), tx.try_send(2));
    drop(sends);
    let receives = (rx.recv(), rx.recv());
    drop(receives);
    let (_tx, mut rx) = mpsc::bounded::<u8>(1);
    let receives = (rx.recv(), rx.try_recv());
    drop(receives);
}
