//! A serial line that leads to a simulated PLC: a pseudo-terminal, found under the path of the device that it stands for.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::unix::pipe;
use tokio::time::sleep;

/// Pseudo-terminals are found here.
const PTS: &str = "/dev/pts";
/// Longest frame of RTU.
const FRAME_MAX: usize = 256;
/// Between tries to reach the server.
const RETRY: Duration = Duration::from_millis(100);

/// The PLC's end of the line. The path is gone once this is dropped.
#[derive(Debug)]
pub struct Line {
    from_line: pipe::Receiver,
    to_line: pipe::Sender,
    /// Held open: while nobody has the other end, reading of this one would fail.
    _other: OwnedFd,
    path: PathBuf,
}

impl Line {
    /// Lays the line. What lies at the path may only be what an earlier line has left behind: a simulated plant must
    /// never stand in for a real device.
    ///
    /// # Errors
    /// Something else lies there, or there is no pseudo-terminal.
    pub fn open(path: PathBuf) -> anyhow::Result<Self> {
        clear(&path)?;
        let laid = || -> io::Result<(OwnedFd, OwnedFd, PathBuf)> {
            let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
            grantpt(&end)?;
            unlockpt(&end)?;
            rustix::io::ioctl_fionbio(&end, true)?;
            let name = ptsname(&end, Vec::new())?;
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            let other = rustix::fs::open(&name, flags, Mode::empty())?;
            let mut settings = tcgetattr(&other)?;
            settings.make_raw();
            tcsetattr(&other, OptionalActions::Now, &settings)?;
            Ok((end, other, PathBuf::from(name.to_string_lossy().into_owned())))
        };
        let (end, other, name) = laid().context("there is no pseudo-terminal to be had")?;
        symlink(&name, &path).with_context(|| format!("{} cannot be made", path.display()))?;
        tracing::info!(device = %path.display(), "the simulated PLC listens on a serial line");
        // Both directions of one end; a pseudo-terminal is read and written like a pipe.
        let from_line = pipe::Receiver::from_owned_fd_unchecked(end.try_clone()?)?;
        let to_line = pipe::Sender::from_owned_fd_unchecked(end)?;
        Ok(Self { from_line, to_line, _other: other, path })
    }

    /// Carries bytes between the line and the server at the address, until the line breaks. Whoever has the other end
    /// notices nothing of a connection that breaks, but that no answer comes.
    ///
    /// # Errors
    /// What broke the line.
    pub async fn carry(mut self, address: SocketAddr) -> io::Result<()> {
        loop {
            match TcpStream::connect(address).await {
                Ok(server) => self.carry_to(server).await?,
                Err(_) => sleep(RETRY).await,
            }
        }
    }

    /// Until the server's side breaks.
    async fn carry_to(&mut self, mut server: TcpStream) -> io::Result<()> {
        let (mut asked, mut answer) = ([0; FRAME_MAX], [0; FRAME_MAX]);
        loop {
            tokio::select! {
                n = self.from_line.read(&mut asked) => {
                    if server.write_all(asked.get(..n?).unwrap_or_default()).await.is_err() {
                        return Ok(());
                    }
                }
                n = server.read(&mut answer) => match n {
                    Ok(0) | Err(_) => return Ok(()),
                    Ok(n) => self.to_line.write_all(answer.get(..n).unwrap_or_default()).await?,
                },
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A path that is gone already is as wanted.
        _ = fs::remove_file(&self.path);
    }
}

fn clear(path: &Path) -> anyhow::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let left_behind = found.is_symlink() && fs::read_link(path).is_ok_and(|to| to.starts_with(PTS));
    if !left_behind {
        bail!(
            "{} is there already, so it is not simulated; set `device` to a path where there is nothing",
            path.display()
        );
    }
    fs::remove_file(path).with_context(|| format!("{} cannot be made anew", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_takes_the_place_of_an_earlier_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ttyL1");
        let line = Line::open(path.clone()).unwrap();
        let first = fs::read_link(&path).unwrap();
        assert!(first.starts_with(PTS), "{}", first.display());
        drop(line);
        assert!(fs::symlink_metadata(&path).is_err(), "it is gone with the line");
        symlink("/dev/pts/0", &path).unwrap();
        Line::open(path.clone()).unwrap();
        for foreign in ["/dev/null", "/etc/hostname"] {
            symlink(foreign, &path).unwrap();
            let refused = Line::open(path.clone()).unwrap_err().to_string();
            assert!(refused.ends_with("set `device` to a path where there is nothing"), "{refused}");
            fs::remove_file(&path).unwrap();
        }
    }
}
