//! Runs a scenario under shuttle's random and PCT schedulers.

use leno::model::{end_nodes, lives};
use shuttle::scheduler::{
    PctScheduler, RandomScheduler, Scheduler, UncontrolledNondeterminismCheckScheduler as Twice,
};
pub(crate) use shuttle::sync::Arc;
pub(crate) use shuttle::sync::Mutex;
pub(crate) use shuttle::sync::atomic;
pub(crate) use shuttle::thread;
use shuttle::{Config, Runner};

/// Runs `scenario` under `SHUTTLE_SCHEDULES` (2000 by default) random schedules, and as many by PCT. Each has to
/// leave as many nodes and fibers as it has found: none leaks. With `SHUTTLE_TWICE` each schedule runs twice, and has to go
/// the same way: otherwise a failure could not be repeated.
pub(crate) fn check(name: &str, _fewer: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("SHUTTLE_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let checked = move || {
        let before = lives();
        scenario();
        end_nodes();
        assert_eq!(lives(), before, "nodes have leaked");
    };
    let checked = std::sync::Arc::new(checked);
    let again = std::sync::Arc::clone(&checked);
    run(RandomScheduler::new(schedules), move || checked());
    run(PctScheduler::new(3, schedules), move || again());
    println!("{name}: {schedules} random and {schedules} PCT schedules");
}

fn run(scheduler: impl Scheduler + 'static, scenario: impl Fn() + Send + Sync + 'static) {
    // (What is not optimized takes more of a stack than shuttle gives.)
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    if std::env::var_os("SHUTTLE_TWICE").is_some() {
        Runner::new(Twice::new(scheduler), config).run(scenario);
    } else {
        Runner::new(scheduler, config).run(scenario);
    }
}
