//! Misuse from safe code that a review has found to be more than misuse once: an operation is polled again after somebody
//! else's waker has panicked in it; an operation is used whose select was forgotten; capacities at the end of the scale; the drop
//! of a waker panics; what is given back is given back again.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_core::Stream;
use leno::channel::broadcast::Lag;
use leno::channel::{Builder, Receiver, broadcast, oneshot, spsc, watch};
use leno::select::{Select, Selected2, foreign, select, select_biased};
use leno::sync::{self, Notify, RwLock, Semaphore, WaitGroup};
use leno::{bounded, fiber, rendezvous, sleep, unbounded};
use rand::RngExt as _;

use crate::support::{Defer, Event, PollExt, Tracker, hooked_waker, panicking_waker};

/// C1, C29: a select that is polled again after a waker has panicked in it sends its value once.
#[test]
fn a_select_that_is_polled_again_after_a_panic_sends_once() {
    let tracker = Tracker::new();
    let (tx, rx) = bounded(1);
    let mut waiting = rx.recv();
    let panics = panicking_waker();
    assert!(waiting.poll_with(&panics).is_pending());
    let mut set = Select::new();
    let token = set.send(&tx, tracker.value());
    let mut selecting = set.select();
    let mut cx = Context::from_waker(Waker::noop());
    let panic = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut selecting).poll(&mut cx).is_ready()));
    assert!(panic.is_err(), "the panic goes through");
    let Poll::Ready(operation) = Pin::new(&mut selecting).poll(&mut cx) else { panic!("it has happened") };
    operation.send(token).expect("it was sent");
    drop(waiting.must_be_ready("it was handed over").expect("the value"));
    rx.try_recv().expect_err("C1: once");
    tracker.assert_done();
}

/// C26: an operation whose select was forgotten says so, and does no harm.
#[test]
fn an_operation_of_a_forgotten_select_is_stranded() {
    let (tx, rx) = rendezvous::<Box<u8>>();
    let (_silent, silents) = rendezvous::<u8>();
    let mut sending = tx.send(Box::new(1));
    let mut selecting = Box::new(select((&mut sending, silents.recv())));
    selecting.must_wait("nobody is there");
    std::mem::forget(selecting);
    catch_unwind(AssertUnwindSafe(|| sending.poll_with(Waker::noop())))
        .expect_err("its value is the select's");
    let mut again = select((&mut sending, silents.recv()));
    catch_unwind(AssertUnwindSafe(|| again.poll_with(Waker::noop()).is_ready()))
        .expect_err("the same in another select");
    drop(again);
    assert!(sending.into_inner().is_none(), "it is not given out twice");
    // The forgotten select stands there still, for the one that comes first.
    assert_eq!(rx.try_recv().as_deref(), Ok(&1));
    rx.try_recv().expect_err("once");
}

/// C27: where all is reserved that a channel holds a try says so, also if its capacity is said to be more.
#[test]
#[cfg(target_pointer_width = "64")]
fn the_largest_capacity_is_full_at_last() {
    let (tx, rx) = bounded(1 << 40);
    let many: Vec<_> = (0..4).map(|_| tx.reserve_many(u32::MAX as usize - 1).wait().unwrap()).collect();
    let rest: Vec<_> = std::iter::from_fn(|| tx.try_reserve().ok()).collect();
    assert_eq!(rest.len(), 7, "2^34 - 1 in all");
    assert!(tx.is_full());
    assert!(tx.try_send(1).unwrap_err().is_full());
    let mut waits = tx.send(2);
    assert!(waits.poll_with(Waker::noop()).is_pending());
    assert!(rx.try_recv().unwrap_err().is_empty());
    drop(waits);
    drop((many, rest));
    assert!(!tx.is_full());
    assert_eq!(tx.try_send(3), Ok(()));
}

/// C29: one that leaves, and has somebody told who watches, is not hit by the panic of that one's waker.
#[test]
fn who_leaves_is_not_hit_by_the_waker_of_one_that_watches() {
    for capacity in [2, 1000] {
        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|n| tx.try_send(n).unwrap());
        let mut several = tx.reserve_many(2);
        assert!(several.poll_with(Waker::noop()).is_pending());
        let mut set = Select::new();
        set.send(&tx, capacity);
        let mut asking = set.ready();
        let panics = panicking_waker();
        assert!(asking.poll_with(&panics).is_pending());
        assert_eq!(rx.try_recv(), Ok(0), "its place is kept");
        drop(several);
        assert!(asking.poll_with(Waker::noop()).is_ready(), "its place is free");
    }
}

/// C2: one that waits behind another one is served before one that came later, however many have come and gone meanwhile. (As
/// many as it takes for versions to come round.)
#[test]
fn who_came_first_is_served_first_after_many_have_left() {
    const ROUND: usize = (1 << 27) / 256;
    let (tx, rx) = bounded(255);
    let come_and_go = |times: usize| {
        (0..times).for_each(|_| assert!(rx.recv().poll_with(Waker::noop()).is_pending()));
    };
    let [mut first, mut second, mut third] = [(); 3].map(|()| rx.recv());
    assert!(first.poll_with(Waker::noop()).is_pending());
    assert!(second.poll_with(Waker::noop()).is_pending());
    come_and_go(ROUND / 4);
    assert!(third.poll_with(Waker::noop()).is_pending());
    come_and_go(ROUND / 4 + ROUND / 8);
    for (value, waiting) in [&mut first, &mut second, &mut third].into_iter().enumerate() {
        tx.try_send(value).expect("somebody waits");
        assert_eq!(waiting.must_be_ready("C2: it is its turn"), Ok(value));
    }
}

