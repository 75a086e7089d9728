//! Migrating from `tokio::select!` and `crossbeam_channel::select!` (documentation only).
//!
//! # From `tokio::select!`
//!
//! The syntax is the same: patterns, `, if` guards, `else`, `biased;`, handlers with `.await`, `?`, `break` and `continue`. Put
//! `leno::select!` in place of `tokio::select!`; on tokio's runtime too, as leno's futures run on any executor.
//!
//! Differences:
//!
//! * *Cancellation safety* is no longer a concern for leno's operations. `tokio::select!` polls and drops, so each future has to
//!   document whether it can be dropped without loss, and a `send` that loses drops its value. Here a branch that loses has
//!   done nothing, `send` included. Other futures are as in tokio: what they did before they lost is done.
//! * *`default`* runs if nothing is ready now, `default(duration)` if nothing has been ready for that long. In tokio these are
//!   branches with `std::future::ready` under `biased;`, and with `tokio::time::sleep`. (On tokio's runtime the latter is still
//!   the better one: [`time`](crate::time) says why.)
//! * *`select_biased!`* is short for `biased;`.
//! * In a fiber that is `Send` also what polled futures give has to be: `select!` keeps it for a moment.
//! * At most 32 branches, instead of 64; a [`Select`](super::Select) may have any number.
//! * A future that is used again is passed by `&mut`, as in tokio. A leno operation that loses keeps its value, but not its
//!   place in the queue.
//!
//! ```
//! # leno::block_on(async {
//! # let (tx, rx) = leno::bounded::<u8>(1);
//! # let (_shut, shutdown) = leno::bounded::<()>(1);
//! # drop(tx);
//! loop {
//!     leno::select! {
//!         biased;
//!         _ = shutdown.recv() => break,
//!         received = rx.recv() => match received {
//!             Ok(byte) => println!("{byte}"),
//!             Err(_) => break,
//!         },
//!     }
//! }
//! # });
//! ```
//!
//! # From `crossbeam_channel::select!`
//!
//! | crossbeam | leno |
//! |---|---|
//! | `recv(rx) -> msg => …` | `msg = rx.recv() => …` |
//! | `send(tx, value) -> res => …` | `res = tx.send(value) => …` |
//! | `default => …`, `default(d) => …` | the same |
//! | `select!` on a thread | [`select_blocking!`](crate::select_blocking!) |
//! | `select_biased!` | `select_blocking! { biased; … }` |
//! | `Select::new_biased()` | [`Select::biased`](super::Select::biased) |
//! | `Select::new()`, `sel.recv(&rx)`, `sel.send(&tx)` | [`Select::new`](super::Select::new), `set.recv(&rx)`, `set.send(&tx, value)`: the value goes in at registration, and handles may go in by value |
//! | `sel.select()` | `set.select().wait()`, or `.await` |
//! | `sel.try_select()`, `sel.select_timeout(d)`, `sel.select_deadline(t)` | `set.try_select()`, which returns an `Option`; `set.select().wait_timeout(d)`, `.wait_deadline(t)` |
//! | `oper.index() == i`, `oper.recv(&rx)` | `operation.is(i)`, `operation.recv(i)` |
//! | `sel.remove(i)` | `set.remove(i)`, which returns the value of a send |
//! | `sel.ready()`, `try_ready()`, `ready_timeout(d)`, `ready_deadline(t)` | `set.ready_blocking()`, or `set.ready().await`; the others have the same names (`try_ready` returns an `Option`); what was ready may be gone by then, in both |
//! | `after(d)`, `at(t)`, `tick(d)`, `never()` | in [`channel::ticker`](crate::channel::ticker), see [there](crate::channel::moving#from-crossbeam-channel); bind the receiver before the select, or write `after(d).into_recv()` |
//!
//! * In crossbeam a selected operation has to be completed, or the program panics. Here it has already happened; if an
//!   [`Operation`](super::Operation) is dropped, its outcome is kept for the next select.
//! * In crossbeam the value of a send is evaluated only if the branch wins. Here it is evaluated first, and dropped if the
//!   branch loses; pass the future by `&mut` to keep it.
//! * `recv` gives `Err` if the channel is closed *and empty*, in both.
