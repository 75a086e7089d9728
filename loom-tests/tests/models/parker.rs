//! Threads that wait: a wake against a sleep, and what becomes of late wakes as parkers go from owner to owner.

use crate::scenarios::parker;

models! { parker:
    wake_against_sleep
    second_wake_against_sleep
    spurious_wake_against_wake
    late_wake_of_a_former_owner
    wake_against_poll
    wake_during_a_nested_wait
    two_wait_for_each_other
    entry_against_wait
    second_entry_against_late_bell
}
