//! Type-stable memory for nodes: numbered, and given back to the allocator in whole chunks, through an epoch.
//!
//! A table turns a number into an address. A node is its holder's; beside it lie its [hooks](Hooks), which others may look at
//! under a guard (or while they hold any node of the same chunk), also while the node is free, or was given out again; their
//! generation says in which of its lives the node is.
//!
//! Nodes are given out from the lowest chunk that has one, so that the higher ones become empty. An empty chunk leaves
//! the table (one is kept as a spare); its memory may be freed once all guards of that moment are gone. The
//! generations go on in the chunk that takes its numbers later, so that a name of the old one fits nobody. The
//! [places](super::place) of a chunk's nodes stay: the next chunk of that number has the same.
//!
//! The table is read without a lock. The books are under one, off the hot paths: threads take and return nodes by the
//! dozen.

use std::collections::BTreeSet;
use std::ptr::{self, NonNull};

use super::link::Hooks;
use super::node::Node;
use super::place::Place;
use crate::prim::{self, AtomicPtr, Guard, Life, Mutex, Ordering};

/// Less than `CHUNKS` chunks of `LEN` nodes each: there is no chunk 0, as no node has the number 0.
pub(super) struct Pool<const LEN: usize, const CHUNKS: usize> {
    table: [AtomicPtr<Chunk<LEN>>; CHUNKS],
    /// Of each chunk that there is, or was.
    places: [AtomicPtr<[Place; LEN]>; CHUNKS],
    books: Mutex<Books>,
    /// Of its nodes.
    kind: usize,
}

struct Chunk<const LEN: usize> {
    life: Life,
    nodes: [Node; LEN],
    hooks: [Hooks; LEN],
}

struct Books {
    accounts: Vec<Account>,
    /// The chunks that have room.
    open: BTreeSet<usize>,
    /// The numbers of chunks that are gone.
    gone: Vec<usize>,
    /// How many chunks in the table are wholly free.
    spare: usize,
}

/// One chunk's books.
#[derive(Default)]
struct Account {
    /// The nodes that are free.
    free: Vec<usize>,
    /// The last generation in former chunks of this number.
    generation: u64,
}

impl<const LEN: usize> Chunk<LEN> {
    /// A chunk with all its nodes: also one that is not given out yet may be looked at, by a name from a former
    /// chunk of this number.
    fn create(number: usize, kind: usize, generation: u64, places: *const [Place; LEN]) -> NonNull<Self> {
        let chunk = Box::into_raw(Box::<Self>::new_uninit()).cast::<Self>();
        // SAFETY: freshly allocated, and written field by field: it may be too large for the stack.
        unsafe {
            (&raw mut (*chunk).life).write(Life::new());
            let nodes = (&raw mut (*chunk).nodes).cast::<Node>();
            let hooks = (&raw mut (*chunk).hooks).cast::<Hooks>();
            for index in 0..LEN {
                let place = places.cast::<Place>().add(index);
                nodes.add(index).write(Node::create(number * LEN + index, kind, place));
                hooks.add(index).write(Hooks::new(generation));
            }
            NonNull::new_unchecked(chunk)
        }
    }

    /// The address of a node in it.
    fn node(this: NonNull<Self>, index: usize) -> NonNull<Node> {
        assert!(index < LEN);
        // SAFETY: within the chunk.
        unsafe { NonNull::new_unchecked((&raw mut (*this.as_ptr()).nodes).cast::<Node>().add(index)) }
    }
}

impl<const LEN: usize, const CHUNKS: usize> Drop for Pool<LEN, CHUNKS> {
    fn drop(&mut self) {
        for chunk in &self.table {
            let chunk = chunk.load(Ordering::Relaxed);
            if !chunk.is_null() {
                // SAFETY: it is a box of the table's, and nobody uses the pool any more.
                drop(unsafe { Box::from_raw(chunk) });
            }
        }
        for places in &self.places {
            let places = places.load(Ordering::Relaxed);
            if !places.is_null() {
                // SAFETY: as above.
                drop(unsafe { Box::from_raw(places) });
            }
        }
    }
}

impl<const LEN: usize> Drop for Chunk<LEN> {
    fn drop(&mut self) {
        self.life.end();
    }
}

impl<const LEN: usize, const CHUNKS: usize> Pool<LEN, CHUNKS> {
    prim::const_fn! {
        pub(crate) fn new(kind: usize) -> Self {
            let books = Books { accounts: Vec::new(), open: BTreeSet::new(), gone: Vec::new(), spare: 0 };
            Pool { table: prim::null_table(), places: prim::null_table(), books: Mutex::new(books), kind }
        }
    }

