//! `stunnerctl icetest`: WebRTC test calls through a gateway.
//!
//! One end is here and goes through a TURN server over each transport; the other end is an icetester in a cluster
//! ([`cluster`]), the echo peer of a local dataplane ([`local`]), or wherever the user says ([`direct`]). [`call`] makes
//! one call, [`report`] tells of them.

mod call;
mod cluster;
mod direct;
mod far_end;
mod flags;
mod ledger;
mod local;
mod report;
mod series;
mod whip;

use std::time::Duration;

use stunner_client::ServerTransport;
use stunner_cluster::{AuthFlags, flags as shared};
use stunner_credentials::Secret;
use stunner_flags::{Given, Program, UsageError, Wrong, joined, values};
use stunner_peer::{IceServer, Probe, ice_servers};

use self::call::Terms;
use self::ledger::Ledger;
use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Output};

pub(super) static ENTRY: Entry = Entry {
    name: "icetest",
    aliases: &[],
    usage: "icetest [udp|tcp|tls|dtls]...",
    summary: "WebRTC test calls through a gateway",
    has_wide: false,
    program: Program {
        name: "stunnerctl icetest",
        flags: joined!(joined!(flags::ALL, shared::AUTH), global::ALL),
        head: "\
WebRTC test calls through a gateway

Usage:
  stunnerctl icetest [FLAGS] [udp|tcp|tls|dtls]...                   in a cluster, in a namespace of its own
  stunnerctl icetest --admin ADDR [FLAGS] [udp|tcp|tls|dtls]...      through a local `stunner run` or stunnerd
  stunnerctl icetest --ice-servers JSON [--whip URL] [FLAGS] ...     through any TURN server, to any icetester

For each transport two calls are made: asymmetric, where this end goes through the gateway, and symmetric, where
both ends do. Each sends packets of 100 bytes on a data channel and counts those that come back. Without
transports: all four in a cluster, else all that the gateway offers.
",
        foot: "
In a cluster the test needs the namespace `icetest`, which must not exist, makes there Gateways, an
icetester and all they need, and removes them whatever happens.
Exit codes: 0 all calls passed, 1 one failed or none could be made, 2 wrong usage.
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::IceTest),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Empty for all there are.
    transports: Vec<ServerTransport>,
    terms: Terms,
    timeout: Duration,
    admin: Option<String>,
    ice_servers: Option<Vec<IceServer>>,
    whip: Option<String>,
    whip_token: Option<Secret>,
    cluster: cluster::Options,
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        let mut transports = Vec::new();
        for word in given.positionals() {
            let transport = transport(word)?;
            if !transports.contains(&transport) {
                transports.push(transport);
            }
        }
        let terms = Terms {
            probe: Probe {
                rate: given
                    .value(&flags::PACKET_RATE, values::count)?
                    .unwrap_or(50),
                duration: given
                    .value(&flags::DURATION, some_time)?
                    .unwrap_or(Duration::from_secs(20)),
                ..Probe::default()
            },
            insecure: given.switch(&flags::INSECURE)?,
            max_loss: given.value(&flags::MAX_LOSS, percent)?.unwrap_or(0.1),
        };
        let options = Options {
            transports,
            terms,
            timeout: given
                .value(&flags::TIMEOUT, some_time)?
                .unwrap_or(Duration::from_secs(300)),
            admin: given.text(&flags::ADMIN),
            ice_servers: servers(given)?,
            whip: given.text(&flags::WHIP),
            whip_token: given.text(&flags::WHIP_TOKEN).map(Secret::from),
            cluster: cluster::Options {
                image: given
                    .text(&flags::ICE_TESTER_IMAGE)
                    .unwrap_or_else(|| flags::ICE_TESTER_IMAGE.default.to_owned()),
                offload: given
                    .value(&flags::OFFLOAD_MODE, offload)?
                    .unwrap_or_else(|| flags::OFFLOAD_MODE.default.to_owned()),
                force_cleanup: given.switch(&flags::FORCE_CLEANUP)?,
                allow_node_port: given.switch(&flags::ALLOW_NODEPORT)?,
                turn_credential: given.switch(&flags::AUTH_TURN_CREDENTIAL)?,
                auth: AuthFlags::read(given)?,
            },
        };
        match (&options.whip, &options.ice_servers, &options.admin) {
            (Some(_), None, _) => Err(UsageError::new(
                "`--whip` needs the TURN servers to call through",
                "give them with --ice-servers",
            )),
            (Some(_), _, Some(_)) => Err(UsageError::new(
                "`--whip` and `--admin` name two far ends",
                "give one of them",
            )),
            _ => Ok(options),
        }
    }
}

