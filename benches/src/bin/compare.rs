//! Runs cells with all contestants in turn, several rounds in one process, and prints Markdown tables.
//!
//! `cargo run --release -p leno-benches --bin compare -- [OPTION]…`, with the options below.
//!
//! Contestants of a cell take turns within each round, so that a slow minute of the machine hits all of them; but it does not slow
//! all of them alike, and so the rounds can be spread over several passes. A figure is the median of the rounds of all passes.
//! Ratios keep channels and executors apart:
//!
//! - **A**, what a user gets: leno on its own executor (or on threads) against the best peer where that is at
//!   home (tokio, smol, threads);
//! - **B**, the channels alone on tokio: leno against the best peer;
//! - **C**, the channels alone on leno's executor: leno against the best peer;
//! - **leno / std**, both on threads.
//!
//! The figures can be kept in a file, from which the tables are printed again (`--from`) or drawn (the binary `plot`).

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use leno_benches::cells::{self, Cell};
use leno_benches::figures::{self, Measured};
use leno_benches::measure::{Sample, calibrate};
use leno_benches::report;

const USAGE: &str =
    "usage: compare [--passes N] [--rounds N] [--ms N] [--cells TEXT] [--workers N] [--csv FILE] [--all]
       compare --from FILE [--all]
       compare --list
  --passes N    passes through all cells (default 1)
  --rounds N    rounds per cell and pass (default 7)
  --ms N        length of a contestant's run in a round, about (default 30)
  --quick       3 rounds of 5 ms: for a look, not for publishing
  --cells TEXT  only cells whose name contains TEXT
  --workers N   only cells with that many workers, 1 or 2; 0: those on plain threads
  --csv FILE    also write every contestant's figures to FILE, after each cell
  --all         also print every contestant's figures
  --from FILE   measure nothing, print the tables of what --csv has written
  --list        measure nothing, print the names of the cells";

struct Options {
    passes: usize,
    rounds: usize,
    run: Duration,
    cells: String,
    workers: Option<usize>,
    csv: Option<PathBuf>,
    from: Option<PathBuf>,
    all: bool,
    list: bool,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("compare: {problem}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        passes: 1,
        rounds: 7,
        run: Duration::from_millis(30),
        cells: String::new(),
        workers: None,
        csv: None,
        from: None,
        all: false,
        list: false,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--passes" => options.passes = number(&value()?, 1)?,
            "--rounds" => options.rounds = number(&value()?, 1)?,
            "--ms" => options.run = Duration::from_millis(number(&value()?, 1)?),
            "--quick" => {
                options.rounds = 3;
                options.run = Duration::from_millis(5);
            }
            "--cells" | "--filter" => options.cells = value()?,
            "--workers" => options.workers = Some(number(&value()?, 0)?),
            "--csv" => options.csv = Some(value()?.into()),
            "--from" => options.from = Some(value()?.into()),
            "--all" => options.all = true,
            "--list" => options.list = true,
            _ => return Err(format!("unknown argument: {arg}")),
        }
    }
    Ok(options)
}

fn number<N: FromStr + PartialOrd>(text: &str, least: N) -> Result<N, String> {
    text.parse().ok().filter(|n| *n >= least).ok_or_else(|| format!("no such number: {text}"))
}

fn run(options: &Options) -> Result<(), String> {
    if let Some(path) = &options.from {
        let results = figures::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        print(&results, options);
        return Ok(());
    }
    let wanted = |cell: &Cell| {
        cell.name.contains(&options.cells) && options.workers.is_none_or(|n| n == cell.group.workers())
    };
    let cells: Vec<Cell> = cells::all().into_iter().filter(wanted).collect();
    if cells.is_empty() {
        return Err("there is no such cell".to_owned());
    }
    if options.list {
        cells.iter().for_each(|cell| println!("{}", cell.name));
        return Ok(());
    }
    let mut samples: Vec<Vec<Vec<Sample>>> =
        cells.iter().map(|cell| vec![Vec::new(); cell.contestants.len()]).collect();
    let measured = |samples: &[Vec<Vec<Sample>>]| -> Vec<Measured> {
        let with_samples =
            cells.iter().zip(samples).filter(|(_, samples)| samples.iter().all(|runs| !runs.is_empty()));
        with_samples.map(|(cell, samples)| Measured::new(cell, samples)).collect()
    };
    for pass in 0..options.passes {
        for (i, cell) in cells.iter().enumerate() {
            eprintln!("{}/{} {}", pass * cells.len() + i + 1, options.passes * cells.len(), cell.name);
            measure(cell, options, &mut samples[i]);
            if let Some(path) = &options.csv {
                figures::write(path, &measured(&samples))
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
    }
    let results = measured(&samples);
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let rounds = options.passes * options.rounds;
    println!("Medians of {rounds} interleaved rounds of about {:?}; {cores} cores.\n", options.run);
    print(&results, options);
    Ok(())
}

fn measure(cell: &Cell, options: &Options, samples: &mut [Vec<Sample>]) {
    let contestants = &cell.contestants;
    let ops: Vec<u64> =
        contestants.iter().map(|contestant| calibrate(options.run, |ops| contestant.run(ops))).collect();
    let before = samples[0].len();
    for round in before..before + options.rounds {
        for turn in 0..contestants.len() {
            // Each round starts with another contestant.
            let i = (round + turn) % contestants.len();
            samples[i].push(contestants[i].run(ops[i]));
        }
    }
}

fn print(results: &[Measured], options: &Options) {
    println!("Nanoseconds per operation, wall (CPU).\n\n{}", report::summary(results));
    println!("{}\n{}", report::means(results), report::above(results));
    if options.all {
        println!("{}", report::everybody(results));
    }
}
