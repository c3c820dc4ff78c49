//! The reload storm: 1,000 config changes in 60 seconds, each row of the live-reconcile table at least 50 times, under
//! traffic of 500 sessions of 20 packets per second each over all four transports.
//!
//! No session may be cut and no packet lost, beyond what the kernel itself counts as dropped, on sessions that no change
//! names. Sessions on listeners that change are watched too: those that move or change protocol must go on, those of
//! removed listeners must end. `STORM_SECONDS` shortens the run in proportion.

mod changes;
mod traffic;
mod witnesses;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use changes::{Changes, Row};
use interop_tests::cds::CdsServer;
use interop_tests::config::Transport;
use interop_tests::drops::kernel_drops;
use interop_tests::echo::UdpEcho;
use interop_tests::http;
use interop_tests::netns::Link;
use interop_tests::pki::TestCa;
use interop_tests::process::{Process, wait_until};
use interop_tests::stunnerd::{self, sum_metric};
use traffic::{Totals, Worker};
use witnesses::Witnesses;

const SESSIONS_PER_TRANSPORT: usize = 125;
const PACKETS_PER_SECOND: u32 = 20;

fn storm_seconds() -> u64 {
    std::env::var("STORM_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60)
}

/// In a network namespace of its own where possible, so that the kernel's counters are of this test alone.
#[test]
fn a_thousand_changes_in_a_minute_cut_nobody_and_lose_nothing() {
    match Link::create() {
        Ok(link) => link.on_server(storm),
        Err(missing) => {
            println!(
                "no network namespace ({}); drops are counted machine-wide",
                missing.why
            );
            storm();
        }
    }
}

fn storm() {
    let seconds = storm_seconds();
    let (wanted, per_row) = (1_000 * seconds / 60, 50 * seconds / 60);
    let ca = TestCa::new();
    let mut changes = Changes::new(&ca);
    let cds = CdsServer::start();
    let mut command = Command::new(stunnerd::binary());
    command
        .args([
            "--watch",
            "--config",
            &cds.address(),
            "--id",
            "storm/gateway",
            "--admin-address",
            "off",
        ])
        .args(["--log", "all:WARN"]);
    let mut server = Process::start("stunnerd", command).expect("start stunnerd");
    cds.push(changes.config());
    changes.wait_applied();

    let peers = [UdpEcho::start("127.0.0.1:0"), UdpEcho::start("127.0.0.1:0")];
    let peer_addresses = peers.iter().map(UdpEcho::address).collect::<Vec<_>>();
    let mut workers = Vec::new();
    for transport in Transport::ALL {
        let server = changes.address(transport.name());
        workers.push(Worker::join(
            transport,
            SESSIONS_PER_TRANSPORT,
            server,
            ca.root_pem(),
            &peer_addresses,
        ));
    }
    println!("{} sessions are up", SESSIONS_PER_TRANSPORT * workers.len());

    let applied_before = metric(&changes, "stunner_config_reconciles_total", "applied");
    let drops_before = kernel_drops();
    let stop = Arc::new(AtomicBool::new(false));
    let begun = Instant::now();
    let threads: Vec<_> = workers
        .into_iter()
        .map(|worker| {
            let stop = stop.clone();
            std::thread::spawn(move || worker.run(&stop, PACKETS_PER_SECOND))
        })
        .collect();

    // The storm itself: on schedule. Configs that arrive while one is being applied are merged into the newest, so
    // each waits for the one before it, on a machine that does not keep up with the schedule too.
    let mut witnesses = Witnesses::new(&ca, peer_addresses[0]);
    let mut rows: BTreeMap<Row, u64> = BTreeMap::new();
    for number in 0..wanted {
        let due = begun + Duration::from_secs(seconds) * number as u32 / wanted as u32;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        changes.wait_applied();
        let row = Row::ALL[(number % Row::ALL.len() as u64) as usize];
        witnesses.before(row, &changes);
        changes.make(row);
        *rows.entry(row).or_default() += 1;
        cds.push(changes.config());
        witnesses.after(row, &changes);
        if number % 200 == 199 {
            println!(
                "[{:5.1} s] {} changes",
                begun.elapsed().as_secs_f64(),
                number + 1
            );
        }
    }
    let pushed_in = begun.elapsed();
    changes.wait_applied();
    let applied_in = begun.elapsed();

    // A moment of quiet for what is still under way, then the books are closed.
    stop.store(true, Ordering::Relaxed);
    let outcomes: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().expect("worker"))
        .collect();
    let drops = kernel_drops() - drops_before;
    let reconciles = |result| metric(&changes, "stunner_config_reconciles_total", result);
    let applied = reconciles("applied") - applied_before;
    let rejected = reconciles("rejected");

    println!(
        "\nchanges pushed in {:.1} s, the last applied after {:.1} s",
        pushed_in.as_secs_f64(),
        applied_in.as_secs_f64()
    );
    println!("{applied} applied, {rejected} rejected");
    for (row, count) in &rows {
        println!("  {count:4} x {}", row.name());
    }
    println!(
        "{:10} {:>8} {:>10} {:>10} {:>6} {:>6} {:>10} {:>5}",
        "transport", "sessions", "sent", "received", "lost", "twice", "refreshes", "cut"
    );
    let mut all = Totals::default();
    for outcome in &outcomes {
        println!("{outcome}");
        all.add(outcome);
    }
    println!("{all}");
    println!("datagrams that the kernel counts as dropped: {drops}");
    println!("{}", witnesses.report());
    for problem in outcomes
        .iter()
        .flat_map(|outcome| &outcome.problems)
        .take(20)
    {
        println!("  {problem}");
    }

    assert!(server.ended().is_none(), "stunnerd ended");
    assert_eq!(applied, wanted, "not every change was applied");
    assert!(
        rows.values().all(|count| *count >= per_row) && rows.len() == Row::ALL.len(),
        "{rows:?}"
    );
    assert_eq!(all.cut, 0, "sessions were cut");
    assert!(
        all.lost() + all.refreshes_failed <= drops,
        "{} packets and {} refreshes lost, of which the kernel counts {drops}",
        all.lost(),
        all.refreshes_failed
    );
    witnesses.check(&changes);
}

fn metric(changes: &Changes, family: &str, label: &str) -> u64 {
    let (host, path) = changes
        .config()
        .endpoint("metrics_endpoint")
        .expect("metrics");
    let up = wait_until(Duration::from_secs(20), || http::get(&host, &path).is_ok());
    assert!(up, "no metrics at {host}");
    // Counters of the shards come about once a second.
    std::thread::sleep(Duration::from_millis(1200));
    sum_metric(
        &http::get(&host, &path).expect("metrics").body,
        family,
        &[label],
    ) as u64
}
