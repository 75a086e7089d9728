//! A dump as a table.

use std::fmt;

use super::dump::{Dump, FiberInfo, FiberState};
use crate::task::one_line;

const HEAD: [&str; 7] = ["id", "name", "state", "for", "polls", "spawned at", "waits for"];

/// A line for each fiber; one that waits for several things takes a line for each of them.
impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![HEAD.map(String::from)];
        self.fibers().iter().for_each(|fiber| add(&mut lines, fiber, self.inspected));
        let widths: [usize; HEAD.len()] = std::array::from_fn(|column| {
            lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
        });
        for line in &lines {
            let mut text = String::new();
            for (cell, width) in line.iter().zip(widths) {
                text.push_str(&format!("{cell:width$}  "));
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        let count = self.fibers().len();
        write!(f, "{count} {}", if count == 1 { "fiber" } else { "fibers" })?;
        if !self.inspected {
            f.write_str(
                "; to see what they wait for, build their executor with `inspect(true)`, the default in builds with debug \
                 assertions",
            )?;
        } else if !cfg!(debug_assertions) {
            f.write_str("; where they wait, and lock holders, are shown in builds with debug assertions")?;
        }
        writeln!(f)
    }
}

fn add(lines: &mut Vec<[String; HEAD.len()]>, fiber: &FiberInfo, inspected: bool) {
    let mut state = fiber.state().to_string();
    if fiber.is_cancelled() {
        state.push_str(", cancelled");
    }
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| String::from("-"));
    let mut notes: Vec<_> = fiber.waits().iter().map(ToString::to_string).collect();
    if notes.is_empty() && inspected && fiber.state() == FiberState::Waiting {
        notes.push(String::from("something outside leno"));
    }
    for hold in fiber.holds() {
        notes.push(format!("(holds {hold})"));
    }
    let mut notes = notes.into_iter().map(|note| one_line(&note));
    lines.push([
        fiber.id().to_string(),
        or_dash(fiber.name().map(one_line)),
        state,
        or_dash(fiber.in_state().map(|time| format!("{time:.1?}"))),
        or_dash(fiber.polls().map(|polls| polls.to_string())),
        fiber.spawned_at().to_string(),
        notes.next().unwrap_or_default(),
    ]);
    for note in notes {
        let mut line: [String; HEAD.len()] = std::array::from_fn(|_| String::new());
        line[HEAD.len() - 1] = note;
        lines.push(line);
    }
}
