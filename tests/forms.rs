//! The forms of public names that programs outside of this repository rely on: what a method takes and gives, and what
//! all futures have in common. It is checked when this is compiled; nothing runs. What crosses threads:
//! `channel/contract/auto_traits.rs`.
#![allow(clippy::type_complexity, reason = "forms are written out")]

#[path = "support/probe.rs"]
mod probe;

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt::{Debug, Display};
use std::future::{Future, Ready};
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::Stream;
use futures_core::future::FusedFuture;
use futures_core::stream::FusedStream;
use leno::channel::{Builder, Receiver, Sender};
use leno::fiber::Elapsed;

/// It can do nothing.
struct Dumb;

/// `path as a function of these parameters: result`.
macro_rules! forms {
    ($($path:expr => $form:ty;)+) => {$(
        let _: $form = $path;
    )+};
}

/// Futures that are one operation: named, `Unpin`, waited for on threads, claimed by selects. `timed` is what the waits
/// with a limit give.
macro_rules! operations {
    ($($future:ty => $output:ty, timed $timed:ty;)+) => {$(
        let _: fn($future) -> $output = <$future>::wait;
        let _: fn($future, Duration) -> $timed = <$future>::wait_timeout;
        let _: fn($future, Instant) -> $timed = <$future>::wait_deadline;
        const {
            assert!(impls!($future: Future<Output = $output> + FusedFuture + Unpin + Debug + Send));
            assert!(impls!($future: leno::select::Branch<Output = $output>));
            assert!(impls!(&'static mut $future: leno::select::Branch<Output = $output>));
        }
    )+};
}

/// Other futures of leno: they are waited for on threads as well, and may be waited for again where the time was up.
macro_rules! futures {
    ($($future:ty => $output:ty;)+) => {$(
        let _: fn($future) -> $output = <$future>::wait;
        let _: for<'a> fn(&'a mut $future, Duration) -> Result<$output, Elapsed> = <$future>::wait_timeout;
        let _: for<'a> fn(&'a mut $future, Instant) -> Result<$output, Elapsed> = <$future>::wait_deadline;
        const {
            assert!(impls!($future: Future<Output = $output> + Unpin + Debug));
        }
    )+};
}

