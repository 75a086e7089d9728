//! `RwLock`: M1–M5, M7, M8.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use leno::select::{Selected2, Selected3, foreign, select, select_biased};
use leno::sync::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedRwLockReadGuard, OwnedRwLockUpgradableReadGuard,
    OwnedRwLockWriteGuard, Read, ReadArc, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, UpgradableRead, Upgrade, UpgradeArc, Write, WriteArc,
};

use crate::support::{Crew, Event, Place, PollExt, hooked_waker, within};
use crate::{each_place, impls};

/// What a forgotten select was lent is forgotten with it: nobody gets a guard that is no good.
#[test]
fn an_upgrade_is_forgotten_by_a_select() {
    for is_lent_again in [false, true] {
        let lock = RwLock::new(1);
        let reader = lock.try_read().expect("free");
        let mut upgrade = RwLockUpgradableReadGuard::upgrade(lock.try_upgradable_read().expect("free"));
        let mut selecting = select((&mut upgrade, foreign(std::future::pending::<()>())));
        selecting.must_wait("somebody reads");
        std::mem::forget(selecting);
        if is_lent_again {
            let mut selecting = select((&mut upgrade, foreign(std::future::pending::<()>())));
            let panicked = catch_unwind(AssertUnwindSafe(|| selecting.must_wait("it panics")));
            assert!(panicked.is_err(), "it is lent to the one that was forgotten");
        }
        assert!(upgrade.into_guard().is_none());
        drop(reader);
        lock.assert_valid();
        assert!(lock.try_read().is_none() && lock.try_upgradable_read().is_none(), "it is held for ever");
    }
}

/// M1: who goes together with whom.
#[test]
fn who_goes_together() {
    let lock = Arc::new(RwLock::new(1));
    let (one, two) = (lock.try_read().expect("free"), lock.read().must_be_ready("M1: reads go together"));
    let upgradable = lock.try_upgradable_read().expect("M1: reads go together");
    let owned = lock.read_arc().must_be_ready("M1: reads go together");
    assert!(lock.try_upgradable_read().is_none(), "M1: one at a time");
    assert!(lock.try_write().is_none() && lock.try_write_arc().is_none(), "M1: read");
    assert!(lock.write().wait_timeout(Duration::ZERO).is_err(), "M1: read");
    assert!(lock.write().wait_deadline(Instant::now()).is_err(), "M1: read");
    assert_eq!(*one + *two + *upgradable + *owned, 4);
    drop((one, two, upgradable, owned));
    lock.assert_free();
    let mut writer = lock.try_write().expect("M1: free");
    *writer += 1;
    assert!(lock.try_read().is_none() && lock.try_read_arc().is_none(), "M1: written");
    assert!(lock.try_write().is_none() && lock.try_upgradable_read().is_none(), "M1: written");
    assert!(lock.read().wait_timeout(Duration::ZERO).is_err(), "M1: written");
    drop(writer);
    assert_eq!(*lock.read().wait(), 2);
    *lock.write_arc().wait() += 1;
    assert_eq!(*lock.upgradable_read_blocking(), 3);
    lock.assert_free();
}

