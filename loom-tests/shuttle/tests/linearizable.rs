//! The waiter queue is linearizable: random operations of a few threads under shuttle, and their history checked
//! against what a queue of two sides does in sequence.
//!
//! Each operation has its own moment between call and return, and is exact: an entry is taken at the moment when it is
//! taken out, though its owner may have left before it is served. Only closing is one moment for the flag and one
//! for each entry that it takes out, as peers that came before it may still take some in between. (Those who return
//! by rank are not here: they may be passed by peers that had begun before.)
//!
//! Planted bug: `pop_ignores_side`, in `src/wait/list.rs`; nothing but the order of results gives it away.

mod history;
#[path = "../../scenarios/mod.rs"]
mod scenarios;

use std::collections::VecDeque;
use std::sync::Arc;

use leno::model::wait::{Entered, Entry, Queue, Side, recycle_nodes};
use shuttle::rand::{Rng, thread_rng};

use history::{Clock, Operation, Sequential};
use scenarios::harness;
use scenarios::harness::thread;

use Side::{Recv, Send};

/// An operation and its result; entries have numbers.
#[derive(Clone, Copy, Debug)]
enum Event {
    Waits(Side, u64),
    /// Of this side, it met that one.
    Meets(Side, u64),
    Refused,
    Take(Side, Option<u64>),
    /// Whether it was still there.
    Leave(u64, bool),
    /// Whether this was the first close.
    Close(bool),
    Detach(u64),
}

/// What a queue does in sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Line {
    closed: bool,
    sends: bool,
    waiting: VecDeque<u64>,
}

impl Line {
    fn has(&self, side: Side) -> bool {
        !self.waiting.is_empty() && self.sends == (side == Send)
    }

    fn takes_first(&mut self, number: u64) -> bool {
        self.waiting.pop_front() == Some(number)
    }
}

impl Sequential for Line {
    type Event = Event;

    fn apply(&mut self, event: &Event) -> bool {
        match *event {
            Event::Waits(side, number) => {
                let fits = !self.closed && (self.waiting.is_empty() || self.has(side));
                self.sends = side == Send;
                self.waiting.push_back(number);
                fits
            }
            Event::Meets(side, number) => self.has(other(side)) && self.takes_first(number),
            Event::Refused => self.closed,
            Event::Take(side, Some(number)) => self.has(side) && self.takes_first(number),
            Event::Take(side, None) => self.closed || !self.has(side),
            Event::Leave(number, was_here) => {
                let place = self.waiting.iter().position(|other| *other == number);
                if let Some(place) = place {
                    self.waiting.remove(place);
                }
                place.is_some() == was_here
            }
            Event::Close(first) => std::mem::replace(&mut self.closed, true) != first,
            Event::Detach(number) => self.closed && self.takes_first(number),
        }
    }
}

fn other(side: Side) -> Side {
    if side == Recv { Send } else { Recv }
}

/// One thread: its entries, and what it has done.
struct Actor {
    queue: Arc<Queue>,
    clock: Clock,
    standing: Vec<(u64, Entry)>,
    history: Vec<Operation<Event>>,
    next: u64,
    /// How often it enters, or takes, receivers.
    receives: f64,
}

impl Actor {
    fn new(queue: &Arc<Queue>, clock: &Clock, me: u64) -> Actor {
        let (queue, clock) = (Arc::clone(queue), clock.clone());
        Actor { queue, clock, standing: Vec::new(), history: Vec::new(), next: me * 100, receives: 0.7 }
    }

    fn enter(&mut self, side: Side) {
        self.next += 1;
        let number = self.next;
        let (called, entered) = self.clock.call(|| self.queue.enter(side, number as usize));
        let event = match entered {
            Entered::Waits(entry) => {
                self.standing.push((number, entry));
                Event::Waits(side, number)
            }
            Entered::Met(taken) => {
                let event = Event::Meets(side, taken.rank());
                taken.serve();
                event
            }
            Entered::Closed => Event::Refused,
            Entered::Held => panic!("nobody holds"),
        };
        self.history.push(called.with(event));
    }

    fn take(&mut self, side: Side) -> bool {
        let (called, taken) = self.clock.call(|| self.queue.take(side));
        let number = taken.as_ref().map(|taken| taken.rank());
        self.history.push(called.with(Event::Take(side, number)));
        taken.map(|taken| taken.serve());
        number.is_some()
    }

