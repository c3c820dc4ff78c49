//! A visitor: one browser on the page of one running gateway.

use std::path::{Path, PathBuf};

use interop_tests::browser::Browser;
use interop_tests::pki::Identity;
use interop_tests::ports::free_port;
use standalone_tests::binary::root;
use standalone_tests::manifests::Folder;
use standalone_tests::stunner::Stunner;

#[derive(Debug)]
pub struct Visit {
    pub browser: Browser,
    pub stunner: Stunner,
}

impl Visit {
    /// Serves a folder on loopback and opens its console.
    #[track_caller]
    pub fn to(folder: &Path, flags: &[&str]) -> Self {
        let stunner = Stunner::run(&[folder], flags);
        let browser = Browser::start_without_ca();
        open(&browser, stunner.console_address());
        Self { browser, stunner }
    }

    /// What `/api/v1/state` says, as text.
    pub fn state_text(&self) -> String {
        self.stunner.console("/api/v1/state").expect("console").body
    }
}

/// Opens a console and waits until it has drawn something.
#[track_caller]
pub fn open(browser: &Browser, address: &str) {
    browser.resize(1400, 900);
    browser.navigate(&format!("http://{address}/"));
    browser
        .wait("document.body.dataset.generation && document.querySelectorAll('.node').length > 0");
    // What a reload would forget.
    browser.value("window.sameVisit = true");
}

/// An expression: the node, or null.
pub fn node(kind: &str, name: &str) -> String {
    format!(r#"document.querySelector('.node[data-kind="{kind}"][data-name="{name}"]')"#)
}

/// An expression: whether the node is there with a status.
pub fn node_is(kind: &str, name: &str, status: &str) -> String {
    format!("{}?.dataset.status === '{status}'", node(kind, name))
}

/// A copy of the quickstart, and a port offset that brings its listener to a free port.
pub fn quickstart() -> (Folder, u16, String) {
    let folder = Folder::default();
    for entry in std::fs::read_dir(root().join("examples/quickstart")).expect("the quickstart") {
        let file = entry.expect("a file of the quickstart");
        std::fs::copy(file.path(), folder.path().join(file.file_name())).expect("copy a manifest");
    }
    let port = free_port();
    (folder, port, format!("--port-offset={}", port - 3478))
}

/// Keeps a screenshot as `console-NAME.png`.
pub fn keep(browser: &Browser, name: &str) {
    let folder = std::env::var_os("STUNNER_ARTEFACTS").map_or_else(
        || {
            let target = std::env::var_os("CARGO_TARGET_DIR");
            target
                .map_or_else(|| root().join("target"), PathBuf::from)
                .join("artefacts")
        },
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder).expect("a folder for artefacts");
    let file = folder.join(format!("console-{name}.png"));
    std::fs::write(file, browser.screenshot()).expect("write a screenshot");
}

/// Nothing that the browser complains about: script errors, failed requests, violations of the policy.
#[track_caller]
pub fn expect_quiet(browser: &Browser) {
    let log = browser.log();
    let loud = |line: &&String| {
        let said = !line.starts_with("INFO") && !line.starts_with("DEBUG");
        // Browsers heed that header on loopback and over HTTPS only, and say so.
        said && !line.contains("The Cross-Origin-Opener-Policy header has been ignored")
    };
    let complaints: Vec<&String> = log.iter().filter(loud).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// The Secret that [`with_certificate`] names.
pub fn certificate(identity: &Identity) -> String {
    format!(
        "apiVersion: v1
kind: Secret
metadata:
  name: certificate
  namespace: default
type: kubernetes.io/tls
data:
  tls.crt: {}
  tls.key: {}
",
        identity.cert_base64(),
        identity.key_base64(),
    )
}

/// A Gateway whose last listener has a certificate, and whose listeners may be of several transports.
pub fn with_certificate(gateway: &str) -> String {
    let mixed = "  annotations:\n    stunner.l7mp.io/enable-mixed-protocol-lb: \"true\"\nspec:\n";
    let reference = "    tls:\n      certificateRefs:\n      - name: certificate\n";
    gateway.replacen("spec:\n", mixed, 1) + reference
}
