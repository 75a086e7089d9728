//! What a thread does before it sleeps: it looks around for a moment, then lets others run, and how long either is
//! worth while it learns from how its last waits ended.
//!
//! *Spinning* pays where the peer is at work on another core, and is through sooner than a sleep begins. Where
//! peer and waiter share a core each pause is a waste: so a spin in vain halves the next one, down to none, and
//! every [`PROBE`]th wait tries again. *Yielding* pays where the peer shares the core, and where it takes a little
//! longer. A sleep that was short would have been worth more yields, one that was long fewer.
//!
//! A yield that takes long was well spent if much has happened meanwhile where the thread waits: its peers had the core. If not,
//! a third party keeps the core busy: yields go by turns then, and cost milliseconds, while who wakes from a sleep runs
//! soon. So the thread sleeps at once, and does not yield again for a time that is a multiple of what it has lost: of a first such
//! yield, which may have been a passer-by's, less than of the next ones.
//!
//! Where there is one core only, no spin is worth while, but now and then one to see whether that is so. And a turn costs hardly more
//! than what a thread does around it: so it looks at the clock at one yield of a few, and takes the time since the last look for that
//! of the yields, as long as that is short. If it is long, the thread may have worked, or the whole machine have stood still. So then
//! it times each yield from its beginning, and only if another one is long within [`CALM`] is it a third party's. (That many, as the
//! scheduler makes up for a long turn by a few short ones. With several cores one long yield is enough: to sleep takes a thread to a
//! free one.)
//!
//! Two threads that yield to each other stay on one core, for a hundred milliseconds and more, while another one is free. So a
//! thread that has done so for a while sleeps once: a woken thread starts on a core that is free.
//!
//! Nobody oversleeps for it: yields end well before the deadline, and all pauses of a wait together take a few tens of microseconds
//! at most.
//!
//! Source: "spin, then park" as everybody does it; the learning is ours, and so are the figures, found by
//! experiment.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::pause_for;
use crate::prim::{self, OnceLock, is_late, thread};

/// How long a spin is at least, if there is any, and at most: a few times as long as a peer on another core takes to hand over.
const LEAST_SPIN: Duration = Duration::from_nanos(160);
const SPIN: Duration = Duration::from_nanos(2560);
/// Looks between two at the clock.
const LOOKS: u32 = 4;
/// How many waits lie between two that try whether spinning pays again, and how long these spin. (A prime: a thread's waits may go by
/// turns at two channels, or at four.)
const PROBE: u32 = 61;
/// So many times as many lie between them where there is one core, or seems to be: a thread that was bound to a core asked first.
const RARELY: u32 = 16;
const TRY: Duration = Duration::from_nanos(1280);
/// The same of who lingers: a fiber's wait costs so little that a longer one, in vain, would be felt. (Half of it is less than
/// [`LEAST_SPIN`]: so there is none after it. A thread that has tried in vain does so a few times more, ever more briefly.)
const SHORT_TRY: Duration = Duration::from_nanos(240);
/// Yields at least and at most.
const MIN_YIELDS: u32 = 2;
const YIELDS: u32 = 256;
/// Pauses, in nanoseconds, and yields, before a wait begins.
const SHORT: &[u64] = &[20, 40, 80, 160, 320];
const GLANCES: u32 = 4;
/// The same where much comes, and where it is only to be seen whether much does; and while the supply grows, the time between two
/// looks at it, and altogether at most. (A turn takes longer than a cache line from a core that is far away, 200 ns: a look before
/// that finds nothing new, as if nothing came.)
const LONG: &[u64] = &[150, 300, 600, 1200];
const TRIAL: &[u64] = &[150, 300, 300];
const TURN: Duration = Duration::from_nanos(300);
const LONG_TURN: Duration = Duration::from_nanos(2500);
const GROWTH: Duration = Duration::from_nanos(4800);
/// The time before the first look of who lingers.
const A_WHILE: Duration = Duration::from_nanos(80);
/// With this many available at once, each costs little compared with the first.
const SEVERAL: usize = 3;
/// With so few places it counts that a waiter is one more, where pauses are in vain.
const FEW: usize = 16;
/// After so many glances whose pauses were in vain there are none.
const VAIN: u32 = 32;
/// A yield that takes longer than this was a third party's, unless the peers took less than [`A_STEP`] for each step meanwhile. Where
/// there are few places, [`A_SWITCH`] times as much: long enough to hand over on one core, or threads that have to would forbid each
/// other the yields by which they need not.
const LONG_YIELD: Duration = Duration::from_micros(100);
const A_STEP: Duration = Duration::from_nanos(500);
const A_SWITCH: u32 = 20;
/// A sleep shorter than this is not worth while.
const SHORT_SLEEP: Duration = Duration::from_micros(50);
/// A yield that takes longer gave somebody a turn, and if what is waited for is there then, the peer: they share this core. After
/// [`SHARES`] such turns a thread sleeps once, as being woken is what moves it to another core, if there is one.
const SWITCH: Duration = Duration::from_micros(1);
const SHARES: u32 = 32;
/// After a long yield there are none for so many times as long, and if another one is long soon after that for twice as many, up to
/// the second of these: what yields lose is a small share of the time. (What takes longer than a turn or two is no turn: the process
/// was stopped.)
const FIRST_BAN: u32 = 8;
const BAN: u32 = 64;
const SLICE: Duration = Duration::from_millis(10);
/// With one core: so many yields without a long one, and it is not known of any third party.
const CALM: u32 = 16;
/// No yields closer to the deadline: one may take as long as a few turns of others.
const MARGIN: Duration = Duration::from_millis(10);

