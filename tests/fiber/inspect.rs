//! Dumps: who is there, what they wait for, the graph; and what is told of slow polls.

use crate::support::{Latch, Stash, in_time, keep_warnings, until, warnings};
use leno::fiber::{self, Builder, Cord, FiberId, Runtime, unblock};
use leno::inspect::{self, Dump, FiberInfo, FiberState};
use leno::select::{Select, foreign};
use leno::sync::{
    Barrier, Condvar, Mutex, Notify, OnceCell, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, Semaphore, WaitGroup,
};
use leno::time::Clock;
use leno::{bounded, rendezvous, select, select_blocking, sleep, spawn, unbounded, yield_now};
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

/// Whether places and holders are known.
const PLACES: bool = cfg!(debug_assertions);

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).inspect(true).build().unwrap()
}

fn find_living(dump: &Dump, id: FiberId) -> Option<&FiberInfo> {
    dump.fibers().iter().find(|fiber| fiber.id() == id)
}

fn find(dump: &Dump, id: FiberId) -> &FiberInfo {
    find_living(dump, id).expect("it lives")
}

/// A dump in which that fiber waits.
fn dump_waiting(runtime: &Runtime, id: FiberId) -> Dump {
    loop {
        let dump = runtime.dump();
        if find(&dump, id).state() == FiberState::Waiting {
            return dump;
        }
        thread::yield_now();
    }
}

/// Wakes a fiber that parks, and looks on until it has been polled anew, or has ended.
fn unpark(runtime: &Runtime, parks: &FiberInfo) {
    fiber::find(parks.id()).unwrap().unpark();
    until(|| find_living(&runtime.dump(), parks.id()).is_none_or(|now| now.polls() > parks.polls()));
}

/// What a fiber shows that waits for `future`: each wait as text, with `LINE` for what was said at `line` of this file,
/// and `@` for addresses.
fn shows<F: Future<Output = ()> + Send + 'static>(line: u32, future: F) -> Vec<String> {
    let runtime = runtime(1);
    let fiber = runtime.spawn(future);
    let dump = dump_waiting(&runtime, fiber.id());
    let place = format!("{}:{line}:", file!());
    let texts = find(&dump, fiber.id()).waits().iter().map(|wait| {
        if let Some(at) = wait.place().filter(|_| wait.fiber().is_none()) {
            assert!(at.to_string().starts_with(&place), "{wait} is of {place}");
        }
        assert_eq!(wait.place().is_some(), PLACES || wait.fiber().is_some(), "{wait}");
        let mut text = wait.operation().to_owned();
        if let Some(object) = wait.object() {
            assert!(object.to_string().starts_with(&format!("{}@", object.kind())), "{object}");
            text = format!("{text} {}", object.kind());
        }
        if wait.fiber().is_some() {
            text += " fiber";
        }
        if wait.left().is_some() {
            text += " time";
        }
        text
    });
    texts.collect()
}

