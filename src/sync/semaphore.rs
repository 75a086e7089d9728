//! A semaphore: at most so many at once. The permits themselves are counted in [`permits`](super::permits).

use std::sync::Arc;

use super::permits::{MOST, Permits, Shut, Source, Taken, Taking, Try, What};
use crate::prim;
use crate::task::error::{error_cases, errors};
use crate::task::place::Place;
use crate::task::shows;
use crate::task::watch::Share;
use crate::wait::{Operation, future};

/// A number of permits, some of which fibers, tasks and threads take for a while.
///
/// # Order
///
/// Permits are handed over in strict FIFO order. Requests for one permit do not starve a request for many: while the
/// latter is first in line everybody waits behind it, and returned permits are kept for it. (Unless it is a branch of a
/// select that is being polled just then: see [`sync`](crate::sync).) So [`try_acquire`](Self::try_acquire) fails while
/// somebody waits, even if permits are free.
///
/// # A hazard
///
/// A future that was granted its permits and is not polled again (kept in a variable, or beside another future in a
/// `select!` of another library that has moved on) holds them until it is polled or dropped. If it is first in the queue,
/// everybody waits behind it, too. This is true of every semaphore and lock that hands over, tokio's among them, and known as
/// *futurelock*. Drop futures that you no longer poll; leno's own `select!` dequeues losing branches, even those passed by
/// `&mut`.
///
/// ```
/// use leno::sync::Semaphore;
///
/// static LOOMS: Semaphore = Semaphore::new(2);
///
/// # leno::block_on(async {
/// let first = LOOMS.acquire().await.unwrap();
/// let _second = LOOMS.acquire().await.unwrap();
/// assert!(LOOMS.try_acquire().is_err());
/// drop(first);
/// assert_eq!(LOOMS.available_permits(), 1);
/// # });
/// ```
pub struct Semaphore {
    permits: Permits,
}

crate::task::unwinds! { [] Semaphore }

/// The semaphore is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError(());

const TOO_MANY: &str = "a semaphore has at most `leno::sync::Semaphore::MAX_PERMITS` permits, some 2^34 (2^29 on 32 bits); use \
                        that many for no limit";

impl Semaphore {
    /// The most permits that can be made or added: 17,179,869,183 can be free at the same time, or 2^29 − 1 on 32-bit platforms
    /// (more there, if as many were added again and again while others held theirs).
    pub const MAX_PERMITS: usize = if usize::BITS < 64 { usize::MAX >> 3 } else { MOST as usize };

    prim::const_fn! {
        /// A semaphore with `permits` permits.
        ///
        /// # Panics
        /// If that is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
        #[track_caller]
        pub fn new(permits: usize) -> Semaphore {
            assert!(permits <= Semaphore::MAX_PERMITS, "{}", TOO_MANY);
            Semaphore { permits: Permits::new(permits as u64) }
        }
    }

