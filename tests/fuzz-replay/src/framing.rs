//! Target `stream_framing`: a byte stream that arrives in pieces.

use stunner_stun::framing::{Frame, FramingError, MAX_FRAME_LEN, next_frame};
use stunner_stun::{Message, ParseError, channel_data};

/// The first byte says how the rest is cut into pieces. The frames that come out must be those of
/// the stream as a whole, and each must be what its frame says.
pub fn stream_framing(data: &[u8]) {
    let Some((&pace, stream)) = data.split_first() else {
        return;
    };
    let (frames, end) = cut(stream);
    let mut expected = frames.iter();
    let (mut buffer, mut rest) = (Vec::new(), stream);
    let mut step = usize::from(pace % 32) + 1;
    'pieces: while !rest.is_empty() {
        let (piece, later) = rest.split_at(step.min(rest.len()));
        rest = later;
        // Pieces grow, so that long inputs do not take quadratic time.
        step += usize::from(pace / 32);
        buffer.extend_from_slice(piece);
        loop {
            match next_frame(&buffer) {
                Ok(Some(frame)) => {
                    assert_eq!(Some(&frame), expected.next());
                    buffer.drain(..frame.consumed());
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(end, Err(error));
                    break 'pieces;
                }
            }
        }
        assert!(buffer.len() < MAX_FRAME_LEN, "a full buffer makes progress");
    }
    assert_eq!(expected.next(), None);
}

/// All frames of a stream that is there as a whole, and how it ends.
fn cut(stream: &[u8]) -> (Vec<Frame>, Result<(), FramingError>) {
    let (mut frames, mut rest) = (Vec::new(), stream);
    loop {
        match next_frame(rest) {
            Ok(Some(frame)) => {
                check(frame, &rest[..frame.len()]);
                frames.push(frame);
                rest = &rest[frame.consumed()..];
            }
            Ok(None) => return (frames, Ok(())),
            Err(error) => return (frames, Err(error)),
        }
    }
}

/// What the framing has looked at, the parsers do not find fault with.
fn check(frame: Frame, bytes: &[u8]) {
    match frame {
        Frame::Message(_) => {
            let error = Message::parse(bytes).err();
            let inside = |error| {
                matches!(
                    error,
                    ParseError::Attribute(_) | ParseError::FingerprintNotLast(_)
                )
            };
            assert!(error.is_none_or(inside), "{error:?}");
        }
        Frame::ChannelData { total, padded } => {
            assert!(padded.is_multiple_of(4) && padded - total < 4);
            let data = channel_data::parse(bytes).expect("a whole ChannelData message");
            assert_eq!(data.payload.len() + 4, total);
        }
    }
}
