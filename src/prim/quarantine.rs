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
    let mut blocks = BLOCKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    blocks.push_back(Box::new(block));
    if blocks.len() > KEPT {
        blocks.pop_front();
    }
}
