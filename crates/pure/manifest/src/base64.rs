//! Base64 as Kubernetes reads it: RFC 4648 with padding, line breaks skipped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let is_break = |byte: u8| matches!(byte, b'\r' | b'\n');
    if text.bytes().any(is_break) {
        let compact: Vec<u8> = text.bytes().filter(|&byte| !is_break(byte)).collect();
        return STANDARD.decode(compact).ok();
    }
    STANDARD.decode(text).ok()
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