fn transport(word: &str) -> Result<ServerTransport, UsageError> {
    match word.to_ascii_lowercase().as_str() {
        "udp" => Ok(ServerTransport::Udp),
        "tcp" => Ok(ServerTransport::Tcp),
        "tls" => Ok(ServerTransport::Tls),
        "dtls" => Ok(ServerTransport::Dtls),
        _ => Err(UsageError::new(
            format!("`{word}` is no transport"),
            "give any of udp, tcp, tls and dtls, or none for all of them",
        )),
    }
}

/// In no time nothing can be measured.
fn some_time(text: &str) -> Result<Duration, Wrong> {
    match values::duration(text)? {
        Duration::ZERO => Err(Wrong {
            why: "it is no time at all".to_owned(),
            hint: "give a duration such as 20s",
        }),
        time => Ok(time),
    }
}

fn percent(text: &str) -> Result<f64, Wrong> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number / 100.0),
        _ => Err(Wrong {
            why: "it is no percentage".to_owned(),
            hint: "give a number from 0 to 100",
        }),
    }
}

fn offload(text: &str) -> Result<String, Wrong> {
    let known = ["None", "XDP", "TC", "Auto"];
    let found = known.iter().find(|name| name.eq_ignore_ascii_case(text));
    found.map(|name| (*name).to_owned()).ok_or(Wrong {
        why: "there is no such offload engine".to_owned(),
        hint: "give None, XDP, TC or Auto",
    })
}

/// The list, or the file that holds it. The message never repeats the text, which has credentials in it.
fn servers(given: &Given<'_>) -> Result<Option<Vec<IceServer>>, UsageError> {
    let Some(text) = given.text(&flags::ICE_SERVERS) else {
        return Ok(None);
    };
    let wrong = |why: String| {
        UsageError::new(
            format!("invalid value for `--ice-servers`: {why}"),
            "give a list such as [{\"urls\":[\"turn:192.0.2.1:3478?transport=udp\"],\"username\":\"U\",\"credential\":\"C\"}], \
             or @FILE",
        )
    };
    let text = match text.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| wrong(format!("cannot read `{path}`: {error}")))?,
        None => text,
    };
    let servers = ice_servers(&text).map_err(|error| wrong(error.to_string()))?;
    match servers.is_empty() {
        true => Err(wrong("the list is empty".to_owned())),
        false => Ok(Some(servers)),
    }
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let ledger = Ledger::default();
    let signals = series::signals()?;
    let ended = match (&options.admin, &options.ice_servers) {
        (Some(admin), _) => {
            let work = local::run(admin, &options, &globals, &ledger, out);
            series::within(options.timeout, &signals, work).await
        }
        (None, Some(servers)) => direct::run(servers, &options, &signals, &ledger, out).await,
        (None, None) => cluster::run(&options, &globals, &signals, &ledger, out).await,
    };
    // What was measured is told whatever ended the test; who asked for JSON gets some.
    let runs = ledger.close();
    match &globals.form {
        Form::Machine(form) => out.value(form, &report::value(&runs, ended.as_ref().err()))?,
        Form::Summary | Form::String if runs.is_empty() => {}
        Form::Summary | Form::String => out.text(&report::text(&runs))?,
    }
    ended?;
    Ok(match report::is_good(&runs) {
        true => Outcome::Fine,
        false => Outcome::Problem,
    })
}
