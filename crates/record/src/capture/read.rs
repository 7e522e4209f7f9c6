//! Reading captures, ours and others': pcapng of either byte order and any resolution, several sections, and pcap in
//! microseconds or nanoseconds.
//!
//! Blocks that are not needed are passed over. No block is believed to be longer than [`MOST`], so that a damaged
//! length is an error and not a demand for memory.

use super::*;
use std::io::Read;

/// The longest block that is read: far more than the largest frame.
const MOST: u32 = 16 << 20;

/// Reads the frames of a capture, one after the other.
#[derive(Debug)]
pub struct CaptureReader<R: Read> {
    input: R,
    /// Where the next block starts.
    at: u64,
    format: Format,
    /// The interfaces so far, those of earlier sections included.
    links: Vec<Link>,
    /// The first interface of this section.
    first: usize,
    block: Vec<u8>,
}

/// A port that frames were captured at, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its rate in bits per second, if it is told.
    pub speed_bps: Option<u64>,
    /// What kind of frames it carries; [`ETHERNET`] or another.
    pub kind: u16,
    /// Ticks a second of its time stamps.
    ticks: u64,
    /// Seconds to add to its time stamps.
    offset: i64,
    snaplen: u32,
}

/// One captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Which of [`CaptureReader::links`] it came by.
    pub link: usize,
    /// When, in nanoseconds since the zero of the file's clock; `None` where the file does not tell.
    pub at_ns: Option<i128>,
    /// As much of it as was kept.
    pub octets: &'a [u8],
    /// How long it was.
    pub length: u32,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Pcapng(Order),
    Pcap { order: Order, nanoseconds: bool },
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Little,
    Big,
}

/// What a block turns out to be.
enum Found {
    End,
    Packet { link: usize, at_ns: Option<i128>, from: usize, kept: usize, length: u32 },
    Other,
}

