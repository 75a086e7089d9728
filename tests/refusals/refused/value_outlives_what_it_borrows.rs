//! A value in the channel borrows from something that ends before the channel.
fn main() {
    let (tx, rx) = leno::bounded(1);
    {
        let text = String::from("short-lived");
        tx.try_send(text.as_str()).unwrap();
    }
    println!("{}", rx.try_recv().unwrap());
}
