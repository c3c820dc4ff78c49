//! Messages made by hand and by the writer.

use stunner_stun::{Class, MessageWriter, Method, TransactionId, WriteError};

pub const ID: TransactionId = TransactionId(*b"transaction!");

/// A message with exactly these attribute bytes.
pub fn raw(attributes: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x00, 0x01];
    bytes.extend((attributes.len() as u16).to_be_bytes());
    bytes.extend([0x21, 0x12, 0xA4, 0x42]);
    bytes.extend(ID.0);
    bytes.extend(attributes);
    bytes
}

/// One attribute with its header and padding.
pub fn tlv(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_be_bytes().to_vec();
    bytes.extend((value.len() as u16).to_be_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

pub fn write(
    class: Class,
    fill: impl FnOnce(&mut MessageWriter<'_>),
) -> Result<Vec<u8>, WriteError> {
    let mut buffer = vec![0xAA; 2048];
    let mut writer = MessageWriter::new(&mut buffer, class, Method::ALLOCATE, ID);
    fill(&mut writer);
    let len = writer.finish()?;
    buffer.truncate(len);
    Ok(buffer)
}
