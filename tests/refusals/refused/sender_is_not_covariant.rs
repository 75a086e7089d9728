//! A sender of `&'static str` is no sender of a shorter-lived one: the receiver would get a dangling reference.
use leno::Sender;

fn shorten<'a>(tx: Sender<&'static str>, _text: &'a str) -> Sender<&'a str> {
    tx
}

fn main() {
    let (tx, _rx) = leno::bounded(1);
    let _ = shorten(tx, "a");
}
