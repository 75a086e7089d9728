//! `channel::ticker`: when ticks come, who gets them, and what becomes of those that were missed. On a virtual clock, where
//! time is exact, but for what is about threads.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Defer, SECOND, cord, in_time, waits_for_no_timer, waker};
use futures_lite::StreamExt;
use leno::channel::ticker::{Missed, Receiver, after, at, never, tick, tick_with};
use leno::channel::{RecvTimeoutError, TryRecvError};
use leno::fiber::{Cord, Runtime, now};
use leno::{bounded, sleep, spawn};

/// The next `n` ticks: when each was due, and when it was taken, in milliseconds since `start`.
async fn ticks(rx: &Receiver<Instant>, start: Instant, n: usize) -> Vec<(u128, u128)> {
    let mut ticks = Vec::new();
    for _ in 0..n {
        let due = rx.recv().await.expect("a ticker never closes");
        ticks.push(((due - start).as_millis(), (now() - start).as_millis()));
    }
    ticks
}

/// F12: exact, once, and silent then.
#[test]
fn after_and_at_come_once() {
    cord().block_on(async {
        let start = now();
        let (one, two) = (after(2 * SECOND), at(start + SECOND));
        assert_eq!(one.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(two.recv().await, Ok(start + SECOND));
        assert_eq!(now(), start + SECOND);
        assert_eq!(one.recv().await, Ok(start + 2 * SECOND));
        sleep(SECOND).await;
        for rx in [&one, &two] {
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "C18: it is open");
            assert!(!rx.is_closed());
        }
        // What has passed is there at once.
        assert_eq!(at(start).try_recv(), Ok(start));
        assert_eq!(after(Duration::ZERO).try_recv(), Ok(now()));
    });
}

#[test]
fn a_tick_comes_every_period() {
    cord().block_on(async {
        let start = now();
        let hourly = tick(3600 * SECOND);
        for n in 1..=100 {
            assert_eq!(hourly.recv().await, Ok(start + n * 3600 * SECOND));
            assert_eq!(now(), start + n * 3600 * SECOND);
        }
    });
}

/// The examples of tokio's `MissedTickBehavior`, less the first tick.
#[test]
fn what_becomes_of_missed_ticks() {
    let ms = Duration::from_millis;
    cord().block_on(async {
        let start = now();
        let burst = tick(ms(50));
        sleep(ms(220)).await;
        let expected = [(50, 220), (100, 220), (150, 220), (200, 220), (250, 250), (300, 300)];
        assert_eq!(ticks(&burst, start, 6).await, expected);
        drop(burst);
        let start = now();
        let delay = tick_with(ms(50), Missed::Delay);
        sleep(ms(220)).await;
        assert_eq!(ticks(&delay, start, 3).await, [(50, 220), (270, 270), (320, 320)]);
        let start = now();
        let skip = tick_with(ms(50), Missed::Skip);
        sleep(ms(75)).await;
        assert_eq!(ticks(&skip, start, 2).await, [(50, 75), (100, 100)]);
        sleep(ms(170)).await;
        assert_eq!(ticks(&skip, start, 3).await, [(150, 270), (300, 300), (350, 350)]);
    });
}

/// A burst is there at once, for one who does not wait either.
#[test]
fn a_burst_without_waiting() {
    cord().block_on(async {
        let start = now();
        let burst = tick(SECOND);
        sleep(4 * SECOND + SECOND / 2).await;
        let taken = burst.try_iter().collect::<Vec<_>>();
        assert_eq!(taken, [1, 2, 3, 4].map(|n| start + n * SECOND));
    });
}

#[test]
fn never_and_the_end_of_time() {
    cord().block_on(async {
        let all = [never(), after(Duration::MAX), tick(Duration::MAX)];
        sleep(1_000_000 * SECOND).await;
        for rx in &all {
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
        assert!(leno::timeout(SECOND, all[0].recv()).await.is_err());
    });
    assert_eq!(never().recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
}

/// S1: a branch that loses takes no tick; S5: none of them is ever closed.
#[test]
fn branches_of_select() {
    cord().block_on(async {
        let start = now();
        let (beat, other) = (tick(SECOND), after(10 * SECOND + SECOND / 2));
        let (tx, rx) = bounded::<u32>(100);
        let sender = spawn(async move {
            for n in 0..50 {
                sleep(SECOND / 5).await;
                tx.send(n).await.unwrap();
            }
            sleep(1000 * SECOND).await;
        });
        let (mut beats, mut values) = (0, 0);
        loop {
            leno::select! {
                due = beat.recv() => {
                    beats += 1;
                    assert_eq!(due, Ok(start + beats * SECOND), "none is lost, none comes twice");
                }
                Ok(n) = rx.recv() => {
                    assert_eq!(n, values);
                    values += 1;
                }
                due = other.recv() => break assert_eq!(due, Ok(start + 10 * SECOND + SECOND / 2)),
            }
        }
        assert_eq!((beats, values), (10, 50));
        sender.cancel();
    });
}

/// A dynamic select, a select on a thread, and the blocking forms.
#[test]
fn on_threads() {
    let ms = Duration::from_millis;
    let start = Instant::now();
    let due = after(ms(2)).recv_blocking().unwrap();
    assert!(due >= start + ms(2) && Instant::now() >= due, "F12: never early");
    let (beat, silent) = (tick(ms(1)), never());
    let mut set = leno::select::Select::new();
    let beats = set.recv(&beat);
    set.recv(&silent);
    let first = set.select().wait().recv(beats).unwrap();
    let second = leno::select_blocking! {
        due = beat.recv() => due.unwrap(),
        _ = silent.recv() => unreachable!("never"),
    };
    assert_eq!(second, first + ms(1));
    assert_eq!(beat.iter().take(3).collect::<Vec<_>>(), [2, 3, 4].map(|n| first + ms(n)));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| beat.recv_timeout(Duration::MAX));
        assert_eq!(waiting.join().unwrap(), Ok(first + ms(5)));
    });
}

