//! Whole channels whose operations wait, and are given up, against a sequential one.
//!
//! An operation that waits is two events: it begins, which may complete it and others at once, and it is over, which
//! says how, or it is given up. So the order in which waiters are served is checked, too, and where the value goes of one
//! that was given up after it had been handed over (W. Scherer, M. Scott, "Nonblocking Concurrent Data Structures with
//! Condition Synchronization", DISC 2004: dual data structures).
//!
//! In channels that are no rings a receive may leave it to another one, which is under way still, to let in the sender that it has
//! made room for: until then that can be given up. So there nobody is given up here: what waits goes on waiting. And a send that need
//! not wait takes a place first, then its place in the order, as a permit does: two steps, both within its call.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use leno::channel::{IntoRecv, IntoSend, RecvError, SendFuture};
use leno::{Receiver, Sender, bounded, unbounded};
use shuttle::rand::{Rng, thread_rng};

use crate::history::{Called, Clock, Fat, Operation, Sequential, assert_linearizable};
use crate::scenarios::harness::thread;

/// A value, and the number of the operation that sends it.
type Value = usize;

#[derive(Clone, Copy, Debug)]
enum Event {
    BeginSend(Value),
    /// It had a place, and puts its value there.
    Put(Value),
    /// Whether it was sent; otherwise the channel was closed.
    Sent(Value, bool),
    /// Whether it had been sent.
    GiveUpSend(Value, bool),
    BeginRecv(usize),
    Received(usize, Option<Value>),
    GiveUpRecv(usize),
    /// The channel was full.
    Full,
    TryRecv(Option<Value>),
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
    /// Those who have a place and no value there, if that is a step of its own.
    placed: Option<BTreeSet<Value>>,
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
            placed: None,
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
        self.has_room().then(|| self.values.push_back(value)).map(|()| true)
    }

    fn has_room(&self) -> bool {
        self.values.len() + self.placed.as_ref().map_or(0, BTreeSet::len) < self.capacity
    }

    /// A sender that waits is let in.
    fn let_in(&mut self) {
        while self.has_room() {
            let Some(sender) = self.senders.pop_front() else { return };
            self.ended.insert(sender, Ended::Sent(true));
            self.values.push_back(sender);
        }
    }

    fn begin_send(&mut self, value: Value) {
        let takes_place = !self.closed && self.receivers.is_empty() && self.has_room();
        if let Some(placed) = self.placed.as_mut().filter(|_| takes_place) {
            placed.insert(value);
            return;
        }
        match self.send(value) {
            Some(sent) => _ = self.ended.insert(value, Ended::Sent(sent)),
            None => self.senders.push_back(value),
        }
    }

    fn put(&mut self, value: Value) {
        if self.placed.as_mut().is_some_and(|placed| placed.remove(&value)) {
            let sent = self.send(value).expect("it had a place");
            self.ended.insert(value, Ended::Sent(sent));
            self.let_in();
        }
    }

    fn recv(&mut self) -> Option<Option<Value>> {
        if let Some((_, value)) = self.returned.pop_first() {
            return Some(Some(value));
        }
        if let Some(first) = self.values.pop_front() {
            self.let_in();
            return Some(Some(first));
        }
        if self.capacity > 0 {
            return self.closed.then_some(None);
        }
        // A sender that waits meets.
        match self.senders.pop_front() {
            Some(value) => {
                self.ended.insert(value, Ended::Sent(true));
                Some(Some(value))
            }
            None => self.closed.then_some(None),
        }
    }
}

impl Sequential for Line {
    type Event = Event;

