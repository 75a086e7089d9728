//! Scenarios of the waiter queue by itself: each representation, each growth and shrinkage, against whatever may happen
//! at the same moment. Whoever is in the queue has a number, and numbers grow in the order of entering.
//!
//! Planted bugs, in `src/wait/link.rs`: `enter_relaxed`, `no_generation`; in `src/wait/list.rs`: `pop_ignores_side`, `root_unchecked`,
//! `unlink_once`, `unlink_from_marked`, `pop_ignores_stop`, `aside_pops_any`; in `src/wait/queue.rs`: `aside_gives_up`.

use std::sync::Arc;

use leno::model::wait::{Entered, Entry, Queue, Side, Taken, recycle_nodes};

use crate::scenarios::harness::thread;

use Side::{Recv, Send};

/// A queue with so many receivers, numbered from 1 on.
fn receivers(count: usize) -> (Arc<Queue>, Vec<Entry>) {
    let queue = Arc::new(Queue::new());
    let entries = (1..=count).map(|number| wait(&queue, Recv, number)).collect();
    queue.assert_valid();
    (queue, entries)
}

fn wait(queue: &Queue, side: Side, number: usize) -> Entry {
    waits(queue.enter(side, number))
}

/// Comes back to the place that the rank gives.
fn wait_again(queue: &Queue, number: usize, rank: u64) -> Entry {
    waits(queue.enter_with(Recv, number, rank))
}

fn waits(entered: Entered) -> Entry {
    match entered {
        Entered::Waits(entry) => entry,
        other => panic!("it has to wait: {other:?}"),
    }
}

/// Takes and serves the first that has not left.
fn serve(queue: &Queue, side: Side) -> Option<usize> {
    std::iter::from_fn(|| queue.take(side)).find_map(Taken::serve)
}

/// Serves everybody; then nobody is left, and all entries are over.
fn serve_all(queue: &Queue, side: Side, entries: impl IntoIterator<Item = Entry>) -> Vec<usize> {
    queue.assert_valid();
    let served = std::iter::from_fn(|| serve(queue, side)).collect();
    assert!(queue.is_empty(), "everybody was taken out");
    queue.assert_valid();
    entries.into_iter().for_each(Entry::end);
    served
}

/// `count` wait; one more enters as one is taken out.
fn append_against_pop(count: usize) {
    let (queue, mut entries) = receivers(count);
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    entries.push(wait(&queue, Recv, count + 1));
    let taken = taker.join().unwrap();
    let rest = serve_all(&queue, Recv, entries);
    match taken {
        None => assert_eq!((count, rest), (0, vec![1]), "only an empty queue has nobody to take"),
        Some(first) => assert!(
            first == 1 && rest == (2..=count + 1).collect::<Vec<_>>(),
            "they are taken in order: {first}, {rest:?}"
        ),
    }
}

pub(crate) fn append_to_none_against_pop() {
    append_against_pop(0);
}

/// The first node is taken just as the queue grows over it.
pub(crate) fn append_to_one_against_pop() {
    append_against_pop(1);
}

pub(crate) fn append_to_two_against_pop() {
    append_against_pop(2);
}

/// `count` wait; number `leaver` leaves as one more enters and one is taken out.
fn leave_against_append_and_pop(count: usize, leaver: usize) {
    let (queue, mut entries) = receivers(count);
    let leaving = entries.remove(leaver - 1);
    let left = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.leave(leaving).is_ok())
    };
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    entries.push(wait(&queue, Recv, count + 1));
    let (left, taken) = (left.join().unwrap(), taker.join().unwrap());
    let mut all = taken.into_iter().collect::<Vec<_>>();
    all.extend(serve_all(&queue, Recv, entries));
    let expected = (1..=count + 1).filter(|number| !left || *number != leaver).collect::<Vec<_>>();
    assert_eq!(all, expected, "each is served once or leaves, in order");
}

/// The very waiter over which the queue grows leaves, and is taken.
pub(crate) fn leave_one_against_append_and_pop() {
    leave_against_append_and_pop(1, 1);
}

pub(crate) fn leave_oldest_against_append_and_pop() {
    leave_against_append_and_pop(2, 1);
}

/// A removal beside an append.
pub(crate) fn leave_newest_against_append_and_pop() {
    leave_against_append_and_pop(2, 2);
}

/// `count` wait; two of them leave at once.
fn two_leave(count: usize, leavers: [usize; 2]) {
    let (queue, entries) = receivers(count);
    let (leaving, staying): (Vec<_>, Vec<_>) =
        (1..).zip(entries).partition(|(number, _)| leavers.contains(number));
    let threads = leaving.into_iter().map(|(_, entry)| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.leave(entry).expect("nobody serves it"))
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    let (numbers, staying): (Vec<_>, Vec<_>) = staying.into_iter().unzip();
    assert_eq!(serve_all(&queue, Recv, staying), numbers, "the others stay, in order");
}

