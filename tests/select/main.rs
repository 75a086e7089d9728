//! The contracts of `select`: S1–S5, S7, S9, S10, S12 in small, C9, C11, M8.
//!
//! `script` compares all short histories of selects and plain operations on two channels, and many long ones, with a
//! sequential model. The other files pin one contract each, by hand where that is possible.
#![allow(clippy::disallowed_types, reason = "tests run on the real std")]

#[path = "../contract/support/mod.rs"]
mod support;

mod model;
mod script;