#[test]
fn each_kind_of_wait_shows() {
    in_time(|| {
        let hour = Duration::from_secs(3600);
        let (tx, rx) = rendezvous::<u8>();
        let (t, r) = (tx.clone(), rx.clone());
        assert_eq!(shows(line!(), async move { _ = t.send(1).await }), ["send channel"]);
        assert_eq!(shows(line!(), async move { _ = r.recv().await }), ["recv channel"]);
        let t = tx.clone();
        assert_eq!(shows(line!(), async move { t.closed().await }), ["closed channel"]);
        let token = fiber::CancelToken::new();
        let t = token.clone();
        assert_eq!(shows(line!(), async move { t.cancelled().await }), ["cancelled cancel token"]);
        assert_eq!(
            shows(line!(), async move { _ = token.run_until_cancelled(pending::<()>()).await }),
            ["cancelled cancel token"]
        );
        let mutex = Arc::new(Mutex::new(()));
        let guard = mutex.try_lock_arc().unwrap();
        let m = mutex.clone();
        assert_eq!(shows(line!(), async move { _ = m.lock().await }), ["lock mutex"]);
        let m = mutex.clone();
        assert_eq!(shows(line!(), async move { _ = m.lock_arc().await }), ["lock mutex"]);
        drop(guard);
        let semaphore = Arc::new(Semaphore::new(0));
        let s = semaphore.clone();
        assert_eq!(shows(line!(), async move { _ = s.acquire_many(2).await }), ["acquire semaphore"]);
        assert_eq!(shows(line!(), async move { _ = semaphore.acquire_arc().await }), ["acquire semaphore"]);
        let lock = Arc::new(RwLock::new(()));
        let reader = lock.try_upgradable_read().unwrap();
        let (a, b) = (lock.clone(), lock.clone());
        assert_eq!(shows(line!(), async move { _ = a.write().await }), ["write rwlock"]);
        assert_eq!(shows(line!(), async move { _ = b.upgradable_read().await }), ["upgradable_read rwlock"]);
        drop(reader);
        let writer = lock.try_write().unwrap();
        let l = lock.clone();
        assert_eq!(shows(line!(), async move { _ = l.read().await }), ["read rwlock"]);
        drop(writer);
        let notify = Notify::new();
        assert_eq!(shows(line!(), async move { notify.notified().await }), ["notified notify"]);
        let barrier = Barrier::new(2);
        assert_eq!(shows(line!(), async move { _ = barrier.wait_for_all().await }), ["wait_for_all barrier"]);
        let group = WaitGroup::new();
        group.add(1);
        assert_eq!(shows(line!(), async move { group.wait_all().await }), ["wait_all wait group"]);
        let (condvar, m) = (Condvar::new(), mutex.clone());
        let waits = async move { drop(condvar.wait(m.try_lock().unwrap()).await) };
        assert_eq!(shows(line!() - 1, waits), ["wait condvar"]);
        let cell = Arc::new(OnceCell::new());
        let held = cell.clone();
        let mut held = Box::pin(async move {
            held.get_or_init(pending::<()>).await;
        });
        assert!(held.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let waits = async move { _ = cell.get_or_init(async || ()).await };
        assert_eq!(shows(line!() - 1, waits), ["get_or_init once cell"]);
        assert_eq!(shows(line!(), async move { sleep(hour).await }), ["sleep time"]);
        assert_eq!(shows(line!(), async move { sleep(Duration::MAX).await }), ["sleep"]);
        assert_eq!(shows(line!(), async move { fiber::park().await }), ["park"]);
        assert_eq!(
            shows(line!(), async move { _ = fiber::park_timeout(hour).await }),
            ["park", "sleep time"]
        );
        let r = rx.clone();
        assert_eq!(
            shows(line!(), async move { _ = leno::timeout(hour, r.recv()).await }),
            ["recv channel", "sleep time"]
        );
        assert_eq!(shows(line!(), async move { _ = spawn(pending::<()>()).await }), ["join fiber"]);
        let r = rx.clone();
        let next = async move { _ = futures_util::StreamExt::next(&mut r.stream()).await };
        assert_eq!(shows(line!() - 1, next), ["recv channel"]);
        let latch = Latch::default();
        let wait = latch.clone();
        let blocked = async move { unblock(move || wait.wait()).await };
        assert_eq!(shows(line!() - 1, blocked), ["unblock"]);
        latch.open();
        assert_eq!(shows(line!(), pending()), [""; 0]);
    });
}

/// A ticker works for nobody: what it waits for is not what the fiber does that has made it, and runs it as it takes a tick.
#[test]
fn a_fiber_does_not_show_what_its_ticker_waits_for() {
    in_time(|| {
        let (_tx, rx) = rendezvous::<u8>();
        let waits = async move {
            let ticks = leno::channel::ticker::tick(Duration::from_nanos(1));
            while ticks.try_recv().is_err() {}
            _ = rx.recv().await;
        };
        assert_eq!(shows(line!() - 2, waits), ["recv channel"]);
    });
}

#[test]
fn a_select_shows_its_branches() {
    in_time(|| {
        let (tx, rx) = rendezvous::<u8>();
        let (full, _room) = bounded::<u8>(1);
        full.try_send(1).unwrap();
        let mutex = Arc::new(Mutex::new(()));
        let _guard = mutex.try_lock_arc().unwrap();
        let runtime = runtime(2);
        let never = false;
        let (tx2, lock) = (full.clone(), mutex.clone());
        let fiber = runtime.spawn(async move {
            select! {
                biased;
                _ = rx.recv() => {}
                _ = tx2.send(2) => {}
                _ = rx.recv(), if never => {}
                _guard = lock.lock() => {}
                () = sleep(Duration::from_secs(3600)) => {}
            }
        });
        let dump = dump_waiting(&runtime, fiber.id());
        let waits = find(&dump, fiber.id()).waits();
        let mut operations: Vec<_> = waits.iter().map(|wait| wait.operation()).collect();
        operations.sort_unstable();
        assert_eq!(operations, ["lock", "recv", "send", "sleep"], "{dump}");
        let objects: std::collections::HashSet<_> = waits.iter().filter_map(|wait| wait.object()).collect();
        assert_eq!(objects.len(), 3, "three things");
        let lines: std::collections::HashSet<_> =
            waits.iter().filter_map(|wait| wait.place()).map(|place| place.line()).collect();
        assert_eq!(lines.len(), if PLACES { 4 } else { 0 }, "each branch has a line of its own");
        // Another one at the same thing.
        let tx3 = full.clone();
        let other = runtime.spawn(async move { _ = tx3.send(3).await });
        let dump = dump_waiting(&runtime, other.id());
        let send =
            |id| find(&dump, id).waits().iter().find(|wait| wait.operation() == "send").unwrap().object();
        assert!(send(fiber.id()) == send(other.id()));
        drop(tx);
        fiber.wait().unwrap();
    });
}

/// Members of a set are polled only when they were woken, and all of them show.
#[test]
fn members_of_a_set_show_until_they_end() {
    in_time(|| {
        let runtime = runtime(1);
        let (tx, rx) = rendezvous::<u8>();
        let (end, stop) = rendezvous::<u8>();
        let stash = Stash::default();
        let (first, never) = (stash.pending(), stash.clone());
        let fiber = runtime.spawn(async move {
            let parked = async {
                first.await;
                unreachable!("it is never ready")
            };
            let received = async { _ = rx.recv().await };
            let slept = async { sleep(Duration::from_secs(3600)).await };
            let all: [std::pin::Pin<Box<dyn Future<Output = ()> + Send>>; 3] =
                [Box::pin(parked), Box::pin(received), Box::pin(slept)];
            let set = fiber::join_all(all);
            select! {
                _ = set => unreachable!("one is never ready"),
                _ = stop.recv() => {}
            }
            fiber::park().await;
        });
        let shown = || {
            let dump = dump_waiting(&runtime, fiber.id());
            let waits = find(&dump, fiber.id()).waits();
            let mut operations: Vec<_> = waits.iter().map(|wait| wait.operation()).collect();
            operations.sort_unstable();
            operations
        };
        // The other branch is the second receive.
        assert_eq!(shown(), ["recv", "recv", "sleep"]);
        never.waker().unwrap().wake();
        until(|| never.polls() >= 2);
        assert_eq!(shown(), ["recv", "recv", "sleep"]);
        // One that has ended shows no more.
        tx.send_blocking(1).unwrap();
        until(|| shown() == ["recv", "sleep"]);
        // The set is dropped.
        end.send_blocking(1).unwrap();
        until(|| shown() == ["park"]);
    });
}

#[test]
fn who_waits_for_a_scope_waits_for_its_fibers() {
    in_time(|| {
        let runtime = runtime(2);
        let (tx, rx) = rendezvous::<u8>();
        let scope = runtime.spawn(fiber::scope(async move |scope: &fiber::Scope| {
            drop(scope.spawn(async move { _ = rx.recv().await }));
            drop(scope.spawn(fiber::park()));
        }));
        let members = || {
            let dump = runtime.dump();
            let waits = find(&dump, scope.id()).waits();
            assert!(waits.iter().all(|wait| wait.operation() == "scope"), "{dump}");
            waits.iter().filter_map(|wait| wait.fiber()).collect::<Vec<_>>()
        };
        until(|| members().len() == 2);
        let parked = members()[1];
        tx.send_blocking(1).unwrap();
        until(|| members() == [parked]);
        assert!(runtime.dump().to_dot().contains(&format!("f{} -> f{parked} [label=\"scope\"]", scope.id())));
        fiber::find(parked).unwrap().unpark();
        scope.wait().unwrap().unwrap();
        // Of many members some are noted: when these have ended it waits for the others all the same.
        let ((first, firsts), (last, lasts)) = (unbounded::<u8>(), unbounded::<u8>());
        let scope = runtime.spawn(fiber::scope(async move |scope: &fiber::Scope| {
            for n in 0..200 {
                let rx = if n < 150 { firsts.clone() } else { lasts.clone() };
                drop(scope.spawn(async move { _ = rx.recv().await }));
            }
        }));
        let waits = || find(&runtime.dump(), scope.id()).waits().to_vec();
        until(|| waits().len() > 10);
        assert!(waits().len() <= 150, "the first ones");
        drop(first);
        until(|| runtime.dump().fibers().len() == 51);
        let left = waits();
        assert_eq!((left.len(), left[0].operation(), left[0].fiber()), (1, "scope", None));
        drop(last);
        scope.wait().unwrap().unwrap();
        // A member may be another runtime's fiber.
        let other = Runtime::builder().workers(1).build().unwrap();
        let elsewhere = other.handle().clone();
        let scope = runtime.spawn(fiber::scope(async move |scope: &fiber::Scope| {
            drop(Builder::new().scope(scope).spawn_on(&elsewhere, fiber::park()));
        }));
        until(|| find(&runtime.dump(), scope.id()).waits().iter().any(|wait| wait.operation() == "scope"));
        until(|| other.dump().fibers().len() == 1);
        let parked = other.dump().fibers()[0].id();
        fiber::find(parked).unwrap().unpark();
        scope.wait().unwrap().unwrap();
    });
}

#[test]
fn states_polls_and_times_show() {
    in_time(|| {
        let runtime = runtime(1);
        let (stash, go) = (Stash::default(), Latch::default());
        let waits = Builder::new().name("waits").spawn_in(&runtime, stash.pending());
        dump_waiting(&runtime, waits.id());
        stash.waker().unwrap().wake();
        until(|| stash.polls() == 2);
        let dump = dump_waiting(&runtime, waits.id());
        let info = find(&dump, waits.id());
        assert_eq!((info.name(), info.polls()), (Some("waits"), Some(2)));
        assert!(info.in_state().is_some() && info.longest_poll().is_some());
        assert_eq!(info.spawned_at().file(), file!());
        assert!(!info.is_cancelled());

        // One runs, and the one behind it is ready.
        let wait = go.clone();
        let runs = runtime.spawn(async move { wait.wait() });
        until(|| find(&runtime.dump(), runs.id()).state() == FiberState::Running);
        stash.waker().unwrap().wake();
        waits.cancel();
        let dump = runtime.dump();
        let info = find(&dump, waits.id());
        assert_eq!((info.state(), info.is_cancelled(), info.waits().len()), (FiberState::Ready, true, 0));
        assert!(dump.to_string().contains("ready, cancelled"), "{dump}");
        go.open();
        runs.wait().unwrap();
        assert!(waits.wait().unwrap_err().is_cancelled());
        // Nothing of the dead.
        until(|| runtime.dump().fibers().is_empty());
        assert!(runtime.dump().to_string().ends_with("0 fibers\n") || !PLACES);
    });
}

/// `Builder` has no way to spawn from outside a runtime.
trait SpawnIn {
    fn spawn_in<F>(self, runtime: &Runtime, future: F) -> fiber::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
}

impl SpawnIn for Builder {
    fn spawn_in<F>(self, runtime: &Runtime, future: F) -> fiber::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        runtime.block_on(async { Some(self.spawn(future)) }).expect("it was spawned")
    }
}

