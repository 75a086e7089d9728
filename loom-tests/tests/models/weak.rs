//! The scenarios of `weak`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::weak;

models! { weak:
    upgrade_against_the_last_drop
    upgrade_and_go_against_the_last_drop
    upgrade_against_the_last_receiver
    upgrade_against_the_last_receiver_beside_a_permit
    upgrade_against_the_last_receiver_beside_a_permit_of_a_room
    upgrade_against_the_last_receiver_beside_a_permit_without_a_bound
    downgrade_against_the_last_drop
    upgrade_against_both_sides
    the_last_weak_against_the_last_handle
    two_weak_against_the_last_handle
    upgrade_where_a_receiver_waits
}
