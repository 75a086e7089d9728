//! Channels that are put together: C21 and what else policies promise; each way to lose a value, and that the hook gets it once;
//! hooks that use the channel, and that panic; names.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures_core::Stream;
use leno::channel::{Builder, Overflow, SendError, SendFuture, TrySendError};
use leno::fiber::Runtime;
use leno::select::Select;
use leno::{Receiver, Sender, conflated, rendezvous, select, select_biased};

use crate::support::panicking_waker;

const CAPACITIES: [Option<usize>; 6] = [Some(0), Some(1), Some(3), Some(64), Some(1000), None];

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn with<T>(capacity: Option<usize>, overflow: Overflow) -> Builder<T> {
    let builder = Builder::new().overflow(overflow);
    match capacity {
        Some(capacity) => builder.capacity(capacity),
        None => builder.unbounded(),
    }
}

// ------------------------------------------------------------------------------- where each value went

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Received,
    Returned,
    Undelivered,
    /// Dropped, and nobody was told.
    Lost,
}

#[derive(Default)]
struct Ledger {
    made: AtomicUsize,
    ends: Mutex<Vec<(usize, Fate)>>,
}

/// A value that notes where it went. `N`: more bytes, for a large one.
struct Token<const N: usize> {
    number: usize,
    fate: Fate,
    ledger: Arc<Ledger>,
    _more: [u8; N],
}

impl<const N: usize> Token<N> {
    fn ends(mut self, fate: Fate) -> usize {
        self.fate = fate;
        self.number
    }
}

impl<const N: usize> Drop for Token<N> {
    fn drop(&mut self) {
        self.ledger.ends.lock().unwrap().push((self.number, self.fate));
    }
}

/// A channel whose hook notes what it gets.
struct World<const N: usize> {
    ledger: Arc<Ledger>,
    tx: Option<Sender<Token<N>>>,
    rx: Option<Receiver<Token<N>>>,
    capacity: Option<usize>,
}

impl<const N: usize> World<N> {
    fn new(capacity: Option<usize>, overflow: Overflow) -> Self {
        let hook = |token: Token<N>| _ = token.ends(Fate::Undelivered);
        let (tx, rx) = with(capacity, overflow).on_undelivered(hook).build();
        World { ledger: Arc::default(), tx: Some(tx), rx: Some(rx), capacity }
    }

    fn token(&self) -> Token<N> {
        let number = self.ledger.made.fetch_add(1, Ordering::Relaxed);
        Token { number, fate: Fate::Lost, ledger: Arc::clone(&self.ledger), _more: [0; N] }
    }

    fn tx(&self) -> &Sender<Token<N>> {
        self.tx.as_ref().unwrap()
    }

    fn rx(&self) -> &Receiver<Token<N>> {
        self.rx.as_ref().unwrap()
    }

    fn send(&self) -> SendFuture<'_, Token<N>> {
        self.tx().send(self.token())
    }

    /// Sends until a send would wait, a few values at most; how many are in it.
    fn fill(&self) -> usize {
        let most = self.capacity.unwrap_or(3).min(1000);
        (0..most).for_each(|_| assert!(self.tx().try_send(self.token()).is_ok(), "there is room"));
        most
    }

    fn recv(&self) -> Option<usize> {
        self.rx().try_recv().ok().map(|token| token.ends(Fate::Received))
    }

    /// How many ended how: received, returned, undelivered. Each that was made ended once.
    #[track_caller]
    fn ends(self, expected: [usize; 3]) {
        let World { ledger, tx, rx, capacity } = self;
        drop((tx, rx));
        let mut ends = ledger.ends.lock().unwrap();
        ends.sort_by_key(|(number, _)| *number);
        let numbers = ends.iter().map(|(number, _)| *number);
        assert!(numbers.eq(0..ledger.made.load(Ordering::Relaxed)), "C1: each once, {capacity:?}: {ends:?}");
        let count = |fate| ends.iter().filter(|(_, end)| *end == fate).count();
        let counts = [Fate::Received, Fate::Returned, Fate::Undelivered].map(count);
        assert_eq!(
            counts, expected,
            "received, returned, undelivered; {capacity:?}, {N} more bytes: {ends:?}"
        );
    }
}

/// A way for values to end, over all capacities, of small values and of large ones.
fn each(small: fn(World<0>), large: fn(World<5000>)) {
    for capacity in CAPACITIES {
        small(World::new(capacity, Overflow::Suspend));
        large(World::new(capacity, Overflow::Suspend));
    }
}