/// Errors are plain data.
macro_rules! errors {
    ($($error:ty)+) => {
        const {
            $(assert!(impls!($error: std::error::Error + Clone + Eq + Send + Sync + 'static));)+
        }
    };
}

#[test]
fn builders() {
    use leno::channel::Overflow;

    type Pair = (Sender<u8>, Receiver<u8>);
    forms! {
        leno::conflated => fn() -> Pair;
        leno::channel::conflated => fn() -> Pair;
        Builder::new => fn() -> Builder<u8>;
        Builder::capacity => fn(Builder<u8>, usize) -> Builder<u8>;
        Builder::unbounded => fn(Builder<u8>) -> Builder<u8>;
        Builder::overflow => fn(Builder<u8>, Overflow) -> Builder<u8>;
        Builder::on_undelivered => fn(Builder<u8>, fn(u8)) -> Builder<u8>;
        Builder::name => fn(Builder<u8>, &'static str) -> Builder<u8>;
        Builder::name => fn(Builder<u8>, String) -> Builder<u8>;
        Builder::build => fn(Builder<u8>) -> Pair;
    }
    const { assert!(impls!(Builder<u8>: Default + Debug + Send)) };
    let overflow = Overflow::default();
    match overflow {
        Overflow::Suspend | Overflow::DropOldest | Overflow::DropNewest => {}
    }
}

/// What the general kind and mpsc have both, but for `&mut` where a receiver is single; `spsc` in [`spsc_channels`].
macro_rules! channels {
    ($test:ident, $kind:path, $($alone:tt)?) => {
        #[test]
        fn $test() {
            use $kind::*;

            type Pair = (Sender<u8>, Receiver<u8>);
            type Tx = Sender<u8>;
            type Rx = Receiver<u8>;
            forms! {
                rendezvous => fn() -> Pair;
                bounded => fn(usize) -> Pair;
                unbounded => fn() -> Pair;

                Tx::send => for<'a> fn(&'a Tx, u8) -> SendFuture<'a, u8>;
                Tx::try_send => fn(&Tx, u8) -> Result<(), TrySendError<u8>>;
                Tx::force_send => fn(&Tx, u8) -> Result<Option<u8>, SendError<u8>>;
                Tx::send_blocking => fn(&Tx, u8) -> Result<(), SendError<u8>>;
                Tx::send_timeout => fn(&Tx, u8, Duration) -> Result<(), SendTimeoutError<u8>>;
                Tx::send_deadline => fn(&Tx, u8, Instant) -> Result<(), SendTimeoutError<u8>>;
                Tx::send_many => for<'a> fn(&'a Tx, &'a mut VecDeque<u8>) -> SendMany<'a, u8>;
                Tx::try_send_many => fn(&Tx, &mut VecDeque<u8>) -> Result<usize, TrySendError<()>>;
                Tx::closed => for<'a> fn(&'a Tx) -> Closed<'a, u8>;
                Tx::reserve => for<'a> fn(&'a Tx) -> Reserve<'a, u8>;
                Tx::try_reserve => for<'a> fn(&'a Tx) -> Result<Permit<'a, u8>, TryReserveError>;
                Tx::reserve_many => for<'a> fn(&'a Tx, usize) -> ReserveMany<'a, u8>;
                Tx::reserve_owned => fn(Tx) -> ReserveOwned<u8>;
                ReserveOwned::into_sender => fn(ReserveOwned<u8>) -> Option<Tx>;
                Permit::send => fn(Permit<'static, u8>, u8) -> Result<(), SendError<u8>>;
                OwnedPermit::send => fn(OwnedPermit<u8>, u8) -> Result<Tx, SendError<u8>>;
                OwnedPermit::release => fn(OwnedPermit<u8>) -> Tx;
                Tx::into_send => fn(Tx, u8) -> IntoSend<u8>;
                IntoSend::into_parts => fn(IntoSend<u8>) -> (Tx, Option<u8>);
                Tx::downgrade => fn(&Tx) -> WeakSender<u8>;
                WeakSender::upgrade => fn(&WeakSender<u8>) -> Option<Tx>;
                Tx::sender_count => fn(&Tx) -> usize;

                Rx::recv => for<'a> fn(&'a $($alone)? Rx) -> RecvFuture<'a, u8>;
                Rx::try_recv => fn(&$($alone)? Rx) -> Result<u8, TryRecvError>;
                Rx::recv_blocking => fn(&$($alone)? Rx) -> Result<u8, RecvError>;
                Rx::recv_timeout => fn(&$($alone)? Rx, Duration) -> Result<u8, RecvTimeoutError>;
                Rx::recv_deadline => fn(&$($alone)? Rx, Instant) -> Result<u8, RecvTimeoutError>;
                Rx::recv_many => for<'a> fn(&'a $($alone)? Rx, &'a mut Vec<u8>, usize) -> RecvMany<'a, u8>;
                Rx::try_recv_many => fn(&$($alone)? Rx, &mut Vec<u8>, usize) -> Result<usize, TryRecvError>;
                Rx::drain => for<'a> fn(&'a $($alone)? Rx) -> Drain<'a, u8>;
                Rx::iter => for<'a> fn(&'a $($alone)? Rx) -> Iter<'a, u8>;
                Rx::try_iter => for<'a> fn(&'a $($alone)? Rx) -> TryIter<'a, u8>;
                Rx::stream => for<'a> fn(&'a $($alone)? Rx) -> RecvStream<'a, u8>;
                Rx::into_stream => fn(Rx) -> IntoStream<u8>;
                IntoStream::into_receiver => fn(IntoStream<u8>) -> Rx;
                Rx::into_recv => fn(Rx) -> IntoRecv<u8>;
                IntoRecv::into_receiver => fn(IntoRecv<u8>) -> Rx;
                Rx::into_iter => fn(Rx) -> IntoIter<u8>;
            }
            forms! {
                Tx::close => fn(&Tx) -> bool;                     Rx::close => fn(&Rx) -> bool;
                Tx::close_now => fn(&Tx) -> bool;                 Rx::close_now => fn(&Rx) -> bool;
                Tx::is_closed => fn(&Tx) -> bool;                 Rx::is_closed => fn(&Rx) -> bool;
                Tx::len => fn(&Tx) -> usize;                      Rx::len => fn(&Rx) -> usize;
                Tx::is_empty => fn(&Tx) -> bool;                  Rx::is_empty => fn(&Rx) -> bool;
                Tx::is_full => fn(&Tx) -> bool;                   Rx::is_full => fn(&Rx) -> bool;
                Tx::capacity => fn(&Tx) -> Option<usize>;         Rx::capacity => fn(&Rx) -> Option<usize>;
                Tx::same_channel => fn(&Tx, &Tx) -> bool;         Rx::same_channel => fn(&Rx, &Rx) -> bool;
            }
            type NoRoom = ReserveTimeoutError;
            operations! {
                SendFuture<'static, u8> => Result<(), SendError<u8>>, timed Result<(), SendTimeoutError<u8>>;
                RecvFuture<'static, u8> => Result<u8, RecvError>, timed Result<u8, RecvTimeoutError>;
                IntoSend<u8> => Result<(), SendError<u8>>, timed Result<(), SendTimeoutError<u8>>;
                IntoRecv<u8> => Result<u8, RecvError>, timed Result<u8, RecvTimeoutError>;
                Closed<'static, u8> => (), timed Result<(), Elapsed>;
                SendMany<'static, u8> => Result<usize, SendError<()>>, timed Result<usize, SendTimeoutError<()>>;
                RecvMany<'static, u8> => Result<usize, RecvError>, timed Result<usize, RecvTimeoutError>;
                Reserve<'static, u8> => Result<Permit<'static, u8>, ReserveError>,
                    timed Result<Permit<'static, u8>, NoRoom>;
                ReserveMany<'static, u8> => Result<Permits<'static, u8>, ReserveManyError>,
                    timed Result<Permits<'static, u8>, NoRoom>;
                ReserveOwned<u8> => Result<OwnedPermit<u8>, ReserveError>, timed Result<OwnedPermit<u8>, NoRoom>;
            }
            const {
                assert!(impls!(Sender<String>: Clone + Debug + Send + Sync));
                assert!(impls!(WeakSender<String>: Clone + Debug + Send + Sync));
                assert!(impls!(Permits<'static, u8>: ExactSizeIterator<Item = Permit<'static, u8>>));
                assert!(impls!(Permits<'static, u8>: Debug + Send + Sync));
                assert!(impls!(Permit<'static, u8>: Debug + Send + Sync));
                assert!(impls!(OwnedPermit<u8>: Debug + Send + Sync));
            }
        }
    };
}

channels!(general_channels, leno::channel,);
channels!(mpsc_channels, leno::channel::mpsc, mut);

#[test]
fn spsc_channels() {
    use leno::channel::spsc::*;

    type Pair = (Sender<u8>, Receiver<u8>);
    type Tx = Sender<u8>;
    type Rx = Receiver<u8>;
    forms! {
        rendezvous => fn() -> Pair;
        bounded => fn(usize) -> Pair;
        unbounded => fn() -> Pair;

        Tx::send => for<'a> fn(&'a mut Tx, u8) -> SendFuture<'a, u8>;
        Tx::try_send => fn(&mut Tx, u8) -> Result<(), TrySendError<u8>>;
        Tx::send_blocking => fn(&mut Tx, u8) -> Result<(), SendError<u8>>;
        Tx::send_timeout => fn(&mut Tx, u8, Duration) -> Result<(), SendTimeoutError<u8>>;
        Tx::send_deadline => fn(&mut Tx, u8, Instant) -> Result<(), SendTimeoutError<u8>>;
        Tx::send_many => for<'a> fn(&'a mut Tx, &'a mut VecDeque<u8>) -> SendMany<'a, u8>;
        Tx::try_send_many => fn(&mut Tx, &mut VecDeque<u8>) -> Result<usize, TrySendError<()>>;
        Tx::closed => for<'a> fn(&'a mut Tx) -> Closed<'a, u8>;
        Tx::into_send => fn(Tx, u8) -> IntoSend<u8>;

        Rx::recv => for<'a> fn(&'a mut Rx) -> RecvFuture<'a, u8>;
        Rx::try_recv => fn(&mut Rx) -> Result<u8, TryRecvError>;
        Rx::recv_blocking => fn(&mut Rx) -> Result<u8, RecvError>;
        Rx::recv_timeout => fn(&mut Rx, Duration) -> Result<u8, RecvTimeoutError>;
        Rx::recv_deadline => fn(&mut Rx, Instant) -> Result<u8, RecvTimeoutError>;
        Rx::recv_many => for<'a> fn(&'a mut Rx, &'a mut Vec<u8>, usize) -> RecvMany<'a, u8>;
        Rx::try_recv_many => fn(&mut Rx, &mut Vec<u8>, usize) -> Result<usize, TryRecvError>;
        Rx::drain => for<'a> fn(&'a mut Rx) -> Drain<'a, u8>;
        Rx::iter => for<'a> fn(&'a mut Rx) -> Iter<'a, u8>;
        Rx::try_iter => for<'a> fn(&'a mut Rx) -> TryIter<'a, u8>;
        Rx::stream => for<'a> fn(&'a mut Rx) -> RecvStream<'a, u8>;
        Rx::into_stream => fn(Rx) -> IntoStream<u8>;
        IntoStream::into_receiver => fn(IntoStream<u8>) -> Rx;
        Rx::into_recv => fn(Rx) -> IntoRecv<u8>;
        Rx::into_iter => fn(Rx) -> IntoIter<u8>;
    }
    forms! {
        Tx::close => fn(&Tx) -> bool;                     Rx::close => fn(&Rx) -> bool;
        Tx::close_now => fn(&Tx) -> bool;                 Rx::close_now => fn(&Rx) -> bool;
        Tx::is_closed => fn(&Tx) -> bool;                 Rx::is_closed => fn(&Rx) -> bool;
        Tx::len => fn(&Tx) -> usize;                      Rx::len => fn(&Rx) -> usize;
        Tx::is_empty => fn(&Tx) -> bool;                  Rx::is_empty => fn(&Rx) -> bool;
        Tx::is_full => fn(&Tx) -> bool;                   Rx::is_full => fn(&Rx) -> bool;
        Tx::capacity => fn(&Tx) -> Option<usize>;         Rx::capacity => fn(&Rx) -> Option<usize>;
        Tx::same_channel => fn(&Tx, &Tx) -> bool;         Rx::same_channel => fn(&Rx, &Rx) -> bool;
    }
    operations! {
        SendFuture<'static, u8> => Result<(), SendError<u8>>, timed Result<(), SendTimeoutError<u8>>;
        RecvFuture<'static, u8> => Result<u8, RecvError>, timed Result<u8, RecvTimeoutError>;
        IntoSend<u8> => Result<(), SendError<u8>>, timed Result<(), SendTimeoutError<u8>>;
        IntoRecv<u8> => Result<u8, RecvError>, timed Result<u8, RecvTimeoutError>;
        Closed<'static, u8> => (), timed Result<(), Elapsed>;
        SendMany<'static, u8> => Result<usize, SendError<()>>, timed Result<usize, SendTimeoutError<()>>;
        RecvMany<'static, u8> => Result<usize, RecvError>, timed Result<usize, RecvTimeoutError>;
    }
    const {
        assert!(!impls!(Sender<u8>: Clone) && !impls!(Receiver<u8>: Clone));
        assert!(!impls!(leno::channel::mpsc::Receiver<u8>: Clone));
        assert!(!impls!(Sender<u8>: Into<leno::Sender<u8>>), "kinds do not convert");
        assert!(!impls!(leno::channel::mpsc::Sender<u8>: Into<leno::Sender<u8>>), "kinds do not convert");
    }
}

