//! `stunnerctl explain`: would a peer be admitted, by what, and if not, what to change.
//!
//! Whoever can answer is asked (`ask`): all dataplanes of the gateway, which should agree, else the configuration that
//! they would get, which is judged here (`local`). Kubernetes objects, as far as they may be read (`objects`), give
//! names to what dataplanes know as clusters and prefixes, and tell what to change (`advice`).

mod advice;
mod ask;
mod flags;
mod local;
mod objects;
mod question;
#[cfg(test)]
mod tests;
mod verdict;
mod visitor;

use std::collections::BTreeSet;

use serde_json::json;
use stunner_cluster::{Cds, Cluster};
use stunner_config::PeerTransport;
use stunner_flags::{Given, Program, UsageError, joined};
use stunner_translate::overview::nearest_backend;

use self::advice::Known;
use self::ask::Answers;
use self::objects::Objects;
use self::question::Question;
use self::verdict::Verdict;
use self::visitor::Visitor;
use super::{Command, Entry, at_most_one};
use crate::cli::{Globals, flags as global};
use crate::dataplanes::{Dataplanes, Wanted, failure};
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Output};

pub(super) static ENTRY: Entry = Entry {
    name: "explain",
    aliases: &[],
    usage: "explain GATEWAY --peer IP:PORT",
    summary: "whether a peer would be admitted, by what, or what to change",
    has_wide: false,
    program: Program {
        name: "stunnerctl explain",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Tells whether clients of a gateway reach a peer: by which route and backend, or why not and what to change

Usage:
  stunnerctl explain [FLAGS] GATEWAY --peer IP:PORT

GATEWAY is NAME or NAMESPACE/NAME. All its pods are asked; where there are none yet, config discovery or a file answers.

  stunnerctl explain -n stunner udp-gateway --peer 10.1.2.3:5000
  stunnerctl explain stunner/udp-gateway --client 198.51.100.7 --peer 10.1.2.3:5000
  stunnerctl explain udp-gateway --peer 10.1.2.3:5000 --admin localhost:8087
  stunner translate -o json ./manifests | stunnerctl explain udp-gateway --peer 10.1.2.3:5000 --config -
",
        foot: "
Exit codes: 0 every listener in question admits the peer, 1 one of them does not, or there is a problem, 2 wrong usage.
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Explain),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    gateway: String,
    question: Question,
    admin: Option<String>,
    config: Option<String>,
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        let hint = "for example `stunnerctl explain udp-gateway --peer 10.1.2.3:5000`";
        let missing = |what: &str| UsageError::new(format!("`explain` needs {what}"), hint);
        let gateway = at_most_one(given, "`explain` takes one gateway")?;
        let gateway = gateway.ok_or_else(|| missing("a gateway"))?;
        let peer = given.value(&flags::PEER, question::peer)?;
        let (peer, port) = peer.ok_or_else(|| missing("`--peer IP:PORT`"))?;
        let transport = given.value(&flags::PROTOCOL, question::transport)?;
        Ok(Options {
            gateway,
            question: Question {
                peer,
                port,
                client: given.value(&flags::CLIENT, question::client)?,
                listener: given.text(&flags::LISTENER),
                transport: transport.unwrap_or(PeerTransport::Udp),
            },
            admin: given.text(&flags::ADMIN),
            config: given.text(&flags::CONFIG),
        })
    }
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let question = &options.question;
    let (answers, cluster) = answers(&options, &globals).await?;
    if answers.by_listener.is_empty() {
        return Err(nothing(&options));
    }
    for note in &answers.notes {
        out.note(note);
    }
    for silence in &answers.silent {
        out.note(&silence.to_string());
    }
    let objects = match &cluster {
        Some(cluster) => Some(objects::read(cluster, &gateways(&answers)).await),
        None => None,
    };
    let known = known(objects.as_ref(), question);
    let verdicts: Vec<Verdict<'_>> = answers
        .by_listener
        .values()
        .filter_map(|answers| Verdict::of(answers, question, &known))
        .collect();
    let visitor = match question.client {
        Some(client) => {
            let shut_out = shut_out(cluster.as_ref(), &answers, client).await;
            Some(Visitor::of(client, &answers, shut_out))
        }
        None => None,
    };
    let fine = verdicts.iter().all(Verdict::is_fine)
        && visitor.as_ref().is_none_or(Visitor::is_let_in)
        && answers.silent.is_empty();
    match &globals.form {
        Form::Machine(form) => {
            let listeners: Vec<_> = verdicts.iter().map(Verdict::value).collect();
            let silent = answers.silent.iter();
            let value = json!({
                "gateway": options.gateway,
                "peer": question.peer_text(),
                "protocol": question.transport.as_str().to_ascii_lowercase(),
                "admitted": verdicts.iter().all(Verdict::is_fine),
                "listeners": listeners,
                "client": visitor.as_ref().map(Visitor::value),
                "silent": silent.map(|it| json!({ "name": it.name, "error": it.why })).collect::<Vec<_>>(),
            });
            out.value(form, &value)?;
        }
        _ => {
            for text in verdict::texts(&verdicts, question) {
                out.text(&text)?;
            }
            if let Some(visitor) = &visitor {
                out.text(&visitor.text())?;
            }
            if let Some(objects) = &objects {
                for (kind, why) in &objects.unread {
                    out.note(&format!(
                        "{kind} cannot be read, so names may be missing: {why}"
                    ));
                }
            }
        }
    }
    Ok(match fine {
        true => Outcome::Fine,
        false => Outcome::Problem,
    })
}

