//! Lifetimes, variance and single sides that the compiler has to uphold (C15, C24, M5), and what is not a select: each case in
//! `refused` has a twin in `twins`, of the same form, that is compiled and run.
//!
//! Which other types are not Send or Sync is checked by constants (`channel/contract/auto_traits.rs`, `select/types.rs`, `sync`),
//! where a change of a private field's name cannot break the expectation.

use std::fs;

/// The twins: by name, and what each does.
macro_rules! twins {
    ($($name:ident)+) => {
        mod twins {
            $(pub(super) mod $name;)+
        }

        const TWINS: &[(&str, fn())] = &[$((stringify!($name), twins::$name::main)),+];
    };
}

twins! {
    fiber_borrows_from_its_body
    fiber_local_is_not_send
    future_is_dropped_after_its_handle
    future_outlives_its_handle
    guard_is_not_covariant
    guard_outlives_its_mutex
    mpsc_receiver_is_not_cloned
    oneshot_is_not_covariant
    reference_outlives_its_guard
    scoped_fiber_is_not_send
    scoped_handle_escapes
    select_branch_in_pieces
    select_branch_is_no_future
    select_guard_in_front
    select_handlers_differ
    select_pattern_of_another_type
    select_too_many_branches
    select_two_defaults
    select_without_branches
    sender_is_not_covariant
    single_sides_are_not_shared
    single_sides_work_alone
    spsc_future_outlives_its_handle
    spsc_is_not_cloned
    spsc_sender_is_not_covariant
    value_outlives_what_it_borrows
}

#[test]
fn refusals_and_their_twins() {
    if fs::metadata("/dev/null").is_ok_and(|null| null.is_file()) {
        // SAFETY: the only test of this program, and the first thing that it does.
        unsafe { std::env::set_var("RUSTC_WRAPPER", concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/rustc")) };
    }
    trybuild::TestCases::new().compile_fail("tests/refusals/refused/*.rs");
    for (_, twin) in TWINS {
        twin();
    }
    let folder = fs::read_dir("tests/refusals/refused").unwrap();
    let mut refused = folder.map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    refused.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    refused.sort();
    let twins = TWINS.iter().map(|(name, _)| *name);
    assert!(refused.iter().map(|path| path.file_stem().unwrap()).eq(twins), "each refusal has a twin");
}
