//! The prime sieve: a chain of fibers connected by channels, one per prime, each of which passes on what its prime does not
//! divide.
//!
//! `cargo run --release --example sieve -- [HOW MANY]`

use leno::{Receiver, block_on, bounded, spawn};

/// How far a filter may be ahead of the next one.
const AHEAD: usize = 16;

fn main() {
    let count = match std::env::args().nth(1).map(|arg| arg.parse()) {
        None => 100,
        Some(Ok(count)) => count,
        Some(Err(_)) => {
            eprintln!("usage: sieve [HOW MANY PRIMES]");
            std::process::exit(2);
        }
    };
    let primes = block_on(primes(count));
    println!("{}", primes.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    let is_prime = |n: &u64| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    assert!(primes.iter().copied().eq((2..).filter(is_prime).take(count)), "these, and no others");
}

/// The first primes. Nobody stops the chain explicitly: the last receiver is dropped, so the send of the last filter fails and
/// that filter ends, and so on to the front.
async fn primes(count: usize) -> Vec<u64> {
    let (tx, mut numbers) = bounded(AHEAD);
    spawn(async move {
        for n in 2.. {
            if tx.send(n).await.is_err() {
                return;
            }
        }
    });
    let mut primes = Vec::new();
    while primes.len() < count {
        let prime = numbers.recv().await.expect("the numbers do not end");
        primes.push(prime);
        numbers = without_multiples(numbers, prime);
    }
    primes
}

/// What comes out of `numbers` and is no multiple of `prime`.
fn without_multiples(numbers: Receiver<u64>, prime: u64) -> Receiver<u64> {
    let (tx, rest) = bounded(AHEAD);
    spawn(async move {
        while let Ok(n) = numbers.recv().await {
            if n % prime != 0 && tx.send(n).await.is_err() {
                return;
            }
        }
    });
    rest
}
