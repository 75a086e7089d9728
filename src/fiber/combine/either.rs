//! One of two.

/// The output of one of two futures; see [`race`](crate::fiber::race).
///
/// ```
/// use leno::fiber::{Either, race};
///
/// leno::block_on(async {
///     let first = race(async { 1 }, std::future::pending::<&str>()).await;
///     assert_eq!(first, Either::Left(1));
///     // Two of one type need not be told apart.
///     assert_eq!(race(async { "a" }, async { "b" }).await.into_inner(), "a");
/// });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The output of the first future.
    Left(A),
    /// The output of the second future.
    Right(B),
}

impl<A, B> Either<A, B> {
    /// Whether this is the output of the first future.
    pub fn is_left(&self) -> bool {
        matches!(self, Either::Left(_))
    }

    /// Whether this is the output of the second future.
    pub fn is_right(&self) -> bool {
        matches!(self, Either::Right(_))
    }

    /// The output of the first future, if it is this one.
    pub fn left(self) -> Option<A> {
        match self {
            Either::Left(value) => Some(value),
            Either::Right(_) => None,
        }
    }

    /// The output of the second future, if it is this one.
    pub fn right(self) -> Option<B> {
        match self {
            Either::Left(_) => None,
            Either::Right(value) => Some(value),
        }
    }
}

impl<T> Either<T, T> {
    /// The value, whichever future it came from.
    pub fn into_inner(self) -> T {
        match self {
            Either::Left(value) | Either::Right(value) => value,
        }
    }
}