/// Asks the source that was named, else the cluster, which is then there for names too.
async fn answers(
    options: &Options,
    globals: &Globals,
) -> Result<(Answers, Option<Cluster>), Failure> {
    let question = &options.question;
    let gateway = Some(options.gateway.as_str());
    let namespace = globals.namespace.as_deref();
    if let Some(path) = &options.config {
        let wanted = Wanted::read(gateway, namespace, globals.all_namespaces)?;
        return Ok((ask::file(path, &wanted, question)?, None));
    }
    if options.admin.is_none() && globals.cds.address.is_some() {
        let wanted = Wanted::read(gateway, namespace, globals.all_namespaces)?;
        let cds = Cds::find(&globals.kubectl, &globals.cds).await;
        let cds = cds.map_err(failure)?.by("stunnerctl");
        return Ok((ask::discovered(&cds, &wanted, question).await?, None));
    }
    let planes = Dataplanes::find(globals, options.admin.as_deref(), gateway).await?;
    let answers = ask::running(globals, &planes, question).await?;
    let cluster = match planes {
        Dataplanes::Pods { cluster, .. } => Some(cluster),
        Dataplanes::Process { .. } => None,
    };
    Ok((answers, cluster))
}

/// The gateways that answered.
fn gateways(answers: &Answers) -> BTreeSet<&str> {
    let listeners = answers.by_listener.keys();
    listeners
        .filter_map(|listener| Some(listener.rsplit_once('/')?.0))
        .collect()
}

fn known<'a>(objects: Option<&'a Objects>, question: &Question) -> Known<'a> {
    match objects {
        Some(objects) => Known {
            overview: Some(&objects.overview),
            nearest: nearest_backend(&objects.snapshot, question.peer),
        },
        None => Known::default(),
    }
}

async fn shut_out(
    cluster: Option<&Cluster>,
    answers: &Answers,
    client: std::net::IpAddr,
) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for gateway in gateways(answers) {
        if let Some(cluster) = cluster
            && let Some(ranges) = visitor::source_ranges(cluster, gateway, client).await
        {
            found.push((gateway.to_owned(), ranges));
        }
    }
    found
}

fn nothing(options: &Options) -> Failure {
    let Options {
        gateway, question, ..
    } = options;
    match &question.listener {
        Some(listener) => Failure::new(
            format!("gateway {gateway} has no listener `{listener}`"),
            "leave --listener out to ask about all of them; `stunnerctl config` lists them",
        ),
        None => Failure::new(
            format!("there is no gateway {gateway} with a listener"),
            "check the name and the namespace (-n NAMESPACE, -a for all); `stunnerctl config -a` lists gateways",
        ),
    }
}
