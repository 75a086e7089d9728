//! `Barrier`: M2, M7, M8.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use leno::select::{Selected2, select};
use leno::sync::{Barrier, BarrierWaitResult, WaitForAll};

use crate::support::{Crew, Place, PollExt};
use crate::{each_place, impls};

/// The last one to come opens it, and leads; then it begins anew.
#[test]
fn the_last_one_opens_it() {
    let barrier = Barrier::new(3);
    for _round in 0..3 {
        let (mut a, mut b) = (barrier.wait_for_all(), barrier.wait_for_all());
        let woken = [a.must_wait("one of three"), b.must_wait("two of three")];
        barrier.assert_valid();
        assert!(barrier.wait_for_all().must_be_ready("the last one").is_leader());
        assert!(woken.iter().all(|woken| woken.was_woken()));
        assert!(!a.must_be_ready("open").is_leader() && !b.must_be_ready("open").is_leader());
        barrier.assert_valid();
    }
    for size in 0..2 {
        assert!(Barrier::new(size).wait_for_all().wait().is_leader(), "nobody else is waited for");
    }
}

/// M2: whoever leaves does not count any more; whoever leaves after the last one has come has counted.
#[test]
fn who_leaves_does_not_count() {
    let barrier = Barrier::new(3);
    let (mut a, mut b) = (barrier.wait_for_all(), barrier.wait_for_all());
    a.must_wait("one");
    b.must_wait("two");
    drop(a);
    assert!(
        barrier.wait_for_all().wait_timeout(Duration::ZERO).is_err(),
        "the second of three, not the last"
    );
    let mut c = barrier.wait_for_all();
    c.must_wait("the second of three");
    let leader = barrier.wait_for_all().must_be_ready("the third");
    assert!(leader.is_leader());
    drop(b);
    assert!(!c.must_be_ready("open").is_leader());
    barrier.wait_for_all().must_wait("M2: the next round begins with nobody");
    barrier.assert_valid();
}

/// A future that was not polled in its round counts in the next one.
#[test]
fn a_late_first_poll() {
    let barrier = Barrier::new(2);
    let mut late = barrier.wait_for_all();
    let mut a = barrier.wait_for_all();
    a.must_wait("one");
    assert!(barrier.wait_for_all().must_be_ready("two").is_leader());
    late.must_wait("one, of the next round");
    assert!(!a.must_be_ready("open").is_leader());
    assert!(barrier.wait_for_all().must_be_ready("two").is_leader());
    assert!(!late.must_be_ready("open").is_leader());
}

/// M8: as a branch it counts while the select waits.
#[test]
fn a_branch_of_a_select() {
    let (barrier, (tx, rx)) = (Barrier::new(2), leno::bounded(1));
    let mut lent = barrier.wait_for_all();
    let mut selecting = select((&mut lent, rx.recv()));
    selecting.must_wait("neither");
    tx.try_send(1).expect("room");
    assert!(matches!(selecting.must_be_ready("sent"), Selected2::Second(Ok(1))));
    drop(selecting);
    let mut other = barrier.wait_for_all();
    other.must_wait("S1: the loser does not count");
    assert!(lent.must_be_ready("and comes again").is_leader());
    assert!(!other.must_be_ready("open").is_leader());
    let mut selecting = select((barrier.wait_for_all(), rx.recv()));
    let woken = selecting.must_wait("neither");
    assert!(barrier.wait_for_all().must_be_ready("two").is_leader());
    assert!(woken.was_woken());
    assert!(matches!(selecting.must_be_ready("open"), Selected2::First(result) if !result.is_leader()));
    barrier.assert_valid();
}

/// M7: ten thousand go on at once.
#[test]
fn ten_thousand_waiters() {
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
        let barrier = Barrier::new(10_001);
        let mut waits = (0..10_000).map(|_| barrier.wait_for_all()).collect::<Vec<_>>();
        waits.iter_mut().for_each(|wait| assert!(wait.poll_with(Waker::noop()).is_pending()));
        assert!(barrier.wait_for_all().wait().is_leader());
        waits.iter_mut().for_each(|wait| assert!(!wait.must_be_ready("M7").is_leader()));
    });
    small.expect("a thread starts").join().expect("M7: no deep recursion");
}

