//! Rendezvous: two fibers meet for each value, so neither is ever ahead of the other.
//!
//! `cargo run --example ping_pong`

use leno::channel::RecvError;
use leno::{block_on, rendezvous, spawn};

fn main() {
    block_on(async {
        let (ping, pings) = rendezvous();
        let (pong, pongs) = rendezvous();

        let server = spawn(async move {
            // `recv` fails when the last sender is gone: then the game is over.
            while let Ok(round) = pings.recv().await {
                println!("      pong {round}");
                if pong.send(round).await.is_err() {
                    return;
                }
            }
        });

        for round in 1..=5 {
            println!("ping {round}");
            // Returns when the server has taken the value, not earlier: there is no place to leave it.
            ping.send(round).await.expect("the server receives as long as we send");
            assert_eq!(pongs.recv().await, Ok(round));
        }

        drop(ping);
        server.await.expect("the server does not panic");
        assert_eq!(pongs.recv().await, Err(RecvError), "its sender is gone with it");
    });
}
