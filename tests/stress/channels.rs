//! Channels, selects and locks among threads: random operations, every value accounted for (C1, C2, C9–C11, C16, C18, S12, M1, M2).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_core::FusedFuture;
use leno::channel::{RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError, spsc};
use leno::select::Select;
use leno::sync::{RwLock, RwLockUpgradableReadGuard, Semaphore};
use leno::{Receiver, Sender, select_blocking};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{CountingWaker, Kind, PollExt, Tracked, Tracker, scale, within};

const KINDS: [Kind; 7] = [
    Kind::Rendezvous,
    Kind::Bounded(1),
    Kind::Bounded(2),
    Kind::Bounded(7),
    Kind::Bounded(64),
    Kind::Bounded(5000),
    Kind::Unbounded,
];

/// A value that says who sent it, as how many'th.
struct Parcel {
    producer: usize,
    number: usize,
    _tracked: Tracked,
}

/// What became of an attempt to send.
enum Attempt {
    Sent,
    Back(Parcel),
    Closed(Parcel),
}

/// One attempt to send, of a random form; many of them give up.
fn attempt_send(tx: &Sender<Parcel>, parcel: Parcel, rng: &mut StdRng) -> Attempt {
    let brief = Duration::from_micros(rng.random_range(0..30));
    match rng.random_range(0..6) {
        0 => match tx.try_send(parcel) {
            Ok(()) => Attempt::Sent,
            Err(TrySendError::Full(back)) => Attempt::Back(back),
            Err(TrySendError::Closed(back)) => Attempt::Closed(back),
        },
        1 => match tx.send_timeout(parcel, brief) {
            Ok(()) => Attempt::Sent,
            Err(SendTimeoutError::Timeout(back)) => Attempt::Back(back),
            Err(SendTimeoutError::Closed(back)) => Attempt::Closed(back),
        },
        // Polled, left alone for a moment, and taken apart.
        2 | 3 => {
            let mut sending = tx.send(parcel);
            for _ in 0..rng.random_range(1..4) {
                match sending.poll_once(&CountingWaker::new()) {
                    std::task::Poll::Ready(Ok(())) => return Attempt::Sent,
                    std::task::Poll::Ready(Err(e)) => return Attempt::Closed(e.into_inner()),
                    std::task::Poll::Pending => {}
                }
                if rng.random_bool(0.3) {
                    thread::yield_now();
                }
            }
            sending.into_inner().map_or(Attempt::Sent, Attempt::Back)
        }
        _ => match tx.send_blocking(parcel) {
            Ok(()) => Attempt::Sent,
            Err(e) => Attempt::Closed(e.into_inner()),
        },
    }
}

/// One attempt to receive: a value, nothing yet, or the end.
fn attempt_recv(rx: &Receiver<Parcel>, rng: &mut StdRng) -> Result<Option<Parcel>, ()> {
    let brief = Duration::from_micros(rng.random_range(0..30));
    match rng.random_range(0..6) {
        0 => match rx.try_recv() {
            Ok(parcel) => Ok(Some(parcel)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Closed) => Err(()),
        },
        1 => match rx.recv_timeout(brief) {
            Ok(parcel) => Ok(Some(parcel)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Closed) => Err(()),
        },
        // Polled, left alone for a moment, and dropped: what it was handed goes to the next.
        2 | 3 => {
            let mut receiving = rx.recv();
            for _ in 0..rng.random_range(1..4) {
                match receiving.poll_once(&CountingWaker::new()) {
                    std::task::Poll::Ready(Ok(parcel)) => return Ok(Some(parcel)),
                    std::task::Poll::Ready(Err(_)) => return Err(()),
                    std::task::Poll::Pending => {}
                }
                if rng.random_bool(0.3) {
                    thread::yield_now();
                }
            }
            Ok(None)
        }
        _ => rx.recv_blocking().map(Some).map_err(|_| ()),
    }
}

/// How a round ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// The producers finish and drop their handles.
    Finish,
    /// Somebody closes halfway; what is buffered is still received.
    Close,
    /// Somebody closes halfway and discards the buffer.
    CloseNow,
    /// The receivers go halfway.
    ReceiversGo,
}

