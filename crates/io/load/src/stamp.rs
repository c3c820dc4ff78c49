//! What a payload begins with: enough to know when it left and in which run.

/// Bytes of a stamp, and so the smallest payload.
pub const STAMP_LEN: usize = 24;
/// The run of packets that are sent only to see whether they arrive.
pub(crate) const GREETING_RUN: u32 = 0;
const MAGIC: [u8; 4] = *b"rlyB";

/// The run keeps stragglers of an earlier measurement out of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Which measurement the packet belongs to.
    pub(crate) run: u32,
    /// Which session it was sent in.
    pub(crate) session: u32,
    /// Its number within the measurement.
    pub(crate) sequence: u32,
    /// When it left, in nanoseconds of the generator's clock.
    pub(crate) sent_at: u64,
}

impl Stamp {
    /// Whether the packet only asks whether packets arrive.
    pub(crate) fn is_greeting(&self) -> bool {
        self.run == GREETING_RUN
    }

    /// Writes the stamp to the front of `payload`, which must hold [`STAMP_LEN`] bytes.
    pub(crate) fn write(&self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&MAGIC);
        payload[4..8].copy_from_slice(&self.run.to_le_bytes());
        payload[8..12].copy_from_slice(&self.session.to_le_bytes());
        payload[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        payload[16..24].copy_from_slice(&self.sent_at.to_le_bytes());
    }

    /// Reads it back; nothing for packets that are not ours.
    pub(crate) fn read(payload: &[u8]) -> Option<Stamp> {
        let payload = payload.strip_prefix(&MAGIC)?;
        let word = |at: usize| {
            Some(u32::from_le_bytes(
                payload.get(at..at + 4)?.try_into().ok()?,
            ))
        };
        Some(Stamp {
            run: word(0)?,
            session: word(4)?,
            sequence: word(8)?,
            sent_at: u64::from_le_bytes(payload.get(12..20)?.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_reads_back_and_strangers_do_not() {
        let stamp = Stamp {
            run: 3,
            session: 49,
            sequence: 123_456,
            sent_at: 1 << 40,
        };
        let mut payload = [0xee; 200];
        stamp.write(&mut payload);
        assert_eq!(Stamp::read(&payload), Some(stamp));
        assert_eq!(Stamp::read(&payload[..23]), None);
        assert_eq!(Stamp::read(&[0; 200]), None);
    }
}
