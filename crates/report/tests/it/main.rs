//! Whole reports of made-up recordings.

mod odd;
mod pages;
mod synthetic;
mod tables;
