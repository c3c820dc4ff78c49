//! The few lines of HTTP/1.1 that the tests need: one request, one answer, one connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.body))
    }
}

pub fn get(host: &str, path: &str) -> std::io::Result<Answer> {
    request("GET", host, path, None, Duration::from_secs(20))
}

/// Sends one request and reads to the end of the answer.
pub fn request(
    method: &str,
    host: &str,
    path: &str,
    body: Option<&str>,
    patience: Duration,
) -> std::io::Result<Answer> {
    let address = host.replace("localhost", "127.0.0.1");
    let headers = [("Host", host), ("Content-Type", "application/json")];
    send(method, &address, path, &headers, body, patience)
}

/// The same with all headers by hand, `Host` too, but for those about the connection and the length.
pub fn send(
    method: &str,
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
    patience: Duration,
) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let body = body.unwrap_or("");
    let length = body.len();
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut bytes = Vec::new();
    read_answer(&mut stream, &mut bytes)?;
    parse(&bytes).ok_or_else(|| {
        std::io::Error::other(format!("not HTTP: {}", String::from_utf8_lossy(&bytes)))
    })
}

/// Reads until the announced length is there (some servers keep the connection open) or the end.
fn read_answer(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut chunk = [0; 16_384];
    loop {
        if let Some(end) = head_end(bytes) {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            if let Some(length) =
                header(&head, "content-length").and_then(|text| text.parse::<usize>().ok())
                && bytes.len() >= end + 4 + length
            {
                return Ok(());
            }
        }
        match stream.read(&mut chunk)? {
            0 => return Ok(()),
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n")
}

/// The value of a header in a head whose names are lower-case.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = head_end(bytes)?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    let raw = &bytes[end + 4..];
    let chunked = header(&head.to_ascii_lowercase(), "transfer-encoding")
        .is_some_and(|value| value == "chunked");
    let body = if chunked { dechunk(raw)? } else { raw.to_vec() };
    Some(Answer {
        status,
        head,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

fn dechunk(mut raw: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line_end = raw.windows(2).position(|window| window == b"\r\n")?;
        let size =
            usize::from_str_radix(std::str::from_utf8(&raw[..line_end]).ok()?.trim(), 16).ok()?;
        raw = &raw[line_end + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(raw.get(..size)?);
        raw = raw.get(size + 2..)?;
    }
}
