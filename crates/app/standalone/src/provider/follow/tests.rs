//! Following real files in a scratch folder.
