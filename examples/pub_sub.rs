//! Pub/sub with a slow listener: either it misses values, is told how many, and delays nobody; or everybody waits for it.
//!
//! `cargo run --example pub_sub`

use std::time::Duration;

use leno::channel::broadcast::{self, Lag, Receiver, RecvError};
use leno::{block_on, sleep, spawn};

/// Listens until the feed ends; gives how many it has heard, and missed.
async fn listener(name: &'static str, mut feed: Receiver<u64>, takes: Duration) -> (u64, u64) {
    let (mut heard, mut missed) = (0, 0);
    loop {
        match feed.recv().await {
            Ok(_) => {
                heard += 1;
                sleep(takes).await;
            }
            Err(RecvError::Lagged(n)) => {
                println!("{name} missed {n} values");
                missed += n;
            }
            Err(RecvError::Closed) => return (heard, missed),
        }
    }
}

async fn broadcast(lag: Lag) {
    const NEWS: u64 = 50;
    let ms = Duration::from_millis;
    let (feed, ears) = broadcast::with_lag(8, lag);
    let slow = spawn(listener("the slow one", ears, ms(5)));
    let quick = spawn(listener("the quick one", feed.subscribe(), Duration::ZERO));
    for n in 0..NEWS {
        feed.send_async(n).await.expect("two listen");
        sleep(ms(1)).await;
    }
    drop(feed);
    let (slow, quick) = (slow.await.unwrap(), quick.await.unwrap());
    println!("{lag:?}: (heard, missed) by the slow one: {slow:?}, by the quick one: {quick:?}");
    assert_eq!(slow.0 + slow.1, NEWS);
    assert!(lag == Lag::Drop || slow.1 == 0, "nobody misses anything");
}

fn main() {
    block_on(async {
        broadcast(Lag::Drop).await;
        broadcast(Lag::Suspend).await;
    });
}
