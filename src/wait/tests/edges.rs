//! At the edges: what wraps, those who come too late, and what is full.

use super::super::few::{FAR, Few, GENERATIONS};
use super::super::place::At;
use super::super::word::{MANY, MORE, REST_BITS, SENDERS, STAMP_BITS, STAMP_MASK};
use super::differential::grows_and_shrinks;
use super::{Bare, Primitive, REFUSES, Waiting};
use crate::prim::FEW_CELLS;

/// Waits, as one that has found `side` there before it changed.
fn waits(line: &Bare, side: u64, number: usize) -> Waiting {
    let waiting = Waiting::new(side, number);
    assert!(line.wait(&waiting), "{number} waits");
    waiting
}

fn serve_all(line: &Bare, waiting: impl IntoIterator<Item = Waiting>) {
    for first in waiting {
        assert_eq!(line.serve(first.side), Some(first.number));
        first.end();
    }
    assert_eq!(line.assert_valid(), 0);
}

/// Stamps and versions wrap while some wait.
#[test]
fn versions_wrap() {
    for few in [true, false] {
        for end in [1 << STAMP_BITS, 1 << REST_BITS] {
            for before in [1, 20, 500] {
                grows_and_shrinks(Bare::at(few, end - before), FEW_CELLS, 1000, before);
                grows_and_shrinks(Bare::at(few, end - before), 50, 1000, before);
            }
        }
    }
}

/// The oldest is told by what came before what, not by its stamp; who could not be told apart takes no cell.
#[test]
fn the_oldest_around_the_wrap() {
    let end = 1 << STAMP_BITS;
    let few = Few::new();
    let nodes = [1, 2, 3, 4].map(|number| Waiting::new(0, number));
    let numbers = nodes.each_ref().map(|waiting| waiting.node.number());
    let stays = nodes.each_ref().map(|waiting| waiting.node.as_ref().place().begin(At::Few, 0));
    let push =
        |one: usize, stamp: u32| few.push(numbers[one], stays[one], 0, || stamp & STAMP_MASK).is_some();
    let find = |one: usize| few.find(numbers[one], stays[one]).expect("it is there");
    assert!(push(0, end - 1) && push(1, 0) && push(2, 1));
    assert!(find(0).leave());
    assert!(push(0, 2));
    assert_eq!(few.oldest(0), Some(numbers[1]));
    assert_eq!(few.oldest(SENDERS), None);
    for stamp in [FAR, end / 2, end - FAR, end - 1] {
        assert!(!push(3, stamp), "{stamp}");
    }
    assert!(push(3, FAR - 1));
    assert_eq!(few.oldest(0), Some(numbers[1]));
    find(1).settle(0).expect("nothing has happened");
    assert_eq!(few.oldest(0), Some(numbers[2]), "what is settled does not stand in the line");
    find(1).free();
    assert!(!push(1, FAR + 1) && push(1, FAR));
    assert_eq!(few.oldest(0), Some(numbers[2]));
    nodes.into_iter().for_each(Waiting::free);
}

/// A node's generations wrap, in the place and in a cell, while it comes and goes.
#[test]
fn generations_wrap() {
    for few in [true, false] {
        let line = Bare::new(few);
        let first = waits(&line, 0, 1);
        let second = Waiting::new(0, 2);
        second.node.as_ref().place().set_generation((1 << 29) - 3);
        for _ in 0..10 {
            assert!(line.wait(&second) && line.park(&second) && line.leave(&second));
        }
        // All the generations that a cell can tell apart, twice.
        for _ in 0..2 << GENERATIONS {
            assert!(line.wait(&second));
            assert_eq!(line.assert_valid(), 2);
            assert!(line.leave(&second));
        }
        assert!(line.wait(&second));
        serve_all(&line, [first, second]);
    }
}

