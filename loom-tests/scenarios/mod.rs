//! Scenarios of leno's protocols: plain functions over the public interface. Each runs under loom (this folder's
//! package) and under shuttle (the package in `shuttle/`); the harness is what differs.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

#[cfg(leno_loom)]
#[path = "harness_loom.rs"]
pub(crate) mod harness;

#[cfg(leno_shuttle)]
#[path = "harness_shuttle.rs"]
pub(crate) mod harness;

pub(crate) mod support;

/// A test for each scenario of a module. `scenario @ n`: too large for CI's bound under loom; see the harness.
#[macro_export]
macro_rules! models {
    ($module:ident: $($scenario:ident $(@ $bound:literal)?)+) => {$(
        #[test]
        fn $scenario() {
            let bound: Option<usize> = [$($bound)?].first().copied();
            $crate::scenarios::harness::check(stringify!($scenario), bound, $crate::$module::$scenario);
        }
    )+};
}
