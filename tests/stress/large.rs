//! Large values: C30. One of a megabyte passes in every way, through every kind, on a thread with a small stack; a stack
//! that overflows ends the test program.
//!
//! In a release build that stack is of 8 MiB; CI runs this one. A debug build copies each value many times on the stack, and
//! gets more. `LENO_STACK` gives another number of MiB.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures_core::Stream;
use leno::channel::{Builder, Overflow, RecvFuture, SendFuture, spsc};
use leno::fiber::Runtime;
use leno::select::{Select, Selected2, select};
use leno::{Receiver, Sender, select_blocking, timeout};

const CAPACITIES: [Option<usize>; 5] = [Some(0), Some(1), Some(3), Some(1000), None];
/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// A megabyte that says which one it is.
struct Large([u8; 1 << 20]);

impl Large {
    #[inline(never)]
    fn new(number: u8) -> Large {
        Large([number; 1 << 20])
    }

    #[inline(never)]
    #[track_caller]
    fn check(&self, number: u8) {
        assert!(self.0.iter().all(|byte| *byte == number), "C30: intact");
    }
}

type Channel = (Sender<Large>, Receiver<Large>);

fn open<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    capacity.map_or_else(leno::unbounded, leno::bounded)
}

fn stack() -> usize {
    let of_build = if cfg!(debug_assertions) { 64 } else { 8 };
    std::env::var("LENO_STACK").ok().and_then(|n| n.parse().ok()).unwrap_or(of_build) << 20
}

fn small<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(stack()).spawn_scoped(scope, run);
        thread.expect("a thread starts").join().expect("C30: a value of 1 MB")
    })
}

/// Runs a way for each kind, on a thread of its own.
fn for_each_kind(way: fn(&Channel)) {
    for capacity in CAPACITIES {
        small(|| way(&open(capacity)));
    }
}

/// Runs a peer on another thread, which begins when this one may be asleep, or may not.
fn beside(peer: impl FnOnce() + Send, run: impl FnOnce()) {
    thread::scope(|scope| {
        thread::Builder::new().stack_size(stack()).spawn_scoped(scope, peer).expect("a thread starts");
        run();
    });
}

// Each step has a frame of its own: what a test holds besides is not the library's to bear.

#[inline(never)]
fn put(tx: &Sender<Large>, number: u8) -> bool {
    tx.try_send(Large::new(number)).is_ok()
}

#[inline(never)]
fn get(rx: &Receiver<Large>, number: u8) {
    rx.try_recv().expect("there is one").check(number);
}

#[inline(never)]
fn sending(tx: &Sender<Large>, number: u8) -> Box<SendFuture<'_, Large>> {
    Box::new(tx.send(Large::new(number)))
}

/// Whether a send that is polled is through.
#[inline(never)]
fn is_sent(sending: &mut SendFuture<'_, Large>) -> bool {
    let polled = Pin::new(sending).poll(&mut Context::from_waker(Waker::noop()));
    matches!(polled, Poll::Ready(Ok(())))
}

/// Whether a send that is polled is through with the error, and its value.
#[inline(never)]
fn is_refused(sending: &mut SendFuture<'_, Large>, number: u8) -> bool {
    match Pin::new(sending).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Err(error)) => {
            error.0.check(number);
            true
        }
        _ => false,
    }
}

#[inline(never)]
fn is_received(receiving: &mut RecvFuture<'_, Large>, number: u8) -> bool {
    match Pin::new(receiving).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(received) => {
            received.expect("open").check(number);
            true
        }
        Poll::Pending => false,
    }
}

/// Fills a channel that can be full; how many it holds. `None`: it holds too many.
fn fill(tx: &Sender<Large>) -> Option<u8> {
    let room = tx.capacity().filter(|room| *room < 10)? as u8;
    assert!((0..room).all(|i| put(tx, i)), "there is room");
    assert!(!put(tx, 9), "full");
    Some(room)
}

