//! Receivers of instants: [`after`] a while, [`at`] an instant, [`tick`] again and again, [`never`](never()).
//!
//! They are ordinary [`Receiver`]s, so they work in `select!`, in a dynamic [`Select`](crate::select::Select), on plain
//! threads and as streams; each tick goes to one of a receiver's clones. A due tick waits until it is taken, at most one at
//! a time; a receive that is dropped, or loses in a `select!`, takes none (if a tick was just handed to it, that is put
//! back, and waits beside the next one). The received value is the instant at which the tick was due. The channel never
//! closes by itself: after the last tick nothing more comes. Dropping the last receiver removes the timer. A due tick is
//! offered as on a rendezvous channel: `try_recv` takes it, and `len` does not count it. (It is offered by the timer: a receiver's
//! waker must not block until there is another one of the same ticker.)
//!
//! ```
//! use leno::channel::ticker;
//! use leno::fiber::Cord;
//! use leno::time::Clock;
//! use std::time::Duration;
//!
//! let second = Duration::from_secs(1);
//! Cord::with_clock(Clock::virtual_time()).block_on(async {
//!     let (beat, end) = (ticker::tick(second), ticker::after(3 * second + second / 2));
//!     let mut beats = 0;
//!     loop {
//!         leno::select! {
//!             _ = beat.recv() => beats += 1,
//!             _ = end.recv() => break,
//!         }
//!     }
//!     assert_eq!(beats, 3);
//! });
//! ```
//!
//! The time is that of the executor that the caller runs on (a runtime or cord, whose clock may be virtual); elsewhere, that of
//! leno's default runtime. That executor keeps the timer, wherever the receiver is moved: one made on a cord ticks while somebody
//! drives the cord. (Create tickers for a [closed world](crate::fiber::RuntimeBuilder::closed_world) inside it.) In a fiber that
//! needs no receiver, [`sleep`](crate::sleep()), [`interval`](crate::fiber::interval) and [`timeout`](crate::timeout) are lighter.

// A ticker is a small actor between a timer and the one sender of a rendezvous channel:
//
//           the timer fires                      a receiver takes it
//   Waits ───────────────────▶ Offers (a send) ─────────────────────▶ Waits for the next one, or for nothing more
//     └──────────── the last receiver goes (a `closed`) ───────────────┴──▶ over: all of it is dropped
//
// It has one waker, which the timer, the send and the `closed` have, and it runs within the call of that waker, on whichever
// thread that is: a few steps for each tick that is due and wanted, which wake the receiver that gets it. (In a burst these are
// several.)
//
//   wakes   set by                                           means
//   0       who runs it, when nothing is left                nobody runs it
//   1       who wakes it at 0; who runs it, and looks again  that thread has the actor for itself
//   more    who wakes it above 0                             who runs it looks once more
//
// Invariants
// 1. The actor is touched by the thread whose wake found 0, until it makes that 0 again.
// 2. A wake is never lost: it runs the actor, or whoever runs it runs it once more after that.
// 3. As long as it is not over, the channel's line of those who watch for its close has the waker; so it lives, and hears of the
//    end. While it waits for a tick, the timer has it, too; while it offers one, the send.
// 4. Once it is over nothing of it is left but what those keep who are about to wake it.
//
// ORDERING: a wake acquires and releases, the exchange that makes `wakes` 0 releases, and the one before another look acquires: each
// who runs it sees what those before have done, and what it was woken for.
//
// A wake within the actor's own run (a receiver's waker that takes the next tick at once) is counted only, so that it does not
// run within itself. Foreign wakers that panic: the actor is run to its rest (but no further than a hundred panics), then the
// last panic goes on.
//
// Why a send and not a value in a buffer: a policy needs to know when a tick is *taken*, which is when its send completes.

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::bell::Listen;
use super::branch::{Send, Watch};
use super::{Sender, rendezvous};
use crate::prim::{AtomicU32, Ordering, UnsafeCell};
use crate::task::error::discard;
use crate::task::{budget, context, thread};
use crate::time::Alarm;
use crate::wait::Operation;

pub use super::{Receiver, RecvError, RecvTimeoutError, TryRecvError};
pub use crate::time::Missed;

/// One tick, `d` from now, and nothing more. [`Duration::MAX`], or any instant beyond the range of [`Instant`], never comes.
///
/// ```
/// use leno::channel::ticker::after;
/// use std::time::Duration;
///
/// let (tx, rx) = leno::bounded::<u8>(1);
/// let limit = after(Duration::from_millis(1));
/// leno::select_blocking! {
///     received = rx.recv() => unreachable!("{received:?}"),
///     _ = limit.recv() => println!("nobody has sent anything in time"),
/// }
/// # drop(tx);
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn after(d: Duration) -> Receiver<Instant> {
    start(Alarm::here(|now| now.checked_add(d)), None)
}

/// One tick, at `t`, an instant of the clock of the executor that the caller runs on, and nothing more. If `t` has passed, the
/// tick is due at once.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let end = Instant::now() + Duration::from_millis(1);
/// assert_eq!(leno::channel::ticker::at(end).recv_blocking(), Ok(end));
/// assert!(Instant::now() >= end);
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn at(t: Instant) -> Receiver<Instant> {
    start(Alarm::here(|_now| Some(t)), None)
}

/// A tick every `d`, the first one after `d`; missed ticks come in a [burst](Missed::Burst).
///
/// # Panics
/// If `d` is zero.
#[track_caller]
pub fn tick(d: Duration) -> Receiver<Instant> {
    tick_with(d, Missed::Burst)
}

