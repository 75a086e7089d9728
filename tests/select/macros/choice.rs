//! S2: which of several ready branches is taken.

use std::future::ready;

use leno::{bounded, select, select_biased, select_blocking};

/// Counts which branch of `$select!` wins, of as many as there are indices, all of them ready; each has its share.
macro_rules! assert_even {
    ($select:ident: $($index:literal)+) => {{
        let (tx, rx) = bounded(1);
        let mut counts = [$(0 * $index),+];
        for _ in 0..1000 * counts.len() {
            tx.try_send(()).expect("there is room: one value was taken");
            $select! { $(_ = rx.recv() => counts[$index] += 1,)+ }
        }
        assert_shares(&counts);
    }};
}

/// A fair choice is off by this much once in 10^20 runs.
#[track_caller]
fn assert_shares(counts: &[i32]) {
    assert!(counts.iter().all(|count| count.abs_diff(1000) < 300), "S2: {counts:?}");
}

#[test]
fn each_ready_branch_has_its_share() {
    leno::block_on(async {
        assert_even!(select: 0 1);
        assert_even!(select: 0 1 2);
        assert_even!(select: 0 1 2 3 4 5 6 7);
        assert_even!(select: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    });
    assert_even!(select_blocking: 0 1);
    assert_even!(select_blocking: 0 1 2 3 4);
}

/// Also where branches that are not ready, or are off, stand between them.
#[test]
fn with_gaps() {
    leno::block_on(async {
        let (tx, rx) = bounded(1);
        let (_silent, silents) = leno::rendezvous::<()>();
        let mut counts = [0; 2];
        for _ in 0..2000 {
            tx.try_send(()).expect("there is room: one value was taken");
            select! {
                _ = rx.recv() => counts[0] += 1,
                _ = silents.recv() => panic!("silent"),
                _ = std::future::pending::<()>() => panic!("pending"),
                _ = rx.recv(), if counts[0] > 5000 => panic!("its guard is false"),
                _ = silents.recv() => panic!("silent"),
                _ = rx.recv() => counts[1] += 1,
            }
        }
        assert_shares(&counts);
    });
}

/// Claimed operations and polled futures alike; with `default`, which takes no share.
#[test]
fn of_different_sorts() {
    leno::block_on(async {
        let (tx, rx) = bounded(8000);
        let (gone, gones) = bounded::<u8>(1);
        drop(gones);
        let mutex = leno::sync::Mutex::new(());
        let mut counts = [0; 5];
        for _ in 0..5000 {
            select! {
                _ = tx.send(()) => counts[0] += 1,
                _ = gone.closed() => counts[1] += 1,
                _ = ready(()) => counts[2] += 1,
                _guard = mutex.lock() => counts[3] += 1,
                _ = gone.send(1) => counts[4] += 1,
                default => panic!("all are ready"),
            }
        }
        assert_shares(&counts);
        assert_eq!(rx.len(), counts[0] as usize, "S1");
    });
}

/// S2: the first of the ready ones in the order written, for every set of ready branches, every time.
#[test]
fn the_first_in_the_order_written() {
    leno::block_on(async {
        for set in 1..16_u32 {
            let channels = [(); 4].map(|()| bounded(1));
            let [(_, a), (_, b), (_, c), (_, d)] = &channels;
            for round in 0..60 {
                for (i, (tx, _)) in channels.iter().enumerate() {
                    if set & 1 << i != 0 {
                        let _ = tx.try_send(i as u32);
                    }
                }
                let first = match round % 3 {
                    0 => select_biased! {
                        x = a.recv() => x, x = b.recv() => x, x = c.recv() => x, x = d.recv() => x,
                    },
                    1 => select! {
                        biased;
                        x = a.recv() => x, x = b.recv() => x, x = c.recv() => x, x = d.recv() => x,
                    },
                    _ => select_blocking! {
                        biased;
                        x = a.recv() => x, x = b.recv() => x, x = c.recv() => x, x = d.recv() => x,
                    },
                };
                assert_eq!(first, Ok(set.trailing_zeros()), "S2: ready: {set:04b}");
            }
        }
    });
}
