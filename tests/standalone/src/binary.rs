//! The program under test.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use interop_tests::binary::root;

/// The binary: `STUNNER_BIN`, else built with cargo in the profile of the test itself.
pub fn stunner() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY
        .get_or_init(|| interop_tests::binary::find("STUNNER_BIN", "stunner-standalone", "stunner"))
}
