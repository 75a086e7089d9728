//! The scenarios of `deep`, under loom here and under shuttle in the package in `shuttle/`.

#[path = "../scenarios/deep.rs"]
mod deep;
#[path = "../scenarios/mod.rs"]
mod scenarios;

models! { deep:
    publish_against_register
    notified_and_dropped
    close_after_send
    publish_against_discard
}
