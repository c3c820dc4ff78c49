//! Readers for values that an API server may have stored in more than one form.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// `null` is the same as nothing: a list written as `rules:` in YAML is an empty one.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A port, or nothing.
///
/// JSON schemas take `1.0` for an integer and stored objects may hold it. A number that no port can
/// be is kept, clamped to what `i32` holds: it stays as wrong as it was, and readable.
pub(crate) fn optional_i32<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i32>, D::Error> {
    Ok(optional_i64(deserializer)?.map(clamp))
}

/// Like [`optional_i32`], with 0 for nothing.
pub(crate) fn i32_or_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    Ok(optional_i32(deserializer)?.unwrap_or_default())
}

/// Like [`optional_i32`], for wider numbers.
pub(crate) fn optional_i64<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    Ok(Option::<Integer>::deserialize(deserializer)?.map(|integer| integer.0))
}

fn clamp(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX })
}

struct Integer(i64);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntegerVisitor;

        impl Visitor<'_> for IntegerVisitor {
            type Value = Integer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Integer, E> {
                Ok(Integer(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Integer, E> {
                Ok(Integer(i64::try_from(value).unwrap_or(i64::MAX)))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Integer, E> {
                if value.fract() == 0.0 {
                    // Saturates; not-a-number has a fraction that is not zero.
                    Ok(Integer(value as i64))
                } else {
                    Err(E::custom(format_args!("{value} is not an integer")))
                }
            }
        }

        deserializer.deserialize_any(IntegerVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Option<i32>, serde_json::Error> {
        optional_i32(&mut serde_json::Deserializer::from_str(json))
    }

    #[test]
    fn takes_every_form_of_an_integer() {
        assert_eq!(read("3478").unwrap(), Some(3478));
        assert_eq!(read("3478.0").unwrap(), Some(3478));
        assert_eq!(read("null").unwrap(), None);
    }

    #[test]
    fn clamps_what_no_port_can_be() {
        assert_eq!(read("99999999999").unwrap(), Some(i32::MAX));
        assert_eq!(read("-99999999999").unwrap(), Some(i32::MIN));
        assert_eq!(read("18446744073709551615").unwrap(), Some(i32::MAX));
    }

    #[test]
    fn refuses_fractions_and_text() {
        assert!(read("1.5").is_err());
        assert!(read("\"1\"").is_err());
    }
}
