//! Sixteen branches at most.
use leno::{bounded, select};

fn main() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let _ = leno::block_on(async {
        select! {
            _ = rx.recv() => 0,
            _ = rx.recv() => 1,
            _ = rx.recv() => 2,
            _ = rx.recv() => 3,
            _ = rx.recv() => 4,
            _ = rx.recv() => 5,
            _ = rx.recv() => 6,
            _ = rx.recv() => 7,
            _ = rx.recv() => 8,
            _ = rx.recv() => 9,
            _ = rx.recv() => 10,
            _ = rx.recv() => 11,
            _ = rx.recv() => 12,
            _ = rx.recv() => 13,
            _ = rx.recv() => 14,
            _ = rx.recv() => 15,
            _ = rx.recv() => 16,
        }
    });
}
