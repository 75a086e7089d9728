//! What can be written where, and what it means: S5, S6, S8.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use leno::{Receiver, bounded, rendezvous, select, select_biased, select_blocking};

/// `select_biased!` may say once more that it is.
#[test]
fn biased_twice() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let won = leno::block_on(async {
        select_biased! {
            biased;
            _ = rx.recv() => 1,
            () = std::future::ready(()) => 2,
        }
    });
    assert_eq!(won, 1);
}

#[test]
fn forms_of_branches() {
    leno::block_on(async {
        let (tx, rx) = bounded::<Option<i32>>(4);
        let (words, words_rx) = bounded::<String>(4);
        // Nothing is ready.
        let outcome = select! {
            x = rx.recv() => format!("{x:?}"),
            y = words_rx.recv() => format!("{y:?}"),
            default => "default".to_string(),
        };
        assert_eq!(outcome, "default");
        // A pattern that fails switches its branch off.
        tx.send(None).await.unwrap();
        let outcome = select! {
            Ok(Some(x)) = rx.recv() => x,
            default => -1,
        };
        assert_eq!(outcome, -1);
        tx.send(None).await.unwrap();
        let outcome = select! {
            Ok(Some(x)) = rx.recv() => x,
            else => -2,
        };
        assert_eq!(outcome, -2);
        // Blocks without commas; guards; an order.
        tx.send(Some(3)).await.unwrap();
        let outcome = select! {
            biased;
            Ok(Some(mut x)) = async { rx.recv().await } => { x += 1; x }
            Ok(mut word) = words_rx.recv(), if false => { word.push('x'); 0 }
            _ = std::future::pending::<()>() => unreachable!(),
        };
        assert_eq!(outcome, 4);
        words.send("a".into()).await.unwrap();
        let outcome = select_biased! {
            Ok(mut word) = words_rx.recv(), if true => { word.push('x'); word }
            sent = tx.send(Some(1)) => { sent.unwrap(); String::new() }
            else => panic!("a word is there"),
        };
        assert_eq!(outcome, "ax");
        // `default` and `else` may stand anywhere, and beside each other; the last comma may be missing.
        let outcome = select! {
            default => 1,
            Ok(word) = words_rx.recv() => word.len(),
            else => 2
        };
        assert_eq!(outcome, 1);
        let outcome = select! {
            else => 2,
            _ = words_rx.recv(), if words.is_closed() => 3,
            default(Duration::MAX) => 1
        };
        assert_eq!(outcome, 2);
        let outcome =
            select! { default(Duration::ZERO) => { 1 } word = words_rx.recv() => word.unwrap().len() };
        assert_eq!(outcome, 1);
        // A block's value may go on in a handler without one.
        let outcome = select! {
            word = words_rx.recv() => if word.is_ok() { 1 } else { 2 },
            sent = tx.send(None) => match sent {
                Ok(()) => 3,
                Err(_) => 4,
            },
        };
        assert_eq!(outcome, 3);
    });
}

/// As a statement, as a block's value, inside of expressions, as arguments.
#[test]
fn places_in_the_code() {
    leno::block_on(async {
        let (tx, rx) = bounded(4);
        for i in 1..=4 {
            tx.send(i).await.unwrap();
        }
        select! { _ = rx.recv() => {} }
        select! { _ = rx.recv() => {} };
        let sum = 1 + select! { x = rx.recv() => x.unwrap() } * 2;
        assert_eq!(sum, 7);
        let block = {
            tx.send(5).await.unwrap();
            select! { x = rx.recv() => x }
        };
        assert_eq!(Some(block), Some(select! { _ = async {} => Ok(4) }));
        if select! { x = rx.recv() => x == Ok(5), else => false } {
            let array = [select! { default => 1, _ = rx.recv() => 2 }; 2];
            assert_eq!(array, [1, 1]);
        } else {
            panic!("5 was sent");
        }
        match select! { x = tx.send(6) => x } {
            Ok(()) => {}
            Err(error) => panic!("{error}"),
        }
        let closure = async |x: i32| select! { received = rx.recv() => received.unwrap() + x };
        assert_eq!(closure(1).await, 7);
        // Without a value, and with handlers that never return.
        let _: () = select! { _ = async {} => (), _ = rx.recv() => unreachable!() };
        let x = 'found: {
            select! {
                _ = rx.recv() => panic!("empty"),
                default => break 'found 8,
            }
        };
        assert_eq!(x, 8);
    });
}

