//! Sessions on the listeners that do change, and the credential and certificate that new clients meet.

use std::net::SocketAddr;
use std::time::Duration;

use interop_tests::client::{Link, TurnClient};
use interop_tests::config::Transport;
use interop_tests::pki::TestCa;
use interop_tests::scene::CHANNEL;

use crate::changes::{Changes, MOVER, Row, SHAPES, TEMPORARY};

/// One of so many changes of a row is looked at closely; the others only have to hurt nobody.
const LOOK_AT_EVERY: u64 = 10;

pub struct Witnesses<'a> {
    ca: &'a TestCa,
    peer: SocketAddr,
    /// Sessions of listeners that moved or changed their protocol since: must go on.
    stay: Vec<TurnClient>,
    /// The session on the temporary listener: must end with it.
    on_temporary: Option<TurnClient>,
    ended: u64,
    outlived: u64,
    new_clients: u64,
}

impl<'a> Witnesses<'a> {
    pub fn new(ca: &'a TestCa, peer: SocketAddr) -> Self {
        Self {
            ca,
            peer,
            stay: Vec::new(),
            on_temporary: None,
            ended: 0,
            outlived: 0,
            new_clients: 0,
        }
    }

    fn looks(changes: &Changes, row: Row) -> bool {
        changes.count(row) % LOOK_AT_EVERY == 1
    }

    /// Opens a session on what the next change will touch.
    pub fn before(&mut self, row: Row, changes: &Changes) {
        if !Self::looks(changes, row) {
            return;
        }
        match row {
            Row::PortOrAddress => {
                changes.wait_applied();
                self.stay
                    .extend(self.open(Transport::Udp, changes.address(MOVER), changes));
            }
            Row::Protocol => {
                changes.wait_applied();
                for (name, _, _) in SHAPES {
                    self.stay.extend(self.open(
                        changes.shape(name),
                        changes.address(name),
                        changes,
                    ));
                }
            }
            Row::ListenerRemoved => {
                changes.wait_applied();
                let transport = changes.shape(TEMPORARY);
                self.on_temporary = self.open(transport, changes.address(TEMPORARY), changes);
            }
            _ => {}
        }
    }

    /// Looks at what the change did to new clients, and to those of a removed listener.
    pub fn after(&mut self, row: Row, changes: &Changes) {
        if let (Row::ListenerRemoved, Some(mut session)) = (row, self.on_temporary.take()) {
            changes.wait_applied();
            if session.echoes_within(CHANNEL, b"removed", Duration::from_millis(200)) {
                self.outlived += 1;
            } else {
                self.ended += 1;
            }
        }
        if changes.count(row) % LOOK_AT_EVERY == 2 && matches!(row, Row::Auth | Row::Certificate) {
            changes.wait_applied();
            for transport in [Transport::Udp, Transport::Tls] {
                if let Some(mut session) =
                    self.open(transport, changes.address(transport.name()), changes)
                {
                    session.refresh(0).expect("delete");
                    self.new_clients += 1;
                }
            }
        }
    }

    /// A session with the credential of the moment; `None` while authentication is off.
    fn open(
        &self,
        transport: Transport,
        server: SocketAddr,
        changes: &Changes,
    ) -> Option<TurnClient> {
        let credentials = changes.credentials()?;
        let link = Link::connect(transport, server, self.ca.root_pem());
        let link = link.unwrap_or_else(|error| {
            panic!(
                "{transport:?} to {server} after {} changes: {error:?}",
                changes.made()
            )
        });
        let mut client = TurnClient::new(link).with_credentials(credentials);
        client.join(CHANNEL, self.peer);
        Some(client)
    }

    pub fn report(&self) -> String {
        format!(
            "{} sessions on listeners that then moved or changed protocol; {} ended with their removed listener; {} new clients served",
            self.stay.len(),
            self.ended,
            self.new_clients
        )
    }

    /// Sessions of moved and changed listeners go on, those of removed ones have ended.
    pub fn check(mut self, changes: &Changes) {
        assert_eq!(self.outlived, 0, "sessions outlived their removed listener");
        assert!(
            changes.made() < 500
                || (self.ended > 0 && !self.stay.is_empty() && self.new_clients > 0),
            "{}",
            self.report()
        );
        for (number, session) in self.stay.iter_mut().enumerate() {
            let transport = session.link.transport();
            assert!(
                session.echoes(CHANNEL, b"still here"),
                "{transport:?} session {number} of a changed listener was cut"
            );
            session.refresh(600).unwrap_or_else(|refusal| {
                panic!("{transport:?} session {number}: refresh: {refusal:?}")
            });
        }
    }
}
