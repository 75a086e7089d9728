//! S11 for what a set says of its operations without completing one: `ready` and its forms; `remove`, `len`; and
//! operations of all kinds, by `add`.

use std::future::ready;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use leno::channel::{Builder, Overflow, RecvError, broadcast, mpsc, oneshot, spsc, ticker, watch};
use leno::select::{ReadyFuture, Select, foreign};
use leno::sync::{Barrier, Mutex, Notify, RwLock, RwLockUpgradableReadGuard, Semaphore, WaitGroup};
use leno::{bounded, rendezvous, unbounded};

use crate::support::{PollExt, Tracker, within};
use crate::{KINDS, impls};

/// A wait for readiness that is over once `serve` has run, and no earlier.
#[track_caller]
fn told<'a>(set: &mut Select<'a>, serve: impl FnOnce()) -> usize {
    let mut asking = set.ready();
    let woken = asking.must_wait("nothing is ready");
    serve();
    assert!(woken.was_woken(), "a peer has come");
    let index = asking.must_be_ready("a peer has come");
    assert_eq!(Arc::strong_count(&woken), 1, "S1: no waker is kept");
    index
}

/// S1, S11: a set says which receive or send would not wait, before and after a wait; and nothing happens by that.
#[test]
fn it_says_what_is_ready_and_does_nothing() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (full, fulls) = kind.open();
        kind.fill(&full, |_| tracker.value());
        let mut set = Select::new();
        let (receive, send) = (set.recv(&rx), set.send(&full, tracker.value()));
        assert_eq!((receive.index(), send.index()), (0, 1));
        assert_eq!(set.try_ready(), None, "{kind:?}");
        assert_eq!(set.ready_timeout(Duration::ZERO).ok(), None);
        assert_eq!(set.ready_deadline(Instant::now()).ok(), None);

        let mut sending = tx.send(tracker.value());
        assert_eq!(told(&mut set, || _ = sending.poll_with(Waker::noop())), receive.index(), "{kind:?}");
        assert_eq!(
            (rx.len(), fulls.len()),
            (usize::from(kind.is_buffered()), full.len()),
            "nothing was taken"
        );
        for _ in 0..3 {
            assert_eq!(set.ready().must_be_ready("it is still there"), receive.index());
            assert_eq!(set.try_ready(), Some(receive.index()));
            assert_eq!(set.ready_blocking(), receive.index());
            assert_eq!(set.ready_timeout(Duration::MAX).ok(), Some(receive.index()));
        }
        assert!(set.try_select().expect("it is ready").recv(receive).is_ok());
        assert_eq!(set.try_ready(), None, "{kind:?}");

        let mut receiving = fulls.recv();
        assert_eq!(told(&mut set, || _ = receiving.poll_with(Waker::noop())), send.index(), "{kind:?}");
        assert!(set.try_select().expect("it is ready").send(send).is_ok());
        assert_eq!(set.len(), 1, "a send that was made has left");
        drop((set, sending, receiving));
        tx.assert_valid();
        full.assert_valid();
        drop((tx, rx, full, fulls));
        tracker.assert_done();
    }
}

/// C2, C3, C9: one that only asks holds back nothing: who waits behind it is served as if it did not wait there.
#[test]
fn who_waits_behind_it_is_served() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let mut set = Select::new();
        set.recv(&rx);
        let mut asking = set.ready();
        let woken = asking.must_wait("empty");
        let mut behind = rx.recv();
        let served = behind.must_wait("empty");
        assert_eq!(tx.try_send(1), Ok(()), "C3: a receiver waits; {kind:?}");
        assert!(served.was_woken(), "it is next in line");
        assert!(woken.was_woken());
        asking.must_wait("what came has gone to somebody else");
        assert_eq!(behind.must_be_ready("served"), Ok(1));
        assert_eq!(tx.try_send(2).is_ok(), kind.is_buffered(), "C3: nobody waits to receive; {kind:?}");
        drop(asking);
        drop(set);
        tx.assert_valid();
    }
}

/// C4, C11: the same on the side of the senders.
#[test]
fn who_waits_to_send_behind_it_is_let_in() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        if !kind.has_limit() {
            continue;
        }
        let room = kind.fill(&tx, |value| value);
        let mut set = Select::new();
        let send = set.send(&tx, usize::MAX);
        let mut asking = set.ready();
        let woken = asking.must_wait("full");
        let mut behind = tx.send(room);
        let sent = behind.must_wait("full");
        assert_eq!(rx.try_recv(), Ok(0));
        if kind.is_buffered() {
            assert!(sent.was_woken(), "C4: it is next in line; {kind:?}");
        }
        assert!(woken.was_woken());
        asking.must_wait("the room has gone to somebody else");
        drop(asking);
        assert_eq!(set.remove(send), Some(usize::MAX), "it was not sent");
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), (1..=room).collect::<Vec<_>>(), "C2: {kind:?}");
        drop(behind);
        tx.assert_valid();
    }
}

