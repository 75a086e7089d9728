//! Channels as sinks, the feature `sink`: C7, C9, C10, C13, C15, C26, F10.

mod support;

use std::cell::Cell;
use std::future::poll_fn;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::{Sink, SinkExt, StreamExt, stream};
use leno::channel::{Builder, IntoSink, Receiver, SendError, SendSink, TryRecvError, mpsc, spsc};
use leno::fiber::{Cord, spawn_local, yield_now};
use leno::{bounded, rendezvous, unbounded};

use support::{CountingWaker, Kind, PollExt, Tracker, panicking_waker};

/// A rendezvous, rings, a bounded one in blocks, and one without a bound.
const KINDS: [Kind; 5] =
    [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(3), Kind::Bounded(300), Kind::Unbounded];

/// What is asked of a sink, by hand.
trait ByHand<T>: Sink<T, Error = SendError<T>> + Unpin + Sized {
    fn ready(&mut self) -> Poll<Result<(), SendError<T>>> {
        Pin::new(self).poll_ready(&mut Context::from_waker(Waker::noop()))
    }

    fn give(&mut self, item: T) -> Result<(), SendError<T>> {
        Pin::new(self).start_send(item)
    }

    fn flushed(&mut self) -> Poll<Result<(), SendError<T>>> {
        Pin::new(self).poll_flush(&mut Context::from_waker(Waker::noop()))
    }

    fn closed(&mut self) -> Poll<Result<(), SendError<T>>> {
        Pin::new(self).poll_close(&mut Context::from_waker(Waker::noop()))
    }
}

impl<T, S: Sink<T, Error = SendError<T>> + Unpin> ByHand<T> for S {}

/// `forward`: everything arrives in order, then the channel closes.
#[test]
fn streams_are_forwarded() {
    for kind in KINDS {
        leno::block_on(async move {
            let (tx, rx) = kind.open();
            let feeding = leno::spawn(stream::iter(0..1000).map(Ok).forward(tx.into_sink()));
            assert_eq!(rx.stream().collect::<Vec<_>>().await, Vec::from_iter(0..1000), "{kind:?}");
            feeding.await.unwrap().unwrap();
        });
    }
}

/// From one channel into another, which closes then.
#[test]
fn a_channel_is_forwarded_into_another() {
    for kind in KINDS {
        leno::block_on(async move {
            let ((tx, rx), (onward, end)) = (kind.open(), kind.open());
            let passing = leno::spawn(rx.into_stream().map(Ok).forward(onward.into_sink()));
            let feeding = leno::spawn(async move {
                let mut sink = tx.sink();
                sink.send_all(&mut stream::iter(0..300).map(Ok)).await.unwrap();
                sink.close().await
            });
            assert_eq!(end.stream().collect::<Vec<_>>().await, Vec::from_iter(0..300), "{kind:?}");
            feeding.await.unwrap().unwrap();
            passing.await.unwrap().unwrap();
        });
    }
}

/// `send_all` ends with the item that could not be sent.
#[test]
fn sending_all_into_a_closed_channel_gives_the_item_back() {
    leno::block_on(async {
        let (tx, rx) = bounded(1);
        let feeding = leno::spawn(async move { tx.sink().send_all(&mut stream::iter(0..).map(Ok)).await });
        for n in 0..10 {
            assert_eq!(rx.recv().await, Ok(n));
        }
        drop(rx);
        assert!(matches!(feeding.await.unwrap(), Err(SendError(10..=12))));
    });
}

/// `send` waits until the item is in the channel; `feed` until the sink has room.
#[test]
fn one_item_is_kept() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let mut sink = tx.sink();
        let room = if kind.has_limit() { kind.room(1000) } else { 10 };
        for n in 0..room {
            assert_eq!((sink.ready(), sink.give(n)), (Poll::Ready(Ok(())), Ok(())));
            assert_eq!(rx.len(), n + 1, "{kind:?}: what there is room for is sent at once");
        }
        assert!(sink.flushed().is_ready());
        if kind.has_limit() {
            assert_eq!((sink.ready(), sink.give(room)), (Poll::Ready(Ok(())), Ok(())));
            assert!(sink.ready().is_pending() && sink.flushed().is_pending() && sink.closed().is_pending());
            assert!(tx.try_send(1000).is_err(), "C4: it waits in line");
            assert_eq!(rx.try_recv(), Ok(0));
            assert_eq!(sink.flushed(), Poll::Ready(Ok(())), "{kind:?}: it was taken");
            (1..=room).for_each(|n| assert_eq!(rx.try_recv(), Ok(n)));
        }
    }
}

