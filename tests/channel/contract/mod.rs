//! The contracts of channels (C1–C20, C25, C26, C29), one generic suite over every kind that shares them.
//!
//! A contract is a function of a [`Kind`](crate::support::Kind); `contracts!` makes a test of it for each kind. What
//! depends on who runs it is a scenario over places (`each_place!`). `script` compares all short histories, and
//! many long ones, with a sequential model.

mod auto_traits;
mod cancel;
mod close;
mod forget;
mod model;
mod order;
mod places;
mod script;
mod streams;
mod timeouts;
mod values;
mod wakers;
