//! The pool of nodes with crossbeam's real epochs, under loom: a chunk is freed only when nobody looks at it any more.
//! All other models keep what is retired, since epochs multiply the executions. So this one is a build of its own:
//!
//! ```text
//! RUSTFLAGS="--cfg leno_epoch --cfg crossbeam_loom" cargo test -p loom-tests --test epoch
//! ```
//!
//! Planted bugs, in `src/wait/pool.rs`: `early_free`.

#![cfg(leno_epoch)]

#[macro_use]
#[path = "../scenarios/mod.rs"]
mod scenarios;

/// Two threads.
mod epoch {
    use std::sync::Arc;

    use leno::model::pool::Pool;

    use crate::scenarios::harness::thread;

    /// The hooks of a node are looked at by its number while its chunk is given up.
    pub(crate) fn peek_against_free() {
        let pool = Arc::new(Pool::default());
        let (kept, freed) = (pool.take(), pool.take());
        let number = freed.number();
        pool.give_back(kept);
        assert_eq!(pool.chunks(), 2);
        let looker = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.peek(number))
        };
        pool.give_back(freed);
        pool.advance();
        assert!(matches!(looker.join().unwrap(), None | Some(1)), "it is there or gone");
        assert_eq!(pool.chunks(), 1, "one empty chunk is kept");
        let again = [pool.take(), pool.take()];
        let generations = again.map(|place| {
            let generation = pool.peek(place.number());
            pool.give_back(place);
            generation
        });
        assert_eq!(generations, [Some(2), Some(2)], "generations go on, also in a new chunk");
    }
}

models! { epoch:
    peek_against_free
}
