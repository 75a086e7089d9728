//! Differential test: a script of steps runs on a restricted channel and on the general one, which has a sequential model
//! of its own (`contract`, `script`); after each step both have given the same, have woken the same, hold as many values,
//! and have dropped the same ones (C1–C7, C9–C12, C17, C18).
//!
//! At most one operation of a side is there at a time, as the borrow of its handle says.

use std::sync::Arc;
use std::task::Poll;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{CountingWaker, PollExt, Tracked, Tracker};

/// One step of a script. What does not apply is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Send,
    Recv,
    /// The last operation of a side is polled again, with another waker.
    PollSend,
    PollRecv,
    DropSend,
    DropRecv,
    IntoInner,
    TrySend,
    TryRecv,
    CloseByTx,
    CloseByRx,
    CloseNowByTx,
    CloseNowByRx,
    DropTx,
    DropRx,
}

use Step::*;

const STEPS: [Step; 15] = [
    Send,
    Recv,
    PollSend,
    PollRecv,
    DropSend,
    DropRecv,
    IntoInner,
    TrySend,
    TryRecv,
    CloseByTx,
    CloseByRx,
    CloseNowByTx,
    CloseNowByRx,
    DropTx,
    DropRx,
];

/// A channel under test, with what is seen of it.
trait Ends {
    fn new(capacity: Option<usize>) -> Self;

    /// Takes a step; says what came of it.
    fn step(&mut self, step: Step) -> String;
}

