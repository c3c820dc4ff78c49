//! The page follows what happens: edits of manifests, and the end and return of the gateway.

use std::time::Duration;

use interop_tests::ports::free_port;
use interop_tests::{browser, need};
use standalone_tests::manifests::{Folder, route, route_to};
use standalone_tests::stunner::Stunner;

use crate::visit::{Visit, expect_quiet, keep, node, node_is, open, quickstart};

#[test]
fn edits_appear_without_a_reload_and_a_broken_one_with_its_file_and_line() {
    let test = "edits_appear_without_a_reload_and_a_broken_one_with_its_file_and_line";
    need!(test, browser::programs());
    let (folder, _, offset) = quickstart();
    let visit = Visit::to(folder.path(), &[&offset]);
    let browser = &visit.browser;
    browser.wait(&node_is("gateway", "default/udp-gateway", "ok"));

    folder.write("more.yaml", &route("media", "udp-gateway", &["10.0.0.0/8"]));
    browser.wait(&node_is(
        "route",
        "UDPRoute.stunner.l7mp.io/default/media",
        "ok",
    ));
    browser.wait(&node_is("backend", "StaticService/default/media", "ok"));
    browser.wait("document.querySelector('#stat-routes strong').innerText === '2'");
    let line = r#"document.querySelector('.edge[data-from="listener:default/udp-gateway/udp"][data-to$="/default/media"]')"#;
    browser.wait(line);

    // A reference to nothing: the manifest is fine, the world is not.
    folder.replace("more.yaml", &route_to("media", "udp-gateway", "nowhere"));
    browser.wait(&node_is(
        "route",
        "UDPRoute.stunner.l7mp.io/default/media",
        "warn",
    ));
    browser.wait(&node_is("backend", "StaticService/default/nowhere", "bad"));
    browser.wait(&format!(
        "!{}",
        node("backend", "StaticService/default/media")
    ));
    browser.wait("document.querySelector('#stat-trouble strong').innerText !== '0'");
    browser.value(&format!(
        "{}.dispatchEvent(new MouseEvent('mouseenter'))",
        node("route", "UDPRoute.stunner.l7mp.io/default/media")
    ));
    let message = browser.text("document.querySelector('#tooltip').innerText");
    assert!(message.contains("ResolvedRefs: False"), "{message}");
    assert!(message.contains("default/nowhere"), "{message}");
    keep(browser, "broken-reference");
    // What is said about a node goes with its tab, also where no pointer leaves it.
    browser.click("#tab-problems");
    browser.wait("document.querySelector('#tooltip').hidden");

    // A broken edit: what was there stays, and the place is named.
    let broken =
        route("media", "udp-gateway", &["10.0.0.0/8"]).replace("parentRefs:", "parentRef:");
    let expected = 1 + broken
        .lines()
        .position(|text| text.contains("parentRef:"))
        .expect("the broken line");
    folder.replace("more.yaml", &broken);
    let place = format!(
        r#"document.querySelector('#problems li[data-file$="more.yaml"][data-line="{expected}"]')?.innerText"#
    );
    // The panel is read as a visitor reads it.
    browser.click("#tab-problems");
    let shown = browser.wait(&place);
    let shown = shown.as_str().unwrap_or_default();
    assert!(shown.contains(&format!("more.yaml:{expected}:")), "{shown}");
    assert!(
        shown.contains("parentRefs"),
        "the hint names the field that was meant: {shown}"
    );
    browser.wait("document.querySelector('#stat-problems strong').innerText !== '0'");
    keep(browser, "broken-edit");
    browser.click("#tab-overview");
    browser.wait(&node_is("gateway", "default/udp-gateway", "ok"));
    browser.wait(&node_is(
        "route",
        "UDPRoute.stunner.l7mp.io/default/peers",
        "ok",
    ));

    // Mended.
    folder.replace("more.yaml", &route("media", "udp-gateway", &["10.0.0.0/8"]));
    browser.wait(&node_is(
        "route",
        "UDPRoute.stunner.l7mp.io/default/media",
        "ok",
    ));
    browser.wait("document.querySelectorAll('#problems li').length === 0");
    folder.remove("more.yaml");
    browser.wait(&format!(
        "!{}",
        node("route", "UDPRoute.stunner.l7mp.io/default/media")
    ));
    assert_eq!(browser.value("window.sameVisit"), true);
    expect_quiet(browser);
}

#[test]
fn a_gateway_that_ends_is_reported_as_lost_and_one_that_returns_is_live() {
    let test = "a_gateway_that_ends_is_reported_as_lost_and_one_that_returns_is_live";
    need!(test, browser::programs());
    let port = free_port();
    let folder = Folder::quickstart(port);
    let console = format!("127.0.0.1:{}", free_port());
    let flags = ["--console-address", console.as_str()];
    let mut stunner = Stunner::run(&[folder.path()], &flags);
    let browser = browser::Browser::start_without_ca();
    open(&browser, &console);
    browser.wait("document.querySelector('#link').dataset.link === 'live'");
    assert_eq!(
        browser.value("document.querySelector('#lost').hidden"),
        true
    );

    stunner.signal(libc::SIGINT);
    let status = stunner.wait_end(Duration::from_secs(20)).expect("an end");
    assert_eq!(status.code(), Some(0));
    browser.wait("document.querySelector('#link').dataset.link === 'lost'");
    let banner = browser.wait(
        "!document.querySelector('#lost').hidden && document.querySelector('#lost').innerText",
    );
    let banner = banner.as_str().unwrap_or_default();
    assert!(banner.contains("Connection lost"), "{banner}");
    // What was known is still there to be read.
    browser.wait(&node_is("gateway", "default/gw", "ok"));
    keep(&browser, "lost");

    // The ICE test says what is wrong too.
    browser.click("#tab-ice");
    browser.click("#ice-start");
    browser.wait("document.querySelector('#ice-result').dataset.result === 'fail'");
    let verdict = browser.text("document.querySelector('#ice-verdict').innerText");
    assert!(verdict.contains("No credential"), "{verdict}");
    browser.click("#tab-overview");

    folder.write("more.yaml", &route("after", "gw", &["10.0.0.0/8"]));
    let _again = Stunner::run(&[folder.path()], &flags);
    browser.wait("document.querySelector('#link').dataset.link === 'live'");
    browser.wait("document.querySelector('#lost').hidden");
    // Generations begin anew in the new process; what it serves is shown all the same.
    browser.wait(&node_is(
        "route",
        "UDPRoute.stunner.l7mp.io/default/after",
        "ok",
    ));
    // And its events are heard: an edit is there sooner than anybody could have asked for it.
    folder.remove("more.yaml");
    browser.wait(&format!(
        "!{}",
        node("route", "UDPRoute.stunner.l7mp.io/default/after")
    ));
    assert_eq!(browser.value("window.sameVisit"), true);
}
