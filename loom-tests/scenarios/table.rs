//! Scenarios as tables: what is there before, and what each thread does, in commands. In the end everybody is at rest, and
//! then nobody sleeps beside what it waits for, whoever is through was woken, and each value is somewhere once.
//!
//! Operations have numbers, as places of a table; an operation begins in one thread and may be polled, or dropped, in
//! another one. No two threads use a place at one time.

use std::collections::BTreeSet;
use std::sync::Arc as StdArc;
use std::sync::Mutex as StdMutex;
use std::task::Poll;

use leno::channel::Overflow::{DropNewest, DropOldest, Suspend};
use leno::channel::{
    Builder, Overflow, Permit, Permits, Receiver, RecvError, RecvFuture, ReserveMany, SendError, SendFuture,
    Sender, TryRecvError, TryReserveError, TrySendError,
};

use super::harness::{Arc, thread};
use super::support::{Value, Values, Woken, poll_with};

/// What a thread does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Do {
    /// Begins to send this value, as this operation.
    S(usize, usize),
    /// Begins to receive.
    R(usize),
    /// Drops an operation that waits.
    D(usize),
    /// Takes the value of a send back.
    Inner(usize),
    /// Polls once more, with the same waker.
    P(usize),
    /// Polls once more, with another one.
    Repark(usize),
    /// Tries to send.
    TS(usize),
    /// Sends in any case.
    F(usize),
    /// Tries to receive.
    TR,
    /// Tries to send, and is not told that the channel is full.
    TSok(usize),
    /// The same, by a future that is polled once: a branch of a select with a default.
    PSok(usize),
    /// The same, and what is polled is a select.
    PSelectOk(usize),
    /// Asks whether a send would wait, and is not told that it would.
    AskOk(usize),
    /// Tries to receive, and is not told that it is empty.
    TRok,
    /// Tries to receive; unless this comes, the thread is through.
    TRif(usize),
    /// Begins to reserve so many places, as this operation.
    Reserve(usize, usize),
    /// Reserves a place, and gives it back: from now on places are counted.
    Count,
    /// Tries to reserve a place, as this operation.
    TReserve(usize),
    /// The same, and is not told that the channel is full.
    TReserveOk(usize),
    /// Sends by a permit that this operation has got, if it has.
    Use(usize, usize),
    /// Drops what permits this operation has got.
    Free(usize),
    Close,
    /// Closes, and drops what is in the channel, as the last receiver does.
    CloseNow,
    /// From now on nodes are recycled.
    Recycle,
    /// From now on so many may wait in the small array.
    Cells(usize),
}

/// What values are sent as.
pub(crate) trait Item: Send + Sized + 'static {
    fn of(value: Value) -> Self;
    fn number(&self) -> usize;
}

impl Item for Value {
    fn of(value: Value) -> Self {
        value
    }

    fn number(&self) -> usize {
        self.number
    }
}

/// Large: waits in a box, and no ring has room for two.
pub(crate) struct Fat(Value, [usize; 80]);

impl Item for Fat {
    fn of(value: Value) -> Self {
        Fat(value, [7; 80])
    }

    fn number(&self) -> usize {
        assert!(self.1 == [7; 80], "it has come whole");
        self.0.number
    }
}

/// The kinds of channels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A word and perhaps a ring.
    Ring(usize),
    /// Blocks, and a count of places.
    Linked(usize),
    Unbounded,
    /// A ring, and the others, where senders never wait.
    Oldest(usize),
    Newest(usize),
    LinkedOldest(usize),
}

