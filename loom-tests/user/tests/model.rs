//! A user's own model, with leno's channels, lock and `select!` in it, as leno's documentation describes:
//!
//! ```text
//! RUSTFLAGS="--cfg leno_loom" cargo test -p user-model
//! ```

#![cfg(leno_loom)]

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use leno::sync::Mutex;
use leno::{bounded, rendezvous, select, select_blocking};
use loom::future::block_on;
use loom::thread;

fn model(scenario: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(scenario);
}

/// A value or the end, whichever comes: no interleaving loses the value.
#[test]
fn a_value_or_the_end() {
    model(|| {
        let (tx, rx) = rendezvous();
        let (quit, quitting) = bounded::<()>(1);
        let other = thread::spawn(move || {
            quit.try_send(()).unwrap();
            tx.try_send(7)
        });
        let got = block_on(async {
            select! {
                Ok(value) = rx.recv() => Some(value),
                _ = quitting.recv() => None,
            }
        });
        drop(rx);
        let sent = other.join().unwrap();
        assert_eq!(got.is_some(), sent.is_ok(), "it was sent exactly if it was received");
    });
}

/// On plain threads, with a lock that another thread holds for a while.
#[test]
fn a_lock_or_a_message() {
    model(|| {
        let account = Arc::new(Mutex::new(1));
        let (tx, rx) = bounded(1);
        let other = {
            let account = Arc::clone(&account);
            thread::spawn(move || {
                *account.lock_blocking() += 1;
                tx.try_send(()).unwrap();
            })
        };
        select_blocking! {
            mut balance = account.lock() => *balance += 1,
            told = rx.recv() => told.unwrap(),
        }
        other.join().unwrap();
        assert!(matches!(*account.try_lock().unwrap(), 2 | 3));
    });
}

/// A model that fails says so, and takes none of the other tests with it.
#[test]
#[should_panic(expected = "the model's own")]
fn a_failure_is_a_panic() {
    model(|| {
        let (_tx, rx) = rendezvous::<u32>();
        {
            let mut receive = pin!(rx.recv());
            let polled = receive.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        panic!("the model's own");
    });
}
