//! It stands behind the future.
use leno::{bounded, select};

pub(crate) fn main() {
    let (_tx, rx) = bounded::<i32>(1);
    let ready = false;
    leno::block_on(async {
        select! {
            Ok(_) = rx.recv(), if ready => {}
            else => {}
        }
    });
}
