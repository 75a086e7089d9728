//! Switches leno's facade to loom for this package alone.

fn main() {
    println!("cargo:rustc-cfg=leno_loom");
    println!("cargo:rerun-if-changed=build.rs");
}