struct Tally {
    /// Per producer and number: how often it was received.
    received: Vec<Vec<AtomicUsize>>,
    sent: AtomicUsize,
}

fn round(kind: Kind, producers: usize, consumers: usize, each: usize, end: End, seed: u64) {
    let tracker = Tracker::new();
    let tally = Arc::new(Tally {
        received: (0..producers).map(|_| (0..each).map(|_| AtomicUsize::new(0)).collect()).collect(),
        sent: AtomicUsize::new(0),
    });
    let stop = Arc::new(AtomicBool::new(false));
    let (tx, rx) = kind.open();
    let mut threads = Vec::new();
    for producer in 0..producers {
        let (tx, tracker, tally) = (tx.clone(), tracker.clone(), Arc::clone(&tally));
        threads.push(thread::spawn(move || {
            let mut rng = StdRng::seed_from_u64(seed * 1000 + producer as u64);
            for number in 0..each {
                let mut parcel = Parcel { producer, number, _tracked: tracker.value() };
                loop {
                    match attempt_send(&tx, parcel, &mut rng) {
                        Attempt::Sent => break,
                        Attempt::Back(back) => parcel = back,
                        Attempt::Closed(back) => {
                            assert!(
                                (back.producer, back.number) == (producer, number),
                                "C1: its own value back"
                            );
                            assert_ne!(end, End::Finish, "nobody closed");
                            return;
                        }
                    }
                }
                tally.sent.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    for consumer in 0..consumers {
        let (rx, tally, stop) = (rx.clone(), Arc::clone(&tally), Arc::clone(&stop));
        threads.push(thread::spawn(move || {
            let mut rng = StdRng::seed_from_u64(seed * 1000 + 500 + consumer as u64);
            let mut last = vec![None; producers];
            // C9: a value that was handed over comes back late; another consumer may have had a later one by then.
            let ordered = consumers == 1;
            loop {
                if end == End::ReceiversGo && stop.load(Ordering::SeqCst) {
                    return;
                }
                match attempt_recv(&rx, &mut rng) {
                    Ok(Some(parcel)) => {
                        let before = last[parcel.producer].replace(parcel.number);
                        assert!(
                            !ordered || before < Some(parcel.number),
                            "C2: {} after {before:?} of producer {}",
                            parcel.number,
                            parcel.producer
                        );
                        tally.received[parcel.producer][parcel.number].fetch_add(1, Ordering::SeqCst);
                    }
                    Ok(None) => {}
                    Err(()) => return,
                }
            }
        }));
    }
    if end != End::Finish {
        while tally.sent.load(Ordering::SeqCst) < producers * each / 2 {
            thread::yield_now();
        }
        stop.store(true, Ordering::SeqCst);
        match end {
            End::Close => assert!(tx.close(), "C5: the first close"),
            End::CloseNow => assert!(rx.close_now(), "C5: the first close"),
            End::Finish | End::ReceiversGo => {}
        }
    }
    drop((tx, rx));
    for thread in threads {
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    let received = tally.received.iter().flatten().map(|n| n.load(Ordering::SeqCst)).collect::<Vec<_>>();
    assert!(received.iter().all(|&n| n <= 1), "C1: received at most once");
    let received = received.iter().sum::<usize>();
    let sent = tally.sent.load(Ordering::SeqCst);
    match end {
        End::Finish => assert_eq!((sent, received), (producers * each, producers * each), "C1: all arrived"),
        // The closing itself may return values to senders; what was sent is received.
        End::Close => assert_eq!(received, sent, "C5: what was sent before the close is received"),
        End::CloseNow | End::ReceiversGo => assert!(received <= sent, "C1: nothing out of nothing"),
    }
    tracker.assert_done();
}

fn rounds(end: End) {
    for (i, kind) in KINDS.into_iter().enumerate() {
        for (producers, consumers) in [(1, 1), (3, 1), (1, 3), (3, 3)] {
            for seed in 0..scale() as u64 {
                let what = format!("{end:?}: {kind:?}, {producers} to {consumers}, seed {seed}");
                within(&what, move || round(kind, producers, consumers, 1000, end, seed * 10 + i as u64));
            }
        }
    }
}

/// C1, C2, C9–C11, C16: all values arrive, once, in each producer's order, whatever is cancelled when.
#[test]
fn nothing_is_lost_or_doubled() {
    rounds(End::Finish);
}

/// C5, C8: a close at any moment returns or delivers each value.
#[test]
fn a_close_at_any_moment() {
    rounds(End::Close);
}

/// C6: so does one that discards.
#[test]
fn a_close_now_at_any_moment() {
    rounds(End::CloseNow);
}

/// C7: receivers go at any moment.
#[test]
fn receivers_go_at_any_moment() {
    rounds(End::ReceiversGo);
}

/// C7, C8: channels that are closed, and whose handles are dropped, by all sides at once.
#[test]
fn everybody_ends_at_once() {
    for kind in KINDS {
        within(&format!("C7: everybody ends at once, {kind:?}"), move || {
            for _ in 0..200 * scale() {
                let tracker = Tracker::new();
                let (tx, rx) = kind.open();
                let start = Arc::new(std::sync::Barrier::new(6));
                let closed = Arc::new(AtomicUsize::new(0));
                let mut threads = Vec::new();
                for i in 0..3 {
                    let (tx, tracker) = (tx.clone(), tracker.clone());
                    let (start, closed) = (Arc::clone(&start), Arc::clone(&closed));
                    threads.push(thread::spawn(move || {
                        start.wait();
                        let mut sending = tx.send(tracker.value());
                        let _ = sending.poll_once(&CountingWaker::new());
                        if i == 0 && tx.close() {
                            closed.fetch_add(1, Ordering::SeqCst);
                        }
                    }));
                }
                for i in 0..3 {
                    let rx = rx.clone();
                    let (start, closed) = (Arc::clone(&start), Arc::clone(&closed));
                    threads.push(thread::spawn(move || {
                        start.wait();
                        let mut receiving = rx.recv();
                        let _ = receiving.poll_once(&CountingWaker::new());
                        if i == 0 && rx.close_now() {
                            closed.fetch_add(1, Ordering::SeqCst);
                        }
                    }));
                }
                drop((tx, rx));
                for thread in threads {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                }
                assert!(closed.load(Ordering::SeqCst) <= 1, "C5: close returns true once");
                tracker.assert_done();
            }
        });
    }
}

/// C1, C2: nobody gives up here, so a single lost wake-up hangs the test: nothing else would wake the sleeper.
#[test]
fn no_wakeup_is_lost_when_nobody_gives_up() {
    const EACH: usize = 10_000;
    for kind in KINDS {
        for (producers, consumers) in [(1, 1), (4, 1), (1, 4), (4, 4)] {
            within(&format!("a lost wake-up: {kind:?}, {producers} to {consumers}"), move || {
                let (tx, rx) = kind.open();
                let each = EACH * scale();
                let sending = (0..producers).map(|producer| {
                    let tx = tx.clone();
                    thread::spawn(move || {
                        (0..each).for_each(|i| tx.send_blocking((producer, i)).expect("receivers are left"));
                    })
                });
                let sending = sending.collect::<Vec<_>>();
                let receiving = (0..consumers).map(|_| {
                    let rx = rx.clone();
                    thread::spawn(move || {
                        let mut last = vec![None; producers];
                        for (producer, i) in &rx {
                            assert!(last[producer].replace(i) < Some(i), "C2: in each producer's order");
                        }
                    })
                });
                let receiving = receiving.collect::<Vec<_>>();
                drop((tx, rx));
                for thread in sending.into_iter().chain(receiving) {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                }
            });
        }
    }
}

/// C11: waiters that give up and waiters that stay share a queue; whoever stays is served.
#[test]
fn the_patient_are_served_among_the_impatient() {
    for kind in KINDS {
        within(&format!("C11: the patient are served, {kind:?}"), move || {
            let values = 2000 * scale();
            let (tx, rx) = kind.open();
            let done = Arc::new(AtomicBool::new(false));
            let impatient = (0..2).map(|seed| {
                let (rx, tx, done) = (rx.clone(), tx.clone(), Arc::clone(&done));
                thread::spawn(move || {
                    let mut rng = StdRng::seed_from_u64(seed);
                    while !done.load(Ordering::SeqCst) {
                        // Takes part in the queue and leaves it; a value that it gets, it sends on.
                        let mut receiving = rx.recv();
                        let mut got = receiving.poll_once(&CountingWaker::new());
                        if got.is_pending() && rng.random_bool(0.5) {
                            thread::yield_now();
                            got = receiving.poll_once(&CountingWaker::new());
                        }
                        drop(receiving);
                        if let std::task::Poll::Ready(Ok(value)) = got {
                            tx.send_blocking(value).expect("a receiver is left");
                        }
                    }
                })
            });
            let impatient = impatient.collect::<Vec<_>>();
            let sending = thread::spawn({
                let tx = tx.clone();
                move || (0..values).for_each(|i| tx.send_blocking(i).expect("a receiver is left"))
            });
            let mut seen = vec![false; values];
            for _ in 0..values {
                let value = rx.recv_blocking().expect("senders are left");
                assert!(!std::mem::replace(&mut seen[value], true), "C1: {value} came twice");
            }
            done.store(true, Ordering::SeqCst);
            sending.join().expect("the sender ends");
            impatient.into_iter().for_each(|thread| thread.join().expect("it ends"));
            assert!(rx.is_empty(), "C1: each value once");
        });
    }
}

/// M1, M2: a lock among threads that wait, give up, and try; each change is kept.
#[test]
fn locks_under_contention() {
    for fair in [false, true] {
        within(&format!("M1: locks under contention, fair: {fair}"), move || {
            let mutex = Arc::new(if fair { leno::sync::Mutex::fair(0) } else { leno::sync::Mutex::new(0) });
            let expected = Arc::new(Mutex::new(0));
            let threads = (0..4).map(|seed| {
                let (mutex, expected) = (Arc::clone(&mutex), Arc::clone(&expected));
                thread::spawn(move || {
                    let mut rng = StdRng::seed_from_u64(seed);
                    let mut mine = 0;
                    for _ in 0..3000 * scale() {
                        let guard = match rng.random_range(0..5) {
                            0 => mutex.try_lock(),
                            1 => mutex.lock_timeout(Duration::from_micros(rng.random_range(0..30))),
                            2 => {
                                let mut lock = mutex.lock();
                                match lock.poll_once(&CountingWaker::new()) {
                                    std::task::Poll::Ready(guard) => Some(guard),
                                    std::task::Poll::Pending => None,
                                }
                            }
                            _ => Some(mutex.lock_blocking()),
                        };
                        if let Some(mut guard) = guard {
                            let value: i64 = *guard;
                            if rng.random_bool(0.01) {
                                thread::yield_now();
                            }
                            *guard = value + 1;
                            mine += 1;
                        }
                    }
                    *expected.lock().unwrap() += mine;
                })
            });
            let threads = threads.collect::<Vec<_>>();
            threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
            assert_eq!(
                *mutex.try_lock().expect("M2: free"),
                *expected.lock().unwrap(),
                "M1: no change is lost"
            );
        });
    }
}

/// S12: three fibers that select over three channels, both ways: a million values arrive once each (fewer in a debug
/// build), by the macro and by sets.
#[test]
fn three_fibers_select_over_three_channels() {
    let each = if cfg!(debug_assertions) { 30_000 } else { 333_334 };
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64)] {
        for set in [false, true].repeat(scale()) {
            let seen = (0..3 * each).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>();
            let circle = Arc::new(Circle {
                channels: [(); 3].map(|()| kind.open()),
                each,
                seen,
                count: AtomicUsize::new(0),
            });
            let runtime = leno::fiber::Runtime::builder().workers(2).build().expect("a runtime starts");
            let fibers = [0, 1, 2].map(|party| {
                let circle = Arc::clone(&circle);
                runtime.spawn(async move {
                    match set {
                        true => circle.select_by_a_set(party).await,
                        false => circle.select_by_macro(party).await,
                    }
                })
            });
            runtime.block_on(async {
                for fiber in fibers {
                    fiber.await.expect("no panic");
                }
            });
            let once = circle.seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1);
            assert!(once, "S12: each value arrives once; {kind:?}, by a set: {set}");
            circle.channels.iter().for_each(|(tx, _)| tx.assert_valid());
        }
    }
}

/// Three parties, each of which sends on its own channel and receives on all.
struct Circle {
    channels: [(Sender<usize>, Receiver<usize>); 3],
    each: usize,
    seen: Vec<AtomicUsize>,
    count: AtomicUsize,
}

impl Circle {
    async fn select_by_macro(&self, party: usize) {
        let [(_, own), (_, left), (_, right)] = [0, 1, 2].map(|i| &self.channels[(party + i) % 3]);
        let mut sent = 0;
        loop {
            let received = leno::select! {
                done = self.channels[party].0.send(party * self.each + sent), if sent < self.each => {
                    done.expect("closed only when all has arrived");
                    sent += 1;
                    continue;
                }
                // What it sends it never receives in the same select.
                received = own.recv() => received,
                received = left.recv() => received,
                received = right.recv() => received,
            };
            let Ok(value) = received else { return };
            self.arrived(value);
        }
    }

    async fn select_by_a_set(&self, party: usize) {
        let mut set = Select::new();
        let receives = [0, 1, 2].map(|i| set.recv(&self.channels[i].1));
        let mut sent = 0;
        let mut send = set.send(&self.channels[party].0, party * self.each);
        loop {
            let operation = set.select().await;
            if operation.is(send) {
                operation.send(send).expect("closed only when all has arrived");
                sent += 1;
                if sent < self.each {
                    send = set.send(&self.channels[party].0, party * self.each + sent);
                }
                continue;
            }
            let token = receives.into_iter().find(|token| operation.is(*token)).expect("one of them");
            let Ok(value) = operation.recv(token) else { return };
            self.arrived(value);
        }
    }

    /// Closes all channels when the last value has arrived.
    fn arrived(&self, value: usize) {
        self.seen[value].fetch_add(1, Ordering::Relaxed);
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.seen.len() {
            self.channels.iter().for_each(|(tx, _)| _ = tx.close());
        }
    }
}

/// C27, S6: as many threads as values fit, beside some that are there already: each sends one and takes one. Whoever sends finds
/// room, and whoever takes finds a value, as there is always one in the channel that nobody has begun to take.
fn as_many_threads_as_fit(what: &str, send: fn(&Sender<usize>) -> bool, recv: fn(&Receiver<usize>) -> bool) {
    let kinds = [
        (Kind::Bounded(1), 1, 0),
        (Kind::Bounded(3), 3, 0),
        (Kind::Bounded(4), 4, 0),
        (Kind::Bounded(64), 4, 0),
        (Kind::Bounded(255), 4, 0),
        (Kind::Bounded(256), 4, 252),
        (Kind::Bounded(1000), 4, 0),
        (Kind::Unbounded, 4, 0),
    ];
    for (kind, threads, there) in kinds {
        within(what, move || {
            let (tx, rx) = kind.open::<usize>();
            (0..there).for_each(|_| tx.try_send(0).expect("it is new"));
            let barrier = std::sync::Barrier::new(threads);
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        barrier.wait();
                        for round in 0..20_000 * scale() {
                            assert!(send(&tx), "C27: {kind:?}, round {round}: there is room");
                            assert!(recv(&rx), "C27: {kind:?}, round {round}: there is a value");
                        }
                    });
                }
            });
            assert_eq!(rx.len(), there);
            tx.assert_valid();
        });
    }
}

