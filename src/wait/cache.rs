//! Where nodes come from: a small stack of free ones per thread, and the pool behind it.
//!
//! Taking a node and freeing one touch the thread's stack only, most of the time. When that is empty, half of it is filled from
//! the pool; when it is full, half of it goes back there. Models have no pool: there each node has memory of its own, which stays
//! readable and whose number does not come back, unless a scenario asks for recycling.
//!
//! What was dropped in the hands of a peer leaves its node in *limbo* until that peer is through with it: whoever
//! fills its stack looks there first.

use std::cell::{Cell, OnceCell};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::link::Hooks;
use super::node::{Node, NodeRef, State, Waiter};
use super::place::Place;
use super::pool::Pool;
use super::word::NUMBER_BITS;
use crate::prim::{self, Guard, Mutex};

/// Free nodes that a thread keeps.
const KEPT: usize = 64;

/// Nodes that are allocated at once.
const CHUNK: usize = 512;

const CHUNKS: usize = (1 << NUMBER_BITS) / 2 / CHUNK;

/// Plain operations and branches of selects have nodes of their own, told apart by the lowest bit of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain = 0,
    Branch = 1,
}

impl Kind {
    #[inline(always)]
    pub(super) fn of(number: usize) -> Kind {
        if number & 1 == 0 { Kind::Plain } else { Kind::Branch }
    }
}

prim::global! {
    static PLAIN: Pool<CHUNK, CHUNKS> = Pool::new(Kind::Plain as usize);
    static BRANCH: Pool<CHUNK, CHUNKS> = Pool::new(Kind::Branch as usize);
    static LIMBO: Mutex<Vec<NodeRef>> = Mutex::new(Vec::new());
}

/// A model's node, with what lies beside it.
#[repr(C)]
struct Alone {
    node: Node,
    hooks: Hooks,
    place: Place,
}

/// A stack of free nodes.
struct Free {
    top: Cell<*const Node>,
    len: Cell<usize>,
    kind: Kind,
}

prim::thread_local! {
    static FREE: [Free; 2] = [Free::new(Kind::Plain), Free::new(Kind::Branch)];
    /// Where they are, from their first use until they are gone: this saves the check of `FREE` each time. Null in models, which
    /// end threads in ways of their own.
    static NEAR: Cell<*const [Free; 2]> = Cell::new(ptr::null());
}

/// This thread's stacks, if they are in use.
#[inline(always)]
fn near<R>(f: impl FnOnce(&[Free; 2]) -> R) -> Option<R> {
    if prim::MODEL {
        return FREE.try_with(f).ok();
    }
    let near = NEAR.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: they set this when they are first used, and take it back as the first of them is dropped, before a node goes.
    unsafe { near.as_ref() }.map(f)
}

fn set_near(near: *const [Free; 2]) {
    if !prim::MODEL {
        let _ = NEAR.try_with(|cell| cell.set(near));
    }
}

/// As [`near`], also for a thread that has not used them so far. `None`: it is about to end.
fn first<R>(f: impl FnOnce(&[Free; 2]) -> R) -> Option<R> {
    let used = |free: &[Free; 2]| {
        set_near(free);
        f(free)
    };
    FREE.try_with(used).ok()
}

fn pool(kind: Kind) -> &'static Pool<CHUNK, CHUNKS> {
    match kind {
        Kind::Plain => &PLAIN,
        Kind::Branch => &BRANCH,
    }
}

/// A node that is the caller's alone.
#[inline]
pub(super) fn alloc(kind: Kind) -> NonNull<Node> {
    near(|free| free[kind as usize].pop()).flatten().unwrap_or_else(|| fill(kind))
}

#[cold]
#[inline(never)]
fn fill(kind: Kind) -> NonNull<Node> {
    sweep();
    first(|free| free[kind as usize].fill()).flatten().unwrap_or_else(|| create(kind))
}

/// # Safety
/// The node is nobody's, with no waker and no value in it.
#[inline]
pub(super) unsafe fn free(node: NonNull<Node>) {
    // SAFETY: the caller's.
    let kind = Kind::of(unsafe { node.as_ref() }.number());
    if !prim::reuse() || near(|free| free[kind as usize].push(node)) != Some(true) {
        // SAFETY: the caller's promise.
        unsafe { free_slowly(kind, node) };
    }
}

