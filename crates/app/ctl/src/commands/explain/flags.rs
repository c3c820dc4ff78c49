//! What can be said to `stunnerctl explain` alone.

use stunner_cluster::flags::ADMIN as SHARED_ADMIN;
use stunner_flags::Takes::Value;
use stunner_flags::{flag, flags};

const QUESTION: &str = "Question";
const SOURCE: &str = "Whom to ask";

flags! {
    PEER = flag(QUESTION, "peer", Value("IP[:PORT]"), "STUNNER_CTL_PEER", "",
        "The peer that a client wants to reach; required. Without a port: any port of it");
    CLIENT = flag(QUESTION, "client", Value("IP"), "STUNNER_CTL_CLIENT", "",
        "The client; tells also what it was refused lately, and whether the load balancer lets it in");
    LISTENER = flag(QUESTION, "listener", Value("NAME"), "STUNNER_CTL_LISTENER", "",
        "The listener that the client uses; without it, all of the gateway");
    PROTOCOL = flag(QUESTION, "protocol", Value("udp|tcp"), "STUNNER_CTL_PROTOCOL", "udp",
        "How the peer is reached; tcp is for allocations of RFC 6062");
    CONFIG = flag(SOURCE, "config", Value("FILE"), "STUNNER_CTL_EXPLAIN_CONFIG", "",
        "Answer from a dataplane config in this file (- for standard input), or from the configs of \
         `stunner translate -o json`, instead of asking anybody");
    ADMIN = SHARED_ADMIN;
}
