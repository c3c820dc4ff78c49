//! The ICE test by the page's own button. Two hosts with a link between them: browsers gather no candidates on
//! loopback, and the way through the listener must be a real one.

use std::path::Path;
use std::time::Duration;

use interop_tests::browser::{self, Browser};
use interop_tests::http;
use interop_tests::netns::{Link, SERVER};
use interop_tests::pki::{Identity, TestCa};
use interop_tests::process::wait_until;
use interop_tests::{need, skip};
use serde_json::Value;
use standalone_tests::manifests::{Folder, class, gateway, route};
use standalone_tests::stunner::{PATIENCE, Stunner};

use crate::visit::{certificate, expect_quiet, keep, node_is, open, with_certificate};

const CONSOLE: &str = "10.123.0.1:8090";
const UDP: u16 = 3478;
const TCP: u16 = 3479;
const TLS: u16 = 443;
/// Tests of which one has to lose nothing at all.
const ATTEMPTS: usize = 3;

/// A Gateway of three listeners, and one whose address is not of this world. The only route leads elsewhere: what
/// the test reaches, it reaches by its own credential.
fn folder(identity: &Identity) -> Folder {
    let folder = Folder::default();
    folder.write("class.yaml", &class());
    let listeners = [
        ("udp", "TURN-UDP", UDP),
        ("tcp", "TURN-TCP", TCP),
        ("tls", "TURN-TLS", TLS),
    ];
    folder.write(
        "gateway.yaml",
        &with_certificate(&gateway("gw", &listeners)),
    );
    folder.write(
        "elsewhere.yaml",
        &(gateway("elsewhere", &[("udp", "TURN-UDP", 3500)])
            + "  addresses:\n  - type: IPAddress\n    value: 10.123.0.9\n"),
    );
    folder.write("route.yaml", &route("media", "gw", &["192.0.2.0/24"]));
    folder.write("secret.yaml", &certificate(identity));
    folder
}

fn serve(folder: &Path) -> Stunner {
    Stunner::run(
        &[folder],
        &["--address", SERVER, "--console-address", CONSOLE],
    )
}

fn state() -> Value {
    http::get(CONSOLE, "/api/v1/state").expect("console").json()
}

/// Packets that clients have sent to a listener.
fn received(listener: &str) -> u64 {
    let state = state();
    let listeners = state["live"]["listeners"].as_array().expect("listeners");
    let found = listeners.iter().find(|one| one["id"] == listener);
    found
        .and_then(|one| one["traffic"]["rxPackets"].as_u64())
        .unwrap_or_default()
}

/// Chooses a listener, presses the button and waits for the end; `pass` or `fail`, and the sentence.
#[track_caller]
fn press_start(browser: &Browser, gateway: &str, listener: &str) -> (String, String) {
    browser.click("#tab-ice");
    for (select, value) in [("gateway", gateway), ("listener", listener)] {
        browser.wait(&format!(
            "document.querySelector('#ice-{select} option[value=\"{value}\"]:not(:disabled)')"
        ));
        browser.value(&format!(
            "(document.querySelector('#ice-{select}').value = '{value}',
              document.querySelector('#ice-{select}').dispatchEvent(new Event('change', {{ bubbles: true }})))"
        ));
    }
    browser.click("#ice-start");
    let ended = "['pass', 'fail'].includes(document.querySelector('#ice-result').dataset.result)";
    browser.wait_within(Duration::from_secs(120), ended);
    (
        browser.text("document.querySelector('#ice-result').dataset.result"),
        browser.text("document.querySelector('#ice-verdict').innerText"),
    )
}

/// Remembers what the page was given to log in with, as a visitor with the developer tools could.
const EAVESDROP: &str = "window.fetch = ((real) => async (...args) => {
    const answer = await real(...args);
    if (String(args[0]).endsWith('/ice-tests')) window.given = await answer.clone().json();
    return answer;
})(window.fetch)";

#[test]
fn the_ice_test_passes_over_udp_tcp_and_tls() {
    let test = "the_ice_test_passes_over_udp_tcp_and_tls";
    let link = need!(test, browser::programs().and_then(|()| Link::create()));
    let ca = TestCa::new();
    let folder = folder(&ca.ecdsa("console"));
    let root = ca.write_root(folder.path());
    link.on_server(|| {
        let _stunner = serve(folder.path());
        link.on_client(|| {
            let browser = Browser::start(&root);
            open(&browser, CONSOLE);
            browser.value(&format!("({EAVESDROP}, 0)"));
            for (listener, uri) in [
                ("udp", format!("turn:{SERVER}:{UDP}?transport=udp")),
                ("tcp", format!("turn:{SERVER}:{TCP}?transport=tcp")),
                ("tls", format!("turns:{SERVER}:{TLS}?transport=tcp")),
            ] {
                pass(&browser, listener, &uri);
            }
            // Nobody was refused anything.
            let live = state()["live"].clone();
            assert_eq!(live["denials"], serde_json::json!([]));
            assert_eq!(live["denialsByReason"], serde_json::json!({}));
            expect_quiet(&browser);
        });
    });
}

