//! Counts the words of all text files below a folder and prints the most frequent ones.
//!
//! `cargo run --release --example wordcount -- [PATH] [--top N] [--workers N] [--check]`
//!
//! Three stages of fibers, connected by channels:
//!
//! ```text
//! walk ──bounded──▶ read × 4 per worker ──rendezvous──▶ tally × workers ──bounded──▶ merge
//! ```
//!
//! - A word is a run of Unicode letters and digits, in lower case.
//! - Symbolic links below PATH are not followed; what is neither file nor folder is skipped, and so are the
//!   folders of version control. Without PATH the current folder is counted, except for `target` folders.
//! - Files that are not UTF-8 are skipped, counted and named; this is not an error.
//! - Words go to stdout, everything else to stderr.
//! - Exit code: 0 all was counted, 1 something could not be read (the rest is counted) or `--check` found a
//!   difference, 2 wrong usage.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use leno::fiber::{Runtime, unblock};
use leno::sync::Mutex;
use leno::{Receiver, Sender, bounded, rendezvous, sleep, spawn};

const USAGE: &str = "usage: wordcount [PATH] [--top N] [--workers N] [--check]
  PATH         folder or file to count (default: the current folder without `target`)
  --top N      how many words to print (default 20)
  --workers N  threads that run fibers (default: one per core)
  --check      count again with one plain loop and compare";

/// Paths that the walk may be ahead of the readers.
const PATHS_AHEAD: usize = 256;
/// Readers spend their time waiting for the disk, so there are more of them than workers.
const READERS_PER_WORKER: usize = 4;
/// Skipped files that are named; the others are only counted.
const NAMED: usize = 5;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    ExitCode::from(run(args, Path::new("."), &mut io::stdout().lock(), &mut io::stderr()))
}

/// The whole program, with its surroundings as arguments (`here`: the current folder); returns the exit code.
pub(crate) fn run(
    args: impl Iterator<Item = OsString>,
    here: &Path,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let options = match Options::parse(args, here) {
        Ok(Some(options)) => options,
        Ok(None) => {
            return u8::from(writeln!(out, "{USAGE}").is_err_and(|e| e.kind() != ErrorKind::BrokenPipe));
        }
        Err(problem) => {
            let _ = writeln!(err, "wordcount: {problem}\n{USAGE}");
            return 2;
        }
    };
    let runtime = match Runtime::builder().workers(options.workers).name("wordcount").build() {
        Ok(runtime) => runtime,
        Err(e) => {
            let _ = writeln!(err, "wordcount: cannot start {} workers: {e}", options.workers);
            return 1;
        }
    };
    let start = Instant::now();
    let (counts, stats) = runtime.block_on(count(options.clone()));
    let seconds = start.elapsed().as_secs_f64();

    let mut failed = !stats.problems.is_empty();
    for problem in &stats.problems {
        let _ = writeln!(err, "wordcount: {problem}");
    }
    if let Err(e) = print_top(&counts, options.top, out) {
        let _ = writeln!(err, "wordcount: cannot write the words: {e}");
        failed = true;
    }
    let _ = print_summary(&counts, &stats, seconds, err);
    if options.check {
        let (expected, again) = count_sequentially(&options);
        let agree = counts == expected && (stats.files, stats.bytes) == (again.files, again.bytes);
        let _ = if agree {
            writeln!(err, "check: a sequential count of {} files agrees", again.files)
        } else {
            print_difference((&counts, &stats), (&expected, &again), err)
        };
        failed |= !agree;
    }
    u8::from(failed)
}

#[derive(Clone)]
struct Options {
    path: PathBuf,
    skip_target: bool,
    top: usize,
    workers: usize,
    check: bool,
}

