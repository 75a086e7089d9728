//! C24: a single side takes its handle alone.
use leno::channel::spsc::{Receiver, Sender};

fn send(tx: &Sender<u8>) {
    let _ = tx.try_send(1);
}

fn recv(rx: &Receiver<u8>) {
    let _ = rx.try_recv();
}

fn main() {
    let _ = (send, recv);
}
