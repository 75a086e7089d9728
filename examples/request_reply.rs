//! Request and reply: one fiber owns an account book; each request carries the oneshot that its answer goes to.
//!
//! `cargo run --example request_reply`

use std::collections::HashMap;

use leno::channel::oneshot;
use leno::{Receiver, Sender, block_on, bounded, spawn};

enum Request {
    Deposit { account: &'static str, amount: u64 },
    Balance { account: &'static str, reply: oneshot::Sender<u64> },
}

/// Owns the book: no lock, as nobody else touches it.
async fn keeper(requests: Receiver<Request>) {
    let mut book = HashMap::new();
    while let Ok(request) = requests.recv().await {
        match request {
            Request::Deposit { account, amount } => *book.entry(account).or_insert(0) += amount,
            Request::Balance { account, reply } => {
                // Whoever has asked may be gone by now; that is fine.
                let _ = reply.send(book.get(account).copied().unwrap_or(0));
            }
        }
    }
}

async fn balance(keeper: &Sender<Request>, account: &'static str) -> Option<u64> {
    let (reply, answer) = oneshot::channel();
    keeper.send(Request::Balance { account, reply }).await.ok()?;
    // An error if the keeper has dropped the request without an answer.
    answer.await.ok()
}

fn main() {
    block_on(async {
        let (requests, inbox) = bounded(16);
        let keeper = spawn(keeper(inbox));
        for (account, amount) in [("warp", 5), ("weft", 7), ("warp", 10)] {
            requests.send(Request::Deposit { account, amount }).await.unwrap_or_else(|_| unreachable!());
        }
        for account in ["warp", "weft", "heddle"] {
            println!("{account}: {:?}", balance(&requests, account).await);
        }
        assert_eq!(balance(&requests, "warp").await, Some(15));
        drop(requests);
        keeper.await.expect("it ends with its requests");
    });
}