/// # Safety
/// As for [`free`].
#[cold]
#[inline(never)]
unsafe fn free_slowly(kind: Kind, node: NonNull<Node>) {
    let keep = |free: &[Free; 2]| {
        let free = &free[kind as usize];
        if free.len.get() == KEPT {
            free.shrink(KEPT / 2);
        }
        let kept = free.push(node);
        debug_assert!(kept);
    };
    if !prim::reuse() || first(keep).is_none() {
        // SAFETY: the caller's promise.
        unsafe { destroy(kind, std::iter::once(node)) };
    }
}

/// A thread's look at the hooks of nodes to which it may have no right. The memory of a chunk stays while any of its nodes is given
/// out: so no guard is needed in the chunk of a node that the thread has. The first look elsewhere makes one.
pub(crate) struct Look<'a> {
    /// The chunk of a node that the thread has all the while.
    near: usize,
    /// That node, if it is on the thread's stack.
    kept: *const Node,
    guard: OnceCell<Guard>,
    own: PhantomData<&'a Waiter>,
}

/// The chunk of a node, with its kind; never 0, as there is no chunk 0.
#[inline(always)]
const fn chunk(number: usize) -> usize {
    number & !((CHUNK - 1) << 1)
}

impl<'a> Look<'a> {
    /// Near a node of the caller's.
    pub(super) fn by(node: &'a Waiter) -> Look<'a> {
        let mut look = Look::anywhere();
        look.near = chunk(node.number());
        look
    }

    /// Near a free node of this thread, which takes and frees none until the look is over. `number`: where it will look.
    #[inline]
    pub(super) fn at(number: usize) -> Look<'static> {
        let mut look = Look::anywhere();
        if !prim::MODEL {
            let kept = near(|free| free[number & 1].top.get()).unwrap_or(ptr::null());
            // SAFETY: free nodes are this thread's alone.
            if let Some(node) = unsafe { kept.as_ref() } {
                look.near = chunk(node.number());
                look.kept = kept;
            }
        }
        look
    }

    pub(super) fn anywhere() -> Look<'static> {
        Look { near: 0, kept: ptr::null(), guard: OnceCell::new(), own: PhantomData }
    }

    /// The hooks of a node. `None`: its memory is gone.
    #[inline]
    pub(super) fn peek(&self, number: usize) -> Option<&Hooks> {
        if prim::MODEL {
            // SAFETY: a model's nodes stay readable.
            return Some(unsafe { &(*prim::named::<Alone>(number >> 1)).hooks });
        }
        let pool = pool(Kind::of(number));
        if chunk(number) == self.near {
            // SAFETY: a node of that chunk is given out, to this thread, and stays so while this look is borrowed.
            return Some(unsafe { pool.hooks(number >> 1) });
        }
        pool.peek(number >> 1, self.guard.get_or_init(prim::pin))
    }
}

impl Drop for Look<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let is_kept = || near(|free| free.iter().any(|free| free.top.get() == self.kept));
        debug_assert!(
            self.kept.is_null() || is_kept().unwrap_or(false),
            "a node was taken or freed during a look"
        );
    }
}

/// The place of a node to which the caller may have no right.
#[inline]
pub(super) fn place<'a>(number: usize) -> &'a Place {
    if prim::MODEL {
        // SAFETY: a model's nodes stay readable.
        return unsafe { &(*prim::named::<Alone>(number >> 1)).place };
    }
    pool(Kind::of(number)).place(number >> 1)
}

/// In a model: whether the life of the node is over.
#[inline(always)]
pub(super) fn is_over(number: usize) -> bool {
    // SAFETY: a model's nodes stay readable.
    prim::MODEL && unsafe { &(*prim::named::<Alone>(number >> 1)).node }.life.is_over()
}

/// Leaves a node whose owner is gone to the peer that has it. (Those that came before, with wakers perhaps, do not stay until
/// somebody needs nodes.)
#[cold]
pub(super) fn leave_in_limbo(node: NodeRef) {
    sweep();
    LIMBO.lock().push(node);
}

