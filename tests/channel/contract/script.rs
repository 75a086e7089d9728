//! Differential test: scripts of steps run on a real channel and on [`Model`], compared after every step (C1–C5,
//! C7, C9–C12, C14, C17, C18).
//!
//! Every script up to a length is run (`all_short_scripts`), and many long random ones with a fixed seed. After
//! each step: results as the model allows, `len`, `is_closed`, which values were dropped, and that whoever can go
//! on was woken since it was last pending. Each poll uses a new waker. After a script every operation and handle
//! is dropped, one by one, with the same checks; no waker and no value may be left.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use leno::channel::{Closed, RecvFuture, SendError, SendFuture, TryRecvError, TrySendError};
use leno::{Receiver, Sender, bounded};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::model::Model;
use crate::support::{CountingWaker, Tracked, Tracker, scale};

/// One step of a script. Operations are numbered in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Creates a send or a receive, not polled.
    NewSend,
    NewRecv,
    /// Creates a `closed()`, not polled.
    NewClosed,
    /// Creates one and polls it.
    Send,
    Recv,
    Poll(usize),
    Cancel(usize),
    /// `into_inner` of a send.
    IntoInner(usize),
    TrySend,
    TryRecv,
    Close,
    CloseNow,
    /// Drops the first handle of a side; the last one goes with the last operation that borrows from it.
    DropTx,
    DropRx,
}

use Step::*;

enum Operation {
    Send(SendFuture<'static, Tracked>, Rc<Sender<Tracked>>),
    Recv(RecvFuture<'static, Tracked>, Rc<Receiver<Tracked>>),
    Closed(Closed<'static, Tracked>, Rc<Sender<Tracked>>),
}

struct Started {
    operation: Operation,
    /// The waker of the last poll.
    waker: Option<Arc<CountingWaker>>,
}

/// A channel and its model, side by side.
struct Run {
    cap: usize,
    tx: Option<Rc<Sender<Tracked>>>,
    rx: Option<Rc<Receiver<Tracked>>>,
    // Both hold a real handle: `tx` and the sends share one, because an `Rc` is what they clone.
    operations: Vec<Option<Started>>,
    wakers: Vec<Arc<CountingWaker>>,
    model: Model,
    tracker: Tracker,
    script: Vec<Step>,
}

impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: replay({}, &{:?})", self.cap, self.script);
            // The channel is broken: what it holds is not touched any more.
            std::mem::forget((self.tx.take(), self.rx.take(), std::mem::take(&mut self.operations)));
        }
    }
}

impl Run {
    fn new(cap: usize) -> Self {
        let (tx, rx) = bounded(cap);
        Run {
            cap,
            tx: Some(Rc::new(tx)),
            rx: Some(Rc::new(rx)),
            operations: Vec::new(),
            wakers: Vec::new(),
            model: Model::new(cap),
            tracker: Tracker::new(),
            script: Vec::new(),
        }
    }