/// What the general kind alone has, and errors.
#[test]
fn receivers_and_errors() {
    use leno::channel::*;

    type Rx = Receiver<u8>;
    forms! {
        Rx::downgrade => fn(&Rx) -> WeakReceiver<u8>;
        WeakReceiver::upgrade => fn(&WeakReceiver<u8>) -> Option<Rx>;
        Rx::sender_count => fn(&Rx) -> usize;
        Rx::receiver_count => fn(&Rx) -> usize;
        mpsc::Receiver::sender_count => fn(&mpsc::Receiver<u8>) -> usize;
        ReserveError::Closed => ReserveError;
        ReserveError::Rendezvous => ReserveError;
        TryReserveError::Full => TryReserveError;
        TryReserveError::Closed => TryReserveError;
    }
    const { assert!(impls!(WeakReceiver<String>: Clone + Debug + Send + Sync) && impls!(Rx: Clone)) };
    const {
        assert!(impls!(SendError<u8>: Into<TrySendError<u8>> + Into<SendTimeoutError<u8>>));
        assert!(impls!(RecvError: Into<TryRecvError> + Into<RecvTimeoutError>));
        assert!(impls!(TrySendError<Dumb>: std::error::Error), "whatever the value is");
    }
    errors! {
        SendError<u8> TrySendError<u8> SendTimeoutError<u8> RecvError TryRecvError RecvTimeoutError
        ReserveError ReserveManyError ReserveTimeoutError TryReserveError
    }
}

#[test]
fn oneshots() {
    use leno::channel::oneshot::*;

    type Tx = Sender<u8>;
    type Rx = Receiver<u8>;
    forms! {
        channel => fn() -> (Tx, Rx);
        Tx::send => fn(Tx, u8) -> Result<(), SendError<u8>>;
        Tx::closed => for<'a> fn(&'a mut Tx) -> Closed<'a, u8>;
        Tx::is_closed => fn(&Tx) -> bool;
        Rx::try_recv => fn(&mut Rx) -> Result<u8, TryRecvError>;
        Rx::close => fn(&mut Rx);
        Rx::recv_blocking => fn(Rx) -> Result<u8, RecvError>;
        Rx::wait => fn(Rx) -> Result<u8, RecvError>;
        Rx::wait_timeout => fn(&mut Rx, Duration) -> Result<u8, RecvTimeoutError>;
        Rx::wait_deadline => fn(&mut Rx, Instant) -> Result<u8, RecvTimeoutError>;
    }
    operations! {
        Closed<'static, u8> => (), timed Result<(), Elapsed>;
    }
    const {
        assert!(impls!(Rx: Future<Output = Result<u8, RecvError>> + FusedFuture + Unpin + Debug + Send));
        assert!(impls!(Rx: leno::select::Branch<Output = Result<u8, RecvError>>));
    }
}

