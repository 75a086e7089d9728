//! The scenarios of `mutex`, under loom here and under shuttle in the package in `shuttle/`.

#[path = "../scenarios/mutex.rs"]
mod mutex;
#[path = "../scenarios/mod.rs"]
mod scenarios;

models! { mutex:
    exclusion
    fair_exclusion
    notified_and_dropped
    fair_granted_and_dropped
    unlock_against_cancel
    fair_unlock_against_cancel
    unlock_fair_against_barging
}
