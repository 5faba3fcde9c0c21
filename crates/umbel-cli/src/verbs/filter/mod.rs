//! `umbel filter`: what is done with filters, a file or a folder for each verb.

mod add;
mod audit;
mod build;
mod convert;
mod delta;
mod demo;
mod info;
mod key;
mod merge;
mod overlap;
mod pack;
mod plan;
mod query;
mod remove;
mod sign;

pub(super) use build::prefixes;

use crate::verb::{Entry, Group, Noun};

pub(super) const FILTER: Noun = Noun {
    name: "filter",
    help: "Work with Bloom filters",
    about: "Plan, build, query, combine and send Bloom filters (umbel help filter)",
    groups: &[
        Group {
            title: "Make and use filters",
            verbs: &[
                Entry::of::<build::BuildArgs>(),
                Entry::of::<query::QueryArgs>(),
                Entry::of::<add::AddArgs>(),
                Entry::of::<remove::RemoveArgs>(),
                Entry::of::<info::InfoArgs>(),
                Entry::of::<plan::PlanArgs>(),
            ],
        },
        Group {
            title: "Combine, convert and compare them",
            verbs: &[
                Entry::of::<merge::MergeArgs>(),
                Entry::of::<convert::FoldArgs>(),
                Entry::of::<convert::ConvertArgs>(),
                Entry::of::<overlap::OverlapArgs>(),
            ],
        },
        Group {
            title: "Send them",
            verbs: &[
                Entry::of::<pack::PackArgs>(),
                Entry::of::<pack::UnpackArgs>(),
                Entry::of::<delta::DeltaArgs>(),
                Entry::of::<delta::PatchArgs>(),
            ],
        },
        Group {
            title: "Signatures and privacy",
            verbs: &[
                Entry::of::<sign::SignVerbArgs>(),
                Entry::of::<sign::VerifyArgs>(),
                Entry::of::<key::KeyArgs>(),
                Entry::of::<audit::AuditArgs>(),
            ],
        },
        Group { title: "Learn", verbs: &[Entry::of::<demo::DemoArgs>()] },
    ],
};