macro_rules! ends {
    ($($name:ident = $($path:ident)::+;)+) => {$(
        struct $name {
            // Operations before the handles that they borrow.
            sending: Option<($($path)::+::SendFuture<'static, Tracked>, Arc<CountingWaker>)>,
            receiving: Option<($($path)::+::RecvFuture<'static, Tracked>, Arc<CountingWaker>)>,
            tx: Option<Box<$($path)::+::Sender<Tracked>>>,
            rx: Option<Box<$($path)::+::Receiver<Tracked>>>,
            tracker: Tracker,
        }

        #[allow(unused_mut, clippy::needless_option_as_deref, reason = "some kinds need less than others")]
        impl Ends for $name {
            fn new(capacity: Option<usize>) -> Self {
                let (tx, rx) = match capacity {
                    Some(capacity) => $($path)::+::bounded(capacity),
                    None => $($path)::+::unbounded(),
                };
                let (tx, rx) = (Some(Box::new(tx)), Some(Box::new(rx)));
                $name { sending: None, receiving: None, tx, rx, tracker: Tracker::new() }
            }

            fn step(&mut self, step: Step) -> String {
                let outcome = self.take_step(step);
                let len = match (&self.tx, &self.rx) {
                    (Some(tx), _) => Some((tx.len(), tx.is_closed(), tx.is_full())),
                    (None, Some(rx)) => Some((rx.len(), rx.is_closed(), rx.is_full())),
                    (None, None) => None,
                };
                let woken = (
                    self.sending.as_ref().map(|(_, waker)| waker.was_woken()),
                    self.receiving.as_ref().map(|(_, waker)| waker.was_woken()),
                );
                let drops = (0..self.tracker.created()).map(|id| self.tracker.drops(id)).collect::<Vec<_>>();
                format!("{outcome} {len:?} {woken:?} {drops:?}")
            }
        }

        #[allow(unused_mut, clippy::needless_option_as_deref, reason = "some kinds need less than others")]
        impl $name {
            fn take_step(&mut self, step: Step) -> String {
                match step {
                    Send if self.sending.is_none() && self.tx.is_some() => {
                        let mut tx = self.tx.as_deref_mut().unwrap();
                        // SAFETY: the operation is dropped before its handle.
                        let mut tx = unsafe { &mut *std::ptr::from_mut(tx) };
                        let future = tx.send(self.tracker.value());
                        self.sending = Some((future, CountingWaker::new()));
                        self.take_step(PollSend)
                    }
                    Recv if self.receiving.is_none() && self.rx.is_some() => {
                        let mut rx = self.rx.as_deref_mut().unwrap();
                        // SAFETY: as above.
                        let mut rx = unsafe { &mut *std::ptr::from_mut(rx) };
                        self.receiving = Some((rx.recv(), CountingWaker::new()));
                        self.take_step(PollRecv)
                    }
                    PollSend => {
                        let Some((sending, waker)) = &mut self.sending else { return String::new() };
                        *waker = CountingWaker::new();
                        let polled = sending.poll_once(waker);
                        if polled.is_ready() {
                            self.sending = None;
                        }
                        match polled {
                            Poll::Pending => String::from("pending"),
                            Poll::Ready(Ok(())) => String::from("sent"),
                            Poll::Ready(Err(error)) => format!("not sent {:?}", error.0),
                        }
                    }
                    PollRecv => {
                        let Some((receiving, waker)) = &mut self.receiving else { return String::new() };
                        *waker = CountingWaker::new();
                        let polled = receiving.poll_once(waker);
                        if polled.is_ready() {
                            self.receiving = None;
                        }
                        format!("{polled:?}")
                    }
                    DropSend => {
                        self.sending = None;
                        String::new()
                    }
                    DropRecv => {
                        self.receiving = None;
                        String::new()
                    }
                    IntoInner => {
                        let sending = self.sending.take();
                        format!("{:?}", sending.map(|(sending, _)| sending.into_inner()))
                    }
                    TrySend if self.sending.is_none() && self.tx.is_some() => {
                        let value = self.tracker.value();
                        let sent = self.tx.as_deref_mut().unwrap().try_send(value);
                        format!("{sent:?}")
                    }
                    TryRecv if self.receiving.is_none() && self.rx.is_some() => {
                        format!("{:?}", self.rx.as_deref_mut().unwrap().try_recv())
                    }
                    CloseByTx | CloseNowByTx | DropTx if self.sending.is_none() && self.tx.is_some() => match step {
                        CloseByTx => format!("{}", self.tx.as_ref().unwrap().close()),
                        CloseNowByTx => format!("{}", self.tx.as_ref().unwrap().close_now()),
                        _ => {
                            self.tx = None;
                            String::new()
                        }
                    },
                    CloseByRx | CloseNowByRx | DropRx if self.receiving.is_none() && self.rx.is_some() => match step {
                        CloseByRx => format!("{}", self.rx.as_ref().unwrap().close()),
                        CloseNowByRx => format!("{}", self.rx.as_ref().unwrap().close_now()),
                        _ => {
                            self.rx = None;
                            String::new()
                        }
                    },
                    _ => String::new(),
                }
            }
        }
    )+};
}

ends! {
    General = leno::channel;
    Spsc = leno::channel::spsc;
    Mpsc = leno::channel::mpsc;
}

/// Whether a step does something rather early, so that short scripts are not all of the end.
fn is_end(step: Step) -> bool {
    matches!(step, CloseByTx | CloseByRx | CloseNowByTx | CloseNowByRx | DropTx | DropRx)
}

#[track_caller]
fn compare<E: Ends>(capacity: Option<usize>, script: &[Step]) {
    let (mut general, mut restricted) = (General::new(capacity), E::new(capacity));
    let last = [DropSend, DropRecv, TryRecv, DropTx, TryRecv, TryRecv, DropRx];
    for (at, step) in script.iter().chain(&last).enumerate() {
        let (expected, seen) = (general.step(*step), restricted.step(*step));
        assert_eq!(seen, expected, "capacity {capacity:?}, step {at} of {script:?}");
    }
}

fn short<E: Ends>() {
    for capacity in [Some(0), Some(1), Some(2)] {
        let mut script = Vec::new();
        all::<E>(capacity, &mut script, 4);
    }
}

fn all<E: Ends>(capacity: Option<usize>, script: &mut Vec<Step>, left: usize) {
    if left == 0 || script.iter().filter(|step| is_end(**step)).count() > 1 {
        return compare::<E>(capacity, script);
    }
    for step in STEPS {
        script.push(step);
        all::<E>(capacity, script, left - 1);
        script.pop();
    }
}

fn long<E: Ends>(seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    for capacity in [Some(0), Some(1), Some(2), Some(3), Some(64), Some(300), None] {
        for _ in 0..300 {
            let length = rng.random_range(5..120);
            let script = (0..length).map(|_| {
                let step = STEPS[rng.random_range(0..STEPS.len())];
                if is_end(step) && rng.random_range(0..20) > 0 { Send } else { step }
            });
            let script = script.collect::<Vec<_>>();
            compare::<E>(capacity, &script);
        }
    }
}

#[test]
fn short_scripts_of_spsc() {
    short::<Spsc>();
}

#[test]
fn short_scripts_of_mpsc() {
    short::<Mpsc>();
}

#[test]
fn long_scripts_of_spsc() {
    long::<Spsc>(1);
}

#[test]
fn long_scripts_of_mpsc() {
    long::<Mpsc>(2);
}
