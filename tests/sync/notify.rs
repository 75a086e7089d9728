//! `Notify`: M2, M7, M8.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use leno::select::{Selected2, foreign, select, select_biased};
use leno::sync::{Notified, NotifiedArc, Notify};

use crate::support::{Crew, Event, Place, PollExt, hooked_waker, within};
use crate::{each_place, impls};

/// One is told, in order; if nobody waits it is kept, once.
#[test]
fn one_is_told_or_it_is_kept() {
    let notify = Notify::new();
    let mut waiting = (0..14).map(|_| notify.notified()).collect::<Vec<_>>();
    let woken = waiting.iter_mut().map(|notified| notified.must_wait("not told")).collect::<Vec<_>>();
    notify.assert_valid();
    for (i, notified) in waiting.iter_mut().enumerate() {
        notify.notify_one();
        assert!(woken[i].was_woken() && !woken[i + 1..].iter().any(|w| w.was_woken()), "{i} is next, alone");
        notified.must_be_ready("told");
    }
    notify.notify_one();
    notify.notify_one();
    notify.notified().must_be_ready("kept");
    notify.notified().must_wait("kept once");
    assert!(notify.notified().wait_timeout(Duration::ZERO).is_err());
    assert!(notify.notified().wait_deadline(Instant::now()).is_err());
    notify.notify_one();
    notify.notified().wait();
    notify.notify_one();
    assert!(notify.notified().wait_timeout(Duration::ZERO).is_ok(), "a zero timeout tries once");
    notify.assert_valid();
}

/// A future that keeps what it waits for: made before the look, it misses nothing that comes after.
#[test]
fn one_that_is_stored() {
    let notify = Arc::new(Notify::new());
    let (mut all, mut one) = (notify.notified_arc(), notify.notified_arc());
    notify.notify_waiters();
    all.must_be_ready("made before");
    assert!(one.enable(), "made before");
    one.must_be_ready("told");
    let mut last = notify.notified_arc();
    assert!(!last.enable());
    let woken = last.must_wait("nobody has told it");
    notify.notify_one();
    drop(notify);
    assert!(woken.was_woken());
    last.wait();
}

/// All whose future was made before are told, polled or not, and nobody else; nothing is kept.
#[test]
fn all_that_waited_are_told() {
    let notify = Arc::new(Notify::new());
    let mut waiting = (0..14).map(|_| notify.notified()).collect::<Vec<_>>();
    let later = Arc::clone(&notify);
    let hook = hooked_waker(move |event| {
        if event == Event::Wake {
            later.notified().must_wait("begun within the telling, and not told by it");
        }
    });
    for notified in waiting.iter_mut().skip(1) {
        assert!(notified.poll_with(&hook).is_pending());
    }
    notify.notify_waiters();
    for notified in &mut waiting {
        notified.must_be_ready("told");
    }
    notify.notified().must_wait("nothing is kept");
    notify.notify_one();
    notify.notify_waiters();
    notify.notified().must_be_ready("what was kept stays");
    notify.assert_valid();
}

/// M2: told alone and dropped: the next one is told, or it is kept. Told with all others: nothing is passed on.
#[test]
fn dropped_ones_pass_it_on() {
    let notify = Notify::new();
    let (mut first, mut second, mut third) = (notify.notified(), notify.notified(), notify.notified());
    first.must_wait("not told");
    let woken = [second.must_wait("not told"), third.must_wait("not told")];
    notify.notify_one();
    drop(first);
    assert!(woken[0].was_woken() && !woken[1].was_woken(), "M2");
    drop(third);
    drop(second);
    notify.notified().must_be_ready("M2: kept, as nobody waits");
    let (mut first, mut second) = (notify.notified(), notify.notified());
    first.must_wait("not told");
    second.must_wait("not told");
    notify.notify_waiters();
    drop((first, second));
    notify.notified().must_wait("told with all others: nothing is passed on");
    notify.assert_valid();
}

/// Enabled, it stands in line without having been polled; what it was told is passed on if it is dropped.
#[test]
fn enabled_before_a_look() {
    let notify = Notify::new();
    let mut enabled = notify.notified();
    assert!(!enabled.enable() && !enabled.enable());
    let mut other = notify.notified();
    other.must_wait("behind it");
    notify.notify_one();
    assert!(enabled.enable() && enabled.enable(), "told");
    enabled.must_be_ready("told");
    assert!(enabled.enable(), "it has completed");
    other.must_wait("still");
    drop(other);
    let mut enabled = notify.notified();
    notify.notify_one();
    assert!(enabled.enable(), "it was kept for this one");
    notify.notified().must_wait("taken");
    drop(enabled);
    notify.notified().must_be_ready("M2: passed on");
    let mut enabled = notify.notified();
    enabled.enable();
    let woken = enabled.must_wait("its own waker now");
    notify.notify_one();
    assert!(woken.was_woken(), "C12");
    let (_tx, rx) = leno::rendezvous::<()>();
    assert!(matches!(select((&mut enabled, rx.recv())).must_be_ready("told"), Selected2::First(())));
}

