//! Ask two mirrors for a file and take the first answer: both at once, or the second only if the first is slow; give up after a
//! while. The loser is cancelled, and its mirror notices. The mirrors are fibers.
//!
//! `cargo run --example race_and_timeout`

use std::time::Duration;

use leno::channel::oneshot;
use leno::fiber::{Elapsed, FutureExt, JoinHandle, join_all, race, try_join_all};
use leno::{Receiver, Sender, rendezvous, sleep, spawn, timeout};

/// How long anybody waits for a file.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long the first mirror may take before the second is asked as well.
const GRACE: Duration = Duration::from_millis(20);

/// A file's name, and where its text goes.
type Request = (&'static str, oneshot::Sender<String>);

#[derive(Clone)]
struct Mirror {
    name: &'static str,
    requests: Sender<Request>,
}

/// What a mirror has done by the end.
#[derive(Debug, Default)]
struct Served {
    sent: u32,
    unwanted: u32,
}

impl Mirror {
    /// Starts one that takes `delay` for each file.
    fn start(name: &'static str, delay: Duration) -> (Mirror, JoinHandle<Served>) {
        let (requests, inbox) = rendezvous();
        (Mirror { name, requests }, spawn(serve(name, delay, inbox)))
    }

    async fn fetch(&self, file: &'static str) -> String {
        let (answer, text) = oneshot::channel();
        self.requests.send((file, answer)).await.expect("the mirror is there");
        text.await.expect("the mirror answers")
    }
}

async fn serve(name: &'static str, delay: Duration, inbox: Receiver<Request>) -> Served {
    let mut jobs = Vec::new();
    while let Ok((file, answer)) = inbox.recv().await {
        // A fiber for each request. It fails if nobody waits for the answer any more.
        jobs.push(spawn(async move {
            sleep(delay).await;
            answer.send(format!("{file} from {name}"))
        }));
    }
    let mut served = Served::default();
    for sent in try_join_all(jobs).await.expect("no request panics") {
        *(if sent.is_ok() { &mut served.sent } else { &mut served.unwanted }) += 1;
    }
    served
}

/// Asks both at once.
async fn fetch_first(a: &Mirror, b: &Mirror, file: &'static str) -> Result<String, Elapsed> {
    timeout(PATIENCE, async { race(a.fetch(file), b.fetch(file)).await.into_inner() }).await
}

/// Asks the second if the first takes longer than it should.
async fn fetch_hedged(a: &Mirror, b: &Mirror, file: &'static str) -> Result<String, Elapsed> {
    let second = async {
        sleep(GRACE).await;
        println!("{} is slow with {file}; asking {}", a.name, b.name);
        b.fetch(file).await
    };
    timeout(PATIENCE, async { race(a.fetch(file), second).await.into_inner() }).await
}

fn main() {
    leno::block_on(async {
        let (near, near_end) = Mirror::start("near", Duration::from_millis(2));
        let (far, far_end) = Mirror::start("far", Duration::from_millis(50));
        let (dead, dead_end) = Mirror::start("dead", Duration::from_secs(3600));

        let (text, took) = fetch_first(&far, &near, "index").timed().await;
        println!("{text:?} after {took:?}");
        assert_eq!(text, Ok("index from near".into()));

        let text = fetch_hedged(&near, &far, "news").await;
        println!("{text:?}, and {} was never asked", far.name);
        assert_eq!(text, Ok("news from near".into()));

        // Several at once; the answers are in order.
        let texts = join_all(["map", "sky"].map(|file| fetch_hedged(&dead, &near, file))).await;
        println!("{texts:?}");
        assert_eq!(texts, [Ok("map from near".into()), Ok("sky from near".into())]);

        let (text, took) = fetch_first(&dead, &dead, "void").timed().await;
        println!("{text:?} after {took:?}: nobody answers within {PATIENCE:?}");
        assert!(text.is_err() && took >= PATIENCE);

        drop((near, far));
        let (near, far) =
            (near_end.await.expect("no mirror panics"), far_end.await.expect("no mirror panics"));
        println!("near: {near:?}, far: {far:?}");
        assert_eq!((near.sent, far.sent), (4, 0));
        // Its requests would keep it here for an hour; they are its children, and are cancelled with it.
        dead_end.cancel();
        assert!(dead_end.await.is_err_and(|error| error.is_cancelled()));
        drop(dead);
    });
}
