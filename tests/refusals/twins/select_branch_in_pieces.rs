//! Branches with all their parts.
use leno::{bounded, select, select_biased, select_blocking};

pub(crate) fn main() {
    let (tx, rx) = bounded(1);
    leno::block_on(async {
        select! { x = tx.send(0) => { x.unwrap() } }
        select! { Ok(x) = rx.recv() => assert_eq!(x, 0) }
        select_biased! {
            x = rx.recv() => assert!(x.is_err()),
            sent = tx.send(1) => sent.unwrap(),
        }
        select! {
            x = rx.recv(), if true => assert_eq!(x, Ok(1)),
        }
        select! { _ = rx.recv() => {} default => {} }
        select! { _ = rx.recv() => {} default => () }
        select! { _ = rx.recv(), if false => {} else => {} }
    });
    select_blocking! { _ = tx.send(2) => {} }
}