enum Op<T: 'static> {
    Send(SendFuture<'static, T>),
    Recv(RecvFuture<'static, T>),
    Reserve(usize, ReserveMany<'static, T>),
}

/// What an operation has got: permits, each for a value.
enum Got<T: 'static> {
    One(Permit<'static, T>),
    Many(Permits<'static, T>),
}

/// An operation that waits, and the waker it is parked with.
struct Waiting<T: 'static> {
    op: Op<T>,
    woken: StdArc<Woken>,
}

/// What has happened.
#[derive(Default)]
pub(crate) struct Log {
    /// Who has received what; 0: nobody in particular.
    pub(crate) got: Vec<(usize, usize)>,
    pub(crate) back: Vec<usize>,
    /// What the hook got.
    pub(crate) undelivered: Vec<usize>,
    offered: BTreeSet<usize>,
    /// Whether what is in the channel may have been dropped.
    discarded: bool,
    /// How many receives were dropped.
    dropped_receives: usize,
    closed: bool,
}

struct World<T: 'static> {
    // Before the handles, which they borrow.
    places: Vec<StdMutex<Option<Waiting<T>>>>,
    permits: Vec<StdMutex<Option<Got<T>>>>,
    log: StdArc<StdMutex<Log>>,
    values: Values,
    tx: Sender<T>,
    rx: Receiver<T>,
}

const PLACES: usize = 12;

impl<T: Item> World<T> {
    fn new(builder: Builder<T>) -> Self {
        let places = (0..PLACES).map(|_| StdMutex::new(None)).collect();
        let permits = (0..PLACES).map(|_| StdMutex::new(None)).collect();
        let log = StdArc::<StdMutex<Log>>::default();
        let of_hook = StdArc::clone(&log);
        let hook = move |value: T| of_hook.lock().unwrap().undelivered.push(value.number());
        let (tx, rx) = builder.on_undelivered(hook).build();
        World { places, permits, log, values: Values::default(), tx, rx }
    }

    fn log<R>(&self, f: impl FnOnce(&mut Log) -> R) -> R {
        f(&mut self.log.lock().unwrap())
    }

    fn take(&self, at: usize) -> Option<Waiting<T>> {
        self.places[at].lock().unwrap().take()
    }

    fn value(&self, number: usize) -> T {
        self.log(|log| assert!(log.offered.insert(number), "a value is offered once"));
        T::of(self.values.make(number))
    }

    /// Polls, until nobody is in the middle of anything, and notes what came.
    fn poll(&self, at: usize, mut waiting: Waiting<T>) -> bool {
        loop {
            let before = waiting.woken.count();
            let polled = match &mut waiting.op {
                Op::Send(future) => poll_with(future, &waiting.woken).map(|sent| match sent {
                    Ok(()) => {}
                    Err(error) => self.log(|log| log.back.push(error.into_inner().number())),
                }),
                Op::Recv(future) => {
                    poll_with(future, &waiting.woken).map(|received| self.received(at, received))
                }
                Op::Reserve(_, future) => poll_with(future, &waiting.woken).map(|reserved| match reserved {
                    Ok(permits) => *self.permits[at].lock().unwrap() = Some(Got::Many(permits)),
                    Err(_) => self.log(|log| assert!(log.closed, "it is open")),
                }),
            };
            if polled.is_ready() {
                return true;
            }
            if waiting.woken.count() != before {
                thread::yield_now();
                continue;
            }
            *self.places[at].lock().unwrap() = Some(waiting);
            return false;
        }
    }

    fn received(&self, at: usize, received: Result<T, RecvError>) {
        match received {
            Ok(value) => self.log(|log| log.got.push((at, value.number()))),
            Err(RecvError) => self.log(|log| assert!(log.closed, "it is open")),
        }
    }

    fn begin(&self, at: usize, op: Op<T>) {
        assert!(self.places[at].lock().unwrap().is_none(), "a place has one operation");
        self.poll(at, Waiting { op, woken: Woken::new() });
    }

    fn try_send(&self, value: usize) -> bool {
        let value = self.value(value);
        let tried: Result<(), TrySendError<T>> = self.tx.try_send(value);
        tried.map_err(|error| self.log(|log| log.back.push(error.into_inner().number()))).is_ok()
    }

    fn poll_once(&self, sending: impl Future<Output = Result<(), SendError<T>>>) {
        leno::select_blocking! {
            sent = sending => assert!(sent.is_ok()),
            default => panic!("it waited, and there was room all the time"),
        }
    }

    fn try_recv(&self) -> Option<usize> {
        let tried: Result<T, TryRecvError> = self.rx.try_recv();
        let number = tried.ok()?.number();
        self.log(|log| log.got.push((0, number)));
        Some(number)
    }

    /// Does it; false: the thread is through.
    fn act(&self, todo: Do) -> bool {
        match todo {
            Do::S(at, value) if self.is_idle(at) => {
                let value = self.value(value);
                let future = self.tx.send(value);
                // SAFETY: the operation ends before the handle, see `World`.
                let future =
                    unsafe { std::mem::transmute::<SendFuture<'_, T>, SendFuture<'static, T>>(future) };
                self.begin(at, Op::Send(future));
            }
            Do::R(at) if self.is_idle(at) => {
                let future = self.rx.recv();
                // SAFETY: as above.
                let future =
                    unsafe { std::mem::transmute::<RecvFuture<'_, T>, RecvFuture<'static, T>>(future) };
                self.begin(at, Op::Recv(future));
            }
            Do::Reserve(at, count) if self.is_idle(at) => {
                let future = self.tx.reserve_many(count);
                // SAFETY: as above.
                let future =
                    unsafe { std::mem::transmute::<ReserveMany<'_, T>, ReserveMany<'static, T>>(future) };
                self.begin(at, Op::Reserve(count, future));
            }
            Do::Count => drop(self.tx.try_reserve()),
            Do::TReserve(at) => _ = self.try_reserve(at),
            Do::TReserveOk(at) => assert!(self.try_reserve(at), "Full, and it never was"),
            Do::Use(at, number) => {
                let got = self.permits[at].lock().unwrap().take();
                let permit = match got {
                    None => None,
                    Some(Got::One(permit)) => Some(permit),
                    Some(Got::Many(mut permits)) => {
                        let permit = permits.next();
                        if permits.len() > 0 {
                            *self.permits[at].lock().unwrap() = Some(Got::Many(permits));
                        }
                        permit
                    }
                };
                let permit = permit.map(|permit| (permit, self.value(number)));
                if let Some((permit, value)) = permit {
                    if let Err(error) = permit.send(value) {
                        self.log(|log| {
                            assert!(log.discarded, "a permit sends, though the channel is closed");
                            log.back.push(error.into_inner().number());
                        });
                    }
                }
            }
            Do::Free(at) => {
                let got = self.permits[at].lock().unwrap().take();
                drop(got);
            }
            Do::S(..) | Do::R(_) | Do::Reserve(..) => {}
            Do::D(at) => {
                let waiting = self.take(at);
                let receives = matches!(&waiting, Some(Waiting { op: Op::Recv(_), .. }));
                self.log(|log| log.dropped_receives += usize::from(receives));
                drop(waiting);
            }
            Do::Inner(at) => {
                if let Some(Waiting { op: Op::Send(future), .. }) = self.take(at) {
                    if let Some(value) = future.into_inner() {
                        self.log(|log| log.back.push(value.number()));
                    }
                }
            }
            Do::P(at) => {
                if let Some(waiting) = self.take(at) {
                    self.poll(at, waiting);
                }
            }
            Do::Repark(at) => {
                if let Some(mut waiting) = self.take(at) {
                    waiting.woken = Woken::new();
                    self.poll(at, waiting);
                }
            }
            Do::TS(value) => _ = self.try_send(value),
            Do::F(value) => {
                let value = self.value(value);
                let forced = self.tx.force_send(value);
                let back = forced.unwrap_or_else(|error| Some(error.into_inner()));
                self.log(|log| log.back.extend(back.map(|value| value.number())));
            }
            Do::TR => _ = self.try_recv(),
            Do::TSok(value) => {
                assert!(self.try_send(value), "Full, and it never was");
            }
            Do::PSok(value) => self.poll_once(self.tx.send(self.value(value))),
            Do::PSelectOk(value) => {
                let value = self.value(value);
                self.poll_once(async {
                    leno::select! { sent = self.tx.send(value) => sent }
                });
            }
            Do::AskOk(value) => {
                let mut set = leno::select::Select::new();
                let send = set.send(&self.tx, self.value(value));
                assert_eq!(
                    set.try_ready(),
                    Some(send.index()),
                    "it would wait, and there was room all the time"
                );
            }
            Do::TRok => assert!(self.try_recv().is_some(), "Empty, and it never was"),
            Do::TRif(value) => return self.try_recv() == Some(value),
            Do::Close => {
                self.log(|log| log.closed = true);
                self.tx.close();
            }
            Do::CloseNow => {
                self.log(|log| (log.closed, log.discarded) = (true, true));
                self.rx.close_now();
                assert_eq!(self.tx.len(), 0, "left behind when the last receiver went");
            }
            Do::Recycle => leno::model::recycle_nodes(true),
            Do::Cells(cells) => leno::model::cells(cells),
        }
        true
    }

    fn try_reserve(&self, at: usize) -> bool {
        match self.tx.try_reserve() {
            Ok(permit) => {
                // SAFETY: as in `act`.
                let permit = unsafe { std::mem::transmute::<Permit<'_, T>, Permit<'static, T>>(permit) };
                *self.permits[at].lock().unwrap() = Some(Got::One(permit));
                true
            }
            Err(TryReserveError::Full) => false,
            Err(_) => {
                self.log(|log| assert!(log.closed, "it is open"));
                true
            }
        }
    }

    /// Whether one waits that wants several places.
    fn is_mean(&self) -> bool {
        self.places.iter().any(|place| match &*place.lock().unwrap() {
            Some(Waiting { op: Op::Reserve(count, _), .. }) => *count > 1,
            _ => false,
        })
    }

    fn act_all(&self, program: &[Do]) {
        let _ = program.iter().all(|todo| self.act(*todo));
    }

    fn is_idle(&self, at: usize) -> bool {
        self.places[at].lock().unwrap().is_none()
    }

    /// Polls all that wait, at rest: who is through was woken. Gives who receives and who sends still.
    fn look(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut receive, mut send) = (vec![], vec![]);
        for at in 0..PLACES {
            let Some(waiting) = self.take(at) else { continue };
            // At any time: a poll after the wake may have seen what was there before, as a count is no synchronization.
            let was_woken = waiting.woken.count() > 0;
            let sends = !matches!(waiting.op, Op::Recv(..));
            if self.poll(at, waiting) {
                assert!(was_woken, "operation {at} is through, and was not woken");
            } else if sends {
                send.push(at);
            } else {
                receive.push(at);
            }
        }
        (receive, send)
    }

    /// How many permits are held.
    fn held(&self) -> usize {
        let held = self.permits.iter().map(|permits| match &*permits.lock().unwrap() {
            None => 0,
            Some(Got::One(_)) => 1,
            Some(Got::Many(permits)) => permits.len(),
        });
        held.sum()
    }

    /// As many values fit as the capacity says: no place was lost, and none gained.
    fn fill(&self, capacity: usize) {
        (0..PLACES).for_each(|at| _ = self.act(Do::Free(at)));
        let fits = |at: &usize| self.act(Do::S(*at, 950 + at)) && self.is_idle(*at);
        assert_eq!((0..=capacity).filter(fits).count(), capacity, "values that fit");
        while self.try_recv().is_some() {
            self.look();
        }
    }

    fn end(&self, capacity: Option<usize>, fills: bool, check: fn(&Log)) {
        let (mut receive, mut send) = self.look();
        self.tx.assert_valid();
        if self.held() > 0 {
            let len = self.tx.len();
            let is_full = capacity.is_some_and(|capacity| len + self.held() >= capacity);
            // What was given back takes no place: one value for each receive that was dropped.
            let beside = self.log(|log| log.dropped_receives);
            let fits = capacity.is_none_or(|capacity| len + self.held() <= capacity + beside);
            assert!(fits, "more than it holds");
            assert_eq!(self.tx.is_full(), is_full, "permits count");
            // (Some may want more than one.)
            assert!(send.is_empty() || is_full || self.is_mean(), "a sender sleeps beside room and permits");
            assert!(receive.is_empty() || len == 0, "a receiver sleeps beside a value");
        }
        while self.held() > 0 {
            (0..PLACES).for_each(|at| _ = self.act(Do::Free(at)));
            (receive, send) = self.look();
            self.tx.assert_valid();
        }
        let (len, closed) = (self.tx.len(), self.tx.is_closed());
        let say = format!("receive {receive:?}, send {send:?}, {len} values, closed {closed}");
        assert!(receive.is_empty() || send.is_empty(), "both sides sleep: {say}");
        assert!(receive.is_empty() || len == 0 && !closed, "a receiver sleeps beside a value: {say}");
        assert!(
            send.is_empty() || capacity.is_some_and(|capacity| len >= capacity) || len > 0 && self.is_mean(),
            "a sender sleeps beside room: {say}"
        );
        assert!(send.is_empty() || !closed, "a sender sleeps: {say}");
        assert!(!self.log(|log| log.discarded) || len == 0, "left behind: {say}");
        while self.try_recv().is_some() {}
        while self.look() != (receive.clone(), vec![]) {
            (0..PLACES).for_each(|at| _ = self.act(Do::Free(at)));
            while self.try_recv().is_some() {}
        }
        for number in 0..receive.len() {
            assert!(self.try_send(900 + number), "somebody waits for it");
        }
        assert_eq!(self.look(), (vec![], vec![]), "somebody sleeps for ever");
        self.tx.assert_valid();
        self.log(|log| {
            let mut there = BTreeSet::new();
            let got = log.got.iter().map(|(_, number)| number);
            for number in got.chain(&log.back).chain(&log.undelivered) {
                assert!(log.offered.contains(number) && there.insert(*number), "{number} is there twice");
            }
            assert!(there == log.offered, "lost: {:?}", log.offered.difference(&there));
            check(log);
        });
        capacity.filter(|_| fills && !closed).into_iter().for_each(|capacity| self.fill(capacity));
        assert_eq!(self.values.alive(), 0, "a value was leaked");
    }
}

