//! What can be said to `stunnerctl top` alone.

use stunner_cluster::flags::ADMIN as SHARED_ADMIN;
use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags};

const DASHBOARD: &str = "Dashboard";

flags! {
    INTERVAL = flag(DASHBOARD, "interval", Value("DURATION"), "STUNNER_CTL_INTERVAL", "2s",
        "Time between two looks");
    ONCE = flag(DASHBOARD, "once", Switch, "STUNNER_CTL_ONCE", "",
        "Look twice, print one table and exit; so it is also where the output is not a terminal");
    ADMIN = SHARED_ADMIN;
}