    fn apply(&mut self, event: &Event) -> bool {
        match *event {
            Event::BeginSend(value) => self.begin_send(value),
            Event::Put(value) => self.put(value),
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
            Event::Full => return !self.closed && self.receivers.is_empty() && !self.has_room(),
            Event::TryRecv(value) => return self.recv().flatten() == value,
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

/// Receives what is left, which has to be as the history says.
fn conclude(
    clock: &Clock,
    mut history: Vec<Operation<Event>>,
    capacity: Option<usize>,
    mut try_recv: impl FnMut() -> Option<Value>,
) {
    for me in 0.. {
        let (called, received) = clock.call(&mut try_recv);
        let Some(value) = received else { break };
        history.extend([called.with(Event::BeginRecv(me)), called.with(Event::Received(me, Some(value)))]);
    }
    assert_linearizable(Line::new(capacity.unwrap_or(usize::MAX)), history);
}

/// One receiver, and as many senders.
fn one_receives((tx, rx): (Sender<usize>, Receiver<usize>), senders: usize, each: usize, closes: bool) {
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
    let capacity = rx.capacity();
    conclude(&clock, history, capacity, || rx.try_recv().ok());
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
    let history = running.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    rx.assert_valid();
    conclude(&clock, history, rx.capacity(), || rx.try_recv().ok());
}

/// What a thread does, without giving anything up.
#[derive(Clone, Copy, Debug)]
enum Do {
    Send,
    Recv,
    TrySend,
    TryRecv,
}

/// What it has done, and what waits still.
struct Patient<T> {
    clock: Clock,
    history: Vec<Operation<Event>>,
    sends: Vec<(Value, IntoSend<T>)>,
    recvs: Vec<(usize, IntoRecv<T>)>,
}

impl<T: From<usize> + Into<usize> + Send + 'static> Patient<T> {
    fn new(clock: &Clock) -> Self {
        Patient { clock: clock.clone(), history: vec![], sends: vec![], recvs: vec![] }
    }

    fn act(&mut self, me: usize, todo: Do, (tx, rx): &(Sender<T>, Receiver<T>)) {
        match todo {
            Do::Send => {
                let mut sending = tx.clone().into_send(T::from(me));
                let (begun, over) = poll(&self.clock, &mut sending, 1);
                self.history.extend([Event::BeginSend(me), Event::Put(me)].map(|event| begun.with(event)));
                match over {
                    Some((called, sent)) => self.history.push(called.with(Event::Sent(me, sent.is_ok()))),
                    None => self.sends.push((me, sending)),
                }
            }
            Do::Recv => {
                let mut receiving = rx.clone().into_recv();
                let (begun, over) = poll(&self.clock, &mut receiving, 1);
                self.history.push(begun.with(Event::BeginRecv(me)));
                match over {
                    Some((called, received)) => {
                        let value = received.ok().map(Into::into);
                        self.history.push(called.with(Event::Received(me, value)));
                    }
                    None => self.recvs.push((me, receiving)),
                }
            }
            Do::TrySend => {
                let (called, sent) = self.clock.call(|| tx.try_send(T::from(me)));
                match sent {
                    Ok(()) => {
                        let events = [Event::BeginSend(me), Event::Put(me), Event::Sent(me, true)];
                        self.history.extend(events.map(|event| called.with(event)));
                    }
                    Err(_) => self.history.push(called.with(Event::Full)),
                }
            }
            Do::TryRecv => _ = self.try_recv(rx),
        }
    }

    fn try_recv(&mut self, rx: &Receiver<T>) -> bool {
        let (called, received) = self.clock.call(|| rx.try_recv());
        let value = received.ok().map(Into::into);
        self.history.push(called.with(Event::TryRecv(value)));
        value.is_some()
    }

    /// Nothing waits any more. The channel is closed and empty.
    fn end(&mut self) {
        for (me, mut sending) in self.sends.drain(..) {
            let (called, sent) = poll(&self.clock, &mut sending, 1).1.expect("it is over");
            self.history.push(called.with(Event::Sent(me, sent.is_ok())));
        }
        for (me, mut receiving) in self.recvs.drain(..) {
            let (called, received) = poll(&self.clock, &mut receiving, 1).1.expect("it is over");
            let value = received.ok().map(Into::into);
            self.history.push(called.with(Event::Received(me, value)));
        }
    }
}

/// What is done before, and then by each thread.
fn patient<T>(channel: (Sender<T>, Receiver<T>), steps: Steps, before: &[Do], threads: Vec<Vec<Do>>)
where
    T: From<usize> + Into<usize> + Send + 'static,
{
    let clock = Clock::default();
    let mut here = Patient::new(&clock);
    for (at, todo) in before.iter().enumerate() {
        here.act(at, *todo, &channel);
    }
    let running = threads.into_iter().enumerate().map(|(thread, program)| {
        let (mut there, channel) = (Patient::new(&clock), channel.clone());
        thread::spawn(move || {
            for (at, todo) in program.into_iter().enumerate() {
                there.act((thread + 1) * 100 + at, todo, &channel);
            }
            there
        })
    });
    let running = running.collect::<Vec<_>>();
    for thread in running {
        let there = thread.join().unwrap();
        here.history.extend(there.history);
        here.sends.extend(there.sends);
        here.recvs.extend(there.recvs);
    }
    let rx = &channel.1;
    rx.assert_valid();
    while here.try_recv(rx) {}
    let (called, first) = clock.call(|| rx.close());
    here.history.push(called.with(Event::Close(first)));
    here.end();
    let placed = (steps == Steps::Two).then(BTreeSet::new);
    let line = Line { placed, ..Line::new(rx.capacity().unwrap_or(usize::MAX)) };
    assert_linearizable(line, here.history);
}

/// In how many steps a send that need not wait takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    One,
    Two,
}

/// `threads` threads of `each` operations.
fn any(threads: usize, each: usize) -> Vec<Vec<Do>> {
    let todo = || match thread_rng().gen_range(0..6) {
        0 | 1 => Do::Send,
        2 | 3 => Do::Recv,
        4 => Do::TrySend,
        _ => Do::TryRecv,
    };
    (0..threads).map(|_| (0..each).map(|_| todo()).collect()).collect()
}

/// Two places, with two values, and so many senders that wait.
fn full(waiting: usize) -> Vec<Do> {
    [vec![Do::TrySend; 2], vec![Do::Send; waiting]].concat()
}

// C2, C9, C18
tests! {
    rendezvous_of_two: random(bounded(0), 2, 5, false);
    rendezvous_of_four: random(bounded(0), 4, 3, true);
    one_place: random(bounded(1), 3, 4, true);
    two_places: random(bounded(2), 4, 3, true);
    no_bound: random(unbounded(), 3, 4, true);
    one_place_and_patience: patient::<usize>(bounded(1), Steps::One, &[], any(3, 3));
    one_place_and_no_ring: patient::<Fat>(bounded(1), Steps::Two, &[], any(3, 3));
    two_places_and_no_ring: patient::<Fat>(bounded(2), Steps::Two, &full(1), any(3, 3));
    two_receive_where_two_wait:
        patient::<Fat>(bounded(2), Steps::One, &full(2), vec![vec![Do::Recv], vec![Do::Recv]]);
    two_receive_and_one_tries_where_two_wait:
        patient::<Fat>(bounded(2), Steps::One, &full(2), vec![vec![Do::Recv], vec![Do::Recv, Do::TrySend]]);
    two_receive_and_one_tries_where_one_waits:
        patient::<Fat>(bounded(2), Steps::One, &full(1), vec![vec![Do::Recv], vec![Do::Recv, Do::TrySend]]);
    one_receives_from_one_place: one_receives(bounded(1), 3, 3, true);
    one_receives_from_two_places: one_receives(bounded(2), 3, 3, false);
}
