//! The program of a run, read byte by byte.

use std::net::{IpAddr, SocketAddr};

#[derive(Debug)]
pub struct Input<'d> {
    rest: &'d [u8],
}

impl<'d> Input<'d> {
    pub fn new(data: &'d [u8]) -> Self {
        Input { rest: data }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte; 0 behind the end.
    pub fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// Up to `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &'d [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// One of a few peers: admitted, denied, special, IPv6, embedded IPv4, or any at all.
    pub fn peer(&mut self) -> SocketAddr {
        let choice = self.byte();
        let port = 1000 + u16::from(choice >> 4);
        let ip: IpAddr = match choice & 0x0F {
            0..=5 => [10, 0, 0, choice & 0x03].into(),
            6 => [172, 16, 0, 1].into(),
            7 => [127, 0, 0, 1].into(),
            8 => [192, 0, 2, 1].into(),
            9 => [169, 254, 169, 254].into(),
            10 | 11 => [0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(choice & 1)].into(),
            12 => [0, 0, 0, 0, 0, 0xffff, 0x0a00, 1].into(),
            13 => [0x64, 0xff9b, 0, 0, 0, 0, 0x0a00, 1].into(),
            14 => [self.byte(), self.byte(), self.byte(), self.byte()].into(),
            _ => return SocketAddr::new([10, 0, 0, 1].into(), self.word()),
        };
        SocketAddr::new(ip, port)
    }
}
