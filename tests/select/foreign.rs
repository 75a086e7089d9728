//! S7: any future may be a branch.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leno::channel::RecvError;
use leno::select::{Selected2, Selected3, foreign, select, select_biased};
use leno::sync::Mutex;
use leno::{bounded, rendezvous, yield_now};

use crate::KINDS;
use crate::support::{CountingWaker, PollExt, Tracker};

/// A future that is ready when told to be, counts its polls, and calls `on_drop`.
struct Planted<F: FnMut()> {
    ready: Rc<Cell<bool>>,
    polls: Rc<Cell<usize>>,
    waker: Rc<RefCell<Option<Waker>>>,
    on_drop: F,
}

impl<F: FnMut()> Planted<F> {
    fn new(on_drop: F) -> Self {
        Planted { ready: Rc::default(), polls: Rc::default(), waker: Rc::default(), on_drop }
    }
}

impl<F: FnMut() + Unpin> Future for Planted<F> {
    type Output = &'static str;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'static str> {
        self.polls.set(self.polls.get() + 1);
        *self.waker.borrow_mut() = Some(cx.waker().clone());
        if self.ready.get() { Poll::Ready("foreign") } else { Poll::Pending }
    }
}

impl<F: FnMut()> Drop for Planted<F> {
    fn drop(&mut self) {
        (self.on_drop)();
    }
}

/// S7: futures of all sorts: ready, pending, boxed, pinned, leno's own.
#[test]
fn any_future_may_be_a_branch() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u32>();
        let outcome = select((rx.recv(), foreign(ready(5)))).must_be_ready("one is");
        assert_eq!(outcome, Selected2::Second(5));
        let mut pinned = pin!(async { pending::<u8>().await });
        let mut boxed = Box::pin(async { std::future::ready("boxed").await });
        let outcome =
            select((foreign(pinned.as_mut()), rx.recv(), foreign(&mut boxed))).must_be_ready("one is");
        assert_eq!(outcome, Selected3::Third("boxed"));
        let outcome =
            select_biased((foreign(pending::<u8>()), foreign(ready(1)))).must_be_ready("only foreign ones");
        assert_eq!(outcome, Selected2::Second(1));
        // leno's own operations stand there as well; they are polled, not claimed.
        let mut selecting = select((foreign(rx.recv()), foreign(pending::<u8>())));
        let waker = selecting.must_wait("nothing is ready");
        tx.try_send(7).expect("a receiver waits, or there is room");
        assert!(waker.was_woken());
        assert_eq!(selecting.must_be_ready("woken"), Selected2::First(Ok(7)), "{kind:?}");
    }
}

/// S7: on a fiber, with fibers and timers as branches.
#[test]
fn fibers_and_timers_are_branches() {
    leno::block_on(async {
        let (_tx, rx) = rendezvous::<u8>();
        let outcome = select((rx.recv(), foreign(leno::spawn(async { 3 })))).await;
        assert!(matches!(outcome, Selected2::Second(Ok(3))));
        let outcome = select((rx.recv(), foreign(leno::sleep(Duration::from_millis(1))))).await;
        assert!(matches!(outcome, Selected2::Second(_)));
    });
}

/// S7: a foreign future that loses is dropped with the select, once, after the winner is decided: its drop sees that
/// the winner's value is taken, and that nobody waits any more.
#[test]
fn a_losing_future_is_dropped_after_the_winner_is_decided() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (full, fulls) = kind.open::<u32>();
        let room = kind.fill(&full, |i| i as u32);
        let drops = Cell::new(0);
        let planted = Planted::new(|| {
            drops.set(drops.get() + 1);
            assert!(rx.is_empty(), "S7: the winner's value is taken; {kind:?}");
            if !kind.is_buffered() {
                assert!(tx.try_send(9).is_err(), "S7: the winner waits no more");
                assert!(fulls.try_recv().is_err(), "S7: nor do the losers");
            }
            assert_eq!(fulls.len(), room);
        });
        let mut handler_ran = false;
        {
            let waiting = async {
                let outcome = select((foreign(planted), rx.recv(), full.send(1))).await;
                assert_eq!(drops.get(), 1, "S7: before the winner's handler runs");
                handler_ran = true;
                outcome
            };
            let mut waiting = pin!(waiting);
            let waker = waiting.must_wait("nothing is ready");
            assert_eq!(drops.get(), 0, "S7: not before the winner is decided");
            tx.try_send(5).expect("the select waits, or there is room");
            assert!(waker.was_woken());
            assert!(matches!(waiting.must_be_ready("woken"), Selected3::Second(Ok(5))));
        }
        assert!(handler_ran);
        assert_eq!(drops.get(), 1, "dropped once");
    }
}

