//! The same, dropped in the right order.
pub(crate) fn main() {
    let (_tx, mut rx) = leno::channel::spsc::bounded::<u8>(2);
    let receiving = rx.recv();
    drop(receiving);
    drop(rx);
}
