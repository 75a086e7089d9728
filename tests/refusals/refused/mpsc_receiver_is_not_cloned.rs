//! C24: an mpsc channel has one receiver.
use leno::channel::mpsc;

fn main() {
    let (_tx, rx) = mpsc::bounded::<u8>(1);
    let _another = rx.clone();
}
