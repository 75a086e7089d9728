//! Lifetimes and variance that the compiler has to refuse (C15, M5), and what is not a select: each case has a passing
//! twin.
//!
//! What types are not Send or Sync is checked in `contract/auto_traits.rs`, where a change of a private field's
//! name cannot break the expectation.

#[test]
fn refusals_and_their_twins() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.pass("tests/compile_fail/twins/*.rs");
}
