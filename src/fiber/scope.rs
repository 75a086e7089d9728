//! Scopes: fibers that end before the code that started them goes on.
//!
//! ```text
//!                    body ready                  last fiber has ended
//!   body and fibers ─────────────▶ fibers only ─────────────────────▶ over: Ok(what the body gave)
//!        │ a panic, an Err, cancel       │ a panic, an Err
//!        ▼                               ▼
//!   cancelled: the body is dropped, fibers at their next suspension ─▶ over: Err
//! ```
//!
//! (A cancel that comes when the body is ready cancels the fibers, and leaves what the body gave.)
//!
//! The fibers are a [`Group`]; the scope's [`CancelToken`] cancels it. The body runs in the caller's own task.

use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::task::Poll;

use crate::fiber::join::JoinHandle;
use crate::fiber::spawn::Builder;
use crate::fiber::token::CancelToken;
use crate::prim::{Arc, Mutex};
use crate::task::budget;
use crate::task::cell::report;
use crate::task::error::{InTurn, JoinError, shielded};
use crate::task::group::{Failure, Group};
use crate::task::header::Task;
use crate::task::{context, finally, shows};

/// Where the fibers of a [`scope()`] are started. Clones are the same scope.
#[derive(Clone)]
pub struct Scope {
    group: Arc<Group>,
    token: CancelToken,
}

impl Scope {
    /// One that is cancelled with `above`.
    pub(super) fn new(above: Option<&CancelToken>) -> Self {
        let group = Arc::new(Group::default());
        let token = CancelToken::of_group(&group, above);
        Scope { group, token }
    }

    pub(super) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// Starts a fiber that the scope waits for, as [`spawn`](crate::spawn) does: on the executor that the caller runs on, and on
    /// leno's default runtime outside of any. It owns what it uses, as the scope may be dropped before it ends: a clone of the
    /// scope, if it spawns there. (The fibers of a [`blocking_scope`](crate::fiber::blocking_scope) may borrow, and so may the
    /// futures of [`join_all`](crate::fiber::join_all), which are not fibers.)
    ///
    /// If it panics, all others of the scope are cancelled. Cancelling it alone, by its handle, is not a failure. Once the
    /// scope is cancelled or over, what is spawned here is cancelled at once.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with(Builder::new(), future)
    }

    /// As [`spawn`](Self::spawn), with the settings of `builder`, such as a name; except that the fiber always belongs to this
    /// scope. The same as [`Builder::scope`].
    #[track_caller]
    pub fn spawn_with<F>(&self, builder: Builder, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        builder.scope(self).spawn(future)
    }

    /// As [`spawn`](Self::spawn) on the cord that the caller runs on.
    ///
    /// # Panics
    ///
    /// Outside a cord.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Builder::new().scope(self).spawn_local(future)
    }

    /// Cancels the scope: its fibers, and its body at its next suspension. If the body completes before that, its value is still
    /// returned.
    ///
    /// # Panics
    ///
    /// As [`CancelToken::cancel`].
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// The scope's token: cancelling it cancels the scope. It is cancelled when the scope ends, at the latest.
    pub fn token(&self) -> CancelToken {
        self.token.clone()
    }
}

shows! { [] Scope, "Scope", it => fibers: it.group }

