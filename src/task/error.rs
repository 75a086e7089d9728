//! How a fiber can fail to give a value: cancelled, panicked, or joined by itself.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

use crate::prim::thread;
use crate::task::header::{FiberId, Task};

/// Types that are errors, and what they say.
macro_rules! errors {
    ($($error:ident $(<$T:ident>)? { $($pattern:pat => $text:expr,)+ })+) => {$(
        impl $(<$T>)? std::fmt::Display for $error $(<$T>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self { $($pattern => write!(f, "{}", $text),)+ }
            }
        }

        impl $(<$T>)? std::error::Error for $error $(<$T>)? {}
    )+};
}
pub(crate) use errors;

/// Errors of several cases: each with its content, its text, and perhaps a method that tests for it. The content of an error of `T`
/// is not shown, so there is no bound on it: `?` and `unwrap` work for any value.
macro_rules! error_cases {
    ($(
        $(#[$doc:meta])*
        $error:ident $(<$T:ident>)? {$(
            $(#[$case_doc:meta])*
            $case:ident $(($has:tt: $type:ty))? => $text:expr $(, $ask:ident: $ask_doc:literal)?;
        )+}
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum $error $(<$T>)? {
            $($(#[$case_doc])* $case $(($type))?,)+
        }

        $crate::task::error::errors! {
            $error $(<$T>)? {
                $($error::$case $(($has))? => $text,)+
            }
        }

        $crate::task::error::error_cases! { @debug $error $(<$T>)? { $($case $(($has))?)+ } }

        impl $(<$T>)? $error $(<$T>)? {
            $($(
                #[doc = $ask_doc]
                pub fn $ask(&self) -> bool {
                    matches!(self, $error::$case { .. })
                }
            )?)+
        }
    )+};
    (@debug $error:ident { $($case:ident $(($has:tt))?)+ }) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($error::$case $(($has))? => f.debug_tuple(stringify!($case))$(.field($has))?.finish(),)+
                }
            }
        }
    };
    (@debug $error:ident<$T:ident> { $($case:ident (_))+ }) => {
        impl<$T> std::fmt::Debug for $error<$T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($error::$case(_) => f.write_str(concat!(stringify!($case), "(..)")),)+
                }
            }
        }
    };
}
pub(crate) use error_cases;

/// What a fiber leaves behind.
pub(crate) type Outcome<T> = Result<T, JoinError>;

/// A panic's payload.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Why a [`JoinHandle`](crate::fiber::JoinHandle) has no value to return: the fiber was cancelled, panicked, or awaited
/// itself.
///
/// ```
/// let failed = leno::block_on(async {
///     leno::spawn(async { panic!("no luck") }).await
/// });
/// let error: leno::fiber::JoinError = failed.unwrap_err();
/// assert!(error.is_panic() && !error.is_cancelled());
/// assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"no luck"));
/// ```
pub struct JoinError(Repr);

crate::task::unwinds! { [] JoinError }

enum Repr {
    Cancelled(Option<FiberId>),
    SelfJoin(FiberId),
    Told(Box<Told>),
}

/// How it ended, if that takes more to tell.
struct Told {
    /// Whose end it was; `None`: that of a scope's body.
    fiber: Option<(FiberId, Option<Box<str>>)>,
    /// `None`: it was cancelled. Nobody reads it through a shared reference, but for its message.
    panic: Option<Payload>,
}

// SAFETY: the payload is reached by value only, except for `message`, which looks at it as a `&str` or a
// `String`; both are `Sync`, as is the rest.
unsafe impl Sync for Told {}

impl JoinError {
    pub(crate) fn cancelled(fiber: &Task) -> Self {
        match fiber.name() {
            None => JoinError(Repr::Cancelled(Some(fiber.id))),
            Some(_) => JoinError::told(Some(fiber), None),
        }
    }

    pub(crate) fn scope_cancelled() -> Self {
        JoinError(Repr::Cancelled(None))
    }

    pub(crate) fn self_join(fiber: FiberId) -> Self {
        JoinError(Repr::SelfJoin(fiber))
    }

    /// `None`: the body of a scope panicked.
    pub(crate) fn panicked(fiber: Option<&Task>, payload: Payload) -> Self {
        JoinError::told(fiber, Some(payload))
    }

    fn told(fiber: Option<&Task>, panic: Option<Payload>) -> Self {
        let fiber = fiber.map(|task| (task.id, task.name().map(Box::from)));
        JoinError(Repr::Told(Box::new(Told { fiber, panic })))
    }

    pub(crate) fn payload(&self) -> Option<&(dyn Any + Send)> {
        match &self.0 {
            Repr::Told(told) => told.panic.as_deref(),
            Repr::Cancelled(_) | Repr::SelfJoin(_) => None,
        }
    }