/// Upgrades and downgrades, of guards that borrow the lock, and of those that keep it alive.
macro_rules! ups_and_downs {
    ($kind:ident: $lock:expr, $try_upgradable:ident, $Upgradable:ident, $Writer:ident) => {
        mod $kind {
            use super::*;

            /// Upgrading and downgrading: nobody comes in between.
            #[test]
            fn up_and_down() {
                let lock = $lock;
                let upgradable = lock.$try_upgradable().expect("free");
                let reader = lock.try_read().expect("goes together");
                let upgradable = $Upgradable::try_upgrade(upgradable).expect_err("somebody reads");
                let mut upgrade = $Upgradable::upgrade(upgradable);
                let woken = upgrade.must_wait("somebody reads");
                lock.assert_valid();
                assert!(lock.try_read().is_none(), "M1: readers do not starve an upgrade");
                let mut writing = lock.write();
                writing.must_wait("somebody reads");
                drop(reader);
                assert!(woken.was_woken(), "M1: the last reader is gone");
                let mut writer = upgrade.must_be_ready("the last reader is gone");
                *writer += 1;
                lock.assert_valid();
                assert!(lock.try_read().is_none());
                let upgradable = $Writer::downgrade_to_upgradable(writer);
                writing.must_wait("read still");
                assert!(lock.try_read().is_none(), "M3: a writer is in line");
                let mut writer = $Upgradable::try_upgrade(upgradable).expect("M4: before the writer in line");
                *writer += 1;
                let reader = $Writer::downgrade(writer);
                writing.must_wait("read still");
                drop(reader);
                assert_eq!(*writing.must_be_ready("its turn"), 2);
                let upgradable = lock.$try_upgradable().expect("free");
                let reader = $Upgradable::downgrade(upgradable);
                drop(lock.$try_upgradable().expect("the other one is a plain reader now"));
                drop(reader);
                lock.assert_free();
            }

            /// An upgrade that is given up, while it waits, or after it was granted: nobody is held up by it, or loses anything.
            #[test]
            fn an_upgrade_is_given_up() {
                for granted in [false, true] {
                    for keeps in [false, true] {
                        let lock = $lock;
                        let reader = lock.try_read().expect("free");
                        let upgradable = lock.$try_upgradable().expect("free");
                        let mut upgrade = $Upgradable::upgrade(upgradable);
                        upgrade.must_wait("somebody reads");
                        let (mut reading, mut writing) = (lock.read(), lock.write());
                        let (reading_woken, writing_woken) =
                            (reading.must_wait("an upgrade"), writing.must_wait("an upgrade"));
                        let reader = if granted {
                            drop(reader);
                            None
                        } else {
                            Some(reader)
                        };
                        let kept = if keeps {
                            upgrade.into_guard()
                        } else {
                            drop(upgrade);
                            None
                        };
                        assert_eq!(kept.is_some(), keeps);
                        assert!(reading_woken.was_woken(), "M2: let in");
                        lock.assert_valid();
                        drop(reading.must_be_ready("M2"));
                        drop((reader, kept));
                        assert!(writing_woken.was_woken(), "M2");
                        drop(writing.must_be_ready("M2"));
                        lock.assert_free();
                    }
                }
            }
        }
    };
}

ups_and_downs! { borrowed: RwLock::new(0), try_upgradable_read, RwLockUpgradableReadGuard, RwLockWriteGuard }
ups_and_downs! { kept: Arc::new(RwLock::new(0)), try_upgradable_read_arc, OwnedRwLockUpgradableReadGuard, OwnedRwLockWriteGuard }

/// A downgrade lets in the readers that wait before the first writer, and no others.
#[test]
fn a_downgrade_lets_readers_in() {
    let lock = RwLock::new(0);
    let writer = lock.try_write().expect("free");
    let (mut a, mut b, mut c, mut d) = (lock.read(), lock.upgradable_read(), lock.write(), lock.read());
    let woken = [a.must_wait("w"), b.must_wait("w"), c.must_wait("w"), d.must_wait("w")];
    let reader = RwLockWriteGuard::downgrade(writer);
    assert_eq!(woken.map(|woken| woken.was_woken()), [true, true, false, false], "M4");
    drop((a.must_be_ready("M4"), b.must_be_ready("M4")));
    drop(reader);
    drop(c.must_be_ready("M4"));
    drop(d.must_be_ready("M4"));
    lock.assert_free();
}

/// Neither side starves: a stream of readers lets a writer in, and a stream of writers lets readers in.
#[test]
fn neither_side_starves() {
    let lock = RwLock::new(0);
    let mut held = Some(lock.try_read().expect("free"));
    let mut writing = lock.write();
    let woken = writing.must_wait("read");
    let mut readers = (0..5).map(|_| lock.read()).collect::<Vec<_>>();
    readers.iter_mut().for_each(|read| drop(read.must_wait("M3: behind the writer")));
    let mut second = lock.write();
    let second_woken = second.must_wait("behind the readers");
    drop(held.take());
    assert!(woken.was_woken());
    drop(writing.must_be_ready("M4: the writer is first"));
    let guards =
        readers.iter_mut().map(|read| read.must_be_ready("M4: then all readers")).collect::<Vec<_>>();
    assert!(!second_woken.was_woken());
    drop(guards);
    drop(second.must_be_ready("M4: then the second writer"));
    lock.assert_free();
}

