//! Panics stay in their fiber, and somebody is told.

use crate::support::{Defer, SeqCst, panicking_waker, until};
use leno::fiber::{Builder, Cord, JoinError, JoinHandle, Runtime};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::Command;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::task::Poll;

fn text(error: JoinError) -> &'static str {
    assert!(error.is_panic() && !error.is_cancelled());
    error.into_panic().downcast_ref::<&'static str>().copied().expect("a literal")
}

/// A runtime of one worker, and the messages that its hook got.
fn told() -> (Runtime, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = told.clone();
    let runtime = Runtime::builder()
        .workers(1)
        .on_panic(move |fiber, payload| {
            let message = payload.downcast_ref::<&'static str>().copied().unwrap_or("?");
            log.lock().unwrap().push(format!("{}: {message}", fiber.name().unwrap_or("-")));
        })
        .build()
        .unwrap();
    (runtime, told)
}

fn alive(runtime: &Runtime) {
    assert_eq!(runtime.spawn(async { 1 }).wait().unwrap(), 1, "the worker lives");
}

#[test]
fn a_panic_in_poll_is_joined() {
    // F5, F14
    let (runtime, told) = told();
    let fiber: JoinHandle<()> = runtime.spawn(async { panic!("in poll") });
    let id = fiber.id();
    let error = fiber.wait().unwrap_err();
    assert_eq!((error.id(), error.to_string()), (Some(id), format!("fiber {id} panicked: in poll")));
    assert_eq!(format!("{error:?}"), format!("JoinError(\"fiber {id} panicked: in poll\")"));
    assert_eq!(text(error), "in poll");
    alive(&runtime);
    assert!(told.lock().unwrap().is_empty());
}

#[test]
fn an_error_names_its_fiber() {
    // F14, F15
    let (runtime, _told) = told();
    let (id, error) = runtime.block_on(async {
        let named: JoinHandle<()> = Builder::new().name("worker").spawn(async { panic_any(5) });
        (named.id(), named.await.unwrap_err())
    });
    assert_eq!((error.id(), error.to_string()), (Some(id), format!("fiber {id} `worker` panicked")));
    let cancelled = runtime.spawn(pending::<()>());
    let id = cancelled.id();
    cancelled.cancel();
    let error = cancelled.wait().unwrap_err();
    assert_eq!((error.id(), error.to_string()), (Some(id), format!("fiber {id} was cancelled")));
    let named = Builder::new().name("two\nlines").spawn_on(runtime.handle(), pending::<()>());
    named.cancel();
    let error = named.wait().unwrap_err();
    let told = (error.is_cancelled(), error.is_panic(), error.to_string());
    assert_eq!(told, (true, false, format!("fiber {} `two lines` was cancelled", error.id().unwrap())));
    assert!(error.try_into_panic().unwrap_err().is_cancelled());
}

#[test]
fn a_panic_in_the_futures_drop_is_joined() {
    // F5: after a value (which is dropped), after a cancel, and after a panic in the poll (which wins).
    let (runtime, told) = told();
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    // The bomb must be dropped with the future, not in the poll.
    let bomb = Bomb;
    let ready = runtime.spawn(poll_fn(move |_| {
        let _ = &bomb;
        Poll::Ready(5)
    }));
    assert_eq!(text(ready.wait().unwrap_err()), "in drop");
    alive(&runtime);

    let bomb = Bomb;
    let cancelled = runtime.spawn(async move {
        let _bomb = bomb;
        pending::<()>().await;
    });
    cancelled.cancel();
    assert_eq!(text(cancelled.wait().unwrap_err()), "in drop");
    alive(&runtime);

    let bomb = Bomb;
    let both = runtime.spawn(poll_fn(move |_| -> Poll<()> {
        let _ = &bomb;
        panic!("in poll")
    }));
    assert_eq!(text(both.wait().unwrap_err()), "in poll");
    alive(&runtime);
    assert!(told.lock().unwrap().is_empty());
}

#[test]
fn a_panic_in_the_outputs_drop_goes_to_the_hook() {
    // F5: dropped by the worker (detached before), and by the handle (detached after).
    let (runtime, told) = told();
    let bomb = || Defer(|| panic!("in output"));
    drop(runtime.spawn(async move { bomb() }));
    until(|| told.lock().unwrap().len() == 1);
    alive(&runtime);
    let fiber = leno::fiber::Builder::new().name("late");
    let (fiber,) = runtime.block_on(async move { (fiber.spawn(async move { bomb() }),) });
    until(|| fiber.is_finished());
    drop(fiber);
    assert_eq!(*told.lock().unwrap(), ["-: in output", "late: in output"]);
    alive(&runtime);
}