/// Names inside of the macros and names outside do not meet.
#[test]
fn names_do_not_meet() {
    #[derive(Debug, PartialEq)]
    #[allow(dead_code, reason = "the names are what matters")]
    enum Which {
        Branch(i32),
        Default,
        Else,
    }
    use Which::{Branch, Default, Else};
    leno::block_on(async {
        let (b0, b1) = bounded(1);
        let (chosen, guards, choice, which) = (1, 2, 3, 4);
        b0.send(chosen).await.unwrap();
        let outcome = select! {
            b0 = b1.recv(), if guards == 2 => Branch(b0.unwrap() + chosen + guards + choice + which),
            sent = b0.send(choice), if which == 0 => { sent.unwrap(); Else }
        };
        assert_eq!(outcome, Branch(11));
        let outcome = select! { default => Default, b1 = b1.recv() => Branch(b1.unwrap()) };
        assert_eq!(outcome, Default);
    });
}

/// Guards come first, then all futures, also those whose guard is false; these are not polled (S5).
#[test]
fn the_order_of_evaluation() {
    let log = std::cell::RefCell::new(Vec::new());
    let note = |what| log.borrow_mut().push(what);
    leno::block_on(async {
        let branch = async |name| note(name);
        select_biased! {
            () = { note("future 1"); branch("poll 1") }, if { note("guard 1"); false } => note("handler 1"),
            () = { note("future 2"); branch("poll 2") }, if { note("guard 2"); true } => note("handler 2"),
            () = { note("future 3"); branch("poll 3") } => note("handler 3"),
        }
    });
    let expected = ["guard 1", "guard 2", "future 1", "future 2", "future 3", "poll 2", "handler 2"];
    assert_eq!(log.into_inner(), expected);
}

/// S1, S2: as many branches as there may be; each is found where it stands, ready at once and after a wait.
#[test]
fn sixteen_branches() {
    let channels = (0..16).map(|_| bounded(1)).collect::<Vec<_>>();
    let rx = |i: usize| channels[i].1.recv();
    let which = async || {
        select! {
            x = rx(0) => (0, x), x = rx(1) => (1, x), x = rx(2) => (2, x), x = rx(3) => (3, x),
            x = rx(4) => (4, x), x = rx(5) => (5, x), x = rx(6) => (6, x), x = rx(7) => (7, x),
            x = rx(8) => (8, x), x = rx(9) => (9, x), x = rx(10) => (10, x), x = rx(11) => (11, x),
            x = rx(12) => (12, x), x = rx(13) => (13, x), x = rx(14) => (14, x), x = rx(15) => (15, x),
        }
    };
    leno::block_on(async {
        for (winner, (tx, _)) in channels.iter().enumerate() {
            tx.send(winner).await.unwrap();
            assert_eq!(which().await, (winner, Ok(winner)));
            let (outcome, ()) = futures_util::join!(which(), async {
                leno::yield_now().await;
                tx.send(winner).await.unwrap();
            });
            assert_eq!(outcome, (winner, Ok(winner)));
        }
    });
    assert!(channels.iter().all(|(tx, rx)| tx.is_empty() && rx.is_empty()), "S1: nothing else was taken");
}

/// S1: as many branches as there may be: each of them wins, found ready and waited for, and nothing else happens.
#[test]
fn thirty_two_branches() {
    let channels = (0..32).map(|_| bounded(1)).collect::<Vec<_>>();
    let rx = |i: usize| channels[i].1.recv();
    let which = async || {
        select! {
            x = rx(0) => (0, x), x = rx(1) => (1, x), x = rx(2) => (2, x), x = rx(3) => (3, x),
            x = rx(4) => (4, x), x = rx(5) => (5, x), x = rx(6) => (6, x), x = rx(7) => (7, x),
            x = rx(8) => (8, x), x = rx(9) => (9, x), x = rx(10) => (10, x), x = rx(11) => (11, x),
            x = rx(12) => (12, x), x = rx(13) => (13, x), x = rx(14) => (14, x), x = rx(15) => (15, x),
            x = rx(16) => (16, x), x = rx(17) => (17, x), x = rx(18) => (18, x), x = rx(19) => (19, x),
            x = rx(20) => (20, x), x = rx(21) => (21, x), x = rx(22) => (22, x), x = rx(23) => (23, x),
            x = rx(24) => (24, x), x = rx(25) => (25, x), x = rx(26) => (26, x), x = rx(27) => (27, x),
            x = rx(28) => (28, x), x = rx(29) => (29, x), x = rx(30) => (30, x), x = rx(31) => (31, x),
        }
    };
    leno::block_on(async {
        for (winner, (tx, _)) in channels.iter().enumerate() {
            tx.send(winner).await.unwrap();
            assert_eq!(which().await, (winner, Ok(winner)));
            let (outcome, ()) = futures_util::join!(which(), async {
                leno::yield_now().await;
                tx.send(winner).await.unwrap();
            });
            assert_eq!(outcome, (winner, Ok(winner)));
        }
    });
    assert!(channels.iter().all(|(tx, rx)| tx.is_empty() && rx.is_empty()), "S1: nothing else was taken");
}

