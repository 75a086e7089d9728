//! The scenarios of `ticker`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::ticker;

models! { ticker:
    fire_against_recv
    fire_against_drop
    fire_against_cancel
    take_against_drop
    two_take
    take_against_a_waker_that_panics
    fire_against_select
}
