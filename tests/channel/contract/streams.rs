//! Streams and iterators: C20.

use std::task::Poll;
use std::thread;

use futures_core::stream::FusedStream;
use futures_util::StreamExt;

use crate::contracts;
use crate::support::{CountingWaker, Kind, PollExt, Tracker, within};

/// What `stream` and `into_stream` share.
fn check_stream(stream: &mut (impl FusedStream<Item = usize> + Unpin), tx: leno::Sender<usize>) {
    let waker = CountingWaker::new();
    assert!(!stream.is_terminated());
    assert!(stream.next_once(&waker).is_pending(), "C20: empty");
    tx.try_send(1).expect("the stream waits");
    assert!(waker.was_woken(), "C20: woken by the value");
    assert_eq!(stream.next_once(&waker), Poll::Ready(Some(1)));
    let waker = CountingWaker::new();
    assert!(stream.next_once(&waker).is_pending(), "C20: empty again");
    tx.try_send(2).expect("the stream waits");
    drop(tx);
    assert_eq!(stream.next_once(&waker), Poll::Ready(Some(2)), "C20: drains before it ends");
    assert_eq!(stream.next_once(&waker), Poll::Ready(None), "C20: ends after close and drain");
    assert!(stream.is_terminated(), "C20: and says so");
    assert_eq!(stream.next_once(&waker), Poll::Ready(None), "C20: stays ended");
}

/// C20: a borrowed stream gives the values, ends after close and drain, and stays ended.
fn a_stream_ends_and_stays_ended(kind: Kind) {
    let (tx, rx) = kind.open();
    check_stream(&mut rx.stream(), tx);
}

/// C20: so does one that owns its receiver.
fn an_owned_stream_ends_and_stays_ended(kind: Kind) {
    let (tx, rx) = kind.open();
    check_stream(&mut rx.into_stream(), tx);
}

/// C20: a waiting stream is woken by close and ends.
fn close_ends_a_waiting_stream(kind: Kind) {
    let (tx, rx) = kind.open::<u8>();
    let mut stream = rx.stream();
    let waker = CountingWaker::new();
    assert!(stream.next_once(&waker).is_pending(), "C20: empty");
    assert!(tx.close());
    assert!(waker.was_woken(), "C20: woken by close");
    assert_eq!(stream.next_once(&waker), Poll::Ready(None));
}

/// C20: a dropped stream leaves no waiter behind, and passes on what it was handed.
fn a_dropped_stream_passes_on(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let mut stream = rx.stream();
    let waker = CountingWaker::new();
    assert!(stream.next_once(&waker).is_pending(), "C20: empty");
    let mut next = rx.recv();
    let other = next.must_wait("empty");
    tx.try_send(tracker.value()).expect("the stream waits");
    assert!(waker.was_woken() && !other.was_woken(), "C2: the stream is first");
    drop(stream);
    assert!(other.was_woken(), "C9, C20: the next in line is told");
    assert_eq!(next.must_be_ready("C20").expect("open"), 0, "C20: and gets the value");
    let mut stream = rx.stream();
    assert!(stream.next_once(&waker).is_pending(), "C20: empty");
    drop(stream);
    assert_eq!(std::sync::Arc::strong_count(&waker), 1, "C20: no waiter is left");
    if !kind.is_buffered() {
        tx.try_send(tracker.value()).expect_err("C3, C20: no waiter is left");
    }
    drop(next);
    drop((tx, rx));
    tracker.assert_done();
}

/// C20: dropping a stream's `next` keeps the stream's place and loses nothing: the waiter is the stream's.
fn a_dropped_next_loses_nothing(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut stream = rx.stream();
    for i in 0..10 {
        assert!(
            stream.next().poll_once(&CountingWaker::new()).is_pending(),
            "C20: empty, and `next` is dropped"
        );
        tx.try_send(i).expect("the stream waits");
        assert_eq!(stream.next().must_be_ready("C20"), Some(i));
    }
}