fn pass(browser: &Browser, listener: &str, uri: &str) {
    let id = format!("default/gw/{listener}");
    browser.click("#tab-overview");
    browser.wait(&node_is("listener", &id, "ok"));
    // A packet that a busy machine brings late is lost to the test, and rightly so.
    let (mut before, mut verdict) = (0, String::new());
    let lost_nothing = (0..ATTEMPTS).any(|_| {
        before = received(&id);
        let (result, said) = press_start(browser, "default/gw", listener);
        keep(browser, &format!("ice-{listener}"));
        assert_eq!(result, "pass", "{listener}: {said}");
        verdict = said;
        verdict.contains("no loss")
    });
    assert!(lost_nothing && verdict.contains("ms"), "{verdict}");
    for step in ["credential", "candidates", "connection", "echoes"] {
        let status = browser.text(&format!(
            "document.querySelector('#ice-step-{step}').dataset.status"
        ));
        assert_eq!(status, "ok", "{listener}: {step}");
    }
    // Only relay candidates were gathered, and the chosen pair is one that the browser owes to this very listener.
    let kinds = browser.value("[...new Set([...document.querySelectorAll('#ice-candidates li')].map(item => item.dataset.type))]");
    assert_eq!(kinds, serde_json::json!(["relay"]), "{listener}");
    assert_eq!(
        browser.text("document.querySelector('#ice-path').dataset.state"),
        "connected"
    );
    assert_eq!(
        browser.text("document.querySelector('#ice-browser-address').innerText"),
        uri
    );
    let relay = browser.text("document.querySelector('#ice-relay-address').innerText");
    assert!(relay.starts_with(&format!("{SERVER}:")), "{relay}");
    let peer = browser.text("document.querySelector('#ice-peer-address').innerText");
    assert_eq!(
        Some(peer.as_str()),
        browser.value("window.given.peer").as_str()
    );
    assert_eq!(
        browser.text("document.querySelector('#ice-loss').dataset.loss"),
        "0"
    );
    let median: f64 = browser
        .text("document.querySelector('#ice-rtt').dataset.median")
        .parse()
        .expect("milliseconds");
    assert!(median > 0.0, "{median} ms");
    // And the gateway agrees: a hundred echoes came in by this listener.
    assert!(
        wait_until(PATIENCE, || received(&id) >= before + 100),
        "{listener}: {} packets",
        received(&id) - before
    );

    let credential = browser.text("window.given.iceServers[0].credential");
    assert!(
        credential.len() > 8,
        "a credential of {} characters",
        credential.len()
    );
    let page = browser.text("document.documentElement.outerHTML + JSON.stringify([{...localStorage}, {...sessionStorage}])");
    assert!(!page.contains(&credential), "the credential is in the page");
    assert!(
        !state().to_string().contains(&credential),
        "the credential is in the state"
    );
}

#[test]
fn the_ice_test_fails_with_a_sentence_that_says_why() {
    let test = "the_ice_test_fails_with_a_sentence_that_says_why";
    let link = match browser::programs().and_then(|()| Link::create()) {
        Ok(link) => link,
        Err(missing) => return skip::report(test, &missing),
    };
    let folder = folder(&TestCa::new().ecdsa("console"));
    let stranger = TestCa::new().write_root(folder.path());
    link.on_server(|| {
        let _stunner = serve(folder.path());
        link.on_client(|| {
            let browser = Browser::start(&stranger);
            open(&browser, CONSOLE);
            let hints = "document.querySelector('#ice-hints').innerText";

            // A certificate that nobody vouches for.
            let (result, verdict) = press_start(&browser, "default/gw", "tls");
            keep(&browser, "ice-untrusted");
            assert_eq!(result, "fail", "{verdict}");
            assert!(
                verdict.contains(&format!("turns:{SERVER}:{TLS}")),
                "{verdict}"
            );
            assert!(
                browser.text(hints).contains("certificate"),
                "{}",
                browser.text(hints)
            );
            let step =
                browser.text("document.querySelector('#ice-step-candidates').dataset.status");
            assert_eq!(step, "bad");

            // An address that nothing answers at.
            let (result, verdict) = press_start(&browser, "default/elsewhere", "udp");
            keep(&browser, "ice-unreachable");
            assert_eq!(result, "fail", "{verdict}");
            assert!(verdict.contains("10.123.0.9"), "{verdict}");
            assert!(
                browser.text(hints).contains("open to this machine"),
                "{}",
                browser.text(hints)
            );

            // It works again after that.
            let (result, verdict) = press_start(&browser, "default/gw", "udp");
            assert_eq!(result, "pass", "{verdict}");
        });
    });
}
