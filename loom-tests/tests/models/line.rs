//! Behind the word: the small array, of one cell here, and the list. Joining, being brought into the word, leaving from
//! each place, closing.

use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::{Ring, Unbounded};
use crate::scenarios::table::{any, first_before_second};

// Joining.
table! {
    join_few_against_two_senders: Ring(0), [R(1)], [[R(2)], [S(3, 1)], [S(4, 2)]], any;
    two_join_against_a_receiver: Ring(0), [S(1, 1)], [[S(2, 2)], [S(3, 3)], [TR]], any;
    join_against_refills: Ring(1), [S(1, 1), S(2, 2)], [[S(3, 3)], [TR], [TR]], any;
    join_few_before_values: Ring(1), [R(1)], [[R(2)], [S(3, 1)], [S(4, 2)]], any;
    join_where_sides_change: Ring(0), [R(1)], [[R(2)], [S(3, 1), S(4, 2)], [S(5, 3)]], any;
    join_where_sides_change_twice - 1: Ring(0), [R(1)], [[R(2)], [TS(1), S(3, 2), S(4, 3)], [TR, TR]], any;
    joining_in_order: Ring(0), [R(1), R(2)], [[TS(1), TS(2)], [R(3)]], first_before_second;
    joining_in_order_where_one_leaves: Ring(0), [R(5), R(1), R(2)], [[TS(1), TS(2)], [D(5)]], any;
    confirm_where_more_is_said: Ring(0), [Cells(2), S(1, 1), S(2, 2), TR], [[TR], [S(3, 3)]], any;
    sides_change_while_one_joins: Ring(0), [R(1)], [[R(2)], [TS(1), S(3, 2), S(4, 3), TR, TR]], any;
    two_confirm: Ring(0), [Cells(3), S(1, 1), S(2, 2), TR], [[TR], [S(3, 3)], [S(4, 4)]], any;
    confirm_against_leaving - 1: Ring(0), [Cells(3), S(1, 1), S(2, 2), TR], [[TR], [S(3, 3), D(3)], [S(4, 4)]], any;
    join_many_against_two: Ring(0), [R(1), R(2)], [[R(3)], [TS(1), TS(2)]], any;
    join_many_and_few: Ring(0), [R(5), R(1), R(2)], [[TS(7)], [R(3)], [R(4)]], any;
    many_before_few - 1: Ring(0), [R(5), R(6), R(7), R(1)], [[TS(7), TS(8), R(2), TS(9), TS(10), TS(11)], [R(3), D(3)]], first_before_second;
    join_many_where_it_empties: Ring(0), [R(1), R(2), R(3)], [[TS(1), TS(2), TS(3)], [R(4)]], any;
}

// Leaving.
table! {
    leave_few: Ring(0), [S(1, 1), S(2, 2)], [[D(2)], [TR], [TR]], any;
    leave_word_and_few: Ring(0), [S(1, 1), S(2, 2)], [[D(1)], [D(2)], [TR]], any;
    leave_word_and_few_of_three: Ring(0), [R(1), R(2), R(3)], [[D(2)], [D(1)], [S(4, 1)]], any;
    leave_few_and_come_again: Ring(0), [Recycle, S(1, 1), S(2, 2)], [[D(2), S(2, 3)], [TR, TR]], any;
    leave_both_and_come_again - 3: Ring(0), [Recycle, S(1, 1), S(2, 2)], [[D(2), S(2, 3), D(2), S(2, 4)], [D(1), S(1, 5)], [TR]], any;
    leave_both_for_the_other_side: Ring(0), [Recycle, S(1, 1), S(2, 2)], [[Inner(2), R(2)], [Inner(1), R(1)], [TS(3)]], any;
    leave_many: Ring(0), [R(1), R(2), R(3)], [[D(3)], [TS(1), TS(2)]], any;
    leave_many_against_two: Ring(0), [S(1, 1), S(2, 2), S(3, 3)], [[TR], [TR], [Inner(3)]], any;
    leave_few_against_two: Ring(0), [S(1, 1), S(2, 2), S(3, 3)], [[TR], [TR], [D(2)]], any;
    leave_few_and_many: Ring(0), [R(1), R(2), R(3)], [[D(2)], [D(3)], [TS(1)]], any;
    leave_word_and_many: Ring(0), [R(1), R(2), R(3)], [[D(1)], [D(3)], [TS(1)]], any;
    leave_two_of_many: Ring(0), [R(1), R(2), R(3), R(4)], [[D(3)], [D(4)], [TS(1)]], any;
    leave_the_middle_of_many - 1: Ring(0), [R(1), R(2), R(3), R(4), R(5)], [[D(4)], [D(3)], [TS(1), TS(2)]], any;
    leave_many_and_come_again: Ring(0), [Recycle, R(1), R(2), R(3)], [[D(3), R(3)], [TS(1), TS(2), TS(3)]], any;
    leave_before_refills - 2: Ring(1), [R(1), R(2), R(3)], [[TS(1)], [TS(2)], [D(2)], [D(3)]], any;
    recycled_against_two - 1: Ring(0), [Recycle, S(1, 1), S(2, 2), S(3, 3), TR], [[TR], [TR], [D(2), S(2, 4)]], any;
    recycled_elsewhere - 1: Ring(0), [Recycle, R(1), R(2), R(3)], [[D(2), R(2), D(1), R(1)], [TS(1), TS(2)]], any;
    recycled_where_one_settles_late: Ring(0), [Recycle, S(1, 1), S(2, 2), S(3, 3), S(5, 5), TR, TR], [[TR], [TR, D(3), S(3, 4)]], any;
    recycled_in_many: Ring(0), [Recycle, R(1), R(2), R(3), R(4)], [[D(3), R(3)], [TS(1), TS(2), TS(3)]], any;
}

