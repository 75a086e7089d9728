//! A peer that never waits.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use leno::{Receiver, Sender};

/// Sends the numbers below `values` on one channel and receives from another, always trying, never waiting, until all are
/// sent; gives what it received. It meets operations of others only while these wait.
pub(crate) fn impatient_peer(
    tx: Sender<usize>,
    others: Receiver<usize>,
    values: usize,
) -> JoinHandle<Vec<usize>> {
    thread::spawn(move || {
        let mut next = 0;
        let mut received = Vec::new();
        while next < values {
            next += usize::from(tx.try_send(next).is_ok());
            received.extend(others.try_recv().ok());
        }
        received
    })
}

/// How long to wait for that peer in a round, so that it comes at the last moment: not at all; but now and then for long enough
/// to give way to it, should there be one core for both.
pub(crate) fn hardly(round: usize) -> Duration {
    if round % 64 == 63 { Duration::from_millis(1) } else { Duration::ZERO }
}
