//! Introspection of running fibers: which there are, what they wait for, and whether they are deadlocked.
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
//! Executors are [inspected](crate::fiber::RuntimeBuilder::inspect) by default in builds with debug assertions. Executors that
//! are not pay only for testing a pointer at each poll and at each operation left pending.
//!
//! What a fiber waits for is what its last poll has left pending: all branches of a `select!`; both the operation and the time
//! limit of a `timeout`. Only leno's own futures are known. A waiting fiber with nothing to show is listed as waiting for
//! *something outside leno*: a socket, another library's channel. (Other libraries' combinators that poll only those parts that
//! were woken, such as `FuturesUnordered`, show what these parts wait for.) A fiber that blocks its thread in a call of leno
//! counts as running, and shows what it blocks on; in a `block_on` it is that call's own fiber that shows it.
//!
//! A lock is shown with the fiber that *took* it, even if its guard was moved elsewhere since. A lock granted to a future that
//! has not been polled since is shown without a holder.
//!
//! Fibers are looked at one by one, without stopping them: a dump of a running program is not a consistent snapshot.
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
//! Call `console_subscriber::init()` first in `main`, build with `RUSTFLAGS="--cfg tokio_unstable"` (console-subscriber
//! requires it, whichever executor runs), and start `tokio-console`. `examples/console` does so.
//!
//! | span or event, all of level `TRACE` | of | fields |
//! |---|---|---|
//! | `runtime.spawn`, target `leno::fiber` | a fiber, from its making to its end; entered while it is polled, and while its future is dropped | `task.id`, `task.name`, `kind` (`fiber`, `local`, `block_on`), `loc.file`, `loc.line`, `loc.col` |
//! | event, target `runtime::waker` | what a waker of a fiber does | `op`, `task.id`: the id of the span |
//! | `runtime.resource` | a channel of the general kind or a mutex, since the first wait at it; of others, a timer, or a fiber that is joined, one for each wait | `kind`, `concrete_type`, `loc.…` |
//! | `runtime.resource.async_op` | an operation that a fiber's last poll has left pending | `source`; events inside |
//!
//! tokio-console lists the fibers, how often and for how long they are polled, and what their wakers do; its list of resources
//! shows at which channel, lock, timer or fiber each one waits, and by which operation. It cannot show this on a fiber's own
//! page, nor who holds a lock, nor parents and children. At most 64 operations are shown per fiber.
//!
//! A fiber is shown if a subscriber is interested in it when it is created; then it is inspected as well. Without a subscriber
//! the feature costs a check of the maximum level for each fiber, and three words for each such channel and mutex. The subscriber
//! is called outside of all of leno's locks; its panics are swallowed, and what it does with fibers during a call is not reported
//! to it.
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

pub use crate::task::watch::{Hold, Object};
pub use dump::{Dump, FiberInfo, FiberState, Wait};

use crate::fiber::{Cord, CordBuilder, Handle, Runtime, RuntimeBuilder, default_home};
use crate::task::context;

/// A dump of the caller's executor: the runtime or cord of the current fiber or, outside of one, leno's default runtime.
///
/// ```
/// leno::block_on(async { println!("{}", leno::inspect::dump()) });
/// ```
pub fn dump() -> Dump {
    context::with_home(default_home, |home| Dump::of(home, None))
}

impl Runtime {
    /// All living fibers, and what they wait for. See [`inspect`](crate::inspect) for what is shown.
    ///
    /// The fibers go on running; only while they are listed none can start or end.
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
    /// All living fibers, and what they wait for. See [`inspect`](crate::inspect) for what is shown.
    pub fn dump(&self) -> Dump {
        Dump::of(self.home(), None)
    }
}

macro_rules! closed_world {
    ($builder:ident, $executor:literal, $unwrap:literal) => {
        impl $builder {
            /// Promises that nothing outside wakes its fibers: no plain thread, no other runtime or cord, no socket. Then leno can
            /// detect that all fibers wait for each other.
            ///
            /// When no fiber runs or is ready, no timer is pending, and nothing is running that was started by
            /// [`unblock`](crate::fiber::unblock), [`on_new_thread`](crate::fiber::on_new_thread) or [`on`](crate::fiber::on), a
            /// waiting `block_on` panics, with a table of the fibers and, if there is one, the cycle in which they wait. (If
            /// several wait, the oldest panics, and the others follow if that does not help them.) A fiber that waits for
            /// something unknown to leno (a foreign future) counts as waiting forever: that is the promise. One that blocks its
            /// thread counts as running. A [ticker](crate::channel::ticker) created outside ticks outside.
            ///
            /// Threads may call `block_on` and `spawn` here, and count as long as they are in such a call. Before it, between two
            /// of them, and in the body of a [`blocking_scope`](crate::fiber::blocking_scope), a thread is unknown to leno: if the
            /// fibers wait for it, a deadlock is reported.
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
