//! Asks whoever can answer: the dataplanes, else config discovery, or a file.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};

use serde::de::IgnoredAny;
use serde_json::Value;
use stunner_cluster::{Admin, Cds, Denial, Discovered, Explain, Explanation, Filter};
use stunner_config::documents;

use super::question::Question;
use super::{advice, local};
use crate::cli::Globals;
use crate::dataplanes::{Dataplane, Dataplanes, Silence, Wanted, ask_all, failure};
use crate::failure::Failure;

/// All that was said.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// By listener, sorted; what every source said about it.
    pub(super) by_listener: BTreeMap<String, Vec<Answer>>,
    pub(super) silent: Vec<Silence>,
    /// Why dataplanes could not be asked, where config discovery or a file answered in their place.
    pub(super) notes: Vec<String>,
    /// What the client was refused lately, the newest first.
    pub(super) refused: Vec<Denial>,
    /// How many sessions the client has; `None` where nobody was asked for it.
    pub(super) sessions: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// A pod, an address, or where a config came from.
    pub(super) source: String,
    pub(super) explanation: Explanation,
    /// Names in the listener's routes that only a dataplane can resolve.
    pub(super) unresolved: Vec<String>,
}

impl Answer {
    /// What the routes admit is not reached without a relay of the peer's family (RFC 8656 §9.1: 443).
    pub(super) fn mind_families(&mut self) {
        let it = &mut self.explanation;
        let peer = it.peer.parse::<SocketAddr>().map(|peer| peer.ip());
        let Ok(peer) = peer.or_else(|_| it.peer.parse::<IpAddr>()) else {
            return;
        };
        let is_v4 = peer.to_canonical().is_ipv4();
        let is_of_family = |relay: &IpAddr| relay.is_ipv4() == is_v4;
        if it.admitted && !it.relays.is_empty() && !it.relays.iter().any(is_of_family) {
            it.admitted = false;
            it.reason = Some(advice::NO_RELAY.to_owned());
        }
    }
}

impl Answers {
    /// Whether all that were asked about a listener say the same.
    pub(super) fn agree(answers: &[Answer]) -> bool {
        let said = |answer: &Answer| {
            let it = &answer.explanation;
            (it.admitted, it.cluster.clone(), it.reason.clone())
        };
        answers
            .windows(2)
            .all(|pair| said(&pair[0]) == said(&pair[1]))
    }

    fn add(&mut self, mut answer: Answer) {
        answer.mind_families();
        let listener = answer.explanation.listener.clone();
        self.by_listener.entry(listener).or_default().push(answer);
    }
}

/// Asks all dataplanes about all listeners that are meant.
pub(super) async fn dataplanes(
    asked: &[Dataplane],
    wanted: &Wanted,
    question: &Question,
) -> Answers {
    let told = ask_all(asked, |admin: Admin| explanations(admin, wanted, question)).await;
    let mut answers = Answers::default();
    for (dataplane, told) in asked.iter().zip(told) {
        match told {
            Ok(told) => {
                for explanation in told.explanations {
                    answers.add(Answer {
                        source: dataplane.name.clone(),
                        explanation,
                        unresolved: Vec::new(),
                    });
                }
                answers.refused.extend(told.refused);
                if question.client.is_some() {
                    *answers.sessions.get_or_insert(0) += told.sessions;
                }
            }
            Err(silence) => answers.silent.push(silence),
        }
    }
    answers.refused.sort_by(|a, b| b.at.cmp(&a.at));
    answers
}

/// What one dataplane says.
struct Told {
    explanations: Vec<Explanation>,
    refused: Vec<Denial>,
    sessions: usize,
}

async fn explanations(
    admin: Admin,
    wanted: &Wanted,
    question: &Question,
) -> Result<Told, stunner_cluster::ClusterError> {
    let statistics = admin.statistics().await?;
    let mut told = Told {
        explanations: Vec::new(),
        refused: Vec::new(),
        sessions: 0,
    };
    let listeners = statistics.gateways.iter().flat_map(|it| &it.listeners);
    // One without a protocol is gone and has sessions only.
    let listeners = listeners.filter(|listener| listener.protocol.is_some());
    for listener in listeners.filter(|it| question.is_about(wanted, &it.name)) {
        let asked = Explain {
            listener: listener.name.clone(),
            peer: question.peer_text(),
            client: question.client,
            transport: Some(question.transport.as_str().to_ascii_lowercase()),
        };
        told.explanations.push(admin.explain(&asked).await?);
    }
    if let Some(client) = question.client {
        let of_client = Filter {
            client: Some(client.to_string()),
            ..Filter::default()
        };
        let denials = admin.denials(&of_client).await?.denials;
        let peer = question.peer.to_canonical();
        told.refused = denials
            .into_iter()
            .filter(|denial| denial.peer.ip().to_canonical() == peer)
            .filter(|denial| question.is_about(wanted, &denial.listener))
            .collect();
        let sessions = admin.sessions(&of_client).await?.sessions;
        let meant = |listener: &str| question.is_about(wanted, listener);
        told.sessions = sessions.iter().filter(|it| meant(&it.listener)).count();
    }
    Ok(told)
}

