//! Datagrams that the kernel lost, which nobody else can be blamed for.

/// Datagrams that the kernel dropped for want of buffer space, over all sockets of this thread's network namespace.
pub fn kernel_drops() -> u64 {
    let v4 = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    let mut lines = v4.lines().filter(|line| line.starts_with("Udp:"));
    let (names, values) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    let v4: u64 = names
        .split_whitespace()
        .zip(values.split_whitespace())
        .filter(|(name, _)| *name == "RcvbufErrors" || *name == "SndbufErrors")
        .filter_map(|(_, value)| value.parse::<u64>().ok())
        .sum();
    let v6 = std::fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
    let v6: u64 = v6
        .lines()
        .filter(|line| line.starts_with("Udp6RcvbufErrors") || line.starts_with("Udp6SndbufErrors"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    v4 + v6
}
