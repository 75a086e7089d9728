//! Who waits for what, as a graph, and the circles in it.
//!
//! ```text
//!   fiber ── send, recv ──▶ channel
//!   fiber ── lock ──▶ mutex ── held by ──▶ fiber
//!   fiber ── read, write ──▶ rwlock ── held by ──▶ all readers, or the writer
//!   fiber ── acquire ──▶ semaphore ── held by ──▶ all that have permits
//!   fiber ── join ──▶ fiber
//! ```
//!
//! In it are the fibers that wait, and those at the end of an edge. Nobody knows who could serve a channel, so no edge leads out of
//! one. What else a fiber waits for (time, a park) stands in its label.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::dump::{Dump, FiberInfo, FiberState, Wait};
use crate::task::header::FiberId;
use crate::task::watch::{Hold, Object};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Fiber(FiberId),
    /// By its number in [`Graph::objects`].
    Object(usize),
}

struct Graph<'a> {
    /// In the order of the dump. `None`: of another executor, or it has ended.
    fibers: Vec<(FiberId, Option<&'a FiberInfo>)>,
    objects: Vec<&'a Object>,
    edges: Vec<(Node, &'static str, Node)>,
}

impl<'a> Graph<'a> {
    fn of(dump: &'a Dump) -> Graph<'a> {
        let mut numbers = HashMap::new();
        let mut graph = Graph { fibers: Vec::new(), objects: Vec::new(), edges: Vec::new() };
        let waiting = || dump.fibers().iter().filter(|fiber| is_waiting(fiber));
        for fiber in waiting() {
            for wait in fiber.waits() {
                if let Some(object) = wait.object() {
                    let next = graph.objects.len();
                    let number = *numbers.entry(object).or_insert(next);
                    if number == next {
                        graph.objects.push(object);
                    }
                    graph.add(Node::Fiber(fiber.id()), wait.operation(), Node::Object(number));
                } else if let Some(other) = wait.fiber() {
                    graph.add(Node::Fiber(fiber.id()), wait.operation(), Node::Fiber(other));
                }
            }
        }
        for fiber in dump.fibers() {
            let mut known = HashSet::new();
            for hold in fiber.holds() {
                if let Some(number) = numbers.get(hold.object()).filter(|number| known.insert(**number)) {
                    graph.add(Node::Object(*number), "held by", Node::Fiber(fiber.id()));
                }
            }
        }
        let mut ids: Vec<_> = waiting().map(FiberInfo::id).collect();
        let targets = graph.edges.iter().map(|(_, _, to)| *to);
        ids.extend(targets.filter_map(|to| if let Node::Fiber(id) = to { Some(id) } else { None }));
        ids.sort_unstable();
        ids.dedup();
        let known: HashMap<_, _> = dump.fibers().iter().map(|fiber| (fiber.id(), fiber)).collect();
        graph.fibers = ids.into_iter().map(|id| (id, known.get(&id).copied())).collect();
        graph
    }

    fn add(&mut self, from: Node, what: &'static str, to: Node) {
        // (A select can wait twice at one channel; between two nodes there is one edge of a kind.)
        let edge = (from, what, to);
        let known =
            self.edges.iter().rev().take_while(|(before, ..)| *before == from).any(|known| *known == edge);
        if !known {
            self.edges.push(edge);
        }
    }
}

/// A fiber that upgrades waits for the readers; the only upgradable read is its own.
fn is_for(wait: &Wait, hold: &Hold) -> bool {
    wait.operation() != "upgrade" || hold.operation() != "upgradable_read"
}

fn is_waiting(fiber: &FiberInfo) -> bool {
    fiber.state() == FiberState::Waiting
}

/// The lines of a node's label.
fn label(id: FiberId, fiber: Option<&FiberInfo>) -> Vec<String> {
    let Some(fiber) = fiber else { return vec![format!("fiber {id}"), String::from("elsewhere")] };
    let mut second = fiber.state().to_string();
    let others = fiber.waits().iter().filter(|wait| wait.object().is_none() && wait.fiber().is_none());
    let mut others: Vec<_> = others.map(|wait| wait.operation()).collect();
    others.dedup();
    if is_waiting(fiber) && !others.is_empty() {
        let _ = write!(second, ": {}", others.join(", "));
    }
    vec![fiber.to_string(), second]
}

impl std::fmt::Display for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Node::Fiber(id) => write!(f, "f{id}"),
            Node::Object(number) => write!(f, "o{number}"),
        }
    }
}

/// What a label cannot have as it is, in the one language and the other; and its line break.
type Escapes = (&'static [(char, &'static str)], &'static str);
const DOT: Escapes = (&[('"', "\\\""), ('\\', "\\\\"), ('&', "&amp;")], "\\n");
const MERMAID: Escapes = (
    &[
        ('"', "#quot;"),
        ('\\', "#92;"),
        ('%', "#37;"),
        (';', "#59;"),
        ('&', "#amp;"),
        ('<', "#lt;"),
        ('>', "#gt;"),
    ],
    "<br>",
);

