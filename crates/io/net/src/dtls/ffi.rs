//! The few OpenSSL functions that the bindings leave out.

use std::ffi::{c_int, c_long, c_void};
use std::ptr::NonNull;
use std::time::Duration;

use foreign_types::ForeignTypeRef;
use openssl::error::ErrorStack;
use openssl::ssl::{SslRef, SslStream};
use openssl_sys::{SSL, SSL_ctrl};

const DTLS_CTRL_GET_TIMEOUT: c_int = 73;
const DTLS_CTRL_HANDLE_TIMEOUT: c_int = 74;

/// OpenSSL's own, of unknown layout.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "the C name")]
struct BIO_ADDR {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn DTLSv1_listen(ssl: *mut SSL, client: *mut BIO_ADDR) -> c_int;
    fn BIO_ADDR_new() -> *mut BIO_ADDR;
    fn BIO_ADDR_free(addr: *mut BIO_ADDR);
    fn SSL_free_buffers(ssl: *mut SSL) -> c_int;
    fn SSL_alloc_buffers(ssl: *mut SSL) -> c_int;
}

/// Room where [`listen`] may note the client's address, which it cannot know here.
#[derive(Debug)]
pub(super) struct AddrRoom(NonNull<BIO_ADDR>);

// SAFETY: plain memory owned by this value.
unsafe impl Send for AddrRoom {}

impl AddrRoom {
    pub(super) fn new() -> Result<Self, ErrorStack> {
        // SAFETY: allocates, no arguments.
        NonNull::new(unsafe { BIO_ADDR_new() })
            .map(Self)
            .ok_or_else(ErrorStack::get)
    }
}

impl Drop for AddrRoom {
    fn drop(&mut self) {
        // SAFETY: allocated by `BIO_ADDR_new`, freed once.
        unsafe { BIO_ADDR_free(self.0.as_ptr()) };
    }
}

/// Mutable access to what a stream wraps, which the bindings give only at its making.
pub(super) fn ssl_mut<S>(stream: &mut SslStream<S>) -> &mut SslRef {
    // SAFETY: the pointer is valid as long as the stream, and `&mut` makes it exclusive.
    unsafe { SslRef::from_ptr_mut(stream.ssl().as_ptr()) }
}

/// Whether the datagram waiting in `ssl`'s transport was a ClientHello with a valid cookie. If it
/// was one without, the answer to it has been written.
pub(super) fn listen(ssl: &mut SslRef, room: &mut AddrRoom) -> bool {
    // SAFETY: both pointers are valid and exclusively ours for the call.
    let result = unsafe { DTLSv1_listen(ssl.as_ptr(), room.0.as_ptr()) };
    forget_errors();
    result == 1
}

/// Time until the handshake flight must be sent again; `None` when no timer runs.
pub(super) fn time_left(ssl: &SslRef) -> Option<Duration> {
    let mut left = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let room: *mut c_void = (&raw mut left).cast();
    // SAFETY: this control writes one `timeval` and changes nothing else.
    let running: c_long = unsafe { SSL_ctrl(ssl.as_ptr(), DTLS_CTRL_GET_TIMEOUT, 0, room) };
    (running == 1).then(|| {
        let seconds = u64::try_from(left.tv_sec).unwrap_or(0);
        let micros = u64::try_from(left.tv_usec).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    })
}

/// Sends the flight again if its time has come; `false` when it was sent too often.
pub(super) fn handle_timeout(ssl: &mut SslRef) -> bool {
    // SAFETY: this control takes no argument.
    let result = unsafe {
        SSL_ctrl(
            ssl.as_ptr(),
            DTLS_CTRL_HANDLE_TIMEOUT,
            0,
            std::ptr::null_mut(),
        )
    };
    forget_errors();
    result >= 0
}

/// Frees the record buffers, about 33 KiB. [`alloc_buffers`] has to come before anything else then:
/// OpenSSL's DTLS writes to a buffer that is not there.
pub(super) fn free_buffers(ssl: &mut SslRef) -> bool {
    // SAFETY: `ssl` is valid and exclusively ours; OpenSSL refuses while a buffer is in use.
    unsafe { SSL_free_buffers(ssl.as_ptr()) == 1 }
}

/// Brings the record buffers back; `false` when memory is short.
pub(super) fn alloc_buffers(ssl: &mut SslRef) -> bool {
    // SAFETY: `ssl` is valid and exclusively ours; buffers that are there stay.
    unsafe { SSL_alloc_buffers(ssl.as_ptr()) == 1 }
}

/// Empties this thread's error queue, which `SSL_get_error` would otherwise blame on a later call.
pub(super) fn forget_errors() {
    drop(ErrorStack::get());
}
