//! The same of the general kind.
pub(crate) fn main() {
    let (tx, rx) = leno::bounded::<u8>(1);
    let _another = (tx.clone(), rx.clone());
}
