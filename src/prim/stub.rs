//! Reclamation in models: what is retired is kept, so that no execution is spent on epochs. That the real ones are
//! used rightly is shown by a model of its own, with `cfg(leno_epoch)`.

/// A promise not to free what is retired meanwhile. Nothing to do: nothing is freed.
#[derive(Debug)]
pub(crate) struct Guard(());

pub(crate) fn pin() -> Guard {
    Guard(())
}

/// Ends the value, and keeps its memory.
///
/// # Safety
/// The value came from a box, and nobody can find it any more.
pub(crate) unsafe fn retire<T: Send + 'static>(_: &Guard, value: *mut T) {
    // SAFETY: the caller's promise.
    super::free(unsafe { Box::from_raw(value) });
}
