//! Reference pages that are generated from code stay in step with it.

use std::path::Path;

#[test]
fn the_page_of_commands_is_what_help_says() {
    let mut page = "# stunnerctl: commands and flags\n\nGenerated from `stunnerctl help` and the help of each command; do not \
                    edit. What the commands are for is in [the tools](../tools/stunnerctl.md).\n"
        .to_owned();
    for (title, text) in stunnerctl::cli::help() {
        page.push_str(&format!("\n## {title}\n\n```text\n{text}```\n"));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/stunnerctl.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/stunnerctl.md is out of date: run UPDATE=1 cargo test -p stunnerctl --test reference"
    );
}
