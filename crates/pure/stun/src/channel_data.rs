//! The ChannelData message of RFC 8656 §12.4: four bytes of header, then the payload.

use std::ops::RangeInclusive;

/// Bytes before the payload.
pub const HEADER_LEN: usize = 4;

/// What can be a channel. RFC 8656 §12 narrows it to 0x4FFF, but clients of RFC 5766 use the rest,
/// and nothing else begins with the bits 01 on a TURN port.
pub const NUMBERS: RangeInclusive<u16> = 0x4000..=0x7FFF;

/// Most bytes of padding behind a payload.
const MAX_PADDING: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChannelDataError {
    #[error("{0} bytes are too short for a ChannelData header")]
    Truncated(usize),
    #[error("`{0:#06x}` is not a channel number")]
    Number(u16),
    #[error("the length field says `{claimed}` but `{actual}` bytes follow the header")]
    Length { claimed: usize, actual: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelData<'a> {
    pub number: u16,
    pub payload: &'a [u8],
}

impl<'a> ChannelData<'a> {
    /// See [`parse`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ChannelDataError> {
        parse(bytes)
    }
}

/// Whether a datagram's first byte is that of a ChannelData message (RFC 8656 §12.4).
#[inline]
pub fn is_channel_data(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0xC0 == 0x40)
}

/// Reads one datagram or one frame of a stream.
///
/// RFC 8656 §12.5: padding is mandatory on streams and may be there in datagrams, so up to three
/// more bytes than the length says are ignored. §12.6: a datagram too short for its length is refused.
#[inline]
pub fn parse(bytes: &[u8]) -> Result<ChannelData<'_>, ChannelDataError> {
    let (&[number_high, number_low, len_high, len_low], rest) = bytes
        .split_first_chunk::<HEADER_LEN>()
        .ok_or(ChannelDataError::Truncated(bytes.len()))?;
    let number = u16::from_be_bytes([number_high, number_low]);
    if !NUMBERS.contains(&number) {
        return Err(ChannelDataError::Number(number));
    }
    let claimed = usize::from(u16::from_be_bytes([len_high, len_low]));
    let actual = rest.len();
    match rest.get(..claimed) {
        Some(payload) if actual - claimed <= MAX_PADDING => Ok(ChannelData { number, payload }),
        _ => Err(ChannelDataError::Length { claimed, actual }),
    }
}

/// The header to send in front of a payload of `len` bytes.
#[inline]
pub const fn header(number: u16, len: u16) -> [u8; HEADER_LEN] {
    let ([n0, n1], [l0, l1]) = (number.to_be_bytes(), len.to_be_bytes());
    [n0, n1, l0, l1]
}

/// Zero bytes to send behind a payload of `len` bytes on a stream (RFC 8656 §12.5).
#[inline]
pub const fn stream_padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_header_wrote() {
        let mut bytes = header(0x4001, 5).to_vec();
        bytes.extend_from_slice(b"hello");
        let payload = b"hello".as_slice();
        let number = 0x4001;
        assert_eq!(parse(&bytes), Ok(ChannelData { number, payload }));
    }

    #[test]
    fn rfc8656_12_5_padding_of_up_to_three_bytes_is_ignored() {
        for padding in 0..=5 {
            let mut bytes = header(0x7FFF, 1).to_vec();
            bytes.push(b'x');
            bytes.extend(std::iter::repeat_n(0xEE, padding));
            let parsed = parse(&bytes);
            if padding <= 3 {
                assert_eq!(parsed.map(|data| data.payload), Ok(b"x".as_slice()));
            } else {
                let (claimed, actual) = (1, 1 + padding);
                assert_eq!(parsed, Err(ChannelDataError::Length { claimed, actual }));
            }
        }
    }

    #[test]
    fn rfc8656_12_6_a_datagram_too_short_for_its_length_is_refused() {
        let error = ChannelDataError::Length {
            claimed: 2,
            actual: 1,
        };
        assert_eq!(parse(&[0x40, 0, 0, 2, 9]), Err(error));
    }

    #[test]
    fn an_empty_payload_is_a_message() {
        assert_eq!(
            parse(&header(0x4000, 0)).map(|data| data.payload.len()),
            Ok(0)
        );
    }

    #[test]
    fn numbers_outside_the_channel_range_are_refused() {
        for number in [0x0000, 0x3FFF, 0x8000, 0xFFFF] {
            assert_eq!(
                parse(&header(number, 0)),
                Err(ChannelDataError::Number(number))
            );
        }
        for short in 0..4 {
            assert_eq!(
                parse(&[0x40; 4][..short]),
                Err(ChannelDataError::Truncated(short))
            );
        }
    }

    #[test]
    fn stream_padding_fills_to_four() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(stream_padding), [0, 3, 2, 1, 0, 3]);
    }
}
