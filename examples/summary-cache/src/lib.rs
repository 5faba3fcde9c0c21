//! Caching proxies that know from each other's filters which of them has a page (docs/summary-cache.md).
//!
//! - [`proxy`] is the proxy: its cache, its peers, and the three ways to find a page among them.
//! - [`link`] carries datagrams between proxies, counts them, and can be made to fail; [`icp`] has the bytes of the
//!   protocol that asks everyone.
//! - [`store`] is the cache, least recently used first out; [`http`] speaks HTTP.
//! - [`source`] and [`traffic`] are a server of pages and requests for them; [`trial`] measures.

pub mod http;
pub mod icp;
pub mod link;
pub mod proxy;
pub mod source;
pub mod store;
pub mod traffic;
pub mod trial;
