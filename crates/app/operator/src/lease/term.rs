//! Until when this replica may write.
//!
//! Election alone is not enough: a process that was frozen, with a write on its way out, wakes up long after another
//! replica took over, and its writer would go on before the election has looked at the Lease again. So every write looks
//! at the clock.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use kube::Client;
use kube::client::Body;

/// Why a request was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this replica does not lead any more")]
struct Over;

/// Cloning gives another handle to the same.
#[derive(Debug, Clone)]
pub struct Term(Option<Arc<RwLock<Option<Instant>>>>);

impl Term {
    /// That of the only replica.
    pub fn without_end() -> Self {
        Term(None)
    }

    /// One that has not begun.
    pub fn to_be_won() -> Self {
        Term(Some(Arc::default()))
    }

    pub(super) fn lasts_until(&self, end: Option<Instant>) {
        if let Some(term) = &self.0 {
            *term.write().unwrap_or_else(PoisonError::into_inner) = end;
        }
    }

    fn includes(&self, now: Instant) -> bool {
        let Some(term) = &self.0 else {
            return true;
        };
        let end = *term.read().unwrap_or_else(PoisonError::into_inner);
        end.is_some_and(|end| now < end)
    }

    /// A client that reads always and writes only within the term.
    pub fn limit(&self, client: &Client) -> Client {
        if self.0.is_none() {
            return client.clone();
        }
        let (term, inner) = (self.clone(), client.clone());
        let limited = tower::service_fn(move |request: axum::http::Request<Body>| {
            let (term, inner) = (term.clone(), inner.clone());
            async move {
                if !request.method().is_safe() && !term.includes(Instant::now()) {
                    return Err(kube::Error::Service(Over.into()));
                }
                inner.send(request).await
            }
        });
        Client::new(limited, client.default_namespace())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_term_ends_by_the_clock_and_by_word() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        assert!(Term::without_end().includes(now));
        let term = Term::to_be_won();
        assert!(!term.includes(now), "nobody has won yet");
        term.lasts_until(Some(now + second));
        assert!(term.includes(now) && !term.includes(now + second));
        term.lasts_until(None);
        assert!(!term.includes(now));
    }
}
