//! A run that does not end is named, and the process aborted: a benchmark never hangs silently.

use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// How long one run may take.
pub const LIMIT: Duration = Duration::from_secs(60);

static CURRENT: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// Runs `run` under the watchdog's eye; `name` says what is stuck if it does not return in time.
pub fn guard<R>(name: &str, run: impl FnOnce() -> R) -> R {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        std::thread::spawn(watch);
    });
    let set = |current| *CURRENT.lock().expect("the lock is never held across a panic") = current;
    set(Some((name.to_owned(), Instant::now())));
    let result = run();
    set(None);
    result
}

fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let current = CURRENT.lock().expect("the lock is never held across a panic");
        if let Some((name, _)) = current.as_ref().filter(|(_, since)| since.elapsed() > LIMIT) {
            eprintln!("stuck for more than {} s, aborting: {name}", LIMIT.as_secs());
            std::process::abort();
        }
    }
}
