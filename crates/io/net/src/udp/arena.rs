//! Bytes that a batch holds itself: headers put before a payload, and whole small messages.

use std::io;

use crate::mapping::Mapping;

/// One chunk takes the largest datagram there is.
const CHUNK: usize = 65_536;

/// A bump allocator whose bytes never move; emptied between batches, its chunks stay.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: Vec<Mapping>,
    /// Chunks before this one are full.
    current: usize,
    used: usize,
}

impl Arena {
    pub(super) fn clear(&mut self) {
        self.current = 0;
        self.used = 0;
    }

    /// Copies `bytes` in; the pointer is good until [`clear`](Self::clear).
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<*const u8> {
        if self.used + bytes.len() > CHUNK {
            self.current += 1;
            self.used = 0;
        }
        if self.current >= self.chunks.len() {
            self.chunks.push(Mapping::new(CHUNK)?);
            self.current = self.chunks.len() - 1;
        }
        if bytes.len() > CHUNK {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if bytes.is_empty() {
            return Ok(std::ptr::NonNull::<u8>::dangling().as_ptr());
        }
        let to: *mut u8 = self.chunks[self.current].at(self.used);
        // SAFETY: `used + len` is within the chunk, and `bytes` cannot overlap it: references into
        // an arena are never handed out.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        self.used += bytes.len();
        Ok(to)
    }
}