pub(crate) fn two_neighbours_leave() {
    two_leave(4, [2, 3]);
}

pub(crate) fn the_two_oldest_leave() {
    two_leave(3, [1, 2]);
}

pub(crate) fn the_two_newest_leave() {
    two_leave(3, [2, 3]);
}

pub(crate) fn the_only_two_leave() {
    two_leave(2, [1, 2]);
}

/// Three neighbours: two leave as the oldest is taken out.
pub(crate) fn neighbours_leave_against_pop() {
    let (queue, mut entries) = receivers(4);
    let middle = entries.drain(1..3).collect::<Vec<_>>();
    let threads = middle.into_iter().map(|entry| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.leave(entry).expect("those in front of it are served first"))
    });
    let threads = threads.collect::<Vec<_>>();
    assert_eq!(serve(&queue, Recv), Some(1));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(serve_all(&queue, Recv, entries), [4]);
}

/// `count` wait; two take.
fn two_pops(count: usize) {
    let (queue, entries) = receivers(count);
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    let here = serve(&queue, Recv);
    let there = taker.join().unwrap();
    let mut taken = here.into_iter().chain(there).collect::<Vec<_>>();
    taken.sort();
    assert_eq!(taken, (1..=count.min(2)).collect::<Vec<_>>(), "the first two, each once");
    assert_eq!(serve_all(&queue, Recv, entries), (3..=count).collect::<Vec<_>>());
}

pub(crate) fn two_pops_of_one() {
    two_pops(1);
}

pub(crate) fn two_pops_of_two() {
    two_pops(2);
}

pub(crate) fn two_pops_of_three() {
    two_pops(3);
}

/// A sender and a receiver arrive at the same moment, while `count` receivers wait: nobody sleeps on the other.
fn arriving_together(count: usize) {
    let (queue, entries) = receivers(count);
    let sender = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.enter(Send, 0))
    };
    let receiver = queue.enter(Recv, count + 1);
    match (receiver, sender.join().unwrap()) {
        (Entered::Waits(last), Entered::Met(first)) => {
            assert_eq!(first.serve(), Some(1), "the first in line is met");
            let entries = entries.into_iter().chain([last]);
            let rest = serve_all(&queue, Recv, entries);
            assert_eq!(rest, (2..=count + 1).collect::<Vec<_>>());
        }
        (Entered::Met(sender), Entered::Waits(entry)) => {
            assert_eq!((count, sender.serve()), (0, Some(0)), "a sender waits only if no receiver does");
            entry.end();
            assert!(queue.is_empty());
        }
        other => panic!("exactly one of them waits: {other:?}"),
    }
    queue.assert_valid();
}

pub(crate) fn arriving_together_at_none() {
    arriving_together(0);
}

pub(crate) fn arriving_together_at_one() {
    arriving_together(1);
}

pub(crate) fn arriving_together_at_two() {
    arriving_together(2);
}

/// The side changes under a sender that has seen receivers.
pub(crate) fn the_side_changes() {
    let (queue, entries) = receivers(2);
    let turned = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            let served = [serve(&queue, Recv), serve(&queue, Recv)];
            (served, [10, 11].map(|number| queue.enter(Send, number)))
        })
    };
    let here = queue.enter(Send, 12);
    let (served, there) = turned.join().unwrap();
    let mut served = served.into_iter().flatten().collect::<Vec<_>>();
    let mut waiting = Vec::new();
    for entered in there.into_iter().chain([here]) {
        match entered {
            Entered::Met(receiver) => served.extend(receiver.serve()),
            Entered::Waits(entry) => waiting.push(entry),
            other => panic!("it is open: {other:?}"),
        }
    }
    served.sort();
    assert_eq!(served, [1, 2], "each receiver is served once, and no sender is met by a sender");
    entries.into_iter().for_each(Entry::end);
    let senders = waiting.len();
    assert_eq!(serve_all(&queue, Send, waiting).len(), senders);
}

/// `count` wait; the queue is closed as one enters and one leaves.
fn close_against_enter_and_leave(count: usize) {
    let (queue, mut entries) = receivers(count);
    let leaver = entries.pop().map(|entry| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.leave(entry).is_ok())
    });
    let closer = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            let detached = queue.close().expect("nobody else closes");
            detached.into_iter().filter_map(Taken::serve).collect::<Vec<_>>()
        })
    };
    let entered = queue.enter(Recv, count + 1);
    let mut expected = (1..=count).collect::<Vec<_>>();
    if leaver.is_some_and(|leaver| leaver.join().unwrap()) {
        expected.pop();
    }
    let closed = closer.join().unwrap();
    match entered {
        Entered::Waits(entry) => {
            expected.push(count + 1);
            entry.end();
        }
        Entered::Closed => {}
        other => panic!("it waits or is refused: {other:?}"),
    }
    assert_eq!(closed, expected, "whoever waited at the close is taken out, in order");
    entries.into_iter().for_each(Entry::end);
    assert!(queue.take(Recv).is_none() && queue.is_empty() && queue.close().is_none());
    queue.assert_valid();
}