    fn live(&self) -> impl Iterator<Item = usize> + '_ {
        self.operations.iter().enumerate().filter(|(_, o)| o.is_some()).map(|(i, _)| i)
    }

    /// Any handle that is left, to ask about the channel.
    fn observe<R>(
        &self,
        by_sender: impl FnOnce(&Sender<Tracked>) -> R,
        by_receiver: impl FnOnce(&Receiver<Tracked>) -> R,
    ) -> Option<R> {
        if let Some(tx) = &self.tx {
            return Some(by_sender(tx));
        }
        if let Some(rx) = &self.rx {
            return Some(by_receiver(rx));
        }
        self.operations.iter().flatten().next().map(|started| match &started.operation {
            Operation::Send(_, tx) | Operation::Closed(_, tx) => by_sender(tx),
            Operation::Recv(_, rx) => by_receiver(rx),
        })
    }

    /// The steps that make sense now; `new` adds operations that are created without a poll.
    fn choices(&self, most_live: usize, new: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        let may_start = self.live().count() < most_live;
        if self.tx.is_some() {
            if may_start {
                steps.push(Send);
                steps.extend([NewSend, NewClosed].into_iter().filter(|_| new));
            }
            steps.extend([TrySend, DropTx]);
        }
        if self.rx.is_some() {
            if may_start {
                steps.push(Recv);
                steps.extend(new.then_some(NewRecv));
            }
            steps.extend([TryRecv, DropRx]);
        }
        if self.tx.is_some() || self.rx.is_some() {
            steps.extend((!self.model.is_closed()).then_some(Close));
            steps.extend((!self.model.discards()).then_some(CloseNow));
        }
        for i in self.live() {
            steps.extend([Poll(i), Cancel(i)]);
            if matches!(self.operations[i], Some(Started { operation: Operation::Send(..), .. })) {
                steps.push(IntoInner(i));
            }
        }
        steps
    }

    fn step(&mut self, step: Step) {
        self.script.push(step);
        let wakes = self.wakes();
        match step {
            NewSend => self.new_send(),
            NewRecv => self.new_recv(),
            NewClosed => self.new_closed(),
            Send => {
                self.new_send();
                self.poll(self.operations.len() - 1);
            }
            Recv => {
                self.new_recv();
                self.poll(self.operations.len() - 1);
            }
            Poll(i) => self.poll(i),
            Cancel(i) => self.drop_operation(i),
            IntoInner(i) => self.take_apart(i),
            TrySend => {
                let value = self.tracker.value();
                let id = value.id;
                let result = match self.tx.as_ref().expect("chosen").try_send(value) {
                    Ok(()) => Ok(()),
                    Err(TrySendError::Full(back)) => Err(("full", back.id)),
                    Err(TrySendError::Closed(back)) => Err(("closed", back.id)),
                };
                assert!(
                    result.is_ok_and(|()| true) || result.is_err_and(|(_, back)| back == id),
                    "its own value"
                );
                self.model.try_sent(id, result.map_err(|(why, _)| why));
            }
            TryRecv => {
                let result = match self.rx.as_ref().expect("chosen").try_recv() {
                    Ok(value) => Ok(value.id),
                    Err(TryRecvError::Empty) => Err("empty"),
                    Err(TryRecvError::Closed) => Err("closed"),
                };
                self.model.try_received(result);
            }
            Close => {
                let first = self.observe(Sender::close, Receiver::close).expect("chosen");
                self.model.closed(first);
            }
            CloseNow => {
                let first = self.observe(Sender::close_now, Receiver::close_now).expect("chosen");
                self.model.closed_now(first);
            }
            DropTx => {
                self.tx = None;
                self.model.sender_dropped();
            }
            DropRx => {
                self.rx = None;
                self.model.receiver_dropped();
            }
        }
        self.check();
        if !self.model.is_closed() {
            assert!(self.wakes() - wakes <= 2, "one step wakes one operation of each side at most");
        }
    }

    fn new_send(&mut self) {
        let tx = Rc::clone(self.tx.as_ref().expect("chosen"));
        let value = self.tracker.value();
        self.model.new_send(value.id);
        // SAFETY: the operation keeps `tx` alive and is dropped before it (`Operation`'s fields are in that order);
        // an `Rc`'s content does not move.
        let future = unsafe { &*Rc::as_ptr(&tx) }.send(value);
        self.operations.push(Some(Started { operation: Operation::Send(future, tx), waker: None }));
    }

    fn new_recv(&mut self) {
        let rx = Rc::clone(self.rx.as_ref().expect("chosen"));
        self.model.new_recv();
        // SAFETY: as in `new_send`.
        let future = unsafe { &*Rc::as_ptr(&rx) }.recv();
        self.operations.push(Some(Started { operation: Operation::Recv(future, rx), waker: None }));
    }

    fn new_closed(&mut self) {
        let tx = Rc::clone(self.tx.as_ref().expect("chosen"));
        self.model.new_watch();
        // SAFETY: as in `new_send`.
        let future = unsafe { &*Rc::as_ptr(&tx) }.closed();
        self.operations.push(Some(Started { operation: Operation::Closed(future, tx), waker: None }));
    }

    fn poll(&mut self, i: usize) {
        let counting = CountingWaker::new();
        self.wakers.push(Arc::clone(&counting));
        let waker = Waker::from(Arc::clone(&counting));
        let mut cx = Context::from_waker(&waker);
        let started = self.operations[i].as_mut().expect("chosen");
        let pending = match &mut started.operation {
            Operation::Send(future, _) => {
                let result = match Pin::new(future).poll(&mut cx) {
                    Poll::Ready(Ok(())) => Some(Ok(())),
                    Poll::Ready(Err(SendError(value))) => Some(Err(value.id)),
                    Poll::Pending => None,
                };
                self.model.send_polled(i, result);
                result.is_none()
            }
            Operation::Recv(future, _) => {
                let result = match Pin::new(future).poll(&mut cx) {
                    Poll::Ready(Ok(value)) => Some(Ok(value.id)),
                    Poll::Ready(Err(_)) => Some(Err(())),
                    Poll::Pending => None,
                };
                self.model.recv_polled(i, result);
                result.is_none()
            }
            Operation::Closed(future, _) => {
                let ready = Pin::new(future).poll(&mut cx).is_ready();
                self.model.watch_polled(i, ready);
                !ready
            }
        };
        if pending {
            self.operations[i].as_mut().expect("chosen").waker = Some(counting);
        } else {
            self.operations[i] = None;
            self.model.completed(i);
        }
    }

    fn drop_operation(&mut self, i: usize) {
        // The future first and its handle after it, so that the model can look in between.
        match self.operations[i].take().expect("chosen").operation {
            Operation::Send(future, tx) => {
                drop(future);
                self.model.future_dropped(i, || tx.len());
            }
            Operation::Recv(future, rx) => {
                drop(future);
                self.model.future_dropped(i, || rx.len());
            }
            Operation::Closed(future, tx) => {
                drop(future);
                self.model.future_dropped(i, || tx.len());
            }
        }
        self.model.completed(i);
    }

    fn take_apart(&mut self, i: usize) {
        let Operation::Send(future, tx) = self.operations[i].take().expect("chosen").operation else {
            panic!("script: {i} is no send");
        };
        let value = future.into_inner().map(|value| value.id);
        drop(tx);
        self.model.taken_apart(i, value);
    }

    fn check(&self) {
        self.model.assert_valid();
        let len = self.model.len();
        if let Some(observed) = self.observe(
            |tx| (tx.len(), tx.is_empty(), tx.is_closed()),
            |rx| (rx.len(), rx.is_empty(), rx.is_closed()),
        ) {
            assert_eq!(observed, (len, len == 0, self.model.is_closed()), "C17: len, is_empty, is_closed");
        }
        let live = self.model.live_values();
        for id in 0..self.tracker.created() {
            let expected = u32::from(live.binary_search(&id).is_err());
            assert_eq!(self.tracker.drops(id), expected, "C1, C7: drops of value {id}");
        }
        for i in self.model.must_be_woken() {
            assert!(was_woken(&self.operations, i), "operation {i} can go on and was not woken");
        }
    }

    fn wakes(&self) -> usize {
        self.wakers.iter().map(|w| w.count()).sum()
    }

    /// Drops everything, operations first or last, with all checks.
    fn finish(mut self, operations_first: bool) {
        let operations = self.live().map(Cancel).collect::<Vec<_>>();
        let handles = [self.tx.is_some().then_some(DropTx), self.rx.is_some().then_some(DropRx)];
        let handles = handles.into_iter().flatten();
        let steps = if operations_first {
            operations.into_iter().chain(handles).collect::<Vec<_>>()
        } else {
            handles.chain(operations).collect()
        };
        for step in steps {
            if operations_first && matches!(step, DropTx | DropRx) {
                self.assert_no_waker_left("all operations are gone");
            }
            self.step(step);
        }
        self.assert_no_waker_left("the channel is gone");
        self.tracker.assert_done();
    }

    fn assert_no_waker_left(&self, when: &str) {
        // One count is this list's.
        let held = self.wakers.iter().filter(|w| Arc::strong_count(w) > 1).count();
        assert_eq!(held, 0, "wakers still held when {when}");
    }
}

