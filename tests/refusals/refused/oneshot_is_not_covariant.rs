//! The ends of a oneshot are invariant as well: what goes in at one end comes out at the other.
use leno::channel::oneshot::{Sender, channel};

fn shorten<'a>(tx: Sender<&'static str>, _text: &'a str) -> Sender<&'a str> {
    tx
}

fn main() {
    let (tx, _rx) = channel();
    let _ = shorten(tx, "a");
}