    /// Takes a permit; waits while none is free, or others already wait.
    ///
    /// Cancelling: a dropped future has taken nothing; a permit it was already granted passes to the next waiter.
    ///
    /// # Errors
    /// [`AcquireError`]: the semaphore is closed, or is closed while this waits.
    #[inline]
    #[track_caller]
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// As [`acquire`](Self::acquire), `n` permits at once. Once it is first in line, free permits are kept for it until
    /// they suffice. With `n` zero it is ready at once (with the error, if closed).
    ///
    /// If `n` permits are never free at the same time, it waits forever, and so do those behind it.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// ```
    /// # leno::block_on(async {
    /// let bytes = leno::sync::Semaphore::new(1 << 20);
    /// let frame = bytes.acquire_many(64 << 10).await.unwrap();
    /// assert_eq!(bytes.available_permits(), (1 << 20) - frame.num_permits());
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn acquire_many(&self, n: u32) -> Acquire<'_> {
        // SAFETY: the future borrows the semaphore.
        let taking = unsafe { Taking::new(&raw const self.permits, n, What::Semaphore) };
        Acquire { semaphore: self, operation: Operation::new(taking) }
    }

    /// Takes a permit if that needs no waiting.
    ///
    /// # Errors
    /// [`TryAcquireError::NoPermits`]: none is free, or others already wait; permits in transit just then, as somebody enters or
    /// leaves the queue, are not free. [`TryAcquireError::Closed`]: the semaphore is closed.
    #[inline]
    #[track_caller]
    pub fn try_acquire(&self) -> Result<Permit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// As [`try_acquire`](Self::try_acquire), `n` permits at once.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<Permit<'_>, TryAcquireError> {
        let place = Place::here();
        self.try_take(n).map(|()| Permit { semaphore: self, permits: n, share: self.share(n, place) })
    }

    /// Notes that these were taken, by an operation begun at `place`.
    #[inline(always)]
    fn share(&self, permits: u32, place: Place) -> Share {
        if permits == 0 {
            return Share::none();
        }
        Share::enter(place, || What::Semaphore.wish(&raw const self.permits))
    }

    #[inline]
    fn try_take(&self, n: u32) -> Result<(), TryAcquireError> {
        match self.permits.try_take(n.into()) {
            Try::Taken => Ok(()),
            Try::TooFew => Err(TryAcquireError::NoPermits),
            Try::Closed => Err(TryAcquireError::Closed),
        }
    }

    /// As [`acquire`](Self::acquire), with a permit that keeps the semaphore alive and can be moved anywhere.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use leno::sync::Semaphore;
    ///
    /// # leno::block_on(async {
    /// let looms = Arc::new(Semaphore::new(2));
    /// let mut weavers = Vec::new();
    /// for row in 0..10 {
    ///     let loom = looms.acquire_arc().await.unwrap();
    ///     weavers.push(leno::spawn(async move {
    ///         let _loom = loom;
    ///         row
    ///     }));
    /// }
    /// for weaver in weavers {
    ///     weaver.await.unwrap();
    /// }
    /// assert_eq!(looms.available_permits(), 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn acquire_arc(self: &Arc<Self>) -> AcquireArc {
        self.acquire_many_arc(1)
    }

    /// As [`acquire_many`](Self::acquire_many), with the permit of [`acquire_arc`](Self::acquire_arc).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_many_arc(self: &Arc<Self>, n: u32) -> AcquireArc {
        // SAFETY: the future keeps the semaphore.
        let taking = unsafe { Taking::new(&raw const self.permits, n, What::Semaphore) };
        AcquireArc { operation: Operation::new(taking), semaphore: Arc::clone(self) }
    }

    /// The same as [`acquire_many_arc`](Self::acquire_many_arc).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_arc_many(self: &Arc<Self>, n: u32) -> AcquireArc {
        self.acquire_many_arc(n)
    }

    /// As [`try_acquire`](Self::try_acquire), with the permit of [`acquire_arc`](Self::acquire_arc).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    #[track_caller]
    pub fn try_acquire_arc(self: &Arc<Self>) -> Result<OwnedPermit, TryAcquireError> {
        self.try_acquire_many_arc(1)
    }

    /// As [`try_acquire_many`](Self::try_acquire_many), with the permit of [`acquire_arc`](Self::acquire_arc).
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    #[track_caller]
    pub fn try_acquire_many_arc(self: &Arc<Self>, n: u32) -> Result<OwnedPermit, TryAcquireError> {
        let place = Place::here();
        let taken = self.try_take(n);
        taken.map(|()| OwnedPermit { semaphore: Arc::clone(self), permits: n, share: self.share(n, place) })
    }

    /// As [`acquire`](Self::acquire), on a plain thread, which sleeps meanwhile.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
    #[track_caller]
    pub fn acquire_blocking(&self) -> Result<Permit<'_>, AcquireError> {
        self.acquire().wait()
    }

    /// Adds new permits; waiters get them first.
    ///
    /// # Panics
    /// If more than [`MAX_PERMITS`](Self::MAX_PERMITS) would be free. (Permits returned later, when that many are free, are lost.
    /// So are those added by two simultaneous calls while somebody waits, if only their sum is too large.)
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        let added = self.permits.add(n as u64, Self::MAX_PERMITS as u64);
        assert!(added, "{}", TOO_MANY);
    }

    /// Permanently removes up to `n` free permits; returns how many were removed. (Permits in transit just then, as somebody enters
    /// or leaves the queue, are not found.)
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.forget(n as u64) as usize
    }

    /// How many permits are free, including those kept for the first waiter, but not those in transit just then.
    pub fn available_permits(&self) -> usize {
        self.permits.available() as usize
    }

    /// Closes the semaphore: nobody gets permits any more. Waiters are woken with an error, in order, once all of them have been
    /// dequeued. Permits that are held stay valid. Returns true the first time.
    ///
    /// ```
    /// # leno::block_on(async {
    /// let looms = leno::sync::Semaphore::new(0);
    /// let waiting = looms.acquire();
    /// assert!(looms.close());
    /// assert!(waiting.await.is_err());
    /// # });
    /// ```
    pub fn close(&self) -> bool {
        self.permits.close()
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.permits.assert_valid();
    }
}

shows! { [] Semaphore, "Semaphore", it => available_permits: it.available_permits(), closed: it.is_closed() }