/// M8, S1: a branch that loses takes nothing.
#[test]
fn a_branch_of_a_select() {
    let (a, b) = (Notify::new(), Notify::new());
    a.notify_one();
    b.notify_one();
    assert!(matches!(select_biased((a.notified(), b.notified())).must_be_ready("S2"), Selected2::First(())));
    a.notified().must_wait("taken");
    b.notified().must_be_ready("S1: not taken");
    let mut selecting = select((a.notified(), b.notified()));
    let woken = selecting.must_wait("not told");
    let mut next = a.notified();
    let next_woken = next.must_wait("not told");
    b.notify_one();
    assert!(woken.was_woken());
    a.notify_one();
    assert!(next_woken.was_woken(), "S1: it has lost, the next one is told");
    assert!(matches!(selecting.must_be_ready("told"), Selected2::Second(())));
    next.must_be_ready("told");
    a.assert_valid();
    b.assert_valid();
}

/// M2: a branch waits also while its select polls a future that is none of leno's.
#[test]
fn a_branch_of_a_select_at_work() {
    let notify = Notify::new();
    let polled_twice = |then: fn(&Notify) -> Poll<()>| {
        let (mut polls, notify) = (0, &notify);
        poll_fn(move |_| {
            polls += 1;
            if polls == 2 { then(notify) } else { Poll::Pending }
        })
    };
    let mut telling_two = pin!(polled_twice(|notify| {
        notify.notify_one();
        notify.notify_one();
        Poll::Pending
    }));
    let mut selecting = select_biased((notify.notified(), foreign(&mut telling_two)));
    selecting.must_wait("not told");
    assert!(matches!(selecting.must_be_ready("told"), Selected2::First(())));
    notify.notified().must_be_ready("kept: the other one");
    notify.notified().must_wait("two were told of");

    // It loses: that passes on, to the next one in line or to whoever comes.
    for is_behind in [true, false] {
        let mut notified = notify.notified();
        let mut telling = pin!(polled_twice(|notify| {
            notify.notify_one();
            Poll::Ready(())
        }));
        let mut selecting = select_biased((&mut notified, foreign(&mut telling)));
        selecting.must_wait("not told");
        let mut behind = notify.notified();
        let woken = is_behind.then(|| behind.must_wait("behind it"));
        assert!(matches!(selecting.must_be_ready("the other one"), Selected2::Second(())));
        drop(selecting);
        assert!(woken.is_none_or(|woken| woken.was_woken()), "S1: the next one is told");
        behind.must_be_ready("M2");
        notified.must_wait("it has lost");
    }

    // It ends: by a panic of that future.
    let mut panicking = pin!(polled_twice(|notify| {
        notify.notify_one();
        panic!("a foreign future");
    }));
    let mut selecting = select_biased((notify.notified(), foreign(&mut panicking)));
    selecting.must_wait("not told");
    assert!(catch_unwind(AssertUnwindSafe(|| selecting.must_wait("it panics"))).is_err());
    drop(selecting);
    notify.notified().must_be_ready("M2: passed on");

    // It only asks: it takes nothing.
    let mut set = leno::select::Select::new();
    set.add(notify.notified());
    set.ready().must_wait("not told");
    let mut behind = notify.notified();
    behind.must_wait("not told");
    notify.notify_one();
    behind.must_be_ready("nobody else takes it");
    notify.assert_valid();
}

/// M7, C13: ten thousand are told by one call; wakers may re-enter and panic.
#[test]
fn ten_thousand_waiters() {
    within("M7", || {
        let small = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
            for one_by_one in [false, true] {
                let notify = Notify::new();
                let mut waiting = (0..10_000).map(|_| notify.notified()).collect::<Vec<_>>();
                waiting.iter_mut().for_each(|n| assert!(n.poll_with(Waker::noop()).is_pending()));
                if one_by_one {
                    notify.notify_one();
                    drop(waiting);
                    notify.notified().must_be_ready("M2: passed on by all");
                } else {
                    notify.notify_waiters();
                    waiting.iter_mut().for_each(|notified| notified.must_be_ready("M7"));
                }
            }
        });
        small.expect("a thread starts").join().expect("M7: no deep recursion");
        let notify = Arc::new(Notify::new());
        let again = Arc::clone(&notify);
        let hook = hooked_waker(move |event| {
            if event == Event::Wake {
                let _ = again.notified().poll_with(Waker::noop());
                again.notify_one();
                panic!("planted: wake panics");
            }
        });
        let (mut first, mut second) = (notify.notified(), notify.notified());
        assert!(first.poll_with(&hook).is_pending());
        let woken = second.must_wait("not told");
        assert!(catch_unwind(AssertUnwindSafe(|| notify.notify_waiters())).is_err());
        assert!(woken.was_woken(), "C13: the panic keeps nobody from being told");
        first.must_be_ready("told");
        notify.assert_valid();
    });
}