    fn leave(&mut self, place: usize) {
        let (number, entry) = self.standing.remove(place);
        let (called, removed) = self.clock.call(|| self.queue.remove(entry));
        self.history.push(called.with(Event::Leave(number, removed.is_ok())));
        if let Err(entry) = removed {
            let _ = entry.quit();
        }
    }

    fn close(&mut self) {
        let (called, detached) = self.clock.call(|| self.queue.close());
        self.history.push(called.with(Event::Close(detached.is_some())));
        for taken in detached.into_iter().flatten() {
            self.history.push(called.with(Event::Detach(taken.rank())));
            taken.serve();
        }
    }

    /// Takes everybody out once the others are through, and checks what all have done.
    fn end(mut self, others: Vec<thread::JoinHandle<Actor>>) {
        for other in others {
            let other = other.join().unwrap();
            self.history.extend(other.history);
            self.standing.extend(other.standing);
        }
        self.queue.assert_valid();
        while self.take(Recv) || self.take(Send) {}
        assert!(self.queue.is_empty(), "everybody was taken out");
        self.standing.into_iter().for_each(|(_, entry)| entry.end());
        history::assert_linearizable(Line::default(), self.history);
    }

    /// Something, at random; closing is rare, as little happens afterwards.
    fn act(&mut self, mix: Mix) {
        let side = if thread_rng().gen_bool(self.receives) { Recv } else { Send };
        match thread_rng().gen_range(0..20) {
            0 if mix == Mix::Closes => self.close(),
            0..12 if mix == Mix::Turns => self.enter(side),
            _ if mix == Mix::Turns => _ = self.take(side),
            0..8 => self.enter(side),
            8..14 => _ = self.take(side),
            _ if self.standing.is_empty() => self.enter(side),
            _ => self.leave(thread_rng().gen_range(0..self.standing.len())),
        }
    }
}

/// `act` on a thread of its own.
fn start(
    mut actor: Actor,
    act: impl FnOnce(&mut Actor) + std::marker::Send + 'static,
) -> thread::JoinHandle<Actor> {
    thread::spawn(move || {
        act(&mut actor);
        actor
    })
}

/// What the operations are.
#[derive(Clone, Copy, PartialEq)]
enum Mix {
    /// A line of receivers, most of the time.
    Line,
    /// The same, and it is closed at some time.
    Closes,
    /// The side changes often: each thread has its own bias, and nobody leaves.
    Turns,
}

/// `threads` threads of `each` operations; some wait before they begin, and everybody is taken out afterwards.
fn random(threads: u64, each: usize, mix: Mix) {
    let (queue, clock) = (Arc::new(Queue::new()), Clock::default());
    let mut main = Actor::new(&queue, &clock, 0);
    for _ in 0..thread_rng().gen_range(0..4) {
        main.enter(Recv);
    }
    let running = (1..=threads).map(|me| {
        let mut actor = Actor::new(&queue, &clock, me);
        if mix == Mix::Turns {
            actor.receives = [0.1, 0.5, 0.9][thread_rng().gen_range(0..3)];
        }
        if !main.standing.is_empty() && thread_rng().gen_bool(0.7) {
            // It may leave from the line that was there before.
            actor.standing.push(main.standing.remove(0));
        }
        let act = move |actor: &mut Actor| (0..each).for_each(|_| actor.act(mix));
        start(actor, act)
    });
    let running = running.collect();
    main.end(running);
}

/// Two receivers wait, and one thread takes receivers as another one brings senders.
fn receivers_then_senders() {
    let (queue, clock) = (Arc::new(Queue::new()), Clock::default());
    let mut main = Actor::new(&queue, &clock, 0);
    (0..2).for_each(|_| main.enter(Recv));
    let takes = start(Actor::new(&queue, &clock, 1), |actor| (0..2).for_each(|_| _ = actor.take(Recv)));
    let turns = start(Actor::new(&queue, &clock, 2), |actor| (0..4).for_each(|_| actor.enter(Send)));
    main.end(vec![takes, turns]);
}

macro_rules! tests {
    ($($name:ident: $scenario:expr;)+) => {$(
        #[test]
        fn $name() {
            harness::check(stringify!($name), 0, || $scenario);
        }
    )+};
}

tests! {
    two_threads: random(2, 8, Mix::Line);
    three_threads: random(3, 6, Mix::Line);
    turning: receivers_then_senders();
    three_threads_that_turn: random(3, 6, Mix::Turns);
    four_threads_that_close: random(4, 6, Mix::Closes);
    recycling: {
        recycle_nodes(true);
        random(3, 6, Mix::Closes);
        recycle_nodes(false);
    };
}
