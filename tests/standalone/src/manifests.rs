//! Manifests as users write them, and folders of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub const USER: &str = "user-1";
pub const PASSWORD: &str = "pass-1";

/// A GatewayClass `stunner` and its GatewayConfig with static credentials.
pub fn class() -> String {
    class_with(&format!("userName: {USER}\n  password: {PASSWORD}"))
}

/// The same with other lines in the spec of the GatewayConfig.
pub fn class_with(config: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata:
  name: stunner
spec:
  controllerName: stunner.l7mp.io/gateway-operator
  parametersRef:
    group: stunner.l7mp.io
    kind: GatewayConfig
    name: config
    namespace: default
---
apiVersion: stunner.l7mp.io/v1
kind: GatewayConfig
metadata:
  name: config
  namespace: default
spec:
  {config}
"
    )
}

/// A Gateway with listeners of name, protocol and port.
pub fn gateway(name: &str, listeners: &[(&str, &str, u16)]) -> String {
    let mut text = format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: {name}
  namespace: default
spec:
  gatewayClassName: stunner
  listeners:
"
    );
    for (listener, protocol, port) in listeners {
        let _ = write!(
            text,
            "  - name: {listener}\n    protocol: {protocol}\n    port: {port}\n"
        );
    }
    text
}

/// A UDPRoute of a Gateway to a StaticService of the same name, and that.
pub fn route(name: &str, gateway: &str, prefixes: &[&str]) -> String {
    format!(
        "{}---\n{}",
        route_to(name, gateway, name),
        static_service(name, prefixes)
    )
}

pub fn route_to(name: &str, gateway: &str, static_service: &str) -> String {
    format!(
        "apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata:
  name: {name}
  namespace: default
spec:
  parentRefs:
  - name: {gateway}
  rules:
  - backendRefs:
    - group: stunner.l7mp.io
      kind: StaticService
      name: {static_service}
"
    )
}

pub fn static_service(name: &str, prefixes: &[&str]) -> String {
    format!(
        "apiVersion: stunner.l7mp.io/v1
kind: StaticService
metadata:
  name: {name}
  namespace: default
spec:
  prefixes: [{}]
",
        prefixes
            .iter()
            .map(|prefix| format!("\"{prefix}\""))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

/// A folder that is removed with the test.
#[derive(Debug)]
pub struct Folder {
    dir: TempDir,
}

impl Default for Folder {
    fn default() -> Self {
        Folder {
            dir: TempDir::with_prefix("stunner-run-").expect("a folder"),
        }
    }
}

impl Folder {
    /// One Gateway `udp` with a UDP listener, and a route to all of 127.0.0.0/24.
    pub fn quickstart(port: u16) -> Self {
        let folder = Folder::default();
        folder.write("class.yaml", &class());
        folder.write("gateway.yaml", &gateway("gw", &[("udp", "TURN-UDP", port)]));
        folder.write("route.yaml", &route("media", "gw", &["127.0.0.0/24"]));
        folder
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes in place, as a script does.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).expect("write a manifest");
    }

    /// Renames a new file over the old one, as an editor does.
    pub fn replace(&self, name: &str, text: &str) {
        let next = self.file(&format!(".{name}.next"));
        std::fs::write(&next, text).expect("write a manifest");
        std::fs::rename(&next, self.file(name)).expect("rename a manifest");
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.file(name)).expect("remove a manifest");
    }
}