/// C30: what is queued is dropped without room on the stack.
#[test]
fn dropped() {
    fn on_little<T: Send + 'static>(dropped: T) {
        let little = thread::Builder::new().stack_size(256 << 10);
        little.spawn(move || drop(dropped)).expect("a thread starts").join().expect("C30");
    }
    for capacity in CAPACITIES {
        small(|| {
            let (tx, rx) = open(capacity);
            (0..3).for_each(|number| _ = put(&tx, number));
            on_little(rx);
            assert!(tx.is_closed());
            let (mut tx, rx) = capacity.map_or_else(spsc::unbounded, spsc::bounded);
            (0..3).for_each(|number| _ = tx.try_send(Large::new(number)).is_ok());
            on_little(rx);
            assert!(tx.is_closed());
        });
    }
}

/// C30, C21: what a policy discards goes to the hook, or is dropped, from where it lies.
#[test]
fn discarded() {
    for (overflow, left) in [(Overflow::DropOldest, [3, 4]), (Overflow::DropNewest, [0, 1])] {
        for capacity in [1, 2] {
            small(|| {
                let discarded = Arc::new(Mutex::new(Vec::new()));
                let hears = Arc::clone(&discarded);
                let hook = move |value: Large| {
                    let number = value.0[0];
                    value.check(number);
                    hears.lock().unwrap().push(number);
                };
                let (tx, rx) =
                    Builder::new().capacity(capacity).overflow(overflow).on_undelivered(hook).build();
                assert!((0..5).all(|number| put(&tx, number)), "it never waits");
                let left =
                    if overflow == Overflow::DropOldest { &left[2 - capacity..] } else { &left[..capacity] };
                left.iter().for_each(|number| get(&rx, *number));
                assert!(put(&tx, 7));
                drop((tx, rx));
                let expected = (0..5).filter(|number| !left.contains(number)).chain([7]);
                assert!(discarded.lock().unwrap().iter().copied().eq(expected), "{overflow:?}, {capacity}");

                let (tx, rx) = Builder::new().capacity(capacity).overflow(overflow).build();
                assert!((0..5).all(|number| put(&tx, number)), "it never waits");
                left.iter().for_each(|number| get(&rx, *number));
            });
        }
    }
}

/// C30: without waiting.
#[test]
fn tries() {
    for_each_kind(|(tx, rx)| {
        let held = fill(tx).unwrap_or_else(|| (0..3).map(|i| u8::from(put(tx, i))).sum());
        (0..held).for_each(|i| get(rx, i));
        assert!(rx.try_recv().is_err(), "empty");
    });
}

/// C30: handed to a receiver that waits, and given back by one that has left.
#[test]
fn handed_over() {
    for_each_kind(|(tx, rx)| {
        let mut receiving = rx.recv();
        assert!(!is_received(&mut receiving, 0));
        assert!(is_sent(&mut sending(tx, 1)));
        assert!(is_received(&mut receiving, 1));
        let mut receiving = rx.recv();
        assert!(!is_received(&mut receiving, 0));
        assert!(put(tx, 2));
        drop(receiving);
        get(rx, 2);
    });
}

/// C30: taken from a sender that waits; dropped, and given back, while it waits.
#[test]
fn taken_over() {
    #[inline(never)]
    fn cancel(sending: SendFuture<'_, Large>, number: u8) {
        sending.into_inner().expect("it was not sent").check(number);
    }
    for_each_kind(|(tx, rx)| {
        let Some(held) = fill(tx) else { return };
        let mut waiting = [held, 7, 8, 9].map(|i| sending(tx, i));
        waiting.iter_mut().for_each(|sending| assert!(!is_sent(sending)));
        let [mut first, second, third, fourth] = waiting;
        drop(second);
        cancel(*third, 8);
        (0..=held).for_each(|i| get(rx, i));
        assert!(is_sent(&mut first));
        if held == 0 {
            get(rx, 9);
        }
        drop(fourth);
    });
}