/// M2: whoever was granted the lock and is dropped passes it on, through a whole line of all kinds.
#[test]
fn dropped_waiters_pass_the_lock_on() {
    let lock = RwLock::new(0);
    let writer = lock.try_write().expect("free");
    let (mut a, mut b, mut c, mut d) = (lock.write(), lock.upgradable_read(), lock.read(), lock.write());
    let woken = [a.must_wait("w"), b.must_wait("w"), c.must_wait("w"), d.must_wait("w")];
    drop(writer);
    let are =
        |expected: [bool; 4]| assert_eq!(woken.each_ref().map(|woken| woken.was_woken()), expected, "M2");
    are([true, false, false, false]);
    drop(a);
    are([true, true, true, false]);
    drop(b);
    drop(c);
    are([true; 4]);
    drop(d);
    lock.assert_free();
}

/// The hazard of M4: a granted future that nobody polls holds the lock, until it is dropped.
#[test]
fn a_stale_future_holds_the_lock() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().expect("free");
    let (mut stale, mut behind) = (lock.write(), lock.read());
    stale.must_wait("read");
    let woken = behind.must_wait("M4: behind the writer");
    drop(reader);
    assert!(lock.try_read().is_none() && !woken.was_woken(), "M4: granted");
    drop(stale);
    drop(behind.must_be_ready("M2"));
    lock.assert_free();
}

/// M1: guards unlock during a panic; nothing is poisoned.
#[test]
fn a_panic_unlocks_and_poisons_nothing() {
    let lock = RwLock::new((1, 2));
    for what in 0..5 {
        let panic = catch_unwind(AssertUnwindSafe(|| match what {
            0 => drop(RwLockReadGuard::map(lock.read().wait(), |_| -> &u32 { panic!("planted") })),
            1 => drop(RwLockWriteGuard::map(lock.write().wait(), |_| -> &mut u32 { panic!("planted") })),
            2 => {
                drop(RwLockReadGuard::try_map(lock.read().wait(), |_| -> Option<&u32> { panic!("planted") }))
            }
            3 => {
                let _guard = lock.write().wait();
                panic!("planted");
            }
            _ => {
                let _guard = lock.upgradable_read().wait();
                panic!("planted");
            }
        }));
        assert!(panic.is_err());
        lock.assert_free();
    }
}

/// Mapped guards hold the same share.
#[test]
fn mapped_guards_hold_the_lock() {
    let lock = RwLock::new(((1, 2), 3));
    let guard = RwLockReadGuard::map(lock.read().wait(), |v| &v.0);
    let guard = MappedRwLockReadGuard::map(guard, |v| &v.1);
    assert!(lock.try_write().is_none() && *guard == 2);
    drop(guard);
    let guard = RwLockWriteGuard::map(lock.write().wait(), |v| &mut v.0);
    let mut guard = MappedRwLockWriteGuard::map(guard, |v| &mut v.1);
    assert!(lock.try_read().is_none());
    *guard = 9;
    drop(guard);
    let guard = RwLockReadGuard::try_map(lock.read().wait(), |_| None::<&u8>).expect_err("no such part");
    assert_eq!(guard.0.1, 9);
    drop(RwLockReadGuard::try_map(guard, |v| Some(&v.1)).expect("a part"));
    let guard =
        RwLockWriteGuard::try_map(lock.write().wait(), |_| None::<&mut u8>).expect_err("no such part");
    let guard = RwLockWriteGuard::try_map(guard, |v| Some(&mut v.1)).expect("a part");
    let mut guard = MappedRwLockWriteGuard::try_map(guard, |_| None::<&mut u8>).expect_err("no such part");
    assert!(lock.try_read().is_none());
    *guard = 4;
    drop(MappedRwLockWriteGuard::try_map(guard, |v| Some(v)).expect("a part"));
    let guard = RwLockReadGuard::map(lock.read().wait(), |v| &v.0);
    let guard = MappedRwLockReadGuard::try_map(guard, |_| None::<&u8>).expect_err("no such part");
    assert!(lock.try_write().is_none());
    assert_eq!(*MappedRwLockReadGuard::try_map(guard, |v| Some(&v.1)).expect("a part"), 9);
    lock.assert_free();
    assert_eq!(lock.into_inner(), ((1, 9), 4));
}