/// C7, C20: an owned stream that is dropped was the last receiver.
fn an_owned_stream_is_a_receiver(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let mut stream = rx.into_stream();
    assert!(stream.next_once(&CountingWaker::new()).is_pending(), "C20: empty");
    assert_eq!(tx.receiver_count(), 1);
    tx.try_send(tracker.value()).expect("the stream waits");
    drop(stream);
    assert!(tx.is_closed(), "C7: the last receiver went");
    tracker.assert_done();
}

/// C20: `try_iter` and `drain` take what is there, also from waiting senders (C3, C4), and never wait.
fn try_iter_and_drain_do_not_wait(kind: Kind) {
    let (tx, rx) = kind.open();
    assert_eq!(rx.try_iter().next(), None, "C20: empty");
    assert_eq!(rx.drain().next(), None, "C20: empty");
    for drain in [false, true] {
        let held = kind.fill(&tx, |i| i);
        let senders = kind.waiting(3);
        let mut waiting = (held..held + senders).map(|i| tx.send(i)).collect::<Vec<_>>();
        for sending in &mut waiting {
            sending.must_wait("full");
        }
        let taken = if drain { rx.drain().collect::<Vec<_>>() } else { rx.try_iter().collect() };
        let left = (0..held + senders).skip(taken.len()).collect::<Vec<_>>();
        assert_eq!(taken, (0..taken.len()).collect::<Vec<_>>(), "C2: in order");
        assert!(drain || left.is_empty(), "C20: try_iter ends only when nothing is there");
        left.iter().for_each(|i| assert_eq!(rx.try_recv(), Ok(*i), "C2: then the rest"));
        for sending in &mut waiting {
            assert_eq!(sending.must_be_ready("taken"), Ok(()));
        }
    }
    if kind.fill(&tx, |i| i) > 0 {
        let mut drain = rx.drain();
        rx.try_iter().for_each(drop);
        assert_eq!(drain.next(), None, "others have taken all");
        tx.try_send(7).expect("there is room");
        assert_eq!(drain.next(), None, "it stays over");
        assert_eq!(rx.try_recv(), Ok(7));
    }
    tx.close();
    assert_eq!(rx.try_iter().next(), None, "C20: closed");
    assert_eq!(rx.drain().next(), None, "C20: closed");
}

/// C20: an iterator that was not used up leaves the rest.
fn an_unfinished_try_iter_leaves_the_rest(kind: Kind) {
    let (tx, rx) = kind.open();
    let held = kind.fill(&tx, |i| i);
    let first = rx.try_iter().next();
    assert_eq!(first, (held > 0).then_some(0));
    assert_eq!(rx.len(), held.saturating_sub(1), "C1: the rest stays");
}

/// C20: `iter`, `for … in &rx`, `in &mut rx` and `into_iter` block for the next value and end after close and drain.
fn iter_blocks_until_the_end(kind: Kind) {
    within("C20: blocking iterators", move || {
        let (tx, mut rx) = kind.open();
        thread::scope(|scope| {
            scope.spawn(move || (0..30).for_each(|i| tx.send_blocking(i).expect("open")));
            let mut received = rx.iter().take(10).collect::<Vec<_>>();
            for value in &rx {
                received.push(value);
                if received.len() == 20 {
                    break;
                }
            }
            for value in &mut rx {
                received.push(value);
                if received.len() == 25 {
                    break;
                }
            }
            let mut rest = rx.into_iter();
            received.extend(&mut rest);
            assert_eq!(received, (0..30).collect::<Vec<_>>(), "C2, C20");
            assert_eq!(rest.next(), None, "C20: stays ended");
        });
    });
}

contracts!(
    a_stream_ends_and_stays_ended,
    an_owned_stream_ends_and_stays_ended,
    close_ends_a_waiting_stream,
    a_dropped_stream_passes_on,
    a_dropped_next_loses_nothing,
    an_owned_stream_is_a_receiver,
    try_iter_and_drain_do_not_wait,
    an_unfinished_try_iter_leaves_the_rest,
    iter_blocks_until_the_end,
);