/// Frees what has come through limbo.
fn sweep() {
    let mut through = Vec::new();
    LIMBO.lock().retain(|node| {
        let is_through = node.state() == State::DONE;
        if is_through {
            through.push(*node);
        }
        !is_through
    });
    for node in through {
        // SAFETY: its owner is gone, and its peer is through with it.
        unsafe { node.free() };
    }
}

/// # Safety
/// The caller holds a right to that node.
#[inline]
pub(super) unsafe fn named(number: usize) -> NonNull<Node> {
    if prim::MODEL {
        return NonNull::new(prim::named(number >> 1)).expect("a right keeps its node");
    }
    // SAFETY: a right keeps the node's chunk, so no guard is needed.
    unsafe { pool(Kind::of(number)).find(number >> 1) }
}

/// Gives back what this thread has kept.
#[cfg(any(leno_loom, leno_shuttle))]
pub(crate) fn clear() {
    sweep();
    FREE.with(|free| {
        for free in free {
            free.shrink(0);
        }
    });
}

/// A node from the pool.
fn create(kind: Kind) -> NonNull<Node> {
    if prim::MODEL {
        let alone = Box::into_raw(Box::new(Alone {
            node: Node::create(0, 0, ptr::null()),
            hooks: Hooks::new(0),
            place: Place::new(),
        }));
        let number = prim::name(alone) << 1 | kind as usize;
        // SAFETY: just made.
        unsafe { (*alone).node.number = number as u32 };
        return NonNull::new(alone.cast()).expect("a box is not null");
    }
    let mut node = None;
    pool(kind).take(1, |one| node = Some(one));
    node.expect("the pool gives one, or panics")
}

/// # Safety
/// The nodes are nobody's.
unsafe fn destroy(kind: Kind, nodes: impl Iterator<Item = NonNull<Node>>) {
    if prim::MODEL {
        for node in nodes {
            // SAFETY: it was leaked from a box by `create`.
            let alone = unsafe { Box::from_raw(node.as_ptr().cast::<Alone>()) };
            alone.node.life.end();
            prim::keep(alone);
        }
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { pool(kind).give_back(nodes) };
}

impl Free {
    prim::const_fn! {
        fn new(kind: Kind) -> Free {
            Free { top: Cell::new(ptr::null()), len: Cell::new(0), kind }
        }
    }

    #[inline]
    fn pop(&self) -> Option<NonNull<Node>> {
        let node = NonNull::new(self.top.get().cast_mut())?;
        // SAFETY: free nodes are this thread's alone; `push` has written it.
        let next = unsafe { node.as_ref().payload.with(|next| next.cast::<*const Node>().read()) };
        self.top.set(next);
        self.len.set(self.len.get() - 1);
        Some(node)
    }

    /// False: it has as many as it keeps.
    #[inline]
    fn push(&self, node: NonNull<Node>) -> bool {
        let len = self.len.get();
        if len == KEPT {
            return false;
        }
        // SAFETY: free nodes are this thread's alone.
        unsafe { node.as_ref().payload.with_mut(|next| next.cast::<*const Node>().write(self.top.get())) };
        self.top.set(node.as_ptr());
        self.len.set(len + 1);
        true
    }

    /// Gives all but so many back to the pool.
    fn shrink(&self, len: usize) {
        let more = self.len.get().saturating_sub(len);
        // SAFETY: free nodes are this thread's alone.
        unsafe { destroy(self.kind, std::iter::from_fn(|| self.pop()).take(more)) };
    }

    /// Takes a few from the pool, all but one to keep.
    fn fill(&self) -> Option<NonNull<Node>> {
        if prim::MODEL {
            return None;
        }
        // (A sweep may have brought some.) Only into an empty stack: one that overflowed would need the pool, which is locked here.
        self.pop().or_else(|| {
            pool(self.kind).take(KEPT / 2, |node| {
                let kept = self.push(node);
                debug_assert!(kept);
            });
            self.pop()
        })
    }
}

impl Drop for Free {
    fn drop(&mut self) {
        set_near(ptr::null());
        self.shrink(0);
    }
}
