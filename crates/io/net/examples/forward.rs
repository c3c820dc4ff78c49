//! A bare UDP forwarder and a sender to measure it with: what relaying a datagram costs without
//! any TURN logic, the floor of the relay benchmark.
//!
//! ```text
//! cargo run --release -p stunner-net --example forward -- [--gro=off] [--gso=off] [--burst=4]
//!     [--size=1200] [--flows=10] [--seconds=3] [--rate=40000] [--prefix=0] [--ends=plain]
//! ```
//!
//! Each flow has a relay socket and a sender's socket of its own, as TURN allocations do. A sender
//! thread sends bursts to a listener socket in turn; the forwarder reads them, passes each flow's
//! datagrams on from its relay socket to a sink, and prints its CPU time per datagram.
//!
//! With `--ends=plain` sender and sink use one system call per datagram and no offload, as common
//! clients do; loopback then never groups datagrams on the way in. With `--ends=offload` both use
//! what the forwarder uses, which stands for a network card that groups and segments.

use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use stunner_net::poll::{Events, Interest, Poller, Token};
use stunner_net::udp::{RecvBatch, SendBatch, SendReport, UdpOptions, UdpSocket};

struct Settings {
    gro: bool,
    gso: bool,
    burst: usize,
    size: usize,
    flows: usize,
    seconds: u64,
    /// Datagrams per second over all flows.
    rate: u64,
    /// Bytes put before each payload, as a ChannelData header would be.
    prefix: usize,
    /// Whether sender and sink use segmentation and grouping.
    offload_ends: bool,
}

impl Settings {
    fn from_args() -> Result<Self, Box<dyn Error>> {
        let mut settings = Self {
            gro: true,
            gso: true,
            burst: 4,
            size: 1200,
            flows: 10,
            seconds: 3,
            rate: 40_000,
            prefix: 0,
            offload_ends: false,
        };
        for arg in std::env::args().skip(1) {
            let (name, value) = arg.split_once('=').ok_or("use --name=value")?;
            match name {
                "--gro" => settings.gro = value == "on",
                "--gso" => settings.gso = value == "on",
                "--burst" => settings.burst = value.parse()?,
                "--size" => settings.size = value.parse()?,
                "--flows" => settings.flows = value.parse()?,
                "--seconds" => settings.seconds = value.parse()?,
                "--rate" => settings.rate = value.parse()?,
                "--ends" => settings.offload_ends = value == "offload",
                "--prefix" => settings.prefix = value.parse()?,
                _ => return Err(format!("unknown option `{name}`").into()),
            }
        }
        Ok(settings)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::from_args()?;
    let loopback: SocketAddr = "127.0.0.1:0".parse()?;
    let options = UdpOptions {
        gro: settings.gro,
        ..UdpOptions::listener()
    };
    let listener = UdpSocket::bind("0.0.0.0:0".parse()?, &options)?;
    let target = SocketAddr::new(loopback.ip(), listener.local_addr().port());
    let options = UdpOptions {
        gro: settings.offload_ends,
        ..UdpOptions::listener()
    };
    let sink = UdpSocket::bind(loopback, &options)?;
    let mut relays = Vec::new();
    let mut senders = Vec::new();
    let mut relay_by_sender = HashMap::new();
    for index in 0..settings.flows {
        let sender = UdpSocket::bind(loopback, &UdpOptions::relay())?;
        let relay = UdpSocket::bind(loopback, &UdpOptions::relay())?;
        relay.set_segmentation(settings.gso);
        relay_by_sender.insert(sender.local_addr(), index);
        senders.push(sender);
        relays.push(relay);
    }
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| send(&settings, &senders, target, &stop, &sent));
        scope.spawn(|| drain(&sink, &stop));
        let result = forward(
            &settings,
            &listener,
            &relays,
            &relay_by_sender,
            sink.local_addr(),
        );
        stop.store(true, Relaxed);
        result
    })?;
    println!(
        "offered {} datagrams, {} dropped before the forwarder",
        sent.load(Relaxed),
        listener.kernel_drops()?
    );
    Ok(())
}

