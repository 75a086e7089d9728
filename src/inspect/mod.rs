//! Looking at fibers while they run: who they are, what they wait for, and whether they wait for each other.
//!
//! [`Runtime::dump`](crate::fiber::Runtime::dump), [`Cord::dump`](crate::fiber::Cord::dump) and [`dump()`] give a [`Dump`]: a
//! table of the living fibers, and the graph of who waits for what, for Graphviz and as Mermaid.
//!
//! ```
//! use leno::fiber::{Builder, Runtime};
//!
//! let runtime = Runtime::builder().workers(1).inspect(true).build()?;
//! let (tx, rx) = leno::rendezvous::<u32>();
//! let dump = runtime.block_on(async {
//!     let waits = Builder::new().name("consumer").spawn(async move { rx.recv().await });
//!     while runtime.dump().fibers().iter().all(|fiber| fiber.waits().is_empty()) {
//!         leno::yield_now().await;
//!     }
//!     let dump = runtime.dump();
//!     tx.send(7).await.unwrap();
//!     waits.await.unwrap().unwrap();
//!     dump
//! });
//! let consumer = dump.fibers().iter().find(|fiber| fiber.name() == Some("consumer")).unwrap();
//! assert_eq!(consumer.waits()[0].operation(), "recv");
//! println!("{dump}\n{}", dump.to_mermaid());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # What shows
//!
//! | | always | of an inspected executor | and in builds with debug assertions |
//! |---|---|---|---|
//! | of a fiber | id, name, whether it waits, where it was spawned | whether it runs or is ready, since when; polls, the longest one; what it waits for | the locks that it has taken |
//! | of a wait | | the operation and its object: which channel, which lock, which fiber; how long it sleeps | the place in the source |
//!
//! Executors are [inspected](crate::fiber::RuntimeBuilder::inspect) by default in builds with debug assertions. Others pay
//! for all this with a test of a pointer at each poll and at each operation that is left pending.
//!
//! What a fiber waits for is what its last poll has left pending: all branches of a `select!`, the operation and the time limit
//! of a `timeout`. It is known of leno's own futures. A fiber that waits and shows nothing waits for *something outside*:
//! a socket, another library's channel. (Other libraries' combinators that poll only those of their parts that were woken, as
//! `FuturesUnordered` does, show what these wait for.) A fiber that blocks its thread in a call of leno's is running, and shows
//! what it blocks for.
//!
//! A lock is shown with the fiber that has *taken* it, also if its guard was moved elsewhere since. One that was granted to a
//! future that has not been polled since shows nobody.
//!
//! Each fiber is looked at for itself, without stopping it: a dump of a running program is no picture of one moment.
//!
//! # tokio-console and other subscribers
//!
//! With the feature `tracing`, fibers are spans of the crate `tracing`, named as tokio-console knows tasks:
//!
//! ```toml
//! [dependencies]
//! leno = { version = "0.1", features = ["tracing"] }
//! console-subscriber = "0.5"
//! ```
//!
//! Call `console_subscriber::init()` first in `main`, build with `RUSTFLAGS="--cfg tokio_unstable"` (on which
//! console-subscriber insists, whatever runs the fibers), and start `tokio-console`. `examples/console` does so.
//!
//! | span or event, all of level `TRACE` | of | fields |
//! |---|---|---|
//! | `runtime.spawn`, target `leno::fiber` | a fiber, from its making to its end; entered while it is polled, and while its future is dropped | `task.id`, `task.name`, `kind` (`fiber`, `local`, `block_on`), `loc.file`, `loc.line`, `loc.col` |
//! | event, target `runtime::waker` | what a waker of a fiber does | `op`, `task.id`: the id of the span |
//! | `runtime.resource` | a channel or a lock, since the first wait at it; a timer, a fiber that is joined | `kind`, `concrete_type`, `loc.…` |
//! | `runtime.resource.async_op` | an operation that a fiber's last poll has left pending | `source`; events inside |
//!
//! tokio-console lists the fibers, how often and for how long they are polled, what their wakers do; and at which channel, lock,
//! timer or fiber each waits, by which operation, in the list of resources. It has no place for that in a fiber's own page, nor
//! for who holds a lock, nor for parents and children. Of a fiber 64 operations are shown at most.
//!
//! A fiber is shown if a subscriber wants to see it when it is made; then it is inspected as well. Without one the feature costs
//! a look at the greatest level for each fiber, and three words for each channel and lock. The subscriber is called outside
//! of all of leno's locks, a panic of it is swallowed, and what it does with fibers while it is called is not told to it.
//!
//! # Deadlocks
//!
//! leno cannot know which fibers a thread, a socket or another runtime will wake. If nothing outside does, promise that
//! with [`closed_world`](crate::fiber::RuntimeBuilder::closed_world): once all fibers wait for each other, `block_on`
//! panics and reports who waits for what, and the cycle, if there is one.

