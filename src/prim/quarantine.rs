//! Memory that a model gave back: kept for a while, so that its address does not come back within one execution.
//! Otherwise what a compare-exchange finds would depend on the allocator, and a model has to be deterministic.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::sync::Mutex;

/// More blocks than one execution frees.
const KEPT: usize = 10_000;

static BLOCKS: Mutex<VecDeque<Box<dyn Send>>> = Mutex::new(VecDeque::new());

/// Drops the value at once, and frees its memory later.
pub(crate) fn free<T: 'static>(value: Box<T>) {
    struct Block<T>(#[expect(dead_code, reason = "kept, not read")] Box<MaybeUninit<T>>);
    // SAFETY: nothing is left in it but memory.
    unsafe impl<T> Send for Block<T> {}

    let raw = Box::into_raw(value);
    // SAFETY: it was a box, and its value is dropped once, here; only its memory lives on.
    let block = unsafe {
        raw.drop_in_place();
        Block(Box::from_raw(raw.cast::<MaybeUninit<T>>()))
    };
    keep(Box::new(block));
}

/// Frees the memory later, and drops the value then.
pub(crate) fn keep<T: Send + 'static>(block: Box<T>) {
    let mut blocks = BLOCKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    blocks.push_back(block);
    if blocks.len() > KEPT {
        blocks.pop_front();
    }
}

/// Numbers for addresses: more than one execution gives out.
const NAMES: usize = 1 << 14;

static NAMED: Mutex<(usize, Vec<usize>)> = Mutex::new((0, Vec::new()));

/// A number for the address, other than 0; it comes round after 2^14 more.
pub(crate) fn name<T>(address: *mut T) -> usize {
    let mut named = NAMED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (last, addresses) = &mut *named;
    addresses.resize(NAMES, 0);
    *last = *last % (NAMES - 1) + 1;
    addresses[*last] = address.expose_provenance();
    *last
}

/// The address that has the number.
pub(crate) fn named<T>(name: usize) -> *mut T {
    let named = NAMED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::ptr::with_exposed_provenance_mut(named.1[name])
}

std::thread_local! {
    /// All threads of an execution run on one real thread.
    static REUSE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether memory may be recycled.
pub(crate) fn reuse() -> bool {
    REUSE.get()
}

/// Has this scenario recycle memory.
pub(crate) fn set_reuse(reuse: bool) {
    REUSE.set(reuse);
}
