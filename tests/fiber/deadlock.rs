//! The report of a closed world: F17, both ways.

use crate::support::{in_time, until};
use leno::fiber::{self, Builder, Cord, Runtime, spawn_local, unblock};
use leno::sync::{Mutex, OnceCell, RwLock, RwLockUpgradableReadGuard, Semaphore};
use leno::time::Clock;
use leno::{bounded, rendezvous, select, sleep, spawn, yield_now};
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).closed_world(true).build().unwrap()
}

fn cord() -> Cord {
    Cord::builder().closed_world(true).build()
}

/// The panic's message.
fn report(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it has to panic");
    *panic.downcast::<String>().expect("a message")
}

/// Runs `f` to its end on each kind of executor.
fn on_each<F: Future<Output = ()>>(f: impl Fn() -> F + Copy + Send + 'static) {
    in_time(move || {
        for workers in [1, 2] {
            runtime(workers).block_on(f());
        }
        cord().block_on(f());
    });
}

/// Runs `f` on each kind of executor, where it has to be reported; gives the reports.
fn stuck<F: Future<Output = ()>>(f: impl Fn() -> F + Copy + Send + 'static) -> Vec<String> {
    let (tx, rx) = std::sync::mpsc::channel();
    in_time(move || {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            let text = report(|| runtime.block_on(f()));
            // It can be used on.
            assert_eq!(runtime.block_on(async { 5 }), 5);
            tx.send(text).unwrap();
        }
        let cord = cord();
        let text = report(|| cord.block_on(f()));
        assert_eq!(cord.block_on(async { 5 }), 5);
        tx.send(text).unwrap();
    });
    let reports: Vec<_> = rx.try_iter().collect();
    for text in &reports {
        assert!(text.starts_with("deadlock: all fibers wait"), "{text}");
        assert!(text.contains("deadlock.rs"), "{text}");
    }
    reports
}

// F17: those whose fibers all wait for each other.

#[test]
fn one_that_waits_for_nobody_is_reported() {
    let reports = stuck(|| async {
        let (tx, rx) = rendezvous::<u8>();
        let _ = rx.recv().await;
        drop(tx);
    });
    assert!(reports.iter().all(|text| text.contains("recv channel@")), "{reports:?}");
    // It is no circle: nobody knows who was to send.
    assert!(!reports[0].contains("circle"), "{}", reports[0]);
}

#[test]
fn a_circle_of_locks_is_reported_with_its_fibers() {
    async fn grab(first: Arc<Mutex<()>>, second: Arc<Mutex<()>>) {
        let _first = first.lock().await;
        while second.try_lock().is_some() {
            yield_now().await;
        }
        let _second = second.lock().await;
    }
    let reports = stuck(|| async {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let one = Builder::new().name("one").spawn(grab(a.clone(), b.clone()));
        let two = Builder::new().name("two").spawn(grab(b, a));
        one.await.unwrap();
        two.await.unwrap();
    });
    for text in reports.iter().filter(|_| cfg!(debug_assertions)) {
        let (_, circle) = text.split_once("they wait in a circle:\n").expect(text);
        let lines: Vec<_> = circle.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for (name, other) in [("`one`", "`two`"), ("`two`", "`one`")] {
            let line =
                lines.iter().find(|line| line.contains(&format!("{name} waits: lock mutex@"))).expect(text);
            assert!(line.contains("which fiber") && line.contains(&format!("{other} holds since")), "{text}");
        }
    }
}

#[test]
fn fibers_that_join_each_other_are_a_circle() {
    let reports = stuck(|| async {
        let (to_a, at_a) = rendezvous::<fiber::JoinHandle<()>>();
        let (to_b, at_b) = rendezvous::<fiber::JoinHandle<()>>();
        let join = |handles: leno::Receiver<fiber::JoinHandle<()>>| async move {
            let other = handles.recv().await.unwrap();
            let _ = other.await;
        };
        let (a, b) = (spawn(join(at_a)), spawn(join(at_b)));
        to_a.send(b).await.unwrap();
        to_b.send(a).await.unwrap();
        fiber::park().await;
    });
    for text in &reports {
        assert!(text.contains("they wait in a circle:\n"), "{text}");
        assert_eq!(text.matches(" waits: join fiber ").count(), 2, "{text}");
        assert!(text.contains("park"), "{text}");
    }
}