impl Options {
    /// `Ok(None)`: help was asked for.
    fn parse(mut args: impl Iterator<Item = OsString>, here: &Path) -> Result<Option<Options>, String> {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let mut options =
            Options { path: here.to_path_buf(), skip_target: true, top: 20, workers: cores, check: false };
        let mut only_paths = false;
        while let Some(arg) = args.next() {
            let text = arg.to_string_lossy().into_owned();
            if only_paths || !text.starts_with('-') || text == "-" {
                if !options.skip_target {
                    return Err(format!("one PATH is enough: {text}"));
                }
                (options.path, options.skip_target) = (arg.into(), false);
                continue;
            }
            // Both `--top 5` and `--top=5`.
            let (name, given) = text.split_once('=').map_or((&*text, None), |(n, v)| (n, Some(v.to_owned())));
            let mut number = || -> Result<usize, String> {
                let value = given.clone().or_else(|| args.next()?.into_string().ok());
                let value = value.ok_or(format!("{name} needs a number"))?;
                value.parse().map_err(|_| format!("{name} needs a number, not {value}"))
            };
            match name {
                "--top" => options.top = number()?,
                "--workers" => options.workers = number()?,
                "--check" if given.is_none() => options.check = true,
                "--help" | "-h" => return Ok(None),
                "--" => only_paths = true,
                _ => return Err(format!("unknown option {text}")),
            }
        }
        if options.workers == 0 {
            return Err("--workers needs at least one".into());
        }
        Ok(Some(options))
    }
}

type Counts = HashMap<String, u64>;

/// What happened besides words.
#[derive(Default)]
struct Stats {
    /// Files that the walk has found.
    found: u64,
    /// Files that were read and are text.
    files: u64,
    bytes: u64,
    /// Files that are not UTF-8, and the first of them by name.
    skipped: u64,
    skipped_names: Vec<PathBuf>,
    /// What could not be read, as messages.
    problems: Vec<String>,
}

impl Stats {
    /// Books one step of the walk.
    fn list(&mut self, listing: &Listing) {
        self.found += listing.files.len() as u64;
        self.problems.extend_from_slice(&listing.problems);
    }

    /// Books one file that was read, or not; returns its text.
    fn book(&mut self, path: PathBuf, read: io::Result<Vec<u8>>) -> Option<String> {
        match read.map(String::from_utf8) {
            Ok(Ok(text)) => {
                self.files += 1;
                self.bytes += text.len() as u64;
                Some(text)
            }
            Ok(Err(_)) => {
                self.skipped += 1;
                if self.skipped_names.len() < NAMED {
                    self.skipped_names.push(path);
                }
                None
            }
            Err(e) => {
                self.problems.push(format!("{}: {e}", path.display()));
                None
            }
        }
    }
}

/// Starts the stages, merges what they deliver, and waits for all of them.
async fn count(options: Options) -> (Counts, Stats) {
    let stats = Arc::new(Mutex::new(Stats::default()));
    // Paths are small and come in bursts, a folder at a time: a buffer lets the walk run ahead, but not without
    // end, or the paths of a huge tree would pile up.
    let (paths_in, paths) = bounded(PATHS_AHEAD);
    // A text may be large, and one that lies in a buffer helps nobody. So it is handed over: a reader holds one
    // text and opens its next file only when this one is taken. There are never more texts in memory than
    // readers and tallies, whatever their sizes, and a slow tally slows the reading down.
    let (texts_in, texts) = rendezvous();
    // One result for each tally: there is room for all, so that none of them waits for the merge.
    let (results_in, results) = bounded(options.workers);

    let mut fibers = vec![spawn(walk(options.clone(), paths_in, Arc::clone(&stats)))];
    for _ in 0..options.workers * READERS_PER_WORKER {
        fibers.push(spawn(read(paths.clone(), texts_in.clone(), Arc::clone(&stats))));
    }
    for _ in 0..options.workers {
        fibers.push(spawn(tally(texts.clone(), results_in.clone())));
    }
    // Each stage ends when all handles of the stage before it are gone, so ours have to go, too.
    drop((paths, texts_in, texts, results_in));

    let bar = ProgressBar::new(0);
    let progress = spawn(show_progress(bar.clone(), Arc::clone(&stats)));
    let mut counts = Counts::new();
    while let Ok(part) = results.recv().await {
        for (word, n) in part {
            *counts.entry(word).or_default() += n;
        }
    }
    for fiber in fibers {
        // A stage that panicked has lost words: better no result than a wrong one.
        fiber.await.expect("every stage runs to its end");
    }
    // Joined as well, so that nothing draws any more when the result is printed.
    progress.cancel();
    let _ = progress.await;
    bar.finish_and_clear();
    let stats = std::mem::take(&mut *stats.lock().await);
    (counts, stats)
}

