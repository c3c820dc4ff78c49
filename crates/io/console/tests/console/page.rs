//! What the page is made of: small, of one origin, and never made of markup from outside.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fake::{console, request};
use axum::http::{Method, StatusCode};

/// The console's promise; see also [`AIM`].
const LIMIT: usize = 300 * 1024;
/// What it should stay below while nobody decides otherwise.
const AIM: usize = 120 * 1024;

fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder of the page")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "md"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("text");
            (path, text)
        })
        .collect();
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

#[tokio::test]
async fn every_file_of_the_page_is_served_as_what_it_is_and_all_are_small_together() {
    let console = console();
    let mut total = 0;
    for (path, text) in files() {
        let (served, content_type) =
            match (name(&path), path.extension().and_then(|it| it.to_str())) {
                ("index.html", _) => ("/".to_owned(), "text/html; charset=utf-8"),
                (name, Some("js")) => (format!("/{name}"), "text/javascript; charset=utf-8"),
                (name, Some("css")) => (format!("/{name}"), "text/css; charset=utf-8"),
                (name, Some("svg")) => (format!("/{name}"), "image/svg+xml"),
                (name, _) => panic!("{name} is of an unknown kind"),
            };
        let answer = request(Method::GET, &served).send(&console).await;
        assert_eq!(answer.status, StatusCode::OK, "{served}");
        assert_eq!(answer.header("content-type"), content_type, "{served}");
        assert_eq!(answer.text(), text, "{served}");
        total += text.len();
    }
    assert!(total < AIM.min(LIMIT), "the page has {total} bytes");
}

#[tokio::test]
async fn everything_that_the_page_refers_to_is_served() {
    let console = console();
    for (path, text) in files() {
        let quoted = text.split(['"', '\'']);
        let local = quoted.filter(|word| {
            let file = word.ends_with(".js") || word.ends_with(".css") || word.ends_with(".svg");
            file && (word.starts_with('/') || word.starts_with("./"))
        });
        for word in local {
            let served = word.trim_start_matches('.');
            let answer = request(Method::GET, served).send(&console).await;
            assert_eq!(answer.status, StatusCode::OK, "{word} in {}", name(&path));
        }
    }
}

#[test]
fn nothing_comes_from_another_place() {
    // The name of a vocabulary is no address that anything is fetched from.
    const VOCABULARY: &str = "http://www.w3.org/2000/svg";
    for (path, text) in files() {
        let text = text.replace(VOCABULARY, "");
        for scheme in [
            "http:", "https:", "ws:", "wss:", "\"//", "'//", "data:", "blob:", "@import",
        ] {
            assert!(!text.contains(scheme), "{scheme} in {}", name(&path));
        }
    }
}

#[test]
fn strings_enter_the_page_as_text_and_never_as_markup_or_code() {
    for (path, text) in files() {
        for way in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "createContextualFragment",
            "setHTML",
            "srcdoc",
            "eval(",
            "new Function",
            "javascript:",
        ] {
            assert!(!text.contains(way), "{way} in {}", name(&path));
        }
    }
}

#[test]
fn nothing_in_the_markup_is_inline_since_the_policy_forbids_it() {
    let (_, page) = files()
        .into_iter()
        .find(|(path, _)| name(path) == "index.html")
        .expect("the page");
    assert!(!page.contains("<style"));
    assert!(!page.contains(" style="));
    let attributes = page.split('<').filter_map(|tag| tag.split('>').next());
    for attribute in attributes.flat_map(str::split_whitespace) {
        let handler = attribute.starts_with("on") && attribute.contains('=');
        assert!(!handler, "{attribute}");
    }
    for script in page.split("<script").skip(1) {
        let tag = script.split('>').next().unwrap_or_default();
        assert!(tag.contains("src="), "{tag}");
    }
}

#[test]
fn the_token_is_kept_in_the_tab_only() {
    for (path, text) in files() {
        let lines = text.lines().filter(|line| line.contains("localStorage"));
        for line in lines {
            assert!(line.contains("stunner-theme"), "{line} in {}", name(&path));
        }
        assert!(!text.contains("document.cookie"), "{}", name(&path));
    }
}
