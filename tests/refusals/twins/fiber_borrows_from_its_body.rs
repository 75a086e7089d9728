pub(crate) fn main() {
    let outside = String::from("outside");
    let _ = leno::fiber::blocking_scope(|s| {
        let inside = String::from("inside");
        let _fiber = s.spawn(async { outside.len() });
        let _owner = s.spawn(async move { inside.len() });
    });
}
