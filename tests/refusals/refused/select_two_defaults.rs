//! One `default`, one `else`.
use leno::{bounded, select};

fn main() {
    let (_tx, rx) = bounded::<i32>(1);
    leno::block_on(async {
        select! {
            _ = rx.recv() => {}
            default => {}
            default(std::time::Duration::MAX) => {}
        }
        select! {
            else => {}
            _ = rx.recv() => {}
            else => {}
        }
    });
}
