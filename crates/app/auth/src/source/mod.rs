//! Where configurations come from, and what is known of them at any moment.

mod discovery;
mod file;

use std::sync::Arc;

use tokio::sync::watch;

pub use discovery::follow as follow_discovery;
pub use file::{ConfigFiles, FileError};
pub use stunner_config::documents;

use crate::answer::Gateways;

/// What is known now. Cheap to clone; every clone sees the same.
#[derive(Debug, Clone)]
pub struct Known {
    state: watch::Receiver<State>,
}

#[derive(Debug, Clone, Default)]
struct State {
    gateways: Arc<Gateways>,
    /// The source has spoken at least once.
    is_ready: bool,
}

impl Known {
    pub fn gateways(&self) -> Arc<Gateways> {
        Arc::clone(&self.state.borrow().gateways)
    }

    pub fn is_ready(&self) -> bool {
        self.state.borrow().is_ready
    }

    /// What is known and stays so.
    pub fn fixed(gateways: Gateways) -> Known {
        let (teller, known) = Teller::new();
        teller.tell(gateways);
        known
    }
}

/// The source's end.
#[derive(Debug)]
pub struct Teller {
    state: watch::Sender<State>,
}

impl Teller {
    pub fn new() -> (Teller, Known) {
        let (sender, receiver) = watch::channel(State::default());
        (Teller { state: sender }, Known { state: receiver })
    }

    /// Tells everything that is known from now on.
    pub fn tell(&self, gateways: Gateways) {
        self.state.send_replace(State {
            gateways: Arc::new(gateways),
            is_ready: true,
        });
    }
}