/// A test for each way.
macro_rules! ways {
    ($($(#[$doc:meta])* fn $name:ident($world:ident) $way:block)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            fn way<const N: usize>(#[allow(unused_mut, reason = "some take handles out")] mut $world: World<N>) $way
            each(way::<0>, way::<5000>);
        }
    )+};
}

ways! {
    /// C10.
    fn a_send_that_was_never_polled(world) {
        drop(world.send());
        world.ends([0, 0, 1]);
    }

    /// C10.
    fn a_send_that_waits_is_dropped(world) {
        let full = world.fill();
        let Some(_) = world.capacity else { return world.ends([0, 0, full]) };
        let (mut first, mut second) = (world.send(), world.send());
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
        drop(first);
        // It makes way for the second one.
        assert!(world.recv().is_some());
        assert!(poll(&mut second).is_ready());
        drop(second);
        world.ends([1, 0, 1 + full]);
    }

    /// C10, C5: what comes back does not go to the hook.
    fn values_that_come_back(world) {
        let full = world.fill();
        let mut back = 1;
        assert!(world.send().into_inner().is_some_and(|token| { token.ends(Fate::Returned); true }));
        if world.capacity.is_some() {
            let error = world.tx().try_send(world.token()).unwrap_err();
            assert!(error.is_full());
            error.into_inner().ends(Fate::Returned);
            world.tx().send_timeout(world.token(), Duration::ZERO).unwrap_err().into_inner().ends(Fate::Returned);
            let mut sending = world.send();
            assert!(poll(&mut sending).is_pending());
            sending.into_inner().unwrap().ends(Fate::Returned);
            let mut sending = world.send();
            assert!(poll(&mut sending).is_pending());
            world.tx().close();
            let Poll::Ready(Err(SendError(token))) = poll(&mut sending) else { panic!("C5: it fails") };
            token.ends(Fate::Returned);
            back += 4;
        }
        world.tx().close();
        world.tx().send_blocking(world.token()).unwrap_err().into_inner().ends(Fate::Returned);
        world.tx().force_send(world.token()).err().unwrap().into_inner().ends(Fate::Returned);
        while world.recv().is_some() {}
        world.ends([full, back + 2, 0]);
    }

    /// C6.
    fn close_now_from_either_side(world) {
        let full = world.fill();
        assert!(world.tx().close_now());
        assert_eq!(world.ledger.ends.lock().unwrap().len(), full, "at once");
        assert!(!world.rx().close_now());
        world.ends([0, 0, full]);
    }

    /// C7.
    fn the_last_receiver_goes(world) {
        let full = world.fill();
        let other = world.rx().clone();
        world.rx = None;
        assert_eq!(world.ledger.ends.lock().unwrap().len(), 0, "there is another one");
        drop(other);
        assert_eq!(world.ledger.ends.lock().unwrap().len(), full, "at once");
        world.ends([0, 0, full]);
    }

    /// C7, C5: the waiting sender has its value back, and drops it if it does not look.
    fn the_last_receiver_goes_while_senders_wait(world) {
        let full = world.fill();
        let Some(_) = world.capacity else { return world.ends([0, 0, full]) };
        let rx = world.rx.take();
        let (mut first, mut second) = (world.send(), world.send());
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
        drop(rx);
        let Poll::Ready(Err(SendError(token))) = poll(&mut first) else { panic!("it fails") };
        token.ends(Fate::Returned);
        drop((first, second));
        world.ends([0, 1, full + 1]);
    }

    /// C9, C11: it goes to who waits next, or is received next.
    fn a_receive_that_was_handed_a_value_is_dropped(world) {
        let (mut first, mut second) = (world.rx().recv(), world.rx().recv());
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
        assert!(world.tx().try_send(world.token()).is_ok());
        drop(first);
        let Poll::Ready(Ok(token)) = poll(&mut second) else { panic!("C11: it is the second one's") };
        token.ends(Fate::Received);
        let mut third = world.rx().recv();
        assert!(poll(&mut third).is_pending());
        assert!(world.tx().try_send(world.token()).is_ok());
        drop((second, third));
        assert!(world.recv().is_some());
        world.ends([2, 0, 0]);
    }

    /// C9: with no receiver left.
    fn a_value_that_was_given_back_has_no_receiver_left(world) {
        let rx = world.rx().clone();
        let mut receiving = rx.recv();
        assert!(poll(&mut receiving).is_pending());
        assert!(world.tx().try_send(world.token()).is_ok());
        drop(receiving);
        let mut stream = rx.into_stream();
        let polled = Pin::new(&mut stream).poll_next(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(token)) = polled else { panic!("it is next") };
        token.ends(Fate::Received);
        assert!(Pin::new(&mut stream).poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(world.tx().try_send(world.token()).is_ok());
        world.rx = None;
        assert_eq!(world.ledger.ends.lock().unwrap().len(), 1);
        drop(stream);
        assert_eq!(world.ledger.ends.lock().unwrap().len(), 2, "at once");
        world.ends([1, 0, 1]);
    }

    /// C9, C6.
    fn a_value_that_was_given_back_is_discarded(world) {
        let mut receiving = world.rx().recv();
        assert!(poll(&mut receiving).is_pending());
        assert!(world.tx().try_send(world.token()).is_ok());
        let full = world.fill();
        drop(receiving);
        assert_eq!(world.rx().len(), full + 1);
        world.rx().close_now();
        world.ends([0, 0, full + 1]);
    }

    /// S9.
    fn a_send_made_in_a_branch_loses(world) {
        let (other, wins) = leno::bounded(1);
        other.try_send(()).unwrap();
        leno::block_on(async {
            let token = world.token();
            select_biased! {
                _ = wins.recv() => {}
                sent = world.tx().send(token) => panic!("{}", sent.is_ok()),
            }
        });
        let mut undelivered = 1;
        if world.capacity.is_some() {
            // Once more, while it waits.
            undelivered += world.fill() + 1;
            leno::block_on(async {
                let token = world.token();
                let mut selecting = pin!(async {
                    select! {
                        _ = wins.recv() => {}
                        sent = world.tx().send(token) => panic!("{}", sent.is_ok()),
                    }
                });
                assert!(selecting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                other.try_send(()).unwrap();
                selecting.await;
            });
        }
        world.ends([0, 0, undelivered]);
    }

    /// S9, S10: a select that is dropped, and a set.
    fn selects_that_are_dropped(world) {
        let full = world.fill();
        let mut set = Select::new();
        let token = world.token();
        set.send(world.tx(), token);
        let mut undelivered = 1;
        if world.capacity.is_some() {
            let mut selecting = pin!(set.select());
            assert!(selecting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        drop(set);
        if world.capacity.is_some() {
            let (_keep, never) = rendezvous::<()>();
            let token = world.token();
            let mut selecting = Box::pin(async {
                select! {
                    _ = never.recv() => {}
                    sent = world.tx().send(token) => panic!("{}", sent.is_ok()),
                }
            });
            assert!(selecting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            drop(selecting);
            undelivered += 1;
        }
        world.ends([0, 0, full + undelivered]);
    }

    /// S13: what a set has received, and nobody has taken.
    fn an_outcome_that_nobody_takes(world) {
        let mut set = Select::new();
        set.recv(world.rx());
        {
            let mut selecting = pin!(set.select());
            assert!(selecting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert!(world.tx().try_send(world.token()).is_ok());
            assert!(selecting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        }
        drop(set);
        assert_eq!(world.rx().len(), 1);
        world.rx = None;
        world.ends([0, 0, 1]);
    }

    /// C10: a fiber that is cancelled while it sends.
    fn a_fiber_that_is_cancelled(world) {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let full = world.fill();
        let (tx, token) = (world.tx().clone(), world.token());
        let (polled, is_polled) = std::sync::mpsc::channel();
        let fiber = runtime.spawn(async move {
            let mut sending = tx.send(token);
            let _ = poll(&mut sending);
            polled.send(()).unwrap();
            std::future::pending::<()>().await;
        });
        is_polled.recv().unwrap();
        fiber.cancel();
        assert!(runtime.block_on(fiber).unwrap_err().is_cancelled());
        world.ends([0, 0, full + 1]);
    }

    /// C1: an iterator that is not used up.
    fn a_drain_that_is_left(world) {
        let full = world.fill();
        let taken = world.rx().drain().next().map(|token| token.ends(Fate::Received));
        let received = usize::from(taken.is_some());
        world.ends([received, 0, full - received]);
    }

    /// `force_send`: what makes room is given back, and not undelivered.
    fn forced_sends(world) {
        let full = world.fill();
        for _ in 0..5 {
            let gone = world.tx().force_send(world.token()).expect("it is open");
            assert_eq!(gone.is_some(), world.capacity.is_some());
            gone.map(|token| token.ends(Fate::Returned));
        }
        let (in_it, back) = if world.capacity.is_some() { (full, 5) } else { (full + 5, 0) };
        assert_eq!(world.rx().len(), in_it);
        while world.recv().is_some() {}
        world.ends([in_it, back, 0]);
    }
}

// ------------------------------------------------------------------------------- policies

/// C21: a send completes at its first poll, `try_send` is never told that it is full; what goes, and where to.
#[test]
fn senders_never_wait() {
    fn run<const N: usize>(capacity: Option<usize>, overflow: Overflow, how: fn(&World<N>)) {
        let world = World::<N>::new(capacity, overflow);
        let most = capacity.map_or(10, |capacity| capacity.min(1000));
        let more = 5;
        for _ in 0..most + more {
            how(&world);
        }
        let kept = capacity.map_or(most + more, |capacity| capacity);
        assert_eq!((world.rx().len(), world.tx().is_full()), (kept, capacity.is_some()));
        assert_eq!(world.ledger.ends.lock().unwrap().len(), most + more - kept, "discarded at once");
        let got = std::iter::from_fn(|| world.recv()).collect::<Vec<_>>();
        let first = if overflow == Overflow::DropOldest { most + more - kept } else { 0 };
        assert!(got.iter().copied().eq(first..first + kept), "{capacity:?} {overflow:?}: {got:?}");
        world.ends([kept, 0, most + more - kept]);
    }
    fn tries<const N: usize>(world: &World<N>) {
        assert!(world.tx().try_send(world.token()).is_ok());
    }
    fn polls<const N: usize>(world: &World<N>) {
        assert!(matches!(poll(&mut world.send()), Poll::Ready(Ok(()))));
    }
    fn blocks<const N: usize>(world: &World<N>) {
        assert!(world.tx().send_blocking(world.token()).is_ok());
        assert!(world.tx().send_timeout(world.token(), Duration::ZERO).is_ok());
    }
    fn selects<const N: usize>(world: &World<N>) {
        let (_keep, never) = rendezvous::<()>();
        let token = world.token();
        leno::block_on(async {
            select! {
                _ = never.recv() => {}
                sent = world.tx().send(token) => assert!(sent.is_ok()),
            }
        });
    }
    fn sets<const N: usize>(world: &World<N>) {
        let mut set = Select::new();
        let name = set.send(world.tx(), world.token());
        assert!(set.try_select().expect("it is ready").send(name).is_ok());
    }
    fn ways<const N: usize>(capacity: Option<usize>, overflow: Overflow) {
        for how in [tries::<N>, polls, selects, sets] {
            run(capacity, overflow, how);
        }
        let world = World::<N>::new(capacity, overflow);
        (0..600).for_each(|_| blocks(&world));
        let kept = world.rx().len();
        assert_eq!(kept, capacity.unwrap_or(1200).min(1200));
        world.ends([0, 0, 1200]);
    }
    for capacity in CAPACITIES {
        for overflow in [Overflow::DropOldest, Overflow::DropNewest] {
            ways::<0>(capacity, overflow);
            ways::<5000>(capacity, overflow);
        }
    }
}

/// C21: receivers that wait get what is sent, whatever the policy.
#[test]
fn what_is_sent_to_a_receiver_that_waits_is_not_discarded() {
    for capacity in CAPACITIES {
        for overflow in [Overflow::Suspend, Overflow::DropOldest, Overflow::DropNewest] {
            let world = World::<0>::new(capacity, overflow);
            for force in [false, true] {
                let mut receiving = world.rx().recv();
                assert!(poll(&mut receiving).is_pending());
                if force {
                    assert!(matches!(world.tx().force_send(world.token()), Ok(None)));
                } else {
                    assert!(world.tx().try_send(world.token()).is_ok());
                }
                let Poll::Ready(Ok(token)) = poll(&mut receiving) else { panic!("it was handed over") };
                token.ends(Fate::Received);
            }
            world.ends([2, 0, 0]);
        }
    }
}

/// C21.
#[test]
fn conflated_keeps_the_last_value_across_close() {
    let (tx, rx) = conflated();
    for row in 0..5 {
        assert_eq!(poll(&mut tx.send(row)), Poll::Ready(Ok(())));
    }
    assert_eq!((tx.len(), tx.capacity(), tx.is_full()), (1, Some(1), true));
    tx.close();
    assert_eq!(tx.try_send(5), Err(TrySendError::Closed(5)));
    assert_eq!(poll(&mut tx.send(6)), Poll::Ready(Err(SendError(6))));
    assert_eq!((rx.try_recv(), rx.try_recv().unwrap_err().is_closed()), (Ok(4), true));
    // One that is no ring.
    let (tx, rx) = conflated();
    (0..5).for_each(|row| tx.try_send([row; 5000]).unwrap());
    drop(tx);
    assert_eq!(rx.recv_blocking().unwrap()[0], 4);
    assert!(rx.recv_blocking().is_err());
}

/// The default of each choice.
#[test]
fn a_builder_without_a_choice_makes_a_rendezvous() {
    for (tx, rx) in [Builder::<u8>::new().build(), Builder::default().build()] {
        assert_eq!((tx.capacity(), rx.is_full()), (Some(0), true));
        assert!(tx.try_send(1).unwrap_err().is_full());
    }
    assert_eq!(Overflow::default(), Overflow::Suspend);
    assert_eq!(Builder::<u8>::new().unbounded().build().0.capacity(), None);
    assert_eq!(Builder::<u8>::new().unbounded().capacity(7).build().0.capacity(), Some(7));
    let text = format!("{:?}", Builder::<u8>::new().capacity(3).on_undelivered(|_| {}).name("loom"));
    assert_eq!(
        text,
        "Builder { capacity: Some(3), overflow: Suspend, on_undelivered: true, name: Some(\"loom\") }"
    );
}

/// `force_send` beside senders that wait: they stay where they are, behind it.
#[test]
fn a_forced_send_overtakes_senders_that_wait() {
    fn run<const N: usize>(capacity: usize) {
        let world = World::<N>::new(Some(capacity), Overflow::Suspend);
        let full = world.fill();
        let (mut first, mut second) = (world.send(), world.send());
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
        let gone = world.tx().force_send(world.token()).ok().unwrap().expect("there was no room");
        assert_eq!(gone.number, if capacity == 0 { full + 2 } else { 0 }, "the oldest");
        gone.ends(Fate::Returned);
        world.tx().assert_valid();
        assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending(), "they wait");
        let mut expected = (1..full).collect::<Vec<_>>();
        expected.extend((full > 0).then_some(full + 2));
        expected.extend([full, full + 1]);
        let got = std::iter::from_fn(|| world.recv()).collect::<Vec<_>>();
        assert_eq!(got, expected, "C2, C4");
        assert!(poll(&mut first).is_ready() && poll(&mut second).is_ready());
        drop((first, second));
        world.ends([full + 2, 1, 0]);
    }
    for capacity in [0, 1, 3, 64, 255, 256, 1000] {
        run::<0>(capacity);
        run::<5000>(capacity);
    }
}

/// A select that waits to send stays, too.
#[test]
fn a_forced_send_beside_a_select() {
    for capacity in [1, 2, 300] {
        let world = World::<0>::new(Some(capacity), Overflow::Suspend);
        let full = world.fill();
        let (_keep, never) = rendezvous::<()>();
        let token = world.token();
        let mut selecting = Box::pin(async {
            select! {
                _ = never.recv() => {}
                sent = world.tx().send(token) => assert!(sent.is_ok()),
            }
        });
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(selecting.as_mut().poll(cx).is_pending());
        world.tx().force_send(world.token()).ok().unwrap().unwrap().ends(Fate::Returned);
        assert!(selecting.as_mut().poll(cx).is_pending());
        let got = std::iter::from_fn(|| world.recv()).collect::<Vec<_>>();
        assert_eq!(got.len(), full + 1, "with that of the select");
        assert!(selecting.as_mut().poll(cx).is_ready());
        drop(selecting);
        world.ends([full + 1, 1, 0]);
    }
}

// ------------------------------------------------------------------------------- hooks

/// It uses the channel that it is of.
#[test]
fn a_hook_uses_its_channel() {
    for capacity in CAPACITIES {
        for overflow in [Overflow::Suspend, Overflow::DropOldest, Overflow::DropNewest] {
            type Handles = (Sender<u32>, Receiver<u32>);
            let handles = Arc::new(Mutex::new(None::<Handles>));
            let calls = Arc::new(AtomicUsize::new(0));
            let (of_hook, counted) = (Arc::clone(&handles), Arc::clone(&calls));
            let (tx, rx) = with(capacity, overflow)
                .on_undelivered(move |n: u32| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    let guard = of_hook.lock().unwrap();
                    let Some((tx, rx)) = guard.clone() else { return };
                    drop(guard);
                    assert!(tx.len() <= 2000 && !format!("{tx:?}").is_empty());
                    let _ = rx.try_recv();
                    if n > 0 {
                        // The values get fewer: with no room for them these are undelivered, too.
                        let _ = tx.try_send(n - 1);
                        drop(tx.send(n - 1));
                    }
                    rx.assert_valid();
                })
                .build();
            *handles.lock().unwrap() = Some((tx.clone(), rx.clone()));
            drop(tx.send(4));
            for n in 0..5 {
                let _ = tx.try_send(n);
            }
            tx.assert_valid();
            tx.close_now();
            assert_eq!(rx.len(), 0);
            assert!(calls.load(Ordering::Relaxed) > 0);
            *handles.lock().unwrap() = None;
        }
    }
}

/// The last handles of the other side, and a value that owns handles of its own channel.
#[test]
fn a_hook_ends_its_channel() {
    struct Knot(Sender<Knot>, Receiver<Knot>);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let (tx, rx) = Builder::new()
        .capacity(1)
        .overflow(Overflow::DropOldest)
        .on_undelivered(move |knot: Knot| {
            counted.fetch_add(1, Ordering::Relaxed);
            knot.0.close_now();
            drop(knot.1);
            let _ = knot.0.is_closed();
        })
        .build();
    tx.try_send(Knot(tx.clone(), rx.clone())).ok().unwrap();
    assert!(
        tx.try_send(Knot(tx.clone(), rx.clone())).is_ok(),
        "it is sent, then the hook closes the channel"
    );
    assert_eq!((calls.load(Ordering::Relaxed), tx.is_closed(), rx.len()), (2, true, 0));
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
}

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

/// C29: the value is sent, the panic goes on, and the channel is as good as before.
#[test]
fn a_hook_that_panics_at_an_overflow() {
    for capacity in [0, 1, 3, 300] {
        for overflow in [Overflow::DropOldest, Overflow::DropNewest] {
            let (tx, rx) =
                with(Some(capacity), overflow).on_undelivered(|n: usize| panic!("nobody wants {n}")).build();
            (0..capacity).for_each(|n| tx.try_send(n).unwrap());
            assert!(panics(|| tx.try_send(capacity).unwrap()));
            assert!(panics(|| assert!(poll(&mut tx.send(capacity + 1)).is_ready())));
            assert!(panics(|| tx.send_blocking(capacity + 2).unwrap()));
            assert!(panics(|| {
                let mut set = Select::new();
                let name = set.send(&tx, capacity + 3);
                set.try_select().unwrap().send(name).unwrap();
            }));
            assert!(panics(|| leno::block_on(async {
                let (_keep, never) = rendezvous::<()>();
                select! {
                    _ = never.recv() => {}
                    sent = tx.send(capacity + 4) => sent.unwrap(),
                }
            })));
            tx.assert_valid();
            let oldest = overflow == Overflow::DropOldest && capacity > 0;
            let first = if oldest { 5 } else { 0 };
            let got = rx.drain().collect::<Vec<_>>();
            assert!(got.iter().copied().eq(first..first + capacity), "{capacity} {overflow:?}: {got:?}");
            drop((tx, rx));
        }
    }
}

/// The rest is delivered, and the first panic goes on.
#[test]
fn a_hook_that_panics_while_others_are_to_follow() {
    for capacity in [3, 300] {
        for way in 0..4 {
            let calls = Arc::new(Mutex::new(vec![]));
            let counted = Arc::clone(&calls);
            let (tx, rx) = Builder::new()
                .capacity(capacity)
                .on_undelivered(move |n| {
                    counted.lock().unwrap().push(n);
                    panic!("nobody wants {n}");
                })
                .build();
            (0..3).for_each(|n| tx.try_send(n).unwrap());
            let end = || match way {
                0 => assert!(tx.close_now()),
                1 => assert!(rx.close_now()),
                2 => drop(rx.clone()),
                _ => {}
            };
            let caught = catch_unwind(AssertUnwindSafe(end));
            if way < 2 {
                let message = *caught.unwrap_err().downcast::<String>().unwrap();
                assert_eq!(message, "nobody wants 0");
            } else {
                caught.unwrap();
                assert!(panics(|| drop(rx)));
            }
            assert_eq!(*calls.lock().unwrap(), [0, 1, 2]);
            assert!(tx.is_closed() && tx.try_send(4).is_err());
            tx.assert_valid();
        }
    }
}

/// Values of sends that were dropped in a peer's hands, or that fail while another panic is under way.
#[test]
fn a_hook_that_panics_during_a_panic() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let (tx, rx) = Builder::new()
        .on_undelivered(move |_: u8| {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("nobody wants it");
        })
        .build();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let (mut first, second) = (tx.send(1), tx.send(2));
        assert!(poll(&mut first).is_pending());
        let _keep = (first, second);
        panic!("the first one");
    }));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "the first one");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    tx.assert_valid();
    drop(rx);
}

