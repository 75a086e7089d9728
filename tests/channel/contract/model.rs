//! A sequential model of a channel: what each step may do, and who must have been woken.
//!
//! The model follows the implementation where the contracts leave freedom, and only there:
//! - values that were handed over, came back, were handed over again and came back again may be ordered by their first
//!   or their last hand-over (C9);
//! - a receiver that waited at the close gets its error, or a value that came back since (C5, C9);
//! - a value that comes back after `close_now` is kept or discarded (C6, C9).

use std::collections::VecDeque;

/// What a receive gave: a value, or the error.
pub(crate) type Received = Result<usize, ()>;
/// What a send gave: sent, or the value.
pub(crate) type Sent = Result<(), usize>;

/// An operation's side and state.
#[derive(Debug)]
struct Op {
    side: Side,
    state: State,
    /// A send's value while the operation owns it.
    value: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Recv,
    /// Waits for the close: `Sender::closed`.
    Watch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Never polled.
    New,
    /// In the queue of its side.
    Waiting,
    /// A send whose value was taken, or moved into the buffer.
    Sent,
    /// A receive that was handed a value.
    Handed(HandOver),
    /// Decided by a close.
    Failed,
    /// Completed or dropped.
    Gone,
}

/// A value on its way from a sender to a receiver, with the times of its first and last hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HandOver {
    value: usize,
    first: usize,
    last: usize,
}

#[derive(Debug)]
pub(crate) struct Model {
    cap: usize,
    buffer: VecDeque<usize>,
    returned: Vec<HandOver>,
    waiting_senders: VecDeque<usize>,
    waiting_receivers: VecDeque<usize>,
    ops: Vec<Op>,
    senders: usize,
    receivers: usize,
    closed: bool,
    closed_by_drop: bool,
    discards: bool,
    hand_overs: usize,
}

