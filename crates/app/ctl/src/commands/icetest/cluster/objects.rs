//! All that the test makes.

use rand::distr::{Alphanumeric, SampleString};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_api::names::{CONTROLLER_NAME, GATEWAY_GROUP, GROUP, annotation};
use stunner_client::ServerTransport;

use super::super::whip::PORT;
use super::{NAME, Options};
use crate::failure::Failure;

/// The icetester's pod, Service and Secret.
const ICETESTER: &str = "icetester";
/// The Secret with the certificate of the TLS and DTLS listeners.
const CERTIFICATE: &str = "icetest-tls";

pub(super) fn random(length: usize) -> String {
    Alphanumeric.sample_string(&mut rand::rng(), length)
}

pub(super) fn icetester() -> NamespacedName {
    NamespacedName {
        namespace: NAME.to_owned(),
        name: ICETESTER.to_owned(),
    }
}

/// The Gateway of a transport.
pub(super) fn gateway_name(transport: ServerTransport) -> String {
    format!("{}-gateway", transport.to_string().to_lowercase())
}

/// In the order in which they are to be made. `dataplane` is the spec of the cluster's default one, if it has one.
pub(super) fn all(
    options: &Options,
    transports: &[ServerTransport],
    token: &str,
    dataplane: Option<Value>,
) -> Result<Vec<Value>, Failure> {
    let mut objects = vec![namespace()];
    objects.extend(dataplane.map(|spec| clone(spec, &options.offload)));
    let own = objects.len() > 1;
    objects.push(config(own));
    objects.push(class());
    if transports.iter().any(|transport| transport.is_secure()) {
        objects.push(certificate()?);
    }
    for transport in transports {
        objects.push(gateway(*transport, options.allow_node_port));
    }
    objects.push(route(transports));
    objects.push(secret(token));
    objects.push(pod(&options.image));
    objects.push(service());
    Ok(objects)
}

fn labels() -> Value {
    json!({ "app.kubernetes.io/managed-by": "stunnerctl", "app.kubernetes.io/part-of": NAME })
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "namespace": NAME, "labels": labels() })
}

fn namespace() -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAME, "labels": labels() } })
}

/// The cluster's default, but gone at once when the test is over, and small enough to fit anywhere.
fn clone(mut spec: Value, offload: &str) -> Value {
    spec["terminationGracePeriodSeconds"] = json!(0);
    spec["replicas"] = json!(1);
    spec["resources"]["requests"]["cpu"] = json!("250m");
    if offload != "None" {
        spec["offloadEngine"] = json!(offload);
    }
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Dataplane",
        "metadata": { "name": NAME, "labels": labels() }, "spec": spec,
    })
}

fn config(own_dataplane: bool) -> Value {
    let mut config = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "GatewayConfig", "metadata": metadata(NAME),
        "spec": { "realm": "icetest.l7mp.io", "authType": "ephemeral", "sharedSecret": random(32) },
    });
    if own_dataplane {
        config["spec"]["dataplane"] = json!(NAME);
    }
    config
}

fn class() -> Value {
    json!({
        "apiVersion": format!("{GATEWAY_GROUP}/v1"), "kind": "GatewayClass",
        "metadata": { "name": NAME, "labels": labels() },
        "spec": {
            "controllerName": CONTROLLER_NAME,
            "parametersRef": { "group": GROUP, "kind": "GatewayConfig", "name": NAME, "namespace": NAME },
        },
    })
}

fn certificate() -> Result<Value, Failure> {
    let made = KeyPair::generate().and_then(|key| {
        let certificate =
            CertificateParams::new(vec!["icetest.invalid".to_owned()])?.self_signed(&key)?;
        Ok((certificate.pem(), key.serialize_pem()))
    });
    let (certificate, key) = made.map_err(|error| {
        Failure::new(
            format!("cannot make a certificate for the test: {error}"),
            "test with udp and tcp only",
        )
    })?;
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata(CERTIFICATE),
        "stringData": { "tls.crt": certificate, "tls.key": key },
    }))
}

fn gateway(transport: ServerTransport, is_node_port: bool) -> Value {
    let mut listener = json!({
        "name": "listener",
        "protocol": format!("TURN-{transport}"),
        "port": transport.default_port(),
    });
    if transport.is_secure() {
        listener["tls"] = json!({
            "mode": "Terminate",
            "certificateRefs": [{ "kind": "Secret", "name": CERTIFICATE, "namespace": NAME }],
        });
    }
    let mut gateway = json!({
        "apiVersion": format!("{GATEWAY_GROUP}/v1"), "kind": "Gateway",
        "metadata": metadata(&gateway_name(transport)),
        "spec": { "gatewayClassName": NAME, "listeners": [listener] },
    });
    if is_node_port {
        gateway["metadata"]["annotations"] = json!({ annotation::SERVICE_TYPE: "NodePort" });
    }
    gateway
}

