//! Warnings about a program's use of leno: each place once for each reason, through a hook.

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::Location;
use std::time::Duration;

use crate::prim::{self, Mutex};
use crate::task::error::shielded;

struct Warnings {
    hook: fn(&str),
    seen: BTreeSet<(Of, &'static Location<'static>)>,
}

/// What a warning is of.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    SlowPoll,
    BlockingCall,
}

prim::global! {
    static WARNINGS: Mutex<Warnings> = Mutex::new(Warnings { hook: say, seen: BTreeSet::new() });
}

/// Tells stderr.
pub(crate) fn say(message: &str) {
    // Whoever closed stderr does not want to know.
    let _ = writeln!(std::io::stderr(), "leno: {message}");
}

/// Sets the hook that receives warnings about questionable uses of leno, instead of stderr.
///
/// There are two: blocking calls (`.wait()`, `send_blocking`, `block_on`, …) inside a fiber of a runtime, each of which blocks a
/// worker, or the thread of a `block_on`, while it waits; these are reported once per place in the source, in debug builds only.
/// And polls that exceed the limit [set for their fiber](crate::fiber::Builder::slice_limit), if the executor has no hook for
/// them; these are reported once per place where such fibers are spawned. A panic of the hook is swallowed.
///
/// ```
/// leno::fiber::set_warning_hook(|message| println!("{message}"));
/// ```
pub fn set_warning_hook(hook: fn(&str)) {
    WARNINGS.lock().hook = hook;
}

/// Reports polls of a fiber that are too long.
pub(crate) fn slow_poll(fiber: &dyn std::fmt::Display, place: &'static Location<'static>, took: Duration) {
    report(Of::SlowPoll, place, || {
        format!(
            "{fiber} was polled for {took:?}, longer than its limit; `.await` in between (`leno::yield_now()`, for \
             example), or move long work into `leno::fiber::unblock(|| …).await`"
        )
    });
}

/// Reports a blocking call in a fiber of a runtime. `instead`: what is to be done.
pub(crate) fn blocking_call(what: &str, instead: &str, place: &'static Location<'static>) {
    report(Of::BlockingCall, place, || {
        format!(
            "`{what}` at {place} blocks a thread that fibers run on; {instead}, or move the blocking call into \
             `leno::fiber::unblock(|| …).await`"
        )
    });
}

/// Tells the hook, once for each place of a kind.
fn report(of: Of, place: &'static Location<'static>, message: impl FnOnce() -> String) {
    let hook = {
        let mut warnings = WARNINGS.lock();
        if !warnings.seen.insert((of, place)) {
            return;
        }
        warnings.hook
    };
    shielded(|| hook(&message()));
}
