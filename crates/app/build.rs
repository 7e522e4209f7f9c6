//! Puts the built-in scenarios into the binary, and takes the fingerprint of what computes results.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("scenarios.rs"), scenarios(&here.join("../../scenarios"))?)?;
    fs::write(out.join("data.rs"), data(&here.join("../../scenarios"))?)?;
    say(&format!("rustc-env=QUELL_FINGERPRINT={}", fingerprint(&here)?));
    say(&format!("rustc-env=QUELL_COMPILER={}", compiler()));
    Ok(())
}

/// What the compiler says of its version.
fn compiler() -> String {
    let compiler = env::var_os("RUSTC").expect("cargo sets it");
    let said = std::process::Command::new(compiler).arg("--version").output();
    said.map_or_else(
        |_| "an unknown compiler".to_owned(),
        |it| String::from_utf8_lossy(&it.stdout).trim().to_owned(),
    )
}

/// A table of every `.toml` under the folder: its path without the ending, and its text.
fn scenarios(folder: &Path) -> io::Result<String> {
    let folder = folder.canonicalize()?;
    say(&format!("rerun-if-changed={}", folder.display()));
    let mut table = String::from("&[\n");
    for file in files(&folder, "toml")? {
        let id = file.strip_prefix(&folder).expect("it was found there").with_extension("");
        let id = id.to_string_lossy().replace('\\', "/");
        let _ = writeln!(table, "    ({id:?}, include_str!({:?})),", file.to_string_lossy());
    }
    table.push_str("]\n");
    Ok(table)
}

/// A table of every file of data under the folder: its path, and its text.
fn data(folder: &Path) -> io::Result<String> {
    let folder = folder.canonicalize()?;
    let mut table = String::from("&[\n");
    for file in [files(&folder.join("data"), "csv")?, files(&folder.join("data"), "txt")?].concat() {
        let name =
            file.strip_prefix(&folder).expect("it was found there").to_string_lossy().replace('\\', "/");
        let _ = writeln!(table, "    ({name:?}, include_str!({:?})),", file.to_string_lossy());
    }
    table.push_str("]\n");
    Ok(table)
}

/// Eight digits that change whenever the simulator or the protocol library does, so that a folder of results
/// is never continued by a build that might have computed others.
fn fingerprint(here: &Path) -> io::Result<String> {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = OFFSET;
    for folder in ["../proto/src", "../sim/src"] {
        let folder = here.join(folder);
        say(&format!("rerun-if-changed={}", folder.display()));
        for file in files(&folder, "rs")? {
            let name = file.strip_prefix(&folder).expect("it was found there").to_string_lossy().into_owned();
            for octet in name.bytes().chain(fs::read(&file)?) {
                hash = (hash ^ u64::from(octet)).wrapping_mul(PRIME);
            }
        }
    }
    Ok(format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff)))
}

/// The files of that ending under a folder, in order.
fn files(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn say(words: &str) {
    println!("cargo::{words}");
}
