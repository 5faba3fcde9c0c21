//! Lets the macOS linker leave Python's functions undefined; other linkers do so anyway.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
