//! Helpers of the behavioural tests: kinds of channels, polling by hand, values and wakers that count, an allocator that does, and
//! the places (fiber, cord, tokio task, thread) where operations run.
#![allow(dead_code, unused_imports, reason = "each test program uses a part of this")]

pub(crate) mod crew;
pub(crate) mod fibers;
pub(crate) mod hooked;
pub(crate) mod kind;
pub(crate) mod memory;
pub(crate) mod peer;
pub(crate) mod poll;
pub(crate) mod probe;
pub(crate) mod tracked;

pub(crate) use crew::{Crew, Place};
pub(crate) use fibers::{
    Defer, Drops, Latch, OnDrop, SECOND, SeqCst, Stash, cord, in_time, keep_warnings, message_of, set_timer,
    until, waits_for_no_timer, waker, warnings,
};
pub(crate) use hooked::{Event, hooked_waker, panicking_waker, unequal_waker};
pub(crate) use kind::Kind;
pub(crate) use peer::{hardly, impatient_peer};
pub(crate) use poll::{CountingWaker, PollExt, scale, spin_until, within};
pub(crate) use tracked::{Tracked, Tracker};
