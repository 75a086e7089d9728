//! What a look at the tests has found that they left open: changes of the library that none of them noticed. Who overtakes whom
//! beside permits; what comes back where an outcome is not used, or foreign code panics; the last look when the time is up; what
//! stays in memory.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use leno::channel::{
    Builder, Overflow, RecvError, ReserveManyError, TryRecvError, TryReserveManyError, broadcast, oneshot,
    watch,
};
use leno::select::{Select, Selected2, foreign, select, select_biased};
use leno::{block_on, bounded, conflated, rendezvous, sync, unbounded};

use crate::support::memory::Counting;
use crate::support::{
    Event, Kind, PollExt, Tracked, Tracker, hooked_waker, panicking_waker, spin_until, within,
};

/// Rings, and linked channels.
const CAPACITIES: [usize; 4] = [2, 64, 255, 1000];

const KINDS: [Kind; 4] = [Kind::Rendezvous, Kind::Bounded(4), Kind::Bounded(5000), Kind::Unbounded];

/// A panic is expected, and goes on.
#[track_caller]
fn must_panic<R>(f: impl FnOnce() -> R) {
    assert!(catch_unwind(AssertUnwindSafe(f)).is_err(), "the panic goes on");
}

/// C4: a send that waits for a place, as all are reserved, is not overtaken where a receiver waits that came after it.
#[test]
fn nobody_overtakes_a_send_beside_a_receiver() {
    for capacity in [1, 2, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        let permits = tx.reserve_many(capacity).wait().unwrap();
        let (mut sending, mut receiving) = (tx.send(1), rx.recv());
        sending.must_wait("all is reserved");
        receiving.must_wait("nothing was sent");
        assert!(tx.try_send(2).unwrap_err().is_full(), "C4: {capacity}");
        let mut late = tx.send(2);
        late.must_wait("C4");
        drop(permits);
        assert_eq!(sending.must_be_ready("there is room"), Ok(()));
        assert_eq!(receiving.must_be_ready("it was sent"), Ok(1));
        assert_eq!(late.must_be_ready("there is room"), Ok(()));
    }
}

/// C4, C22: nor does a batch overtake a reservation that waits for more room than there is; and what there is, is kept for it.
#[test]
fn a_batch_overtakes_no_reservation() {
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        (1..capacity).for_each(|n| tx.try_send(n).unwrap());
        let mut reserving = tx.reserve_many(2);
        reserving.must_wait("there is room for one");
        let mut values = VecDeque::from([0]);
        assert!(tx.try_send_many(&mut values).unwrap_err().is_full(), "C4: {capacity}");
        let mut sending = tx.send_many(&mut values);
        sending.must_wait("C4: behind it");
        assert_eq!(rx.try_recv(), Ok(1));
        drop(reserving.must_be_ready("there is room for two").unwrap());
        assert_eq!(sending.must_be_ready("there is room"), Ok(1));
    }
}

/// C4, C23: nor does a smaller reservation.
#[test]
fn a_reservation_overtakes_no_larger_one() {
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        (1..capacity).for_each(|n| tx.try_send(n).unwrap());
        let mut large = tx.reserve_many(2);
        large.must_wait("there is room for one");
        assert!(tx.try_reserve().unwrap_err().is_full(), "C4: {capacity}");
        let mut small = tx.reserve();
        small.must_wait("C4: behind it");
        assert_eq!(rx.try_recv(), Ok(1));
        drop(large.must_be_ready("there is room for two").unwrap());
        assert!(small.must_be_ready("there is room").is_ok());
    }
}

/// C22, C23: the room that a batch of receives makes goes to those who wait for it.
#[test]
fn a_batch_makes_room_for_reservations() {
    for capacity in [1, 2, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|n| tx.try_send(n).unwrap());
        let mut reserving = tx.reserve_many(capacity);
        let woken = reserving.must_wait("it is full");
        let mut out = Vec::new();
        assert_eq!(rx.try_recv_many(&mut out, capacity), Ok(capacity));
        assert!(out.into_iter().eq(0..capacity));
        assert!(woken.was_woken(), "C23: {capacity}");
        drop(reserving.must_be_ready("all is free").unwrap());
        tx.assert_valid();
    }
}