/// S1: dropped or forgotten, before and after it was told, it leaves nothing behind; what told it is there for others.
#[test]
fn dropped_it_leaves_no_trace() {
    for kind in KINDS {
        for (is_told, forget) in [(false, false), (false, true), (true, false), (true, true)] {
            let (tx, rx) = kind.open();
            let mut set = Select::new();
            set.recv(&rx);
            let mut asking = set.ready();
            let woken = asking.must_wait("empty");
            let mut sending = tx.send(1);
            if is_told {
                let _ = sending.poll_with(Waker::noop());
            }
            if forget {
                mem::forget(asking);
                assert_eq!(set.try_ready().is_some(), is_told);
            } else {
                drop(asking);
            }
            drop(set);
            assert_eq!(woken.was_woken(), is_told);
            if !is_told {
                let _ = sending.poll_with(Waker::noop());
            }
            assert_eq!(rx.try_recv(), Ok(1), "{kind:?}");
            assert_eq!(Arc::strong_count(&woken), 1);
            tx.assert_valid();
        }
    }
}

/// S4: its own branch on the other side of a channel is nobody to meet; a peer on either side tells it, with any number
/// of branches on each.
#[test]
fn both_sides_of_a_channel() {
    for (receives, sends) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        for peer_sends in [true, false] {
            let (tx, rx) = rendezvous();
            let mut set = Select::new();
            let received = (0..receives).map(|_| set.recv(&rx)).collect::<Vec<_>>();
            let sent = (0..sends).map(|_| set.send(&tx, 1)).collect::<Vec<_>>();
            for _ in 0..3 {
                assert_eq!(set.try_ready(), None, "S4: it does not meet itself");
            }
            let (mut sending, mut receiving) = (tx.send(2), rx.recv());
            let index = told(&mut set, || {
                if peer_sends {
                    _ = sending.poll_with(Waker::noop())
                } else {
                    _ = receiving.poll_with(Waker::noop())
                }
            });
            assert_eq!(index < receives, peer_sends);
            let operation = set.try_select().expect("it is ready");
            if peer_sends {
                let token = received.iter().find(|token| operation.is(**token)).expect("a receive");
                assert_eq!(operation.recv(*token), Ok(2));
            } else {
                let token = sent.iter().find(|token| operation.is(**token)).expect("a send");
                assert_eq!(operation.send(*token), Ok(()));
            }
            drop(set);
            drop((sending, receiving));
            tx.assert_valid();
        }
    }
}

/// S4: however many branches there are on each side, and in whatever order, they come to rest: a set that nobody tells
/// anything is not woken.
#[test]
fn both_sides_of_a_channel_come_to_rest() {
    for (receives, sends) in [(1, 1), (2, 1), (1, 2), (2, 2), (3, 5)] {
        for biased in [true, false] {
            let (tx, rx) = rendezvous();
            let mut set = if biased { Select::biased() } else { Select::new() };
            (0..receives).for_each(|_| _ = set.recv(&rx));
            (0..sends).for_each(|_| _ = set.send(&tx, 1));
            let woken = set.ready().must_wait("S4: it does not meet itself");
            assert!(!woken.was_woken(), "asking: {receives} receives, {sends} sends");
            let woken = set.select().must_wait("S4: as above");
            assert!(!woken.was_woken(), "selecting: {receives} receives, {sends} sends");
            drop(set);
            tx.assert_valid();
        }
    }
}