/// Runs a scenario: the first thread is the caller's.
pub(crate) fn run(kind: Kind, setup: &'static [Do], threads: &'static [&'static [Do]], check: fn(&Log)) {
    match kind {
        Kind::Ring(capacity) => run_in::<Value>(Some(capacity), Suspend, setup, threads, check),
        Kind::Linked(capacity) => run_in::<Fat>(Some(capacity), Suspend, setup, threads, check),
        Kind::Unbounded => run_in::<Value>(None, Suspend, setup, threads, check),
        Kind::Oldest(capacity) => run_in::<Value>(Some(capacity), DropOldest, setup, threads, check),
        Kind::Newest(capacity) => run_in::<Value>(Some(capacity), DropNewest, setup, threads, check),
        Kind::LinkedOldest(capacity) => run_in::<Fat>(Some(capacity), DropOldest, setup, threads, check),
    }
}

fn run_in<T: Item>(
    capacity: Option<usize>,
    overflow: Overflow,
    setup: &'static [Do],
    threads: &'static [&'static [Do]],
    check: fn(&Log),
) {
    let builder = Builder::<T>::new().overflow(overflow);
    let builder = match capacity {
        Some(capacity) => builder.capacity(capacity),
        None => builder.unbounded(),
    };
    let (fills, world) = (overflow == Suspend, Arc::new(World::new(builder)));
    world.act_all(setup);
    let others = threads[1..].iter().map(|program| {
        let world = Arc::clone(&world);
        thread::spawn(move || world.act_all(program))
    });
    let others = others.collect::<Vec<_>>();
    world.act_all(threads[0]);
    for other in others {
        other.join().unwrap();
    }
    world.end(capacity, fills, check);
}

