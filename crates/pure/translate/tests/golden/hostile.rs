//! Worlds that no schema would let through: nothing panics, no configuration is one that a dataplane refuses, no
//! status is one that an API server refuses, and no secret is shown.
//!
//! Each world is one of the cases with a few values replaced by nonsense. `HOSTILE_WORLDS=100000` tries more of them
//! than a run of the tests does.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};
use stunner_config::{Config, ParseOptions};
use stunner_translate::{Plan, Settings, Snapshot, Workload, farewell, translate};

use crate::CASES;
use crate::support::{readable, stored};

/// Stands in the place of every credential, so that it is found wherever it leaks.
const SECRET: &str = "hunter2-is-secret";

/// A small generator of numbers (SplitMix64): the same worlds on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) % sides.max(1) as u64) as usize
    }
}

fn nonsense(dice: &mut Dice) -> Value {
    let long = "a".repeat(253);
    let values = [
        Value::Null,
        json!(""),
        json!(" "),
        json!(-1),
        json!(0),
        json!(8086),
        json!(70_000),
        json!(9_999_999_999_i64),
        json!(true),
        json!("true"),
        json!("\u{fc}\u{7f}\n\u{0}"),
        json!("$STUNNER_ADDR"),
        json!("`quoted`."),
        json!(long),
        json!(long.repeat(300)),
        json!("0.0.0.0/0"),
        json!("::/0"),
        json!("10.0.0.77/8"),
        json!("fe80::1%eth0"),
        json!("::ffff:10.0.0.1"),
        json!("http://127.0.0.1:8086"),
        json!("TURN-TLS"),
        json!("udp"),
        json!("None"),
        json!([]),
        json!([null]),
        json!({}),
        json!({"": ""}),
    ];
    values[dice.roll(values.len())].clone()
}

fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                let place = format!("{at}/{escaped}");
                found.push(place.clone());
                places(value, &place, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let place = format!("{at}/{index}");
                found.push(place.clone());
                places(item, &place, found);
            }
        }
        _ => {}
    }
}

fn spoil(document: &mut Value, dice: &mut Dice) {
    let mut found = Vec::new();
    places(document, "", &mut found);
    // The API server lets through no object without a proper name.
    let is_given = |place: &String| {
        let is_name = place == "/metadata" || place.starts_with("/metadata/name");
        is_name || place == "/kind" || place == "/apiVersion"
    };
    found.retain(|place| !is_given(place));
    if found.is_empty() {
        return;
    }
    let place = found[dice.roll(found.len())].clone();
    let other = found[dice.roll(found.len())].clone();
    let new = match dice.roll(6) {
        // Something that makes sense elsewhere; who copies a secret to where everybody reads it has told it himself.
        0 => {
            let copied = document.pointer(&other).cloned().unwrap_or(Value::Null);
            let is_secret = copied.to_string().contains(SECRET) || document["kind"] == "Secret";
            if is_secret { Value::Null } else { copied }
        }
        _ => nonsense(dice),
    };
    let Some(spot) = document.pointer_mut(&place) else {
        return;
    };
    match (dice.roll(4), spot) {
        // The same thing twice, such as two listeners of one name.
        (0, Value::Array(items)) if !items.is_empty() => {
            let item = items[dice.roll(items.len())].clone();
            items.push(item);
        }
        (_, spot) => *spot = new,
    }
}

/// Puts [`SECRET`] wherever a value is secret. `stored` has turned `stringData` into `data` by now.
fn mark_secrets(document: &mut Value) {
    match document["kind"].as_str() {
        Some("GatewayConfig") => {
            for field in ["password", "sharedSecret"] {
                if document["spec"][field].is_string() {
                    document["spec"][field] = json!(SECRET);
                }
            }
            let applied = format!("{{\"spec\":{{\"password\":\"{SECRET}\"}}}}");
            document["metadata"]["annotations"] =
                json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
        }
        Some("Secret") => {
            use base64::Engine as _;
            let encoded = base64::engine::general_purpose::STANDARD.encode(SECRET);
            for key in ["password", "secret", "sharedSecret"] {
                if document["data"][key].is_string() {
                    document["data"][key] = json!(encoded);
                }
            }
        }
        _ => {}
    }
}

fn is_telling(text: &str) -> bool {
    // As text, and as `ByteString` shows its bytes.
    let bytes: Vec<String> = SECRET.bytes().map(|byte| byte.to_string()).collect();
    text.contains(SECRET) || text.contains(&bytes.join(", "))
}