/// C17: a value that was handed to a receive, which was dropped, is in the channel, and takes no room.
#[test]
fn what_was_given_back_takes_no_room() {
    macro_rules! check {
        ($tx:ident, $rx:ident, $capacity:expr) => {
            let mut waiting = $rx.recv();
            assert!(waiting.poll_with(Waker::noop()).is_pending());
            $tx.try_send(0).expect("somebody waits");
            drop(waiting);
            for value in 1..=$capacity {
                assert_eq!(($tx.len(), $tx.is_full()), (value, false), "C17: {}", $capacity);
                $tx.try_send(value).expect("there is room");
            }
            assert_eq!(($tx.len(), $tx.is_full()), ($capacity + 1, true), "C17: {}", $capacity);
            $tx.try_send(0).expect_err("it is full");
            assert_eq!($rx.try_recv(), Ok(0));
            assert!($rx.is_full());
        };
    }
    for capacity in [1, 2, 300] {
        let (tx, rx) = bounded(capacity);
        check!(tx, rx, capacity);
        let (mut tx, mut rx) = spsc::bounded(capacity);
        check!(tx, rx, capacity);
    }
}

/// C17: capacities that no memory could hold.
#[test]
fn the_largest_capacities() {
    for capacity in [usize::MAX, usize::MAX - 1, usize::MAX / 2, usize::MAX >> 8] {
        let (tx, rx) = bounded(capacity);
        assert_eq!(tx.capacity(), Some(capacity));
        tx.try_send(1).expect("there is room");
        assert_eq!(rx.try_recv(), Ok(1));
    }
}

/// Large values are in blocks, with a place each: as many senders and receivers wait as there are, and each is served.
#[test]
fn many_wait_for_one_large_place() {
    type Large = [u64; 30_000];
    const EACH: u64 = 50;
    let (tx, rx) = bounded::<Large>(1);
    let threads = [(); 4].map(|()| (tx.clone(), rx.clone())).into_iter().flat_map(|(tx, rx)| {
        let sends = std::thread::Builder::new().stack_size(32 << 20).spawn(move || {
            (0..EACH).for_each(|i| tx.send_blocking([i; 30_000]).expect("open"));
            0
        });
        let receives = std::thread::Builder::new()
            .stack_size(32 << 20)
            .spawn(move || (0..EACH).map(|_| rx.recv_blocking().expect("open")[29_999]).sum::<u64>());
        [sends.expect("a thread"), receives.expect("a thread")]
    });
    let threads = threads.collect::<Vec<_>>();
    // (Not here: a debug build takes a small stack to drop what is large.)
    let last = std::thread::Builder::new().stack_size(32 << 20).spawn(move || drop((tx, rx)));
    last.expect("a thread").join().expect("nothing panics");
    let sum = threads.into_iter().map(|thread| thread.join().expect("nothing panics")).sum::<u64>();
    assert_eq!(sum, 4 * EACH * (EACH - 1) / 2, "C1");
}

/// C29: what a select has taken in a poll that a panic has ended is there still, also if the drop of its own waker panics.
#[test]
fn what_a_broken_select_has_taken_survives_the_drop_of_its_waker() {
    for drop_panics in [false, true] {
        let (tx, rx) = bounded(1);
        let second = RefCell::new(None);
        let polls = Cell::new(0);
        // In its second poll there is a value all at once, and a sender whose waker panics.
        let feeding = poll_fn(|_| {
            polls.set(polls.get() + 1);
            if polls.get() == 2 {
                tx.try_send(1).expect("there is room");
                let mut sending = tx.send(2);
                let panics = panicking_waker();
                assert!(sending.poll_with(&panics).is_pending());
                second.replace(Some(sending));
            }
            Poll::<()>::Pending
        });
        let armed = Arc::new(AtomicBool::new(false));
        let arms = Arc::clone(&armed);
        let waker = hooked_waker(move |event| {
            assert!(
                event != Event::Drop || !arms.swap(false, Relaxed),
                "planted: the drop of a waker panics"
            );
        });
        let mut selecting = Box::new(select_biased((rx.recv(), foreign(feeding))));
        assert!(selecting.poll_with(&waker).is_pending());
        catch_unwind(AssertUnwindSafe(|| selecting.poll_with(&waker).is_ready()))
            .expect_err("it goes through");
        armed.store(drop_panics, Relaxed);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(selecting)));
        assert_eq!(dropped.is_err(), drop_panics);
        assert_eq!([rx.try_recv(), rx.try_recv()], [Ok(1), Ok(2)], "C29");
    }
}

fn poll_it<S: Stream + Unpin>(stream: &mut S) -> Poll<Option<S::Item>> {
    Pin::new(stream).poll_next(&mut Context::from_waker(Waker::noop()))
}

/// C13, C29: a stream goes on after a waker of somebody else has panicked in it, with the value that it had taken.
#[test]
fn a_stream_goes_on_after_a_panic() {
    fn goes_on(stream: &mut (impl Stream<Item = u64> + Unpin), values: std::ops::Range<u64>) {
        catch_unwind(AssertUnwindSafe(|| poll_it(stream).is_ready())).expect_err("it goes through");
        for value in values {
            assert_eq!(poll_it(stream), Poll::Ready(Some(value)), "C29");
        }
        assert!(poll_it(stream).is_pending());
    }
    let panics = panicking_waker();
    for capacity in [0, 1, 64, 300] {
        for owned in [false, true] {
            let (tx, rx) = bounded(capacity);
            (0..capacity).for_each(|value| tx.try_send(value as u64).expect("there is room"));
            let values = 0..capacity as u64 + 1;
            let mut waits = tx.send(capacity as u64);
            assert!(waits.poll_with(&panics).is_pending());
            if owned {
                goes_on(&mut rx.into_stream(), values)
            } else {
                goes_on(&mut rx.stream(), values)
            }
            waits.must_be_ready("it was sent").expect("open");
        }
    }
    let (tx, rx) = broadcast::with_lag(1, Lag::Suspend);
    tx.try_send(7).expect("there is room");
    let mut waits = tx.send_async(8);
    assert!(waits.poll_with(&panics).is_pending());
    let mut feed = rx.into_stream();
    catch_unwind(AssertUnwindSafe(|| poll_it(&mut feed).is_ready())).expect_err("it goes through");
    assert_eq!(poll_it(&mut feed), Poll::Ready(Some(Ok(7))), "C29");
    waits.must_be_ready("there is room").expect("there is a receiver");
    assert_eq!(poll_it(&mut feed), Poll::Ready(Some(Ok(8))));
}

