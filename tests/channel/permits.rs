//! Permits: C11, C23, C27, over all capacities.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;
use leno::channel::{
    OwnedPermit, ReserveError, ReserveManyError, ReserveTimeoutError, TryReserveError, TryReserveManyError,
};
use leno::{Receiver, Sender, block_on, bounded, rendezvous, select_biased, unbounded};

use crate::support::{CountingWaker, PollExt};

/// Rings, and linked channels.
const CAPACITIES: [usize; 4] = [1, 2, 64, 1000];

/// With another waker each time.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    future.poll_once(&CountingWaker::new())
}

fn fill(tx: &Sender<usize>, count: usize) {
    (0..count).for_each(|value| tx.try_send(value).unwrap());
}

/// A permit is room: counted by `is_full`, not by `len`; `capacity` of them are there.
#[test]
fn permits_are_room() {
    // C23
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let mut permits = (0..capacity).map(|_| tx.try_reserve().unwrap()).collect::<Vec<_>>();
        assert!(tx.is_full() && rx.is_full() && rx.is_empty());
        assert_eq!((tx.len(), tx.capacity()), (0, Some(capacity)));
        assert!(tx.try_send(0).unwrap_err().is_full());
        assert_eq!(tx.try_reserve().unwrap_err(), TryReserveError::Full);
        assert!(rx.try_recv().unwrap_err().is_empty());
        permits.pop().unwrap().send(7).unwrap();
        assert!(tx.is_full());
        assert_eq!(tx.len(), 1);
        assert_eq!(rx.try_recv(), Ok(7));
        assert!(!tx.is_full());
        tx.try_send(8).unwrap();
        assert_eq!(rx.recv_blocking(), Ok(8));
        drop(permits);
        assert!(!tx.is_full());
        fill(&tx, capacity);
        assert_eq!(rx.drain().count(), capacity);
        tx.assert_valid();
    }
}

/// The order is that of the sends; a permit that is held keeps nobody from receiving.
#[test]
fn order_is_that_of_sends() {
    // C23
    for capacity in [2, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        let permit = tx.try_reserve().unwrap();
        tx.try_send(1).unwrap();
        assert_eq!(rx.try_recv(), Ok(1));
        tx.try_send(2).unwrap();
        permit.send(3).unwrap();
        assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(3)));
    }
}

/// A receiver that waits is handed what a permit sends, and the room is free then.
#[test]
fn sends_to_a_waiting_receiver() {
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let permits = (0..capacity).map(|_| tx.try_reserve().unwrap()).collect::<Vec<_>>();
        let (mut receiving, woken) = (rx.recv(), CountingWaker::new());
        assert!(receiving.poll_once(&woken).is_pending());
        let mut permits = permits.into_iter();
        permits.next().unwrap().send(5).unwrap();
        assert_eq!(woken.count(), 1);
        assert_eq!(receiving.poll_once(&woken), Poll::Ready(Ok(5)));
        assert!(!tx.is_full());
        tx.assert_valid();
    }
}

/// Two reservations wait, one place frees, the first is dropped before it runs: the second gets the place.
#[test]
fn dropped_reservation_passes_its_place_on() {
    // C11
    for capacity in CAPACITIES {
        for freed_by_a_receive in [true, false] {
            let (tx, rx) = bounded(capacity);
            fill(&tx, capacity - 1);
            let mut permit = None;
            if freed_by_a_receive {
                tx.try_send(0).unwrap();
            } else {
                permit = Some(tx.try_reserve().unwrap());
            }
            let (mut first, mut second) = (tx.reserve(), tx.reserve());
            let (one, two) = (CountingWaker::new(), CountingWaker::new());
            assert!(first.poll_once(&one).is_pending() && second.poll_once(&two).is_pending());
            if freed_by_a_receive {
                rx.try_recv().unwrap();
            }
            drop(permit);
            assert_eq!((one.count(), two.count()), (1, 0));
            drop(first);
            assert_eq!(two.count(), 1);
            let Poll::Ready(Ok(permit)) = second.poll_once(&two) else { panic!("it has the place") };
            assert!(tx.is_full());
            drop(permit);
            assert!(!tx.is_full());
            tx.assert_valid();
        }
    }
}

