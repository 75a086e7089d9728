//! How values move, which may be large: by [`Parcel`] while their operation waits, to the [`Tray`] of whoever gets them.
//!
//! ```text
//!   send: its future ──▶ slot ─────────────────────────▶ tray ──▶ the receiver's
//!               └──────▶ parcel (in a node) ──▶ slot, or tray
//! ```
//!
//! Inside, values are never arguments or results: each frame on the way would have room for one, most of them twice, and a few of a
//! megabyte fill a stack. A value is moved from one place to the next, by pointers to both.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::num::NonZero;
use std::ptr;

/// Words that a parcel holds inline; larger values are boxed for the time of the wait.
pub(super) const INLINE: usize = 3;

/// Values of more bytes are large.
const LARGE: usize = 1024;

/// Where an operation gets what it receives.
pub(crate) struct Tray<T> {
    is_full: bool,
    /// When what is there was taken, in the order of hand-overs, if somebody has noted that.
    stamp: Option<NonZero<u32>>,
    value: MaybeUninit<T>,
}

impl<T> Tray<T> {
    #[inline(always)]
    pub(crate) fn new() -> Tray<T> {
        Tray { is_full: false, stamp: None, value: MaybeUninit::uninit() }
    }

    /// Calls `f` with a tray for values that are dropped there, one after the other. Large ones take no room on the stack.
    pub(crate) fn in_passing(f: impl FnOnce(&mut Tray<T>)) {
        // (Apart: a frame has room for all its variables, whichever way is taken.)
        #[inline(never)]
        fn on_stack<T>(f: impl FnOnce(&mut Tray<T>)) {
            f(&mut Tray::new());
        }
        if size_of::<T>() <= LARGE {
            return on_stack(f);
        }
        let mut tray = Box::<Tray<T>>::new_uninit();
        // SAFETY: an empty tray has no value.
        let mut tray = unsafe {
            (&raw mut (*tray.as_mut_ptr()).is_full).write(false);
            (&raw mut (*tray.as_mut_ptr()).stamp).write(None);
            tray.assume_init()
        };
        f(&mut tray);
    }

    /// The place on an empty tray.
    ///
    /// # Safety
    /// The caller moves a value there at once.
    #[inline(always)]
    pub(crate) unsafe fn place(&mut self) -> &mut MaybeUninit<T> {
        debug_assert!(!self.is_full);
        self.is_full = true;
        &mut self.value
    }

    /// Puts a value of a word or two on an empty tray.
    #[inline(always)]
    pub(crate) fn put(&mut self, value: T) {
        // SAFETY: at once.
        unsafe { self.place() }.write(value);
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<T> {
        self.stamp = None;
        // SAFETY: full, and empty after this.
        std::mem::take(&mut self.is_full).then(|| unsafe { self.value.assume_init_read() })
    }

    /// Notes when what is there, or will be, was taken; `stamp`: as a place has it. An earlier note counts.
    pub(crate) fn note(&mut self, stamp: u32) {
        self.stamp = self.stamp.or(NonZero::new(stamp << 1 | 1));
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.stamp.is_some()
    }

    /// What was noted.
    pub(crate) fn take_stamp(&mut self) -> Option<u32> {
        self.stamp.take().map(|stamp| stamp.get() >> 1)
    }

    /// What is on it is somebody else's.
    #[inline(always)]
    pub(crate) fn forget(&mut self) {
        self.is_full = false;
    }

    /// Drops what is on it.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_full) {
            // SAFETY: it was full.
            unsafe { self.value.assume_init_drop() };
        }
    }
}

impl<T> Drop for Tray<T> {
    #[inline]
    fn drop(&mut self) {
        self.clear();
    }
}

/// A value as a node holds it: inline if it fits, otherwise in a box.
#[repr(transparent)]
pub(crate) struct Parcel<T> {
    words: [MaybeUninit<usize>; INLINE],
    _value: PhantomData<T>,
}

impl<T> Parcel<T> {
    /// It is inline.
    pub(crate) const FITS: bool =
        size_of::<T>() <= size_of::<[usize; INLINE]>() && align_of::<T>() <= align_of::<usize>();

    /// # Safety
    /// There is a value, and it is gone from there then.
    #[inline(always)]
    pub(crate) unsafe fn pack(value: &MaybeUninit<T>) -> Parcel<T> {
        let mut parcel = Parcel { words: [MaybeUninit::uninit(); INLINE], _value: PhantomData };
        if !Self::FITS {
            let place = Box::into_raw(Box::<T>::new_uninit());
            // SAFETY: a pointer fits.
            unsafe { parcel.words.as_mut_ptr().cast::<*mut MaybeUninit<T>>().write(place) };
        }
        // SAFETY: there is room, inline or in the box.
        unsafe { parcel.place().copy_from_nonoverlapping(value, 1) };
        parcel
    }

    /// By value: small, or on a rare way.
    pub(crate) fn new(value: T) -> Parcel<T> {
        // SAFETY: it is given up.
        unsafe { Parcel::pack(&MaybeUninit::new(value)) }
    }

    /// The value itself: small, or on a rare way.
    pub(crate) fn open(mut self) -> T {
        // SAFETY: it is gone from there then.
        unsafe {
            let value = self.place().cast::<T>().read();
            self.forget();
            value
        }
    }

    /// Moves the value to an empty place.
    #[inline(always)]
    pub(crate) fn unpack(mut self, to: &mut MaybeUninit<T>) {
        // SAFETY: it is gone from there then.
        unsafe {
            ptr::from_mut(to).copy_from_nonoverlapping(self.place(), 1);
            self.forget();
        }
    }

    /// The same, to an empty tray.
    #[inline(always)]
    pub(crate) fn serve(self, tray: &mut Tray<T>) {
        // SAFETY: at once.
        self.unpack(unsafe { tray.place() });
    }

    /// Where the value lies.
    #[inline(always)]
    pub(crate) fn place(&mut self) -> *mut MaybeUninit<T> {
        let words = self.words.as_mut_ptr();
        // SAFETY: `pack` has put the box's address there.
        if Self::FITS { words.cast() } else { unsafe { words.cast::<*mut MaybeUninit<T>>().read() } }
    }

    /// # Safety
    /// The value is gone from its place.
    #[inline(always)]
    pub(crate) unsafe fn forget(self) {
        let mut this = ManuallyDrop::new(self);
        if !Self::FITS {
            // SAFETY: a box of nothing by now.
            drop(unsafe { Box::from_raw(this.place()) });
        }
    }
}

/// The value is dropped where it lies.
impl<T> Drop for Parcel<T> {
    fn drop(&mut self) {
        let place = self.place().cast::<T>();
        // SAFETY: there is a value, inline or in a box.
        unsafe { if Self::FITS { place.drop_in_place() } else { drop(Box::from_raw(place)) } }
    }
}
