//! leno beside its peers: what is measured, on whom, and how.
//!
//! Three things are kept apart, so that each exists once:
//!
//! - [`peers`]: one small adapter per library, all with the same interface ([`peers::Channel`], [`peers::Lock`]);
//! - [`exec`]: what runs the tasks ([`exec::Exec`]): leno, tokio, smol, or plain threads;
//! - [`work`]: the shapes (one producer and one consumer, a ping-pong, …), generic over both.
//!
//! [`cells`] multiplies them into a list of cells, each with its contestants. The binary `compare` runs all
//! of them in turn, keeps the [`figures`] and prints a [`report`]; `plot` draws them. The criterion bench `peers` runs
//! the same cells one by one. The binary `memory` counts bytes instead of nanoseconds.
//!
//! Rules for every measurement: all sides are spawned tasks and the thread in `block_on` only waits (but for the cell that measures its round trip); values
//! are `u64`; each run is warmed up first; the number of operations is bounded; a run that does not end
//! is named and the process aborted ([`watchdog`]).

pub mod cells;
pub mod exec;
pub mod figures;
pub mod measure;
pub mod peers;
pub mod report;
pub mod watchdog;
pub mod work;
