//! Intervals: when ticks come, and what becomes of those that were missed.

use crate::support::{CountingWaker, SECOND, cord, in_time};
use futures_lite::StreamExt;
use leno::fiber::{
    self, Cord, Interval, Missed, Runtime, interval, interval_at, interval_with, now, sleep, sleep_until,
};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::catch_unwind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The next `n` ticks: when each was due, and when it was taken, in milliseconds since `start`.
async fn ticks(interval: &mut Interval, start: Instant, n: usize) -> Vec<(u128, u128)> {
    let mut ticks = Vec::new();
    for _ in 0..n {
        let due = interval.tick().await;
        ticks.push(((due - start).as_millis(), (now() - start).as_millis()));
    }
    ticks
}

#[test]
fn the_first_tick_is_at_once_and_then_every_period() {
    // F12: exact on a virtual clock, and no real time.
    let real = Instant::now();
    cord().block_on(async {
        let start = now();
        let mut hourly = interval(3600 * SECOND);
        assert_eq!(hourly.period(), 3600 * SECOND);
        assert_eq!(hourly.missed(), Missed::Burst);
        for n in 0..100 {
            assert_eq!(hourly.tick().await, start + n * 3600 * SECOND);
            assert_eq!(now(), start + n * 3600 * SECOND);
        }
    });
    assert!(real.elapsed() < 60 * SECOND);
}

/// On another clock it goes on with what was left by the one before: between two ticks, and after a tick that was waited for in
/// vain.
#[test]
fn it_moves_between_executors() {
    let first = cord();
    let mut hourly = interval(3600 * SECOND);
    let mut hourly = first.block_on(async move {
        for _ in 0..100 {
            hourly.tick().await;
        }
        sleep(1200 * SECOND).await;
        hourly
    });
    let second = cord();
    let mut hourly = second.block_on(async move {
        let start = now();
        assert_eq!(hourly.tick().await, start + 3600 * SECOND, "what was left after the last tick");
        assert!(leno::timeout(600 * SECOND, hourly.tick()).await.is_err());
        hourly
    });
    let third = cord();
    third.block_on(async move {
        let start = now();
        assert_eq!(hourly.tick().await, start + 3000 * SECOND, "what was left when it was given up");
        assert_eq!(hourly.tick().await, start + 6600 * SECOND);
    });
}

/// The same with a tick that is due, but not taken as the fiber has no turn left.
#[test]
fn a_refused_tick_moves_between_executors() {
    let first = cord();
    let mut hourly = interval(3600 * SECOND);
    let mut hourly = first.block_on(async move {
        hourly.tick().await;
        sleep(4000 * SECOND).await;
        let (tx, rx) = leno::unbounded();
        (0..300).for_each(|n| tx.try_send(n).unwrap());
        let mut taken = 0;
        poll_fn(|cx| {
            // In one poll.
            while taken < 300 && Pin::new(&mut rx.recv()).poll(cx).is_ready() {
                taken += 1;
            }
            assert!(taken < 300, "its turn is over");
            assert!(Pin::new(&mut hourly.tick()).poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        hourly
    });
    cord().block_on(async move {
        let start = now();
        assert_eq!(hourly.tick().await, start);
        assert_eq!(hourly.tick().await, start + 3600 * SECOND);
    });
}

#[test]
fn work_shorter_than_the_period_moves_no_tick() {
    for missed in [Missed::Burst, Missed::Skip, Missed::Delay] {
        cord().block_on(async {
            let start = now();
            let mut interval = interval_with(ms(50), missed);
            for n in 0..20 {
                assert_eq!(interval.tick().await, start + n * ms(50), "{missed:?}");
                sleep(ms(49)).await;
            }
        });
    }
}

// The next three are the examples of tokio's `MissedTickBehavior`, with exact times.

#[test]
fn missed_ticks_in_a_burst() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval(ms(50));
        assert_eq!(ticks(&mut interval, start, 1).await, [(0, 0)]);
        sleep(ms(220)).await;
        let expected = [(50, 220), (100, 220), (150, 220), (200, 220), (250, 250), (300, 300)];
        assert_eq!(ticks(&mut interval, start, 6).await, expected);
    });
}

