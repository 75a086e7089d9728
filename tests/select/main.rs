//! The contracts of the function `select`, S1–S5, S7, S9, S10, S12 in small, S13, C9, C11, M8; and in `dynamic` and `ready` those of
//! `Select`, S11; of the macros, in `macros`; and what selects cost, in `memory`.
//!
//! `script` compares all short histories of selects and plain operations on two channels, and many long ones, with a
//! sequential model. The other files pin one contract each, by hand where that is possible.
#![deny(future_incompatible, rust_2024_compatibility)]

#[path = "../support/mod.rs"]
mod support;

mod cancel;
mod choice;
mod close;
mod dynamic;
mod foreign;
mod lent;
mod locks;
mod losers;
mod macros;
mod memory;
mod model;
mod places;
mod ready;
mod same_channel;
mod script;
mod types;

use std::future::Future;

use leno::select::{Branches, Selecting};
use leno::{Receiver, Sender};

use support::{Kind, Place, PollExt};

/// The kinds of channels that each contract is tried on.
const KINDS: [Kind; 5] =
    [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(2), Kind::Bounded(64), Kind::Bounded(5000)];

/// Selects as people do it in this place.
async fn choose<B: Branches>(at: Place, selecting: Selecting<B>) -> <Selecting<B> as Future>::Output {
    match at {
        Place::Thread => selecting.wait(),
        _ => selecting.await,
    }
}

/// C26: of what is sent to a receive that waits behind a forgotten one, the first value may be stranded, no more.
#[track_caller]
pub(crate) fn assert_one_is_stranded(tx: &Sender<usize>, rx: &Receiver<usize>) {
    let mut receiving = rx.recv();
    let waker = receiving.must_wait("nothing is there");
    let mut sent = 0;
    while !waker.was_woken() {
        assert!(sent < 2, "C26: {rx:?}");
        tx.try_send(sent).expect("a receiver waits");
        sent += 1;
    }
    assert_eq!(receiving.must_be_ready("C26"), Ok(sent - 1), "{rx:?}");
}
