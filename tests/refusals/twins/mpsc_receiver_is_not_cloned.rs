//! Its senders are cloned.
use leno::channel::mpsc;

pub(crate) fn main() {
    let (tx, _rx) = mpsc::bounded::<u8>(1);
    let _another = tx.clone();
}