/// C9: what was handed to a stream is received by who takes the receiver back.
#[test]
fn a_stream_gives_its_receiver_back() {
    for capacity in [0, 1, 300] {
        let (tx, rx) = bounded(capacity);
        let mut stream = rx.into_stream();
        assert!(poll_it(&mut stream).is_pending());
        let mut send = tx.send(1);
        let sent = send.poll_with(Waker::noop()).is_ready();
        let rx = stream.into_receiver();
        assert_eq!(rx.try_recv(), Ok(1));
        assert!(sent || send.poll_with(Waker::noop()).is_ready());
        assert!(rx.close() && tx.is_closed());
    }
}

/// F5: what foreign code has panicked in does not pass for one that is through.
#[test]
fn a_set_of_futures_that_has_panicked_gives_nothing() {
    fn is_over<F: Future>(set: F) {
        let mut set = pin!(set);
        for _ in 0..2 {
            let mut cx = Context::from_waker(Waker::noop());
            catch_unwind(AssertUnwindSafe(|| set.as_mut().poll(&mut cx).is_ready()))
                .expect_err("nothing comes of it");
        }
    }
    async fn number(n: u8) -> u8 {
        assert!(n != 1, "planted: a future panics");
        n
    }
    async fn perhaps(n: u8) -> Result<u8, ()> {
        Ok(number(n).await)
    }
    is_over(fiber::join_all([0, 1, 2].map(number)));
    is_over(fiber::try_join_all([0, 1, 2].map(perhaps)));
    is_over(fiber::map_concurrent(0..4, 1, number));
    is_over(fiber::try_map_concurrent(0..4, 1, perhaps));
    is_over(fiber::map_concurrent(0..4, 2, |n| number(n + 1)));
}

/// F5: what was computed on another thread is there, though the drop of a waker panics.
#[test]
fn an_unblocked_result_survives_the_drop_of_a_waker() {
    let [armed, woken] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (arms, wakes) = (Arc::clone(&armed), Arc::clone(&woken));
    let waker = hooked_waker(move |event| {
        wakes.fetch_or(event == Event::Wake, Relaxed);
        assert!(event != Event::Drop || !arms.swap(false, Relaxed), "planted: the drop of a waker panics");
    });
    let mut unblocked = fiber::unblock(|| 42);
    assert!(unblocked.poll_with(&waker).is_pending(), "it is begun by this");
    while !woken.load(Relaxed) {
        std::thread::yield_now();
    }
    armed.store(true, Relaxed);
    assert_eq!(unblocked.poll_with(&waker), Poll::Ready(42));
}

/// F2: a thread that ends may begin with something, though its own random numbers are gone.
#[test]
fn a_destructor_of_a_thread_may_spawn() {
    struct Spawns;
    impl Drop for Spawns {
        fn drop(&mut self) {
            assert_eq!(leno::spawn(async { 1 }).wait().expect("it does not panic"), 1);
        }
    }
    thread_local! {
        static SPAWNS: Spawns = const { Spawns };
    }
    let ending = std::thread::spawn(|| {
        SPAWNS.with(|_| ());
        rand::rng().random::<u64>()
    });
    ending.join().expect("it ends");
}

/// Panics as it is polled, and as it is dropped.
struct Twice;

impl Future for Twice {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        panic!("planted: the poll")
    }
}

impl Drop for Twice {
    fn drop(&mut self) {
        panic!("planted: the drop");
    }
}

/// A waker whose drop lets go of a receiver, if it has one, and panics.
struct Last(Mutex<Option<Receiver<String>>>);

impl Last {
    fn waker(receiver: Option<Receiver<String>>) -> Waker {
        Waker::from(Arc::new(Last(Mutex::new(receiver))))
    }
}

impl Wake for Last {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Last {
    fn drop(&mut self) {
        drop(self.0.get_mut().unwrap().take());
        panic!("planted: the drop of a waker panics");
    }
}

/// C1, C13: the drop of the waker panics, and takes the last receiver with it: the value is disposed of while there is a
/// channel still.
#[test]
fn a_send_gives_its_parts_back_where_the_drop_of_a_waker_panics() {
    let lost = Arc::new(Mutex::new(Vec::new()));
    let of_hook = Arc::clone(&lost);
    let hook = move |value: String| of_hook.lock().unwrap().push(value);
    let (tx, rx) = Builder::new().on_undelivered(hook).build();
    let mut sending = tx.into_send(String::from("weft"));
    assert!(sending.poll_with(&Last::waker(Some(rx))).is_pending());
    catch_unwind(AssertUnwindSafe(|| sending.into_parts())).expect_err("the panic goes through");
    assert_eq!(*lost.lock().unwrap(), ["weft"]);
    assert_eq!(Arc::strong_count(&lost), 1, "the channel is gone, and its hook");
}

/// C1, C13: a send is dropped, and the drop of its waker panics: its value is dropped all the same.
#[test]
fn a_send_is_dropped_where_the_drop_of_a_waker_panics() {
    let tracker = Tracker::new();
    let (tx, _rx) = rendezvous();
    let mut sending = tx.send(tracker.value());
    assert!(sending.poll_with(&Last::waker(None)).is_pending());
    catch_unwind(AssertUnwindSafe(|| drop(sending))).expect_err("the panic goes through");
    tracker.assert_done();
}

/// C2, C9, S13: a value that is given back goes to a receive that waits, which is dropped: it comes before one that was handed
/// over later, wherever its node has been before.
#[test]
fn what_is_given_back_twice_keeps_its_place() {
    for before in [0, 1000] {
        let (tx, rx) = bounded(1);
        tx.try_send(1).unwrap();
        let mut set = Select::new();
        set.recv(&rx);
        drop(set.try_select().expect("there is a value"));
        let (mut first, mut second) = (rx.recv(), rx.recv());
        first.must_wait("it has been taken");
        second.must_wait("it has been taken");
        // The next node that is free has stood elsewhere.
        let (tx_elsewhere, elsewhere) = bounded(1);
        for n in 0..before {
            tx_elsewhere.try_send(n).unwrap();
            elsewhere.try_recv().unwrap();
        }
        elsewhere.recv().must_wait("nothing was sent");
        drop(set);
        tx.try_send(2).unwrap();
        drop(second);
        drop(first);
        assert_eq!(rx.drain().collect::<Vec<_>>(), [1, 2], "after {before} values elsewhere");
    }
}

/// C2, C9: a hundred thousand receives are dropped that were handed something, from the first on or from the last: all of it comes
/// in order. (If each looked at all others this would take minutes.)
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn very_many_are_given_back() {
    const MANY: u32 = 100_000;
    for (tx, rx) in [rendezvous(), bounded(1), unbounded()] {
        for from_the_last in [false, true] {
            let mut receives = (0..MANY).map(|_| rx.recv()).collect::<Vec<_>>();
            receives.iter_mut().for_each(|receive| _ = receive.must_wait("nothing was sent"));
            (0..MANY).for_each(|n| tx.try_send(n).expect("somebody waits"));
            if from_the_last {
                receives.reverse();
            }
            drop(receives);
            assert_eq!(rx.len(), MANY as usize);
            assert!((0..MANY).all(|n| rx.try_recv() == Ok(n)));
        }
    }
}

/// C2, C9, S13: what is given back before all others comes first, however often somebody has waited.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn what_is_given_back_first_comes_first() {
    let (tx, rx) = unbounded();
    for _ in 0..40_000 {
        rx.recv().must_wait("nothing was sent");
    }
    tx.try_send(1).unwrap();
    let mut set = Select::new();
    set.recv(&rx);
    drop(set.try_select().expect("there is a value"));
    let mut handed = rx.recv();
    handed.must_wait("it has been taken");
    tx.try_send(2).unwrap();
    drop(set);
    drop(handed);
    assert_eq!(rx.drain().collect::<Vec<_>>(), [1, 2]);
}

