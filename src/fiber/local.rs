//! Values that each fiber has of its own.

use std::any::Any;
use std::marker::PhantomData;
use std::rc::Rc;

use crate::task::context;
use crate::task::error::errors;
use crate::task::header::Task;
use crate::task::locals::{Ended, Inherit, Local};
use crate::task::shows;

/// Declares statics of which each fiber has its own value, as [`std::thread_local!`] does for threads.
///
/// The values have to be `Send`, as fibers move. A value is created when its fiber first accesses it, moves between threads with
/// the fiber, and is dropped at the fiber's end, after its future. (A panic of that drop goes to the executor's
/// [hook](crate::fiber::RuntimeBuilder::on_panic), not to whoever joins the fiber.) If the static is declared `inherited static`
/// (its type has to be `Clone`), a child gets a copy of its parent's value when it is created, if the parent has one by then. (A
/// prepared fiber gets that of the fiber that prepares it. A fiber started with [`Builder::root`](crate::fiber::Builder::root), or
/// on another executor, is not a child.)
///
/// ```
/// use std::cell::Cell;
///
/// leno::fiber_local! {
///     static STEPS: Cell<u32> = Cell::new(0);
///     pub inherited static REQUEST: Option<u64> = None;
/// }
///
/// leno::block_on(async {
///     REQUEST.set(Some(7));
///     STEPS.with(|steps| steps.set(3));
///     let child = leno::spawn(async { (REQUEST.get(), STEPS.with(Cell::get)) });
///     assert_eq!(child.await.unwrap(), (Some(7), 0));
/// });
/// ```
#[macro_export]
macro_rules! fiber_local {
    () => {};
    ($(#[$meta:meta])* $vis:vis inherited static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$meta])*
        $vis static $name: $crate::fiber::FiberLocal<$type> =
            $crate::fiber::FiberLocal::inherited(|| $init);
        $($crate::fiber_local! { $($rest)* })?
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$meta])*
        $vis static $name: $crate::fiber::FiberLocal<$type> = $crate::fiber::FiberLocal::new(|| $init);
        $($crate::fiber_local! { $($rest)* })?
    };
}

/// The key of a fiber-local value; declared by [`fiber_local!`](crate::fiber_local!).
pub struct FiberLocal<T: 'static> {
    init: fn() -> T,
    inherit: Option<Inherit>,
    /// Values go in and out: no two types share a key.
    _value: PhantomData<fn(T) -> T>,
}

impl<T: Send + 'static> FiberLocal<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        FiberLocal { init, inherit: None, _value: PhantomData }
    }

    #[doc(hidden)]
    pub const fn inherited(init: fn() -> T) -> Self
    where
        T: Clone,
    {
        let inherit = |parents: &dyn Any| -> Rc<dyn Any> {
            let value = parents.downcast_ref::<T>().expect("a key has values of one type");
            Rc::new(value.clone())
        };
        FiberLocal { init, inherit: Some(inherit), _value: PhantomData }
    }

    fn key(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn store(&'static self, task: &Task, value: T) -> Result<(), OutsideFiber> {
        let local = Local { value: Rc::new(value), inherit: self.inherit };
        // SAFETY: the fiber runs here, so this thread is its owner; a new value, and `T` is `Send`.
        let kept = unsafe { task.extras_or_new().locals.set(self.key(), local) };
        if kept { Ok(()) } else { Err(OutsideFiber(())) }
    }

    fn load(&'static self, task: &Task) -> Result<Option<Rc<dyn Any>>, OutsideFiber> {
        let Some(extras) = task.extras() else { return Ok(None) };
        // SAFETY: the fiber runs here; callers keep the value during a call that was made in it.
        unsafe { extras.locals.get(self.key()) }.map_err(|Ended| OutsideFiber(()))
    }

    /// Calls `f` with the current fiber's value, which is created first if there is none.
    ///
    /// # Errors
    ///
    /// Outside a fiber, and when the fiber's values are being dropped at its end.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, OutsideFiber> {
        let used = context::with_task(|task| {
            let value = match self.load(task)? {
                Some(value) => value,
                None => {
                    let value = (self.init)();
                    // The initializer may have set it itself: then that stands.
                    if self.load(task)?.is_none() {
                        self.store(task, value)?;
                    }
                    self.load(task)?.ok_or(OutsideFiber(()))?
                }
            };
            Ok(f(value.downcast_ref::<T>().expect("a key has values of one type")))
        });
        used.unwrap_or(Err(OutsideFiber(())))
    }

    /// As [`try_with`](Self::try_with).
    ///
    /// # Panics
    ///
    /// If `try_with` returns an error.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Replaces the current fiber's value; the old one is dropped once nobody is inside [`with`](Self::with) for it.
    ///
    /// # Panics
    ///
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn set(&'static self, value: T) {
        let set = context::with_task(|task| self.store(task, value));
        if let Err(error) = set.unwrap_or(Err(OutsideFiber(()))) {
            panic!("{error}");
        }
    }

    /// A copy of the current fiber's value.
    ///
    /// # Panics
    ///
    /// As [`with`](Self::with).
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }
}

shows! { [T] FiberLocal<T>, "FiberLocal" }

/// There is no current fiber whose value could be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutsideFiber(());

errors! {
    OutsideFiber {
        OutsideFiber(()) => "a fiber-local was used outside a fiber of leno, or while the fiber's values were being dropped; use \
                              it in a future passed to `leno::spawn` or `leno::block_on`, or call `try_with`",
    }
}
