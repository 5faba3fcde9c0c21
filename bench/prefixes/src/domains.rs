//! Structures for hosts.

use fst::raw::Fst;
use hashbrown::HashMap;
use radix_trie::Trie;
use umbel_net::prefixes::Suffixes;

use crate::{Way, way};

pub fn all(names: &[String]) -> Vec<Way<Box<str>>> {
    let valued = || names.iter().zip(0u32..);
    let reversed = |name: &str| {
        let mut labels: Vec<_> = name.split('.').collect();
        labels.reverse();
        labels.join(".") + "."
    };
    vec![
        way(
            "umbel",
            || Suffixes::new(valued()).unwrap(),
            |list, host: &Box<str>| Some(*list.longest(host)?.1),
        ),
        way(
            "a hash map of names",
            || {
                valued()
                    .map(|(name, value)| (name.clone().into_boxed_str(), value))
                    .collect::<HashMap<Box<str>, u32>>()
            },
            |map, host: &Box<str>| {
                let mut rest = Some(&**host);
                std::iter::from_fn(|| {
                    let name = rest?;
                    rest = name.split_once('.').map(|(_, above)| above);
                    Some(name)
                })
                .find_map(|name| map.get(name).copied())
            },
        ),
        way(
            "radix_trie of reversed labels",
            || valued().map(|(name, value)| (reversed(name), value)).collect::<Trie<String, u32>>(),
            move |trie, host: &Box<str>| trie.get_ancestor_value(&reversed(host)).copied(),
        ),
        way(
            "fst of reversed labels",
            || {
                let mut all: Vec<_> =
                    valued().map(|(name, value)| (reversed(name), u64::from(value))).collect();
                all.sort();
                Fst::from_iter_map(all).unwrap()
            },
            |fst, host: &Box<str>| longest_in(fst, host),
        ),
    ]
}

/// Walks the labels of a host from the last one; a name ends with a dot, so none ends within a label.
fn longest_in(fst: &Fst<Vec<u8>>, host: &str) -> Option<u32> {
    let (mut node, mut output, mut found) = (fst.root(), fst::raw::Output::zero(), None);
    for label in host.rsplit('.') {
        for byte in label.bytes().chain([b'.']) {
            let Some(at) = node.find_input(byte) else { return found };
            let transition = node.transition(at);
            output = output.cat(transition.out);
            node = fst.node(transition.addr);
        }
        if node.is_final() {
            found = Some(output.cat(node.final_output()).value() as u32);
        }
    }
    found
}
