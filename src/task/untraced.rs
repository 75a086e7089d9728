//! Without the feature `tracing`, and in models: nothing is shown. See `trace.rs`.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::panic::Location;

use crate::task::extras::Extras;
use crate::task::header::{FiberId, Task};

#[derive(Debug, Default)]
pub(crate) struct Trace(());

#[inline(always)]
pub(crate) fn born(
    extras: Option<Box<Extras>>,
    _id: FiberId,
    _at: &'static Location<'static>,
    _kind: &'static str,
) -> Option<Box<Extras>> {
    extras
}

#[inline(always)]
pub(crate) fn waker(_task: &Task, _op: &'static str) {}

/// There is none: an `Option` of it takes no room.
#[must_use]
pub(crate) struct Inside<'a>(Infallible, PhantomData<&'a Task>);

impl Inside<'_> {
    #[inline(always)]
    pub(crate) fn end_poll(&mut self, _pending: bool) {}
}

#[inline(always)]
pub(crate) fn enter(_task: &Task) -> Option<Inside<'_>> {
    None
}

#[inline(always)]
pub(crate) fn end(_task: &Task) {}

#[derive(Debug)]
pub(crate) struct Sign(());

impl Sign {
    #[inline(always)]
    pub(crate) const fn new() -> Sign {
        Sign(())
    }

    #[inline(always)]
    pub(crate) fn label(&self, _kind: &'static str, _address: usize) -> Label {
        Label(())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Label(());
