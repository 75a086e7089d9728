//! A sequential model of two channels with plain operations and selects on them: which outcomes a step may have, and
//! who has to have been woken.
//!
//! A plain operation is a select of one branch. The model leaves open what the contracts leave open:
//! - several branches are ready: any of them may win; with `biased`, none behind the first that is sure to be
//!   ready (S2);
//! - values that came back more than once may be ordered by their first or last hand-over, and a receiver that waited at
//!   the close gets its error, or a value that came back since (C9).

use std::collections::VecDeque;

/// Which end of a channel a branch uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Recv,
    /// `closed()`.
    Watch,
}

/// What a branch waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) channel: usize,
    pub(crate) side: Side,
}

/// What an operation completed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Sent,
    Unsent(usize),
    Received(usize),
    Drained,
    Closed,
    /// The foreign future was ready.
    Foreign,
}

#[derive(Debug)]
struct Branch {
    /// `None`: a foreign future.
    spec: Option<Spec>,
    /// A send's value, while the operation owns it.
    value: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Never polled.
    New,
    Waiting,
    /// A peer has taken the value of this branch.
    Sent(usize),
    /// A peer has handed a value to this branch.
    Handed(usize, HandOver),
    /// Completed or dropped.
    Gone,
}

#[derive(Debug)]
struct Op {
    branches: Vec<Branch>,
    biased: bool,
    state: State,
    /// The foreign future is ready.
    fired: bool,
}

/// A value on its way, with the times of its first and last hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HandOver {
    value: usize,
    first: usize,
    last: usize,
}

/// A branch of an operation.
type Entry = (usize, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    No,
    /// There is only another select to meet: one of the two acts, and which one is not for the model to say.
    Perhaps,
    Yes,
}

#[derive(Debug)]
struct Channel {
    cap: usize,
    buffer: VecDeque<usize>,
    returned: Vec<HandOver>,
    senders: VecDeque<Entry>,
    receivers: VecDeque<Entry>,
    closed: bool,
}

#[derive(Debug)]
pub(crate) struct Model {
    channels: [Channel; 2],
    ops: Vec<Op>,
    hand_overs: usize,
}

impl Channel {
    fn new(cap: usize) -> Self {
        Channel {
            cap,
            buffer: VecDeque::new(),
            returned: Vec::new(),
            senders: VecDeque::new(),
            receivers: VecDeque::new(),
            closed: false,
        }
    }

    /// The values of which one may be received next; none, or one unless the order is free.
    fn next_values(&self, ops: &[Op]) -> Vec<usize> {
        let by_first = self.returned.iter().min_by_key(|h| h.first);
        let by_last = self.returned.iter().min_by_key(|h| h.last);
        let mut values = by_first.into_iter().chain(by_last).map(|h| h.value).collect::<Vec<_>>();
        if values.is_empty() {
            values.extend(self.buffer.front());
        }
        if values.is_empty() {
            values.extend(self.senders.front().and_then(|&(op, branch)| ops[op].branches[branch].value));
        }
        values
    }
}

impl Model {
    pub(crate) fn new(caps: [usize; 2]) -> Self {
        Model { channels: caps.map(Channel::new), ops: Vec::new(), hand_overs: 0 }
    }

    pub(crate) fn len(&self, channel: usize) -> usize {
        self.channels[channel].buffer.len() + self.channels[channel].returned.len()
    }

    pub(crate) fn is_closed(&self, channel: usize) -> bool {
        self.channels[channel].closed
    }

    /// A new operation, not polled; `foreign` adds a foreign branch at the end.
    pub(crate) fn start(&mut self, branches: &[(Spec, Option<usize>)], foreign: bool, biased: bool) {
        let mut branches =
            branches.iter().map(|&(spec, value)| Branch { spec: Some(spec), value }).collect::<Vec<_>>();
        branches.extend(foreign.then_some(Branch { spec: None, value: None }));
        self.ops.push(Op { branches, biased, state: State::New, fired: false });
    }

    /// The values of the losing sends, in order: what an operation that was lent gets back.
    pub(crate) fn kept_values(&self, op: usize) -> Vec<usize> {
        self.ops[op].branches.iter().filter_map(|branch| branch.value).collect()
    }

    /// The foreign future became ready; its waker was woken if the select was polled before.
    pub(crate) fn fired(&mut self, op: usize) {
        self.ops[op].fired = true;
    }

    /// An operation was polled.
    pub(crate) fn polled(&mut self, op: usize, actual: Option<(usize, Got)>) {
        let decided = match self.ops[op].state {
            State::Sent(branch) => Some((branch, Got::Sent)),
            State::Handed(branch, h) => Some((branch, Got::Received(h.value))),
            State::New | State::Waiting => None,
            State::Gone => panic!("script: {op} is gone"),
        };
        if decided.is_some() {
            assert_eq!(actual, decided, "operation {op} was completed by a peer");
            return;
        }
        let ready =
            (0..self.ops[op].branches.len()).map(|branch| self.readiness(op, branch)).collect::<Vec<_>>();
        let first = ready.iter().position(|ready| *ready == Ready::Yes);
        let Some((winner, got)) = actual else {
            assert_eq!(first, None, "operation {op} waits, and a branch is ready: {ready:?}");
            self.wait(op);
            return;
        };
        assert!(ready[winner] != Ready::No, "operation {op}: branch {winner} won; {ready:?}");
        if self.ops[op].biased {
            assert!(
                first.is_none_or(|first| winner <= first),
                "S2: operation {op}: branch {winner} won; {ready:?}"
            );
        }
        self.win(op, winner, got);
    }

