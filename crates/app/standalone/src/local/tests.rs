//! Pure parts.
