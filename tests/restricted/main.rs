//! The contracts of channels for the kinds that have one receiver, or one of each (C1–C20, C24–C27): what `contract` says
//! of handles that are shared, said of handles that are not. The same source runs over each kind's module.

#[path = "../contract/support/mod.rs"]
mod support;

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
    spsc = leno::channel::spsc;
    mpsc = leno::channel::mpsc;
}