#[test]
fn a_fiber_that_blocks_runs_and_shows_for_what() {
    in_time(|| {
        keep_warnings();
        let runtime = runtime(2);
        let (tx, rx) = rendezvous::<u8>();
        let blocks = runtime.spawn(async move { rx.recv_blocking() });
        let shows = || {
            let dump = runtime.dump();
            let info = find(&dump, blocks.id());
            let operations: Vec<_> = info.waits().iter().map(|wait| wait.operation()).collect();
            info.state() == FiberState::Running && operations == ["recv"]
        };
        until(shows);
        tx.send_blocking(1).unwrap();
        assert_eq!(blocks.wait().unwrap(), Ok(1));
    });
}

#[test]
fn what_is_over_does_not_show() {
    in_time(|| {
        let runtime = runtime(1);
        let (tx, rx) = rendezvous::<u8>();
        let fiber = runtime.spawn(async move {
            let _ = rx.recv().await;
            fiber::park().await;
        });
        assert_eq!(find(&dump_waiting(&runtime, fiber.id()), fiber.id()).waits()[0].operation(), "recv");
        tx.send_blocking(1).unwrap();
        until(|| {
            let dump = runtime.dump();
            let waits = find(&dump, fiber.id()).waits();
            waits.len() == 1 && waits[0].operation() == "park"
        });
    });
}