/// C29: a receive takes a value, then the waker panics of a set that had asked whether it could send: the value is the next
/// to be received.
#[test]
fn a_value_survives_the_waker_of_one_that_asks() {
    let tracker = Tracker::new();
    let (tx, rx) = rendezvous();
    let other = tx.clone();
    let mut set = Select::new();
    set.send(&tx, tracker.value());
    let mut asking = set.ready();
    let panics = panicking_waker();
    assert!(asking.poll_with(&panics).is_pending());
    // A sender comes just before the receive would wait.
    let (value, waits) = (Mutex::new(Some(tracker.value())), Arc::new(Mutex::new(None)));
    let sending = Arc::clone(&waits);
    let comes = hooked_waker(move |event| {
        let value = value.lock().expect("no panic").take();
        if let (Event::Clone, Some(value)) = (event, value) {
            let mut send = other.clone().into_send(value);
            send.must_wait("nobody receives");
            *sending.lock().expect("no panic") = Some(send);
        }
    });
    let mut receiving = rx.recv();
    catch_unwind(AssertUnwindSafe(|| receiving.poll_with(&comes).is_ready()))
        .expect_err("the panic goes through");
    drop(receiving);
    assert!(waits.lock().expect("no panic").take().is_some(), "it has come");
    drop(rx.try_recv().expect("C29: it is there"));
    drop(asking);
    drop(set);
    tracker.assert_done();
}

/// Polls an operation that waits with a waker that another one is put beside, while `meanwhile` completes it: so that one is left
/// with it whose drop panics.
fn leaves_a_waker<F: Future + Unpin>(operation: &mut F, meanwhile: impl FnOnce() + Send + 'static) -> Waker {
    operation.must_wait("not yet");
    let (meanwhile, polled) = (Mutex::new(Some(meanwhile)), Arc::new(AtomicBool::new(false)));
    let is_over = Arc::clone(&polled);
    let waker = hooked_waker(move |event| match event {
        Event::Clone => {
            if let Some(meanwhile) = meanwhile.lock().expect("no panic").take() {
                meanwhile();
            }
        }
        Event::Drop if is_over.swap(false, Relaxed) => {
            resume_unwind(Box::new("planted: the drop of a waker panics"))
        }
        _ => {}
    });
    assert!(operation.poll_with(&waker).is_pending(), "a peer has it");
    polled.store(true, Relaxed);
    waker
}

/// C1, C29: a value, a lock, permits: they survive the drop of a waker that was left with the operation that was handed them.
#[test]
fn what_was_handed_over_survives_the_drop_of_a_waker_that_was_left() {
    for is_dropped in [false, true] {
        let (tx, rx) = bounded(1);
        let mut receiving = rx.recv();
        let waker = leaves_a_waker(&mut receiving, move || tx.try_send(7).expect("somebody waits"));
        if is_dropped {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(receiving)));
            assert_eq!(rx.try_recv(), Ok(7), "the next receive has it");
        } else {
            receiving.must_be_ready("it was handed over").expect("the value");
        }
        drop(waker);

        for mutex in [leno::sync::Mutex::fair(()), leno::sync::Mutex::new(())].map(Arc::new) {
            let guard = mutex.try_lock_arc().expect("free");
            let mut locking = mutex.lock();
            let waker = leaves_a_waker(&mut locking, move || drop(guard));
            let mut behind = mutex.lock();
            if is_dropped {
                let _ = catch_unwind(AssertUnwindSafe(|| drop(locking)));
            } else {
                drop(locking.must_be_ready("it was handed over, or is free"));
            }
            drop(behind.must_be_ready("the lock is free"));
            drop(waker);
        }

        let semaphore = Arc::new(Semaphore::new(2));
        let permits = semaphore.try_acquire_many_arc(2).expect("there are two");
        let mut acquiring = semaphore.acquire_many(2);
        let waker = leaves_a_waker(&mut acquiring, move || drop(permits));
        if is_dropped {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(acquiring)));
        } else {
            drop(acquiring.must_be_ready("they were handed over").expect("open"));
        }
        assert_eq!(semaphore.available_permits(), 2);
        drop(waker);
    }
}

