//! Wakers that run the test's code when they are cloned, woken or dropped, and one that equals no other.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// What happened to a hooked waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Clone,
    Wake,
    Drop,
}

type Hook = dyn Fn(Event) + Send + Sync;

struct Hooks {
    hook: Box<Hook>,
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: `data` is from `Arc::into_raw` and the caller keeps its count, which stays untouched here.
        let hooks = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Hooks>()) });
        (hooks.hook)(Event::Clone);
        raw(Arc::clone(&hooks))
    },
    |data| {
        // SAFETY: `data` is from `Arc::into_raw`; waking by value consumes its count.
        let hooks = unsafe { Arc::from_raw(data.cast::<Hooks>()) };
        (hooks.hook)(Event::Wake);
    },
    |data| {
        // SAFETY: `data` is from `Arc::into_raw` and the caller keeps its count.
        let hooks = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Hooks>()) });
        (hooks.hook)(Event::Wake);
    },
    |data| {
        // SAFETY: `data` is from `Arc::into_raw`; dropping consumes its count.
        let hooks = unsafe { Arc::from_raw(data.cast::<Hooks>()) };
        (hooks.hook)(Event::Drop);
    },
);

fn raw(hooks: Arc<Hooks>) -> RawWaker {
    RawWaker::new(Arc::into_raw(hooks).cast::<()>(), &VTABLE)
}

/// A waker that calls `hook` at each event. Waking by value counts as a wake only.
pub(crate) fn hooked_waker(hook: impl Fn(Event) + Send + Sync + 'static) -> Waker {
    // SAFETY: the functions of the vtable keep the count of the `Arc` as the contract of `RawWaker` asks, also
    // when the hook panics, and `Hooks` is Send + Sync.
    unsafe { Waker::from_raw(raw(Arc::new(Hooks { hook: Box::new(hook) }))) }
}

/// A waker that panics when it is woken.
pub(crate) fn panicking_waker() -> Waker {
    hooked_waker(|event| assert!(event != Event::Wake, "planted: a waker panics"))
}

static UNEQUAL: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: `data` is from `Box::into_raw` in `unequal`, and the caller keeps it.
        let wakes = unsafe { &*data.cast::<Arc<AtomicUsize>>() };
        unequal(Arc::clone(wakes))
    },
    |data| {
        // SAFETY: as above; waking by value consumes it.
        let wakes = unsafe { Box::from_raw(data.cast::<Arc<AtomicUsize>>().cast_mut()) };
        wakes.fetch_add(1, Ordering::SeqCst);
    },
    |data| {
        // SAFETY: as above, and the caller keeps it.
        let wakes = unsafe { &*data.cast::<Arc<AtomicUsize>>() };
        wakes.fetch_add(1, Ordering::SeqCst);
    },
    // SAFETY: as above; dropping consumes it.
    |data| drop(unsafe { Box::from_raw(data.cast::<Arc<AtomicUsize>>().cast_mut()) }),
);

fn unequal(wakes: Arc<AtomicUsize>) -> RawWaker {
    RawWaker::new(Box::into_raw(Box::new(wakes)).cast_const().cast::<()>(), &UNEQUAL)
}

/// A waker that has an address of its own, as each of its clones has, so that `will_wake` is always false; and the
/// count of its wakes.
pub(crate) fn unequal_waker() -> (Waker, Arc<AtomicUsize>) {
    let wakes = Arc::new(AtomicUsize::new(0));
    // SAFETY: each raw waker owns a box of its own, which the functions of the vtable treat as `RawWaker` asks.
    (unsafe { Waker::from_raw(unequal(Arc::clone(&wakes))) }, wakes)
}
