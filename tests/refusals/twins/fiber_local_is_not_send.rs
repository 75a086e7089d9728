struct Free(u32);

leno::fiber_local! { static LOCAL: Free = Free(5); }

pub(crate) fn main() {
    assert_eq!(leno::block_on(async { LOCAL.with(|free| free.0) }), 5);
}
