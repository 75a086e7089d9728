//! What the layers above need of a fiber: the layer that stands on `prim` alone.
//!
//! A fiber is one allocation, a [`header::Header`] followed by its future or, later, its outcome
//! ([`cell`]). Everything that happens to it is a transition of one atomic word ([`state`]); its waker is a
//! counted pointer to the header ([`waker`]). A fiber belongs to a [`home::Home`]: the executor as this layer
//! sees it, that is a [`roster`] (the tree of its living fibers, their registry as well) and a [`seam::Seam`],
//! the trait through which all scheduling and all time go. Who runs on this thread says [`context`].
//!
//! ```text
//!  JoinHandle ─┐                       ┌─ Header ──────────────┐
//!  FiberRef  ──┤   counted pointers    │ state  vtable  home ──┼──▶ Home { roster, seam }
//!  Waker ──────┼──────────────────────▶│ id  location  extras  │
//!  run queue ──┤                       │ tree links  join slot │
//!  roster ─────┘                       ├───────────────────────┤
//!                                      │ future │ outcome      │
//!                                      └───────────────────────┘
//! ```
//!
//! Imports go one way here: the header knows only what it is made of ([`state`], `tie`, `links`) and what a wake-up needs to know
//! of its thread (`here`); on it stand the roster and the seam, on these the home, and on that [`context`], which says with types
//! what `here` says with addresses. To a header, its home and its extras are mere addresses: [`home`] and [`extras`] add what
//! fibers do with them.
//!
//! What is noted of fibers for inspection is in [`watch`] and [`place`]: nothing, unless somebody wants to know. With the feature
//! `tracing`, [`trace`] shows it to subscribers.
//!
//! The life of a fiber: created, owned by its creator; admitted to the roster; queued, which passes the ownership on; run
//! by its executor until its future is ready, panics or is cancelled; the future is dropped, the outcome stored;
//! retired from the roster; completed, which hands the outcome to the join handle or drops it. Nothing else ends a
//! fiber, so whoever drops the last count only gives memory back.
pub(crate) mod budget;
pub(crate) mod cell;
pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod extras;
mod finally;
pub(crate) mod group;
pub(crate) mod header;
mod here;
pub(crate) mod home;
pub(crate) mod join;
mod links;
pub(crate) mod locals;
pub(crate) mod lock;
#[cfg(any(leno_loom, leno_shuttle))]
pub mod model;
pub(crate) mod place;
pub(crate) mod roster;
pub(crate) mod run;
pub(crate) mod seam;
mod shows;
pub(crate) mod state;
pub(crate) mod thread;
mod tie;
#[cfg(all(feature = "tracing", not(any(leno_loom, leno_shuttle))))]
pub(crate) mod trace;
#[cfg(not(all(feature = "tracing", not(any(leno_loom, leno_shuttle)))))]
#[path = "untraced.rs"]
pub(crate) mod trace;
pub(crate) mod waker;
pub(crate) mod warn;
pub(crate) mod watch;

pub(crate) use finally::{finally, or_clean, poll_to_end};
pub(crate) use here::address as address_here;
pub(crate) use shows::{one_line, shows, unwinds};