#[test]
fn missed_ticks_delay_the_rest() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval_with(ms(50), Missed::Delay);
        assert_eq!(ticks(&mut interval, start, 1).await, [(0, 0)]);
        sleep(ms(220)).await;
        assert_eq!(ticks(&mut interval, start, 3).await, [(50, 220), (270, 270), (320, 320)]);
        // A small delay, far below the period, does not add up.
        sleep(ms(54)).await;
        assert_eq!(ticks(&mut interval, start, 2).await, [(370, 374), (420, 420)]);
        sleep(ms(56)).await;
        assert_eq!(ticks(&mut interval, start, 2).await, [(470, 476), (526, 526)]);
    });
    // Unless it is a period.
    cord().block_on(async {
        let start = now();
        let mut interval = interval_with(ms(2), Missed::Delay);
        assert_eq!(ticks(&mut interval, start, 1).await, [(0, 0)]);
        sleep(ms(5)).await;
        assert_eq!(ticks(&mut interval, start, 2).await, [(2, 5), (7, 7)]);
    });
}

#[test]
fn missed_ticks_are_skipped() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval_with(ms(50), Missed::Skip);
        assert_eq!(ticks(&mut interval, start, 1).await, [(0, 0)]);
        // tokio: "This one will resolve after 25 ms, 100 ms after the start".
        sleep(ms(75)).await;
        assert_eq!(ticks(&mut interval, start, 2).await, [(50, 75), (100, 100)]);
        sleep(ms(170)).await;
        assert_eq!(ticks(&mut interval, start, 3).await, [(150, 270), (300, 300), (350, 350)]);
        // Taken exactly when the next one is due: that one is over, too.
        sleep(ms(100)).await;
        assert_eq!(ticks(&mut interval, start, 2).await, [(400, 450), (500, 500)]);
    });
    // Also with a period of 34 years and a bit.
    cord().block_on(async {
        let start = now();
        let mut interval = interval_with(Duration::new(1 << 30, 7), Missed::Skip);
        interval.tick().await;
        sleep_until(start + 5 * Duration::new(1 << 30, 7) + SECOND).await;
        interval.tick().await;
        assert_eq!(interval.tick().await, start + 6 * Duration::new(1 << 30, 7));
    });
}

#[test]
fn the_policy_can_change() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval(ms(10));
        sleep(ms(35)).await;
        assert_eq!(ticks(&mut interval, start, 2).await, [(0, 35), (10, 35)]);
        interval.set_missed(Missed::Skip);
        assert_eq!(interval.missed(), Missed::Skip);
        // The one that was missed already comes; those after it do not.
        assert_eq!(ticks(&mut interval, start, 3).await, [(20, 35), (40, 40), (50, 50)]);
    });
}

#[test]
fn beginning_at_an_instant() {
    cord().block_on(async {
        let start = now();
        let mut later = interval_at(start + ms(30), ms(20));
        assert_eq!(ticks(&mut later, start, 2).await, [(30, 30), (50, 50)]);
        // In the past.
        let mut earlier = interval_at(start + ms(20), ms(20));
        assert_eq!(ticks(&mut earlier, start, 3).await, [(20, 50), (40, 50), (60, 60)]);
    });
}

#[test]
fn a_reset_begins_anew() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval(ms(50));
        assert_eq!(ticks(&mut interval, start, 2).await, [(0, 0), (50, 50)]);
        sleep(ms(20)).await;
        interval.reset();
        assert_eq!(ticks(&mut interval, start, 2).await, [(120, 120), (170, 170)]);
        // Before the first tick, too, and while it waits.
        let mut interval = fiber::interval(ms(50));
        interval.reset();
        assert!(leno::timeout(ms(30), interval.tick()).await.is_err());
        interval.reset();
        assert_eq!(ticks(&mut interval, start, 1).await, [(250, 250)]);
    });
}

