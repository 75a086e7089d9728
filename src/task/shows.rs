//! What the types of leno show of themselves.

/// Has a type show these fields, and that there may be more: `$it` is the value in their expressions, `$name` the type's name.
macro_rules! shows {
    ([$($generics:tt)*] $type:ty, $name:literal $(, $it:ident => $($field:ident: $value:expr),+)?) => {
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $(let $it = self;)?
                f.debug_struct($name)$($(.field(stringify!($field), &$value))+)?.finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use shows;

/// What is the user's may have line breaks, and worse.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
