//! Configurations from the operator's config discovery service.

use std::collections::BTreeSet;

use stunner_cluster::{Cds, Discovered, Scope, WatchEvent};
use stunner_config::Problem;

use super::Teller;
use crate::answer::Gateways;

const SCOPE: &str = "auth";

/// Follows all configurations, for ever. While the service is away, what it said last stays; when it is back, what
/// is not in its list any more is gone.
pub async fn follow(cds: Cds, teller: Teller) {
    let place = cds.url();
    let mut watch = cds.watch(Scope::All, None);
    let mut gateways = Gateways::default();
    let mut is_down = false;
    while let Some(event) = watch.next().await {
        match event {
            WatchEvent::List(list) => {
                tracing::info!(scope = SCOPE, "watching {} configs at {place}", list.len());
                is_down = false;
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
                // Said again at every attempt, it would drown the rest.
                match is_down {
                    false => tracing::warn!(
                        scope = SCOPE,
                        "{why}; the {} gateways known stay, and it is tried again{hint}",
                        gateways.len()
                    ),
                    true => tracing::debug!(scope = SCOPE, "{why}{hint}"),
                }
                is_down = true;
                continue;
            }
        }
        teller.tell(gateways.clone());
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