#[test]
fn a_lock_that_one_holds_oneself_is_a_circle_of_one() {
    let reports = stuck(|| async {
        let mutex = Mutex::new(());
        let _first = mutex.lock().await;
        let _second = mutex.lock().await;
    });
    if cfg!(debug_assertions) {
        assert!(reports.iter().all(|text| text.matches(" waits: lock mutex@").count() == 1), "{reports:?}");
        assert!(reports.iter().all(|text| text.contains("circle")), "{reports:?}");
    }
}

/// The lines of the circle that a report tells of.
fn circle(text: &str) -> Vec<&str> {
    let (_, circle) = text.split_once("they wait in a circle:\n").expect(text);
    circle.lines().take_while(|line| !line.is_empty()).collect()
}

#[test]
fn permits_and_reads_that_are_held_are_parts_of_a_circle() {
    let reports = stuck(|| async {
        let (table, looms) = (Arc::new(RwLock::new(())), Arc::new(Semaphore::new(3)));
        let (read, kept) = (Arc::clone(&table), Arc::clone(&looms));
        let one = Builder::new().name("one").spawn(async move {
            let _reads = read.read().await;
            while kept.available_permits() > 1 {
                yield_now().await;
            }
            let _two = kept.acquire_many(2).await.unwrap();
        });
        let two = Builder::new().name("two").spawn(async move {
            let _two = looms.acquire_many(2).await.unwrap();
            while table.try_write().is_some() {
                yield_now().await;
            }
            let _writes = table.write().await;
        });
        one.await.unwrap();
        two.await.unwrap();
    });
    for text in reports.iter().filter(|_| cfg!(debug_assertions)) {
        let lines = circle(text);
        assert_eq!(lines.len(), 2, "{text}");
        for (waits, holds) in [
            ("`one` waits: acquire semaphore@", "`two` holds by acquire since tests"),
            ("`two` waits: write rwlock@", "`one` holds by read since tests"),
        ] {
            assert!(lines.iter().any(|line| line.contains(waits) && line.contains(holds)), "{text}");
        }
    }
}

#[test]
fn who_reads_again_behind_a_writer_is_a_circle() {
    let reports = stuck(|| async {
        let table = Arc::new(RwLock::new(()));
        let _reads = table.read().await;
        let write = Arc::clone(&table);
        let writer = spawn(async move { drop(write.write().await) });
        while table.try_read().is_some() {
            yield_now().await;
        }
        let _again = table.read().await;
        writer.await.unwrap();
    });
    for text in reports.iter().filter(|_| cfg!(debug_assertions)) {
        let lines = circle(text);
        assert_eq!(lines.len(), 1, "{text}");
        assert!(
            lines[0].contains("waits: read rwlock@") && lines[0].contains("holds by read since"),
            "{text}"
        );
    }
}

/// It waits for the readers, and not for itself.
#[test]
fn who_becomes_a_writer_waits_for_who_reads() {
    let reports = stuck(|| async {
        let table = Arc::new(RwLock::new(()));
        let read = Arc::clone(&table);
        let reader = Builder::new().name("reader").spawn(async move {
            let _reads = read.read().await;
            fiber::park().await;
        });
        while table.try_write().is_some() {
            yield_now().await;
        }
        let guard = table.upgradable_read().await;
        let _writes = RwLockUpgradableReadGuard::upgrade(guard).await;
        reader.await.unwrap();
    });
    for text in &reports {
        assert!(!text.contains("circle") && text.contains("upgrade rwlock@"), "{text}");
        if cfg!(debug_assertions) {
            assert!(text.contains(" by upgradable_read since") && text.contains(" by read since"), "{text}");
        }
    }
}

#[test]
fn a_value_that_needs_itself_is_a_circle() {
    let reports = stuck(|| async {
        let cell = OnceCell::<u8>::new();
        let cell = &cell;
        let inner = async || *cell.get_or_init(async || 1).await;
        cell.get_or_init(inner).await;
    });
    for text in reports.iter().filter(|_| cfg!(debug_assertions)) {
        let lines = circle(text);
        assert_eq!(lines.len(), 1, "{text}");
        assert!(lines[0].contains("waits: get_or_init once cell@"), "{text}");
    }
}

#[test]
fn something_outside_counts_by_the_promise() {
    let reports = stuck(pending);
    assert!(reports.iter().all(|text| text.contains("something outside leno")), "{reports:?}");
}

