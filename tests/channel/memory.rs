//! What channels and waits cost in memory: C14, C17, and that cancelled waits leave nothing (S1, for one channel).
//!
//! The allocator counts per thread, so that tests do not disturb each other.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use leno::bounded;
use leno::channel::{mpsc, spsc};
use leno::sync::Mutex;

use crate::support::memory::Counting;
use crate::support::{CountingWaker, Kind, PollExt};

/// Slack for caches that fill up once: per thread, per channel, and the first chunk of nodes; not per operation.
const CACHES: isize = 256 << 10;

const KINDS: [Kind; 5] =
    [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000), Kind::Unbounded];

#[track_caller]
fn assert_flat(what: &str, live: isize) {
    assert!(live <= CACHES, "{what}: memory must not grow, but {live} bytes stayed allocated");
}

/// C17: an enormous capacity allocates little.
#[test]
fn an_enormous_capacity_allocates_little() {
    for cap in [1 << 20, 1 << 30, u32::MAX as usize, usize::MAX / 2] {
        let (channel, change) = Counting::measure(|| {
            let (tx, rx) = bounded::<[u64; 4]>(cap);
            for i in 0..10 {
                tx.try_send([i; 4]).expect("there is room");
                assert_eq!(rx.try_recv(), Ok([i; 4]));
            }
            (tx, rx)
        });
        assert!(change.bytes < 64 << 10, "C17: capacity {cap} allocated {} bytes", change.bytes);
        assert_eq!(channel.0.capacity(), Some(cap), "C17");
    }
}

/// C17: a hundred thousand channels of capacity 2^30 allocate little.
#[test]
fn many_enormous_channels_allocate_little() {
    let (channels, change) =
        Counting::measure(|| (0..100_000).map(|_| bounded::<u64>(1 << 30)).collect::<Vec<_>>());
    let each = change.live / 100_000;
    assert!(each < 2048, "C17: {each} bytes per empty channel");
    let (used, change) = Counting::measure(|| {
        let (tx, rx) = channels.last().expect("many");
        tx.try_send(1).expect("there is room");
        rx.try_recv()
    });
    assert_eq!(used, Ok(1));
    assert!(change.live < 64 << 10, "C17: the first value allocated {} bytes", change.live);
}

/// All of a channel's memory comes back with its last handle.
#[test]
fn a_channel_gives_its_memory_back() {
    for kind in KINDS {
        let ((), change) = Counting::measure(|| {
            for _ in 0..1000 {
                let (tx, rx) = kind.open::<u64>();
                kind.fill(&tx, |i| i as u64);
                let mut waiting = (0..kind.waiting(20) as u64).map(|i| tx.send(i)).collect::<Vec<_>>();
                for sending in &mut waiting {
                    sending.must_wait("full");
                }
                drop(waiting);
                rx.drain().for_each(drop);
            }
        });
        assert_flat(&format!("1000 channels, {kind:?}"), change.live);
    }
}

/// C9, S1: a million receives polled once and dropped leave nothing behind, alone or behind a steady waiter.
#[test]
fn cancelled_receives_leave_nothing() {
    for kind in KINDS {
        for steady in [0, 1, 20] {
            let (_tx, rx) = kind.open::<u64>();
            let waker = CountingWaker::new();
            let mut waiting = (0..steady).map(|_| rx.recv()).collect::<Vec<_>>();
            for receiving in &mut waiting {
                receiving.must_wait("empty");
            }
            let ((), change) = Counting::measure(|| {
                for _ in 0..100_000 {
                    assert!(rx.recv().poll_once(&waker).is_pending(), "empty");
                }
            });
            assert_flat(&format!("cancelled receives behind {steady}, {kind:?}"), change.live);
            assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
        }
    }
}

/// C10: the same for sends; a large value does not stay either.
#[test]
fn cancelled_sends_leave_nothing() {
    for kind in KINDS.into_iter().filter(|kind| kind.has_limit()) {
        let (tx, _rx) = kind.open::<[u64; 64]>();
        kind.fill(&tx, |_| [0; 64]);
        let waker = CountingWaker::new();
        let mut steady = tx.send([1; 64]);
        steady.must_wait("full");
        let ((), change) = Counting::measure(|| {
            for _ in 0..100_000 {
                assert!(tx.send([2; 64]).poll_once(&waker).is_pending(), "full");
            }
        });
        assert_flat(&format!("cancelled sends, {kind:?}"), change.live);
        assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
    }
}

