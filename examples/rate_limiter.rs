//! A rate limiter: a burst of requests first, then one per tick, whoever makes them.
//!
//! `cargo run --example rate_limiter`

use std::time::{Duration, Instant};

use leno::channel::ticker::{Missed, tick_with};
use leno::{Receiver, block_on, bounded, spawn};

/// Gives permits: `burst` at once, then one each `period`. Those that nobody takes are kept, up to `burst`.
fn limiter(burst: usize, period: Duration) -> Receiver<()> {
    let (permits, bucket) = bounded(burst);
    (0..burst).for_each(|_| permits.try_send(()).expect("there is room"));
    spawn(async move {
        // A full bucket misses no ticks: what was not needed is not made up for.
        let ticks = tick_with(period, Missed::Skip);
        loop {
            leno::select! {
                _ = ticks.recv() => {
                    // Full: this one is lost. The bucket's owners have gone: so does this fiber.
                    if permits.try_send(()).is_err_and(|error| error.is_closed()) {
                        break;
                    }
                }
                () = permits.closed() => break,
            }
        }
    });
    bucket
}

fn main() {
    const PERIOD: Duration = Duration::from_millis(10);
    block_on(async {
        let permits = limiter(3, PERIOD);
        let start = Instant::now();
        for request in 1..=8 {
            permits.recv().await.expect("the limiter goes with its last permit");
            println!("request {request} after {:>3} ms", start.elapsed().as_millis());
        }
        assert!(start.elapsed() >= 4 * PERIOD, "three at once, five with a tick each");
    });
}
