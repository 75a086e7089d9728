//! What selects cost in memory: S1, that losing branches leave nothing; S3, that a ready select allocates nothing.
//!
//! The allocator counts per thread, so that tests do not disturb each other.

use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use leno::select::{Operation, Select, SelectFuture, Selected2, foreign, select, select_biased};
use leno::sync::Mutex;
use leno::{bounded, rendezvous};

use crate::support::memory::Counting;
use crate::support::{CountingWaker, Event, Kind, PollExt, hooked_waker};

/// Slack for caches that fill up once: per thread, per channel, and the first chunk of nodes; not per operation.
const CACHES: isize = 256 << 10;

const KINDS: [Kind; 4] = [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000)];

#[track_caller]
fn assert_flat(what: &str, live: isize) {
    assert!(live <= CACHES, "{what}: memory must not grow, but {live} bytes stayed allocated");
}

/// S1: a million selects that lose on silent channels: each is handed a value by a third one.
#[test]
fn a_million_losing_selects_leave_nothing() {
    for kind in KINDS {
        let (_silent, silents) = kind.open::<u64>();
        let (full, _fulls) = kind.open::<[u64; 32]>();
        kind.fill(&full, |_| [0; 32]);
        let (tick, ticks) = rendezvous();
        let counting = CountingWaker::new();
        let waker = Waker::from(Arc::clone(&counting));
        let ((), change) = Counting::measure(|| {
            for i in 0..250_000_u32 {
                // A value that does not fit into a node, and is boxed while it waits.
                let mut selecting = select((silents.recv(), full.send([1; 32]), ticks.recv()));
                assert!(selecting.poll_with(&waker).is_pending(), "nothing is ready");
                tick.try_send(i).expect("the select waits");
                assert!(selecting.poll_with(&waker).is_ready(), "a peer has completed it");
            }
        });
        assert_flat(&format!("S1: losing selects, {kind:?}"), change.live);
        drop(waker);
        assert_eq!(Arc::strong_count(&counting), 1, "S1: no waker is kept");
    }
}

/// S1, S10: dropped as they wait, alone, and behind others that stay.
#[test]
fn cancelled_selects_leave_nothing() {
    for kind in KINDS {
        for steady in [0, 1, 20] {
            let (_a, a_rx) = kind.open::<u64>();
            let (_b, b_rx) = kind.open::<u64>();
            let mutex = Mutex::new(());
            let _guard = mutex.try_lock();
            let waker = CountingWaker::new();
            let mut waiting = (0..steady).map(|_| select((b_rx.recv(), a_rx.recv()))).collect::<Vec<_>>();
            for selecting in &mut waiting {
                selecting.must_wait("nothing is ready");
            }
            let ((), change) = Counting::measure(|| {
                for _ in 0..50_000 {
                    let mut selecting = select((a_rx.recv(), mutex.lock(), b_rx.recv()));
                    assert!(selecting.poll_once(&waker).is_pending(), "nothing is ready");
                }
            });
            assert_flat(&format!("S10: cancelled selects behind {steady}, {kind:?}"), change.live);
            assert_eq!(Arc::strong_count(&waker), 1, "S10: no waker is kept");
        }
    }
}

/// S4: the same for selects on both sides of one channel.
#[test]
fn selects_on_both_sides_leave_nothing() {
    let (tx, rx) = rendezvous::<u64>();
    let waker = CountingWaker::new();
    let ((), change) = Counting::measure(|| {
        for i in 0..100_000 {
            let mut selecting = select((tx.send(i), rx.recv()));
            assert!(selecting.poll_once(&waker).is_pending(), "nobody is there");
            if i % 2 == 0 {
                assert!(tx.try_send(i).is_ok(), "the select receives");
                drop(selecting);
                assert_eq!(rx.try_recv(), Ok(i), "C9: it came back");
            }
        }
    });
    assert_flat("S4: both sides, dropped", change.live);
    let ((), change) = Counting::measure(|| {
        for i in 0..100_000 {
            let mut selecting = select((rx.recv(), tx.send(i)));
            assert!(selecting.poll_once(&waker).is_pending(), "nobody is there");
            assert_eq!(rx.try_recv(), Ok(i), "the select sends");
        }
    });
    assert_flat("S4: both sides", change.live);
    assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
}