#[test]
fn a_detached_panic_goes_to_the_hook() {
    // F5: detached before it panics, and after; not when it was joined.
    let (runtime, told) = told();
    drop(runtime.spawn(async { panic!("before") }));
    until(|| told.lock().unwrap().len() == 1);
    let fiber: JoinHandle<()> = runtime.spawn(async { panic!("after") });
    until(|| fiber.is_finished());
    drop(fiber);
    assert_eq!(*told.lock().unwrap(), ["-: before", "-: after"]);
    let fiber: JoinHandle<()> = runtime.spawn(async { panic!("joined") });
    fiber.wait().unwrap_err();
    let cancelled = runtime.spawn(pending::<()>());
    cancelled.cancel();
    drop(cancelled);
    alive(&runtime);
    assert_eq!(told.lock().unwrap().len(), 2);
}

#[test]
fn a_panicking_hook_and_a_panicking_payload_kill_nobody() {
    // F5
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let runtime = Runtime::builder()
        .workers(1)
        .on_panic(move |_, _| {
            count.fetch_add(1, SeqCst);
            panic!("in the hook");
        })
        .build()
        .unwrap();
    drop(runtime.spawn(async { panic!("first") }));
    until(|| calls.load(SeqCst) == 1);
    alive(&runtime);
    drop(runtime.spawn(async { panic_any(Defer(|| panic!("in the payload"))) }));
    until(|| calls.load(SeqCst) == 2);
    alive(&runtime);
}

#[test]
fn the_hook_knows_who_and_where() {
    // F5, F15
    let seen = Arc::new(Mutex::new(None));
    let keep = seen.clone();
    let cord = Cord::builder().on_panic(move |fiber, _| *keep.lock().unwrap() = Some(fiber.clone())).build();
    let id = cord.block_on(async {
        let fiber = leno::fiber::Builder::new().name("teller").spawn_local(async { panic!("x") });
        let id = fiber.id();
        drop::<JoinHandle<()>>(fiber);
        leno::yield_now().await;
        id
    });
    let fiber = seen.lock().unwrap().take().unwrap();
    assert_eq!(fiber.id(), id);
    assert_eq!(fiber.name(), Some("teller"));
    assert!(fiber.spawned_at().file().ends_with("fiber/panic.rs"));
    assert!(fiber.is_finished());
    assert!(fiber.to_string().starts_with(&format!("fiber {id} `teller` (spawned at ")));
}

#[test]
fn a_panic_of_block_ons_future_goes_through_and_leaves_the_executor_usable() {
    let cord = Cord::new();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    for _ in 0..2 {
        let caught = catch_unwind(AssertUnwindSafe(|| cord.block_on(async { panic!("main") })));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "main");
        assert_eq!(cord.block_on(async { leno::fiber::spawn_local(async { 1 }).await.unwrap() }), 1);
        let caught = catch_unwind(AssertUnwindSafe(|| runtime.block_on(async { panic!("main") })));
        assert!(caught.is_err());
        alive(&runtime);
    }
}

#[test]
fn a_panicking_waker_of_a_joiner_kills_nobody() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let mut fiber = runtime.spawn(async move {
        gone.recv().unwrap();
        4
    });
    let waker = panicking_waker();
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(std::pin::Pin::new(&mut fiber).poll(&mut cx).is_pending());
    go.send(()).unwrap();
    until(|| fiber.is_finished());
    alive(&runtime);
    assert_eq!(fiber.wait().unwrap(), 4);
}

/// F5: without a hook it is told on the standard error, with name, place and message. (In a process of its own, to be read.)
#[test]
#[cfg_attr(miri, ignore = "no processes")]
fn without_a_hook_a_panic_that_nobody_joins_is_a_warning() {
    const CHILD: &str = "LENO_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        drop(Builder::new().name("loom").spawn_on(runtime.handle(), async { panic!("a thread tore") }));
        alive(&runtime);
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "panic::without_a_hook_a_panic_that_nobody_joins_is_a_warning", "--nocapture"]);
    let output = child.env(CHILD, "1").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let line = told.lines().find(|line| line.contains("nobody joined it")).expect("it is told");
    assert!(
        line.contains("`loom`") && line.contains("fiber/panic.rs") && line.contains("a thread tore"),
        "{line}"
    );
}
