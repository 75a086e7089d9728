//! Sends that never wait, and what nobody gets: each value is received, given back or undelivered, once. (The tables of all
//! tests say so; here is what they do not come to.)

use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::{Linked, LinkedOldest, Newest, Oldest, Ring};
use crate::scenarios::table::{Log, any, in_order, three_stays};

// (Who only looks comes last: loom finds what a write of another thread would change in a look, if the write was first. And
// two that look again and again for a third one never come to an end there.)
table! {
    force_against_recv: Ring(1), [S(1, 1)], [[TR, TR], [F(2)]], in_order;
    force_against_two_receives: Ring(2), [S(1, 1), S(2, 2)], [[F(3)], [TR, TR]], in_order;
    force_twice_against_recv: Ring(1), [S(1, 1)], [[F(2), F(3)], [TR, TR]], in_order;
    force_against_a_waiting_receiver: Ring(1), [R(1)], [[F(1)], [D(1)], [TR]], any;
    force_against_register: Ring(1), [], [[R(1)], [F(1), F(2)]], any;
    force_against_close: Ring(1), [S(1, 1)], [[Close, TR], [F(2)]], any;
    force_against_close_now: Ring(1), [S(1, 1)], [[CloseNow], [F(2)]], any;
    force_against_a_waiting_sender: Ring(1), [S(1, 1), S(2, 2)], [[TR], [F(3)]], any;
    force_against_a_sender_that_leaves: Ring(1), [S(1, 1), S(2, 2)], [[D(2)], [F(3)], [TR]], any;
    force_against_a_sender_that_joins - 1: Ring(1), [S(1, 1), S(2, 2)], [[S(4, 4)], [F(3)], [TR]], any;
    force_against_force: Ring(1), [S(1, 1)], [[F(2), TR], [F(3)]], any;
    force_against_force_into_two: Ring(2), [S(1, 1), S(2, 2)], [[F(3)], [F(4), TR]], any;
    two_forces_against_two_receives: Ring(2), [S(1, 1), S(2, 2)], [[F(3), F(4)], [TR, TR]], in_order;
    force_that_is_slow: Ring(1), [S(1, 1)], [[F(2)], [TS(3), F(4)], [TR]], any;
    force_past_a_slow_sender - 1: Ring(2), [S(1, 1)], [[TS(2)], [F(3)], [TS(4), F(5), F(6)], [TR]], any;
    force_against_a_permit: Ring(1), [S(1, 1)], [[F(2)], [TReserve(3), Free(3), TS(4)], [TR]], any;
    force_against_a_sender_that_registers: Ring(1), [S(1, 1)], [[S(2, 2)], [F(3)], [TR]], three_stays;
    force_behind_an_own_send: Ring(1), [S(1, 1)], [[S(2, 2), F(3)], [TR]], three_stays;
    force_and_close_now: Ring(1), [S(1, 1)], [[F(2), CloseNow], [TR, TR]], in_order;
    force_where_nothing_is_kept: Ring(0), [], [[R(1), D(1)], [F(1)]], any;

    force_a_room_against_recv: Linked(1), [S(1, 1)], [[TR, TR], [F(2)]], in_order;
    force_a_room_of_two_against_recv: Linked(2), [S(1, 1), S(2, 2)], [[TR], [F(3)]], one_goes_or_none;
    force_a_room_of_two_against_two_receives - 1: Linked(2), [S(1, 1), S(2, 2)], [[TR, TR], [F(3)]], one_goes_or_none;
    force_a_room_against_who_collects: Linked(3), [S(1, 1), S(2, 2), S(3, 3), TR, TR], [[TS(4)], [F(5)]], none_goes;
    force_a_room_against_register: Linked(1), [Count, S(1, 1)], [[TR, R(1)], [F(2)]], any;
    force_a_room_against_close: Linked(1), [Count, S(1, 1)], [[Close, TR, TR], [F(2)]], any;
    force_a_room_against_a_waiting_sender: Linked(1), [Count, S(1, 1), S(2, 2)], [[TR], [F(3)]], any;
    force_a_room_against_a_sender_that_leaves: Linked(1), [Count, S(1, 1), S(2, 2)], [[D(2)], [F(3)]], any;
    force_a_room_against_force: Linked(1), [Count, S(1, 1)], [[F(2)], [F(3)]], any;

    oldest_goes_against_recv: Oldest(1), [S(1, 1)], [[TR, TR], [S(2, 2), TSok(3)]], in_order;
    oldest_goes_against_another: Oldest(1), [S(1, 1)], [[TSok(2), TR], [S(2, 3)]], any;
    oldest_goes_against_close: Oldest(1), [S(1, 1)], [[Close, TR], [S(2, 2)]], any;
    oldest_of_a_room_goes_against_recv: LinkedOldest(1), [S(1, 1)], [[TR], [TSok(2)]], any;
    oldest_of_a_room_goes_against_another - 1: LinkedOldest(1), [Count, S(1, 1)], [[TSok(2)], [TSok(3)]], any;
    oldest_of_a_room_goes_first - 1: LinkedOldest(1), [S(1, 1)], [[TSok(2)], [TSok(3)]], any;
    oldest_of_a_room_goes_against_close: LinkedOldest(1), [S(1, 1)], [[Close, TR], [S(2, 2)]], any;
    newest_goes_against_recv: Newest(1), [S(1, 1)], [[TR, TR], [S(2, 2), TSok(3)]], in_order;
    newest_goes_where_nothing_is_kept: Newest(0), [], [[R(2), D(2)], [S(1, 1)]], any;

    oldest_goes_beside_a_permit: Oldest(2), [S(1, 1), TReserve(2)], [[S(3, 3)], [Use(2, 2)], [TR]], any;
    the_own_goes_where_all_is_reserved: Oldest(1), [TReserve(1)], [[S(2, 2)], [Free(1)]], any;
    forced_while_places_change_hands: Oldest(1), [TReserve(1)], [[Free(1), S(2, 2), Reserve(3, 1)], [F(4)]], any;
    newest_stays_where_there_is_room: Newest(2), [TS(1)], [[TR, TReserve(1)], [S(2, 2)]], none_goes;
    newest_stays_while_room_changes_hands: Newest(3), [TS(1), TS(2)],
        [[TR, TReserve(1), TR, TReserve(2)], [TS(3)]], none_goes;
    oldest_stays_where_there_is_room: Oldest(2), [TS(1)], [[TR, TReserve(1)], [S(2, 2)]], none_goes;
    forced_past_those_who_reserve: Ring(1), [TReserve(1), Reserve(2, 1), R(3)], [[F(4)], [Free(1)]], none_goes;
    forced_past_those_who_reserve_a_room: Linked(1), [TReserve(1), Reserve(2, 1), R(3)], [[F(4)], [Free(1)]], none_goes;

    a_send_is_dropped_against_close: Ring(0), [S(1, 1), S(2, 2)], [[Close], [D(1)]], any;
    a_second_send_is_dropped_against_close: Ring(0), [S(1, 1), S(2, 2)], [[Close], [D(2)]], any;
    a_send_is_dropped_against_a_place: Linked(1), [S(1, 1), S(2, 2)], [[D(2)], [TR, Close]], any;
}

