//! Reference pages that are generated from code stay in step with it.

use std::path::Path;

use stunner_auth::cli::help;
use stunner_auth::http::openapi;

fn is_up_to_date(name: &str, content: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference");
    let path = folder.join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, content).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == content,
        "docs/reference/{name} is out of date: run UPDATE=1 cargo test -p stunner-auth"
    );
}

#[test]
fn the_page_of_flags_is_what_help_says() {
    let page = format!(
        "# authd: flags\n\nGenerated from `authd --help`; do not edit. The requests and their answers are in \
         [authd.openapi.json](authd.openapi.json).\n\n```text\n{}```\n",
        help()
    );
    is_up_to_date("authd.md", &page);
}

#[test]
fn the_openapi_document_is_the_one_that_is_served_with_everything_switched_on() {
    let document = serde_json::to_string_pretty(&openapi(true, true)).expect("JSON");
    is_up_to_date("authd.openapi.json", &(document + "\n"));
}
