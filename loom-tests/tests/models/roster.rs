//! Models of the roster: fibers that come, end and are cancelled on several threads, in two shards.
//!
//! A thread that drives the executor lists in one shard, others list in another one. Planted bugs: `roster_…`,
//! `lock_release_relaxed`.

use crate::explore::{large_model, model};
use crate::scenarios::harness::thread;
use leno::model::task::{Executor, Node, Worker};

/// A listed fiber. In the shard of its parent's children; these, and roots, are in that of the calling thread.
fn listed(executor: &Executor, parent: Option<&Node>) -> Node {
    let mut node = executor.node();
    assert!(node.admit(parent));
    node
}

/// As a worker: in the first shard.
fn working<R>(executor: &Executor, f: impl FnOnce() -> R) -> R {
    executor.drive(&Worker::default(), f)
}

/// F4: a cancel from above against the first child of one below: nobody escapes. `roster_admit_looks_early`,
/// `roster_first_child_unlocked`, `lock_release_relaxed`.
#[test]
fn cancel_against_admit() {
    model(|| {
        let executor = Executor::new();
        let top = working(&executor, || listed(&executor, None));
        let middle = working(&executor, || listed(&executor, Some(&top)));
        let reference = top.reference();
        let spawner = {
            let executor = executor.clone();
            thread::spawn(move || {
                let child = listed(&executor, Some(&middle));
                (middle, child)
            })
        };
        reference.cancel();
        let (middle, child) = spawner.join().unwrap();
        assert!(middle.reference().is_cancelled() && child.reference().is_cancelled(), "it escaped");
        child.end();
        middle.end();
        top.end();
        assert_eq!(executor.living(), 0);
    });
}

/// F4: a cancel from above against the end of one in the middle, which was marked before it ended: its children are
/// cancelled. (Lab: flaw 14.) `roster_retire_ignores_cancel`, `roster_cancel_keeps_nobody`.
#[test]
fn cancel_against_the_end_of_a_marked_parent() {
    model(|| {
        let executor = Executor::new();
        let top = listed(&executor, None);
        let middle = working(&executor, || listed(&executor, Some(&top)));
        let child = working(&executor, || listed(&executor, Some(&middle)));
        let reference = top.reference();
        let ending = thread::spawn(move || {
            let marked = middle.reference().is_cancelled();
            middle.end();
            marked
        });
        reference.cancel();
        let marked = ending.join().unwrap();
        assert!(!marked || child.reference().is_cancelled(), "a cancelled fiber left its child");
        child.end();
        top.end();
        assert_eq!(executor.living(), 0);
    });
}

/// F4: a cancel against the end of an unmarked parent: it reaches all children or none. `roster_retire_looks_early`.
#[test]
fn cancel_reaches_all_or_none() {
    model(|| {
        let executor = Executor::new();
        let top = listed(&executor, None);
        let (first, second) =
            working(&executor, || (listed(&executor, Some(&top)), listed(&executor, Some(&top))));
        let reference = top.reference();
        let ending = thread::spawn(move || top.end());
        reference.cancel();
        ending.join().unwrap();
        let cancelled = [&first, &second].map(|node| node.reference().is_cancelled());
        assert_eq!(cancelled[0], cancelled[1], "half of a family was cancelled");
        first.end();
        second.end();
        assert_eq!(executor.living(), 0);
    });
}

/// F4: a cancel while one in the middle and its child end, on threads of their own: nobody is touched after its end, and all
/// lists are in order. `roster_cancel_keeps_nobody`.
#[test]
fn cancel_against_two_ends() {
    large_model(1, || {
        let executor = Executor::new();
        let top = listed(&executor, None);
        let middle = working(&executor, || listed(&executor, Some(&top)));
        let child = listed(&executor, Some(&middle));
        let reference = top.reference();
        let threads = [thread::spawn(move || middle.end()), thread::spawn(move || child.end())];
        reference.cancel();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        top.end();
        assert_eq!(executor.living(), 0);
    });
}

