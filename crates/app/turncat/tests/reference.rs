//! Reference pages that are generated from code stay in step with it.

use std::path::Path;

#[test]
fn the_page_of_flags_is_what_help_says() {
    let page = format!(
        "# turncat: flags\n\nGenerated from `turncat --help`; do not edit. [How to use it](../tools/turncat.md).\n\n```text\n{}```\n",
        turncat::cli::help()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/turncat.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/turncat.md is out of date: run UPDATE=1 cargo test -p turncat --test reference"
    );
}
