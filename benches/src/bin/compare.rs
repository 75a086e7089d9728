//! Runs every cell with all contestants in turn, several rounds in one process, and prints a Markdown table.
//!
//! `cargo run --release -p leno-benches --bin compare -- [--rounds N] [--quick] [--filter S] [--all]`
//!
//! Contestants of a cell take turns within each round, so that a slow minute of the machine hits all of them;
//! a figure is the median of the rounds. Three ratios keep channels and executors apart:
//!
//! - **A**, what a user gets: leno on its own executor (or on threads) against the best peer where that is at
//!   home (tokio, smol, threads);
//! - **B**, the channels alone on tokio: leno against the best peer;
//! - **C**, the channels alone on leno's executor: leno against the best peer.

use std::process::ExitCode;
use std::time::Duration;

use leno_benches::cells::{self, Cell};
use leno_benches::measure::{calibrate, median};

const USAGE: &str = "usage: compare [--rounds N] [--quick] [--filter TEXT] [--all]
  --rounds N     rounds per cell (default 7)
  --quick        3 short rounds: for a look, not for publishing
  --filter TEXT  only cells whose name contains TEXT
  --all          also print every contestant's figures";

struct Options {
    rounds: usize,
    run: Duration,
    filter: String,
    all: bool,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("compare: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let cells: Vec<Cell> =
        cells::all().into_iter().filter(|cell| cell.name.contains(&options.filter)).collect();
    if cells.is_empty() {
        eprintln!("compare: no cell's name contains \"{}\"", options.filter);
        return ExitCode::from(2);
    }
    let results: Vec<Measured> = cells
        .iter()
        .enumerate()
        .map(|(i, cell)| {
            eprintln!("{}/{} {}", i + 1, cells.len(), cell.name);
            measure(cell, &options)
        })
        .collect();
    print_summary(&results, &options);
    if options.all {
        print_all(&results);
    }
    ExitCode::SUCCESS
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options =
        Options { rounds: 7, run: Duration::from_millis(30), filter: String::new(), all: false };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => {
                let text = value()?;
                options.rounds =
                    text.parse().ok().filter(|&n| n > 0).ok_or(format!("no number of rounds: {text}"))?;
            }
            "--quick" => {
                options.rounds = 3;
                options.run = Duration::from_millis(5);
            }
            "--filter" => options.filter = value()?,
            "--all" => options.all = true,
            _ => return Err(format!("unknown argument: {arg}")),
        }
    }
    Ok(options)
}

/// A contestant's medians, in nanoseconds per operation.
struct Figure {
    library: &'static str,
    executor: &'static str,
    wall: f64,
    cpu: f64,
}

struct Measured {
    name: String,
    figures: Vec<Figure>,
}

impl Measured {
    /// The best figure among those that `who` accepts.
    fn best(&self, who: impl Fn(&Figure) -> bool) -> Option<&Figure> {
        self.figures.iter().filter(|figure| who(figure)).min_by(|a, b| a.wall.total_cmp(&b.wall))
    }

    fn columns(&self) -> [Option<&Figure>; 4] {
        [
            self.best(|f| f.library == "leno" && f.executor != "tokio"),
            self.best(|f| f.library != "leno" && f.executor != "leno"),
            self.best(|f| f.library == "leno" && f.executor == "tokio"),
            self.best(|f| f.library != "leno" && f.executor == "leno"),
        ]
    }

    fn ratios(&self) -> [Option<f64>; 3] {
        let [own, peer, own_on_tokio, peer_on_leno] = self.columns();
        let ratio = |a: Option<&Figure>, b: Option<&Figure>| Some(a?.wall / b?.wall);
        [ratio(own, peer), ratio(own_on_tokio, peer), ratio(own, peer_on_leno)]
    }
}

fn measure(cell: &Cell, options: &Options) -> Measured {
    let ops: Vec<u64> =
        cell.contestants.iter().map(|contestant| calibrate(options.run, |ops| contestant.run(ops))).collect();
    let mut samples = vec![Vec::new(); cell.contestants.len()];
    for round in 0..options.rounds {
        for turn in 0..cell.contestants.len() {
            // Each round starts with another contestant.
            let i = (round + turn) % cell.contestants.len();
            samples[i].push(cell.contestants[i].run(ops[i]));
        }
    }
    let figures = cell
        .contestants
        .iter()
        .zip(&samples)
        .map(|(contestant, samples)| Figure {
            library: contestant.library,
            executor: contestant.executor,
            wall: median(samples.iter().map(|s| s.wall_ns()).collect()),
            cpu: median(samples.iter().map(|s| s.cpu_ns()).collect()),
        })
        .collect();
    Measured { name: cell.name.clone(), figures }
}

fn print_summary(results: &[Measured], options: &Options) {
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    println!(
        "Nanoseconds per operation, wall (CPU); medians of {} interleaved rounds of about {} ms; {cores} cores.\n",
        options.rounds,
        options.run.as_millis(),
    );
    println!("| cell | leno | best peer | A | leno on tokio | B | best peer on leno | C |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for result in results {
        let [own, peer, own_on_tokio, peer_on_leno] =
            result.columns().map(|figure| figure.map_or(String::new(), show));
        let [a, b, c] = result.ratios().map(|ratio| ratio.map_or(String::new(), |r| format!("{r:.2}")));
        println!("| {} | {own} | {peer} | {a} | {own_on_tokio} | {b} | {peer_on_leno} | {c} |", result.name);
    }
    println!();
    for (i, name) in ["A, at home", "B, on tokio", "C, on leno's executor"].iter().enumerate() {
        let ratios: Vec<f64> = results.iter().filter_map(|result| result.ratios()[i]).collect();
        if !ratios.is_empty() {
            let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let won = ratios.iter().filter(|&&r| r < 1.0).count();
            println!(
                "Ratio {name}: geometric mean {mean:.2} over {} cells, below 1.0 in {won}.",
                ratios.len()
            );
        }
    }
}

fn show(figure: &Figure) -> String {
    let who = if figure.library == "leno" { "" } else { figure.library };
    format!("{who} {:.1} ({:.1})", figure.wall, figure.cpu).trim_start().to_owned()
}

fn print_all(results: &[Measured]) {
    for result in results {
        println!("\n{}\n", result.name);
        println!("| library | executor | wall | CPU |\n|---|---|---:|---:|");
        for figure in &result.figures {
            println!("| {} | {} | {:.1} | {:.1} |", figure.library, figure.executor, figure.wall, figure.cpu);
        }
    }
}