/// Who waits to give an item is woken when there is room; the last waker is (C12).
#[test]
fn the_last_waker_is_woken() {
    let (tx, rx) = bounded(1);
    let mut sink = tx.into_sink();
    let (before, after) = (CountingWaker::new(), CountingWaker::new());
    sink.feed(1).must_be_ready("there is room").unwrap();
    sink.feed(2).must_be_ready("it is kept").unwrap();
    assert!(sink.flush().poll_once(&before).is_pending());
    assert!(sink.feed(3).poll_once(&after).is_pending());
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(after.was_woken());
    assert!(sink.flush().must_be_ready("it was sent").is_ok());
    assert_eq!(rx.try_recv(), Ok(2));
}

/// C5: an item comes back that was given to a closed channel, or kept while it closed; and the sink takes no more.
#[test]
fn items_come_back_from_a_closed_channel() {
    for kind in [Kind::Rendezvous, Kind::Bounded(2), Kind::Bounded(300)] {
        let (tx, rx) = kind.open();
        let mut sink = tx.into_sink();
        let room = kind.room(1000);
        for n in 0..=room {
            assert_eq!((sink.ready(), sink.give(n)), (Poll::Ready(Ok(())), Ok(())));
        }
        assert!(sink.ready().is_pending());
        drop(rx);
        assert_eq!(sink.ready(), Poll::Ready(Err(SendError(room))), "{kind:?}: it was kept");
        assert_eq!(sink.ready(), Poll::Ready(Ok(())), "it has no item to give back");
        assert_eq!(sink.give(7), Err(SendError(7)));
        assert_eq!(sink.closed(), Poll::Ready(Ok(())));
    }
}

/// C7: closing an owned sink drops its sender; a borrowed one is not its sender's end.
#[test]
fn the_end_of_a_sink() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u8>();
        let mut borrowed = tx.sink();
        assert_eq!(borrowed.closed(), Poll::Ready(Ok(())));
        assert_eq!((borrowed.ready(), borrowed.give(1)), (Poll::Ready(Ok(())), Err(SendError(1))));
        drop(borrowed);
        assert!(!rx.is_closed(), "{kind:?}");
        let (mut sink, other) = (tx.clone().into_sink(), tx);
        assert_eq!(sink.closed(), Poll::Ready(Ok(())));
        assert_eq!(rx.sender_count(), 1);
        assert_eq!(sink.give(2), Err(SendError(2)), "it was closed");
        assert_eq!(sink.closed(), Poll::Ready(Ok(())), "again");
        assert!(!rx.is_closed(), "another sender is there");
        let mut last = other.into_sink();
        assert_eq!(last.closed(), Poll::Ready(Ok(())));
        assert!(rx.is_closed(), "C7: {kind:?}");
        assert!(matches!(last.into_parts(), (None, None)), "it has neither any more");
    }
}

/// C10: dropping a sink at each of its stages drops the item that it keeps, once, and sends nothing; what was sent is sent.
#[test]
fn a_sink_is_dropped() {
    for kind in [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(300)] {
        for (stage, asks) in [(0, false), (0, true), (1, false), (1, true), (2, false), (2, true)] {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let room = kind.room(1000);
            let mut sink = tx.into_sink();
            for _ in 0..=room {
                assert!(sink.ready().is_ready() && sink.give(tracker.value()).is_ok());
            }
            if stage > 0 {
                assert!(sink.ready().is_pending(), "it waits in line");
            }
            let mut received = 0;
            if stage > 1 {
                assert!(rx.try_recv().is_ok());
                received += 1;
            }
            if asks {
                let (tx, item) = sink.into_parts();
                assert_eq!(item.map(|item| item.id), (stage < 2).then_some(room), "{kind:?}, stage {stage}");
                assert!(!rx.is_closed());
                drop(tx);
            } else {
                drop(sink);
            }
            assert!(rx.is_closed(), "C7");
            while rx.try_recv().is_ok() {
                received += 1;
            }
            assert_eq!(received, room + usize::from(stage > 1), "C10: {kind:?}, stage {stage}");
            tracker.assert_done();
            rx.assert_valid();
        }
    }
}

