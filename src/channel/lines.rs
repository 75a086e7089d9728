//! Memory that begins with a cache line (assumed to have 64 bytes), though it is an ordinary allocation: one with more than the
//! usual alignment takes 20 to 45 ns longer to allocate and free. So it has *spare* bytes, and its content begins behind some of
//! them, the *lead*.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

pub(super) const CACHE_LINE: usize = 64;
/// What allocators align to.
const ALIGNED: usize = 2 * size_of::<usize>();

/// The allocation for what has this layout, and its spare bytes. `lined`: what is in it is to begin with a line, and has whole
/// ones. (What is aligned to more has that in any case.)
fn spared(layout: Layout, lined: bool) -> (Layout, usize) {
    if !lined || layout.align() > CACHE_LINE {
        return (layout, 0);
    }
    let spare = CACHE_LINE - ALIGNED;
    let size = layout.size().next_multiple_of(CACHE_LINE) + spare;
    (Layout::from_size_align(size, ALIGNED).expect("it is small"), spare)
}

/// Memory for what has this layout, which is not empty; and its lead.
pub(super) fn allocate(layout: Layout, lined: bool) -> (NonNull<u8>, u16) {
    assert!(layout.size() > 0, "nothing is allocated for nothing");
    let (layout, spare) = spared(layout, lined);
    // SAFETY: the layout has a size.
    let Some(allocation) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
    // (Of the distance to the next line, the bits that alignment leaves open.)
    let lead = allocation.addr().get().wrapping_neg() & spare;
    // SAFETY: no more than what is spare.
    (unsafe { allocation.add(lead) }, lead as u16)
}

/// # Safety
/// It was [allocated](allocate) like this, with this lead, and nobody has it any more.
pub(super) unsafe fn free(at: NonNull<u8>, layout: Layout, lined: bool, lead: u16) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(at.sub(lead.into()).as_ptr(), spared(layout, lined).0) }
}
