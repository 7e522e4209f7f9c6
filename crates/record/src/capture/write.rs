//! Writing pcapng: one section, an interface block for each port, a packet block for each frame, counts at the end.
//!
//! Everything is little-endian and padded to four octets; times are nanoseconds since the start of the run.

use super::*;
use std::io::{self, Write};

/// A port whose frames are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, as analysers show and filter by it.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Its rate in bits per second.
    pub speed_bps: u64,
}

/// Writes a capture, frame by frame.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    out: W,
    snaplen: u32,
    /// Frames of each interface, and when the last of all came.
    counts: Vec<u64>,
    last_ns: u64,
    block: Vec<u8>,
}

/// Ten to the minus nine seconds.
const NANOSECONDS: u8 = 9;

impl<W: Write> CaptureWriter<W> {
    /// Begins a capture: what wrote it, what it is, and the ports whose frames will come. No more than `snaplen`
    /// octets are kept of a frame.
    pub fn new(
        out: W,
        tool: &str,
        comment: &str,
        interfaces: &[Interface],
        snaplen: u32,
    ) -> io::Result<CaptureWriter<W>> {
        let counts = vec![0; interfaces.len()];
        let mut writer = CaptureWriter { out, snaplen, counts, last_ns: 0, block: Vec::new() };
        writer.block(SECTION, |block| {
            block.extend(BYTE_ORDER.to_le_bytes());
            // Version 1.0, of a length that is not known beforehand.
            block.extend([1, 0, 0, 0]);
            block.extend(u64::MAX.to_le_bytes());
            option(block, OPT_COMMENT, comment.as_bytes());
            option(block, OPT_SECTION_TOOL, tool.as_bytes());
            option(block, OPT_END, &[]);
        })?;
        for interface in interfaces {
            writer.block(INTERFACE, |block| {
                block.extend(u32::from(ETHERNET).to_le_bytes());
                block.extend(snaplen.to_le_bytes());
                option(block, OPT_IF_NAME, interface.name.as_bytes());
                option(block, OPT_IF_DESCRIPTION, interface.description.as_bytes());
                option(block, OPT_IF_SPEED, &interface.speed_bps.to_le_bytes());
                option(block, OPT_IF_RESOLUTION, &[NANOSECONDS]);
                option(block, OPT_END, &[]);
            })?;
        }
        Ok(writer)
    }

    /// A frame of `length` octets left by a port, at so many nanoseconds. It starts with `octets`; those behind them
    /// are zero.
    pub fn frame(&mut self, interface: u32, at_ns: u64, octets: &[u8], length: u32) -> io::Result<()> {
        let kept = length.min(self.snaplen);
        let given = octets.get(..kept as usize).unwrap_or(octets);
        self.counts[interface as usize] += 1;
        self.last_ns = at_ns;
        self.block(ENHANCED_PACKET, |block| {
            block.extend(interface.to_le_bytes());
            stamp(block, at_ns);
            block.extend(kept.to_le_bytes());
            block.extend(length.to_le_bytes());
            block.extend(given);
            block.resize(block.len() + kept as usize - given.len(), 0);
        })
    }

    /// How many frames were written so far.
    pub fn frames(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What is written to.
    pub fn out(&self) -> &W {
        &self.out
    }

    /// Writes how many frames each port sent, and gives the file back.
    pub fn finish(mut self) -> io::Result<W> {
        for (interface, count) in std::mem::take(&mut self.counts).into_iter().enumerate() {
            let at = self.last_ns;
            self.block(STATISTICS, |block| {
                block.extend((interface as u32).to_le_bytes());
                stamp(block, at);
                option(block, OPT_STATISTICS_SENT, &count.to_le_bytes());
                option(block, OPT_END, &[]);
            })?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes a block around what `fill` puts into it.
    fn block(&mut self, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        block.extend(kind.to_le_bytes());
        block.extend([0; 4]);
        fill(&mut block);
        pad(&mut block);
        let length = (block.len() as u32 + 4).to_le_bytes();
        block[4..8].copy_from_slice(&length);
        block.extend(length);
        let written = self.out.write_all(&block);
        self.block = block;
        written
    }
}

/// A time: its high half, then its low half.
fn stamp(block: &mut Vec<u8>, at_ns: u64) {
    block.extend(((at_ns >> 32) as u32).to_le_bytes());
    block.extend((at_ns as u32).to_le_bytes());
}

/// An option; longer values than an option has room for are cut.
fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    pad(block);
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}
