//! Comprehension-required attributes a receiver does not know (RFC 8489 §6.3.1, §14.13).

use crate::attr;
use crate::message::Message;

/// How many kinds an UNKNOWN-ATTRIBUTES answer names. More than any honest client sends; the bound
/// keeps the answer small.
const LIMIT: usize = 16;

/// Unknown kinds in the order of their first appearance, each once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownAttributes {
    kinds: [u16; LIMIT],
    len: usize,
}

impl UnknownAttributes {
    pub fn as_slice(&self) -> &[u16] {
        &self.kinds[..self.len]
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.as_slice().iter().copied()
    }

    fn insert(&mut self, kind: u16) {
        if self.len < LIMIT && !self.as_slice().contains(&kind) {
            self.kinds[self.len] = kind;
            self.len += 1;
        }
    }
}

impl Message<'_> {
    /// The comprehension-required attributes that `known` does not claim. The integrity attributes
    /// are known to the codec itself.
    pub fn unknown_required(&self, known: impl Fn(u16) -> bool) -> UnknownAttributes {
        let mut unknown = UnknownAttributes {
            kinds: [0; LIMIT],
            len: 0,
        };
        for attribute in self.attributes() {
            let kind = attribute.kind;
            let ours = matches!(
                kind,
                attr::MESSAGE_INTEGRITY | attr::MESSAGE_INTEGRITY_SHA256
            );
            if attr::is_comprehension_required(kind) && !ours && !known(kind) {
                unknown.insert(kind);
            }
        }
        unknown
    }
}
