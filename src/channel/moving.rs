//! Migrating from other channels (documentation only).
//!
//! In leno one pair of handles, [`Sender`](super::Sender) and [`Receiver`](super::Receiver), serves fibers, tasks of other
//! executors and plain threads. An operation is a future: `.await` it in a task; on a thread use its `_blocking` form (or call
//! `.wait()` on the future, which is the same). Errors of sends give the value back.
//!
//! | | capacity 0 | bounded | unbounded |
//! |---|---|---|---|
//! | leno | [`rendezvous`](super::rendezvous) | [`bounded`](super::bounded) | [`unbounded`](super::unbounded) |
//! | std | `sync_channel(0)` | `sync_channel(n)` | `channel()` |
//! | crossbeam-channel, flume, kanal | `bounded(0)` | `bounded(n)` | `unbounded()` |
//! | async-channel | – | `bounded(n)` | `unbounded()` |
//! | tokio | – | `mpsc::channel(n)` | `mpsc::unbounded_channel()` |
//! | Kotlin | `Channel(RENDEZVOUS)` | `Channel(n)` | `Channel(UNLIMITED)` |
//! | Go | `make(chan T)` | `make(chan T, n)` | – |
//!
//! Channels whose senders never wait, with a hook for undelivered values, or with a name: [`Builder`](super::Builder).
//!
//! # From `std::sync::mpsc`
//!
//! | std | leno |
//! |---|---|
//! | `tx.send(v)` | `tx.send_blocking(v)`; without a bound also `tx.try_send(v)`, from anywhere (`let _ = tx.send(v)` sends nothing: it is a future) |
//! | `tx.try_send(v)` | the same |
//! | `rx.recv()` | `rx.recv_blocking()` |
//! | `rx.try_recv()`, `rx.recv_timeout(d)`, `rx.iter()`, `rx.try_iter()` | the same |
//! | `TryRecvError::Disconnected`, `TrySendError::Disconnected` | `Closed` |
//!
//! A receiver can be cloned, and shared by threads. A channel can be closed while both sides have handles.
//!
//! ```
//! let (tx, rx) = leno::bounded(8);
//! let worker = std::thread::spawn(move || rx.iter().sum::<u32>());
//! for n in 1..=10 {
//!     tx.send_blocking(n).unwrap();
//! }
//! drop(tx);
//! assert_eq!(worker.join().unwrap(), 55);
//! ```
//!
//! # From crossbeam-channel
//!
//! | crossbeam | leno |
//! |---|---|
//! | `tx.send(v)`, `rx.recv()` | `tx.send_blocking(v)`, `rx.recv_blocking()` |
//! | `tx.send_timeout(v, d)`, `rx.recv_timeout(d)` | the same |
//! | `tx.send_deadline(v, t)`, `rx.recv_deadline(t)` | the same |
//! | `try_send`, `try_recv`, `iter()`, `try_iter()`, `len`, `is_full`, `capacity`, `same_channel` | the same |
//! | `after(d)`, `at(t)`, `never()` | the same, in [`ticker`](super::ticker), of instants; `len` does not count a tick that is due |
//! | `tick(d)` | [`tick_with(d, Missed::Delay)`](super::ticker::tick_with): with `tick(d)` those missed come all at once |
//! | `TryRecvError::Disconnected` and its like | `Closed` |
//! | `select!`, `Select` | see [`select::moving`](crate::select::moving) |
//!
//! # From async-channel
//!
//! | async-channel | leno |
//! |---|---|
//! | `tx.send(v).await`, `rx.recv().await`, `try_send`, `try_recv` | the same |
//! | `send_blocking`, `recv_blocking` | the same |
//! | `tx.force_send(v)` | the same; if the channel is full, the oldest value is removed and returned |
//! | `tx.close()`, `tx.closed().await`, `len`, `capacity`, `sender_count`, `same_channel`, … | the same |
//! | `is_closed` | the same: sends can only fail |
//! | `tx.downgrade()`, `rx.downgrade()`, `upgrade()` | the same; a weak handle can count the strong ones (`sender_count`) |
//! | `Receiver` is a `Stream` | `rx.stream()`, or `rx.into_stream()`; it stays in line until it is dropped, also where a `next()` is dropped, as in a `select!`: there use `rx.recv()` |
//!
//! Dropping a waiting `send` means the value was not sent; `into_inner` gives it back.
//!
//! # From flume
//!
//! | flume | leno |
//! |---|---|
//! | `tx.send(v)`, `rx.recv()` | `tx.send_blocking(v)`, `rx.recv_blocking()` |
//! | `tx.send_async(v).await`, `rx.recv_async().await` | `tx.send(v).await`, `rx.recv().await` |
//! | `try_send`, `try_recv`, `send_timeout(v, d)`, `send_deadline(v, t)`, `recv_timeout(d)`, `recv_deadline(t)` | the same |
//! | `tx.into_send_async(v)`, `rx.into_recv_async()` | `tx.into_send(v)`, `rx.into_recv()` |
//! | `rx.iter()`, `rx.try_iter()` | the same |
//! | `rx.drain()`, which takes all at once | the same, but each value is taken as it is reached: to clear, `rx.drain().for_each(drop)` |
//! | `rx.stream()`, `rx.into_stream()` | the same |
//! | `tx.sink()`, `tx.into_sink()` | the same, with the feature `sink` |
//! | `tx.downgrade()`, `upgrade()` | the same, of receivers as well |
//! | `is_disconnected()`; `Disconnected` in errors | `is_closed()`; `Closed` |
//! | `len`, `is_full`, `capacity`, `sender_count`, `same_channel`, … | the same |
//! | `Selector` | [`select::Select`](crate::select::Select) |
//!
//! # From kanal
//!
//! | kanal | leno |
//! |---|---|
//! | `bounded(n)` beside `bounded_async(n)`, `to_async()`, `as_sync()` | one kind of handle |
//! | `tx.send(v)`, `rx.recv()` of the sync handles | `tx.send_blocking(v)`, `rx.recv_blocking()` |
//! | `tx.send(v).await`, `rx.recv().await` of the async ones | the same |
//! | `try_send(v)` returns `Ok(false)` if full, and drops the value | `try_send(v)` returns `Err(TrySendError::Full(v))` |
//! | `try_recv()` returns `Ok(None)` if empty | `try_recv()` returns `Err(TryRecvError::Empty)` |
//! | `try_send_option(&mut v)`, `send_option_timeout(&mut v, d)` | `try_send(v)`, `send_timeout(v, d)`: the error has the value |
//! | `send_timeout(v, d)`, `recv_timeout(d)`, `stream()`, `len`, `sender_count`, … | the same |
//! | `for v in rx` | the same, or `for v in &rx` |
//! | `tx.close()`, which discards what is in the channel | `tx.close_now()` |
//! | `is_disconnected()`; `rx.is_terminated()` | `is_closed()`; `rx.is_closed() && rx.is_empty()` |
//! | `rx.drain_into(&mut vec)` | `rx.try_recv_many(&mut vec, usize::MAX)`, which is an error if there is nothing, and goes on with what comes meanwhile (`rx.len()` instead of `usize::MAX` is a snapshot, but without the values of waiting senders) |
//!
//! # From `tokio::sync::mpsc`
//!
//! | tokio | leno |
//! |---|---|
//! | `tx.send(v).await`, `try_send`, `try_recv`, `tx.closed().await`, `is_closed()`, `len`, `same_channel` | the same |
//! | `rx.recv().await` returns an `Option` | it returns a `Result`: `while let Ok(v) = rx.recv().await` |
//! | `rx.recv()` takes `&mut self` | the same in [`mpsc`](super::mpsc); here `&self`, and receivers can be cloned: each value goes to one of them |
//! | `tx.blocking_send(v)`, `rx.blocking_recv()` | `tx.send_blocking(v)`, `rx.recv_blocking()` |
//! | `tx.send(v)` of an `UnboundedSender`, which is no future | `tx.try_send(v)`, which fails only if the channel is closed (`let _ = tx.send(v)` sends nothing) |
//! | `rx.recv_many(&mut vec, n).await` returns 0 once it is closed | `rx.recv_many(&mut vec, n).await` returns an error then |
//! | `rx.blocking_recv_many(&mut vec, n)` | `rx.recv_many(&mut vec, n).wait()` |
//! | `tx.send_timeout(v, d).await` | `let mut sending = tx.send(v)`, `timeout(d, &mut sending).await`, and `sending.into_inner()` gives back what was not sent; `tx.send_timeout(v, d)` is for threads |
//! | `rx.poll_recv(cx)` | poll an [`rx.into_stream()`](super::Receiver::into_stream), or an `rx.recv()`, that is kept: one that is dropped wakes nobody |
//! | `max_capacity()`; `capacity()`, the number of free places | `capacity()`; `capacity()` minus `len()` and minus what is reserved |
//! | `tx.downgrade()`, `weak.upgrade()` | the same; `strong_count()` is `sender_count()` |
//! | `PollSender` of `tokio-util`: `poll_reserve`, then `send_item` | poll a `tx.clone().reserve_owned()` that is kept, then send through its permit |
//! | the same, as a `Sink` | `tx.into_sink()`, with the feature `sink`; it reserves nothing: what was given to it is sent as it is flushed |
//! | `rx.close()`, then `recv` until `None` | the same, until `Err`; it does not wait for permits |
//! | `tx.reserve().await`, `try_reserve`, `reserve_many(n)`, `reserve_owned` | the same, with error types of their own; `reserve_many` may fail with `TooMany` |
//! | `try_reserve_many(n)` | the same, with an error of its own |
//! | `try_reserve_owned()` | `tx.clone().reserve_owned()` beside the `default` of a [`select!`](crate::select!) |
//! | `reserve_many(n)`, and a send for each permit | also `tx.send_many(&mut deque)`, if the values are already there |
//! | `permit.send(v)` | it returns a `Result`: there may be no receiver left |
//! | `owned.send(v)` returns the sender, `owned.release()` | a `Result` of the sender, the same |
//! | operations count against the task's budget | on leno's executors; in a loop on tokio's, call its `consume_budget().await` |
//!
//! ```
//! # leno::block_on(async {
//! let (tx, rx) = leno::bounded(4);
//! let numbers = leno::spawn(async move {
//!     for n in 0..3 {
//!         if tx.send(n).await.is_err() {
//!             break; // nobody listens any more
//!         }
//!     }
//! });
//! while let Ok(n) = rx.recv().await {
//!     println!("{n}");
//! }
//! numbers.await.unwrap();
//! # });
//! ```
//!
//! # From `tokio::sync`: `oneshot`, `watch`, `broadcast`
//!
//! The modules of the same names ([`oneshot`](super::oneshot), [`watch`](super::watch), [`broadcast`](super::broadcast)) have the
//! same functions. Differences:
//!
//! | tokio | leno |
//! |---|---|
//! | `oneshot`: `tx.send(v)` gives `Err(v)` | `Err(SendError(v))` |
//! | `rx.blocking_recv()` | `rx.recv_blocking()`; with a limit `rx.wait_timeout(d)` |
//! | `poll_closed(cx)` | poll a `tx.closed()` that is kept |
//! | `watch`: `has_changed` is an error once it is closed | only if the value was seen, too |
//! | a sender that waits for those who look lets no other one look first | it waits until nobody looks: see [Looking](super::watch#looking) |
//! | a `borrow` that is kept while somebody waits to send: the next `borrow` of that thread may never return | it returns |
//! | `watch::Sender::new(v)`, `broadcast::Sender::new(n)` | `channel(..).0` |
//! | `broadcast`: `tx.downgrade()`, and a receiver's count of senders | – |
//! | `broadcast`: `T: Clone + Send` | also `Sync`: receivers clone concurrently from one place |
//! | `broadcast`: a capacity is rounded up to a power of two | it is exact |
//! | a clone of a sender only; `resubscribe` | a receiver can be cloned, too, and begins where the original is |
//! | receivers always lag | they may also exert back-pressure: [`Lag::Suspend`](super::broadcast::Lag) |
//! | `blocking_recv`, and nothing for threads in `select!` | `recv_blocking()`, `.wait()` of each future, [`select_blocking!`](crate::select_blocking!) |
//!
//! # From Kotlin
//!
//! | Kotlin | leno |
//! |---|---|
//! | `Channel(CONFLATED)` | [`conflated()`](super::conflated) |
//! | `Channel(n, BufferOverflow.DROP_OLDEST)`, `DROP_LATEST` | [`Builder::overflow`](super::Builder::overflow) with [`DropOldest`](super::Overflow::DropOldest), [`DropNewest`](super::Overflow::DropNewest); the default capacity is 0, not 1 as there |
//! | `Channel(n) { undelivered -> … }` | [`Builder::on_undelivered`](super::Builder::on_undelivered) |
//! | `channel.send(v)`, `channel.receive()` | `tx.send(v).await`, `rx.recv().await` |
//! | `trySend(v)`, `tryReceive()` | `try_send`, `try_recv` |
//! | `receiveCatching()` | `recv()`: the error is a value |
//! | `trySendBlocking(v)` | `send_blocking(v)` |
//! | `channel.close()` | `tx.close()`, or drop the senders |
//! | `isClosedForSend`, `isClosedForReceive` | `is_closed()`, `is_closed() && is_empty()` |
//! | `channel.cancel()` | `close_now()`, or drop the receivers: what is in the buffer is dropped |
//! | `for (v in channel)` | `while let Ok(v) = rx.recv().await` |
//! | `select { a.onReceive { … } b.onSend(v) { … } onTimeout(d) { … } }` | [`select_biased!`](crate::select_biased!), with `default(d)` |
//! | `selectUnbiased` | [`select!`](crate::select!) |
//! | `StateFlow`, `SharedFlow` | [`watch`](super::watch), with `send_if_modified` for equal values; [`broadcast`](super::broadcast) |
//! | `coroutineScope { launch { … } }` | [`fiber::scope`](crate::fiber::scope()) |
//!
//! Kotlin's receive has *prompt* cancellation: a value handed to a coroutine that is cancelled before it runs goes to
//! `onUndeliveredElement`. In leno it goes to the next receiver or, if none waits, is the next to be received; it goes to the
//! hook only if there is no receiver left.
//!
//! # From Go
//!
//! | Go | leno |
//! |---|---|
//! | `ch <- v`, `v := <-ch` | `tx.send(v).await`, `rx.recv().await` |
//! | `v, ok := <-ch` | `rx.recv().await`: `Err` once it is closed and empty |
//! | `close(ch)` | drop the senders, or `tx.close()`, which returns true the first time and never panics |
//! | a send on a closed channel panics | it returns the value in an error |
//! | `len(ch)`, `cap(ch)` | `rx.len()`, `rx.capacity()` |
//! | `for v := range ch` | `while let Ok(v) = rx.recv().await` |
//! | `select { case ch <- v: default: }`, to discard what there is no room for | `tx.try_send(v)`, or [`DropNewest`](super::Overflow::DropNewest) |
//! | `select { case v := <-a: … case b <- w: … default: … }` | [`select!`](crate::select!), with the same `default` |
//! | a nil channel in a `select` | `, if condition` after the branch; the future is made all the same, so for an `Option` use an `async` block that is pending where there is none |
//! | `reflect.Select` | [`select::Select`](crate::select::Select) |
//! | `time.After(d)`, `time.Tick(d)` | `after(d)`, `tick_with(d, Missed::Skip)` of [`ticker`](super::ticker) |
//! | `go f()` | [`spawn`](crate::fiber::spawn)`(f())`; its handle can be joined and cancelled |
//! | `sync.Mutex` | [`sync::Mutex`](crate::sync::Mutex), or `std::sync::Mutex` where nothing is awaited while it is held |
//! | `context.WithCancel` | [`CancelToken`](crate::fiber::CancelToken); children are cancelled with their parent without one |
//!
//! ```
//! # leno::block_on(async {
//! let (tx, rx) = leno::rendezvous();
//! leno::spawn(async move {
//!     for n in 2.. {
//!         if tx.send(n).await.is_err() {
//!             return;
//!         }
//!     }
//! });
//! assert_eq!((rx.recv().await, rx.recv().await), (Ok(2), Ok(3)));
//! # });
//! ```