#[test]
fn try_operations_see_what_is_there() {
    as_many_threads_as_fit(
        "C27: try_send, try_recv",
        |tx| tx.try_send(1).is_ok(),
        |rx| rx.try_recv().is_ok(),
    );
}

/// Also what only polls them: a limit that is over, and a branch of a select that is no operation.
#[test]
fn whoever_polls_once_sees_what_is_there() {
    as_many_threads_as_fit(
        "C27: timeouts that are over",
        |tx| leno::timeout(Duration::ZERO, tx.send(1)).wait() == Ok(Ok(())),
        |rx| leno::timeout(Duration::ZERO, rx.recv()).wait().is_ok(),
    );
    as_many_threads_as_fit(
        "S6: default beside other futures",
        |tx| select_blocking! { sent = async { tx.send(1).await } => sent.is_ok(), default => false },
        |rx| select_blocking! { received = async { rx.recv().await } => received.is_ok(), default => false },
    );
}

#[test]
fn drains_see_what_is_there() {
    as_many_threads_as_fit("C27: drain", |tx| tx.try_send(1).is_ok(), |rx| rx.drain().next().is_some());
}

#[test]
fn selects_with_default_see_what_is_there() {
    as_many_threads_as_fit(
        "S6: default",
        |tx| select_blocking! { sent = tx.send(1) => sent.is_ok(), default => false },
        |rx| select_blocking! { received = rx.recv() => received.is_ok(), default => false },
    );
}