/// C30: on threads, also asleep; with a limit, in time and too late.
#[test]
fn blocks() {
    #[inline(never)]
    fn send(tx: &Sender<Large>, i: u8) {
        match i % 3 {
            0 => assert!(tx.send_blocking(Large::new(i)).is_ok()),
            1 => assert!(tx.send_timeout(Large::new(i), LONG).is_ok()),
            _ => assert!(tx.send(Large::new(i)).wait_deadline(Instant::now() + LONG).is_ok()),
        }
    }
    #[inline(never)]
    fn receive(rx: &Receiver<Large>, i: u8) {
        match i % 4 {
            0 => rx.recv_blocking().expect("open").check(i),
            1 => rx.recv_timeout(LONG).expect("open").check(i),
            2 => rx.recv().wait_deadline(Instant::now() + LONG).expect("open").check(i),
            _ => rx.iter().next().expect("open").check(i),
        }
    }
    #[inline(never)]
    fn too_late(tx: &Sender<Large>) {
        let error = tx.send_timeout(Large::new(9), Duration::from_millis(1)).expect_err("full");
        error.into_inner().check(9);
    }
    for_each_kind(|(tx, rx)| {
        beside(|| (0..24).for_each(|i| send(tx, i)), || (0..24).for_each(|i| receive(rx, i)));
        assert!(rx.recv_timeout(Duration::from_millis(1)).is_err(), "empty");
        if fill(tx).is_some() {
            too_late(tx);
        }
    });
}

/// C30: as futures of an executor.
#[test]
fn fibers() {
    #[inline(never)]
    fn receive(rx: &Receiver<Large>, i: u8) {
        if i % 2 == 0 {
            leno::block_on(rx.recv()).expect("open").check(i);
        } else {
            leno::block_on(async {
                timeout(LONG, rx.recv()).await.expect("in time").expect("open").check(i)
            });
        }
    }
    for_each_kind(|(tx, rx)| {
        let send = |i| assert!(leno::block_on(sending(tx, i)).is_ok());
        beside(|| (0..10).for_each(send), || (0..10).for_each(|i| receive(rx, i)));
    });
}

/// C30: by the macro and the function, ready and waiting, on threads and in fibers.
#[test]
fn selects() {
    #[inline(never)]
    fn send(tx: &Sender<Large>, never: &Receiver<()>, i: u8) {
        select_blocking! {
            sent = tx.send(Large::new(i)) => assert!(sent.is_ok()),
            _ = never.recv() => unreachable!(),
        }
    }
    #[inline(never)]
    fn send_lent(tx: &Sender<Large>, never: &Receiver<()>, i: u8) {
        let mut sending = sending(tx, i);
        match select((&mut *sending, never.recv())).wait() {
            Selected2::First(sent) => assert!(sent.is_ok()),
            Selected2::Second(_) => unreachable!(),
        }
    }
    #[inline(never)]
    fn receive(rx: &Receiver<Large>, never: &Receiver<()>, i: u8) {
        select_blocking! {
            received = rx.recv() => received.expect("open").check(i),
            _ = never.recv() => unreachable!(),
        }
    }
    #[inline(never)]
    fn receive_in_time(rx: &Receiver<Large>, never: &Receiver<()>, i: u8) {
        match select((rx.recv(), never.recv())).wait_timeout(LONG).expect("in time") {
            Selected2::First(received) => received.expect("open").check(i),
            Selected2::Second(_) => unreachable!(),
        }
    }
    #[inline(never)]
    fn receive_in_a_fiber(rx: &Receiver<Large>, never: &Receiver<()>, i: u8) {
        leno::block_on(async {
            leno::select! {
                received = rx.recv() => received.expect("open").check(i),
                _ = never.recv() => unreachable!(),
            }
        });
    }
    for_each_kind(|(tx, rx)| {
        let (_other, never) = open(tx.capacity());
        let send = |i| if i % 2 == 0 { send(tx, &never, i) } else { send_lent(tx, &never, i) };
        let receive = |i| match i % 3 {
            0 => receive(rx, &never, i),
            1 => receive_in_time(rx, &never, i),
            _ => receive_in_a_fiber(rx, &never, i),
        };
        beside(|| (0..12).for_each(send), || (0..12).for_each(receive));
        // Whose value is placed by the receiver, in a ring that is full.
        if let Some(held) = fill(tx) {
            beside(|| send(held), || (0..=held).for_each(|i| rx.recv_blocking().expect("open").check(i)));
        }
    });
}

