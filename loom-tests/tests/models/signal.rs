//! The scenarios of `signal`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::signal;

models! { signal:
    notify_against_wait
    notify_all_against_wait
    notify_all_against_joining
    notify_all_against_the_next_round
    notify_one_during_notify_all
    notified_dropped
    notified_dropped_alone
    notify_one_twice_against_a_select
    notify_one_against_a_select_that_goes
    condvar_against_notify
    condvar_told_at_its_limit
    condvar_wait_dropped
    condvar_wait_for_the_lock_dropped
    barrier_cancel
    barrier_two_leave
    barrier_of_two
    group_against_wait
    group_used_again
    once_twice
    once_against_cancel
    once_filled_twice
}
