//! The result: per listener whether the peer is admitted, by what, or why not and what to change.

use serde_json::{Map, Value, json};
use stunner_cluster::Explanation;
use stunner_translate::overview::{NearestBackend, RouteOverview, denial_reason};

use super::advice::{self, Known, route_name};
use super::ask::{Answer, Answers};
use super::question::Question;

/// What is to be said about one listener.
#[derive(Debug)]
pub(super) struct Verdict<'a> {
    pub(super) explanation: &'a Explanation,
    answers: &'a [Answer],
    /// Not all dataplanes say the same.
    pub(super) disputed: bool,
    route: Option<&'a RouteOverview>,
    /// What has the peer, or comes close to it.
    backend: Option<&'a NearestBackend>,
    why: Option<String>,
    change: Option<String>,
}

impl<'a> Verdict<'a> {
    pub(super) fn of(
        answers: &'a [Answer],
        question: &Question,
        known: &'a Known<'a>,
    ) -> Option<Verdict<'a>> {
        // Where they differ, the refusal is what needs looking into.
        let refusal = answers.iter().find(|answer| !answer.explanation.admitted);
        let answer = refusal.or(answers.first())?;
        let explanation = &answer.explanation;
        let cluster = explanation.cluster.as_deref();
        let refused = !explanation.admitted;
        let is_about_routes = matches!(
            explanation.reason.as_deref(),
            None | Some("no_route" | "port" | "transport")
        );
        Some(Verdict {
            explanation,
            answers,
            disputed: !Answers::agree(answers),
            route: cluster.and_then(|cluster| known.route(cluster)),
            backend: match refused {
                true => known.nearest.as_ref().filter(|_| is_about_routes),
                false => known.holder(),
            },
            why: explanation.reason.as_deref().map(|reason| match reason {
                advice::NO_RELAY => advice::no_relay(explanation, question),
                reason => {
                    let port = question.port.unwrap_or(0);
                    denial_reason(reason, &explanation.listener, port)
                }
            }),
            change: refused.then(|| advice::change(explanation, question, known)),
        })
    }

    pub(super) fn is_fine(&self) -> bool {
        self.explanation.admitted && !self.disputed
    }

    /// A headline and a line for everything that is known about it.
    pub(super) fn text(&self, question: &Question) -> String {
        let Explanation { listener, .. } = self.explanation;
        let transport = question.transport.as_str().to_ascii_lowercase();
        let peer = format!("{}/{transport}", question.peer_text());
        let mut lines = vec![match (self.disputed, self.explanation.admitted) {
            (true, _) => format!("disputed: the dataplanes of {listener} differ about {peer}"),
            (false, true) => format!("admitted: clients of {listener} reach {peer}"),
            (false, false) => format!("denied: clients of {listener} do not reach {peer}"),
        }];
        if self.disputed {
            let answers = self.answers.iter();
            lines.extend(answers.map(|answer| {
                let said = summary(&answer.explanation);
                format!("  {}: {said}", answer.source)
            }));
        }
        let mut say = |title: &str, text: String| {
            lines.push(format!("  {:<9}{text}", format!("{title}:")));
        };
        if let Some(cluster) = &self.explanation.cluster {
            say(
                "route",
                match self.route {
                    Some(route) => route_name(route),
                    None => cluster.clone(),
                },
            );
        }
        if let Some(why) = &self.why {
            say("why", why.clone());
        }
        match (self.backend, self.explanation.admitted) {
            (Some(backend), true) => say("backend", backend.to_string()),
            (Some(backend), false) if backend.holds => say("it is", backend.to_string()),
            (Some(backend), false) => say("near it", backend.to_string()),
            (None, _) => {}
        }
        if let Some(rule) = &self.explanation.rule {
            say("rule", rule.clone());
        }
        if let Some(nearest) = &self.explanation.nearest {
            say("nearest", nearest.clone());
        }
        if let Some(change) = &self.change {
            say("change", change.clone());
        }
        if self.disputed {
            say(
                "also",
                "a rollout of the configuration may be under way: ask again in a minute; a pod that stays behind has lost \
                 config discovery"
                    .to_owned(),
            );
        }
        for name in self.unresolved() {
            say(
                "unknown",
                format!("what `{name}` resolves to: only a running dataplane can tell"),
            );
        }
        let sources: Vec<&str> = self.answers.iter().map(|it| it.source.as_str()).collect();
        if !self.disputed {
            say("says", sources.join(", "));
        }
        lines.join("\n") + "\n"
    }

    fn unresolved(&self) -> Vec<&String> {
        let names = self.answers.iter().flat_map(|it| &it.unresolved);
        // Where an address is admitted already, names change nothing.
        names.filter(|_| !self.explanation.admitted).collect()
    }

    pub(super) fn value(&self) -> Value {
        let it = self.explanation;
        let mut value = Map::new();
        value.insert("listener".to_owned(), json!(it.listener));
        value.insert("admitted".to_owned(), json!(self.is_fine()));
        value.insert("disputed".to_owned(), json!(self.disputed));
        let route = self.route.map(
            |it| json!({ "group": it.group, "kind": it.kind, "namespace": it.namespace, "name": it.name }),
        );
        let optional = [
            ("cluster", it.cluster.as_ref().map(|it| json!(it))),
            ("route", route),
            ("rule", it.rule.as_ref().map(|it| json!(it))),
            ("reason", it.reason.as_ref().map(|it| json!(it))),
            ("why", self.why.as_ref().map(|it| json!(it))),
            ("nearest", it.nearest.as_ref().map(|it| json!(it))),
            ("grounds", it.grounds.as_ref().map(|it| json!(it))),
            ("backend", self.backend.map(|it| json!(it))),
            ("change", self.change.as_ref().map(|it| json!(it))),
        ];
        for (name, field) in optional {
            if let Some(field) = field {
                value.insert(name.to_owned(), field);
            }
        }
        let unresolved = self.unresolved();
        if !unresolved.is_empty() {
            value.insert("unresolved".to_owned(), json!(unresolved));
        }
        let answers = self.answers.iter().map(|answer| {
            let it = &answer.explanation;
            json!({
                "source": answer.source,
                "admitted": it.admitted,
                "cluster": it.cluster,
                "reason": it.reason,
                "generation": it.generation,
            })
        });
        value.insert("answers".to_owned(), answers.collect());
        Value::Object(value)
    }
}

