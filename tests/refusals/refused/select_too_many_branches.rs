//! Thirty-two branches at most.
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
            _ = rx.recv() => 17,
            _ = rx.recv() => 18,
            _ = rx.recv() => 19,
            _ = rx.recv() => 20,
            _ = rx.recv() => 21,
            _ = rx.recv() => 22,
            _ = rx.recv() => 23,
            _ = rx.recv() => 24,
            _ = rx.recv() => 25,
            _ = rx.recv() => 26,
            _ = rx.recv() => 27,
            _ = rx.recv() => 28,
            _ = rx.recv() => 29,
            _ = rx.recv() => 30,
            _ = rx.recv() => 31,
            _ = rx.recv() => 32,
        }
    });
}
