//! The same, dropped in the right order.
pub(crate) fn main() {
    let (_tx, rx) = leno::bounded::<u8>(1);
    let receiving = rx.recv();
    drop(receiving);
    drop(rx);
}
