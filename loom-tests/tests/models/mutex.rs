//! The scenarios of `mutex`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::mutex;

models! { mutex:
    exclusion
    fair_exclusion
    notified_and_dropped
    fair_granted_and_dropped
    unlock_against_cancel
    fair_unlock_against_cancel
    unlock_fair_against_barging
    unlock_against_joining_one
    unlock_against_joining_few
    unlock_against_joining_many - 1
    fair_unlock_against_joining_one
    fair_unlock_against_joining_few
    told_and_dropped
    told_against_dropped
    told_against_standing_down
    two_told - 1
    stale_in_front
    unlock_fair_against_drop
    fair_grant_against_drop
    fair_two_hand_over - 1
    told_while_it_moves
    granted_while_it_moves
    left_while_it_is_granted
}
