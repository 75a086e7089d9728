//! Spans of `tracing`: each fiber's, and those of what it waits for. The feature `tracing`.

mod support;

use leno::fiber::{self, Builder, Cord, FiberId, Runtime, park, spawn_local, spawn_now};
use leno::sync::Mutex;
use leno::{bounded, rendezvous, select, sleep, spawn, yield_now};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::sync::{Arc, MutexGuard, Once, OnceLock};
use std::task::{Poll, Waker};
use std::time::Duration;
use support::{Latch, Stash, cord, in_time, until};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Record};
use tracing::subscriber::{NoSubscriber, Subscriber, set_global_default, with_default};
use tracing::{Event, Id, Metadata};

/// The name of fibers whose subscriber panics, whatever it is told of them.
const PANICS: &str = "the subscriber panics";

/// Operations have a place only where those are known.
const PLACES: bool = cfg!(debug_assertions);

type Fields = BTreeMap<&'static str, String>;

/// What the subscriber was told of a span.
#[derive(Clone, Debug, Default)]
struct Seen {
    id: u64,
    name: &'static str,
    target: &'static str,
    fields: Fields,
    /// It has no span around it.
    is_root: bool,
    /// Spans that were entered on the thread when it was made, the innermost last.
    within: Vec<u64>,
    entered: usize,
    left: usize,
    closed: usize,
    /// Of a fiber: what its wakers did, and who did it inside the fiber.
    wakers: Vec<String>,
    /// Of an operation: events inside.
    events: Vec<Fields>,
}

static SEEN: std::sync::Mutex<BTreeMap<u64, Seen>> = std::sync::Mutex::new(BTreeMap::new());

thread_local! {
    /// The spans that the thread is in.
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn seen() -> MutexGuard<'static, BTreeMap<u64, Seen>> {
    SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Panics if that is wanted in a span, or in what the thread is in. (Without a word.)
fn panic_in(id: u64) {
    let inside = INSIDE.with_borrow(Clone::clone);
    let seen = seen();
    let panics = |id: &u64| {
        seen.get(id).is_some_and(|seen| seen.fields.get("task.name").is_some_and(|name| name == PANICS))
    };
    let panics = panics(&id) || inside.iter().any(panics);
    drop(seen);
    if panics {
        resume_unwind(Box::new("on purpose"));
    }
}

/// What the subscriber has found wrong: its panics lead nowhere.
static WRONG: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());

fn wrong(what: String) {
    WRONG.lock().unwrap().push(what);
}

struct Recorder;

struct Visitor<'a>(&'a mut Fields);

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        attributes.record(&mut Visitor(&mut fields));
        let metadata = attributes.metadata();
        let within = INSIDE.with_borrow(Clone::clone);
        if fields.get("task.name").is_some_and(|name| name == "not to be shown") {
            resume_unwind(Box::new("on purpose"));
        }
        let id = {
            let mut seen = seen();
            let id = seen.len() as u64 + 1;
            let (name, target, is_root) = (metadata.name(), metadata.target(), attributes.is_root());
            seen.insert(id, Seen { id, name, target, fields, is_root, within, ..Seen::default() });
            id
        };
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Visitor(&mut fields));
        let inside = INSIDE.with_borrow(Clone::clone);
        let mut told = None;
        if event.metadata().target() == "runtime::waker" {
            let id = fields["task.id"].parse().unwrap();
            let own = if inside.contains(&id) { " itself" } else { "" };
            match seen().get_mut(&id) {
                Some(fiber) => fiber.wakers.push(format!("{}{own}", fields["op"])),
                None => wrong(format!("a waker of span {id}")),
            }
            told = Some(id);
        } else if let Some(last) = inside.last() {
            seen().get_mut(last).unwrap().events.push(fields);
        }
        if let Some(id) = told {
            wake_in_turn(id);
            panic_in(id);
        } else {
            panic_in(0);
        }
    }

    fn enter(&self, id: &Id) {
        let id = id.into_u64();
        if seen()[&id].closed > 0 {
            wrong(format!("span {id} is entered after its end"));
        }
        INSIDE.with_borrow_mut(|inside| inside.push(id));
        seen().get_mut(&id).unwrap().entered += 1;
        panic_in(id);
    }

    fn exit(&self, id: &Id) {
        let id = id.into_u64();
        let last = INSIDE.with_borrow_mut(|inside| inside.pop());
        if last != Some(id) {
            wrong(format!("span {id} is left inside of {last:?}"));
        }
        seen().get_mut(&id).unwrap().left += 1;
        panic_in(id);
    }

    fn try_close(&self, id: Id) -> bool {
        let id = id.into_u64();
        {
            let mut seen = seen();
            let span = seen.get_mut(&id).unwrap();
            span.closed += 1;
            if span.closed > 1 || span.entered != span.left {
                wrong(format!("{span:?} is closed"));
            }
        }
        panic_in(id);
        let name = seen()[&id].fields.get("task.name").cloned();
        if name.is_some_and(|name| name == SPAWNS_AT_ITS_END) {
            FROM_CLOSE.lock().unwrap().push(leno::spawn(async {}).id());
        }
        true
    }
}

