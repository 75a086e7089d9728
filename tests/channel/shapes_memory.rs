//! What the smaller kinds of channel cost in memory: their own size, and that waits that were broken off leave nothing (S1).

use leno::channel::{broadcast, oneshot};

use crate::support::PollExt;
use crate::support::memory::Counting;

/// Slack for caches that fill up once.
const CACHES: isize = 64 << 10;

/// One allocation, of six words more than the value.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_oneshot_is_one_allocation() {
    // (In debug builds it knows its place in the source.)
    let words = 4 + 6 + usize::from(cfg!(debug_assertions));
    let ((tx, mut rx), change) = Counting::measure(oneshot::channel::<[u64; 4]>);
    assert_eq!((change.calls, change.bytes), (1, 8 * words));
    let (received, change) = Counting::measure(|| {
        tx.send([1; 4]).unwrap();
        let received = rx.try_recv();
        drop(rx);
        received
    });
    assert_eq!(received, Ok([1; 4]));
    assert_eq!((change.calls, change.live), (0, -8 * words as isize), "and it is given back");
}

/// A wait costs no memory of its own.
#[test]
fn waits_on_oneshots_are_free() {
    let round = || {
        let (mut tx, mut rx) = oneshot::channel::<u64>();
        rx.must_wait("nothing was sent");
        tx.closed().must_wait("it is there");
        drop(rx);
    };
    (0..100).for_each(|_| round());
    let ((), change) = Counting::measure(|| (0..10_000).for_each(|_| round()));
    assert!(change.live <= CACHES, "{} bytes stayed allocated", change.live);
}

/// A broadcast gives its values' memory back as they are seen.
#[test]
fn values_that_were_seen_are_gone() {
    let (tx, mut rx) = broadcast::channel::<Vec<u8>>(64);
    let mut late = tx.subscribe();
    let round = |rx: &mut broadcast::Receiver<Vec<u8>>, late: &mut broadcast::Receiver<Vec<u8>>| {
        (0..64).for_each(|_| assert_eq!(tx.send(vec![0; 4096]), Ok(2)));
        (0..64).for_each(|_| assert!(rx.try_recv().is_ok() && late.try_recv().is_ok()));
    };
    round(&mut rx, &mut late);
    let ((), change) = Counting::measure(|| (0..100).for_each(|_| round(&mut rx, &mut late)));
    assert!(change.live <= 4096, "{} bytes stayed allocated", change.live);
}
