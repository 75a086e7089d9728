//! Scenarios of leno's protocols: plain functions over the public interface. Each runs under loom (this folder's
//! package) and under shuttle (the package in `shuttle/`); the harness is what differs.

#[cfg(leno_loom)]
#[path = "harness_loom.rs"]
pub mod harness;

#[cfg(leno_shuttle)]
#[path = "harness_shuttle.rs"]
pub mod harness;

pub mod support;

/// A test for each scenario of a module.
#[macro_export]
macro_rules! models {
    ($module:ident: $($scenario:ident)+) => {$(
        #[test]
        fn $scenario() {
            $crate::scenarios::harness::check(stringify!($scenario), $crate::$module::$scenario);
        }
    )+};
}
