//! Figures of cells, the ratios that are taken of them, and how they are kept in a file.
//!
//! Four comparisons keep channels and executors apart: see [`Comparison`].

use std::io;
use std::path::Path;

use crate::cells::Cell;
use crate::measure::{Sample, median};

/// A contestant's medians, in nanoseconds per operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The library.
    pub library: String,
    /// What ran it.
    pub executor: String,
    /// Time on the clock.
    pub wall: f64,
    /// Time on all CPUs.
    pub cpu: f64,
}

impl Figure {
    /// Whether this is leno's.
    pub fn is_own(&self) -> bool {
        self.library == "leno"
    }
}

/// leno beside its peers; a ratio is leno's best wall time by that of the best peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// What a user gets: leno on its own executor, or on threads; peers where they are at home (tokio, smol, threads).
    Home,
    /// The channels alone, all on tokio.
    OnTokio,
    /// The channels alone, all on leno's executor.
    OnLeno,
    /// leno and std, both on threads.
    Std,
}

impl Comparison {
    /// All of them, in the order of the tables.
    pub const ALL: [Comparison; 4] =
        [Comparison::Home, Comparison::OnTokio, Comparison::OnLeno, Comparison::Std];

    /// Its name in tables and files.
    pub fn label(self) -> &'static str {
        match self {
            Comparison::Home => "A",
            Comparison::OnTokio => "B",
            Comparison::OnLeno => "C",
            Comparison::Std => "std",
        }
    }

    /// Whether it looks at this figure.
    pub fn includes(self, figure: &Figure) -> bool {
        let executor = figure.executor.as_str();
        match self {
            Comparison::Home if figure.is_own() => executor != "tokio",
            Comparison::Home => executor != "leno",
            Comparison::OnTokio => executor == "tokio",
            Comparison::OnLeno => executor == "leno",
            Comparison::Std => executor == "threads" && (figure.is_own() || figure.library == "std"),
        }
    }
}

/// A cell with everybody's figures.
#[derive(Debug, PartialEq)]
pub struct Measured {
    /// The cell.
    pub name: String,
    /// The cell's group.
    pub group: String,
    /// A figure for each contestant.
    pub figures: Vec<Figure>,
}

impl Measured {
    /// `samples`: those of each contestant.
    pub fn new(cell: &Cell, samples: &[Vec<Sample>]) -> Self {
        // Rounded as in the file, so that tables come out the same from either.
        let of = |samples: &[Sample], time: fn(&Sample) -> f64| {
            (median(samples.iter().map(time).collect()) * 100.0).round() / 100.0
        };
        let figures = cell.contestants.iter().zip(samples).map(|(contestant, samples)| Figure {
            library: contestant.library.to_owned(),
            executor: contestant.executor.to_owned(),
            wall: of(samples, Sample::wall_ns),
            cpu: of(samples, Sample::cpu_ns),
        });
        Measured { name: cell.name.clone(), group: cell.group.to_string(), figures: figures.collect() }
    }

    /// leno's best figure in a comparison.
    pub fn own(&self, comparison: Comparison) -> Option<&Figure> {
        self.best(|figure| comparison.includes(figure) && figure.is_own())
    }

    /// The best peer's figure in a comparison.
    pub fn peer(&self, comparison: Comparison) -> Option<&Figure> {
        self.best(|figure| comparison.includes(figure) && !figure.is_own())
    }

    /// leno by the best peer: below 1.0 leno is faster.
    pub fn ratio(&self, comparison: Comparison) -> Option<f64> {
        Some(self.own(comparison)?.wall / self.peer(comparison)?.wall)
    }

    fn best(&self, who: impl Fn(&Figure) -> bool) -> Option<&Figure> {
        self.figures.iter().filter(|figure| who(figure)).min_by(|a, b| a.wall.total_cmp(&b.wall))
    }
}

const COLUMNS: [&str; 7] = ["cell", "group", "comparisons", "library", "executor", "wall_ns", "cpu_ns"];

/// Writes a file with a line for each figure, which names the comparisons that look at it.
pub fn write(path: &Path, results: &[Measured]) -> io::Result<()> {
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(COLUMNS)?;
    for cell in results {
        for figure in &cell.figures {
            let comparisons: Vec<&str> = Comparison::ALL
                .into_iter()
                .filter(|comparison| comparison.includes(figure) && cell.ratio(*comparison).is_some())
                .map(Comparison::label)
                .collect();
            let [wall, cpu] = [figure.wall, figure.cpu].map(|ns| format!("{ns:.2}"));
            let Figure { library, executor, .. } = figure;
            file.write_record([
                &cell.name,
                &cell.group,
                &comparisons.join(" "),
                library,
                executor,
                &wall,
                &cpu,
            ])?;
        }
    }
    file.flush()
}

/// Reads what [`write`] wrote.
pub fn read(path: &Path) -> io::Result<Vec<Measured>> {
    let mut file = csv::Reader::from_path(path)?;
    if file.headers()? != COLUMNS.as_slice() {
        let columns = COLUMNS.join(",");
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("its first line is not {columns}")));
    }
    let mut results: Vec<Measured> = Vec::new();
    for line in file.records() {
        let line = line?;
        if results.last().is_none_or(|last| last.name != line[0]) {
            let (name, group) = (line[0].to_owned(), line[1].to_owned());
            results.push(Measured { name, group, figures: Vec::new() });
        }
        let figure = Figure {
            library: line[3].to_owned(),
            executor: line[4].to_owned(),
            wall: number(&line[5])?,
            cpu: number(&line[6])?,
        };
        results.last_mut().expect("there is one now").figures.push(figure);
    }
    Ok(results)
}

fn number(text: &str) -> io::Result<f64> {
    text.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("no number: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str, figures: &[(&str, &str, f64)]) -> Measured {
        let figures = figures.iter().map(|&(library, executor, wall)| Figure {
            library: library.to_owned(),
            executor: executor.to_owned(),
            wall,
            cpu: 1.25,
        });
        Measured {
            name: name.to_owned(),
            group: "a group, \"quoted\"".to_owned(),
            figures: figures.collect(),
        }
    }

    #[test]
    fn each_comparison_looks_at_its_own_figures() {
        let tasks = cell(
            "tasks",
            &[
                ("leno", "leno", 10.0),
                ("leno", "tokio", 30.0),
                ("kanal", "leno", 5.0),
                ("kanal", "tokio", 20.0),
            ],
        );
        assert_eq!(Comparison::ALL.map(|c| tasks.ratio(c)), [Some(0.5), Some(1.5), Some(2.0), None]);
        let threads = cell(
            "threads",
            &[("leno", "threads", 10.0), ("std", "threads", 20.0), ("kanal", "threads", 5.0)],
        );
        assert_eq!(Comparison::ALL.map(|c| threads.ratio(c)), [Some(2.0), None, None, Some(0.5)]);
    }

    #[test]
    fn what_is_written_is_read() {
        let results = [
            cell("one, with a comma", &[("leno", "leno", 7.01), ("tokio", "tokio", 1234.5)]),
            cell("another", &[("leno", "threads", 0.07)]),
        ];
        let path = std::env::temp_dir().join(format!("leno-figures-{}.csv", std::process::id()));
        write(&path, &results).expect("a writable folder");
        let read = read(&path);
        std::fs::remove_file(&path).expect("it was written");
        assert_eq!(read.expect("it was just written"), results);
    }
}