/// C10: the same of a borrowed one, whose sender sends on.
#[test]
fn a_borrowed_sink_gives_its_item_back() {
    let (tx, rx) = rendezvous();
    let mut sink = tx.sink();
    assert_eq!((sink.ready(), sink.give(1)), (Poll::Ready(Ok(())), Ok(())));
    assert!(sink.ready().is_pending());
    assert_eq!(sink.into_inner(), Some(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(tx.sink().into_inner(), None);
    assert!(!tx.is_closed());
    tx.assert_valid();
}

/// C9: an item that was handed to a receive that is dropped is the next to be received.
#[test]
fn an_item_in_the_hands_of_a_dropped_receive() {
    let (tx, rx) = rendezvous();
    let mut receiving = rx.recv();
    receiving.must_wait("nothing was sent");
    let mut sink = tx.into_sink();
    assert_eq!((sink.ready(), sink.give(1)), (Poll::Ready(Ok(())), Ok(())));
    assert_eq!(sink.flushed(), Poll::Ready(Ok(())), "a receiver waited");
    drop(receiving);
    assert_eq!(rx.try_recv(), Ok(1));
}

/// Giving an item to one that keeps another is an error of the program.
#[test]
#[should_panic(expected = "poll_ready comes first")]
fn an_item_too_many() {
    let (tx, _rx) = rendezvous();
    let mut sink = tx.into_sink();
    assert_eq!((sink.give(1), sink.give(2)), (Ok(()), Ok(())));
}

/// C13: the waker of a receiver panics: the item was sent, and the sink goes on.
#[test]
fn a_waker_that_panics_loses_nothing() {
    for kept in [false, true] {
        let (tx, rx) = rendezvous();
        let mut receiving = rx.recv();
        let panics = panicking_waker();
        let mut sink = tx.into_sink();
        assert!(sink.ready().is_ready());
        if kept {
            // The receiver comes before the first poll of the send.
            assert_eq!(sink.give(1), Ok(()));
            assert!(receiving.poll_with(&panics).is_pending());
            assert!(catch_unwind(AssertUnwindSafe(|| sink.ready())).is_err());
        } else {
            assert!(receiving.poll_with(&panics).is_pending());
            assert!(catch_unwind(AssertUnwindSafe(|| sink.give(1))).is_err());
        }
        assert_eq!(receiving.must_be_ready("it was sent"), Ok(1));
        drop(receiving);
        assert_eq!(sink.flushed(), Poll::Ready(Ok(())));
        assert_eq!((sink.ready(), sink.give(2)), (Poll::Ready(Ok(())), Ok(())));
        assert!(sink.ready().is_pending());
        assert_eq!(rx.try_recv(), Ok(2));
        assert_eq!(sink.flushed(), Poll::Ready(Ok(())));
    }
}

/// F10: a fiber that forwards what is always there, to where there is always room, lets others run.
#[test]
fn forwarding_lets_others_run() {
    let ran = Rc::new(Cell::new(false));
    let of_other = Rc::clone(&ran);
    Cord::new().block_on(async move {
        let (tx, _rx) = unbounded();
        let other = spawn_local(async move { of_other.set(true) });
        let mut sent = 0;
        let items = stream::repeat(()).take_while(|()| {
            sent += 1;
            assert!(sent < 100_000, "nobody else has run");
            std::future::ready(!ran.get())
        });
        items.map(Ok).forward(tx.into_sink()).await.unwrap();
        other.await.unwrap();
    });
}

/// F10: a sink is counted once for an item, not each time it is asked: so more of them than a poll has operations get ready
/// together, and wait together for one that is full without keeping their fiber awake.
#[test]
fn many_sinks_are_asked_together() {
    const MANY: usize = 500;
    Cord::new().block_on(async {
        let (txs, rxs): (Vec<_>, Vec<_>) = (0..MANY).map(|_| bounded(1)).unzip();
        let mut sinks: Vec<_> = txs.into_iter().map(|tx| tx.into_sink()).collect();
        assert_eq!(sinks[0].give(1), Ok(()));
        assert_eq!(sinks[0].give(2), Ok(()), "it keeps one more");
        let polls = Rc::new(Cell::new(0));
        let counts = Rc::clone(&polls);
        let asking = spawn_local(poll_fn(move |cx| {
            counts.set(counts.get() + 1);
            let waits = sinks.iter_mut().filter_map(|sink| match sink.poll_ready_unpin(cx) {
                Poll::Ready(ready) => {
                    ready.unwrap();
                    None
                }
                Poll::Pending => Some(()),
            });
            if waits.count() == 0 { Poll::Ready(()) } else { Poll::Pending }
        }));
        for _ in 0..20 {
            yield_now().await;
        }
        assert_eq!(polls.get(), 2, "those that the first poll refuses are ready in the second");
        assert_eq!(rxs[0].try_recv(), Ok(1));
        asking.await.unwrap();
        assert_eq!(polls.get(), 3);
    });
}

/// F10: one that was refused is ready the next time, though its fiber has used up the budget then, too.
#[test]
fn a_sink_behind_a_busy_channel() {
    Cord::new().block_on(async {
        let (tx, rx) = bounded(1);
        let (busy, mut sink) = (bounded(256), tx.into_sink());
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            (0..256).for_each(|_| assert!(Pin::new(&mut busy.0.send(())).poll(cx).is_ready()));
            busy.1.drain().for_each(drop);
            sink.poll_ready_unpin(cx)
        })
        .await
        .unwrap();
        assert_eq!(polls, 2);
        sink.send(1).await.unwrap();
        assert_eq!(rx.try_recv(), Ok(1));
    });
}