/// A parent and a child end at once. `lock_release_relaxed`.
#[test]
fn parent_and_child_end() {
    model(|| {
        let executor = Executor::new();
        let top = listed(&executor, None);
        let (first, second) =
            working(&executor, || (listed(&executor, Some(&top)), listed(&executor, Some(&top))));
        let ending = thread::spawn(move || first.end());
        top.end();
        ending.join().unwrap();
        second.end();
        assert_eq!(executor.living(), 0);
    });
}

/// A parent and both its children end at once.
#[test]
fn a_family_ends() {
    large_model(1, || {
        let executor = Executor::new();
        let top = listed(&executor, None);
        let (first, second) =
            working(&executor, || (listed(&executor, Some(&top)), listed(&executor, Some(&top))));
        let threads = [thread::spawn(move || first.end()), thread::spawn(move || second.end())];
        top.end();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(executor.living(), 0);
    });
}

/// F15: who lives all the time is found, by its id and among all, while those above it end one after the other and it becomes
/// a root. (Lab: flaw 15.) `roster_self_first`, `roster_thaws_early`.
fn a_walk_against_ends(walk: fn(&Executor, &leno::model::task::Reference) -> bool) {
    model(move || {
        let executor = Executor::new();
        let top = working(&executor, || listed(&executor, None));
        let middle = listed(&executor, Some(&top));
        let child = working(&executor, || listed(&executor, Some(&middle)));
        let reference = child.reference();
        let gone = top.reference();
        let ending = thread::spawn(move || {
            top.end();
            middle.end();
        });
        assert!(walk(&executor, &reference), "it lives, and was missed");
        ending.join().unwrap();
        assert!(!walk(&executor, &gone), "it has ended, and was found");
        child.end();
        assert!(!walk(&executor, &reference), "it has ended, and was found");
    });
}

#[test]
fn find_against_ends() {
    a_walk_against_ends(Executor::finds);
}

#[test]
fn snapshot_against_ends() {
    a_walk_against_ends(Executor::lists);
}

/// A walk while a child is listed, and while another thread walks: in the end it is there.
#[test]
fn two_walks_against_admit() {
    large_model(1, || {
        let executor = Executor::new();
        let top = working(&executor, || listed(&executor, None));
        let reference = top.reference();
        let spawner = {
            let executor = executor.clone();
            thread::spawn(move || {
                let child = listed(&executor, Some(&top));
                (top, child)
            })
        };
        let walker = {
            let (executor, reference) = (executor.clone(), reference.clone());
            thread::spawn(move || assert!(executor.finds(&reference)))
        };
        assert!(executor.lists(&reference));
        walker.join().unwrap();
        let (top, child) = spawner.join().unwrap();
        assert!(executor.lists(&child.reference()));
        child.end();
        top.end();
    });
}

/// F7, F8: after the roster is closed, a fiber is refused or known. `roster_closed_unlocked`.
#[test]
fn close_against_admit() {
    model(|| {
        let executor = Executor::new();
        let mut node = executor.node();
        let reference = node.reference();
        let spawner = thread::spawn(move || {
            let admitted = node.admit(None);
            (node, admitted)
        });
        executor.close();
        let known = executor.lists(&reference);
        let (node, admitted) = spawner.join().unwrap();
        assert_eq!(admitted, known, "the roster was closed");
        node.end();
        assert_eq!(executor.living(), 0);
    });
}

/// F7: who waits for the end of all is told, and not before. `roster_looks_early`.
#[test]
fn wait_for_the_last() {
    model(|| {
        let executor = Executor::new();
        let top = working(&executor, || listed(&executor, None));
        let child = listed(&executor, Some(&top));
        let reference = child.reference();
        executor.close();
        let ending = thread::spawn(move || {
            top.end();
            child.end();
        });
        executor.wait_empty();
        assert!(!executor.lists(&reference), "told before the end");
        ending.join().unwrap();
    });
}
