//! The contracts of channels that need one operation of a side at a time (C1–C13, C15–C20, C26, C28, C29): what `contract` says
//! of handles that are shared, said of handles that are not. The same source runs over each kind's module, the general one as well.

mod script;
mod several;

macro_rules! kinds {
    ($($name:ident = $module:path;)+) => {$(
        #[allow(unused_mut, reason = "some kinds send by a shared reference")]
        mod $name {
            use $module as kind;
            include!("contract.rs");
        }
    )+};
}

kinds! {
    general = leno::channel;
    spsc = leno::channel::spsc;
    mpsc = leno::channel::mpsc;
}

/// C20: a receiver that is alone is gone through by a reference that is.
#[test]
fn a_single_receiver_is_iterated_alone() {
    let (mut tx, mut rx) = leno::channel::spsc::unbounded();
    let (other, mut others) = leno::channel::mpsc::unbounded();
    for number in 0..3 {
        tx.try_send(number).unwrap();
        other.try_send(number).unwrap();
    }
    drop((tx, other));
    let mut all = Vec::new();
    for number in &mut rx {
        all.push(number);
    }
    for number in &mut others {
        all.push(number);
    }
    assert_eq!(all, [0, 1, 2, 0, 1, 2]);
}
