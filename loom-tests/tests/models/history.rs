//! Histories of operations, and whether they are linearizable: whether there is an order of the operations that is
//! right in sequence, and in which nobody comes before somebody who had returned before it was called.
//!
//! J. Wing, C. Gong, "Testing and Verifying Concurrent Objects", 1993: a search through the orders; with G. Lowe,
//! "Testing for Linearizability", 2017: where the same operations have led to the same state before, it is not gone
//! through again.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Something in sequence.
pub(crate) trait Sequential: Clone + Eq + Hash + Debug {
    /// An operation, with its result.
    type Event: Debug;

    /// Does it; false: the result would have been another one.
    fn apply(&mut self, event: &Self::Event) -> bool;
}

/// When an operation was called, and when it had returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    pub(crate) call: u64,
    pub(crate) ret: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Operation<E> {
    when: Called,
    event: E,
}

impl Called {
    pub(crate) fn with<E>(self, event: E) -> Operation<E> {
        Operation { when: self, event }
    }
}

/// Counts calls and returns. It is std's, so that it adds nothing to a schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn call<R>(&self, f: impl FnOnce() -> R) -> (Called, R) {
        let call = self.now();
        let result = f();
        (Called { call, ret: self.now() }, result)
    }
}

#[track_caller]
pub(crate) fn assert_linearizable<S: Sequential>(start: S, mut history: Vec<Operation<S::Event>>) {
    history.sort_by_key(|operation| operation.when.call);
    if !is_linearizable(start, &history) {
        for Operation { when, event } in &history {
            eprintln!("{:3} to {:3}: {event:?}", when.call, when.ret);
        }
        panic!("no order of these operations is right");
    }
}

/// Whether a history, sorted by call, is linearizable.
fn is_linearizable<S: Sequential>(start: S, history: &[Operation<S::Event>]) -> bool {
    assert!(history.len() <= 128, "a set of operations is one word");
    let all = u128::MAX.checked_shr(128 - history.len() as u32).unwrap_or(0);
    let mut seen = HashSet::new();
    let mut open = vec![(0, start)];
    while let Some((done, state)) = open.pop() {
        if done == all {
            return true;
        }
        // Whoever is called after somebody else has returned, who is not done, comes later.
        let mut first_return = u64::MAX;
        for (at, Operation { when, event }) in history.iter().enumerate() {
            if done & 1 << at != 0 {
                continue;
            }
            if when.call > first_return {
                break;
            }
            first_return = first_return.min(when.ret);
            let (mut next, done) = (state.clone(), done | 1 << at);
            if next.apply(event) && seen.insert((done, next.clone())) {
                open.push((done, next));
            }
        }
    }
    false
}

/// So large that no ring has room for two.
pub(crate) struct Fat([usize; 80]);

impl From<usize> for Fat {
    fn from(number: usize) -> Fat {
        Fat([number; 80])
    }
}

impl From<Fat> for usize {
    fn from(fat: Fat) -> usize {
        fat.0[79]
    }
}

/// A test for each of so many scenarios.
macro_rules! tests {
    ($($name:ident: $scenario:expr;)+) => {$(
        #[test]
        fn $name() {
            $crate::scenarios::harness::check(stringify!($name), 0, || $scenario);
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Register(u32);

    #[derive(Debug)]
    enum Access {
        Read(u32),
        Write(u32),
    }

    use Access::{Read, Write};

    impl Sequential for Register {
        type Event = Access;

        fn apply(&mut self, access: &Access) -> bool {
            match *access {
                Read(value) => return self.0 == value,
                Write(value) => self.0 = value,
            }
            true
        }
    }

    fn check(history: impl IntoIterator<Item = (u64, u64, Access)>) -> bool {
        let history = history.into_iter().map(|(call, ret, access)| Called { call, ret }.with(access));
        is_linearizable(Register(0), &history.collect::<Vec<_>>())
    }

    #[test]
    fn right_histories_pass() {
        assert!(check([]));
        assert!(check([(0, 1, Read(0)), (2, 3, Write(1)), (4, 5, Read(1))]));
        // The second of two writes at once may be either.
        assert!(check([(0, 3, Write(1)), (1, 2, Write(2)), (4, 5, Read(1))]));
        assert!(check([(0, 3, Write(1)), (1, 2, Write(2)), (4, 5, Read(2))]));
        // A write that is under way for long may happen between two reads.
        assert!(check([(0, 9, Write(1)), (1, 2, Read(0)), (3, 4, Read(1))]));
        assert!(check((0..128).map(|at| (0, 1000, if at % 2 == 0 { Write(at) } else { Read(at - 1) }))));
    }

    #[test]
    fn wrong_histories_fail() {
        assert!(!check([(0, 1, Read(1))]));
        assert!(!check([(0, 1, Write(1)), (2, 3, Read(0))]), "a late read");
        assert!(!check([(0, 9, Write(1)), (1, 2, Read(1)), (3, 4, Read(0))]), "it went back");
        assert!(!check([(0, 1, Write(1)), (2, 3, Write(2)), (4, 5, Read(1))]), "in the wrong order");
    }
}