const SPAWNS_AT_ITS_END: &str = "the subscriber spawns a fiber at its end";

/// Fibers that were spawned so.
static FROM_CLOSE: std::sync::Mutex<Vec<FiberId>> = std::sync::Mutex::new(Vec::new());

/// Whom the subscriber wakes when it is told of a fiber's waker.
static IN_TURN: std::sync::Mutex<Option<(FiberId, Waker)>> = std::sync::Mutex::new(None);

fn wake_in_turn(id: u64) {
    let of = seen()[&id].fields["task.id"].clone();
    let waker = IN_TURN
        .lock()
        .unwrap()
        .as_ref()
        .filter(|(fiber, _)| fiber.to_string() == of)
        .map(|(_, waker)| waker.clone());
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// One subscriber for all tests: their fibers are different ones.
fn record() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_global_default(Recorder).expect("the only one"));
}

/// The span of a fiber, if it has one.
fn find(fiber: FiberId) -> Option<Seen> {
    let (seen, id) = (seen(), fiber.to_string());
    seen.values().find(|span| span.name == "runtime.spawn" && span.fields["task.id"] == id).cloned()
}

fn of(fiber: FiberId) -> Seen {
    find(fiber).expect("it is shown")
}

/// The operations that a fiber was left in, oldest first.
fn operations(fiber: FiberId) -> Vec<Seen> {
    let id = of(fiber).id;
    let is_one = |span: &&Seen| span.name == "runtime.resource.async_op" && span.within.contains(&id);
    seen().values().filter(is_one).cloned().collect()
}

/// The resource of an operation.
fn resource(operation: &Seen) -> Seen {
    let seen = seen();
    let resource = &seen[operation.within.last().expect("inside of its resource")];
    assert_eq!((resource.name, resource.target), ("runtime.resource", "leno"));
    resource.clone()
}

/// A fiber's span has ended, and all that it was left in.
#[track_caller]
fn assert_over(fiber: FiberId) {
    let span = of(fiber);
    assert_eq!((span.entered - span.left, span.closed), (0, 1), "{span:?}");
    for operation in operations(fiber) {
        assert_eq!((operation.entered - operation.left, operation.closed), (0, 1), "{operation:?}");
    }
    assert_eq!(*WRONG.lock().unwrap(), [""; 0]);
}

fn count(span: &Seen, what: &str) -> usize {
    span.wakers.iter().filter(|done| done.starts_with(what)).count()
}

