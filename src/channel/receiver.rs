//! What the receivers of all kinds have in common. Where there is only one, operations that wait or try take it by `&mut`.

/// The methods of a module's `Receiver`, in terms of the module's own futures and iterators; each with additions to its docs.
/// `mut`: where there is only one receiver. `|rx|`: the general receiver.
macro_rules! receiver {
    (mut) => {
        receiver! {
            [mut] |rx| &rx.0;
            recv;
            ///
            /// See [`leno::Receiver::recv_many`](crate::Receiver::recv_many) for an example.
            recv_many;
            drain;
            /// See [`leno::Receiver::into_recv`](crate::Receiver::into_recv).
            into_recv;
            into_iter;
        }
    };
    (
        [$($mut:tt)?] |$rx:ident| $borrowed:expr;
        $(#[$recv:meta])* recv;
        $(#[$recv_many:meta])* recv_many;
        $(#[$drain:meta])* drain;
        $(#[$into_recv:meta])* into_recv;
        $(#[$into_iter:meta])* into_iter;
    ) => {
        impl<T> Receiver<T> {
            /// Receives the next value; waits while there is none.
            $(#[$recv])*
            ///
            /// Cancellation-safe: dropping the future never loses a value. One that was already handed to it goes to the
            /// next receive, before all values yet to be sent.
            ///
            /// # Errors
            /// The channel is closed and empty.
            #[inline(always)]
            #[track_caller]
            pub fn recv(&$($mut)? self) -> RecvFuture<'_, T> {
                let $rx = self;
                RecvFuture::new($borrowed)
            }

            /// Receives a value if there is one now. On a rendezvous channel: if a sender waits, whose send then completes.
            ///
            /// # Errors
            /// There is none now, or the channel is closed and empty.
            #[inline(always)]
            pub fn try_recv(&$($mut)? self) -> Result<T, TryRecvError> {
                self.recv().try_now()
            }

            /// Receives on a plain thread: [`recv`](Self::recv) and [`RecvFuture::wait`].
            ///
            /// # Errors
            /// The channel is closed and empty.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
            #[doc(alias = "blocking_recv")]
            #[inline(always)]
            #[track_caller]
            pub fn recv_blocking(&$($mut)? self) -> Result<T, RecvError> {
                self.recv().wait()
            }

            /// As [`recv_blocking`](Self::recv_blocking), for at most `d` of real time: [`recv`](Self::recv) and
            /// [`RecvFuture::wait_timeout`].
            ///
            /// # Errors
            /// The channel is closed and empty, or the time was up; then nothing was received.
            ///
            /// # Panics
            /// As [`recv_blocking`](Self::recv_blocking).
            #[track_caller]
            pub fn recv_timeout(&$($mut)? self, d: Duration) -> Result<T, RecvTimeoutError> {
                self.recv().wait_timeout(d)
            }

            /// As [`recv_timeout`](Self::recv_timeout), until the instant `t`; one in the past means a single attempt.
            ///
            /// # Errors
            /// As [`recv_timeout`](Self::recv_timeout).
            ///
            /// # Panics
            /// As [`recv_blocking`](Self::recv_blocking).
            #[track_caller]
            pub fn recv_deadline(&$($mut)? self, t: Instant) -> Result<T, RecvTimeoutError> {
                self.recv().wait_deadline(t)
            }

            /// Appends the available values to `out`, at most `max`; waits only for the first one. Returns how many: at
            /// least one, or 0 if `max` is 0, whether or not the channel is closed. What comes meanwhile counts: beside senders
            /// that are as quick `max` is its only limit.
            ///
            /// The values come in the order in which they were sent. While nobody waits, several cost little more than one.
            /// `out` grows by the number of values received, not by `max`.
            ///
            /// Cancellation-safe: dropping the future never loses a value; what was received is in `out`. As a branch of a
            /// select it is claimed by its first value, and takes the rest once it has won: a branch that loses has taken
            /// nothing.
            ///
            /// # Errors
            /// The channel is closed and empty.
            $(#[$recv_many])*
            #[track_caller]
            pub fn recv_many<'a>(&'a $($mut)? self, out: &'a mut Vec<T>, max: usize) -> RecvMany<'a, T> {
                let $rx = self;
                RecvMany::new($borrowed, out, max)
            }

            /// Appends the values available now to `out`, at most `max`, without waiting; returns how many. As with
            /// [`recv_many`](Self::recv_many), what comes meanwhile counts.
            ///
            /// # Errors
            /// There is none now, or the channel is closed and empty. No error if `max` is 0.
            pub fn try_recv_many(&$($mut)? self, out: &mut Vec<T>, max: usize) -> Result<usize, TryRecvError> {
                self.recv_many(out, max).try_now()
            }

            /// Takes what is in the channel now, without waiting: at most as many values as it held at the call. Each value is
            /// taken when the iterator reaches it; those that it does not reach stay in the channel.
            $(#[$drain])*
            pub fn drain(&$($mut)? self) -> Drain<'_, T> {
                let $rx = self;
                Drain { left: $rx.len(), receiver: $borrowed }
            }

            /// An iterator that receives on a plain thread until the channel is closed and empty; each step blocks, and
            /// panics in a fiber of a [`Cord`](crate::fiber::Cord), as [`recv_blocking`](Self::recv_blocking) does.
            pub fn iter(&$($mut)? self) -> Iter<'_, T> {
                let $rx = self;
                Iter { receiver: $borrowed }
            }

            /// Receives without waiting, until there is no value.
            pub fn try_iter(&$($mut)? self) -> TryIter<'_, T> {
                let $rx = self;
                TryIter { receiver: $borrowed }
            }

            /// A stream of the channel's values; it ends when the channel is closed and empty.
            ///
            /// Dropping it leaves no waiter behind; a value that was handed to it goes to the next receive. But one that was polled
            /// in vain and is kept [stays in line](crate::channel#a-receive-that-nobody-polls), also if its `next()` is dropped: in a
            /// `select!` use `recv()`.
            #[track_caller]
            pub fn stream(&$($mut)? self) -> RecvStream<'_, T> {
                let $rx = self;
                RecvStream::new($borrowed)
            }

            /// As [`recv`](Self::recv), in a future that keeps this receiver.
            $(#[$into_recv])*
            #[track_caller]
            pub fn into_recv(self) -> IntoRecv<T> {
                IntoRecv::new(self)
            }

            /// As [`stream`](Self::stream), keeping the receiver.
            #[track_caller]
            pub fn into_stream(self) -> IntoStream<T> {
                IntoStream::new(self)
            }
        }

        impl<T> IntoIterator for Receiver<T> {
            type Item = T;
            type IntoIter = IntoIter<T>;

            fn into_iter(self) -> IntoIter<T> {
                IntoIter { receiver: self }
            }
        }

        $(#[$into_iter])*
        impl<'a, T> IntoIterator for &'a mut Receiver<T> {
            type Item = T;
            type IntoIter = Iter<'a, T>;

            fn into_iter(self) -> Iter<'a, T> {
                self.iter()
            }
        }
    };
}
pub(super) use receiver;
