//! The way to PostgreSQL, which breaks around a commit.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of the next commit and of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// The server commits; the connection breaks before its answer.
    LosesAnswer,
    /// The connection breaks before the commit reaches the server.
    LosesCommit,
    /// The commit vanishes and nothing breaks: both sides wait.
    Silent,
    /// The server commits; then nobody gets through any more, until [`Wire::heals`].
    Vanishes,
    /// The commit is under way until [`Wire::heals`]. Others get through.
    Holds,
}

/// A relay on a free port. Connections to it work until [`Wire::breaks`] strikes one of them.
pub(super) struct Wire {
    pub(super) address: SocketAddr,
    state: Arc<State>,
}

struct State {
    /// And what the transaction has to tell of.
    next: Mutex<Option<(Break, &'static str)>>,
    cut: watch::Sender<bool>,
    held: watch::Sender<bool>,
}

impl Wire {
    pub(super) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, held) = (watch::Sender::new(false), watch::Sender::new(false));
        let state = Arc::new(State { next: Mutex::new(None), cut, held });
        let seen = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *seen.cut.borrow() {
                    continue;
                }
                if let Ok(server) = TcpStream::connect(server).await {
                    tokio::spawn(relay(client, server, seen.clone()));
                }
            }
        });
        Self { address, state }
    }

    /// The next commit suffers this; those after it pass.
    pub(super) fn breaks(&self, how: Break) {
        self.breaks_at(how, "");
    }

    /// The next commit of something that holds this text suffers this; all others pass.
    pub(super) fn breaks_at(&self, how: Break, text: &'static str) {
        self.state.held.send_replace(how == Break::Holds);
        *self.state.next.lock().unwrap() = Some((how, text));
    }

    /// Everybody gets through again, and so does what was held.
    pub(super) fn heals(&self) {
        self.state.cut.send_replace(false);
        self.state.held.send_replace(false);
    }

    /// Whether it has struck.
    pub(super) fn has_broken(&self) -> bool {
        self.state.next.lock().unwrap().is_none()
    }
}

impl State {
    /// What becomes of a transaction that is about to be committed.
    fn strikes(&self, transaction: &[u8]) -> Option<Break> {
        let mut next = self.next.lock().unwrap();
        let struck = next.take_if(|(_, text)| holds(transaction, text.as_bytes()));
        struck.map(|(how, _)| how)
    }
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|it| it == text)
}

async fn relay(client: TcpStream, server: TcpStream, state: Arc<State>) {
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut answers = tokio::spawn(pass(from_server, to_client));
    let (mut cut, mut held) = (state.cut.subscribe(), state.held.subscribe());
    let (mut bytes, mut transaction) = (vec![0; 64 * 1024], Vec::new());
    loop {
        let read = tokio::select! {
            read = from_client.read(&mut bytes) => read,
            _ = &mut answers => return,
            _ = cut.wait_for(|it| *it) => break,
        };
        let Ok(n @ 1..) = read else { break };
        transaction.extend_from_slice(&bytes[..n]);
        let commits = holds(&bytes[..n], b"COMMIT\0");
        let strikes = if commits { state.strikes(&std::mem::take(&mut transaction)) } else { None };
        match strikes {
            None => _ = to_server.write_all(&bytes[..n]).await,
            Some(Break::LosesCommit) => break,
            Some(Break::Silent) => std::future::pending().await,
            Some(Break::Holds) => {
                _ = held.wait_for(|it| !*it).await;
                _ = to_server.write_all(&bytes[..n]).await;
            }
            Some(how @ (Break::LosesAnswer | Break::Vanishes)) => {
                // Nothing more reaches the client, and the server has everything before it hears the end.
                answers.abort();
                _ = to_server.write_all(&bytes[..n]).await;
                state.cut.send_replace(how == Break::Vanishes);
                break;
            }
        }
    }
    answers.abort();
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    _ = tokio::io::copy(&mut from, &mut to).await;
}
