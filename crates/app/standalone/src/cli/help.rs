//! The commands as their help describes them.

use stunner_flags::{Manual, Program};

use super::flags;

const RUN_FOOT: &str = "
Other environment variables:
      STUNNER_ADDR
          Stands in for --address where neither that nor STUNNER_ADDRESS is given

Durations are written as in Go (250ms, 1h30m); a bare number is seconds. Flags that take no value
also take =true or =false. A flag beats its environment variable.
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

const BENCH_FOOT: &str = "
Durations are written as in Go (250ms, 1h30m); a bare number is seconds. Flags that take no value
also take =true or =false. A flag beats its environment variable. Ctrl-C ends the measurement and
prints what there is.
Exit codes: 0 fine, 1 sessions failed or too much was lost, 2 wrong usage.
";

const FOOT: &str = "
Flags that take no value also take =true or =false. A flag beats its environment variable.
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

/// What `stunner --help` prints.
pub(super) const OVERVIEW: &str = "\
The whole media gateway in one program: TURN gateways from Kubernetes manifests, with or without a cluster

Usage:
  stunner COMMAND [FLAGS] [ARGUMENTS]

Without a cluster:
  run PATH...          serve the Gateways of manifests in this process, and follow every edit
  init DIR             write a commented starter folder with fresh credentials
  check PATH...        print every problem of manifests, with its place and the fix
  translate PATH...    print what the operator makes of manifests: configs, workloads, statuses

In a cluster:
  operator [FLAGS]     the gateway operator (also installed as stunner-gateway-operator)
  dataplane [FLAGS]    the TURN server that it runs (also installed as stunnerd)
  auth [FLAGS]         the service that hands out TURN credentials (also installed as authd)

For any TURN server:
  bench SERVER         put load on it and measure loss and latency

Other:
  version              print the version
  help [COMMAND]       print this help, or that of a command

Try it: `stunner init my-gateway && stunner run my-gateway`
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

pub(super) static RUN: Program = Program {
    name: "stunner run",
    flags: flags::run::ALL,
    head: "\
Serves the Gateways of Kubernetes manifests in this process, and follows every edit

Usage:
  stunner run [FLAGS] PATH...    PATH is a file, a folder, or `-` for standard input
  stunner run [FLAGS]            the same as `stunner run .`, if this folder holds manifests

In folders, files ending in .yaml, .yml and .json count, hidden ones do not. A file is read once it
has been still for 100 ms; a broken edit keeps the last good state.
",
    foot: RUN_FOOT,
    single_dash: false,
};

pub(super) static TRANSLATE: Program = Program {
    name: "stunner translate",
    flags: flags::translate::ALL,
    head: "\
Prints what the operator makes of Kubernetes manifests: dataplane configs, workloads, statuses

Usage:
  stunner translate [FLAGS] PATH...    PATH is a file, a folder, or `-` for standard input

The configs hold credentials, as dataplanes get them. Times are left out: the same manifests give
the same result. Notices and warnings go to standard error. Conditions that are False are a result,
not a problem; what breaks the schema of an object is left out, told, and exits 1.
",
    foot: FOOT,
    single_dash: false,
};

pub(super) static CHECK: Program = Program {
    name: "stunner check",
    flags: flags::check::ALL,
    head: "\
Prints every problem of Kubernetes manifests, with its place and the fix

Usage:
  stunner check [FLAGS] PATH...    PATH is a file, a folder, or `-` for standard input

It speaks only of what is in the files, and never repeats the value of a Secret.
",
    foot: FOOT,
    single_dash: false,
};

pub(super) static INIT: Program = Program {
    name: "stunner init",
    flags: flags::init::ALL,
    head: "\
Writes a commented starter folder with fresh credentials, ready for `stunner run`

Usage:
  stunner init DIR    DIR is made if it does not exist; it must be empty
",
    foot: "
Exit codes: 0 fine, 1 problem, 2 wrong usage.
",
    single_dash: false,
};

pub(super) static BENCH: Program = Program {
    name: "stunner bench",
    flags: flags::bench::ALL,
    head: "\
Puts load on a TURN server and measures what gets through, and how fast

Usage:
  stunner bench [FLAGS] SERVER    SERVER is a URI: turn://user:password@host:port?transport=udp|tcp|tls|dtls,
                                  or turn:host:port?transport=udp and turns:host:port with --username

Packets go from clients through the server to a peer on this host, and back. The server must admit
that peer; a gateway does by a route to a StaticService with the address of this host.
",
    foot: BENCH_FOOT,
    single_dash: false,
};

/// The help of the program and of each command of its own, by name, in the order of the overview.
pub fn help() -> Vec<(&'static str, String)> {
    let overview = ("stunner", OVERVIEW.to_owned());
    let commands = [&RUN, &INIT, &CHECK, &TRANSLATE, &BENCH];
    let commands = commands.map(|program| (program.name, program.help()));
    std::iter::once(overview).chain(commands).collect()
}

/// The manual page. The other two programs that `stunner` also is have pages of their own.
pub fn man() -> String {
    let manual = Manual {
        name: "stunner",
        version: crate::VERSION,
        purpose: "the whole media gateway in one program",
        head: OVERVIEW,
        flags: &[],
        commands: &[&RUN, &INIT, &CHECK, &TRANSLATE, &BENCH],
        foot: "",
        see_also: &[
            "stunnerd",
            "stunner-gateway-operator",
            "stunnerctl",
            "turncat",
        ],
    };
    manual.page()
}
