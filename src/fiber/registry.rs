//! All living executors of the process, for `find`.

use crate::prim::{Mutex, OnceLock};
use crate::task::header::{FiberId, Task};
use crate::task::home::{Home, HomeRef};

static HOMES: OnceLock<Mutex<Vec<HomeRef>>> = OnceLock::new();

fn homes() -> &'static Mutex<Vec<HomeRef>> {
    HOMES.get_or_init(|| Mutex::new(Vec::new()))
}

pub(crate) fn add(home: &HomeRef) {
    homes().lock().push(home.clone());
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