/// An entry is one stay's; it leaves once, through the line or through the word.
#[test]
fn an_entry_is_of_one_stay() {
    let few = Few::new();
    let waiting = Waiting::new(0, 1);
    let (number, place) = (waiting.node.number(), waiting.node.as_ref().place());
    let stay = place.begin(At::Few, 0);
    let cell = few.push(number, stay, 0, || 0).expect("all are free");
    assert!(cell.is_unchanged() && few.find(number ^ 2, stay).is_none());
    for _ in 1..1 << GENERATIONS {
        assert!(few.find(number, place.begin(At::Few, 0)).is_none(), "another stay");
    }
    let settled = cell.settle(7).expect("nothing has happened");
    assert!(cell.settle(8).is_none() && !cell.leave() && !cell.is_unchanged(), "settled once");
    let found = few.find(number, stay).expect("it is in the word");
    assert!(found.is_settled() && found.settle(9).is_some(), "and stays so");
    assert_eq!((found.popped(stay).stamp(), settled.popped(stay).stamp()), (7, 7), "with its stamp");
    found.free();
    assert!(few.find(number, stay).is_none() && cell.settle(10).is_none());
    waiting.free();
}

/// Cells are taken until there are none, and are as good as new once they are freed.
#[test]
fn few_is_full() {
    let line = Bare::new(true);
    let mut all = (0..=FEW_CELLS).map(|number| waits(&line, 0, number)).collect::<Vec<_>>();
    assert!(line.line.load().has(MORE) && !line.line.load().has(MANY));
    // A cell that was freed is taken.
    for place in 1..=FEW_CELLS {
        let gone = all.remove(place);
        assert!(line.leave(&gone));
        gone.free();
        all.push(waits(&line, 0, 100 + place));
        assert!(!line.line.load().has(MANY));
    }
    all.push(waits(&line, 0, 200));
    assert!(line.line.load().has(MANY), "the next one waits in the list");
    // As long as some do, so do all who come.
    let gone = all.remove(1);
    assert!(line.leave(&gone));
    gone.free();
    all.push(waits(&line, 0, 201));
    serve_all(&line, all);
    assert!(!line.line.load().has(MORE | MANY));
    let again = [waits(&line, 0, 1), waits(&line, 0, 2)];
    assert!(!line.line.load().has(MANY), "few wait again");
    serve_all(&line, again);
}

/// Who joins a side by what it saw before that changed is not in anybody's way, and waits nowhere.
#[test]
fn a_joiner_that_is_late() {
    for few in [true, false] {
        for more in [0, 1, FEW_CELLS + 2] {
            let line = Bare::new(few);
            let first = waits(&line, 0, 1);
            let before = line.line.load();
            serve_all(&line, [first]);
            let late = Waiting::new(0, 2);
            // Nobody waits any more.
            assert!(!line.join(before, &late.node, 0, 0));
            assert_eq!(line.assert_valid(), 0);
            // The others do.
            let others = (0..=more).map(|number| waits(&line, SENDERS, 10 + number)).collect::<Vec<_>>();
            assert!(!line.join(before, &late.node, 0, 0));
            assert_eq!(line.assert_valid(), others.len());
            serve_all(&line, others);
            // Somebody of its side does, again.
            let first = waits(&line, 0, 3);
            assert!(line.join(before, &late.node, 0, 0));
            serve_all(&line, [first, late]);
        }
    }
}

/// There is no reason to wait any more.
#[test]
fn nobody_joins_without_reason() {
    for few in [true, false] {
        let line = Bare::new(few);
        let (first, second) = (waits(&line, 0, 1), waits(&line, 0, 2));
        let word = line.line.load();
        assert!(line.cas(word, word.with(REFUSES)));
        let late = Waiting::new(0, 3);
        assert!(!line.join(word, &late.node, 0, 0));
        assert_eq!(line.assert_valid(), 2);
        late.free();
        serve_all(&line, [first, second]);
    }
}

/// What is served cannot leave, nor park.
#[test]
fn too_late_to_leave() {
    for few in [true, false] {
        let line = Bare::new(few);
        let all = (0..FEW_CELLS + 4).map(|number| waits(&line, 0, number)).collect::<Vec<_>>();
        for waiting in &all {
            assert_eq!(line.serve(0), Some(waiting.number));
            assert!(!line.park(waiting) && !line.leave(waiting));
        }
        all.into_iter().for_each(Waiting::end);
    }
}

/// Many nodes at once: their numbers go far beyond one chunk, and all come back.
#[test]
fn many_numbers() {
    for few in [true, false] {
        let line = Bare::new(few);
        let all = (0..5000).map(|number| waits(&line, SENDERS, number)).collect::<Vec<_>>();
        assert_eq!(line.assert_valid(), 5000);
        serve_all(&line, all);
    }
}