/// C23: a bounded channel refuses more permits at once than it counts; it does not give out others.
#[test]
#[cfg(target_pointer_width = "64")]
fn more_permits_than_are_counted() {
    let (tx, _rx) = bounded::<u8>(1 << 33);
    for n in [1_usize << 32, (1 << 32) - 1] {
        assert_eq!(tx.try_reserve_many(n).unwrap_err(), TryReserveManyError::TooMany);
        assert_eq!(tx.reserve_many(n).wait().unwrap_err(), ReserveManyError::TooMany);
    }
    assert_eq!(tx.try_reserve_many((1 << 32) - 2).unwrap().len(), (1 << 32) - 2);
}

/// C23: an owned permit that is released frees its room.
#[test]
fn released_permits() {
    for capacity in [1, 1000] {
        let (mut tx, rx) = bounded::<usize>(capacity);
        for _ in 0..3 {
            let others =
                (1..capacity).map(|_| tx.clone().reserve_owned().wait().unwrap()).collect::<Vec<_>>();
            let last = tx.reserve_owned().wait().unwrap();
            assert!(rx.is_full());
            tx = last.release();
            assert!(!rx.is_full(), "C23: {capacity}");
            others.into_iter().for_each(|permit| drop(permit.release()));
        }
    }
}

/// S13, C23: places that a set has reserved, and nobody takes, are free again.
#[test]
fn a_reservation_that_is_not_used() {
    for capacity in [1, 2, 64, 1000] {
        let (tx, _rx) = bounded::<u8>(capacity);
        for round in 0..4 {
            let mut set = Select::new();
            let token = set.add(tx.reserve_many(capacity));
            assert!(set.try_select().is_some(), "S13: {capacity}, round {round}");
            if round % 2 == 0 {
                set.remove(token);
            }
        }
        assert!(!tx.is_full());
    }
}

/// A reservation that fails at once is ready, and asking leaves the channel as it is.
#[test]
fn a_refused_reservation_is_ready() {
    let (tx, rx) = rendezvous::<u8>();
    let (small, _small) = bounded::<u8>(2);
    let mut set = Select::new();
    let one = set.add(tx.reserve());
    assert_eq!(set.try_ready(), Some(one.index()));
    set.remove(one);
    let many = set.add(small.reserve_many(3));
    assert_eq!(set.try_ready(), Some(many.index()));
    drop(set);
    let mut receiving = rx.recv();
    receiving.must_wait("nothing was sent");
    assert_eq!(tx.try_send(1), Ok(()));
    assert_eq!(receiving.must_be_ready("it was sent"), Ok(1));
}

/// C8: who finds the channel closed by a receive finds the closing complete.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn closed_by_a_receive_is_complete() {
    for kind in KINDS {
        within("C8: a close races with one who receives", move || {
            for _ in 0..100 {
                let (tx, rx) = kind.open::<usize>();
                let start = Arc::new(Barrier::new(2));
                let closing = thread::spawn({
                    let start = Arc::clone(&start);
                    move || {
                        start.wait();
                        assert!(tx.close(), "nobody else closes");
                    }
                });
                let mut waiting = (0..300).map(|_| rx.recv()).collect::<Vec<_>>();
                waiting.iter_mut().for_each(|receiving| _ = receiving.must_wait("empty"));
                start.wait();
                spin_until(|| rx.try_recv() == Err(TryRecvError::Closed));
                for receiving in &mut waiting {
                    assert_eq!(receiving.must_be_decided("C8: seen closed"), Err(RecvError));
                }
                closing.join().expect("the closer ends");
            }
        });
    }
}

/// The handle that is being dropped is not counted any more, for those whom its close wakes.
#[test]
fn who_goes_is_not_counted() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u8>();
        let seen = Arc::new(AtomicUsize::new(usize::MAX));
        let waker = {
            let (weak, seen) = (tx.downgrade(), Arc::clone(&seen));
            hooked_waker(move |event| {
                if event == Event::Wake {
                    seen.store(weak.sender_count(), SeqCst);
                }
            })
        };
        let mut receiving = rx.recv();
        assert!(receiving.poll_with(&waker).is_pending());
        drop(tx);
        assert_eq!(seen.load(SeqCst), 0, "{kind:?}");
    }
}