    /// Looks at the hooks of a node that was given out at some time. `None`: its chunk is gone.
    #[inline]
    pub(crate) fn peek<'g>(&'g self, number: usize, _guard: &'g Guard) -> Option<&'g Hooks> {
        let (chunk, index) = (number / LEN, number % LEN);
        // ORDERING: Acquire pairs with `open_chunk`.
        let chunk = NonNull::new(self.table[chunk].load(Ordering::Acquire))?;
        // SAFETY: a chunk that was in the table after the guard was made is freed after the guard is gone only.
        unsafe {
            (*chunk.as_ptr()).life.touch();
            Some(&(*chunk.as_ptr()).hooks[index])
        }
    }

    /// The same without a guard.
    ///
    /// # Safety
    /// Some node of its chunk is given out, and not given back as long as the result is used.
    #[inline]
    pub(crate) unsafe fn hooks(&self, number: usize) -> &Hooks {
        let (chunk, index) = (number / LEN, number % LEN);
        // ORDERING: Acquire, as in `peek`.
        // SAFETY: a chunk leaves the table only when all its nodes are free.
        unsafe { &(*self.table[chunk].load(Ordering::Acquire)).hooks[index] }
    }

    /// # Safety
    /// The node is given out, and not given back meanwhile.
    #[inline]
    pub(crate) unsafe fn find(&self, number: usize) -> NonNull<Node> {
        let (chunk, index) = (number / LEN, number % LEN);
        // ORDERING: Acquire, as in `peek`.
        let chunk = self.table[chunk].load(Ordering::Acquire);
        debug_assert!(!chunk.is_null(), "the table has what is given out");
        // SAFETY: a chunk leaves the table only when all its nodes are free.
        Chunk::node(unsafe { NonNull::new_unchecked(chunk) }, index)
    }

    /// The place of a node that was given out at some time.
    #[inline(always)]
    pub(crate) fn place(&self, number: usize) -> &Place {
        // (The remainder changes nothing; the compiler does not know that.)
        let places = &self.places[number / LEN % CHUNKS];
        // ORDERING: Acquire pairs with `open_chunk`. The node was given out after that.
        // SAFETY: places stay as long as the pool.
        unsafe { &(&*places.load(Ordering::Acquire))[number % LEN] }
    }

    /// Gives out `count` nodes, or what is left of them.
    ///
    /// # Panics
    /// If nothing is left.
    pub(crate) fn take(&self, count: usize, mut out: impl FnMut(NonNull<Node>)) {
        let mut books = self.books.lock();
        for taken in 0..count {
            let Some(number) = books.open.first().copied().or_else(|| self.open_chunk(&mut books)) else {
                if taken > 0 {
                    return;
                }
                // A panic's hook is foreign code.
                drop(books);
                panic!("more than {} operations wait at the same time", LEN * (CHUNKS - 1));
            };
            let account = &mut books.accounts[number];
            let was_whole = account.free.len() == LEN;
            let index = account.free.pop().expect("an open chunk has room");
            let is_full = account.free.is_empty();
            let chunk = NonNull::new(self.table[number].load(Ordering::Relaxed)).expect("it is present");
            books.spare -= usize::from(was_whole);
            if is_full {
                books.open.remove(&number);
            }
            out(Chunk::node(chunk, index));
        }
    }

    /// Takes back nodes that nobody has.
    ///
    /// # Safety
    /// Each was given out by this pool, and is not used by the caller any more.
    pub(crate) unsafe fn give_back(&self, nodes: impl Iterator<Item = NonNull<Node>>) {
        let mut books = self.books.lock();
        for node in nodes {
            // SAFETY: the caller's promise.
            let at = unsafe { node.as_ref() }.index();
            let (number, index) = (at / LEN, at % LEN);
            let account = &mut books.accounts[number];
            account.free.push(index);
            if account.free.len() == LEN {
                if books.spare > 0 {
                    self.close_chunk(number, &mut books);
                    continue;
                }
                books.spare += 1;
            }
            books.open.insert(number);
        }
    }

    /// `None`: there are as many as can be.
    fn open_chunk(&self, books: &mut Books) -> Option<usize> {
        let number = books.gone.pop().unwrap_or(books.accounts.len().max(1));
        if number == CHUNKS {
            return None;
        }
        if number >= books.accounts.len() {
            books.accounts.resize_with(number + 1, Account::default);
            let places = Box::new(std::array::from_fn(|_| Place::new()));
            // ORDERING: Release pairs with `place`.
            self.places[number].store(Box::into_raw(places), Ordering::Release);
        }
        let account = &mut books.accounts[number];
        let places = self.places[number].load(Ordering::Relaxed);
        let chunk = Chunk::create(number, self.kind, account.generation, places);
        // The lowest first.
        account.free = (0..LEN).rev().collect();
        books.open.insert(number);
        books.spare += 1;
        // ORDERING: Release pairs with `peek`.
        self.table[number].store(chunk.as_ptr(), Ordering::Release);
        Some(number)
    }

