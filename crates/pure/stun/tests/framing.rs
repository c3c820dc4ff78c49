//! Cutting a byte stream: every prefix, every boundary, every reason to hang up.

use proptest::prelude::*;
use stunner_stun::framing::{Frame, FramingError, MAX_FRAME_LEN, next_frame, next_frame_within};
use stunner_stun::{Class, MessageWriter, Method, TransactionId, channel_data};

fn message(payload: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0; payload.len() + 64];
    let id = TransactionId([9; 12]);
    let mut writer = MessageWriter::new(&mut buffer, Class::Indication, Method::SEND, id);
    writer.data(payload);
    let len = writer.finish().unwrap();
    buffer.truncate(len);
    buffer
}

/// A ChannelData message with the padding of a stream.
fn channel_data(number: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = channel_data::header(number, payload.len() as u16).to_vec();
    bytes.extend(payload);
    bytes.resize(bytes.len() + channel_data::stream_padding(payload.len()), 0);
    bytes
}

#[test]
fn nothing_is_decided_without_bytes() {
    assert_eq!(next_frame(&[]), Ok(None));
}

#[test]
fn every_proper_prefix_of_a_frame_waits_for_more() {
    for frame in [
        message(b""),
        message(b"12345"),
        channel_data(0x4000, b"123"),
    ] {
        for len in 0..frame.len() {
            assert_eq!(next_frame(&frame[..len]), Ok(None), "{len} bytes");
        }
        let whole = next_frame(&frame).unwrap().unwrap();
        assert_eq!(whole.consumed(), frame.len());
    }
}

#[test]
fn what_follows_a_frame_does_not_matter() {
    let mut bytes = message(b"x");
    let len = bytes.len();
    bytes.extend([0xFF; 3]);
    assert_eq!(next_frame(&bytes), Ok(Some(Frame::Message(len))));
}

#[test]
fn rfc8656_12_5_tiny_channel_data_is_padded_to_four() {
    for (len, padded) in [(0, 4), (1, 8), (2, 8), (3, 8), (4, 8), (5, 12)] {
        let bytes = channel_data(0x7FFF, &vec![1; len]);
        let total = 4 + len;
        let frame = Frame::ChannelData { total, padded };
        assert_eq!(next_frame(&bytes), Ok(Some(frame)));
        assert_eq!((frame.len(), frame.consumed()), (total, padded));
        if len % 4 != 0 {
            assert_eq!(next_frame(&bytes[..total]), Ok(None), "padding is awaited");
        }
    }
}

#[test]
fn a_garbage_first_byte_is_decided_at_once() {
    for first in 0x80..=0xFF {
        let error = FramingError::FirstByte(first);
        assert_eq!(next_frame(&[first]), Err(error));
    }
    for first in 0x00..=0x7F {
        assert_eq!(next_frame(&[first]), Ok(None));
    }
}

#[test]
fn a_missing_magic_cookie_is_decided_by_the_eighth_byte_or_earlier() {
    assert_eq!(next_frame(b"\0\x01\0\x08\x21\x12\xA4"), Ok(None));
    let wrong = [
        &b"\0\x01\0\x08\x21\x12\xA4\x43"[..],
        b"\0\x01\0\x08\x21\x12\xA5",
        b"\0\x01\0\x08\x22",
    ];
    for bytes in wrong {
        assert_eq!(next_frame(bytes), Err(FramingError::Cookie));
    }
    // Other protocols that begin with bits 00: a TLS record header, RFC 3489 STUN.
    assert_eq!(
        next_frame(b"\x16\x03\x01\x04\0\x01"),
        Err(FramingError::Cookie)
    );
}

#[test]
fn an_unaligned_stun_length_is_decided_by_the_fourth_byte() {
    assert_eq!(next_frame(b"\0\x01\0\x06"), Err(FramingError::Unaligned(6)));
}

#[test]
fn letters_of_http_are_taken_for_a_channel_but_bounded() {
    // "GET " begins with bits 01, so only the length can tell: 0x5420.
    let frame = next_frame_within(b"GET / HTTP/1.1\r\n", 16 * 1024);
    assert_eq!(frame, Err(FramingError::TooLong(4 + 0x5420)));
}

#[test]
fn the_largest_frames_fit_and_a_limit_is_applied_from_the_length() {
    let largest = [0x00, 0x16, 0xFF, 0xFC];
    assert_eq!(next_frame(&largest), Ok(None));
    let mut bytes = largest.to_vec();
    bytes.extend([0x21, 0x12, 0xA4, 0x42]);
    bytes.resize(MAX_FRAME_LEN, 0);
    assert_eq!(next_frame(&bytes), Ok(Some(Frame::Message(MAX_FRAME_LEN))));

    let bytes = channel_data(0x4000, &[0; 65_535]);
    let (total, padded) = (65_539, 65_540);
    let frame = Frame::ChannelData { total, padded };
    assert_eq!(next_frame(&bytes), Ok(Some(frame)));

    let error = FramingError::TooLong(MAX_FRAME_LEN);
    assert_eq!(next_frame_within(&largest, MAX_FRAME_LEN - 1), Err(error));
}

proptest! {
    /// However the bytes arrive, the same frames come out.
    #[test]
    fn any_sequence_of_frames_survives_any_chunking(
        frames in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..40)), 0..12),
        chunks in prop::collection::vec(1usize..30, 1..40),
    ) {
        let frames: Vec<Vec<u8>> = frames
            .iter()
            .map(|(stun, payload)| match stun {
                true => message(payload),
                false => channel_data(0x4123, payload),
            })
            .collect();
        let stream = frames.concat();
        let (mut arrived, mut taken, mut out) = (0, 0, Vec::new());
        let mut sizes = chunks.iter().cycle();
        while arrived < stream.len() {
            arrived = (arrived + sizes.next().unwrap()).min(stream.len());
            while let Some(frame) = next_frame(&stream[taken..arrived]).unwrap() {
                out.push(stream[taken..taken + frame.consumed()].to_vec());
                taken += frame.consumed();
            }
        }
        prop_assert_eq!(out, frames);
    }

    /// An error stays the same when more bytes arrive: hanging up early is never wrong.
    #[test]
    fn more_bytes_never_turn_an_error_into_a_frame(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let whole = next_frame(&bytes);
        for len in 0..bytes.len() {
            let part = next_frame(&bytes[..len]);
            if part.is_err() {
                prop_assert_eq!(part, whole);
            }
        }
    }
}
