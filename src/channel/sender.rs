//! What the senders of all kinds have in common. Where there is only one, operations that wait or try take it by `&mut`.

/// The methods of a module's `Sender`, in terms of the module's own futures; each with additions to its docs. `mut`: where there is
/// only one sender. `|tx|`: the general sender.
macro_rules! sender {
    (
        [$($mut:tt)?] |$tx:ident| $borrowed:expr;
        $(#[$send:meta])* send;
        $(#[$sent:meta])* sent;
        $(#[$send_many:meta])* send_many;
        $(#[$closed:meta])* closed;
        $(#[$into_send:meta])* into_send;
    ) => {
        impl<T> Sender<T> {
            /// Sends `value`; waits while the channel is full or, on a rendezvous channel, until a receiver takes it.
            $(#[$send])*
            ///
            /// Cancelling: dropping the future while it waits means the value was not sent; [`SendFuture::into_inner`]
            /// gives it back.
            ///
            /// # Errors
            /// The channel is closed; the value comes back.
            $(#[$sent])*
            #[inline(always)]
            #[track_caller]
            pub fn send(&$($mut)? self, value: T) -> SendFuture<'_, T> {
                let $tx = self;
                SendFuture::new($borrowed, value)
            }

            /// Sends `value` if that needs no waiting. On a rendezvous channel: if a receiver waits.
            ///
            /// # Errors
            /// There is no room, or others wait for it; or the channel is closed. The value comes back.
            #[inline(always)]
            pub fn try_send(&$($mut)? self, value: T) -> Result<(), TrySendError<T>> {
                self.send(value).try_now()
            }

            /// Sends from a plain thread: [`send`](Self::send) and [`SendFuture::wait`].
            ///
            /// # Errors
            /// The channel is closed; the value comes back.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
            #[doc(alias = "blocking_send")]
            #[inline(always)]
            #[track_caller]
            pub fn send_blocking(&$($mut)? self, value: T) -> Result<(), SendError<T>> {
                self.send(value).wait()
            }

            /// As [`send_blocking`](Self::send_blocking), for at most `d` of real time: [`send`](Self::send) and
            /// [`SendFuture::wait_timeout`].
            ///
            /// # Errors
            /// The channel is closed, or the time was up before the value was sent; it comes back.
            ///
            /// # Panics
            /// As [`send_blocking`](Self::send_blocking).
            #[track_caller]
            pub fn send_timeout(&$($mut)? self, value: T, d: Duration) -> Result<(), SendTimeoutError<T>> {
                self.send(value).wait_timeout(d)
            }

            /// As [`send_timeout`](Self::send_timeout), until the instant `t`; one in the past means a single attempt.
            ///
            /// # Errors
            /// As [`send_timeout`](Self::send_timeout).
            ///
            /// # Panics
            /// As [`send_blocking`](Self::send_blocking).
            #[track_caller]
            pub fn send_deadline(&$($mut)? self, value: T, t: Instant) -> Result<(), SendTimeoutError<T>> {
                self.send(value).wait_deadline(t)
            }

            /// Sends all `values`, from the front; waits while there is no room for the next one. Returns how many were
            /// sent: all of them, unless the channel closes.
            ///
            /// The values stay in order; those of other senders, if there are any, may come in between. While nobody waits,
            /// several cost little more than one.
            ///
            /// Cancelling, or a close, leaves the unsent values in `values`, in order. As a branch of a select it completes
            /// as soon as one value is sent, with as many more as there is room for then; a branch that loses has sent
            /// nothing.
            ///
            /// # Errors
            /// The channel is closed and no value was sent, though there was one. (If some were sent before it closed, their
            /// number is returned instead.)
            $(#[$send_many])*
            #[track_caller]
            pub fn send_many<'a>(&'a $($mut)? self, values: &'a mut VecDeque<T>) -> SendMany<'a, T> {
                let $tx = self;
                SendMany::new($borrowed, values)
            }

            /// Sends as many `values` as possible without waiting, from the front; returns how many. The unsent ones stay
            /// in `values`.
            ///
            /// # Errors
            /// `values` was not empty and none was sent: there is no room, or others already wait for it, or the channel is
            /// closed.
            pub fn try_send_many(&$($mut)? self, values: &mut VecDeque<T>) -> Result<usize, TrySendError<()>> {
                self.send_many(values).try_now()
            }

            /// Waits until sends can only fail: the channel is closed, or its last receiver is gone. Cancellation-safe.
            $(#[$closed])*
            #[track_caller]
            pub fn closed(&$($mut)? self) -> Closed<'_, T> {
                let $tx = self;
                Closed::new($borrowed)
            }

            /// As [`send`](Self::send), in a future that owns this sender.
            $(#[$into_send])*
            #[track_caller]
            pub fn into_send(self, value: T) -> IntoSend<T> {
                IntoSend::new(self, value)
            }
        }
    };
}
pub(super) use sender;
