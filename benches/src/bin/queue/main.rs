//! leno's waiter queue beside other ways to build one: the queue alone, without channels, wakers or values.
//!
//! `cargo run --release -p leno-benches --bin queue -- [--rounds N] [--quick] [--filter TEXT]`
//!
//! Prints a Markdown table for each workload ([`work`]): a row for each number of waiters, a column for each rival
//! ([`rivals`]), and before them what single instructions cost ([`floor`]). Rivals take turns within each round,
//! so that a slow minute of the machine hits all of them; a figure is the median of the rounds. Runs are shorter than
//! a time slice, and one in which a thread lost its core is done again: so two threads really work side by side.
//!
//! `… --bin queue -- --count WORKLOAD RIVAL WAITERS OPS` runs one rival on one thread and measures nothing, so that
//! a tool can count its instructions: `valgrind --tool=callgrind --toggle-collect='*::steps' …` counts those
//! of the operations alone.
//!
//! The queue is private to leno, so its modules are compiled in here by path, as is the reference of its tests.

use std::cell::Cell;
use std::process::ExitCode;
use std::time::Duration;

use leno_benches::measure::{calibrate, median};
use leno_benches::watchdog;

mod floor;
mod rivals;
mod work;

#[path = "../../../../src/prim.rs"]
#[allow(dead_code, unreachable_pub, unused_imports, reason = "leno's, of which little is used here")]
mod prim;
#[path = "../../../../src/wait/locked.rs"]
#[allow(dead_code, reason = "leno's, of which not all is used here")]
#[allow(clippy::duplicate_mod, reason = "leno's own tests, compiled in with its modules, include it as well")]
mod reference;
#[path = "../../../../src/task/mod.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unused_macros,
    reason = "leno's, of which little is used here"
)]
mod task;
#[path = "../../../../src/wait/mod.rs"]
#[allow(dead_code, unreachable_pub, unused_imports, reason = "leno's, of which little is used here")]
mod wait;

use rivals::Rival;
use work::{Run, Shape};

const USAGE: &str = "usage: queue [--rounds N] [--quick] [--filter TEXT]
       queue --count WORKLOAD RIVAL WAITERS OPS
  --rounds N     rounds per figure (default 15)
  --quick        3 short rounds: for a look, not for publishing
  --filter TEXT  only tables whose name contains TEXT
  --count …      no figures: one thread runs one rival, for a tool that counts instructions";

/// How many waiters stand in the queue.
const WAITERS: [usize; 8] = [1, 2, 4, 8, 16, 100, 1_000, 10_000];

struct Contestant {
    name: &'static str,
    most: usize,
    run: fn(Shape, usize, usize, u64) -> Run,
}

const fn contestant<Q: Rival>() -> Contestant {
    Contestant { name: Q::NAME, most: Q::MOST, run: work::run::<Q> }
}

/// leno is the first, to which the others are compared.
const CONTESTANTS: [Contestant; 9] = [
    contestant::<rivals::leno::Leno>(),
    contestant::<rivals::locked::Locked>(),
    contestant::<rivals::spin::Spin>(),
    contestant::<rivals::segments::Segments>(),
    contestant::<rivals::few::Few<4, false>>(),
    contestant::<rivals::few::Few<7, false>>(),
    contestant::<rivals::few::Few<8, false>>(),
    contestant::<rivals::few::Few<8, true>>(),
    contestant::<rivals::tickets::Tickets<16>>(),
];

#[derive(Debug)]
struct Options {
    rounds: usize,
    run: Duration,
    filter: String,
    /// Runs that have counted although a thread was off its core for long.
    disturbed: Cell<usize>,
}

#[derive(Debug)]
struct Count {
    shape: Shape,
    rival: String,
    waiters: usize,
    ops: u64,
}

