//! All handlers give one type, or do not return.
use leno::{bounded, select};

pub(crate) fn main() {
    let (tx, rx) = bounded(1);
    let _: i32 = leno::block_on(async {
        select! {
            x = rx.recv() => x.unwrap(),
            sent = tx.send(1) => i32::from(sent.is_ok()),
            default => panic!("one is ready"),
        }
    });
}