/// S9: a lent operation that goes through many selects keeps nothing of them.
#[test]
fn lent_operations_leave_nothing() {
    for kind in KINDS {
        let (_tx, rx) = kind.open::<u64>();
        let (_silent, silents) = kind.open::<u64>();
        let waker = CountingWaker::new();
        let mut receiving = rx.recv();
        let ((), change) = Counting::measure(|| {
            for i in 0..50_000 {
                assert!(select((&mut receiving, silents.recv())).poll_once(&waker).is_pending(), "empty");
                if i % 2 == 0 {
                    assert!(receiving.poll_once(&waker).is_pending(), "empty");
                }
            }
        });
        assert_flat(&format!("S9: lent operations, {kind:?}"), change.live);
        drop(receiving);
        assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
    }
}

/// C14, S10: values that are handed to a select, and come back, again and again cost no memory.
#[test]
fn values_that_come_back_from_selects_cost_nothing() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (_silent, silents) = kind.open::<u64>();
        let waker = CountingWaker::new();
        let ((), change) = Counting::measure(|| {
            for i in 0..50_000 {
                let mut selecting = select((silents.recv(), rx.recv()));
                assert!(selecting.poll_once(&waker).is_pending(), "nothing is ready");
                tx.try_send(i).expect("the select waits");
                drop(selecting);
                assert_eq!(rx.try_recv(), Ok(i), "C9: it came back");
            }
        });
        assert_flat(&format!("C9: came back, {kind:?}"), change.live);
    }
}

/// C16: timeouts leave nothing.
#[test]
fn timeouts_leave_nothing() {
    for kind in KINDS {
        let (_tx, rx) = kind.open::<u64>();
        let (_silent, silents) = kind.open::<u64>();
        let ((), change) = Counting::measure(|| {
            for _ in 0..10_000 {
                assert!(select((rx.recv(), silents.recv())).wait_timeout(Duration::ZERO).is_err(), "empty");
            }
        });
        assert_flat(&format!("C16: timeouts, {kind:?}"), change.live);
    }
}

/// The thread's source of random numbers is made by the first select that is not biased.
fn warm_up() {
    assert!(select((foreign(ready(1)), foreign(ready(1)))).poll_with(Waker::noop()).is_ready());
}

/// S3: a select that finds a branch ready allocates nothing, whichever branch it is, by value or lent.
#[test]
fn a_ready_select_allocates_nothing() {
    let waker = Waker::noop();
    let (tx, rx) = bounded(1);
    let (_silent, silents) = rendezvous::<[u64; 32]>();
    let (big, _bigs) = rendezvous();
    let mutex = Mutex::fair(());
    let (closed, _) = bounded::<u8>(1);
    warm_up();
    let ((), change) = Counting::measure(|| {
        for i in 0..1000_u64 {
            let outcome = select_biased((silents.recv(), big.send([1_u64; 32]), tx.send(i))).poll_with(waker);
            assert!(outcome.is_ready(), "there is room");
            let mut receiving = rx.recv();
            let outcome = select((silents.recv(), &mut receiving)).poll_with(waker);
            assert_eq!(outcome, Poll::Ready(Selected2::Second(Ok(i))));
            assert!(select((silents.recv(), mutex.lock())).poll_with(waker).is_ready(), "free");
            assert!(select((closed.closed(), silents.recv())).poll_with(waker).is_ready(), "closed");
            assert!(select((foreign(ready(1)), silents.recv())).poll_with(waker).is_ready(), "S7");
            assert!(select((foreign(pending::<u8>()), closed.closed())).poll_with(waker).is_ready(), "S7");
        }
    });
    assert_eq!((change.calls, change.live), (0, 0), "S3");
}

