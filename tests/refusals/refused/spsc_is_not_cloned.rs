//! C24: an spsc channel has one sender and one receiver.
use leno::channel::spsc;

fn main() {
    let (tx, rx) = spsc::bounded::<u8>(1);
    let _another = (tx.clone(), rx.clone());
}
