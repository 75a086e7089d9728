//! A timer for somebody who is not a future (a ticker): one at a time, set at an executor, which wakes one waker.
//!
//! It stays with the executor that it was made on, on whichever thread it is polled; once that has ended, it goes to the
//! default runtime with what was left of its time.

use std::task::{Poll, Waker};
use std::time::Instant;

use crate::fiber::default_home;
use crate::task::context;
use crate::task::home::HomeRef;
use crate::task::seam::{TimerKey, TimerState};

/// See the module.
pub(crate) struct Alarm {
    /// `None`: it is never set.
    home: Option<HomeRef>,
    timer: Option<TimerKey>,
}

impl Alarm {
    /// Of the executor that the caller runs on.
    pub(crate) fn here() -> Self {
        Alarm::of(context::with_home(default_home, HomeRef::clone))
    }

    pub(crate) fn of(home: HomeRef) -> Self {
        Alarm { home: Some(home), timer: None }
    }

    /// One that is never set.
    pub(crate) fn none() -> Self {
        Alarm { home: None, timer: None }
    }

    fn home(&mut self) -> &HomeRef {
        self.home.get_or_insert_with(default_home)
    }

    /// By the clock of its executor.
    pub(crate) fn now(&self) -> Instant {
        self.home.as_ref().map_or_else(Instant::now, |home| home.seam.now())
    }

    /// `Ready`: `due` has come. Otherwise the waker is woken then. The caller changes `due` only after that. Where the
    /// executor has ended, `due` becomes an instant of another one's clock.
    pub(crate) fn poll(&mut self, due: &mut Instant, waker: &Waker) -> Poll<()> {
        loop {
            let home = self.home().clone();
            let now = home.seam.now();
            if now >= *due {
                self.clear();
                return Poll::Ready(());
            }
            let is_set = match self.timer {
                Some(key) => match home.seam.renew_timer(key, waker) {
                    TimerState::Pending => true,
                    TimerState::Fired => {
                        self.timer = None;
                        continue;
                    }
                    TimerState::Closed => false,
                },
                None => {
                    self.timer = home.seam.set_timer(context::worker_of(&home), *due, waker.clone());
                    self.timer.is_some()
                }
            };
            if is_set {
                return Poll::Pending;
            }
            self.timer = None;
            let new = default_home();
            if home.seam.clock_id() != new.seam.clock_id() {
                // (What no `Instant` can tell: by either clock it is too far away to come.)
                let left = due.saturating_duration_since(now);
                *due = new.seam.now().checked_add(left).unwrap_or(*due);
            }
            self.home = Some(new);
        }
    }

    fn clear(&mut self) {
        if let (Some(home), Some(key)) = (&self.home, self.timer.take()) {
            home.seam.clear_timer(key);
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.clear();
    }
}