/// Whether there is one core only, for the first thread that asked.
static ONE_CORE: OnceLock<bool> = OnceLock::new();

/// What a thread has learnt.
struct Patience {
    waits: Cell<u32>,
    glances: Cell<u32>,
    /// So many glances in a row had no use of their pauses.
    in_vain: Cell<u32>,
    /// After the last glance there were [`SEVERAL`].
    streams: Cell<bool>,
    spin: Cell<Duration>,
    /// A spin has found something, and there are spins still.
    spins_pay: Cell<bool>,
    yields: Cell<u32>,
    /// So many yields in a row were the peer's turn.
    shared: Cell<u32>,
    /// No yields until then; or there were none.
    banned: Cell<Option<Instant>>,
    /// For how many times as long as had been lost.
    ban: Cell<u32>,
    /// So many yields in a row were not lost.
    calm: Cell<u32>,
    /// With one core, after [`CALM`] of these: the last look at the clock, and how many yields there were since.
    yielded: Cell<Option<(Instant, u32)>>,
}

prim::thread_local! {
    static PATIENCE: Patience = Patience {
        waits: Cell::new(0),
        glances: Cell::new(0),
        in_vain: Cell::new(0),
        streams: Cell::new(false),
        spin: Cell::new(SPIN),
        spins_pay: Cell::new(false),
        yields: Cell::new(MIN_YIELDS),
        shared: Cell::new(0),
        banned: Cell::new(None),
        ban: Cell::new(BAN),
        calm: Cell::new(0),
        yielded: Cell::new(None),
    };
}

/// Lets others run, unless yields have been lost to third parties lately, or the deadline is close. `steps`: see [`Prospects`].
pub(crate) fn let_others_run(deadline: Option<Instant>, steps: impl Fn() -> u32) {
    if !prim::MODEL {
        let _ = PATIENCE.try_with(|patience| {
            patience.let_others_run(deadline, 1, || None::<()>, steps);
        });
    }
}

/// What may be there soon for a thread that waits: nothing that is known of, by default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prospects {
    /// How many there can be at once, where there is a buffer; otherwise 0. With a buffer a peer at work soon makes what is wanted,
    /// so that a thread had better look a few times more before it waits.
    pub(crate) most: usize,
    /// How many of these there are.
    pub(crate) supply: usize,
    /// With so many a thread had better begin: see [`glance`]. Less than `most` where each side has a word of its own.
    pub(crate) enough: usize,
    /// Grows with what has happened there, and wraps: for a thread that compares two looks.
    pub(crate) progress: u32,
}

