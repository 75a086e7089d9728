//! The same, alone; and what is shared.
use leno::channel::spsc::{Receiver, Sender};

fn send(tx: &mut Sender<u8>) {
    let _ = tx.try_send(1);
}

fn recv(rx: &mut Receiver<u8>) {
    let _ = rx.try_recv();
}

fn look(tx: &Sender<u8>) -> (bool, usize, bool) {
    (tx.close(), tx.len(), tx.is_full())
}

pub(crate) fn main() {
    let _ = (send, recv, look);
}
