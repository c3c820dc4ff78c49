//! Reference pages that are generated from code stay in step with it.

use std::path::Path;

#[test]
fn the_page_of_flags_is_what_help_says() {
    let page = format!(
        "# stunner-gateway-operator: flags\n\nGenerated from `stunner-gateway-operator --help`; do not edit.\n\n```text\n{}```\n",
        stunner_operator::cli::help()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/operator.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/operator.md is out of date: run UPDATE=1 cargo test -p stunner-operator --test reference"
    );
}
