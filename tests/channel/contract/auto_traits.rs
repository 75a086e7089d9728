//! What the types are and are not: C15, C26. Each refusal has a passing twin with the same form.
//!
//! `PhantomData<Cell<T>>`-like accidents show here; what must not compile for lifetimes' sake is in
//! `tests/refusals`.

use std::cell::Cell;
use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use leno::channel::{
    Closed, Drain, IntoIter, IntoRecv, IntoSend, IntoStream, Iter, RecvError, RecvFuture, RecvStream,
    SendError, SendFuture, TryIter, TrySendError, WeakReceiver, WeakSender, broadcast, mpsc, spsc,
};
use leno::{Receiver, Sender};

use crate::impls;

type MpscWeakSender<T> = mpsc::WeakSender<T>;
type MpscIntoSend<T> = mpsc::IntoSend<T>;
type MpscIntoRecv<T> = mpsc::IntoRecv<T>;
type SpscIntoSend<T> = spsc::IntoSend<T>;
type SpscIntoRecv<T> = spsc::IntoRecv<T>;

/// C15: a type with a parameter crosses threads exactly if T: Send, needs no T: Sync for that, and is Unpin.
macro_rules! crosses_threads_with_its_values {
    ($($test:ident: $type:ident $(<$life:lifetime>)?;)*) => {$(
        #[test]
        fn $test() {
            const {
                assert!(impls!($type<$($life,)? u8>: Send));
                assert!(impls!($type<$($life,)? u8>: Sync));
                assert!(impls!($type<$($life,)? Cell<u8>>: Send), "T: Send is enough");
                assert!(!impls!($type<$($life,)? Rc<u8>>: Send), "T must be Send");
                assert!(!impls!($type<$($life,)? Rc<u8>>: Sync), "T must be Send");
                assert!(!impls!($type<$($life,)? *const u8>: Send), "T must be Send");
                assert!(impls!($type<$($life,)? PhantomPinned>: Unpin), "C26: Unpin for every T");
            }
        }
    )*};
}

crosses_threads_with_its_values! {
    sender: Sender;
    receiver: Receiver;
    send_future: SendFuture<'static>;
    recv_future: RecvFuture<'static>;
    closed: Closed<'static>;
    recv_stream: RecvStream<'static>;
    into_stream: IntoStream;
    iter: Iter<'static>;
    try_iter: TryIter<'static>;
    drain: Drain<'static>;
    into_iter: IntoIter;
    weak_sender: WeakSender;
    weak_receiver: WeakReceiver;
    mpsc_weak_sender: MpscWeakSender;
    into_send: IntoSend;
    into_recv: IntoRecv;
    mpsc_into_send: MpscIntoSend;
    mpsc_into_recv: MpscIntoRecv;
    spsc_into_send: SpscIntoSend;
    spsc_into_recv: SpscIntoRecv;
}

/// C26: so are the handles of a broadcast, which hold values.
#[test]
fn handles_of_a_broadcast_are_unpin() {
    const {
        assert!(impls!(broadcast::Sender<PhantomPinned>: Unpin));
        assert!(impls!(broadcast::Receiver<PhantomPinned>: Unpin));
    }
}

/// C15: handles are shared between threads for any T: Send, also one that is not Sync.
#[test]
fn handles_are_sync_without_sync_values() {
    const {
        assert!(impls!(Sender<Cell<u8>>: Sync));
        assert!(impls!(Receiver<Cell<u8>>: Sync));
        assert!(!impls!(Sender<Rc<u8>>: Sync));
        assert!(!impls!(Receiver<Rc<u8>>: Sync));
    }
}

/// The handles and futures are unwind-safe, whatever T is: a panic cannot leave a channel half changed (C13).
#[test]
fn handles_and_futures_are_unwind_safe() {
    const {
        assert!(impls!(Sender<Cell<u8>>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(Receiver<Cell<u8>>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(Sender<&'static mut u8>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(Receiver<&'static mut u8>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(SendFuture<'static, &'static mut u8>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(IntoRecv<Cell<u8>>: UnwindSafe + RefUnwindSafe));
        // The probe can fail.
        assert!(!impls!(&'static mut u8: UnwindSafe));
    }
}

/// Errors are plain data.
#[test]
fn errors_are_plain_data() {
    const {
        assert!(impls!(SendError<u8>: Copy + Eq + std::error::Error + Send + Sync));
        assert!(impls!(TrySendError<Rc<u8>>: std::error::Error));
        assert!(!impls!(TrySendError<Rc<u8>>: Send), "it holds the value");
        assert!(impls!(RecvError: Copy + Eq + std::error::Error + Send + Sync));
    }
}

/// Handles are one word or two; futures stay small beyond their value, because fibers hold many.
#[test]
fn handles_are_small() {
    assert!(size_of::<Sender<[u8; 64]>>() <= 2 * size_of::<usize>(), "a handle is a pointer or two");
    assert!(size_of::<Receiver<[u8; 64]>>() <= 2 * size_of::<usize>(), "a handle is a pointer or two");
    assert!(size_of::<Option<Sender<u8>>>() <= 2 * size_of::<usize>(), "a handle is a pointer or two");
}
