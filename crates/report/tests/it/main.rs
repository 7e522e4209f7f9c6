//! Whole reports of made-up recordings.

mod bars;
mod odd;
mod pages;
mod pairs;
mod synthetic;
mod tables;
