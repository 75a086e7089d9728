//! The scenarios of `deep`, under shuttle.

#[path = "../../scenarios/deep.rs"]
mod deep;
#[path = "../../scenarios/mod.rs"]
mod scenarios;

models! { deep:
    publish_against_register
    notified_and_dropped
    close_after_send
    publish_against_discard
}