    fn win(&mut self, op: usize, winner: usize, got: Got) {
        let Some(spec) = self.ops[op].branches[winner].spec else {
            assert_eq!(got, Got::Foreign);
            return;
        };
        self.leave_lines(op);
        let closed = self.channels[spec.channel].closed;
        match (spec.side, got) {
            (Side::Send, Got::Unsent(back)) => {
                let value = self.ops[op].branches[winner].value.take();
                assert!(closed && value == Some(back), "S5: operation {op}: its own value comes back");
            }
            (Side::Send, Got::Sent) => {
                let value = self.ops[op].branches[winner].value.take().expect("owned");
                assert!(!closed && self.accept(spec.channel, value), "operation {op}: there was no room");
            }
            (Side::Recv, Got::Received(value)) => self.take(spec.channel, value),
            (Side::Recv, Got::Drained) => {
                let channel = &self.channels[spec.channel];
                assert!(closed && channel.buffer.is_empty(), "C5: operation {op}: values are left");
                assert!(
                    channel.returned.is_empty() || self.ops[op].state == State::Waiting,
                    "C9: operation {op}: a value that came back is left"
                );
            }
            (Side::Watch, Got::Closed) => assert!(closed, "operation {op}: the channel is open"),
            (side, got) => panic!("operation {op}: a {side:?} gives {got:?}"),
        }
    }

    fn readiness(&self, op: usize, branch: usize) -> Ready {
        let yes = |yes: bool| if yes { Ready::Yes } else { Ready::No };
        let Some(spec) = self.ops[op].branches[branch].spec else { return yes(self.ops[op].fired) };
        let channel = &self.channels[spec.channel];
        if channel.closed {
            return Ready::Yes;
        }
        let others = |line: &VecDeque<Entry>| {
            let mut others = line.iter().filter(|(other, _)| *other != op).peekable();
            match others.peek() {
                None => Ready::No,
                Some((first, _)) if self.ops[*first].branches.len() == 1 => Ready::Yes,
                Some(_) => Ready::Perhaps,
            }
        };
        match spec.side {
            Side::Watch => Ready::No,
            Side::Send if channel.buffer.len() < channel.cap => Ready::Yes,
            Side::Send => others(&channel.receivers),
            Side::Recv if !channel.returned.is_empty() || !channel.buffer.is_empty() => Ready::Yes,
            Side::Recv => others(&channel.senders),
        }
    }

    fn wait(&mut self, op: usize) {
        if self.ops[op].state != State::New {
            return;
        }
        self.ops[op].state = State::Waiting;
        for branch in 0..self.ops[op].branches.len() {
            match self.ops[op].branches[branch].spec {
                Some(Spec { channel, side: Side::Send }) => {
                    self.channels[channel].senders.push_back((op, branch));
                }
                Some(Spec { channel, side: Side::Recv }) => {
                    self.channels[channel].receivers.push_back((op, branch));
                }
                _ => {}
            }
        }
    }

    /// S1: from the moment at which one branch has happened the others wait nowhere.
    fn leave_lines(&mut self, op: usize) {
        for channel in &mut self.channels {
            channel.senders.retain(|(other, _)| *other != op);
            channel.receivers.retain(|(other, _)| *other != op);
        }
    }

    pub(crate) fn try_sent(&mut self, channel: usize, value: usize, actual: Result<(), &'static str>) {
        let expected = if self.channels[channel].closed {
            Err("closed")
        } else if self.accept(channel, value) {
            Ok(())
        } else {
            Err("full")
        };
        assert_eq!(actual, expected, "try_send of value {value}");
    }

    pub(crate) fn try_received(&mut self, channel: usize, actual: Result<usize, &'static str>) {
        let next = self.channels[channel].next_values(&self.ops);
        match actual {
            Ok(value) => {
                assert!(next.contains(&value), "try_recv: out of order, or not there: {value}; {next:?}");
                self.take(channel, value);
            }
            Err(error) => {
                assert!(next.is_empty(), "try_recv: {error}, and {next:?} is there");
                let closed = self.channels[channel].closed;
                assert_eq!(error, if closed { "closed" } else { "empty" }, "try_recv");
            }
        }
    }

