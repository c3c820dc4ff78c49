//! Who was refused what: sentences from real refusals, and texts that nobody meant well.

use interop_tests::client::Credentials;
use interop_tests::ports::free_port;
use interop_tests::{browser, need};
use standalone_tests::manifests::{Folder, class_with, gateway, route};
use standalone_tests::stunner::client;

use crate::visit::{Visit, expect_quiet, keep};

#[test]
fn a_refused_peer_is_shown_with_its_sentence_and_counted_by_reason() {
    let test = "a_refused_peer_is_shown_with_its_sentence_and_counted_by_reason";
    need!(test, browser::programs());
    let port = free_port();
    let folder = Folder::quickstart(port);
    folder.write(
        "gateway.yaml",
        &gateway("udp-gateway", &[("udp", "TURN-UDP", port)]),
    );
    folder.write(
        "route.yaml",
        &route("media", "udp-gateway", &["10.0.0.0/30"]),
    );
    let visit = Visit::to(folder.path(), &[]);
    let browser = &visit.browser;
    browser.click("#tab-denials");
    let empty = browser.text("document.querySelector('#denials-empty').innerText");
    assert!(empty.contains("No denials"), "{empty}");

    let mut client = client(port).without_repeats();
    client.allocate().expect("an allocation");
    let refused = client.bind(0x4000, "10.0.0.7:5000".parse().expect("an address"));
    assert_eq!(refused.expect_err("no route has it").code(), Some(403));

    let sentence = browser.wait("document.querySelector('#denials li .sentence')?.innerText");
    let sentence = sentence.as_str().unwrap_or_default();
    assert!(sentence.starts_with("client 127.0.0.1:"), "{sentence}");
    let rest = "was refused peer 10.0.0.7:5000: not in any route of `default/udp-gateway/udp`; nearest: StaticService default/media";
    assert!(sentence.contains(rest), "{sentence}");
    let count =
        r#"document.querySelector('#denial-reasons li[data-reason="no_route"] strong').innerText"#;
    browser.wait(&format!("{count} === '1'"));
    // The same again is the same entry, counted.
    let _ = client.bind(0x4000, "10.0.0.7:5000".parse().expect("an address"));
    browser.wait(&format!("{count} === '2'"));
    assert_eq!(
        browser.value("document.querySelectorAll('#denials li').length"),
        1
    );
    assert_eq!(
        browser.text("document.querySelector('#stat-denials strong').innerText"),
        "2"
    );
    keep(browser, "denial");

    // The one who was refused is among the allocations, without a credential.
    browser.click("#tab-allocations");
    let row = browser.wait("document.querySelector('#allocations tbody tr')?.innerText");
    assert!(
        row.as_str().is_some_and(|row| row.contains("user-1")),
        "{row}"
    );
    assert_eq!(browser.value("window.sameVisit"), true);
    expect_quiet(browser);
}

/// Markup that would change the title, were it taken for markup.
const MARKUP: &str = "<img src=x onerror=\"document.title='owned'\"><b>bold</b>";

#[test]
fn markup_in_names_and_messages_stays_text() {
    let test = "markup_in_names_and_messages_stays_text";
    need!(test, browser::programs());
    let port = free_port();
    let folder = Folder::quickstart(port);
    let quoted = serde_json::to_string(MARKUP).expect("a JSON text");
    folder.write("class.yaml", &class_with("authRef: {name: user}"));
    folder.write(
        "user.yaml",
        &format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: user, namespace: default}}\nstringData:\n  type: static\n  username: {quoted}\n  password: pass-1\n"
        ),
    );
    // A field, an annotation, a reference and the name of a file with markup in them.
    let gateway = gateway("gw", &[("udp", "TURN-UDP", port)]);
    let gateway = gateway.replace(
        "  namespace: default\n",
        &format!("  namespace: default\n  annotations:\n    stunner.l7mp.io/nodeport: {quoted}\n"),
    );
    folder.write("gateway.yaml", &gateway);
    let field = format!("{}  {quoted}: 1\n", route("odd", "gw", &["10.0.0.0/30"]));
    folder.write("<b>bold<b>.yaml", &field);
    let visit = Visit::to(folder.path(), &[]);
    let browser = &visit.browser;

    let mut client = client(port).with_credentials(Credentials::new(MARKUP, "pass-1"));
    client.allocate().expect("an allocation");
    let _ = client.permit("192.0.2.7:5000".parse().expect("an address"));

    for tab in ["denials", "problems", "allocations", "traffic", "overview"] {
        browser.click(&format!("#tab-{tab}"));
        match tab {
            "denials" => {
                let shown = browser.wait("document.querySelector('#denials li')?.innerText");
                assert!(
                    shown.as_str().is_some_and(|text| text.contains(MARKUP)),
                    "{shown}"
                );
            }
            "allocations" => {
                let shown =
                    browser.wait("document.querySelector('#allocations tbody tr')?.innerText");
                assert!(
                    shown.as_str().is_some_and(|text| text.contains("<img")),
                    "{shown}"
                );
            }
            "problems" => {
                let shown = browser.wait("document.querySelector('#problems li')?.innerText && document.querySelector('#problems').innerText");
                let shown = shown.as_str().unwrap_or_default();
                assert!(shown.contains("<b>bold<b>.yaml"), "{shown}");
                assert!(shown.contains("<img"), "{shown}");
            }
            _ => {}
        }
    }
    // The same for every other text of the API, wherever the page may show it.
    browser.click("#tab-overview");
    browser
        .run_async(include_str!("taint.js"), &[MARKUP.into()])
        .expect("tainted answers");
    browser.wait(
        "[...document.querySelectorAll('.node')].some(node => node.innerText.includes('<img'))",
    );
    let messages = browser.value(
        "[...document.querySelectorAll('.node')].map(node => {
            node.dispatchEvent(new MouseEvent('mouseenter'));
            const said = document.querySelector('#tooltip').innerText;
            node.click();
            return said + document.querySelector('#details').innerText;
        }).join()",
    );
    let messages = messages.as_str().unwrap_or_default();
    assert!(
        messages.contains(&format!("The listener is valid.{MARKUP}")),
        "{messages}"
    );
    keep(browser, "hostile");
    assert_eq!(
        browser.value("document.querySelectorAll('img[src=\"x\"], b').length"),
        0
    );
    assert_eq!(browser.text("document.title"), "STUNner console");
    expect_quiet(browser);
}