/// Nor does what was given up in the poll that goes on to something else.
#[test]
fn what_was_given_up_does_not_show() {
    async fn parks(gives_up: impl Future) {
        gives_up.await;
        fiber::park().await;
    }
    in_time(|| {
        let runtime = runtime(1);
        let soon = || sleep(Duration::from_millis(1));
        let other = || spawn(pending::<()>());
        let token = fiber::CancelToken::new();
        let cancelled = token.clone();
        let (held, holds) = rendezvous::<()>();
        let defaults = held.clone();
        let fibers = [
            runtime.spawn(parks(async move { leno::timeout(Duration::from_millis(1), other()).await })),
            runtime.spawn(parks(async move { fiber::race(other(), soon()).await })),
            runtime.spawn(parks(async move {
                select! {
                    _ = other() => {}
                    _ = soon() => {}
                }
            })),
            runtime.spawn(parks(async move {
                select! {
                    _ = held.send(()) => {}
                    _ = soon() => {}
                }
            })),
            runtime.spawn(parks(async move {
                select! {
                    _ = defaults.send(()) => {}
                    default(Duration::from_millis(1)) => {}
                }
            })),
            runtime.spawn(parks(async move {
                select! {
                    _ = other() => {}
                    default => {}
                }
            })),
            runtime.spawn(parks(async move {
                select_blocking! {
                    _ = other() => {}
                    default => {}
                }
            })),
            runtime.spawn(parks(async move {
                let mut set = Select::new();
                set.add(foreign(other()));
                assert!(set.try_select().is_none() && set.try_ready().is_none());
            })),
            runtime.spawn(parks(async move {
                let (mut set, (tx, rx)) = (Select::biased(), bounded(1));
                tx.try_send(()).unwrap();
                set.add(foreign(other()));
                set.recv(rx);
                set.ready().await
            })),
            runtime.spawn(parks(async move { cancelled.run_until_cancelled(other()).await })),
            runtime.spawn(parks(async move { other().wait_timeout(Duration::from_millis(1)) })),
        ];
        token.cancel();
        for fiber in &fibers {
            until(|| {
                let dump = runtime.dump();
                let waits = find(&dump, fiber.id()).waits();
                let parks = waits.iter().any(|wait| wait.operation() == "park");
                assert!(!parks || waits.len() == 1, "{waits:?}");
                parks
            });
        }
        drop(holds);
    });
}

#[test]
fn an_executor_that_is_not_inspected_shows_who_is_there() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).inspect(false).build().unwrap();
        let named = Builder::new().name("n").spawn_in(&runtime, pending::<()>());
        let dump = dump_waiting(&runtime, named.id());
        let info = find(&dump, named.id());
        assert_eq!((info.name(), info.polls(), info.in_state()), (Some("n"), None, None));
        assert_eq!(info.spawned_at().file(), file!());
        let text = dump.to_string();
        assert!(text.contains("inspect(true)") && text.contains(file!()), "{text}");
        let go = Latch::default();
        let wait = go.clone();
        let runs = runtime.spawn(async move { wait.wait() });
        until(|| find(&runtime.dump(), runs.id()).state() == FiberState::Runnable);
        go.open();
        runs.wait().unwrap();
    });
}

#[test]
fn cords_and_the_default_runtime_have_dumps() {
    in_time(|| {
        let cord = Cord::builder().inspect(true).build();
        let (_tx, rx) = rendezvous::<u8>();
        let waits = cord.spawn_local(async move { _ = rx.recv().await });
        let dump = cord.block_on(async {
            yield_now().await;
            cord.dump()
        });
        assert_eq!(find(&dump, waits.id()).waits()[0].operation(), "recv");
        let main = dump.fibers().iter().find(|fiber| fiber.state() == FiberState::Running).unwrap();
        assert_eq!(main.spawned_at().file(), file!());
        // Where the caller runs.
        let me = cord.block_on(async { (fiber::current().id(), inspect::dump()) });
        assert!(me.1.fibers().iter().any(|fiber| fiber.id() == me.0));
        let me = leno::block_on(async { (fiber::current().id(), inspect::dump()) });
        assert!(me.1.fibers().iter().any(|fiber| fiber.id() == me.0));
    });
}

/// Ids and addresses become numbers in the order of their appearance.
fn normalised(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit() || c == '@') {
        let (before, from) = rest.split_at(at);
        let is_address = from.starts_with('@');
        let end = from[1..].find(|c: char| !c.is_ascii_hexdigit() || !is_address && !c.is_ascii_digit());
        let (word, after) = from.split_at(end.map_or(from.len(), |end| end + 1));
        out.push_str(before);
        let is_object = !is_address && before.ends_with('o');
        if is_object {
            // Already numbered in order.
            out.push_str(word);
        } else {
            let number = known.iter().position(|other| other == word).unwrap_or_else(|| {
                known.push(word.to_owned());
                known.len() - 1
            });
            out.push_str(&format!("#{number}"));
        }
        rest = after;
    }
    out + rest
}