/// S4: the same on a buffered channel whose places are all reserved, so that both sides have to wait. C23: a place that is freed
/// is the send's, and a value that a permit sends is the receive's.
#[test]
fn both_sides_of_a_channel_that_is_reserved() {
    for (receives, sends) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        for capacity in [1, 2, 300] {
            for sends_first in [true, false] {
                let (tx, rx) = bounded(capacity);
                let mut permits = tx.try_reserve_many(capacity).expect("all are free");
                let mut set = Select::biased();
                for sends_now in [sends_first, !sends_first] {
                    if sends_now {
                        (0..sends).for_each(|_| _ = set.send(&tx, 1));
                    } else {
                        (0..receives).for_each(|_| _ = set.recv(&rx));
                    }
                }
                let is_send = |index: usize| if sends_first { index < sends } else { index >= receives };
                assert_eq!(set.try_ready(), None, "S4: it does not meet itself");
                assert!(set.try_select().is_none());
                let woken = set.ready().must_wait("S4: as above");
                assert!(!woken.was_woken(), "it comes to rest");
                assert!(is_send(told(&mut set, || drop(permits.next()))), "a place");
                let permit = tx.try_reserve().expect("it was only looked at");
                assert_eq!(set.try_ready(), None);
                assert!(!is_send(told(&mut set, || _ = permit.send(2))), "a value");
                drop((set, permits));
                assert_eq!(rx.try_recv(), Ok(2));
                tx.assert_valid();
            }
        }
    }
}

/// Each of many branches can tell it, also on both sides of each channel.
#[test]
fn many_branches() {
    let channels = (0..300).map(|_| rendezvous()).collect::<Vec<_>>();
    let mut set = Select::new();
    let mut tokens = Vec::new();
    for (tx, rx) in &channels {
        tokens.push((set.recv(rx), set.send(tx, 1)));
    }
    for at in [0, 150, 299] {
        let mut sending = channels[at].0.send(2);
        assert_eq!(told(&mut set, || _ = sending.poll_with(Waker::noop())), tokens[at].0.index());
        drop(sending);
        assert_eq!(set.try_ready(), None);
    }
    drop(set);
    channels.iter().for_each(|(tx, _)| tx.assert_valid());
}

/// S5: a channel that is closed before or meanwhile is ready, on either side.
#[test]
fn closed_channels() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u8>();
        let (full, fulls) = kind.open();
        kind.fill(&full, |_| 0);
        let mut set = Select::biased();
        let (receive, send) = (set.recv(&rx), set.send(&full, 1));
        assert_eq!(told(&mut set, || drop(fulls)), send.index());
        assert_eq!(set.try_ready(), Some(send.index()));
        assert_eq!(set.remove(send), Some(1), "it was not sent");
        assert_eq!(told(&mut set, || _ = tx.close()), receive.index());
        assert_eq!(set.try_select().expect("closed").recv(receive), Err(RecvError));
    }
}

/// S2: of several that are ready a biased set names the first; the other one each of them.
#[test]
fn the_order() {
    let channels = (0..3).map(|_| bounded(1)).collect::<Vec<_>>();
    channels[1..].iter().for_each(|(tx, _)| tx.try_send(1).expect("room"));
    let mut biased = Select::biased();
    let mut set = Select::new();
    channels.iter().for_each(|(_, rx)| _ = (biased.recv(rx), set.recv(rx)));
    let mut named = [0; 3];
    for _ in 0..200 {
        assert_eq!(biased.try_ready(), Some(1));
        named[set.try_ready().expect("two are")] += 1;
    }
    assert!(named[0] == 0 && named[1] > 20 && named[2] > 20, "{named:?}");

    // Futures that can only be polled have their place in it, too.
    biased.add(foreign(ready(())));
    set.add(foreign(ready(())));
    let mut named = [0; 4];
    for _ in 0..300 {
        assert_eq!(biased.try_ready(), Some(1));
        named[set.try_ready().expect("three are")] += 1;
    }
    assert!(named[0] == 0 && named[1..].iter().all(|count| *count > 20), "{named:?}");
}

/// C23: a reservation that is refused, or that is one of nothing, does not wait; to ask that leaves the channel as it was.
#[test]
fn reservations_that_do_not_wait() {
    let (tx, rx) = rendezvous();
    let mut set = Select::new();
    let refused = set.add(tx.reserve());
    assert_eq!(set.try_ready(), Some(refused.index()));
    drop(set);
    let mut sending = tx.send(1);
    sending.must_wait("nobody receives");
    assert_eq!(rx.try_recv(), Ok(1), "C3");
    sending.must_be_ready("taken").expect("taken");

    for capacity in [2, 1000] {
        let (tx, _rx) = bounded::<u8>(capacity);
        let permits = tx.reserve_many(capacity).must_be_ready("empty").expect("empty");
        for count in [0, capacity + 1] {
            let mut set = Select::new();
            set.add(tx.reserve_many(count));
            assert_eq!(set.ready().must_be_ready("it is of none, or of too many"), 0);
        }
        drop(permits);
        tx.assert_valid();
    }
}

