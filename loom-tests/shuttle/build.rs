//! Switches leno's facade to shuttle for this package alone.

fn main() {
    println!("cargo:rustc-cfg=leno_shuttle");
    println!("cargo:rerun-if-changed=build.rs");
}
