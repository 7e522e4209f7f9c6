//! A folder to work in, and the binary to work with.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Small enough for a test, busy enough to say something: 2 configurations, 2 seeds, 4 ms each.
pub(crate) const TINY: &str = include_str!("../data/tiny.toml");

/// A folder of its own for one test.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Did {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk { folder: tempfile::tempdir().expect("a folder for the test") }
    }

    /// With the tiny scenario in it.
    pub(crate) fn with_tiny() -> Desk {
        let desk = Desk::new();
        desk.write("tiny.toml", TINY);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("the test's folder can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.env_remove("NO_COLOR").stdin(Stdio::null());
        command
    }

    /// Runs `quell` with these words.
    pub(crate) fn quell(&self, line: &str) -> Did {
        let output = self.command(line).output().expect("the binary starts");
        let text = |octets: Vec<u8>| {
            let text = String::from_utf8(octets).expect("the binary writes UTF-8");
            text.replace(&self.folder.path().display().to_string(), "[desk]")
        };
        let did =
            Did { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!did.stderr.contains("panicked"), "{did:?}");
        did
    }

    /// Starts `quell` with these words.
    pub(crate) fn start(&self, line: &str) -> Child {
        let mut command = self.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    }

    /// Runs `quell` and reads the document it prints.
    pub(crate) fn json(&self, line: &str) -> Value {
        let did = self.quell(line);
        serde_json::from_str(&did.stdout).unwrap_or_else(|error| panic!("{error}: {did:?}"))
    }
}

impl Did {
    /// Fails the test unless it ended so.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32) -> &Did {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

/// The digest of a document that `--json` printed.
pub(crate) fn digest(document: &Value) -> String {
    document["digest"].as_str().unwrap_or_else(|| panic!("no digest: {document}")).to_owned()
}

/// Every file under a folder, by its path from there.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).expect("within").display().to_string());
            }
        }
    }
    found.sort();
    found
}
