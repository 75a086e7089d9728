//! Lifetimes and variance that the compiler has to refuse (C15, M5), and what is not a select: each case has a passing
//! twin.
//!
//! What types are not Send or Sync is checked in `contract/auto_traits.rs`, where a change of a private field's
//! name cannot break the expectation.

#[test]
fn refusals_and_their_twins() {
    if std::fs::metadata("/dev/null").is_ok_and(|null| null.is_file()) {
        // SAFETY: the only test of this program, and the first thing that it does.
        unsafe { std::env::set_var("RUSTC_WRAPPER", concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/rustc")) };
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.pass("tests/compile_fail/twins/*.rs");
}
