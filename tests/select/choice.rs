//! S2: which of several ready branches is taken.

use leno::bounded;
use leno::select::{Selected2, Selected3, Selected4, select, select_biased};

use crate::KINDS;
use crate::support::PollExt;

const ROUNDS: usize = 4000;

/// Each of `counts` is near its share. A fair choice is off by this much once in 10^20 runs or more.
#[track_caller]
fn assert_even(counts: &[usize]) {
    let share = ROUNDS / counts.len();
    for (branch, count) in counts.iter().enumerate() {
        assert!(count.abs_diff(share) < share * 3 / 10, "S2: branch {branch} of {counts:?}");
    }
}

#[test]
fn each_of_two_ready_branches_is_chosen_half_the_time() {
    let (tx, rx) = bounded(1);
    let mut counts = [0; 2];
    tx.try_send(()).expect("there is room");
    for _ in 0..ROUNDS {
        match select((rx.recv(), rx.recv())).must_be_ready("a value is there") {
            Selected2::First(_) => counts[0] += 1,
            Selected2::Second(_) => counts[1] += 1,
        }
        tx.try_send(()).expect("there is room: one value was taken");
    }
    assert_even(&counts);
}

#[test]
fn each_of_three_ready_branches_is_chosen_a_third_of_the_time() {
    let (tx, rx) = bounded(ROUNDS);
    let (gone, gones) = bounded::<u8>(1);
    drop(gones);
    let mut counts = [0; 3];
    for _ in 0..ROUNDS {
        match select((tx.send(()), gone.closed(), gone.send(1))).must_be_ready("room, and a closed channel") {
            Selected3::First(_) => counts[0] += 1,
            Selected3::Second(()) => counts[1] += 1,
            Selected3::Third(_) => counts[2] += 1,
        }
    }
    assert_even(&counts);
    assert_eq!(rx.len(), counts[0], "S1");
}

#[test]
fn each_of_four_ready_branches_is_chosen_a_quarter_of_the_time() {
    let (tx, rx) = bounded(1);
    let (out, outs) = bounded(1);
    let mut counts = [0; 4];
    for _ in 0..ROUNDS {
        let _ = tx.try_send(());
        outs.drain().for_each(drop);
        match select((rx.recv(), out.send(()), rx.recv(), out.send(()))).must_be_ready("all are ready") {
            Selected4::First(_) => counts[0] += 1,
            Selected4::Second(_) => counts[1] += 1,
            Selected4::Third(_) => counts[2] += 1,
            Selected4::Fourth(_) => counts[3] += 1,
        }
    }
    assert_even(&counts);
}

/// S1, S2: one that waits is completed by the first that comes, and takes nothing from the others.
#[test]
fn a_select_that_waits_is_served_by_the_first_to_come() {
    for first in [true, false] {
        let (a, a_rx) = bounded(1);
        let (b, b_rx) = bounded(1);
        let mut selecting = select_biased((a_rx.recv(), b_rx.recv()));
        selecting.must_wait("nothing is ready");
        for tx in if first { [&a, &b] } else { [&b, &a] } {
            tx.try_send(()).expect("the select waits, or there is room");
        }
        let served = matches!(selecting.must_be_ready("served"), Selected2::First(Ok(())));
        assert_eq!(served, first, "whichever is written first");
        assert_eq!((a_rx.len(), b_rx.len()), (usize::from(!first), usize::from(first)), "S1");
    }
}

/// S2: of branches that are not ready none is chosen, however the dice fall.
#[test]
fn only_ready_branches_are_chosen() {
    for kind in KINDS {
        let (full, fulls) = kind.open();
        let (_silent, silents) = kind.open::<u8>();
        let (closed, _closeds) = kind.open::<u8>();
        let room = kind.fill(&full, |i| i);
        closed.close();
        for _ in 0..100 {
            let outcome = select((silents.recv(), full.send(9999), closed.closed(), silents.recv()));
            let outcome = { outcome }.must_be_ready("one is");
            assert!(matches!(outcome, Selected4::Third(())), "S2: {kind:?}");
        }
        assert_eq!(fulls.len(), room, "S1");
    }
}

/// S2: the first of the ready ones in the order written, for every set of ready branches, every time.
#[test]
fn the_biased_select_takes_the_first_ready_one() {
    for ready in 1..16_u32 {
        let channels = (0..4).map(|_| bounded(1)).collect::<Vec<_>>();
        let [(_, a), (_, b), (_, c), (_, d)] = channels.as_slice() else { unreachable!() };
        for _ in 0..50 {
            for (i, (tx, _)) in channels.iter().enumerate() {
                if ready & 1 << i != 0 {
                    let _ = tx.try_send(i as u32);
                }
            }
            let outcome = select_biased((a.recv(), b.recv(), c.recv(), d.recv())).must_be_ready("some are");
            let (Selected4::First(Ok(i))
            | Selected4::Second(Ok(i))
            | Selected4::Third(Ok(i))
            | Selected4::Fourth(Ok(i))) = outcome
            else {
                panic!("nothing is closed");
            };
            assert_eq!(i, ready.trailing_zeros(), "S2: ready: {ready:04b}");
        }
    }
}
