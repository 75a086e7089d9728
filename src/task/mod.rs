//! L1: what the layers above need of a fiber.
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod thread;
