//! All handlers give one type.
use leno::{bounded, select};

fn main() {
    let (tx, rx) = bounded(1);
    let _ = leno::block_on(async {
        select! {
            x = rx.recv() => x.unwrap(),
            sent = tx.send(1) => sent.is_ok(),
        }
    });
    let _: i32 = leno::block_on(async {
        select! {
            x = rx.recv() => x.unwrap(),
            default => "nothing",
        }
    });
}
