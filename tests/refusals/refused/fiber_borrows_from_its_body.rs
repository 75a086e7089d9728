//! A fiber of a blocking scope runs on after the body, whose own variables are gone then.

fn main() {
    let _ = leno::fiber::blocking_scope(|s| {
        let inside = String::from("inside");
        let _fiber = s.spawn(async { inside.len() });
    });
}