#[test]
fn sleeping_for_ever_is_no_timer() {
    let _ = stuck(|| sleep(Duration::MAX));
}

#[test]
fn it_is_reported_after_all_timers_and_calls_have_ended() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    let reports = stuck(|| async {
        let (tx, rx) = bounded::<u8>(1);
        let helpers = [
            spawn(async {
                sleep(Duration::from_millis(20)).await;
                ENDED.fetch_add(1, SeqCst);
            }),
            spawn(async {
                unblock(|| thread::sleep(Duration::from_millis(10))).await;
                ENDED.fetch_add(1, SeqCst);
            }),
        ];
        let received = rx.recv().await;
        drop((tx, helpers, received));
    });
    assert_eq!(ENDED.load(SeqCst), 2 * reports.len());
}

/// The only timer goes away without having fired.
#[test]
fn a_timer_that_is_dropped_does_not_count() {
    let _ = stuck(|| async {
        let hour = Duration::from_secs(3600);
        assert!(leno::timeout(hour, yield_now()).await.is_ok());
        pending().await
    });
}

#[test]
fn virtual_time_moves_on_before_it_is_reported() {
    in_time(|| {
        let clock = Clock::virtual_time();
        let start = clock.now();
        let runtime = Runtime::builder().workers(2).clock(clock.clone()).closed_world(true).build().unwrap();
        let text = report(|| {
            runtime.block_on(async {
                sleep(Duration::from_secs(3600)).await;
                fiber::park().await;
            })
        });
        assert!(text.contains("park"), "{text}");
        assert!(clock.now() - start >= Duration::from_secs(3600));
    });
}

// F17: those that go on.

#[test]
fn one_that_waits_for_a_timer_is_not_reported() {
    on_each(|| async {
        sleep(Duration::from_millis(20)).await;
        let (tx, rx) = rendezvous();
        let sender = spawn(async move {
            sleep(Duration::from_millis(20)).await;
            tx.send(1).await
        });
        assert_eq!(rx.recv().await, Ok(1));
        sender.await.unwrap().unwrap();
        let (_tx, rx) = rendezvous::<u8>();
        assert!(leno::timeout(Duration::from_millis(20), rx.recv()).await.is_err());
        select! {
            _ = rx.recv() => unreachable!(),
            default(Duration::from_millis(10)) => {}
        }
    });
}

#[test]
fn one_that_waits_for_unblock_is_not_reported() {
    on_each(|| async {
        let (tx, rx) = rendezvous();
        let blocked = spawn(async move {
            let value = unblock(|| {
                thread::sleep(Duration::from_millis(30));
                7
            });
            tx.send(value.await).await
        });
        assert_eq!(rx.recv().await, Ok(7));
        blocked.await.unwrap().unwrap();
        // One after the other, at all speeds.
        for round in 0..200 {
            assert_eq!(unblock(move || round).await, round);
        }
    });
}

#[test]
fn a_thread_of_its_own_and_another_runtime_count() {
    on_each(|| async {
        let slept = fiber::on_new_thread("sleeper", || thread::sleep(Duration::from_millis(20)));
        slept.await.unwrap();
        let other = Arc::new(Runtime::builder().workers(1).build().unwrap());
        assert_eq!(fiber::on(&other, async { unblock(|| 6).await }).await, 6);
        fiber::on(&other, sleep(Duration::from_millis(20))).await;
        unblock(move || drop(other)).await;
    });
}

/// Whoever waits for them last: they may have begun elsewhere, and where nobody counts. (C12, F17)
#[test]
fn what_moves_here_counts_here() {
    const HOUR: Duration = Duration::from_secs(3600);
    let long = || thread::sleep(Duration::from_millis(50));
    let begun = move || {
        let mut job = unblock(long);
        assert!(job.wait_timeout(Duration::ZERO).is_err());
        job
    };
    on_each(begun);
    on_each(move || {
        // Another executor counts it first.
        let mut job = Box::pin(unblock(long));
        Cord::new().block_on(async { assert!(leno::timeout(Duration::ZERO, &mut job).await.is_err()) });
        job
    });
    in_time(move || {
        let virtually = || Cord::with_clock(Clock::virtual_time());
        assert!(virtually().block_on(leno::timeout(HOUR, begun())).is_ok());
        let other = Runtime::builder().workers(1).build().unwrap();
        let mut job = fiber::on(&other, async move { long() });
        assert!(job.wait_timeout(Duration::ZERO).is_err());
        assert!(virtually().block_on(leno::timeout(HOUR, job)).is_ok());
        // It is awaited where it runs, and here no more.
        let (tx, rx) = rendezvous();
        virtually().block_on(async move {
            let mut job = Box::pin(fiber::on(&other, async move { rx.recv().await }));
            assert!(leno::timeout(Duration::ZERO, &mut job).await.is_err());
            let awaited = other.spawn(job);
            sleep(HOUR).await;
            tx.send(()).await.unwrap();
            awaited.await.unwrap().unwrap();
        });
    });
}

