//! L0: atomics, cells, locks and threads. The only place that knows whether they are std's, loom's
//! (`cfg(leno_loom)`) or shuttle's (`cfg(leno_shuttle)`).
//!
//! Everything else in the crate imports these names from here, so that one source runs for real, under both
//! model checkers and under the sanitizers. These are written once, or by each of the three implementations:
//!
//! | name | what it is |
//! |---|---|
//! | `AtomicUsize`, `AtomicU16`, `AtomicU32`, `AtomicU64`, `AtomicBool`, `AtomicPtr`, `Ordering`, `fence` | atomics |
//! | `UnsafeCell` | a cell with closure access (`with`, `with_mut`), so that loom can see each access |
//! | `Arc` | shared ownership |
//! | `Mutex`, `MutexGuard`, `Condvar` | locks that ignore poisoning; `wait_until` takes the lock and a deadline, which in models comes at once |
//! | `now`, `is_late` | what time it is; whether a deadline has come |
//! | `thread` | `Builder`, `JoinHandle`, `current`, `panicking`, `park_until`, `sleep`, `yield_now`, `parallelism`, `Thread` |
//! | `Handle` | whom to unpark; changed and read under a lock of std's |
//! | `OnceLock`, `Counter` | process-wide things that models do not reach: std's everywhere |
//! | `spin_loop` | a pause in a bounded spin |
//! | `thread_local!` | thread-locals, constant-initialized in real builds |
//! | `const_fn!` | functions that are `const` except in models, whose atomics have no const constructor |
//! | `Life` | the probe in every intrusive node: says so when a node is touched after its end |
//! | `random_below`, `random_pair`, `Random` | random numbers, deterministic in models; those of one's own |
//! | `free`, `dealloc` | drops a box, frees memory; models keep the memory for a while, so that no address comes back |
//! | `pin`, `Guard`, `retire` | reclamation: what is retired lives until every present guard is dropped (its memory, in models) |
//! | `global!` | process-wide statics; in models they are made anew in each execution |
//! | `OnceBox` | a box that is made when it is first needed |
//! | `null_table` | an array of null pointers, constant except in models |
//! | `name`, `named`, `keep` | in models: numbers for addresses, as the pool of nodes gives them in real builds; memory that stays readable |
//! | `Rank` | which of two comes first: by age, on one thread; in models by youth where a scenario asks for it |
//! | `WakerSlot` | a place for one waker, whose owner may compare it while somebody else takes it |
//! | `MODEL` | whether this is a model |
//! | `bug!` | whether a planted bug is switched on, in leno's own models; needs no import |
//! | `reuse` | whether memory may be recycled; in models only where a scenario asks for it, as it hides a late touch |
//! | `has_narrow_rings` | whether the words of rings come again after two turns; only in models, where a scenario asks for it |
//! | `BLOCK_SLOTS`, `RING_SLOTS` | slots of a block, and the largest capacity of a ring; few in models, whose values are few |
//! | `RING_BYTES` | the most memory that a ring takes; little in models, so that a channel of one large value is no ring |
//! | `FEW_CELLS`, `few_cells` | cells of the small array behind the first waiter, and how many of them are in use: all; in models one, so that the third waits in the list, or up to all where a scenario asks for it |
//! | `RUN_SLOTS`, `SEARCH_PAUSES` | places in a worker's ring; pauses between two looks of a searching worker; few in models |

#[macro_use]
mod bug;
mod counter;
mod handle;
mod lock;
mod once_box;
mod random;

#[cfg(not(any(leno_loom, leno_shuttle)))]
#[path = "prim/real.rs"]
mod imp;

#[cfg(leno_loom)]
#[path = "prim/loom.rs"]
mod imp;

#[cfg(leno_shuttle)]
#[path = "prim/shuttle.rs"]
mod imp;

#[cfg(leno_planted)]
pub(crate) use bug::is_planted;
pub(crate) use counter::Counter;
pub(crate) use handle::Handle;
pub(crate) use imp::checker::sync::Arc;
pub(crate) use imp::checker::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use imp::*;
pub(crate) use lock::{Condvar, Mutex, MutexGuard};
pub(crate) use once_box::OnceBox;
pub(crate) use random::Random;
pub(crate) use std::sync::OnceLock;
