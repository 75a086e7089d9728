//! Patterns: what matches is taken; what does not switches its branch off (S8).

use leno::{bounded, select};

/// The handler's value if the pattern matches what the future gives, and whether `else` ran.
macro_rules! taken {
    ($pattern:pat = $value:expr => $handler:expr) => {
        leno::block_on(async {
            select! {
                $pattern = std::future::ready($value) => Some($handler),
                else => None,
            }
        })
    };
}

const SEVEN: i32 = 7;

#[derive(Debug, Clone, PartialEq)]
struct Point {
    x: i32,
    y: Vec<i32>,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Dot,
    Line(Point, Point),
    Named { name: String, points: [i32; 3] },
}

/// Patterns that come in one piece, from another macro.
#[test]
fn opaque_patterns() {
    assert_eq!(taken!(_ = 5 => 1), Some(1));
    assert_eq!(taken!(x = 5 => x), Some(5));
    assert_eq!(taken!(5 = 5 => 1), Some(1));
    assert_eq!(taken!(5 = 6 => 1), None);
    assert_eq!(taken!(1..=5 = 5 => 1), Some(1));
    assert_eq!(taken!(-3..5 = 5 => 1), None);
    assert_eq!(taken!(SEVEN = 7 => 1), Some(1));
    assert_eq!(taken!(self::SEVEN = 8 => 1), None);
    assert_eq!(taken!(1 | 2 = 2 => 1), Some(1));
    assert_eq!(taken!(x @ (1 | 2) = 2 => x), Some(2));
    assert_eq!(taken!("five" = "five" => 1), Some(1));
    assert_eq!(taken!(Some("five" | "six") = Some("six") => 1), Some(1));
    assert_eq!(taken!(Shape::Dot = Shape::Dot => 1), Some(1));
    assert_eq!(taken!([1, .., x] = [1, 2, 3] => x), Some(3));
    assert_eq!(taken!([_, rest @ ..] = [1, 2, 3] => rest), Some([2, 3]));
    assert_eq!(taken!((x, ..) = (String::from("a"), 2) => x), Some("a".into()));
    assert_eq!(taken!(Some(Point { x: 1, y }) = Some(Point { x: 1, y: vec![2] }) => y), Some(vec![2]));
    assert_eq!(taken!(Some(Point { x: 2, y }) = Some(Point { x: 1, y: vec![2] }) => y), None);
    assert_eq!(taken!(x @ Ok::<i32, ()>(1..) = Ok(4) => x), Some(Ok(4)));
    assert_eq!(taken!(Ok(x) | Err(x) = Err::<String, _>(String::from("e")) => x), Some("e".into()));
}

/// `mut`, `ref` and `&`, which say how the value is taken, wherever they stand.
#[test]
fn binding_modes() {
    leno::block_on(async {
        let shape = Shape::Line(Point { x: 1, y: vec![2] }, Point { x: 3, y: vec![] });
        let named = Shape::Named { name: "n".into(), points: [1, 2, 3] };
        let one = 1;
        macro_rules! check {
            ([$($pattern:tt)*] = $value:expr => $handler:expr) => {
                assert_eq!(select! { $($pattern)* = async { $value } => $handler, else => panic!("it matches") }, true)
            };
        }
        check!([mut x] = 4 => { x += 1; x == 5 });
        check!([ref x] = String::from("a") => *x == "a");
        check!([ref mut x] = vec![1] => { x.push(2); x.len() == 2 });
        check!([&x] = &one => x == 1);
        check!([&&x] = &&SEVEN => x == 7);
        let mut five = 5;
        select! { &mut x = std::future::ready(&mut five) => assert_eq!(x, 5), else => panic!("it matches") }
        check!([mut x @ 1..=9] = 4 => { x += 1; x == 5 });
        check!([ref x @ Some(_)] = Some(String::new()) => x.is_some());
        check!([x @ Some(1 | 2)] = Some(2) => x == Some(2));
        check!([(mut a, ref b, _)] = (1, String::new(), ()) => { a += 1; a == 2 && b.is_empty() });
        check!([(&a, [.., b])] = (&one, [2, 3]) => a + b == 4);
        check!([[mut a, ref b, ..]] = [1, 2, 3] => { a += 1; a == 2 && *b == 2 });
        check!([&[a, b]] = &[1, 2] => a + b == 3);
        check!([[a, rest @ ..]] = [1, 2, 3] => a == 1 && rest == [2, 3]);
        check!([Some(mut x)] = Some(1) => { x += 1; x == 2 });
        check!([Some(&(1..=9))] = Some(&one) => true);
        check!([Some(&(1 | 2))] = Some(&one) => true);
        check!([Some("a" | "b")] = Some("b") => true);
        check!([Ok(mut x) | Err(mut x)] = Err::<Vec<i32>, _>(vec![1]) => { x.push(2); x == [1, 2] });
        check!([Ok(Some(ref x)) | Err(ref x)] = Ok::<_, i32>(Some(1)) => *x == 1);
        check!([Point { x, ref y }] = Point { x: 1, y: vec![] } => x == 1 && y.is_empty());
        check!([Point { mut x, mut y }] = Point { x: 1, y: vec![] } => { x += 1; y.push(x); y == [2] });
        check!([Point { x: mut z, y: ref w, .. }] = Point { x: 1, y: vec![] } => { z += 1; z == 2 && w.is_empty() });
        check!([Shape::Line(Point { x: ref a, .. }, Point { y: mut b, .. })] = shape.clone() => { b.push(*a); b == [1] });
        check!([self::Shape::Line(a, b)] = shape.clone() => a.x + b.x == 4);
        check!([Shape::Named { name: mut n, points: [1, ref middle, _] }] = named.clone() => { n.push('!'); *middle == 2 && n == "n!" });
        check!([Shape::Named { ref name, points: [.., last] }] = named.clone() => name == "n" && last == 3);
        check!([crate::macros::patterns::Shape::Dot] = Shape::Dot => true);
        check!([SEVEN] = 7 => true);
        check!([(SEVEN, i32::MAX)] = (7, i32::MAX) => true);
        check!(['a'..='z'] = 'q' => true);
        check!([true] = true => true);
    });
}

/// What a channel gives, by value: nothing is cloned, and a value that does not match is dropped once.
#[test]
fn values_are_moved() {
    let tracker = crate::support::Tracker::new();
    leno::block_on(async {
        let (tx, rx) = bounded(2);
        tx.send((1, tracker.value())).await.ok().unwrap();
        let value = select! {
            Ok((1, value)) = rx.recv() => value,
            else => panic!("it matches"),
        };
        assert_eq!(tracker.drops(0), 0);
        assert!(value == 0);
        tx.send((2, tracker.value())).await.ok().unwrap();
        select! {
            Ok((1, _)) = rx.recv() => panic!("it does not match"),
            else => assert_eq!(tracker.drops(1), 1, "S8: dropped before `else` runs"),
        }
        tx.send((3, tracker.value())).await.ok().unwrap();
        select! {
            Ok((_, ref value)) = rx.recv() => {
                assert!(*value == 2);
                assert_eq!(tracker.drops(2), 0, "borrowed: it lives as long as the handler");
            }
            else => panic!("it matches"),
        }
    });
    tracker.assert_done();
}