impl Prospects {
    /// Whether each side has a word of its own.
    pub(crate) fn is_apart(&self) -> bool {
        self.enough < self.most
    }

    /// What has happened, each step counted as often as [`A_STEP`] is what it may have taken.
    pub(crate) fn steps(&self) -> u32 {
        self.progress.wrapping_mul(if self.most <= FEW { A_SWITCH } else { 1 })
    }
}

/// What a thread waits for, or is about to wait for.
pub(crate) trait Awaited {
    /// Takes it, if it is there.
    fn look(&mut self) -> Option<()>;

    fn prospects(&self) -> Prospects;
}

/// Looks a few times before a wait begins at all, where values pass through a buffer: a peer at work makes what is wanted soon,
/// and a waiter costs it more than a value does. First pauses, then yields, unless yields have been lost to third parties lately, or
/// pauses have been in vain, and the buffer is so small that what a waiter brings along counts. With one core there are no pauses, and
/// yields only where each side has a word of its own: there a waiter costs more.
/// (With one slot it comes after one step of the peer or not at all: so it looks all the time, and there are no yields.)
///
/// Where the peer makes one after the other, a look too early costs both: each value would then be fetched from the other
/// core on its own. So if the last glance found several, and now and then to see whether there are, the pauses are long ones. Then
/// the two take turns: whichever waits goes on doing so while its supply grows, until that is all there can be, and the peer has
/// stopped. (Two at work on one word at a time take two to three times as long: so one that has turns looks for longer, rather than
/// lose them because the peer was slow once.) Where each has a word of its own, it waits only until there is half of it, and both
/// are at work.
pub(crate) fn glance(deadline: Option<Instant>, awaited: &mut impl Awaited) -> Option<()> {
    if prim::MODEL || is_late(deadline) {
        return None;
    }
    PATIENCE
        .try_with(|patience| match awaited.prospects() {
            Prospects { most: 0, .. } => None,
            Prospects { most: 1, .. } => patience.spin(Duration::ZERO, TRY, || awaited.look()),
            prospects => patience.glance(prospects.most, awaited).or_else(|| {
                // (Pauses are in vain where the peer shares this core: it soon has the next turn.)
                let is_in_vain = prospects.most <= FEW && patience.in_vain.get() > VAIN;
                if is_in_vain || patience.shares_its_core() && !prospects.is_apart() {
                    return None;
                }
                let awaited = RefCell::new(awaited);
                patience.let_others_run(
                    deadline,
                    GLANCES,
                    || awaited.borrow_mut().look(),
                    || awaited.borrow().prospects().steps(),
                )
            }),
        })
        .ok()
        .flatten()
}

/// Looks around for a moment, not at once and ever more rarely: each look takes the cache line from the peer, who may do much with
/// it meanwhile. (Not in models: the caller sees to that.)
pub(super) fn linger<R>(look: impl FnMut() -> Option<R>) -> Option<R> {
    PATIENCE.try_with(|patience| patience.spin(A_WHILE, SHORT_TRY, look)).ok().flatten()
}

/// Waits for a while until `look` finds something, and then by `sleep`, with the deadline. In models there is
/// only the sleep: the rest would be more to explore, and nothing to find.
pub(super) fn wait<R>(
    deadline: Option<Instant>,
    look: impl Fn() -> Option<R>,
    steps: impl Fn() -> u32,
    sleep: impl FnOnce() -> Option<R>,
) -> Option<R> {
    if prim::MODEL {
        return sleep();
    }
    let Ok(found) = PATIENCE.try_with(|patience| patience.look_around(deadline, look, steps)) else {
        return sleep();
    };
    found.or_else(|| learn(deadline, sleep))
}

