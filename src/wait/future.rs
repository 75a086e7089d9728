//! What all futures have in common that are one [`Operation`]: they are polled, waited for on a plain thread, and claimed by a
//! select.

use std::pin::Pin;

use super::operation::{Branch, Operation};

/// A future that is one operation. (Public in name only: it is what the sealed traits of `select` are made of.)
#[allow(private_interfaces, private_bounds, reason = "nobody outside the crate can name it")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operation of leno, which a select could claim",
    label = "not an operation of leno",
    note = "any other future can be polled instead: wrap it in `leno::select::foreign`: `foreign(std::pin::pin!(future))` or \
            `foreign(Box::pin(future))`, or `foreign(future)` if it is `Unpin`. (`select!` finds out by itself, where the \
            future's type is known at that point: annotate it.)"
)]
pub trait Operated {
    type Branch: Branch;
    type Output;

    /// The call that has made it, as its user wrote it.
    const CALL: &'static str;

    fn operation(&mut self) -> &mut Operation<Self::Branch>;

    /// The operation's outcome as that of the future.
    fn convert(&mut self, outcome: <Self::Branch as Branch>::Output) -> Self::Output;

    /// Disposes of the outcome of a select that nobody got, and can be polled again: what was received goes back. (What has locked
    /// something frees that as it is dropped.)
    #[cold]
    fn give_back(&mut self, _output: Self::Output) {
        self.operation().renew();
    }

    /// It has lost: drops what is still to be sent, or gives up what else it has, unless it is only borrowed.
    #[inline]
    fn end(&mut self) {
        self.operation().discard();
    }
}

/// One that is elsewhere; and how it [ends](Operated::end), which one that is only lent does not. (What is pinned, though it need
/// not be, is claimed, too.)
macro_rules! elsewhere {
    ($([O: $($bounds:tt)*] $Elsewhere:ty, $this:ident => $there:expr, $end:expr;)+) => {$(
        #[allow(private_interfaces, reason = "for select, whose traits are sealed")]
        impl<O: $($bounds)*> $crate::wait::Operated for $Elsewhere {
            type Branch = O::Branch;
            type Output = O::Output;

            const CALL: &'static str = O::CALL;

            #[inline(always)]
            fn operation(&mut $this) -> &mut $crate::wait::Operation<O::Branch> {
                $there.operation()
            }

            #[inline(always)]
            fn convert(&mut $this, outcome: <O::Branch as $crate::wait::Branch>::Output) -> O::Output {
                $there.convert(outcome)
            }

            fn give_back(&mut $this, output: O::Output) {
                $there.give_back(output);
            }

            #[inline]
            fn end(&mut $this) {
                $end(&mut $there);
            }
        }
    )+};
}
pub(crate) use elsewhere;

elsewhere! {
    [O: Operated] &mut O, self => **self, |_| {};
    [O: Operated + Unpin] Pin<&mut O>, self => **self, |_| {};
    [O: Operated] Box<O>, self => **self, O::end;
    [O: Operated + Unpin] Pin<Box<O>>, self => **self, O::end;
}

