//! A receive borrows its receiver.
fn main() {
    let (_tx, rx) = leno::bounded::<u8>(1);
    let receiving = rx.recv();
    drop(rx);
    drop(receiving);
}
