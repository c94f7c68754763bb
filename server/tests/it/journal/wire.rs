//! The way to PostgreSQL, which breaks around a commit.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// What becomes of the next commit and of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// The server commits; the connection breaks before its answer.
    LosesAnswer,
    /// The connection breaks before the commit reaches the server.
    LosesCommit,
    /// The commit vanishes and nothing breaks: both sides wait.
    Silent,
}

/// A relay on a free port. Connections to it work until [`Wire::breaks`] strikes one of them.
pub(super) struct Wire {
    pub(super) address: SocketAddr,
    next: Arc<Mutex<Option<Break>>>,
}

impl Wire {
    pub(super) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let next = Arc::new(Mutex::new(None));
        let seen = next.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(server).await {
                    tokio::spawn(relay(client, server, seen.clone()));
                }
            }
        });
        Self { address, next }
    }

    /// The next commit suffers this; those after it pass.
    pub(super) fn breaks(&self, how: Break) {
        *self.next.lock().unwrap() = Some(how);
    }

    /// Whether it has struck.
    pub(super) fn has_broken(&self) -> bool {
        self.next.lock().unwrap().is_none()
    }
}

async fn relay(client: TcpStream, server: TcpStream, next: Arc<Mutex<Option<Break>>>) {
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut answers = tokio::spawn(pass(from_server, to_client));
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from_client.read(&mut bytes) => read,
            _ = &mut answers => return,
        };
        let Ok(n @ 1..) = read else { break };
        let commits = bytes[..n].windows(7).any(|it| it == b"COMMIT\0");
        let strikes = if commits { next.lock().unwrap().take() } else { None };
        match strikes {
            None => _ = to_server.write_all(&bytes[..n]).await,
            Some(Break::LosesCommit) => break,
            Some(Break::Silent) => std::future::pending().await,
            Some(Break::LosesAnswer) => {
                // Nothing more reaches the client, and the server has everything before it hears the end.
                answers.abort();
                _ = to_server.write_all(&bytes[..n]).await;
                break;
            }
        }
    }
    answers.abort();
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    _ = tokio::io::copy(&mut from, &mut to).await;
}