/// What the operations of [`lent_operations_under_threads`] are for.
struct Lending {
    tx: Sender<()>,
    rx: Receiver<()>,
    semaphore: Semaphore,
    mutex: leno::sync::Mutex<usize>,
    lock: RwLock<usize>,
    sent: AtomicUsize,
    received: AtomicUsize,
}

impl Lending {
    /// Some operations are begun, polled, lent to selects which they win, lose, or win in vain, and dropped.
    fn lend(&self, rng: &mut StdRng) {
        let mut send = self.tx.send(());
        let mut recv = self.rx.recv();
        let mut acquire = self.semaphore.acquire_many(rng.random_range(1..=3));
        let mut lock = self.mutex.lock();
        let mut write = self.lock.write();
        let mut upgrade = self.lock.try_upgradable_read().map(RwLockUpgradableReadGuard::upgrade);
        let received = || _ = self.received.fetch_add(1, Ordering::Relaxed);
        let waker = CountingWaker::new();
        for _ in 0..rng.random_range(1..5) {
            if rng.random_ratio(1, 4) {
                if !send.is_terminated() && rng.random() {
                    let _ = send.poll_once(&waker);
                }
                if !recv.is_terminated() && recv.poll_once(&waker).is_ready() {
                    received();
                }
                continue;
            }
            let mut set = Select::new();
            let sends = (!send.is_terminated() && rng.random()).then(|| set.add(&mut send));
            let recvs = (!recv.is_terminated() && rng.random()).then(|| set.add(&mut recv));
            let acquires = (!acquire.is_terminated() && rng.random()).then(|| set.add(&mut acquire));
            let locks = (!lock.is_terminated() && rng.random()).then(|| set.add(&mut lock));
            let writes = (!write.is_terminated() && rng.random()).then(|| set.add(&mut write));
            let upgrade = upgrade.as_mut().filter(|upgrade| !upgrade.is_terminated() && rng.random());
            let upgrades = upgrade.map(|upgrade| set.add(upgrade));
            if set.is_empty() {
                continue;
            }
            let mut selecting = set.select();
            for _ in 0..rng.random_range(1..5) {
                let Poll::Ready(won) = selecting.poll_once(&waker) else {
                    if rng.random() {
                        thread::yield_now();
                    }
                    continue;
                };
                if rng.random_ratio(1, 4) {
                    drop(won);
                } else if let Some(token) = sends.filter(|token| won.is(*token)) {
                    won.output(token).expect("the channel is open");
                } else if let Some(token) = recvs.filter(|token| won.is(*token)) {
                    won.output(token).expect("the channel is open");
                    received();
                } else if let Some(token) = acquires.filter(|token| won.is(*token)) {
                    drop(won.output(token));
                } else if let Some(token) = locks.filter(|token| won.is(*token)) {
                    *won.output(token) += 1;
                } else if let Some(token) = writes.filter(|token| won.is(*token)) {
                    *won.output(token) += 1;
                } else if let Some(token) = upgrades.filter(|token| won.is(*token)) {
                    *won.output(token) += 1;
                }
                break;
            }
            drop(selecting);
            drop(set);
            // Those that have lost wait for nothing, and keep nobody out.
            drop(self.mutex.lock().wait());
            drop(self.lock.read().wait());
        }
        if send.into_inner().is_none() {
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// S1, S9, S10, S13, C9, C10, M2: whatever becomes of operations that are lent to selects, nothing is lost by it.
#[test]
fn lent_operations_under_threads() {
    for capacity in [0, 1, 2, 300] {
        within("lent operations", move || {
            let (tx, rx) = leno::bounded(capacity);
            let lending = Lending {
                tx,
                rx,
                semaphore: Semaphore::new(3),
                mutex: leno::sync::Mutex::new(0),
                lock: RwLock::new(0),
                sent: AtomicUsize::new(0),
                received: AtomicUsize::new(0),
            };
            thread::scope(|scope| {
                for seed in 0..4 {
                    let lending = &lending;
                    scope.spawn(move || {
                        let mut rng = StdRng::seed_from_u64(seed);
                        (0..2000 * scale()).for_each(|_| lending.lend(&mut rng));
                    });
                }
            });
            let Lending { tx, rx, semaphore, mutex, lock, sent, received } = lending;
            assert_eq!(sent.into_inner(), received.into_inner() + rx.drain().count(), "C1: each once");
            assert_eq!(tx.try_send(()).is_ok(), capacity > 0, "C9, C10: nobody is left in line");
            tx.assert_valid();
            assert_eq!(semaphore.available_permits(), 3, "M2");
            semaphore.assert_valid();
            assert!(mutex.try_lock().is_some(), "M2");
            mutex.assert_valid();
            lock.assert_free();
        });
    }
}

/// C1, C2, C9: one sender and one receiver, with everything in one word and with two: each value comes once, in order, whatever is
/// given up.
#[test]
fn single_sides() {
    let values = 20_000 * scale();
    for capacity in [Some(0), Some(1), Some(2), Some(63), Some(64), Some(300), None] {
        within("single sides", move || {
            let (mut tx, mut rx) = capacity.map_or_else(spsc::unbounded, spsc::bounded);
            let sender = thread::spawn(move || {
                let mut rng = StdRng::seed_from_u64(1);
                for number in 0..values {
                    let mut next = Some(Box::new(number));
                    while let Some(value) = next.take() {
                        next = match rng.random_range(0..4) {
                            0 => tx.try_send(value).err().map(TrySendError::into_inner),
                            1 => match tx.send_timeout(value, Duration::from_micros(5)) {
                                Err(SendTimeoutError::Timeout(back)) => Some(back),
                                sent => sent.map(|()| None).expect("the receiver is there"),
                            },
                            2 => {
                                let mut sending = tx.send(value);
                                let _ = sending.poll_once(&CountingWaker::new());
                                sending.into_inner()
                            }
                            _ => tx.send_blocking(value).map(|()| None).expect("the receiver is there"),
                        };
                    }
                }
            });
            let mut rng = StdRng::seed_from_u64(2);
            let mut received = Vec::new();
            for number in 0.. {
                while received.is_empty() {
                    let value = match rng.random_range(0..5) {
                        0 => rx.try_recv().ok(),
                        1 => rx.recv_timeout(Duration::from_micros(5)).ok(),
                        2 => match rx.recv().poll_once(&CountingWaker::new()) {
                            Poll::Ready(received) => received.ok(),
                            Poll::Pending => None,
                        },
                        3 => {
                            let _ = rx.try_recv_many(&mut received, 8);
                            None
                        }
                        _ if number == values => break,
                        _ => Some(rx.recv_blocking().expect("there is one to come")),
                    };
                    received.extend(value);
                }
                if received.is_empty() {
                    assert_eq!(number, values, "C1: {capacity:?}");
                    break;
                }
                assert_eq!(*received.remove(0), number, "C2: {capacity:?}");
            }
            sender.join().unwrap();
            rx.assert_valid();
            assert!(rx.try_recv().is_err());
        });
    }
}
