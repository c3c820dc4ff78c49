//! What the host gives us: addresses, CPUs, file descriptors.

use std::io;
use std::net::IpAddr;
use std::num::NonZero;

use crate::sockaddr::RawAddr;

/// The addresses of all interfaces that are up, each once, loopback included.
pub fn local_addresses() -> io::Result<Vec<IpAddr>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: on success `list` is a linked list that we free below.
    if unsafe { libc::getifaddrs(&mut list) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut addresses = Vec::new();
    let mut next = list;
    // SAFETY: the list is valid until freed; its links end with null.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        if entry.ifa_flags & libc::IFF_UP as libc::c_uint == 0 {
            continue;
        }
        // SAFETY: the address is null or valid for the size of its family.
        if let Some(ip) = unsafe { address(entry.ifa_addr) }
            && !addresses.contains(&ip)
        {
            addresses.push(ip);
        }
    }
    // SAFETY: from `getifaddrs`, freed once, no reference into it is left.
    unsafe { libc::freeifaddrs(list) };
    Ok(addresses)
}

/// # Safety
/// `raw` is null or points to a socket address that is as long as its family says.
unsafe fn address(raw: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null or valid, says the caller.
    let family = libc::c_int::from(unsafe { raw.as_ref() }?.sa_family);
    let len = match family {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        _ => return None,
    };
    let mut copy = RawAddr::ZERO;
    // SAFETY: `len` bytes are readable, says the caller, and `copy` is at least as large.
    unsafe {
        std::ptr::copy_nonoverlapping(raw.cast::<u8>(), (&raw mut copy).cast::<u8>(), len);
    }
    Some(copy.decode().ip())
}

/// CPUs this process may use: the least of those online, its affinity mask and the CPU quota of
/// its cgroups (v1 and v2, whole CPUs, at least one). The standard library looks at all of them.
#[must_use]
pub fn cpus_granted() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Raises the limit of open files to the hard limit, since each allocation and connection takes
/// one, and returns the limit now in force.
pub fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: writes one `rlimit`.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: reads one `rlimit`.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_among_the_local_addresses() {
        let addresses = local_addresses().unwrap();
        assert!(
            addresses.contains(&"127.0.0.1".parse().unwrap()),
            "{addresses:?}"
        );
        let mut unique = addresses.clone();
        unique.dedup();
        assert_eq!(unique.len(), addresses.len());
    }

    #[test]
    fn at_least_one_cpu_and_the_hard_limit_of_files_are_granted() {
        assert!(cpus_granted() >= 1);
        let limit = raise_open_files().unwrap();
        assert!(limit >= 1);
        assert_eq!(raise_open_files().unwrap(), limit);
    }
}