#[test]
fn a_span_has_name_and_place() {
    record();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let line = line!() + 1;
    let spawned = async { Builder::new().name("weaver").spawn(async { fiber::current().id() }).await };
    let id = runtime.block_on(spawned).unwrap();
    assert_over(id);
    let span = of(id);
    assert_eq!((span.target, span.entered, span.is_root), ("leno::fiber", 1, true));
    let fields = [
        ("kind", "fiber".to_owned()),
        ("loc.file", file!().to_owned()),
        ("loc.line", line.to_string()),
        ("task.id", id.to_string()),
        ("task.name", "weaver".to_owned()),
    ];
    let column = of(id).fields.remove("loc.col").unwrap().parse::<u32>().unwrap();
    assert!(column > 1);
    let told = span.fields.into_iter().filter(|(name, _)| *name != "loc.col").collect::<Vec<_>>();
    assert_eq!(told, fields);
}

#[test]
fn each_poll_is_inside() {
    record();
    let cord = Cord::new();
    let (main, id) = cord.block_on(async {
        let fiber = spawn_local(async {
            let id = of(fiber::current().id()).id;
            for _ in 0..3 {
                assert_eq!(INSIDE.with_borrow(|inside| inside.last().copied()), Some(id));
                yield_now().await;
            }
        });
        let id = fiber.id();
        fiber.await.unwrap();
        // Before who joins it goes on.
        assert_over(id);
        (fiber::current().id(), id)
    });
    assert_over(main);
    assert_eq!((&*of(main).fields["kind"], &*of(id).fields["kind"]), ("block_on", "local"));
    assert_eq!(
        (of(id).entered, &*of(id).wakers),
        (4, &["waker.wake_by_ref itself"; 3].map(String::from)[..])
    );
    assert!(!of(id).fields.contains_key("task.name"));
}

/// A future whose drop happens inside the span.
async fn dropped_inside() {
    let id = of(fiber::current().id()).id;
    let _inside = crate::support::Defer(move || {
        if INSIDE.with_borrow(|inside| inside.last().copied()) != Some(id) {
            wrong(format!("the future of {id} is dropped outside"));
        }
    });
    pending().await
}

#[test]
fn it_ends_with_the_fiber_however_that_ends() {
    // F2, F5
    record();
    cord().block_on(async {
        let panics = spawn_local(async { panic!("on purpose") });
        let cancelled = spawn_local(dropped_inside());
        let queued = spawn_local(async {});
        let (a, b, c) = (panics.id(), cancelled.id(), queued.id());
        queued.cancel();
        assert!(queued.await.unwrap_err().is_cancelled());
        assert_over(c);
        assert!(panics.await.unwrap_err().is_panic());
        assert_over(a);
        assert_eq!(of(b).closed, 0);
        cancelled.cancel();
        assert!(cancelled.await.unwrap_err().is_cancelled());
        assert_over(b);
        // Nobody joins it.
        let now = spawn_now(async {});
        assert_over(now.id());
    });
}

#[test]
fn a_prepared_fiber_has_a_span_until_it_is_dropped() {
    record();
    let prepared = Builder::new().prepare(async {});
    let id = prepared.id();
    assert_eq!((of(id).entered, of(id).closed), (0, 0));
    drop(prepared);
    assert_over(id);
    let prepared = Builder::new().prepare(async {});
    let id = prepared.id();
    prepared.start().wait().unwrap();
    assert_over(id);
}

#[test]
fn all_spans_end_with_the_executor() {
    // F8
    record();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let (started, refused) = (Latch::default(), Arc::new(OnceLock::new()));
    let (starts, refuses) = (started.clone(), refused.clone());
    let late = runtime.spawn(async move {
        let _end = crate::support::Defer(move || _ = refuses.set(spawn(async {}).id()));
        starts.open();
        dropped_inside().await
    });
    let waits: Vec<_> = (0..10).map(|_| runtime.spawn(dropped_inside()).id()).collect();
    started.wait();
    let late = late.id();
    drop(runtime);
    waits.into_iter().for_each(assert_over);
    assert_over(late);
    assert_over(*refused.get().unwrap());

    let cord = Cord::new();
    let (waits, queued) = cord.block_on(async {
        let waits = spawn_local(dropped_inside()).id();
        yield_now().await;
        (waits, spawn_local(async {}).id())
    });
    drop(cord);
    assert_over(waits);
    assert_over(queued);
    assert_eq!(of(queued).entered, 1, "its future was dropped");
}