/// Permits of a semaphore that they borrow or keep, and the future that gets them.
macro_rules! permit {
    ($(
        [$($lifetime:lifetime)?] $semaphore:ty;
        $(#[$doc:meta])+ $Permit:ident, $name:literal;
        $(#[$future_doc:meta])+ $Future:ident, $future:literal, $call:literal;
    )+) => {$(
        $(#[$doc])+
        #[must_use = "the permits go back at once if this is not held"]
        pub struct $Permit<$($lifetime)?> {
            semaphore: $semaphore,
            permits: u32,
            /// The note of them at the fiber that took them.
            share: Share,
        }

        $(#[$future_doc])+
        #[must_use = "futures do nothing unless polled"]
        pub struct $Future<$($lifetime)?> {
            // Before the semaphore: it must be dropped first.
            operation: Operation<Taking>,
            semaphore: $semaphore,
        }

        impl<$($lifetime)?> $Future<$($lifetime)?> {
            #[inline]
            fn output(&mut self, outcome: Result<Taken, Shut>) -> Result<$Permit<$($lifetime)?>, AcquireError> {
                outcome.map_err(|Shut| AcquireError(()))?.keep();
                let permits = self.operation.branch().permits();
                let share = self.semaphore.share(permits, self.operation.place());
                Ok($Permit { semaphore: Clone::clone(&self.semaphore), permits, share })
            }
        }

        future! {
            [$($lifetime)?] $Future<$($lifetime)?>, $future, $call;
            Taking => Result<$Permit<$($lifetime)?>, AcquireError>, $Future::output;
            or AcquireTimeoutError => $Permit<$($lifetime)?>
        }

        impl<$($lifetime)?> $Permit<$($lifetime)?> {
            /// Drops the permits without returning them: the semaphore permanently has fewer.
            pub fn forget(mut self) {
                self.share.leave();
                self.permits = 0;
            }

            /// How many permits these are.
            pub fn num_permits(&self) -> usize {
                self.permits as usize
            }

            /// Splits off `n` permits. `None`: there are fewer.
            #[track_caller]
            pub fn split(&mut self, n: usize) -> Option<Self> {
                let place = Place::here();
                let n = u32::try_from(n).ok().filter(|n| *n <= self.permits)?;
                self.permits -= n;
                let share = self.semaphore.share(n, place);
                if self.permits == 0 {
                    self.share.leave();
                }
                Some(Self { semaphore: Clone::clone(&self.semaphore), permits: n, share })
            }

            /// Merges permits of the same semaphore into one.
            ///
            /// # Panics
            /// If `other` belongs to another semaphore, or if together they are more than `u32::MAX`.
            #[track_caller]
            pub fn merge(&mut self, mut other: Self) {
                let same = std::ptr::eq(&raw const self.semaphore.permits, &raw const other.semaphore.permits);
                assert!(same, "permits of different semaphores cannot be merged");
                let together = self.permits.checked_add(other.permits);
                let together = together.expect("merged permits are limited to `u32::MAX`: keep these separate");
                if self.permits == 0 {
                    std::mem::swap(&mut self.share, &mut other.share);
                }
                other.share.leave();
                other.permits = 0;
                self.permits = together;
            }
        }

        impl<$($lifetime)?> Drop for $Permit<$($lifetime)?> {
            #[inline]
            fn drop(&mut self) {
                if self.permits > 0 {
                    self.share.leave();
                    self.semaphore.permits.release(self.permits.into());
                }
            }
        }

        shows! { [$($lifetime)?] $Permit<$($lifetime)?>, $name, it => permits: it.permits }
    )+};
}

permit! {
    ['a] &'a Semaphore;
    /// Some permits of a [`Semaphore`]; dropping it returns them.
    Permit, "Permit";
    /// Waits for permits of a [`Semaphore`]. Made by [`Semaphore::acquire`] and [`Semaphore::acquire_many`].
    ///
    /// Dropping it leaves the queue; permits that it was already granted pass to the next waiter.
    Acquire, "Acquire", "acquire";

    [] Arc<Semaphore>;
    /// As [`Permit`], keeping the semaphore alive. Made by [`Semaphore::acquire_arc`],
    /// [`Semaphore::acquire_many_arc`] and their `try_` forms.
    OwnedPermit, "OwnedPermit";
    /// As [`Acquire`], keeping the semaphore alive. Made by [`Semaphore::acquire_arc`] and [`Semaphore::acquire_many_arc`].
    AcquireArc, "AcquireArc", "acquire_arc";
}

impl OwnedPermit {
    /// The semaphore that these permits belong to.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

const CLOSED: &str = "the semaphore is closed";

errors! {
    AcquireError {
        AcquireError(()) => CLOSED,
    }
}

error_cases! {
    /// Why permits were not available.
    TryAcquireError {
        /// The semaphore is closed.
        Closed => CLOSED, is_closed: "Whether the semaphore is closed.";
        /// Not enough permits are free, or others already wait.
        NoPermits => "not enough permits are free, or others already wait";
    }

    /// Why permits were not available in time.
    AcquireTimeoutError {
        /// The time was up, and no permits were taken.
        Timeout => "timed out before enough permits were free",
            is_timeout: "Whether the time was up.";
        /// The semaphore is closed.
        Closed => CLOSED, is_closed: "Whether the semaphore is closed.";
    }
}

impl From<AcquireError> for TryAcquireError {
    fn from(_: AcquireError) -> Self {
        TryAcquireError::Closed
    }
}

impl From<AcquireError> for AcquireTimeoutError {
    fn from(_: AcquireError) -> Self {
        AcquireTimeoutError::Closed
    }
}
