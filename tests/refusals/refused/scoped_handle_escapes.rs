//! The handle of a fiber that may give what it borrowed cannot outlive the scope.

fn main() {
    let mut kept = None;
    let _ = leno::fiber::blocking_scope(|s| kept = Some(s.spawn(async { 5 })));
    drop(kept);
}
