//! The program as its help describes it.

use stunner_flags::Program;

use super::flags;

const HEAD: &str = "\
Hands out TURN credentials and ICE configurations of gateways over REST

Usage:
  authd [FLAGS]
  authd --config PATH [FLAGS]

Without --config the gateways are those of the operator's config discovery service, at --cds-server-address or found
through Kubernetes.

  GET /?service=turn      a TURN credential and the URIs where it is good
  GET /ice?service=turn   a configuration for RTCPeerConnection
  GET /openapi.json       all parameters and answers
";

const FOOT: &str = "
A flag may begin with one dash or with two. Durations are written as in Go (90s, 1h30m); a bare number is seconds.
Flags that take no value also take =true or =false. A flag beats its environment variable.
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

pub(super) static PROGRAM: Program = Program {
    name: "authd",
    flags: flags::ALL,
    head: HEAD,
    foot: FOOT,
    single_dash: true,
};

/// The text that `--help` prints.
pub fn help() -> String {
    PROGRAM.help()
}

/// The manual page.
pub fn man() -> String {
    PROGRAM.man(crate::VERSION, &["stunnerctl", "stunner"])
}