impl<R: Read> CaptureReader<R> {
    /// Reads as far as the format tells itself.
    pub fn new(mut input: R) -> Result<CaptureReader<R>, CaptureError> {
        let mut magic = [0; 4];
        let have = fill(&mut input, &mut magic)?;
        let not_a_capture = CaptureError::NotACapture { found: magic[..have].to_vec() };
        if have < magic.len() {
            return Err(not_a_capture);
        }
        let (links, block) = (Vec::new(), Vec::new());
        // The byte order of a section is not known yet; its block says.
        if u32::from_le_bytes(magic) == SECTION {
            let format = Format::Pcapng(Order::Little);
            let mut reader = CaptureReader { input, at: 0, format, links, first: 0, block };
            reader.section()?;
            return Ok(reader);
        }
        let (order, nanoseconds) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, false),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, false),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, true),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, true),
            _ => return Err(not_a_capture),
        };
        let format = Format::Pcap { order, nanoseconds };
        let mut reader = CaptureReader { input, at: 4, format, links, first: 0, block };
        reader.pcap_header(order)?;
        Ok(reader)
    }

    /// The ports seen so far; a frame's is always among them.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The next frame; `None` at the end of the file. After an error there is no going on.
    pub fn next_frame(&mut self) -> Result<Option<Captured<'_>>, CaptureError> {
        let (link, at_ns, from, kept, length) = loop {
            let found = match self.format {
                Format::Pcapng(order) => self.pcapng_block(order)?,
                Format::Pcap { order, nanoseconds } => self.pcap_packet(order, nanoseconds)?,
            };
            match found {
                Found::End => return Ok(None),
                Found::Packet { link, at_ns, from, kept, length } => break (link, at_ns, from, kept, length),
                Found::Other => {}
            }
        };
        Ok(Some(Captured { link, at_ns, octets: &self.block[from..from + kept], length }))
    }

    fn pcap_header(&mut self, order: Order) -> Result<(), CaptureError> {
        self.read(20)?;
        let version = (order.u16(&self.block, 0), order.u16(&self.block, 2));
        if version.0 != 2 {
            return Err(CaptureError::Version { found: version });
        }
        let (snaplen, kind) = (order.u32(&self.block, 12), order.u32(&self.block, 16) as u16);
        self.links.push(Link { name: None, speed_bps: None, kind, ticks: 0, offset: 0, snaplen });
        Ok(())
    }

    fn pcap_packet(&mut self, order: Order, nanoseconds: bool) -> Result<Found, CaptureError> {
        const HEAD: usize = 16;
        if !self.begin(HEAD)? {
            return Ok(Found::End);
        }
        let word = |at: usize| order.u32(&self.block, at);
        let (seconds, part, kept, length) = (word(0), word(4), word(8), word(12));
        if kept > MOST {
            return Err(self.damaged("it claims a frame of more than 16 MiB"));
        }
        self.more(HEAD, kept as usize)?;
        self.at += (HEAD + kept as usize) as u64;
        let scale = if nanoseconds { 1 } else { 1000 };
        let at_ns = i128::from(seconds) * 1_000_000_000 + i128::from(part) * scale;
        Ok(Found::Packet { link: 0, at_ns: Some(at_ns), from: HEAD, kept: kept as usize, length })
    }

    /// Reads a section block whose first four octets have been read.
    fn section(&mut self) -> Result<(), CaptureError> {
        self.block.clear();
        self.block.extend(SECTION.to_le_bytes());
        self.more(4, 8)?;
        let order =
            match [Order::Little, Order::Big].into_iter().find(|it| it.u32(&self.block, 8) == BYTE_ORDER) {
                Some(order) => order,
                None => return Err(self.damaged("it does not tell its byte order")),
            };
        self.rest_of_block(order, 12)?;
        if self.block.len() < 28 {
            return Err(self.damaged("it is too short for a section"));
        }
        let version = (order.u16(&self.block, 12), order.u16(&self.block, 14));
        if version.0 != 1 {
            return Err(CaptureError::Version { found: version });
        }
        self.format = Format::Pcapng(order);
        self.first = self.links.len();
        Ok(())
    }

    fn pcapng_block(&mut self, order: Order) -> Result<Found, CaptureError> {
        if !self.begin(4)? {
            return Ok(Found::End);
        }
        let kind = order.u32(&self.block, 0);
        if kind == SECTION {
            self.section()?;
            return Ok(Found::Other);
        }
        self.more(4, 4)?;
        let start = self.at;
        self.rest_of_block(order, 8)?;
        let damaged = |what| CaptureError::Damaged { at: start, what };
        match kind {
            INTERFACE => {
                let link =
                    Link::read(order, &self.block).ok_or(damaged("it is too short for an interface"))?;
                self.links.push(link);
                Ok(Found::Other)
            }
            ENHANCED_PACKET => self.packet(order, true).map_err(damaged),
            OLD_PACKET => self.packet(order, false).map_err(damaged),
            SIMPLE_PACKET => self.simple_packet(order).map_err(damaged),
            _ => Ok(Found::Other),
        }
    }

    /// A packet block, which differs from its forerunner in the width of the interface's number.
    fn packet(&self, order: Order, is_enhanced: bool) -> Result<Found, &'static str> {
        const FROM: usize = 28;
        const FOOT: usize = 4;
        if self.block.len() < FROM + FOOT {
            return Err("it is too short for a packet");
        }
        let word = |at: usize| order.u32(&self.block, at);
        let interface = if is_enhanced { word(8) } else { u32::from(order.u16(&self.block, 8)) };
        let link = self.first.saturating_add(interface as usize);
        let from = self.links.get(link).ok_or("it names an interface that was not described")?;
        let at_ns = from.nanoseconds(u64::from(word(12)) << 32 | u64::from(word(16)));
        let (kept, length) = (word(20) as usize, word(24));
        if kept > self.block.len() - FROM - FOOT {
            return Err("its packet is longer than itself");
        }
        Ok(Found::Packet { link, at_ns: Some(at_ns), from: FROM, kept, length })
    }

    fn simple_packet(&self, order: Order) -> Result<Found, &'static str> {
        const FROM: usize = 12;
        const FOOT: usize = 4;
        if self.block.len() < FROM + FOOT {
            return Err("it is too short for a packet");
        }
        let from = self.links.get(self.first).ok_or("it names an interface that was not described")?;
        let length = order.u32(&self.block, 8);
        let most = if from.snaplen == 0 { u32::MAX } else { from.snaplen };
        let kept = (length.min(most) as usize).min(self.block.len() - FROM - FOOT);
        Ok(Found::Packet { link: self.first, at_ns: None, from: FROM, kept, length })
    }

    /// Reads on to the end of a block of which `have` octets have been read, its length among them.
    fn rest_of_block(&mut self, order: Order, have: usize) -> Result<(), CaptureError> {
        let length = order.u32(&self.block, 4);
        if length > MOST {
            return Err(self.damaged("it claims to be longer than 16 MiB"));
        }
        if !length.is_multiple_of(4) || (length as usize) < have.max(12) {
            return Err(self.damaged("its length makes no sense"));
        }
        self.more(have, length as usize - have)?;
        if order.u32(&self.block, length as usize - 4) != length {
            return Err(self.damaged("its length stands differently at its end"));
        }
        self.at += u64::from(length);
        Ok(())
    }

    /// Starts a block with its first octets; `false` where the file ends instead.
    fn begin(&mut self, size: usize) -> Result<bool, CaptureError> {
        self.block.clear();
        self.block.resize(size, 0);
        match fill(&mut self.input, &mut self.block)? {
            0 => Ok(false),
            have if have < size => Err(CaptureError::CutShort { at: self.at }),
            _ => Ok(true),
        }
    }

    fn read(&mut self, size: usize) -> Result<(), CaptureError> {
        let has_begun = self.begin(size)?;
        if !has_begun {
            return Err(CaptureError::CutShort { at: self.at });
        }
        self.at += size as u64;
        Ok(())
    }

    /// Adds `size` octets to the `have` of a block, a step at a time: what is not in the file costs no memory.
    fn more(&mut self, have: usize, size: usize) -> Result<(), CaptureError> {
        const STEP: usize = 1 << 16;
        self.block.truncate(have);
        while self.block.len() < have + size {
            let at = self.block.len();
            let step = STEP.min(have + size - at);
            self.block.resize(at + step, 0);
            if fill(&mut self.input, &mut self.block[at..])? < step {
                return Err(CaptureError::CutShort { at: self.at });
            }
        }
        Ok(())
    }

    fn damaged(&self, what: &'static str) -> CaptureError {
        CaptureError::Damaged { at: self.at, what }
    }
}