/// C29: a stream that has its receiver is dropped, and the drop of its waker panics: the receiver is gone all the same.
#[test]
fn a_stream_lets_its_receiver_go_where_the_drop_of_a_waker_panics() {
    let (tx, rx) = leno::channel::broadcast::channel::<u8>(1);
    let mut stream = rx.into_stream();
    assert!(Pin::new(&mut stream).poll_next(&mut Context::from_waker(&Last::waker(None))).is_pending());
    catch_unwind(AssertUnwindSafe(|| drop(stream))).expect_err("the panic goes through");
    assert_eq!(tx.receiver_count(), 0);
}

/// C1, C29: a select borrows two operations that wait, and the drop of a waker of the first panics: it borrows the second when it
/// is polled again.
#[test]
fn a_select_borrows_the_rest_after_a_panic() {
    let tracker = Tracker::new();
    let (_silent, silents) = bounded::<u8>(1);
    let (tx, rx) = bounded(1);
    tx.try_send(tracker.value()).expect("there is room");
    let mut receiving = silents.recv();
    let mut sending = tx.send(tracker.value());
    assert!(receiving.poll_with(&Last::waker(None)).is_pending());
    sending.must_wait("it is full");
    let mut selecting = select_biased((&mut receiving, &mut sending));
    catch_unwind(AssertUnwindSafe(|| selecting.poll_with(Waker::noop()).is_ready()))
        .expect_err("the panic goes through");
    drop((rx.try_recv().expect("the first"), rx.try_recv().expect("the second, which waited")));
    selecting.must_be_ready("it was sent");
    drop(selecting);
    assert!(rx.try_recv().is_err(), "C1: once");
    drop((receiving, sending));
    tracker.assert_done();
}

/// S2, C29: a branch completes, and the waker panics of one that it serves: the select is that branch's, though another one
/// could complete, too.
#[test]
fn a_select_stays_with_its_winner_after_a_panic() {
    let tracker = Tracker::new();
    let (first, firsts) = bounded(1);
    let (second, seconds) = bounded(1);
    second.try_send(tracker.value()).expect("there is room");
    let panics = panicking_waker();
    let mut waiting = second.send(tracker.value());
    assert!(waiting.poll_with(&panics).is_pending());
    let mut selecting = select_biased((firsts.recv(), seconds.recv()));
    catch_unwind(AssertUnwindSafe(|| selecting.poll_with(Waker::noop()).is_ready()))
        .expect_err("the panic goes through");
    first.try_send(tracker.value()).expect("there is room");
    assert!(matches!(selecting.must_be_ready("it has a value"), Selected2::Second(Ok(_))));
    drop(selecting);
    waiting.must_be_ready("there was room").expect("it is open");
    assert_eq!((firsts.drain().count(), seconds.drain().count()), (1, 1));
    tracker.assert_done();
}

/// The same for one that waits, and has somebody else told in its place.
#[test]
fn a_select_that_waited_stays_with_its_winner_after_a_panic() {
    let tracker = Tracker::new();
    for _ in 0..20 {
        let mutex = leno::sync::Mutex::new(());
        let (tx, rx) = bounded(1);
        let guard = mutex.try_lock().expect("free");
        // (In random order.)
        let mut selecting = select((rx.recv(), mutex.lock()));
        selecting.must_wait("held");
        drop(guard);
        let guard = mutex.try_lock().expect("free");
        selecting.must_wait("told in vain, so that it is known to answer");
        let mut behind = mutex.lock();
        let panics = panicking_waker();
        assert!(behind.poll_with(&panics).is_pending());
        drop(guard);
        tx.try_send(tracker.value()).expect("there is room");
        match catch_unwind(AssertUnwindSafe(|| selecting.poll_with(Waker::noop()))) {
            Ok(Poll::Ready(Selected2::First(received))) => drop(received.expect("the value")),
            Ok(Poll::Ready(Selected2::Second(guard))) => {
                catch_unwind(AssertUnwindSafe(|| drop(guard))).expect_err("the panic goes through");
                drop(rx.try_recv().expect("it is there still"));
            }
            Ok(Poll::Pending) => panic!("both are ready"),
            Err(_) => {
                let selected = selecting.must_be_ready("it has a value");
                assert!(matches!(selected, Selected2::First(Ok(_))));
            }
        }
        drop((selecting, behind));
        drop(rx);
    }
    tracker.assert_done();
}

/// C27: where a receiver waits a send is ready, also while all places are reserved.
#[test]
fn a_send_to_a_receiver_needs_no_place() {
    for capacity in [1, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        let permits = (0..capacity).map(|_| tx.try_reserve().expect("a place")).collect::<Vec<_>>();
        let mut receiving = rx.recv();
        receiving.must_wait("it is empty");
        let mut set = Select::new();
        let token = set.send(&tx, 7);
        assert_eq!(set.try_ready(), Some(0), "capacity {capacity}");
        set.try_select().expect("somebody receives").send(token).expect("it is open");
        assert_eq!(receiving.must_be_ready("it was handed over"), Ok(7));
        assert_eq!(tx.try_send(8).map_err(|error| error.is_full()), Err(true));
        drop(permits);
    }
}

/// A select on both sides of a channel of which all places are reserved waits, and neither takes itself for a peer.
#[test]
fn a_select_on_both_sides_waits_for_a_place() {
    for capacity in [1, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        let mut permits = (0..capacity).map(|_| tx.try_reserve().expect("a place")).collect::<Vec<_>>();
        let mut both = select_biased((rx.recv(), tx.send(7)));
        both.must_wait("nothing is there, and no place");
        let woken = both.must_wait("still");
        assert!(!woken.was_woken(), "it sleeps: capacity {capacity}");
        drop(permits.pop());
        assert!(woken.was_woken(), "capacity {capacity}");
        assert!(matches!(both.must_be_ready("there is a place"), Selected2::Second(Ok(()))));
        assert_eq!(rx.try_recv(), Ok(7));
    }
}

