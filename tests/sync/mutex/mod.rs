//! The contracts of `Mutex`, of both policies: M1–M5, M7, M8.
//!
//! `hand`: polled by hand on one thread; `script`: all short histories against a model; `places`: on fibers, a
//! cord, tokio, threads, and all of them at once; `fairness`: how long a waiter waits.

mod fairness;
mod hand;
mod places;
mod script;
