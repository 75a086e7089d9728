//! leno
#![allow(unused, reason = "skeleton")]
pub mod channel;
pub mod fiber;
pub(crate) mod prim;
pub mod select;
pub mod sync;
pub(crate) mod task;
pub(crate) mod wait;
pub use channel::{Receiver, Sender, bounded, rendezvous, unbounded};