/// C13, C29, M1: what is dropped during a panic, and wakes somebody whose waker panics as well, does not end the process.
#[test]
fn a_waker_panics_during_a_panic() {
    fn dropped_in_a_panic<D>(what: &str, dropped: D) {
        let panic = catch_unwind(AssertUnwindSafe(move || {
            let _dropped = dropped;
            panic!("planted");
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"planted"), "{what}");
    }
    let panics = &panicking_waker();
    macro_rules! waits {
        ($operation:expr) => {{
            let mut operation = $operation;
            assert!(operation.poll_with(panics).is_pending());
            operation
        }};
    }

    let fair = sync::Mutex::fair(());
    let guard = fair.try_lock().expect("free");
    let mut next = waits!(fair.lock());
    dropped_in_a_panic("a fair guard", guard);
    drop(next.must_be_ready("granted"));

    let semaphore = Semaphore::new(1);
    let permit = semaphore.try_acquire().expect("free");
    let mut next = waits!(semaphore.acquire());
    dropped_in_a_panic("a permit of a semaphore", permit);
    drop(next.must_be_ready("granted"));

    let lock = RwLock::new(());
    let guard = lock.try_write().expect("free");
    let mut next = waits!(lock.read());
    dropped_in_a_panic("a guard of a lock for reading and writing", guard);
    drop(next.must_be_ready("granted"));

    let group = WaitGroup::new();
    let worker = group.worker();
    let mut all = waits!(group.wait_all());
    dropped_in_a_panic("a worker", worker);
    all.must_be_ready("done");

    let notify = Notify::new();
    let mut notified = notify.notified();
    notified.must_wait("nothing yet");
    let mut next = waits!(notify.notified());
    notify.notify_one();
    dropped_in_a_panic("one that was notified", notified);
    next.must_be_ready("passed on");

    for capacity in [1, 1000] {
        let (tx, rx) = bounded(capacity);
        let permits = tx.try_reserve_many(capacity).expect("free");
        let mut next = waits!(tx.send(1));
        dropped_in_a_panic("permits of a channel", permits);
        next.must_be_ready("there is room").expect("open");
        rx.try_recv().expect("sent");
        let mut receiving = rx.recv();
        receiving.must_wait("it is empty");
        let mut next = waits!(rx.recv());
        tx.try_send(2).expect("handed over");
        dropped_in_a_panic("a receive that was handed a value", receiving);
        assert_eq!(next.must_be_ready("passed on"), Ok(2));
    }

    // What sends or receives as it is dropped is through all the same.
    for capacity in [0, 1, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        let mut receiving = waits!(rx.recv());
        dropped_in_a_panic("what sends", Defer(|| tx.try_send(1).expect("somebody receives")));
        assert_eq!(receiving.must_be_ready("it was handed over"), Ok(1));
        (0..capacity).for_each(|_| tx.try_send(2).expect("there is room"));
        let mut sending = waits!(tx.send(3));
        dropped_in_a_panic("what receives", Defer(|| _ = rx.try_recv().expect("a value")));
        sending.must_be_ready("it was taken, or has room").expect("open");
        assert_eq!(rx.len(), capacity);
    }

    let (tx, mut rx) = oneshot::channel::<u8>();
    assert!(rx.poll_with(panics).is_pending());
    dropped_in_a_panic("the sender of a oneshot", tx);
    rx.must_be_ready("closed").unwrap_err();

    // Its own waker's drop.
    let bomb = Arc::new(AtomicBool::new(false));
    let armed = Arc::clone(&bomb);
    let panics = &hooked_waker(move |event| {
        assert!(event != Event::Drop || !armed.load(Relaxed), "planted: a drop panics")
    });
    macro_rules! waits {
        ($operation:expr) => {{
            let mut operation = $operation;
            assert!(operation.poll_with(panics).is_pending());
            operation
        }};
    }
    let (_tx, rx) = bounded::<u8>(1);
    let ((_first, one), (_second, two)) = (oneshot::channel::<u8>(), oneshot::channel::<u8>());
    let mut sets = [(); 2].map(|()| Select::new());
    sets.iter_mut().for_each(|set| _ = set.recv(&rx));
    let [first, second] = &mut sets;
    let (_holds, held) = rendezvous::<()>();
    macro_rules! operations {
        ($oneshot:ident, $set:ident) => {
            (
                waits!(notify.notified()),
                waits!(rx.recv()),
                waits!($oneshot),
                waits!($set.select()),
                waits!(sleep(Duration::from_secs(3600))),
                waits!(fiber::unblock({
                    let held = held.clone();
                    move || held.recv_blocking()
                })),
                waits!(fiber::join_all([std::future::pending::<()>()])),
            )
        };
    }
    let (operations, others) = (operations!(one, first), operations!(two, second));
    bomb.store(true, Relaxed);
    dropped_in_a_panic("operations that wait", operations);
    let panic = catch_unwind(AssertUnwindSafe(|| drop(others)));
    assert!(panic.is_err(), "the first one's");
    bomb.store(false, Relaxed);

    // And beside what a closure owns that is still in its queue.
    for _ in 0..20 {
        let owns = Defer(|| panic!("planted: what the closure owns"));
        let queued = waits!(fiber::unblock(move || drop(owns)));
        bomb.store(true, Relaxed);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(queued)));
        bomb.store(false, Relaxed);
    }

    // The same of a select that keeps another one now, and in which a future panics.
    let look = poll_fn(|_| {
        assert!(!bomb.load(Relaxed), "planted: a foreign future panics");
        Poll::<()>::Pending
    });
    let mut selecting = waits!(select((rx.recv(), foreign(look))));
    bomb.store(true, Relaxed);
    catch_unwind(AssertUnwindSafe(|| selecting.poll_with(Waker::noop()).is_ready())).unwrap_err();
    bomb.store(false, Relaxed);

    // And of one that a fiber parks with, which is woken then; and of what `block_on` was given.
    leno::block_on(async {
        let mut parks = fiber::park();
        assert!(parks.poll_with(&panicking_waker()).is_pending());
        let me = fiber::current();
        dropped_in_a_panic("what wakes it", Defer(move || me.unpark()));
    });
    let given = catch_unwind(AssertUnwindSafe(|| leno::block_on(Twice)));
    assert_eq!(given.unwrap_err().downcast_ref(), Some(&"planted: the poll"));

    let captured = Last(Mutex::default());
    let (tx, rx) = Builder::new().on_undelivered(move |_: u8| _ = &captured).build();
    dropped_in_a_panic("a channel, and what its hook owns", (tx, rx));
}