    /// The fiber's id and name.
    fn fiber(&self) -> (Option<FiberId>, Option<&str>) {
        match &self.0 {
            Repr::Cancelled(fiber) => (*fiber, None),
            Repr::SelfJoin(fiber) => (Some(*fiber), None),
            Repr::Told(told) => {
                told.fiber.as_ref().map_or((None, None), |(id, name)| (Some(*id), name.as_deref()))
            }
        }
    }

    /// The id of the fiber that returned no value; for a [scope](crate::fiber::scope()), that of the fiber that panicked.
    /// `None`: the scope was cancelled, or its body panicked.
    pub fn id(&self) -> Option<FiberId> {
        self.fiber().0
    }

    /// Whether the fiber was cancelled: by [`cancel`](crate::fiber::JoinHandle::cancel), with its parent, or
    /// with its runtime.
    pub fn is_cancelled(&self) -> bool {
        !self.is_self_join() && !self.is_panic()
    }

    /// Whether the fiber panicked: in a poll, or when its future was dropped.
    pub fn is_panic(&self) -> bool {
        self.payload().is_some()
    }

    /// Whether a fiber awaited its own handle, which could never end.
    pub fn is_self_join(&self) -> bool {
        matches!(self.0, Repr::SelfJoin(_))
    }

    /// The payload of the panic, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// If the fiber did not panic; check [`is_panic`](Self::is_panic) first.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(other) => panic!("`into_panic` on a non-panic error ({other}); check `is_panic` first"),
        }
    }

    /// The payload of the panic.
    ///
    /// # Errors
    ///
    /// The fiber did not panic; the error comes back.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.0 {
            Repr::Told(mut told) => told.panic.take().ok_or(JoinError(Repr::Told(told))),
            other => Err(JoinError(other)),
        }
    }
}

/// An [`Other`](io::ErrorKind::Other) one, which has this as its source.
impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        io::Error::other(error)
    }
}

/// The time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(());

impl Elapsed {
    pub(crate) const fn new() -> Self {
        Elapsed(())
    }
}

errors! {
    Elapsed {
        Elapsed(()) => "timed out",
    }
}

/// A [`TimedOut`](io::ErrorKind::TimedOut) one.
impl From<Elapsed> for io::Error {
    fn from(error: Elapsed) -> Self {
        io::Error::new(io::ErrorKind::TimedOut, error)
    }
}

/// The message of a panic.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    known_message(payload).unwrap_or("(no message)")
}

/// The same, where it is one of the two usual types.
fn known_message(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Drops foreign data whose drop may panic; such a panic is swallowed.
pub(crate) fn discard<T>(value: T) {
    shielded(|| drop(value));
}

/// Calls foreign code (a waker, a drop); a panic of it ends here.
pub(crate) fn shielded(f: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(f)) {
        swallow(payload);
    }
}

/// Drops a payload. That can panic as well, and so can the drop of the next one; but not for ever.
#[cold]
fn swallow(mut payload: Payload) {
    for _ in 0..3 {
        match panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    mem::forget(payload);
}

/// Calls foreign code; a panic of it ends here in a thread that is panicking.
#[inline(always)]
pub(crate) fn call(foreign: impl FnOnce()) {
    if thread::panicking() { shielded(foreign) } else { foreign() }
}

/// Foreign calls that are to be made whatever becomes of those before: the first panic is resumed at the end.
#[derive(Default)]
pub(crate) struct InTurn(Option<Payload>);

impl InTurn {
    /// Whether it has returned.
    pub(crate) fn call(&mut self, f: impl FnOnce()) -> bool {
        let Err(payload) = panic::catch_unwind(AssertUnwindSafe(f)) else { return true };
        match self.0 {
            None => self.0 = Some(payload),
            Some(_) => swallow(payload),
        }
        false
    }

    /// Returns `output`, or drops it if a call panicked.
    ///
    /// # Panics
    ///
    /// If a call did. (If this thread is panicking already, it is swallowed.)
    pub(crate) fn give<R>(self, output: R) -> R {
        match self.0 {
            None => output,
            Some(payload) if thread::panicking() => {
                swallow(payload);
                output
            }
            Some(payload) => {
                discard(output);
                panic::resume_unwind(payload)
            }
        }
    }

    /// # Panics
    ///
    /// If a call did. (If this thread is panicking already, it is swallowed.)
    pub(crate) fn end(self) {
        self.give(());
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({:?})", self.to_string())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fiber() {
            (Some(id), name) => id.write(name, f)?,
            (None, _) if self.is_panic() => f.write_str("the body of a scope")?,
            (None, _) => f.write_str("the scope")?,
        }
        match self.payload() {
            Some(payload) => {
                f.write_str(" panicked")?;
                known_message(payload).map_or(Ok(()), |message| write!(f, ": {message}"))
            }
            None if self.is_self_join() => f.write_str(" cannot wait for its own end"),
            None => f.write_str(" was cancelled"),
        }
    }
}

impl Error for JoinError {}