/// The texts of all verdicts. Listeners of a gateway that have the same to say are told of once:
/// `namespace/gateway/{tcp,udp}`.
pub(super) fn texts(verdicts: &[Verdict<'_>], question: &Question) -> Vec<String> {
    /// Stands for the listener; names hold no such character.
    const LISTENER: &str = "\u{0}";
    let mut said: Vec<(String, &str, Vec<&str>)> = Vec::new();
    for verdict in verdicts {
        let listener = verdict.explanation.listener.as_str();
        let text = verdict.text(question).replace(listener, LISTENER);
        let (gateway, name) = listener.rsplit_once('/').unwrap_or(("", listener));
        let mut alike = said.iter_mut();
        match alike.find(|(other, of, _)| *other == text && *of == gateway) {
            Some((_, _, names)) => names.push(name),
            None => said.push((text, gateway, vec![name])),
        }
    }
    let told = said.into_iter().map(|(text, gateway, names)| {
        let names = match names.as_slice() {
            [name] => (*name).to_owned(),
            names => format!("{{{}}}", names.join(",")),
        };
        let listener = match gateway {
            "" => names,
            gateway => format!("{gateway}/{names}"),
        };
        text.replace(LISTENER, &listener)
    });
    told.collect()
}

fn summary(explanation: &Explanation) -> String {
    let what = match (&explanation.cluster, &explanation.reason) {
        (_, Some(reason)) => format!("denied ({reason})"),
        (Some(cluster), None) => format!("admitted by {cluster}"),
        (None, None) => "denied".to_owned(),
    };
    match explanation.generation {
        Some(generation) => format!("{what}, configuration {generation} since its start"),
        None => what,
    }
}