#[test]
fn wakers_tell_what_they_do() {
    record();
    let stash = Stash::default();
    let fiber = spawn(stash.pending());
    let id = fiber.id();
    until(|| stash.polls() == 1);
    let waker = stash.take().unwrap();
    until(|| of(id).left == 1);
    assert_eq!(of(id).wakers, ["waker.clone itself"]);
    waker.wake_by_ref();
    until(|| of(id).left == 2);
    let other = waker.clone();
    drop(other);
    assert_eq!(
        of(id).wakers,
        ["waker.clone itself", "waker.wake_by_ref", "waker.clone itself", "waker.clone", "waker.drop"]
    );
    waker.wake();
    until(|| of(id).left == 3);
    assert_eq!(count(&of(id), "waker.wake"), 2);
    fiber.cancel();
    fiber.wait().unwrap_err();
    assert_over(id);
    // What wakers do that live longer is nobody's business.
    let told = of(id).wakers;
    let waker = stash.take().unwrap();
    drop(waker.clone());
    waker.wake();
    assert_eq!(of(id).wakers, told);
}

#[test]
fn a_parked_fiber_has_a_waker() {
    record();
    let fiber = spawn(async {
        for _ in 0..2 {
            park().await;
        }
    });
    let id = fiber.id();
    until(|| of(id).left == 1);
    assert_eq!(of(id).wakers, ["waker.clone itself"]);
    fiber.fiber().unpark();
    until(|| of(id).left == 2);
    let expected = ["waker.clone itself", "waker.wake_by_ref", "waker.drop", "waker.clone itself"];
    assert_eq!(of(id).wakers, expected);
    fiber.fiber().unpark();
    fiber.wait().unwrap();
    assert_over(id);
    assert_eq!((count(&of(id), "waker.clone"), count(&of(id), "waker.drop")), (2, 2));
}

#[test]
fn what_a_fiber_waits_for_is_shown() {
    record();
    let made = line!() + 1;
    let (tx, rx) = rendezvous::<u32>();
    let waits = line!() + 2;
    let fiber = spawn(async move {
        while rx.recv().await.is_ok() {}
        rx
    });
    let id = fiber.id();
    until(|| of(id).left == 1);
    let channel = {
        let all = operations(id);
        let [operation] = &all[..] else { panic!("one is pending: {all:?}") };
        assert_eq!((&*operation.fields["source"], operation.closed, operation.left), ("recv", 0, 1));
        let poll = operation.events.last().unwrap();
        assert_eq!((&*poll["op_name"], &*poll["is_ready"]), ("recv", "false"));
        let place = operation.events.iter().find_map(|fields| fields.get("place"));
        assert_eq!(place.map(String::as_str), PLACES.then_some(&*format!("{}:{waits}:18", file!())));
        let channel = resource(operation);
        assert_eq!((&*channel.fields["kind"], &*channel.fields["loc.line"]), ("channel", &*made.to_string()));
        assert!(channel.fields["concrete_type"].starts_with("channel@"));
        assert!(channel.is_root);
        channel.id
    };
    // Still at the same place: the same operation. (In builds that know places; else all of a channel's look the same.)
    tx.send_blocking(1).unwrap();
    until(|| of(id).left == 2);
    let all = operations(id);
    assert_eq!((all.len(), all[0].left, all[0].closed), (1, 2, 0));
    // Somebody else waits at the same channel.
    drop(tx);
    let rx = fiber.wait().unwrap();
    assert_over(id);
    assert_eq!(seen()[&channel].closed, 0);
    drop(rx);
    assert_eq!(seen()[&channel].closed, 1);
}