#[test]
fn broadcasts() {
    use leno::channel::broadcast::*;

    type Tx = Sender<u8>;
    type Rx = Receiver<u8>;
    forms! {
        channel => fn(usize) -> (Tx, Rx);
        with_lag => fn(usize, Lag) -> (Tx, Rx);
        Lag::Drop => Lag;
        Lag::Suspend => Lag;
        Tx::send => fn(&Tx, u8) -> Result<usize, SendError<u8>>;
        Tx::try_send => fn(&Tx, u8) -> Result<usize, TrySendError<u8>>;
        Tx::send_async => for<'a> fn(&'a Tx, u8) -> SendAsync<'a, u8>;
        Tx::subscribe => fn(&Tx) -> Rx;
        Rx::recv => for<'a> fn(&'a mut Rx) -> Recv<'a, u8>;
        Rx::try_recv => fn(&mut Rx) -> Result<u8, TryRecvError>;
        Rx::resubscribe => fn(&Rx) -> Rx;
        RecvError::Closed => RecvError;
        RecvError::Lagged => fn(u64) -> RecvError;
    }
    operations! {
        Recv<'static, u8> => Result<u8, RecvError>, timed Result<u8, RecvTimeoutError>;
        SendAsync<'static, u8> => Result<usize, SendError<u8>>, timed Result<usize, SendTimeoutError<u8>>;
        Closed<'static, u8> => (), timed Result<(), Elapsed>;
    }
    const {
        assert!(impls!(Tx: Clone + Debug + Send + Sync) && impls!(Rx: Clone + Debug + Send + Sync));
        assert!(impls!(Feed<'static, u8>: Stream<Item = Result<u8, Lagged>> + Unpin));
        assert!(impls!(IntoFeed<u8>: Stream<Item = Result<u8, Lagged>> + Unpin));
    }
    errors! { RecvError TryRecvError RecvTimeoutError }
}

#[test]
fn watches() {
    use leno::channel::watch::*;

    type Tx = Sender<u8>;
    type Rx = Receiver<u8>;
    type Wanted = fn(&u8) -> bool;
    forms! {
        channel => fn(u8) -> (Tx, Rx);
        Tx::send => fn(&Tx, u8) -> Result<(), SendError<u8>>;
        Tx::send_modify => fn(&Tx, fn(&mut u8));
        Tx::send_if_modified => fn(&Tx, fn(&mut u8) -> bool) -> bool;
        Tx::send_replace => fn(&Tx, u8) -> u8;
        Tx::borrow => for<'a> fn(&'a Tx) -> Ref<'a, u8>;
        Tx::subscribe => fn(&Tx) -> Rx;
        Tx::closed => for<'a> fn(&'a Tx) -> Closed<'a, u8>;
        Rx::borrow => for<'a> fn(&'a Rx) -> Ref<'a, u8>;
        Rx::borrow_and_update => for<'a> fn(&'a mut Rx) -> Ref<'a, u8>;
        Rx::has_changed => fn(&Rx) -> Result<bool, RecvError>;
        Rx::changed => for<'a> fn(&'a mut Rx) -> Changed<'a, u8>;
        Rx::wait_for => for<'a> fn(&'a mut Rx, Wanted) -> WaitFor<'a, u8, Wanted>;
    }
    type Waits<T> = Result<T, Elapsed>;
    operations! {
        Changed<'static, u8> => Result<(), RecvError>, timed Waits<Result<(), RecvError>>;
        WaitFor<'static, u8, Wanted> => Result<Ref<'static, u8>, RecvError>,
            timed Waits<Result<Ref<'static, u8>, RecvError>>;
        Closed<'static, u8> => (), timed Waits<()>;
    }
    const { assert!(impls!(Rx: Clone + Debug + Send + Sync) && impls!(Ref<'static, u8>: Deref<Target = u8>)) };
}

#[test]
fn tickers() {
    use leno::channel::ticker::{Missed, after, at, never, tick, tick_with};

    type Ticks = Receiver<Instant>;
    forms! {
        after => fn(Duration) -> Ticks;
        at => fn(Instant) -> Ticks;
        tick => fn(Duration) -> Ticks;
        tick_with => fn(Duration, Missed) -> Ticks;
        never => fn() -> Ticks;
        Missed::Burst => Missed;
        Missed::Delay => Missed;
        Missed::Skip => Missed;
    }
}

#[test]
fn sets() {
    use leno::channel::{mpsc, spsc};
    use leno::select::{BranchToken, Operation, ReadyFuture, RecvToken, Select, SelectFuture, SendToken};

    type Set = Select<'static>;
    type Chosen = Operation<'static, 'static>;
    forms! {
        Set::new => fn() -> Set;
        Set::biased => fn() -> Set;
        Set::recv => fn(&mut Set, &'static Receiver<u8>) -> RecvToken<u8>;
        Set::recv => fn(&mut Set, &'static mut mpsc::Receiver<u8>) -> RecvToken<u8>;
        Set::recv => fn(&mut Set, &'static mut spsc::Receiver<u8>) -> RecvToken<u8>;
        Set::send => fn(&mut Set, &'static Sender<u8>, u8) -> SendToken<u8>;
        Set::send => fn(&mut Set, &'static mpsc::Sender<u8>, u8) -> SendToken<u8>;
        Set::send => fn(&mut Set, &'static mut spsc::Sender<u8>, u8) -> SendToken<u8>;
        Set::add => fn(&mut Set, leno::sync::Notified<'static>) -> BranchToken<()>;
        Set::remove => fn(&mut Set, RecvToken<u8>) -> ();
        Set::remove => fn(&mut Set, SendToken<u8>) -> Option<u8>;
        Set::len => fn(&Set) -> usize;
        Set::is_empty => fn(&Set) -> bool;
        Set::select => for<'s> fn(&'s mut Set) -> SelectFuture<'s, 'static>;
        Set::try_select => for<'s> fn(&'s mut Set) -> Option<Operation<'s, 'static>>;
        Set::ready => for<'s> fn(&'s mut Set) -> ReadyFuture<'s, 'static>;
        Set::try_ready => fn(&mut Set) -> Option<usize>;
        Set::ready_blocking => fn(&mut Set) -> usize;
        Set::ready_timeout => fn(&mut Set, Duration) -> Result<usize, Elapsed>;
        Set::ready_deadline => fn(&mut Set, Instant) -> Result<usize, Elapsed>;
        RecvToken::<u8>::index => fn(RecvToken<u8>) -> usize;
        Chosen::index => fn(&Chosen) -> usize;
        Chosen::is => fn(&Chosen, SendToken<u8>) -> bool;
        Chosen::recv => fn(Chosen, RecvToken<u8>) -> Result<u8, leno::channel::RecvError>;
        Chosen::send => fn(Chosen, SendToken<u8>) -> Result<(), leno::channel::SendError<u8>>;
        Chosen::output => fn(Chosen, BranchToken<u8>) -> u8;
        SelectFuture::wait => fn(SelectFuture<'static, 'static>) -> Chosen;
        SelectFuture::wait_timeout => fn(SelectFuture<'static, 'static>, Duration) -> Result<Chosen, Elapsed>;
        SelectFuture::wait_deadline => fn(SelectFuture<'static, 'static>, Instant) -> Result<Chosen, Elapsed>;
        ReadyFuture::wait => fn(ReadyFuture<'static, 'static>) -> usize;
        ReadyFuture::wait_timeout => fn(ReadyFuture<'static, 'static>, Duration) -> Result<usize, Elapsed>;
        ReadyFuture::wait_deadline => fn(ReadyFuture<'static, 'static>, Instant) -> Result<usize, Elapsed>;
    }
    const { assert!(impls!(Set: Default + Debug + Send)) };
    // What becomes a reference to a handle by itself.
    fn lent<'a>(set: &mut Select<'a>, some: &[&'a Receiver<u8>], shared: &'a Arc<Sender<u8>>) {
        for rx in some {
            set.recv(rx);
        }
        set.send(shared, 1);
    }
    let _ = lent;
}

/// `default` may stand alone; 32 branches.
#[test]
fn macros() {
    async fn alone() -> u8 {
        leno::select! { default => 7 }
    }
    async fn many(rx: &Receiver<u8>) -> Result<u8, leno::channel::RecvError> {
        leno::select! {
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
            v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v, v = rx.recv() => v,
        }
    }
    let _ = (alone, many);
}

#[test]
fn mutexes() {
    use leno::sync::*;

    type Lone = Mutex<u8>;
    /// Sync, and not Send.
    type Tied = std::sync::MutexGuard<'static, ()>;
    type Held = MutexGuard<'static, u8>;
    type Mapped = MappedMutexGuard<'static, u8>;
    static PLAIN: Lone = Mutex::new(0);
    static FAIR: Lone = Mutex::fair(0);
    forms! {
        Lone::lock => for<'a> fn(&'a Lone) -> Lock<'a, u8>;
        Lone::try_lock => for<'a> fn(&'a Lone) -> Option<MutexGuard<'a, u8>>;
        Lone::lock_blocking => for<'a> fn(&'a Lone) -> MutexGuard<'a, u8>;
        Lone::lock_timeout => for<'a> fn(&'a Lone, Duration) -> Option<MutexGuard<'a, u8>>;
        Lone::lock_arc => fn(&Arc<Lone>) -> LockArc<u8>;
        Lone::try_lock_arc => fn(&Arc<Lone>) -> Option<OwnedMutexGuard<u8>>;
        Lone::get_mut => fn(&mut Lone) -> &mut u8;
        Lone::into_inner => fn(Lone) -> u8;
        MutexGuard::map => fn(Held, fn(&mut u8) -> &mut u8) -> Mapped;
        MappedMutexGuard::map => fn(Mapped, fn(&mut u8) -> &mut u8) -> Mapped;
        MutexGuard::unlock_fair => fn(Held);
        MappedMutexGuard::unlock_fair => fn(Mapped);
        OwnedMutexGuard::unlock_fair => fn(OwnedMutexGuard<u8>);
        Lone::is_locked => fn(&Lone) -> bool;
    }
    operations! {
        Lock<'static, u8> => Held, timed Result<Held, Elapsed>;
        LockArc<u8> => OwnedMutexGuard<u8>, timed Result<OwnedMutexGuard<u8>, Elapsed>;
    }
    const {
        assert!(impls!(Lone: Default + From<u8> + Debug) && impls!(Held: DerefMut<Target = u8> + Debug));
        assert!(impls!(OwnedMutexGuard<u8>: DerefMut<Target = u8> + Debug + Send + Sync));
        assert!(impls!(Mapped: DerefMut<Target = u8> + Debug));
        // They hand out the mutex.
        assert!(!impls!(MutexGuard<'static, Tied>: Sync) && !impls!(OwnedMutexGuard<Tied>: Sync));
        assert!(impls!(MappedMutexGuard<'static, Tied>: Sync));
        // As std's guards: a panic leaves a lock unlocked, whatever it guards.
        assert!(impls!(MutexGuard<'static, Cell<u8>>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(MappedMutexGuard<'static, Cell<u8>>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(OwnedMutexGuard<Cell<u8>>: UnwindSafe + RefUnwindSafe));
    }
    let _ = (&PLAIN, &FAIR);
}

#[test]
fn locks() {
    use leno::sync::*;

    type Lock = RwLock<u8>;
    type Reads = RwLockReadGuard<'static, u8>;
    type Writes = RwLockWriteGuard<'static, u8>;
    type Upgradable = RwLockUpgradableReadGuard<'static, u8>;
    static SEMAPHORE: Semaphore = Semaphore::new(3);
    static LOCK: Lock = RwLock::new(0);
    forms! {
        Semaphore::acquire => for<'a> fn(&'a Semaphore) -> Acquire<'a>;
        Semaphore::acquire_many => for<'a> fn(&'a Semaphore, u32) -> Acquire<'a>;
        Semaphore::try_acquire => for<'a> fn(&'a Semaphore) -> Result<Permit<'a>, TryAcquireError>;
        Semaphore::try_acquire_many => for<'a> fn(&'a Semaphore, u32) -> Result<Permit<'a>, TryAcquireError>;
        Semaphore::acquire_arc => fn(&Arc<Semaphore>) -> AcquireArc;
        Semaphore::acquire_arc_many => fn(&Arc<Semaphore>, u32) -> AcquireArc;
        Semaphore::add_permits => fn(&Semaphore, usize);
        Semaphore::forget_permits => fn(&Semaphore, usize) -> usize;
        Semaphore::available_permits => fn(&Semaphore) -> usize;
        Semaphore::close => fn(&Semaphore) -> bool;
        Semaphore::is_closed => fn(&Semaphore) -> bool;
        Permit::forget => fn(Permit<'static>);
        Permit::split => fn(&mut Permit<'static>, usize) -> Option<Permit<'static>>;
        Permit::merge => fn(&mut Permit<'static>, Permit<'static>);
        TryAcquireError::Closed => TryAcquireError;
        TryAcquireError::NoPermits => TryAcquireError;

        Lock::read => for<'a> fn(&'a Lock) -> Read<'a, u8>;
        Lock::write => for<'a> fn(&'a Lock) -> Write<'a, u8>;
        Lock::upgradable_read => for<'a> fn(&'a Lock) -> UpgradableRead<'a, u8>;
        Lock::try_read => for<'a> fn(&'a Lock) -> Option<RwLockReadGuard<'a, u8>>;
        Lock::try_write => for<'a> fn(&'a Lock) -> Option<RwLockWriteGuard<'a, u8>>;
        Lock::try_upgradable_read => for<'a> fn(&'a Lock) -> Option<RwLockUpgradableReadGuard<'a, u8>>;
        Lock::read_arc => fn(&Arc<Lock>) -> ReadArc<u8>;
        Lock::write_arc => fn(&Arc<Lock>) -> WriteArc<u8>;
        Lock::upgradable_read_arc => fn(&Arc<Lock>) -> UpgradableReadArc<u8>;
        RwLockReadGuard::map => fn(Reads, fn(&u8) -> &u8) -> MappedRwLockReadGuard<'static, u8>;
        RwLockReadGuard::try_map =>
            fn(Reads, fn(&u8) -> Option<&u8>) -> Result<MappedRwLockReadGuard<'static, u8>, Reads>;
        RwLockWriteGuard::map => fn(Writes, fn(&mut u8) -> &mut u8) -> MappedRwLockWriteGuard<'static, u8>;
        RwLockWriteGuard::try_map =>
            fn(Writes, fn(&mut u8) -> Option<&mut u8>) -> Result<MappedRwLockWriteGuard<'static, u8>, Writes>;
        RwLockWriteGuard::downgrade => fn(Writes) -> Reads;
        RwLockUpgradableReadGuard::upgrade => fn(Upgradable) -> Upgrade<'static, u8>;
        RwLockUpgradableReadGuard::try_upgrade => fn(Upgradable) -> Result<Writes, Upgradable>;
    }
    operations! {
        Acquire<'static> => Result<Permit<'static>, AcquireError>, timed Result<Permit<'static>, AcquireTimeoutError>;
        AcquireArc => Result<OwnedPermit, AcquireError>, timed Result<OwnedPermit, AcquireTimeoutError>;
        Read<'static, u8> => Reads, timed Result<Reads, Elapsed>;
        Write<'static, u8> => Writes, timed Result<Writes, Elapsed>;
        UpgradableRead<'static, u8> => Upgradable, timed Result<Upgradable, Elapsed>;
        Upgrade<'static, u8> => Writes, timed Result<Writes, Elapsed>;
        ReadArc<u8> => OwnedRwLockReadGuard<u8>, timed Result<OwnedRwLockReadGuard<u8>, Elapsed>;
        UpgradableReadArc<u8> => OwnedRwLockUpgradableReadGuard<u8>, timed Result<OwnedRwLockUpgradableReadGuard<u8>, Elapsed>;
        UpgradeArc<u8> => OwnedRwLockWriteGuard<u8>, timed Result<OwnedRwLockWriteGuard<u8>, Elapsed>;
        WriteArc<u8> => OwnedRwLockWriteGuard<u8>, timed Result<OwnedRwLockWriteGuard<u8>, Elapsed>;
    }
    const {
        assert!(impls!(Writes: DerefMut<Target = u8>) && impls!(Upgradable: Deref<Target = u8>));
        assert!(
            impls!(RwLockReadGuard<'static, Cell<u8>>: UnwindSafe)
                && impls!(OwnedRwLockReadGuard<Cell<u8>>: UnwindSafe)
        );
        assert!(impls!(RwLockWriteGuard<'static, Cell<u8>>: UnwindSafe));
        assert!(impls!(MappedRwLockReadGuard<'static, Cell<u8>>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(MappedRwLockWriteGuard<'static, Cell<u8>>: UnwindSafe + RefUnwindSafe));
    };
    errors! { AcquireError TryAcquireError AcquireTimeoutError }
    let _ = (&SEMAPHORE, &LOCK);
}

/// A struct that keeps operations says nothing of what their values borrow.
#[allow(dead_code, reason = "it has only to compile")]
struct Keeps<'a, T> {
    send: leno::channel::SendFuture<'a, T>,
    recv: leno::channel::RecvFuture<'a, T>,
    closed: leno::channel::Closed<'a, T>,
    stream: leno::channel::RecvStream<'a, T>,
    iter: leno::channel::Iter<'a, T>,
    try_iter: leno::channel::TryIter<'a, T>,
    drain: leno::channel::Drain<'a, T>,
    alone: leno::channel::spsc::RecvFuture<'a, T>,
}

#[test]
fn meetings() {
    use leno::sync::*;

    type Guard<'a> = MutexGuard<'a, u8>;
    type Held = MutexGuard<'static, u8>;
    type While = fn(&mut u8) -> bool;
    static CONDVAR: Condvar = Condvar::new();
    static NOTIFY: Notify = Notify::new();
    static CELL: OnceCell<u8> = OnceCell::new();
    static LAZY: Lazy<u8> = Lazy::new(|| Box::pin(async { 7 }));
    forms! {
        Barrier::new => fn(usize) -> Barrier;
        Barrier::wait_for_all => for<'a> fn(&'a Barrier) -> WaitForAll<'a>;
        BarrierWaitResult::is_leader => fn(&BarrierWaitResult) -> bool;
        Condvar::wait => for<'c, 'a> fn(&'c Condvar, Guard<'a>) -> CondvarWait<'c, 'a, u8>;
        Condvar::wait_while => for<'c, 'a> fn(&'c Condvar, Guard<'a>, While) -> CondvarWaitWhile<'c, 'a, u8, While>;
        Condvar::wait_timeout => for<'a> fn(&Condvar, Guard<'a>, Duration) -> (Guard<'a>, WaitTimeoutResult);
        Condvar::wait_timeout_while =>
            for<'a> fn(&Condvar, Guard<'a>, Duration, While) -> (Guard<'a>, WaitTimeoutResult);
        Condvar::notify_one => fn(&Condvar);
        Condvar::notify_all => fn(&Condvar);
        CondvarWait::wait => fn(CondvarWait<'static, 'static, u8>) -> Held;
        Notify::notified => for<'a> fn(&'a Notify) -> Notified<'a>;
        Notify::notify_one => fn(&Notify);
        Notify::notify_waiters => fn(&Notify);
        Notified::enable => fn(&mut Notified<'static>) -> bool;
        Notify::notified_arc => fn(&Arc<Notify>) -> NotifiedArc;
        NotifiedArc::enable => fn(&mut NotifiedArc) -> bool;
        OnceCell::get => fn(&OnceCell<u8>) -> Option<&u8>;
        OnceCell::get_mut => fn(&mut OnceCell<u8>) -> Option<&mut u8>;
        OnceCell::set => fn(&OnceCell<u8>, u8) -> Result<(), u8>;
        OnceCell::into_inner => fn(OnceCell<u8>) -> Option<u8>;
        OnceCell::take => fn(&mut OnceCell<u8>) -> Option<u8>;
        WaitGroup::new => fn() -> WaitGroup;
        WaitGroup::add => fn(&WaitGroup, usize);
        WaitGroup::worker => fn(&WaitGroup) -> Worker;
        WaitGroup::wait_all => for<'a> fn(&'a WaitGroup) -> WaitAll<'a>;
    }
    operations! {
        WaitForAll<'static> => BarrierWaitResult, timed Result<BarrierWaitResult, Elapsed>;
        Notified<'static> => (), timed Result<(), Elapsed>;
        NotifiedArc => (), timed Result<(), Elapsed>;
        WaitAll<'static> => (), timed Result<(), Elapsed>;
    }
    const {
        assert!(impls!(CondvarWait<'static, 'static, u8>: Future<Output = Held> + Unpin + Debug));
        assert!(impls!(CondvarWaitWhile<'static, 'static, u8, While>: Future<Output = Held> + Unpin + Debug));
        assert!(impls!(Worker: Clone + Debug + Send));
    }
    async fn cells(cell: &OnceCell<u8>) -> Result<&u8, String> {
        let _: &u8 = cell.get_or_init(async || 1).await;
        cell.get_or_try_init(async || Err(String::new())).await
    }
    let _ = (cells, &CONDVAR, &NOTIFY, &CELL, &LAZY);
}

