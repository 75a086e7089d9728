//! The scenarios of `semaphore`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::semaphore;

models! { semaphore:
    exclusion
    grant_against_drop
    release_against_wait
    two_releases_for_a_large_one
    large_leaves_against_release
    a_small_release_against_a_large_one
    large_waits_against_release
    large_and_small
    large_is_first_for_a_moment - 1
    small_joins_against_large_leaving
    close_against_acquire
    close_against_release
    release_against_a_close_that_is_seen
    add_twice_too_many
    select_against_two_releases
    large_branch_loses_against_release
}
