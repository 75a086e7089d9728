//! Whole channels whose operations wait, and are given up, against a sequential one.
//!
//! An operation that waits is two events: it begins, which may complete it and others at once, and it is over, which
//! says how, or it is given up. So the order in which waiters are served is checked, too, and where the value goes of one
//! that was given up after it had been handed over (W. Scherer, M. Scott, "Nonblocking Concurrent Data Structures with
//! Condition Synchronization", DISC 2004: dual data structures).

mod history;
#[path = "../../scenarios/mod.rs"]
mod scenarios;

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use leno::channel::{RecvError, SendFuture, mpsc};
use leno::{Receiver, Sender, bounded, unbounded};
use shuttle::rand::{Rng, thread_rng};

use history::{Called, Clock, Operation, Sequential};
use scenarios::harness;
use scenarios::harness::thread;

/// A value, and the number of the operation that sends it.
type Value = usize;

#[derive(Clone, Copy, Debug)]
enum Event {
    BeginSend(Value),
    /// Whether it was sent; otherwise the channel was closed.
    Sent(Value, bool),
    /// Whether it had been sent.
    GiveUpSend(Value, bool),
    BeginRecv(usize),
    Received(usize, Option<Value>),
    GiveUpRecv(usize),
    Close(bool),
}

/// How an operation has ended, before its owner knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Ended {
    Sent(bool),
    /// With a number that says in which order values were handed over.
    Received(Option<(u64, Value)>),
    /// It is to look for itself.
    Told,
}

/// What a channel does in sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Line {
    capacity: usize,
    closed: bool,
    values: VecDeque<Value>,
    senders: VecDeque<Value>,
    receivers: VecDeque<usize>,
    /// Given back, in the order in which they had been handed over.
    returned: BTreeMap<u64, Value>,
    handed_over: u64,
    ended: BTreeMap<usize, Ended>,
}

impl Line {
    fn new(capacity: usize) -> Line {
        Line {
            capacity,
            closed: false,
            values: VecDeque::new(),
            senders: VecDeque::new(),
            receivers: VecDeque::new(),
            returned: BTreeMap::new(),
            handed_over: 0,
            ended: BTreeMap::new(),
        }
    }

    fn send(&mut self, value: Value) -> Option<bool> {
        if self.closed {
            return Some(false);
        }
        if let Some(receiver) = self.receivers.pop_front() {
            self.handed_over += 1;
            self.ended.insert(receiver, Ended::Received(Some((self.handed_over, value))));
            return Some(true);
        }
        let has_room = self.values.len() < self.capacity;
        has_room.then(|| self.values.push_back(value)).map(|()| true)
    }

    fn recv(&mut self) -> Option<Option<Value>> {
        if let Some((_, value)) = self.returned.pop_first() {
            return Some(Some(value));
        }
        let first = self.values.pop_front();
        // A sender that waits is let in, or meets.
        let sender =
            self.senders.pop_front().inspect(|sender| _ = self.ended.insert(*sender, Ended::Sent(true)));
        match (first, sender) {
            (Some(value), sender) => {
                self.values.extend(sender);
                Some(Some(value))
            }
            (None, Some(value)) => Some(Some(value)),
            (None, None) => self.closed.then_some(None),
        }
    }
}

impl Sequential for Line {
    type Event = Event;

    fn apply(&mut self, event: &Event) -> bool {
        match *event {
            Event::BeginSend(value) => match self.send(value) {
                Some(sent) => _ = self.ended.insert(value, Ended::Sent(sent)),
                None => self.senders.push_back(value),
            },
            Event::Sent(value, sent) => return self.ended.remove(&value) == Some(Ended::Sent(sent)),
            Event::GiveUpSend(value, was_sent) => {
                self.senders.retain(|sender| *sender != value);
                return (self.ended.remove(&value) == Some(Ended::Sent(true))) == was_sent;
            }
            Event::BeginRecv(me) => match self.recv() {
                Some(received) => {
                    _ = self.ended.insert(me, Ended::Received(received.map(|value| (0, value))))
                }
                None => self.receivers.push_back(me),
            },
            Event::Received(me, value) => match self.ended.remove(&me) {
                Some(Ended::Received(received)) => return received.map(|(_, value)| value) == value,
                Some(Ended::Told) => return self.recv() == Some(value),
                _ => return false,
            },
            Event::GiveUpRecv(me) => {
                self.receivers.retain(|receiver| *receiver != me);
                if let Some(Ended::Received(Some((number, value)))) = self.ended.remove(&me) {
                    match self.receivers.pop_front() {
                        Some(next) => {
                            self.ended.insert(next, Ended::Received(Some((number, value))));
                        }
                        None => _ = self.returned.insert(number, value),
                    }
                }
            }
            Event::Close(first) => {
                for sender in self.senders.drain(..) {
                    self.ended.insert(sender, Ended::Sent(false));
                }
                for receiver in self.receivers.drain(..) {
                    self.ended.insert(receiver, Ended::Told);
                }
                return std::mem::replace(&mut self.closed, true) != first;
            }
        }
        true
    }
}

