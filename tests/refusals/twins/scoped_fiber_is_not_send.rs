pub(crate) fn main() {
    let shared = std::sync::Arc::new(5);
    let _ = leno::fiber::blocking_scope(|s| drop(s.spawn(async { *shared })));
}