/// First stage: finds files. Listing a folder blocks, so that happens off the workers.
async fn walk(options: Options, paths: Sender<PathBuf>, stats: Arc<Mutex<Stats>>) {
    let mut walk = Walk::new(&options);
    loop {
        let (moved, listing) = unblock(move || {
            let listing = walk.next();
            (walk, listing)
        })
        .await;
        walk = moved;
        let Some(listing) = listing else { return };
        // The guard is a temporary: no lock is held while the sends below wait.
        stats.lock().await.list(&listing);
        for file in listing.files {
            if paths.send(file).await.is_err() {
                return;
            }
        }
    }
}

/// Second stage: reads files, off the workers as well.
async fn read(paths: Receiver<PathBuf>, texts: Sender<String>, stats: Arc<Mutex<Stats>>) {
    while let Ok(path) = paths.recv().await {
        let (path, bytes) = unblock(move || {
            let bytes = fs::read(&path);
            (path, bytes)
        })
        .await;
        let Some(text) = stats.lock().await.book(path, bytes) else { continue };
        if texts.send(text).await.is_err() {
            return;
        }
    }
}

/// Third stage: counts words.
async fn tally(texts: Receiver<String>, results: Sender<Counts>) {
    let mut counts = Counts::new();
    while let Ok(text) = texts.recv().await {
        add_words(&text, &mut counts);
    }
    let _ = results.send(counts).await;
}

/// Keeps a bar on stderr up to date until it is cancelled. indicatif hides it where stderr is no terminal.
async fn show_progress(bar: ProgressBar, stats: Arc<Mutex<Stats>>) {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} files, {msg}");
    bar.set_style(style.expect("the template is valid"));
    loop {
        let (found, done, bytes) = {
            let stats = stats.lock().await;
            (stats.found, stats.files + stats.skipped, stats.bytes)
        };
        bar.set_length(found);
        bar.set_message(format!("{:.1} MB", bytes as f64 / 1e6));
        bar.set_position(done);
        sleep(Duration::from_millis(100)).await;
    }
}

/// The same count with one plain loop, to check the fibers' result.
fn count_sequentially(options: &Options) -> (Counts, Stats) {
    let (mut counts, mut stats) = (Counts::new(), Stats::default());
    for listing in Walk::new(options) {
        stats.list(&listing);
        for path in listing.files {
            let bytes = fs::read(&path);
            if let Some(text) = stats.book(path, bytes) {
                add_words(&text, &mut counts);
            }
        }
    }
    (counts, stats)
}

/// What one step of a walk has found.
#[derive(Default)]
struct Listing {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    problems: Vec<String>,
}

/// A walk through a tree, one folder at a time.
struct Walk {
    start: Option<PathBuf>,
    folders: Vec<PathBuf>,
    skip_target: bool,
}

impl Walk {
    fn new(options: &Options) -> Walk {
        Walk { start: Some(options.path.clone()), folders: Vec::new(), skip_target: options.skip_target }
    }