/// Two fibers, each of which has one lock and waits for the other one's; and one that joins the first.
fn circle() -> (Runtime, Dump) {
    let runtime = runtime(2);
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let grab = |first: Arc<Mutex<()>>, second: Arc<Mutex<()>>| async move {
        let _first = first.lock().await;
        while second.try_lock().is_some() {
            yield_now().await;
        }
        let _second = second.lock().await;
    };
    let one = Builder::new().name("one \"quoted\"").spawn_in(&runtime, grab(a.clone(), b.clone()));
    let two = Builder::new().name("two <&>").spawn_in(&runtime, grab(b, a));
    let joins = runtime.spawn(async move {
        select! {
            biased;
            _ = one => {}
            () = fiber::park() => {}
        }
    });
    drop(two);
    let all_wait = |dump: &Dump| dump.fibers().iter().all(|fiber| fiber.state() == FiberState::Waiting);
    loop {
        let dump = runtime.dump();
        if dump.fibers().len() == 3 && all_wait(&dump) {
            drop(joins);
            return (runtime, dump);
        }
        thread::yield_now();
    }
}

#[test]
fn the_graph_of_a_circle() {
    if !PLACES {
        return;
    }
    in_time(|| {
        let (_runtime, dump) = circle();
        assert_eq!(
            normalised(&dump.to_dot()),
            r#"digraph leno {
    rankdir=LR;
    f#0 [label="fiber #0 `one \"quoted\"`\nwaiting"];
    f#1 [label="fiber #1 `two <&amp;>`\nwaiting"];
    f#2 [label="fiber #2\nwaiting: park"];
    o0 [label="mutex#3", shape=box];
    o1 [label="mutex#4", shape=box];
    f#0 -> o0 [label="lock"];
    f#1 -> o1 [label="lock"];
    f#2 -> f#0 [label="join"];
    o1 -> f#0 [label="held by"];
    o0 -> f#1 [label="held by"];
}
"#
        );
        assert_eq!(
            normalised(&dump.to_mermaid()),
            r#"flowchart LR
    f#0(["fiber #0 `one #quot;quoted#quot;`<br>waiting"])
    f#1(["fiber #1 `two #lt;#amp;#gt;`<br>waiting"])
    f#2(["fiber #2<br>waiting: park"])
    o0["mutex#3"]
    o1["mutex#4"]
    f#0 -- lock --> o0
    f#1 -- lock --> o1
    f#2 -- join --> f#0
    o1 -- held by --> f#0
    o0 -- held by --> f#1
"#
        );
    });
}

#[test]
fn the_table_has_a_line_for_each_thing() {
    in_time(|| {
        let (_runtime, dump) = circle();
        let text = dump.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("id"), "{text}");
        for head in ["name", "state", "for", "polls", "spawned at", "waits for"] {
            assert!(lines[0].contains(head), "{text}");
        }
        assert!(lines.iter().any(|line| line.contains("two") && line.contains("waiting")), "{text}");
        assert!(lines.iter().any(|line| line.contains("join fiber")), "{text}");
        assert!(lines.iter().any(|line| line.trim_start().starts_with("park")), "{text}");
        assert_eq!(text.matches("(holds mutex@").count(), if PLACES { 2 } else { 0 }, "{text}");
        assert!(lines.last().unwrap().starts_with("3 fibers"), "{text}");
    });
}

#[test]
fn a_lock_is_held_until_it_is_unlocked_wherever_that_is() {
    if !PLACES {
        return;
    }
    in_time(|| {
        let runtime = runtime(2);
        let held = |id| find(&runtime.dump(), id).holds().len();
        let (mutex, fair) = (Arc::new(Mutex::new((1, 2))), Arc::new(Mutex::fair(())));
        let (give, taken) = rendezvous();
        let taker = runtime.spawn(async move {
            let mapped = {
                static PAIR: Mutex<(i32, i32)> = Mutex::new((3, 4));
                leno::sync::MutexGuard::map(PAIR.lock().await, |pair| &mut pair.0)
            };
            give.send(mutex.lock_arc().await).await.unwrap();
            let by_select = select! { guard = fair.lock() => guard };
            fiber::park().await;
            drop(mapped);
            fiber::park().await;
            leno::sync::MutexGuard::unlock_fair(by_select);
            fiber::park().await;
        });
        let id = taker.id();
        let guard = taken.recv_blocking().unwrap();
        until(|| held(id) == 3);
        // The plain thread that has the guard frees the lock.
        drop(guard);
        until(|| held(id) == 2);
        taker.fiber().unpark();
        until(|| held(id) == 1);
        taker.fiber().unpark();
        until(|| held(id) == 0);
        taker.fiber().unpark();
        taker.wait().unwrap();
    });
}

