//! Objects that are there twice.

use super::findings::Findings;
use super::reference::shown;
use crate::problem::Fault;
use crate::reading::Manifest;

pub(super) fn object(findings: &mut Findings<'_>, first: &Manifest, second: &Manifest) {
    let place = first.place_of("metadata.name");
    let message = format!(
        "{} `{}` is already defined at {}:{}:{}",
        second.key.kind,
        shown(&second.key),
        first.file,
        place.line,
        place.column
    );
    findings.error(
        second,
        Fault::DuplicateObject,
        "metadata.name",
        message,
        "give it another name or namespace, or remove one of the two; this one does not count",
    );
}
