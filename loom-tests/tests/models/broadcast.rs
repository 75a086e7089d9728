//! The scenarios of `broadcast`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::broadcast;

models! { broadcast:
    send_against_two
    lag_against_subscribe
    send_against_subscribe
    send_against_last_receiver
    suspend_against_slow_receiver
    suspend_against_drop
    suspend_against_last_receiver
    two_suspended - 1
    last_sender_against_recv
    clone_against_recv
    suspended_against_cancel
    recv_against_cancel
    suspended_in_a_select
}
