//! Parameters of small filters of every format, shared with the fuzz targets and their seeds.

use umbel_foreign::{Format, Parameters};

/// The parameters that files of the format do not contain.
pub(crate) fn told(format: Format) -> Parameters {
    let mut given = Parameters::default();
    if format.required().contains(&"salts") {
        given.salts = [&b"a"[..], b"bc", b""].map(<[u8]>::to_vec).to_vec();
    }
    given
}

/// Parameters of a small filter, without options.
#[allow(dead_code)] // for the seeds and the tests
pub(crate) fn small(format: Format) -> Parameters {
    let has = |name| format.parameters().contains(&name);
    let mut given = told(format);
    if has("keys") {
        given.keys = (!format.counts_keys()).then_some(10);
        given.fpp = (has("fpp") && format != Format::LevelDb).then_some(0.1);
    } else {
        given.bits = Some(77);
        given.probes = has("probes").then_some(3);
    }
    given
}
