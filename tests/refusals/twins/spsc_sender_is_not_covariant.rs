//! A vector is.
fn shorten<'short>(values: Vec<&'static str>) -> Vec<&'short str> {
    values
}

pub(crate) fn main() {
    let _ = shorten;
}
