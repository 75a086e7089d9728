//! What is said of a closed world whose fibers all wait for each other.

use std::fmt::Write as _;

use super::dump::Dump;
use crate::task::header::Task;
use crate::task::home::Home;
use crate::task::one_line;

/// The report: who says so, the circle, if there is one, and the table.
pub(super) fn deadlock(home: &Home, main: &Task) -> String {
    let dump = Dump::of(home, Some(main));
    let mut text = format!(
        "deadlock: all fibers wait, and nothing is left to wake one (`block_on` at {}, in a closed world)\n\n",
        main.spawned_at
    );
    if let Some(circle) = dump.circle() {
        text.push_str("they wait in a circle:\n");
        for (at, link) in circle.iter().enumerate() {
            let next = circle[(at + 1) % circle.len()].fiber;
            let mut line = format!("{} waits: {}", link.fiber, link.wait);
            if let Some(hold) = link.hold {
                let _ = write!(line, ", which {next} holds{}", hold.how());
            }
            let _ = writeln!(text, "  {}", one_line(&line));
        }
        text.push('\n');
    }
    let _ = write!(text, "{dump}");
    text
}