/// C12: polled with another waker it wakes that one.
#[test]
fn another_waker() {
    let (tx, rx) = bounded(1);
    let mut set = Select::new();
    set.recv(&rx);
    let mut asking = set.ready();
    let first = asking.must_wait("empty");
    let second = asking.must_wait("empty");
    tx.try_send(1).expect("room");
    assert!(!first.was_woken() && second.was_woken());
    assert_eq!(asking.must_be_ready("told"), 0);
}

/// Two sets that only ask, one on each side, and nobody who does anything: neither meets the other, and neither is stuck
/// when somebody comes.
#[test]
fn two_that_only_ask() {
    let (tx, rx) = rendezvous();
    let (mut a, mut b) = (Select::new(), Select::new());
    let receive = a.recv(&rx);
    let send = b.send(&tx, 1);
    let mut asking = a.ready();
    asking.must_wait("nobody sends");
    let _ = b.try_ready();
    assert!(b.try_select().is_none(), "nobody receives");
    drop(asking);
    // One of them goes on to wait: the other one is told.
    let mut selecting = b.select();
    selecting.must_wait("nobody receives");
    assert_eq!(a.try_ready(), Some(receive.index()));
    assert_eq!(a.try_select().expect("a sender waits").recv(receive), Ok(1));
    assert_eq!(selecting.must_be_ready("met").send(send), Ok(()));
}

/// S13: an outcome that nobody has taken makes its operation ready, and is there still.
#[test]
fn an_unused_outcome_is_ready() {
    let (tx, rx) = bounded(1);
    let mut set = Select::new();
    let receive = set.recv(&rx);
    tx.try_send(1).expect("room");
    assert!(set.try_select().is_some());
    assert_eq!(set.ready().must_be_ready("unused"), receive.index());
    assert_eq!(set.try_select().expect("unused").recv(receive), Ok(1));
}

/// S13: an empty set waits as long as it was told.
#[test]
fn an_empty_set() {
    let mut set = Select::new();
    assert!(set.is_empty());
    assert_eq!(set.try_ready(), None);
    assert!(set.ready_timeout(Duration::from_millis(1)).is_err());
    assert!(set.ready_deadline(Instant::now()).is_err());
    let message = super::dynamic::panic_message(|| _ = set.ready().poll_with(Waker::noop()));
    assert!(message.contains("no operation is left in the set"), "{message}");
}

/// C11, S1: on threads: many who ask and then try, and who wait; each value arrives once, and nobody is stuck.
#[test]
fn asking_and_trying_beside_others() {
    for kind in KINDS {
        within("asking and trying", move || {
            const VALUES: usize = 4000;
            let (a, b) = (kind.open::<usize>(), kind.open::<usize>());
            let sum = AtomicUsize::new(0);
            thread::scope(|scope| {
                for asks in [true, true, false] {
                    let (sum, a, b) = (&sum, a.1.clone(), b.1.clone());
                    scope.spawn(move || {
                        let mut set = Select::new();
                        let (from_a, from_b) = (set.recv(&a), set.recv(&b));
                        let mut ended = 0;
                        while ended < 2 {
                            let received = if asks {
                                let index = set.ready_blocking();
                                assert!(index == from_a.index() || index == from_b.index());
                                match set.try_select() {
                                    Some(operation) if operation.is(from_a) => operation.recv(from_a),
                                    Some(operation) => operation.recv(from_b),
                                    None => continue,
                                }
                            } else {
                                let operation = set.select().wait();
                                if operation.is(from_a) {
                                    operation.recv(from_a)
                                } else {
                                    operation.recv(from_b)
                                }
                            };
                            match received {
                                Ok(value) => _ = sum.fetch_add(value, Ordering::Relaxed),
                                Err(RecvError) => ended = if a.is_closed() && b.is_closed() { 2 } else { 0 },
                            }
                        }
                        // What is left, if the last two ended at once.
                        let rest = a.try_iter().chain(b.try_iter()).sum::<usize>();
                        sum.fetch_add(rest, Ordering::Relaxed);
                    });
                }
                for tx in [a.0, b.0] {
                    scope.spawn(move || (0..VALUES).for_each(|value| tx.send_blocking(value).expect("open")));
                }
            });
            assert_eq!(sum.into_inner(), VALUES * (VALUES - 1), "{kind:?}");
        });
    }
}