/// C29: so do the drops of values, wherever these are as a panic comes: to be sent, given back, or kept by a channel.
#[test]
fn a_value_panics_in_its_drop_during_a_panic() {
    #[derive(Debug)]
    struct Bomb(Arc<AtomicBool>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0.load(Relaxed), "planted: a value's drop");
        }
    }
    impl Clone for Bomb {
        fn clone(&self) -> Bomb {
            Bomb(Arc::clone(&self.0))
        }
    }
    let armed = Arc::new(AtomicBool::new(false));
    let bomb = || Bomb(Arc::clone(&armed));
    let in_a_panic = |dropped: &mut dyn FnMut()| {
        armed.store(true, Relaxed);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let _dropped = Defer(dropped);
            panic!("planted");
        }));
        armed.store(false, Relaxed);
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"planted"));
    };
    macro_rules! dropped_in_a_panic {
        ($dropped:expr) => {{
            let mut dropped = Some($dropped);
            in_a_panic(&mut || dropped = None);
        }};
    }
    for capacity in [0, 1, 1000] {
        let (tx, rx) = bounded(capacity);
        dropped_in_a_panic!(tx.send(bomb()));
        (0..capacity).for_each(|_| tx.try_send(bomb()).expect("there is room"));
        let mut sending = tx.send(bomb());
        sending.must_wait("it is full");
        dropped_in_a_panic!(sending);
        dropped_in_a_panic!((tx, rx));
    }
    // The waker of a send panics, then its value.
    let panics = hooked_waker({
        let armed = Arc::clone(&armed);
        move |event| assert!(event != Event::Drop || !armed.load(Relaxed), "planted: a waker's drop")
    });
    let (tx, _rx) = rendezvous();
    let mut sending = tx.send(bomb());
    assert!(sending.poll_with(&panics).is_pending());
    armed.store(true, Relaxed);
    catch_unwind(AssertUnwindSafe(|| drop(sending))).unwrap_err();
    armed.store(false, Relaxed);
    drop(panics);

    let (tx, _rx) = watch::channel(bomb());
    in_a_panic(&mut || _ = tx.send(bomb()));
    dropped_in_a_panic!((tx, _rx));

    let (tx, mut rx) = broadcast::with_lag(1, Lag::Suspend);
    let mut other = tx.subscribe();
    tx.try_send(bomb()).expect("there is room");
    let mut sending = tx.send_async(bomb());
    assert!(sending.poll_with(&panicking_waker()).is_pending());
    drop(other.try_recv());
    catch_unwind(AssertUnwindSafe(|| rx.try_recv().is_ok())).expect_err("the sender's waker panics");
    dropped_in_a_panic!(rx);
    dropped_in_a_panic!(sending);
    dropped_in_a_panic!((tx, other));
}

/// C2, S13: also where several have taken what was there.
#[test]
fn what_sets_give_back_keeps_its_order() {
    for capacity in [Some(4), Some(255), Some(256), Some(1000), None] {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let (tx, rx) = capacity.map_or_else(unbounded, bounded);
            assert!((1..=4).all(|number| tx.try_send(number).is_ok()));
            let mut sets = [(); 3].map(|()| {
                let mut set = Select::new();
                set.recv(&rx);
                drop(set.try_select().expect("there is a value"));
                Some(set)
            });
            order.iter().for_each(|number| drop(sets[*number].take()));
            let received: Vec<i32> = rx.drain().collect();
            assert_eq!(received, [1, 2, 3, 4], "{capacity:?}, {order:?}");
        }
    }
}

/// C2, C9, S13: what a set has received, and nobody takes, goes back to its old place: behind what others were handed before and give
/// back, before what they were handed later.
#[test]
fn what_a_set_gives_back_keeps_its_place() {
    for capacity in [Some(0), Some(1), Some(4), Some(1000), None] {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            for waits in [false, true] {
                let (tx, rx) = capacity.map_or_else(unbounded, bounded);
                let (mut first, mut third) = (rx.recv(), rx.recv());
                first.must_wait("nothing is there");
                let mut set = Select::new();
                set.recv(&rx);
                let mut sending = None;
                if waits {
                    let mut selecting = set.select();
                    selecting.must_wait("nothing is there");
                    third.must_wait("nothing is there");
                    assert!((1..=3).all(|number| tx.try_send(number).is_ok()));
                    drop(selecting.must_be_ready("the second one"));
                } else {
                    tx.try_send(1).expect("handed over");
                    let sending = sending.insert(tx.send(2));
                    if capacity == Some(0) {
                        sending.must_wait("nobody receives");
                    } else {
                        sending.must_be_ready("there is room").expect("open");
                    }
                    drop(set.try_select().expect("the second one"));
                    third.must_wait("nothing is there");
                    tx.try_send(3).expect("handed over");
                }
                let (mut others, mut set) = ([Some(first), None, Some(third)], Some(set));
                for number in order {
                    drop(others[number].take());
                    if number == 1 {
                        drop(set.take());
                    }
                }
                let received: Vec<i32> = (0..3).map(|_| rx.try_recv().expect("given back")).collect();
                assert_eq!(received, [1, 2, 3], "{capacity:?}, {order:?}, {waits}");
            }
        }
    }
}

