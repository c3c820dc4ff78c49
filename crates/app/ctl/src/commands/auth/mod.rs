//! `stunnerctl auth`: a TURN credential from the auth service.

mod flags;

use std::time::Duration;

use serde_json::Value;
use stunner_cluster::{AuthFlags, Cluster, ClusterError, Http, Place, with_query};
use stunner_flags::{Given, Program, UsageError, joined};

use super::{Command, Entry, at_most_one};
use crate::cli::{Globals, flags as global};
use crate::dataplanes::Wanted;
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Machine, Output};

/// How long the service may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) static ENTRY: Entry = Entry {
    name: "auth",
    aliases: &["get-credential"],
    usage: "auth [GATEWAY]",
    summary: "a TURN credential from the auth service",
    has_wide: false,
    program: Program {
        name: "stunnerctl auth",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Asks the auth service for a TURN credential and prints its answer

Usage:
  stunnerctl auth [FLAGS] GATEWAY    for a Gateway: NAME together with -n, or NAMESPACE/NAME
  stunnerctl auth [FLAGS]            for those of a namespace (-n), or for all of them

Also called get-credential. The answer is JSON, ready for RTCPeerConnection; -o yaml and
-o jsonpath=TEMPLATE give it in other forms. It holds a password.
",
        foot: "",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Auth),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    gateway: Option<String>,
    username: Option<String>,
    turn_credential: bool,
    service: AuthFlags,
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        Ok(Options {
            gateway: at_most_one(given, "`auth` takes one Gateway; without it, any will do")?,
            username: given.text(&flags::USERNAME),
            turn_credential: given.switch(&flags::TURN_CREDENTIAL)?,
            service: AuthFlags::read(given)?,
        })
    }
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let wanted = Wanted::read(
        options.gateway.as_deref(),
        globals.namespace.as_deref(),
        globals.all_namespaces,
    )?;
    let wanted = match wanted {
        // As the Go tool does it: scripts may pass the name always and rely on `-n` to choose.
        Wanted {
            namespace: None,
            name: Some(name),
        } => {
            out.note(&format!(
                "warning: Gateway `{name}` is left out of the question, as its namespace is not given\n\
                 hint: give it with -n, or write NAMESPACE/NAME"
            ));
            Wanted::default()
        }
        wanted => wanted,
    };
    let place = match &options.service.address {
        Some(address) => Place::direct(address, options.service.port())?,
        None => {
            let cluster = Cluster::connect(&globals.kubectl).await?;
            let pod = cluster
                .auth_pod(options.service.namespace.as_deref())
                .await?;
            pod.port(&cluster, options.service.port())
        }
    };
    let who = place.to_string();
    let http = Http::new(place).by("stunnerctl").with_patience(PATIENCE);
    let answer = http.get(&question(&options, &wanted)).await?.text();
    let body = answer.map_err(|error| explain(error, &wanted))?;
    let value: Value = serde_json::from_str(&body).map_err(|_| {
        Failure::new(
            format!(
                "{who} answered with something that is not JSON: {}",
                beginning(&body)
            ),
            "is it the auth service? look at --auth-server-address and --auth-service-port",
        )
    })?;
    match &globals.form {
        // As it came: scripts of the Go tool read it from there, whatever form they asked for.
        Form::Summary | Form::String | Form::Machine(Machine::Json) => {
            out.text(&format!("{body}\n"))?;
        }
        Form::Machine(form) => out.value(form, &value)?,
    }
    Ok(Outcome::Fine)
}

/// Enough of a text to see what it is, on one line.
fn beginning(text: &str) -> String {
    const SHOWN: usize = 60;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    match line.chars().count() {
        0 => "nothing at all".to_owned(),
        1..=SHOWN => format!("`{line}`"),
        _ => format!("`{}…`", line.chars().take(SHOWN).collect::<String>()),
    }
}

/// Path and query, with the parameters in the order of their names.
fn question(options: &Options, wanted: &Wanted) -> String {
    let path = if options.turn_credential { "/" } else { "/ice" };
    let parameters = [
        ("gateway", wanted.name.as_deref()),
        ("namespace", wanted.namespace.as_deref()),
        ("service", Some("turn")),
        ("username", options.username.as_deref()),
    ];
    with_query(path, &parameters)
}

/// Adds what to do where the service only says no, as the Go one does.
fn explain(error: ClusterError, wanted: &Wanted) -> Failure {
    let hint = match &error {
        ClusterError::Status {
            code: 404, hint, ..
        } if hint.is_empty() => "check the name and the namespace with `stunnerctl -a config`",
        ClusterError::Status {
            code: 500.., hint, ..
        } if hint.is_empty() => "the auth service may have no config yet; see its log",
        _ => return error.into(),
    };
    let error = match &error {
        ClusterError::Status { code: 404, .. } => {
            format!("the auth service knows no credential for {wanted}")
        }
        other => other.to_string(),
    };
    Failure::new(error, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(
        gateway: Option<&str>,
        namespace: Option<&str>,
        user: Option<&str>,
        turn: bool,
    ) -> String {
        let options = Options {
            gateway: gateway.map(str::to_owned),
            username: user.map(str::to_owned),
            turn_credential: turn,
            service: AuthFlags::default(),
        };
        let wanted = Wanted::read(gateway, namespace, false).expect("a name");
        question(&options, &wanted)
    }

    #[test]
    fn the_service_is_asked_as_the_go_tool_asks_it() {
        assert_eq!(asked(None, None, None, false), "/ice?service=turn");
        assert_eq!(
            asked(Some("gw"), Some("stunner"), Some("alice"), false),
            "/ice?gateway=gw&namespace=stunner&service=turn&username=alice"
        );
        assert_eq!(
            asked(Some("gw"), Some("stunner"), None, true),
            "/?gateway=gw&namespace=stunner&service=turn"
        );
    }

    #[test]
    fn a_name_may_bring_its_namespace_along() {
        assert_eq!(
            asked(Some("stunner/gw"), None, None, false),
            "/ice?gateway=gw&namespace=stunner&service=turn"
        );
    }

    #[test]
    fn the_user_is_asked_for_with_and_without_a_namespace() {
        assert_eq!(
            asked(None, None, Some("alice"), false),
            "/ice?service=turn&username=alice"
        );
        assert_eq!(
            asked(None, Some("stunner"), Some("a&b c/é"), false),
            "/ice?namespace=stunner&service=turn&username=a%26b%20c%2F%C3%A9"
        );
    }
}
