//! The `process_*` families, read from `/proc` at scrape time. A file that cannot be read leaves its family out.

use std::fs;

use super::{Family, exposition, names};

/// The kernel reports CPU time in this many ticks per second to every program (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn write(out: &mut String) {
    let mut emit = |family: &Family, value: Option<f64>| {
        if let Some(value) = value {
            exposition::header(out, family.name, family.help, family.kind);
            exposition::sample(out, family.name, "", &[], None, value);
        }
    };
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let (stat, status, limits) = (
        read("/proc/self/stat"),
        read("/proc/self/status"),
        read("/proc/self/limits"),
    );
    let network = read("/proc/self/net/netstat");
    let ticks = |field| stat_field(&stat, field).map(|ticks| ticks / TICKS_PER_SECOND);

    emit(
        &names::PROCESS_CPU_SECONDS,
        ticks(UTIME)
            .zip(ticks(STIME))
            .map(|(user, system)| user + system),
    );
    emit(&names::PROCESS_MAX_FDS, limit(&limits, "Max open files"));
    emit(
        &names::PROCESS_NETWORK_RECEIVE_BYTES,
        ip_octets(&network, "InOctets"),
    );
    emit(
        &names::PROCESS_NETWORK_TRANSMIT_BYTES,
        ip_octets(&network, "OutOctets"),
    );
    // The directory handle of the count itself is not one of the program's.
    emit(
        &names::PROCESS_OPEN_FDS,
        fs::read_dir("/proc/self/fd")
            .ok()
            .map(|dir| dir.count().saturating_sub(1) as f64),
    );
    emit(
        &names::PROCESS_RESIDENT_MEMORY,
        kilobytes(&status, "VmRSS:"),
    );
    emit(
        &names::PROCESS_START_TIME,
        ticks(STARTTIME)
            .zip(boot_time(&read("/proc/stat")))
            .map(|(t, boot)| boot + t),
    );
    emit(
        &names::PROCESS_VIRTUAL_MEMORY,
        kilobytes(&status, "VmSize:"),
    );
    emit(
        &names::PROCESS_VIRTUAL_MEMORY_MAX,
        limit(&limits, "Max address space"),
    );
}

// Fields of /proc/<pid>/stat as proc_pid_stat(5) numbers them.
const UTIME: usize = 14;
const STIME: usize = 15;
const STARTTIME: usize = 22;

fn stat_field(stat: &str, number: usize) -> Option<f64> {
    // Field 2 is the program's name in parentheses, which may itself hold spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number - 3)?.parse().ok()
}

fn kilobytes(status: &str, key: &str) -> Option<f64> {
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(
        value
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<f64>()
            .ok()?
            * 1024.0,
    )
}

/// The soft limit. "Unlimited" is shown as the largest number, as Prometheus' own client libraries do.
fn limit(limits: &str, key: &str) -> Option<f64> {
    let soft = limits
        .lines()
        .find_map(|line| line.strip_prefix(key))?
        .split_ascii_whitespace()
        .next()?;
    if soft == "unlimited" {
        Some(u64::MAX as f64)
    } else {
        soft.parse().ok()
    }
}

fn boot_time(stat: &str) -> Option<f64> {
    stat.lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .trim()
        .parse()
        .ok()
}

/// A column of the `IpExt:` pair of lines, names above values.
fn ip_octets(netstat: &str, column: &str) -> Option<f64> {
    let mut lines = netstat
        .lines()
        .filter_map(|line| line.strip_prefix("IpExt:"));
    let at = lines
        .next()?
        .split_ascii_whitespace()
        .position(|name| name == column)?;
    lines.next()?.split_ascii_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_after_a_program_name_with_spaces_and_parentheses() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 3 0 1234 999 88";
        assert_eq!(stat_field(stat, UTIME), Some(250.0));
        assert_eq!(stat_field(stat, STIME), Some(50.0));
        assert_eq!(stat_field(stat, STARTTIME), Some(1234.0));
    }

    #[test]
    fn an_unlimited_resource_shows_as_the_largest_number() {
        let limits = "Limit   Soft Limit  Hard Limit  Units\n\
                      Max open files            1024                 524288               files\n\
                      Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(
            limit(limits, "Max address space"),
            Some(18446744073709551615.0)
        );
    }

    #[test]
    fn this_process_shows_every_family() {
        let mut text = String::new();
        write(&mut text);
        let process = names::ALL
            .last()
            .map(|section| section.families)
            .unwrap_or_default();
        for family in process {
            assert!(
                text.contains(&format!("\n{} ", family.name)),
                "{} is missing in\n{text}",
                family.name
            );
        }
    }

    #[test]
    fn unreadable_input_leaves_a_family_out() {
        assert_eq!(stat_field("", UTIME), None);
        assert_eq!(kilobytes("VmRSS: many", "VmRSS:"), None);
        assert_eq!(ip_octets("IpExt: InOctets\n", "InOctets"), None);
    }
}