/// Asks the pods, or the process at `--admin`. Where no pod answers, the configuration that they would get does.
pub(super) async fn running(
    globals: &Globals,
    planes: &Dataplanes,
    question: &Question,
) -> Result<Answers, Failure> {
    let found = planes.list().await?;
    let answers = dataplanes(&found, planes.wanted(), question).await;
    if answers.silent.len() < found.len() {
        return Ok(answers);
    }
    let cluster = match planes {
        Dataplanes::Pods { cluster, .. } => cluster,
        Dataplanes::Process { .. } => {
            return match answers.silent.into_iter().next() {
                Some(silence) => Err(silence.into()),
                None => Ok(Answers::default()),
            };
        }
    };
    let why = match answers.silent.first() {
        Some(silence) => silence.to_string(),
        None => format!("no pod serves {}", planes.wanted()),
    };
    let note = format!("{why}; this is what the configuration says");
    let cds = Cds::discover(cluster, &globals.cds).await;
    let cds = cds.map_err(failure)?.by("stunnerctl");
    let mut answers = discovered(&cds, planes.wanted(), question).await?;
    answers.notes.insert(0, note);
    Ok(answers)
}

/// Asks config discovery for the configuration, and the configuration for the answer.
pub(super) async fn discovered(
    cds: &Cds,
    wanted: &Wanted,
    question: &Question,
) -> Result<Answers, Failure> {
    let configs = cds.list(&wanted.scope(), None).await.map_err(failure)?;
    configurations(&configs, wanted, question, "config discovery")
}

/// Reads configurations from a file.
pub(super) fn file(path: &str, wanted: &Wanted, question: &Question) -> Result<Answers, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(
            format!("cannot read `{path}`: {error}"),
            "give a file with a dataplane config, such as `stunnerctl config -o yaml` prints it",
        )
    };
    let mut text = String::new();
    match path {
        "-" => std::io::stdin().read_to_string(&mut text).map(drop),
        path => std::fs::read_to_string(path).map(|read| text = read),
    }
    .map_err(unreadable)?;
    let unusable = |why: String| {
        Failure::new(
            format!("`{path}` has no dataplane config: {why}"),
            "`stunnerctl config -o json` and `stunner translate -o json` print some",
        )
    };
    let mut configs = Vec::new();
    for text in json_documents(&text).map_err(unusable)? {
        configs.push(Discovered::read(text).map_err(unusable)?);
    }
    configurations(&configs, wanted, question, path)
}

/// The configs of a text, whichever tool wrote it and in whichever form, as JSON.
pub(super) fn json_documents(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for document in documents(text) {
        if serde_json::from_str::<IgnoredAny>(&document).is_ok() {
            found.push(document);
            continue;
        }
        // The text around the mistake may be a secret.
        let value = serde_saphyr::from_str::<Value>(&document);
        let value = value.map_err(|_| "it is neither JSON nor YAML".to_owned())?;
        // In YAML too it may be a list of configs.
        found.extend(documents(&value.to_string()));
    }
    Ok(found)
}

fn configurations(
    configs: &[Discovered],
    wanted: &Wanted,
    question: &Question,
    source: &str,
) -> Result<Answers, Failure> {
    let mut answers = Answers::default();
    for discovered in configs {
        let config = match &discovered.config {
            Ok(config) => config,
            Err(problems) => {
                let first = problems.first().map(ToString::to_string);
                return Err(Failure::new(
                    format!(
                        "the config of {} cannot be used: {}",
                        discovered.id,
                        first.unwrap_or_default()
                    ),
                    "`stunnerctl config -o yaml` shows it",
                ));
            }
        };
        let listeners = config.listeners.iter();
        for listener in listeners.filter(|it| question.is_about(wanted, &it.name)) {
            answers.add(Answer {
                source: source.to_owned(),
                explanation: local::explain(config, listener, question),
                unresolved: local::unresolved(config, listener),
            });
        }
    }
    Ok(answers)
}
