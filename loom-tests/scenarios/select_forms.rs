//! Selects in their other forms: sets of operations, which go on after a select, and the macros, which switch branches
//! off and may not wait.

use std::task::Poll;
use std::time::Duration;

use leno::channel::SendError;
use leno::select::{RecvToken, Select, Selected2, SendToken, select_biased as select};
use leno::{bounded, rendezvous, select_blocking};

use super::harness::thread;
use super::support::{Values, poll, settle};

/// A set that receives and sends meets a peer on each side, one after the other.
pub(crate) fn set_against_send_and_recv() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    // It stays, or its end would be received next.
    let sender = thread::spawn(move || (a.send_blocking(1).is_ok(), a));
    // On a thread of its own: loom does not let a thread that joins be unparked.
    let selecting = thread::spawn(move || {
        let mut set = Select::new();
        let receive = set.recv(&a_rx);
        let send = set.send(&b, 2);
        for _ in 0..2 {
            let operation = set.select().wait();
            if operation.is(receive) {
                assert_eq!(operation.recv(receive), Ok(1));
            } else {
                assert_eq!(operation.send(send), Ok(()));
            }
        }
    });
    assert_eq!(b_rx.recv_blocking(), Ok(2));
    selecting.join().unwrap();
    assert!(sender.join().unwrap().0);
    b_rx.assert_valid();
}

/// Ends a select that waits.
fn leave(set: &mut Select<'_>, forget: bool, waiting: impl FnOnce()) {
    let mut selecting = set.select();
    assert!(poll(&mut selecting).is_pending());
    waiting();
    if forget {
        std::mem::forget(selecting);
        drop(set.select());
    }
}

fn set_left_against_send(forget: bool) {
    let (a, a_rx) = rendezvous();
    let (_b, b_rx) = rendezvous::<usize>();
    let mut set = Select::biased();
    let receive = set.recv(&a_rx);
    set.recv(&b_rx);
    let mut sender = None;
    leave(&mut set, forget, || sender = Some(thread::spawn(move || (a.try_send(1).is_ok(), a))));
    let (sent, _a) = sender.unwrap().join().unwrap();
    assert_eq!(a_rx.len(), usize::from(sent), "what was handed over came back");
    let outcome = set.try_select().map(|operation| operation.recv(receive));
    assert_eq!(outcome, sent.then_some(Ok(1)), "and the set takes it");
    drop(set);
    a_rx.assert_valid();
}

/// A set's select is dropped while a peer sends: the value comes back, and the set goes on.
pub(crate) fn set_dropped_against_send() {
    set_left_against_send(false);
}

/// The same with a future that was forgotten: the set ends its wait when it is used again.
pub(crate) fn set_forgotten_against_send() {
    set_left_against_send(true);
}

/// A set's select is dropped while a peer receives: the send has happened, and the set says so, or it has its value.
pub(crate) fn set_dropped_against_recv() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let mut set = Select::new();
    let send = set.send(&a, values.make(1));
    let mut receiver = None;
    let rx = a_rx.clone();
    leave(&mut set, false, || receiver = Some(thread::spawn(move || drop(rx.try_recv().ok()))));
    receiver.unwrap().join().unwrap();
    if values.alive() == 0 {
        set.try_select().expect("it was sent").send(send).unwrap();
    } else {
        assert!(set.try_select().is_none(), "nobody receives");
        let mut selecting = set.select();
        assert!(poll(&mut selecting).is_pending());
        assert_eq!(a_rx.try_recv().unwrap().number, 1, "it has its value");
        match settle(&mut selecting) {
            Poll::Ready(operation) => operation.send(send).unwrap(),
            Poll::Pending => panic!("it was sent"),
        }
    }
    drop(set);
    assert_eq!(values.alive(), 0);
    a_rx.assert_valid();
}

/// The same while the channel closes: the value comes back with the error.
pub(crate) fn set_dropped_against_close() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let mut set = Select::new();
    let send = set.send(&a, values.make(1));
    let mut closing = None;
    leave(&mut set, false, || closing = Some(thread::spawn(move || drop(a_rx))));
    closing.unwrap().join().unwrap();
    let error = set.try_select().expect("closed").send(send).expect_err("closed");
    assert_eq!(error.into_inner().number, 1, "it has its value");
    drop(set);
    assert_eq!(values.alive(), 0);
}