/// Sends and reservations are served in the order in which they began to wait.
#[test]
fn one_line() {
    // C2, C23
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        fill(&tx, capacity);
        let (mut send_1, mut reserve_2, mut send_3, mut reserve_4) =
            (tx.send(101), tx.reserve(), tx.send(103), tx.reserve());
        assert!(poll_once(&mut send_1).is_pending());
        assert!(poll_once(&mut reserve_2).is_pending());
        assert!(poll_once(&mut send_3).is_pending());
        assert!(poll_once(&mut reserve_4).is_pending());
        assert!(tx.try_send(0).unwrap_err().is_full());
        assert!(tx.try_reserve().unwrap_err().is_full());
        let mut got = vec![rx.try_recv().unwrap()];
        assert_eq!(poll_once(&mut send_1), Poll::Ready(Ok(())));
        assert!(poll_once(&mut reserve_2).is_pending());
        got.push(rx.try_recv().unwrap());
        let Poll::Ready(Ok(permit)) = poll_once(&mut reserve_2) else { panic!("it is its turn") };
        assert!(poll_once(&mut send_3).is_pending());
        if capacity == 1 {
            assert!(rx.try_recv().is_err(), "its only place is reserved");
            permit.send(102).unwrap();
        } else {
            permit.send(102).unwrap();
        }
        got.push(rx.try_recv().unwrap());
        assert_eq!(poll_once(&mut send_3), Poll::Ready(Ok(())));
        assert!(poll_once(&mut reserve_4).is_pending());
        got.push(rx.try_recv().unwrap());
        let Poll::Ready(Ok(permit)) = poll_once(&mut reserve_4) else { panic!("it is its turn") };
        permit.send(104).unwrap();
        got.extend(rx.drain());
        let sent = (0..capacity).chain(101..=104).collect::<Vec<_>>();
        assert_eq!(got, sent);
        tx.assert_valid();
    }
}

/// Both sides may wait while all places are reserved.
#[test]
fn both_sides_wait() {
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let permits = block_on(tx.reserve_many(capacity)).unwrap();
        let (mut sending, mut reserving, mut receiving) = (tx.send(1), tx.reserve(), rx.recv());
        assert!(poll_once(&mut sending).is_pending());
        assert!(poll_once(&mut reserving).is_pending());
        assert!(poll_once(&mut receiving).is_pending());
        tx.assert_valid();
        drop(permits);
        assert_eq!(poll_once(&mut sending), Poll::Ready(Ok(())));
        assert_eq!(poll_once(&mut receiving), Poll::Ready(Ok(1)));
        assert!(poll_once(&mut reserving).is_ready());
        tx.assert_valid();
    }
}

/// Closed, it takes what permits send; emptied, or without receivers, it does not.
#[test]
fn permits_outlive_a_close() {
    // C23
    let channels = CAPACITIES.map(bounded).into_iter().chain([unbounded()]);
    for (tx, rx) in channels {
        let (one, two, three) = (tx.clone(), tx.clone(), tx.clone());
        let one = block_on(one.reserve_owned()).unwrap();
        let two = if tx.is_full() { None } else { Some(block_on(two.reserve_owned()).unwrap()) };
        let mut waits = three.reserve();
        let is_full = tx.is_full();
        if is_full {
            assert!(poll_once(&mut waits).is_pending());
        }
        assert!(rx.close());
        assert_eq!(
            poll_once(&mut waits).map(|outcome| outcome.err()),
            Poll::Ready(Some(ReserveError::Closed))
        );
        assert_eq!(tx.try_reserve().unwrap_err(), TryReserveError::Closed);
        assert_eq!(block_on(tx.reserve()).unwrap_err(), ReserveError::Closed);
        assert!(rx.try_recv().unwrap_err().is_closed());
        one.send(1).unwrap();
        assert_eq!((rx.len(), rx.try_recv()), (1, Ok(1)));
        assert!(rx.try_recv().unwrap_err().is_closed());
        drop(waits);
        drop(rx);
        if let Some(two) = two {
            assert_eq!(two.send(2).unwrap_err().into_inner(), 2);
        }
        tx.assert_valid();
    }
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let permit = tx.try_reserve().unwrap();
        rx.close_now();
        assert_eq!(permit.send(1).unwrap_err().into_inner(), 1);
        assert_eq!(rx.len(), 0);
    }
}

