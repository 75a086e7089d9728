//! One branch is enough, and so is `default`.
use leno::select;

pub(crate) fn main() {
    leno::block_on(async {
        select! { () = async {} => {} }
        select! { () = async {} => {}, default => {} }
        select! { default => {} }
        let one = select! { default(std::time::Duration::ZERO) => 1 };
        assert_eq!(one, 1);
    });
    assert_eq!(leno::select_blocking! { default => 2, else => 3 }, 3);
}
