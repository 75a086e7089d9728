//! Switches leno's facade to shuttle, and has its planted bugs, for this package alone.

fn main() {
    println!("cargo:rustc-cfg=leno_shuttle");
    println!("cargo:rustc-cfg=leno_planted");
    println!("cargo:rerun-if-changed=build.rs");
}
