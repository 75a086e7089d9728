//! All living executors of the process, for `find`.

use crate::prim::{self, Mutex};
use crate::task::header::{FiberId, Task};
use crate::task::home::{Home, HomeRef};

prim::global! {
    static HOMES: Mutex<Vec<HomeRef>> = Mutex::new(Vec::new());
}

pub(crate) fn add(home: &HomeRef) {
    HOMES.lock().push(home.clone());
}

/// Takes an executor out; once more does nothing.
pub(crate) fn remove(home: &Home) {
    let removed = {
        let mut homes = HOMES.lock();
        let at = homes.iter().position(|listed| std::ptr::eq(&**listed, home));
        at.map(|at| homes.swap_remove(at))
    };
    drop(removed);
}

pub(crate) fn find(id: FiberId) -> Option<Task> {
    let homes = HOMES.lock().clone();
    homes.iter().find_map(|home| home.roster.find(id))
}