/// S3: nor does one that meets a peer who waits, on a rendezvous channel, apart from what that peer needed.
#[test]
fn a_select_that_meets_a_peer_allocates_nothing() {
    let (tx, rx) = rendezvous();
    let (_silent, silents) = rendezvous::<u64>();
    let mut waiting = (0..1000_u64).map(|i| tx.send(i)).collect::<Vec<_>>();
    for sending in &mut waiting {
        assert!(sending.poll_with(Waker::noop()).is_pending(), "nobody is there");
    }
    warm_up();
    let ((), change) = Counting::measure(|| {
        for i in 0..1000 {
            let outcome = select((silents.recv(), rx.recv())).poll_with(Waker::noop());
            assert_eq!(outcome, Poll::Ready(Selected2::Second(Ok(i))));
        }
    });
    // (What the peers needed comes back meanwhile: a chunk that is empty then is given up, which takes a note or two.)
    assert!(change.calls < 10, "S3: {} allocations in 1000 selects", change.calls);
}

/// Selects that wait each time allocate nothing in the steady state: their nodes are reused.
#[test]
fn the_steady_state_allocates_nothing() {
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)] {
        let (tx, rx) = kind.open();
        let (_silent, silents) = kind.open::<u64>();
        let waker = CountingWaker::new();
        let hand_over = |i: u64| {
            let mut selecting = select((silents.recv(), rx.recv()));
            assert!(selecting.poll_once(&waker).is_pending(), "nothing is ready");
            tx.try_send(i).expect("the select waits, or there is room");
            assert_eq!(selecting.poll_once(&waker), Poll::Ready(Selected2::Second(Ok(i))), "served");
        };
        (0..1000).for_each(hand_over);
        let ((), change) = Counting::measure(|| (0..10_000).for_each(hand_over));
        assert!(change.calls < 100, "{kind:?}: {} allocations in 10000 selects", change.calls);
    }
}

/// The operation of a select that is ready.
fn now<'s, 'a>(mut selecting: SelectFuture<'s, 'a>, waker: &Waker) -> Operation<'s, 'a> {
    match selecting.poll_with(waker) {
        Poll::Ready(operation) => operation,
        Poll::Pending => panic!("it is ready"),
    }
}

/// S3: with more branches than a select has room for by itself, in the macro and in a set of any size.
#[test]
fn a_ready_select_of_many_branches_allocates_nothing() {
    let (tx, rx) = bounded(1);
    let (_silent, silents) = rendezvous::<u64>();
    warm_up();
    let ((), change) = Counting::measure(|| {
        for i in 0..1000_u64 {
            tx.try_send(i).expect("there is room");
            let mut selecting = pin!(async {
                leno::select! {
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = pending::<()>() => panic!("silent"),
                    received = rx.recv() => received,
                }
            });
            assert_eq!(selecting.poll_with(Waker::noop()), Poll::Ready(Ok(i)));
        }
    });
    assert_eq!((change.calls, change.live), (0, 0), "S3: the macro");
    for count in [1, 8, 9, 100] {
        let mut set = Select::new();
        (0..count).for_each(|_| _ = set.recv(&silents));
        let token = set.recv(&rx);
        let ((), change) = Counting::measure(|| {
            for i in 0..1000 {
                tx.try_send(i).expect("there is room");
                let operation = match i % 2 {
                    0 => set.try_select().expect("a value is there"),
                    _ => now(set.select(), Waker::noop()),
                };
                assert_eq!(operation.recv(token), Ok(i));
            }
        });
        assert_eq!((change.calls, change.live), (0, 0), "S3: a set of {count}");
    }
}