pub(crate) fn close_none_against_enter() {
    close_against_enter_and_leave(0);
}

pub(crate) fn close_one_against_enter_and_leave() {
    close_against_enter_and_leave(1);
}

pub(crate) fn close_two_against_enter_and_leave() {
    close_against_enter_and_leave(2);
}

/// A close and a peer that had begun before meet at the same nodes.
pub(crate) fn close_against_pop() {
    let (queue, entries) = receivers(2);
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    let detached = queue.close().expect("nobody else closes");
    let mut all = taker.join().unwrap().into_iter().collect::<Vec<_>>();
    all.extend(detached.into_iter().filter_map(Taken::serve));
    assert_eq!(all, [1, 2], "each is taken out once, and nobody by a peer after the close");
    entries.into_iter().for_each(Entry::end);
    queue.assert_valid();
}

/// Nodes are recycled: a slow taker may not take a node that has come back for one that was there before.
pub(crate) fn recycled_against_pop() {
    let (queue, mut entries) = receivers(2);
    recycle_nodes(true);
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    let first = entries.remove(0);
    let left = queue.leave(first).is_ok();
    // The same node, at the back.
    entries.push(wait(&queue, Recv, 3));
    let mut all = taker.join().unwrap().into_iter().collect::<Vec<_>>();
    all.extend(serve_all(&queue, Recv, entries));
    assert_eq!(all, if left { vec![2, 3] } else { vec![1, 2, 3] });
    recycle_nodes(false);
}

/// A recycled node enters an empty queue, and another one, as somebody still looks at its former place.
pub(crate) fn recycled_as_the_only_one() {
    let (queue, entries) = receivers(2);
    recycle_nodes(true);
    let other = Queue::new();
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || (serve(&queue, Recv), serve(&queue, Recv)))
    };
    let served = entries.into_iter().map(|entry| queue.leave(entry).is_err()).collect::<Vec<_>>();
    let there = wait(&other, Recv, 4);
    let here = wait(&queue, Recv, 3);
    let (one, two) = taker.join().unwrap();
    let mut all = one.into_iter().chain(two).collect::<Vec<_>>();
    let is_served = here.is_served();
    if is_served {
        here.end();
        assert_eq!(all.pop(), Some(3));
        assert!(queue.is_empty());
    } else {
        assert_eq!(queue.leave(here), Ok(()));
    }
    let expected = (1..).zip(served).filter(|(_, served)| *served).map(|(number, _)| number);
    assert_eq!(all, expected.collect::<Vec<usize>>(), "each is served or leaves");
    assert_eq!(serve(&other, Recv), Some(4), "the other queue has its own");
    there.end();
    queue.assert_valid();
    other.assert_valid();
    recycle_nodes(false);
}

/// A node that entered an empty queue is taken by a peer and left by its owner, as others come and go above it.
pub(crate) fn leave_root_against_pop_and_recycled() {
    recycle_nodes(true);
    let queue = Arc::new(Queue::new());
    let root = wait(&queue, Recv, 1);
    let peer = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            let first = serve(&queue, Recv);
            let above = [wait(&queue, Recv, 2), wait(&queue, Recv, 3)];
            (first, above)
        })
    };
    let left = queue.leave(root).is_ok();
    let (first, above) = peer.join().unwrap();
    assert_eq!(first, (!left).then_some(1), "it is served or leaves");
    assert_eq!(serve_all(&queue, Recv, above), [2, 3]);
    recycle_nodes(false);
}

/// One comes back to its place as another is taken out and a third one enters.
pub(crate) fn return_against_pop() {
    let (queue, mut entries) = receivers(2);
    let returns = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || wait_again(&queue, 10, 7))
    };
    let first = serve(&queue, Recv).expect("two wait");
    entries.push(returns.join().unwrap());
    let rest = serve_all(&queue, Recv, entries);
    match first {
        1 => assert_eq!(rest, [10, 2], "it goes to the front"),
        _ => assert_eq!((first, rest), (10, vec![1, 2]), "it goes to the front"),
    }
}

/// One comes back to an empty queue as another enters: it goes first, or the other one was there already.
pub(crate) fn two_return_against_append() {
    let (queue, _) = receivers(0);
    let returns = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || [(8, 18), (7, 17)].map(|(rank, number)| wait_again(&queue, number, rank)))
    };
    let fresh = wait(&queue, Recv, 30);
    let entries = returns.join().unwrap().into_iter().chain([fresh]);
    let all = serve_all(&queue, Recv, entries);
    assert_eq!(all, [17, 18, 30], "they go first, by rank");
}

