//! The real `authd`: fed by files and by config discovery, asked by callers of all kinds, and believed by a gateway.

mod callers;
mod discovery;
mod files;
mod process;
mod relay;
mod schema;
mod stopping;
