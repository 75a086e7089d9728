//! The tables that are made of figures, in Markdown.

use std::fmt::{self, Write};

use crate::figures::{Comparison, Figure, Measured};

/// A line for each cell: leno, the best peers, and the ratios.
pub fn summary(results: &[Measured]) -> String {
    let mut table =
        "| cell | leno | best peer | A | leno on tokio | best peer on tokio | B | best peer on leno | C | std | leno / std |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for cell in results {
        use Comparison::{Home, OnLeno, OnTokio, Std};
        let own = |comparison| cell.own(comparison).map_or(String::new(), times);
        let peer = |comparison| cell.peer(comparison).map_or(String::new(), named);
        // Who is on tokio in cells without leno there is in the column before.
        let on_tokio = cell.ratio(OnTokio).map_or(String::new(), |_| peer(OnTokio));
        let std = cell.peer(Std).map_or(String::new(), times);
        let [a, b, c, to_std] = [Home, OnTokio, OnLeno, Std].map(|comparison| ratio(cell, comparison));
        let columns = [
            cell.name.clone(),
            own(Home),
            peer(Home),
            a,
            own(OnTokio),
            on_tokio,
            b,
            peer(OnLeno),
            c,
            std,
            to_std,
        ];
        line(&mut table, &columns);
    }
    table
}

/// A line for each group: the geometric mean of its ratios, and in how many cells leno is faster.
pub fn means(results: &[Measured]) -> String {
    let mut table =
        "| geometric mean (cells below 1.0) | A | B | C | leno / std |\n|---|---:|---:|---:|---:|\n"
            .to_owned();
    let mut groups: Vec<&str> = Vec::new();
    for cell in results {
        if !groups.contains(&cell.group.as_str()) {
            groups.push(&cell.group);
        }
    }
    for group in groups {
        let cells: Vec<&Measured> = results.iter().filter(|cell| cell.group == group).collect();
        means_line(&mut table, group, &cells);
    }
    means_line(&mut table, "all", &results.iter().collect::<Vec<_>>());
    table
}

fn means_line(table: &mut String, name: &str, cells: &[&Measured]) {
    let mean = |ratio: &dyn Fn(&Measured) -> Option<f64>| {
        let ratios: Vec<f64> = cells.iter().filter_map(|cell| ratio(cell)).collect();
        if ratios.is_empty() {
            return String::new();
        }
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let below = ratios.iter().filter(|&&ratio| ratio < 1.0).count();
        format!("{mean:.2} ({below} of {})", ratios.len())
    };
    let [a, b, c, std] = Comparison::ALL.map(|comparison| mean(&|cell| cell.ratio(comparison)));
    line(table, &[name.to_owned(), a, b, c, std]);
}

/// A line for each ratio that is not below 1.0, the worst first.
pub fn above(results: &[Measured]) -> String {
    let mut worse: Vec<(f64, &Measured, Comparison)> = results
        .iter()
        .flat_map(|cell| Comparison::ALL.map(|comparison| (cell, comparison)))
        .filter_map(|(cell, comparison)| Some((cell.ratio(comparison)?, cell, comparison)))
        .filter(|(ratio, ..)| *ratio >= 1.0)
        .collect();
    worse.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut table = "| not below 1.0 | | ratio | leno | best peer |\n|---|---|---:|---:|---:|\n".to_owned();
    for (ratio, cell, comparison) in worse {
        let [own, peer] =
            [cell.own(comparison), cell.peer(comparison)].map(|figure| figure.map_or(String::new(), named));
        let label = comparison.label().to_owned();
        line(&mut table, &[cell.name.clone(), label, format!("{ratio:.2}"), own, peer]);
    }
    table
}

/// For each cell a table of all contestants.
pub fn everybody(results: &[Measured]) -> String {
    let mut tables = String::new();
    for cell in results {
        let head = "| library | executor | wall | CPU |\n|---|---|---:|---:|\n";
        put(&mut tables, format_args!("\n{}\n\n{head}", cell.name));
        for Figure { library, executor, wall, cpu } in &cell.figures {
            put(&mut tables, format_args!("| {library} | {executor} | {wall:.1} | {cpu:.1} |\n"));
        }
    }
    tables
}

fn ratio(cell: &Measured, comparison: Comparison) -> String {
    cell.ratio(comparison).map_or(String::new(), |ratio| format!("{ratio:.2}"))
}

/// Wall time, and CPU time in brackets.
fn times(figure: &Figure) -> String {
    format!("{:.1} ({:.1})", figure.wall, figure.cpu)
}

fn named(figure: &Figure) -> String {
    let who = if figure.is_own() || figure.library == figure.executor || figure.executor == "threads" {
        figure.library.clone()
    } else {
        format!("{} on {}", figure.library, figure.executor)
    };
    format!("{who} {}", times(figure))
}

fn line(table: &mut String, columns: &[String]) {
    put(table, format_args!("| {} |\n", columns.join(" | ")));
}

fn put(text: &mut String, what: fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a String takes everything");
}
