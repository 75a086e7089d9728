//! Steps that are counted, and interrupts.

std::thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    /// How often the thread is interrupted: once in so many times; and where its dice stand.
    static INTERRUPTS: std::cell::Cell<(u64, u64)> = const { std::cell::Cell::new((0, 0)) };
}

/// Here the calling thread may lose its turn.
pub(in crate::wait) fn interrupt() {
    let (each, count) = INTERRUPTS.get();
    if each != 0 {
        // A linear congruential generator.
        let count = count.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        INTERRUPTS.set((each, count));
        if (count >> 33) % each == 0 {
            (0..1 + (count >> 40) % 4).for_each(|_| crate::prim::thread::yield_now());
        }
    }
}

/// Has the calling thread lose its turn, once in `each` times that it could; 0: never.
pub(in crate::wait) fn interrupt_once_in(each: u64, seed: u64) {
    INTERRUPTS.set((each, seed));
}

/// Counts a step of the calling thread.
pub(crate) fn step() {
    STEPS.set(STEPS.get() + 1);
}

/// The steps of the calling thread in `f`.
pub(crate) fn steps_of<R>(f: impl FnOnce() -> R) -> (R, u64) {
    let before = STEPS.get();
    let result = f();
    (result, STEPS.get() - before)
}
