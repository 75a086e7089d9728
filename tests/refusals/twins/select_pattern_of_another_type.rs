//! A pattern for what the future gives.
use leno::{bounded, select};

pub(crate) fn main() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    leno::block_on(async {
        select! {
            Ok(x) = rx.recv() => assert_eq!(x, 1),
        }
    });
}
