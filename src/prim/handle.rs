//! The handle of a thread, or none, where others may look for it. std's lock in all builds: it is no part of what models
//! explore, and in loom no other thread may run between a wake and its unpark: the unpark would end any wait that its thread is in
//! by then, even a join.

use super::thread::Thread;

#[derive(Debug)]
pub(crate) struct Handle(std::sync::Mutex<Option<Thread>>);

impl Handle {
    pub(crate) const fn none() -> Self {
        Handle(std::sync::Mutex::new(None))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Thread>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn set(&self, thread: Option<Thread>) {
        let former = std::mem::replace(&mut *self.lock(), thread);
        drop(former);
    }

    /// Unparks the thread, if there is one.
    pub(crate) fn unpark(&self) {
        // By a copy: nobody waits for the system call, and a model may switch threads there.
        let thread = self.lock().clone();
        if let Some(thread) = thread {
            thread.unpark();
        }
    }
}
