//! Both peers over loopback. Through TURN servers they are tested where those are, in `tests/tools`.

mod call;
mod echo;

use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
