//! Network namespaces joined by veth pairs: made for an experiment, gone after it, whatever became of the process.
//!
//! Names start with [`PREFIX`] and the process that made them: its number and when it started. Those whose process is gone are taken away
//! before anything new is made, so that even what a killed process left does not stay.

use crate::device::sys;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::thread;

/// What every namespace of ours is called, before its process.
pub const PREFIX: &str = "quell-lab-";

/// Where `ip` keeps the names of namespaces.
const NAMES: &str = "/run/netns";

/// Namespaces of this process; taken away when dropped.
#[derive(Debug)]
pub struct Lab {
    spaces: Vec<String>,
}

/// What kept a lab from being made.
#[derive(Debug)]
#[non_exhaustive]
pub enum LabError {
    /// The process is not root.
    NotRoot,
    /// There is no `ip` command.
    NoIp(io::Error),
    /// `ip` refused.
    Refused {
        /// What it was asked.
        asked: String,
        /// What it said.
        said: String,
    },
    /// A namespace could not be entered.
    Enter {
        /// Its name.
        space: String,
        /// What the system said.
        error: io::Error,
    },
}

impl LabError {
    /// What helps against it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            LabError::NotRoot => Some("network namespaces are root's to make: run it with sudo"),
            LabError::NoIp(_) => Some("install iproute2"),
            LabError::Refused { .. } => Some(
                "the kernel must know network namespaces and veth, and the process have CAP_NET_ADMIN and CAP_SYS_ADMIN",
            ),
            LabError::Enter { .. } => None,
        }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabError::NotRoot => f.write_str("this builds network namespaces, and the process is not root"),
            LabError::NoIp(error) => write!(f, "cannot start `ip`: {error}"),
            LabError::Refused { asked, said } => write!(f, "`ip {asked}` failed: {said}"),
            LabError::Enter { space, error } => {
                write!(f, "cannot enter the network namespace {space}: {error}")
            }
        }
    }
}

impl std::error::Error for LabError {}

impl Lab {
    /// Makes a namespace for each of these names, with nothing in it, after taking away what dead processes left.
    pub fn new(names: &[&str]) -> Result<Lab, LabError> {
        if !is_root() {
            return Err(LabError::NotRoot);
        }
        clean();
        let mut lab = Lab { spaces: Vec::new() };
        for name in names {
            let space = lab.space(name);
            ip(&["netns", "add", &space])?;
            lab.spaces.push(space);
        }
        Ok(lab)
    }

    /// Joins two of them by a veth pair, both ends up.
    pub fn join(&self, [a, b]: [&str; 2], names: [&str; 2], mtu: u32) -> Result<(), LabError> {
        let (a, b, mtu) = (self.space(a), self.space(b), mtu.to_string());
        ip(&[
            "-n", &a, "link", "add", "name", names[0], "type", "veth", "peer", "name", names[1], "netns", &b,
        ])?;
        for (space, name) in [(&a, names[0]), (&b, names[1])] {
            // Stations of ours speak no IPv6; without this the kernel sends its own greetings into the experiment.
            let _ = ip(&[
                "netns",
                "exec",
                space,
                "sysctl",
                "-qw",
                &format!("net.ipv6.conf.{name}.disable_ipv6=1"),
            ]);
            ip(&["-n", space, "link", "set", "dev", name, "mtu", &mtu, "up"])?;
        }
        Ok(())
    }

    /// Asks `ip` for something inside a namespace.
    pub fn ip(&self, name: &str, words: &[&str]) -> Result<(), LabError> {
        let space = self.space(name);
        let mut all = vec!["-n", &space];
        all.extend(words);
        ip(&all)
    }

    /// Does something on a thread inside a namespace; what it opens stays there.
    pub fn inside<R: Send>(&self, name: &str, act: impl FnOnce() -> R + Send) -> Result<R, LabError> {
        let space = self.space(name);
        let entered = || -> io::Result<()> {
            let file = File::open(Path::new(NAMES).join(&space))?;
            sys::enter(file.as_fd())
        };
        let result = thread::scope(|scope| {
            let inner = scope.spawn(|| entered().map(|()| act()));
            inner.join().map_err(|_| io::Error::other("the thread inside panicked")).and_then(|result| result)
        });
        result.map_err(|error| LabError::Enter { space, error })
    }

    /// The whole name of a namespace.
    pub fn space(&self, name: &str) -> String {
        Process::own().space(name)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for space in &self.spaces {
            // The pairs go with their namespaces. What cannot be removed now is the next one's to remove.
            let _ = ip(&["netns", "del", space]);
        }
    }
}

/// Takes away namespaces whose process is gone. Says how many there were.
pub fn clean() -> usize {
    let Ok(names) = fs::read_dir(NAMES) else { return 0 };
    let names = names.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let stale = names.filter(|name| owner(name).is_some_and(|process| !process.is_alive()));
    stale.filter(|space| ip(&["netns", "del", space]).is_ok()).count()
}

/// A process, told from a later one of the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    number: u32,
    /// In ticks since the machine started.
    started: u64,
}

impl Process {
    /// The one that has this number now, if there is one.
    fn of(number: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // The second field is a name in brackets, and may hold anything; the start is the twentieth behind it.
        let (_, rest) = stat.rsplit_once(')')?;
        let started = rest.split_whitespace().nth(19)?.parse().ok()?;
        Some(Process { number, started })
    }

    fn own() -> Process {
        let number = std::process::id();
        Process::of(number).unwrap_or(Process { number, started: 0 })
    }

    fn is_alive(self) -> bool {
        Process::of(self.number) == Some(self)
    }

    /// What a namespace of this process is called.
    fn space(self, name: &str) -> String {
        format!("{PREFIX}{}-{}-{name}", self.number, self.started)
    }
}

/// The process that made a namespace, if it is one of ours.
fn owner(name: &str) -> Option<Process> {
    let mut parts = name.strip_prefix(PREFIX)?.splitn(3, '-');
    let (number, started) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().map(|_| Process { number, started })
}

/// Whether the process has root's rights.
pub fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().nth(1)) == Some("0")
}

fn ip(words: &[&str]) -> Result<(), LabError> {
    let output = Command::new("ip").args(words).output().map_err(LabError::NoIp)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(LabError::Refused { asked: words.join(" "), said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_of_ours_tells_its_process() {
        assert_eq!(owner("quell-lab-4242-17-nic"), Some(Process { number: 4242, started: 17 }));
        assert_eq!(owner(&Process::own().space("a-b")), Some(Process::own()));
        assert_eq!(owner("quell-lab-4242-nic"), None);
        assert_eq!(owner("somebody-else"), None);
    }

    #[test]
    fn this_process_is_alive_and_an_absurd_one_is_not() {
        let own = Process::own();
        assert!(own.started > 0 && own.is_alive());
        assert!(!Process { started: own.started - 1, ..own }.is_alive(), "an earlier one of the same number");
        assert!(!Process { number: u32::MAX, ..own }.is_alive());
    }
}
