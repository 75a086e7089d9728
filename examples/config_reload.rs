//! Config reload: workers follow a configuration that changes while they work; only the latest counts.
//!
//! `cargo run --example config_reload`

use std::time::Duration;

use leno::channel::watch;
use leno::{block_on, sleep, spawn};

#[derive(Debug, Clone, PartialEq)]
struct Config {
    greeting: String,
    pause: Duration,
}

/// Works until nobody can change the configuration; gives the last greeting that it went by.
async fn worker(number: usize, mut config: watch::Receiver<Config>) -> String {
    // A copy: a borrow that is kept would block whoever changes the configuration.
    let mut current = config.borrow_and_update().clone();
    loop {
        println!("worker {number}: {}", current.greeting);
        leno::select! {
            changed = config.changed() => match changed {
                Ok(()) => current = config.borrow_and_update().clone(),
                Err(_) => break,
            },
            _ = sleep(current.pause) => {}
        }
    }
    println!("worker {number} stops");
    current.greeting
}

fn main() {
    let ms = Duration::from_millis;
    block_on(async {
        let (config, follower) = watch::channel(Config { greeting: "hello".into(), pause: ms(20) });
        let workers = (1..=2).map(|number| spawn(worker(number, follower.clone()))).collect::<Vec<_>>();
        drop(follower);
        sleep(ms(50)).await;
        config.send_modify(|config| config.greeting = "good day".into());
        sleep(ms(50)).await;
        let same = config.borrow().clone();
        let reloaded = config.send_if_modified(|config| std::mem::replace(config, same.clone()) != same);
        assert!(!reloaded, "nothing has changed: nobody is woken");
        drop(config);
        for worker in workers {
            assert_eq!(worker.await.expect("it ends with the configuration"), "good day");
        }
    });
}
