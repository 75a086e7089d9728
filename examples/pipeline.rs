//! A pipeline: stages connected by bounded channels. Back-pressure, errors, and closing from either end.
//!
//! `cargo run --example pipeline` sums the squares of some numbers; `cargo run --example pipeline -- 1 2 x 4` meets a
//! word that is not a number and stops.

use std::num::ParseIntError;
use std::process::ExitCode;

use leno::{Receiver, Sender, block_on, bounded, spawn};

/// Values that may wait between two stages. A stage that is that far ahead waits for the next one.
const ROOM: usize = 4;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() {
        words = (1..=100).map(|n: u64| n.to_string()).collect();
    }
    match block_on(sum_of_squares(words)) {
        Ok(sum) => {
            println!("sum of squares: {sum}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("pipeline: {e}");
            ExitCode::FAILURE
        }
    }
}

async fn sum_of_squares(words: Vec<String>) -> Result<u128, ParseIntError> {
    let (words_in, words_out) = bounded(ROOM);
    let (numbers_in, numbers_out) = bounded(ROOM);
    let (squares_in, squares_out) = bounded(ROOM);

    let source = spawn(async move {
        for word in words {
            // An error means that nobody will receive any more. The word comes back in it.
            if let Err(unsent) = words_in.send(word).await {
                println!("stopped before {:?}", unsent.into_inner());
                return;
            }
        }
    });
    let parser = spawn(parse(words_out, numbers_in));
    // Squaring is the slow stage, let us say: two fibers share its input and its output.
    let squarers: Vec<_> = (0..2).map(|_| spawn(square(numbers_out.clone(), squares_in.clone()))).collect();
    // Our own handles would keep the channels open.
    drop((numbers_out, squares_in));

    let mut sum = 0;
    while let Ok(square) = squares_out.recv().await {
        sum += u128::from(square);
    }
    source.await.expect("the source does not panic");
    for squarer in squarers {
        squarer.await.expect("squaring does not panic");
    }
    parser.await.expect("the parser does not panic")?;
    Ok(sum)
}

/// Ends with the input, or at the first error. Dropping `words` then closes the way in, so the source stops;
/// dropping `numbers` closes the way out, so the stages below finish what they have and end.
async fn parse(words: Receiver<String>, numbers: Sender<u32>) -> Result<(), ParseIntError> {
    while let Ok(word) = words.recv().await {
        let number = word.parse()?;
        if numbers.send(number).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn square(numbers: Receiver<u32>, squares: Sender<u64>) {
    while let Ok(number) = numbers.recv().await {
        if squares.send(u64::from(number).pow(2)).await.is_err() {
            break;
        }
    }
}