/// A set runs out of time while a peer sends: it has received, or nothing was sent.
pub(crate) fn set_timed_out_against_send() {
    let (a, a_rx) = rendezvous();
    let rx = a_rx.clone();
    let selecting = thread::spawn(move || {
        let (_b, b_rx) = rendezvous::<usize>();
        let mut set = Select::new();
        let receive = set.recv(&rx);
        set.recv(&b_rx);
        let operation = set.select().wait_timeout(Duration::ZERO).ok();
        operation.map(|operation| operation.recv(receive))
    });
    let sender = thread::spawn(move || (a.try_send(1).is_ok(), a));
    let outcome = selecting.join().unwrap();
    let (sent, _a) = sender.join().unwrap();
    assert_eq!(outcome, sent.then_some(Ok(1)));
    assert_eq!(a_rx.len(), 0);
}

/// An operation that nobody used, and the set with it, are dropped while a receiver comes: it gets the value.
pub(crate) fn set_dropped_with_an_outcome() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let mut set = Select::new();
    set.recv(&a_rx);
    let mut selecting = set.select();
    assert!(poll(&mut selecting).is_pending());
    a.try_send(values.make(1)).unwrap();
    assert!(poll(&mut selecting).is_ready());
    drop(selecting);
    let rx = a_rx.clone();
    let receiver = thread::spawn(move || rx.recv_blocking().map(|value| value.number));
    drop(set);
    assert_eq!(receiver.join().unwrap(), Ok(1));
    assert_eq!(values.alive(), 0);
    a_rx.assert_valid();
}

/// A select with `default` meets a peer that does not wait: never, for it registers nothing. One that waits it meets, or
/// it has been too early.
pub(crate) fn default_against_send() {
    let (tx, rx) = rendezvous();
    let peer = tx.clone();
    let sender = thread::spawn(move || peer.try_send(1).is_ok());
    assert!(select_blocking! { _ = rx.recv() => false, default => true }, "nobody waits");
    assert!(!sender.join().unwrap(), "nobody waits");
    let sender = thread::spawn(move || tx.send_blocking(2));
    let received = select_blocking! { received = rx.recv() => received, default => rx.recv_blocking() };
    assert_eq!(received, Ok(2));
    sender.join().unwrap().unwrap();
    rx.assert_valid();
}

/// What is lent to a select with `default` is its owner's again afterwards, whatever a peer does meanwhile.
pub(crate) fn default_against_recv_of_a_lent_send() {
    let (tx, rx) = rendezvous();
    let receiver = thread::spawn(move || (rx.recv_blocking(), rx));
    let mut sending = tx.send(1);
    let sent = select_blocking! { sent = &mut sending => Some(sent), default => None };
    assert_eq!(sent.unwrap_or_else(|| sending.wait()), Ok(()));
    assert_eq!(receiver.join().unwrap().0, Ok(1));
    tx.assert_valid();
}

/// The same with a send that has waited by itself before.
pub(crate) fn default_against_recv_of_a_waiting_send() {
    let (tx, rx) = rendezvous();
    let receiver = thread::spawn(move || (rx.recv_blocking(), rx));
    let mut sending = tx.send(1);
    if poll(&mut sending).is_pending() {
        let sent = select_blocking! { sent = &mut sending => Some(sent), default => None };
        assert_eq!(sent.unwrap_or_else(|| sending.wait()), Ok(()));
    }
    assert_eq!(receiver.join().unwrap().0, Ok(1));
    tx.assert_valid();
}

/// The time of a `default` is up while a peer sends: the branch has won, or nothing was sent.
pub(crate) fn default_in_time_against_send() {
    let (tx, rx) = rendezvous();
    let own = rx.clone();
    let selecting = thread::spawn(move || {
        select_blocking! { received = own.recv() => Some(received), default(Duration::from_nanos(1)) => None }
    });
    let sender = thread::spawn(move || (tx.try_send(1).is_ok(), tx));
    let outcome = selecting.join().unwrap();
    let (sent, _tx) = sender.join().unwrap();
    assert_eq!(outcome, sent.then_some(Ok(1)));
    assert_eq!(rx.len(), 0);
    rx.assert_valid();
}

/// The same with a peer that receives.
pub(crate) fn default_in_time_against_recv() {
    let (tx, rx) = rendezvous();
    let own = tx.clone();
    let selecting = thread::spawn(move || {
        select_blocking! { sent = own.send(1) => Some(sent), default(Duration::from_nanos(1)) => None }
    });
    let receiver = thread::spawn(move || (rx.try_recv(), rx));
    let outcome = selecting.join().unwrap();
    let (received, _rx) = receiver.join().unwrap();
    assert_eq!(outcome, received.is_ok().then_some(Ok(())));
    tx.assert_valid();
}

