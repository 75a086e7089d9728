//! Fibers to look at with tokio-console (`cargo install tokio-console`):
//!
//! ```text
//! cd examples/console && cargo run          (for a minute; `cargo run -- N`: for N seconds)
//! tokio-console                             (in another terminal; `t`: fibers, `r`: what they wait at)
//! ```
//!
//! A small workshop: two weavers send rows to a finisher, and share one loom, which is a lock; a foreman sleeps, and now and
//! then wakes the guard, who is parked; a clerk on a cord joins apprentices; and there is somebody who waits forever.

use leno::fiber::{Builder, Cord, park, spawn_local};
use leno::sync::Mutex;
use leno::{Receiver, Sender, bounded, rendezvous, sleep};
use std::sync::Arc;
use std::time::{Duration, Instant};

async fn weave(loom: Arc<Mutex<u32>>, out: Sender<u32>) {
    loop {
        let row = {
            let mut rows = loom.lock().await;
            sleep(Duration::from_millis(300)).await;
            *rows += 1;
            *rows
        };
        if out.send(row).await.is_err() {
            return;
        }
    }
}

async fn finish(rows: Receiver<u32>) {
    while rows.recv().await.is_ok() {
        sleep(Duration::from_millis(200)).await;
    }
}

async fn apprentice(number: u64) {
    sleep(Duration::from_millis(700 * number)).await;
}

fn main() {
    console_subscriber::init();
    let seconds = std::env::args().nth(1).map_or(60, |text| text.parse().expect("seconds"));
    let end = Instant::now() + Duration::from_secs(seconds);

    // On a thread of its own, which has a cord.
    let clerk = std::thread::spawn(move || {
        Cord::new().block_on(async {
            while Instant::now() < end {
                let apprentices = [1, 2].map(|number| spawn_local(apprentice(number)));
                for apprentice in apprentices {
                    apprentice.await.unwrap();
                }
            }
        });
    });

    leno::block_on(async {
        let (loom, (out, rows)) = (Arc::new(Mutex::fair(0)), bounded(2));
        let named = |name: &str| Builder::new().name(name);
        for name in ["weaver 1", "weaver 2"] {
            named(name).spawn(weave(loom.clone(), out.clone()));
        }
        named("finisher").spawn(finish(rows));
        let guard = named("guard").spawn(async {
            loop {
                park().await;
            }
        });
        let (_nobody, never) = rendezvous::<()>();
        let waits = named("waits for ever").spawn(async move { never.recv().await });
        while Instant::now() < end {
            sleep(Duration::from_secs(2)).await;
            guard.fiber().unpark();
        }
        drop(_nobody);
        _ = waits.await;
    });
    clerk.join().unwrap();
}