/// C30: by a dynamic set.
#[test]
fn sets() {
    #[inline(never)]
    fn receive(rx: &Receiver<Large>, i: u8) {
        let mut set = Select::new();
        let receive = set.recv(rx);
        set.select().wait().recv(receive).expect("open").check(i);
        drop(set.select());
    }
    #[inline(never)]
    fn send(tx: &Sender<Large>, i: u8) {
        let mut set = Select::new();
        let send = set.send(tx, Large::new(i));
        assert!(set.select().wait().send(send).is_ok());
        // Dropped with the set.
        set.send(tx, Large::new(99));
    }
    for_each_kind(|(tx, rx)| {
        beside(|| (0..6).for_each(|i| send(tx, i)), || (0..6).for_each(|i| receive(rx, i)));
    });
}

/// C30: streams and iterators.
#[test]
fn streams() {
    #[inline(never)]
    fn next(mut stream: Pin<&mut impl Stream<Item = Large>>, number: u8) -> bool {
        match stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => {
                value.expect("open").check(number);
                true
            }
            Poll::Pending => false,
        }
    }
    for_each_kind(|(tx, rx)| {
        let mut stream = rx.stream();
        assert!(!next(Pin::new(&mut stream), 0), "empty");
        assert!(put(tx, 1), "somebody waits");
        assert!(next(Pin::new(&mut stream), 1));
        if tx.capacity() == Some(0) {
            return;
        }
        assert!(put(tx, 2));
        assert!(next(Pin::new(&mut stream), 2));
        assert!(put(tx, 3));
        rx.try_iter().for_each(|value| value.check(3));
        assert!(put(tx, 4));
        rx.drain().for_each(|value| value.check(4));
        assert!(rx.is_empty());
    });
}

/// C30: dropped in the channel, while they wait, and given back with the error of a close.
#[test]
fn drops_and_closes() {
    #[inline(never)]
    fn refused(tx: &Sender<Large>, number: u8) {
        tx.try_send(Large::new(number)).expect_err("closed").into_inner().check(number);
        tx.send_blocking(Large::new(number)).expect_err("closed").0.check(number);
    }
    let ways: [fn(Channel); 3] = [
        |(tx, _rx): Channel| assert!(tx.close_now()),
        |(_tx, rx): Channel| drop(rx),
        |(tx, _rx): Channel| assert!(tx.close()),
    ];
    for how in ways {
        for capacity in CAPACITIES {
            small(|| {
                let channel = open(capacity);
                let tx = channel.0.clone();
                if fill(&tx).is_none() {
                    assert!((0..3).all(|i| put(&tx, i)));
                }
                let (mut kept, mut left) = (sending(&tx, 7), sending(&tx, 8));
                let waits = !is_sent(&mut kept) && !is_sent(&mut left);
                how(channel);
                if waits {
                    drop(left);
                    assert!(is_refused(&mut kept, 7), "closed");
                }
                refused(&tx, 9);
            });
        }
    }
}

