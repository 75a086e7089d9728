//! Differential test: scripts of steps on two channels, by selects and plain operations, run for real and on
//! [`Model`], compared after every step (S1–S5, S7, S9, S10, C1–C5, C9–C12).
//!
//! Every script up to a length is run, and many long random ones with a fixed seed. After each step: results as the
//! model allows, `len`, which values were dropped, `assert_valid`, and that whoever was completed was woken. Each
//! poll uses a new waker. A script ends in one of two ways, both checked: everybody who was woken is polled until
//! nobody is, and then nobody may wait who could go on; or everything is dropped as it stands. At last both channels
//! are tried for waiters that were left behind.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use leno::channel::{Closed, RecvError, RecvFuture, SendError, SendFuture, TryRecvError, TrySendError};
use leno::select::{RecvToken, Select, Selected2, Selected3, SendToken, foreign, select, select_biased};
use leno::{Receiver, Sender, bounded};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::model::{Got, Model, Side, Spec};
use crate::support::{CountingWaker, Tracked, Tracker, scale};

const A: usize = 0;
const B: usize = 1;

/// How a select is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The function.
    Function,
    /// The macro.
    Macro,
    /// A set: of sends and receives only, which are neither lent nor beside a foreign future.
    Set,
}

/// An operation: one branch is a plain one (but in a set), two are a select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    form: Form,
    first: Spec,
    second: Option<Spec>,
    /// The branches are `&mut` futures, whose owner looks afterwards at what is left of the losers (S9).
    lent: bool,
    biased: bool,
    /// A third branch is a foreign future.
    foreign: bool,
}

/// One step of a script. Operations are numbered in the order of their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Creates an operation, not polled.
    New(Plan),
    /// Creates one and polls it.
    Start(Plan),
    Poll(usize),
    Cancel(usize),
    /// Makes the foreign future of a select ready.
    Fire(usize),
    TrySend(usize),
    TryRecv(usize),
    Close(usize),
    /// Polls everybody who was woken, until nobody is.
    Settle,
}

use Step::*;

type Ends = [(Sender<Tracked>, Receiver<Tracked>); 2];

/// The outcome's branch, and what the owner of a lent select found left in the losing sends.
type Outcome = (usize, Got, Vec<usize>);

#[derive(Clone, Default)]
struct Flag(Arc<Mutex<(bool, Option<Waker>)>>);

struct Op<'a> {
    future: Pin<Box<dyn Future<Output = Outcome> + 'a>>,
    plan: Plan,
    flag: Flag,
    /// The waker of the last poll.
    waker: Option<Arc<CountingWaker>>,
}

struct Run<'a> {
    caps: [usize; 2],
    ends: &'a Ends,
    ops: Vec<Option<Op<'a>>>,
    wakers: Vec<Arc<CountingWaker>>,
    model: Model,
    tracker: Tracker,
    script: Vec<Step>,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: replay({:?}, &{:?})", self.caps, self.script);
            // The channels are broken: what they hold is not touched any more.
            std::mem::forget(std::mem::take(&mut self.ops));
        }
    }
}