#[test]
fn a_reset_says_when_the_next_tick_comes() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval(ms(50));
        interval.tick().await;
        interval.reset_after(ms(20));
        assert_eq!(ticks(&mut interval, start, 2).await, [(20, 20), (70, 70)]);
        interval.reset_after(Duration::ZERO);
        assert_eq!(ticks(&mut interval, start, 2).await, [(70, 70), (120, 120)]);
        interval.reset_at(start + ms(300));
        assert_eq!(ticks(&mut interval, start, 2).await, [(300, 300), (350, 350)]);
        // In the past: what was missed comes at once, by the policy of the interval.
        interval.reset_at(start + ms(250));
        assert_eq!(ticks(&mut interval, start, 4).await, [(250, 350), (300, 350), (350, 350), (400, 400)]);
        interval.reset_after(Duration::MAX);
        assert!(leno::timeout(SECOND, interval.tick()).await.is_err());
    });
}

#[test]
fn a_dropped_tick_is_not_lost() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval(SECOND);
        interval.tick().await;
        for _ in 0..3 {
            assert!(leno::timeout(ms(300), interval.tick()).await.is_err());
        }
        drop(interval.tick());
        assert_eq!(ticks(&mut interval, start, 1).await, [(1000, 1000)]);
        // Due, and its waiter gone before it looked.
        let mut waiting = interval.tick();
        assert!(poll_fn(|cx| Poll::Ready(Pin::new(&mut waiting).poll(cx).is_pending())).await);
        sleep(3 * SECOND / 2).await;
        drop(waiting);
        assert_eq!(ticks(&mut interval, start, 2).await, [(2000, 2500), (3000, 3000)]);
    });
}

