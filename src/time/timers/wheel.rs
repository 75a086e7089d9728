//! A wheel of timers: which are due, and which is next, in a few steps however many there are.
//!
//! Times are nanoseconds since the wheel began. Time is cut into *ticks* of 2^13 of them, and the number of a timer's tick
//! is written in nine digits of six bits, each of which chooses one of 64 buckets. (A [virtual](VIRTUAL_TICK) clock has ticks of
//! 2^4, and ten digits.)
//!
//! ```text
//!   level           8       7       6       5       4       3        2        1        0
//!   a bucket is  73 years  417 d   6.5 d   2.4 h  137 s   2.1 s   33.6 ms  0.52 ms  8.2 µs
//!
//!   elapsed    . . . 0 2 0 7 9
//!   its tick   . . . 0 2 3 1 4    lies at level 2, bucket 3: the first digit that differs. Once time is there, it moves
//!                                 to level 1, bucket 1; then to level 0, bucket 4; and there it is due.
//! ```
//!
//! The ticks say where to look, never what is due: an entry keeps its exact deadline, and all that are due are handed out
//! to be sorted by it. So nothing is early, and a bucket may be looked at while its tick lasts.
//!
//! Entries stand in a slab, linked to others of their bucket both ways. A key is the entry's place and its number; numbers
//! grow and never come again, so the key of a timer that is gone finds nothing, and equal deadlines keep the order in
//! which they were set. `NEVER` is a deadline, too, that doesn't come: 584 years do for others.
//!
//! Invariants:
//!
//! 1. An entry is linked in the one bucket that its `place` says, and has a waker; or it is in the list of free ones, and has
//!    none.
//! 2. An entry lies at the level of the first digit in which its tick differs from `elapsed`, in the bucket of that digit; if
//!    there is none, or its time had passed before it was set, at level 0 in the bucket of `elapsed`. So no level wraps,
//!    and what lies at a lower level, or in an earlier bucket of the same one, is due before the rest.
//! 3. `elapsed` moves forward only, and over empty buckets only: to the start of the first one, which is taken out then, or
//!    to a tick before that. Both keep 2.
//! 4. No deadline in a bucket is before the bucket's `first`. It is one of them, unless that was cleared since; an empty
//!    bucket's is `NEVER`. A bucket that time has come to is taken out, so a `first` that is gone misleads once.
//! 5. `occupied` and `levels` have a bit for each bucket, and each level, that is not empty.
//!
//! Cost: setting and clearing a constant number of steps, over many of them (the slab is walked through where few of its entries
//! are in use, and half of them are gone since the last time); until it is due an entry moves once per level at most, and is looked
//! at once in each look at its last bucket.
//!
//! Source: Varghese and Lauck, "Hashed and hierarchical timing wheels" (1987), scheme 7.

use std::task::Waker;

/// Not a deadline that comes.
pub(super) const NEVER: u64 = u64::MAX;

/// A tick is two to this power of nanoseconds.
pub(super) const TICK: u32 = 13;
/// The same for virtual time, which stops at each deadline, and each time walks through a bucket.
pub(super) const VIRTUAL_TICK: u32 = 4;
/// A digit.
const DIGIT: u32 = 6;
const BUCKETS: usize = 1 << DIGIT;
/// Digits enough for all ticks.
const LEVELS: usize = (u64::BITS - VIRTUAL_TICK).div_ceil(DIGIT) as usize;
/// No entry.
const NIL: u32 = u32::MAX;
/// A slab that has grown beyond this gives memory back when few of its entries are in use.
const KEEP: usize = 1024;
/// Few: one of so many.
const FEW: usize = 8;

/// See the module.
#[derive(Debug)]
pub(super) struct Wheel {
    tick: u32,
    entries: Vec<Entry>,
    /// The first free entry.
    free: u32,
    pending: usize,
    /// With so many pending, or fewer, memory is given back. (Half of them each time, so that many timers come or go between two
    /// walks through the slab.)
    few: usize,
    /// The next number.
    number: u64,
    /// The tick that time has come to.
    elapsed: u64,
    /// Those that have entries.
    levels: u32,
    occupied: [u64; LEVELS],
    /// By level. None before the first timer.
    buckets: Vec<Bucket>,
}

#[derive(Debug)]
struct Entry {
    at: u64,
    number: u64,
    waker: Option<Waker>,
    next: u32,
    prev: u32,
    place: u32,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    head: u32,
    first: u64,
}

const EMPTY: Bucket = Bucket { head: NIL, first: NEVER };

/// Which timer of a wheel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) entry: u32,
    pub(super) number: u64,
}

/// A timer that is due: whom to wake, and the order in which to do it.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) at: u64,
    pub(super) number: u64,
    pub(super) waker: Waker,
}