/// Makes a future of a struct whose field `operation` is an operation of `$branch`.
///
/// `$convert` makes its outcome the future's. `while $more`: the future goes on for as long as `$more` makes its operation fresh
/// again; a select does not. `back $goods` makes of the operation and the future's outcome what the operation gave, if that is to go
/// back; `leaves nothing`: what it was made of went with the outcome, and nobody can poll it again. `parks $park $parked`: a poll
/// goes by the method `$park`, unless that says `None`; the method `$parked` says whether it waits so. Then what the waits with a
/// limit say: `or Elapsed`: that the time was up; `or Error => Ok`: that, or the future's error, as one; `until Result`: what a
/// method `until(&mut self, deadline)` says; nothing: there are none. `$name` is the type's, `$call` is the call as its user wrote
/// it. (Where the first of the generics is a lifetime the future borrows for it.)
macro_rules! future {
    (
        [$($generics:tt)*] $future:ty, $name:literal, $call:literal;
        $branch:ty => $output:ty, $convert:expr
            $(, while $more:expr)? $(, back $goods:expr)? $(, leaves $nothing:ident)? $(, parks $park:ident $parked:ident)?;
        $($limits:tt)*
    ) => {
        #[allow(private_interfaces, reason = "for select, whose traits are sealed")]
        impl<$($generics)*> $crate::wait::Operated for $future {
            type Branch = $branch;
            type Output = $output;

            const CALL: &'static str = $call;

            #[inline(always)]
            fn operation(&mut self) -> &mut $crate::wait::Operation<$branch> {
                &mut self.operation
            }

            #[inline(always)]
            fn convert(&mut self, outcome: <$branch as $crate::wait::Branch>::Output) -> $output {
                $convert(self, outcome)
            }

            $crate::wait::future! { @back [$output] $($goods)? $($nothing)? }
        }

        impl<$($generics)*> $future {
            /// Waits on a plain thread, which sleeps meanwhile. (In a fiber of a runtime await the future instead: this
            /// would block its worker.)
            ///
            /// # Errors
            /// Those of the future, if it has any.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future
            /// there. If the operation has already completed.
            #[inline(always)]
            #[track_caller]
            pub fn wait(self) -> $output {
                // (It stays in registers, as its address goes to no call: nor to its drop, which is left to the slow way.)
                let mut quick = std::mem::ManuallyDrop::new(self);
                let outcome =
                    if $crate::task::context::is_outside() { quick.operation.quick_output() } else { None };
                let Some(outcome) = outcome else {
                    return $crate::wait::future! {
                        @last [$($generics)*] std::mem::ManuallyDrop::into_inner(quick), wait_slowly()
                    };
                };
                $crate::wait::future! {
                    @last [$($generics)*] std::mem::ManuallyDrop::into_inner(quick), wait_on(outcome)
                }
            }

            #[inline(never)]
            #[track_caller]
            fn wait_slowly(&mut self) -> $output {
                $crate::task::context::may_block($call);
                let outcome = self.operation.wait_slowly();
                self.wait_on(outcome)
            }

            /// It has this outcome: the rest, if it goes on.
            #[inline(always)]
            fn wait_on(&mut self, outcome: <$branch as $crate::wait::Branch>::Output) -> $output {
                $(
                    let mut outcome = outcome;
                    while $more(self) {
                        outcome = self.operation.wait();
                    }
                )?
                $crate::wait::Operated::convert(self, outcome)
            }

            $crate::wait::future! { @limits $call [$($generics)*] [$output] $($limits)* }
        }

        impl<$($generics)*> std::future::Future for $future {
            type Output = $output;

            #[inline(always)]
            fn poll(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Self::Output> {
                $(
                    if let Some(polled) = self.$park(cx) {
                        return polled;
                    }
                )?
                let polled = self.operation.poll(cx);
                $(
                    let mut polled = polled;
                    while polled.is_ready() && $more(&mut *self) {
                        polled = self.operation.poll(cx);
                    }
                )?
                polled.map(|outcome| $crate::wait::Operated::convert(&mut *self, outcome))
            }
        }

        impl<$($generics)*> futures_core::future::FusedFuture for $future {
            fn is_terminated(&self) -> bool {
                self.operation.is_over()
            }
        }

        impl<$($generics)*> Unpin for $future {}
        // As its handle: a panic leaves no operation in pieces.
        crate::task::unwinds! { [$($generics)*] $future }

        $crate::wait::future! { @borrow [$($generics)*] $future }

        crate::task::shows! {
            [$($generics)*] $future, $name, it => waits: it.operation.waits() $(|| it.$parked())?
        }
    };
    (@back [$output:ty]) => {};
    (@back [$output:ty] nothing) => {
        fn give_back(&mut self, _output: $output) {}
    };
    (@back [$output:ty] $goods:expr) => {
        #[cold]
        #[inline(never)]
        fn give_back(&mut self, output: $output) {
            let goods = $goods(&mut self.operation, output);
            self.operation.give_back(goods);
        }
    };
    (@borrow [$lifetime:lifetime $($generics:tt)*] $future:ty) => {
        /// Leaves the line. What it borrows has to last until then, which a drop of its own says.
        impl<$lifetime $($generics)*> Drop for $future {
            #[inline(always)]
            fn drop(&mut self) {}
        }
    };
    (@borrow [$($generics:tt)*] $future:ty) => {};
    // The last call of a future. One that owns its handle is dropped before the output is returned, which would leak if that drop
    // panicked afterwards (rust-lang/rust#47949). (One that borrows may hold a large value, and is not moved for that.)
    (@last [$lifetime:lifetime $($generics:tt)*] $this:expr, $method:ident($($given:expr)?)) => {
        $this.$method($($given)?)
    };
    (@last [$($generics:tt)*] $this:expr, $method:ident($($given:expr)?)) => {
        {
            let mut this = $this;
            let output = this.$method($($given)?);
            drop(this);
            output
        }
    };
    (@limits $call:literal $generics:tt [$output:ty]) => {};
    (@limits $call:literal $generics:tt [$output:ty] or Elapsed) => {
        $crate::wait::future! { @limits $call $generics [$output] until Result<$output, $crate::task::error::Elapsed> }

        fn until(&mut self, deadline: Option<std::time::Instant>) -> Result<$output, $crate::task::error::Elapsed> {
            let outcome = self.operation.block_on(deadline).ok_or($crate::task::error::Elapsed::new())?;
            Ok($crate::wait::Operated::convert(self, outcome))
        }
    };
    (@limits $call:literal $generics:tt [$output:ty] or $error:ty => $ok:ty) => {
        $crate::wait::future! { @limits $call $generics [$output] until Result<$ok, $error> }

        fn until(&mut self, deadline: Option<std::time::Instant>) -> Result<$ok, $error> {
            let mut tray = $crate::wait::Tray::new();
            if !self.operation.block_on_to(&mut tray, deadline) {
                return Err(<$error>::Timeout);
            }
            let outcome = self.operation.output(&mut tray);
            Ok($crate::wait::Operated::convert(self, outcome)?)
        }
    };
    (@limits $call:literal $generics:tt [$output:ty] until $timely:ty) => {
        /// As [`wait`](Self::wait), for at most `d` of real time. With `d` zero it tries once; with
        /// [`Duration::MAX`](std::time::Duration::MAX) it waits forever.
        ///
        /// # Errors
        /// As [`wait`](Self::wait); or the time was up, and the operation has not happened; its future is dropped.
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        #[allow(unused_mut, reason = "of some only")]
        pub fn wait_timeout(mut self, d: std::time::Duration) -> $timely {
            $crate::task::context::may_block($call);
            let deadline = $crate::task::thread::deadline_after(d);
            $crate::wait::future! { @last $generics self, until(deadline) }
        }

        /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`. One in the past tries once.
        ///
        /// # Errors
        /// As [`wait_timeout`](Self::wait_timeout).
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        #[allow(unused_mut, reason = "of some only")]
        pub fn wait_deadline(mut self, t: std::time::Instant) -> $timely {
            $crate::task::context::may_block($call);
            $crate::wait::future! { @last $generics self, until(Some(t)) }
        }
    };
}
pub(crate) use future;
