//! The order in which a select looks at its branches.
//!
//! The random one is `i ↦ first + i · step` modulo a prime, without the places that no branch has. Over all `first` and
//! `step` each branch comes before each other one equally often, whatever stands between them; of k ready branches each
//! is the first with a chance of about 1/k. (Going round from a random branch on would favour those behind a gap.)

use std::num::NonZeroU64;

use crate::prim;

/// `first` in the lower half, `step` in the upper one: one word, as selects hand it on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order(NonZeroU64);

impl Order {
    /// Of so many branches; `biased`: as they are written.
    #[inline(always)]
    pub(super) fn new(biased: bool, count: usize) -> Order {
        if biased {
            return Order::of(0, 1);
        }
        let modulus = prime_from(count);
        let (first, step) = prim::random_pair(modulus, modulus - 1);
        Order::of(first, 1 + step)
    }

    #[inline]
    fn of(first: usize, step: usize) -> Order {
        Order(NonZeroU64::new((step as u64) << 32 | first as u64).expect("the step is not 0"))
    }

    /// For so many branches as it was made for.
    #[inline]
    pub(super) fn indices(self, count: usize) -> impl Iterator<Item = usize> {
        let modulus = prime_from(count);
        let (mut next, step) = (self.0.get() as u32 as usize, (self.0.get() >> 32) as usize);
        let places = (0..modulus).map(move |_| {
            let place = next;
            next += step;
            // (Without a branch, which nobody could predict: what is below the modulus wraps.)
            next = next.min(next.wrapping_sub(modulus));
            place
        });
        places.filter(move |place| *place < count)
    }
}

/// The first prime that is not below `n`.
#[inline]
fn prime_from(n: usize) -> usize {
    // (As many as a macro has branches, and one.)
    const FEW: [usize; 33] = [
        2, 2, 2, 3, 5, 5, 7, 7, 11, 11, 11, 11, 13, 13, 17, 17, 17, 17, 19, 19, 23, 23, 23, 23, 29, 29, 29,
        29, 29, 29, 31, 31, 37,
    ];
    if let Some(prime) = FEW.get(n) {
        return *prime;
    }
    let is_prime = |n: &usize| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    (n.max(2)..).find(is_prime).expect("there is always another prime")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_orders(count: usize) -> impl Iterator<Item = Order> {
        let modulus = prime_from(count);
        (0..modulus).flat_map(move |first| (1..modulus).map(move |step| Order::of(first, step)))
    }

    #[test]
    fn each_order_is_a_permutation() {
        for count in 0..40 {
            for order in all_orders(count).chain([Order::new(false, count), Order::new(true, count)]) {
                let mut indices = order.indices(count).collect::<Vec<_>>();
                indices.sort_unstable();
                assert!(indices.into_iter().eq(0..count), "{order:?}");
            }
            assert!(Order::new(true, count).indices(count).eq(0..count));
        }
    }

    /// S2: each of the ready branches is found first about equally often, whichever they are.
    #[test]
    fn no_branch_is_favoured() {
        for count in 1..=10 {
            for ready in 1..1_u32 << count {
                let is_ready = |index: &usize| ready & 1 << index != 0;
                let (mut orders, mut found) = (0, vec![0; count]);
                for order in all_orders(count) {
                    orders += 1;
                    found[order.indices(count).find(is_ready).expect("some are ready")] += 1;
                }
                let share = f64::from(orders) / f64::from(ready.count_ones());
                let slack = if ready.count_ones() <= 2 { 1e-9 } else { 0.21 };
                for index in (0..count).filter(is_ready) {
                    let off = (f64::from(found[index]) / share - 1.0).abs();
                    assert!(off <= slack, "{index} of {ready:b}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn primes() {
        let primes = [0, 2, 3, 4, 16, 17, 24, 25, 32, 33, 48, 200].map(prime_from);
        assert_eq!(primes, [2, 2, 3, 5, 17, 17, 29, 29, 37, 37, 53, 211]);
    }
}
