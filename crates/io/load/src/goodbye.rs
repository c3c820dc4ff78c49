//! The end of sessions: allocations are given back for as long as the server takes them.

use std::time::{Duration, Instant};

use stunner_net::poll::Events;

use crate::phase::Phase;
use crate::session::Sessions;

/// A server from which no session has heard for this long is not waited for: it forgets allocations by itself.
const SILENCE: Duration = Duration::from_secs(2);
/// Sessions that say goodbye at the same time: few enough for a server's socket buffer.
const WINDOW: usize = 256;
/// How often requests are looked at that may have to be repeated.
const TICK: Duration = Duration::from_millis(20);

impl Sessions {
    /// Ends all allocations, as a polite client does, unless the server has fallen silent.
    pub fn release(&mut self) {
        self.aim_at(Phase::Over);
        let mut events = Events::with_capacity(WINDOW);
        let mut begun = 0;
        let mut least = usize::MAX;
        let mut progress = Instant::now();
        loop {
            let left = self.count(|phase| phase < Phase::Over);
            if left < least {
                least = left;
                progress = Instant::now();
            }
            if left == 0 || progress.elapsed() > SILENCE {
                return;
            }
            let over = self.list.len() - left;
            while begun < self.list.len().min(over + WINDOW) {
                self.advance(begun);
                begun += 1;
            }
            match self.poller.wait(&mut events, Some(TICK)) {
                Ok(0) => self.tick(),
                Ok(_) => {}
                Err(_) => return,
            }
            for event in events.iter() {
                let index = event.token.0 as usize;
                if let Err(error) = self.hear(index) {
                    self.fail(index, error);
                }
            }
        }
    }
}
