//! Places where operations run, and a crew of tasks spread over them.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use leno::channel::{RecvError, SendError};
use leno::fiber::{Cord, Runtime};
use leno::sync::{Mutex, MutexGuard};
use leno::{Receiver, Sender};

use super::poll::within;

/// Where a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A fiber of a runtime with two workers.
    Runtime,
    /// A fiber of a cord.
    Cord,
    /// A task of tokio's runtime with two workers.
    Tokio,
    /// A thread of its own.
    Thread,
}

thread_local! {
    static TURN: Cell<u32> = const { Cell::new(0) };
}

/// 0, 1, 2, 0, 1, 2, … per thread: the blocking forms take turns.
fn turn() -> u32 {
    TURN.with(|turn| turn.replace(turn.get() + 1) % 3)
}

impl Place {
    pub(crate) const ALL: [Place; 4] = [Place::Runtime, Place::Cord, Place::Tokio, Place::Thread];

    /// Sends as people do it here: `await`, or the blocking forms in turn.
    pub(crate) async fn send<T>(self, tx: &Sender<T>, value: T) -> Result<(), SendError<T>> {
        match self {
            Place::Thread => match turn() {
                0 => tx.send_blocking(value),
                1 => tx.send(value).wait(),
                _ => tx.send_timeout(value, Duration::MAX).map_err(|e| SendError(e.into_inner())),
            },
            _ => tx.send(value).await,
        }
    }

    /// Receives as people do it here.
    pub(crate) async fn recv<T>(self, rx: &Receiver<T>) -> Result<T, RecvError> {
        match self {
            Place::Thread => match turn() {
                0 => rx.recv_blocking(),
                1 => rx.recv().wait(),
                _ => rx.recv_timeout(Duration::MAX).map_err(|_| RecvError),
            },
            _ => rx.recv().await,
        }
    }

    /// Waits until sends can only fail.
    pub(crate) async fn closed<T>(self, tx: &Sender<T>) {
        match self {
            Place::Thread => tx.closed().wait(),
            _ => tx.closed().await,
        }
    }

    /// Locks as people do it here.
    pub(crate) async fn lock<T: ?Sized>(self, mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        match self {
            Place::Thread => match turn() {
                0 => mutex.lock_blocking(),
                1 => mutex.lock().wait(),
                _ => mutex.lock_timeout(Duration::MAX).expect("Duration::MAX never passes"),
            },
            _ => mutex.lock().await,
        }
    }

    /// Lets others run.
    pub(crate) async fn pause(self) {
        match self {
            Place::Runtime | Place::Cord => leno::yield_now().await,
            Place::Tokio => tokio::task::yield_now().await,
            Place::Thread => thread::yield_now(),
        }
    }
}

type Task = Box<dyn FnOnce(Place) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// Tasks that run side by side, all in one place or spread over several.
pub(crate) struct Crew {
    what: String,
    places: Vec<Place>,
    tasks: Vec<(Place, Task)>,
}

impl Crew {
    /// A crew whose members go to `places` in turn.
    pub(crate) fn new(what: impl Into<String>, places: &[Place]) -> Self {
        Crew { what: what.into(), places: places.to_vec(), tasks: Vec::new() }
    }

    /// Adds a member.
    pub(crate) fn add<F>(&mut self, task: impl FnOnce(Place) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let place = self.places[self.tasks.len() % self.places.len()];
        self.tasks.push((place, Box::new(move |place| Box::pin(task(place)))));
    }

    /// Runs all members to their end. A panic in one is the test's; a hang is reported with the crew's name.
    #[track_caller]
    pub(crate) fn run(self) {
        let what = format!("{} on {:?}", self.what, self.places);
        within(&what, move || self.run_here());
    }

    fn run_here(self) {
        let mut threads = Vec::new();
        let mut groups: [Vec<_>; 4] = [const { Vec::new() }; 4];
        for (place, task) in self.tasks {
            groups[place as usize].push(task);
        }
        for place in Place::ALL {
            let tasks = std::mem::take(&mut groups[place as usize]);
            if tasks.is_empty() {
                continue;
            }
            match place {
                Place::Runtime => threads.push(thread::spawn(move || run_on_runtime(tasks))),
                Place::Cord => threads.push(thread::spawn(move || run_on_cord(tasks))),
                Place::Tokio => threads.push(thread::spawn(move || run_on_tokio(tasks))),
                Place::Thread => {
                    threads.extend(tasks.into_iter().map(|task| thread::spawn(move || run_on_thread(task))));
                }
            }
        }
        let mut panics = threads.into_iter().filter_map(|thread| thread.join().err()).collect::<Vec<_>>();
        if let Some(panic) = panics.pop() {
            std::panic::resume_unwind(panic);
        }
    }
}

fn run_on_runtime(tasks: Vec<Task>) {
    let runtime = Runtime::builder().workers(2).build().expect("a runtime with two workers starts");
    let fibers = tasks.into_iter().map(|task| runtime.spawn(task(Place::Runtime))).collect::<Vec<_>>();
    runtime.block_on(async {
        for fiber in fibers {
            fiber.await.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic()));
        }
    });
}

fn run_on_cord(tasks: Vec<Task>) {
    let cord = Cord::new();
    let fibers = tasks.into_iter().map(|task| cord.spawn_local(task(Place::Cord))).collect::<Vec<_>>();
    cord.block_on(async {
        for fiber in fibers {
            fiber.await.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic()));
        }
    });
}

fn run_on_tokio(tasks: Vec<Task>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("tokio's runtime starts");
    let tasks = tasks.into_iter().map(|task| runtime.spawn(task(Place::Tokio))).collect::<Vec<_>>();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic()));
        }
    });
}

fn run_on_thread(task: Task) {
    let poll = pin!(task(Place::Thread)).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(poll, Poll::Ready(()), "on a thread every operation blocks, none is pending");
}

/// A `#[test]` per place, and one with all of them mixed (C19), for the scenario `$scenario: fn(&[Place])`.
#[macro_export]
macro_rules! each_place {
    ($($scenario:ident),* $(,)?) => {$(
        mod $scenario {
            use $crate::support::Place;
            #[test]
            fn runtime() {
                super::$scenario(&[Place::Runtime]);
            }
            #[test]
            fn cord() {
                super::$scenario(&[Place::Cord]);
            }
            #[test]
            fn tokio() {
                super::$scenario(&[Place::Tokio]);
            }
            #[test]
            fn threads() {
                super::$scenario(&[Place::Thread]);
            }
            #[test]
            fn mixed() {
                super::$scenario(&Place::ALL);
            }
        }
    )*};
}