impl Model {
    /// An open channel with one handle on each side.
    pub(crate) fn new(cap: usize) -> Self {
        Model {
            cap,
            buffer: VecDeque::new(),
            returned: Vec::new(),
            waiting_senders: VecDeque::new(),
            waiting_receivers: VecDeque::new(),
            ops: Vec::new(),
            senders: 1,
            receivers: 1,
            closed: false,
            closed_by_drop: false,
            discards: false,
            hand_overs: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.buffer.len() + self.returned.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn discards(&self) -> bool {
        self.discards
    }

    /// The operations that can complete and whose owners sleep: they must have been woken since they were last
    /// pending.
    pub(crate) fn must_be_woken(&self) -> impl Iterator<Item = usize> + '_ {
        self.ops
            .iter()
            .enumerate()
            .filter(|(_, op)| match op.state {
                State::Sent | State::Handed(_) | State::Failed => true,
                State::Waiting => op.side == Side::Watch && self.closed,
                State::New | State::Gone => false,
            })
            .map(|(i, _)| i)
    }

    /// The values that nobody has dropped.
    pub(crate) fn live_values(&self) -> Vec<usize> {
        let mut values = self.buffer.iter().copied().collect::<Vec<_>>();
        values.extend(self.returned.iter().map(|h| h.value));
        values.extend(self.ops.iter().filter_map(|op| op.value));
        values.extend(self.ops.iter().filter_map(|op| match op.state {
            State::Handed(h) => Some(h.value),
            _ => None,
        }));
        values.sort_unstable();
        values
    }

    /// Facts that hold between steps.
    pub(crate) fn assert_valid(&self) {
        assert!(self.buffer.len() <= self.cap, "model: the buffer has its limit");
        assert!(
            self.waiting_senders.is_empty() || self.buffer.len() == self.cap,
            "model: C4: senders wait only while the channel is full"
        );
        assert!(
            self.len() == 0 && self.waiting_senders.is_empty() || self.waiting_receivers.is_empty(),
            "model: C2, C3, C9: the next in line gets it"
        );
        assert!(
            !self.closed || self.waiting_senders.is_empty(),
            "model: C5: nobody waits on a closed channel"
        );
    }

    pub(crate) fn new_send(&mut self, value: usize) {
        self.senders += 1;
        self.ops.push(Op { side: Side::Send, state: State::New, value: Some(value) });
    }

    pub(crate) fn new_recv(&mut self) {
        self.receivers += 1;
        self.ops.push(Op { side: Side::Recv, state: State::New, value: None });
    }

    pub(crate) fn new_watch(&mut self) {
        self.senders += 1;
        self.ops.push(Op { side: Side::Watch, state: State::New, value: None });
    }

    /// A wait for the close was polled.
    pub(crate) fn watch_polled(&mut self, op: usize, ready: bool) {
        assert_eq!(ready, self.closed, "closed() {op}: ready exactly if sends can only fail");
        self.ops[op].state = State::Waiting;
    }

    /// A send was polled.
    pub(crate) fn send_polled(&mut self, op: usize, actual: Option<Sent>) {
        let expected = match self.ops[op].state {
            State::Sent => Some(Ok(())),
            State::Waiting => None,
            State::Failed => Some(Err(self.ops[op].value.take().expect("owned"))),
            State::New if self.closed => Some(Err(self.ops[op].value.take().expect("owned"))),
            State::New => {
                let value = self.ops[op].value.expect("owned");
                if self.accept(value) {
                    self.ops[op].value = None;
                    Some(Ok(()))
                } else {
                    self.ops[op].state = State::Waiting;
                    self.waiting_senders.push_back(op);
                    None
                }
            }
            state => panic!("model: a send cannot be {state:?}"),
        };
        assert_eq!(actual, expected, "send {op} (None = pending)");
    }

    pub(crate) fn try_sent(&mut self, value: usize, actual: Result<(), &'static str>) {
        let expected = if self.closed {
            Err("closed")
        } else if self.accept(value) {
            Ok(())
        } else {
            Err("full")
        };
        assert_eq!(actual, expected, "try_send of value {value}");
    }

    /// A receive was polled.
    pub(crate) fn recv_polled(&mut self, op: usize, actual: Option<Received>) {
        let state = self.ops[op].state;
        if let State::Handed(h) = state {
            assert_eq!(actual, Some(Ok(h.value)), "receive {op} was handed a value");
            self.ops[op].state = State::New;
            return;
        }
        if self.len() > 0 || (state == State::New && !self.waiting_senders.is_empty()) {
            match actual {
                Some(Ok(value)) => {
                    assert!(self.next_values().contains(&value), "receive {op}: out of order: value {value}");
                    self.ops[op].state = State::New;
                    self.take(value);
                }
                Some(Err(())) => {
                    assert_eq!(state, State::Failed, "C5: receive {op} failed, values are there");
                }
                None => panic!("receive {op} waits, and a value is there"),
            }
            return;
        }
        let expected = if self.closed { Some(Err(())) } else { None };
        assert_eq!(actual, expected, "receive {op} (None = pending)");
        if !self.closed {
            self.wait_to_receive(op);
        }
    }

    pub(crate) fn try_received(&mut self, actual: Result<usize, &'static str>) {
        match actual {
            Ok(value) => {
                assert!(self.next_values().contains(&value), "try_recv: out of order, or not there: {value}");
                self.take(value);
            }
            Err(error) => {
                assert!(
                    self.next_values().is_empty(),
                    "try_recv: {error}, and {:?} is there",
                    self.next_values()
                );
                assert_eq!(error, if self.closed { "closed" } else { "empty" }, "try_recv");
            }
        }
    }

    pub(crate) fn closed(&mut self, actual: bool) {
        if !self.closed_by_drop {
            assert_eq!(actual, !self.closed, "C5: close returns true once");
        }
        self.close();
    }

    pub(crate) fn closed_now(&mut self, actual: bool) {
        self.closed(actual);
        self.discards = true;
        self.discard();
    }

    /// A send's future was taken apart by `into_inner`; its handle went too.
    pub(crate) fn taken_apart(&mut self, op: usize, actual: Option<usize>) {
        assert_eq!(actual, self.ops[op].value, "C10: into_inner of send {op}");
        self.ops[op].value = None;
        self.waiting_senders.retain(|&other| other != op);
        self.handle_gone(op);
    }

    /// A future that completed was dropped, and its handle.
    pub(crate) fn completed(&mut self, op: usize) {
        self.handle_gone(op);
    }

    /// A future was dropped in whatever state. `len` is read after that if the model needs to know; its handle is
    /// dropped afterwards by [`completed`](Self::completed).
    pub(crate) fn future_dropped(&mut self, op: usize, len: impl FnOnce() -> usize) {
        let gone = std::mem::replace(&mut self.ops[op].state, State::New);
        self.ops[op].value = None;
        self.waiting_senders.retain(|&other| other != op);
        self.waiting_receivers.retain(|&other| other != op);
        let State::Handed(h) = gone else { return };
        if let Some(next) = self.waiting_receivers.pop_front() {
            self.hand(next, HandOver { last: self.hand_overs, ..h });
        } else if !self.discards || len() > self.len() {
            self.returned.push(h);
        }
    }

    pub(crate) fn sender_dropped(&mut self) {
        self.senders -= 1;
        if self.senders == 0 && !self.closed {
            self.closed_by_drop = true;
            self.close();
        }
    }

    pub(crate) fn receiver_dropped(&mut self) {
        self.receivers -= 1;
        if self.receivers == 0 {
            self.closed_by_drop |= !self.closed;
            self.close();
            self.discard();
        }
    }

    fn handle_gone(&mut self, op: usize) {
        self.ops[op].state = State::Gone;
        match self.ops[op].side {
            Side::Send | Side::Watch => self.sender_dropped(),
            Side::Recv => self.receiver_dropped(),
        }
    }

    fn wait_to_receive(&mut self, op: usize) {
        if self.ops[op].state == State::New {
            self.ops[op].state = State::Waiting;
            self.waiting_receivers.push_back(op);
        }
    }

    /// Hands a value to a waiting receiver, or takes it into the buffer, if either can be.
    fn accept(&mut self, value: usize) -> bool {
        if let Some(next) = self.waiting_receivers.pop_front() {
            self.hand(next, HandOver { value, first: self.hand_overs, last: self.hand_overs });
            return true;
        }
        let room = self.buffer.len() < self.cap;
        if room {
            self.buffer.push_back(value);
        }
        room
    }

    fn hand(&mut self, op: usize, hand_over: HandOver) {
        self.hand_overs += 1;
        self.ops[op].state = State::Handed(hand_over);
    }

    /// The values of which one may be received next; none, or one unless the order is free.
    fn next_values(&self) -> Vec<usize> {
        let by_first = self.returned.iter().min_by_key(|h| h.first);
        let by_last = self.returned.iter().min_by_key(|h| h.last);
        let mut values = by_first.into_iter().chain(by_last).map(|h| h.value).collect::<Vec<_>>();
        if values.is_empty() {
            values.extend(self.buffer.front());
        }
        if values.is_empty() {
            values.extend(self.waiting_senders.front().and_then(|&op| self.ops[op].value));
        }
        values
    }

    /// Takes out `value`, one of [`next_values`](Self::next_values), and lets the first waiting sender go on.
    fn take(&mut self, value: usize) {
        if let Some(i) = self.returned.iter().position(|h| h.value == value) {
            self.returned.remove(i);
            return;
        }
        let taken = self.buffer.pop_front();
        if let Some(op) = self.waiting_senders.pop_front() {
            let moved = self.ops[op].value.take().expect("owned");
            self.ops[op].state = State::Sent;
            if taken.is_some() {
                self.buffer.push_back(moved);
            }
        }
        self.fail_receivers_if_drained();
    }

    fn close(&mut self) {
        self.closed = true;
        for op in self.waiting_senders.drain(..) {
            self.ops[op].state = State::Failed;
        }
        self.fail_receivers_if_drained();
    }

    fn discard(&mut self) {
        self.buffer.clear();
        self.returned.clear();
        self.fail_receivers_if_drained();
    }

    fn fail_receivers_if_drained(&mut self) {
        if self.closed && self.buffer.is_empty() {
            for op in self.waiting_receivers.drain(..) {
                self.ops[op].state = State::Failed;
            }
        }
    }
}
