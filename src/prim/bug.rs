//! Bugs that are planted in the library, so that its models show that they can fail: `bug!` says whether the one of
//! that name is switched on, and `order!` is an ordering, or a weaker one if it is.
//!
//! Only leno's own packages of models (`cfg(leno_planted)`) have them, all in one build: the variable `LENO_BUG` names
//! the one that a process has. Anywhere else, also in models of users, `bug!` is the constant `false`, and nothing is
//! left of the bug. The table of the names is `.ci/bugs`; `.ci/check-bugs` requires that each bug is caught.

#[cfg(not(leno_planted))]
macro_rules! bug {
    ($name:literal) => {
        false
    };
}

#[cfg(leno_planted)]
macro_rules! bug {
    ($name:literal) => {
        $crate::prim::is_planted($name)
    };
}

/// An ordering, which the bug of that name relaxes.
macro_rules! order {
    ($ordering:ident, $name:literal) => {
        if bug!($name) { $crate::prim::Ordering::Relaxed } else { $crate::prim::Ordering::$ordering }
    };
}

/// Whether this process has the bug. It reads nothing that a model explores.
#[cfg(leno_planted)]
pub(crate) fn is_planted(name: &str) -> bool {
    static PLANTED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("LENO_BUG").ok());
    PLANTED.as_deref() == Some(name)
}
