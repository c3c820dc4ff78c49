//! Files with what is expected. With `UPDATE=1` they are written instead of compared.

use std::path::Path;

/// Compares a text with a file, and gives what differs.
pub fn compare(path: &Path, found: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE").is_some() {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        std::fs::write(path, found).map_err(|error| error.to_string())?;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == found {
        return Ok(());
    }
    let line = expected
        .lines()
        .zip(found.lines())
        .take_while(|(expected, found)| expected == found)
        .count();
    let at = |text: &str| text.lines().nth(line).unwrap_or("<end>").to_owned();
    Err(format!(
        "{}:{}: differs (UPDATE=1 writes it anew)\n  expected: {}\n  found:    {}",
        path.display(),
        line + 1,
        at(&expected),
        at(found)
    ))
}
