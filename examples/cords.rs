//! A small sharded key-value store. Each shard is a cord: a thread with fibers of its own, whose table is in an `Rc` and needs no
//! lock, since the fibers of a cord run one at a time. Requests arrive over channels, routed by the key's hash; what a shard has
//! written goes to a journal, in batches. Another cord reports how the store grows, until it is cancelled.
//!
//! `cargo run --release --example cords`

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use leno::channel::oneshot;
use leno::fiber::{Cord, JoinHandle, current, interval, join_all, park, spawn_local};
use leno::{Receiver, Sender, bounded, rendezvous, sleep, spawn};

const SHARDS: usize = 3;
const CLIENTS: u64 = 8;
const ROUNDS: u64 = 50;
const KEYS: u64 = 40;

type Table = HashMap<String, u64>;
/// What was written in one go: keys, and their new values.
type Batch = Vec<(String, u64)>;

enum Request {
    /// Adds to a counter, and gives the new value.
    Add(String, u64, oneshot::Sender<u64>),
    /// How many keys there are.
    Count(oneshot::Sender<usize>),
}

/// The way to the shards. It can be cloned, and used from anywhere.
#[derive(Clone)]
struct Store {
    shards: Vec<Sender<Request>>,
}

impl Store {
    /// Starts the shards. They end once the last clone of the store is gone, each giving its table.
    fn start(journal: Sender<Batch>) -> io::Result<(Store, Vec<JoinHandle<Table>>)> {
        let mut shards = Vec::new();
        let mut cords = Vec::new();
        for n in 0..SHARDS {
            let (requests, inbox) = bounded(16);
            let journal = journal.clone();
            // The closure runs on the new thread, so what it makes there need not be `Send`.
            cords.push(Cord::spawn(format!("shard {n}"), || Shard::serve(inbox, journal))?);
            shards.push(requests);
        }
        Ok((Store { shards }, cords))
    }

    async fn add(&self, key: String, n: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let shard = &self.shards[hasher.finish() as usize % self.shards.len()];
        ask(shard, |answer| Request::Add(key, n, answer)).await
    }

    async fn count(&self) -> usize {
        let mut count = 0;
        for shard in &self.shards {
            count += ask(shard, Request::Count).await;
        }
        count
    }
}

async fn ask<T>(shard: &Sender<Request>, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> T {
    let (answer, answered) = oneshot::channel();
    shard.send(request(answer)).await.expect("a shard serves as long as there is a store");
    answered.await.expect("a shard answers")
}

/// What the fibers of one shard share.
#[derive(Default)]
struct Shard {
    table: RefCell<Table>,
    unwritten: RefCell<Batch>,
    closing: Cell<bool>,
}

impl Shard {
    /// The first fiber of the cord: it answers, while a second one writes to the journal.
    async fn serve(inbox: Receiver<Request>, journal: Sender<Batch>) -> Table {
        let shard = Rc::new(Shard::default());
        let writer = spawn_local(Rc::clone(&shard).write(journal));
        let writing = writer.fiber();
        while let Ok(request) = inbox.recv().await {
            // A client that has gone needs no answer.
            match request {
                Request::Add(key, n, answer) => drop(answer.send(shard.add(key, n))),
                Request::Count(answer) => drop(answer.send(shard.table.borrow().len())),
            }
            writing.unpark();
        }
        // The cord ends with this fiber, and drops all others: the writer has to be done by then.
        shard.closing.set(true);
        writing.unpark();
        writer.await.expect("the writer does not panic");
        shard.table.take()
    }

    fn add(&self, key: String, n: u64) -> u64 {
        let value = {
            let mut table = self.table.borrow_mut();
            let value = table.entry(key.clone()).or_default();
            *value += n;
            *value
        };
        self.unwritten.borrow_mut().push((key, value));
        value
    }

    /// Writes what there is, all at once. While the journal keeps it waiting, the next batch grows.
    async fn write(self: Rc<Self>, journal: Sender<Batch>) {
        loop {
            let batch = self.unwritten.take();
            if !batch.is_empty() {
                journal.send(batch).await.expect("the journal is kept as long as somebody writes");
            } else if self.closing.get() {
                return;
            } else {
                park().await;
            }
        }
    }
}

/// Puts the table together again from the batches of all shards; gives it with their number.
async fn replay(batches: Receiver<Batch>) -> (Table, usize) {
    let (mut table, mut count) = (Table::new(), 0);
    while let Ok(batch) = batches.recv().await {
        // As a disk takes its time.
        sleep(Duration::from_millis(1)).await;
        table.extend(batch);
        count += 1;
    }
    (table, count)
}

/// Says now and then how many keys there are, for ever.
async fn watch(store: Store) {
    let mut interval = interval(Duration::from_millis(1));
    let mut last = 0;
    loop {
        interval.tick().await;
        let count = store.count().await;
        if count != last {
            println!("{}: {count} keys", current().name().unwrap_or_default());
            last = count;
        }
    }
}

async fn client(store: Store, number: u64) {
    for round in 0..ROUNDS {
        store.add(format!("key {}", (number * 7 + round * 13) % KEYS), number).await;
    }
}

fn main() -> io::Result<()> {
    leno::block_on(async {
        let (journal, batches) = rendezvous();
        let replay = spawn(replay(batches));
        let (store, shards) = Store::start(journal)?;
        let watching = store.clone();
        let watch = Cord::spawn("watch", || watch(watching))?;

        for client in join_all((0..CLIENTS).map(|n| spawn(client(store.clone(), n)))).await {
            client.expect("no client panics");
        }
        // It would go on for ever, and keep its clone of the store.
        watch.cancel();
        assert!(watch.await.is_err_and(|error| error.is_cancelled()));
        drop(store);

        let mut table = Table::new();
        for shard in shards {
            let name = shard.name().map(String::from).unwrap_or_default();
            let part = shard.await.expect("no shard panics");
            println!("{name}: {} keys in the end", part.len());
            for (key, value) in part {
                assert!(table.insert(key, value).is_none(), "a key is in one shard only");
            }
        }
        let (replayed, batches) = replay.await.expect("the journal does not panic");
        println!("{} additions in {batches} batches", CLIENTS * ROUNDS);
        assert_eq!(table.values().sum::<u64>(), ROUNDS * (0..CLIENTS).sum::<u64>(), "nothing is lost");
        assert_eq!(replayed, table, "the journal has it all");
        Ok(())
    })
}