/// S2, C27: a first branch that has had a value all along is taken, though what is received first there is still on its way.
pub(crate) fn first_branch_behind_one_on_its_way() {
    let (urgent, urgent_rx) = bounded(2);
    let (normal, normal_rx) = bounded(1);
    let other = urgent.clone();
    let sender = thread::spawn(move || other.try_send(1).unwrap());
    urgent.try_send(2).unwrap();
    normal.try_send(3).unwrap();
    // On a thread of its own, as above.
    let selecting = thread::spawn(move || {
        let selected = select((urgent_rx.recv(), normal_rx.recv())).wait();
        (selected, urgent_rx, normal_rx)
    });
    let (selected, urgent_rx, normal_rx) = selecting.join().unwrap();
    sender.join().unwrap();
    assert!(matches!(selected, Selected2::First(Ok(1 | 2))), "{selected:?}");
    assert_eq!((urgent_rx.len(), normal_rx.len()), (1, 1));
    urgent.assert_valid();
    normal.assert_valid();
}

/// A value that does not match switches its branch off: the peer of the other one is met, and nobody waits in the first.
pub(crate) fn mismatch_against_peers() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let selecting = thread::spawn(move || {
        let number = select_blocking! {
            biased;
            Ok(0) = a_rx.recv() => 0,
            Ok(number) = b_rx.recv() => number,
        };
        (number, a_rx)
    });
    let peer = a.clone();
    let sender = thread::spawn(move || peer.try_send(1).is_ok());
    b.send_blocking(2).unwrap();
    let (number, a_rx) = selecting.join().unwrap();
    assert_eq!(number, 2);
    let _ = sender.join().unwrap();
    assert!(a.try_send(3).is_err() && a_rx.is_empty(), "nobody waits, and nothing is left");
    a.assert_valid();
    b.assert_valid();
}

/// What a party of the cycle has done.
#[derive(Debug, PartialEq, Eq)]
enum Done {
    Sent,
    Received(usize),
    Closed,
}

/// Three selects in a circle, in three forms, each of which sends to the next one and receives from the one before: two
/// of them meet, and each closes what it sends to; the third learns of that.
pub(crate) fn a_circle_of_three() {
    let channels = [(); 3].map(|()| rendezvous::<usize>());
    let ends = |party: usize| (channels[party].0.clone(), channels[(party + 2) % 3].1.clone());
    let said = |sent: Result<(), SendError<usize>>| if sent.is_ok() { Done::Sent } else { Done::Closed };
    let (zero, one) = (ends(0), ends(1));
    let first = thread::spawn(move || {
        let done = match select((zero.0.send(0), zero.1.recv())).wait() {
            Selected2::First(sent) => said(sent),
            Selected2::Second(received) => received.map_or(Done::Closed, Done::Received),
        };
        zero.0.close();
        done
    });
    let second = thread::spawn(move || {
        let done = select_blocking! {
            biased;
            received = one.1.recv() => received.map_or(Done::Closed, Done::Received),
            sent = one.0.send(1) => said(sent),
        };
        one.0.close();
        done
    });
    let two = ends(2);
    let third = {
        let mut set = Select::biased();
        let send: SendToken<usize> = set.send(&two.0, 2);
        let receive: RecvToken<usize> = set.recv(&two.1);
        let operation = set.select().wait();
        if operation.is(send) {
            said(operation.send(send))
        } else {
            operation.recv(receive).map_or(Done::Closed, Done::Received)
        }
    };
    two.0.close();
    let done = [first.join().unwrap(), second.join().unwrap(), third];
    let sender = done.iter().position(|done| *done == Done::Sent).expect("two of them meet");
    assert_eq!(done[(sender + 1) % 3], Done::Received(sender), "{done:?}");
    assert_eq!(done[(sender + 2) % 3], Done::Closed, "{done:?}");
    channels.iter().for_each(|(tx, _)| tx.assert_valid());
}

/// A value waits in a buffer as a set leaves: the next in line is told, also by a set that was told before it.
pub(crate) fn set_dropped_after_it_was_notified() {
    let (tx, rx) = bounded(1);
    let mut set = Select::new();
    set.recv(&rx);
    let mut selecting = set.select();
    assert!(poll(&mut selecting).is_pending());
    let other = rx.clone();
    let receiver = thread::spawn(move || other.recv_blocking());
    tx.try_send(1).unwrap();
    drop(selecting);
    assert_eq!(receiver.join().unwrap(), Ok(1));
    drop(set);
    rx.assert_valid();
}