/// Receives that leave from the middle, while others wait before and behind, leave nothing.
#[test]
fn receives_cancelled_in_the_middle_leave_nothing() {
    for kind in KINDS {
        let (_tx, rx) = kind.open::<u64>();
        let waker = CountingWaker::new();
        let mut waiting = std::collections::VecDeque::with_capacity(64);
        let ((), change) = Counting::measure(|| {
            for i in 0..200_000_usize {
                let mut receiving = rx.recv();
                assert!(receiving.poll_once(&waker).is_pending(), "empty");
                waiting.push_back(receiving);
                if waiting.len() > 30 {
                    // The first stays as long as the test, so a queue that only cleans its ends would grow.
                    drop(waiting.remove(1 + i % 29));
                }
            }
        });
        assert_flat(&format!("cancelled in the middle, {kind:?}"), change.live);
    }
}

/// C16: timeouts leave nothing.
#[test]
fn timeouts_leave_nothing() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u64>();
        let ((), change) = Counting::measure(|| {
            for _ in 0..10_000 {
                assert!(rx.recv_timeout(Duration::ZERO).is_err(), "empty");
            }
            kind.fill(&tx, |i| i as u64);
            for _ in 0..kind.waiting(10_000) {
                assert!(tx.send_timeout(1, Duration::ZERO).is_err(), "full");
            }
            rx.drain().for_each(drop);
        });
        assert_flat(&format!("timeouts, {kind:?}"), change.live);
    }
}

/// C14: values that are handed over, and come back, again and again cost no memory.
#[test]
fn values_that_come_back_cost_nothing() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let waker = CountingWaker::new();
        let ((), change) = Counting::measure(|| {
            for i in 0..100_000 {
                let mut receiving = rx.recv();
                assert!(receiving.poll_once(&waker).is_pending(), "empty");
                tx.try_send(i).expect("a receiver waits");
                drop(receiving);
                assert_eq!(rx.try_recv(), Ok(i), "C9: it came back");
            }
        });
        assert_flat(&format!("C9: came back, {kind:?}"), change.live);
    }
}

/// Waits on `closed()` that are given up leave nothing.
#[test]
fn cancelled_waits_for_closed_leave_nothing() {
    for kind in KINDS {
        let (tx, _rx) = kind.open::<u64>();
        let waker = CountingWaker::new();
        let ((), change) = Counting::measure(|| {
            for _ in 0..100_000 {
                assert!(tx.closed().poll_once(&waker).is_pending(), "open");
            }
        });
        assert_flat(&format!("closed(), {kind:?}"), change.live);
        assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
    }
}

/// M2: the same for locks, of both policies.
#[test]
fn cancelled_locks_leave_nothing() {
    for mutex in [Mutex::new(0), Mutex::fair(0)] {
        let guard = mutex.try_lock().expect("free");
        let waker = CountingWaker::new();
        let mut steady = mutex.lock();
        steady.must_wait("held");
        let ((), change) = Counting::measure(|| {
            for _ in 0..100_000 {
                assert!(mutex.lock().poll_once(&waker).is_pending(), "held");
            }
        });
        assert_flat("cancelled locks", change.live);
        assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
        drop(guard);
    }
}

/// C17: what a burst allocated is freed as it is received, but for a block or two that are kept for the next values.
#[test]
fn a_burst_gives_its_memory_back() {
    for kind in [Kind::Bounded(100_000), Kind::Unbounded] {
        let (tx, rx) = kind.open::<[u64; 4]>();
        let (most, change) = Counting::measure(|| {
            (0..3).fold(0, |most: isize, _| {
                let ((), sent) =
                    Counting::measure(|| (0..50_000).for_each(|i| tx.try_send([i; 4]).expect("room")));
                rx.drain().for_each(drop);
                most.max(sent.live)
            })
        });
        assert!(most > 50_000 * 32, "the values were somewhere: {most} bytes");
        assert!(change.live < 16 << 10, "{kind:?}: a burst left {} bytes", change.live);
    }
}

