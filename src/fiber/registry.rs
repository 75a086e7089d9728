//! All living executors of the process, for `find`.

use crate::prim::{Arc, Mutex, OnceLock};
use crate::task::header::{FiberId, Task};
use crate::task::home::Home;

static HOMES: OnceLock<Mutex<Vec<Arc<Home>>>> = OnceLock::new();

fn homes() -> &'static Mutex<Vec<Arc<Home>>> {
    HOMES.get_or_init(|| Mutex::new(Vec::new()))
}

pub(crate) fn add(home: &Arc<Home>) {
    homes().lock().push(Arc::clone(home));
}

/// Takes an executor out; once more does nothing.
pub(crate) fn remove(home: &Home) {
    let removed = {
        let mut homes = homes().lock();
        let at = homes.iter().position(|listed| std::ptr::eq(&**listed, home));
        at.map(|at| homes.swap_remove(at))
    };
    drop(removed);
}

pub(crate) fn find(id: FiberId) -> Option<Task> {
    let homes = homes().lock().clone();
    homes.iter().find_map(|home| home.roster.find(id))
}