/// What a type shows of itself is so.
#[test]
fn what_shows_is_so() {
    use leno::fiber::{CancelToken, JoinError, Scope};
    use leno::sync::{Condvar, Mutex, OnceCell};
    use std::fmt::Debug;
    use std::future::pending;
    #[track_caller]
    fn shows(what: &dyn Debug, text: &str) {
        let shown = format!("{what:?}");
        assert!(shown.contains(text), "{shown}");
    }
    fn polled<F: Future + Unpin>(mut future: F) -> F {
        assert!(Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        future
    }
    let runtime = leno::fiber::Runtime::builder().workers(1).build().expect("a thread starts");
    let fibers = runtime.block_on(async {
        let fiber = leno::spawn(pending::<()>());
        shows(&runtime, "workers: 1, fibers: 2");
        shows(runtime.handle(), "fibers: 2");
        shows(&fiber, "finished: false");
        shows(&polled(fiber::on(&runtime, pending::<()>())), "started: true");
        shows(&fiber::on(&runtime, pending::<()>()), "started: false");
        shows(&fiber::unblock(|| ()), "submitted: false");
        shows(&polled(fiber::unblock(std::thread::yield_now)), "submitted: true");
        shows(&fiber::shield(pending::<()>()), "begun: false");
        shows(&polled(fiber::shield(pending::<()>())), "begun: true");
        shows(&polled(fiber::race(pending::<()>(), pending::<()>())), "ended: false");
        shows(&polled(fiber::join_all([pending::<()>(), pending()])), "pending: 2");
        shows(&polled(fiber::map_concurrent(0..9, 2, |_| pending::<()>())), "n: 2, taken: 2, pending: 2");
        let scope = fiber::scope(async |s: &Scope| {
            s.spawn(pending::<()>());
            shows(s, "live: 1");
            s.cancel();
        });
        scope.await.expect("it has ended");
        [fiber]
    });
    let [fiber] = fibers;
    fiber.cancel();
    let id = fiber.id();
    let ended: JoinError = fiber.wait().expect_err("cancelled");
    assert_eq!(format!("{ended:?}"), format!("JoinError(\"fiber {id} was cancelled\")"));
    let token = CancelToken::new();
    shows(&token, "cancelled: false");
    token.cancel();
    shows(&token, "cancelled: true");
    let (mutex, lock) = (Mutex::fair(1), RwLock::new(2));
    shows(&mutex, "value: 1, fair: true");
    shows(&Mutex::new(1), "value: 1, fair: false");
    let _guards = (mutex.try_lock(), lock.try_write());
    shows(&mutex, "value: <locked>");
    shows(&lock, "value: <locked>");
    shows(&RwLock::new(2), "value: 2");
    let semaphore = Semaphore::new(3);
    shows(&semaphore, "available_permits: 3, closed: false");
    shows(&semaphore.try_acquire_many(2), "permits: 2");
    semaphore.close();
    shows(&semaphore, "closed: true");
    let group = WaitGroup::new();
    let _worker = group.worker();
    shows(&group, "count: 1");
    assert_eq!(
        format!("{:?} {:?}", OnceCell::<u8>::new(), OnceCell::from(1)),
        "OnceCell(<empty>) OnceCell(1)"
    );
    let (condvar, other) = (Condvar::new(), Mutex::new(0));
    let waits = condvar.wait(other.try_lock().expect("free"));
    shows(&waits, "waits: false");
    shows(&polled(waits), "waits: true");
    assert_eq!(format!("{:?}", leno::time::Clock::real()), "Clock::Real");
    let late = leno::sync::AcquireTimeoutError::Timeout.to_string();
    assert_eq!(late, "timed out before enough permits were free");
}

/// F1: an unpark that comes while a park leaves its waker ends that park.
#[test]
fn an_unpark_while_a_park_leaves_its_waker_is_not_lost() {
    fiber::Cord::new().block_on(async {
        let me = fiber::current();
        let unparks = hooked_waker(move |event| {
            if event == Event::Clone {
                me.unpark();
            }
        });
        assert!(fiber::park().poll_with(&unparks).is_ready());
    });
}

/// C29: a waker that panics in its drop costs nothing: neither one that was left with a park, nor with a join, nor with a scope.
#[test]
fn wakers_that_fibers_let_go_of_panic_in_their_drops() {
    // (Clones are what is left behind.)
    static ARMED: AtomicBool = AtomicBool::new(true);
    let angry = || {
        Arc::new(hooked_waker(|event| {
            assert!(event != Event::Drop || !ARMED.load(Relaxed), "planted: the drop of a waker panics");
        }))
    };
    crate::support::within("the drop of a waker", move || {
        let runtime = fiber::Runtime::builder().workers(1).build().expect("a thread starts");
        let (parks, joins) = (angry(), angry());
        let parker = Arc::clone(&parks);
        let parked = runtime.spawn(async move {
            assert!(pin!(fiber::park()).poll(&mut Context::from_waker(&parker)).is_pending());
            1
        });
        assert_eq!(parked.wait().expect("it has ended"), 1);
        let mut first = runtime.spawn(std::future::pending::<()>());
        assert!(first.poll_with(&joins).is_pending());
        assert!(first.poll_with(Waker::noop()).is_pending(), "the waker before it is let go of");
        assert!(first.poll_with(&joins).is_pending());
        drop(first);
        let goes_on = AtomicBool::new(false);
        let body = || poll_fn(|_| if goes_on.load(Relaxed) { Poll::Ready(7) } else { Poll::Pending });
        let mut scope = Box::pin(fiber::scope(async |_: &fiber::Scope| body().await));
        for _ in 0..2 {
            assert!(scope.as_mut().poll(&mut Context::from_waker(&joins)).is_pending());
            assert!(scope.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        goes_on.store(true, Relaxed);
        let Poll::Ready(given) = scope.as_mut().poll(&mut Context::from_waker(&joins)) else {
            panic!("it is over")
        };
        assert_eq!(given.expect("nobody has failed"), 7);
        assert_eq!(runtime.spawn(async { 2 }).wait().expect("the worker lives"), 2);
        ARMED.store(false, Relaxed);
    });
}
