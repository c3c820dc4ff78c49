//! Anonymous memory straight from the kernel: zeroed, page-aligned and touched lazily, so that a
//! large receive area costs only the pages that packets have really used.

use std::io;
use std::ptr::NonNull;

/// An anonymous private mapping, unmapped on drop.
///
/// Only raw pointers into it are handed out, which lets kernel structures inside it point at each
/// other while the owner moves.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory owned by this value; nothing about it is tied to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    pub(crate) fn new(len: usize) -> io::Result<Self> {
        let len = len.max(1);
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    /// A pointer to `offset`, which must be inside the mapping.
    pub(crate) fn at<T>(&self, offset: usize) -> *mut T {
        assert!(offset < self.len);
        // SAFETY: `offset` is inside the mapping (asserted).
        unsafe { self.start.as_ptr().add(offset).cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `len` are those of a live mapping that nobody else unmaps.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
