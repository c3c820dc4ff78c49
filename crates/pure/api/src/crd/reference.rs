//! The reference page, made from the definitions.

/// `docs/reference/api.md`.
pub fn reference() -> String {
    String::new()
}
