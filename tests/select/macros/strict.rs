//! Where unsafe code is forbidden and all warnings are denied. (Lints of whole crates: this program's.)
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused, unreachable_pub)]
#![deny(
    elided_lifetimes_in_paths,
    single_use_lifetimes,
    unused_qualifications,
    unused_results,
    let_underscore_drop
)]

use std::time::Duration;

use leno::select::Select;
use leno::{Receiver, bounded, select, select_biased, select_blocking};

async fn sum(rx: &Receiver<Option<(i32, String)>>, limit: i32) -> Result<i32, leno::channel::RecvError> {
    let mut sum = 0;
    loop {
        select! {
            Ok(Some((mut x, ref text))) = rx.recv(), if sum < limit => {
                x += i32::try_from(text.len()).unwrap_or(0);
                sum += x;
            }
            received = rx.recv(), if sum >= limit => drop(received?),
            default(Duration::ZERO) => break,
            else => break,
        }
    }
    select_biased! {
        _ = rx.recv() => {}
        default => {}
    }
    Ok(sum)
}

#[test]
fn all_forms() {
    let (tx, rx) = bounded(4);
    select_blocking! {
        sent = tx.send(Some((1, String::from("a")))) => sent.unwrap(),
        default => unreachable!("there is room"),
    }
    assert_eq!(leno::block_on(sum(&rx, 5)), Ok(2));
    let mut set = Select::new();
    let token = set.send(&tx, None);
    set.select().wait().send(token).unwrap();
}
