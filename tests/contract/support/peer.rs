//! A peer that never waits.

use std::thread::{self, JoinHandle};

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