/// A label in quotes.
fn quoted(lines: &[String], (escapes, newline): Escapes) -> String {
    let escaped = |line: &String| {
        line.chars().fold(String::new(), |mut text, c| {
            match escapes.iter().find(|(from, _)| *from == c) {
                Some((_, to)) => text.push_str(to),
                None => text.push(if c.is_control() { ' ' } else { c }),
            }
            text
        })
    };
    format!("\"{}\"", lines.iter().map(escaped).collect::<Vec<_>>().join(newline))
}

impl Dump {
    /// Who waits for what, for [Graphviz](https://graphviz.org): fibers, channels and locks.
    ///
    /// A fiber points to the channel or lock that it waits at, and to the fiber whose end it waits for; a lock points to the
    /// fiber that has taken it (known in builds with debug assertions). Fibers that don't wait are left out, unless
    /// something points to them.
    pub fn to_dot(&self) -> String {
        let graph = Graph::of(self);
        let mut text = String::from("digraph leno {\n    rankdir=LR;\n");
        for (id, fiber) in &graph.fibers {
            let label = quoted(&label(*id, *fiber), DOT);
            let _ = writeln!(text, "    f{id} [label={label}];");
        }
        for (number, object) in graph.objects.iter().enumerate() {
            let label = quoted(&[object.to_string()], DOT);
            let _ = writeln!(text, "    o{number} [label={label}, shape=box];");
        }
        for (from, what, to) in &graph.edges {
            let _ = writeln!(text, "    {from} -> {to} [label=\"{what}\"];");
        }
        text.push_str("}\n");
        text
    }

    /// As [`to_dot`](Self::to_dot), as a flowchart of [Mermaid](https://mermaid.js.org), which many viewers of Markdown draw.
    pub fn to_mermaid(&self) -> String {
        let graph = Graph::of(self);
        let mut text = String::from("flowchart LR\n");
        for (id, fiber) in &graph.fibers {
            let label = quoted(&label(*id, *fiber), MERMAID);
            let _ = writeln!(text, "    f{id}([{label}])");
        }
        for (number, object) in graph.objects.iter().enumerate() {
            let label = quoted(&[object.to_string()], MERMAID);
            let _ = writeln!(text, "    o{number}[{label}]");
        }
        for (from, what, to) in &graph.edges {
            let _ = writeln!(text, "    {from} -- {what} --> {to}");
        }
        text
    }

    /// Fibers each of which waits for the next one, and the last one for the first, if there are such: with what it waits for,
    /// and the lock that the next one has taken.
    pub(super) fn circle(&self) -> Option<Vec<Link<'_>>> {
        let fibers = self.fibers();
        let by_id: HashMap<_, _> = fibers.iter().enumerate().map(|(at, fiber)| (fiber.id(), at)).collect();
        let mut holders: HashMap<&Object, Vec<(usize, &Hold)>> = HashMap::new();
        for (at, fiber) in fibers.iter().enumerate() {
            for hold in fiber.holds() {
                let of_object = holders.entry(hold.object()).or_default();
                let before = of_object.last();
                if before.is_none_or(|(last, one)| *last != at || one.operation() != hold.operation()) {
                    of_object.push((at, hold));
                }
            }
        }
        let next = |at: usize| -> Vec<(Link<'_>, usize)> {
            let fiber = &fibers[at];
            let waits = if is_waiting(fiber) { fiber.waits() } else { &[] };
            let targets = waits.iter().flat_map(|wait| {
                let joined = wait.fiber().and_then(|id| by_id.get(&id)).map(|to| (None, *to));
                let held = wait.object().and_then(|object| holders.get(object)).into_iter().flatten();
                let held = held.filter(|(_, hold)| is_for(wait, hold)).map(|(to, hold)| (Some(*hold), *to));
                joined.into_iter().chain(held).map(move |(hold, to)| (Link { fiber, wait, hold }, to))
            });
            targets.collect()
        };
        // Depth first, without recursion: chains can be long.
        let mut done = vec![false; fibers.len()];
        let mut place_on_path = vec![None; fibers.len()];
        for start in 0..fibers.len() {
            let mut path: Vec<(usize, std::vec::IntoIter<(Link<'_>, usize)>)> = Vec::new();
            let mut links: Vec<Link<'_>> = Vec::new();
            let mut enter = (!done[start]).then_some(start);
            loop {
                if let Some(at) = enter.take() {
                    place_on_path[at] = Some(path.len());
                    path.push((at, next(at).into_iter()));
                }
                let Some((at, rest)) = path.last_mut() else { break };
                match rest.next() {
                    Some((link, to)) => {
                        if let Some(first) = place_on_path[to] {
                            links.push(link);
                            return Some(links.split_off(first));
                        }
                        if !done[to] {
                            links.push(link);
                            enter = Some(to);
                        }
                    }
                    None => {
                        done[*at] = true;
                        place_on_path[*at] = None;
                        path.pop();
                        links.pop();
                    }
                }
            }
        }
        None
    }
}

/// A fiber of a circle, and why it waits for the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub(super) fiber: &'a FiberInfo,
    pub(super) wait: &'a Wait,
    /// The lock that the next one has taken.
    pub(super) hold: Option<&'a Hold>,
}
