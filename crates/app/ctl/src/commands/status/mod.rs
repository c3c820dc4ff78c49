//! `stunnerctl status`: what the dataplane pods of a gateway run.

mod flags;

use std::time::Duration;

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::port;
use stunner_cluster::{Cluster, ClusterError, Http, Place};
use stunner_flags::{Given, Program, UsageError, joined, values};

use super::{Command, Entry, at_most_one};
use crate::cli::{Globals, flags as global};
use crate::dataplanes::{Wanted, together};
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Output, document};

/// How long a pod may take.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) static ENTRY: Entry = Entry {
    name: "status",
    aliases: &["dataplane-status"],
    usage: "status [GATEWAY]",
    summary: "what the dataplane pods of a gateway run",
    has_wide: false,
    program: Program {
        name: "stunnerctl status",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Prints what dataplane pods run: listeners, routes, live allocations and traffic

Usage:
  stunnerctl status [FLAGS] GATEWAY    of the pods of a Gateway: NAME, or NAMESPACE/NAME
  stunnerctl status [FLAGS]            of all pods of a namespace (-n), or of all of them (-a)

Also called dataplane-status. Pods are asked by port-forward. It exits 1 when a pod does not answer
or when there is none.
",
        foot: "
Examples:
  stunnerctl -n stunner status udp-gateway
  stunnerctl -a status -o jsonpath='{.admin.name}: {.allocationCount}'
  stunnerctl status --pod-address 127.0.0.1    a local `stunnerd` or `stunner run`
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Status),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    gateway: Option<String>,
    address: Option<String>,
    pod: Option<String>,
    port: u16,
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        Ok(Options {
            gateway: at_most_one(
                given,
                "`status` takes one Gateway; without it, it asks all pods of a namespace",
            )?,
            address: given.text(&flags::POD_ADDRESS),
            pod: given.text(&flags::POD_NAME),
            port: given
                .value(&flags::POD_PORT, values::port)?
                .unwrap_or(port::HEALTH),
        })
    }
}

/// Somebody to ask, by the name that is shown.
struct Asked {
    name: String,
    place: Place,
    /// Why there is no need to.
    absent: Option<&'static str>,
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let meant = Wanted::read(
        options.gateway.as_deref(),
        globals.namespace.as_deref(),
        globals.all_namespaces,
    )?;
    let asked = find(&options, &globals).await?;
    let answers = together(asked.iter().map(ask)).await;
    let several = answers.len() > 1;
    let mut outcome = Outcome::Fine;
    for (asked, answer) in asked.iter().zip(answers) {
        match answer {
            Ok(mut documents) => {
                // A process may serve other Gateways too.
                if options.address.is_some() && options.gateway.is_some() {
                    let name = |document: &Value| {
                        let name = document["admin"]["name"].as_str();
                        name.unwrap_or_default().to_owned()
                    };
                    let served: Vec<String> = documents.iter().map(name).collect();
                    meant.among(&asked.name, &served)?;
                    documents.retain(|document| {
                        let name = name(document);
                        !name.contains('/') || meant.covers(&name)
                    });
                }
                for document in &documents {
                    print(&asked.name, document, &globals.form, out)?;
                }
            }
            Err(failure) if several => {
                outcome = Outcome::Problem;
                out.report(&failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(outcome)
}

async fn find(options: &Options, globals: &Globals) -> Result<Vec<Asked>, Failure> {
    if let Some(address) = &options.address {
        let place = Place::direct(address, options.port)?;
        return Ok(vec![Asked {
            name: place.authority(),
            place,
            absent: None,
        }]);
    }
    Wanted::read(options.gateway.as_deref(), None, false)?;
    let cluster = Cluster::connect(&globals.kubectl).await?;
    let wanted = Wanted::read(
        options.gateway.as_deref(),
        Some(cluster.namespace()),
        globals.all_namespaces,
    )?;
    let pods = match &options.pod {
        Some(name) => {
            let (namespace, name) = name
                .split_once('/')
                .unwrap_or((cluster.namespace(), name.as_str()));
            let name = NamespacedName {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            };
            vec![cluster.pod(&name).await?]
        }
        None => {
            let pods = cluster.dataplane_pods(&wanted.scope()).await?;
            let covered = |gateway: &Option<NamespacedName>| {
                gateway
                    .as_ref()
                    .is_none_or(|gateway| wanted.covers(&gateway.to_string()))
            };
            pods.into_iter()
                .filter(|pod| covered(&pod.gateway))
                .collect()
        }
    };
    if pods.is_empty() {
        return Err(Failure::new(
            format!("no dataplane pod found of {wanted}"),
            "`stunnerctl doctor` says why there is none; -n NAMESPACE looks elsewhere, -a everywhere, and \
             --pod-address asks a dataplane outside of a cluster",
        ));
    }
    Ok(pods
        .into_iter()
        .map(|pod| Asked {
            name: pod.name.to_string(),
            place: pod.port(&cluster, options.port),
            absent: (!pod.running).then_some("it does not run yet"),
        })
        .collect())
}

/// The documents of a dataplane: one of a pod, one per Gateway of a local process.
async fn ask(asked: &Asked) -> Result<Vec<Value>, Failure> {
    if let Some(absent) = asked.absent {
        return Err(Failure::new(
            format!("pod {} cannot be asked: {absent}", asked.name),
            "`kubectl describe pod` says what it waits for",
        ));
    }
    let http = Http::new(asked.place.clone())
        .by("stunnerctl")
        .with_patience(PATIENCE);
    let answer = async { http.get("/status").await?.json::<Value>() };
    match answer.await {
        Ok(Value::Array(documents)) => Ok(documents),
        Ok(document) => Ok(vec![document]),
        Err(error) => Err(explain(error)),
    }
}

fn explain(error: ClusterError) -> Failure {
    match &error {
        ClusterError::Unreachable { .. } => {
            let hint = "check that the dataplane runs and that its health server listens on --pod-port; a Dataplane \
                        with `disableHealthCheck: true` has none";
            Failure::new(error, hint)
        }
        _ => error.into(),
    }
}

fn print(name: &str, status: &Value, form: &Form, out: &mut Output<'_>) -> Result<(), Failure> {
    match form {
        Form::Machine(form) => out.value(form, status),
        Form::String => out.text(&format!("{name}: {}", document::line(status))),
        _ => {
            let summary = document::summary(status);
            out.text(&format!("{name}\n"))?;
            for line in summary.lines() {
                out.text(&format!("  {line}\n"))?;
            }
            Ok(())
        }
    }
}
