//! A config discovery service for tests: plain HTTP and WebSocket, as the Go clients know it.
//!
//! `GET /api/v1/configs/NS/NAME` answers the current config or 404; with `watch=true` and an upgrade, every config that
//! [`CdsServer::push`] is given goes out as one text frame. Requests and pings are recorded.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use sha1::{Digest, Sha1};

use crate::config::Config;
use crate::http::header;
use crate::ports::free_port;

#[derive(Debug, Default)]
struct Shared {
    current: Option<String>,
    watchers: Vec<TcpStream>,
    requests: Vec<String>,
    pings: u32,
    stopped: bool,
}

#[derive(Debug)]
pub struct CdsServer {
    port: u16,
    shared: Arc<Mutex<Shared>>,
    accepting: Option<JoinHandle<()>>,
}

impl CdsServer {
    pub fn start() -> Self {
        Self::start_on(free_port())
    }

    pub fn start_on(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("bind CDS");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let accepting = std::thread::spawn({
            let shared = shared.clone();
            move || {
                for stream in listener.incoming().flatten() {
                    if shared.lock().expect("lock").stopped {
                        return;
                    }
                    let shared = shared.clone();
                    std::thread::spawn(move || serve(stream, &shared));
                }
            }
        });
        Self {
            port,
            shared,
            accepting: Some(accepting),
        }
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Makes `config` the current one and sends it to every watcher.
    pub fn push(&self, config: &Config) {
        self.push_text(&config.0.to_string());
    }

    /// The same with any text, also a broken one.
    pub fn push_text(&self, text: &str) {
        let mut shared = self.shared.lock().expect("lock");
        shared.current = Some(text.to_owned());
        send_to_watchers(&mut shared, text);
    }

    /// The frame that tells of a deleted config: version, name and dummy credentials, nothing else.
    pub fn push_deletion(&self, name: &str) {
        let text = serde_json::json!({
            "version": "v1",
            "admin": { "name": name },
            "auth": { "type": "static", "credentials": { "username": "dummy-username", "password": "dummy-password" } },
        })
        .to_string();
        let mut shared = self.shared.lock().expect("lock");
        shared.current = None;
        send_to_watchers(&mut shared, &text);
    }

    /// Heads of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.shared.lock().expect("lock").requests.clone()
    }

    pub fn pings(&self) -> u32 {
        self.shared.lock().expect("lock").pings
    }

    pub fn watchers(&self) -> usize {
        self.shared.lock().expect("lock").watchers.len()
    }

    /// Cuts every connection; with the server itself this is how an operator dies.
    pub fn cut(&self) {
        for stream in self.shared.lock().expect("lock").watchers.drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for CdsServer {
    fn drop(&mut self) {
        self.shared.lock().expect("lock").stopped = true;
        self.cut();
        // Wakes the accept loop, which then ends and frees the port for the next one.
        let woken = TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        if let Some(accepting) = self.accepting.take()
            && woken
        {
            let _ = accepting.join();
        }
    }
}

fn send_to_watchers(shared: &mut Shared, text: &str) {
    let frame = text_frame(text);
    shared
        .watchers
        .retain_mut(|stream| stream.write_all(&frame).is_ok());
}

fn serve(mut stream: TcpStream, shared: &Mutex<Shared>) {
    let Some(head) = read_head(&mut stream) else {
        return;
    };
    shared.lock().expect("lock").requests.push(head.clone());
    let lower = head.to_ascii_lowercase();
    if header(&lower, "upgrade").is_some() {
        let key = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("sec-websocket-key")
                .then(|| value.trim().to_owned())
        });
        upgrade(&mut stream, &key.unwrap_or_default());
        watch(stream, shared);
        return;
    }
    let current = shared.lock().expect("lock").current.clone();
    let (status, body) = match current {
        Some(body) => ("200 OK", body),
        None => (
            "404 Not Found",
            r#"{"code":404,"message":"Config not found"}"#.to_owned(),
        ),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(answer.as_bytes());
}

fn read_head(stream: &mut TcpStream) -> Option<String> {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// RFC 6455 4.2.2.
fn upgrade(stream: &mut TcpStream, key: &str) {
    let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes());
    let accept = base64::engine::general_purpose::STANDARD.encode(digest);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    let _ = stream.write_all(answer.as_bytes());
}

/// Sends the current config, then answers pings until the client goes.
fn watch(mut stream: TcpStream, shared: &Mutex<Shared>) {
    {
        let mut shared = shared.lock().expect("lock");
        if let Some(text) = &shared.current {
            let _ = stream.write_all(&text_frame(text));
        }
        let Ok(writer) = stream.try_clone() else {
            return;
        };
        shared.watchers.push(writer);
    }
    let _ = stream.set_read_timeout(None);
    while let Some(opcode) = read_frame(&mut stream) {
        match opcode {
            // The original answers every ping with this text.
            0x9 => {
                let mut shared = shared.lock().expect("lock");
                shared.pings += 1;
                let _ = stream.write_all(b"\x8a\x09keepalive");
            }
            0x8 => break,
            _ => {}
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

/// Reads one client frame away; its opcode.
fn read_frame(stream: &mut TcpStream) -> Option<u8> {
    let mut start = [0; 2];
    stream.read_exact(&mut start).ok()?;
    let length = match start[1] & 0x7f {
        126 => {
            let mut bytes = [0; 2];
            stream.read_exact(&mut bytes).ok()?;
            usize::from(u16::from_be_bytes(bytes))
        }
        127 => return None,
        short => usize::from(short),
    };
    let mut rest = vec![0; length + if start[1] & 0x80 != 0 { 4 } else { 0 }];
    stream.read_exact(&mut rest).ok()?;
    Some(start[0] & 0x0f)
}

fn text_frame(text: &str) -> Vec<u8> {
    let length = text.len();
    let mut frame = vec![0x81];
    match length {
        0..126 => frame.push(length as u8),
        126..=0xffff => {
            frame.push(126);
            frame.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(text.as_bytes());
    frame
}