/// Anything goes.
pub(crate) fn any(_: &Log) {}

/// The value 3 is forced into a channel that has room for one at least: it does not come back itself.
pub(crate) fn three_stays(log: &Log) {
    assert!(!log.back.contains(&3), "forced, and it came back itself: {:?}", log.back);
}

impl Log {
    /// What an operation received.
    pub(crate) fn of(&self, at: usize) -> Option<usize> {
        self.got.iter().find(|(by, _)| *by == at).map(|(_, number)| *number)
    }
}

/// Who began to wait first is served first.
pub(crate) fn first_before_second(log: &Log) {
    if let (Some(first), Some(second)) = (log.of(1), log.of(2)) {
        assert!(first < second, "waited first, served second: {:?}", log.got);
    }
}

/// The third receive waits behind the second, which has nothing.
pub(crate) fn not_the_third(log: &Log) {
    assert!(log.got.iter().all(|(by, _)| *by != 3), "the second comes before the third: {:?}", log.got);
}

/// What is received by nobody in particular comes in the order of its numbers.
pub(crate) fn in_order(log: &Log) {
    let numbers = log.got.iter().filter(|(by, _)| *by == 0).map(|(_, number)| *number);
    assert!(numbers.is_sorted(), "order: {:?}", log.got);
}

/// A test for each row of a table. `name - 1`: see `models!`.
macro_rules! table {
    ($($(#[$doc:meta])* $name:ident $(- $fewer:literal)?: $kind:expr, [$($setup:expr),*], [$([$($todo:expr),*]),*], $check:expr;)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let fewer = 0 $(+ $fewer)?;
            $crate::scenarios::harness::check(stringify!($name), fewer, || {
                $crate::scenarios::table::run($kind, &[$($setup),*], &[$(&[$($todo),*]),*], $check);
            });
        }
    )+};
}