/// S5, S8: of thirty-two branches each can be off, by its guard or its pattern, and all of them.
#[test]
fn thirty_two_branches_off() {
    let (tx, rx) = bounded(40);
    let choose = |on: bool| {
        select_blocking! {
            Err(_) = rx.recv() => 0, Err(_) = rx.recv(), if on => 1, Err(_) = rx.recv() => 2, Err(_) = rx.recv(), if on => 3, Err(_) = rx.recv() => 4, Err(_) = rx.recv(), if on => 5, Err(_) = rx.recv() => 6, Err(_) = rx.recv(), if on => 7,
            Err(_) = rx.recv() => 8, Err(_) = rx.recv(), if on => 9, Err(_) = rx.recv() => 10, Err(_) = rx.recv(), if on => 11, Err(_) = rx.recv() => 12, Err(_) = rx.recv(), if on => 13, Err(_) = rx.recv() => 14, Err(_) = rx.recv(), if on => 15,
            Err(_) = rx.recv() => 16, Err(_) = rx.recv(), if on => 17, Err(_) = rx.recv() => 18, Err(_) = rx.recv(), if on => 19, Err(_) = rx.recv() => 20, Err(_) = rx.recv(), if on => 21, Err(_) = rx.recv() => 22, Err(_) = rx.recv(), if on => 23,
            Err(_) = rx.recv() => 24, Err(_) = rx.recv(), if on => 25, Err(_) = rx.recv() => 26, Err(_) = rx.recv(), if on => 27, Err(_) = rx.recv() => 28, Err(_) = rx.recv(), if on => 29, Err(_) = rx.recv() => 30, Err(_) = rx.recv(), if on => 31,
            else => 32,
        }
    };
    for on in [true, false] {
        (0..40).for_each(|value| tx.try_send(value).unwrap());
        assert_eq!(choose(on), 32);
        assert_eq!(rx.drain().count(), if on { 8 } else { 24 }, "each branch that is on has received once");
    }
}

/// Sixteen branches within a handler of sixteen branches, with long patterns: the macros stay far from the compiler's
/// limits.
#[test]
fn sixteen_within_sixteen() {
    #[allow(dead_code, reason = "the names are what matters")]
    struct Long {
        first: (u8, u8),
        second: Option<(u8, u8)>,
        third: [u8; 3],
        fourth: &'static str,
    }
    let make = || Ok::<Long, ()>(Long { first: (1, 2), second: Some((3, 4)), third: [5, 6, 7], fourth: "8" });
    leno::block_on(async {
        let never = std::future::pending::<()>;
        let outcome = select! {
            _ = never() => 0, _ = never() => 1, _ = never() => 2, _ = never() => 3,
            _ = never() => 4, _ = never() => 5, _ = never() => 6, _ = never() => 7,
            _ = never() => 8, _ = never() => 9, _ = never() => 10, _ = never() => 11,
            _ = never() => 12, _ = never() => 13, _ = never() => 14,
            Ok(Long { first: (ref a, mut b), second: Some((3, c @ 1..=9)), third: [d, .., 7 | 8], fourth: "8" })
                = async { make() } => {
                b += a + c + d;
                select! {
                    _ = never() => 0, _ = never() => 1, _ = never() => 2, _ = never() => 3,
                    _ = never() => 4, _ = never() => 5, _ = never() => 6, _ = never() => 7,
                    _ = never() => 8, _ = never() => 9, _ = never() => 10, _ = never() => 11,
                    _ = never() => 12, _ = never() => 13, _ = never() => 14,
                    Ok(Long { first: (1, 2), second: Some((_, _)) | None, third: [_, ref e, _], fourth: _ })
                        = async { make() } => b + e,
                }
            }
        };
        assert_eq!(outcome, 2 + 1 + 4 + 5 + 6);
    });
}

