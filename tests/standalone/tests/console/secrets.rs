//! What must never reach the page.

use interop_tests::pki::TestCa;
use interop_tests::ports::free_port;
use interop_tests::{browser, need};
use standalone_tests::manifests::{Folder, class_with, gateway, route};

use crate::visit::{Visit, certificate, node_is, with_certificate};

const PASSWORD: &str = "correct-horse-battery";
const SHARED_SECRET: &str = "staple-of-the-realm";

#[test]
fn no_password_shared_secret_or_key_reaches_the_page_or_its_data() {
    let test = "no_password_shared_secret_or_key_reaches_the_page_or_its_data";
    need!(test, browser::programs());
    let identity = TestCa::new().ecdsa("console");
    let folder = Folder::default();
    folder.write(
        "class.yaml",
        &class_with(&format!("userName: user-1\n  password: {PASSWORD}")),
    );
    folder.write(
        "ephemeral.yaml",
        &class_with(&format!(
            "authType: ephemeral\n  sharedSecret: {SHARED_SECRET}"
        ))
        .replace("name: stunner\n", "name: minted\n")
        .replace("name: config\n", "name: minted\n"),
    );
    folder.write(
        "gateways.yaml",
        &format!(
            "{}---\n{}---\n{}",
            with_certificate(&gateway(
                "static",
                &[
                    ("udp", "TURN-UDP", free_port()),
                    ("tls", "TURN-TLS", free_port())
                ]
            )),
            gateway("minted", &[("udp", "TURN-UDP", free_port())])
                .replace("gatewayClassName: stunner", "gatewayClassName: minted"),
            route("media", "static", &["10.0.0.0/8"]),
        ),
    );
    folder.write("secret.yaml", &certificate(&identity));
    // A problem in the very lines that hold the secrets.
    let broken =
        format!("userName: user-1\n  passwrod: {PASSWORD}\n  sharedSecret: [{SHARED_SECRET}]");
    let broken = class_with(&broken).replace("name: config\n", "name: broken\n");
    let (_, broken) = broken.split_once("---").expect("two documents");
    folder.write("broken.yaml", broken);
    let visit = Visit::to(folder.path(), &[]);
    let browser = &visit.browser;
    browser.wait(&node_is("gateway", "default/minted", "ok"));
    browser.wait(&node_is("listener", "default/static/tls", "ok"));
    browser.wait("document.querySelector('#problems li')");
    let mut seen = String::new();
    for tab in [
        "traffic",
        "allocations",
        "denials",
        "problems",
        "ice",
        "overview",
    ] {
        browser.click(&format!("#tab-{tab}"));
        seen += &browser.text("document.documentElement.outerHTML");
    }
    let nodes = browser.value("document.querySelectorAll('.node').length");
    for index in 0..nodes.as_u64().unwrap_or_default() {
        browser.value(&format!(
            "document.querySelectorAll('.node')[{index}].click()"
        ));
        seen += &browser.text("document.querySelector('#details').outerHTML");
    }
    seen +=
        &browser.text("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])");
    seen += &visit.state_text();
    for events in visit
        .stunner
        .events()
        .iter()
        .filter(|event| event["event"] == "problem")
    {
        seen += &events.to_string();
    }
    let key = identity.key_base64();
    let lines: Vec<&str> = identity
        .key_pem
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    for secret in [PASSWORD, SHARED_SECRET, &key[..40], lines[0]] {
        assert!(
            !seen.contains(secret),
            "{} characters of a secret are there",
            secret.len()
        );
    }
}
