//! Tests of the library from outside, in one program: each file is about one promise or one kind of filter.

mod reference;
mod statistics;
mod vectors;

mod attributes;
mod bloomier;
mod cascade;
mod coded;
mod compare;
mod counting;
mod damage;
mod every_kind;
mod foreign;
mod golden;
mod mapped;
mod model;
mod rates;
mod scalable;
mod shared;
mod stable;
mod window;
