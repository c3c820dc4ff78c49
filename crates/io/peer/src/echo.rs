//! Messages on their way back.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use str0m::channel::{ChannelData, ChannelId};
use str0m::{Event, Rtc};

use crate::session::Ended;

/// What may wait for a slow reader. SCTP has flow control in each direction, but the echo couples the two: whoever only
/// sends would fill the memory.
const MAX_WAITING: usize = 16 << 20;
/// So that many empty messages count for something.
const MESSAGE_OVERHEAD: usize = 64;

/// Messages that SCTP has no room for yet, in order.
#[derive(Default)]
pub(crate) struct Echo {
    waiting: VecDeque<ChannelData>,
    waiting_bytes: usize,
}

impl Echo {
    /// Takes note of what happened; breaks when the session is over.
    pub(crate) fn heard(&mut self, event: Event) -> ControlFlow<Ended> {
        match event {
            Event::ChannelData(message) => {
                self.waiting_bytes += cost(&message);
                self.waiting.push_back(message);
                if self.waiting_bytes > MAX_WAITING {
                    return ControlFlow::Break(Ended::Failed);
                }
            }
            Event::ChannelClose(channel) => self.forget(channel),
            Event::Closed => return ControlFlow::Break(Ended::Closed),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Hands to SCTP what it has room for; whether that was anything.
    pub(crate) fn flush(&mut self, rtc: &mut Rtc) -> bool {
        let mut wrote = false;
        while let Some(message) = self.waiting.front() {
            // A message on a channel that is gone, or longer than the other side takes, has nowhere to go.
            let is_done = match rtc.channel(message.id) {
                Some(mut channel) => channel.write(message.binary, &message.data).unwrap_or(true),
                None => true,
            };
            if !is_done {
                break;
            }
            wrote = true;
            if let Some(message) = self.waiting.pop_front() {
                self.waiting_bytes -= cost(&message);
            }
        }
        wrote
    }

    fn forget(&mut self, channel: ChannelId) {
        self.waiting.retain(|message| message.id != channel);
        self.waiting_bytes = self.waiting.iter().map(cost).sum();
    }
}

fn cost(message: &ChannelData) -> usize {
    message.data.len() + MESSAGE_OVERHEAD
}
