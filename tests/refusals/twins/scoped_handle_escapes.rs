pub(crate) fn main() {
    let mut kept = None;
    let _ = leno::fiber::blocking_scope(|s| kept = Some(s.spawn(async { 5 }).wait()));
    drop(kept);
}
