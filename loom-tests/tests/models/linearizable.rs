//! Whole channels against a sequential one: what is tried at once, by several threads, is right in some order.
//! (Operations that wait are in the tables of scenarios.)

use std::collections::VecDeque;

use leno::channel::{TryRecvError, TrySendError};
use leno::{Receiver, Sender, bounded, unbounded};
use shuttle::rand::{Rng, thread_rng};

use crate::history::{Clock, Fat, Operation, Sequential, assert_linearizable};
use crate::scenarios::harness::thread;

#[derive(Clone, Copy, Debug)]
enum Event {
    Send(usize, Result<(), TrySendError<()>>),
    Recv(Result<usize, TryRecvError>),
    /// Whether it was the first.
    Close(bool),
}

/// What a channel does in sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Line {
    capacity: usize,
    closed: bool,
    values: VecDeque<usize>,
}

impl Sequential for Line {
    type Event = Event;

    fn apply(&mut self, event: &Event) -> bool {
        let is_full = self.values.len() >= self.capacity;
        match *event {
            Event::Send(_, Err(TrySendError::Closed(()))) => self.closed,
            Event::Send(_, Err(TrySendError::Full(()))) => !self.closed && is_full,
            Event::Send(value, Ok(())) => {
                self.values.push_back(value);
                !self.closed && !is_full
            }
            Event::Recv(Ok(value)) => self.values.pop_front() == Some(value),
            Event::Recv(Err(TryRecvError::Empty)) => !self.closed && self.values.is_empty(),
            Event::Recv(Err(TryRecvError::Closed)) => self.closed && self.values.is_empty(),
            Event::Close(first) => std::mem::replace(&mut self.closed, true) != first,
        }
    }
}

/// `threads` threads of `each` operations.
fn random<T: From<usize> + Into<usize> + Send + 'static>(
    (tx, rx): (Sender<T>, Receiver<T>),
    threads: usize,
    each: usize,
    closes: bool,
) {
    let clock = Clock::default();
    let running = (1..=threads).map(|me| {
        let (tx, rx, clock) = (tx.clone(), rx.clone(), clock.clone());
        thread::spawn(move || {
            let mut history: Vec<Operation<Event>> = Vec::new();
            for at in 0..each {
                let value = me * 100 + at;
                history.push(match thread_rng().gen_range(0..20) {
                    0 if closes => {
                        let (called, first) = clock.call(|| tx.close());
                        called.with(Event::Close(first))
                    }
                    0..11 => {
                        let (called, sent) = clock.call(|| tx.try_send(T::from(value)));
                        let sent = sent.map_err(|error| match error {
                            TrySendError::Full(_) => TrySendError::Full(()),
                            TrySendError::Closed(_) => TrySendError::Closed(()),
                        });
                        called.with(Event::Send(value, sent))
                    }
                    _ => {
                        let (called, received) = clock.call(|| rx.try_recv());
                        called.with(Event::Recv(received.map(Into::into)))
                    }
                });
            }
            history
        })
    });
    let running = running.collect::<Vec<_>>();
    let history = running.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    rx.assert_valid();
    let capacity = rx.capacity().unwrap_or(usize::MAX);
    assert_linearizable(Line { capacity, closed: false, values: VecDeque::new() }, history);
}

tests! {
    one_place: random::<usize>(bounded(1), 3, 6, false);
    two_places: random::<usize>(bounded(2), 4, 5, true);
    one_place_and_no_ring: random::<Fat>(bounded(1), 3, 6, false);
    two_places_and_no_ring: random::<Fat>(bounded(2), 3, 6, true);
    no_bound: random::<usize>(unbounded(), 3, 6, true);
}
