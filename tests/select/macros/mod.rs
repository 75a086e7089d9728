//! The contracts of `select!`, `select_biased!` and `select_blocking!`: S1–S12. What they share with the function
//! `select` is tried more closely in the files beside; here is what people write.

mod choice;
mod default;
mod futures;
mod handlers;
mod losers;
mod patterns;
mod places;
mod strict;
mod syntax;

use crate::support::Kind;

/// The kinds of channels that each contract is tried on.
const KINDS: [Kind; 3] = [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)];
