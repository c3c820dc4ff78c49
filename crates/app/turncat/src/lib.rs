//! Tunnels local connections and datagrams through a TURN server to a peer.

#![forbid(unsafe_code)]

pub mod cli {
    use std::process::ExitCode;

    /// The program, from its arguments to its exit code.
    pub fn main() -> ExitCode {
        ExitCode::SUCCESS
    }
}
