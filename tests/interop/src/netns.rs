//! Network namespaces: two joined by a veth pair, one for the server and one for the client, or one alone that has
//! whatever addresses a test needs.
//!
//! Browsers gather no candidates on loopback, and a real link between two hosts finds what loopback hides. The
//! namespaces are the test's own and go when it ends.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::skip::{self, Missing};

pub const SERVER: &str = "10.123.0.1";
pub const CLIENT: &str = "10.123.0.2";

#[derive(Debug)]
pub struct Link {
    server: String,
    client: String,
}

impl Link {
    /// Needs root and `ip`; says what is missing otherwise.
    pub fn create() -> Result<Self, Missing> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        skip::program("ip", "iproute2")?;
        let id = format!(
            "{}x{}",
            std::process::id(),
            SERIAL.fetch_add(1, Ordering::Relaxed)
        );
        let link = Self {
            server: format!("stsrv{id}"),
            client: format!("stcli{id}"),
        };
        for name in [&link.server, &link.client] {
            ip(&["netns", "add", name]).map_err(|why| Missing::new("network namespaces", why))?;
        }
        let (server, client) = (link.server.as_str(), link.client.as_str());
        let steps: [&[&str]; 9] = [
            &[
                "-n", server, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0",
                "netns", client,
            ],
            &["-n", server, "link", "set", "lo", "up"],
            &["-n", client, "link", "set", "lo", "up"],
            &["-n", server, "addr", "add", "10.123.0.1/24", "dev", "eth0"],
            &["-n", client, "addr", "add", "10.123.0.2/24", "dev", "eth0"],
            &["-n", server, "link", "set", "eth0", "up"],
            &["-n", client, "link", "set", "eth0", "up"],
            &["-n", server, "route", "add", "default", "via", CLIENT],
            &["-n", client, "route", "add", "default", "via", SERVER],
        ];
        for step in steps {
            ip(step).map_err(|why| Missing::new("a veth pair", why))?;
        }
        Ok(link)
    }

    /// Runs `work` on a thread of its own inside the server's namespace. Sockets that it opens and processes
    /// that it starts live there.
    pub fn on_server<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        inside(&self.server, work)
    }

    pub fn on_client<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        inside(&self.client, work)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for name in [&self.server, &self.client] {
            let _ = ip(&["netns", "delete", name]);
        }
    }
}

/// A host without a network: every port is free, and addresses that a recording names can be its own.
#[derive(Debug)]
pub struct Host {
    name: String,
}

impl Host {
    /// Needs root and `ip`; says what is missing otherwise. The addresses come to the loopback device.
    pub fn with_addresses(addresses: &[&str]) -> Result<Self, Missing> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        skip::program("ip", "iproute2")?;
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let host = Self {
            name: format!("sthost{}x{serial}", std::process::id()),
        };
        let name = host.name.as_str();
        ip(&["netns", "add", name]).map_err(|why| Missing::new("network namespaces", why))?;
        ip(&["-n", name, "link", "set", "lo", "up"])
            .map_err(|why| Missing::new("a loopback device", why))?;
        for address in addresses {
            ip(&["-n", name, "addr", "add", address, "dev", "lo"])
                .map_err(|why| Missing::new("addresses of a loopback device", why))?;
        }
        Ok(host)
    }

    /// Runs `work` on a thread of its own in there. Threads and processes that it starts live there too, the
    /// processes no longer than `work`.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        inside(&self.name, work)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let out = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| error.to_string())?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!(
        "ip {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&out.stderr).trim()
    ))
}

fn inside<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> T {
    let file = File::open(format!("/run/netns/{name}")).expect("open namespace");
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            enter(&file);
            work()
        });
        match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[expect(
    unsafe_code,
    reason = "setns(2) has no safe form in the standard library"
)]
fn enter(namespace: &File) {
    // SAFETY: setns takes a descriptor that `namespace` keeps open, and a flag.
    let result = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    assert_eq!(result, 0, "setns: {}", std::io::Error::last_os_error());
}
