//! Lets the linker of macOS leave Python's functions open; those of other systems do.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