/// `remove`: the others go on; a send gives its value back, unless it was sent; what was received is the next to be.
#[test]
fn removed_operations() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (full, fulls) = kind.open();
        let room = kind.fill(&full, |_| tracker.value());
        let mut set = Select::new();
        let (first, send, second) = (set.recv(&rx), set.send(&full, tracker.value()), set.recv(&rx));
        assert_eq!(set.len(), 3);
        set.remove(first);
        let value = set.remove(send).expect("it was not sent");
        assert_eq!(value.id, room, "{kind:?}");
        assert_eq!((set.len(), second.index()), (1, 2));
        // It waits without them.
        let mut selecting = set.select();
        let woken = selecting.must_wait("empty");
        let mut receiving = fulls.recv();
        let _ = receiving.poll_with(Waker::noop());
        assert!(!woken.was_woken(), "S1: that send is not there");
        let mut sending = tx.send(tracker.value());
        let _ = sending.poll_with(Waker::noop());
        let operation = selecting.must_be_ready("a value came");
        assert!(operation.is(second) && !operation.is(first) && !operation.is(send));
        assert_eq!(operation.index(), 2);
        // Unused, and removed then: the next one has it.
        drop(operation);
        drop(selecting);
        set.remove(second);
        assert!(set.is_empty());
        assert_eq!(rx.try_recv().expect("S13: it was given back").id, room + 1, "{kind:?}");
        drop((set, value, sending, receiving));
        drop((tx, rx, full, fulls));
        tracker.assert_done();
    }
}

/// A send that is removed after it has happened gives nothing back; one that was turned away its value.
#[test]
fn removed_sends() {
    let (tx, rx) = bounded(1);
    let mut set = Select::new();
    let sent = set.send(&tx, 1);
    drop(set.try_select().expect("room"));
    assert_eq!(set.remove(sent), None, "it was sent");
    assert_eq!(rx.try_recv(), Ok(1));
    let refused = set.send(&tx, 2);
    drop(rx);
    drop(set.try_select().expect("closed"));
    assert_eq!(set.remove(refused), Some(2), "it was not");

    let (mut tx, mut rx) = spsc::bounded(1);
    tx.try_send(0).expect("room");
    let mut set = Select::new();
    let waits = set.send(&mut tx, 3);
    set.select().must_wait("full");
    assert_eq!(set.remove(waits), Some(3));
    drop(set);
    let mut set = Select::new();
    let goes = set.send(&mut tx, 4);
    assert_eq!(rx.try_recv(), Ok(0));
    drop(set.try_select().expect("room"));
    assert_eq!(set.remove(goes), None);
    assert_eq!(rx.try_recv(), Ok(4));
}

/// What a removed token is asked for later: `is` says no, all else panics and says why.
#[test]
fn removed_tokens() {
    use super::dynamic::panic_message;
    let (tx, rx) = bounded(1);
    let mut set = Select::new();
    let (removed, stays) = (set.recv(&rx), set.recv(&rx));
    set.remove(removed);
    let message = panic_message(|| set.remove(removed));
    assert!(message.contains("has left the set"), "{message}");
    tx.try_send(1).expect("room");
    let operation = set.try_select().expect("a value");
    assert!(!operation.is(removed));
    let message = panic_message(|| _ = operation.recv(removed));
    assert!(message.contains("has left the set"), "{message}");
    assert_eq!(set.try_select().expect("S13: it is there still").recv(stays), Ok(1));
    let message = panic_message(|| Select::new().remove(stays));
    assert!(message.contains("made by another `Select`"), "{message}");
}

/// Any number comes and goes: the set does not grow.
#[test]
fn added_and_removed_again() {
    let (_tx, rx) = bounded::<u8>(1);
    let mut set = Select::new();
    let mut last = set.recv(&rx);
    for count in 1..1000 {
        let next = set.recv(&rx);
        set.remove(last);
        last = next;
        assert_eq!((set.len(), last.index()), (1, count));
        set.select().must_wait("empty");
    }
}

