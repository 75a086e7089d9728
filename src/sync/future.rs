//! What all futures of this module have in common: polling, and the three waits of threads.

/// Gives a future that is one [`Operation`](crate::wait::Operation) its waits. It has a field `operation` and a method `output`,
/// which makes the operation's outcome the future's. `plain`: it has no error of its own; `fallible`: it has, and the waits
/// with a limit give `$timeout` instead, made from that error, or `Timeout`.
macro_rules! future {
    ($kind:ident [$($generics:tt)*] $future:ty => $output:ty $(; $ok:ty, $timeout:ty)?; $name:literal, $call:literal) => {
        impl<$($generics)*> $future {
            /// Waits on a plain thread, which sleeps meanwhile.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future
            /// there.
            #[track_caller]
            pub fn wait(mut self) -> $output {
                $crate::task::context::may_block($call);
                let outcome = self.operation.block_on(None).expect("without a deadline it waits until it is done");
                self.output(outcome)
            }

            $crate::sync::future::limits! { $kind $output $(; $ok, $timeout)?; $call }
        }

        impl<$($generics)*> std::future::Future for $future {
            type Output = $output;

            #[inline(always)]
            fn poll(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Self::Output> {
                match self.operation.poll(cx) {
                    std::task::Poll::Ready(outcome) => std::task::Poll::Ready(self.output(outcome)),
                    std::task::Poll::Pending => std::task::Poll::Pending,
                }
            }
        }

        impl<$($generics)*> Unpin for $future {}

        impl<$($generics)*> std::fmt::Debug for $future {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).field("waits", &self.operation.waits()).finish_non_exhaustive()
            }
        }
    };
}
pub(super) use future;

/// The waits with a limit.
macro_rules! limits {
    (plain $output:ty; $call:literal) => {
        /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with
        /// [`Duration::MAX`](std::time::Duration::MAX) it waits for ever.
        ///
        /// # Errors
        /// The time was up, and nothing has happened.
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        pub fn wait_timeout(
            mut self,
            d: std::time::Duration,
        ) -> Result<$output, $crate::task::error::Elapsed> {
            $crate::task::context::may_block($call);
            let deadline = $crate::task::thread::deadline_after(d);
            let outcome = self.operation.block_on(deadline).ok_or($crate::task::error::Elapsed::new())?;
            Ok(self.output(outcome))
        }

        /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`.
        ///
        /// # Errors
        /// The time was up, and nothing has happened.
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        pub fn wait_deadline(
            mut self,
            t: std::time::Instant,
        ) -> Result<$output, $crate::task::error::Elapsed> {
            $crate::task::context::may_block($call);
            let outcome = self.operation.block_on(Some(t)).ok_or($crate::task::error::Elapsed::new())?;
            Ok(self.output(outcome))
        }
    };
    (fallible $output:ty; $ok:ty, $timeout:ty; $call:literal) => {
        /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with
        /// [`Duration::MAX`](std::time::Duration::MAX) it waits for ever.
        ///
        /// # Errors
        /// The time was up, and nothing has happened; or as [`wait`](Self::wait).
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        pub fn wait_timeout(mut self, d: std::time::Duration) -> Result<$ok, $timeout> {
            $crate::task::context::may_block($call);
            let deadline = $crate::task::thread::deadline_after(d);
            let outcome = self.operation.block_on(deadline).ok_or(<$timeout>::Timeout)?;
            Ok(self.output(outcome)?)
        }

        /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`.
        ///
        /// # Errors
        /// As [`wait_timeout`](Self::wait_timeout).
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        pub fn wait_deadline(mut self, t: std::time::Instant) -> Result<$ok, $timeout> {
            $crate::task::context::may_block($call);
            let outcome = self.operation.block_on(Some(t)).ok_or(<$timeout>::Timeout)?;
            Ok(self.output(outcome)?)
        }
    };
}
pub(super) use limits;