    pub(crate) fn closed(&mut self, channel: usize, actual: bool) {
        assert_eq!(actual, !self.channels[channel].closed, "C5: close returns true once");
        self.channels[channel].closed = true;
        // They find out by themselves, see `readiness`; until then nobody meets them on their other branches.
        for op in 0..self.ops.len() {
            let here = |branch: &Branch| branch.spec.is_some_and(|spec| spec.channel == channel);
            if self.ops[op].state == State::Waiting && self.ops[op].branches.iter().any(here) {
                self.leave_lines(op);
            }
        }
    }

    /// An operation's future was dropped, in whatever state, or has completed.
    pub(crate) fn gone(&mut self, op: usize, completed: bool) {
        let state = std::mem::replace(&mut self.ops[op].state, State::Gone);
        self.leave_lines(op);
        self.ops[op].branches.iter_mut().for_each(|branch| branch.value = None);
        let State::Handed(branch, h) = state else { return };
        if completed {
            return;
        }
        let channel = self.ops[op].branches[branch].spec.expect("a receive").channel;
        match self.channels[channel].receivers.front().copied() {
            Some(next) => self.hand(next, HandOver { last: self.hand_overs, ..h }),
            None => self.channels[channel].returned.push(h),
        }
    }

    /// Hands a value to a waiting receiver, or takes it into the buffer, if either can be.
    fn accept(&mut self, channel: usize, value: usize) -> bool {
        let this = &mut self.channels[channel];
        let Some(next) = this.receivers.front().copied() else {
            let room = this.buffer.len() < this.cap;
            if room {
                this.buffer.push_back(value);
            }
            return room;
        };
        self.hand(next, HandOver { value, first: self.hand_overs, last: self.hand_overs });
        true
    }

    fn hand(&mut self, (op, branch): Entry, hand_over: HandOver) {
        self.hand_overs += 1;
        self.ops[op].state = State::Handed(branch, hand_over);
        self.leave_lines(op);
    }

    /// Takes out `value`, which has to be one of the next, and lets the first waiting sender go on.
    fn take(&mut self, channel: usize, value: usize) {
        let this = &mut self.channels[channel];
        let next = this.next_values(&self.ops);
        assert!(next.contains(&value), "out of order, or not there: {value}; {next:?}");
        if let Some(i) = this.returned.iter().position(|h| h.value == value) {
            this.returned.remove(i);
            return;
        }
        let taken = this.buffer.pop_front();
        if let Some((op, branch)) = this.senders.front().copied() {
            let moved = self.ops[op].branches[branch].value.take().expect("owned");
            this.buffer.extend(taken.map(|_| moved));
            self.ops[op].state = State::Sent(branch);
            self.leave_lines(op);
        }
    }

    /// The operations that must have been woken since they were last pending, whatever happened in between.
    pub(crate) fn must_be_woken(&self) -> impl Iterator<Item = usize> + '_ {
        let must = self.ops.iter().enumerate().filter(|(_, op)| match op.state {
            State::Sent(_) | State::Handed(..) => true,
            State::Waiting => {
                op.fired || op.branches.iter().filter_map(|b| b.spec).any(|s| self.channels[s.channel].closed)
            }
            State::New | State::Gone => false,
        });
        must.map(|(i, _)| i)
    }

    /// Everybody who was woken has been polled since: nobody waits who could go on.
    pub(crate) fn assert_quiet(&self) {
        for (i, op) in self.ops.iter().enumerate() {
            if op.state == State::Waiting {
                for branch in 0..op.branches.len() {
                    assert_eq!(
                        self.readiness(i, branch),
                        Ready::No,
                        "S1, C11: operation {i} waits for ever; its branch {branch} is ready"
                    );
                }
            }
            assert!(!matches!(op.state, State::Sent(_) | State::Handed(..)), "operation {i} was not woken");
        }
    }

    /// Facts that hold between steps.
    pub(crate) fn assert_valid(&self) {
        for channel in &self.channels {
            assert!(channel.buffer.len() <= channel.cap, "model: the buffer has its limit");
            assert!(
                channel.cap == 0 || channel.senders.is_empty() || channel.buffer.len() == channel.cap,
                "model: C4: senders wait only while the channel is full"
            );
            let pairs = channel.senders.iter().flat_map(|s| channel.receivers.iter().map(move |r| (s, r)));
            assert!(
                channel.cap > 0 || pairs.into_iter().all(|((a, _), (b, _))| a == b),
                "model: C3, S4: only the two sides of one select wait facing each other"
            );
            assert!(
                channel.returned.is_empty() && channel.buffer.is_empty() || channel.receivers.is_empty(),
                "model: C2, C9: the next in line gets it"
            );
        }
    }

    /// The values that nobody has dropped.
    pub(crate) fn live_values(&self) -> Vec<usize> {
        let mut values = Vec::new();
        for channel in &self.channels {
            values.extend(channel.buffer.iter().copied());
            values.extend(channel.returned.iter().map(|h| h.value));
        }
        for op in &self.ops {
            values.extend(op.branches.iter().filter_map(|branch| branch.value));
            if let State::Handed(_, h) = op.state {
                values.push(h.value);
            }
        }
        values.sort_unstable();
        values
    }
}
