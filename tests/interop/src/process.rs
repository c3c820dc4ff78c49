//! A child process whose output is kept, shown when a test fails, and which never outlives the test.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Signals that no test sends: the process did it to itself.
const CRASHES: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
];

/// How long the rest of a log may take after the end.
const LAST_WORDS: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    /// They end with the pipes.
    collectors: Vec<JoinHandle<()>>,
    /// Show the log when dropped during a panic.
    show: bool,
}

impl Process {
    /// Starts `command` with both outputs captured line by line. It ends with the calling thread at the latest.
    pub fn start(name: &str, mut command: Command) -> std::io::Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        die_with_parent(&mut command);
        let mut child = command.spawn()?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let out = child.stdout.take().map(|out| collect(out, log.clone()));
        let err = child.stderr.take().map(|err| collect(err, log.clone()));
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
            collectors: out.into_iter().chain(err).collect(),
            show: true,
        })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: libc::c_int) {
        signal_process(self.child.id(), signal);
    }

    /// The exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for the end, and for all of its log.
    pub fn wait_end(&mut self, patience: Duration) -> Option<ExitStatus> {
        let mut status = None;
        wait_until(patience, || {
            status = self.ended();
            status.is_some()
        });
        if status.is_some() {
            // Children of its own that go on hold the pipes open.
            let collectors = &self.collectors;
            wait_until(LAST_WORDS, || {
                collectors.iter().all(JoinHandle::is_finished)
            });
        }
        status
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("log lock").clone()
    }

    pub fn log_contains(&self, text: &str) -> bool {
        self.log
            .lock()
            .expect("log lock")
            .iter()
            .any(|line| line.contains(text))
    }

    pub fn wait_log(&self, text: &str, patience: Duration) -> bool {
        wait_until(patience, || self.log_contains(text))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let crash = self
            .ended()
            .and_then(|status| status.signal())
            .filter(|signal| CRASHES.contains(signal));
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(signal) = crash {
            eprintln!(
                "---- {} (pid {}) crashed with signal {signal}",
                self.name,
                self.child.id()
            );
            // A test must not pass over a crash that none of its own checks has seen.
            assert!(
                std::thread::panicking(),
                "{} crashed with signal {signal}",
                self.name
            );
        }
        if std::thread::panicking() && self.show {
            // The collectors may still be reading what was in the pipe.
            std::thread::sleep(Duration::from_millis(50));
            let log = self.log();
            let from = log.len().saturating_sub(200);
            eprintln!(
                "---- {} (pid {}): last {} of {} lines",
                self.name,
                self.child.id(),
                log.len() - from,
                log.len()
            );
            for line in &log[from..] {
                eprintln!("| {:.400}", line);
            }
        }
    }
}

fn collect(stream: impl Read + Send + 'static, log: Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            log.lock().expect("log lock").push(line);
            bytes.clear();
        }
    })
}

/// Polls `check` until it holds or `patience` is over.
pub fn wait_until(patience: Duration, mut check: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if check() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a program that ran to its end printed and how it ended.
#[derive(Debug)]
pub struct Finished {
    pub status: Option<ExitStatus>,
    pub output: String,
}

impl Finished {
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Panics with the whole output unless the program ended with code 0.
    #[track_caller]
    pub fn expect_success(self, what: &str) -> String {
        match self.code() {
            Some(0) => self.output,
            Some(code) => panic!("{what}: exit code {code}\n{}", self.output),
            None => panic!("{what}: killed or out of time\n{}", self.output),
        }
    }
}

/// Runs `command` to its end, at most `patience`; standard output and error end up in one text.
pub fn run(name: &str, command: Command, patience: Duration) -> Finished {
    let mut process = match Process::start(name, command) {
        Ok(process) => process,
        Err(error) => panic!("cannot start {name}: {error}"),
    };
    process.show = false;
    let status = process.wait_end(patience);
    let output = process.log().join("\n");
    Finished { status, output }
}

#[expect(
    unsafe_code,
    reason = "kill(2) and prctl(2) have no safe form in the standard library"
)]
mod raw {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    pub fn signal_process(pid: u32, signal: libc::c_int) {
        // SAFETY: kill takes two integers; a process that is gone gives an error, which is fine here.
        unsafe { libc::kill(pid as libc::pid_t, signal) };
    }

    /// Kills a process that leads a group, and all of the group.
    pub fn kill_group(leader: u32) {
        // SAFETY: as above.
        unsafe { libc::kill(-(leader as libc::pid_t), libc::SIGKILL) };
    }

    /// Asks the kernel to kill the child when the thread that starts it ends, however it ends.
    pub fn die_with_parent(command: &mut Command) {
        // SAFETY: prctl with PR_SET_PDEATHSIG is async-signal-safe and touches no memory.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
    }
}
use raw::die_with_parent;
pub use raw::{kill_group, signal_process};