/// Selects that wait each time, by the macro up to its room, and by sets of any size, whose room stays.
#[test]
fn the_steady_state_of_the_others_allocates_nothing() {
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)] {
        let (tx, rx) = kind.open();
        let (_silent, silents) = kind.open::<u64>();
        let waker = CountingWaker::new();
        let hand_over = |i: u64| {
            let mut selecting = pin!(async {
                leno::select! {
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = silents.recv() => panic!("silent"),
                    _ = pending::<()>() => panic!("silent"),
                    received = rx.recv() => received,
                }
            });
            assert!(selecting.poll_once(&waker).is_pending(), "nothing is ready");
            tx.try_send(i).expect("the select waits, or there is room");
            assert_eq!(selecting.poll_once(&waker), Poll::Ready(Ok(i)), "served");
        };
        (0..1000).for_each(hand_over);
        let ((), change) = Counting::measure(|| (0..10_000).for_each(hand_over));
        assert!(change.calls < 100, "{kind:?}: {} allocations in 10000 selects", change.calls);
        let mut set = Select::new();
        (0..20).for_each(|_| _ = set.recv(&silents));
        let token = set.recv(&rx);
        let waker_of = Waker::from(Arc::clone(&waker));
        let mut hand_over = |i: u64| {
            let mut selecting = set.select();
            assert!(selecting.poll_once(&waker).is_pending(), "nothing is ready");
            tx.try_send(i).expect("the set waits, or there is room");
            assert_eq!(now(selecting, &waker_of).recv(token), Ok(i), "served");
        };
        (0..1000).for_each(&mut hand_over);
        let ((), change) = Counting::measure(|| (0..2000).for_each(&mut hand_over));
        assert!(change.calls < 100, "{kind:?}: {} allocations in 2000 selects", change.calls);
    }
}

/// S1, S10: sets whose selects lose, or are dropped, leave nothing; nor do sends that are done.
#[test]
fn a_set_that_is_used_for_long_costs_no_more() {
    for kind in KINDS {
        let (_silent, silents) = kind.open::<u64>();
        let (tick, ticks) = rendezvous();
        let (tx, rx) = bounded(1);
        let mut set = Select::new();
        set.recv(&silents);
        let on_tick = set.recv(&ticks);
        let waker = CountingWaker::new();
        let ((), change) = Counting::measure(|| {
            for i in 0..50_000_u32 {
                let mut selecting = set.select();
                assert!(selecting.poll_once(&waker).is_pending(), "nothing is ready");
                if i % 2 == 0 {
                    tick.try_send(i).expect("the set waits");
                    let Poll::Ready(operation) = selecting.poll_once(&waker) else {
                        panic!("a peer has served it")
                    };
                    assert_eq!(operation.recv(on_tick), Ok(i));
                }
            }
            for i in 0..50_000 {
                let send = set.send(&tx, i);
                assert_eq!(set.try_select().map(|operation| operation.send(send)), Some(Ok(())));
                assert_eq!(rx.try_recv(), Ok(i));
            }
        });
        assert_flat(&format!("S1: a set, {kind:?}"), change.live);
        drop(set);
        assert_eq!(Arc::strong_count(&waker), 1, "S1: no waker is kept");
    }
}

/// S1, C29: a select completes one of its branches, and for that pops the node of another; then somebody else's waker panics.
#[test]
fn a_select_that_a_panic_interrupts_leaves_nothing() {
    let barrier = leno::sync::Barrier::new(3);
    let panics = hooked_waker(|event| {
        if event == Event::Wake {
            resume_unwind(Box::new("planted: a waker panics"));
        }
    });
    let ((), change) = Counting::measure(|| {
        for round in 0..10_000 {
            let mut waiting = barrier.wait_for_all();
            assert!(waiting.poll_with(&panics).is_pending());
            let mut selecting = select_biased((barrier.wait_for_all(), barrier.wait_for_all()));
            catch_unwind(AssertUnwindSafe(|| selecting.poll_with(Waker::noop()).is_ready()))
                .expect_err("the panic goes through");
            if round % 2 == 0 {
                assert!(selecting.poll_with(Waker::noop()).is_ready(), "all have come");
            }
            drop(selecting);
            assert!(waiting.poll_with(Waker::noop()).is_ready(), "all have come");
        }
    });
    assert_flat("S1: selects that a panic interrupts", change.live);
}