#[test]
fn fibers() {
    use leno::fiber::*;

    type Hook = fn(&FiberRef);
    type Body = Ready<u8>;
    type Trial = Ready<Result<u8, ()>>;
    type Answer = fn(u8) -> Body;
    type Items = std::vec::IntoIter<u8>;
    forms! {
        Runtime::new => fn() -> std::io::Result<Runtime>;
        Runtime::builder => fn() -> RuntimeBuilder;
        Runtime::block_on => fn(&Runtime, Body) -> u8;
        Runtime::spawn => fn(&Runtime, Body) -> JoinHandle<u8>;
        Runtime::shutdown => fn(Runtime, Duration) -> Vec<FiberRef>;
        RuntimeBuilder::workers => fn(RuntimeBuilder, usize) -> RuntimeBuilder;
        RuntimeBuilder::name => fn(RuntimeBuilder, &'static str) -> RuntimeBuilder;
        RuntimeBuilder::build => fn(RuntimeBuilder) -> std::io::Result<Runtime>;
        Cord::new => fn() -> Cord;
        Cord::block_on => fn(&Cord, Body) -> u8;
        Cord::spawn_local => fn(&Cord, Body) -> JoinHandle<u8>;
        Cord::spawn => fn(&'static str, fn() -> Body) -> std::io::Result<JoinHandle<u8>>;
        CordBuilder::spawn => fn(CordBuilder, &'static str, fn() -> Body) -> std::io::Result<JoinHandle<u8>>;
        block_on => fn(Body) -> u8;
        spawn => fn(Body) -> JoinHandle<u8>;
        spawn_local => fn(Body) -> JoinHandle<u8>;
        spawn_now => fn(Body) -> JoinHandle<u8>;
        Builder::new => fn() -> Builder;
        Builder::name => fn(Builder, &'static str) -> Builder;
        Builder::root => fn(Builder) -> Builder;
        Builder::spawn => fn(Builder, Body) -> JoinHandle<u8>;
        Builder::spawn_local => fn(Builder, Body) -> JoinHandle<u8>;
        Builder::prepare => fn(Builder, Body) -> Prepared<u8>;
        Prepared::start => fn(Prepared<u8>) -> JoinHandle<u8>;
        JoinHandle::cancel => fn(&JoinHandle<u8>);
        JoinHandle::join_timeout => for<'a> fn(&'a mut JoinHandle<u8>, Duration) -> JoinTimeout<'a, u8>;
        JoinHandle::is_finished => fn(&JoinHandle<u8>) -> bool;
        JoinHandle::id => fn(&JoinHandle<u8>) -> FiberId;
        JoinHandle::name => fn(&JoinHandle<u8>) -> Option<&str>;
        JoinHandle::cancel_on_drop => fn(JoinHandle<u8>) -> JoinHandle<u8>;
        JoinError::is_cancelled => fn(&JoinError) -> bool;
        JoinError::is_panic => fn(&JoinError) -> bool;
        JoinError::into_panic => fn(JoinError) -> Box<dyn std::any::Any + Send>;
        FiberRef::id => fn(&FiberRef) -> FiberId;
        FiberRef::name => fn(&FiberRef) -> Option<&str>;
        FiberRef::unpark => fn(&FiberRef);
        FiberRef::cancel => fn(&FiberRef);
        current => fn() -> FiberRef;
        find => fn(FiberId) -> Option<FiberRef>;
        park => fn() -> Park;
        park_timeout => fn(Duration) -> ParkTimeout;
        sleep => fn(Duration) -> Sleep;
        sleep_until => fn(Instant) -> Sleep;
        yield_now => fn() -> Yield;
        now => fn() -> Instant;
        timeout => fn(Duration, Body) -> Timeout<Body>;
        unblock => fn(fn() -> u8) -> Unblock<u8>;
    }
    forms! {
        CancelToken::new => fn() -> CancelToken;
        CancelToken::child => fn(&CancelToken) -> CancelToken;
        CancelToken::cancel => fn(&CancelToken) -> bool;
        CancelToken::is_cancelled => fn(&CancelToken) -> bool;
        CancelToken::run_until_cancelled => for<'a> fn(&'a CancelToken, Body) -> RunUntilCancelled<'a, Body>;
        CancelToken::cancelled => for<'a> fn(&'a CancelToken) -> Cancellation<'a>;
        Scope::cancel => fn(&Scope);
        Scope::token => fn(&Scope) -> CancelToken;
        Scope::spawn => fn(&Scope, Body) -> JoinHandle<u8>;
        race => fn(Body, Body) -> Race<Body, Body>;
        join_all => fn(Vec<Body>) -> JoinAll<Body>;
        try_join_all => fn(Vec<Trial>) -> TryJoinAll<Trial, u8>;
        map_concurrent => fn(Vec<u8>, usize, Answer) -> MapConcurrent<Items, Answer, Body>;
        map_unordered => fn(Vec<u8>, usize, Answer) -> MapUnordered<Items, Answer, Body>;
        shield => fn(Body) -> Shield<Body>;
        check_cancel => fn() -> Result<(), Cancelled>;
        interval => fn(Duration) -> Interval;
        interval_with => fn(Duration, Missed) -> Interval;
        on => fn(&Runtime, Body) -> On<Body>;
        on_new_thread => fn(&'static str, fn() -> u8) -> OnNewThread<u8>;
        FutureExt::debug => fn(Body, &'static str) -> Debugged<Body>;
        FutureExt::timed => fn(Body) -> Timed<Body>;
        Builder::daemon => fn(Builder) -> Builder;
        Builder::slice_limit => fn(Builder, Duration) -> Builder;
        RuntimeBuilder::on_spawn => fn(RuntimeBuilder, Hook) -> RuntimeBuilder;
        RuntimeBuilder::on_stop => fn(RuntimeBuilder, Hook) -> RuntimeBuilder;
        RuntimeBuilder::on_slow_poll => fn(RuntimeBuilder, Duration, fn(&FiberRef, Duration)) -> RuntimeBuilder;
        RuntimeBuilder::closed_world => fn(RuntimeBuilder, bool) -> RuntimeBuilder;
        Runtime::dump => fn(&Runtime) -> leno::inspect::Dump;
        leno::inspect::Dump::to_dot => fn(&leno::inspect::Dump) -> String;
        leno::inspect::Dump::to_mermaid => fn(&leno::inspect::Dump) -> String;
        leno::inspect::Dump::fibers => fn(&leno::inspect::Dump) -> &[leno::inspect::FiberInfo];
    }
    operations! {
        Cancellation<'static> => (), timed Result<(), Elapsed>;
    }
    futures! {
        Race<Body, Body> => Either<u8, u8>;
        JoinAll<Body> => Vec<u8>;
        MapConcurrent<Items, Answer, Body> => Vec<u8>;
        NextUnordered<'static, Items, Answer, Body> => Option<u8>;
        On<Body> => u8;
        OnNewThread<u8> => std::io::Result<u8>;
        RunUntilCancelled<'static, Body> => Option<u8>;
        Tick<'static> => Instant;
        JoinHandle<u8> => Result<u8, JoinError>;
        JoinNext<'static, u8> => Option<Result<u8, JoinError>>;
        JoinTimeout<'static, u8> => Result<Result<u8, JoinError>, Elapsed>;
        Sleep => ();
        Yield => ();
        Park => ();
        ParkTimeout => bool;
        Unblock<u8> => u8;
    }
    const {
        assert!(impls!(MapUnordered<Items, Answer, Body>: Stream<Item = u8>));
        assert!(impls!(Timed<Body>: Future<Output = (u8, Duration)>));
        assert!(impls!(Timeout<Body>: Future<Output = Result<u8, Elapsed>>));
        assert!(impls!(leno::inspect::Dump: Display));
        assert!(impls!(JoinError: std::error::Error + Send + Sync));
        assert!(impls!(Elapsed: std::error::Error + Copy + Eq));
        // Joins ask nothing of what they give.
        assert!(
            impls!(JoinHandle<Dumb>: FusedFuture + Debug)
                && impls!(ScopedHandle<'static, Dumb>: FusedFuture + Debug)
        );
        assert!(impls!(JoinTimeout<'static, Dumb>: Debug) && impls!(JoinNext<'static, Dumb>: Debug));
        assert!(impls!(Interval: FusedStream<Item = Instant> + Debug));
        assert!(impls!(FiberId: Copy + Ord + std::hash::Hash + Debug + Display));
        assert!(impls!(FiberRef: Clone + Debug) && impls!(Cord: Default) && impls!(Builder: Default + Debug));
    }
    async fn scopes(token: &CancelToken) -> Result<u8, JoinError> {
        let _: Option<()> = token.run_until_cancelled(async {}).await;
        scope(async |s: &Scope| s.spawn(async { 7 }).await.expect("it does not panic")).await
    }
    fn borrows(text: &str) -> Result<usize, JoinError> {
        blocking_scope(|s| s.spawn(async { text.len() }).wait().expect("it does not panic"))
    }
    let _ = (scopes, borrows);
}

leno::fiber_local! {
    static OWN: u8 = 1;
    inherited static INHERITED: u8 = 2;
}

#[test]
fn locals() {
    forms! {
        || OWN.with(|own| *own) => fn() -> u8;
        || INHERITED.set(3) => fn();
    }
}