/// M2, M8: each of many is told once; those that give up lose nothing.
fn each_is_told(places: &[Place]) {
    let (notify, taken) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let ended = Arc::new(AtomicUsize::new(0));
    let mut crew = Crew::new("M2: each is told", places);
    for member in 0..4 {
        let (notify, taken) = (Arc::clone(&notify), Arc::clone(&taken));
        crew.add(move |at| async move {
            for i in 0..100 {
                if (member + i) % 3 == 0 {
                    // Gives up.
                    let mut notified = notify.notified();
                    notified.enable();
                    at.pause().await;
                    drop(notified);
                }
                match at {
                    Place::Thread => notify.notified().wait(),
                    _ => notify.notified().await,
                }
                taken.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    let (tells, ending, counted) = (Arc::clone(&notify), Arc::clone(&ended), Arc::clone(&taken));
    crew.add(move |at| async move {
        // (What is told while something is kept adds nothing: so one at a time.)
        for told in 0..400 {
            tells.notify_one();
            while counted.load(Ordering::SeqCst) == told {
                at.pause().await;
            }
        }
        ending.store(1, Ordering::SeqCst);
    });
    crew.run();
    assert_eq!((taken.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (400, 1));
    notify.notified().must_wait("M2: each has told one");
}

/// M2: as many as wait are told, while their selects are being polled.
fn each_is_told_at_work(places: &[Place]) {
    const MEMBERS: usize = 3;
    const ROUNDS: usize = 100;
    let notify = Arc::new(Notify::new());
    let (waiting, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut crew = Crew::new("M2: each is told at work", places);
    for _ in 0..MEMBERS {
        let (notify, waiting, taken) = (Arc::clone(&notify), Arc::clone(&waiting), Arc::clone(&taken));
        crew.add(move |at| async move {
            for _ in 0..ROUNDS {
                let mut polls = 0;
                let mut spinning = pin!(poll_fn(|cx| {
                    polls += 1;
                    // (It stands in line since the first poll.)
                    waiting.fetch_add(usize::from(polls == 2), Ordering::SeqCst);
                    cx.waker().wake_by_ref();
                    Poll::<()>::Pending
                }));
                let selecting = select_biased((notify.notified(), foreign(&mut spinning)));
                let selected = match at {
                    Place::Thread => selecting.wait(),
                    _ => selecting.await,
                };
                assert!(matches!(selected, Selected2::First(())));
                taken.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    let telling = Arc::clone(&notify);
    crew.add(move |at| async move {
        for round in 1..=ROUNDS {
            while waiting.load(Ordering::SeqCst) < round * MEMBERS {
                at.pause().await;
            }
            (0..MEMBERS).for_each(|_| telling.notify_one());
            while taken.load(Ordering::SeqCst) < round * MEMBERS {
                at.pause().await;
            }
        }
    });
    crew.run();
    notify.notified().must_wait("each notification has told one");
    notify.assert_valid();
}

each_place!(each_is_told, each_is_told_at_work);

#[test]
fn auto_traits_and_sizes() {
    const {
        assert!(impls!(Notify: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe));
        assert!(impls!(Notified<'static>: Send + Sync + Unpin));
        assert!(impls!(NotifiedArc: Send + Sync + Unpin));
    }
    static STATIC: Notify = Notify::new();
    assert!(size_of::<Notify>() <= 24, "tokio's has 32 bytes");
    STATIC.notify_one();
    STATIC.notified().wait();
}

/// M2: one that waits already keeps its place, and its waker.
#[test]
fn enabling_one_that_waits_changes_nothing() {
    let notify = Notify::new();
    let mut notified = notify.notified();
    let woken = notified.must_wait("not told");
    assert!(!notified.enable());
    notify.notify_one();
    assert!(woken.was_woken());
    assert!(notified.enable(), "told");
    notified.must_be_ready("told");
}

/// S13: what was told alone in a set that is dropped unused passes to the next one, or is kept.
#[test]
fn what_was_told_in_a_select_that_was_dropped_passes_on() {
    for waits in [false, true] {
        let notify = Notify::new();
        let (mut lent, mut other) = (notify.notified(), notify.notified());
        let mut set = leno::select::Select::new();
        set.add(&mut lent);
        if waits {
            set.select().must_wait("not told");
        }
        notify.notify_one();
        assert!(set.try_select().is_some(), "told");
        drop(set);
        other.must_be_ready("nobody has taken note of it");
        lent.must_wait("told once");
        drop(lent);
        notify.assert_valid();
    }
}