impl Flag {
    fn fire(&self) {
        let waker = {
            let mut this = self.0.lock().unwrap();
            this.0 = true;
            this.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for Flag {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.0.lock().unwrap();
        if this.0 {
            return Poll::Ready(());
        }
        this.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// What a branch's output says, in the model's terms.
trait Say {
    fn say(self) -> Got;
}

impl Say for Result<(), SendError<Tracked>> {
    fn say(self) -> Got {
        self.map_or_else(|SendError(value)| Got::Unsent(value.id), |()| Got::Sent)
    }
}

impl Say for Result<Tracked, RecvError> {
    fn say(self) -> Got {
        self.map_or(Got::Drained, |value| Got::Received(value.id))
    }
}

impl Say for () {
    fn say(self) -> Got {
        Got::Closed
    }
}

/// What its owner finds in an operation after it was lent.
trait Left {
    fn left(self) -> Option<usize>;
}

impl Left for SendFuture<'_, Tracked> {
    fn left(self) -> Option<usize> {
        self.into_inner().map(|value| value.id)
    }
}

impl Left for RecvFuture<'_, Tracked> {
    fn left(self) -> Option<usize> {
        None
    }
}

impl Left for Closed<'_, Tracked> {
    fn left(self) -> Option<usize> {
        None
    }
}

macro_rules! with_branch {
    ($ends:expr, $spec:expr, $value:expr, $name:ident => $body:expr) => {{
        let (tx, rx) = &$ends[$spec.channel];
        match $spec.side {
            Side::Send => {
                #[allow(unused_mut)]
                let mut $name = tx.send($value.expect("a send has a value"));
                $body
            }
            Side::Recv => {
                #[allow(unused_mut)]
                let mut $name = rx.recv();
                $body
            }
            Side::Watch => {
                #[allow(unused_mut)]
                let mut $name = tx.closed();
                $body
            }
        }
    }};
}

macro_rules! two {
    ($plan:expr, $x:expr, $y:expr) => {
        match ($plan.form, $plan.biased) {
            (Form::Macro, true) => leno::select_biased! {
                output = $x => (0, output.say()),
                output = $y => (1, output.say()),
            },
            (Form::Macro, false) => leno::select! {
                output = $x => (0, output.say()),
                output = $y => (1, output.say()),
            },
            (_, biased) => match if biased { select_biased(($x, $y)) } else { select(($x, $y)) }.await {
                Selected2::First(output) => (0, output.say()),
                Selected2::Second(output) => (1, output.say()),
            },
        }
    };
}

macro_rules! three {
    ($plan:expr, $x:expr, $y:expr, $flag:expr) => {
        match ($plan.form, $plan.biased) {
            (Form::Macro, true) => leno::select_biased! {
                output = $x => (0, output.say()),
                output = $y => (1, output.say()),
                () = $flag => (2, Got::Foreign),
            },
            (Form::Macro, false) => leno::select! {
                output = $x => (0, output.say()),
                output = $y => (1, output.say()),
                () = $flag => (2, Got::Foreign),
            },
            (_, biased) => {
                let branches = ($x, $y, foreign($flag));
                match if biased { select_biased(branches) } else { select(branches) }.await {
                    Selected3::First(output) => (0, output.say()),
                    Selected3::Second(output) => (1, output.say()),
                    Selected3::Third(()) => (2, Got::Foreign),
                }
            }
        }
    };
}

/// A branch of a set.
enum Named {
    Send(SendToken<Tracked>),
    Recv(RecvToken<Tracked>),
}

/// A select of a set: its branch, and what that gave.
async fn select_of_a_set(
    biased: bool,
    ends: &Ends,
    branches: impl Iterator<Item = (Spec, Option<Tracked>)>,
) -> (usize, Got) {
    let mut set = if biased { Select::biased() } else { Select::new() };
    let tokens = branches.map(|(spec, value)| {
        let (tx, rx) = &ends[spec.channel];
        match spec.side {
            Side::Send => Named::Send(set.send(tx, value.expect("a send has a value"))),
            Side::Recv => Named::Recv(set.recv(rx)),
            Side::Watch => unreachable!("a set sends and receives"),
        }
    });
    let tokens = tokens.collect::<Vec<_>>();
    let operation = set.select().await;
    let winner = tokens.iter().position(|token| match token {
        Named::Send(token) => operation.is(*token),
        Named::Recv(token) => operation.is(*token),
    });
    let winner = winner.expect("one of them has happened");
    match tokens[winner] {
        Named::Send(token) => (winner, operation.send(token).say()),
        Named::Recv(token) => (winner, operation.recv(token).say()),
    }
}

#[allow(clippy::unit_arg, reason = "the output of `closed()`, beside others")]
fn start(
    plan: Plan,
    ends: &Ends,
    values: [Option<Tracked>; 2],
    flag: Flag,
) -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
    if plan.form == Form::Set {
        return Box::pin(async move {
            let specs = [Some(plan.first), plan.second];
            let branches = specs.into_iter().zip(values).filter_map(|(spec, value)| Some((spec?, value)));
            let (winner, got) = select_of_a_set(plan.biased, ends, branches).await;
            (winner, got, Vec::new())
        });
    }
    let [v, w] = values;
    let Some(second) = plan.second else {
        return with_branch!(ends, plan.first, v, x => Box::pin(async move { (0, x.await.say(), Vec::new()) }));
    };
    with_branch!(ends, plan.first, v, x => with_branch!(ends, second, w, y => {
        match (plan.lent, plan.foreign) {
            (false, false) => Box::pin(async move {
                let (winner, got) = two!(plan, x, y);
                (winner, got, Vec::new())
            }),
            (false, true) => Box::pin(async move {
                let (winner, got) = three!(plan, x, y, flag);
                (winner, got, Vec::new())
            }),
            (true, false) => Box::pin(async move {
                let (winner, got) = two!(plan, &mut x, &mut y);
                (winner, got, [x.left(), y.left()].into_iter().flatten().collect())
            }),
            (true, true) => Box::pin(async move {
                let (winner, got) = three!(plan, &mut x, &mut y, flag);
                (winner, got, [x.left(), y.left()].into_iter().flatten().collect())
            }),
        }
    }))
}

