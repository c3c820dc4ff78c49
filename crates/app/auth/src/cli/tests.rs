//! Command line in, options or terminal text out.
