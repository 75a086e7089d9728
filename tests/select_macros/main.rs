//! The contracts of `select!`, `select_biased!` and `select_blocking!`: S1–S12. What they share with the function
//! `select` is tried more closely in `tests/select`; here is what people write.

#[path = "../contract/support/mod.rs"]
mod support;

mod choice;
mod default;
mod futures;
mod handlers;
mod losers;
mod patterns;
mod places;
mod syntax;

use support::Kind;

/// The kinds of channels that each contract is tried on.
const KINDS: [Kind; 3] = [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)];
