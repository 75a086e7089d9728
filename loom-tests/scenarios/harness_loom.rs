//! Runs a scenario under loom, and says how many executions that took.

use std::env;
use std::process::Command;
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::Mutex;
pub(crate) use loom::sync::atomic;

pub(crate) use super::thread;

/// As [`explore`], in a process of its own. (loom maps the stack of each thread anew in each execution, unless it is patched, and
/// the system lets a process do so once at a time: in one process two models take half as long again.)
pub(crate) fn check(name: &str, fewer: usize, scenario: impl Fn() + Send + Sync + 'static) {
    if !was_checked_apart() {
        explore(name, fewer, StdArc::new(scenario));
    }
}

/// Explores every interleaving of `scenario` with at most `LOOM_MAX_PREEMPTIONS` preemptions, or `fewer` by that many where the
/// model is too large for so many. Where that is not set it is 1; 2 in CI, and 3 in the long tier, whose loom is patched, as loom
/// leaves some interleavings out: see `.ci/loom.patch`.
///
/// With `LENO_MODEL_EXECUTIONS`, as in CI, one that takes more executions is given up at that bound, and explored at the one below.
/// Without preemptions the first three times as many have to do (a few large ones have up to 300,000).
///
/// loom ends quietly at a time limit; here it fails, so that a model that is too large does not pass for explored.
/// The limit is `LENO_MODEL_SECONDS`.
///
/// (The scenario is of one type, whichever it is: so loom is compiled once, not for each of them, which took most of the time.)
pub(crate) fn explore(name: &str, fewer: usize, scenario: StdArc<dyn Fn() + Send + Sync>) {
    let number = |name| env::var(name).ok().and_then(|n| n.parse().ok());
    let limit = Duration::from_secs(number("LENO_MODEL_SECONDS").unwrap_or(900));
    let most = number("LENO_MODEL_EXECUTIONS").map(|n| n as usize);
    let mut model = loom::model::Builder::new();
    model.max_branches = 20_000;
    let most_preemptions = model.preemption_bound.unwrap_or(1).saturating_sub(fewer);
    for bound in (0..=most_preemptions).rev() {
        model.preemption_bound = Some(bound);
        model.max_permutations = most.map(|most| if bound > 0 { most } else { 3 * most });
        // (It looks at that so often.)
        model.checkpoint_interval = model.max_permutations.unwrap_or(model.checkpoint_interval);
        let executions = StdArc::new(AtomicU64::new(0));
        let (counted, scenario) = (StdArc::clone(&executions), StdArc::clone(&scenario));
        let started = Instant::now();
        model.check(move || {
            assert!(started.elapsed() < limit, "the model is too large for its time");
            counted.fetch_add(1, Relaxed);
            scenario();
            leno::model::end_nodes();
        });
        let executions = executions.load(Relaxed);
        println!("{name}: {executions} executions in {:?}, preemptions: {bound}", started.elapsed());
        // (It ends before the one at which it looks.)
        if model.max_permutations.is_none_or(|most| executions + 1 < most as u64) {
            break;
        }
    }
}

/// Says of a process that it is there for one test.
const APART: &str = "LENO_MODEL_APART";

/// Runs this test, that of the calling thread, in a process of its own, unless this is that one.
fn was_checked_apart() -> bool {
    if env::var_os(APART).is_some() {
        return false;
    }
    let thread = std::thread::current();
    let test = thread.name().expect("tests run on threads with their names");
    let mut command = Command::new(env::current_exe().expect("a program knows its path"));
    command.args([test, "--exact", "--nocapture"]).env(APART, "");
    let output = command.output().expect("a program can run itself");
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}{}", String::from_utf8_lossy(&output.stderr));
    // (And it was this one: no test of that name would be no failure.)
    let has_passed = output.status.success() && said.contains("ok. 1 passed");
    assert!(has_passed, "it failed in a process of its own: {}", output.status);
    true
}