/// C30: forced into a full channel, which gives the oldest one back, or its own; and by permits, also into a closed one.
#[test]
fn forced_and_by_permits() {
    #[inline(never)]
    fn force(tx: &Sender<Large>, number: u8, out: Option<u8>) {
        match &tx.force_send(Large::new(number)) {
            Ok(displaced) => match (displaced, out) {
                (Some(value), Some(number)) => value.check(number),
                (displaced, out) => assert!(displaced.is_none() && out.is_none()),
            },
            Err(_) => panic!("open"),
        }
    }
    #[inline(never)]
    fn force_closed(tx: &Sender<Large>) {
        match &tx.force_send(Large::new(9)) {
            Ok(_) => panic!("closed"),
            Err(refused) => refused.0.check(9),
        }
    }
    #[inline(never)]
    fn reserve(tx: &Sender<Large>, number: u8, is_gone: bool) {
        let permit = tx.try_reserve().expect("there is room");
        if is_gone {
            assert!(tx.close_now());
        }
        match &permit.send(Large::new(number)) {
            Ok(()) => assert!(!is_gone),
            Err(refused) => refused.0.check(number),
        }
    }
    #[inline(never)]
    fn empty(rx: &Receiver<Large>) {
        rx.drain().for_each(drop);
    }
    #[inline(never)]
    fn get(rx: &Receiver<Large>, number: u8) {
        match &rx.try_recv() {
            Ok(value) => value.check(number),
            Err(_) => panic!("it was sent"),
        }
    }
    for_each_kind(|(tx, rx)| {
        let room = tx.capacity().map_or(3, |capacity| capacity.min(3) as u8);
        (0..room).for_each(|number| force(tx, number, None));
        match tx.capacity() {
            Some(0) => force(tx, 9, Some(9)),
            Some(capacity) if tx.len() == capacity => force(tx, room, Some(0)),
            _ => {}
        }
        empty(rx);
        if tx.capacity() != Some(0) {
            reserve(tx, 7, false);
            get(rx, 7);
            reserve(tx, 8, true);
        }
        tx.close();
        force_closed(tx);
    });
}

/// C30: through the restricted kinds, by futures, on threads and by batches; and what is left there is dropped.
#[test]
fn restricted_kinds() {
    macro_rules! pass {
        ($kind:ident, $capacity:expr) => {{
            use leno::channel::$kind::{Receiver, Sender, bounded, unbounded};
            #[inline(never)]
            #[allow(unused_mut, clippy::needless_pass_by_ref_mut, reason = "of one kind only")]
            fn put(tx: &mut Sender<Large>, number: u8) -> bool {
                tx.try_send(Large::new(number)).is_ok()
            }
            #[inline(never)]
            fn get(rx: &mut Receiver<Large>, number: u8) {
                let polled = Pin::new(&mut rx.recv()).poll(&mut Context::from_waker(Waker::noop()));
                let Poll::Ready(received) = polled else { panic!("there is one") };
                received.expect("open").check(number);
            }
            #[inline(never)]
            #[allow(unused_mut, reason = "of one kind only")]
            fn send_blocking(mut tx: Sender<Large>) {
                (0..5).for_each(|i| tx.send_blocking(Large::new(i)).expect("open"));
                // It may be closed by then.
                let _ = tx.send_blocking(Large::new(5));
            }
            #[inline(never)]
            fn receive_blocking(rx: &mut Receiver<Large>) {
                (0..5).for_each(|i| rx.recv_blocking().expect("open").check(i));
            }
            let open = || $capacity.map_or_else(unbounded, bounded);
            small(|| {
                let (mut tx, mut rx) = open();
                if put(&mut tx, 1) {
                    get(&mut rx, 1);
                }
                // What is left goes with the receiver.
                let _ = (put(&mut tx, 2), put(&mut tx, 3));
                drop(rx);
                assert!(!put(&mut tx, 4), "closed");
            });
            small(|| {
                let (tx, mut rx) = open();
                thread::scope(|scope| {
                    let sender = thread::Builder::new().stack_size(stack());
                    sender.spawn_scoped(scope, || send_blocking(tx)).expect("a thread starts");
                    receive_blocking(&mut rx);
                    rx.close_now();
                });
            });
        }};
    }
    for capacity in CAPACITIES {
        pass!(spsc, capacity);
        pass!(mpsc, capacity);
    }
}