    fn close_chunk(&self, number: usize, books: &mut Books) {
        books.open.remove(&number);
        books.gone.push(number);
        let account = &mut books.accounts[number];
        let chunk = self.table[number].load(Ordering::Relaxed);
        // SAFETY: present, and so in the table.
        let generations = unsafe { &(*chunk).hooks }.iter().map(Hooks::generation);
        let generation = generations.max().unwrap_or(account.generation);
        *account = Account { free: Vec::new(), generation };
        let guard = prim::pin();
        // ORDERING: Release: whoever finds no chunk here sees that nothing leads to its nodes any more.
        self.table[number].store(ptr::null_mut(), Ordering::Release);
        // SAFETY: it was a box, and is in the table no more.
        unsafe {
            if bug!("early_free") {
                prim::free(Box::from_raw(chunk));
            } else {
                prim::retire(&guard, chunk);
            }
        }
    }

    /// How many chunks there are.
    #[cfg(any(test, leno_epoch))]
    pub(crate) fn chunks(&self) -> usize {
        let _books = self.books.lock();
        self.table.iter().filter(|chunk| !chunk.load(Ordering::Relaxed).is_null()).count()
    }

    /// The books agree with each other and with the table.
    #[cfg(any(test, leno_epoch))]
    pub(crate) fn assert_valid(&self) {
        let books = self.books.lock();
        let mut spare = 0;
        for (number, account) in books.accounts.iter().enumerate().skip(1) {
            let is_present = !self.table[number].load(Ordering::Relaxed).is_null();
            assert_eq!(books.gone.contains(&number), !is_present, "a chunk is there or gone");
            let has_room = !account.free.is_empty();
            assert_eq!(books.open.contains(&number), has_room, "a chunk with room is open");
            assert!(is_present || !has_room, "a chunk that is gone has no nodes");
            spare += usize::from(account.free.len() == LEN);
        }
        assert_eq!(books.spare, spare);
        assert!(spare <= 1, "one empty chunk is kept");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::Arc;

    use super::Pool;
    use crate::prim::{Mutex, pin};
    use crate::wait::link::{Link, ROOT};

    /// Memory comes back after a burst, all but one empty chunk, and what is taken later has other generations.
    #[test]
    fn chunks_come_and_go() {
        let pool = Pool::<4, 9>::new(0);
        let (mut taken, mut names) = (Vec::new(), HashSet::new());
        for _ in 0..3 {
            pool.take(30, |node| taken.push(node));
            assert_eq!(pool.chunks(), 8);
            pool.assert_valid();
            for node in &taken {
                // SAFETY: it was taken.
                let number = unsafe { node.as_ref() }.index();
                let guard = pin();
                let hooks = pool.peek(number, &guard).expect("it is taken");
                assert!(names.insert(hooks.begin(number, Link::NIL, ROOT, 1, 0).0), "a name comes once");
            }
            let kept = taken.swap_remove(13);
            // SAFETY: each was taken, and is given back once.
            unsafe { pool.give_back(taken.drain(..)) };
            pool.assert_valid();
            assert_eq!(pool.chunks(), 2, "one chunk is in use, and one is kept");
            taken.push(kept);
            // SAFETY: as above.
            unsafe { pool.give_back(taken.drain(..)) };
            assert_eq!(pool.chunks(), 1);
        }
        pool.take(32, |node| taken.push(node));
        let guard = pin();
        for node in taken {
            // SAFETY: it was taken.
            let number = unsafe { node.as_ref() }.index();
            assert!(pool.peek(number, &guard).is_some(), "it is taken");
            // SAFETY: as above.
            assert_eq!(unsafe { pool.find(number) }, node, "a number names one node");
        }
    }

    #[test]
    #[should_panic(expected = "operations wait at the same time")]
    fn there_is_a_limit() {
        let pool = Pool::<2, 3>::new(0);
        pool.take(4, drop);
        pool.take(1, drop);
    }

    #[test]
    fn what_is_left_is_given_out() {
        let mut taken = 0;
        Pool::<2, 3>::new(0).take(5, |_| taken += 1);
        assert_eq!(taken, 4);
    }

    /// The panic's hook may need the pool, too. (Otherwise this hangs.)
    #[test]
    fn who_is_told_of_the_limit_can_look() {
        let (pool, seen) = (Arc::new(Pool::<2, 3>::new(0)), Arc::new(Mutex::new(0)));
        let (told, sees) = (Arc::clone(&pool), Arc::clone(&seen));
        let usual = Arc::new(panic::take_hook());
        let then = Arc::clone(&usual);
        panic::set_hook(Box::new(move |info| {
            *sees.lock() = told.chunks();
            then(info);
        }));
        pool.take(4, drop);
        let panic = panic::catch_unwind(AssertUnwindSafe(|| pool.take(1, drop)));
        panic::set_hook(Box::new(move |info| usual(info)));
        assert!(panic.is_err());
        assert_eq!(*seen.lock(), 2);
        pool.assert_valid();
    }
}