fn forward(
    settings: &Settings,
    listener: &UdpSocket,
    relays: &[UdpSocket],
    relay_by_sender: &HashMap<SocketAddr, usize>,
    sink: SocketAddr,
) -> std::io::Result<()> {
    let poller = Poller::new()?;
    poller.add(listener, Token(0), Interest::Readable)?;
    let mut events = Events::with_capacity(16);
    let mut received = RecvBatch::new(64)?;
    let mut storage = SendBatch::new();
    let prefix = vec![0x40; settings.prefix];
    let (mut report, mut reads) = (SendReport::default(), 0_u64);
    let (start, cpu) = (Instant::now(), thread_cpu());
    while start.elapsed() < Duration::from_secs(settings.seconds) {
        poller.wait(&mut events, Some(Duration::from_millis(100)))?;
        loop {
            let count = received.recv(listener, 0, 64)?;
            reads += 1;
            let mut out = storage.begin();
            let mut current = None;
            for slot in 0..count {
                let group = received.get(slot);
                let Some(index) = relay_by_sender.get(&group.from).copied() else {
                    continue;
                };
                if let Some(last) = current.replace(index)
                    && last != index
                {
                    report += out.flush(&relays[last]);
                }
                for datagram in group.datagrams() {
                    // Cannot be too big: it came in as one datagram.
                    let _ = out.push(sink, None, &prefix, datagram, 0);
                }
            }
            if let Some(last) = current {
                report += out.flush(&relays[last]);
            }
            if count < 64 {
                break;
            }
        }
    }
    let cpu = thread_cpu() - cpu;
    println!(
        "gro {} gso {} burst {}: {:.2} µs CPU per datagram, {} forwarded, {} dropped, {:.1} per read, {:.1} per send call",
        settings.gro,
        settings.gso,
        settings.burst,
        cpu.as_secs_f64() * 1e6 / report.sent.max(1) as f64,
        report.sent,
        report.dropped(),
        report.sent as f64 / reads.max(1) as f64,
        report.sent as f64 / report.calls.max(1) as f64,
    );
    Ok(())
}

/// Sends bursts at the rate asked for, one flow after the other.
fn send(
    settings: &Settings,
    senders: &[UdpSocket],
    target: SocketAddr,
    stop: &AtomicBool,
    sent: &AtomicU64,
) {
    let payload = vec![7; settings.size];
    let mut storage = SendBatch::new();
    let start = Instant::now();
    let mut due = 0_u64;
    for sender in senders.iter().cycle() {
        if stop.load(Relaxed) {
            return;
        }
        let when = Duration::from_nanos(due * 1_000_000_000 / settings.rate.max(1));
        if let Some(wait) = when.checked_sub(start.elapsed()) {
            std::thread::sleep(wait);
        }
        let mut report = SendReport::default();
        let mut out = storage.begin();
        for _ in 0..settings.burst {
            // The size comes from the command line; one too big is simply not sent.
            let _ = out.push(target, None, &[], &payload, 0);
            if !settings.offload_ends {
                report += out.flush(sender);
            }
        }
        report += out.flush(sender);
        sent.fetch_add(report.sent, Relaxed);
        due += settings.burst as u64;
    }
}

/// Reads and forgets, with pauses: a reader that sleeps in the kernel would be woken for every
/// datagram, at the forwarder's cost.
fn drain(sink: &UdpSocket, stop: &AtomicBool) {
    let Ok(mut received) = RecvBatch::new(64) else {
        return;
    };
    while !stop.load(Relaxed) {
        while received.recv(sink, 0, 64).is_ok_and(|count| count > 0) {}
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// CPU time this thread has used, user and system.
fn thread_cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
