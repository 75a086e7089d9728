//! A select waits for something.
use leno::select;

fn main() {
    leno::block_on(async {
        select! {}
        select! { default => {} }
    });
}