/// Whether a task was woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls a few times; gives when the operation began, and its outcome, unless it is still under way.
fn poll<F: Future + Unpin>(
    clock: &Clock,
    future: &mut F,
    polls: usize,
) -> (Called, Option<(Called, F::Output)>) {
    let flag = Arc::new(Flag::default());
    let waker = Waker::from(Arc::clone(&flag));
    let mut future = pin!(future);
    let mut begun: Option<Called> = None;
    let mut is_beginning = true;
    for poll in 1.. {
        let (called, polled) = clock.call(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
        if is_beginning {
            begun = Some(begun.map_or(called, |begun| Called { ret: called.ret, ..begun }));
        }
        if let Poll::Ready(output) = polled {
            return (begun.expect("it was polled"), Some((called, output)));
        }
        // One that is to look again may not stand in the line yet.
        is_beginning &= flag.0.swap(false, Ordering::SeqCst);
        if poll >= polls && !is_beginning {
            break;
        }
        thread::yield_now();
    }
    (begun.expect("it was polled"), None)
}

/// A send that is given up if it waits for long.
fn send(clock: &Clock, mut sending: SendFuture<'_, Value>, me: Value, polls: usize) -> [Operation<Event>; 2] {
    let (begun, over) = poll(clock, &mut sending, polls);
    let over = match over {
        Some((called, sent)) => called.with(Event::Sent(me, sent.is_ok())),
        None => {
            let (called, value) = clock.call(|| sending.into_inner());
            called.with(Event::GiveUpSend(me, value.is_none()))
        }
    };
    [begun.with(Event::BeginSend(me)), over]
}

/// A receive, the same.
fn recv<F>(clock: &Clock, mut receiving: F, me: usize, polls: usize) -> [Operation<Event>; 2]
where
    F: Future<Output = Result<Value, RecvError>> + Unpin,
{
    let (begun, over) = poll(clock, &mut receiving, polls);
    let over = match over {
        Some((called, received)) => called.with(Event::Received(me, received.ok())),
        None => clock.call(|| drop(receiving)).0.with(Event::GiveUpRecv(me)),
    };
    [begun.with(Event::BeginRecv(me)), over]
}

/// One receiver that is alone, and as many senders.
fn alone(
    (tx, mut rx): (mpsc::Sender<usize>, mpsc::Receiver<usize>),
    senders: usize,
    each: usize,
    closes: bool,
) {
    let clock = Clock::default();
    let running = (1..=senders).map(|me| {
        let (tx, clock) = (tx.clone(), clock.clone());
        thread::spawn(move || {
            let mut history: Vec<Operation<Event>> = Vec::new();
            for at in 0..each {
                let me = me * 100 + at;
                if closes && thread_rng().gen_range(0..12) == 0 {
                    let (called, first) = clock.call(|| tx.close());
                    history.push(called.with(Event::Close(first)));
                } else {
                    history.extend(send(&clock, tx.send(me), me, thread_rng().gen_range(1..4)));
                }
            }
            history
        })
    });
    let running = running.collect::<Vec<_>>();
    let mut history: Vec<Operation<Event>> = Vec::new();
    for me in 1000..1000 + 2 * each {
        history.extend(recv(&clock, rx.recv(), me, thread_rng().gen_range(1..4)));
    }
    history.extend(running.into_iter().flat_map(|thread| thread.join().unwrap()));
    rx.assert_valid();
    for me in 0.. {
        let (called, received) = clock.call(|| rx.try_recv().ok());
        let Some(value) = received else { break };
        history.extend([called.with(Event::BeginRecv(me)), called.with(Event::Received(me, Some(value)))]);
    }
    history::assert_linearizable(Line::new(rx.capacity().unwrap_or(usize::MAX)), history);
}

/// `threads` threads of `each` operations, most of which are given up if they wait for long.
fn random((tx, rx): (Sender<usize>, Receiver<usize>), threads: usize, each: usize, closes: bool) {
    let clock = Clock::default();
    let running = (1..=threads).map(|me| {
        let (tx, rx, clock) = (tx.clone(), rx.clone(), clock.clone());
        thread::spawn(move || {
            let mut history: Vec<Operation<Event>> = Vec::new();
            for at in 0..each {
                let me = me * 100 + at;
                let polls = thread_rng().gen_range(1..4);
                match thread_rng().gen_range(0..20) {
                    0 if closes => {
                        let (called, first) = clock.call(|| tx.close());
                        history.push(called.with(Event::Close(first)));
                    }
                    0..10 => history.extend(send(&clock, tx.send(me), me, polls)),
                    _ => history.extend(recv(&clock, rx.recv(), me, polls)),
                }
            }
            history
        })
    });
    let running = running.collect::<Vec<_>>();
    let mut history: Vec<_> = running.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    rx.assert_valid();
    // What is left is what has to be.
    for me in 0.. {
        let (called, received) = clock.call(|| rx.try_recv().ok());
        let Some(value) = received else { break };
        history.extend([called.with(Event::BeginRecv(me)), called.with(Event::Received(me, Some(value)))]);
    }
    history::assert_linearizable(Line::new(rx.capacity().unwrap_or(usize::MAX)), history);
}

macro_rules! tests {
    ($($name:ident: $scenario:expr;)+) => {$(
        #[test]
        fn $name() {
            harness::check(stringify!($name), 0, || $scenario);
        }
    )+};
}

// C2, C9, C18
tests! {
    rendezvous_of_two: random(bounded(0), 2, 5, false);
    rendezvous_of_four: random(bounded(0), 4, 3, true);
    one_place: random(bounded(1), 3, 4, true);
    two_places: random(bounded(2), 4, 3, true);
    no_bound: random(unbounded(), 3, 4, true);
    alone_with_one_place: alone(mpsc::bounded(1), 3, 3, true);
    alone_with_two_places: alone(mpsc::bounded(2), 3, 3, false);
}
