//! Sessions as lines and as values.

use serde_json::{Value, json};

use super::selection::Found;
use crate::output::numbers::{age, scaled};

const TITLES: &[&str] = &[
    "ID",
    "USER",
    "CLIENT",
    "RELAYED",
    "PEERS",
    "AGE",
    "TO PEERS",
    "TO CLIENT",
];
const WIDE_TITLES: &[&str] = &[
    "LISTENER",
    "VIA",
    "RELAY",
    "IDLE",
    "EXPIRES",
    "PACKETS TO PEERS",
    "PACKETS TO CLIENT",
];
/// Peers of a session that a line shows; the others are counted.
const PEERS_SHOWN: usize = 2;

/// The table, with a heading even where there is nothing below it.
pub(super) fn table(found: &[Found], wide: bool) -> String {
    let titles = TITLES
        .iter()
        .chain(wide.then_some(WIDE_TITLES).into_iter().flatten());
    let mut rows: Vec<Vec<String>> = vec![titles.map(|title| (*title).to_owned()).collect()];
    rows.extend(found.iter().map(|found| row(found, wide)));
    let columns = rows[0].len();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn row(found: &Found, wide: bool) -> Vec<String> {
    let session = &found.session;
    let relayed: Vec<String> = session.relayed.iter().map(ToString::to_string).collect();
    let mut cells = vec![
        found.id(),
        printable(&session.user),
        session.client.to_string(),
        relayed.join(","),
        peers(found, wide),
        age(session.age_seconds),
        scaled(session.to_peers.bytes as f64),
        scaled(session.to_client.bytes as f64),
    ];
    if wide {
        cells.extend([
            session.listener.clone(),
            session.transport.clone(),
            session.relay_transport.clone(),
            age(session.idle_seconds),
            age(session.expires_in_seconds),
            session.to_peers.packets.to_string(),
            session.to_client.packets.to_string(),
        ]);
    }
    cells
}

/// Where both a permission and channels of an address exist, the channels say more.
fn peers(found: &Found, wide: bool) -> String {
    let all = &found.session.peers;
    let channels = || all.iter().filter(|peer| peer.channel.is_some());
    let has_channel = |address: &str| {
        channels().any(|channel| {
            let parsed = channel.peer.parse::<std::net::SocketAddr>();
            parsed.is_ok_and(|socket| socket.ip().to_string() == address)
        })
    };
    let telling: Vec<&str> = all
        .iter()
        .filter(|peer| peer.channel.is_some() || !has_channel(&peer.peer))
        .map(|peer| peer.peer.as_str())
        .collect();
    if telling.is_empty() {
        return "-".to_owned();
    }
    let shown = if wide { telling.len() } else { PEERS_SHOWN };
    let mut text = telling
        .iter()
        .take(shown)
        .copied()
        .collect::<Vec<_>>()
        .join(",");
    if telling.len() > shown {
        text.push_str(&format!(",+{}", telling.len() - shown));
    }
    text
}

/// User names come from clients: what would move the cursor of a terminal is shown as an escape.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|letter| match letter.is_control() {
            true => letter.escape_default().collect::<Vec<_>>(),
            false => vec![letter],
        })
        .collect()
}

/// What the admin API says of it, with the id that is good everywhere and the pod.
pub(super) fn value(found: &Found) -> Value {
    let mut value = json!({ "id": found.id(), "pod": found.pod });
    let session = serde_json::to_value(&found.session).unwrap_or_default();
    if let (Some(all), Value::Object(fields)) = (value.as_object_mut(), session) {
        let others = fields.into_iter().filter(|(name, _)| name != "id");
        all.extend(others);
    }
    value
}