/// S7: ready together with a claim: the claim came first, so the foreign future is not asked any more.
#[test]
fn ready_together_with_a_claim() {
    for biased in [true, false] {
        let (tx, rx) = rendezvous();
        let planted = Planted::new(|| {});
        let (ready, polls, woken) = (planted.ready.clone(), planted.polls.clone(), planted.waker.clone());
        let branches = (foreign(planted), rx.recv());
        let mut selecting = if biased { select_biased(branches) } else { select(branches) };
        selecting.must_wait("nothing is ready");
        let before = polls.get();
        ready.set(true);
        woken.borrow_mut().take().expect("polled").wake();
        tx.try_send(5).expect("the select waits");
        assert_eq!(selecting.must_be_ready("both"), Selected2::Second(Ok(5)), "S7: a peer has completed it");
        assert_eq!(polls.get(), before, "S7: the loser is polled no more");
    }
}

/// S2: a biased select that has waited takes the first that is ready, too, whether that is a foreign future or one that was told to
/// look, and has looked in vain.
#[test]
fn the_first_that_is_ready_wins_after_a_wait() {
    let planted = || Planted::new(|| {});
    {
        let ((tx, rx), first) = (bounded::<u8>(1), planted());
        let flag = Rc::clone(&first.ready);
        let mut selecting = select_biased((foreign(first), rx.recv()));
        selecting.must_wait("nothing is ready");
        flag.set(true);
        tx.close();
        assert_eq!(selecting.must_be_ready("both are"), Selected2::First("foreign"));
    }
    {
        let ((tx, rx), second) = (bounded::<u8>(1), planted());
        let (flag, polls) = (Rc::clone(&second.ready), Rc::clone(&second.polls));
        let mut selecting = select_biased((rx.recv(), foreign(second)));
        selecting.must_wait("nothing is ready");
        flag.set(true);
        tx.close();
        assert_eq!(selecting.must_be_ready("both are"), Selected2::First(Err(RecvError)));
        assert_eq!(polls.get(), 1, "nobody asks who comes after the winner");
    }
    {
        let ((tx, rx), second) = (bounded::<u8>(1), planted());
        let (flag, mutex) = (Rc::clone(&second.ready), Mutex::new(()));
        let held = mutex.try_lock().unwrap();
        let mut selecting = select_biased((mutex.lock(), foreign(second), rx.recv()));
        selecting.must_wait("nothing is ready");
        drop(held);
        let _held = mutex.try_lock().expect("who comes by may take it");
        flag.set(true);
        tx.close();
        assert!(matches!(selecting.must_be_ready("two are"), Selected3::Second("foreign")));
    }
}

/// S7: the other way round: the foreign future wins, and a peer that comes before its owner has dropped the select
/// finds nobody.
#[test]
fn a_claim_after_a_foreign_future_has_won() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (full, fulls) = kind.open();
        let room = kind.fill(&full, |i| i);
        let planted = Planted::new(|| {});
        let ready = planted.ready.clone();
        let mut selecting = select((rx.recv(), foreign(planted), full.send(1)));
        selecting.must_wait("nothing is ready");
        ready.set(true);
        assert_eq!(selecting.must_be_ready("S7"), Selected3::Second("foreign"));
        assert_eq!(tx.try_send(5).is_ok(), kind.is_buffered(), "S1: nobody waits");
        assert_eq!(rx.len(), usize::from(kind.is_buffered()), "S1: nobody has taken it");
        assert_eq!(fulls.drain().count(), if kind.is_buffered() { room } else { 0 }, "S1");
        drop(selecting);
        assert_eq!(rx.len(), usize::from(kind.is_buffered()), "S1: nobody has taken it");
    }
}

/// Polls `selecting` as an executor does, until it is ready; `had_peer` tells whether it has to be by now.
#[track_caller]
fn run<F: Future + Unpin>(mut selecting: F, had_peer: impl Fn() -> bool, what: &str) -> F::Output {
    for _ in 0..10 {
        let waker = CountingWaker::new();
        if let Poll::Ready(outcome) = selecting.poll_once(&waker) {
            return outcome;
        }
        assert!(waker.was_woken() || !had_peer(), "S7: a peer is there, and nobody looks; {what}");
    }
    panic!("S7: it never finds its peer; {what}");
}