/// C20: `drain` takes as many values as there were when it began.
#[test]
fn drain_leaves_what_comes_later() {
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Rendezvous) {
        let (tx, rx) = kind.open();
        tx.try_send(0).unwrap();
        let mut drain = rx.drain();
        assert_eq!(drain.next(), Some(0));
        tx.try_send(1).unwrap();
        assert_eq!(drain.next(), None, "it came later: {kind:?}");
        assert_eq!(rx.try_recv(), Ok(1));
    }
}

#[test]
fn handles_show_whether_the_channel_is_closed() {
    let (tx, rx) = bounded::<u8>(2);
    tx.try_send(1).unwrap();
    let shown =
        |closed| format!("len: 1, capacity: Some(2), closed: {closed}, senders: 1, receivers: 1, .. }}");
    assert_eq!(format!("{tx:?}"), format!("Sender {{ {}", shown(false)));
    tx.close();
    assert_eq!(format!("{rx:?}"), format!("Receiver {{ {}", shown(true)));
}

/// C9, S13: what came back, was received by a set, and comes back again goes to its old place.
#[test]
fn what_comes_back_twice_keeps_its_place() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let mut waiting = (0..3).map(|_| rx.recv()).collect::<Vec<_>>();
        waiting.iter_mut().for_each(|receiving| _ = receiving.must_wait("empty"));
        (0..3).for_each(|n| tx.try_send(n).unwrap());
        drop(waiting);
        let mut set = Select::new();
        set.recv(&rx);
        assert!(set.try_select().is_some());
        drop(set);
        assert!(rx.try_iter().eq(0..3), "S13: {kind:?}");
    }
}

/// S13: the value of a oneshot that a set has received, and nobody takes, can still be received.
#[test]
fn a_oneshot_that_is_not_used() {
    let (tx, mut rx) = oneshot::channel();
    tx.send("kept").unwrap();
    for _ in 0..2 {
        let mut set = Select::new();
        set.add(&mut rx);
        assert!(set.try_select().is_some(), "S13");
    }
    assert_eq!(rx.try_recv(), Ok("kept"), "S13");
}

/// S13: a change that a set has found, and nobody takes, was not seen.
#[test]
fn a_change_that_is_not_used() {
    let (tx, mut rx) = watch::channel(0);
    tx.send(1).unwrap();
    for _ in 0..2 {
        let mut set = Select::new();
        set.add(rx.changed());
        assert!(set.try_select().is_some(), "S13");
    }
    assert_eq!(rx.has_changed(), Ok(true), "nobody has taken it");
}

/// `wait_for` asks once about each value, also about the last one as the channel closes.
#[test]
fn wait_for_asks_once() {
    let (tx, mut rx) = watch::channel(1);
    let asked = Cell::new(0);
    let mut waiting = rx.wait_for(|_| {
        asked.set(asked.get() + 1);
        false
    });
    waiting.must_wait("not wanted");
    tx.send(2).unwrap();
    waiting.must_wait("not wanted");
    drop(tx);
    assert!(waiting.must_be_ready("it is closed").is_err());
    assert_eq!(asked.get(), 2, "once about each value");
}

/// S13: what a set has received of a broadcast, and nobody takes, is there again: a value is ready, a lag is told once more.
#[test]
fn a_broadcast_that_is_not_used() {
    let unused = |rx: &mut broadcast::Receiver<u8>| {
        let mut set = Select::new();
        set.add(rx.recv());
        assert!(set.try_select().is_some());
    };
    let (tx, mut rx) = broadcast::channel(1);
    tx.send(1).unwrap();
    unused(&mut rx);
    assert_eq!(rx.len(), 1);
    let mut set = Select::new();
    set.add(rx.recv());
    assert_eq!(set.try_ready(), Some(0));
    drop(set);
    assert_eq!(rx.try_recv(), Ok(1));
    (2..=3).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    unused(&mut rx);
    assert_eq!(rx.try_recv(), Err(broadcast::TryRecvError::Lagged(1)));
    assert_eq!(rx.try_recv(), Ok(3));
}