/// M7: ten thousand readers are let in by one unlock.
#[test]
fn ten_thousand_waiters() {
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(|| {
        for write in [false, true] {
            let lock = RwLock::new(0);
            let writer = lock.try_write().expect("free");
            let mut readers = (0..10_000).map(|_| lock.read()).collect::<Vec<_>>();
            let mut writers = (0..10_000).map(|_| lock.write()).collect::<Vec<_>>();
            for read in readers.iter_mut().filter(|_| !write) {
                assert!(read.poll_with(Waker::noop()).is_pending());
            }
            for write in writers.iter_mut().filter(|_| write) {
                assert!(write.poll_with(Waker::noop()).is_pending());
            }
            drop(writer);
            let guards = readers.iter_mut().filter(|_| !write).map(|read| read.must_be_ready("M7"));
            drop(guards.collect::<Vec<_>>());
            drop((writers, readers));
            lock.assert_free();
        }
    });
    small.expect("a thread starts").join().expect("M7: no deep recursion");
}

/// C13 for locks: `wake` may use the same lock, and may panic.
#[test]
fn wake_may_reenter_and_panic() {
    within("C13: wake re-enters the lock", || {
        let lock = Arc::new(RwLock::new(0));
        let again = Arc::clone(&lock);
        let waker = hooked_waker(move |event| {
            if event == Event::Wake {
                drop((again.try_read(), again.try_write()));
                drop(again.write().poll_with(Waker::noop()));
            }
        });
        let panicking = hooked_waker(|event| assert_ne!(event, Event::Wake, "planted: wake panics"));
        let writer = lock.try_write().expect("free");
        let (mut first, mut second, mut third) = (lock.read(), lock.read(), lock.read());
        assert!(first.poll_with(&waker).is_pending() && second.poll_with(&panicking).is_pending());
        let woken = third.must_wait("written");
        assert!(catch_unwind(AssertUnwindSafe(|| drop(writer))).is_err());
        assert!(woken.was_woken(), "C13");
        drop((first, second, third));
        lock.assert_free();
        // In the middle of a select that leaves, and of an upgrade that is given up.
        let reader = lock.try_read().expect("free");
        let upgrade = RwLockUpgradableReadGuard::upgrade(lock.try_upgradable_read().expect("free"));
        let (tx, rx) = leno::bounded(1);
        let mut selecting = select((upgrade, rx.recv()));
        selecting.must_wait("somebody reads");
        let mut reading = lock.read();
        assert!(reading.poll_with(&panicking).is_pending());
        tx.try_send(1).expect("room");
        assert!(matches!(selecting.must_be_ready("C13"), Selected2::Second(Ok(1))));
        drop(selecting);
        drop(reading.must_be_ready("C13"));
        drop(reader);
        lock.assert_free();
    });
}

/// M8, S1: as branches: one of them is locked, the others are not.
#[test]
fn branches_of_a_select() {
    let (a, b) = (Arc::new(RwLock::new(1)), Arc::new(RwLock::new(2)));
    let outcome = select_biased((a.write(), b.read())).must_be_ready("free");
    assert!(matches!(&outcome, Selected2::First(guard) if **guard == 1));
    drop(outcome);
    b.assert_free();
    drop(select((a.read_arc(), b.write_arc(), b.upgradable_read())).must_be_ready("free"));
    let (reader, writer) = (a.try_read().expect("free"), b.try_write().expect("free"));
    let mut selecting = select_biased((a.write(), b.read(), b.upgradable_read()));
    let woken = selecting.must_wait("neither is free");
    drop(writer);
    assert!(woken.was_woken(), "M8");
    let outcome = selecting.must_be_ready("M8");
    assert!(matches!(&outcome, Selected3::Second(guard) if **guard == 2), "M8: it was first in line");
    drop(outcome);
    b.assert_free();
    // An upgrade, won and lost.
    let upgradable = a.try_upgradable_read().expect("free");
    let mut upgrade = RwLockUpgradableReadGuard::upgrade(upgradable);
    leno::block_on(async {
        leno::select! {
            _ = &mut upgrade => unreachable!("somebody reads"),
            guard = b.write() => drop(guard),
        }
    });
    drop(a.try_read().expect("M8: the upgrade that has lost holds up nobody"));
    let (_tx, never) = leno::rendezvous::<()>();
    let mut selecting = select((&mut upgrade, never.recv()));
    let woken = selecting.must_wait("somebody reads");
    drop(reader);
    assert!(woken.was_woken());
    let Selected2::First(mut guard) = selecting.must_be_ready("M8") else { unreachable!("nothing is sent") };
    *guard += 1;
    drop(guard);
    drop(selecting);
    drop(upgrade);
    a.assert_free();
    b.assert_free();
}

