//! Counts what channels cost in heap: empty ones, and operations that wait; leno beside its peers, as a Markdown table.
//!
//! `cargo run --release -p leno-benches --bin memory`
//!
//! Figures are means over 1000. Nothing that was counted is given back before the program ends, so that no pool has spare
//! ones for what is counted next; a pool that allocates in chunks makes means uneven.

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use leno_benches::peers::{self, Channel, Received, UNBOUNDED, VisitChannels};

/// How many are measured at once.
const MANY: usize = 1_000;

/// The system's allocator, which is asked for every byte; one thread runs, so counts are exact.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all of it is the system's allocator, called with the caller's own arguments; `realloc` is the default,
// in terms of these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        CALLS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise; the memory is from `System.alloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COLUMNS: [&str; 11] = [
    "empty, 0",
    "empty, 1",
    "empty, 64",
    "empty, unbounded",
    "a receive's future",
    "a receive that waits, alone",
    "one of 1000",
    "a send's future",
    "a send that waits, alone",
    "one of 1000",
    "allocations of a receive that waits and is served",
];

fn main() {
    let mut table = Table { rows: Vec::new(), threads: None };
    peers::channels_for_tasks(&mut table);
    table.threads = Some(table.rows.len());
    peers::channels_for_threads(&mut table);
    println!(
        "Bytes: of heap for each empty channel; of an operation's future; and of \
         heap for each operation that waits, beside its channel and its future.\n"
    );
    println!("| library | {} |", COLUMNS.join(" | "));
    println!("|---|{}", "---:|".repeat(COLUMNS.len()));
    for (library, figures) in table.rows {
        let figures = figures.map(|figure| figure.map_or(String::new(), show));
        println!("| {library} | {} |", figures.join(" | "));
    }
}

fn show(figure: f64) -> String {
    if figure.fract().abs() < 0.01 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}

/// A row for each library, which may have several adapters.
struct Table {
    rows: Vec<(&'static str, [Option<f64>; COLUMNS.len()])>,
    /// Once the adapters for threads come: how many rows are of libraries that had one for tasks.
    threads: Option<usize>,
}

impl VisitChannels for Table {
    fn channel<C: Channel>(&mut self) {
        let at = self.rows.iter().position(|(library, _)| *library == C::NAME);
        let figures = match (at, self.threads) {
            (Some(row), Some(tasks)) if row < tasks => return,
            // A call that blocks cannot be looked at while it waits.
            (_, Some(_)) => first_columns(empty::<C>),
            (_, None) => all_columns::<C>(),
        };
        let at = at.unwrap_or_else(|| {
            self.rows.push((C::NAME, [None; COLUMNS.len()]));
            self.rows.len() - 1
        });
        for (figure, new) in self.rows[at].1.iter_mut().zip(figures) {
            *figure = figure.or(new);
        }
    }
}

fn first_columns(empty: fn(usize) -> Option<f64>) -> [Option<f64>; COLUMNS.len()] {
    let [zero, one, some, unbounded] = [0, 1, 64, UNBOUNDED].map(empty);
    [zero, one, some, unbounded, None, None, None, None, None, None, None]
}

fn all_columns<C: Channel>() -> [Option<f64>; COLUMNS.len()] {
    let [zero, one, some, unbounded, ..] = first_columns(empty::<C>);
    let [receives, receive_of_many] = [alone::<C>, crowd::<C>].map(|open| {
        let (txs, rxs) = open()?;
        txs.leak();
        waiting(rxs, |rx| C::recv(rx))
    });
    let receive = size(|rx: &mut C::Rx| C::recv(rx));
    let send = size(|tx: &mut C::Tx| C::send(tx, 0));
    let [sends, send_of_many] = [alone::<C>, crowd::<C>].map(|open| {
        let (mut txs, rxs) = open()?;
        rxs.leak();
        for tx in &mut txs {
            while C::try_send(tx, 0) {}
        }
        waiting(txs, |tx| C::send(tx, 0))
    });
    let served = served::<C>();
    [zero, one, some, unbounded, receive, receives, receive_of_many, send, sends, send_of_many, served]
}

/// Heap bytes of an empty channel; `None` where the library has none of this capacity.
fn empty<C: Channel>(capacity: usize) -> Option<f64> {
    C::open(capacity)?;
    let mut channels = Vec::with_capacity(MANY);
    let bytes = growth(&BYTES, || channels.extend((0..MANY).map(|_| C::open(capacity))));
    channels.leak();
    Some(bytes)
}

type Handles<C> = (Vec<<C as Channel>::Tx>, Vec<<C as Channel>::Rx>);

/// Many channels of capacity 1.
fn alone<C: Channel>() -> Option<Handles<C>> {
    (0..MANY).map(|_| C::open(1)).collect()
}

/// One channel of capacity 1 with as many handles of each side as it can have: many, or one, which is no crowd.
fn crowd<C: Channel>() -> Option<Handles<C>> {
    let (tx, rx) = C::open(1)?;
    let txs: Vec<_> = (0..MANY).map_while(|_| C::another_tx(&tx)).collect();
    let rxs: Vec<_> = (0..MANY).map_while(|_| C::another_rx(&rx)).collect();
    Box::leak(Box::new((tx, rx)));
    Some((txs, rxs))
}

/// Bytes of the future that an operation returns.
fn size<H: 'static, F: Future>(_operation: fn(&'static mut H) -> F) -> Option<f64> {
    Some(size_of::<F>() as f64)
}

/// Heap bytes that each operation has taken once it waits; `None` unless all wait.
fn waiting<H: 'static, F: Future>(handles: Vec<H>, operation: fn(&'static mut H) -> F) -> Option<f64> {
    if handles.len() < MANY {
        return None;
    }
    let futures: Vec<_> = handles.leak().iter_mut().map(|handle| Box::pin(operation(handle))).collect();
    let mut cx = Context::from_waker(Waker::noop());
    let mut waiting = 0;
    let bytes = growth(&BYTES, || {
        for future in Box::leak(futures.into_boxed_slice()) {
            waiting += usize::from(future.as_mut().poll(&mut cx).is_pending());
        }
    });
    (waiting == MANY).then_some(bytes)
}

/// Allocations of a receive that waits, and is then served.
fn served<C: Channel>() -> Option<f64> {
    let (mut tx, mut rx) = C::open(1)?;
    let mut cx = Context::from_waker(Waker::noop());
    let mut rounds = || {
        for value in 0..MANY as u64 {
            let mut recv = pin!(C::recv(&mut rx));
            assert!(recv.as_mut().poll(&mut cx).is_pending(), "nothing was sent");
            assert!(C::try_send(&mut tx, value), "somebody waits for it");
            assert_eq!(recv.as_mut().poll(&mut cx).map(Received::value), Poll::Ready(Some(value)));
        }
    };
    rounds();
    Some(growth(&CALLS, rounds))
}

/// By how much a counter grows, for each of the many.
fn growth(counter: &AtomicUsize, work: impl FnOnce()) -> f64 {
    let before = counter.load(Relaxed);
    work();
    (counter.load(Relaxed) as f64 - before as f64) / MANY as f64
}
