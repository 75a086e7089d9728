//! Draws the ratios of `compare --csv` as an SVG: a line for each cell, a mark for each comparison, a log axis.
//!
//! `cargo run --release -p leno-benches --bin plot -- IN.csv OUT.svg`

use std::fmt::{self, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;

use leno_benches::figures::{self, Comparison, Measured};

/// Pixels: the names' column, the plot's, and the height of a line.
const NAMES: f64 = 420.0;
const PLOT: f64 = 560.0;
const LINE: f64 = 17.0;
/// Pixels above the first line: the legend and the axis.
const TOP: f64 = 64.0;
/// Pixels from a mark's middle to its edge.
const MARK: f64 = 4.5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = args.as_slice() else {
        eprintln!("usage: plot IN.csv OUT.svg");
        return ExitCode::from(2);
    };
    let drawn = figures::read(Path::new(from))
        .map_err(|error| format!("{from}: {error}"))
        .and_then(|results| draw(&results).ok_or_else(|| format!("{from}: there is no ratio in it")))
        .and_then(|svg| std::fs::write(to, svg).map_err(|error| format!("{to}: {error}")));
    match drawn {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("plot: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// The picture; `None` if there is nothing to show.
fn draw(results: &[Measured]) -> Option<String> {
    let cells: Vec<&Measured> = results.iter().filter(|cell| ratios(cell).next().is_some()).collect();
    let axis = Axis::around(cells.iter().flat_map(|cell| ratios(cell)).map(|(_, ratio)| ratio))?;
    let groups = cells.chunk_by(|a, b| a.group == b.group);
    let height = TOP + LINE * (cells.len() + groups.clone().count()) as f64 + LINE;
    let mut svg = Svg::new(NAMES + PLOT + 20.0, height);
    svg.legend();
    svg.axis(&axis, height - LINE);
    let mut y = TOP;
    for group in groups {
        y += LINE;
        svg.text(8.0, y - 4.0, "start", "bold", &group[0].group);
        for cell in group {
            y += LINE;
            svg.cell(cell, &axis, y - LINE / 2.0);
        }
    }
    Some(svg.end())
}

fn ratios(cell: &Measured) -> impl Iterator<Item = (Comparison, f64)> {
    Comparison::ALL.into_iter().filter_map(|comparison| Some((comparison, cell.ratio(comparison)?)))
}

/// A log axis, from and to a power of ten times 1, 2 or 5.
struct Axis(RangeInclusive<f64>);

impl Axis {
    /// One that shows all of `values`, and 1.0.
    fn around(values: impl Iterator<Item = f64>) -> Option<Axis> {
        let (least, most) =
            values.fold((f64::INFINITY, 0.0f64), |(a, b), value| (a.min(value), b.max(value)));
        let (least, most) = (least.min(0.5), most.max(2.0));
        let from = steps().filter(|&step| step <= least).last()?;
        let to = steps().find(|&step| step >= most)?;
        Some(Axis(from..=to))
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        steps().filter(|step| self.0.contains(step))
    }

    fn x(&self, ratio: f64) -> f64 {
        let (from, to) = (self.0.start().ln(), self.0.end().ln());
        NAMES + PLOT * (ratio.ln() - from) / (to - from)
    }
}

fn steps() -> impl Iterator<Item = f64> {
    (-4..=4).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)))
}

fn colour(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Home => "#0b5fa5",
        Comparison::OnTokio => "#c8501e",
        Comparison::OnLeno => "#2c8a4b",
        Comparison::Std => "#7a3b9a",
    }
}

fn meaning(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Home => "A: at home",
        Comparison::OnTokio => "B: all on tokio",
        Comparison::OnLeno => "C: all on leno",
        Comparison::Std => "leno / std, threads",
    }
}

/// A picture in the making.
struct Svg(String);

impl Svg {
    fn new(width: f64, height: f64) -> Self {
        let mut svg = Svg(String::new());
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        ));
        svg
    }

    fn legend(&mut self) {
        self.text(8.0, 20.0, "start", "bold", "leno's time by the best peer's: left of 1.0 leno is faster");
        for (i, comparison) in Comparison::ALL.into_iter().enumerate() {
            let x = NAMES + 10.0 + 140.0 * i as f64;
            self.mark(comparison, x, 16.0, meaning(comparison));
            self.text(x + 10.0, 20.0, "start", "normal", meaning(comparison));
        }
    }

    fn axis(&mut self, axis: &Axis, bottom: f64) {
        for tick in axis.ticks() {
            let x = axis.x(tick);
            let (colour, width) = if tick == 1.0 { ("black", 1.5) } else { ("#dddddd", 1.0) };
            self.put(format_args!(
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"{colour}\" \
                 stroke-width=\"{width}\"/>\n"
            ));
            self.text(x, TOP - 8.0, "middle", "normal", &tick.to_string());
        }
    }

    fn cell(&mut self, cell: &Measured, axis: &Axis, y: f64) {
        self.text(NAMES - 12.0, y + 4.0, "end", "normal", &cell.name);
        for (comparison, ratio) in ratios(cell) {
            let peer = cell.peer(comparison).map_or("", |peer| &peer.library);
            let title = format!("{}, {}: {ratio:.2} ({peer})", cell.name, comparison.label());
            self.mark(comparison, axis.x(ratio), y, &title);
        }
    }

    /// A shape and a colour for each comparison, so that either is enough; `title` shows under the pointer.
    fn mark(&mut self, comparison: Comparison, x: f64, y: f64, title: &str) {
        let (left, right, top, bottom) = (x - MARK, x + MARK, y - MARK, y + MARK);
        let shape = match comparison {
            Comparison::Home => {
                format!("M{left:.1} {y:.1}a{MARK} {MARK} 0 1 0 {0} 0a{MARK} {MARK} 0 1 0 -{0} 0z", 2.0 * MARK)
            }
            Comparison::OnTokio => format!("M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}z"),
            Comparison::OnLeno => format!("M{x:.1} {top:.1}L{right:.1} {bottom:.1}H{left:.1}z"),
            Comparison::Std => {
                format!("M{x:.1} {top:.1}L{right:.1} {y:.1}L{x:.1} {bottom:.1}L{left:.1} {y:.1}z")
            }
        };
        let (colour, title) = (colour(comparison), escaped(title));
        self.put(format_args!(
            "<path d=\"{shape}\" fill=\"{colour}\" fill-opacity=\"0.75\"><title>{title}</title></path>\n"
        ));
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, weight: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-weight=\"{weight}\">{text}</text>\n"
        ));
    }

    fn put(&mut self, what: fmt::Arguments<'_>) {
        self.0.write_fmt(what).expect("a String takes everything");
    }

    fn end(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
