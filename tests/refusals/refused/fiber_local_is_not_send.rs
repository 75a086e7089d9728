//! The value of a fiber local moves from thread to thread with its fiber.

// (A type from here: of one of the library's a compiler shows the source if it has it.)
struct Tied(*const u32);

leno::fiber_local! { static LOCAL: Tied = Tied(std::ptr::null()); }

fn main() {
    leno::block_on(async { LOCAL.with(|_| ()) });
}