fn was_woken(operations: &[Option<Started>], i: usize) -> bool {
    operations[i].as_ref().and_then(|o| o.waker.as_ref()).is_some_and(|w| w.was_woken())
}

/// Runs one script.
fn replay(cap: usize, script: &[Step]) -> Run {
    let mut run = Run::new(cap);
    script.iter().for_each(|step| run.step(*step));
    run
}

/// Runs every script of `depth` steps that begins with `script`; gives their number.
fn run_all(cap: usize, script: &mut Vec<Step>, depth: usize) -> usize {
    let run = replay(cap, script);
    if script.len() == depth {
        run.finish(true);
        replay(cap, script).finish(false);
        return 1;
    }
    let choices = run.choices(depth, false);
    run.finish(true);
    let mut count = 0;
    for step in choices {
        script.push(step);
        count += run_all(cap, script, depth);
        script.pop();
    }
    count
}

fn all_short_scripts(cap: usize) {
    let depth = if scale() > 1 { 6 } else { 5 };
    let count = run_all(cap, &mut Vec::new(), depth);
    assert!(count > 10_000, "the enumeration is not empty: {count} scripts");
}

fn long_random_scripts(cap: usize, most_live: usize) {
    let mut rng = StdRng::seed_from_u64(0x1e40 + cap as u64 * 100 + most_live as u64);
    for _ in 0..300 * scale() {
        let mut run = Run::new(cap);
        // Scripts lean to one side for a while, so that queues grow and shrink.
        let mut bias = 0;
        for _ in 0..rng.random_range(20..150) {
            if rng.random_bool(0.1) {
                bias = rng.random_range(0..4);
            }
            let mut choices = run.choices(most_live, true);
            // Ends come seldom, or every script would be short.
            if !rng.random_bool(0.02) {
                choices.retain(|step| !matches!(step, Close | CloseNow | DropTx | DropRx));
            }
            let leaning = choices.iter().copied().filter(|step| match bias {
                0 => true,
                1 => matches!(step, Send | NewSend | TrySend | Poll(_)),
                2 => matches!(step, Recv | NewRecv | TryRecv | Poll(_)),
                _ => matches!(step, Cancel(_) | IntoInner(_) | TrySend | TryRecv),
            });
            let leaning = leaning.collect::<Vec<_>>();
            let choices = if leaning.is_empty() { choices } else { leaning };
            if choices.is_empty() {
                break;
            }
            let step = choices[rng.random_range(0..choices.len())];
            run.step(step);
        }
        run.finish(rng.random_bool(0.5));
    }
}

macro_rules! scripts {
    ($($name:ident = $cap:expr;)*) => {$(
        mod $name {
            #[test]
            fn all_short_scripts() {
                super::all_short_scripts($cap);
            }
            #[test]
            fn random_scripts_with_few_waiters() {
                super::long_random_scripts($cap, 6);
            }
            #[test]
            fn random_scripts_with_many_waiters() {
                super::long_random_scripts($cap, 40);
            }
        }
    )*};
}

scripts! {
    capacity_0 = 0;
    capacity_1 = 1;
    capacity_2 = 2;
    capacity_3 = 3;
}

/// Scripts that once found something, or show what the notation looks like.
#[test]
fn replays() {
    replay(1, &[Recv, Recv, TrySend, Cancel(0), Poll(1)]).finish(true);
    replay(0, &[Recv, Recv, TrySend, TrySend, Cancel(1), Cancel(0), TryRecv, TryRecv]).finish(true);
    replay(0, &[Recv, Recv, TrySend, Close, Cancel(0), TryRecv, Poll(1)]).finish(false);
}
