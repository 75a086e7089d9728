//! S8: handlers stand in the caller's own block: they await, return, break and continue, and may use what the futures
//! had borrowed.

use leno::channel::RecvError;
use leno::{Receiver, bounded, rendezvous, select, select_biased, select_blocking};

/// The sum of what comes: 0 is skipped, a negative number ends it, and so does an end of the channel.
async fn sum_until_negative(rx: &Receiver<i32>) -> Result<i32, RecvError> {
    let mut sum = 0;
    for _ in 0..10 {
        select! {
            x = rx.recv() => {
                let x = x?;
                if x == 0 {
                    continue;
                }
                if x < 0 {
                    break;
                }
                sum += x;
            }
            _ = std::future::pending::<()>() => {}
        }
    }
    Ok(sum)
}

#[test]
fn control_flow() {
    leno::block_on(async {
        let (tx, rx) = bounded(10);
        for x in [1, 0, 2, -1, 5] {
            tx.send(x).await.unwrap();
        }
        assert_eq!(sum_until_negative(&rx).await, Ok(3));
        assert_eq!(rx.recv().await, Ok(5));
        drop(tx);
        assert_eq!(sum_until_negative(&rx).await, Err(RecvError));
    });
}

/// The first even number that follows a zero, times 10; labels, nested loops, `return` from within, breaks with a value.
async fn even_after_zero(rx: &Receiver<i32>) -> Option<i32> {
    let found = 'outer: loop {
        select! {
            Ok(0) = rx.recv() => {
                loop {
                    select_biased! {
                        Ok(x) = rx.recv() => match x {
                            0 => continue 'outer,
                            x if x % 2 == 0 => break 'outer x,
                            x if x < 0 => return None,
                            _ => {}
                        },
                        else => break,
                    }
                }
            }
            default => return Some(-1),
            else => continue,
        }
        return Some(-2);
    };
    Some(found * 10)
}

#[test]
fn labels_and_returns() {
    leno::block_on(async {
        for (numbers, expected) in [
            (&[5, 4, 0, 3, 0, 0, 1, 2, 8][..], Some(20)),
            (&[0, -1], None),
            (&[1, 2, 3], Some(-1)),
            (&[], Some(-1)),
        ] {
            let (tx, rx) = bounded(10);
            for &x in numbers {
                tx.send(x).await.unwrap();
            }
            assert_eq!(even_after_zero(&rx).await, expected, "{numbers:?}");
        }
    });
}

/// Handlers that await what the losers waited for, on the very channels; and select again.
#[test]
fn handlers_await() {
    leno::block_on(async {
        let (tx, rx) = rendezvous();
        let (done, dones) = rendezvous();
        let peer = leno::spawn(async move {
            for i in 0..4 {
                tx.send(i).await.unwrap();
            }
            dones.recv().await.unwrap()
        });
        let all = select! {
            first = rx.recv() => {
                let second = rx.recv().await;
                let third = select! { third = rx.recv() => third, _ = done.send(vec![]) => panic!("not yet") };
                let all = vec![first, second, third, rx.recv().await];
                done.send(all.clone()).await.unwrap();
                all
            }
            _ = done.send(vec![]) => panic!("not yet"),
        };
        assert_eq!(all, [Ok(0), Ok(1), Ok(2), Ok(3)]);
        assert_eq!(peer.await.unwrap(), all);
    });
}

/// A handler may use what a future of the same select has borrowed: the futures are gone by then.
#[test]
fn handlers_use_what_futures_borrowed() {
    leno::block_on(async {
        let mut log = vec![0];
        let (tx, rx) = bounded(1);
        for i in 1..4 {
            let append = async {
                log.push(i);
                tx.send(i).await.unwrap();
                std::future::pending::<()>().await;
            };
            select! {
                () = append => unreachable!("pending for ever"),
                received = rx.recv() => log.push(received.unwrap() * 10),
            }
        }
        assert_eq!(log, [0, 1, 10, 2, 20, 3, 30]);
        let mut moved = Some(String::from("moved"));
        select! {
            text = async { moved.take() } => {
                moved = text;
                drop(moved);
            }
        }
    });
}

/// The same on a thread.
#[test]
fn on_a_thread() {
    fn next(rx: &Receiver<i32>) -> Result<Option<i32>, RecvError> {
        loop {
            select_blocking! {
                x = rx.recv() => match x? {
                    0 => continue,
                    x if x < 0 => return Ok(None),
                    x => break Ok(Some(x)),
                },
                _ = std::future::pending::<()>() => {}
            }
        }
    }
    let (tx, rx) = bounded(10);
    for x in [0, 0, 3, 0, -1] {
        tx.try_send(x).unwrap();
    }
    drop(tx);
    assert_eq!((next(&rx), next(&rx), next(&rx)), (Ok(Some(3)), Ok(None), Err(RecvError)));
}

/// As in tokio: what a pattern ignores lives until the handler has ended.
#[test]
fn what_is_ignored_lives_through_the_handler() {
    let (mutex, semaphore) = (leno::sync::Mutex::new(0), leno::sync::Semaphore::new(1));
    leno::block_on(async {
        select! {
            _ = mutex.lock() => assert!(mutex.try_lock().is_none()),
        }
        assert!(mutex.try_lock().is_some());
        select! {
            Ok(_) = semaphore.acquire() => assert_eq!(semaphore.available_permits(), 0),
            else => unreachable!("it is not closed"),
        }
        assert_eq!(semaphore.available_permits(), 1);
    });
    select_blocking! {
        _ = mutex.lock() => assert!(mutex.try_lock().is_none()),
    }
    assert!(mutex.try_lock().is_some());
}
