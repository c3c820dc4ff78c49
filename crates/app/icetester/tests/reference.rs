//! The reference page that is generated from code stays in step with it.

use std::path::Path;

#[test]
fn the_page_of_flags_is_what_help_says() {
    let page = format!(
        "# icetester: flags\n\nGenerated from `icetester --help`; do not edit.\n\n```text\n{}```\n",
        icetester::cli::help()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/icetester.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/icetester.md is out of date: run UPDATE=1 cargo test -p icetester --test reference"
    );
}
