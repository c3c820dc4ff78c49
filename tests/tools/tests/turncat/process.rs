//! A running `turncat`, with its standard streams at hand.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use interop_tests::binary::find;
use interop_tests::process::{signal_process, wait_until};

pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn binary() -> &'static Path {
    find("TURNCAT_BIN", "turncat", "turncat")
}

pub struct Turncat {
    child: Child,
    stdout: Arc<Mutex<Vec<u8>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

/// What a `turncat` that has ended has left.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// How often something is counted in a report, such as `allocation` in `2 allocations, 1 reconnection`.
pub fn counted(report: &str, what: &str) -> u64 {
    let items = report.split([',', ';', '\n']);
    let numbers = items.filter_map(|item| {
        let (number, unit) = item.trim().split_once(' ')?;
        let fits = unit == what || unit.strip_suffix('s') == Some(what);
        number.parse::<u64>().ok().filter(|_| fits)
    });
    numbers.sum()
}

/// It failed, told why and what to do, and showed no password.
#[track_caller]
pub fn expect_problem(ended: &Ended, error: &str, hint: &str) {
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains(&format!("error: {error}")),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("\nhint: ") && ended.stderr.contains(hint),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("pa55w0rd"), "{}", ended.stderr);
    assert!(ended.stdout.is_empty());
}

impl Turncat {
    pub fn start(arguments: &[&str]) -> Turncat {
        Turncat::start_with(arguments, &[])
    }

    pub fn start_with(arguments: &[&str], env: &[(&str, &str)]) -> Turncat {
        Turncat::start_onto(Stdio::piped(), arguments, env)
    }

    /// With a standard output of the test's own, if it is not a pipe to collect from.
    pub fn start_onto(
        stdout: impl Into<Stdio>,
        arguments: &[&str],
        env: &[(&str, &str)],
    ) -> Turncat {
        let mut command = Command::new(binary());
        // What the machine has of its own must not decide a test.
        command
            .args(arguments)
            .env("HOME", "/nonexistent")
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("start turncat");
        let (stdout, stderr) = (Arc::default(), Arc::default());
        let mut readers = vec![collect(child.stderr.take().expect("piped"), &stderr)];
        readers.extend(child.stdout.take().map(|from| collect(from, &stdout)));
        Turncat {
            child,
            stdout,
            stderr,
            readers,
        }
    }

    /// Waits until clients are served; the near end with the port that was bound.
    #[track_caller]
    pub fn ready(&mut self) -> String {
        self.wait_stderr(" leads through ");
        let text = self.stderr();
        let line = text.lines().find(|line| line.contains(" leads through "));
        let words = line.and_then(|line| line.split_whitespace().nth(1));
        words.expect("a line that names the near end").to_owned()
    }

    #[track_caller]
    pub fn wait_stderr(&mut self, text: &str) {
        let seen = wait_until(PATIENCE, || {
            self.stderr().contains(text) || self.child.try_wait().is_ok_and(|end| end.is_some())
        });
        // The reader may be behind the end of the process.
        let seen = seen && wait_until(Duration::from_secs(1), || self.stderr().contains(text));
        assert!(seen, "no `{text}` in: {}", self.stderr());
    }

    pub fn stderr(&self) -> String {
        let bytes = self.stderr.lock().expect("lock");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn stdout(&self) -> Vec<u8> {
        self.stdout.lock().expect("lock").clone()
    }

    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) {
        let stdin = self.child.stdin.as_mut().expect("standard input is open");
        stdin.write_all(bytes).expect("write to turncat");
        stdin.flush().expect("flush");
    }

    pub fn close_stdin(&mut self) {
        self.child.stdin = None;
    }

    pub fn signal(&self, signal: i32) {
        signal_process(self.child.id(), signal);
    }

    /// Waits for the end.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let mut status = None;
        wait_until(PATIENCE, || {
            status = self.child.try_wait().expect("wait");
            status.is_some()
        });
        let Some(status) = status else {
            panic!("turncat does not end: {}", self.stderr());
        };
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        Ended {
            code: status.code(),
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }

    /// Ends it as a terminal does.
    #[track_caller]
    pub fn interrupt(self) -> Ended {
        self.signal(libc::SIGINT);
        self.end()
    }
}

impl Drop for Turncat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("---- turncat: {}", self.stderr());
        }
    }
}

fn collect(mut stream: impl Read + Send + 'static, into: &Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    let into = Arc::clone(into);
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let mut bytes = into.lock().expect("lock");
            bytes.extend_from_slice(&buffer[..length]);
        }
    })
}
