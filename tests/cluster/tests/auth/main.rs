//! The auth service beside a real API server and a real operator: as it is installed, found through a kubeconfig, with
//! callers who show tokens, and asked by `stunnerctl`.

mod authd;
mod callers;
mod installed;
mod pods;
mod site;
mod stunnerctl;
mod tokens;
