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

/// C15: a T with a large alignment arrives aligned.
fn over_aligned(kind: Kind) {
    #[repr(align(256))]
    struct Aligned(u8);
    pass_every_way(kind, Aligned, |i, v| {
        assert_eq!(v.0, i);
        assert_eq!(std::ptr::from_ref(v).addr() % 256, 0, "C15: aligned where the receiver holds it");
    });
    // Boxed futures, so that the value inside lies at odd places.
    let (tx, rx) = kind.open();
    let mut waiting = (0..20).map(|i| Box::new((i, tx.send(Aligned(i))))).collect::<Vec<_>>();
    let ready =
        waiting.iter_mut().filter_map(|w| w.1.poll_with(std::task::Waker::noop()).is_ready().then_some(()));
    assert_eq!(ready.count(), kind.room(20));
    assert_eq!(rx.try_iter().map(|v| v.0).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
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

/// A megabyte that says which one it is.
struct Large([u8; 1 << 20]);

impl Large {
    fn new(number: u8) -> Large {
        Large([number; 1 << 20])
    }

    #[track_caller]
    fn check(&self, number: u8) {
        assert!(self.0.iter().all(|byte| *byte == number), "C30: intact");
    }
}

/// C30: a T of 1 MB on an ordinary stack, in every way in which a value passes. (A debug build copies each of them many
/// times on the stack.)
fn a_megabyte_on_a_stack_of_8_mib(kind: Kind) {
    if cfg!(debug_assertions) || kind.capacity() > Some(3) && kind.capacity() < Some(1000) {
        return;
    }
    let ways: [fn(Kind); 6] = [large_tries, large_waits, large_blocks, large_selects, large_sets, large_drops];
    for way in ways {
        let thread = thread::Builder::new().stack_size(8 << 20).spawn(move || way(kind)).expect("a thread starts");
        thread.join().expect("C30: a T of 1 MB");
    }
}

#[inline(never)]
fn large_tries(kind: Kind) {
    let (tx, rx) = kind.open();
    for i in 0..kind.room(3) as u8 {
        assert!(tx.try_send(Large::new(i)).is_ok());
    }
    if kind.capacity() <= Some(3) && kind.has_limit() {
        tx.try_send(Large::new(9)).err().expect("full").into_inner().check(9);
    }
    for i in 0..kind.room(3) as u8 {
        rx.try_recv().ok().expect("buffered").check(i);
    }
}

/// Handed to a receiver that waits; taken from a sender that waits; given back by either.
#[inline(never)]
fn large_waits(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    assert!(tx.send(Large::new(1)).must_be_ready("somebody waits").is_ok());
    receiving.must_be_ready("served").ok().expect("open").check(1);
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    assert!(tx.try_send(Large::new(2)).is_ok());
    drop(receiving);
    rx.recv().must_be_ready("given back").ok().expect("open").check(2);
    if kind.capacity() > Some(3) || !kind.has_limit() {
        return;
    }
    let held = kind.fill(&tx, |i| Large::new(i as u8)) as u8;
    let (mut first, mut second) = (tx.send(Large::new(held)), tx.send(Large::new(held + 1)));
    first.must_wait("full");
    second.must_wait("full");
    second.into_inner().expect("not sent").check(held + 1);
    for i in 0..=held {
        rx.recv().must_be_ready("there").ok().expect("open").check(i);
    }
    assert!(first.must_be_ready("taken").is_ok());
}

#[inline(never)]
fn large_blocks(kind: Kind) {
    let (tx, rx) = kind.open();
    thread::scope(|scope| {
        let sender = thread::Builder::new().stack_size(8 << 20).spawn_scoped(scope, || {
            for i in 0..10 {
                assert!(if i % 2 == 0 { tx.send_blocking(Large::new(i)).is_ok() } else { leno::block_on(tx.send(Large::new(i))).is_ok() });
            }
        });
        for i in 0..10 {
            let received = if i % 3 == 0 { rx.recv_blocking() } else { leno::block_on(rx.recv()) };
            received.ok().expect("open").check(i);
        }
        sender.expect("a thread starts").join().expect("the sender ends");
    });
}

#[inline(never)]
fn large_selects(kind: Kind) {
    let (tx, rx) = kind.open();
    let (_other, never) = kind.open::<Large>();
    thread::scope(|scope| {
        let sender = thread::Builder::new().stack_size(8 << 20).spawn_scoped(scope, || {
            for i in 0..5 {
                leno::select_blocking! {
                    sent = tx.send(Large::new(i)) => assert!(sent.is_ok()),
                    _ = never.recv() => unreachable!(),
                }
            }
        });
        for i in 0..5 {
            leno::block_on(async {
                leno::select! {
                    received = rx.recv() => received.ok().expect("open").check(i),
                    _ = never.recv() => unreachable!(),
                }
            });
        }
        sender.expect("a thread starts").join().expect("the sender ends");
    });
}

#[inline(never)]
fn large_sets(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut set = leno::select::Select::new();
    let receive = set.recv(&rx);
    let mut selecting = set.select();
    selecting.must_wait("empty");
    assert!(tx.try_send(Large::new(1)).is_ok());
    selecting.must_be_ready("served").recv(receive).ok().expect("open").check(1);
    drop(selecting);
    drop(set);
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    let mut set = leno::select::Select::new();
    let send = set.send(&tx, Large::new(2));
    assert!(set.select().must_be_ready("somebody waits").send(send).is_ok());
    receiving.must_be_ready("served").ok().expect("open").check(2);
    let _unused = set.send(&tx, Large::new(3));
}

/// Dropped in the channel, while they wait, and with the error.
#[inline(never)]
fn large_drops(kind: Kind) {
    for how in 0..3 {
        let (tx, rx) = kind.open();
        for i in 0..kind.room(3) as u8 {
            assert!(tx.try_send(Large::new(i)).is_ok());
        }
        let mut sending = tx.send(Large::new(9));
        let _ = sending.poll_with(std::task::Waker::noop());
        match how {
            0 => drop(sending),
            1 => drop(tx.close_now()),
            _ => {}
        }
        drop(rx);
    }
    let (tx, rx) = kind.open();
    drop(rx);
    tx.send(Large::new(4)).must_be_ready("closed").expect_err("closed").0.check(4);
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

contracts!(zero_sized, over_aligned, not_unpin, larger_than_a_node, a_megabyte, a_megabyte_on_a_stack_of_8_mib, borrowed, not_send, niches);
