//! ICE tests: whether a browser gets through a listener, shown with a connection to a peer of our own.
//!
//! A test is a UDP socket, a credential for a minute, and a guest of the TURN policy who reaches that socket and
//! nothing else. The browser allocates with the credential, sends its offer here, and talks to an echo peer on the
//! socket. The password leaves in the answer to the start and is told nowhere else.

mod address;
mod error;
mod visitor;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use stunner_config::{AuthMethod, Config, Listener, Protocol};
use stunner_peer::{EchoPeer, Limits};
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::clock::unix_seconds;
use crate::http::{IceServer, IceTest};

pub use self::error::IceTestError;
pub use self::visitor::{Visitor, Visitors};

/// Who makes the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestClient {
    #[default]
    Browser,
    /// A program, which may speak DTLS to TURN servers.
    Native,
}

/// How many tests may run at a time.
pub const MAX_TESTS: usize = 16;
/// How long the credential of a test makes allocations, and how long a test waits for its offer.
const CREDENTIAL_LIFETIME: Duration = Duration::from_secs(60);
/// How long a test may go on after that, as the allocations of its guest do.
const GRACE: Duration = Duration::from_secs(60);
/// A browser that went away without a word frees its place after this long.
const IDLE: Duration = Duration::from_secs(30);

/// The running tests of one dataplane. Dropping it ends them.
#[derive(Debug)]
pub struct IceTests {
    tests: Mutex<HashMap<String, Test>>,
    /// To whoever runs the controller.
    visitors: mpsc::UnboundedSender<Visitors>,
    echo: EchoPeer,
}

#[derive(Debug)]
struct Test {
    visitor: Visitor,
    socket: Arc<UdpSocket>,
    is_answered: bool,
    /// What would end the test by itself.
    tasks: Vec<AbortOnDrop>,
}