/// Reads, writes and permits show with the fiber that took them, until they are given back, wherever that is.
#[test]
fn shares_of_a_lock_show_as_what_they_are() {
    if !PLACES {
        return;
    }
    in_time(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let (step, stepped) = rendezvous::<u32>();
        let (table, looms) = (Arc::new(RwLock::new((1, 2))), Arc::new(Semaphore::new(9)));
        let (give, taken) = rendezvous();
        let taker = runtime.spawn(async move {
            let next = async |line: u32| step.send(line).await.unwrap();
            let reads = table.read().await;
            let looks = table.try_upgradable_read().unwrap();
            next(line!() - 2).await;
            drop(reads);
            let mut writes = RwLockUpgradableReadGuard::upgrade(looks).await;
            writes.0 = 5;
            next(0).await;
            let reads = RwLockReadGuard::map(RwLockWriteGuard::downgrade(writes), |pair| &pair.0);
            next(0).await;
            drop(reads);
            let writes = select! { guard = table.write() => guard, () = fiber::park() => unreachable!() };
            next(line!() - 1).await;
            drop(writes);
            let mut permits = looms.acquire_many(3).await.unwrap();
            let mut one = permits.split(1).unwrap();
            let nothing = looms.try_acquire_many(0).unwrap();
            next(line!() - 3).await;
            one.merge(permits);
            next(0).await;
            one.forget();
            give.send(looms.acquire_arc().await.unwrap()).await.unwrap();
            next(0).await;
            drop(nothing);
        });
        let id = taker.id();
        let holds = || {
            let dump = runtime.dump();
            let mut seen: Vec<_> = find(&dump, id)
                .holds()
                .iter()
                .map(|hold| {
                    let place = hold.place().unwrap();
                    assert!(place.file().ends_with("inspect.rs"), "{place}");
                    (hold.operation(), hold.object().kind(), place.line())
                })
                .collect();
            seen.sort_unstable();
            seen
        };
        // Each step is made when the one before was looked at. (What shows until then is the step before, which holds something else.)
        let at_step = |expected: &[(&'static str, &'static str)]| {
            let mut seen = Vec::new();
            until(|| {
                seen = holds();
                seen.iter().map(|(operation, kind, _)| (*operation, *kind)).eq(expected.iter().copied())
            });
            let line = stepped.recv_blocking().unwrap();
            assert!(line == 0 || seen.iter().all(|(.., at)| at.abs_diff(line) <= 1), "{line}: {seen:?}");
        };
        at_step(&[("read", "rwlock"), ("upgradable_read", "rwlock")]);
        at_step(&[("write", "rwlock")]);
        at_step(&[("read", "rwlock")]);
        at_step(&[("write", "rwlock")]);
        at_step(&[("acquire", "semaphore"), ("acquire", "semaphore")]);
        at_step(&[("acquire", "semaphore")]);
        // Another thread has it now, and gives it back.
        let permit = taken.recv_blocking().unwrap();
        until(|| find(&runtime.dump(), id).waits().iter().any(|wait| wait.operation() == "send"));
        assert_eq!(holds().len(), 1);
        drop(permit);
        assert_eq!(holds(), []);
        stepped.recv_blocking().unwrap();
        taker.wait().unwrap();
    });
}

/// Who makes the value of a cell shows; also one that gives up, and one whose holds are too many to be noted.
#[test]
fn a_turn_shows_and_holds_are_counted_up_to_a_limit() {
    if !PLACES {
        return;
    }
    in_time(|| {
        let runtime = runtime(1);
        let looms = Arc::new(Semaphore::new(3000));
        let (cell, kept) = (Arc::new(OnceCell::<u8>::new()), Arc::clone(&looms));
        let taker = runtime.spawn(async move {
            let permits: Vec<_> = (0..2000).map(|_| kept.try_acquire_arc().unwrap()).collect();
            fiber::park().await;
            drop(permits);
            select! {
                biased;
                _ = cell.get_or_init(async || { fiber::park().await; 1 }) => {}
                () = std::future::pending() => unreachable!(),
            }
            fiber::park().await;
        });
        let id = taker.id();
        let held = || find(&runtime.dump(), id).holds().len();
        until(|| held() == 1024);
        taker.fiber().unpark();
        // (While the permits are dropped one of them is the last one that is noted, and not the last.)
        until(|| looms.available_permits() == 3000 && held() == 1);
        assert_eq!(find(&runtime.dump(), id).holds()[0].object().kind(), "once cell");
        assert_eq!(find(&runtime.dump(), id).holds()[0].operation(), "get_or_init");
        taker.fiber().unpark();
        until(|| held() == 0);
        taker.fiber().unpark();
        taker.wait().unwrap();
    });
}

#[test]
fn a_dump_disturbs_nobody() {
    in_time(|| {
        let runtime = runtime(2);
        let (tx, rx) = bounded::<u64>(2);
        let (tx, rx) = (Arc::new(tx), Arc::new(rx));
        let mutex = Arc::new(Mutex::new(0_u64));
        let senders: Vec<_> = (0..4)
            .map(|_| {
                let (tx, mutex) = (tx.clone(), mutex.clone());
                runtime.spawn(async move {
                    for value in 0..500 {
                        tx.send(value).await.unwrap();
                        *mutex.lock().await += value;
                        spawn(yield_now()).await.unwrap();
                    }
                })
            })
            .collect();
        drop(tx);
        let receiver = runtime.spawn(async move {
            let mut sum = 0;
            loop {
                let received = select! { value = rx.recv() => value };
                match received {
                    Ok(value) => sum += value,
                    Err(_) => return sum,
                }
            }
        });
        let mut dumps = 0;
        while !receiver.is_finished() {
            let dump = runtime.dump();
            let text = format!("{dump}{}{}", dump.to_dot(), dump.to_mermaid());
            assert!(!text.is_empty());
            dumps += 1;
        }
        let expected = 4 * (0..500).sum::<u64>();
        assert_eq!(receiver.wait().unwrap(), expected);
        senders.into_iter().for_each(|sender| sender.wait().unwrap());
        assert_eq!(*mutex.lock_blocking(), expected);
        assert!(dumps > 0);
    });
}

/// A future of leno that another executor polls, or a thread, is noted of nobody.
#[test]
fn waits_outside_of_fibers_are_not_noted() {
    let (_tx, rx) = rendezvous::<u8>();
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(pin!(rx.recv()).poll(cx).is_pending());
    assert!(rx.recv_timeout(Duration::from_millis(1)).is_err());
}