/// C9: a receive that is dropped, handed to or not, takes no tick.
#[test]
fn cancelled_anywhere() {
    cord().block_on(async {
        let start = now();
        let beat = tick(SECOND);
        let mut cx = Context::from_waker(Waker::noop());
        drop(beat.recv());
        {
            let mut waiting = pin!(beat.recv());
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
        }
        sleep(SECOND).await;
        assert_eq!(beat.try_recv(), Ok(start + SECOND));
        {
            let mut handed = pin!(beat.recv());
            assert!(handed.as_mut().poll(&mut cx).is_pending());
            sleep(SECOND).await;
        }
        assert_eq!(beat.len(), 1, "what it was handed came back");
        assert_eq!(beat.recv().await, Ok(start + 2 * SECOND));
        assert_eq!(beat.recv().await, Ok(start + 3 * SECOND));
    });
}

/// Clones share the ticks; the last one takes the timer along.
#[test]
fn clones_and_the_end() {
    cord().block_on(async {
        let start = now();
        let beat = tick(SECOND);
        let clone = beat.clone();
        let other = spawn(async move {
            let mut mine = Vec::new();
            for _ in 0..5 {
                mine.push(clone.recv().await.unwrap());
            }
            mine
        });
        let mut all = Vec::new();
        for _ in 0..5 {
            all.push(beat.recv().await.unwrap());
        }
        all.extend(other.await.unwrap());
        all.sort();
        assert_eq!(all, (1..=10).map(|n| start + n * SECOND).collect::<Vec<_>>());
    });
    // If a timer were left time would go on.
    cord().block_on(async {
        let start = now();
        drop((tick(SECOND), after(SECOND), at(now() + SECOND)));
        let beat = tick(SECOND);
        assert!(beat.close());
        assert!(beat.recv().await.is_err(), "C5: closed by its receiver");
        waits_for_no_timer().await;
        assert_eq!(now(), start);
    });
}

/// C20: a stream of ticks.
#[test]
fn streams() {
    cord().block_on(async {
        let start = now();
        let taken = tick(SECOND).into_stream().take(3).collect::<Vec<_>>().await;
        assert_eq!(taken, [1, 2, 3].map(|n| start + n * SECOND));
    });
}

/// It outlives its executor, by the default runtime's time.
#[test]
fn the_executor_ends() {
    let beat = {
        let cord = cord();
        cord.block_on(async { tick(Duration::from_millis(3)) })
    };
    let first = beat.recv_blocking().unwrap();
    assert!(first <= Instant::now(), "F12: never early");
    assert_eq!(beat.recv_blocking(), Ok(first + Duration::from_millis(3)));
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let one = runtime.block_on(async { after(Duration::from_millis(3)) });
    drop(runtime);
    one.recv_blocking().expect("it does not close");
}

/// It goes on by another clock, by which it is too far away.
#[test]
fn the_executor_ends_before_the_end_of_time() {
    let last = |mut at: Instant| {
        for unit in [Duration::from_secs, Duration::from_nanos] {
            for bit in (0..u64::BITS).rev() {
                while let Some(later) = at.checked_add(unit(1 << bit)) {
                    at = later;
                }
            }
        }
        at
    };
    let cord = cord();
    let start = cord.block_on(async { now() });
    while start == Instant::now() {}
    let (tx, made) = std::sync::mpsc::channel();
    cord.block_on(async move {
        // Made as the cord ends.
        let late = Defer(move || tx.send(catch_unwind(|| at(last(start)).try_recv())).unwrap());
        drop(leno::fiber::spawn_local(async move {
            let _late = late;
            std::future::pending::<()>().await;
        }));
        leno::yield_now().await;
    });
    drop(cord);
    assert_eq!(made.recv().unwrap().expect("no panic"), Err(TryRecvError::Empty));
}

