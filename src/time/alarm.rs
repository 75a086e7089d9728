//! A timer for somebody who is not a future (a ticker): a [`Sleep`] that stays with the executor that it was made on, on
//! whichever thread it is polled. Once that has ended, it goes to the default runtime with what was left of its time.

use std::task::{Poll, Waker};
use std::time::Instant;

use super::Sleep;
use crate::fiber::default_home;
use crate::task::context;
use crate::task::home::HomeRef;

/// See the module.
pub(crate) struct Alarm {
    sleep: Sleep,
    /// `None`: it never comes.
    home: Option<HomeRef>,
}

impl Alarm {
    /// One that never comes.
    pub(crate) fn never() -> Self {
        Alarm { sleep: Sleep::new(None, None, 0), home: None }
    }

    /// Of the executor that the caller runs on, due when `due` says, which is told the time.
    pub(crate) fn here(due: impl FnOnce(Instant) -> Option<Instant>) -> Self {
        Alarm::of(context::with_home(default_home, HomeRef::clone), due)
    }

    /// The same, of this executor.
    pub(crate) fn of(home: HomeRef, due: impl FnOnce(Instant) -> Option<Instant>) -> Self {
        let mut alarm = Alarm { home: Some(home), ..Alarm::never() };
        alarm.set(due);
        alarm
    }

    /// When it is due, by the clock of its executor; `None`: never.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.sleep.deadline()
    }

    /// Sets it anew.
    pub(crate) fn set(&mut self, due: impl FnOnce(Instant) -> Option<Instant>) {
        if let Some(home) = &self.home {
            self.sleep = Sleep::new(due(home.seam.now()), None, home.seam.clock_id());
        }
    }

    /// `Ready`: it is due, and was so at that instant. Otherwise the waker is woken then.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Instant> {
        let Some(home) = &mut self.home else { return Poll::Pending };
        let mut polled = self.sleep.poll_on(home, waker);
        if polled.is_none() {
            *home = default_home();
            polled = self.sleep.poll_on(home, waker);
        }
        polled
            .expect("the default runtime does not end")
            .map(|()| self.sleep.deadline().expect("a sleep without an end is never ready"))
    }
}
