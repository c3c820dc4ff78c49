//! What it costs to read manifests: `cargo bench -p stunner-manifest`.
//!
//! Prints how long the schema of each kind takes to make, which happens once, when the first object of the kind is met; and how
//! long a file with 1,000 UDPRoutes takes to read.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

const KINDS: [(&str, &str); 15] = [
    ("gateway.networking.k8s.io/v1", "GatewayClass"),
    ("gateway.networking.k8s.io/v1", "Gateway"),
    ("gateway.networking.k8s.io/v1", "UDPRoute"),
    ("gateway.networking.k8s.io/v1", "TCPRoute"),
    ("gateway.networking.k8s.io/v1", "ReferenceGrant"),
    ("stunner.l7mp.io/v1", "GatewayConfig"),
    ("stunner.l7mp.io/v1", "UDPRoute"),
    ("stunner.l7mp.io/v1", "StaticService"),
    ("stunner.l7mp.io/v1", "Dataplane"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "Endpoints"),
    ("v1", "Namespace"),
    ("v1", "Node"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
];

fn main() {
    for (api_version, kind) in KINDS {
        let text = format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n");
        let [first, second] = [(); 2].map(|()| measure(&text));
        println!("{kind:15} first {first:8.3} ms  then {second:8.3} ms");
    }
    let routes = routes(1_000);
    let (lines, bytes) = (routes.lines().count(), routes.len());
    let times: Vec<f64> = (0..10).map(|_| measure(&routes)).collect();
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let worst = times.iter().copied().fold(0.0, f64::max);
    println!("1,000 UDPRoutes ({lines} lines, {bytes} bytes): {best:.1} to {worst:.1} ms");
}

/// Milliseconds.
fn measure(text: &str) -> f64 {
    let started = Instant::now();
    black_box(stunner_manifest::read("file", black_box(text.as_bytes())));
    started.elapsed().as_secs_f64() * 1000.0
}

fn routes(number: usize) -> String {
    let mut text = String::new();
    for n in 0..number {
        let _ = write!(
            text,
            "apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata:
  name: route-{n}
  namespace: media
spec:
  parentRefs:
    - name: udp-gateway
      namespace: stunner
  rules:
    - backendRefs:
        - name: media-server-{n}
          namespace: media
          port: 10000
          endPort: 20000
---
"
        );
    }
    text
}
