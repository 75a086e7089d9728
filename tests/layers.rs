//! The layers of the crate: what a module may use. Imports go down only.
//!
//! ```text
//!   prim < task < wait < { channel, sync, { time, fiber } } < { select, inspect } < lib
//! ```
//!
//! `time` and `fiber` use each other (a sleep needs a home, a runtime needs a clock) and `task`; who waits for a cancel token of
//! `fiber` stands in a line of `sync`, and a ticker of `channel` has a timer of `time`.
//! Otherwise `channel` and `sync` use neither, nor each other. Comments do not count, so that docs may link upwards; macros
//! are read as they stand, so `$crate::` counts.

use std::fs;
use std::path::Path;

/// A module, and those that it may use beside itself.
const LAYERS: [(&str, &[&str]); 10] = [
    ("prim", &[]),
    ("task", &["prim"]),
    ("wait", &["prim", "task"]),
    ("channel", &["prim", "task", "wait", "time"]),
    ("sync", &["prim", "task", "wait"]),
    ("time", &["prim", "task", "fiber"]),
    ("fiber", &["prim", "task", "wait", "time", "sync"]),
    ("select", &["prim", "task", "wait", "time", "channel", "sync"]),
    ("inspect", &["prim", "task", "fiber"]),
    ("lib", &["prim", "task", "wait", "time", "fiber", "channel", "sync", "select", "inspect"]),
];

/// What only `prim` may name: models and sanitizers see nothing that goes around the facade. (A lint that refuses
/// these types would refuse the facade's re-exports of them, too.)
const FACADE: [&str; 6] = [
    "std::sync::atomic",
    "std::sync::Mutex",
    "std::sync::Condvar",
    "std::sync::RwLock",
    "std::thread::",
    "std::cell::UnsafeCell",
];