/// What runs on another runtime counts until it has ended, whether or not it is looked at then. (F12, F17)
#[test]
fn what_has_ended_elsewhere_counts_no_more() {
    async fn begin_and(wait: impl Future<Output = ()>) {
        let other = Runtime::builder().workers(1).build().unwrap();
        let (tx, rx) = rendezvous();
        let mut job = fiber::on(&other, async move { rx.recv().await });
        assert!(leno::timeout(Duration::ZERO, &mut job).await.is_err());
        tx.send(()).await.unwrap();
        wait.await;
        job.await.unwrap();
    }
    in_time(|| {
        let cord = Cord::with_clock(Clock::virtual_time());
        cord.block_on(begin_and(sleep(Duration::from_secs(3600))));
    });
    for report in stuck(|| begin_and(pending())) {
        assert!(report.contains("something outside leno"), "{report}");
    }
}

/// A fiber that waits for the scope of which it is.
#[test]
fn a_scope_is_part_of_the_circle() {
    let reports = stuck(|| async {
        let (give, handles) = rendezvous::<fiber::JoinHandle<()>>();
        let opener = spawn(async move {
            fiber::scope(async |scope: &fiber::Scope| {
                drop(scope.spawn(async move {
                    let opener = handles.recv().await.unwrap();
                    let _ = opener.await;
                }));
            })
            .await
            .unwrap();
        });
        give.send(opener).await.unwrap();
        fiber::park().await;
    });
    for text in &reports {
        assert!(text.contains("they wait in a circle:") && text.contains("waits: scope fiber "), "{text}");
    }
}

/// On a virtual clock: of two timers one was cleared, and the other is never due, so time does not go on for them.
#[test]
fn a_timer_that_is_never_due_hides_nothing() {
    in_time(|| {
        for workers in [1, 2] {
            let settings = Runtime::builder().workers(workers).closed_world(true);
            let runtime = settings.clock(Clock::virtual_time()).build().unwrap();
            let text = report(|| {
                runtime.block_on(async {
                    const YEAR: Duration = Duration::from_secs(365 * 86_400);
                    let mut never = pin!(sleep(600 * YEAR));
                    let mut far = Box::pin(sleep(570 * YEAR));
                    let set = poll_fn(|cx| {
                        let never = never.as_mut().poll(cx).is_pending();
                        Poll::Ready(never && far.as_mut().poll(cx).is_pending())
                    });
                    assert!(set.await);
                    drop(far);
                    never.await;
                });
            });
            assert!(text.starts_with("deadlock: all fibers wait"), "{text}");
        }
    });
}

/// The job's own thread wakes somebody else.
#[test]
fn what_unblock_does_itself_counts() {
    on_each(|| async {
        let (tx, rx) = rendezvous();
        let blocked = spawn(unblock(move || {
            thread::sleep(Duration::from_millis(20));
            tx.send_blocking(3).unwrap();
        }));
        assert_eq!(rx.recv().await, Ok(3));
        blocked.await.unwrap();
    });
}

#[test]
fn without_the_promise_others_may_wake() {
    in_time(|| {
        let wake_later = |tx: leno::Sender<u8>| {
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                tx.send_blocking(1).unwrap();
            })
        };
        for workers in [1, 2] {
            let (tx, rx) = rendezvous();
            let thread = wake_later(tx);
            let runtime = Runtime::builder().workers(workers).closed_world(false).build().unwrap();
            assert_eq!(runtime.block_on(rx.recv()), Ok(1));
            thread.join().unwrap();
        }
        let (tx, rx) = rendezvous();
        let thread = wake_later(tx);
        assert_eq!(Cord::new().block_on(rx.recv()), Ok(1));
        thread.join().unwrap();
    });
}