#[derive(Debug)]
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl IceTests {
    /// The receiver is for whoever runs the controller: it has to put in force what comes.
    pub fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Visitors>) {
        let (visitors, changes) = mpsc::unbounded_channel();
        let tests = IceTests {
            tests: Mutex::default(),
            visitors,
            echo: EchoPeer::default(),
        };
        (Arc::new(tests), changes)
    }

    /// Starts a test of one listener. When this returns, the credential works.
    pub async fn start(
        self: &Arc<Self>,
        config: &Config,
        name: &str,
        client: TestClient,
    ) -> Result<IceTest, IceTestError> {
        let listener = testable(config, name, client)?;
        // Before there is a socket, so that nobody opens many; and again below, when it counts.
        self.check_room()?;
        let socket = address::bind(listener).await?;
        let peer = socket.local_addr().map_err(IceTestError::Socket)?;

        let expires = unix_seconds().saturating_add(CREDENTIAL_LIFETIME.as_secs());
        let visitor = Visitor {
            username: format!("{expires}:ice-test-{}", random_text(6)).into(),
            password: random_text(24).into(),
            expires,
            peer,
        };
        let ice_server = IceServer {
            urls: vec![address::uri(listener, peer.ip())],
            username: visitor.username.to_string(),
            credential: visitor.password.to_string(),
        };
        let id = random_text(12);
        let admitted = self.insert(&id, visitor, socket)?;
        admitted.await.map_err(|_| IceTestError::Stopped)?;
        tracing::info!(
            scope = "ice-test",
            "ICE test of listener {name}: for {} s a guest may reach the echo peer at {peer}",
            CREDENTIAL_LIFETIME.as_secs()
        );
        Ok(IceTest {
            id,
            listener: name.to_owned(),
            ice_servers: vec![ice_server],
            expires_in_seconds: CREDENTIAL_LIFETIME.as_secs(),
            peer,
        })
    }

    /// Answers the offer of a test, once.
    pub fn answer(self: &Arc<Self>, id: &str, offer: &str) -> Result<String, IceTestError> {
        let mut tests = self.lock();
        let test = tests.get_mut(id).ok_or_else(|| unknown(id))?;
        if test.is_answered {
            return Err(IceTestError::Answered);
        }
        let limits = Limits {
            idle: IDLE,
            whole: CREDENTIAL_LIFETIME + GRACE,
        };
        let socket = Arc::clone(&test.socket);
        let (answer, mut session) = (self.echo).answer(offer, socket, test.visitor.peer, limits)?;
        test.is_answered = true;
        let tests = Arc::downgrade(self);
        let id = id.to_owned();
        test.spawn(async move {
            let ended = session.ended().await;
            tracing::debug!(scope = "ice-test", "the echo session ended: {ended:?}");
            end_in(&tests, &id).await;
        });
        Ok(answer)
    }

    /// Ends a test, with its credential; `false` when there is none of that id.
    pub async fn end(&self, id: &str) -> bool {
        let (test, dismissed) = {
            let mut tests = self.lock();
            let Some(test) = tests.remove(id) else {
                return false;
            };
            (test, self.tell(&tests))
        };
        // The caller may be a task of the test, which ends with it: the guest goes first.
        let _ = dismissed.await;
        drop(test);
        true
    }

    /// Ends all tests where there is no policy any more that would have to forget their guests.
    pub fn end_all(&self) {
        self.lock().clear();
    }

    /// Notes a test and says when the policy knows of it.
    fn insert(
        self: &Arc<Self>,
        id: &str,
        visitor: Visitor,
        socket: UdpSocket,
    ) -> Result<oneshot::Receiver<()>, IceTestError> {
        let mut test = Test {
            visitor,
            socket: Arc::new(socket),
            is_answered: false,
            tasks: Vec::new(),
        };
        let mut tests = self.lock();
        if tests.len() >= MAX_TESTS {
            return Err(IceTestError::TooMany);
        }
        test.spawn(expire(Arc::downgrade(self), id.to_owned()));
        tests.insert(id.to_owned(), test);
        Ok(self.tell(&tests))
    }

    /// Sends all visitors to the controller. Under the lock, so that the last list sent is the newest.
    fn tell(&self, tests: &HashMap<String, Test>) -> oneshot::Receiver<()> {
        let (done, is_done) = oneshot::channel();
        let all = tests.values().map(|test| test.visitor.clone()).collect();
        // Without a controller there is no policy to change either.
        let _ = self.visitors.send(Visitors { all, done });
        is_done
    }

    fn check_room(&self) -> Result<(), IceTestError> {
        match self.lock().len() < MAX_TESTS {
            true => Ok(()),
            false => Err(IceTestError::TooMany),
        }
    }

    fn is_answered(&self, id: &str) -> bool {
        self.lock().get(id).is_some_and(|test| test.is_answered)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Test>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Test {
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(task);
        self.tasks.push(AbortOnDrop(task.abort_handle()));
    }
}

/// Ends a test when its time is over: after the credential's where nobody made use of it.
async fn expire(tests: Weak<IceTests>, id: String) {
    tokio::time::sleep(CREDENTIAL_LIFETIME).await;
    if tests.upgrade().is_some_and(|tests| tests.is_answered(&id)) {
        tokio::time::sleep(GRACE).await;
    }
    end_in(&tests, &id).await;
}

async fn end_in(tests: &Weak<IceTests>, id: &str) {
    if let Some(tests) = tests.upgrade() {
        tests.end(id).await;
    }
}

/// The listener, if such a client can use it.
fn testable<'c>(
    config: &'c Config,
    name: &str,
    client: TestClient,
) -> Result<&'c Listener, IceTestError> {
    let Some(listener) = config.listener(name) else {
        let mut known: Vec<String> = config.listeners.iter().map(|it| it.name.clone()).collect();
        known.sort();
        return Err(IceTestError::UnknownListener {
            name: name.to_owned(),
            known,
        });
    };
    if listener.protocol == Protocol::TurnDtls && client == TestClient::Browser {
        return Err(IceTestError::Dtls(name.to_owned()));
    }
    if matches!(config.auth.method, AuthMethod::None) {
        return Err(IceTestError::TurnOff);
    }
    Ok(listener)
}

fn unknown(id: &str) -> IceTestError {
    IceTestError::UnknownTest(id.to_owned())
}

fn random_text(bytes: usize) -> String {
    let mut random = vec![0u8; bytes];
    rand::fill(random.as_mut_slice());
    URL_SAFE_NO_PAD.encode(random)
}

#[cfg(test)]
mod tests;
