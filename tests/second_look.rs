//! Misuse from safe code that a review has found to be more than misuse once: an operation is polled again after somebody
//! else's waker has panicked in it; an operation is used whose select was forgotten; capacities at the end of the scale.

#[path = "contract/support/mod.rs"]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use leno::select::{Select, select};
use leno::{bounded, rendezvous};

use support::{Event, PollExt, Tracker, hooked_waker};

/// C1, C29: a select that is polled again after a waker has panicked in it sends its value once.
#[test]
fn a_select_that_is_polled_again_after_a_panic_sends_once() {
    let tracker = Tracker::new();
    let (tx, rx) = bounded(1);
    let mut waiting = rx.recv();
    let panics = hooked_waker(|event| assert!(event != Event::Wake, "planted: a waker panics"));
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

/// C17: capacities that no memory could hold.
#[test]
fn the_largest_capacities() {
    for capacity in [usize::MAX, usize::MAX - 1, usize::MAX / 2, 1 << 40] {
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
    let panics = hooked_waker(|event| assert!(event != Event::Wake, "planted: a waker panics"));
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