#[test]
fn work_is_never_taken_for_a_deadlock() {
    in_time(|| {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            // From outside, and awaited there.
            for round in 0..2000 {
                let fiber = runtime.spawn(async move {
                    if round % 2 == 0 {
                        yield_now().await;
                    }
                    round
                });
                assert_eq!(runtime.block_on(fiber).unwrap(), round);
            }
            // The worker and this thread take turns.
            runtime.block_on(async {
                let (there, here) = rendezvous();
                let (back, again) = rendezvous();
                let peer = spawn(async move {
                    while let Ok(value) = here.recv().await {
                        back.send(value).await.unwrap();
                    }
                });
                for round in 0..2000 {
                    there.send(round).await.unwrap();
                    assert_eq!(again.recv().await, Ok(round));
                }
                drop(there);
                peer.await.unwrap();
            });
        }
        let cord = cord();
        for round in 0..200 {
            let fiber = cord.spawn_local(async move {
                yield_now().await;
                round
            });
            assert_eq!(cord.block_on(fiber).unwrap(), round);
        }
        cord.block_on(async { spawn_local(yield_now()).await.unwrap() });
    });
}

/// Whoever starts a fiber from outside counts, also while it is about to: here in a hook.
#[test]
fn a_fiber_that_is_being_started_from_outside_counts() {
    type Start = fn(&Runtime, leno::Sender<u8>);
    let starts: [Start; 3] = [
        |runtime, tx| drop(runtime.spawn(async move { tx.send(7).await })),
        |runtime, tx| {
            let scope = runtime.blocking_scope(|scope| drop(scope.spawn(async move { tx.send(7).await })));
            scope.unwrap();
        },
        |runtime, tx| fiber::on(runtime, async move { tx.send(7).await }).wait().unwrap(),
    ];
    for start in starts {
        in_time(move || {
            let hook = Arc::new((AtomicBool::new(false), Barrier::new(2), Barrier::new(2)));
            let hooked = hook.clone();
            let runtime = Runtime::builder().workers(1).closed_world(true).on_spawn(move |_| {
                let (armed, begins, goes_on) = &*hooked;
                if armed.swap(false, SeqCst) {
                    begins.wait();
                    goes_on.wait();
                }
            });
            let runtime = runtime.build().unwrap();
            let (armed, begins, goes_on) = &*hook;
            let (tx, rx) = rendezvous();
            thread::scope(|scope| {
                let runtime = &runtime;
                scope.spawn(move || {
                    armed.store(true, SeqCst);
                    start(runtime, tx);
                });
                begins.wait();
                let mut polled = false;
                let received = runtime.block_on(async {
                    let mut receiving = pin!(rx.recv());
                    poll_fn(|cx| {
                        if !std::mem::replace(&mut polled, true) {
                            // Some time after this has begun to wait.
                            scope.spawn(|| {
                                thread::sleep(Duration::from_millis(20));
                                goes_on.wait();
                            });
                        }
                        receiving.as_mut().poll(cx)
                    })
                    .await
                });
                assert_eq!(received, Ok(7));
            });
        });
    }
}

#[test]
fn prepared_fibers_can_be_started_from_outside() {
    in_time(|| {
        let runtime = runtime(2);
        for _ in 0..200 {
            let prepared = runtime.block_on(async { Builder::new().prepare(async { 4 }) });
            let started = prepared.start();
            assert_eq!(runtime.block_on(started).unwrap(), 4);
        }
    });
}

/// Takes its time to be dropped, and then closes the channel.
struct Slow(Option<leno::Sender<u8>>);

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(5));
        self.0 = None;
    }
}

/// The end of one `block_on`, its future's drop included, is what another one waits for.
#[test]
fn the_end_of_a_block_on_wakes_others() {
    in_time(|| {
        let runtime = runtime(2);
        for _ in 0..50 {
            let (tx, rx) = rendezvous::<u8>();
            // Both are in their first poll at one time.
            let both = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let slow = Slow(Some(tx));
                    // The closure, and what it has, goes with the future.
                    let both = &both;
                    runtime.block_on(poll_fn(move |_| {
                        let _kept = &slow;
                        both.wait();
                        Poll::Ready(())
                    }));
                });
                let received = runtime.block_on(async {
                    both.wait();
                    rx.recv().await
                });
                assert!(received.is_err());
            });
        }
    });
}