/// C8: who is told that the last receiver has gone gets back what it sends by a permit.
#[test]
fn a_permit_finds_what_was_told() {
    struct Sends(Mutex<Option<OwnedPermit<usize>>>, Sender<usize>);
    impl Wake for Sends {
        fn wake(self: Arc<Self>) {
            assert!(self.1.is_closed());
            let permit = self.0.lock().unwrap().take().expect("woken once");
            assert!(permit.send(1).is_err(), "nobody can receive it");
        }
    }
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let permit = block_on(tx.clone().reserve_owned()).unwrap();
        let sends = Arc::new(Sends(Mutex::new(Some(permit)), tx.clone()));
        let waker = Waker::from(Arc::clone(&sends));
        let mut closed = tx.closed();
        assert!(Pin::new(&mut closed).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(rx);
        assert!(sends.0.lock().unwrap().is_none(), "it was told");
    }
}

/// A value that is sent as the last receiver goes is dropped or comes back: also one that owns a sender.
#[test]
fn nothing_is_kept_alive() {
    // C7, C23
    #[allow(dead_code, reason = "they are owned")]
    struct Own(Sender<Own>, Arc<()>);
    for round in 0..200 {
        let (tx, rx) = if round % 2 == 0 { bounded(2) } else { bounded(1000) };
        let alive = Arc::new(());
        let own = Own(tx.clone(), Arc::clone(&alive));
        let permit = block_on(tx.reserve_owned()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || drop(permit.send(own)));
            scope.spawn(move || drop(rx));
        });
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// No room on a rendezvous channel.
#[test]
fn rendezvous_has_no_room() {
    // C23
    let (tx, _rx) = rendezvous::<u8>();
    assert_eq!(tx.try_reserve().unwrap_err(), TryReserveError::Rendezvous);
    assert_eq!(tx.reserve().wait().unwrap_err(), ReserveError::Rendezvous);
    assert_eq!(tx.reserve_many(1).wait().unwrap_err(), ReserveManyError::Rendezvous);
    assert_eq!(tx.clone().reserve_owned().wait().unwrap_err(), ReserveError::Rendezvous);
    let timed = tx.reserve().wait_timeout(Duration::ZERO);
    assert_eq!(timed.unwrap_err(), ReserveTimeoutError::Rendezvous);
    assert!(tx.is_full());
}

/// Several are tried for as one is: all or none, and not before those who wait.
#[test]
fn several_are_tried_for() {
    // C23
    use TryReserveManyError::{Closed, Full, Rendezvous, TooMany};
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        assert_eq!(tx.try_reserve_many(capacity + 1).unwrap_err(), TooMany);
        let mut permits = tx.try_reserve_many(capacity).unwrap();
        assert_eq!((permits.len(), tx.is_full()), (capacity, true));
        permits.next().unwrap().send(1).unwrap();
        assert_eq!(tx.try_reserve_many(1).unwrap_err(), Full);
        assert_eq!(tx.try_reserve_many(0).unwrap().len(), 0, "nothing is always there");
        assert_eq!(rx.try_recv(), Ok(1));
        drop(permits);
        fill(&tx, capacity);
        let mut waits = tx.send(2);
        assert!(poll_once(&mut waits).is_pending());
        assert!(tx.try_reserve_many(1).unwrap_err().is_full(), "somebody waits");
        drop(waits);
        assert_eq!(rx.drain().size_hint(), (0, Some(capacity)));
        assert_eq!(rx.drain().count(), capacity);
        assert_eq!(tx.try_reserve_many(capacity).unwrap().len(), capacity, "all of them came back");
        rx.close();
        assert!(tx.try_reserve_many(1).unwrap_err().is_closed());
        assert_eq!(tx.try_reserve_many(0).unwrap_err(), Closed);
        tx.assert_valid();
    }
    assert_eq!(rendezvous::<u8>().0.try_reserve_many(1).unwrap_err(), Rendezvous);
    let (tx, rx) = unbounded::<u8>();
    assert_eq!(tx.try_reserve_many(1000).unwrap().len(), 1000);
    drop(rx);
    assert_eq!(tx.try_reserve_many(1000).unwrap_err(), Closed);
    let (tx, mut rx) = leno::channel::mpsc::bounded(2);
    tx.try_reserve_many(2).unwrap().for_each(|permit| permit.send(3).unwrap());
    assert_eq!(rx.drain().collect::<Vec<_>>(), [3, 3]);
}

