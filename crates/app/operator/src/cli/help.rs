//! The program as its help describes it.

use stunner_flags::Program;

use super::flags;

const HEAD: &str = "\
Watches Gateway API objects and turns them into running TURN gateways

Usage:
  stunner-gateway-operator [FLAGS]
";

const FOOT: &str = "
Other environment variables:
      STUNNER_GATEWAY_OPERATOR_ADDRESS
          Host that dataplanes are told for config discovery; without it, or where it is a bare IP address and the
          Service exists, stunner-config-discovery.NAMESPACE.svc
      STUNNER_GATEWAY_OPERATOR_LABEL_FILTER
          Labels, separated by commas, that are not copied from a Gateway to its workload; empty copies all
      POD_NAMESPACE, POD_NAME
          Where the operator runs and what its pod is called; without the first, the namespace of the mounted
          ServiceAccount, else stunner-system

A flag may begin with one dash or with two. Durations are written as in Go (250ms, 1h30m); a bare number is
seconds. Flags that take no value also take =true or =false. A flag beats its environment variable.
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

pub(super) static PROGRAM: Program = Program {
    name: "stunner-gateway-operator",
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
    PROGRAM.man(
        env!("CARGO_PKG_VERSION"),
        &["stunnerd", "stunner", "stunnerctl"],
    )
}