/// C25: a fiber that blocks a worker gets its tick as long as there is another one.
#[test]
fn a_worker_waits() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let ticked = runtime.spawn(async {
        let one = after(Duration::from_millis(2));
        one.recv_blocking()
    });
    assert!(runtime.block_on(ticked).unwrap().is_ok());
}

/// On tokio, and from there to a fiber.
#[test]
fn elsewhere() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let beat = tokio.block_on(async {
        let beat = tick(Duration::from_millis(1));
        beat.recv().await.unwrap();
        beat
    });
    leno::block_on(async { beat.recv().await.unwrap() });
    thread::spawn(move || beat.recv_blocking().unwrap()).join().unwrap();
}

/// C13: a receiver's waker that looks for a tick at once, and one that panics.
#[test]
fn wakers() {
    cord().block_on(async {
        let start = now();
        let beat = tick(SECOND);
        let clone = beat.clone();
        let (tx, taken) = leno::unbounded();
        let takes = waker(move || clone.try_iter().for_each(|due| tx.try_send(due).unwrap()));
        let mut waiting = beat.recv();
        assert!(pin!(&mut waiting).poll(&mut Context::from_waker(&takes)).is_pending());
        sleep(SECOND).await;
        assert_eq!(
            pin!(&mut waiting).poll(&mut Context::from_waker(&takes)),
            Poll::Ready(Ok(start + SECOND))
        );
        assert!(taken.is_empty());
        let panics = waker(|| panic!("planted: a waker panics"));
        let mut waiting = beat.recv();
        assert!(pin!(&mut waiting).poll(&mut Context::from_waker(&panics)).is_pending());
        sleep(SECOND).await;
        drop(panics);
        assert_eq!(waiting.await, Ok(start + 2 * SECOND), "C29: it has its tick");
        assert_eq!(beat.recv().await, Ok(start + 3 * SECOND), "and the ticker goes on");
    });
}

/// C13, C29: of a burst within one run of the ticker, all those whose wakers panic have their ticks, how many they be.
fn a_burst_to_wakers_that_panic(n: u32, panic: impl Fn() + Clone + Send + Sync + 'static) {
    in_time(move || {
        Cord::new().block_on(async {
            let period = Duration::from_millis(1);
            let ticks = tick(period);
            let mut receives = (0..n).map(|_| Box::pin(ticks.recv())).collect::<Vec<_>>();
            let waker = waker(panic);
            receives
                .retain_mut(|receive| receive.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            // All are due before this thread looks at the time.
            thread::sleep((n + 1) * period);
            sleep(Duration::ZERO).await;
            for receive in receives {
                receive.await.unwrap();
            }
            ticks.recv().await.unwrap();
        });
    });
}

/// The drops of what they panic with panic as well.
#[test]
fn wakers_whose_panics_panic() {
    let payload = || Defer(|| panic!("planted: a payload's drop panics"));
    a_burst_to_wakers_that_panic(3, move || resume_unwind(Box::new(payload())));
}

#[test]
fn many_wakers_that_panic() {
    a_burst_to_wakers_that_panic(120, || resume_unwind(Box::new(())));
}

#[test]
fn a_period_of_zero_is_refused() {
    for missed in [Missed::Burst, Missed::Delay, Missed::Skip] {
        catch_unwind(AssertUnwindSafe(|| tick_with(Duration::ZERO, missed))).expect_err("it would never end");
    }
}

/// With many at once, each gets its own; and ten thousand losing ones, an hour each, keep no time (S1).
#[test]
fn many() {
    cord().block_on(async {
        let start = now();
        let all = (1..=200_u32).rev().map(|n| (n, after(n * SECOND))).collect::<Vec<_>>();
        for (n, rx) in all.iter().rev() {
            assert_eq!(rx.recv().await, Ok(start + *n * SECOND));
        }
        let (tx, rx) = bounded(1);
        for n in 0..10_000 {
            tx.send(n).await.unwrap();
            let limit = after(3600 * SECOND);
            let got = leno::select! {
                got = rx.recv() => got,
                _ = limit.recv() => unreachable!("an hour"),
            };
            assert_eq!(got, Ok(n));
        }
        waits_for_no_timer().await;
        assert_eq!(now(), start + 200 * SECOND);
    });
}

/// It goes on with what was left by the clock of the executor that has ended, however far that clock had gone.
#[test]
fn the_executor_ends_with_its_clock_far_ahead() {
    in_time(|| {
        let cord = cord();
        let one = cord.block_on(async {
            leno::sleep(100_000 * SECOND).await;
            after(Duration::from_millis(3))
        });
        drop(cord);
        one.recv_blocking().expect("it does not close");
    });
}
