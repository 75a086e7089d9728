//! What stands behind `=` is a future.

pub(crate) fn main() {
    leno::block_on(async {
        let (tx, rx) = leno::bounded::<u8>(1);
        leno::select! {
            _ = rx.recv() => {}
            sent = tx.send(1) => assert_eq!(sent, Ok(())),
        }
    });
}
