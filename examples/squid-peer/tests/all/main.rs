//! The program as others see it: its answers, its access log, and those of its siblings.

mod alone;
mod lab;
mod squid;
