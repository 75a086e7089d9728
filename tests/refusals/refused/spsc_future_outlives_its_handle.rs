//! A receive borrows its receiver.
fn main() {
    let (_tx, mut rx) = leno::channel::spsc::bounded::<u8>(2);
    let receiving = rx.recv();
    drop(rx);
    drop(receiving);
}
