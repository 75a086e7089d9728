//! What stands behind `=` is a future: the branch that has none is underlined.

fn main() {
    leno::block_on(async {
        let (tx, rx) = leno::bounded::<u8>(1);
        leno::select! {
            _ = rx.recv() => {}
            sent = tx.try_send(1) => drop(sent),
        }
    });
}
