//! The same, without a change of the lifetime.
use leno::Sender;

fn keep<'a>(tx: Sender<&'a str>, _text: &'a str) -> Sender<&'a str> {
    tx
}

pub(crate) fn main() {
    let (tx, _rx) = leno::bounded(1);
    let _ = keep(tx, "a");
}