/// Makes what follows begin in the next poll, perhaps. A select that is polled within another one is the senior if it begins to wait
/// in the other's first poll, as that waits only after it has looked everywhere; in a later poll it is the junior.
async fn begin(late: bool) {
    if late {
        yield_now().await;
    }
}

/// S4, S7: a select within a foreign future of another one, on the two sides of one channel, and perhaps one more within
/// that: they are two, and meet, whichever of them is the senior.
#[test]
fn a_select_within_a_future_of_another() {
    for late in [[false, false], [false, true], [true, false], [true, true]] {
        for depth in 1..3 {
            let what = format!("depth {depth}, late: {late:?}");
            let (_open, never) = rendezvous::<usize>();
            let (tx, rx) = rendezvous();
            let inner = async {
                begin(late[0]).await;
                matches!(select((tx.send(1), never.recv())).await, Selected2::First(Ok(())))
            };
            let mut inner: Pin<Box<dyn Future<Output = bool>>> = Box::pin(inner);
            for _ in 1..depth {
                let within = std::mem::replace(&mut inner, Box::pin(pending()));
                inner = Box::pin(async {
                    begin(late[1]).await;
                    matches!(select((foreign(within), never.recv())).await, Selected2::First(true))
                });
            }
            let outcome = run(select((rx.recv(), foreign(&mut inner))), || true, &what);
            assert_eq!(outcome, Selected2::First(Ok(1)), "S4: {what}");
            assert!(inner.must_be_ready("S4: it has sent"), "{what}");
            tx.assert_valid();
        }
    }
}

/// S4, F12: what happens where two selects meet in one thread depends on nothing but the order of what it does: not on where the
/// allocator has put what they wait with.
#[test]
fn selects_that_meet_do_so_in_the_same_way_each_time() {
    let meet = || {
        let (_open, never) = rendezvous::<usize>();
        let (tx, rx) = rendezvous();
        let inner = async { select((tx.send(1), never.recv())).await };
        select_biased((rx.recv(), foreign(pin!(inner)))).poll_with(Waker::noop()).is_ready()
    };
    let first = meet();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        // What these have given up, in this order, is what comes next.
        let (_open, never) = rendezvous::<usize>();
        let mut selects = [(); 3].map(|()| Some(select((never.recv(), foreign(pending::<()>())))));
        selects.iter_mut().flatten().for_each(|waits| drop(waits.must_wait("nobody sends")));
        order.into_iter().for_each(|index| drop(selects[index].take()));
        assert_eq!(meet(), first, "{order:?}");
    }
}

/// S4: the same where the outer one waits on both sides of the channel, in any order, and the inner one on either.
#[test]
fn a_select_within_a_future_of_one_on_both_sides() {
    for late in [false, true] {
        for (sends_first, inner_sends) in [(false, false), (false, true), (true, false), (true, true)] {
            let what = format!("late: {late}, {sends_first}, {inner_sends}");
            let (_open, never) = rendezvous::<usize>();
            let (tx, rx) = rendezvous();
            let inner = async {
                begin(late).await;
                match inner_sends {
                    true => select((tx.send(1), never.recv())).await == Selected2::First(Ok(())),
                    false => select((rx.recv(), never.recv())).await == Selected2::First(Ok(2)),
                }
            };
            let mut inner: Pin<Box<dyn Future<Output = bool>>> = Box::pin(inner);
            let has_received = if sends_first {
                match run(select_biased((tx.send(2), rx.recv(), foreign(&mut inner))), || true, &what) {
                    Selected3::First(sent) => sent.map(|()| false),
                    Selected3::Second(received) => Ok(received == Ok(1)),
                    Selected3::Third(_) => panic!("S4: neither can complete alone; {what}"),
                }
            } else {
                match run(select_biased((rx.recv(), tx.send(2), foreign(&mut inner))), || true, &what) {
                    Selected3::First(received) => Ok(received == Ok(1)),
                    Selected3::Second(sent) => sent.map(|()| false),
                    Selected3::Third(_) => panic!("S4: neither can complete alone; {what}"),
                }
            };
            assert_eq!(has_received, Ok(inner_sends), "S4: {what}");
            assert!(inner.must_be_ready("S4: it has met the other"), "{what}");
            tx.assert_valid();
        }
    }
}

