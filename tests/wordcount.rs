//! The example `wordcount`, run in this process on small trees: exit codes, output, messages.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

// Included, not started as a program: a test must not depend on which other targets were built.
#[path = "../examples/wordcount.rs"]
#[allow(dead_code, reason = "main is the example's")]
mod wordcount;

/// A folder that is removed at the end of its test.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        let path = std::env::temp_dir().join(format!("leno-wordcount-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Tree(path)
    }

    fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Tree {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Ended {
    code: u8,
    out: String,
    err: String,
}

fn run(path: &Path, flags: &[&str]) -> Ended {
    run_in(Path::new("/nowhere"), Some(path), flags)
}

fn run_in(here: &Path, path: Option<&Path>, flags: &[&str]) -> Ended {
    let args = path.map(OsString::from).into_iter().chain(flags.iter().map(OsString::from));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = wordcount::run(args, here, &mut out, &mut err);
    Ended { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

/// The output as "word n" pairs.
fn words(out: &str) -> Vec<(&str, u64)> {
    out.lines()
        .map(|line| {
            let (n, word) = line.trim_start().split_once(' ').unwrap();
            (word, n.parse().unwrap())
        })
        .collect()
}

#[test]
fn counts_words_by_frequency_then_alphabet() {
    let tree = Tree::new("order")
        .file("a.txt", "The weave, the WEFT; the warp-thread.")
        .file("sub/deeper/b.txt", "Weft 42 ÄRGER ärger\n")
        .file("empty", "");
    let ended = run(&tree.0, &["--check"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let expected =
        [("the", 3), ("weft", 2), ("ärger", 2), ("42", 1), ("thread", 1), ("warp", 1), ("weave", 1)];
    assert_eq!(words(&ended.out), expected);
    assert!(ended.err.contains("3 files"), "{}", ended.err);
    assert!(ended.err.contains("11 words, 7 different"), "{}", ended.err);
    assert!(ended.err.contains("files/s") && ended.err.contains("MB/s"), "{}", ended.err);
    assert!(ended.err.contains("sequential count of 3 files agrees"), "{}", ended.err);

    let ended = run(&tree.0, &["--top=2", "--workers", "1"]);
    assert_eq!((ended.code, words(&ended.out)), (0, vec![("the", 3), ("weft", 2)]));
    assert_eq!(run(&tree.0, &["--top", "0"]).out, "");
}

#[test]
fn a_tree_with_more_files_than_any_channel_holds() {
    let mut tree = Tree::new("many");
    for i in 0..600 {
        tree = tree.file(&format!("{}/{i}", i % 7), format!("same word{}\n", i % 10).repeat(20));
    }
    for workers in ["1", "2", "5"] {
        let ended = run(&tree.0, &["--check", "--top", "1", "--workers", workers]);
        assert_eq!((ended.code, words(&ended.out)), (0, vec![("same", 12_000)]), "{}", ended.err);
    }
}

#[test]
fn a_single_file_is_counted() {
    let tree = Tree::new("one").file("one.txt", "one two two");
    let ended = run(&tree.0.join("one.txt"), &[]);
    assert_eq!((ended.code, words(&ended.out)), (0, vec![("two", 2), ("one", 1)]));
}

#[test]
fn version_control_is_passed_over_and_target_only_without_a_path() {
    let tree = Tree::new("hidden")
        .file(".git/objects/x", "hidden")
        .file("sub/.hg/x", "hidden")
        .file(".config/x", "dotted")
        .file("target/x", "built");
    let ended = run(&tree.0, &["--check"]);
    assert_eq!((ended.code, words(&ended.out)), (0, vec![("built", 1), ("dotted", 1)]));
    assert!(ended.err.contains("2 files"), "{}", ended.err);
    let ended = run_in(&tree.0, None, &["--check"]);
    assert_eq!((ended.code, words(&ended.out)), (0, vec![("dotted", 1)]));
}

#[test]
fn files_that_are_not_text_are_skipped_and_named() {
    let mut tree = Tree::new("skipped").file("text", "fine");
    for i in 0..7 {
        tree = tree.file(&format!("binary{i}"), [b'a', 0xff, 0xfe]);
    }
    let ended = run(&tree.0, &["--check"]);
    assert_eq!((ended.code, words(&ended.out)), (0, vec![("fine", 1)]));
    assert!(ended.err.contains("skipped 7 files that are not UTF-8:\n"), "{}", ended.err);
    assert_eq!(ended.err.matches("binary").count(), 5, "a few are named: {}", ended.err);
    assert!(ended.err.contains("  and 2 more\n"), "{}", ended.err);
}

#[test]
fn a_path_that_does_not_exist() {
    let tree = Tree::new("missing");
    let missing = tree.0.join("nowhere");
    let ended = run(&missing, &["--check"]);
    assert_eq!((ended.code, &*ended.out), (1, ""));
    assert!(ended.err.contains(&format!("wordcount: {}: ", missing.display())), "{}", ended.err);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_reported_and_the_rest_is_counted() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new("modes").file("good", "good").file("secret", "secret").file("closed/x", "closed");
    let set = |path: &str, mode| {
        fs::set_permissions(tree.0.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("secret", 0);
    set("closed", 0);
    let readable = fs::read(tree.0.join("secret")).is_ok();
    let ended = run(&tree.0, &["--check"]);
    set("closed", 0o755);
    if readable {
        eprintln!("skipped: this user may read everything");
        return;
    }
    assert_eq!((ended.code, words(&ended.out)), (1, vec![("good", 1)]));
    assert!(ended.err.contains("secret: ") && ended.err.contains("closed: "), "{}", ended.err);
    assert!(ended.err.contains("1 files"), "{}", ended.err);
}

#[cfg(unix)]
#[test]
fn links_and_special_files_are_passed_over() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let tree = Tree::new("links").file("real/x", "once");
    symlink(tree.0.join("real"), tree.0.join("again")).unwrap();
    symlink(&tree.0, tree.0.join("real/loop")).unwrap();
    symlink(tree.0.join("nowhere"), tree.0.join("dangling")).unwrap();
    let _socket = UnixListener::bind(tree.0.join("socket")).unwrap();
    let ended = run(&tree.0, &["--check"]);
    assert_eq!((ended.code, words(&ended.out)), (0, vec![("once", 1)]), "{}", ended.err);
    // Named on the command line, a link is followed, and a special file is an error.
    assert_eq!(words(&run(&tree.0.join("again"), &[]).out), [("once", 1)]);
    let ended = run(&tree.0.join("socket"), &[]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("neither file nor folder"), "{}", ended.err);
}

#[test]
fn wrong_usage() {
    for flags in [
        &["--nonsense"][..],
        &["--top"],
        &["--top", "many"],
        &["--top=-1"],
        &["--workers", "0"],
        &["--check=yes"],
        &["a", "b"],
    ] {
        let ended = run_in(Path::new("."), None, flags);
        assert_eq!((ended.code, &*ended.out), (2, ""), "{flags:?}");
        assert!(ended.err.contains("usage: wordcount"), "{flags:?}: {}", ended.err);
    }
    let ended = run_in(Path::new("."), None, &["--help"]);
    assert_eq!((ended.code, &*ended.err), (0, ""));
    assert!(ended.out.contains("usage: wordcount"));
}

#[test]
fn a_closed_pipe_is_no_failure_and_a_full_disk_is() {
    struct Broken(io::ErrorKind);
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let tree = Tree::new("pipe").file("x", "x");
    let code = |kind| wordcount::run(std::iter::empty(), &tree.0, &mut Broken(kind), &mut io::sink());
    assert_eq!(code(io::ErrorKind::BrokenPipe), 0);
    assert_eq!(code(io::ErrorKind::StorageFull), 1);
}
