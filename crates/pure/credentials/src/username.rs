//! What a user name says.

/// The longest USERNAME in bytes (RFC 8489 §14.3: "less than 509 bytes").
pub const MAX_USERNAME: usize = 508;

/// What a minted name needs beside the user: an expiry of up to 20 digits and a colon.
const EXPIRY_AND_COLON: usize = 21;

/// When an ephemeral user name expires, in UNIX seconds: its first part, between colons, that is an integer.
/// `EXPIRY:USER`, `USER:EXPIRY` and a bare `EXPIRY` are all in use.
pub fn expiry(username: &str) -> Option<i64> {
    username.split(':').find_map(|part| part.parse().ok())
}

/// The user that quotas and ownership go by: of `EXPIRY:USER` the user, else the whole name. A user with a colon makes more
/// than two parts, so each credential of such a one is another user, as it always was.
pub fn user_id(username: &str) -> &str {
    match username.split_once(':') {
        Some((time, id)) if !id.contains(':') && time.parse::<i64>().is_ok() => id,
        _ => username,
    }
}

/// Why nothing is minted for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    #[error("the user name is {length} bytes long, {max} is the most", max = MAX_USERNAME - EXPIRY_AND_COLON)]
    TooLong { length: usize },
    #[error("the user name holds a control character")]
    ControlCharacter,
}

/// Whether a user may become part of a USERNAME: the whole must fit, and logs and terminals must survive it.
pub fn check_user(user: &str) -> Result<(), UserError> {
    if user.len() > MAX_USERNAME - EXPIRY_AND_COLON {
        return Err(UserError::TooLong { length: user.len() });
    }
    if user.chars().any(char::is_control) {
        return Err(UserError::ControlCharacter);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_integer_between_colons_is_the_expiry() {
        let table = [
            ("1000:user", Some(1000)),
            ("user:1000", Some(1000)),
            ("1000", Some(1000)),
            ("1000:", Some(1000)),
            ("user:1000:junk", Some(1000)),
            ("42:1000", Some(42)),
            ("-5:user", Some(-5)),
            ("user", None),
            ("", None),
            ("99999999999999999999:user", None),
        ];
        for (username, expected) in table {
            assert_eq!(expiry(username), expected, "{username}");
        }
    }

    #[test]
    fn the_user_id_is_the_second_of_exactly_two_parts_behind_a_time() {
        let table = [
            ("1000:alice", "alice"),
            ("1000:", ""),
            ("alice:1000", "alice:1000"),
            ("1000", "1000"),
            ("1000:alice:x", "1000:alice:x"),
        ];
        for (username, expected) in table {
            assert_eq!(user_id(username), expected, "{username}");
        }
    }

    #[test]
    fn a_user_that_fits_no_username_is_refused() {
        let longest = "x".repeat(487);
        assert_eq!(check_user(&longest), Ok(()));
        let longer = "x".repeat(488);
        assert_eq!(check_user(&longer), Err(UserError::TooLong { length: 488 }));
        // Bytes count, not characters.
        assert!(check_user(&"ä".repeat(244)).is_err());
        assert_eq!(check_user(""), Ok(()));
    }

    #[test]
    fn a_user_with_control_characters_is_refused() {
        for user in ["a\0b", "a\nb", "\u{1b}[2J", "a\u{7f}", "a\u{85}b"] {
            assert_eq!(
                check_user(user),
                Err(UserError::ControlCharacter),
                "{user:?}"
            );
        }
        assert_eq!(check_user("Ann B.: ä @ 例え"), Ok(()));
    }
}
