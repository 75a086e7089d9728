//! The facade over shuttle. Time never passes, but a wait with a deadline ends at once.

#[path = "cell.rs"]
mod cell;
#[path = "model.rs"]
mod model;
#[path = "stub.rs"]
mod stub;

pub(crate) use cell::UnsafeCell;
pub(crate) use model::*;
pub(crate) use shuttle as checker;
pub(crate) use shuttle::hint::spin_loop;
pub(crate) use shuttle::thread::yield_now;
pub(crate) use stub::{Guard, pin, retire};

use shuttle::rand::Rng as _;

std::thread_local! {
    /// Lives under way. All threads of a schedule run on one real thread, and each test has one of its own.
    static LIVES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many lives are under way: what a schedule leaves behind has leaked.
pub(crate) fn lives() -> usize {
    LIVES.get()
}

/// What shows that a life is not over: it is counted.
#[derive(Debug)]
pub(crate) struct Leak(());

impl Leak {
    pub(crate) fn new() -> Self {
        LIVES.set(LIVES.get() + 1);
        Leak(())
    }

    pub(crate) fn end(&self) {
        LIVES.set(LIVES.get() - 1);
    }
}

/// A number below `n`, from the schedule's own generator.
pub(crate) fn random_below(n: usize) -> usize {
    shuttle::rand::thread_rng().gen_range(0..n)
}
