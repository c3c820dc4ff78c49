//! The page renders what runs.

use interop_tests::browser::Browser;
use interop_tests::browser::page::Scheme;
use interop_tests::{browser, need};

use crate::visit::{Visit, expect_quiet, keep, node_is, quickstart};

#[test]
fn the_quickstart_is_drawn_with_every_node_in_light_and_dark_wide_and_narrow() {
    let test = "the_quickstart_is_drawn_with_every_node_in_light_and_dark_wide_and_narrow";
    need!(test, browser::programs());
    let (folder, port, offset) = quickstart();
    let visit = Visit::to(folder.path(), &[&offset]);
    let browser = &visit.browser;
    let nodes = [
        ("class", "stunner", "stunner"),
        ("gateway", "default/udp-gateway", "udp-gateway"),
        ("listener", "default/udp-gateway/udp", "udp"),
        ("route", "UDPRoute.stunner.l7mp.io/default/peers", "peers"),
        ("backend", "StaticService/default/peers", "peers"),
    ];
    for (kind, name, label) in nodes {
        browser.wait(&node_is(kind, name, "ok"));
        let shown = browser.text(&format!("{}.innerText", crate::visit::node(kind, name)));
        assert!(shown.contains(label), "{kind} {name} is shown as {shown}");
    }
    assert_eq!(
        browser.value("document.querySelectorAll('.node').length"),
        nodes.len()
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.edge').length"),
        nodes.len() - 1
    );
    assert_eq!(
        browser.text("document.querySelector('#stat-gateways strong').innerText"),
        "1"
    );
    assert_eq!(
        browser.text("document.querySelector('#stat-trouble strong').innerText"),
        "0"
    );
    let listener = browser.text(&format!(
        "{}.innerText",
        crate::visit::node("listener", "default/udp-gateway/udp")
    ));
    // The port that clients are told, not the one before the offset.
    assert!(listener.contains(&port.to_string()), "{listener}");

    for scheme in [Scheme::Light, Scheme::Dark] {
        browser.prefer(scheme);
        for (form, width, height) in [("wide", 1400, 900), ("narrow", 390, 844)] {
            browser.resize(width, height);
            // The wide form has lines, the narrow one is a list; neither may make the page scroll sideways.
            let wide = format!(
                "document.querySelector('#picture').classList.contains('wide') === {}",
                form == "wide"
            );
            browser.wait(&wide);
            for tab in [
                "overview",
                "traffic",
                "allocations",
                "denials",
                "problems",
                "ice",
            ] {
                browser.click(&format!("#tab-{tab}"));
                browser.wait(&format!("!document.querySelector('#panel-{tab}').hidden"));
                expect_no_overflow(browser);
                keep(
                    browser,
                    &format!("quickstart-{tab}-{}-{form}", scheme.name()),
                );
            }
            browser.click("#tab-overview");
        }
        let background = browser.text("getComputedStyle(document.body).backgroundColor");
        let bright = background
            .trim_start_matches("rgb(")
            .split(',')
            .next()
            .and_then(|red| red.parse::<u32>().ok())
            .is_some_and(|red| red > 128);
        assert_eq!(bright, scheme == Scheme::Light, "{scheme:?}: {background}");
    }
    expect_quiet(browser);
}

/// Nothing sticks out at the side; names what does.
#[track_caller]
fn expect_no_overflow(browser: &Browser) {
    let outside = browser.value(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth
            ? []
            : [...document.body.querySelectorAll('*')]
                .filter(element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
                .map(element => `${element.tagName}#${element.id}.${element.className}`)",
    );
    assert_eq!(outside, serde_json::json!([]));
}