/// C29: as a hook, the drop of a value that is discarded.
#[test]
fn a_drop_that_panics_at_an_overflow() {
    struct Bomb(u32, bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.1, "it goes off");
        }
    }
    for capacity in [1, 300] {
        let (tx, rx) = Builder::new().capacity(capacity).overflow(Overflow::DropOldest).build();
        tx.try_send(Bomb(0, true)).ok().unwrap();
        (1..capacity).for_each(|_| tx.try_send(Bomb(1, false)).ok().unwrap());
        assert!(panics(|| tx.try_send(Bomb(2, false)).ok().unwrap()));
        tx.assert_valid();
        assert_eq!(rx.len(), capacity);
        assert_eq!(rx.try_iter().last().unwrap().0, 2, "it is sent");
    }
}

/// C29: what a forced send has taken out does not get lost if the waker of the receiver that it serves panics.
#[test]
fn a_waker_that_panics_at_a_forced_send() {
    let world = World::<0>::new(Some(1), Overflow::DropOldest);
    let mut receiving = world.rx().recv();
    let waker = panicking_waker();
    assert!(Pin::new(&mut receiving).poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(panics(|| _ = world.tx().force_send(world.token())));
    let Poll::Ready(Ok(token)) = poll(&mut receiving) else { panic!("it was handed over") };
    token.ends(Fate::Received);
    drop(receiving);
    world.ends([1, 0, 0]);
}

/// No bound on what is sent; a hook is dropped with the channel, once, and what it owns.
#[test]
fn what_a_hook_owns_is_dropped_with_the_channel() {
    let text = String::from("borrowed");
    let owned = Arc::new(());
    let keep = Arc::clone(&owned);
    let (tx, rx) = Builder::<&str>::new().capacity(1).on_undelivered(move |_| _ = &keep).build();
    tx.try_send(&text).unwrap();
    drop(tx);
    assert_eq!(Arc::strong_count(&owned), 2);
    drop(rx);
    assert_eq!(Arc::strong_count(&owned), 1);
    let builder = Builder::<u8>::new().on_undelivered({
        let keep = Arc::clone(&owned);
        move |_| _ = &keep
    });
    drop(builder);
    assert_eq!(Arc::strong_count(&owned), 1);
}

// ------------------------------------------------------------------------------- names

#[test]
fn a_name_shows_where_it_is_looked_for() {
    let (tx, rx) = Builder::<u8>::new().capacity(2).name("orders").build();
    assert!(format!("{tx:?}").starts_with("Sender { name: \"orders\", len: 0"), "{tx:?}");
    assert!(format!("{rx:?}").starts_with("Receiver { name: \"orders\""), "{rx:?}");
    assert!(!format!("{:?}", leno::bounded::<u8>(2).0).contains("name"));

    let runtime = Runtime::builder().workers(1).inspect(true).build().unwrap();
    let fiber = runtime.spawn(async move { rx.recv().await });
    let dump = loop {
        let dump = runtime.dump();
        let info = dump.fibers().iter().find(|info| info.id() == fiber.id()).unwrap();
        if !info.waits().is_empty() {
            break dump;
        }
        thread::yield_now();
    };
    let wait =
        dump.fibers().iter().flat_map(|info| info.waits()).find(|wait| wait.operation() == "recv").unwrap();
    let object = wait.object().unwrap();
    assert_eq!((object.kind(), object.name()), ("channel", Some("orders")));
    assert!(dump.to_string().contains("`orders`"), "{dump}");
    drop(tx);
    assert!(runtime.block_on(fiber).unwrap().is_err());
}

// ------------------------------------------------------------------------------- threads

/// C1 under load: each value is received, given back or undelivered, once. A half of the senders force.
#[test]
fn each_value_ends_once_under_load() {
    fn run<const N: usize>(capacity: Option<usize>, overflow: Overflow, closes: bool) {
        let world = World::<N>::new(capacity, overflow);
        let count = if cfg!(debug_assertions) { 2_000 } else { 20_000 };
        let start = Barrier::new(2);
        thread::scope(|scope| {
            for sender in 0..2 {
                let (tx, world) = (world.tx().clone(), &world);
                scope.spawn(move || {
                    for n in 0..count {
                        let sent = match (sender + n) % 3 {
                            0 => tx
                                .force_send(world.token())
                                .map(|gone| _ = gone.map(|token| token.ends(Fate::Returned))),
                            1 => tx.try_send(world.token()).map_err(|error| SendError(error.into_inner())),
                            _ => {
                                let polled = poll(&mut tx.send(world.token()));
                                assert!(polled.is_ready() || overflow == Overflow::Suspend, "C21");
                                match polled {
                                    Poll::Ready(sent) => sent,
                                    Poll::Pending => Ok(()),
                                }
                            }
                        };
                        if let Err(SendError(token)) = sent {
                            token.ends(Fate::Returned);
                        }
                    }
                });
            }
            for receiver in 0..2 {
                let (rx, start) = (world.rx().clone(), &start);
                scope.spawn(move || {
                    start.wait();
                    for n in 0..count / 2 {
                        if (receiver + n) % 3 == 0 {
                            let mut receiving = rx.recv();
                            if let Poll::Ready(Ok(token)) = poll(&mut receiving) {
                                token.ends(Fate::Received);
                            }
                        } else if let Ok(token) = rx.try_recv() {
                            token.ends(Fate::Received);
                        }
                    }
                    if closes && receiver == 0 {
                        rx.close_now();
                    }
                });
            }
        });
        world.tx().assert_valid();
        let World { ledger, tx, rx, .. } = world;
        drop((tx, rx));
        let mut ends = ledger.ends.lock().unwrap();
        ends.sort_by_key(|(number, _)| *number);
        assert!(ends.iter().map(|(number, _)| *number).eq(0..2 * count), "C1: each once");
        assert!(ends.iter().all(|(_, fate)| *fate != Fate::Lost), "C1: none is lost");
    }
    for capacity in [Some(0), Some(1), Some(4), Some(300), None] {
        for overflow in [Overflow::Suspend, Overflow::DropOldest, Overflow::DropNewest] {
            for closes in [false, true] {
                run::<0>(capacity, overflow, closes);
            }
            run::<1000>(capacity.map(|capacity| capacity.min(4)), overflow, true);
        }
    }
}

/// C2, C21: what is left of a sender's values comes in order, and the last one is there in the end.
#[test]
fn conflated_under_load() {
    let (tx, rx) = conflated();
    let last = 20_000;
    thread::scope(|scope| {
        scope.spawn(move || (0..=last).for_each(|n| tx.send_blocking(n).unwrap()));
        let got = rx.iter().collect::<Vec<_>>();
        assert!(got.is_sorted_by(|a, b| a < b), "C2");
        assert_eq!(got.last(), Some(&last), "C21");
    });
}

/// C21: a ring goes on when very many values have passed, also one that overflows: what is above its mask in a position is no slot.
#[test]
fn head_of_a_ring_grows() {
    for overflow in [Overflow::Suspend, Overflow::DropOldest, Overflow::DropNewest] {
        let (tx, rx) = with(Some(255), overflow).build();
        // Each value that is handed over moves the head on by a whole ring, of 256; it has 27 bits.
        for n in 0..1_u32 << 19 {
            let mut receiving = rx.recv();
            assert!(poll(&mut receiving).is_pending());
            tx.try_send(n).unwrap();
            assert_eq!(poll(&mut receiving), Poll::Ready(Ok(n)));
            if n % 1024 == 0 {
                tx.try_send(n).unwrap();
                assert_eq!(rx.try_recv(), Ok(n));
            }
        }
        tx.assert_valid();
    }
}
