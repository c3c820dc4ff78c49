//! Through any TURN server, to an icetester or to this process.

use stunner_client::{ServerTransport, ServerUri};
use stunner_peer::IceServer;
use stunner_process::Signals;

use super::call::{Call, Kind};
use super::far_end::FarEnd;
use super::ledger::Ledger;
use super::whip::Whip;
use super::{Options, series};
use crate::failure::Failure;
use crate::output::Output;

pub(super) async fn run(
    servers: &[IceServer],
    options: &Options,
    signals: &Signals,
    ledger: &Ledger,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let far_end = match &options.whip {
        Some(url) => FarEnd::Whip(Whip::by_url(url, options.whip_token.clone())?),
        None => FarEnd::Here {
            insecure: options.terms.insecure,
        },
    };
    let calls = both(choose(servers, &options.transports)?);
    ledger.plan(&calls);
    let work = async {
        for call in calls {
            ledger.record(series::call(call, &far_end, &options.terms, out).await);
        }
        Ok(())
    };
    let test = series::within(options.timeout, signals, work).await;
    // Whatever happened: others may call that icetester too, and nobody is to find our credentials there.
    if let FarEnd::Whip(whip) = &far_end
        && let Err(error) = restored(whip, signals).await
    {
        out.report(&error);
    }
    test
}

/// Gives the icetester back the settings it had. The signal that ended the test does not end this, but the next one does.
async fn restored(whip: &Whip, signals: &Signals) -> Result<(), Failure> {
    let hint =
        "POST other ICEServers and another ICETransportPolicy to its /config, or start it again";
    let failure = |why: String| {
        let what = format!("the icetester keeps the TURN servers of this test: {why}");
        Failure::new(what, hint)
    };
    tokio::select! {
        done = whip.restore() => done.map_err(|error| failure(error.to_string())),
        () = series::next(signals) => Err(failure("interrupted".to_owned())),
    }
}

/// The calls of both kinds through each of the servers.
pub(super) fn both(chosen: Vec<(ServerTransport, IceServer)>) -> Vec<Call> {
    let calls = chosen.into_iter().flat_map(|(transport, server)| {
        Kind::BOTH.map(|kind| Call {
            kind,
            transport,
            listener: None,
            server: server.clone(),
        })
    });
    calls.collect()
}

/// Each URL of a wanted transport, as a server of its own.
pub(super) fn choose(
    servers: &[IceServer],
    wanted: &[ServerTransport],
) -> Result<Vec<(ServerTransport, IceServer)>, Failure> {
    let mut chosen = Vec::new();
    for server in servers {
        for url in &server.urls {
            if url.starts_with("stun:") || url.starts_with("stuns:") {
                continue;
            }
            let uri: ServerUri = url.parse().map_err(|error| {
                // The error names the part that is wrong, never a password.
                Failure::new(
                    format!("an ICE server has a bad URL: {error}"),
                    "write it as turn:HOST:PORT?transport=udp, tcp, or turns: with them for DTLS and TLS",
                )
            })?;
            if wanted.is_empty() || wanted.contains(&uri.transport) {
                let (username, credential) = match &uri.credentials {
                    Some((username, password)) => (username.clone(), password.clone()),
                    None => (server.username.clone(), server.credential.clone()),
                };
                let one = IceServer {
                    urls: vec![uri.to_string()],
                    username,
                    credential,
                };
                chosen.push((uri.transport, one));
            }
        }
    }
    for transport in wanted {
        if !chosen.iter().any(|(known, _)| known == transport) {
            return Err(Failure::new(
                format!("no ICE server speaks {transport}"),
                "leave the transport out, or give a server that speaks it",
            ));
        }
    }
    match chosen.is_empty() {
        true => Err(Failure::new(
            "there is no TURN server among the ICE servers",
            "give one, such as turn:192.0.2.1:3478?transport=udp",
        )),
        false => Ok(chosen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_url_of_a_wanted_transport_is_a_server_of_its_own() {
        let server = IceServer {
            urls: [
                "stun:192.0.2.1",
                "turn:192.0.2.1:3478?transport=udp",
                "turn:192.0.2.1:3478?transport=tcp",
                "turns://a:b@192.0.2.1:443?transport=udp",
            ]
            .map(str::to_owned)
            .to_vec(),
            username: "u".to_owned(),
            credential: "c".to_owned(),
        };
        let servers = [server];
        let all = choose(&servers, &[]).expect("servers");
        let names: Vec<String> = all
            .iter()
            .map(|(transport, server)| {
                format!("{transport} {} {}", server.urls[0], server.username)
            })
            .collect();
        assert_eq!(
            names,
            [
                "UDP turn:192.0.2.1:3478?transport=udp u",
                "TCP turn:192.0.2.1:3478?transport=tcp u",
                "DTLS turns:192.0.2.1:443?transport=udp a",
            ]
        );
        let one = choose(&servers, &[ServerTransport::Tcp]).expect("a server");
        assert_eq!(one.len(), 1);
        let none = choose(&servers, &[ServerTransport::Tls]).expect_err("none");
        assert!(none.to_string().contains("TLS"), "{none}");
    }
}
