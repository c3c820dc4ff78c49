//! The program under test.

use std::path::Path;

use interop_tests::binary::find;
pub use interop_tests::binary::root;

/// The binary: `STUNNER_BIN`, else built with cargo in the profile of the test itself.
pub fn stunner() -> &'static Path {
    find("STUNNER_BIN", "stunner-standalone", "stunner")
}
