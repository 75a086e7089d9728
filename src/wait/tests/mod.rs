//! Tests of the bare queue, through its [`model`](super::model): against a plain reference ([`differential`]), on
//! real threads ([`stress`]), at the edges ([`edges`]), and what an operation costs ([`cost`]).
//!
//! Short by default; `LENO_STRESS=n` runs n times as much.

mod cost;
mod differential;
#[cfg(not(any(leno_loom, leno_shuttle)))]
mod edges;
mod stress;

use super::model::{Entered, Entry, Queue, Side};

use Side::{Recv, Send};

fn scale() -> usize {
    std::env::var("LENO_STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

#[track_caller]
fn wait(queue: &Queue, side: Side, number: usize) -> Entry {
    match queue.enter(side, number) {
        Entered::Waits(entry) => entry,
        other => panic!("{number} has to wait: {other:?}"),
    }
}

#[track_caller]
fn come_back(queue: &Queue, side: Side, number: usize, rank: u64) -> Entry {
    match queue.enter_with(side, number, rank) {
        Entered::Waits(entry) => entry,
        other => panic!("{number} has to wait: {other:?}"),
    }
}