// Several in the small array.
table! {
    join_few_against_a_pop: Ring(0), [Cells(2), R(1), R(2)], [[TS(1), TS(2)], [R(3)]], first_before_second;
    join_few_against_two_pops: Ring(0), [Cells(3), S(1, 1), S(2, 2), S(3, 3)], [[TR], [TR], [S(4, 4)]], any;
    two_join_few_against_a_pop: Ring(0), [Cells(3), R(1), R(2)], [[TS(1)], [R(3)], [R(4)]], any;
    leave_one_of_few: Ring(0), [Cells(3), R(1), R(2), R(3), R(4)], [[TS(1), TS(2)], [D(3)]], first_before_second;
    leave_two_of_few: Ring(0), [Cells(2), S(1, 1), S(2, 2), S(3, 3)], [[TR], [D(2)], [D(3)]], any;
    leave_few_and_come_again_beside_others: Ring(0), [Recycle, Cells(2), S(1, 1), S(2, 2), S(3, 3)], [[D(2), S(2, 4)], [TR, TR]], any;
    few_again_after_a_pop - 1: Ring(0), [Recycle, Cells(2), R(1), R(2), R(3)], [[TS(1), TS(2)], [TS(3)], [D(1), R(1)]], any;
    refills_of_few: Ring(1), [Cells(2), S(1, 1), S(2, 2), S(3, 3), S(4, 4)], [[TR], [TR], [D(3)]], any;
    few_comes_again_as_one_pops: Ring(0), [Recycle, Cells(2), R(1), R(2), R(3), TS(1)], [[TS(2)], [D(2), R(2)]], any;
    repark_in_few - 1: Ring(0), [Cells(3), S(1, 1), S(2, 2), S(3, 3)], [[Repark(2)], [TR], [TR]], any;
    sides_change_beside_few - 1: Ring(0), [Cells(2), R(1), R(2)], [[R(3)], [TS(1), TS(2), S(4, 3), S(5, 4), TR]], any;
    few_then_many: Ring(0), [Cells(2), R(1), R(2), R(3), R(4)], [[TS(1), TS(2)], [D(4)], [D(2)]], any;
}

// The same where nobody waits in the small array.
table! {
    unbounded_meet: Unbounded, [], [[R(1)], [TS(1)], [R(2)]], any;
    unbounded_join: Unbounded, [R(1)], [[R(2)], [TS(1)], [TS(2)]], any;
    unbounded_leave - 1: Unbounded, [R(1), R(2)], [[D(1)], [D(2)], [TS(1)]], any;
    unbounded_leave_the_second: Unbounded, [R(1), R(2), R(3)], [[D(2)], [TS(1), TS(2)]], first_before_second;
    unbounded_wait_where_it_empties - 1: Unbounded, [TS(1)], [[TR, R(1)], [TS(2)], [R(2)]], any;
    unbounded_come_again: Unbounded, [Recycle, R(1)], [[D(1), R(1)], [TS(1), TR, TS(2)]], any;
    unbounded_never_empty - 1: Unbounded, [], [[TSok(1), TRok], [TSok(2), TRok]], any;
    unbounded_join_as_it_empties - 2: Unbounded, [R(1)], [[TS(1), TS(2)], [R(2)], [TR]], any;
}
