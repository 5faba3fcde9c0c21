//! The kinds of filters, a folder each: the filter, its plan and its rate. `list` has their names and numbers. Shared
//! code: [`plain`] for kinds whose bits are only ever set; [`scattered`], the core of classic and sliced; [`group`], keys
//! that pass from part to part; [`within`], plans of kinds that contain a plain filter; [`dispatch`], which calls the
//! planner of any kind.

pub(crate) mod attributes;
pub(crate) mod blocked;
pub(crate) mod bloomier;
pub(crate) mod cascade;
pub(crate) mod classic;
pub(crate) mod coded;
pub(crate) mod counting;
pub(crate) mod dispatch;
mod group;
mod plain;
pub(crate) mod prelude;
pub(crate) mod scalable;
pub(crate) mod scattered;
pub(crate) mod sliced;
pub(crate) mod stable;
pub(crate) mod window;
mod within;
