//! Whether a type has a trait, as a constant.

/// `impls!(Vec<u8>: Send)` is `true` or `false`, decided at compile time for a concrete type: an inherent
/// constant, which exists only if the bound holds, hides the one of the blanket trait.
#[macro_export]
macro_rules! impls {
    ($type:ty: $($bound:tt)+) => {{
        #[allow(dead_code, reason = "hidden when the bound holds")]
        trait Otherwise {
            const YES: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "hidden by nothing when the bound fails")]
        impl<T: ?Sized + $($bound)+> Probe<T> {
            const YES: bool = true;
        }
        <Probe<$type>>::YES
    }};
}
