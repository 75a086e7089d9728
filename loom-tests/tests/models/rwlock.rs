//! The scenarios of `rwlock`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::rwlock;

models! { rwlock:
    exclusion
    readers_and_a_writer - 1
    upgrade_against_write
    upgrade_against_the_last_reader - 1
    upgrade_dropped_against_the_last_reader
    upgrade_dropped_alone
    downgrade_against_readers
    try_upgrade_against_the_last_reader
    lent_upgrade_dropped_against_the_last_reader
    lent_upgrade_loses_against_the_last_reader - 1
}