/// What is left in a channel takes no memory to be dropped, however much it is.
#[test]
fn closing_at_once_allocates_nothing() {
    macro_rules! close {
        ($($channel:expr),+) => {$({
            #[allow(unused_mut, reason = "of one kind only")]
            let (mut tx, rx) = $channel;
            (0..10_000).for_each(|i| tx.try_send([i; 4]).expect("no limit"));
            let (was_open, change) = Counting::measure(|| rx.close_now());
            assert!(was_open && rx.is_empty());
            assert_eq!(change.bytes, 0, "{}", stringify!($channel));
        })+};
    }
    close!(leno::unbounded(), mpsc::unbounded(), spsc::unbounded());
}

/// C17: nothing is allocated for values before there are any.
#[test]
fn an_unused_channel_has_no_room() {
    for kind in [Kind::Bounded(100_000), Kind::Unbounded] {
        let (_channel, change) = Counting::measure(|| kind.open::<[u64; 100]>());
        assert_eq!(change.calls, 1, "{kind:?}: the channel itself");
    }
}

/// A steady flow through blocks reuses them, however full the channel is, and however large a value is.
#[test]
fn a_steady_flow_allocates_nothing() {
    fn flow<T: Copy>(kind: Kind, value: T) {
        for level in [0, 1, 31, 100, 1000] {
            let (tx, rx) = kind.open::<T>();
            (0..level).for_each(|_| tx.try_send(value).unwrap_or_else(|_| panic!("room")));
            let pass = |_| {
                tx.try_send(value).unwrap_or_else(|_| panic!("room"));
                rx.try_recv().unwrap_or_else(|_| panic!("just sent"));
            };
            (0..1000).for_each(pass);
            let ((), change) = Counting::measure(|| (0..10_000).for_each(pass));
            assert_eq!(change.calls, 0, "{kind:?} with {level} values of {} bytes", size_of::<T>());
        }
    }
    for kind in [Kind::Bounded(5000), Kind::Unbounded] {
        flow(kind, 0_u8);
        flow(kind, [0_u64; 10]);
        flow(kind, [0_u64; 1000]);
        flow(kind, ());
    }
}

/// Passing values in the steady state, waiting each time, allocates nothing.
#[test]
fn the_steady_state_allocates_nothing() {
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64), Kind::Unbounded] {
        let (tx, rx) = kind.open();
        let waker = CountingWaker::new();
        let hand_over = |i: u64| {
            let mut receiving = rx.recv();
            assert!(receiving.poll_once(&waker).is_pending(), "empty");
            tx.try_send(i).expect("a receiver waits");
            assert_eq!(receiving.poll_once(&waker), Poll::Ready(Ok(i)), "served");
        };
        (0..1000).for_each(hand_over);
        let ((), change) = Counting::measure(|| (0..10_000).for_each(hand_over));
        assert!(change.calls < 100, "{kind:?}: {} allocations in 10000 hand-overs", change.calls);
    }
}

/// Whoever waits alone allocates nothing, also as it moves to another task.
#[test]
fn one_that_waits_alone_and_moves_allocates_nothing() {
    for kind in KINDS {
        let wakers = [CountingWaker::new(), CountingWaker::new()];
        // (The thread has nodes then.)
        let (_tx, rx) = kind.open::<u8>();
        let warm = [rx.recv(), rx.recv(), rx.recv()].map(|mut one| one.poll_once(&wakers[0]).is_pending());
        assert_eq!(warm, [true; 3]);
        let (tx, rx) = kind.open::<u8>();
        let mut receiving = rx.recv();
        let (polls, change) =
            Counting::measure(|| [0, 1, 0, 1].map(|waker| receiving.poll_once(&wakers[waker]).is_pending()));
        assert_eq!((polls, change.calls), ([true; 4], 0), "{kind:?}");
        tx.try_send(1).expect("it waits");
        assert!(wakers[1].was_woken() && !wakers[0].was_woken(), "C12: the last one counts");
    }
}
