//! The value of a fiber local moves from thread to thread with its fiber.

leno::fiber_local! { static LOCAL: std::rc::Rc<u32> = std::rc::Rc::new(5); }

fn main() {
    leno::block_on(async { LOCAL.with(|_| ()) });
}
