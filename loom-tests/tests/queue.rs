//! The scenarios of the waiter queue by itself, under loom here and under shuttle in the package in `shuttle/`.

#[path = "../scenarios/queue.rs"]
mod queue;
#[path = "../scenarios/mod.rs"]
mod scenarios;

models! { queue:
    append_to_none_against_pop
    append_to_one_against_pop
    append_to_two_against_pop
    leave_one_against_append_and_pop
    leave_oldest_against_append_and_pop
    leave_newest_against_append_and_pop
    two_neighbours_leave
    the_two_oldest_leave
    the_two_newest_leave
    the_only_two_leave
    neighbours_leave_against_pop - 1
    two_pops_of_one
    two_pops_of_two
    two_pops_of_three
    arriving_together_at_none
    arriving_together_at_one
    arriving_together_at_two
    the_side_changes
    close_none_against_enter
    close_one_against_enter_and_leave - 1
    close_two_against_enter_and_leave
    close_against_pop
    recycled_against_pop
    recycled_as_the_only_one
    leave_root_against_pop_and_recycled
    return_against_pop
    two_return_against_append
    returned_leaves_against_pop
    leave_list_against_take_aside
    hold_against_enter
    held_goes_first
    returned_is_not_passed
    returns_behind_recycled
    beside_behind_recycled
}
