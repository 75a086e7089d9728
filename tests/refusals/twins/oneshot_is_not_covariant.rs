//! A sender of what it is a sender of.
use leno::channel::oneshot::{Sender, channel};

fn keep<'a>(tx: Sender<&'a str>, _text: &'a str) -> Sender<&'a str> {
    tx
}

pub(crate) fn main() {
    let (tx, _rx) = channel();
    let _ = keep(tx, "a");
}
