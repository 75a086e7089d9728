//! Tickers: a timer that fires against receivers that come, leave and go. Each tick is taken once or is there still, and the
//! last receiver takes all of it along.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::task::Waker;
use std::time::Duration;

use leno::channel::TryRecvError;
use leno::model::ticker::Executor;

use super::harness::thread;
use super::support::{Panics, poll, poll_as, settle};

const SECOND: Duration = Duration::from_secs(1);

fn jumping(executor: &Executor) -> thread::JoinHandle<bool> {
    let executor = executor.clone();
    thread::spawn(move || executor.jump())
}

/// A tick reaches a receiver that waits or comes; so does the next one.
pub(crate) fn fire_against_recv() {
    let executor = Executor::default();
    let ticks = executor.ticker(SECOND, true);
    let other = jumping(&executor);
    let first = ticks.recv_blocking().unwrap();
    assert!(other.join().unwrap());
    assert!(executor.jump(), "a timer is set for the next one");
    assert_eq!(ticks.try_recv(), Ok(first + SECOND));
    drop(ticks);
    assert!(!executor.jump(), "the timer is gone");
}

/// The last receiver goes as the timer fires: nothing is left of either.
pub(crate) fn fire_against_drop() {
    let executor = Executor::default();
    let ticks = executor.ticker(SECOND, true);
    let other = jumping(&executor);
    drop(ticks);
    other.join().unwrap();
    assert!(!executor.jump(), "the timer is gone");
}

/// A receive is dropped as the timer fires: the tick is there.
pub(crate) fn fire_against_cancel() {
    let executor = Executor::default();
    let tick = executor.ticker(SECOND, false);
    let mut receiving = tick.recv();
    assert!(poll(&mut receiving).is_pending());
    let other = jumping(&executor);
    drop(receiving);
    assert!(other.join().unwrap());
    assert!(tick.try_recv().is_ok());
    assert_eq!(tick.try_recv(), Err(TryRecvError::Empty), "once, and it does not close");
}

/// A tick that is due is taken by one receiver as the other one goes: the taker runs the ticker, or does the one that goes.
pub(crate) fn take_against_drop() {
    let executor = Executor::default();
    let ticks = executor.ticker(SECOND, true);
    assert!(executor.jump());
    let clone = ticks.clone();
    let taking = thread::spawn(move || clone.try_recv().is_ok());
    drop(ticks);
    assert!(taking.join().unwrap());
    assert!(!executor.jump(), "the timer is gone");
}

/// Two take what one tick is: one of them gets it.
pub(crate) fn two_take() {
    let executor = Executor::default();
    let ticks = executor.ticker(SECOND, true);
    assert!(executor.jump());
    let clone = ticks.clone();
    let taking = thread::spawn(move || usize::from(clone.try_recv().is_ok()));
    let taken = usize::from(ticks.try_recv().is_ok());
    assert_eq!(taken + taking.join().unwrap(), 1);
    assert!(executor.jump());
    assert!(ticks.try_recv().is_ok());
}

/// C29: who takes a tick as another receiver comes, which gets the next one, hears of the panic of that one's waker.
pub(crate) fn take_against_a_waker_that_panics() {
    let executor = Executor::default();
    let (ticks, _late) = (executor.ticker(SECOND, true), executor.ticker(4 * SECOND, false));
    assert!(executor.jump() && executor.jump(), "several ticks are due");
    let mut receiving = ticks.clone().into_recv();
    let coming = thread::spawn(move || {
        let polled = poll_as(&mut receiving, &Waker::from(StdArc::new(Panics(false))));
        polled.is_pending().then_some(receiving)
    });
    let taken = catch_unwind(AssertUnwindSafe(|| ticks.try_recv().is_ok()));
    if let Some(mut receiving) = coming.join().unwrap() {
        assert!(taken.is_err(), "it waited, and was woken");
        assert!(settle(&mut receiving).is_ready(), "C29");
    }
    assert!(ticks.try_recv().is_ok(), "the ticker goes on");
}

/// A select that has lost has taken no tick.
pub(crate) fn fire_against_select() {
    let executor = Executor::default();
    let tick = executor.ticker(SECOND, false);
    let (tx, rx) = leno::bounded(1);
    let other = jumping(&executor);
    let sending = thread::spawn(move || (tx.try_send(()).is_ok(), tx));
    let ticked = leno::select_blocking! {
        received = tick.recv() => received.is_ok(),
        received = rx.recv() => received.is_err(),
    };
    assert!(other.join().unwrap() && sending.join().unwrap().0);
    assert_eq!(tick.try_recv().is_ok(), !ticked);
    assert_eq!(rx.try_recv().is_ok(), ticked);
    let mut receiving = tick.recv();
    assert!(settle(&mut receiving).is_pending(), "one tick only");
}
