//! Renders the Mandelbrot set into a PNG, with a fiber for each row, and reports the speed-up over a single plain thread, whose
//! picture has to be the same.
//!
//! `cargo run --release --example mandelbrot -- [WIDTH] [HEIGHT] [PATH]`
//! (By default 1200 by 800 pixels, into the system's folder for temporary files.)
//!
//! Rows compute and wait for nothing, which is not what fibers are made for: a row occupies its worker until it is done. That
//! is fine here, as this runtime has nothing else to do: no other fiber waits behind a row. A program that also serves requests
//! would give such work to a separate runtime, like this one, or to `leno::fiber::unblock`. One fiber per row is better than one
//! part of the picture per worker: rows through the middle take many times as long as those at the edge, and a worker that is
//! done early steals some of what is left. Starting a fiber takes less than a microsecond, a row hundreds.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use leno::fiber::{JoinError, Runtime};

const USAGE: &str = "usage: mandelbrot [WIDTH] [HEIGHT] [PATH]";
/// A point that is still near after so many steps belongs to the set.
const STEPS: u32 = 600;
const BYTES_PER_PIXEL: usize = 3;

fn main() -> ExitCode {
    let (view, path) = match arguments() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("mandelbrot: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = match Runtime::builder().workers(workers).name("rows").build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("mandelbrot: cannot start {workers} workers: {e}");
            return ExitCode::FAILURE;
        }
    };

    let (alone, took_alone) = timed(|| view.render_on_this_thread());
    let (picture, took) = timed(|| view.render_in_fibers(&runtime).expect("no row panics"));
    assert!(picture == alone, "the fibers' picture differs from the plain thread's");
    let View { width, height } = view;
    println!("{width} by {height} pixels: {took_alone:.0?} on one thread, {took:.0?} in {height} fibers");
    let speed_up = took_alone.as_secs_f64() / took.as_secs_f64();
    println!("{speed_up:.2} times as fast, with {workers} workers");

    match view.save(&picture, &path) {
        Ok(()) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("mandelbrot: cannot write {}: {e}", path.display());
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<(View, PathBuf), String> {
    let mut words = std::env::args_os().skip(1);
    let mut pixels = |what: &str, default: usize| match words.next() {
        None => Ok(default),
        Some(word) => match word.to_str().map(u16::from_str) {
            Some(Ok(n)) if n > 0 => Ok(usize::from(n)),
            _ => Err(format!("{what} is a number of pixels from 1 to {}", u16::MAX)),
        },
    };
    let view = View { width: pixels("WIDTH", 1200)?, height: pixels("HEIGHT", 800)? };
    let path = words.next().map_or_else(|| std::env::temp_dir().join("leno-mandelbrot.png"), PathBuf::from);
    match words.next() {
        None => Ok((view, path)),
        Some(_) => Err(String::from("that is too much")),
    }
}

fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (f(), start.elapsed())
}

/// The whole set, in so many pixels.
#[derive(Clone, Copy)]
struct View {
    width: usize,
    height: usize,
}

impl View {
    fn render_on_this_thread(self) -> Vec<u8> {
        let mut picture = self.blank();
        for (y, row) in self.rows(&mut picture) {
            self.render_row(y, row);
        }
        picture
    }

    /// Each fiber has its own row of the one picture, borrowed: nothing is copied, and nothing is locked.
    fn render_in_fibers(self, runtime: &Runtime) -> Result<Vec<u8>, JoinError> {
        let mut picture = self.blank();
        runtime.blocking_scope(|s| {
            for (y, row) in self.rows(&mut picture) {
                s.spawn(async move { self.render_row(y, row) });
            }
        })?;
        Ok(picture)
    }

    fn save(self, picture: &[u8], path: &Path) -> Result<(), png::EncodingError> {
        let file = BufWriter::new(File::create(path)?);
        let mut encoder = png::Encoder::new(file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(picture)?;
        writer.finish()
    }

    fn blank(self) -> Vec<u8> {
        vec![0; self.width * self.height * BYTES_PER_PIXEL]
    }

    fn rows(self, picture: &mut [u8]) -> impl Iterator<Item = (usize, &mut [u8])> {
        picture.chunks_exact_mut(self.width * BYTES_PER_PIXEL).enumerate()
    }

    fn render_row(self, y: usize, row: &mut [u8]) {
        for (x, pixel) in row.chunks_exact_mut(BYTES_PER_PIXEL).enumerate() {
            pixel.copy_from_slice(&colour(steps(self.point(x, y))));
        }
    }

    /// The point of the plane in the middle of a pixel: the set lies around -0.75, within 3.5 by 2.5.
    fn point(self, x: usize, y: usize) -> (f64, f64) {
        let unit = (3.5 / self.width as f64).max(2.5 / self.height as f64);
        let off = |at: usize, of: usize| (at as f64 + 0.5 - of as f64 / 2.0) * unit;
        (off(x, self.width) - 0.75, off(y, self.height))
    }
}

/// How many steps of z → z² + c, from 0 on, stay within 2 of the origin.
fn steps((re, im): (f64, f64)) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..STEPS {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 4.0 {
            return step;
        }
        (x, y) = (xx - yy + re, 2.0 * x * y + im);
    }
    STEPS
}

/// Black for the set, and the brighter the closer to it.
fn colour(steps: u32) -> [u8; BYTES_PER_PIXEL] {
    if steps == STEPS {
        return [0; BYTES_PER_PIXEL];
    }
    let near = f64::from(steps) / f64::from(STEPS);
    [2, 3, 6].map(|root| (255.0 * near.powf(1.0 / f64::from(root))) as u8)
}