/// Runs `body`, which may start fibers on the scope that it is given, and completes once all of them have ended.
///
/// `body` is an async closure: `async |s| { … }`. (With `|s| async { … }` the compiler asks for types, and then for lifetimes.)
///
/// The first panic, of the body or of a fiber, cancels all the others and becomes the scope's error; if the handle of the
/// fiber that panicked was kept, the error has the message and the handle the payload. [`Scope::cancel`] ends the scope as
/// cancelled. The scope does not cover what its fibers start with [`leno::spawn`](crate::spawn).
///
/// Cancelling: dropping the future cancels body and fibers and does not wait for them. So does cancelling the fiber that
/// awaits it, even if that is a fiber of another scope: the outer scope waits for its own fibers, not for those they
/// started under a [`shield`](crate::fiber::shield()) in inner scopes. So a time limit belongs inside the body, which cancels the
/// scope when it is reached (or, in [`try_scope`], returns the error): then the scope waits until its fibers are gone.
///
/// ```
/// use leno::fiber::{Elapsed, scope, sleep, timeout};
/// use std::time::Duration;
///
/// let answer = leno::block_on(scope(async |s| {
///     let slow = s.spawn(sleep(Duration::from_secs(3600)));
///     let answer = timeout(Duration::from_millis(1), slow).await;
///     if answer.is_err() {
///         s.cancel();
///     }
///     answer
/// }));
/// assert!(matches!(answer, Ok(Err(Elapsed { .. }))));
/// ```
///
/// ```
/// use leno::fiber::scope;
///
/// let total = leno::block_on(scope(async |s| {
///     let parts: Vec<_> = (1..=3).map(|part| s.spawn(async move { part * 10 })).collect();
///     let mut total = 0;
///     for part in parts {
///         total += part.await.expect("no part panics");
///     }
///     total
/// }));
/// assert_eq!(total.unwrap(), 60);
/// ```
///
/// # Errors
///
/// [`JoinError::is_panic`]: something panicked. [`JoinError::is_cancelled`]: the scope was cancelled before its body was
/// ready.
pub async fn scope<R>(body: impl AsyncFnOnce(&Scope) -> R) -> Result<R, JoinError> {
    Scope::new(None).run(body).await
}

impl Scope {
    /// The scope's life.
    pub(super) async fn run<R>(self, body: impl AsyncFnOnce(&Scope) -> R) -> Result<R, JoinError> {
        let _leave = finally(|| self.leave());
        // The call, too, is inside the poll, where a panic is caught.
        let mut body = pin!(Some(async { body(&self).await }));
        let given = poll_fn(|cx| match self.group.poll_cancelled(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => {
                let body = body.as_mut().as_pin_mut().expect("the body is dropped below");
                self.caught(|| body.poll(cx).map(Some)).unwrap_or(Poll::Ready(None))
            }
        })
        .await;
        self.caught(|| body.set(None));
        // (It counts, as a join does, also if it has to wait.)
        let mut refused = false;
        poll_fn(|cx| if budget::may_begin(&mut refused, cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        let failure = poll_fn(|cx| self.group.poll_over(cx)).await;
        over(failure, given)
    }

    /// Calls a part of the body; a panic of it is the scope's.
    pub(super) fn caught<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        panic::catch_unwind(AssertUnwindSafe(f)).map_err(|payload| self.group.body_panics(payload)).ok()
    }

    /// Its code goes away, at its end or because its future is dropped.
    pub(super) fn leave(&self) {
        shielded(|| _ = self.token.cancel());
        // (A panic of the body was reported by the panic hook.)
        if let Some((task, payload)) = self.group.leave().and_then(Failure::untold) {
            report(&task, payload);
        }
    }
}

/// What came of a scope.
pub(super) fn over<R>(failure: Option<Failure>, given: Option<R>) -> Result<R, JoinError> {
    let Some(failure) = failure else { return given.ok_or_else(JoinError::scope_cancelled) };
    let mut drops = InTurn::default();
    drops.call(|| drop(given));
    drops.give(Err(failure.into_error()))
}

/// Where the fibers of a [`try_scope`] are started. Clones are the same scope.
pub struct TryScope<E> {
    scope: Scope,
    /// The first error.
    error: Arc<Mutex<Option<E>>>,
}

impl<E> Clone for TryScope<E> {
    fn clone(&self) -> Self {
        TryScope { scope: self.scope.clone(), error: Arc::clone(&self.error) }
    }
}

impl<E: Send + 'static> TryScope<E> {
    /// Starts a fiber that the scope waits for. If it returns an `Err`, that becomes the scope's error, and everything in the
    /// scope is cancelled, this fiber included; otherwise as [`Scope::spawn`].
    #[track_caller]
    pub fn spawn<F, T>(&self, future: F) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_with(Builder::new(), future)
    }

    /// As [`spawn`](Self::spawn), with the settings of `builder`, such as a name; except that the fiber always belongs to this
    /// scope.
    ///
    /// ```
    /// use leno::fiber::{Builder, try_scope};
    ///
    /// let sum: Result<i32, std::num::ParseIntError> = leno::block_on(try_scope(async |s| {
    ///     let parser = s.spawn_with(Builder::new().name("parser"), async { "7".parse::<i32>() });
    ///     assert_eq!(parser.name(), Some("parser"));
    ///     Ok(parser.await.unwrap_or(0))
    /// }))
    /// .expect("nothing panics");
    /// assert_eq!(sum, Ok(7));
    /// ```
    #[track_caller]
    pub fn spawn_with<F, T>(&self, builder: Builder, future: F) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
    {
        builder.scope(&self.scope).spawn(self.clone().member(future))
    }
}

