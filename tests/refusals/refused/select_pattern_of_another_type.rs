//! A pattern is one for what the future gives.
use leno::{bounded, select};

fn main() {
    let (_tx, rx) = bounded(1);
    leno::block_on(async {
        select! {
            Some(x) = rx.recv() => drop::<i32>(x),
        }
    });
    leno::block_on(async {
        select! {
            Missing(x) = rx.recv() => drop(x),
        }
    });
}