/// M1, M8: nobody sees the two halves of a change; upgrades and downgrades among them.
fn exclusion(places: &[Place]) {
    let lock = Arc::new(RwLock::new((0, 0)));
    let mut crew = Crew::new("M1: exclusion", places);
    let expected = Arc::new(AtomicUsize::new(0));
    for member in 0..8 {
        let (lock, expected) = (Arc::clone(&lock), Arc::clone(&expected));
        crew.add(move |at| async move {
            for i in 0..150 {
                let thread = at == Place::Thread;
                let writer = match (member + i) % 4 {
                    0 => Some(if thread { lock.write().wait() } else { lock.write().await }),
                    1 => {
                        let read = lock.upgradable_read();
                        let guard = if thread { read.wait() } else { read.await };
                        assert_eq!(guard.0, guard.1, "M1");
                        let before = *guard;
                        let upgrade = RwLockUpgradableReadGuard::upgrade(guard);
                        let guard = if thread { upgrade.wait() } else { upgrade.await };
                        assert_eq!(*guard, before, "M1: no writer came in between");
                        Some(guard)
                    }
                    _ => {
                        let guard = if thread { lock.read().wait() } else { lock.read().await };
                        assert_eq!(guard.0, guard.1, "M1: nobody writes");
                        at.pause().await;
                        assert_eq!(guard.0, guard.1, "M1: nobody writes");
                        None
                    }
                };
                if let Some(mut guard) = writer {
                    guard.0 += 1;
                    if i % 8 == 0 {
                        at.pause().await;
                    }
                    guard.1 += 1;
                    expected.fetch_add(1, Ordering::SeqCst);
                    let now = *guard;
                    let guard = RwLockWriteGuard::downgrade(guard);
                    assert_eq!(*guard, now, "M1: no writer came in between");
                }
            }
        });
    }
    crew.run();
    let value = expected.load(Ordering::SeqCst);
    assert_eq!(*lock.try_read().expect("M1: all guards are gone"), (value, value), "M1");
    lock.assert_free();
}

/// M2: those that give up while the lock goes round lose nothing.
fn giving_up_loses_nothing(places: &[Place]) {
    let lock = Arc::new(RwLock::new(()));
    let mut crew = Crew::new("M2: giving up", places);
    for member in 0..8 {
        let lock = Arc::clone(&lock);
        crew.add(move |at| async move {
            for i in 0..150 {
                let patient = member % 2 == 0;
                // Held while others run.
                match (member / 2 + i) % 3 {
                    0 => {
                        let _guard = briefly(at, patient, lock.read()).await;
                        at.pause().await;
                    }
                    1 => {
                        let _guard = briefly(at, patient, lock.write()).await;
                        at.pause().await;
                    }
                    _ => {
                        if let Some(guard) = briefly(at, patient, lock.upgradable_read()).await {
                            at.pause().await;
                            let upgrade = RwLockUpgradableReadGuard::upgrade(guard);
                            let _guard = briefly(at, i % 2 == 0, upgrade).await;
                            at.pause().await;
                        }
                    }
                }
                at.pause().await;
            }
        });
    }
    crew.run();
    lock.assert_free();
}