impl<E: 'static> TryScope<E> {
    /// As [`spawn`](Self::spawn) on the cord that the caller runs on.
    ///
    /// # Panics
    ///
    /// Outside a cord.
    #[track_caller]
    pub fn spawn_local<F, T>(&self, future: F) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + 'static,
        T: 'static,
    {
        self.scope.spawn_local(self.clone().member(future))
    }

    async fn member<T>(self, future: impl Future<Output = Result<T, E>>) -> T {
        match future.await {
            Ok(value) => value,
            Err(error) => {
                self.fail(error);
                // Until the cancel, even if a shielded section that it has begun is elsewhere.
                context::with_task(Task::unshield_all);
                std::future::pending().await
            }
        }
    }
}

impl<E> TryScope<E> {
    /// See [`Scope::cancel`].
    pub fn cancel(&self) {
        self.scope.cancel();
    }

    /// See [`Scope::token`].
    pub fn token(&self) -> CancelToken {
        self.scope.token()
    }

    fn fail(&self, error: E) {
        let late = {
            let mut first = self.error.lock();
            if first.is_some() { Some(error) } else { first.replace(error) }
        };
        drop(late);
        shielded(|| self.cancel());
    }
}

shows! { [E] TryScope<E>, "TryScope", it => fibers: it.scope.group }

/// As [`scope()`], for a body and fibers that may fail: the first `Err`, of the body or of a fiber, cancels everything else
/// and becomes the scope's result.
///
/// ```
/// use leno::fiber::try_scope;
///
/// let sum: Result<i32, std::num::ParseIntError> = leno::block_on(try_scope(async |s| {
///     let numbers = ["1", "two", "3"].map(|text| s.spawn(async move { text.parse::<i32>() }));
///     let mut sum = 0;
///     for number in numbers {
///         // One that is cancelled, because another has failed, has none; soon this body is cancelled, too.
///         sum += number.await.unwrap_or(0);
///     }
///     Ok(sum)
/// }))
/// .expect("nothing panics");
/// assert!(sum.is_err());
/// ```
///
/// # Errors
///
/// As [`scope()`]; a panic takes precedence over an `Err`.
pub async fn try_scope<T, E>(
    body: impl AsyncFnOnce(&TryScope<E>) -> Result<T, E>,
) -> Result<Result<T, E>, JoinError> {
    Scope::new(None).run_try(body).await
}

impl Scope {
    /// The life of a scope whose body may fail.
    pub(super) async fn run_try<T, E>(
        self,
        body: impl AsyncFnOnce(&TryScope<E>) -> Result<T, E>,
    ) -> Result<Result<T, E>, JoinError> {
        let mut kept = None;
        let error = Arc::new(Mutex::new(None));
        let ended = self
            .run(async |scope: &Scope| {
                let scope = TryScope { scope: scope.clone(), error: Arc::clone(&error) };
                match body(&scope).await {
                    Ok(value) => kept = Some(value),
                    Err(error) => scope.fail(error),
                }
            })
            .await;
        let error = error.lock().take();
        // What is not given may panic in its drop, and so may what is.
        let mut drops = InTurn::default();
        let result = match (ended, error) {
            (Err(panicked), error) if panicked.is_panic() => {
                drops.call(|| drop(error));
                Err(panicked)
            }
            (_, Some(error)) => Ok(Err(error)),
            (Ok(()), None) => return Ok(Ok(kept.expect("a body that gave no value has failed"))),
            (Err(cancelled), None) => Err(cancelled),
        };
        drops.call(|| drop(kept));
        drops.give(result)
    }
}
