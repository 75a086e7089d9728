//! Time: clocks, sleeping, intervals, time limits.
//!
//! leno gets all its time from the executor: a runtime or cord has a [`Clock`], real by default, and manages the timers
//! of its fibers. A virtual clock stands still while there is something to do and jumps to the next deadline when there
//! is not, so that tests of timing take no time. On a cord they are reproducible as well (with a
//! [seed](crate::fiber::CordBuilder::seed) for the random order of `select!`):
//!
//! ```
//! use leno::fiber::Cord;
//! use leno::time::Clock;
//! use std::time::Duration;
//!
//! let cord = Cord::with_clock(Clock::virtual_time());
//! let hour = Duration::from_secs(3600);
//! let slept = cord.block_on(async {
//!     let start = leno::fiber::now();
//!     leno::sleep(hour).await;
//!     leno::fiber::now() - start
//! });
//! assert_eq!(slept, hour);
//! ```
//!
//! Elsewhere, on another executor or a plain thread, the time is that of leno's default runtime. Its threads, one per processor,
//! start there with the first [`sleep`], [`timeout`], [`interval`], ticker or `default(duration)` of a `select!`. The timers of
//! that other executor do without them, in branches of a `select!` too, and follow its clock if that is paused. On plain threads
//! `.wait_timeout(d)`, `.wait_deadline(t)` and [`select_blocking!`](crate::select_blocking) do without them as well.

mod alarm;
mod clock;
mod interval;
mod sleep;
mod timeout;
pub(crate) mod timers;

pub(crate) use alarm::Alarm;

pub use crate::task::error::Elapsed;
pub use clock::{Clock, now};
pub use interval::{Interval, Missed, Tick, interval, interval_at, interval_with};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Timeout, timeout, timeout_at};