/// M8: rounds in step, in all places; one leader each; some come and leave in between.
fn in_step(places: &[Place]) {
    let (barrier, never) = (Arc::new(Barrier::new(6)), Arc::new(Barrier::new(3)));
    let (rounds, leaders) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut crew = Crew::new("M8: in step", places);
    for member in 0..6 {
        let (barrier, never) = (Arc::clone(&barrier), Arc::clone(&never));
        let (rounds, leaders) = (Arc::clone(&rounds), Arc::clone(&leaders));
        crew.add(move |at| async move {
            for round in 0..50 {
                if member < 2 {
                    // Comes and leaves. (Two are not enough there.)
                    let mut leaving = never.wait_for_all();
                    leaving.must_wait("M2: at most one other has come");
                    at.pause().await;
                }
                rounds.fetch_add(1, Ordering::SeqCst);
                let result = match at {
                    Place::Thread => barrier.wait_for_all().wait(),
                    _ => barrier.wait_for_all().await,
                };
                leaders.fetch_add(usize::from(result.is_leader()), Ordering::SeqCst);
                assert!(rounds.load(Ordering::SeqCst) >= 6 * (round + 1), "all have come");
            }
        });
    }
    crew.run();
    assert_eq!(leaders.load(Ordering::SeqCst), 50, "one leader in each round");
    barrier.assert_valid();
    never.assert_valid();
    let (mut a, mut b) = (never.wait_for_all(), never.wait_for_all());
    a.must_wait("M2: those that left do not count");
    b.must_wait("M2: those that left do not count");
}

each_place!(in_step);

#[test]
fn auto_traits() {
    const {
        assert!(impls!(Barrier: Send + Sync) && impls!(BarrierWaitResult: Send + Sync));
        assert!(impls!(WaitForAll<'static>: Send + Unpin));
    }
    assert!(size_of::<Barrier>() <= 32, "tokio's has 56 bytes, async-lock's 48");
    static STATIC: Barrier = Barrier::new(1);
    assert!(STATIC.wait_for_all().wait().is_leader());
}

/// S13: the barrier opens while a select has borrowed the wait, or the wait opens it, and the select is dropped: the wait goes on as
/// one that is through, and does not count again.
#[test]
fn what_came_in_a_select_that_was_dropped_counts() {
    let (_tx, rx) = leno::bounded::<u8>(1);
    for comes_last in [false, true] {
        let barrier = Barrier::new(2);
        let mut lent = barrier.wait_for_all();
        if comes_last {
            let mut other = barrier.wait_for_all();
            other.must_wait("one of two");
            let mut set = leno::select::Select::new();
            set.add(&mut lent);
            assert!(set.try_select().is_some(), "the last one");
            drop(set);
            other.must_be_ready("open");
        } else {
            let mut selecting = select((&mut lent, rx.recv()));
            selecting.must_wait("one of two");
            barrier.wait_for_all().must_be_ready("the last one");
            drop(selecting);
        }
        let mut next = barrier.wait_for_all();
        next.must_wait("one of two");
        assert_eq!(lent.must_be_ready("open").is_leader(), comes_last);
        next.must_wait("still one of two");
        drop((lent, next));
        barrier.assert_valid();
    }
}

/// C29: a round has its leader, also if somebody whom that wakes panics.
#[test]
fn a_waker_panics() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("planted");
        }
    }
    let barrier = Barrier::new(2);
    let (mut first, mut last) = (barrier.wait_for_all(), barrier.wait_for_all());
    let panics = Waker::from(Arc::new(Panics));
    assert!(std::pin::Pin::new(&mut first).poll(&mut std::task::Context::from_waker(&panics)).is_pending());
    let poll = || last.must_be_ready("the last one");
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll)).is_err());
    assert!(last.must_be_ready("again").is_leader());
    assert!(!first.must_be_ready("open").is_leader());
    barrier.assert_valid();
}