/// M8, S1: one set of operations of all kinds; whichever can, happens, and no other does.
#[test]
fn operations_of_all_kinds() {
    let (answer, answered) = oneshot::channel();
    let (mut asked, asker) = oneshot::channel::<u8>();
    let (news, mut reader) = broadcast::channel(1);
    let (setting, mut settings) = watch::channel(0);
    let (mpsc_tx, mut mpsc_rx) = mpsc::bounded(1);
    let ticks = ticker::after(Duration::from_secs(3600));
    let (mutex, rwlock, semaphore) = (Mutex::new(1), RwLock::new(2), Semaphore::new(0));
    let (notify, group) = (Notify::new(), WaitGroup::new());
    let worker = group.worker();
    let (held, written) = (mutex.try_lock().expect("free"), rwlock.try_write().expect("free"));
    let (kept, keeps) = rendezvous();
    let mut sending = kept.send("lent");
    let (gate_tx, gate) = oneshot::channel::<u8>();
    let later = pin!(async { gate.await.map_err(|_| ()) });

    let mut set = Select::new();
    let answered = set.add(answered);
    let closed = set.add(asked.closed());
    let news_token = set.add(reader.recv());
    let changed = set.add(settings.changed());
    let job = set.add(mpsc_rx.recv());
    let tick = set.recv(&ticks);
    let locked = set.add(mutex.lock());
    let read = set.add(rwlock.read());
    let permit = set.add(semaphore.acquire());
    let notified = set.add(notify.notified());
    let all = set.add(group.wait_all());
    let lent = set.add(&mut sending);
    let later = set.add(foreign(later));
    assert_eq!(set.len(), 13);
    for _ in 0..2 {
        assert_eq!(set.try_ready(), None);
        assert!(set.try_select().is_none());
        set.select().must_wait("nothing is ready");
    }

    /// Has the operation of a token happen by `$serve`, seen by a wait for readiness, then by a select.
    macro_rules! happens {
        ($token:ident, $serve:expr, $($output:tt)+) => {{
            let count = set.len();
            assert_eq!(told(&mut set, || $serve), $token.index(), stringify!($token));
            let operation = set.try_select().expect(stringify!($token));
            assert!(operation.is($token), stringify!($token));
            assert!(matches!(operation.output($token), $($output)+), stringify!($token));
            assert_eq!(set.len(), count - 1, "it has left the set");
            assert_eq!(set.try_ready(), None, stringify!($token));
        }};
    }
    happens!(answered, answer.send(7).expect("open"), Ok(7));
    happens!(closed, drop(asker), ());
    happens!(news_token, _ = news.send("news").expect("open"), Ok("news"));
    happens!(changed, setting.send(1).expect("open"), Ok(()));
    happens!(job, mpsc_tx.try_send(3).expect("room"), Ok(3));
    happens!(locked, drop(held), guard if *guard == 1);
    happens!(read, drop(written), guard if *guard == 2);
    happens!(permit, semaphore.add_permits(1), Ok(permit) if permit.num_permits() == 1);
    happens!(notified, notify.notify_one(), ());
    happens!(all, drop(worker), ());
    let mut keeper = keeps.recv();
    happens!(lent, _ = keeper.poll_with(Waker::noop()), Ok(()));
    happens!(later, gate_tx.send(9).expect("open"), Ok(9));
    assert_eq!(set.len(), 1);
    set.remove(tick);
    drop(set);
    assert!(mutex.try_lock().is_some() && rwlock.try_write().is_some(), "guards were dropped");
    assert_eq!(semaphore.available_permits(), 1);
    assert_eq!(keeper.must_be_ready("met"), Ok("lent"));
}

/// S10, M2: operations that are removed, or dropped with the set, take and hold nothing; what was lent goes on.
#[test]
fn operations_that_are_removed() {
    let (mutex, semaphore) = (Mutex::new(()), Semaphore::new(3));
    let held = mutex.try_lock().expect("free");
    let (tx, rx) = rendezvous();
    let mut sending = tx.send(1);
    let mut set = Select::new();
    let locked = set.add(mutex.lock());
    let permits = set.add(semaphore.acquire_many(4));
    let lent = set.add(&mut sending);
    let mut selecting = set.select();
    selecting.must_wait("nothing is ready");
    drop(held);
    drop(selecting);
    // It may have been told of the lock: it holds up nobody.
    drop(mutex.try_lock().expect("M2: free"));
    drop(set.try_select().expect("free"));
    assert!(mutex.try_lock().is_none(), "S13: the set has it");
    set.remove(locked);
    assert!(mutex.try_lock().is_some(), "S13");
    set.remove(permits);
    assert_eq!(semaphore.available_permits(), 3);
    set.remove(lent);
    drop(set);
    assert_eq!(sending.into_inner(), Some(1), "S9: it has its value");
    drop(rx);
    mutex.assert_valid();
    semaphore.assert_valid();
}