/// S7: while a foreign future is polled no branch can be claimed; a sender that comes by meanwhile suspends, or leaves
/// its value, and is not missed.
#[test]
fn a_sender_comes_by_while_a_foreign_future_is_polled() {
    for kind in KINDS {
        for polls_before in 0..3 {
            let what = format!("{kind:?}, polls before: {polls_before}");
            let (tx, rx) = kind.open();
            let mut sending = tx.send(500);
            let polls = Cell::new(0);
            let look = poll_fn(|_| {
                if polls.replace(polls.get() + 1) == polls_before {
                    assert_eq!(tx.try_send(400).is_ok(), kind.is_buffered(), "S1: {what}");
                    let sent = sending.poll_with(Waker::noop());
                    assert_eq!(
                        sent.is_ready(),
                        kind.room(2) == 2,
                        "S1: the select cannot be claimed; {what}"
                    );
                }
                Poll::<()>::Pending
            });
            let outcome = run(select((foreign(look), rx.recv())), || polls.get() > polls_before, &what);
            let first = if kind.is_buffered() { 400 } else { 500 };
            assert_eq!(outcome, Selected2::Second(Ok(first)), "S7: {what}");
            assert_eq!(rx.drain().count(), usize::from(kind.is_buffered()), "S1: {what}");
        }
    }
}

/// S7: the same for a receiver, while the select wants to send.
#[test]
fn a_receiver_comes_by_while_a_foreign_future_is_polled() {
    for kind in KINDS {
        for polls_before in 0..3 {
            let what = format!("{kind:?}, polls before: {polls_before}");
            let (tx, rx) = kind.open();
            let room = kind.fill(&tx, |i| i);
            let mut receiving = rx.recv();
            let polls = Cell::new(0);
            let look = poll_fn(|_| {
                if polls.replace(polls.get() + 1) == polls_before {
                    let received = receiving.poll_with(Waker::noop());
                    assert_eq!(received.is_ready(), kind.is_buffered(), "S1: {what}");
                    assert!(rx.try_recv().is_err() || room > 1, "S1: {what}");
                }
                Poll::<()>::Pending
            });
            let outcome = run(select((foreign(look), tx.send(900))), || polls.get() > polls_before, &what);
            assert_eq!(outcome, Selected2::Second(Ok(())), "S7: {what}");
            if !kind.is_buffered() {
                assert_eq!(receiving.must_be_ready("S7: it was met"), Ok(900), "{what}");
            }
            assert_eq!(rx.drain().last(), kind.is_buffered().then_some(900), "S1: {what}");
        }
    }
}

/// S7, C13: a foreign future that panics: the select can be dropped, its channels are usable, nobody is left.
#[test]
fn a_foreign_future_panics() {
    for kind in KINDS {
        for polls_before in 0..2 {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |_| tracker.value());
            let polls = Cell::new(0);
            let look = poll_fn(|_| {
                assert!(polls.replace(polls.get() + 1) < polls_before, "planted: a foreign future panics");
                Poll::<()>::Pending
            });
            let mut lent = full.send(tracker.value());
            let mut selecting = select((rx.recv(), foreign(look), full.send(tracker.value()), &mut lent));
            for _ in 0..polls_before {
                selecting.must_wait("nothing is ready");
            }
            let panic = catch_unwind(AssertUnwindSafe(|| selecting.poll_with(Waker::noop()).is_ready()));
            assert!(panic.is_err());
            drop(selecting);
            assert!(lent.into_inner().is_some_and(|kept| kept == room), "S9: it keeps its value");
            assert_eq!(
                tx.try_send(tracker.value()).is_ok(),
                kind.is_buffered(),
                "C13: nobody waits; {kind:?}"
            );
            assert_eq!(fulls.drain().count(), if kind.is_buffered() { room } else { 0 }, "C13: nobody waits");
            tx.assert_valid();
            full.assert_valid();
            drop((rx, fulls));
            tracker.assert_done();
        }
    }
}

/// S7, C13: a losing foreign future panics in its drop: the outcome may be lost with it, nothing else is.
#[test]
fn a_foreign_future_panics_in_its_drop() {
    let (tx, rx) = rendezvous();
    let mut selecting = select((foreign(Planted::new(|| panic!("planted: in drop"))), rx.recv()));
    selecting.must_wait("nothing is ready");
    assert!(catch_unwind(AssertUnwindSafe(|| drop(selecting))).is_err());
    assert!(tx.try_send(1).is_err(), "S10: nobody waits there");
    tx.assert_valid();
    let mut waiting = rx.recv();
    waiting.must_wait("nobody is there");
    tx.try_send(2).expect("C13: usable");
    assert_eq!(waiting.must_be_ready("served"), Ok(2));
}
