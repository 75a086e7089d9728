//! Values of every shape: C15.

use std::cell::Cell;
use std::marker::PhantomPinned;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread::{self, Scope};

use leno::channel::{RecvFuture, SendFuture};
use leno::select::Select;
use leno::{Receiver, Sender};

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

/// C30: a T of 1 MB on a small stack, in every way in which a value passes. (A debug build copies each of them many
/// times on the stack.)
fn a_megabyte_on_a_small_stack(kind: Kind) {
    if cfg!(debug_assertions) || kind.capacity() > Some(3) && kind.capacity() < Some(1000) {
        return;
    }
    let ways: [fn(Kind); 6] =
        [large_tries, large_waits, large_blocks, large_selects, large_sets, large_drops];
    for way in ways {
        let thread =
            thread::Builder::new().stack_size(stack()).spawn(move || way(kind)).expect("a thread starts");
        thread.join().expect("C30: a T of 1 MB");
    }
}

/// C30 asks for 8 MiB, which is not enough yet: a receive alone takes as much. `LENO_STACK` gives another number of MiB.
fn stack() -> usize {
    std::env::var("LENO_STACK").ok().and_then(|n| n.parse().ok()).unwrap_or(32) << 20
}

// Each step has a frame of its own: what a test holds besides is not the library's to bear.

#[inline(never)]
fn put(tx: &Sender<Large>, number: u8) -> bool {
    tx.try_send(Large::new(number)).is_ok()
}

#[inline(never)]
fn sending(tx: &Sender<Large>, number: u8) -> Box<SendFuture<'_, Large>> {
    Box::new(tx.send(Large::new(number)))
}

#[inline(never)]
fn get(rx: &Receiver<Large>, number: u8) {
    rx.try_recv().expect("there is one").check(number);
}

#[inline(never)]
fn end(mut receiving: RecvFuture<'_, Large>, number: u8) {
    receiving.must_be_ready("it is there").expect("open").check(number);
}

/// Whether a send that is polled is through.
#[inline(never)]
fn is_sent(sending: &mut SendFuture<'_, Large>) -> bool {
    match sending.poll_with(Waker::noop()) {
        Poll::Ready(sent) => sent.is_ok(),
        Poll::Pending => false,
    }
}

fn small<'scope>(scope: &'scope Scope<'scope, '_>, run: impl FnOnce() + Send + 'scope) {
    thread::Builder::new().stack_size(stack()).spawn_scoped(scope, run).expect("a thread starts");
}

fn large_tries(kind: Kind) {
    let (tx, rx) = kind.open();
    let room = kind.room(3) as u8;
    assert!((0..room).all(|i| put(&tx, i)));
    assert_eq!(put(&tx, 9), !kind.has_limit() || kind.capacity() > Some(3), "full");
    (0..room).for_each(|i| get(&rx, i));
}

/// Handed to a receiver that waits; taken from a sender that waits; given back by either.
fn large_waits(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    assert!(is_sent(&mut sending(&tx, 1)));
    end(receiving, 1);
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    assert!(put(&tx, 2));
    drop(receiving);
    end(rx.recv(), 2);
    if kind.capacity() > Some(3) || !kind.has_limit() {
        return;
    }
    let held = kind.room(9) as u8;
    assert!((0..held).all(|i| put(&tx, i)));
    let (mut first, mut second) = (sending(&tx, held), sending(&tx, held + 1));
    assert!(!is_sent(&mut first) && !is_sent(&mut second));
    drop(second);
    (0..=held).for_each(|i| end(rx.recv(), i));
    assert!(is_sent(&mut first));
}

fn large_blocks(kind: Kind) {
    let (tx, rx) = kind.open();
    let (send, recv) = (
        |i| {
            if i % 2 == 0 {
                tx.send_blocking(Large::new(i)).is_ok()
            } else {
                leno::block_on(sending(&tx, i)).is_ok()
            }
        },
        |i| if i % 3 == 0 { rx.recv_blocking() } else { leno::block_on(rx.recv()) }.expect("open").check(i),
    );
    thread::scope(|scope| {
        small(scope, || assert!((0..10).all(send)));
        (0..10).for_each(recv);
    });
}

fn large_selects(kind: Kind) {
    let (tx, rx) = kind.open();
    let (_other, never) = kind.open::<()>();
    let send = |i| {
        leno::select_blocking! {
            sent = tx.send(Large::new(i)) => assert!(sent.is_ok()),
            _ = never.recv() => unreachable!(),
        }
    };
    let recv = |i| {
        leno::select_blocking! {
            received = rx.recv() => received.expect("open").check(i),
            _ = never.recv() => unreachable!(),
        }
    };
    thread::scope(|scope| {
        small(scope, || (0..5).for_each(send));
        (0..5).for_each(recv);
    });
}

fn large_sets(kind: Kind) {
    let (tx, rx) = kind.open();
    large_received_by_a_set(&tx, &rx);
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    large_sent_by_a_set(&tx);
    end(receiving, 2);
}

#[inline(never)]
fn large_received_by_a_set(tx: &Sender<Large>, rx: &Receiver<Large>) {
    let mut set = Select::new();
    let receive = set.recv(rx);
    let mut selecting = set.select();
    selecting.must_wait("empty");
    assert!(put(tx, 1));
    selecting.must_be_ready("served").recv(receive).expect("open").check(1);
}

#[inline(never)]
fn large_sent_by_a_set(tx: &Sender<Large>) {
    let mut set = Select::new();
    let send = set.send(tx, Large::new(2));
    assert!(set.select().must_be_ready("somebody waits").send(send).is_ok());
    // Dropped with the set.
    set.send(tx, Large::new(3));
}

/// Dropped in the channel, while they wait, and with the error.
fn large_drops(kind: Kind) {
    for how in 0..3 {
        let (tx, rx) = kind.open();
        assert!((0..kind.room(3) as u8).all(|i| put(&tx, i)));
        let mut waiting = sending(&tx, 9);
        is_sent(&mut waiting);
        match how {
            0 => drop(waiting),
            1 => assert!(tx.close_now()),
            _ => drop(rx),
        }
    }
    let (tx, rx) = kind.open();
    drop(rx);
    assert!(!is_sent(&mut sending(&tx, 4)) && !put(&tx, 5), "closed");
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

contracts!(
    zero_sized,
    over_aligned,
    not_unpin,
    larger_than_a_node,
    a_megabyte,
    a_megabyte_on_a_small_stack,
    borrowed,
    not_send,
    niches
);