mod dump;
mod graph;
mod report;
mod table;

pub use dump::{Dump, FiberInfo, FiberState, Hold, Object, Wait};

use crate::fiber::{Cord, CordBuilder, Handle, Runtime, RuntimeBuilder, default_home};
use crate::task::context;

/// A dump of the executor that the caller runs on: the runtime or cord of the fiber it is called in, elsewhere leno's default
/// runtime.
///
/// ```
/// leno::block_on(async { println!("{}", leno::inspect::dump()) });
/// ```
pub fn dump() -> Dump {
    context::with_home(default_home, |home| Dump::of(home, None))
}

impl Runtime {
    /// All living fibers, and what they wait for. See [`inspect`](crate::inspect) for what shows.
    ///
    /// The fibers go on meanwhile; none begins or ends while they are counted up.
    pub fn dump(&self) -> Dump {
        Dump::of(self.home(), None)
    }
}

impl Handle {
    /// As [`Runtime::dump`].
    pub fn dump(&self) -> Dump {
        Dump::of(self.home(), None)
    }
}

impl Cord {
    /// All living fibers, and what they wait for. See [`inspect`](crate::inspect) for what shows.
    pub fn dump(&self) -> Dump {
        Dump::of(self.home(), None)
    }
}

macro_rules! closed_world {
    ($builder:ident, $executor:literal, $unwrap:literal) => {
        impl $builder {
            /// Promises that nobody outside wakes its fibers: no plain thread, no other runtime or cord, no socket. Then
            /// fibers that all wait for each other are found out.
            ///
            /// When no fiber runs or is ready, no timer is pending and no [`unblock`](crate::fiber::unblock) is at work,
            /// a `block_on` that waits panics, with a table of the fibers and, where there is one, the circle in which they
            /// wait. (Of several, the oldest; the others follow if that doesn't help them.) A fiber that waits for
            /// something that leno does not know (a foreign future) counts as one that waits for ever: that is the
            /// promise. One that blocks its thread counts as running. A [ticker](crate::channel::ticker) that was made outside
            /// ticks outside.
            ///
            /// A thread may call `block_on` and `spawn` here. But one that has not done so yet counts for nothing: if it is
            /// to wake the others they are reported, as nobody can know of it.
            ///
            /// Off by default. It includes [`inspect`](Self::inspect).
            ///
            /// ```should_panic
            #[doc = concat!("use leno::fiber::", $executor, ";")]
            ///
            #[doc = concat!("let closed = ", $executor, "::builder().closed_world(true).build();")]
            #[doc = $unwrap]
            /// let (tx, rx) = leno::rendezvous::<u32>();
            /// closed.block_on(async {
            ///     rx.recv().await.unwrap(); // panics: nobody is left who could send
            ///     drop(tx);
            /// });
            /// ```
            pub fn closed_world(self, closed: bool) -> Self {
                self.report(closed.then_some(report::deadlock))
            }
        }
    };
}

closed_world!(RuntimeBuilder, "Runtime", "let closed = closed.unwrap();");
closed_world!(CordBuilder, "Cord", "");
