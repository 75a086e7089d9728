//! Branches that lack a part say which.
use leno::{bounded, select, select_biased, select_blocking};

fn main() {
    let (tx, rx) = bounded(1);
    leno::block_on(async {
        select! { x = rx.recv() { drop(x) } }
        select! { Ok(x) => drop::<i32>(x) }
        select! { rx.recv() }
        select_biased! {
            x = rx.recv() => drop(x)
            sent = tx.send(1) => drop(sent),
        }
        select! {
            x = rx.recv() if true => drop(x),
        }
        select! { _ = rx.recv() => {} default {} }
        select! { _ = rx.recv() => {} default => }
        select! { _ = rx.recv() => {} else {} }
        select! { _ = rx.recv() => }
        select! { biased, _ = rx.recv() => {} }
        select! { biased x = rx.recv() => drop(x) }
    });
    select_blocking! { rx.recv() => {} }
}