impl<'a> Run<'a> {
    fn new(caps: [usize; 2], ends: &'a Ends) -> Self {
        Run {
            caps,
            ends,
            ops: Vec::new(),
            wakers: Vec::new(),
            model: Model::new(caps),
            tracker: Tracker::new(),
            script: Vec::new(),
        }
    }

    fn live(&self) -> impl Iterator<Item = usize> + '_ {
        self.ops.iter().enumerate().filter(|(_, op)| op.is_some()).map(|(i, _)| i)
    }

    /// The steps that make sense now.
    fn choices(&self, plans: &[Plan], most_live: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.live().count() < most_live {
            steps.extend(plans.iter().map(|&plan| Start(plan)));
        }
        for channel in [A, B] {
            steps.extend([TrySend(channel), TryRecv(channel)]);
            steps.extend((!self.model.is_closed(channel)).then_some(Close(channel)));
        }
        for i in self.live() {
            steps.extend([Poll(i), Cancel(i)]);
            let op = self.ops[i].as_ref().expect("live");
            steps.extend((op.plan.foreign && !op.flag.0.lock().unwrap().0).then_some(Fire(i)));
        }
        steps
    }

    fn step(&mut self, step: Step) {
        self.script.push(step);
        match step {
            New(plan) => self.start(plan),
            Start(plan) => {
                self.start(plan);
                self.poll(self.ops.len() - 1);
            }
            Poll(i) => self.poll(i),
            Cancel(i) => {
                self.ops[i] = None;
                self.model.gone(i, false);
            }
            Fire(i) => {
                self.model.fired(i);
                self.ops[i].as_ref().expect("chosen").flag.fire();
            }
            TrySend(channel) => {
                let value = self.tracker.value();
                let id = value.id;
                let result = match self.ends[channel].0.try_send(value) {
                    Ok(()) => Ok(()),
                    Err(TrySendError::Full(back)) => Err(("full", back.id)),
                    Err(TrySendError::Closed(back)) => Err(("closed", back.id)),
                };
                assert!(result.is_ok() || result.is_err_and(|(_, back)| back == id), "its own value");
                self.model.try_sent(channel, id, result.map_err(|(why, _)| why));
            }
            TryRecv(channel) => {
                let result = match self.ends[channel].1.try_recv() {
                    Ok(value) => Ok(value.id),
                    Err(TryRecvError::Empty) => Err("empty"),
                    Err(TryRecvError::Closed) => Err("closed"),
                };
                self.model.try_received(channel, result);
            }
            Close(channel) => {
                let first = self.ends[channel].0.close();
                self.model.closed(channel, first);
            }
            Settle => self.settle(),
        }
        self.check();
    }

    fn start(&mut self, plan: Plan) {
        let mut branches = Vec::new();
        let values = [Some(plan.first), plan.second].map(|spec| {
            let value = spec.filter(|spec| spec.side == Side::Send).map(|_| self.tracker.value());
            branches.extend(spec.map(|spec| (spec, value.as_ref().map(|value| value.id))));
            value
        });
        self.model.start(&branches, plan.foreign, plan.biased);
        let flag = Flag::default();
        let future = start(plan, self.ends, values, flag.clone());
        self.ops.push(Some(Op { future, plan, flag, waker: None }));
    }

    fn poll(&mut self, i: usize) {
        let counting = CountingWaker::new();
        self.wakers.push(Arc::clone(&counting));
        let waker = Waker::from(Arc::clone(&counting));
        let op = self.ops[i].as_mut().expect("chosen");
        let polled = op.future.as_mut().poll(&mut Context::from_waker(&waker));
        let (outcome, left) = match polled {
            Poll::Ready((winner, got, left)) => (Some((winner, got)), left),
            Poll::Pending => (None, Vec::new()),
        };
        self.model.polled(i, outcome);
        if outcome.is_none() {
            assert!(
                !counting.was_woken(),
                "nothing is in the middle of anything here: it need not look again"
            );
            self.ops[i].as_mut().expect("chosen").waker = Some(counting);
            return;
        }
        if self.ops[i].as_ref().expect("chosen").plan.lent {
            assert_eq!(left, self.model.kept_values(i), "S9: a lent send that lost keeps its value");
        }
        self.ops[i] = None;
        self.model.gone(i, true);
    }

    fn settle(&mut self) {
        for _ in 0..100 {
            let Some(next) = self.live().find(|&i| was_woken(&self.ops, i)) else {
                return self.model.assert_quiet();
            };
            self.poll(next);
            self.check();
        }
        panic!("operations wake each other for ever");
    }

    fn check(&self) {
        self.model.assert_valid();
        for (channel, (tx, _)) in self.ends.iter().enumerate() {
            let observed = (tx.len(), tx.is_closed());
            assert_eq!(observed, (self.model.len(channel), self.model.is_closed(channel)), "C17: {channel}");
            tx.assert_valid();
        }
        let live = self.model.live_values();
        for id in 0..self.tracker.created() {
            let expected = u32::from(live.binary_search(&id).is_err());
            assert_eq!(self.tracker.drops(id), expected, "C1, S9: drops of value {id}");
        }
        for i in self.model.must_be_woken() {
            assert!(was_woken(&self.ops, i), "operation {i} can go on and was not woken");
        }
    }

    /// Ends the script: `settled`, by polling whoever was woken; then drops everything, with all checks.
    fn finish(mut self, settled: bool) {
        if settled {
            self.step(Settle);
        }
        let drops = self.live().map(Cancel).collect::<Vec<_>>();
        drops.into_iter().for_each(|step| self.step(step));
        // One count is this list's.
        let held = self.wakers.iter().filter(|waker| Arc::strong_count(waker) > 1).count();
        assert_eq!(held, 0, "S1: wakers still held after the operations are gone");
        for channel in [A, B] {
            // Were a branch still in a queue, one of these would meet it.
            self.step(TrySend(channel));
            while self.model.len(channel) > 0 {
                self.step(TryRecv(channel));
            }
            self.step(TryRecv(channel));
            self.step(TrySend(channel));
        }
        let tracker = self.tracker.clone();
        let ends = self.ends;
        drop(self);
        ends.iter().for_each(|(tx, rx)| {
            tx.close();
            rx.drain().for_each(drop);
        });
        tracker.assert_done();
    }
}

