//! One of each.
use leno::{bounded, select};

pub(crate) fn main() {
    let (_tx, rx) = bounded::<i32>(1);
    leno::block_on(async {
        select! {
            _ = rx.recv() => {}
            default => {}
            else => {}
        }
    });
}