/// Waits to the end, or polls twice at most.
async fn briefly<F: Future + Unpin>(at: Place, patient: bool, mut future: F) -> Option<F::Output> {
    let mut polls = 0;
    let polling = std::future::poll_fn(move |cx| {
        polls += 1;
        match Pin::new(&mut future).poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls >= 2 && !patient => Poll::Ready(None),
            Poll::Pending => {
                if !patient {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    });
    if at == Place::Thread { futures_lite::future::block_on(polling) } else { polling.await }
}

each_place!(exclusion, giving_up_loses_nothing);

/// M5, and what it takes.
#[test]
fn auto_traits_and_sizes() {
    const {
        assert!(impls!(RwLock<u8>: Send + Sync + UnwindSafe + RefUnwindSafe));
        assert!(impls!(RwLock<Cell<u8>>: Send) && !impls!(RwLock<Cell<u8>>: Sync), "T must be Sync");
        assert!(!impls!(RwLock<Rc<u8>>: Send), "T must be Send");
        assert!(impls!(RwLockReadGuard<'static, u8>: Send + Sync));
        assert!(!impls!(RwLockReadGuard<'static, Cell<u8>>: Sync), "M5");
        assert!(!impls!(RwLockReadGuard<'static, Cell<u8>>: Send), "M5: a shared borrow");
        assert!(impls!(RwLockWriteGuard<'static, u8>: Send + Sync));
        assert!(!impls!(RwLockWriteGuard<'static, Cell<u8>>: Sync), "M5");
        assert!(!impls!(RwLockWriteGuard<'static, Cell<u8>>: Send), "M5: it can be downgraded");
        assert!(impls!(RwLockUpgradableReadGuard<'static, u8>: Send + Sync));
        assert!(!impls!(RwLockUpgradableReadGuard<'static, Cell<u8>>: Send), "M5");
        assert!(impls!(MappedRwLockReadGuard<'static, u8>: Send + Sync));
        assert!(!impls!(MappedRwLockReadGuard<'static, Cell<u8>>: Send), "M5");
        assert!(impls!(MappedRwLockWriteGuard<'static, u8>: Send + Sync));
        assert!(!impls!(MappedRwLockWriteGuard<'static, Rc<u8>>: Send), "M5");
        assert!(!impls!(MappedRwLockWriteGuard<'static, Cell<u8>>: Sync), "M5");
        assert!(
            impls!(OwnedRwLockReadGuard<u8>: Send + Sync) && impls!(OwnedRwLockWriteGuard<u8>: Send + Sync)
        );
        assert!(
            impls!(OwnedRwLockUpgradableReadGuard<u8>: Send + Sync) && impls!(UpgradeArc<u8>: Send + Unpin)
        );
        assert!(
            !impls!(OwnedRwLockUpgradableReadGuard<Cell<u8>>: Send) && !impls!(UpgradeArc<Cell<u8>>: Send),
            "M5"
        );
        assert!(
            !impls!(OwnedRwLockWriteGuard<Rc<u8>>: Send) && !impls!(OwnedRwLockWriteGuard<Cell<u8>>: Sync)
        );
        assert!(impls!(Read<'static, u8>: Send + Unpin) && impls!(Write<'static, u8>: Send + Unpin));
        assert!(
            impls!(UpgradableRead<'static, u8>: Send + Unpin) && impls!(Upgrade<'static, u8>: Send + Unpin)
        );
        assert!(impls!(ReadArc<u8>: Send + Unpin) && impls!(WriteArc<u8>: Send + Unpin));
        assert!(!impls!(Write<'static, Rc<u8>>: Send));
    }
    assert!(size_of::<RwLock<()>>() <= 48, "tokio's has 48 bytes, async-lock's 40");
    static STATIC: RwLock<u8> = RwLock::new(1);
    assert!(format!("{STATIC:?}").contains('1') && *STATIC.try_read().expect("free") == 1);
    let mut lock = RwLock::<u8>::default();
    *lock.get_mut() = 3;
    assert_eq!(RwLock::from(lock.into_inner()).into_inner(), 3);
    let lock: Arc<RwLock<[u8]>> = Arc::new(RwLock::new([1, 2, 3]));
    lock.write_arc().wait()[1] = 7;
    assert_eq!(&*lock.read().wait(), &[1, 7, 3]);
    let upgradable = lock.upgradable_read_arc().wait();
    OwnedRwLockUpgradableReadGuard::upgrade(upgradable).wait()[2] = 8;
    assert_eq!(&*lock.read().wait(), &[1, 7, 8]);
    lock.assert_free();
}
