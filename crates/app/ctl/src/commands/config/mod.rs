//! `stunnerctl config`: configs of dataplanes, as the operator serves them.

mod flags;

use serde_json::Value;
use stunner_cluster::{Cds, Cluster, Discovered, Scope, WatchEvent};
use stunner_flags::{Given, Program, UsageError, joined};
use stunner_process::Signals;

use super::{Command, Entry, at_most_one};
use crate::cli::{Globals, flags as global};
use crate::dataplanes::Wanted;
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Machine, Output, document};

pub(super) static ENTRY: Entry = Entry {
    name: "config",
    aliases: &["stunner-config"],
    usage: "config [GATEWAY]",
    summary: "configs of dataplanes, as the operator serves them",
    has_wide: false,
    program: Program {
        name: "stunnerctl config",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Prints the configs of dataplanes, as the operator serves them

Usage:
  stunnerctl config [FLAGS] GATEWAY    the config of a Gateway: NAME, or NAMESPACE/NAME
  stunnerctl config [FLAGS]            those of a namespace (-n), or of all of them (-a)

Also called stunner-config. The summary hides credentials; the other forms hold them, as dataplanes
get them. With -o json there is one line per config, with -o yaml a document, with -o jsonpath the
template filled in.
",
        foot: "
Examples:
  stunnerctl -n stunner config udp-gateway
  stunnerctl -n stunner config udp-gateway -o jsonpath='{.listeners[0].public_address}'
  stunnerctl -a config -o jsonpath='{range .listeners[*]}{.name}{\"\\t\"}{.protocol}{\"\\n\"}{end}'
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Config),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    gateway: Option<String>,
    watch: bool,
    node: Option<String>,
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        let options = Options {
            gateway: at_most_one(
                given,
                "`config` takes one Gateway; without it, it prints all of a namespace",
            )?,
            watch: given.switch(&flags::WATCH)?,
            node: given.text(&flags::NODE),
        };
        match &options {
            Options {
                node: Some(_),
                gateway: None,
                ..
            } => Err(UsageError::new(
                "`--node` needs a Gateway",
                "name it: `stunnerctl config GATEWAY --node NODE`",
            )),
            _ => Ok(options),
        }
    }
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    // A wrong name is told before anything is looked for.
    Wanted::read(options.gateway.as_deref(), None, false)?;
    let (cds, namespace) = match &globals.cds.address {
        Some(address) => (
            Cds::direct(address, &globals.cds)?,
            globals.namespace.clone(),
        ),
        None => {
            let cluster = Cluster::connect(&globals.kubectl).await?;
            let cds = Cds::discover(&cluster, &globals.cds).await?;
            (cds, Some(cluster.namespace().to_owned()))
        }
    };
    let cds = cds.by("stunnerctl");
    let namespace = namespace.as_deref().unwrap_or("default");
    let wanted = Wanted::read(
        options.gateway.as_deref(),
        Some(namespace),
        globals.all_namespaces,
    )?;
    match options.watch {
        true => watch(&cds, &wanted, options.node, &globals.form, out).await,
        false => show(&cds, &wanted, options.node, &globals.form, out).await,
    }
}

async fn show(
    cds: &Cds,
    wanted: &Wanted,
    node: Option<String>,
    form: &Form,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let found = match wanted.scope() {
        // One that does not exist is a failure here; an empty list is none.
        Scope::One(id) => vec![cds.one(&id, node.as_deref()).await?],
        scope => cds.list(&scope, node.as_deref()).await?,
    };
    let mut printed = 0;
    for config in found.iter().filter(|config| wanted.covers(&config.id)) {
        print(config, form, out)?;
        printed += 1;
    }
    if printed == 0 {
        // Not an error, as for kubectl: a script may ask whether there is any.
        out.note(&format!("there is no config of {wanted}"));
        if wanted.namespace.is_some() {
            out.note("hint: -n NAMESPACE looks elsewhere, -a everywhere");
        }
    }
    Ok(Outcome::Fine)
}

