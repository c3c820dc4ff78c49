//! Output templates in the JSONPath dialect of kubectl.

#![forbid(unsafe_code)]
