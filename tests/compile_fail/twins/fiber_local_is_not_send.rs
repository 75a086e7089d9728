leno::fiber_local! { static LOCAL: std::cell::Cell<u32> = std::cell::Cell::new(5); }

fn main() {
    leno::block_on(async { LOCAL.with(|_| ()) });
}
