//! Both peers over loopback. Through real TURN servers they are tested where those are, in `tests/tools`.

mod call;
mod echo;
mod relay;

use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
