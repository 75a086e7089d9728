//! A value that is made once, by whoever needs it first.
//!
//! ```text
//!   empty: one permit, free ──taken──▶ somebody makes the value ──▶ full: the permits are closed
//!                             ◀──────── gave up, or failed: the permit goes to the next in line
//! ```
//!
//! The turn to make the value is the one [permit](super::permits). Who waits for it finds the permits closed once there is
//! a value. So `CLOSED` in the word says that the value is there: set after the value was written, acquired by who looks.
//!
//! Locked instructions: none to look at a value that is there; 3 to make it.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};

use super::permits::{Permits, Source, Taken, Taking, Try, What};
use crate::prim::{self, UnsafeCell};
use crate::task::context::may_block;
use crate::task::place::Place;
use crate::task::shows;
use crate::task::thread;
use crate::task::watch::Share;
use crate::wait::Operation;

/// A cell that is filled once, by an async function.
///
/// The first caller makes the value, the others wait for it. If its future is dropped, panics, or returns an error, the next
/// waiter tries with its own function. Making a value that needs the same cell deadlocks.
///
/// As with a [semaphore](super::Semaphore#a-hazard), a future that is making the value, or whose turn it is, and that is no
/// longer polled holds up the others until it is dropped.
///
/// ```
/// use leno::sync::OnceCell;
///
/// static PATTERN: OnceCell<String> = OnceCell::new();
///
/// async fn pattern() -> &'static str {
///     PATTERN.get_or_init(async || String::from("twill")).await
/// }
///
/// # leno::block_on(async {
/// assert_eq!(pattern().await, "twill");
/// assert_eq!(PATTERN.get().map(String::as_str), Some("twill"));
/// # });
/// ```
pub struct OnceCell<T> {
    permits: Permits,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: it owns the value.
unsafe impl<T: Send> Send for OnceCell<T> {}
// SAFETY: one thread writes the value, and moves it in from elsewhere perhaps; then all share it.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

impl<T: std::panic::UnwindSafe> std::panic::UnwindSafe for OnceCell<T> {}
impl<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe> std::panic::RefUnwindSafe for OnceCell<T> {}

impl<T> OnceCell<T> {
    prim::const_fn! {
        /// An empty cell.
        pub fn new() -> OnceCell<T> {
            OnceCell { permits: Permits::new(1), value: UnsafeCell::new(None) }
        }
    }

    /// The value, if it was made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if !self.permits.is_closed() {
            return None;
        }
        // SAFETY: CLOSED was acquired: the value was written before, and nobody writes it while this is shared.
        self.value.with(|value| unsafe { (*value).as_ref() })
    }

    /// The value, if it was made, for exclusive access.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: borrowed uniquely.
        self.value.with_mut(|value| unsafe { (*value).as_mut() })
    }

    /// Whether the value was made.
    pub fn is_initialized(&self) -> bool {
        self.permits.is_closed()
    }

    /// Sets the value.
    ///
    /// # Errors
    /// The cell is full, or somebody is making a value right now, or is about to, having waited; `value` comes back.
    pub fn set(&self, value: T) -> Result<(), T> {
        if self.permits.try_take(1) != Try::Taken {
            return Err(value);
        }
        self.fill(value);
        Ok(())
    }

    /// Returns the value; runs `make` if it was not made yet and nobody else is making it.
    ///
    /// Cancelling: dropping the future passes its turn to the next waiter.
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, make: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let trying = self.get_or_try_init(|| async { Ok::<T, Infallible>(make().await) });
        async {
            let Ok(value) = trying.await;
            value
        }
    }

    /// As [`get_or_init`](Self::get_or_init), with a function that may fail.
    ///
    /// # Errors
    /// Those of `make`; the cell stays empty, and it is the next waiter's turn.
    #[track_caller]
    pub fn get_or_try_init<E, F, Fut>(&self, make: F) -> impl Future<Output = Result<&T, E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.made_at(Place::here(), make)
    }

    async fn made_at<E, F, Fut>(&self, place: Place, make: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        // SAFETY: the operation is dropped before this borrow ends.
        let taking = unsafe { Taking::new(&raw const self.permits, 1, What::Cell) };
        let mut turn = Operation::at(place, taking);
        if let Ok(permit) = std::future::poll_fn(|cx| turn.poll(cx)).await {
            // Dropped where `make` panics, fails, or is dropped: the next one has the turn.
            let turn = Turn::new(self, permit, place);
            turn.fill(make().await?);
        }
        Ok(self.get().expect("closed once it was filled"))
    }

    /// As [`get_or_init`](Self::get_or_init), on a plain thread, which sleeps while somebody else makes the value.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block, unless the value is there.
    #[track_caller]
    pub fn get_or_init_blocking(&self, make: impl FnOnce() -> T) -> &T {
        let Ok(value) = self.made_blocking("get_or_init_blocking", || Ok::<T, Infallible>(make()));
        value
    }

    /// As [`get_or_init_blocking`](Self::get_or_init_blocking), with a function that may fail.
    ///
    /// # Errors
    /// Those of `make`; the cell stays empty, and it is the next waiter's turn.
    ///
    /// # Panics
    /// As [`get_or_init_blocking`](Self::get_or_init_blocking).
    #[track_caller]
    pub fn get_or_try_init_blocking<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        self.made_blocking("get_or_try_init_blocking", make)
    }

    #[track_caller]
    fn made_blocking<E>(&self, what: &str, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        may_block(what);
        // SAFETY: the operation is dropped before this borrow ends.
        let mut turn = Operation::new(unsafe { Taking::new(&raw const self.permits, 1, What::Cell) });
        if let Ok(permit) = turn.block_on(None).expect("without a deadline it waits until it is done") {
            let turn = Turn::new(self, permit, turn.place());
            turn.fill(make()?);
        }
        Ok(self.get().expect("closed once it was filled"))
    }

    /// By who has the turn.
    fn fill(&self, value: T) {
        if bug!("full_before_it_is_filled") {
            self.permits.close();
        }
        // SAFETY: one has the turn, and nobody looks before the permits are closed.
        let before = self.value.with_mut(|place| unsafe { (*place).replace(value) });
        debug_assert!(before.is_none(), "a cell is filled once");
        // ORDERING: its exchange releases the value.
        self.permits.close();
    }

    /// Takes the value out, leaving the cell empty.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    /// The value.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}

