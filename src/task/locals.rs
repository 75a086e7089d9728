//! The values that a fiber has of its own: one for each key that it has used.
//!
//! Invariants:
//!
//! 1. Only the fiber's owner (`state.rs`, invariant 2) reaches them: its creator, then who polls or ends it. So the values
//!    move from thread to thread with the fiber, and need be `Send`, not `Sync`.
//! 2. A counted pointer to a value outlives no call of its owner; the last one goes with [`Locals::end`], inside the fiber,
//!    after its future. From then on there are none.
//! 3. No borrow of the list lasts while foreign code runs: initializers, clones and drops of values may come back here.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;

use crate::prim::UnsafeCell;
use crate::task::error::Payload;

/// Makes a child's value of its parent's.
pub(crate) type Inherit = fn(&dyn Any) -> Rc<dyn Any>;

/// A value, and what becomes of it in children.
pub(crate) struct Local {
    pub(crate) value: Rc<dyn Any>,
    pub(crate) inherit: Option<Inherit>,
}

/// The fiber has no values any more.
pub(crate) struct Ended;

/// See the module.
pub(crate) struct Locals(UnsafeCell<List>);

impl Default for Locals {
    fn default() -> Self {
        Locals(UnsafeCell::new(List::default()))
    }
}

#[derive(Default)]
struct List {
    /// By the address of the key.
    values: Vec<(usize, Local)>,
    ended: bool,
}

impl Locals {
    /// # Safety
    ///
    /// The caller is the fiber's owner, and `f` calls no foreign code.
    unsafe fn list<R>(&self, f: impl FnOnce(&mut List) -> R) -> R {
        // SAFETY: exclusive, by contract (invariants 1 and 3).
        self.0.with_mut(|list| f(unsafe { &mut *list }))
    }

    /// The value of a key, if there is one so far. `Err`: the fiber has ended.
    ///
    /// # Safety
    ///
    /// The caller is the fiber's owner, and drops what it gets before it ceases to be.
    pub(crate) unsafe fn get(&self, key: usize) -> Result<Option<Rc<dyn Any>>, Ended> {
        // SAFETY: by contract.
        unsafe {
            self.list(|list| {
                let found = list.values.iter().find(|(at, _)| *at == key);
                if list.ended { Err(Ended) } else { Ok(found.map(|(_, local)| Rc::clone(&local.value))) }
            })
        }
    }

    /// Sets the value of a key. False: the fiber has ended.
    ///
    /// # Safety
    ///
    /// The caller is the fiber's owner, and has the only pointer to the value, which is `Send`.
    pub(crate) unsafe fn set(&self, key: usize, local: Local) -> bool {
        // SAFETY: by contract.
        let (kept, _old) = unsafe {
            self.list(|list| {
                if list.ended {
                    return (false, Some(local));
                }
                match list.values.iter_mut().find(|(at, _)| *at == key) {
                    Some((_, old)) => (true, Some(std::mem::replace(old, local))),
                    None => {
                        list.values.push((key, local));
                        (true, None)
                    }
                }
            })
        };
        kept
    }

    /// What a child has from its parent; `None` if that is nothing.
    ///
    /// # Safety
    ///
    /// The caller is the fiber's owner.
    pub(crate) unsafe fn inherited(&self) -> Option<Locals> {
        let heirloom = |(key, local): &(usize, Local)| Some((*key, local.inherit?, Rc::clone(&local.value)));
        // SAFETY: by contract. The clones end here.
        let heirlooms: Vec<_> =
            unsafe { self.list(|list| list.values.iter().filter_map(heirloom).collect()) };
        let values: Vec<_> = heirlooms
            .iter()
            .map(|(key, inherit, value)| (*key, Local { value: inherit(&**value), inherit: Some(*inherit) }))
            .collect();
        (!values.is_empty()).then(|| Locals(UnsafeCell::new(List { values, ended: false })))
    }

    /// Drops all values; later ones are refused. A panic of a drop goes to `report`.
    ///
    /// # Safety
    ///
    /// The caller is the fiber's owner, inside the fiber if that was ever listed.
    pub(crate) unsafe fn end(&self, report: impl Fn(Payload)) {
        // SAFETY: by contract.
        let values = unsafe {
            self.list(|list| {
                list.ended = true;
                std::mem::take(&mut list.values)
            })
        };
        // Last made, first dropped; each on its own, as any may panic.
        for value in values.into_iter().rev() {
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(value))) {
                report(payload);
            }
        }
    }
}
