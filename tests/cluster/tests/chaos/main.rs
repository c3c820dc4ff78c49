//! The operator is killed again and again while the cluster changes under it. What comes out equals an undisturbed run,
//! and nobody who was being served notices.
//!
//! `CHAOS_SEED` repeats another run than the usual one.

mod changes;
mod end_state;
mod life;
mod random;
mod traffic;
mod witness;
mod world;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use cluster_tests::{certificate, eventually, eventually_within, kinds, need};
use interop_tests::config::Transport;
use interop_tests::drops::kernel_drops;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use serde_json::Value;

use crate::changes::Story;
use crate::end_state::differences;
use crate::life::{Kills, Life, calm};
use crate::random::Random;
use crate::traffic::{Traffic, connect};
use crate::witness::{Witness, services_made_anew};
use crate::world::{NS, Ports, STEADY, foundations};

const CHANGES: usize = 200;
const KILLS: usize = 60;
const SEED: u64 = 4;

#[tokio::test]
async fn sixty_kills_during_two_hundred_changes_leave_no_trace() {
    let test = "sixty_kills_during_two_hundred_changes_leave_no_trace";
    let begun = Instant::now();
    let seed = std::env::var("CHAOS_SEED");
    let seed = seed.map_or(SEED, |text| text.parse().expect("CHAOS_SEED is a number"));
    println!("seed {seed}");
    let ports = Ports {
        udp: free_port(),
        tcp: free_port(),
        extra: free_port(),
    };
    let identity = certificate("chaos");
    let foundations = foundations((&identity.chain_pem, &identity.key_pem));
    let story = Story::tell(seed, CHANGES, ports, &foundations);
    let kills = Kills::draw(&mut Random::new(seed ^ 0xdead), story.changes.len(), KILLS);

    // The disturbed life, with sessions on a dataplane that the operator feeds.
    let mut life = need!(test, Life::begin(ports, &foundations).await);
    let witness = Witness::start(&life.objects);
    let dataplane = life.dataplane();
    let peer = UdpEcho::start("127.0.0.1:0");
    let listeners = [
        (
            Transport::Udp,
            SocketAddr::from(([127, 0, 0, 1], ports.udp)),
        ),
        (
            Transport::Tcp,
            SocketAddr::from(([127, 0, 0, 1], ports.tcp)),
        ),
    ];
    life.serving(&listeners).await;
    let traffic = Traffic::start(4, &listeners, peer.address());
    let drops = kernel_drops();
    let started = Instant::now();
    let killed = life.live(&story, Some(&kills)).await;
    let took = started.elapsed();
    let writes = calm(&life, &story).await;
    let report = traffic.finish();
    let drops = kernel_drops() - drops;
    let (mut problems, deployments) = witness.finish();
    let (anew, services) = services_made_anew(&life.writes());
    problems.extend(anew);

    // The same in peace, on a cluster of its own.
    let mut peaceful = need!(test, Life::begin(ports, &foundations).await);
    peaceful.live(&story, None).await;
    let peaceful_writes = calm(&peaceful, &story).await;

    print_counts(&story);
    println!(
        "{killed} kills during {} changes in {took:?}; {writes} writes of the operator, {peaceful_writes} without kills",
        story.changes.len()
    );
    println!(
        "{} sessions: {} packets, {} lost, longest time without one {:?}",
        report.sessions,
        report.sent,
        report.sent - report.came_back,
        report.gap
    );
    println!("{services} Services and {deployments} Deployments were made");
    assert_eq!(report.cut, [] as [String; 0]);
    let lost = u64::from(report.sent - report.came_back);
    assert!(
        lost <= drops,
        "{lost} packets were lost, of which the kernel counts {drops}"
    );
    assert!(killed >= 50, "only {killed} kills");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let compared = eventually("both runs end in the same state", async || {
        let (one, two) = (life.end_state().await?, peaceful.end_state().await?);
        let differences = differences(&one, &two);
        differences
            .is_empty()
            .then_some(one.len())
            .ok_or(differences)
    })
    .await;
    println!("{compared} objects and configs are the same in both runs");
    drop(peaceful);

    a_deleted_secret_survives_both_restarts(&mut life, dataplane, &listeners).await;
    println!("all in {:?}", begun.elapsed());
}

/// The Secret is gone, the operator and the dataplane start anew, and the gateway serves with what was last good.
async fn a_deleted_secret_survives_both_restarts(
    life: &mut Life,
    dataplane: interop_tests::process::Process,
    listeners: &[(Transport, SocketAddr)],
) {
    let secret = life.objects.find(kinds::SECRET, NS, "auth").await;
    life.objects.delete(kinds::SECRET, NS, "auth").await;
    life.accepted("False").await;
    drop(dataplane);
    life.operator.kill();
    life.operator.restart().await;
    let _dataplane = life.dataplane();
    life.serving(listeners).await;
    let peer = UdpEcho::start("127.0.0.1:0");
    for &(transport, server) in listeners {
        connect(transport, server).join(0x4000, peer.address());
    }
    let gateway = life.accepted("False").await;
    let programmed = condition(&gateway, "Programmed");
    assert_eq!(programmed["status"], "True", "{programmed}");
    let message = condition(&gateway, "Accepted")["message"].to_string();
    assert!(message.contains("chaos/auth"), "{message}");
    println!("while the Secret is gone: {message}");

    let mut secret = secret.expect("the Secret was there");
    for key in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    ] {
        secret["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove(key);
    }
    life.objects.apply_object(&secret).await;
    life.accepted("True").await;
}

fn condition(gateway: &Value, kind: &str) -> Value {
    let conditions = gateway["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    found.cloned().unwrap_or_default()
}

fn print_counts(story: &Story) {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (what, _) in &story.changes {
        *counts.entry(what).or_default() += 1;
    }
    for (what, count) in counts {
        println!("{count:4} {what}");
    }
}

impl Life {
    /// Waits until the steady Gateway's `Accepted` is `status`.
    async fn accepted(&self, status: &str) -> Value {
        eventually(&format!("{STEADY} is Accepted={status}"), async || {
            let gateway = self.objects.find(kinds::GATEWAY, NS, STEADY).await;
            let gateway = gateway.ok_or("there is none")?;
            let accepted = condition(&gateway, "Accepted");
            (accepted["status"] == status)
                .then_some(gateway)
                .ok_or_else(|| accepted.to_string())
        })
        .await
    }

    /// Waits until clients get an allocation from every listener.
    async fn serving(&self, listeners: &[(Transport, SocketAddr)]) {
        for &(transport, server) in listeners {
            eventually_within(
                Duration::from_secs(60),
                &format!("{transport:?} at {server} serves"),
                async || {
                    let link = interop_tests::client::Link::connect(transport, server, "");
                    let link = link.map_err(|error| format!("{error:?}"))?;
                    let client = interop_tests::client::TurnClient::new(link);
                    let credentials = interop_tests::client::Credentials::new("user", "user-pass");
                    let allocated = client.with_credentials(credentials).allocate();
                    allocated
                        .map(|_| ())
                        .map_err(|refusal| format!("{refusal:?}"))
                },
            )
            .await;
        }
    }
}