/// It is full before the first receive, and never after it: what goes is the first value, or none.
fn one_goes_or_none(log: &Log) {
    assert!(log.back.iter().all(|gone| *gone == 1), "there was room, and a value went: {:?}", log.back);
}

/// There is room, or a receiver, all the time.
fn none_goes(log: &Log) {
    assert!(log.undelivered.is_empty() && log.back.is_empty(), "a value went, and there was no need");
}

/// The last receiver.
mod last {
    use std::sync::{Arc, Mutex};

    use leno::channel::{Builder, Overflow};
    use leno::{Receiver, Sender};

    use crate::scenarios::harness::thread;
    use crate::scenarios::support::{Value, Values, poll};
    use crate::scenarios::table::{Fat, Item};

    type Ends = Arc<Mutex<Vec<usize>>>;

    fn build<T: Item>(capacity: usize) -> (Sender<T>, Receiver<T>, Ends) {
        let ends = Ends::default();
        let of_hook = Arc::clone(&ends);
        let hook = move |value: T| of_hook.lock().unwrap().push(value.number());
        let (tx, rx) = Builder::new().capacity(capacity).on_undelivered(hook).build();
        (tx, rx, ends)
    }

    /// A receive that was handed a value is dropped; the sender is there still.
    fn handed<T: Item>(capacity: usize) {
        let (tx, rx, ends) = build::<T>(capacity);
        let (values, other) = (Values::default(), rx.clone());
        let mut receiving = rx.recv();
        assert!(poll(&mut receiving).is_pending());
        assert!(tx.try_send(T::of(values.make(1))).is_ok());
        let dropping = thread::spawn(move || drop(other));
        drop(receiving);
        drop(rx);
        dropping.join().unwrap();
        assert_eq!(*ends.lock().unwrap(), [1]);
        assert_eq!(values.alive(), 0);
        drop(tx);
    }

