//! A select waits for something, or does something else at once.
use leno::select;

fn main() {
    leno::block_on(async {
        select! {}
    });
}
