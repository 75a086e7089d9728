//! What is to be done also when foreign code panics.

/// Calls `f` when this is dropped.
#[must_use]
pub(crate) struct Finally<F: FnOnce()>(Option<F>);

/// Calls `f` at the end of the block that it is bound in, also when that panics; not if it is forgotten before.
#[inline(always)]
pub(crate) fn finally<F: FnOnce()>(f: F) -> Finally<F> {
    Finally(Some(f))
}

impl<F: FnOnce()> Drop for Finally<F> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}
