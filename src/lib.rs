//! leno
#![allow(unused, reason = "skeleton")]
pub(crate) mod prim;
pub(crate) mod task;
