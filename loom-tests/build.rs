//! Switches leno's facade to loom, and has its planted bugs, for this package alone.

fn main() {
    println!("cargo:rustc-cfg=leno_loom");
    println!("cargo:rustc-cfg=leno_planted");
    println!("cargo:rerun-if-changed=build.rs");
}