#[test]
fn a_sleep_tells_how_much_is_left() {
    in_time(|| {
        let clock = Clock::virtual_time();
        let runtime = Runtime::builder().workers(1).inspect(true).clock(clock).build().unwrap();
        let left = runtime.block_on(async {
            let sleeper = spawn(sleep(Duration::from_secs(100)));
            yield_now().await;
            let dump = loop {
                let dump = runtime.dump();
                if !find(&dump, sleeper.id()).waits().is_empty() {
                    break dump;
                }
                yield_now().await;
            };
            find(&dump, sleeper.id()).waits()[0].left()
        });
        assert_eq!(left, Some(Duration::from_secs(100)));
    });
}

// Slow polls.

type Told = Arc<std::sync::Mutex<Vec<(FiberId, String, Duration)>>>;

fn note(told: &Told) -> impl Fn(&fiber::FiberRef, Duration) + Send + Sync + 'static {
    let told = told.clone();
    move |fiber, took| told.lock().unwrap().push((fiber.id(), fiber.to_string(), took))
}

const SLOW: Duration = Duration::from_millis(5);

async fn slow() {
    yield_now().await;
    thread::sleep(SLOW);
    yield_now().await;
}

#[test]
fn slow_polls_are_told() {
    in_time(|| {
        let told = Told::default();
        let runtime = Runtime::builder().workers(1).inspect(false).on_slow_poll(SLOW / 2, note(&told));
        let runtime = runtime.build().unwrap();
        let fiber = Builder::new().name("slow").spawn_in(&runtime, slow());
        let id = fiber.id();
        fiber.wait().unwrap();
        // (Its other polls may have been slow, too, on a busy machine.)
        let mine: Vec<_> =
            told.lock().unwrap().iter().filter(|one| one.0 == id && one.2 >= SLOW).cloned().collect();
        assert!(!mine.is_empty(), "{told:?}");
        assert!(mine[0].1.contains("`slow` (spawned at tests/fiber/inspect.rs:"), "{mine:?}");
        // The future of a `block_on`, and on a cord.
        let cord = Cord::builder().on_slow_poll(SLOW / 2, note(&told)).build();
        for run in [&|| runtime.block_on(slow()) as (), &|| cord.block_on(slow())] as [&dyn Fn(); 2] {
            told.lock().unwrap().clear();
            run();
            assert!(told.lock().unwrap().iter().any(|one| one.2 >= SLOW), "{told:?}");
        }
    });
}

#[test]
fn times_are_real_time() {
    in_time(|| {
        let runtime = runtime(1);
        let fiber = runtime.spawn(async {
            thread::sleep(SLOW);
            fiber::park().await;
        });
        dump_waiting(&runtime, fiber.id());
        thread::sleep(SLOW);
        let dump = runtime.dump();
        let info = find(&dump, fiber.id());
        assert!(info.longest_poll().unwrap() >= SLOW, "{info:?}");
        assert!(info.in_state().unwrap() >= SLOW, "{info:?}");
    });
}

#[test]
fn limits_are_the_fibers_own() {
    in_time(|| {
        let hour = Duration::from_secs(3600);
        let told = Told::default();
        for (executors, fibers, expected) in
            [(hour, None, 0), (hour, Some(Duration::ZERO), 3), (Duration::ZERO, Some(hour), 0)]
        {
            told.lock().unwrap().clear();
            let runtime = Runtime::builder()
                .workers(1)
                .inspect(false)
                .on_slow_poll(executors, note(&told))
                .build()
                .unwrap();
            let mut builder = Builder::new();
            if let Some(limit) = fibers {
                builder = builder.slice_limit(limit);
            }
            let fiber = builder.spawn_in(&runtime, slow());
            let id = fiber.id();
            fiber.wait().unwrap();
            let count = told.lock().unwrap().iter().filter(|one| one.0 == id).count();
            assert_eq!(count, expected, "{executors:?} {fibers:?}: {told:?}");
        }
    });
}

/// Where there is no hook, there is a warning, once for each place.
#[test]
fn without_a_hook_a_slow_poll_is_a_warning() {
    in_time(|| {
        keep_warnings();
        let runtime = Runtime::builder().workers(1).inspect(false).build().unwrap();
        for _ in 0..3 {
            Builder::new()
                .name("warned of")
                .slice_limit(Duration::ZERO)
                .spawn_in(&runtime, slow())
                .wait()
                .unwrap();
        }
        assert_eq!(warnings("`warned of` (spawned at tests/fiber/inspect.rs:").len(), 1);
    });
}

/// A panic of the hook, and one of the fiber in a slow poll, stay where they are.
#[test]
fn a_hook_that_panics_is_of_no_consequence() {
    in_time(|| {
        let runtime = Runtime::builder().workers(1).on_slow_poll(Duration::ZERO, |_, _| panic!("the hook's"));
        let runtime = runtime.build().unwrap();
        let fiber = runtime.spawn(async {
            yield_now().await;
            4
        });
        assert_eq!(fiber.wait().unwrap(), 4);
        let panics = runtime.spawn(async { panic!("its own") });
        assert!(panics.wait().unwrap_err().is_panic());
        assert_eq!(runtime.block_on(async { 5 }), 5);
    });
}

/// Of a set that has ended, or was dropped, nothing stays; nor of what waits beside it, once that is over.
#[test]
fn nothing_stays_of_a_set_that_is_over() {
    in_time(|| {
        for dropped in [false, true] {
            let runtime = runtime(1);
            let ((tx, rx), (end, stop)) = (rendezvous::<u8>(), rendezvous::<u8>());
            let go = Latch::default();
            let wait = go.clone();
            let fiber = runtime.spawn(async move {
                {
                    // The park is left pending in the member's last poll.
                    let member = fiber::race(fiber::park(), rx.recv());
                    let mut set = pin!(fiber::join_all([member]));
                    // Also beside it.
                    select! {
                        biased;
                        _ = &mut set => assert!(!dropped),
                        _ = stop.recv() => assert!(dropped),
                    }
                }
                unblock(move || wait.wait()).await;
                sleep(Duration::from_secs(3600)).await;
            });
            let shown = || {
                let dump = dump_waiting(&runtime, fiber.id());
                let waits = find(&dump, fiber.id()).waits();
                waits.iter().map(|wait| wait.operation()).collect::<Vec<_>>()
            };
            assert_eq!(shown(), ["park", "recv", "recv"]);
            if dropped {
                end.send_blocking(1).unwrap()
            } else {
                tx.send_blocking(1).unwrap()
            }
            until(|| shown() == ["unblock"]);
            go.open();
            until(|| shown() == ["sleep"]);
        }
    });
}

