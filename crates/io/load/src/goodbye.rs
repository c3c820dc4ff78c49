//! The end of sessions: allocations are given back for as long as the server takes them.

use std::time::{Duration, Instant};

use stunner_net::poll::Events;

use crate::error::SessionError;
use crate::phase::Phase;
use crate::session::Sessions;

/// A server from which no session has heard for this long is gone. Requests are repeated three times in it, which a server
/// that is only slow, or loses some, has time to answer.
const SILENCE: Duration = Duration::from_secs(5);
/// Sessions that say goodbye at the same time: few enough for a server's socket buffer.
const WINDOW: usize = 256;
/// How often requests are looked at that may have to be repeated.
const TICK: Duration = Duration::from_millis(20);

impl Sessions {
    /// Ends all allocations, as a polite client does. Sessions whose server does not let them go have failed: over UDP this is
    /// where it shows that nobody is there any more.
    pub fn release(&mut self) {
        self.aim_at(Phase::Over);
        let mut events = Events::with_capacity(WINDOW);
        let mut begun = 0;
        let mut heard = Instant::now();
        loop {
            let left = self.count(|phase| phase < Phase::Over);
            if left == 0 {
                return;
            }
            if heard.elapsed() > SILENCE {
                return self.give_up();
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
                match self.hear(index) {
                    Ok(false) => {}
                    Ok(true) => heard = Instant::now(),
                    Err(error) => self.fail(index, error),
                }
            }
        }
    }

    /// Also those that have not said goodbye: nobody would hear it. The server, if there is one, forgets them by itself.
    fn give_up(&mut self) {
        for index in 0..self.list.len() {
            self.fail(index, SessionError::Gone);
        }
    }
}