/// S13: an operation that has happened, and that nobody has taken, is ready, whichever way the set is asked.
#[test]
fn what_is_not_used_is_ready() {
    let (tx, rx) = bounded(1);
    let (_silent, silents) = bounded::<u8>(1);
    tx.try_send(1).unwrap();
    let mut set = Select::new();
    set.recv(&silents);
    let received = set.recv(&rx);
    assert!(set.try_select().is_some());
    assert_eq!(set.try_ready(), Some(received.index()), "nobody has taken it");
    assert_eq!(set.ready().must_be_ready("as above"), received.index());
    assert_eq!(set.ready_timeout(Duration::ZERO), Ok(received.index()));
    assert_eq!(set.try_select().unwrap().recv(received), Ok(1));
    assert_eq!(set.try_ready(), None);
}

/// S13: one that stands before it is removed from the set.
#[test]
fn what_is_not_used_moves_up() {
    let channels = [(); 3].map(|()| bounded(1));
    let mut set = Select::new();
    let tokens = [0, 1, 2].map(|n: usize| set.recv(&channels[n].1));
    channels[1].0.try_send("one").unwrap();
    assert!(set.try_select().is_some());
    set.remove(tokens[0]);
    let operation = set.try_select().expect("nobody has taken it");
    assert!(operation.is(tokens[1]) && operation.index() == 1);
    assert_eq!(operation.recv(tokens[1]), Ok("one"));
    channels[2].0.try_send("two").unwrap();
    assert_eq!(set.try_select().unwrap().recv(tokens[2]), Ok("two"));
}

const SOON: Duration = Duration::from_millis(20);

/// A future that is ready when it is polled for the second time, and wakes nobody.
fn second_time() -> impl Future<Output = ()> + Unpin + Send {
    let mut was_polled = false;
    poll_fn(move |_| if std::mem::replace(&mut was_polled, true) { Poll::Ready(()) } else { Poll::Pending })
}

/// C28: the time is up, and a select looks once more, in each of its forms.
#[test]
fn a_select_looks_once_more() {
    let (_tx, rx) = bounded::<u8>(1);
    assert!(select((foreign(second_time()), rx.recv())).wait_timeout(SOON).is_ok(), "C28");
    let biased = select_biased((rx.recv(), foreign(second_time())));
    assert!(biased.wait_deadline(Instant::now() + SOON).is_ok(), "C28");
    let mut set = Select::new();
    set.recv(&rx);
    let second = set.add(foreign(second_time()));
    set.select().wait_timeout(SOON).expect("C28").output(second);
    let second = set.add(foreign(second_time()));
    assert_eq!(set.ready_timeout(SOON), Ok(second.index()), "C28");
    let late = leno::select_blocking! {
        _ = second_time() => false,
        _ = rx.recv() => unreachable!("nothing was sent"),
        default(SOON) => true,
    };
    assert!(!late, "C28");
}

/// C28: a lock that is free when the time is up is taken, though somebody else was told of that, and is dead.
#[test]
fn a_lock_is_looked_at_once_more() {
    let mutex = sync::Mutex::new(());
    let held = mutex.try_lock().unwrap();
    let mut dead = mutex.lock();
    dead.must_wait("it is held");
    drop(held);
    let held = mutex.try_lock().expect("the default one barges");
    dead.must_wait("told in vain: so it is known to answer");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| mutex.lock_timeout(Duration::from_millis(500)).is_some());
        thread::sleep(Duration::from_millis(150));
        drop(held);
        assert!(waiting.join().unwrap(), "C28");
    });
    drop(dead);
}

/// M2, S10: a select that was told that the lock is free, and is known to answer, is dropped before it runs: it passes that on.
#[test]
fn a_select_that_was_told_passes_it_on() {
    let mutex = sync::Mutex::new(());
    let (_tx, rx) = bounded::<u8>(1);
    let held = mutex.try_lock().unwrap();
    let mut told = select((mutex.lock(), rx.recv()));
    told.must_wait("it is held");
    drop(held);
    let held = mutex.try_lock().expect("the default one barges");
    let is_told = told.must_wait("told in vain");
    let mut next = mutex.lock();
    let woken = next.must_wait("it is held");
    drop(held);
    assert!(is_told.was_woken() && !woken.was_woken(), "one that answers is told");
    drop(told);
    assert!(woken.was_woken(), "M2");
    drop(next.must_be_ready("it is free"));
}

