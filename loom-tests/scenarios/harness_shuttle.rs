//! Runs a scenario under shuttle's random and PCT schedulers.

use std::sync::Arc as StdArc;

use leno::model::{end_nodes, lives};
use shuttle::scheduler::{
    PctScheduler, RandomScheduler, Scheduler, UncontrolledNondeterminismCheckScheduler as Twice,
};
pub(crate) use shuttle::sync::Arc;
pub(crate) use shuttle::sync::Mutex;
pub(crate) use shuttle::sync::atomic;
use shuttle::{Config, Runner};

pub(crate) use super::thread;

/// Runs `scenario` under `SHUTTLE_SCHEDULES` (2000 by default) random schedules, and as many by PCT. Each has to
/// leave as many nodes and fibers as it has found: none leaks. With `SHUTTLE_TWICE` each schedule runs twice, and has to go
/// the same way: otherwise a failure could not be repeated.
pub(crate) fn check(name: &str, _fewer: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("SHUTTLE_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    // (Of one type, whichever scenario it is: so shuttle is compiled once, not for each of them.)
    let checked: StdArc<dyn Fn() + Send + Sync> = StdArc::new(move || {
        let before = lives();
        scenario();
        end_nodes();
        assert_eq!(lives(), before, "nodes have leaked");
    });
    run(RandomScheduler::new(schedules), StdArc::clone(&checked));
    run(PctScheduler::new(3, schedules), checked);
    println!("{name}: {schedules} random and {schedules} PCT schedules");
}

fn run(scheduler: impl Scheduler + 'static, scenario: StdArc<dyn Fn() + Send + Sync>) {
    // (What is not optimized takes more of a stack than shuttle gives.)
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    if std::env::var_os("SHUTTLE_TWICE").is_some() {
        Runner::new(Twice::new(scheduler), config).run(move || scenario());
    } else {
        Runner::new(scheduler, config).run(move || scenario());
    }
}
