//! What can be said to `stunnerctl sessions` alone.

use stunner_cluster::flags::ADMIN as SHARED_ADMIN;
use stunner_flags::Takes::{Switch, Value, Values};
use stunner_flags::{flag, flags, short};

const SELECTION: &str = "Selection";
const ENDING: &str = "Ending sessions";

flags! {
    USERNAME = short('u', flag(SELECTION, "username", Value("USER"), "STUNNER_CTL_USERNAME", "",
        "Sessions of this TURN user only, as the USER column has it"));
    CLIENT = flag(SELECTION, "client", Value("IP[:PORT]"), "STUNNER_CTL_CLIENT", "",
        "Sessions of clients at this address only");
    PEER = flag(SELECTION, "peer", Value("IP[:PORT]"), "STUNNER_CTL_PEER", "",
        "Sessions with a permission or a channel for this peer only");
    LISTENER = flag(SELECTION, "listener", Value("NAME"), "STUNNER_CTL_LISTENER", "",
        "Sessions of this listener only, as NAME or NAMESPACE/GATEWAY/NAME");
    KILL = flag(ENDING, "kill", Values("ID"), "", "",
        "End the session of this ID; can be given several times");
    KILL_SELECTED = flag(ENDING, "kill-selected", Switch, "", "",
        "End the sessions that the flags above select; at least one of them is needed");
    YES = short('y', flag(ENDING, "yes", Switch, "", "",
        "End more than one session without being asked to say so"));
    ADMIN = SHARED_ADMIN;
}
