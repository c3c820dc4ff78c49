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
            expect_names(browser, tab);
            expect_contrast(browser, &format!("{tab}, {}", scheme.name()));
        }
    }
    browser.click("#tab-overview");
    browser.click(".node[data-kind=route]");
    browser.wait("!document.querySelector('#details').hidden");
    expect_names(browser, "details");
    expect_contrast(browser, "details");
    let ids = browser.value("[...document.querySelectorAll('[id]')].map(element => element.id)");
    let ids = ids.as_array().expect("ids");
    let unique: BTreeSet<&str> = ids.iter().filter_map(Value::as_str).collect();
    assert_eq!(unique.len(), ids.len(), "an id twice: {ids:?}");

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

/// Everything that a screen reader comes to has a name. The browser's own tree of them is asked.
#[track_caller]
fn expect_names(browser: &Browser, place: &str) {
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
    let nameless: Vec<&Value> = nodes
        .iter()
        .filter(|node| node["ignored"] == false)
        .filter(|node| NAMED.contains(&node["role"]["value"].as_str().unwrap_or_default()))
        .filter(|node| {
            node["name"]["value"]
                .as_str()
                .unwrap_or_default()
                .trim()
                .is_empty()
        })
        .collect();
    assert!(nodes.len() > 20, "{place}: {tree}");
    assert!(nameless.is_empty(), "{place}: {nameless:#?}");
}

/// Text against what is behind it: 4.5 to 1, and 3 to 1 for large text (WCAG 2.2, 1.4.3).
#[track_caller]
fn expect_contrast(browser: &Browser, place: &str) {
    let faint = browser
        .run_async(include_str!("contrast.js"), &[])
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(faint, json!([]), "{place}");
}