/// C1, C10: a send that there was no budget for drops its value once.
#[test]
fn a_send_without_a_budget_is_dropped() {
    let tracker = Tracker::new();
    let (tx, rx) = unbounded();
    let values = tracker.clone();
    let fiber = poll_fn(move |cx| {
        while Pin::new(&mut tx.send(values.value())).poll(cx).is_ready() {}
        Poll::Ready(())
    });
    block_on(async { leno::spawn(fiber).await.unwrap() });
    assert_eq!(rx.len(), tracker.created() - 1, "the last one was refused");
    drop(rx);
    tracker.assert_done();
}

/// C29: a receive in whose poll a waker has panicked can be polled again: the value is the next to be received.
#[test]
fn a_receive_is_polled_again_after_a_panic() {
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(5000)] {
        let (tx, rx) = kind.open();
        let held = kind.fill(&tx, |n| n);
        let mut sending = tx.send(held);
        assert!(sending.poll_with(&panicking_waker()).is_pending());
        let mut receiving = rx.recv();
        must_panic(|| receiving.poll_with(Waker::noop()).is_ready());
        assert_eq!(receiving.must_be_ready("it has come back"), Ok(0), "C29: {kind:?}");
        assert_eq!(sending.must_be_ready("it was sent"), Ok(()));
        assert!(rx.try_iter().eq(1..=held));
    }
}

/// C29: so can a send: it has sent, once.
#[test]
fn a_send_is_polled_again_after_a_panic() {
    let (tx, rx) = bounded(0);
    let mut receiving = rx.recv();
    for selects in [false, true] {
        assert!(receiving.poll_with(&panicking_waker()).is_pending());
        let mut sending = tx.send(1);
        must_panic(|| {
            if selects {
                let mut selecting = select((&mut sending, foreign(pending::<()>())));
                selecting.poll_with(Waker::noop()).is_ready()
            } else {
                sending.poll_with(Waker::noop()).is_ready()
            }
        });
        assert_eq!(sending.must_be_ready("it was sent"), Ok(()), "C29, in a select: {selects}");
        assert_eq!(std::mem::replace(&mut receiving, rx.recv()).must_be_ready("it was served"), Ok(1));
    }
    let (tx, mut rx) = broadcast::channel(1);
    let mut receiving = rx.recv();
    assert!(receiving.poll_with(&panicking_waker()).is_pending());
    let mut sending = tx.send_async(1);
    must_panic(|| sending.poll_with(Waker::noop()).is_ready());
    assert_eq!(sending.must_be_ready("it was sent"), Ok(1), "C29");
    assert_eq!(receiving.must_be_ready("it was told"), Ok(1));
}

/// C29: who leaves, and lets others in, is not hit by the panic of their wakers.
#[test]
fn who_leaves_is_not_hit_by_the_wakers_of_those_behind() {
    for capacity in [2, 1000] {
        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|n| tx.try_send(n).unwrap());
        let mut several = tx.reserve_many(2);
        several.must_wait("it is full");
        let mut one = tx.reserve();
        assert!(one.poll_with(&panicking_waker()).is_pending());
        assert_eq!(rx.try_recv(), Ok(0), "its place is kept");
        drop(several);
        assert!(one.must_be_ready("its place is free").is_ok(), "{capacity}");
    }
}

/// A value that its first clone lets another receiver have, whose clone panics: while two have it, nobody gets the original.
struct LetsOneMoreHaveIt(Arc<Mutex<Option<broadcast::Receiver<Self>>>>);

impl Clone for LetsOneMoreHaveIt {
    fn clone(&self) -> Self {
        let other = self.0.lock().unwrap().take();
        let mut other = other.expect("planted: a clone panics");
        must_panic(|| other.try_recv().is_ok());
        *self.0.lock().unwrap() = Some(other);
        LetsOneMoreHaveIt(Arc::clone(&self.0))
    }
}

