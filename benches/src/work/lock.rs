//! Tasks at one lock.

use std::sync::Arc;

use crate::exec::Exec;
use crate::peers::Lock;

/// Tasks take turns at one lock; an operation is one lock and unlock. `held`: over a yield, so that others
/// have to queue.
pub async fn lock<E: Exec, L: Lock>(tasks: u64, held: bool, ops: u64) {
    let lock = Arc::new(L::new(0));
    let tasks: Vec<_> = (0..tasks)
        .map(|_| {
            let lock = Arc::clone(&lock);
            E::spawn(async move {
                for _ in 0..ops / tasks {
                    let mut guard = lock.lock().await;
                    // SAFETY: it is this lock's.
                    unsafe { *lock.value(&mut guard) += 1 };
                    if held {
                        E::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
    let mut guard = lock.lock().await;
    // SAFETY: as above.
    assert_eq!(unsafe { *lock.value(&mut guard) }, ops, "no increment is lost");
}
