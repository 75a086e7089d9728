//! What the types of leno show of themselves, and where they may pass.

/// Has a type show these fields, and that there may be more: `$it` is the value in their expressions, `$name` the type's name.
macro_rules! shows {
    ([$($generics:tt)*] $type:ty, $name:expr $(, $it:ident => $($field:ident: $value:expr),+)?) => {
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $(let $it = self;)?
                f.debug_struct($name)$($(.field(stringify!($field), &$value))+)?.finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use shows;

/// Lets a type pass where a panic is caught: none leaves it in pieces.
macro_rules! unwinds {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> std::panic::UnwindSafe for $type {}
        impl<$($generics)*> std::panic::RefUnwindSafe for $type {}
    };
}
pub(crate) use unwinds;

/// What is the user's may have line breaks, and worse.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