/// Always at once.
#[test]
fn unbounded_has_room() {
    let (tx, rx) = unbounded();
    let permits = block_on(tx.reserve_many(100_000)).unwrap();
    assert_eq!(permits.len(), 100_000);
    let permit = tx.try_reserve().unwrap();
    assert!(!tx.is_full());
    permit.send(1).unwrap();
    drop(permits);
    assert_eq!(rx.drain().collect::<Vec<_>>(), [1]);
}

/// All at once or none; nobody overtakes who waits for several.
#[test]
fn several_at_once() {
    for capacity in [2, 64, 1000] {
        let (tx, rx) = bounded(capacity);
        assert_eq!(block_on(tx.reserve_many(capacity + 1)).unwrap_err(), ReserveManyError::TooMany);
        assert_eq!(block_on(tx.reserve_many(0)).unwrap().count(), 0);
        fill(&tx, capacity);
        assert!(poll_once(&mut tx.reserve_many(0)).is_ready());
        let (mut many, mut one) = (tx.reserve_many(2), tx.reserve());
        assert!(poll_once(&mut many).is_pending() && poll_once(&mut one).is_pending());
        rx.try_recv().unwrap();
        assert!(poll_once(&mut many).is_pending() && poll_once(&mut one).is_pending());
        assert!(tx.try_send(9).unwrap_err().is_full(), "somebody waits for it");
        rx.try_recv().unwrap();
        let Poll::Ready(Ok(mut permits)) = poll_once(&mut many) else { panic!("there are two") };
        assert!(poll_once(&mut one).is_pending());
        permits.next().unwrap().send(1).unwrap();
        assert!(tx.is_full());
        drop(permits);
        assert!(poll_once(&mut one).is_ready());
        tx.assert_valid();

        // One place is there, the first wants two, and leaves.
        let (tx, rx) = bounded(capacity);
        fill(&tx, capacity);
        let (mut many, mut one) = (tx.reserve_many(2), tx.send(1));
        assert!(poll_once(&mut many).is_pending() && poll_once(&mut one).is_pending());
        rx.try_recv().unwrap();
        assert!(poll_once(&mut one).is_pending());
        drop(many);
        assert_eq!(poll_once(&mut one), Poll::Ready(Ok(())));
        assert!(tx.is_full());
        tx.assert_valid();
    }
}

/// Dropped at each of its stages, a reservation keeps nothing.
#[test]
fn cancelled_anywhere() {
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        drop(tx.reserve());
        fill(&tx, capacity);
        let mut waits = tx.reserve();
        assert!(poll_once(&mut waits).is_pending());
        drop(waits);
        let (mut first, mut second) = (tx.reserve(), tx.reserve());
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
        drop(second);
        rx.try_recv().unwrap();
        assert!(tx.try_send(0).unwrap_err().is_full(), "the first has the place");
        drop(first);
        tx.try_send(0).unwrap();
        let mut owned = tx.clone().reserve_owned();
        assert!(poll_once(&mut owned).is_pending());
        assert_eq!(tx.sender_count(), 2);
        rx.try_recv().unwrap();
        drop(owned);
        assert_eq!(tx.sender_count(), 1);
        tx.try_send(0).unwrap();
        assert_eq!(rx.drain().count(), capacity);
        tx.assert_valid();
    }
}

/// Another waker, a forgotten future, a completed one.
#[test]
fn futures() {
    // C12, C26
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        fill(&tx, capacity);
        let (a, b) = (CountingWaker::new(), CountingWaker::new());
        let mut waits = tx.reserve();
        assert!(waits.poll_once(&a).is_pending() && waits.poll_once(&b).is_pending());
        assert!(!waits.is_terminated());
        rx.try_recv().unwrap();
        assert_eq!((a.count(), b.count()), (0, 1));
        assert!(waits.poll_once(&b).is_ready());
        assert!(waits.is_terminated());
        // The permit went with the poll: its place is free.
        std::mem::forget(tx.try_reserve().unwrap());
        assert!(tx.is_full(), "a forgotten permit strands its place");
        tx.assert_valid();
    }
}

