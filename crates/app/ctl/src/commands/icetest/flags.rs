//! What can be said to `stunnerctl icetest` alone.

use stunner_cluster::flags as cluster;
use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short, under};

const TEST: &str = "Test";
const WHERE: &str = "Where, instead of a namespace of its own in a cluster";
const CLUSTER: &str = "Test in a cluster";

flags! {
    PACKET_RATE = short('r', flag(TEST, "packet-rate", Value("N"), "STUNNER_CTL_PACKET_RATE", "50",
        "Packets per second of each call; 0 sends as many as go"));
    DURATION = flag(TEST, "duration", Value("DURATION"), "STUNNER_CTL_DURATION", "20s",
        "How long each call sends packets");
    TIMEOUT = short('t', flag(TEST, "timeout", Value("DURATION"), "STUNNER_CTL_TIMEOUT", "5m0s",
        "How long the whole test may take"));
    MAX_LOSS = flag(TEST, "max-loss", Value("PERCENT"), "STUNNER_CTL_MAX_LOSS", "10",
        "A call that loses more than this failed; not looked at with --packet-rate 0");
    INSECURE = flag(TEST, "insecure", Switch, "STUNNER_CTL_INSECURE", "",
        "Take any certificate of TLS and DTLS listeners. In a cluster the test makes the certificates itself, and does");

    ADMIN = under(WHERE, cluster::ADMIN);
    ICE_SERVERS = flag(WHERE, "ice-servers", Value("JSON"), "ICE_SERVERS", "",
        "Call through these TURN servers: a list as browsers take it, an answer of the auth service's /ice, or @FILE");
    WHIP = flag(WHERE, "whip", Value("URL"), "STUNNER_CTL_WHIP", "",
        "Call the icetester at this URL, such as http://10.0.0.7:8089/whip, through --ice-servers; without it the \
         other end is in this process");
    WHIP_TOKEN = flag(WHERE, "whip-token", Value("TOKEN"), "BEARER_TOKEN", "",
        "The token of that icetester");

    ICE_TESTER_IMAGE = flag(CLUSTER, "ice-tester-image", Value("IMAGE"), "STUNNER_CTL_ICE_TESTER_IMAGE", "stunner/icetester:latest",
        "Image of the far end");
    OFFLOAD_MODE = flag(CLUSTER, "offload-mode", Value("MODE"), "STUNNER_CTL_OFFLOAD_MODE", "None",
        "Offload engine of the test's dataplanes: None, XDP, TC or Auto");
    FORCE_CLEANUP = flag(CLUSTER, "force-cleanup", Switch, "STUNNER_CTL_FORCE_CLEANUP", "",
        "Remove what an earlier test left, its namespace `icetest` with all that is in it");
    ALLOW_NODEPORT = flag(CLUSTER, "allow-nodeport", Switch, "STUNNER_CTL_ALLOW_NODEPORT", "",
        "Reach the gateways by node ports, where there is no load balancer");
    AUTH_TURN_CREDENTIAL = flag(CLUSTER, "auth-turn-credential", Switch, "STUNNER_CTL_AUTH_TURN_CREDENTIAL", "",
        "Ask the auth service for a plain TURN credential and take the addresses from the config; without it, for \
         the ICE configuration");
}