/// The same, but it sleeps at once unless not doing so has paid: a thread that looks around ends up on a core of its own, and then
/// a rare wake-up takes three times as long.
pub(crate) fn rest<R>(
    deadline: Option<Instant>,
    look: impl Fn() -> Option<R>,
    sleep: impl FnOnce() -> Option<R>,
) -> Option<R> {
    let has_paid = PATIENCE.try_with(|patience| patience.yields.get() > MIN_YIELDS);
    match has_paid {
        Ok(true) => wait(deadline, look, || 0, sleep),
        Ok(false) if !prim::MODEL => learn(deadline, sleep),
        _ => sleep(),
    }
}

/// Sleeps, and learns from how long that was.
fn learn<R>(deadline: Option<Instant>, sleep: impl FnOnce() -> Option<R>) -> Option<R> {
    let asleep = Instant::now();
    let result = sleep();
    // (With a deadline so close nothing was tried.)
    if !is_close(deadline, asleep) {
        let _ = PATIENCE.try_with(|patience| patience.slept(asleep.elapsed()));
    }
    result
}

/// Whether there is no time left for yields.
fn is_close(deadline: Option<Instant>, now: Instant) -> bool {
    deadline.is_some_and(|at| now + MARGIN > at)
}

/// Pauses while there is ever more of it, and not enough yet. Each look takes the peer's cache line; so where that is better left
/// alone, as each side has a word of its own, the next one comes after as long as it took so far, within bounds.
fn let_grow(awaited: &impl Awaited) {
    let (mut before, mut spent) = (0, Duration::ZERO);
    while spent < GROWTH {
        let prospects = awaited.prospects();
        if prospects.supply <= before || prospects.supply >= prospects.enough {
            return;
        }
        let turn = if prospects.is_apart() { spent.clamp(TURN, LONG_TURN) } else { TURN };
        before = prospects.supply;
        pause_for(turn);
        spent += turn;
    }
}

fn has_one_core() -> bool {
    *ONE_CORE.get_or_init(|| thread::parallelism() == 1)
}

impl Patience {
    fn glance(&self, most: usize, awaited: &mut impl Awaited) -> Option<()> {
        self.glances.set(self.glances.get().wrapping_add(1));
        let probes = self.glances.get() % PROBE == 0;
        let in_vain = self.in_vain.get();
        let streams = self.streams.get();
        let pauses = match in_vain {
            _ if self.shares_its_core() => &[],
            _ if streams => LONG,
            _ if probes => TRIAL,
            0..VAIN => SHORT,
            _ => &[],
        };
        for pause in pauses {
            pause_for(Duration::from_nanos(*pause));
            if streams || probes {
                let_grow(awaited);
            }
            let found = awaited.look();
            if found.is_some() {
                // (Where it cannot be so nobody needs to look: that takes the peer's cache line.)
                self.streams.set(most >= SEVERAL && awaited.prospects().supply >= SEVERAL);
                self.in_vain.set(0);
                return found;
            }
        }
        self.in_vain.set(in_vain.saturating_add(1));
        self.streams.set(false);
        None
    }

    fn look_around<R>(
        &self,
        deadline: Option<Instant>,
        look: impl Fn() -> Option<R>,
        steps: impl Fn() -> u32,
    ) -> Option<R> {
        if is_late(deadline) {
            return None;
        }
        self.spin(Duration::ZERO, TRY, &look).or_else(|| {
            let found = self.let_others_run(deadline, self.yields.get(), look, steps);
            if found.is_some() {
                self.yields.set((self.yields.get() + 2).min(YIELDS));
            }
            found
        })
    }

    /// Whether there is one core, and spins do not say otherwise.
    fn shares_its_core(&self) -> bool {
        !self.spins_pay.get() && has_one_core()
    }

    /// Whether it has shared its core with its peer for long, and there are others.
    fn would_rather_move(&self) -> bool {
        self.shared.get() >= SHARES && !self.shares_its_core()
    }