/// A channel that comes to the address of one that is gone is another one.
#[test]
fn an_address_comes_again() {
    record();
    let (feed, fed) = rendezvous();
    let fiber = spawn(async move {
        for _ in 0..5 {
            let (tx, rx) = bounded::<u32>(1);
            feed.send(tx).await.unwrap();
            rx.recv().await.unwrap();
        }
    });
    let id = fiber.id();
    let mut channels = Vec::new();
    for nth in 0..5 {
        let tx = fed.recv_blocking().unwrap();
        let is_there = |operations: &[Seen]| {
            operations.iter().filter(|one| one.fields["source"] == "recv").count() > nth
        };
        until(|| is_there(&operations(id)));
        let last = operations(id).into_iter().rfind(|one| one.fields["source"] == "recv").unwrap();
        channels.push(resource(&last).id);
        tx.send_blocking(1).unwrap();
    }
    fiber.wait().unwrap();
    assert_over(id);
    assert!(channels.iter().all(|id| seen()[id].closed == 1));
    channels.dedup();
    assert_eq!(channels.len(), 5);
}

#[test]
fn waits_come_and_go() {
    record();
    let (lock, cord) = (Arc::new(Mutex::new(0)), cord());
    let id = cord.block_on(async {
        let held = lock.lock().await;
        let (tx, rx) = bounded::<u32>(1);
        tx.send(1).await.unwrap();
        let sleeper = spawn_local(sleep(Duration::from_millis(1500)));
        let (of_fiber, theirs) = (sleeper.id(), lock.clone());
        let fiber = spawn_local(async move {
            _ = tx.send(2).await;
            drop(theirs.lock().await);
            sleeper.await.unwrap();
            select! {
                _ = tx.send(4) => {}
                _ = sleep(Duration::from_secs(1)) => {}
            }
        });
        let id = fiber.id();
        // What it waits for, of which resource.
        let now = || {
            let of_living = |operation: Seen| {
                let resource = resource(&operation);
                assert_eq!(resource.closed, 0);
                (operation.fields["source"].clone(), resource.fields["concrete_type"].clone())
            };
            operations(id).into_iter().filter(|one| one.closed == 0).map(of_living).collect::<Vec<_>>()
        };
        let first_words = |texts: Vec<(String, String)>| {
            let word = |text: &str| text.split('@').next().unwrap().to_owned();
            texts.into_iter().map(|(source, text)| format!("{source} {}", word(&text))).collect::<Vec<_>>()
        };
        yield_now().await;
        assert_eq!(first_words(now()), ["send channel"]);
        assert_eq!(rx.recv().await, Ok(1));
        yield_now().await;
        assert_eq!(first_words(now()), ["lock mutex"]);
        drop(held);
        yield_now().await;
        assert_eq!(now(), [("join".to_owned(), format!("fiber {of_fiber}"))]);
        let timer = operations(of_fiber).pop().unwrap();
        assert_eq!(resource(&timer).fields["kind"], "timer");
        let duration = timer.events.iter().find_map(|fields| fields.get("duration"));
        assert_eq!(duration.unwrap(), "1500");
        assert_eq!(rx.recv().await, Ok(2));
        sleep(Duration::from_millis(1600)).await;
        fiber.await.unwrap();
        assert_over(id);
        assert_over(of_fiber);
        id
    });
    let mutex = operations(id).iter().find(|one| one.fields["source"] == "lock").map(resource).unwrap();
    assert_eq!(mutex.closed, 0);
    drop(lock);
    assert_eq!(seen()[&mutex.id].closed, 1);
}

#[test]
fn members_that_are_not_polled_still_wait() {
    record();
    let ((a, b), (c, d)) = (rendezvous::<u32>(), rendezvous::<u32>());
    let fiber = spawn(async move { fiber::join_all([b, d].map(|rx| async move { rx.recv().await })).await });
    let id = fiber.id();
    let left = |closed| {
        let all = operations(id);
        all.len() == 2 && all.iter().map(|one| one.closed).eq(closed)
    };
    until(|| left([0, 0]));
    a.send_blocking(1).unwrap();
    until(|| left([1, 0]));
    c.send_blocking(2).unwrap();
    assert_eq!(fiber.wait().unwrap(), [Ok(1), Ok(2)]);
    assert_over(id);
}

