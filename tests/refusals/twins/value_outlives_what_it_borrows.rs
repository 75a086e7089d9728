//! The same, with a text that lives long enough.
pub(crate) fn main() {
    let text = String::from("long-lived");
    let (tx, rx) = leno::bounded(1);
    tx.try_send(text.as_str()).unwrap();
    println!("{}", rx.try_recv().unwrap());
}
