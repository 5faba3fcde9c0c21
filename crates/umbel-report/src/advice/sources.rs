//! The sources of the formulas.

use umbel::{Growth, Kind, Variant};

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// Its authors, its year and its subject.
    pub text: &'static str,
    /// Its address.
    pub url: &'static str,
}

macro_rules! sources {
    ($($(#[$doc:meta])* $visible:vis $name:ident: $text:literal, $url:literal;)*) => {$(
        $(#[$doc])*
        $visible const $name: Source = Source { text: $text, url: $url };
    )*};
}

sources! {
    /// The classic filter, and hash-coded cells.
    pub BLOOM: "B. H. Bloom 1970, Space/time trade-offs in hash coding",
        "https://doi.org/10.1145/362686.362692";
    /// The exact rate.
    pub EXACT: "P. Bose et al. 2008, On the false-positive rate of Bloom filters",
        "https://doi.org/10.1016/j.ipl.2008.05.018";
    /// The fewest bits.
    pub BOUND: "L. Carter et al. 1978, Exact and approximate membership testers",
        "https://doi.org/10.1145/800133.804332";
    /// Filters of blocks.
    pub BLOCKS: "F. Putze, P. Sanders, J. Singler 2007, Cache-, hash- and space-efficient Bloom filters",
        "https://doi.org/10.1145/1498698.1594230";
    /// The survey, and why half of the bits should be set.
    pub SURVEY: "A. Broder, M. Mitzenmacher 2004, Network applications of Bloom filters: a survey",
        "https://doi.org/10.1080/15427951.2004.10129096";
    /// umbel's own derivations.
    pub OURS: "umbel, docs/internals.md",
        "https://github.com/umbel/umbel/blob/main/docs/internals.md";
    /// How times were measured.
    pub MEASURED: "umbel, docs/performance.md",
        "https://github.com/umbel/umbel/blob/main/docs/performance.md";
    COUNTING: "L. Fan, P. Cao, J. Almeida, A. Broder 2000, Summary cache, section V-C",
        "https://doi.org/10.1109/90.851975";
    SCALABLE: "P. Almeida, C. Baquero, N. Preguiça, D. Hutchison 2007, Scalable Bloom filters",
        "https://doi.org/10.1016/j.ipl.2006.10.007";
    DYNAMIC: "D. Guo, J. Wu, H. Chen, Y. Yuan, X. Luo 2010, The dynamic Bloom filters",
        "https://doi.org/10.1109/TKDE.2009.57";
    STABLE: "F. Deng, D. Rafiei 2006, Approximately detecting duplicates for streaming data",
        "https://doi.org/10.1145/1142473.1142477";
    FUSE: "T. Graf, D. Lemire 2022, Binary fuse filters",
        "https://doi.org/10.1145/3510449";
    CASCADE: "J. Larisch et al. 2017, CRLite, section IV",
        "https://doi.org/10.1109/SP.2017.17";
}

/// Returns where the size and the rate of a kind come from.
pub(crate) fn of(variant: Variant) -> Source {
    match variant {
        Variant::Scalable { growth: Growth::Doubling } => SCALABLE,
        Variant::Scalable { .. } => DYNAMIC,
        _ => match variant.kind() {
            Kind::Blocked => BLOCKS,
            Kind::Classic | Kind::Coded => BLOOM,
            Kind::Sliced => SCALABLE,
            Kind::Counting => COUNTING,
            Kind::Stable => STABLE,
            Kind::Bloomier => FUSE,
            Kind::Cascade => CASCADE,
            _ => OURS,
        },
    }
}