/// Values so large that a ring just has room for them, or just has not: one by one, and several at once.
#[test]
fn about_as_large_as_a_ring_takes() {
    fn pass<const SIZE: usize>(capacity: usize) {
        let (mut tx, mut rx) = spsc::bounded(capacity);
        for round in 0..3 {
            let numbers = (0..capacity).map(|number| (round * capacity + number) as u8);
            for number in numbers.clone() {
                assert!(tx.try_send([number; SIZE]).is_ok(), "there is room");
            }
            assert!(tx.try_send([9; SIZE]).is_err(), "there is none");
            let mut received = vec![rx.try_recv().expect("there is one")];
            while rx.try_recv_many(&mut received, capacity).is_ok() {}
            assert!(
                received.iter().copied().eq(numbers.map(|number| [number; SIZE])),
                "{capacity} come, of {SIZE} bytes"
            );
            assert!(rx.try_recv().is_err(), "it is empty");
        }
    }
    small(|| [pass::<131_068>, pass::<131_069>, pass::<131_072>, pass::<131_073>].map(|pass| pass(1)));
    small(|| [pass::<65_532>, pass::<65_533>, pass::<65_536>].map(|pass| pass(3)));
    for capacity in [32, 63, 64] {
        small(|| [pass::<4>, pass::<4092>, pass::<4093>, pass::<4096>].map(|pass| pass(capacity)));
    }
}

/// Values of some hundred bytes, of which a linked channel's blocks have a few: each block that comes and goes is in somebody's
/// way. Each value arrives once, and those of one sender in order.
#[test]
fn blocks_of_few_slots() {
    fn between_threads<const WORDS: usize>(capacity: Option<usize>) {
        const EACH: u64 = if cfg!(debug_assertions) { 4_000 } else { 40_000 };
        const SENDERS: u64 = 2;
        let (tx, rx) = open::<[u64; WORDS]>(capacity);
        let received = thread::scope(|scope| {
            for sender in 0..SENDERS {
                let tx = tx.clone();
                scope.spawn(move || {
                    for number in 0..EACH {
                        tx.send_blocking([sender * EACH + number; WORDS]).expect("it is open");
                    }
                });
            }
            drop(tx);
            let receivers = [(); 2].map(|()| {
                let rx = rx.clone();
                scope.spawn(move || {
                    let mut numbers = Vec::new();
                    while let Ok(value) = rx.recv_blocking() {
                        assert!(value.iter().all(|word| *word == value[0]), "C30: intact");
                        numbers.push(value[0]);
                    }
                    numbers
                })
            });
            receivers.map(|receiver| receiver.join().expect("it has received"))
        });
        for numbers in &received {
            for sender in 0..SENDERS {
                let own = numbers.iter().filter(|number| *number / EACH == sender);
                assert!(own.is_sorted(), "C2: in the order in which they were sent");
            }
        }
        let mut all = received.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..SENDERS * EACH), "C1: each of them once");
    }
    for capacity in [Some(300), None] {
        between_threads::<32>(capacity);
        between_threads::<128>(capacity);
        between_threads::<256>(capacity);
    }
}

/// An empty channel of one sender and one receiver that goes needs no room for a value, where it is one of its own kind.
#[test]
fn an_empty_one_goes_on_a_small_stack() {
    for capacity in [Some(3), Some(1000), None] {
        small(|| {
            let channel = Box::new(capacity.map_or_else(spsc::unbounded::<Large>, spsc::bounded));
            thread::scope(|scope| {
                let thread = thread::Builder::new().stack_size(256 << 10);
                thread.spawn_scoped(scope, move || drop(*channel)).expect("a thread starts");
            });
        });
    }
}

/// From fiber to fiber, on workers whose stacks are as large. (Who starts a fiber has its future on the stack, too.)
#[test]
fn on_the_workers_of_a_runtime() {
    for capacity in CAPACITIES {
        small(|| {
            let runtime = Runtime::builder().workers(2).stack_size(stack()).build().expect("threads start");
            let (tx, rx) = open(capacity);
            let sender = runtime.spawn(async move {
                for number in 0..3 {
                    tx.send(Large::new(number)).await.expect("open");
                }
            });
            let receiver = runtime.spawn(async move {
                for number in 0..3 {
                    rx.recv().await.expect("open").check(number);
                }
            });
            sender.wait().expect("C30: it was sent");
            receiver.wait().expect("C30: it was received");
        });
    }
}
