//! Values of every shape: C15.

use std::cell::Cell;
use std::marker::PhantomPinned;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use crate::contracts;
use crate::support::{Kind, PollExt};

/// Passes values through every path: buffered, handed to a waiting receiver, taken from a waiting sender, handed
/// back by a receiver that went, by a send that was dropped, and by close. `check` sees each value that arrives.
fn pass_every_way<T>(kind: Kind, mut value: impl FnMut(u8) -> T, check: impl Fn(u8, &T)) {
    let (tx, rx) = kind.open();
    let count = u8::try_from(kind.room(9)).expect("small");
    for i in 0..count {
        assert!(tx.try_send(value(i)).is_ok(), "there is room");
    }
    for i in 0..count {
        check(i, &rx.try_recv().expect("C1: buffered"));
    }
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    assert!(tx.try_send(value(10)).is_ok(), "a receiver waits");
    check(10, &receiving.must_be_ready("served").expect("open"));
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    assert!(tx.try_send(value(11)).is_ok(), "a receiver waits");
    drop(receiving);
    check(11, &rx.try_recv().expect("C9: it came back"));
    if !kind.has_limit() {
        kind.fill(&tx, |_| value(14));
        tx.close();
        return rx.drain().for_each(|v| check(14, &v));
    }
    let held = kind.fill(&tx, |_| value(12));
    let (mut first, mut second) = (tx.send(value(12)), tx.send(value(13)));
    first.must_wait("full");
    second.must_wait("full");
    check(13, &second.into_inner().expect("C10: not sent"));
    for _ in 0..=held {
        check(12, &rx.try_recv().expect("buffered, or its sender waits"));
    }
    assert!(first.must_be_ready("taken").is_ok(), "C4: sent");
    kind.fill(&tx, |_| value(14));
    let mut waiting = tx.send(value(15));
    waiting.must_wait("full");
    tx.close();
    check(15, &waiting.must_be_ready("closed").expect_err("C5: not sent").0);
    rx.drain().for_each(|v| check(14, &v));
}

/// C15: a zero-sized T, counted as any other.
fn zero_sized(kind: Kind) {
    pass_every_way(kind, |_| (), |_, ()| ());
    let (tx, rx) = kind.open();
    for n in 0..kind.room(9) {
        assert_eq!(rx.len(), n, "C17: counted although it has no size");
        tx.try_send(()).expect("there is room");
    }
}

/// C15: a T with a large alignment arrives aligned: as large as a cache line, less, and more.
fn over_aligned(kind: Kind) {
    macro_rules! each {
        ($($align:literal)+) => {$({
            #[repr(align($align))]
            struct Aligned(u8);
            aligned(kind, Aligned, |value| value.0);
        })+};
    }
    each!(32 64 128 256);
}

fn aligned<T: Send + 'static>(kind: Kind, make: fn(u8) -> T, number: fn(&T) -> u8) {
    pass_every_way(kind, make, |i, v| {
        assert_eq!(number(v), i);
        assert_eq!(
            std::ptr::from_ref(v).addr() % align_of::<T>(),
            0,
            "C15: aligned where the receiver holds it"
        );
    });
    // Boxed futures, so that the value inside lies at odd places.
    let (tx, rx) = kind.open();
    let mut waiting = (0..20).map(|i| Box::new((i, tx.send(make(i))))).collect::<Vec<_>>();
    let ready =
        waiting.iter_mut().filter_map(|w| w.1.poll_with(std::task::Waker::noop()).is_ready().then_some(()));
    assert_eq!(ready.count(), kind.room(20));
    assert_eq!(rx.try_iter().map(|v| number(&v)).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
}

/// C15: a T that is not Unpin; the futures are.
fn not_unpin(kind: Kind) {
    pass_every_way(kind, |i| (i, PhantomPinned), |i, v| assert_eq!(v.0, i));
}

/// C15: a T of 4 KiB, larger than any inline payload.
fn larger_than_a_node(kind: Kind) {
    if kind.capacity() > Some(64) {
        return;
    }
    pass_every_way(kind, |i| [i; 4096], |i, v| assert!(v.iter().all(|b| *b == i), "C15: intact"));
}

/// C15: a T of 1 MB.
fn a_megabyte(kind: Kind) {
    if kind.capacity() > Some(3) {
        return;
    }
    // The values pass through the stack; in debug builds several times at once.
    let thread = thread::Builder::new().stack_size(256 << 20).spawn(move || {
        pass_every_way(kind, |i| [i; 1 << 20], |i, v| assert!(v.iter().all(|b| *b == i), "C15: intact"));
    });
    thread.expect("a thread starts").join().expect("C15: a T of 1 MB");
}

/// C15: a T that borrows: no `'static` bound on channels, futures, streams, iterators.
fn borrowed(kind: Kind) {
    let text = String::from("borrowed");
    let seen = Cell::new(0);
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    assert!(tx.try_send((text.as_str(), &seen)).is_ok(), "a receiver waits");
    let (text, seen) = receiving.must_be_ready("served").expect("open");
    seen.set(text.len());
    assert_eq!(seen.get(), 8);
    let words = String::from("borrowed");
    thread::scope(|scope| {
        let (tx, rx) = kind.open();
        let words = &words;
        scope.spawn(move || (0..3).for_each(|i| tx.send_blocking(&words[i..]).expect("open")));
        assert_eq!(rx.iter().collect::<Vec<_>>(), ["borrowed", "orrowed", "rrowed"]);
    });
}

/// C15: a T that is neither Send nor Sync works on one thread; its address does not change on the way of an `Arc`.
fn not_send(kind: Kind) {
    pass_every_way(kind, Rc::new, |i, v| assert_eq!(**v, i));
    let shared = Arc::new(7);
    pass_every_way(kind, |_| Arc::clone(&shared), |_, v| assert!(Arc::ptr_eq(v, &shared), "C15: the same"));
    assert_eq!(Arc::strong_count(&shared), 1, "C1: all dropped");
}

/// C15: niches survive: an `Option<Box>` that is `None` is a value like others.
fn niches(kind: Kind) {
    pass_every_way(kind, |i| (i % 2 == 0).then(|| Box::new(i)), |i, v| assert_eq!(v.is_some(), i % 2 == 0));
}

contracts!(zero_sized, over_aligned, not_unpin, larger_than_a_node, a_megabyte, borrowed, not_send, niches);
