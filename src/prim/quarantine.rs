//! Memory that a model gave back: kept for a while, so that its address does not come back within one execution.
//! Otherwise what a compare-exchange finds would depend on the allocator, and a model has to be deterministic. And what else only
//! models have: numbers for addresses, and what a scenario asks for.
//!
//! All threads of an execution run on one real thread, so each real one has a shelf of its own for what is kept: models that run
//! beside each other, however slowly, wear out nobody else's. A thread that ends leaves its shelf to the next: what is kept with
//! its value ends in an execution, never outside one.

use std::alloc::{self, Layout};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// More blocks than one execution frees.
const KEPT: usize = 10_000;

/// Numbers for addresses: more than one execution gives out.
const NAMES: usize = 1 << 14;

/// What one real thread keeps.
#[derive(Default)]
struct Shelf {
    blocks: VecDeque<Block>,
    /// The address that each number stands for.
    named: Vec<usize>,
    last_name: usize,
}

/// Those of threads that have ended.
static LEFT: Mutex<Vec<Shelf>> = Mutex::new(Vec::new());

struct Own(RefCell<Shelf>);

impl Own {
    fn new() -> Own {
        let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Own(RefCell::new(left.unwrap_or_default()))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(self.0.take());
    }
}

std::thread_local! {
    static OWN: Own = Own::new();
}

/// Memory, and what is to be done with it in the end.
struct Block {
    memory: *mut u8,
    layout: Layout,
    end: Option<unsafe fn(*mut u8)>,
}

// SAFETY: it is owned memory, with a value that is Send in it or none.
unsafe impl Send for Block {}

/// Drops the value at once, and frees its memory later.
pub(crate) fn free<T>(value: Box<T>) {
    let layout = Layout::for_value(&*value);
    let raw = Box::into_raw(value);
    // SAFETY: it was a box, and its value is dropped once, here; only its memory lives on.
    unsafe { raw.drop_in_place() };
    store(Block { memory: raw.cast(), layout, end: None });
}

/// Frees memory, later.
///
/// # Safety
/// As for [`alloc::dealloc`].
pub(crate) unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    store(Block { memory, layout, end: None });
}

/// Keeps the value for as long as its memory.
pub(crate) fn keep<T: Send + 'static>(value: Box<T>) {
    let layout = Layout::for_value(&*value);
    store(Block {
        memory: Box::into_raw(value).cast(),
        layout,
        // SAFETY: it is called once, with the address of this very value.
        end: Some(|raw| unsafe { raw.cast::<T>().drop_in_place() }),
    });
}

fn store(block: Block) {
    if block.layout.size() == 0 {
        return;
    }
    let too_old = OWN.with(|Own(shelf)| {
        let blocks = &mut shelf.borrow_mut().blocks;
        blocks.push_back(block);
        if blocks.len() > KEPT { blocks.pop_front() } else { None }
    });
    if let Some(Block { memory, layout, end }) = too_old {
        // SAFETY: it was allocated with this layout; its value is there still if there is an end to it.
        unsafe {
            if let Some(end) = end {
                end(memory);
            }
            alloc::dealloc(memory, layout);
        }
    }
}

/// A number for the address, other than 0; it comes round after 2^14 - 1 others.
pub(crate) fn name<T>(address: *mut T) -> usize {
    OWN.with(|Own(shelf)| {
        let Shelf { named, last_name, .. } = &mut *shelf.borrow_mut();
        named.resize(NAMES, 0);
        *last_name = *last_name % (NAMES - 1) + 1;
        named[*last_name] = address.expose_provenance();
        *last_name
    })
}

/// The address that has the number.
pub(crate) fn named<T>(name: usize) -> *mut T {
    std::ptr::with_exposed_provenance_mut(OWN.with(|Own(shelf)| shelf.borrow().named[name]))
}

// What a scenario asks for.
std::thread_local! {
    pub(crate) static REUSE: Cell<bool> = const { Cell::new(false) };
    /// Makes the versions of rings that few, so that the word of one comes again soon.
    pub(crate) static NARROW: Cell<bool> = const { Cell::new(false) };
    static CELLS: Cell<usize> = const { Cell::new(1) };
    /// Lets the youngest select come first.
    pub(crate) static REVERSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether memory may be recycled.
pub(crate) fn reuse() -> bool {
    REUSE.get()
}

/// Whether the versions of rings that hold values come again after two turns.
pub(crate) fn has_narrow_rings() -> bool {
    NARROW.get()
}

/// How many cells of the small array are in use.
pub(crate) fn few_cells() -> usize {
    CELLS.get()
}

/// Sets how many are in use in this scenario.
pub(crate) fn set_few_cells(cells: usize) {
    assert!((1..=super::FEW_CELLS).contains(&cells), "there are no {cells} cells");
    CELLS.set(cells);
}

static RANKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

/// Who is before whom: by age, or by youth.
#[derive(Debug, Default)]
pub(crate) struct Rank(u64);

impl Rank {
    pub(crate) fn new() -> Rank {
        Rank(RANKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    }

    pub(crate) fn number(&self) -> u64 {
        if REVERSED.get() { u64::MAX - self.0 } else { self.0 }
    }
}
