//! The scenarios of `watch`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::watch;

models! { watch:
    send_against_changed
    send_against_two
    join_against_two_sends
    last_sender_against_changed
    two_senders_go
    send_against_borrow
    two_sends_against_wait_for
    last_sender_against_wait_for
    send_against_cancel
    send_while_it_moves
    last_receiver_against_closed
    subscribe_against_send
    send_against_select
}