/// The modules of the crate that `source` names, with the line: `crate::a::b`, `crate::{a, b::c}`, over several
/// lines too.
fn named(source: &str) -> Vec<(usize, String)> {
    let source = without_comments_and_strings(source);
    let mut found = Vec::new();
    for (at, _) in source.match_indices("crate::") {
        let before = source[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let line = source[..at].matches('\n').count() + 1;
        let path = source[at + "crate::".len()..].trim_start();
        if let Some(group) = path.strip_prefix('{') {
            found.extend(heads(group).into_iter().map(|name| (line, name)));
        } else if !path[word(path).len()..].starts_with('!') {
            // (Exported macros stand at the root, wherever they are written.)
            found.push((line, word(path)));
        }
    }
    found
}

fn word(path: &str) -> String {
    path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first segments of a group's paths; `group` begins after its brace.
fn heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let (mut depth, mut fresh) = (0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && (c.is_alphabetic() || c == '_') => {
                heads.push(word(&group[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    heads
}

/// Comments and the contents of string literals, blanked; lines stay. (No raw strings hold code here.)
fn without_comments_and_strings(source: &str) -> String {
    let mut kept = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let (mut depth, mut last) = (0, ' ');
                for c in std::iter::once('/').chain(chars.by_ref()) {
                    kept.extend((c == '\n').then_some('\n'));
                    match (last, c) {
                        ('/', '*') => (depth, last) = (depth + 1, ' '),
                        ('*', '/') => (depth, last) = (depth - 1, ' '),
                        _ => {
                            last = c;
                            continue;
                        }
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            ('"', _) => {
                kept.push('"');
                while let Some(c) = chars.next() {
                    kept.extend((c == '\n').then_some('\n'));
                    match c {
                        '\\' => _ = chars.next(),
                        '"' => break,
                        _ => {}
                    }
                }
                kept.push('"');
            }
            // A character literal: a quote in it opens no string. (A lifetime has no closing quote so near.)
            ('\'', _) => {
                let rest = chars.clone().take(3).collect::<String>();
                let length = if rest.starts_with('\\') { 3 } else { 2 };
                if rest.chars().nth(length - 1) == Some('\'') {
                    chars.by_ref().take(length).for_each(drop);
                }
            }
            (c, _) => kept.push(c),
        }
    }
    kept
}

/// What is wrong with a file of module `module`.
fn violations(module: &str, source: &str) -> Vec<String> {
    let (_, below) = LAYERS
        .into_iter()
        .find(|(name, _)| *name == module)
        .unwrap_or_else(|| panic!("`{module}` is not in the table of layers: give it a place there"));
    let is_module = |name: &str| LAYERS.iter().any(|(module, _)| *module == name);
    // Macros at the crate's root and its re-exports belong to the top: a path to one goes up from everywhere else.
    let code = without_comments_and_strings(source);
    let around = FACADE.into_iter().filter(|_| module != "prim").flat_map(|name| {
        let line = |at| code[..at].matches('\n').count() + 1;
        code.match_indices(name).map(|(at, _)| line(at)).map(move |line| (line, name)).collect::<Vec<_>>()
    });
    let around =
        around.map(|(line, name)| format!("line {line}: `{module}` goes around the facade to `{name}`"));
    named(source)
        .into_iter()
        .filter(|(_, name)| name != module && !below.contains(&name.as_str()))
        .filter(|(_, name)| module != "lib" || is_module(name))
        .map(|(line, name)| format!("line {line}: `{module}` uses `{name}`"))
        .chain(around)
        .collect()
}

fn check(folder: &Path, module: Option<&str>, found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("readable").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let module = module.unwrap_or(stem);
        if path.is_dir() {
            check(&path, Some(module), found, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("readable");
            *files += 1;
            let file = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("in the package").display();
            found.extend(violations(module, &source).into_iter().map(|what| format!("{file}, {what}")));
        }
    }
}

#[test]
fn imports_go_down_only() {
    let (mut found, mut files) = (Vec::new(), 0);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    check(&sources, None, &mut found, &mut files);
    assert!(files > 50, "the sources are there: {files} files");
    assert!(found.is_empty(), "imports that do not go down:\n{}", found.join("\n"));
}

#[test]
fn the_table_is_an_order() {
    for (at, (module, below)) in LAYERS.iter().enumerate() {
        for other in *below {
            let place = LAYERS.iter().position(|(name, _)| name == other).expect("in the table");
            let mutual = [("time", "fiber"), ("channel", "time")].contains(&(*module, *other));
            assert!(place < at || mutual, "`{module}` may use `{other}`, which is not below it");
        }
    }
}

/// The files of `task`, where most things hang together: none uses one that uses it, over however many others.
#[test]
fn the_files_of_task_use_each_other_one_way() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/task");
    let mut uses: Vec<(String, Vec<String>)> = Vec::new();
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("readable").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        // (`mod` names all of them, `model` is for models; and `trace`, which looks at everything, is told by everybody.)
        if path.is_file() && !["mod", "model", "trace", "untraced"].contains(&name.as_str()) {
            let code = without_comments_and_strings(&fs::read_to_string(&path).expect("readable"));
            let code = code.replace("crate::task::{", "crate::{");
            let others = named(&code.replace("crate::task::", "crate::")).into_iter().map(|(_, name)| name);
            uses.push((name, others.collect()));
        }
    }
    assert!(uses.iter().any(|(name, others)| name == "home" && others.contains(&"roster".to_owned())));
    // Takes away those that use none that is left.
    while let Some(at) = uses.iter().position(|(name, others)| {
        !others.iter().any(|other| other != name && uses.iter().any(|(left, _)| left == other))
    }) {
        uses.swap_remove(at);
    }
    let circle: Vec<_> = uses.iter().map(|(name, _)| name).collect();
    assert!(circle.is_empty(), "these use each other: {circle:?}");
}

/// The checker finds what it is there for.
#[test]
fn violating_lines_are_found() {
    for (module, source) in [
        ("wait", "use crate::channel::Sender;"),
        ("channel", "use crate::fiber::Elapsed;"),
        ("channel", "use crate::sync::Mutex;"),
        ("sync", "use crate::time::sleep;"),
        ("task", "fn f() -> crate::wait::State { todo!() }"),
        ("prim", "use crate::{\n    prim::cell,\n    task::budget,\n};"),
        ("task", "use crate::{prim::{self, Arc}, wait};"),
        ("wait", "macro_rules! m { () => { $crate::select::select } }"),
        ("select", "use crate::fiber::Elapsed;"),
        ("fiber", "use crate::inspect::Dump;"),
        ("wait", "use crate::bounded;"),
        ("time", "const A: char = '\"'; use crate::select::select; const B: char = '\"';"),
        ("sync", "/* crate::prim */ pub(in crate::select) fn f() {}"),
        ("wait", "use std::sync::atomic::AtomicUsize;"),
        ("fiber", "let handle = std::thread::spawn(run);"),
    ] {
        assert_eq!(violations(module, source).len(), 1, "`{module}`: {source}");
    }
    let two =
        violations("sync", "//! A page.\n\nuse crate::prim;\nuse crate::channel::{Sender, Receiver};\n");
    assert_eq!(two, ["line 4: `sync` uses `channel`"]);
}

/// And nothing else.
#[test]
fn downward_lines_pass() {
    for (module, source) in [
        (
            "wait",
            "//! See [`send`](crate::Sender::send).\n/// Of [`crate::channel`].\n// crate::select\nuse crate::prim;",
        ),
        ("wait", "/* crate::channel /* nested */ crate::sync */ use crate::task::budget;"),
        ("select", "use crate::{channel::{Closed, RecvFuture}, sync::Lock, prim};"),
        ("fiber", "use crate::fiber::join::JoinHandle; use crate::time::Clock;"),
        ("time", "use crate::fiber::default_home;"),
        ("task", "const HELP: &str = \"use crate::channel \\\" and crate::fiber\";"),
        ("task", "use other_crate::channel; fn f<'a>(x: &'a str) -> &'a str { x }"),
        ("lib", "pub use channel::Sender; pub use crate::task::model as task;"),
    ] {
        assert_eq!(violations(module, source), [""; 0], "`{module}`: {source}");
    }
}
