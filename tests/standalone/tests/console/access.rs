//! The page by keyboard, for screen readers, offline, and within its size.

use std::collections::BTreeSet;

use interop_tests::browser::Browser;
use interop_tests::browser::page::{Scheme, key};
use interop_tests::{browser, need};
use serde_json::{Value, json};

use crate::visit::{Visit, expect_quiet, quickstart};

const TABS: [&str; 6] = [
    "overview",
    "traffic",
    "allocations",
    "denials",
    "problems",
    "ice",
];

#[test]
fn everything_is_reached_by_keyboard() {
    let test = "everything_is_reached_by_keyboard";
    need!(test, browser::programs());
    let (folder, _, offset) = quickstart();
    let visit = Visit::to(folder.path(), &[&offset]);
    let browser = &visit.browser;

    // From the top: the way to the content first, then everything else, each with a mark where the focus is.
    browser.press(key::TAB);
    assert_eq!(browser.text("document.activeElement.className"), "skip");
    let mut kinds = Vec::new();
    for _ in 0..60 {
        browser.press(key::TAB);
        let at = browser.value("document.activeElement.dataset.kind ?? null");
        if let Value::String(kind) = at {
            let marked = "getComputedStyle(document.activeElement)";
            let outline = browser.value(&format!(
                "{marked}.outlineStyle !== 'none' || {marked}.boxShadow !== 'none'"
            ));
            assert_eq!(outline, true, "no mark at a {kind}");
            let said = browser.wait("!document.querySelector('#tooltip').hidden && document.querySelector('#tooltip').innerText");
            let said = said.as_str().unwrap_or_default();
            let expected = match kind.as_str() {
                "backend" => "peers",
                _ => "Accepted: True",
            };
            assert!(said.contains(expected), "{kind}: {said}");
            kinds.push(kind);
        }
        if kinds.len() == 5 {
            break;
        }
    }
    assert_eq!(kinds, ["class", "gateway", "listener", "route", "backend"]);

    // Messages go with Esc, the focus stays.
    browser.press(key::ESCAPE);
    browser.wait("document.querySelector('#tooltip').hidden");
    assert_eq!(
        browser.text("document.activeElement.dataset.kind"),
        "backend"
    );
    // Arrows walk along the lines.
    browser.press(key::LEFT);
    assert_eq!(browser.text("document.activeElement.dataset.kind"), "route");
    browser.press(key::LEFT);
    assert_eq!(
        browser.text("document.activeElement.dataset.kind"),
        "listener"
    );

    // Enter opens everything about a node; Esc closes it and gives the focus back.
    browser.press(key::ENTER);
    browser.wait("!document.querySelector('#details').hidden");
    assert_eq!(
        browser.value("document.querySelector('#details').contains(document.activeElement)"),
        true
    );
    let details = browser.text("document.querySelector('#details').innerText");
    assert!(details.contains("turn:127.0.0.1:"), "{details}");
    browser.press(key::ESCAPE);
    browser.wait("document.querySelector('#details').hidden");
    assert_eq!(
        browser.text("document.activeElement.dataset.kind"),
        "listener"
    );

    // Tabs by arrow keys, as in the WAI-ARIA pattern.
    browser.value("document.querySelector('#tab-overview').focus()");
    for (pressed, expected) in [
        (key::RIGHT, "traffic"),
        (key::RIGHT, "allocations"),
        (key::LEFT, "traffic"),
        (key::END, "ice"),
        (key::RIGHT, "overview"),
        (key::LEFT, "ice"),
        (key::HOME, "overview"),
    ] {
        browser.press(pressed);
        assert_eq!(
            browser.text("document.activeElement.id"),
            format!("tab-{expected}")
        );
        browser.wait(&format!(
            "!document.querySelector('#panel-{expected}').hidden"
        ));
        let open =
            browser.value("document.querySelectorAll('[role=tabpanel]:not([hidden])').length");
        assert_eq!(open, 1);
        let selected = browser.text("document.querySelector('[role=tab][aria-selected=true]').id");
        assert_eq!(selected, format!("tab-{expected}"));
    }
    // Backwards too.
    browser.press_all(&[key::SHIFT, key::TAB]);
    assert_ne!(browser.text("document.activeElement.id"), "tab-overview");
}

