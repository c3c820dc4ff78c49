//! Room for connections: every dataplane holds one, and so does every watch.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit of open files as far as permitted.
pub(super) fn raise() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(
            scope = "operator",
            "cannot raise the limit of open files: {error}"
        );
    }
}