/// Selects within futures, guards, durations and handlers of a select.
#[test]
fn selects_within_selects() {
    leno::block_on(async {
        let (tx, rx) = bounded(4);
        tx.send(1).await.unwrap();
        let outcome = select! {
            x = async { select! { x = rx.recv() => x.unwrap(), _ = std::future::pending::<()>() => 0 } },
                if select! { _ = async {} => true } => {
                let y = select! { y = async { select! { default => x + 1, z = rx.recv() => z.unwrap() } } => y };
                select! {
                    z = rx.recv() => z.unwrap(),
                    default(select! { default => Duration::ZERO, _ = rx.recv() => Duration::MAX }) => y + 1,
                }
            }
        };
        assert_eq!(outcome, 3);
    });
}

/// S8: with all branches off it panics and says what would help; where the guards are false, and where the patterns did
/// not match.
#[test]
fn all_branches_off() {
    let (tx, rx) = bounded(4);
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let panics = [
        catch_unwind(AssertUnwindSafe(|| {
            leno::block_on(async {
                select! { _ = rx.recv(), if false => {}, _ = tx.send(5), if false => {} }
            });
        })),
        catch_unwind(AssertUnwindSafe(|| {
            leno::block_on(async {
                select! { Ok(5) = rx.recv() => {} }
            })
        })),
        catch_unwind(AssertUnwindSafe(|| select_blocking! { Ok(5) = rx.recv() => {} })),
        catch_unwind(AssertUnwindSafe(|| select_blocking! { _ = rx.recv(), if false => {} })),
    ];
    for panic in panics {
        let panic = panic.expect_err("S8: panics");
        let message = panic.downcast_ref::<&str>().expect("a message");
        assert!(
            message.contains("all branches of the select are off") && message.contains("else"),
            "{message}"
        );
    }
    assert!(rx.is_empty() && !tx.is_closed(), "values that did not match are gone, and nothing else");
}

async fn first_of<T: Clone + PartialEq>(a: &Receiver<T>, b: &Receiver<T>, unwanted: T) -> Option<T> {
    select_biased! {
        Ok(value) = a.recv(), if unwanted == unwanted.clone() => (value != unwanted).then_some(value),
        Ok(value) = b.recv() => Some(value),
        else => None,
    }
}

/// In generic functions, and on values that borrow.
#[test]
fn generic_functions() {
    leno::block_on(async {
        let text = String::from("borrowed");
        let (tx, rx) = bounded(1);
        let (other, others) = rendezvous();
        tx.send(text.as_str()).await.unwrap();
        assert_eq!(first_of(&rx, &others, "none").await, Some("borrowed"));
        tx.send("none").await.unwrap();
        assert_eq!(first_of(&rx, &others, "none").await, None);
        drop((tx, other));
        assert_eq!(first_of(&rx, &others, "none").await, None);
    });
}

/// On a plain thread: the same forms.
#[test]
fn on_a_thread() {
    let (tx, rx) = rendezvous();
    let (_silent, silents) = rendezvous::<i32>();
    let thread = std::thread::spawn(move || tx.send_blocking(7));
    let outcome = select_blocking! {
        x = rx.recv() => x.unwrap(),
        x = silents.recv() => x.unwrap(),
    };
    assert_eq!(outcome, 7);
    thread.join().unwrap().unwrap();
    let outcome = select_blocking! {
        biased;
        Ok(x) = rx.recv() => x,
        x = silents.recv() => x.unwrap(),
        default(Duration::from_micros(50)) => 9,
    };
    assert_eq!(outcome, 9);
    let outcome = select_blocking! { Ok(x) = rx.recv() => x, else => 10 };
    assert_eq!(outcome, 10);
    let outcome = select_blocking! { _ = silents.recv() => 11, default => 12 };
    assert_eq!(outcome, 12);
    let outcome = 'done: {
        loop {
            select_blocking! {
                _ = rx.recv() => break 'done 13,
                _ = async {} => continue,
            }
        }
    };
    assert_eq!(outcome, 13);
}

/// What is borrowed in a branch lives as long as the select, and methods of users are theirs.
#[test]
fn temporaries_and_methods() {
    trait Arms {
        fn arm(&self) {}
    }
    impl<T> Arms for T {}
    leno::block_on(async {
        let value = select! {
            x = std::pin::pin!(async { 1 }) => x,
            y = &mut Box::pin(std::future::pending::<u8>()) => y,
        };
        assert_eq!(value, 1);
        value.arm();
    });
}
