//! A guard where a `match` has it.
use leno::{bounded, select};

fn main() {
    let (_tx, rx) = bounded::<i32>(1);
    let ready = true;
    leno::block_on(async {
        select! {
            Ok(_) if ready = rx.recv() => {}
        }
        select! {
            _ if ready = rx.recv() => {}
        }
        select! {
            Ok(0) | Err(_) if ready = rx.recv() => {}
        }
        select! {
            rx.recv(), if ready => {}
        }
        select! {
            _ = rx.recv() => {}
            default if ready => {}
        }
    });
}