/// The turn to make the value, which is noted of the fiber that has it. Dropped, it goes to the next in line.
struct Turn<'a, T> {
    /// Until it is over.
    cell: Option<&'a OnceCell<T>>,
    share: Share,
}

impl<'a, T> Turn<'a, T> {
    fn new(cell: &'a OnceCell<T>, permit: Taken, place: Place) -> Self {
        permit.keep();
        let share = Share::enter(place, || What::Cell.wish(&raw const cell.permits));
        Turn { cell: Some(cell), share }
    }

    /// The value was made.
    fn fill(mut self, value: T) {
        self.cell.take().expect("its turn is not over").fill(value);
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.share.leave();
        if let Some(cell) = self.cell.filter(|_| !bug!("turn_is_kept")) {
            cell.permits.release(1);
        }
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        OnceCell::new()
    }
}

/// A cell with a clone of the value, if that is there.
impl<T: Clone> Clone for OnceCell<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(OnceCell::new, OnceCell::from)
    }
}

/// By what is there.
impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        let cell = OnceCell::new();
        let _ = cell.set(value);
        cell
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("OnceCell");
        match self.get() {
            Some(value) => debug.field(value).finish(),
            None => debug.field(&format_args!("<empty>")).finish(),
        }
    }
}

/// What a [`Lazy`] in a `static` is made by.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A value that an async function makes when it is first needed.
///
/// If the function's future is dropped or panics while making the value, the function is called again: see [`OnceCell`]. In a
/// `static` its future is boxed, so that the type can be named.
///
/// ```
/// use leno::sync::Lazy;
///
/// static PATTERN: Lazy<String> = Lazy::new(|| Box::pin(async { String::from("twill") }));
///
/// # leno::block_on(async {
/// assert_eq!(PATTERN.try_get(), None);
/// assert_eq!(PATTERN.get().await, "twill");
/// let local = Lazy::new(async || 7);
/// assert_eq!(*local.get().await, 7);
/// # });
/// ```
pub struct Lazy<T, F = fn() -> Boxed<T>> {
    cell: OnceCell<T>,
    make: F,
}

impl<T, F> Lazy<T, F> {
    prim::const_fn! {
        /// A value that `make` makes.
        pub fn new(make: F) -> Lazy<T, F> {
            Lazy { cell: OnceCell::new(), make }
        }
    }

    /// The value, if it is there.
    pub fn try_get(&self) -> Option<&T> {
        self.cell.get()
    }

    /// The value, if it was made.
    pub fn into_value(self) -> Option<T> {
        self.cell.into_inner()
    }
}

// (Not `AsyncFn`: a future of which the compiler could not tell whether it is Send could be awaited in no fiber that moves.)
impl<T, F, Fut> Lazy<T, F>
where
    F: Fn() -> Fut,
    Fut: Future<Output = T>,
{
    /// Returns the value; makes it if it was not made yet and nobody else is making it.
    ///
    /// Cancelling: as [`OnceCell::get_or_init`].
    #[track_caller]
    pub fn get(&self) -> impl Future<Output = &T> {
        self.cell.get_or_init(&self.make)
    }

    /// As [`get`](Self::get).
    #[track_caller]
    pub fn force(&self) -> impl Future<Output = &T> {
        self.get()
    }

    /// As [`get`](Self::get), on a plain thread, which sleeps meanwhile.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block, unless the value is there.
    #[track_caller]
    pub fn get_blocking(&self) -> &T {
        match self.try_get() {
            Some(value) => value,
            None => thread::wait("get_blocking", &mut pin!(self.get()), None),
        }
    }
}

shows! { [T: fmt::Debug, F] Lazy<T, F>, "Lazy", it => cell: it.cell }
