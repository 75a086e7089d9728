//! The operations of an spsc channel as branches: of small capacities as the [core](super::super::shared) has them, of all others
//! as [`shared`](super::shared) has.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::super::bell::{Bell, Look};
use super::super::branch::{branch, common, receives, sends, watches};
use super::super::close::is_shut;
use super::super::many::{Gives, Takes};
use super::super::shared::{End, Shared as Core, SharedRef as CoreRef};
use super::super::{RecvError, SendError};
use super::end::SharedRef as OwnRef;
use super::shared::Shared;
use crate::task::thread::Prospects;
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, Kept, Meeting, NodeRef, Parcel, Tray, Waiter, Word};

/// A pointer to a channel, kept alive by a handle; the lowest bit says whether it is of this module, or a core. (In one word: two
/// that are written one by one, and copied as one right after that, stall the processor.)
pub(in super::super) struct SharedRef<T> {
    address: NonNull<()>,
    /// A value goes in at one end and comes out at the other.
    _values: PhantomData<fn(T) -> T>,
}

/// Which of the two a channel is.
pub(in super::super) enum Which<'a, T> {
    /// Both sides wait in one word.
    Met(&'a Core<T>),
    Own(&'a Shared<T>),
}

/// Of an address: it is that of a channel of this module.
const OWN: usize = 1;

impl<T> Clone for SharedRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedRef<T> {}

impl<T> PartialEq for SharedRef<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> SharedRef<T> {
    pub(super) fn met(shared: CoreRef<T>) -> Self {
        SharedRef { address: shared.cast(), _values: PhantomData }
    }

    pub(super) fn own(shared: OwnRef<T>) -> Self {
        // SAFETY: a channel has more than one byte, and its own address is even.
        let address = unsafe { shared.cast().byte_add(OWN) };
        SharedRef { address, _values: PhantomData }
    }

    /// # Safety
    /// A handle keeps it alive for as long.
    #[inline(always)]
    pub(in super::super) unsafe fn as_ref<'a>(&self) -> Which<'a, T> {
        // SAFETY: the bit says what was put there; the caller's promise.
        unsafe {
            match self.as_own() {
                Some(own) => Which::Own(own.as_ref()),
                None => Which::Met(self.address.cast().as_ref()),
            }
        }
    }

    #[inline(always)]
    fn as_own(self) -> Option<OwnRef<T>> {
        let is_own = self.address.addr().get() & OWN != 0;
        // SAFETY: it was put there, and is within the channel.
        is_own.then(|| unsafe { self.address.byte_sub(OWN) }.cast())
    }

    /// # Safety
    /// Consumes the handle of this end.
    pub(super) unsafe fn drop_handle(self, end: End) {
        // SAFETY: as in `as_ref`; the caller's promise.
        unsafe {
            match self.as_own() {
                Some(own) => Shared::drop_handle(own, end),
                None => Core::<T>::drop_handle(self.address.cast(), end),
            }
        }
    }
}

/// What a handle or a branch asks the channel, whichever it is. `or`: only the core has it; what that is elsewhere.
macro_rules! on {
    ($($method:ident($($argument:ident: $type:ty),*) -> $result:ty $(, or $other:expr)?;)+) => {
        impl<'a, T> Which<'a, T> {$(
            #[inline(always)]
            pub(in super::super) fn $method(&self, $($argument: $type),*) -> $result {
                match self {
                    Which::Met(shared) => shared.$method($($argument),*),
                    Which::Own(_shared) => on!(@own $($other,)? _shared.$method($($argument),*)),
                }
            }
        )+}
    };
    (@own $other:expr, $own:expr) => { $other };
    (@own $own:expr) => { $own };
}
on! {
    close() -> bool;
    close_now() -> bool;
    is_closed() -> bool;
    len() -> usize;
    is_full() -> bool;
    capacity() -> Option<usize>;
    assert_valid() -> ();
    thing() -> Thing;
    prospects(end: End) -> Prospects;
    try_send(value: &mut MaybeUninit<T>, tray: &mut Tray<()>, by: &mut By) -> Attempt<()>;
    try_recv(tray: &mut Tray<T>, by: &mut By) -> Attempt<()>;
    register(end: End, node: &Waiter, pair: bool) -> bool;
    leave(end: End, node: &Waiter) -> bool;
    touch(end: End, node: &Waiter) -> bool;
    abandon_recv(node: Waiter) -> bool;
    restore(tray: &mut Tray<T>) -> ();
    watchers() -> &'a Bell;
    idle(end: End) -> Option<Word>, or None;
    enter(end: End, word: Word, node: &Waiter) -> bool, or false;
    meet_receiver(value: &MaybeUninit<T>) -> Meeting, or Meeting::Unclear(Kept::default());
    meet_sender(tray: &mut Tray<T>) -> Meeting, or Meeting::Unclear(Kept::default());
    is_unsure(end: End) -> bool, or false;
    note_taken(tray: &mut Tray<T>) -> (), or ();
    is_rendezvous() -> bool, or false;
    opposite(end: End) -> Option<usize>, or Some(0);
}

/// What is other in the core.
impl<T> Which<'_, T> {
    #[inline(always)]
    fn quick_send(&self, value: &MaybeUninit<T>) -> bool {
        match self {
            // (It is no linked one.)
            Which::Met(shared) => shared.quick_put_into_ring(value),
            Which::Own(shared) => shared.quick_send(value),
        }
    }

    #[inline(always)]
    fn quick_recv(&self, tray: &mut Tray<T>) -> bool {
        match self {
            Which::Met(shared) => shared.quick_take_from_ring(tray),
            Which::Own(shared) => shared.quick_recv(tray),
        }
    }

    /// # Safety
    /// The value is gone from there then.
    unsafe fn dispose_at(&self, place: *mut T) {
        // SAFETY: the caller's promise. (Nobody is told of what is undelivered: only the general kind has that.)
        unsafe { place.drop_in_place() };
    }
}

/// A send. The value is here until the operation is over, or in the node while it waits.
pub struct Send<T> {
    pub(in super::super) shared: SharedRef<T>,
    pub(in super::super) value: MaybeUninit<T>,
}

pub struct Recv<T> {
    pub(in super::super) shared: SharedRef<T>,
}

/// Waiting for the channel to close.
pub struct Watch<T> {
    pub(in super::super) shared: SharedRef<T>,
}

branch!(Which<'_, T>: Send Recv Watch);

impl<T> Branch for Send<T> {
    sends!();
}

impl<T> Branch for Recv<T> {
    receives!();
}

impl<T> Look for Watch<T> {
    watches!();
}

impl<T> Gives<T> for Send<T> {
    #[inline(always)]
    fn place(&mut self) -> &mut MaybeUninit<T> {
        &mut self.value
    }

    fn several(&self, values: &mut VecDeque<T>, _by: Option<&mut By>) -> usize {
        match self.shared() {
            Which::Met(shared) => shared.put_into_ring(values),
            Which::Own(shared) => shared.send_several(values),
        }
    }
}

impl<T> Takes<T> for Recv<T> {
    fn several(&self, out: &mut Vec<T>, max: usize, _by: Option<&mut By>) -> usize {
        match self.shared() {
            Which::Met(shared) => shared.take_from_ring(out, max),
            Which::Own(shared) => shared.recv_several(out, max),
        }
    }
}