fn main() -> ExitCode {
    let result = match parse(std::env::args().skip(1)) {
        Ok(Task::Tables(options)) => tables(&options),
        Ok(Task::Count(count)) => run_counted(&count),
        Err(problem) => Err(format!("{problem}\n{USAGE}")),
    };
    if let Err(problem) = result {
        eprintln!("queue: {problem}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

enum Task {
    Tables(Options),
    Count(Count),
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Task, String> {
    let mut options =
        Options { rounds: 15, run: Duration::from_millis(3), filter: String::new(), disturbed: Cell::new(0) };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => options.rounds = number(&value()?)?,
            "--quick" => {
                options.rounds = 3;
                options.run = Duration::from_millis(1);
            }
            "--filter" => options.filter = value()?,
            "--count" => {
                let name = value()?;
                let shape = Shape::ALL
                    .into_iter()
                    .find(|shape| shape.name() == name && shape.threads().contains(&1))
                    .ok_or_else(|| format!("no workload for one thread: {name}"))?;
                let (rival, waiters, ops) = (value()?, number(&value()?)?, number(&value()?)? as u64);
                return Ok(Task::Count(Count { shape, rival, waiters, ops }));
            }
            _ => return Err(format!("unknown argument: {arg}")),
        }
    }
    Ok(Task::Tables(options))
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| format!("no number: {text}"))
}

fn run_counted(count: &Count) -> Result<(), String> {
    let rival = CONTESTANTS
        .iter()
        .find(|contestant| contestant.name == count.rival)
        .ok_or_else(|| format!("no rival is called \"{}\"", count.rival))?;
    if count.waiters > rival.most {
        return Err(format!("{} has room for {} waiters", rival.name, rival.most));
    }
    (rival.run)(count.shape, 1, count.waiters, count.ops);
    Ok(())
}

fn tables(options: &Options) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    println!(
        "Nanoseconds per operation; medians of {} interleaved rounds of about {} ms; {cores} cores. In parentheses: \
         relative to {}, so that below 1 is faster than it.",
        options.rounds,
        options.run.as_millis(),
        CONTESTANTS[0].name,
    );
    let mut any = false;
    if "floors".contains(&options.filter) {
        any = true;
        print_floors(options);
    }
    for threads in [1, 2] {
        for shape in Shape::ALL.into_iter().filter(|shape| shape.threads().contains(&threads)) {
            let name = format!("{} {threads}", shape.name());
            if name.contains(&options.filter) {
                any = true;
                print_workload(&name, shape, threads, options);
            }
        }
    }
    if options.disturbed.get() > 0 {
        println!(
            "\nThe machine was busy: in {} of the runs a thread was off its core for long.",
            options.disturbed.get()
        );
    }
    if any { Ok(()) } else { Err(format!("no table's name contains \"{}\"", options.filter)) }
}

/// Medians in nanoseconds per operation, of runs that take turns.
///
/// A run in which a thread was off its core for long is done again, a few times; the least disturbed one counts.
fn measure(runs: &[Box<dyn Fn(u64) -> Run + '_>], options: &Options) -> Vec<f64> {
    const TRIES: usize = 20;
    const ENOUGH: f64 = 0.95;
    let wall = |run: Run, ops: u64| Duration::from_nanos((run.ns_per_op * ops as f64) as u64);
    let ops: Vec<u64> = runs.iter().map(|run| calibrate(options.run, |ops| wall(run(ops), ops))).collect();
    let mut samples = vec![Vec::new(); runs.len()];
    for round in 0..options.rounds {
        for turn in 0..runs.len() {
            // Each round starts with another one.
            let i = (round + turn) % runs.len();
            let mut best = runs[i](ops[i]);
            for _ in 1..TRIES {
                if best.on_core >= ENOUGH {
                    break;
                }
                let next = runs[i](ops[i]);
                if next.on_core > best.on_core {
                    best = next;
                }
            }
            samples[i].push(best.ns_per_op);
            if best.on_core < ENOUGH {
                options.disturbed.set(options.disturbed.get() + 1);
            }
        }
    }
    samples.into_iter().map(median).collect()
}

fn print_floors(options: &Options) {
    eprintln!("floors");
    let runs: Vec<Box<dyn Fn(u64) -> Run>> =
        floor::ALL.into_iter().map(|(_, run)| Box::new(run) as _).collect();
    println!("\nfloors: what single instructions cost, 1 thread\n\n| what | ns |\n|---|---:|");
    for ((name, _), ns) in floor::ALL.iter().zip(measure(&runs, options)) {
        println!("| {name} | {ns:.1} |");
    }
}

fn print_workload(name: &str, shape: Shape, threads: usize, options: &Options) {
    let plural = if threads == 1 { "" } else { "s" };
    println!("\n{name}: {}, {threads} thread{plural}\n", shape.title());
    let names: Vec<&str> = CONTESTANTS.iter().map(|contestant| contestant.name).collect();
    println!("| waiters | {} |\n|---:|{}", names.join(" | "), "---:|".repeat(names.len()));
    for waiters in WAITERS {
        if waiters < threads && shape != Shape::TwoSided {
            continue;
        }
        eprintln!("{name} {waiters}");
        let fits = |contestant: &&Contestant| work::most(shape, threads, waiters) <= contestant.most;
        let runs: Vec<Box<dyn Fn(u64) -> Run>> = CONTESTANTS
            .iter()
            .filter(fits)
            .map(|contestant| {
                let run = move |ops| {
                    let name = format!("{} {threads} {waiters} {}", shape.name(), contestant.name);
                    watchdog::guard(&name, || (contestant.run)(shape, threads, waiters, ops))
                };
                Box::new(run) as _
            })
            .collect();
        let mut figures = measure(&runs, options).into_iter();
        let mut leno = None;
        let cells: Vec<String> = CONTESTANTS
            .iter()
            .map(|contestant| {
                let Some(ns) = Some(contestant).filter(fits).and_then(|_| figures.next()) else {
                    return String::new();
                };
                match leno {
                    None => {
                        leno = Some(ns);
                        format!("{ns:.1}")
                    }
                    Some(leno) => format!("{ns:.1} ({:.2})", ns / leno),
                }
            })
            .collect();
        println!("| {waiters} | {} |", cells.join(" | "));
    }
}