    pub(crate) fn a_handed_value_against_the_last_receiver() {
        handed::<Value>(0);
    }

    /// A value is just being handed over.
    pub(crate) fn handing_over_against_the_last_receiver() {
        let (tx, rx, ends) = build::<Value>(0);
        let values = Values::default();
        let value = values.make(1);
        let mut receiving = rx.recv();
        assert!(poll(&mut receiving).is_pending());
        let sender = thread::spawn(move || (tx.try_send(value).is_ok(), tx));
        drop(receiving);
        drop(rx);
        let (is_sent, tx) = sender.join().unwrap();
        assert_eq!(*ends.lock().unwrap(), if is_sent { vec![1] } else { vec![] });
        assert_eq!(values.alive(), 0);
        drop(tx);
    }

    fn force<T: Item>(end: impl FnOnce(Receiver<T>) -> Option<Receiver<T>> + Send + 'static) {
        let (tx, rx, ends) = build::<T>(1);
        let values = Values::default();
        assert!(tx.try_send(T::of(values.make(1))).is_ok());
        let ending = thread::spawn(move || end(rx));
        let back = tx.force_send(T::of(values.make(2))).unwrap_or_else(|error| Some(error.into_inner()));
        let rx = ending.join().unwrap();
        let mut all = ends.lock().unwrap().clone();
        all.extend(back.map(|value| value.number()));
        all.sort_unstable();
        assert_eq!(all, [1, 2], "each once, and none is left");
        assert_eq!((values.alive(), tx.len()), (0, 0));
        drop((tx, rx));
    }

    fn drops<T>(rx: Receiver<T>) -> Option<Receiver<T>> {
        drop(rx);
        None
    }

    fn closes<T>(rx: Receiver<T>) -> Option<Receiver<T>> {
        rx.close_now();
        Some(rx)
    }

    pub(crate) fn a_forced_send_against_the_last_receiver() {
        force::<Value>(drops);
    }

    pub(crate) fn a_forced_send_into_a_room_against_the_last_receiver() {
        force::<Fat>(drops);
    }

    pub(crate) fn a_forced_send_into_a_room_against_close_now() {
        force::<Fat>(closes);
    }

    /// A send takes the oldest value of a room while the channel is closed and one value received; gives that, and the next one.
    fn close_while_forced(capacity: usize) -> [Option<usize>; 2] {
        let (tx, rx) = Builder::new().capacity(capacity).overflow(Overflow::DropOldest).build();
        let values = Values::default();
        for number in 1..=capacity {
            assert!(tx.try_send(Fat::of(values.make(number))).is_ok());
        }
        let receive = |rx: &Receiver<Fat>| rx.try_recv().ok().map(|value| value.number());
        let closing = thread::spawn(move || {
            rx.close();
            (receive(&rx), rx)
        });
        let _ = tx.try_send(Fat::of(values.make(9)));
        let (first, rx) = closing.join().unwrap();
        [first, receive(&rx)]
    }

    /// C5, C18.
    pub(crate) fn closed_and_empty_is_the_end() {
        let received = close_while_forced(1);
        assert!(
            received[0].is_some() || received[1].is_none(),
            "it was closed and empty, and is not any more"
        );
    }

    /// C2.
    pub(crate) fn in_order_to_the_end() {
        let received = close_while_forced(2);
        assert!(received[0] < received[1], "{received:?}");
    }
}

models! { last:
    a_handed_value_against_the_last_receiver
    handing_over_against_the_last_receiver
    a_forced_send_against_the_last_receiver
    a_forced_send_into_a_room_against_the_last_receiver
    a_forced_send_into_a_room_against_close_now
    closed_and_empty_is_the_end
    in_order_to_the_end
}
