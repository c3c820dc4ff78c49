//! Listeners of a Gateway.

use std::collections::HashMap;

use stunner_api::gateway::{Gateway, Listener};
use stunner_config::{PeerTransport, Protocol};
use stunner_document::nearest;
use stunner_translate::{ObjectKind, listener_protocol};

use super::findings::Findings;
use super::reference::{Reference, resolve};
use super::secret;
use super::world::{World, key};
use crate::problem::Fault;
use crate::reading::Manifest;

/// The names of protocols, best first.
const PROTOCOLS: &[&str] = &[
    "TURN-UDP",
    "TURN-TCP",
    "TURN-TLS",
    "TURN-DTLS",
    "UDP",
    "TCP",
    "TLS",
    "DTLS",
];

pub(super) fn check(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    gateway: &Gateway,
) {
    let mut lines_by_name: HashMap<&str, u32> = HashMap::new();
    let mut names_by_socket: HashMap<(PeerTransport, i32), &str> = HashMap::new();
    for (number, listener) in gateway.spec.listeners.iter().enumerate() {
        let at = format!("spec.listeners[{number}]");
        let name = listener.name.as_str();
        if !name.is_empty() {
            let field = format!("{at}.name");
            if let Some(line) = lines_by_name.get(name) {
                findings.error(
                    manifest,
                    Fault::DuplicateListener,
                    &field,
                    format!("listener `{name}` is already defined on line {line}"),
                    "give each listener of a Gateway a name of its own",
                );
            } else {
                lines_by_name.insert(name, manifest.place_of(&field).line);
            }
        }
        let Some(protocol) = listener_protocol(&listener.protocol) else {
            unknown_protocol(findings, manifest, &at, &listener.protocol);
            continue;
        };
        if listener.port > 0 {
            let socket = (protocol.socket(), listener.port);
            match names_by_socket.get(&socket) {
                Some(first) => findings.warning(
                    manifest,
                    Fault::Suspicious,
                    &format!("{at}.port"),
                    format!(
                        "port {} of {} is taken by listener `{first}`, so that listener `{name}` is not served",
                        listener.port,
                        transport(protocol.socket())
                    ),
                    "give it another port",
                ),
                None => {
                    names_by_socket.insert(socket, name);
                }
            }
        }
        tls(world, findings, manifest, &at, listener, protocol);
        namespaces(findings, manifest, &at, listener);
    }
}

fn transport(transport: PeerTransport) -> &'static str {
    match transport {
        PeerTransport::Udp => "UDP",
        PeerTransport::Tcp => "TCP",
    }
}

fn unknown_protocol(findings: &mut Findings<'_>, manifest: &Manifest, at: &str, given: &str) {
    // Missing altogether: reading has said so.
    if given.is_empty() {
        return;
    }
    let hint = match given.trim().to_ascii_uppercase().as_str() {
        "HTTP" | "HTTPS" => {
            "STUNner serves TURN only: use `TURN-UDP`, `TURN-TCP`, `TURN-TLS` or `TURN-DTLS`"
                .to_owned()
        }
        given => match nearest(given, PROTOCOLS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use `TURN-UDP`, `TURN-TCP`, `TURN-TLS` or `TURN-DTLS`".to_owned(),
        },
    };
    findings.error(
        manifest,
        Fault::WrongValue,
        &format!("{at}.protocol"),
        format!("`{given}` is not a protocol of listeners"),
        hint,
    );
}

fn tls(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    at: &str,
    listener: &Listener,
    protocol: Protocol,
) {
    let tls = listener.tls.as_ref();
    if !protocol.is_secure() {
        if tls.is_some() {
            let secure = match protocol.socket() {
                PeerTransport::Udp => Protocol::TurnDtls,
                PeerTransport::Tcp => Protocol::TurnTls,
            };
            findings.warning(
                manifest,
                Fault::Suspicious,
                &format!("{at}.tls"),
                format!("a listener with protocol {protocol} does not use `tls`"),
                format!("remove it, or make the protocol `{secure}`"),
            );
        }
        return;
    }
    let mode = tls.and_then(|tls| tls.mode.as_deref());
    if mode.is_some_and(|mode| mode.eq_ignore_ascii_case("Passthrough")) {
        findings.error(
            manifest,
            Fault::WrongValue,
            &format!("{at}.tls.mode"),
            "TURN is spoken inside TLS, so that it cannot be passed through",
            "set `mode: Terminate`, or leave it out",
        );
        return;
    }
    let references = tls.map_or(&[] as &[_], |tls| &tls.certificate_refs);
    if references.is_empty() && !findings.is_told(manifest, "spec.listeners") {
        findings.error(
            manifest,
            Fault::MissingField,
            &format!("{at}.tls.certificateRefs"),
            format!("a listener with protocol {protocol} needs a certificate"),
            "name a Secret with `tls.crt` and `tls.key`: `tls: {certificateRefs: [{name: NAME}]}`",
        );
    }
    for (number, reference) in references.iter().enumerate() {
        let field = format!("{at}.tls.certificateRefs[{number}]");
        match secret::named(reference, &manifest.key.name.namespace) {
            None => secret::not_a_secret(findings, manifest, &field),
            Some(name) => {
                let reference = Reference {
                    to: &key(ObjectKind::Secret, &name),
                    field: &format!("{field}.name"),
                    names_namespace: true,
                };
                resolve(world, findings, manifest, &reference);
            }
        }
    }
}

fn namespaces(findings: &mut Findings<'_>, manifest: &Manifest, at: &str, listener: &Listener) {
    let allowed = listener.allowed_routes.as_ref();
    let Some(namespaces) = allowed.and_then(|allowed| allowed.namespaces.as_ref()) else {
        return;
    };
    let from = namespaces.from.as_deref();
    let field = format!("{at}.allowedRoutes.namespaces");
    if from == Some("Selector") && namespaces.selector.is_none() {
        if !findings.is_told(manifest, "spec.listeners") {
            findings.error(
                manifest,
                Fault::MissingField,
                &format!("{field}.selector"),
                "`from: Selector` needs `selector`",
                "add one such as `selector: {matchLabels: {app: dev}}`, or set `from: All`",
            );
        }
    } else if from != Some("Selector") && namespaces.selector.is_some() {
        let from = from.unwrap_or("Same");
        findings.warning(
            manifest,
            Fault::Suspicious,
            &format!("{field}.selector"),
            format!("`from: {from}` does not use `selector`"),
            "set `from: Selector`, or remove `selector`",
        );
    }
}