/// Of two that wait for ever the older one is told; its end is what the other one has waited for.
#[test]
fn of_several_block_ons_one_is_told() {
    in_time(|| {
        let runtime = runtime(2);
        let (kept, rx) = rendezvous::<u8>();
        let both = Barrier::new(2);
        thread::scope(|scope| {
            let older = scope.spawn(|| {
                report(|| {
                    runtime.block_on(async {
                        let _kept = kept;
                        both.wait();
                        both.wait();
                        fiber::park().await;
                    })
                })
            });
            both.wait();
            let younger = runtime.block_on(async {
                both.wait();
                rx.recv().await
            });
            assert!(younger.is_err(), "its sender is gone");
            let text = older.join().unwrap();
            assert!(text.contains("park") && text.contains("recv channel@"), "{text}");
        });
    });
}

/// Nobody waits for those fibers: they may stand still.
#[test]
fn without_a_block_on_nobody_is_told() {
    in_time(|| {
        let runtime = runtime(2);
        let (tx, rx) = bounded::<u8>(1);
        let fiber = runtime.spawn(async move { rx.recv().await });
        let waits = || runtime.dump().fibers().iter().any(|fiber| !fiber.waits().is_empty());
        until(waits);
        let end = Instant::now() + Duration::from_millis(20);
        while Instant::now() < end {
            thread::yield_now();
        }
        assert_eq!(runtime.block_on(async { 1 }), 1);
        runtime.block_on(tx.send(9)).unwrap();
        assert_eq!(runtime.block_on(fiber).unwrap(), Ok(9));
    });
}

/// A job that nobody waits for any more runs on, and may wake others.
#[test]
fn a_job_that_runs_on_counts() {
    on_each(|| async {
        let ((begins, begun), (tx, rx)) = (rendezvous(), rendezvous());
        let mut job = Box::pin(unblock(move || {
            begins.send_blocking(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            tx.send_blocking(3).unwrap();
        }));
        select! {
            _ = &mut job => unreachable!("it waits for this"),
            begins = begun.recv() => begins.unwrap(),
        }
        drop(job);
        assert_eq!(rx.recv().await, Ok(3));
    });
}

/// A `block_on` that has come to its end is told nothing: that is for the next one.
#[test]
fn one_that_waits_after_another_has_ended_is_reported() {
    in_time(|| {
        for workers in [1, 2] {
            let runtime = runtime(workers);
            runtime.block_on(async { spawn(yield_now()).await.unwrap() });
            assert!(report(|| runtime.block_on(fiber::park())).contains("park"));
            assert!(report(|| runtime.block_on(pending())).contains("something outside leno"));
        }
        let cord = cord();
        cord.block_on(yield_now());
        assert!(report(|| cord.block_on(fiber::park())).contains("park"));
        assert!(report(|| cord.block_on(pending())).contains("something outside leno"));
    });
}

/// Whoever starts a prepared fiber from outside counts, also while it is about to: here in a hook.
#[test]
fn a_prepared_fiber_that_is_being_started_from_outside_counts() {
    in_time(|| {
        let (begins, goes_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (begin, go_on) = (begins.clone(), goes_on.clone());
        let runtime = Runtime::builder().workers(1).closed_world(true).on_spawn(move |fiber| {
            if fiber.name().is_some() {
                begin.wait();
                go_on.wait();
            }
        });
        let runtime = runtime.build().unwrap();
        let (tx, rx) = rendezvous();
        let late = async { Builder::new().name("late").prepare(async move { tx.send(7).await }) };
        let late = runtime.block_on(late);
        let starts = thread::spawn(move || drop(late.start()));
        begins.wait();
        let received = runtime.block_on(async {
            let mut receiving = pin!(rx.recv());
            let mut goes_on = Some(goes_on);
            poll_fn(|cx| {
                if let Some(goes_on) = goes_on.take() {
                    // Some time after this has begun to wait.
                    thread::spawn(move || {
                        thread::sleep(Duration::from_millis(20));
                        goes_on.wait();
                    });
                }
                receiving.as_mut().poll(cx)
            })
            .await
        });
        assert_eq!(received, Ok(7));
        starts.join().unwrap();
    });
}