/// As [`tick`]; `missed` says how to handle ticks that were not taken before the next one was due.
///
/// ```
/// use leno::channel::ticker::{Missed, tick_with};
/// use leno::fiber::{Cord, now};
/// use leno::time::Clock;
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// Cord::with_clock(Clock::virtual_time()).block_on(async {
///     let start = now();
///     let ticks = tick_with(second, Missed::Skip);
///     leno::sleep(4 * second + second / 2).await;
///     assert_eq!(ticks.recv().await, Ok(start + second), "the first that was missed");
///     assert_eq!(ticks.recv().await, Ok(start + 5 * second), "as if nothing had happened");
/// });
/// ```
///
/// # Panics
/// If `d` is zero.
#[track_caller]
pub fn tick_with(d: Duration, missed: Missed) -> Receiver<Instant> {
    assert!(!d.is_zero(), "a ticker with a period of zero would tick without end; use 1 ns or more");
    start(Alarm::here(|now| now.checked_add(d)), Some((d, missed)))
}

/// No tick, ever: for a branch of a `select!` that may have nothing to wait for.
///
/// ```
/// use leno::channel::ticker::{after, never};
/// use std::time::Duration;
///
/// let limit: Option<Duration> = None;
/// let limit = limit.map_or_else(never, after);
/// assert!(limit.try_recv().is_err());
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn never() -> Receiver<Instant> {
    start(Alarm::never(), None)
}

/// So many panics in a row, with no tick taken meanwhile, do not come from wakers.
const PANICS: u32 = 100;

struct Ticker {
    /// How often it was woken since nobody ran it.
    wakes: AtomicU32,
    actor: UnsafeCell<Option<Actor>>,
}

// SAFETY: invariant 1.
unsafe impl core::marker::Send for Ticker {}
// SAFETY: as above.
unsafe impl Sync for Ticker {}

/// What runs. The fields are dropped in this order: operations before their sender.
struct Actor {
    offer: Option<Operation<Send<Instant>>>,
    closed: Operation<Listen<Watch<Instant>>>,
    sender: Sender<Instant>,
    /// For the next tick, or the one that is offered.
    alarm: Alarm,
    repeat: Option<(Duration, Missed)>,
}

#[track_caller]
fn start(alarm: Alarm, repeat: Option<(Duration, Missed)>) -> Receiver<Instant> {
    let (sender, receiver) = rendezvous();
    // SAFETY: the sender is kept beside it, and is dropped later.
    let closed = Operation::new(unsafe { Watch::listen(&sender) });
    let actor = Actor { offer: None, closed, sender, alarm, repeat };
    let ticker = Ticker { wakes: AtomicU32::new(0), actor: UnsafeCell::new(Some(actor)) };
    Arc::new(ticker).wake();
    receiver
}

impl Wake for Ticker {
    fn wake(self: Arc<Self>) {
        if self.wakes.fetch_add(1, Ordering::AcqRel) == 0 {
            self.run();
        }
    }
}

impl Ticker {
    /// Runs the actor until it has nothing to do, and nobody has woken it meanwhile.
    fn run(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let (mut panic, mut panics) = (None, 0);
        let mut pauses = 0;
        loop {
            let (ran, goes_on) = self.actor.with_mut(|actor| {
                // SAFETY: invariant 1.
                let actor = unsafe { &mut *actor };
                let due = |actor: &Option<Actor>| actor.as_ref().and_then(|actor| actor.alarm.due());
                let before = due(actor);
                let ran = catch_unwind(AssertUnwindSafe(|| {
                    let over = actor.as_mut().is_some_and(|actor| actor.run(&waker).is_ready());
                    if over { actor.take() } else { None }
                }));
                (ran, due(actor) != before)
            });
            match ran {
                // Its drop is foreign code as well: it may wake this.
                Ok(over) => {
                    panics = 0;
                    drop(over);
                }
                Err(payload) => {
                    discard(panic.replace(payload));
                    panics = if goes_on { 1 } else { panics + 1 };
                    if panics < PANICS {
                        // Whoever panicked was told; the actor is not at its rest.
                        continue;
                    }
                }
            }
            let release = order!(Release, "ticker_rests_relaxed");
            let wakes = if bug!("ticker_runs_once") { self.wakes.load(Ordering::Relaxed) } else { 1 };
            if self.wakes.compare_exchange(wakes, 0, release, Ordering::Relaxed).is_ok() {
                break;
            }
            if goes_on {
                pauses = 0;
            }
            // Woken by a peer, which may be in the middle of something.
            // ORDERING: Acquire pairs with the wakes since; nobody else makes it less now.
            self.wakes.swap(1, Ordering::Acquire);
            thread::pause(&mut pauses);
        }
        if let Some(payload) = panic.filter(|_| !bug!("ticker_swallows_a_panic")) {
            resume_unwind(payload);
        }
    }
}

impl Actor {
    /// `Ready`: it is over.
    fn run(&mut self, waker: &Waker) -> Poll<()> {
        // On behalf of nobody: no fiber waits for what is left pending here, and none pays for it.
        let mut place = context::Frame::nobody();
        let _nobody = context::enter_nowhere(&mut place);
        budget::without(|| self.poll(&mut Context::from_waker(waker)))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.closed.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        loop {
            if let Some(offer) = &mut self.offer {
                let taken = std::task::ready!(offer.poll(cx));
                self.offer = None;
                if taken.is_err() {
                    return Poll::Ready(());
                }
                let taken = self.alarm.due().zip(self.repeat);
                self.alarm.set(|now| taken.and_then(|(due, (period, missed))| missed.next(due, now, period)));
            }
            let due = std::task::ready!(self.alarm.poll(cx.waker()));
            // SAFETY: the sender is kept beside it, and is dropped later.
            let send = unsafe { Send::new(&self.sender, MaybeUninit::new(due)) };
            self.offer = Some(Operation::new(send));
        }
    }
}

#[cfg(any(leno_loom, leno_shuttle))]
pub mod model;