#[test]
fn the_page_is_named_small_offline_and_readable() {
    let test = "the_page_is_named_small_offline_and_readable";
    need!(test, browser::programs());
    let (folder, _, offset) = quickstart();
    folder.write(
        "broken.yaml",
        &standalone_tests::manifests::route_to("broken", "udp-gateway", "nowhere"),
    );
    let visit = Visit::to(folder.path(), &[&offset]);
    let browser = &visit.browser;
    for scheme in [Scheme::Light, Scheme::Dark] {
        browser.prefer(scheme);
        for tab in TABS {
            browser.click(&format!("#tab-{tab}"));
            browser.wait(&format!("!document.querySelector('#panel-{tab}').hidden"));
            assert!(
                nameless(browser).is_empty(),
                "{tab}: {:#?}",
                nameless(browser)
            );
            assert!(
                faint(browser).is_empty(),
                "{tab}, {}: {:#?}",
                scheme.name(),
                faint(browser)
            );
        }
    }
    browser.click("#tab-overview");
    browser.click(".node[data-kind=route]");
    browser.wait("!document.querySelector('#details').hidden");
    assert!(nameless(browser).is_empty(), "{:#?}", nameless(browser));
    assert!(faint(browser).is_empty(), "{:#?}", faint(browser));
    let ids = browser.value("[...document.querySelectorAll('[id]')].map(element => element.id)");
    let ids = ids.as_array().expect("ids");
    let unique: BTreeSet<&str> = ids.iter().filter_map(Value::as_str).collect();
    assert_eq!(unique.len(), ids.len(), "an id twice: {ids:?}");

    // What makes the checks above mean something: they do find what is wrong.
    browser.value("document.querySelector('#theme').removeAttribute('aria-label')");
    assert_eq!(nameless(browser).len(), 1);
    browser.value("document.querySelector('h1').style.color = 'rgb(128 128 128 / 30%)'");
    assert_eq!(faint(browser).len(), 1);

    // Everything comes from here, and it is little.
    let entries = browser.value(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
            .map(({ name, decodedBodySize }) => ({ name, size: decodedBodySize }))",
    );
    let entries = entries.as_array().expect("entries");
    let origin = format!("http://{}/", visit.stunner.console_address());
    let mut size = 0;
    for entry in entries {
        let name = entry["name"].as_str().unwrap_or_default();
        assert!(name.starts_with(&origin), "a request to {name}");
        if !name.contains("/api/") {
            size += entry["size"].as_u64().unwrap_or_default();
        }
    }
    assert!(entries.len() > 5, "{entries:?}");
    assert!(
        (10_000..300 << 10).contains(&size),
        "the page is of {size} bytes"
    );
    expect_quiet(browser);
}

/// What a screen reader comes to and cannot name. The browser's own tree is asked.
#[track_caller]
fn nameless(browser: &Browser) -> Vec<Value> {
    const NAMED: [&str; 14] = [
        "button",
        "link",
        "tab",
        "tabpanel",
        "textbox",
        "searchbox",
        "combobox",
        "checkbox",
        "image",
        "img",
        "dialog",
        "group",
        "option",
        "table",
    ];
    let tree = browser.devtools("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().expect("a tree");
    assert!(nodes.len() > 20, "{tree}");
    let text = |node: &Value, field: &str| {
        let value = node[field]["value"].as_str().unwrap_or_default();
        value.trim().to_owned()
    };
    let named = nodes
        .iter()
        .filter(|node| node["ignored"] == false)
        .filter(|node| NAMED.contains(&text(node, "role").as_str()));
    named
        .filter(|node| text(node, "name").is_empty())
        .cloned()
        .collect()
}

/// Texts too faint against what is behind them: under 4.5 to 1, or 3 to 1 for large ones (WCAG 2.2, 1.4.3).
#[track_caller]
fn faint(browser: &Browser) -> Vec<Value> {
    let faint = browser
        .run_async(include_str!("contrast.js"), &[])
        .unwrap_or_else(|error| panic!("contrast: {error}"));
    faint.as_array().cloned().unwrap_or_default()
}
