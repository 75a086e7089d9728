//! Fibers of a blocking scope run on the workers of a runtime.

fn main() {
    let local = std::rc::Rc::new(5);
    let _ = leno::fiber::blocking_scope(|s| drop(s.spawn(async { *local })));
}