/// One comes back to its place and leaves it again, as others are taken out.
pub(crate) fn returned_leaves_against_pop() {
    let (queue, mut entries) = receivers(1);
    let returned = wait_again(&queue, 10, 7);
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    let left = queue.leave(returned).is_ok();
    entries.push(wait(&queue, Recv, 2));
    let taken = taker.join().unwrap();
    let rest = if taken == Some(1) { vec![2] } else { vec![1, 2] };
    assert_eq!(taken, Some(if left { 1 } else { 10 }), "it is served first unless it has left");
    let (served, waiting): (Vec<_>, Vec<_>) = entries.into_iter().partition(Entry::is_served);
    served.into_iter().for_each(Entry::end);
    assert_eq!(serve_all(&queue, Recv, waiting), rest);
}

/// One stands in the list and another, which began to wait later, beside it: whoever takes meets one of them.
pub(crate) fn leave_list_against_take_aside() {
    let (queue, _) = receivers(0);
    let mut entries = [(7, 17), (8, 18)].map(|(rank, number)| Some(wait_again(&queue, number, rank)));
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    let first = entries[0].take().expect("it is here");
    let left = queue.leave(first).is_ok();
    assert_eq!(taker.join().unwrap(), Some(if left { 18 } else { 17 }), "somebody waits all the while");
    let rest = serve_all(&queue, Recv, entries.into_iter().flatten());
    assert_eq!(rest.len(), usize::from(!left));
}

/// Values are held for receivers as one enters, with senders waiting or nobody.
pub(crate) fn hold_against_enter() {
    let (queue, _) = receivers(0);
    let receiver = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.enter(Recv, 1))
    };
    let held = queue.hold();
    match receiver.join().unwrap() {
        Entered::Waits(entry) => {
            assert!(!held, "a receiver waits, or values are held");
            assert_eq!(serve_all(&queue, Recv, [entry]), [1]);
        }
        Entered::Held => assert!(held, "a receiver waits, or values are held"),
        other => panic!("nobody sends: {other:?}"),
    }
    queue.assert_valid();
    queue.release();
}

/// A value that is held comes before a sender who waits later, also for a peer that has begun before.
pub(crate) fn held_goes_first() {
    let (queue, _) = receivers(0);
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Send))
    };
    assert!(queue.hold());
    let senders = [5, 6].map(|number| wait(&queue, Send, number));
    assert_eq!(taker.join().unwrap(), None, "a value was held before they came");
    queue.release();
    assert_eq!(serve_all(&queue, Send, senders), [5, 6]);
}

/// Who stands beside the list is next as the one in front of it leaves, and nobody in the list passes it.
pub(crate) fn returned_is_not_passed() {
    let (queue, _) = receivers(0);
    let first = wait_again(&queue, 17, 7);
    let newer = wait(&queue, Recv, 30);
    let returned = wait_again(&queue, 18, 8);
    let taker = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || serve(&queue, Recv))
    };
    let left = queue.leave(first).is_ok();
    let mut all = taker.join().unwrap().into_iter().collect::<Vec<_>>();
    all.extend(serve_all(&queue, Recv, [newer, returned]));
    assert_eq!(all, if left { vec![18, 30] } else { vec![17, 18, 30] });
}

/// The one in front of which another one finds its place is recycled into another queue just then.
pub(crate) fn returns_behind_recycled() {
    let (queue, _) = receivers(0);
    recycle_nodes(true);
    let other = Queue::new();
    let first = wait_again(&queue, 17, 7);
    let returns = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || wait_again(&queue, 19, 9))
    };
    queue.leave(first).expect("nobody serves it");
    let elsewhere = wait_again(&other, 5, 9);
    let returned = returns.join().unwrap();
    let newer = wait(&queue, Recv, 30);
    assert_eq!(serve_all(&queue, Recv, [newer, returned]), [19, 30], "it returned before the other one came");
    assert_eq!(serve_all(&other, Recv, [elsewhere]), [5]);
    recycle_nodes(false);
}

/// A bystander takes its turn behind the newest, which is recycled into another queue just then.
pub(crate) fn beside_behind_recycled() {
    let (queue, mut entries) = receivers(3);
    recycle_nodes(true);
    let other = Queue::new();
    let beside = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || waits(queue.enter_beside(Recv, 20)))
    };
    queue.leave(entries.pop().expect("three wait")).expect("nobody serves it");
    let elsewhere = wait(&other, Recv, 5);
    entries.push(beside.join().unwrap());
    assert_eq!(serve_all(&queue, Recv, entries), [1, 2, 20], "they came before it");
    assert_eq!(serve_all(&other, Recv, [elsewhere]), [5]);
    recycle_nodes(false);
}