    /// Where the walk begins; the only place where a symbolic link is followed.
    fn look_at(path: PathBuf) -> Listing {
        let mut listing = Listing::default();
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => listing.folders.push(path),
            Ok(meta) if meta.is_file() => listing.files.push(path),
            Ok(_) => listing.problems.push(format!("{}: neither file nor folder", path.display())),
            Err(e) => listing.problems.push(format!("{}: {e}", path.display())),
        }
        listing
    }

    fn list(&self, folder: &Path) -> Listing {
        let mut listing = Listing::default();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) => {
                listing.problems.push(format!("{}: {e}", folder.display()));
                return listing;
            }
        };
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.file_type()?, entry))) {
                Ok((kind, entry)) if kind.is_dir() => {
                    let name = entry.file_name();
                    let vcs = [".git", ".hg", ".svn", ".jj"].iter().any(|vcs| name == *vcs);
                    let pass_over = vcs || (self.skip_target && name == "target");
                    if !pass_over {
                        listing.folders.push(entry.path());
                    }
                }
                Ok((kind, entry)) if kind.is_file() => listing.files.push(entry.path()),
                Ok(_) => {}
                Err(e) => listing.problems.push(format!("{}: {e}", folder.display())),
            }
        }
        listing
    }
}

impl Iterator for Walk {
    type Item = Listing;

    fn next(&mut self) -> Option<Listing> {
        let mut listing = match self.start.take() {
            Some(path) => Walk::look_at(path),
            None => {
                let folder = self.folders.pop()?;
                self.list(&folder)
            }
        };
        self.folders.append(&mut listing.folders);
        Some(listing)
    }
}

fn add_words(text: &str, counts: &mut Counts) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        // Most words are lower case and known already: they cost no allocation.
        let plain = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let word = if plain { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) };
        match counts.get_mut(&*word) {
            Some(n) => *n += 1,
            None => drop(counts.insert(word.into_owned(), 1)),
        }
    }
}

/// Prints the most frequent words; equally frequent ones in alphabetical order.
fn print_top(counts: &Counts, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut words: Vec<(&String, &u64)> = counts.iter().collect();
    words.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (word, n) in words.into_iter().take(top) {
        match writeln!(out, "{n:>10} {word}") {
            // `wordcount | head -1` has seen enough; that is no failure.
            Err(e) if e.kind() == ErrorKind::BrokenPipe => return Ok(()),
            result => result?,
        }
    }
    Ok(())
}

fn print_summary(counts: &Counts, stats: &Stats, seconds: f64, err: &mut dyn Write) -> io::Result<()> {
    let (files, megabytes) = (stats.files, stats.bytes as f64 / 1e6);
    let words: u64 = counts.values().sum();
    writeln!(
        err,
        "{files} files, {megabytes:.2} MB, {words} words, {} different, in {seconds:.3} s: {:.0} files/s, {:.2} MB/s",
        counts.len(),
        files as f64 / seconds,
        megabytes / seconds,
    )?;
    if stats.skipped > 0 {
        writeln!(err, "skipped {} files that are not UTF-8:", stats.skipped)?;
        for path in &stats.skipped_names {
            writeln!(err, "  {}", path.display())?;
        }
        if stats.skipped > NAMED as u64 {
            writeln!(err, "  and {} more", stats.skipped - NAMED as u64)?;
        }
    }
    Ok(())
}

type Outcome<'a> = (&'a Counts, &'a Stats);

/// Says how the fibers' result differs from the expected one.
fn print_difference(found: Outcome<'_>, expected: Outcome<'_>, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "check: the counts differ (a file that changed in between has that effect, too)")?;
    for (who, stats) in [("fibers", found.1), ("sequential", expected.1)] {
        writeln!(err, "check: {who}: {} files, {} bytes", stats.files, stats.bytes)?;
    }
    let mut words: Vec<&String> = found.0.keys().chain(expected.0.keys()).collect();
    words.sort();
    words.dedup();
    for word in words.into_iter().filter(|w| found.0.get(*w) != expected.0.get(*w)).take(NAMED) {
        let times = |counts: &Counts| counts.get(word).copied().unwrap_or(0);
        writeln!(err, "check: \"{word}\": fibers {}, sequential {}", times(found.0), times(expected.0))?;
    }
    Ok(())
}