impl Wheel {
    /// With ticks of so many bits.
    pub(super) fn new(tick: u32) -> Self {
        Wheel {
            tick,
            entries: Vec::new(),
            free: NIL,
            pending: 0,
            few: 0,
            number: 0,
            elapsed: 0,
            levels: 0,
            occupied: [0; LEVELS],
            buckets: Vec::new(),
        }
    }

    /// Adds a timer.
    ///
    /// # Panics
    ///
    /// At four thousand million of them.
    pub(super) fn set(&mut self, at: u64, waker: Waker) -> Key {
        let number = self.number;
        self.number += 1;
        if self.free == NIL {
            self.grow();
        }
        let index = self.free;
        let entry = &mut self.entries[index as usize];
        self.free = entry.next;
        (entry.at, entry.number, entry.waker) = (at, number, Some(waker));
        self.pending += 1;
        self.link(index);
        Key { entry: index, number }
    }

    /// Adds a free entry.
    fn grow(&mut self) {
        if self.buckets.is_empty() {
            self.buckets = vec![EMPTY; LEVELS * BUCKETS];
        }
        let index = u32::try_from(self.entries.len()).ok().filter(|index| *index != NIL);
        self.free = index.expect("there are too many timers at once");
        self.entries.push(Entry { at: NEVER, number: 0, waker: None, next: NIL, prev: NIL, place: 0 });
        self.few = self.entries.len() / FEW;
    }

    /// Whom a timer wakes; `None`: it is gone.
    pub(super) fn waker(&mut self, key: Key) -> Option<&mut Waker> {
        let entry = self.entries.get_mut(key.entry as usize)?;
        if entry.number != key.number && !bug!("timers_forget_numbers") {
            return None;
        }
        entry.waker.as_mut()
    }

    /// Takes a timer out; `None`: it is gone.
    pub(super) fn clear(&mut self, key: Key) -> Option<Waker> {
        self.waker(key)?;
        self.unlink(key.entry);
        let due = self.release(key.entry);
        self.give_memory_back();
        Some(due.waker)
    }

    /// No deadline is before this; `NEVER` if there is none. It is the first one, unless that was cleared (4).
    pub(super) fn first(&self) -> u64 {
        self.first_bucket().map_or(NEVER, |place| self.buckets[place].first)
    }

    /// The first deadline, in as many steps as there are entries in the first bucket. (In virtual time, whose lowest buckets are
    /// 16 ns wide: if what is due then is taken out each time, an entry is walked past there sixteen times at most.)
    pub(super) fn exact_first(&self) -> u64 {
        let head = self.first_bucket().map_or(NIL, |place| self.buckets[place].head);
        self.list(head).map(|entry| entry.at).min().unwrap_or(NEVER)
    }

    /// Takes out all that are due at `now`, in no order.
    pub(super) fn take_due(&mut self, now: u64, due: &mut Vec<Due>) {
        // (Somebody who has read the clock later may have been here before.)
        let tick = (now >> self.tick).max(self.elapsed);
        while let Some(place) = self.first_bucket() {
            let start = self.start_of(place);
            if start > tick {
                break;
            }
            self.elapsed = start;
            let mut index = self.vacate(place);
            while index != NIL {
                let Entry { next, at, .. } = self.entries[index as usize];
                if at <= now {
                    due.push(self.release(index));
                } else {
                    self.link(index);
                }
                index = next;
            }
            // What is left of this very tick is back in its bucket.
            if place < BUCKETS && start == tick {
                break;
            }
        }
        self.elapsed = tick;
        self.give_memory_back();
    }

