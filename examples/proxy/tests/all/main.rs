//! The program as others see it: its answers, its access log, and those of its siblings and peers.

mod alone;
mod group;
mod lab;
mod squid;
mod traffic;