/// The forms of threads.
#[test]
fn on_threads() {
    // C16
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        fill(&tx, capacity);
        assert!(tx.reserve().wait_timeout(Duration::ZERO).unwrap_err().is_timeout());
        assert!(tx.reserve().wait_deadline(Instant::now()).unwrap_err().is_timeout());
        if capacity > 1 {
            assert!(tx.reserve_many(2).wait_timeout(Duration::from_millis(2)).unwrap_err().is_timeout());
        }
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| tx.reserve().wait().unwrap().send(5).unwrap());
            rx.recv_blocking().unwrap();
            waits.join().unwrap();
        });
        assert_eq!(rx.drain().last(), Some(5));
        assert!(tx.reserve().wait_timeout(Duration::MAX).is_ok());
        tx.assert_valid();
    }
}

/// A branch of a select, which gets the place or nothing.
#[test]
fn in_a_select() {
    // S1
    for capacity in CAPACITIES {
        block_on(async {
            let (tx, rx) = bounded(capacity);
            let (_other, never) = bounded::<u8>(1);
            let permit = select_biased! {
                _ = never.recv() => unreachable!(),
                permit = tx.reserve() => permit.unwrap(),
            };
            permit.send(0).unwrap();
            fill(&tx, capacity - 1);
            select_biased! {
                _ = tx.reserve() => unreachable!("it is full"),
                value = rx.recv() => assert_eq!(value, Ok(0)),
            }
            fill(&tx, 1);
            // It waits, and loses.
            let mut selecting = Box::pin(async {
                select_biased! {
                    permit = tx.reserve() => permit.map(|permit| permit.send(77)).is_ok(),
                    _ = never.recv() => false,
                }
            });
            assert!(poll_once(&mut selecting).is_pending());
            drop(selecting);
            // It waits, and wins; another one wins and is dropped: the place goes to the next.
            let select = || {
                Box::pin(async {
                    select_biased! {
                        permit = tx.reserve() => permit.map(|permit| permit.send(77)).is_ok(),
                        _ = never.recv() => false,
                    }
                })
            };
            let (mut first, mut second) = (select(), select());
            assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
            rx.try_recv().unwrap();
            drop(first);
            assert_eq!(poll_once(&mut second), Poll::Ready(true));
            assert_eq!(rx.drain().last(), Some(77));
            tx.assert_valid();
        });
    }
}

/// Sends and receives of one channel in one select, while all places are reserved.
#[test]
fn select_over_both_sides() {
    // S4
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let permits = block_on(tx.reserve_many(capacity)).unwrap();
        let mut selecting = Box::pin(async {
            select_biased! {
                sent = tx.send(1) => { sent.unwrap(); "sent" }
                value = rx.recv() => { value.unwrap(); "received" }
                permit = tx.reserve() => { drop(permit.unwrap()); "reserved" }
            }
        });
        assert!(poll_once(&mut selecting).is_pending());
        assert!(poll_once(&mut selecting).is_pending());
        drop(permits);
        assert_eq!(poll_once(&mut selecting), Poll::Ready("sent"));
        drop(selecting);
        tx.assert_valid();
    }
}

/// A waker that comes back to the channel.
#[test]
fn wakes_come_back() {
    // C13
    struct Back(Sender<usize>, Receiver<usize>);
    impl Wake for Back {
        fn wake(self: Arc<Self>) {
            let permit = self.0.try_reserve();
            drop(permit);
            let _ = self.0.try_send(3);
            let _ = self.1.try_recv();
        }
    }
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let waker = Waker::from(Arc::new(Back(tx.clone(), rx.clone())));
        fill(&tx, capacity);
        let (mut one, mut two, mut three) = (tx.reserve(), tx.send(1), tx.reserve());
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut one).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut two).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut three).poll(&mut cx).is_pending());
        rx.try_recv().unwrap();
        drop((one, two, three));
        rx.drain().for_each(|_| {});
        tx.assert_valid();
        assert!(!tx.is_full());
    }
}

