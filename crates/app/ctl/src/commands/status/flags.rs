//! What can be said to `stunnerctl status` alone.

use stunner_cluster::flags::DATAPLANE;
use stunner_flags::Takes::Value;
use stunner_flags::{flag, flags};

flags! {
    POD_ADDRESS = flag(DATAPLANE, "pod-address", Value("ADDR[:PORT]"), "STUNNER_CTL_POD_ADDRESS", "",
        "Ask the dataplane at this address instead of the pods of a cluster");
    POD_NAME = flag(DATAPLANE, "pod-name", Value("POD"), "STUNNER_CTL_POD_NAME", "",
        "Ask this pod only");
    POD_PORT = flag(DATAPLANE, "pod-port", Value("PORT"), "STUNNER_CTL_POD_PORT", "8086",
        "Port of the dataplane's health server");
}
