//! Scenarios of leno's protocols: plain functions over the public interface. Each runs under loom (this folder's
//! package) and under shuttle (the package in `shuttle/`); the harness is what differs.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

#[cfg(leno_loom)]
#[path = "harness_loom.rs"]
pub(crate) mod harness;

#[cfg(leno_shuttle)]
#[path = "harness_shuttle.rs"]
pub(crate) mod harness;

pub(crate) mod buffered;
pub(crate) mod support;
pub(crate) mod table;

/// A test for each scenario of a module. `scenario - 1`: a large one, which loom explores with one preemption fewer
/// than it is asked for.
#[macro_export]
macro_rules! models {
    ($module:ident: $($scenario:ident $(- $fewer:literal)?)+) => {$(
        #[test]
        fn $scenario() {
            let fewer = 0 $(+ $fewer)?;
            $crate::scenarios::harness::check(stringify!($scenario), fewer, $crate::$module::$scenario);
        }
    )+};
}