#[test]
fn two_that_wait_at_one_thing_show_one_thing() {
    record();
    let (tx, rx) = rendezvous::<u32>();
    let fibers = [rx.clone(), rx].map(|rx| spawn(async move { rx.recv().await }));
    let ids = [fibers[0].id(), fibers[1].id()];
    let things = ids.map(|id| {
        until(|| of(id).left == 1);
        resource(&operations(id)[0]).id
    });
    assert_eq!(things[0], things[1]);
    drop(tx);
    for fiber in fibers {
        fiber.wait().unwrap().unwrap_err();
    }
    ids.into_iter().for_each(assert_over);
    assert_eq!(seen()[&things[0]].closed, 1);
}

#[test]
fn a_subscriber_that_panics_loses_nothing() {
    record();
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (ping, pings) = rendezvous();
        let (pong, pongs) = bounded(1);
        let named = || Builder::new().name(PANICS);
        let ids = runtime.block_on(async {
            let there = named().spawn(async move {
                for number in 0..100 {
                    ping.send(number).await.unwrap();
                    assert_eq!(pongs.recv().await, Ok(number));
                }
            });
            let back = named().spawn(async move {
                while let Ok(number) = pings.recv().await {
                    yield_now().await;
                    pong.send(number).await.unwrap();
                }
            });
            let parked = named().spawn(park());
            let ids = [there.id(), back.id(), parked.id()];
            there.await.unwrap();
            back.await.unwrap();
            parked.fiber().unpark();
            parked.await.unwrap();
            let cancelled = named().spawn(pending::<()>());
            cancelled.cancel();
            cancelled.await.unwrap_err();
            // The subscriber does not even get to show it.
            assert_eq!(Builder::new().name("not to be shown").spawn(async { 3 }).await.unwrap(), 3);
            ids
        });
        for id in ids {
            let span = of(id);
            assert!(span.entered > 0 && !span.wakers.is_empty());
            assert_over(id);
        }
    });
}

#[test]
fn what_a_subscriber_does_is_not_told_to_it() {
    record();
    let stash = Stash::default();
    let fiber = spawn(stash.pending());
    let id = fiber.id();
    until(|| of(id).left == 1);
    *IN_TURN.lock().unwrap() = stash.waker().map(|waker| (id, waker));
    let before = of(id).wakers.len();
    // It is told of this clone, and then clones and wakes that waker.
    let another = stash.waker().unwrap();
    until(|| of(id).left >= 2);
    let last = IN_TURN.lock().unwrap().take();
    drop(last);
    assert_eq!(of(id).wakers[before], "waker.clone");
    assert_eq!(of(id).wakers.iter().filter(|done| **done == "waker.wake").count(), 0);
    drop(another);
    fiber.cancel();
    fiber.wait().unwrap_err();
    assert_over(id);
}

#[test]
fn without_a_subscriber_there_is_no_span() {
    record();
    let id = with_default(NoSubscriber::default(), || {
        Cord::new().block_on(async {
            let fiber = spawn_local(async {
                yield_now().await;
                poll_fn(|cx| {
                    cx.waker().wake_by_ref();
                    Poll::Ready(())
                })
                .await;
            });
            let id = fiber.id();
            fiber.await.unwrap();
            id
        })
    });
    assert!(find(id).is_none());
}

/// What the subscriber does as it is told of an end is not told to it: that could go on for ever.
#[test]
fn fibers_of_a_span_that_ends_are_not_shown() {
    record();
    let cord = Cord::new();
    cord.block_on(async { Builder::new().name(SPAWNS_AT_ITS_END).spawn_local(async {}).await.unwrap() });
    // Another one ends with the cord.
    let spawns = Builder::new().name(SPAWNS_AT_ITS_END);
    cord.block_on(async { drop(spawns.spawn_local(std::future::pending::<()>())) });
    drop(cord);
    let spawned = FROM_CLOSE.lock().unwrap().clone();
    assert_eq!(spawned.len(), 2);
    assert!(spawned.into_iter().all(|fiber| find(fiber).is_none()));
}