/// mpsc, spsc: their own sender comes back.
#[test]
fn those_of_other_kinds() {
    macro_rules! check {
        ($kind:ident, $capacity:literal) => {
            leno::block_on(async {
                #[allow(unused_mut, reason = "some kinds take `&mut`")]
                let (mut tx, mut rx) = $kind::bounded($capacity);
                let mut borrowed: $kind::SendSink<'_, u8> = tx.sink();
                for n in 0..$capacity {
                    borrowed.send(n).await.unwrap();
                }
                assert_eq!(borrowed.give(7), Ok(()));
                assert!(borrowed.flushed().is_pending(), "it is full");
                assert_eq!(borrowed.into_inner(), Some(7), "C10");
                assert_eq!(rx.drain().count(), $capacity);
                let mut sink: $kind::IntoSink<u8> = tx.into_sink();
                sink.send(1).await.unwrap();
                let (tx, item): (Option<$kind::Sender<u8>>, _) = sink.into_parts();
                assert_eq!(item, None);
                let feeding = leno::spawn(stream::iter(2..=99).map(Ok).forward(tx.unwrap().into_sink()));
                assert_eq!(rx.stream().collect::<Vec<_>>().await, Vec::from_iter(1..=99));
                feeding.await.unwrap().unwrap();
            })
        };
    }
    check!(mpsc, 1);
    check!(mpsc, 4);
    check!(spsc, 1);
    check!(spsc, 4);
}

/// C15, C26: they are `Unpin`, and cross threads with their values.
#[test]
fn they_are_unpin_and_send() {
    fn is<S: Unpin + Send + Sync>() {}
    is::<SendSink<'_, Cell<u8>>>();
    is::<IntoSink<Cell<u8>>>();
    is::<mpsc::IntoSink<Cell<u8>>>();
    is::<spsc::SendSink<'_, Cell<u8>>>();
    is::<spsc::IntoSink<Cell<u8>>>();
}

/// C26: one that is forgotten strands its sender and what it keeps, and nothing else.
#[test]
fn a_forgotten_sink_strands_its_own_item() {
    let (tx, rx) = rendezvous();
    let mut sink = tx.clone().into_sink();
    assert!(sink.ready().is_ready() && sink.give(1).is_ok() && sink.ready().is_pending());
    mem::forget(sink);
    let mut sending = tx.send(2);
    sending.must_wait("nobody receives");
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2)));
    assert_eq!(sending.must_be_ready("it was received"), Ok(()));
    drop(sending);
    tx.assert_valid();
}

/// C1, C13: the drop of a waker panics, and takes the last receiver with it, when a sink is taken apart.
#[test]
fn parts_come_back_where_the_drop_of_a_waker_panics() {
    struct Last(Mutex<Option<Receiver<String>>>);
    impl Wake for Last {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Last {
        fn drop(&mut self) {
            drop(self.0.get_mut().unwrap().take());
            panic!("planted: the drop of a waker panics");
        }
    }
    let lost = Arc::new(Mutex::new(Vec::new()));
    let of_hook = Arc::clone(&lost);
    let hook = move |value: String| of_hook.lock().unwrap().push(value);
    let (tx, rx) = Builder::new().on_undelivered(hook).build();
    let mut sink = tx.into_sink();
    assert!(sink.give(String::from("weft")).is_ok());
    let waker = Waker::from(Arc::new(Last(Mutex::new(Some(rx)))));
    assert!(Pin::new(&mut sink).poll_flush(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    catch_unwind(AssertUnwindSafe(|| sink.into_parts())).expect_err("the panic goes through");
    assert_eq!(*lost.lock().unwrap(), ["weft"]);
    assert_eq!(Arc::strong_count(&lost), 1, "the channel is gone, and its hook");
}

/// They say what they are.
#[test]
fn debug_says_whether_it_sends() {
    let (tx, _rx) = rendezvous();
    let mut sink = tx.into_sink();
    assert_eq!(format!("{sink:?}"), "IntoSink { sending: false, closed: false, .. }");
    assert_eq!(sink.give(1), Ok(()));
    assert_eq!(format!("{sink:?}"), "IntoSink { sending: true, closed: false, .. }");
}
