//! What can be said to `stunnerctl config` alone.

use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

const CONFIG: &str = "Config";

flags! {
    WATCH = short('w', flag(CONFIG, "watch", Switch, "STUNNER_CTL_CONFIG_WATCH", "",
        "Go on printing configs as they change, until interrupted"));
    NODE = flag(CONFIG, "node", Value("NODE"), "STUNNER_CTL_CONFIG_NODE", "",
        "The config that a dataplane on this node gets, with the node's address filled in; needs a gateway");
}