fn check(snapshot: &Snapshot, settings: &Settings) -> Result<(), String> {
    let plan = translate(snapshot, settings);
    for (name, config) in plan.configs() {
        accepted_by_a_dataplane(config).map_err(|why| format!("config of {name}: {why}"))?;
    }
    for workload in plan.gateways.values().flat_map(|plan| &plan.workloads) {
        if let Workload::Service(service) = workload {
            has_distinct_ports(service)?;
        }
    }
    for plan in [&plan, &farewell(snapshot, settings)] {
        let statuses = statuses(plan);
        let shown = statuses.to_string();
        if is_telling(&shown) {
            return Err(format!("a secret in {shown}"));
        }
        for conditions in all_conditions(plan) {
            has_sound_conditions(conditions)?;
        }
    }
    let debug = format!("{snapshot:?} {plan:?}");
    match debug
        .find(SECRET)
        .or_else(|| is_telling(&debug).then_some(0))
    {
        Some(place) => {
            let from = debug[..place]
                .char_indices()
                .rev()
                .nth(300)
                .map_or(0, |(at, _)| at);
            Err(format!("a secret in Debug: {}", &debug[from..place]))
        }
        None => Ok(()),
    }
}

fn statuses(plan: &Plan) -> Value {
    json!({
        "classes": plan.classes.values().map(|plan| &plan.status).collect::<Vec<_>>(),
        "gateways": plan.gateways.values().map(|plan| &plan.status).collect::<Vec<_>>(),
        "routes": plan.routes.values().map(|plan| &plan.status).collect::<Vec<_>>(),
    })
}

fn all_conditions(plan: &Plan) -> Vec<&Vec<Condition>> {
    let classes = plan.classes.values().map(|plan| &plan.status.conditions);
    let gateways = plan
        .gateways
        .values()
        .filter_map(|plan| plan.status.as_ref());
    let listeners = gateways.clone().flat_map(|status| &status.listeners);
    let parents = plan.routes.values().flat_map(|plan| &plan.status.parents);
    classes
        .chain(gateways.map(|status| &status.conditions))
        .chain(listeners.map(|listener| &listener.conditions))
        .chain(parents.map(|parent| &parent.conditions))
        .collect()
}

/// The dataplane reads what we render, without a word of error, and reads the same.
fn accepted_by_a_dataplane(config: &Config) -> Result<(), String> {
    let mut json = config.to_json();
    for listener in json["listeners"].as_array_mut().into_iter().flatten() {
        listener["address"] = json!("192.0.2.1");
    }
    let options = ParseOptions {
        expand_env: false,
        ..ParseOptions::default()
    };
    let parsed = stunner_config::parse_with(&json.to_string(), &|_| None, options)
        .map_err(|problems| format!("{problems:?}"))?;
    let mut read = parsed.config;
    for (read, written) in read.listeners.iter_mut().zip(&config.listeners) {
        read.addresses = written.addresses;
        read.address_text = written.address_text.clone();
    }
    if read == *config {
        Ok(())
    } else {
        Err(format!("read as\n{read:?}\ninstead of\n{config:?}"))
    }
}

/// Names and numbers of Service ports are unique, or the API server refuses the Service.
fn has_distinct_ports(service: &Service) -> Result<(), String> {
    let ports = service
        .spec
        .iter()
        .flat_map(|spec| spec.ports.iter().flatten());
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for port in ports {
        let is_new = names.insert(&port.name) && numbers.insert((port.port, &port.protocol));
        if !is_new || !(1..=65535).contains(&port.port) {
            return Err(format!("Service port {port:?}"));
        }
    }
    Ok(())
}

/// What the schemas demand of conditions, and that messages read as sentences.
fn has_sound_conditions(conditions: &[Condition]) -> Result<(), String> {
    if conditions.len() > 8 {
        return Err(format!("{} conditions", conditions.len()));
    }
    for condition in conditions {
        let message = &condition.message;
        let is_long = message.chars().count() > 1000;
        let is_sentence = message.starts_with(char::is_uppercase) || message.starts_with('`');
        let is_sound = !condition.reason.is_empty()
            && message.chars().count() <= 32_768
            && (is_long || is_sentence && message.ends_with('.'));
        if !is_sound {
            return Err(format!("condition {condition:?}"));
        }
    }
    Ok(())
}

#[test]
fn nonsense_neither_panics_nor_reaches_a_dataplane_or_a_status() {
    let worlds = std::env::var("HOSTILE_WORLDS").ok();
    let worlds = worlds.map_or(1500, |worlds| worlds.parse().expect("a number"));
    for world in 0..worlds {
        let mut dice = Dice(world as u64);
        let case = &CASES[world % CASES.len()];
        let mut snapshot = case.beginning();
        let mut documents: Vec<Value> = case
            .documents
            .iter()
            .filter(|document| document.get("apiVersion").is_some())
            .map(|document| stored(document.clone()))
            .collect();
        documents.iter_mut().for_each(mark_secrets);
        for _ in 0..dice.roll(4) {
            let count = documents.len();
            if let Some(document) = documents.get_mut(dice.roll(count)) {
                spoil(document, &mut dice);
            }
        }
        for object in documents.iter().filter_map(readable) {
            snapshot.apply(object);
        }
        if let Err(why) = check(&snapshot, &case.settings()) {
            let world_text: Vec<String> = documents.iter().map(|d| d.to_string()).collect();
            panic!(
                "world {world} of {}: {why}\n{}",
                case.name,
                world_text.join("\n")
            );
        }
    }
}