    /// 2.
    fn first_bucket(&self) -> Option<usize> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        Some(level * BUCKETS + self.occupied[level].trailing_zeros() as usize)
    }

    /// The first tick of a bucket that is not empty.
    fn start_of(&self, place: usize) -> u64 {
        let (level, digit) = (level_of(place), (place % BUCKETS) as u64);
        let above = DIGIT * (level as u32 + 1);
        (self.elapsed >> above << above) | digit << (DIGIT * level as u32)
    }

    /// Puts an entry where it belongs (2).
    fn link(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let tick = (entry.at >> self.tick).max(self.elapsed);
        let level = ((tick ^ self.elapsed) | 1).ilog2() / DIGIT;
        let digit = (tick >> (DIGIT * level)) as usize % BUCKETS;
        let place = level as usize * BUCKETS + digit;
        let bucket = &mut self.buckets[place];
        (entry.place, entry.prev, entry.next) = (place as u32, NIL, bucket.head);
        bucket.first = bucket.first.min(entry.at);
        let behind = std::mem::replace(&mut bucket.head, index);
        if behind != NIL {
            self.entries[behind as usize].prev = index;
        }
        self.occupied[level as usize] |= 1 << digit;
        self.levels |= 1 << level;
    }

    /// Takes an entry out of its bucket.
    fn unlink(&mut self, index: u32) {
        let Entry { next, prev, place, .. } = self.entries[index as usize];
        if next != NIL {
            self.entries[next as usize].prev = prev;
        }
        if prev != NIL {
            self.entries[prev as usize].next = next;
        } else if next != NIL {
            self.buckets[place as usize].head = next;
        } else {
            self.vacate(place as usize);
        }
    }

    /// Empties a bucket; gives the first of what was in it.
    fn vacate(&mut self, place: usize) -> u32 {
        let level = level_of(place);
        self.occupied[level] &= !(1 << (place % BUCKETS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
        std::mem::replace(&mut self.buckets[place], EMPTY).head
    }

    /// Makes an entry that is linked nowhere a free one.
    fn release(&mut self, index: u32) -> Due {
        let entry = &mut self.entries[index as usize];
        entry.next = self.free;
        self.free = index;
        self.pending -= 1;
        Due { at: entry.at, number: entry.number, waker: entry.waker.take().expect("pending") }
    }

    /// Cuts off what is free at the end of the slab, if little of it is in use.
    fn give_memory_back(&mut self) {
        if self.pending > self.few || self.entries.len() <= KEEP {
            return;
        }
        let last = self.entries.iter().rposition(|entry| entry.waker.is_some());
        self.entries.truncate(last.map_or(0, |last| last + 1));
        self.entries.shrink_to_fit();
        // The first ones first, so that the end stays free.
        self.free = NIL;
        for (index, entry) in self.entries.iter_mut().enumerate().rev() {
            if entry.waker.is_none() {
                entry.next = std::mem::replace(&mut self.free, index as u32);
            }
        }
        self.few = (self.entries.len() / FEW).min(self.pending / 2);
    }

    /// The entries from this one on.
    fn list(&self, head: u32) -> impl Iterator<Item = &Entry> {
        let entry = |index: u32| self.entries.get(index as usize);
        std::iter::successors(entry(head), move |before| entry(before.next))
    }
}

fn level_of(place: usize) -> usize {
    place / BUCKETS
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    impl Wheel {
        pub(crate) fn pending(&self) -> usize {
            self.pending
        }

        /// Checks the invariants.
        pub(crate) fn assert_valid(&self) {
            let mut linked = 0;
            for (place, bucket) in self.buckets.iter().enumerate() {
                let (level, digit) = (level_of(place), place % BUCKETS);
                let mut before = NIL;
                let mut at = bucket.head;
                while at != NIL {
                    let entry = &self.entries[at as usize];
                    let tick = (entry.at >> self.tick).max(self.elapsed);
                    let differs = ((tick ^ self.elapsed) | 1).ilog2() / DIGIT;
                    assert!(entry.waker.is_some() && entry.place as usize == place && entry.prev == before);
                    assert_eq!((level, digit), (differs as usize, (tick >> (DIGIT * differs)) as usize % 64));
                    assert!(entry.at >= bucket.first && self.start_of(place) >= self.elapsed);
                    linked += 1;
                    (before, at) = (at, entry.next);
                }
                let occupied = self.occupied[level] & (1 << digit) != 0;
                assert_eq!(occupied, bucket.head != NIL);
                assert!(occupied || bucket.first == NEVER);
                assert_eq!(self.levels & (1 << level) != 0, self.occupied[level] != 0);
            }
            let free = self.list(self.free).map(|entry| assert!(entry.waker.is_none())).count();
            assert_eq!((linked, linked + free), (self.pending, self.entries.len()));
        }
    }

    /// A random number whose magnitude is random, too.
    fn scattered(random: &mut impl FnMut() -> u64) -> u64 {
        let bits = random() % 65;
        random().checked_shr(64 - bits as u32).unwrap_or(0)
    }

    /// What has fired since the last look, sorted as whoever fires sorts it.
    fn taken(wheel: &mut Wheel, now: u64) -> Vec<(u64, u64)> {
        let mut due = Vec::new();
        wheel.take_due(now, &mut due);
        let mut due: Vec<_> = due.into_iter().map(|due| (due.at, due.number)).collect();
        due.sort_unstable();
        due
    }

    /// F12: random operations, against an ordered map; deadlines of all magnitudes, many of them equal.
    #[test]
    fn does_what_an_ordered_map_does() {
        for seed in 1..=150_u64 {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let tick = if seed % 2 == 0 { TICK } else { VIRTUAL_TICK };
            let (mut wheel, mut model, mut keys) = (Wheel::new(tick), BTreeMap::new(), Vec::new());
            let mut now = 0_u64;
            for step in 0..1500 {
                match random() % 10 {
                    0..5 => {
                        let at = match random() % 8 {
                            0 => now.saturating_sub(scattered(&mut random)),
                            1 => NEVER,
                            2 => keys.last().map_or(now, |(at, _)| *at),
                            _ => now.saturating_add(scattered(&mut random)),
                        };
                        let key = wheel.set(at, Waker::noop().clone());
                        model.insert((at, key.number), key);
                        keys.push((at, key));
                    }
                    5..7 if !keys.is_empty() => {
                        // Also of those that are gone.
                        let (at, key) = keys[random() as usize % keys.len()];
                        assert_eq!(wheel.clear(key).is_some(), model.remove(&(at, key.number)).is_some());
                        assert!(wheel.waker(key).is_none());
                    }
                    7 if !keys.is_empty() => {
                        let (at, key) = keys[random() as usize % keys.len()];
                        assert_eq!(wheel.waker(key).is_some(), model.contains_key(&(at, key.number)));
                    }
                    _ => {
                        let next = wheel.exact_first();
                        now = match random() % 4 {
                            // As a virtual clock, as a sleeper that was misled, or behind another look at the clock.
                            0 if next < NEVER => next.max(now),
                            1 if wheel.first() < NEVER => wheel.first().max(now),
                            2 => now.saturating_sub(random() % 100_000),
                            _ => now.saturating_add(scattered(&mut random) >> 2).min(NEVER - 1),
                        };
                        let later = model.split_off(&(now + 1, 0));
                        let due: Vec<_> = std::mem::replace(&mut model, later).into_keys().collect();
                        assert_eq!(taken(&mut wheel, now), due, "seed {seed}, step {step}, now {now}");
                        assert!(wheel.first() > now, "a look at the timers is over");
                    }
                }
                let first = model.keys().next().map_or(NEVER, |(at, _)| *at);
                assert_eq!(wheel.exact_first(), first);
                assert!(wheel.first() <= first);
                if step % 16 == 0 {
                    wheel.assert_valid();
                }
            }
            assert_eq!(taken(&mut wheel, NEVER).len(), model.len());
            wheel.assert_valid();
        }
    }

    #[test]
    fn a_far_deadline_moves_down_level_by_level() {
        for (tick, levels) in [(TICK, 9), (VIRTUAL_TICK, 10)] {
            let mut wheel = Wheel::new(tick);
            let at = NEVER - 1;
            wheel.set(at, Waker::noop().clone());
            for level in (0..levels).rev() {
                assert_eq!(wheel.levels, 1 << level);
                assert_eq!(wheel.first(), at);
                // The start of its bucket.
                let bits = tick + DIGIT * level;
                assert_eq!(taken(&mut wheel, at >> bits << bits), [] as [(u64, u64); 0]);
                wheel.assert_valid();
            }
            assert_eq!(taken(&mut wheel, at), [(at, 0)]);
        }
    }

    #[test]
    fn a_burst_leaves_no_memory_and_its_keys_find_nothing() {
        let mut wheel = Wheel::new(TICK);
        let keys: Vec<_> = (0..5000).map(|at| wheel.set(at, Waker::noop().clone())).collect();
        taken(&mut wheel, 5000);
        assert_eq!(wheel.entries.capacity(), 0);
        (0..5000).for_each(|_| _ = wheel.set(9000, Waker::noop().clone()));
        assert!(keys.into_iter().all(|key| wheel.clear(key).is_none()));
        assert_eq!(wheel.pending(), 5000);
    }

    #[test]
    fn a_burst_leaves_little_memory_where_a_timer_stays() {
        let mut wheel = Wheel::new(TICK);
        let set = |wheel: &mut Wheel, at| wheel.set(at, Waker::noop().clone());
        let first = set(&mut wheel, 1 << 40);
        let keys: Vec<_> = (0..100_000).map(|at| set(&mut wheel, at)).collect();
        // One that is set while the slab is large: the next ones stand in front of it.
        let among = keys[50_000];
        for key in keys.iter().rev().filter(|key| key.entry != among.entry) {
            wheel.clear(*key).expect("it is pending");
        }
        wheel.assert_valid();
        assert_eq!(wheel.entries.len(), 50_002);
        let next = set(&mut wheel, 1 << 41);
        assert_eq!((next.entry, wheel.pending()), (1, 3));
        wheel.clear(among).expect("it is pending");
        wheel.clear(next).expect("it is pending");
        wheel.assert_valid();
        assert!(wheel.entries.len() <= 2 && wheel.entries.capacity() <= KEEP, "{}", wheel.entries.len());
        assert!(keys.into_iter().all(|key| wheel.clear(key).is_none()));
        assert_eq!(taken(&mut wheel, 1 << 42), [(1 << 40, first.number)]);
    }
}