impl Link {
    /// Reads an interface block.
    fn read(order: Order, block: &[u8]) -> Option<Link> {
        const OPTIONS: usize = 16;
        let options = block.get(OPTIONS..block.len() - 4)?;
        let mut link = Link {
            name: None,
            speed_bps: None,
            kind: order.u16(block, 8),
            ticks: 1_000_000,
            offset: 0,
            snaplen: order.u32(block, 12),
        };
        for (code, value) in (Options { order, rest: options }) {
            match (code, value) {
                (OPT_IF_NAME, name) => link.name = Some(String::from_utf8_lossy(name).into_owned()),
                (OPT_IF_SPEED, value) => link.speed_bps = value.first_chunk().map(|it| order.word(*it)),
                (OPT_IF_OFFSET, value) => {
                    link.offset = value.first_chunk().map_or(0, |it| order.word(*it).cast_signed());
                }
                // Powers of two have the high bit; those that no clock has are taken for the finest that fits.
                (OPT_IF_RESOLUTION, [power, ..]) if power & 0x80 != 0 => {
                    link.ticks = 1 << (power & 0x7f).min(63);
                }
                (OPT_IF_RESOLUTION, [power, ..]) => link.ticks = 10_u64.pow(u32::from(*power).min(19)),
                _ => {}
            }
        }
        Some(link)
    }

    /// A time stamp in nanoseconds, rounded down.
    fn nanoseconds(&self, ticks: u64) -> i128 {
        let whole = i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks);
        whole + i128::from(self.offset) * 1_000_000_000
    }
}

/// The options of a block, up to their end or the first that is cut short.
struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let (head, rest) = self.rest.split_at_checked(4)?;
        let (code, length) = (self.order.u16(head, 0), usize::from(self.order.u16(head, 2)));
        let value = rest.get(..length)?;
        self.rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        (code != OPT_END).then_some((code, value))
    }
}

impl Order {
    fn u16(self, octets: &[u8], at: usize) -> u16 {
        let pair = [octets[at], octets[at + 1]];
        match self {
            Order::Little => u16::from_le_bytes(pair),
            Order::Big => u16::from_be_bytes(pair),
        }
    }

    fn u32(self, octets: &[u8], at: usize) -> u32 {
        let four = [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
        match self {
            Order::Little => u32::from_le_bytes(four),
            Order::Big => u32::from_be_bytes(four),
        }
    }

    fn word(self, octets: [u8; 8]) -> u64 {
        match self {
            Order::Little => u64::from_le_bytes(octets),
            Order::Big => u64::from_be_bytes(octets),
        }
    }
}

/// Reads until the place is full or the file ends, and says how much came.
fn fill(input: &mut impl Read, place: &mut [u8]) -> Result<usize, CaptureError> {
    let mut have = 0;
    while have < place.len() {
        match input.read(&mut place[have..]) {
            Ok(0) => break,
            Ok(more) => have += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(have)
}
