//! One of two.

/// What one of two futures gave; see [`race`](crate::fiber::race).
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
    /// Of the first.
    Left(A),
    /// Of the second.
    Right(B),
}

impl<A, B> Either<A, B> {
    /// Whether it is of the first.
    pub fn is_left(&self) -> bool {
        matches!(self, Either::Left(_))
    }

    /// Whether it is of the second.
    pub fn is_right(&self) -> bool {
        matches!(self, Either::Right(_))
    }

    /// What the first gave, if it is that.
    pub fn left(self) -> Option<A> {
        match self {
            Either::Left(value) => Some(value),
            Either::Right(_) => None,
        }
    }

    /// What the second gave, if it is that.
    pub fn right(self) -> Option<B> {
        match self {
            Either::Left(_) => None,
            Either::Right(value) => Some(value),
        }
    }
}

impl<T> Either<T, T> {
    /// The value, whoever gave it.
    pub fn into_inner(self) -> T {
        match self {
            Either::Left(value) | Either::Right(value) => value,
        }
    }
}
