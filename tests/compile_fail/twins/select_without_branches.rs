//! One branch is enough.
use leno::select;

fn main() {
    leno::block_on(async {
        select! { () = async {} => {} }
        select! { () = async {} => {}, default => {} }
    });
}
