//! Scopes of a thread: fibers that borrow from its stack.
//!
//! The shape is that of [`std::thread::scope`]: two lifetimes, `'scope` for as long as fibers may run, `'env` for what they
//! borrow.
//!
//! Invariants, which make it sound that a future which is not `'static` becomes a fiber:
//!
//! 1. Each fiber is a member of the scope's group, and [`blocking_scope`] returns or unwinds only when that has none.
//!    A member leaves it when its future has been dropped; whatever ends the fiber does so (`task/run.rs`, `finish`). Its
//!    outcome is a `()`. A wake-up or a handle that comes later finds memory, and nothing of `'scope`.
//! 2. What a fiber gives goes into a packet that it shares with its handle, and the fiber lets go of that with its future.
//!    The handle cannot outlive `'scope`.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::future::FusedFuture;

use crate::fiber::default_home;
use crate::fiber::join::JoinHandle;
use crate::fiber::runtime::Runtime;
use crate::fiber::scope::{Scope, over};
use crate::fiber::spawn::Builder;
use crate::fiber::token::CancelToken;
use crate::prim::{Arc, Mutex};
use crate::task::error::JoinError;
use crate::task::header::FiberId;
use crate::task::home::HomeRef;
use crate::task::{context, finally, shows, thread};

/// Where the fibers of a [`blocking_scope`] are started.
pub struct BlockingScope<'scope, 'env: 'scope> {
    scope: Scope,
    home: HomeRef,
    /// Invariant: neither lifetime may shrink or grow.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

impl<'scope, 'env> BlockingScope<'scope, 'env> {
    /// Starts a fiber that the scope waits for; it may borrow whatever outlives the scope.
    ///
    /// If it panics, all other fibers of the scope are cancelled. If the scope is already cancelled, the new fiber is cancelled
    /// at once.
    #[track_caller]
    pub fn spawn<F>(&'scope self, future: F) -> ScopedHandle<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        self.spawn_with(Builder::new(), future)
    }

    /// As [`spawn`](Self::spawn), with the settings of `builder`, such as a name; except that the fiber always belongs to this
    /// scope and has no parent.
    #[track_caller]
    pub fn spawn_with<F>(&'scope self, builder: Builder, future: F) -> ScopedHandle<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        let packet = Arc::new(Mutex::new(None));
        let give = Arc::clone(&packet);
        let fiber: Pin<Box<dyn Future<Output = ()> + Send + 'scope>> = Box::pin(async move {
            let value = future.await;
            *give.lock() = Some(value);
        });
        // SAFETY: only the lifetime changes. The module's invariants: future and outcome are gone before `'scope` ends.
        let fiber: Pin<Box<dyn Future<Output = ()> + Send + 'static>> = unsafe { std::mem::transmute(fiber) };
        let handle = builder.root().scope(&self.scope).start_on(&self.home, Location::caller(), fiber);
        ScopedHandle { handle, packet, _scope: PhantomData }
    }

    /// Cancels the fibers of the scope. The closure goes on.
    pub fn cancel(&self) {
        self.scope.cancel();
    }

    /// The scope's token: cancelling it cancels the scope. It is cancelled when the scope ends, at the latest.
    pub fn token(&self) -> CancelToken {
        self.scope.token()
    }
}

shows! { [] BlockingScope<'_, '_>, "BlockingScope", it => fibers: it.scope.group() }

/// Waits for a fiber of a [`blocking_scope`] and returns its value, like a [`JoinHandle`]. If the handle is dropped the scope
/// still waits for the fiber.
pub struct ScopedHandle<'scope, T> {
    handle: JoinHandle<()>,
    packet: Arc<Mutex<Option<T>>>,
    _scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedHandle<'_, T> {
    /// As [`JoinHandle::cancel`].
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// As [`JoinHandle::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// The fiber's id.
    pub fn id(&self) -> FiberId {
        self.handle.id()
    }

    /// The name that its builder gave it.
    pub fn name(&self) -> Option<&str> {
        self.handle.name()
    }
}

impl<T> Future for ScopedHandle<'_, T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(cx).map(|outcome| {
            outcome.map(|()| {
                self.packet.lock().take().expect("a fiber that has ended by itself has left its value")
            })
        })
    }
}

impl<T> FusedFuture for ScopedHandle<'_, T> {
    fn is_terminated(&self) -> bool {
        self.handle.is_terminated()
    }
}

shows! { [T] ScopedHandle<'_, T>, "ScopedHandle", it => fiber: it.handle }

thread::waits! { ['scope, T] ScopedHandle<'scope, T>, "ScopedHandle" }

/// Runs `body`, which may start fibers that borrow from the calling thread's stack, and waits on that thread until all of
/// them have ended. For plain threads; as [`std::thread::scope`].
///
/// The fibers run on the caller's runtime or, outside of one, on leno's default runtime; [`Runtime::blocking_scope`] names
/// one. They have no parent. The first panic, of the body or of a fiber, cancels all fibers and becomes the scope's error,
/// which is returned once they have ended.
///
/// ```
/// let text = String::from("of warp and weft");
/// let mut words = Vec::new();
/// let letters = leno::fiber::blocking_scope(|s| {
///     let letters = s.spawn(async { text.chars().filter(|c| c.is_alphabetic()).count() });
///     s.spawn(async { words.extend(text.split(' ')) }).wait().unwrap();
///     letters.wait().unwrap()
/// });
/// assert_eq!((letters.unwrap(), words.len()), (13, 4));
/// ```
///
/// # Errors
///
/// [`JoinError::is_panic`]: something panicked.
///
/// # Panics
///
/// Inside a fiber of a cord, whose only thread it would block. Inside a fiber of a runtime it blocks one worker, and is
/// reported once per place in debug builds; if all workers block like this, it hangs.
#[track_caller]
pub fn blocking_scope<'env, R>(
    body: impl for<'scope> FnOnce(&'scope BlockingScope<'scope, 'env>) -> R,
) -> Result<R, JoinError> {
    context::may_block("blocking_scope");
    // (A cord's hook is in no fiber, but on a thread that must not be stopped for the cord's own fibers.)
    run(context::home().filter(|home| !home.local).unwrap_or_else(default_home), body)
}

impl Runtime {
    /// As [`blocking_scope`], with fibers of this runtime.
    ///
    /// # Errors
    ///
    /// As [`blocking_scope`].
    ///
    /// # Panics
    ///
    /// As [`blocking_scope`].
    #[track_caller]
    pub fn blocking_scope<'env, R>(
        &self,
        body: impl for<'scope> FnOnce(&'scope BlockingScope<'scope, 'env>) -> R,
    ) -> Result<R, JoinError> {
        context::may_block("blocking_scope");
        run(self.home().clone(), body)
    }
}

fn run<'env, R>(
    home: HomeRef,
    body: impl for<'scope> FnOnce(&'scope BlockingScope<'scope, 'env>) -> R,
) -> Result<R, JoinError> {
    let scope = BlockingScope { scope: Scope::new(None), home, _scope: PhantomData, _env: PhantomData };
    let leave = finally(|| scope.scope.leave());
    let given = scope.scope.caught(|| body(&scope));
    // From here to its end nothing may unwind: fibers may still borrow what would go away.
    let rest = finally(|| std::process::abort());
    let wait = std::pin::pin!(std::future::poll_fn(|cx| scope.scope.group().poll_over(cx)));
    let failure = thread::block_on(wait, None).expect("without a deadline it waits until it is done");
    std::mem::forget(rest);
    drop(leave);
    over(failure, given)
}
