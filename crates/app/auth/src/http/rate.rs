//! How often one address may ask.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Addresses share so many places. Two that fall on one place share its rate, which is rare, and nobody can choose to:
/// the hash has a random key.
const PLACES: usize = 1 << 16;

/// So many requests a second from each address, and as many at once after a rest. Its memory is fixed, whoever calls.
#[derive(Debug)]
pub struct RateLimit {
    /// Nanoseconds that one request uses up.
    cost: u64,
    burst: u64,
    /// When all that was asked is worked off, in nanoseconds since the start (a leaky bucket as in ITU-T I.371's
    /// generic cell rate algorithm).
    empty_at: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl RateLimit {
    /// `None` for a rate of 0, which means no limit.
    pub fn per_second(rate: u32) -> Option<RateLimit> {
        let cost = 1_000_000_000u64.checked_div(u64::from(rate))?;
        let empty_at = (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Some(RateLimit {
            cost,
            burst: cost.saturating_mul(u64::from(rate)),
            empty_at,
            hasher: RandomState::new(),
        })
    }

    /// Counts a request; the error says how long to wait. `now` is the time since the start.
    pub fn admit(&self, source: IpAddr, now: Duration) -> Result<(), Duration> {
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let index = self.hasher.hash_one(holder(source)) as usize % PLACES;
        let count = |empty_at: u64| {
            let after = empty_at.max(now).saturating_add(self.cost);
            (after - now <= self.burst).then_some(after)
        };
        let counted =
            self.empty_at[index].fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        match counted {
            Ok(_) => Ok(()),
            Err(empty_at) => {
                let wait = (empty_at + self.cost).saturating_sub(now + self.burst);
                Err(Duration::from_nanos(wait))
            }
        }
    }
}

/// Whoever has an IPv6 address has 2^64 of them.
fn holder(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_gets_its_rate_and_no_more() {
        let limit = RateLimit::per_second(2).expect("a limit");
        let at = |millis| limit.admit(ip("192.0.2.1"), Duration::from_millis(millis));
        assert_eq!([at(0), at(0)], [Ok(()), Ok(())], "after a rest");
        assert_eq!(at(0), Err(Duration::from_millis(500)));
        assert_eq!(at(400), Err(Duration::from_millis(100)));
        assert_eq!(at(500), Ok(()));
        assert_eq!(
            at(501),
            Err(Duration::from_millis(499)),
            "a refusal costs nothing"
        );
        assert_eq!([at(9000), at(9000)], [Ok(()), Ok(())]);
        assert!(at(9000).is_err());
    }

    #[test]
    fn addresses_do_not_slow_each_other_down() {
        let limit = RateLimit::per_second(1).expect("a limit");
        let admitted = (0..200u8)
            .filter(|&last| {
                let source = IpAddr::from([192, 0, 2, last]);
                limit.admit(source, Duration::ZERO).is_ok()
            })
            .count();
        assert!(
            admitted >= 198,
            "{admitted} of 200 have a place of their own"
        );
    }

    #[test]
    fn a_network_of_ipv6_addresses_is_one_caller_and_mapped_ipv4_is_ipv4() {
        let limit = RateLimit::per_second(1).expect("a limit");
        assert_eq!(limit.admit(ip("2001:db8::1"), Duration::ZERO), Ok(()));
        assert!(limit.admit(ip("2001:db8::ffff:2"), Duration::ZERO).is_err());
        assert_eq!(limit.admit(ip("192.0.2.1"), Duration::ZERO), Ok(()));
        assert!(limit.admit(ip("::ffff:192.0.2.1"), Duration::ZERO).is_err());
    }

    #[test]
    fn a_rate_of_nothing_is_no_limit() {
        assert!(RateLimit::per_second(0).is_none());
        assert!(RateLimit::per_second(u32::MAX).is_some());
    }
}