fn was_woken(ops: &[Option<Op<'_>>], i: usize) -> bool {
    ops[i].as_ref().and_then(|op| op.waker.as_ref()).is_some_and(|waker| waker.was_woken())
}

/// Runs one script; gives the steps that could follow.
fn replay_then(
    caps: [usize; 2],
    script: &[Step],
    settled: bool,
    plans: &[Plan],
    most_live: usize,
) -> Vec<Step> {
    let ends = caps.map(bounded);
    let mut run = Run::new(caps, &ends);
    script.iter().for_each(|step| run.step(*step));
    let choices = run.choices(plans, most_live);
    run.finish(settled);
    choices
}

fn replay(caps: [usize; 2], script: &[Step]) {
    for settled in [true, false] {
        replay_then(caps, script, settled, &[], 0);
    }
}

/// Runs every script of up to `depth` steps that begins with `script`; gives their number.
fn run_all(caps: [usize; 2], plans: &[Plan], script: &mut Vec<Step>, depth: usize) -> usize {
    replay_then(caps, script, true, plans, depth);
    let choices = replay_then(caps, script, false, plans, depth);
    if script.len() == depth {
        return 1;
    }
    let mut count = 1;
    for step in choices {
        script.push(step);
        count += run_all(caps, plans, script, depth);
        script.pop();
    }
    count
}

const ENDS: [Spec; 4] = [
    Spec { channel: A, side: Side::Send },
    Spec { channel: A, side: Side::Recv },
    Spec { channel: B, side: Side::Send },
    Spec { channel: B, side: Side::Recv },
];

const WATCHES: [Spec; 2] = [Spec { channel: A, side: Side::Watch }, Spec { channel: B, side: Side::Watch }];

fn plain(first: Spec) -> Plan {
    Plan { form: Form::Function, first, second: None, lent: false, biased: true, foreign: false }
}

fn both(first: Spec, second: Spec) -> Plan {
    Plan { second: Some(second), ..plain(first) }
}

/// All pairs of branches.
fn pairs() -> impl Iterator<Item = Plan> {
    ENDS.into_iter().flat_map(|first| ENDS.into_iter().map(move |second| both(first, second)))
}

/// Every pair of branches, and plain operations.
fn all_short_scripts(caps: [usize; 2]) {
    let plans = ENDS.into_iter().map(plain).chain(pairs()).collect::<Vec<_>>();
    let count = run_all(caps, &plans, &mut Vec::new(), if scale() > 1 { 4 } else { 3 });
    assert!(count > 10_000, "the enumeration is not empty: {count} scripts");
}

/// Longer scripts of the pairs that meet each other: both sides of one channel, and opposing ones.
fn all_scripts_of_opposing_selects(caps: [usize; 2]) {
    let [send_a, recv_a, send_b, recv_b] = ENDS;
    let plans = [
        both(send_a, recv_a),
        both(recv_a, send_a),
        both(send_a, recv_b),
        both(recv_a, send_b),
        plain(recv_a),
    ];
    all_scripts_of(caps, &plans);
}

/// The same, with a macro and a set among them.
fn all_scripts_of_opposing_forms(caps: [usize; 2]) {
    let [send_a, recv_a, send_b, recv_b] = ENDS;
    let plans = [
        Plan { form: Form::Set, ..both(send_a, recv_a) },
        Plan { form: Form::Macro, ..both(recv_a, send_a) },
        Plan { form: Form::Set, ..both(recv_b, send_a) },
        Plan { form: Form::Macro, ..both(recv_a, send_b) },
        Plan { form: Form::Set, ..plain(recv_a) },
    ];
    all_scripts_of(caps, &plans);
}

fn all_scripts_of(caps: [usize; 2], plans: &[Plan]) {
    let count = run_all(caps, plans, &mut Vec::new(), if scale() > 1 { 5 } else { 4 });
    assert!(count > 10_000, "the enumeration is not empty: {count} scripts");
}

/// Lent operations, foreign futures and `closed()` in all short scripts.
fn all_scripts_of_other_branches(caps: [usize; 2]) {
    let [send_a, recv_a, send_b, recv_b] = ENDS;
    let plans = [
        Plan { lent: true, ..both(send_a, recv_b) },
        Plan { lent: true, foreign: true, ..both(recv_a, send_b) },
        Plan { foreign: true, ..both(recv_a, recv_b) },
        both(WATCHES[A], recv_b),
        both(send_a, WATCHES[B]),
    ];
    let count = run_all(caps, &plans, &mut Vec::new(), if scale() > 1 { 5 } else { 4 });
    assert!(count > 10_000, "the enumeration is not empty: {count} scripts");
}

fn long_random_scripts(caps: [usize; 2], most_live: usize) {
    let mut rng =
        StdRng::seed_from_u64(0x5e1ec7 + caps[0] as u64 * 100 + caps[1] as u64 * 1000 + most_live as u64);
    let branches = ENDS.into_iter().chain(WATCHES).collect::<Vec<_>>();
    for _ in 0..300 * scale() {
        let ends = caps.map(bounded);
        let mut run = Run::new(caps, &ends);
        // Scripts lean to one side for a while, so that queues grow and shrink.
        let mut bias = 0;
        for _ in 0..rng.random_range(20..150) {
            if rng.random_bool(0.1) {
                bias = rng.random_range(0..5);
            }
            let any = |rng: &mut StdRng| {
                // Watches seldom: they only wait.
                let most = if rng.random_bool(0.1) { branches.len() } else { ENDS.len() };
                branches[rng.random_range(0..most)]
            };
            let plan = Plan {
                form: Form::Function,
                second: rng.random_bool(0.75).then(|| any(&mut rng)),
                lent: rng.random_bool(0.3),
                biased: rng.random_bool(0.5),
                foreign: rng.random_bool(0.2),
                first: any(&mut rng),
            };
            let form = match rng.random_range(0..3) {
                0 => Form::Macro,
                1 if [Some(plan.first), plan.second]
                    .iter()
                    .flatten()
                    .all(|spec| spec.side != Side::Watch) =>
                {
                    Form::Set
                }
                _ => Form::Function,
            };
            let plan = match form {
                Form::Set => Plan { form, lent: false, foreign: false, ..plan },
                _ => Plan { form, ..plan },
            };
            // Two equal branches join one line in the order in which they were looked at, which is random without bias.
            let biased = plan.biased || plan.second == Some(plan.first);
            let plan = Plan { foreign: plan.foreign && plan.second.is_some(), biased, ..plan };
            let mut choices = run.choices(&[plan], most_live);
            choices.extend([Settle, New(plan)].into_iter().filter(|_| rng.random_bool(0.2)));
            // Ends come seldom, or every script would be short.
            if !rng.random_bool(0.01) {
                choices.retain(|step| !matches!(step, Close(_)));
            }
            choices.retain(|step| match bias {
                0 => true,
                1 => matches!(step, Start(_) | New(_) | Poll(_)),
                2 => matches!(step, TrySend(_) | Poll(_) | Start(_)),
                3 => matches!(step, TryRecv(_) | Poll(_) | Start(_)),
                _ => matches!(step, Cancel(_) | Fire(_) | TrySend(_) | TryRecv(_)),
            });
            if choices.is_empty() {
                continue;
            }
            // A start is as likely as a poll of anybody.
            let start = choices.iter().position(|step| matches!(step, Start(_)));
            let next = match start {
                Some(start) if rng.random_bool(0.3) => start,
                _ => rng.random_range(0..choices.len()),
            };
            run.step(choices[next]);
        }
        run.finish(rng.random_bool(0.5));
    }
}

macro_rules! scripts {
    ($($name:ident = $caps:expr => $($test:ident),+;)*) => {$(
        mod $name {
            $(
                #[test]
                fn $test() {
                    super::$test($caps);
                }
            )+
        }
    )*};
}

fn random_scripts_with_few_waiters(caps: [usize; 2]) {
    long_random_scripts(caps, 5);
}

fn random_scripts_with_many_waiters(caps: [usize; 2]) {
    long_random_scripts(caps, 30);
}

scripts! {
    capacities_0_and_0 = [0, 0] => all_short_scripts, all_scripts_of_opposing_selects, all_scripts_of_opposing_forms, all_scripts_of_other_branches,
        random_scripts_with_few_waiters, random_scripts_with_many_waiters;
    capacities_0_and_1 = [0, 1] => all_short_scripts, all_scripts_of_opposing_selects, all_scripts_of_opposing_forms, all_scripts_of_other_branches,
        random_scripts_with_few_waiters, random_scripts_with_many_waiters;
    // The pairs of branches are the same with the channels exchanged.
    capacities_1_and_0 = [1, 0] => all_scripts_of_opposing_selects, all_scripts_of_opposing_forms, all_scripts_of_other_branches,
        random_scripts_with_few_waiters, random_scripts_with_many_waiters;
    capacities_1_and_1 = [1, 1] => all_short_scripts, all_scripts_of_opposing_selects, all_scripts_of_opposing_forms, all_scripts_of_other_branches,
        random_scripts_with_few_waiters, random_scripts_with_many_waiters;
    capacities_2_and_0 = [2, 0] => random_scripts_with_few_waiters, random_scripts_with_many_waiters;
}

/// Scripts that once found something, or show what the notation looks like.
#[test]
fn replays() {
    let [send_a, recv_a, send_b, recv_b] = ENDS;
    replay([0, 0], &[Start(both(send_a, recv_b)), Start(both(recv_a, send_b)), Poll(0)]);
    replay([0, 0], &[Start(both(send_a, recv_a)), Start(plain(recv_a)), Cancel(0), TrySend(A)]);
    replay(
        [1, 0],
        &[Start(both(recv_a, recv_b)), Start(plain(recv_a)), TrySend(A), TrySend(B), Cancel(0), Poll(1)],
    );
}
