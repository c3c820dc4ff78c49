//! The server under test as the kernel sees it: CPU time, memory, the core it runs on.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};

/// Which core does what. Both sides of a comparison get the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The core of the generator.
    pub generator: usize,
    /// The core of whichever server is measured, all its threads together.
    pub server: usize,
}

/// A child process that ends with this value.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a program, on one core if asked to.
    pub fn spawn(program: &str, arguments: &[String], core: Option<usize>) -> io::Result<Process> {
        let mut command = match core {
            Some(core) => {
                // taskset replaces itself by the program, so the process id is the server's.
                let mut command = Command::new("taskset");
                command.args(["-c", &core.to_string(), program]);
                command
            }
            None => Command::new(program),
        };
        let log = if std::env::var_os("RELAY_BENCH_SERVER_LOG").is_some() {
            Stdio::inherit
        } else {
            Stdio::null
        };
        let child = command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()?;
        Ok(Process { child })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Nanoseconds on a CPU, all threads together. Finer than the clock ticks of `stat`: the
    /// scheduler counts every switch.
    pub fn cpu_nanos(&self) -> io::Result<u64> {
        let mut total = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            total += parse_schedstat(&text).ok_or(io::ErrorKind::InvalidData)?;
        }
        Ok(total)
    }

    /// Resident memory in bytes.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        parse_resident(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Moves all threads of this process to one core.
pub fn pin_self(core: usize) -> io::Result<()> {
    let status = Command::new("taskset")
        .args(["-a", "-c", "-p"])
        .arg(core.to_string())
        .arg(std::process::id().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other("taskset failed"))
    }
}

/// Cores of the machine, however few of them this process is pinned to.
pub fn count_cores() -> usize {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpuinfo
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count()
        .max(1)
}

/// The load average of the last minute, by which a reader can judge how quiet the machine was.
pub fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Raises the limit of open files of this process and its children to what the system allows; each
/// allocation is a socket on either side.
pub fn allow_many_files() {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let Some(hard) = parse_hard_file_limit(&limits) else {
        return;
    };
    // Failure leaves the limit as it is, and a socket that cannot be opened says so.
    let _ = Command::new("prlimit")
        .args(["--pid", &std::process::id().to_string()])
        .arg(format!("--nofile={hard}:{hard}"))
        .status();
}

/// The CPU's model name and the kernel's release, for the report.
pub fn machine() -> (String, String) {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown", |(_, model)| model);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    (model.to_owned(), kernel.trim().to_owned())
}

/// The first of three numbers: time on a CPU in nanoseconds.
fn parse_schedstat(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

fn parse_hard_file_limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn parse_resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_texts_are_read() {
        assert_eq!(parse_schedstat("517598 38157 1\n"), Some(517_598));
        assert_eq!(parse_schedstat(""), None);
        let limits = "Max processes  1  2  processes\nMax open files   1024   20000   files\n";
        assert_eq!(parse_hard_file_limit(limits), Some(20_000));
        let status = "Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t 1 kB\n";
        assert_eq!(parse_resident(status), Some(2 << 20));
    }

    #[test]
    fn a_busy_child_uses_cpu_time_and_ends_with_its_handle() {
        let arguments = ["-c".to_owned(), "while :; do :; done".to_owned()];
        let process = Process::spawn("sh", &arguments, None).unwrap();
        let id = process.id();
        std::thread::sleep(std::time::Duration::from_millis(60));
        assert!(process.cpu_nanos().unwrap() > 1_000_000);
        assert!(process.resident_bytes().unwrap() > 100_000);
        drop(process);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }
}