/// Of a set one member of which has panicked nothing stays.
#[test]
fn nothing_stays_of_a_set_that_has_panicked() {
    in_time(|| {
        let runtime = runtime(1);
        let (_tx, rx) = rendezvous::<u8>();
        let fiber = runtime.spawn(async move {
            let member = async {
                let received = async { _ = rx.recv().await };
                select! {
                    biased;
                    () = received => {}
                    () = fiber::yield_now() => panic!("planted"),
                }
            };
            let mut set = fiber::join_all([member]);
            let panics = std::future::poll_fn(|cx| {
                let poll = std::panic::AssertUnwindSafe(|| std::pin::Pin::new(&mut set).poll(cx));
                match std::panic::catch_unwind(poll) {
                    Ok(polled) => polled.map(drop),
                    Err(_planted) => std::task::Poll::Ready(()),
                }
            });
            panics.await;
            fiber::park().await;
        });
        let dump = dump_waiting(&runtime, fiber.id());
        let operations: Vec<_> =
            find(&dump, fiber.id()).waits().iter().map(|wait| wait.operation()).collect();
        assert_eq!(operations, ["park"]);
    });
}

/// Between two nodes there is one edge of a kind, and a label says each thing once, in one line, whatever a name is.
#[test]
fn the_graph_says_each_thing_once() {
    if !PLACES {
        return;
    }
    in_time(|| {
        let runtime = runtime(1);
        let looms = Arc::new(Semaphore::new(2));
        let (kept, wanted) = (looms.clone(), looms.clone());
        let holder = Builder::new().name("two\nlines\\ &lt; %%").spawn_in(&runtime, async move {
            let _permits = (kept.try_acquire().unwrap(), kept.try_acquire().unwrap());
            let hour = || sleep(Duration::from_secs(3600));
            fiber::race(hour(), hour()).await;
        });
        dump_waiting(&runtime, holder.id());
        let waits = runtime.spawn(async move { _ = wanted.acquire().await });
        let dump = dump_waiting(&runtime, waits.id());
        let text = normalised(&dump.to_dot());
        assert_eq!(text.matches("held by").count(), 1, "{text}");
        assert!(text.contains(r#"`two lines\\ &amp;lt; %%`\nwaiting: sleep"]"#), "{text}");
        let text = dump.to_mermaid();
        assert!(text.contains("`two lines#92; #amp;lt#59; #37;#37;`<br>"), "{text}");
    });
}

/// Permits that were all split off show once, also after they were merged again.
#[test]
fn permits_that_were_split_and_merged_show_once() {
    if !PLACES {
        return;
    }
    in_time(|| {
        let runtime = runtime(1);
        let looms = Semaphore::new(3);
        let taker = runtime.spawn(async move {
            let mut permits = looms.acquire_many(2).await.unwrap();
            let all = permits.split(2).unwrap();
            fiber::park().await;
            permits.merge(all);
            fiber::park().await;
            drop(permits);
            fiber::park().await;
        });
        for expected in [1, 1, 0] {
            let dump = dump_waiting(&runtime, taker.id());
            assert_eq!(find(&dump, taker.id()).holds().len(), expected, "{dump}");
            unpark(&runtime, find(&dump, taker.id()));
        }
        taker.wait().unwrap();
    });
}

/// What was locked to write, or to read perhaps to write, shows as what it has become.
#[test]
fn a_downgraded_lock_shows_as_what_it_is() {
    if !PLACES {
        return;
    }
    in_time(|| {
        let runtime = runtime(1);
        let table = RwLock::new(1);
        let taker = runtime.spawn(async move {
            let writes = table.write().await;
            let looks = RwLockWriteGuard::downgrade_to_upgradable(writes);
            fiber::park().await;
            let reads = RwLockUpgradableReadGuard::downgrade(looks);
            fiber::park().await;
            drop(reads);
        });
        for expected in ["upgradable_read", "read"] {
            let dump = dump_waiting(&runtime, taker.id());
            let holds: Vec<_> = find(&dump, taker.id()).holds().iter().map(|hold| hold.operation()).collect();
            assert_eq!(holds, [expected]);
            unpark(&runtime, find(&dump, taker.id()));
        }
        taker.wait().unwrap();
    });
}

/// Who is waited for is in the graph, though it does not wait.
#[test]
fn the_graph_has_who_is_waited_for() {
    in_time(|| {
        let runtime = runtime(2);
        let go = Latch::default();
        let wait = go.clone();
        let runs = Builder::new().name("runs").spawn_in(&runtime, async move { wait.wait() });
        let runner = runs.id();
        let joins = runtime.spawn(runs);
        until(|| find(&runtime.dump(), runner).state() == FiberState::Running);
        let dump = dump_waiting(&runtime, joins.id());
        let node = format!("    f{runner} [label=\"fiber {runner} `runs`\\nrunning\"];\n");
        assert!(dump.to_dot().contains(&node), "{}", dump.to_dot());
        go.open();
        joins.wait().unwrap().unwrap();
    });
}
