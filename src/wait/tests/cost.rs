//! What operations cost, in [steps](super::super::steps), and that nodes are recycled: neither depends on how many
//! wait, nor on how many have left before.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::model::{Entry, Queue, Taken};
use super::super::steps::steps_of;
use super::{Recv, come_back, scale, wait};

/// The most steps that an operation may take where nobody else is at work: twice the patience with hints that name
/// nodes which are gone (of a line that is left from its back), and a few.
const MOST: u64 = 40;

/// How many wait as others come and go.
const STANDING: [usize; 4] = [0, 1, 100, 10_000];

/// The most expensive operation so far, of those asked for.
#[derive(Default)]
struct Dearest(u64);

impl Dearest {
    #[track_caller]
    fn of<R>(&mut self, what: &str, f: impl FnOnce() -> R) -> R {
        let (result, steps) = steps_of(f);
        self.0 = self.0.max(steps);
        assert!(steps <= MOST, "{what}: {steps} steps");
        result
    }
}

fn standing(queue: &Queue, count: usize, dearest: &mut Dearest) -> Vec<Entry> {
    (1..=count).map(|number| dearest.of("enter", || wait(queue, Recv, number))).collect()
}

fn leave(queue: &Queue, entry: Entry, dearest: &mut Dearest) {
    assert_eq!(dearest.of("leave", || queue.leave(entry)), Ok(()), "nobody serves it");
}

fn serve_all(queue: &Queue, entries: Vec<Entry>, dearest: &mut Dearest) {
    for _ in 0..entries.len() {
        assert!(dearest.of("take", || queue.take(Recv)).and_then(Taken::serve).is_some(), "somebody waits");
    }
    assert!(queue.is_empty());
    entries.into_iter().for_each(Entry::end);
}

/// A storm of waits that are cancelled at once, behind others that stay.
#[test]
fn a_storm_of_cancels_behind_standing_waiters() {
    for count in STANDING {
        let (queue, mut dearest, mut nodes) = (Queue::new(), Dearest::default(), BTreeSet::new());
        let entries = standing(&queue, count, &mut dearest);
        for number in 0..25_000 * scale() {
            let entry = dearest.of("enter", || wait(&queue, Recv, count + 1 + number));
            nodes.insert(entry.node());
            leave(&queue, entry, &mut dearest);
        }
        queue.assert_valid();
        serve_all(&queue, entries, &mut dearest);
        println!("{} cancels behind {count}: at most {} steps each", 25_000 * scale(), dearest.0);
        assert!(nodes.len() < 100, "nodes are recycled: {} were used", nodes.len());
    }
}

/// The same with many under way at a time, which leave in another order than they came.
#[test]
fn a_storm_of_cancels_in_random_order() {
    for count in STANDING {
        let mut rng = StdRng::seed_from_u64(count as u64);
        let (queue, mut dearest, mut nodes) = (Queue::new(), Dearest::default(), BTreeSet::new());
        let entries = standing(&queue, count, &mut dearest);
        let mut coming = Vec::new();
        for number in 0..25_000 * scale() {
            let entry = dearest.of("enter", || wait(&queue, Recv, count + 1 + number));
            nodes.insert(entry.node());
            coming.push(entry);
            if coming.len() > 50 {
                leave(&queue, coming.swap_remove(rng.random_range(0..50)), &mut dearest);
            }
        }
        queue.assert_valid();
        coming.into_iter().for_each(|entry| leave(&queue, entry, &mut dearest));
        queue.assert_valid();
        serve_all(&queue, entries, &mut dearest);
        println!("{} cancels behind {count}: at most {} steps each", 25_000 * scale(), dearest.0);
        assert!(nodes.len() < 200, "nodes are recycled: {} were used", nodes.len());
    }
}

/// A long line that everybody leaves: the oldest first, the newest first, from the middle, at random, and by turns.
#[test]
fn leaving_costs_the_same_everywhere() {
    type Choose = fn(&mut StdRng, usize) -> usize;
    let ways: [(&str, Choose); 6] = [
        ("front", |_, _| 0),
        ("back", |_, len| len - 1),
        ("middle", |_, len| len / 2),
        ("random", |rng, len| rng.random_range(0..len)),
        ("front or back", |rng, len| rng.random_range(0..2) * (len - 1)),
        ("every other", |_, len| (len / 2) & !1),
    ];
    for (name, choose) in ways {
        for count in STANDING {
            let mut rng = StdRng::seed_from_u64(1);
            let (queue, mut dearest) = (Queue::new(), Dearest::default());
            let mut entries = standing(&queue, count, &mut dearest);
            while !entries.is_empty() {
                let place = choose(&mut rng, entries.len());
                leave(&queue, entries.remove(place), &mut dearest);
            }
            assert!(queue.is_empty());
            queue.assert_valid();
            println!("{count} leave, {name}: at most {} steps each", dearest.0);
        }
    }
}

/// Some leave, some are taken, some come, at every place of a long line.
#[test]
fn costs_stay_in_a_line_that_changes() {
    for count in STANDING {
        let mut rng = StdRng::seed_from_u64(2);
        let (queue, mut dearest) = (Queue::new(), Dearest::default());
        let mut entries = standing(&queue, count, &mut dearest);
        for number in 0..20_000 * scale() {
            match rng.random_range(0..4) {
                0 if !entries.is_empty() => {
                    let place = rng.random_range(0..entries.len());
                    leave(&queue, entries.swap_remove(place), &mut dearest);
                }
                1 => {
                    let taken = dearest.of("take", || queue.take(Recv));
                    if let Some(taken) = taken {
                        let number = taken.serve();
                        assert!(number.is_some(), "its owner is here");
                        let place = entries.iter().position(Entry::is_served).expect("it waited");
                        entries.swap_remove(place).end();
                    }
                }
                _ if entries.len() <= count => {
                    entries.push(dearest.of("enter", || wait(&queue, Recv, count + 1 + number)));
                }
                _ => {}
            }
        }
        queue.assert_valid();
        serve_all(&queue, entries, &mut dearest);
        println!("a line of {count} that changes: at most {} steps each", dearest.0);
    }
}

/// Waiters that have returned stand beside the list; neither leaving there nor leaving the list costs more for it.
#[test]
fn leaving_beside_the_list_costs_the_same() {
    for count in STANDING {
        let (queue, mut dearest) = (Queue::new(), Dearest::default());
        let entries = standing(&queue, count, &mut dearest);
        let returned = (1..=100).map(|rank| come_back(&queue, Recv, 0, rank)).collect::<Vec<_>>();
        for number in 0..5_000 * scale() {
            let fresh = dearest.of("enter", || wait(&queue, Recv, count + 1 + number));
            let again = dearest.of("return", || come_back(&queue, Recv, 0, 1000));
            leave(&queue, fresh, &mut dearest);
            leave(&queue, again, &mut dearest);
        }
        returned.into_iter().for_each(|entry| leave(&queue, entry, &mut dearest));
        queue.assert_valid();
        serve_all(&queue, entries, &mut dearest);
        println!("beside the list, {count} in it: at most {} steps each", dearest.0);
    }
}
