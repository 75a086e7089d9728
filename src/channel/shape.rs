//! What the futures of the smaller kinds of channel have in common: each is one [`Operation`](crate::wait) in a field of
//! that name, polled, or waited for on a plain thread.

/// Makes a future of a struct whose field `operation` has the output `$output`; `$what` is the call as its user wrote it.
macro_rules! future {
    ([$($generics:tt)*] $future:ty, $name:literal, $what:literal, $branch:ty => $output:ty) => {
        impl<$($generics)*> std::future::Future for $future {
            type Output = $output;

            #[inline]
            fn poll(
                mut self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Self::Output> {
                self.operation.poll(cx)
            }
        }

        impl<$($generics)*> futures_core::future::FusedFuture for $future {
            fn is_terminated(&self) -> bool {
                self.operation.is_over()
            }
        }

        impl<$($generics)*> Unpin for $future {}

        impl<$($generics)*> std::fmt::Debug for $future {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).field("waits", &self.operation.waits()).finish_non_exhaustive()
            }
        }

        impl<$($generics)*> $future {
            /// Waits on a plain thread, which sleeps meanwhile.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
            #[track_caller]
            pub fn wait(mut self) -> $output {
                $crate::task::context::may_block($what);
                self.operation.block_on(None).expect("without a deadline it waits until it is done")
            }

            #[allow(private_interfaces, reason = "for select")]
            pub(crate) fn operation(&mut self) -> &mut $crate::wait::Operation<$branch> {
                &mut self.operation
            }
        }
    };
}

/// Gives such a future its waits with a limit, which say no more than that the time was up.
macro_rules! limits {
    ([$($generics:tt)*] $future:ty, $what:literal => $output:ty) => {
        impl<$($generics)*> $future {
            /// As [`wait`](Self::wait), for `d` at most. With `d` zero it looks once; with
            /// [`Duration::MAX`](std::time::Duration::MAX) it waits for ever.
            ///
            /// # Errors
            /// The time was up; nothing has happened.
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_timeout(
                mut self,
                d: std::time::Duration,
            ) -> Result<$output, $crate::task::error::Elapsed> {
                $crate::task::context::may_block($what);
                let deadline = $crate::task::thread::deadline_after(d);
                self.operation.block_on(deadline).ok_or($crate::task::error::Elapsed::new())
            }

            /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`. One in the past looks once.
            ///
            /// # Errors
            /// The time was up; nothing has happened.
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_deadline(
                mut self,
                t: std::time::Instant,
            ) -> Result<$output, $crate::task::error::Elapsed> {
                $crate::task::context::may_block($what);
                self.operation.block_on(Some(t)).ok_or($crate::task::error::Elapsed::new())
            }
        }
    };
}

pub(super) use {future, limits};