/// C11, M2: one that was told that a lock is free, and only asks, passes that on.
#[test]
fn a_lock_that_is_free() {
    for new in [Mutex::new, Mutex::fair] {
        let mutex = new(0);
        let held = mutex.try_lock().expect("free");
        let mut set = Select::new();
        let locked = set.add(mutex.lock());
        let mut asking = set.ready();
        asking.must_wait("held");
        let (mut first, mut second) = (mutex.lock(), mutex.lock());
        let woken = first.must_wait("held");
        second.must_wait("held");
        drop(held);
        assert!(woken.was_woken(), "M2: who waits behind it is served");
        let _ = asking.poll_with(Waker::noop());
        drop(asking);
        drop(first.must_be_ready("served"));
        drop(second.must_be_ready("served"));
        assert_eq!(set.try_ready(), Some(locked.index()));
        assert!(mutex.try_lock().is_some(), "it was not taken");
        drop(set);
        mutex.assert_valid();
    }
}

/// M6: a large wish for permits that only asks keeps none of them; neither does an upgrade keep readers out.
#[test]
fn permits_that_are_free() {
    let semaphore = Semaphore::new(2);
    let mut set = Select::new();
    let many = set.add(semaphore.acquire_many(3));
    assert_eq!(set.try_ready(), None);
    drop(semaphore.try_acquire_many(2).expect("all are free"));
    assert_eq!(told(&mut set, || semaphore.add_permits(1)), many.index());
    drop(semaphore.try_acquire_many(3).expect("it took none"));
    drop(set);
    semaphore.assert_valid();

    let lock = RwLock::new(());
    let upgradable = lock.upgradable_read().must_be_ready("free");
    let reader = lock.try_read().expect("readers come in");
    let mut set = Select::new();
    let upgraded = set.add(RwLockUpgradableReadGuard::upgrade(upgradable));
    assert_eq!(set.try_ready(), None);
    drop(lock.try_read().expect("it only asked"));
    assert_eq!(told(&mut set, || drop(reader)), upgraded.index());
    drop(lock.try_read().expect("it only asked"));
    drop(set.try_select().expect("nobody reads").output(upgraded));
    drop(set);
    assert!(lock.try_write().is_some());
    lock.assert_valid();
}

/// What needs no wait from the start: a count at zero, a wish for nothing, a barrier for one.
#[test]
fn ready_from_the_start() {
    let (group, semaphore, barrier) = (WaitGroup::new(), Semaphore::new(0), Barrier::new(1));
    let (_tx, rx) = unbounded::<u8>();
    let mut set = Select::biased();
    set.recv(&rx);
    let all = set.add(group.wait_all());
    assert_eq!(set.try_ready(), Some(all.index()));
    set.remove(all);
    let none = set.add(semaphore.acquire_many(0));
    assert_eq!(set.try_ready(), Some(none.index()));
    set.remove(none);
    let came = set.add(barrier.wait_for_all());
    assert_eq!(set.try_ready(), Some(came.index()));
    assert!(set.try_select().expect("the only one").output(came).is_leader());
}

/// C21: a send that never waits is ready, also with nobody there to receive, or with the set's own receive.
#[test]
fn a_send_that_never_waits() {
    for policy in [Overflow::DropOldest, Overflow::DropNewest] {
        for capacity in [0, 1, 300] {
            let (tx, rx) = Builder::new().capacity(capacity).overflow(policy).build();
            (0..capacity).for_each(|n| tx.try_send(n).expect("there is room"));
            let mut set = Select::new();
            if capacity == 0 {
                set.recv(&rx);
            }
            let send = set.send(&tx, 1);
            assert_eq!(set.try_ready(), Some(send.index()), "{policy:?}, {capacity}");
            assert_eq!(set.ready().must_be_ready("it never waits"), send.index());
            let mut values = [1, 2].into();
            let mut set = Select::new();
            let send = set.add(tx.send_many(&mut values));
            assert_eq!(told_at_once(&mut set), send.index());
        }
    }
}