/// Reservations, sends, receives and cancelled waits from several threads: values arrive once, and never more than fit.
#[test]
fn stress() {
    // C1, C23, C27
    const ROUNDS: usize = 3_000;
    for capacity in CAPACITIES {
        let (tx, rx) = bounded::<usize>(capacity);
        let (taken, got) = (AtomicIsize::new(0), std::sync::Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (tx, taken) = (tx.clone(), &taken);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let value = thread * ROUNDS + round;
                        match (thread + round) % 5 {
                            0 => tx.send_blocking(value).unwrap(),
                            1 => {
                                let permit = tx.reserve().wait().unwrap();
                                let now = taken.fetch_add(1, SeqCst);
                                assert!(now < capacity as isize, "more permits than places");
                                taken.fetch_sub(1, SeqCst);
                                permit.send(value).unwrap();
                            }
                            2 => {
                                drop(tx.try_reserve());
                                let mut waits = tx.reserve();
                                let _ = poll_once(&mut waits);
                                drop(waits);
                                tx.send_blocking(value).unwrap();
                            }
                            3 => {
                                let count = capacity.min(3);
                                let mut permits = tx.reserve_many(count).wait().unwrap();
                                permits.next().unwrap().send(value).unwrap();
                                assert!(tx.len() <= capacity);
                            }
                            _ => {
                                let tx = block_on(tx.clone().reserve_owned()).unwrap().send(value).unwrap();
                                drop(tx.reserve().wait_timeout(Duration::from_micros(1)));
                            }
                        }
                    }
                });
            }
            for _ in 0..2 {
                let (rx, got) = (rx.clone(), &got);
                scope.spawn(move || {
                    let values = rx.iter().collect::<Vec<_>>();
                    got.lock().unwrap().extend(values);
                });
            }
            drop(tx);
        });
        let got = got.into_inner().unwrap();
        assert_eq!(got.len(), 4 * ROUNDS);
        assert_eq!(got.into_iter().collect::<BTreeSet<_>>().len(), 4 * ROUNDS);
        rx.assert_valid();
        assert!(rx.is_empty() && !rx.is_full());
    }
}

/// Selects that reserve here or receive there, from several threads.
#[test]
fn stress_of_selects() {
    // C1, C11, S12
    const ROUNDS: usize = 2_000;
    for capacity in CAPACITIES {
        let ((tx, rx), (back, other)) = (bounded::<usize>(capacity), bounded::<usize>(capacity));
        let reserved = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (tx, other, reserved) = (tx.clone(), other.clone(), &reserved);
                scope.spawn(move || {
                    let mut got = 0;
                    while got < ROUNDS {
                        leno::select_blocking! {
                            permit = tx.reserve() => {
                                reserved.fetch_add(1, SeqCst);
                                permit.unwrap().send(1).unwrap();
                            }
                            value = other.recv() => got += value.unwrap(),
                        }
                    }
                });
            }
            scope.spawn(move || (0..3 * ROUNDS).for_each(|_| back.send_blocking(1).unwrap()));
            drop((tx, other));
            assert_eq!(rx.iter().sum::<usize>(), reserved.load(SeqCst));
        });
        rx.assert_valid();
    }
}

/// Threads that each hold a place, then give it back, never see a full channel.
#[test]
fn never_full_where_there_is_room() {
    // C27
    for capacity in [4, 64, 1000] {
        let (tx, rx) = bounded::<usize>(capacity);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (tx, rx) = (tx.clone(), rx.clone());
                scope.spawn(move || {
                    for round in 0..2_000 {
                        if (thread + round) % 2 == 0 {
                            drop(tx.try_reserve().expect("four threads, and room for four"));
                        } else {
                            tx.try_send(round).expect("four threads, and room for four");
                            rx.try_recv().expect("it has just sent one");
                        }
                    }
                });
            }
        });
        tx.assert_valid();
    }
}

/// On fibers, with workers.
#[test]
fn on_fibers() {
    for capacity in CAPACITIES {
        let (tx, rx) = bounded(capacity);
        let sum = block_on(async move {
            let senders = (0..8).map(|fiber| {
                let tx = tx.clone();
                leno::spawn(async move {
                    for round in 0..200 {
                        tx.reserve().await.unwrap().send(fiber * round).unwrap();
                    }
                })
            });
            let senders = senders.collect::<Vec<_>>();
            drop(tx);
            let mut sum = 0;
            while let Ok(value) = rx.recv().await {
                sum += value;
            }
            for sender in senders {
                sender.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 28 * 199 * 100);
    }
}