/// C29: the last receive of a value makes room, and then the value's clone panics: the sender that waits for room is woken.
#[test]
fn a_clone_that_panics_after_it_has_made_room() {
    let (tx, mut rx) = broadcast::with_lag(1, broadcast::Lag::Suspend);
    let other = Arc::new(Mutex::new(Some(tx.subscribe())));
    assert!(tx.send(LetsOneMoreHaveIt(Arc::clone(&other))).is_ok());
    let mut sending = tx.send_async(LetsOneMoreHaveIt(Arc::clone(&other)));
    let woken = sending.must_wait("it is full");
    assert!(rx.try_recv().is_ok());
    assert!(woken.was_woken(), "C29");
    assert!(sending.must_be_ready("there is room").is_ok());
    // It would stay for ever: the channel has values that have it.
    let other = other.lock().unwrap().take();
    drop(other);
}

/// C29: what there was no room for goes to the hook if `force_send` cannot give it back, as a waker panics.
#[test]
fn what_is_forced_out_beside_a_panic() {
    let lost = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&lost);
    let (tx, rx) = Builder::new().on_undelivered(move |n: u32| keep.lock().unwrap().push(n)).build();
    let mut set = Select::new();
    set.recv(&rx);
    let mut asking = set.ready();
    assert!(asking.poll_with(&panicking_waker()).is_pending());
    must_panic(|| tx.force_send(1));
    assert_eq!(*lost.lock().unwrap(), [1], "C29");
}

/// C21: a hook that panics has had its value, and the send that has called it has happened: no other value goes to the hook.
#[test]
fn a_hook_that_panics_in_a_send_that_overflows() {
    let policies = [(Overflow::DropOldest, 1), (Overflow::DropOldest, 300), (Overflow::DropNewest, 1)];
    for (overflow, capacity) in policies {
        let lost = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&lost);
        let hook = move |_| {
            counts.fetch_add(1, SeqCst);
            panic!("planted: a hook panics");
        };
        let (tx, rx) = Builder::new().capacity(capacity).overflow(overflow).on_undelivered(hook).build();
        (0..capacity).for_each(|n| tx.try_send(n).unwrap());
        let forms: [&dyn Fn(); 3] =
            [&|| tx.try_send(capacity).unwrap(), &|| tx.send_blocking(capacity).unwrap(), &|| {
                tx.send(capacity).must_be_ready("it never waits").unwrap()
            }];
        for (n, form) in forms.into_iter().enumerate() {
            must_panic(form);
            assert_eq!((lost.load(SeqCst), rx.len()), (n + 1, capacity), "once: {overflow:?}");
        }
        rx.try_iter().for_each(drop);
    }
}

/// C1, C21: a large value that is replaced is dropped.
#[test]
fn large_values_that_are_replaced() {
    struct Large {
        _bytes: [u64; 8],
        _value: Tracked,
    }
    let tracker = Tracker::new();
    let (tx, rx) = conflated();
    (0..3).for_each(|_| assert!(tx.try_send(Large { _bytes: [1; 8], _value: tracker.value() }).is_ok()));
    tracker.assert_live(1, "the last one");
    drop((tx, rx));
    tracker.assert_done();
}

#[track_caller]
fn assert_flat(what: &str, round: impl Fn()) {
    round();
    let ((), change) = Counting::measure(|| (0..10_000).for_each(|_| round()));
    assert!(change.live < 128 << 10, "{what}: {} bytes stayed allocated", change.live);
}

/// S1: a select that is told of a lock by the very future that wins leaves nothing behind.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn selects_that_are_told_as_they_win() {
    let mutex = sync::Mutex::new(());
    assert_flat("selects that are told as they win", || {
        let mut held = mutex.try_lock();
        let wins = Cell::new(false);
        let frees = poll_fn(|_| {
            if !wins.get() {
                return Poll::Pending;
            }
            held = None;
            Poll::Ready(())
        });
        let mut selecting = select((mutex.lock(), foreign(frees)));
        selecting.must_wait("it is held");
        wins.set(true);
        assert!(matches!(selecting.must_be_ready("the future is"), Selected2::Second(())));
    });
}

/// C12, C14: receives that move from task to task, and large values that are handed over, leave nothing behind.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn moved_receives_and_large_values() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        assert_flat("receives that move", || {
            let mut receiving = rx.recv();
            (0..3).for_each(|_| _ = receiving.must_wait("it is empty"));
            tx.try_send([1_u64; 64]).unwrap();
            assert_eq!(receiving.must_be_ready("it was sent"), Ok([1; 64]));
        });
    }
}
