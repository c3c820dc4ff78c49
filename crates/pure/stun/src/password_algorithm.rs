//! PASSWORD-ALGORITHMS and PASSWORD-ALGORITHM (RFC 8489 §14.11, §14.12, §18.5).

use crate::fields::AttributeError;
use crate::message::padded;

/// A registered way to derive a long-term key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PasswordAlgorithm {
    Md5,
    Sha256,
}

impl PasswordAlgorithm {
    pub const fn to_wire(self) -> u16 {
        match self {
            PasswordAlgorithm::Md5 => 0x0001,
            PasswordAlgorithm::Sha256 => 0x0002,
        }
    }

    pub const fn from_wire(number: u16) -> Option<Self> {
        match number {
            0x0001 => Some(PasswordAlgorithm::Md5),
            0x0002 => Some(PasswordAlgorithm::Sha256),
            _ => None,
        }
    }

    /// One entry of the list; neither algorithm has parameters (RFC 8489 §18.5.1).
    pub(crate) const fn encode(self) -> [u8; 4] {
        let [high, low] = self.to_wire().to_be_bytes();
        [high, low, 0, 0]
    }
}

/// An algorithm number with its parameters, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmEntry<'a> {
    pub number: u16,
    pub parameters: &'a [u8],
}

impl<'a> AlgorithmEntry<'a> {
    /// The algorithm, if it is one we know and its (absent) parameters are right.
    pub fn algorithm(&self) -> Option<PasswordAlgorithm> {
        PasswordAlgorithm::from_wire(self.number).filter(|_| self.parameters.is_empty())
    }

    /// Reads a PASSWORD-ALGORITHM value, which is one entry.
    pub fn decode(value: &'a [u8]) -> Result<Self, AttributeError> {
        match Self::split(value)? {
            (entry, []) => Ok(entry),
            _ => Err(AttributeError::Length(value.len())),
        }
    }

    /// The first entry and what follows it. Parameters are padded to a multiple of 4; the padding
    /// of the last entry may be left to the attribute's own.
    fn split(value: &'a [u8]) -> Result<(Self, &'a [u8]), AttributeError> {
        let wrong_length = AttributeError::Length(value.len());
        let (&[number_high, number_low, len_high, len_low], rest) =
            value.split_first_chunk::<4>().ok_or(wrong_length)?;
        let len = usize::from(u16::from_be_bytes([len_high, len_low]));
        let parameters = rest.get(..len).ok_or(wrong_length)?;
        let entry = AlgorithmEntry {
            number: u16::from_be_bytes([number_high, number_low]),
            parameters,
        };
        Ok((entry, rest.get(padded(len)..).unwrap_or_default()))
    }
}

/// The entries of a PASSWORD-ALGORITHMS value; ends after the first broken one.
#[derive(Debug, Clone)]
pub struct AlgorithmEntries<'a> {
    rest: &'a [u8],
}

impl<'a> AlgorithmEntries<'a> {
    pub fn new(value: &'a [u8]) -> Self {
        AlgorithmEntries { rest: value }
    }
}

impl<'a> Iterator for AlgorithmEntries<'a> {
    type Item = Result<AlgorithmEntry<'a>, AttributeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match AlgorithmEntry::split(self.rest) {
            Ok((entry, rest)) => {
                self.rest = rest;
                Some(Ok(entry))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}
