//! Runs a scenario under shuttle's random and PCT schedulers.

pub use shuttle::sync::Arc;
pub use shuttle::sync::Mutex;
pub use shuttle::sync::atomic;
pub use shuttle::thread;

/// Runs `scenario` under `SHUTTLE_SCHEDULES` (2000 by default) random schedules, and as many by PCT.
pub fn check(name: &str, scenario: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("SHUTTLE_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let scenario = std::sync::Arc::new(scenario);
    let again = std::sync::Arc::clone(&scenario);
    shuttle::check_random(move || scenario(), schedules);
    shuttle::check_pct(move || again(), schedules, 3);
    println!("{name}: {schedules} random and {schedules} PCT schedules");
}
