//! What the types are: C15, C26 for selects.

use std::cell::Cell;
use std::fmt::Debug;
use std::future::{Pending, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use leno::channel::{Closed, RecvFuture, SendFuture};
use leno::rendezvous;
use leno::select::{Foreign, Selected2, Selecting, foreign, select};
use leno::sync::Lock;

use crate::impls;
use crate::support::PollExt;

type Plain<T> = Selecting<(SendFuture<'static, T>, RecvFuture<'static, T>)>;
type Other<T> = Selecting<(Closed<'static, u8>, Lock<'static, u8>, Foreign<Pending<T>>)>;
type Lent<T> = Selecting<(&'static mut SendFuture<'static, T>, &'static mut RecvFuture<'static, T>)>;

/// A select crosses threads exactly if its branches do, and what they gave; it is Unpin always (C26).
#[test]
fn a_select_crosses_threads_with_its_branches() {
    const {
        assert!(impls!(Plain<u8>: Send));
        assert!(impls!(Plain<Cell<u8>>: Send), "T: Send is enough");
        assert!(!impls!(Plain<Rc<u8>>: Send), "T must be Send");
        assert!(impls!(Other<u8>: Send));
        assert!(!impls!(Other<Rc<u8>>: Send), "the foreign future must be Send");
        assert!(impls!(Lent<u8>: Send));
        assert!(!impls!(Lent<Rc<u8>>: Send), "T must be Send");
        assert!(impls!(Plain<std::marker::PhantomPinned>: Unpin), "C26");
        assert!(impls!(Other<Rc<u8>>: Unpin), "C26");
        assert!(impls!(Plain<Rc<u8>>: Debug), "without a bound on T");
        assert!(impls!(Foreign<u8>: Debug));
        assert!(impls!(Selected2<u8, u8>: Copy + Eq + Debug + Send + Sync));
    }
}

#[test]
fn a_select_shows_what_it_is() {
    let (_tx, rx) = rendezvous::<u8>();
    let shown = format!("{:?}", select((rx.recv(), foreign(pending::<()>()), rx.recv())));
    assert!(shown.contains("Selecting") && shown.contains('3'), "{shown}");
    assert!(format!("{:?}", foreign(ready(5))).contains("Foreign"));
}

/// Polled after completion: a panic that says so, and nothing happens.
#[test]
fn polling_after_completion_panics() {
    let (tx, rx) = leno::bounded(2);
    let (_silent, silents) = rendezvous::<u8>();
    tx.try_send(1).expect("there is room");
    tx.try_send(2).expect("there is room");
    let mut selecting = select((rx.recv(), silents.recv()));
    assert_eq!(selecting.must_be_ready("a value is there"), Selected2::First(Ok(1)));
    for _ in 0..2 {
        let panic = catch_unwind(AssertUnwindSafe(|| _ = selecting.must_be_ready("no")));
        let panic = panic.expect_err("must panic");
        let message = panic.downcast_ref::<&str>().expect("a message");
        assert!(message.contains("polled after it had completed"), "{message}");
    }
    drop(selecting);
    assert_eq!(rx.len(), 1, "S1: nothing was taken");
}
