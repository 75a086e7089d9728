//! C15: a sender of longer borrows is no sender of shorter ones.
use leno::channel::spsc::Sender;

fn shorten<'short>(tx: Sender<&'static str>) -> Sender<&'short str> {
    tx
}

fn main() {
    let _ = shorten;
}