/// Of what asks the same thing for more and for less the one is ready for which there is enough, whichever comes first.
#[test]
fn a_request_for_more_does_not_hold_up_its_own_set() {
    let semaphore = Semaphore::new(1);
    let lock = RwLock::new(());
    let reads = lock.try_read().expect("free");
    for biased in [true, false] {
        let mut set = if biased { Select::biased() } else { Select::new() };
        let more = set.add(semaphore.acquire_many(2));
        let one = set.add(semaphore.acquire());
        assert_eq!((set.try_ready(), told_at_once(&mut set)), (Some(one.index()), one.index()));
        semaphore.add_permits(1);
        assert!(!biased || set.try_ready() == Some(more.index()), "both are ready");
        semaphore.forget_permits(1);
        drop(set);
        semaphore.assert_valid();

        let mut set = if biased { Select::biased() } else { Select::new() };
        set.add(lock.write());
        let read = set.add(lock.read());
        assert_eq!((set.try_ready(), told_at_once(&mut set)), (Some(read.index()), read.index()));
        drop(set);

        // (In a large channel a receive leaves its place to whoever looks for it.)
        for capacity in [2, 300] {
            let (tx, rx) = bounded(capacity);
            (0..capacity).for_each(|n| tx.try_send(n).expect("there is room"));
            rx.try_recv().expect("it is full");
            let mut set = if biased { Select::biased() } else { Select::new() };
            set.add(tx.reserve_many(2));
            let send = set.send(&tx, 2);
            assert_eq!((set.try_ready(), told_at_once(&mut set)), (Some(send.index()), send.index()));
            drop((set, rx));
            tx.assert_valid();
        }
    }
    drop(reads);
    lock.assert_valid();
}

/// C9: a value that was given back is seen until it is taken, in whatever way, and no longer.
#[test]
fn given_back_and_taken() {
    for capacity in [0, 1, 300] {
        for way in 0..4 {
            let (tx, rx) = bounded(capacity);
            let mut receiving = [rx.recv(), rx.recv()];
            for receiving in &mut receiving {
                assert!(receiving.poll_with(Waker::noop()).is_pending());
            }
            (0..2).for_each(|n| tx.try_send(n).expect("a receiver waits"));
            drop(receiving);
            let mut set = Select::new();
            let receive = set.recv(&rx);
            for n in 0..2 {
                assert_eq!(set.try_ready(), Some(receive.index()), "{capacity}, taken in way {way}");
                let mut taken = Vec::new();
                match way {
                    0 => taken.extend(rx.try_recv()),
                    1 => assert_eq!(rx.recv_many(&mut taken, 1).must_be_ready("it is there"), Ok(1)),
                    2 => assert_eq!(rx.try_recv_many(&mut taken, 1), Ok(1)),
                    _ => {
                        let mut taking = Select::new();
                        let receive = taking.recv(&rx);
                        taken.extend(taking.try_select().expect("it is there").recv(receive));
                    }
                }
                assert_eq!(taken, [n]);
            }
            assert_eq!(set.try_ready(), None, "{capacity}, taken in way {way}");
            let mut sending = tx.send(3);
            assert_eq!(told(&mut set, || _ = sending.poll_with(Waker::noop())), receive.index());
            drop((set, sending));
            tx.assert_valid();
        }
    }
}

/// C9: a value that was given back by a receive of a single receiver is seen.
#[test]
fn given_back_to_a_single_receiver() {
    let (mut tx, mut rx) = spsc::bounded(1);
    let mut set = Select::new();
    let receive = set.recv(&mut rx);
    let mut selecting = set.select();
    selecting.must_wait("empty");
    tx.try_send(1).expect("a receiver waits");
    drop(selecting);
    assert_eq!(set.try_ready(), Some(receive.index()));
    drop(set.try_select().expect("it came back"));
    drop(set);
    let mut set = Select::new();
    let receive = set.recv(&mut rx);
    assert_eq!(told_at_once(&mut set), receive.index());
    assert_eq!(set.try_select().expect("it came back").recv(receive), Ok(1));
}

#[track_caller]
fn told_at_once(set: &mut Select<'_>) -> usize {
    set.ready().must_be_ready("it is there")
}

/// The futures are Send, and Unpin; S7: a set with a foreign future can be asked, which polls it.
#[test]
fn what_the_types_are() {
    assert!(impls!(ReadyFuture<'static, 'static>: Send) && impls!(ReadyFuture<'static, 'static>: Unpin));
    let polls = AtomicUsize::new(0);
    let mut future = pin!(std::future::poll_fn(|_| {
        if polls.fetch_add(1, Ordering::Relaxed) == 0 { Poll::Pending } else { Poll::Ready("over") }
    }));
    let mut set = Select::new();
    let over = set.add(foreign(future.as_mut()));
    assert_eq!(set.try_ready(), None);
    assert_eq!(set.try_ready(), Some(over.index()));
    assert_eq!(set.try_ready(), Some(over.index()), "its output is kept");
    assert_eq!(polls.load(Ordering::Relaxed), 2);
    assert_eq!(set.try_select().expect("over").output(over), "over");
    assert!(set.is_empty());
}
