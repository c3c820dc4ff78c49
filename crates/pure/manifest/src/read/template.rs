//! Templates that somebody forgot to render.

use stunner_document::Place;

/// What to do with a Helm template.
pub(super) const RENDER: &str =
    "render it first, such as with `helm template`, and use what that prints";

/// Where the first `{{` or `{%` is of a document that begins on a line.
pub(super) fn in_document(text: &str, first_line: u32) -> Option<Place> {
    let skipped = usize::try_from(first_line.saturating_sub(1)).ok()?;
    let mut lines = text.lines().enumerate().skip(skipped);
    let is_separator = |line: &str| line == "---" || line.starts_with("--- ");
    let first = lines.next()?;
    let document = std::iter::once(first).chain(lines.take_while(|(_, line)| !is_separator(line)));
    document.into_iter().find_map(|(index, line)| {
        let at = line.find("{{").into_iter().chain(line.find("{%")).min()?;
        let number = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
        Some(Place {
            line: number(index),
            column: number(line[..at].chars().count()),
        })
    })
}

/// The hint for a value that a tool was meant to replace.
pub(super) fn hint(value: &str) -> Option<&'static str> {
    if value.contains("{{") {
        return Some(RENDER);
    }
    let variable = value.contains("${") || value.contains("$(");
    variable.then_some(
        "fill in the variable first, such as with `envsubst`: manifests hold no variables",
    )
}