#[test]
fn a_dropped_tick_takes_its_timer_with_it() {
    // F12: its waker is let go, and nobody is woken for it.
    cord().block_on(async {
        let count = CountingWaker::new();
        let waker = Waker::from(count.clone());
        let mut interval = interval(SECOND);
        interval.tick().await;
        let mut tick = interval.tick();
        assert!(Pin::new(&mut tick).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        assert_eq!(Arc::strong_count(&count), 2);
        drop(tick);
        assert_eq!(Arc::strong_count(&count), 1);
        sleep(2 * SECOND).await;
        assert_eq!(count.count(), 0);
    });
}

/// One that was never polled leaves the waker of a poll as a stream where it is.
#[test]
fn a_dropped_tick_that_was_not_polled_takes_nothing() {
    cord().block_on(async {
        let count = CountingWaker::new();
        let waker = Waker::from(count.clone());
        let mut interval = interval(SECOND);
        interval.tick().await;
        assert!(Pin::new(&mut interval).poll_next(&mut Context::from_waker(&waker)).is_pending());
        drop(interval.tick());
        sleep(2 * SECOND).await;
        assert_eq!(count.count(), 1);
    });
}

#[test]
fn made_outside_it_counts_on_the_clock_that_polls_it() {
    // F12
    let cord = cord();
    cord.block_on(sleep(1000 * SECOND));
    let mut interval = interval(SECOND);
    let mut reset = fiber::interval(SECOND);
    reset.reset();
    cord.block_on(async {
        let start = now();
        assert_eq!(ticks(&mut interval, start, 3).await, [(0, 0), (1000, 1000), (2000, 2000)]);
        assert_eq!(ticks(&mut reset, start, 1).await, [(3000, 3000)]);
    });
}

#[test]
fn a_stream_of_ticks() {
    cord().block_on(async {
        let start = now();
        let mut interval = interval(SECOND);
        assert_eq!(interval.next().await, Some(start));
        assert_eq!(interval.tick().await, start + SECOND);
        let more: Vec<_> = interval.take(3).map(|at| (at - start).as_secs()).collect().await;
        assert_eq!(more, [2, 3, 4]);
    });
}

#[test]
fn a_period_beyond_all_time_ticks_once() {
    // F12
    cord().block_on(async {
        let start = now();
        for missed in [Missed::Burst, Missed::Skip, Missed::Delay] {
            let mut interval = interval_with(Duration::MAX, missed);
            assert_eq!(interval.tick().await, now());
            assert!(leno::timeout(1000 * SECOND, interval.tick()).await.is_err());
            interval.reset();
            assert!(leno::timeout(1000 * SECOND, interval.tick()).await.is_err());
        }
        assert_eq!(now() - start, 6000 * SECOND);
    });
}

#[test]
fn a_period_of_zero_is_refused() {
    for make in [
        || interval(Duration::ZERO),
        || interval_with(Duration::ZERO, Missed::Skip),
        || interval_at(Instant::now(), Duration::ZERO),
    ] {
        let payload = catch_unwind(make).unwrap_err();
        let message = payload.downcast_ref::<&str>().unwrap();
        assert!(message.contains("a period of zero"), "{message}");
    }
}

#[test]
fn on_a_runtime_another_executor_and_a_thread() {
    // F12: never early.
    async fn three() {
        let start = Instant::now();
        let mut interval = interval(ms(2));
        for n in 0..3 {
            interval.tick().await;
            assert!(start.elapsed() >= n * ms(2));
        }
    }
    in_time(|| {
        Runtime::builder().workers(2).build().unwrap().block_on(three());
        Cord::new().block_on(three());
        futures_lite::future::block_on(three());
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(three());
        let mut interval = interval(ms(2));
        let first = interval.tick().wait();
        assert_eq!(interval.tick().wait() - first, ms(2));
        assert_eq!(interval.tick().wait() - first, ms(4));
        let mut hourly = fiber::interval(3600 * SECOND);
        hourly.tick().wait();
        assert!(hourly.tick().wait_timeout(ms(1)).is_err());
        // In a fiber of a runtime whose only worker it blocks.
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let fiber = runtime.spawn(async {
            let mut interval = fiber::interval(ms(2));
            let first = interval.tick().wait();
            interval.tick().wait() - first
        });
        assert_eq!(fiber.wait().unwrap(), ms(2));
    });
}

#[test]
fn a_select_over_an_interval_takes_every_tick() {
    cord().block_on(async {
        let start = now();
        let (tx, rx) = leno::rendezvous();
        let sender = fiber::spawn_local(async move {
            for job in 0..30 {
                sleep(ms(7)).await;
                tx.send(job).await.unwrap();
            }
        });
        let mut interval = interval(ms(10));
        let (mut beats, mut jobs) = (Vec::new(), 0);
        while beats.len() < 20 || jobs < 30 {
            leno::select! {
                Ok(_) = rx.recv() => jobs += 1,
                at = interval.tick() => beats.push((at - start).as_millis()),
            }
        }
        assert!(beats.iter().copied().eq((0..).map(|n| n * 10).take(beats.len())), "{beats:?}");
        sender.await.unwrap();
    });
}

/// F10: who takes ticks that were missed lets others run, and one that has done so is not kept waiting by who uses up each budget.
#[test]
fn missed_ticks_let_others_run() {
    in_time(|| {
        cord().block_on(async {
            let ran = Rc::new(Cell::new(false));
            let has_run = Rc::clone(&ran);
            let mut beat = interval(ms(1));
            sleep(1000 * SECOND).await;
            fiber::spawn_local(async move { has_run.set(true) });
            let mut taken = 0;
            while !ran.get() {
                beat.tick().await;
                taken += 1;
                assert!(taken < 100_000, "nobody else has run");
            }
            let (tx, rx) = leno::bounded(1);
            let busy = async {
                loop {
                    tx.send(()).await.unwrap();
                    rx.recv().await.unwrap();
                }
            };
            fiber::race(busy, beat.tick()).await;
        });
    });
}
