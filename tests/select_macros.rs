//! `select!`, `select_biased!` and `select_blocking!`: syntax and meaning.

use std::time::Duration;

use leno::{Receiver, bounded, rendezvous, select, select_biased, select_blocking};

#[test]
fn forms() {
    leno::block_on(async {
        let (tx, rx) = bounded::<Option<i32>>(4);
        let (ty, ry) = bounded::<String>(4);
        // Nothing ready.
        let out = select! {
            x = rx.recv() => format!("{x:?}"),
            y = ry.recv() => format!("{y:?}"),
            default => "default".to_string(),
        };
        assert_eq!(out, "default");
        tx.send(None).await.unwrap();
        // A pattern that fails switches its branch off.
        let out = select! {
            Ok(Some(x)) = rx.recv() => x,
            default => -1,
        };
        assert_eq!(out, -1);
        tx.send(None).await.unwrap();
        let out = select! {
            Ok(Some(x)) = rx.recv() => x,
            else => -2,
        };
        assert_eq!(out, -2);
        tx.send(Some(3)).await.unwrap();
        let out = select! {
            biased;
            Ok(Some(mut x)) = async { rx.recv().await } => { x += 1; x }
            Ok(mut y) = ry.recv(), if false => { y.push('x'); 0 }
            _ = std::future::pending::<()>() => unreachable!(),
        };
        assert_eq!(out, 4);
        ty.send("a".into()).await.unwrap();
        let out = select_biased! {
            Ok(mut y) = ry.recv(), if true => { y.push('x'); y }
            v = tx.send(Some(1)) => { v.unwrap(); String::new() }
            else => panic!(),
        };
        assert_eq!(out, "ax");
        let out = select! {
            Ok(y) = ry.recv() => y,
            default(Duration::from_millis(1)) => "late".into(),
        };
        assert_eq!(out, "late");
        let out = select! {
            Ok(y) = ry.recv() => y,
            _ = leno::sleep(Duration::from_millis(1)) => "slept".into(),
        };
        assert_eq!(out, "slept");
    });
}

async fn question(rx: &Receiver<i32>) -> Result<i32, leno::channel::RecvError> {
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
        assert_eq!(question(&rx).await, Ok(3));
        assert_eq!(rx.recv().await, Ok(5));
        drop(tx);
        assert!(question(&rx).await.is_err());
    });
}

struct Point {
    x: i32,
    y: Vec<i32>,
}

#[test]
fn patterns() {
    leno::block_on(async {
        let numbers = [1, 2];
        let (tx, rx) = bounded::<(Option<&i32>, Point)>(4);
        let send =
            async |x, y: &[i32]| tx.send((Some(&numbers[0]), Point { x, y: y.to_vec() })).await.unwrap();
        send(1, &[2, 3]).await;
        select! {
            Ok((Some(&n @ 1), Point { x, mut y })) = rx.recv() => {
                y.push(n + x);
                assert_eq!(y, [2, 3, 2]);
            }
            else => panic!("it matches"),
        }
        send(4, &[]).await;
        select! {
            Ok((_, Point { x: 1 | 4, ref y, .. })) = rx.recv() => assert!(y.is_empty()),
            else => panic!("it matches"),
        }
        send(5, &[]).await;
        select! {
            Ok((Some(&2) | None, _)) = rx.recv() => panic!("it does not match"),
            else => {}
        }
        send(6, &[]).await;
        select! {
            received @ Ok((_, Point { x: 5..=7, .. })) = rx.recv() => assert!(received.is_ok()),
            else => panic!("it matches"),
        }
        let value = select! {
            (mut a, [.., b]) = std::future::ready((1, [2, 3])) => {
                a += b;
                a
            }
        };
        assert_eq!(value, 4);
    });
}

#[test]
fn lent_sends_keep_their_values() {
    leno::block_on(async {
        let (tx, _rx) = rendezvous();
        let mut sending = tx.send("kept".to_string());
        select! {
            sent = &mut sending => panic!("{sent:?}"),
            default => {}
        }
        assert_eq!(sending.into_inner().as_deref(), Some("kept"));
    });
}

#[test]
fn blocking() {
    let (tx, rx) = rendezvous();
    let thread = std::thread::spawn(move || tx.send_blocking(7));
    let (_t, never) = rendezvous::<i32>();
    let out = select_blocking! {
        x = rx.recv() => x.unwrap(),
        x = never.recv() => x.unwrap(),
    };
    assert_eq!(out, 7);
    thread.join().unwrap().unwrap();
    let out = select_blocking! {
        x = never.recv() => x.unwrap(),
        default(Duration::from_millis(1)) => 9,
    };
    assert_eq!(out, 9);
}

#[test]
#[should_panic(expected = "all branches of the select are off")]
fn nothing_left() {
    leno::block_on(async {
        let (_t, never) = rendezvous::<i32>();
        select! {
            x = never.recv(), if false => { let _ = x; }
        }
    });
}
