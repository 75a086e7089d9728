//! Dining philosophers: five philosophers share five forks, and each needs two. With `select!` they need not agree on an order:
//! one that holds a fork and does not get the other one in time puts the first one down.
//!
//! `cargo run --example philosophers` lets each of them dine 100 times, and prints how often each one gave way;
//! `cargo run --example philosophers -- 7 1000` is for seven philosophers and a thousand meals each.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use leno::sync::Mutex;
use leno::{select, sleep, spawn};

/// How long somebody with one fork waits for the other one.
const PATIENCE: Duration = Duration::from_micros(200);

/// A fork counts how often it was eaten with. It is fair: who puts it down while another one waits for it does not get it
/// back at once.
type Fork = Mutex<u32>;

#[derive(Debug, Default)]
struct Life {
    meals: u32,
    /// How often this one has put down a fork, having waited in vain for the other.
    gave_way: u32,
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u32>().ok().filter(|n| *n > 0));
    let (count, meals) = (numbers.next().unwrap_or(Some(5)), numbers.next().unwrap_or(Some(100)));
    let (Some(count @ 2..), Some(meals), None) = (count, meals, numbers.next()) else {
        eprintln!("usage: philosophers [PHILOSOPHERS (at least 2)] [MEALS FOR EACH]");
        return ExitCode::from(2);
    };

    let (lives, forks) = leno::block_on(dinner(count, meals));
    for (philosopher, life) in lives.iter().enumerate() {
        println!("philosopher {philosopher}: {} meals, gave way {} times", life.meals, life.gave_way);
    }
    let used =
        forks.iter().map(|fork| u64::from(*fork.try_lock().expect("nobody dines any more"))).sum::<u64>();
    assert_eq!(used, 2 * u64::from(count) * u64::from(meals), "two forks for each meal");
    ExitCode::SUCCESS
}

async fn dinner(count: u32, meals: u32) -> (Vec<Life>, Arc<Vec<Fork>>) {
    let forks = Arc::new((0..count).map(|_| Mutex::fair(0)).collect::<Vec<Fork>>());
    let philosophers = (0..count as usize).map(|seat| {
        let forks = Arc::clone(&forks);
        spawn(async move {
            let (left, right) = (&forks[seat], &forks[(seat + 1) % forks.len()]);
            let mut life = Life::default();
            while life.meals < meals {
                life.gave_way += dine(left, right).await;
                life.meals += 1;
            }
            life
        })
    });
    let mut lives = Vec::new();
    for philosopher in philosophers.collect::<Vec<_>>() {
        lives.push(philosopher.await.expect("philosophers do not panic"));
    }
    (lives, forks)
}

/// One meal; how often it had to be put off.
async fn dine(left: &Fork, right: &Fork) -> u32 {
    let mut put_off = 0;
    loop {
        // Whichever fork is free first; the other one stays where it is.
        let (mut first, other) = select! {
            fork = left.lock() => (fork, right),
            fork = right.lock() => (fork, left),
        };
        select! {
            mut second = other.lock() => {
                *first += 1;
                *second += 1;
                sleep(Duration::from_micros(10)).await;
                return put_off;
            }
            // `first` is put down as it goes out of scope.
            default(PATIENCE) => put_off += 1,
        }
    }
}