    /// The first look comes after a `pause`, and each pause is twice as long as the one before. Without one it looks all the time.
    /// `probe`: how long it tries whether that pays again, where it did not.
    fn spin<R>(
        &self,
        mut pause: Duration,
        probe: Duration,
        mut look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        self.waits.set(self.waits.get().wrapping_add(1));
        let rarely = if has_one_core() { RARELY } else { 1 };
        let spin = match self.spin.get() {
            Duration::ZERO if self.waits.get() % (PROBE * rarely) != 0 => return None,
            Duration::ZERO => probe,
            learnt => learnt,
        };
        let mut now = Instant::now();
        let end = now + spin;
        while now < end {
            if !pause.is_zero() {
                pause_for(pause.min(end - now));
                pause *= 2;
            }
            for _ in 0..if pause.is_zero() { LOOKS } else { 1 } {
                prim::spin_loop();
                let found = look();
                if found.is_some() {
                    self.spin.set((spin * 2).min(SPIN));
                    self.spins_pay.set(true);
                    self.shared.set(0);
                    return found;
                }
            }
            now = Instant::now();
        }
        let half = spin / 2;
        let goes_on = half >= LEAST_SPIN;
        self.spin.set(if goes_on { half } else { Duration::ZERO });
        self.spins_pay.set(goes_on && self.spins_pay.get());
        None
    }

    fn let_others_run<R>(
        &self,
        deadline: Option<Instant>,
        yields: u32,
        mut look: impl FnMut() -> Option<R>,
        steps: impl Fn() -> u32,
    ) -> Option<R> {
        let known = self.yielded.take();
        let mut suspicious = known.is_none();
        let (mut now, mut since) =
            known.filter(|_| deadline.is_none()).unwrap_or_else(|| (Instant::now(), 0));
        if self.is_banned(now) || self.would_rather_move() {
            return None;
        }
        let mut found = look();
        for _ in 0..yields {
            if found.is_some() || is_close(deadline, now) {
                break;
            }
            let was = suspicious.then(&steps);
            thread::yield_now();
            since += 1;
            if !suspicious && deadline.is_none() && since < LOOKS {
                found = look();
                continue;
            }
            let before = std::mem::replace(&mut now, Instant::now());
            found = look();
            let long = now - before;
            if found.is_some() {
                self.shared.set(if long >= SWITCH { self.shared.get().saturating_add(1) } else { 0 });
            }
            let took = |was| A_STEP.saturating_mul(steps().wrapping_sub(was));
            let is_lost = long > LONG_YIELD * since && was.is_none_or(|was| took(was) < long);
            since = 0;
            if is_lost && suspicious {
                self.ban(now, long);
                return found;
            }
            self.calm.set(if is_lost { 0 } else { self.calm.get().saturating_add(1) });
            suspicious = self.calm.get() < CALM || !self.shares_its_core();
        }
        self.yielded.set((!suspicious).then_some((now, since)));
        found
    }

    /// Whether there are to be no yields now.
    fn is_banned(&self, now: Instant) -> bool {
        self.banned.get().is_some_and(|until| now < until)
    }

    /// A yield took `long`.
    fn ban(&self, now: Instant, long: Duration) {
        let is_again = self.banned.get().is_some_and(|until| now < until + SLICE * BAN);
        self.ban.set(if is_again { (self.ban.get() * 2).min(BAN) } else { FIRST_BAN });
        self.banned.set(Some(now + long.min(SLICE) * self.ban.get()));
        self.calm.set(0);
        self.yields.set((self.yields.get() / 2).max(MIN_YIELDS));
    }

    fn slept(&self, long: Duration) {
        self.shared.set(0);
        // (Or the next yield would seem to have taken as long as the sleep.)
        self.yielded.set(self.yielded.get().map(|_| (Instant::now(), 0)));
        let yields = self.yields.get();
        if long >= SHORT_SLEEP {
            self.yields.set((yields / 2).max(MIN_YIELDS));
        } else if !self.is_banned(Instant::now()) {
            self.yields.set((yields * 2).min(YIELDS));
        }
    }
}