/// The icetester for asymmetric calls; for symmetric ones the dataplanes' pods, at whose addresses relays are. The
/// Services are those that the operator makes for the Gateways.
fn route(transports: &[ServerTransport]) -> Value {
    let parents = transports
        .iter()
        .map(|it| json!({ "name": gateway_name(*it) }));
    let names = transports.iter().map(|it| gateway_name(*it));
    let backends = std::iter::once(ICETESTER.to_owned()).chain(names);
    let backends = backends.map(|name| json!({ "name": name, "namespace": NAME }));
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "UDPRoute", "metadata": metadata(NAME),
        "spec": {
            "parentRefs": parents.collect::<Vec<_>>(),
            "rules": [{ "backendRefs": backends.collect::<Vec<_>>() }],
        },
    })
}

fn secret(token: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata(ICETESTER),
        "stringData": { "BEARER_TOKEN": token },
    })
}

fn pod(image: &str) -> Value {
    let mut metadata = metadata(ICETESTER);
    metadata["labels"]["app"] = json!(ICETESTER);
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "securityContext": { "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "name": ICETESTER,
                "image": image,
                "args": ["--addr", format!(":{PORT}"), "--log", "all:INFO"],
                "envFrom": [{ "secretRef": { "name": ICETESTER } }],
                // The certificates of the gateways are the test's own.
                "env": [{ "name": "STUNNER_ICETESTER_INSECURE", "value": "true" }],
                "ports": [{ "containerPort": PORT, "protocol": "TCP" }],
                "readinessProbe": { "tcpSocket": { "port": PORT }, "periodSeconds": 1 },
                "securityContext": { "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                                     "capabilities": { "drop": ["ALL"] } },
            }],
        },
    })
}

/// Names the pod as a backend; nobody connects to it.
fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata(ICETESTER),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": { "app": ICETESTER },
            "ports": [{ "name": "whip", "port": PORT, "protocol": "TCP" }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options {
            image: "example.test/icetester:1".to_owned(),
            offload: "XDP".to_owned(),
            force_cleanup: false,
            allow_node_port: true,
            turn_credential: false,
            auth: Default::default(),
        }
    }

    #[test]
    fn the_default_dataplane_is_cloned_and_ends_at_once() {
        let spec = json!({ "image": "i", "replicas": 3, "terminationGracePeriodSeconds": 3600 });
        let objects = all(&options(), &ServerTransport::ALL, "t", Some(spec)).expect("objects");
        let of = |kind: &str| -> Vec<&Value> {
            objects.iter().filter(|it| it["kind"] == kind).collect()
        };
        let dataplane = of("Dataplane")[0];
        assert_eq!(
            dataplane["spec"],
            json!({ "image": "i", "replicas": 1, "terminationGracePeriodSeconds": 0,
                    "resources": { "requests": { "cpu": "250m" } }, "offloadEngine": "XDP" })
        );
        assert_eq!(of("GatewayConfig")[0]["spec"]["dataplane"], NAME);
        assert_eq!(of("Gateway").len(), 4);
        assert_eq!(
            of("UDPRoute")[0]["spec"]["rules"][0]["backendRefs"]
                .as_array()
                .map(Vec::len),
            Some(5)
        );
        let tls = of("Gateway")
            .into_iter()
            .find(|it| it["metadata"]["name"] == "tls-gateway");
        assert_eq!(
            tls.expect("a Gateway")["spec"]["listeners"][0]["protocol"],
            "TURN-TLS"
        );
    }

    #[test]
    fn without_a_default_dataplane_there_is_none_to_clone() {
        let objects = all(&options(), &[ServerTransport::Udp], "t", None).expect("objects");
        assert!(objects.iter().all(|it| it["kind"] != "Dataplane"));
        let config = objects
            .iter()
            .find(|it| it["kind"] == "GatewayConfig")
            .expect("one");
        assert!(config["spec"]["dataplane"].is_null());
        // Neither a certificate, which nobody needs here.
        assert!(
            objects
                .iter()
                .all(|it| it["metadata"]["name"] != CERTIFICATE)
        );
    }
}