/// Until SIGINT or SIGTERM, which is the way to end it and no failure.
async fn watch(
    cds: &Cds,
    wanted: &Wanted,
    node: Option<String>,
    form: &Form,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let signals = Signals::listen().map_err(|error| {
        Failure::new(
            format!("cannot listen for signals: {error}"),
            "leave `--watch` out",
        )
    })?;
    let mut watch = cds.watch(wanted.scope(), node);
    let mut known: Vec<Discovered> = Vec::new();
    // Why the service is away, as far as that was told: at every attempt it would drown the rest.
    let mut told: Vec<String> = Vec::new();
    loop {
        let event = tokio::select! {
            event = watch.next() => event,
            () = signals.at_least(1) => return Ok(Outcome::Fine),
        };
        match event {
            None => return Ok(Outcome::Fine),
            // After an outage only what is different is news.
            Some(WatchEvent::List(list)) => {
                for gone in known
                    .iter()
                    .filter(|old| !list.iter().any(|new| new.id == old.id))
                {
                    print_deleted(&gone.id, wanted, form, out)?;
                }
                for config in list.iter().filter(|new| !known.contains(new)) {
                    if wanted.covers(&config.id) {
                        print(config, form, out)?;
                    }
                }
                known = list;
                if !std::mem::take(&mut told).is_empty() {
                    out.note("config discovery answers again");
                }
            }
            Some(WatchEvent::Changed(config)) => {
                if wanted.covers(&config.id) {
                    print(&config, form, out)?;
                }
                known.retain(|old| old.id != config.id);
                known.push(*config);
            }
            Some(WatchEvent::Deleted(id)) => {
                known.retain(|old| old.id != id);
                print_deleted(&id, wanted, form, out)?;
            }
            Some(WatchEvent::Down { why, .. }) if told.contains(&why) => {}
            Some(WatchEvent::Down { why, hint }) => {
                out.note(&format!("warning: {why}; trying again"));
                if let Some(hint) = hint {
                    out.note(&format!("hint: {hint}"));
                }
                told.push(why);
            }
        }
    }
}

fn print(config: &Discovered, form: &Form, out: &mut Output<'_>) -> Result<(), Failure> {
    match form {
        Form::Machine(form) => out.value(form, &complete(&config.value)),
        Form::String => out.text(&document::line(&config.value)),
        _ => out.text(&document::summary(&config.value)),
    }
}

/// The config with the fields that scripts know from the Go tool, whoever served it: credentials are told to be none,
/// and lists without elements are left out.
fn complete(config: &Value) -> Value {
    let mut config = config.clone();
    if let Some(auth) = config.get_mut("auth").and_then(Value::as_object_mut) {
        auth.entry("credentials").or_insert(Value::Null);
    }
    if let Some(fields) = config.as_object_mut() {
        let is_empty =
            |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        fields.retain(|name, value| {
            !(["listeners", "clusters"].contains(&name.as_str()) && is_empty(value))
        });
    }
    config
}

/// Among JSON and YAML documents the line would be a mistake: there it is told beside them.
fn print_deleted(
    id: &str,
    wanted: &Wanted,
    form: &Form,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let line = format!("Gateway: {id} <deleted>");
    match form {
        _ if !wanted.covers(id) => Ok(()),
        Form::Machine(Machine::Json | Machine::Yaml) => {
            out.note(&line);
            Ok(())
        }
        _ => out.text(&format!("{line}\n")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_config_has_the_fields_that_scripts_know() {
        let served = json!({"version": "v1", "auth": {"type": "none"}, "listeners": [{"name": "a"}], "clusters": []});
        assert_eq!(
            complete(&served).to_string(),
            r#"{"version":"v1","auth":{"type":"none","credentials":null},"listeners":[{"name":"a"}]}"#
        );
        let other = json!({"auth": {"credentials": {"secret": "s"}}, "clusters": [{}], "new": []});
        assert_eq!(complete(&other), other);
    }
}
