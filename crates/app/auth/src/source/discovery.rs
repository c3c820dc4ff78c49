//! Configurations from the operator's config discovery service.

use std::collections::BTreeSet;

use stunner_cluster::{Cds, Discovered, Scope, WatchEvent};
use stunner_config::Problem;

use super::Teller;
use crate::answer::Gateways;

const SCOPE: &str = "auth";
/// Of one outage. Where more are said, each has something of its own in it, such as a time.
const MAX_REASONS: usize = 8;

/// Follows all configurations, for ever. While the service is away, what it said last stays; when it is back, what
/// is not in its list any more is gone.
pub async fn follow(cds: Cds, teller: Teller) {
    let place = cds.url();
    let mut watch = cds.watch(Scope::All, None);
    let mut gateways = Gateways::default();
    let mut outage = Outage::default();
    while let Some(event) = watch.next().await {
        match event {
            WatchEvent::List(list) => {
                tracing::info!(scope = SCOPE, "watching {} configs at {place}", list.len());
                outage = Outage::default();
                gateways = refreshed(&gateways, list);
            }
            WatchEvent::Changed(found) => {
                tracing::debug!(scope = SCOPE, "new config of {}", found.id);
                change(&mut gateways, *found);
            }
            WatchEvent::Deleted(id) => {
                tracing::info!(scope = SCOPE, "{id} was deleted");
                gateways.remove(&id);
            }
            WatchEvent::Down { why, hint } => {
                let hint = hint.map_or_else(String::new, |hint| format!(" (hint: {hint})"));
                match outage.is_news(&why) {
                    true => tracing::warn!(
                        scope = SCOPE,
                        "{why}; the {} gateways known stay, and it is tried again{hint}",
                        gateways.len()
                    ),
                    false => tracing::debug!(scope = SCOPE, "{why}{hint}"),
                }
                continue;
            }
        }
        teller.tell(gateways.clone());
    }
}

/// Why the service is away, as far as that was said. At every attempt it would drown the rest; another reason is news.
#[derive(Debug, Default)]
struct Outage {
    reasons: BTreeSet<String>,
}

impl Outage {
    fn is_news(&mut self, why: &str) -> bool {
        self.reasons.len() < MAX_REASONS && self.reasons.insert(why.to_owned())
    }
}

/// What the list says, and of configurations in it that cannot be used what was known before.
fn refreshed(before: &Gateways, list: Vec<Discovered>) -> Gateways {
    let listed: BTreeSet<&str> = list.iter().map(|found| found.id.as_str()).collect();
    let kept = before
        .iter()
        .filter(|config| listed.contains(config.admin.name.as_str()));
    let mut gateways: Gateways = kept.cloned().collect();
    for found in list {
        change(&mut gateways, found);
    }
    gateways
}

fn change(gateways: &mut Gateways, found: Discovered) {
    match found.config {
        Ok(config) => gateways.apply(config),
        Err(problems) => {
            let first = problems.iter().find(|problem| problem.is_error());
            let why = first.map(Problem::to_string).unwrap_or_default();
            tracing::warn!(
                scope = SCOPE,
                "the config of {} cannot be used, what was known of it stays: {}",
                found.id,
                why.replace('\n', " ")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, port: &str) -> Discovered {
        let text = format!(
            r#"{{"version":"v1","admin":{{"name":"{name}"}},"auth":{{"type":"ephemeral","credentials":{{"secret":"s"}}}},
                "listeners":[{{"name":"{name}/udp","port":{port}}}]}}"#
        );
        Discovered::read(text).expect("JSON")
    }

    fn ports(gateways: &Gateways) -> Vec<(String, u16)> {
        let port = |config: &stunner_config::Config| config.listeners[0].port;
        gateways
            .iter()
            .map(|config| (config.admin.name.clone(), port(config)))
            .collect()
    }

    #[test]
    fn each_reason_of_an_outage_is_news_once() {
        let mut outage = Outage::default();
        let mut told = |why: &str| outage.is_news(why);
        assert!(told("refused") && !told("refused"));
        assert!(told("not a list") && !told("refused") && !told("not a list"));
        let many = (0..100).filter(|number| told(&number.to_string())).count();
        assert_eq!(many, MAX_REASONS - 2);
    }

    #[test]
    fn a_list_replaces_what_was_known_except_for_what_it_garbles() {
        let before = refreshed(
            &Gateways::default(),
            vec![found("ns/a", "1"), found("ns/b", "2"), found("ns/c", "3")],
        );
        let after = refreshed(&before, vec![found("ns/a", "10"), found("ns/b", "\"x\"")]);
        assert_eq!(
            ports(&after),
            [("ns/a".to_owned(), 10), ("ns/b".to_owned(), 2)]
        );
    }
}
