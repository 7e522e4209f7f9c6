//! What Linux is asked for directly: packet sockets with rings, waiting, namespaces, settings of an adapter.
//!
//! This is the one module of the crate with `unsafe` in it. Everything it gives away is safe to use: no pointer, no
//! length and no file descriptor leaves it unowned. The rings are `TPACKET_V2`: a frame can be read as soon as it is
//! there, where version 3 hands over blocks of frames up to a millisecond late, which is ten round trips of a
//! congestion loop.
#![expect(
    unsafe_code,
    reason = "rings shared with the kernel, and system calls that no safe crate of ours wraps"
)]

use std::ffi::CString;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How large the rings of an interface are. A slot holds one frame and what the kernel says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Octets of a slot: a power of two between 2048 and 65536.
    pub slot: u32,
    /// Slots for frames that came in.
    pub receive: u32,
    /// Slots for frames to send.
    pub send: u32,
}

/// A frame as the kernel handed it over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived<'a> {
    /// Its octets, without its outermost VLAN tag if the kernel took that off.
    pub(super) octets: &'a [u8],
    /// How long it was, if the slot did not hold all of it.
    pub(super) length: usize,
    /// The tag that was taken off: its EtherType and its control information.
    pub(super) tag: Option<(u16, u16)>,
}

/// A packet socket bound to one interface, with a ring each way.
#[derive(Debug)]
pub(super) struct Rings {
    socket: OwnedFd,
    memory: Mapping,
    slot: usize,
    receive: Half,
    send: Half,
    /// Slots filled since the kernel was last asked to send.
    pending: u32,
}

/// One direction of a ring: where it lies in the memory, and which slot is next.
#[derive(Clone, Copy, Debug)]
struct Half {
    start: usize,
    slots: u32,
    next: u32,
}

/// Octets in front of a frame in a slot to send: the header, aligned.
const SEND_OFFSET: usize = (size_of::<libc::tpacket2_hdr>() + 15) & !15;

/// What the rings are cut into; a multiple of every page size and every slot size.
const BLOCK: u32 = 1 << 16;

impl Rings {
    /// Opens the interface of this number, promiscuously. Needs the right to (`CAP_NET_RAW`).
    pub(super) fn open(index: u32, size: RingSize) -> io::Result<Rings> {
        assert!(
            size.slot.is_power_of_two() && (2048..=BLOCK).contains(&size.slot),
            "a slot of {} octets",
            size.slot
        );
        let socket = packet_socket()?;
        let raw = socket.as_raw_fd();
        let on: libc::c_int = 1;
        set(raw, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        // A frame that the interface refuses is dropped, and does not hold up those behind it.
        set(raw, libc::PACKET_LOSS, &on)?;
        set(raw, libc::PACKET_QDISC_BYPASS, &on)?;
        set(raw, PACKET_IGNORE_OUTGOING, &on)?;
        let [receive, send] = [size.receive, size.send].map(|slots| ring(slots, size.slot));
        set(raw, libc::PACKET_RX_RING, &receive)?;
        set(raw, libc::PACKET_TX_RING, &send)?;
        let received = (receive.tp_block_nr * receive.tp_block_size) as usize;
        let length = received + (send.tp_block_nr * send.tp_block_size) as usize;
        let memory = Mapping::of(raw, length)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(raw, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        bind(raw, index)?;
        Ok(Rings {
            socket,
            memory,
            slot: size.slot as usize,
            receive: Half { start: 0, slots: receive.tp_frame_nr, next: 0 },
            send: Half { start: received, slots: send.tp_frame_nr, next: 0 },
            pending: 0,
        })
    }

    /// Hands the next frame that came in to `take`, if there is one.
    pub(super) fn receive<R>(&mut self, take: impl FnOnce(Arrived<'_>) -> R) -> Option<R> {
        let at = self.receive.start + self.receive.next as usize * self.slot;
        let status = self.status(at).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let header = self.header(at);
        // The kernel says where the frame is; a slot is as far as we look.
        let from = usize::from(header.tp_mac).min(self.slot);
        let length = (header.tp_snaplen as usize).min(self.slot - from);
        // SAFETY: the range lies within the slot, the slot within the mapping, which lives as long as `self`. The kernel
        // does not write to a slot whose status has the user bit, and only this method, which borrows `self` mutably,
        // takes that bit away.
        let octets = unsafe { std::slice::from_raw_parts(self.memory.at(at + from), length) };
        let tag = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let kind =
                if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { header.tp_vlan_tpid } else { 0x8100 };
            (kind, header.tp_vlan_tci)
        });
        let result = take(Arrived { octets, length: header.tp_len as usize, tag });
        self.status(at).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.receive.next = (self.receive.next + 1) % self.receive.slots;
        Some(result)
    }

    /// Lets `write` fill the next slot to send and say how many octets it wrote; `false` if all slots are taken.
    /// Nothing is sent before [`Rings::flush`].
    pub(super) fn queue(&mut self, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let at = self.send.start + self.send.next as usize * self.slot;
        if self.status(at).load(Ordering::Acquire) != libc::TP_STATUS_AVAILABLE {
            return false;
        }
        // SAFETY: the range lies within the slot, the slot within the mapping, which lives as long as `self`. The kernel
        // does not touch a slot that is available, and no other slice of it exists: `self` is borrowed mutably.
        let octets = unsafe {
            std::slice::from_raw_parts_mut(self.memory.at(at + SEND_OFFSET), self.slot - SEND_OFFSET)
        };
        let length = write(octets).min(self.slot - SEND_OFFSET);
        let length_at = at + offset_of!(libc::tpacket2_hdr, tp_len);
        // SAFETY: the field lies within the slot, is aligned as the slot is, and the slot is ours until its status says
        // otherwise.
        unsafe { self.memory.at(length_at).cast::<u32>().write(length as u32) };
        self.status(at).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.send.next = (self.send.next + 1) % self.send.slots;
        self.pending += 1;
        true
    }

    /// Asks the kernel to send what was queued; whether it has nothing more to send.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        if self.pending == 0 {
            return Ok(true);
        }
        // SAFETY: no buffer is handed over; the frames lie in the ring.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent >= 0 {
            self.pending = 0;
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // Asked again at the next flush.
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(false),
            _ => {
                self.withdraw();
                Err(error)
            }
        }
    }

    /// Takes back what the kernel has not begun to send.
    pub(super) fn withdraw(&mut self) {
        for _ in 0..self.pending.min(self.send.slots) {
            let slot = (self.send.next + self.send.slots - 1) % self.send.slots;
            let at = self.send.start + slot as usize * self.slot;
            let status = self.status(at);
            let (asked, free) = (libc::TP_STATUS_SEND_REQUEST, libc::TP_STATUS_AVAILABLE);
            if status.compare_exchange(asked, free, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.send.next = slot;
            } else {
                break;
            }
        }
        self.pending = 0;
    }

    /// What went wrong with the interface since this was last asked.
    pub(super) fn take_error(&self) -> Option<io::Error> {
        let mut code: libc::c_int = 0;
        get(self.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut code).ok()?;
        (code != 0).then(|| io::Error::from_raw_os_error(code))
    }

    /// Whether the interface is up, in the network namespace that the socket is in; an error if it is gone.
    pub(super) fn is_up(&self, name: &str) -> io::Result<bool> {
        let none = libc::__c_anonymous_ifr_ifru { ifru_mtu: 0 };
        let flags = request(self.socket.as_raw_fd(), name, libc::SIOCGIFFLAGS, none)?;
        // SAFETY: this request fills in the flags, which are a number.
        let flags = unsafe { flags.ifru_flags };
        Ok(libc::c_int::from(flags) & libc::IFF_UP != 0)
    }

    /// Whether the interface has a carrier: a peer that is up, a cable that is plugged in. One that cannot tell has one.
    pub(super) fn has_carrier(&self, name: &str) -> bool {
        const ETHTOOL_GLINK: u32 = 0x0a;
        ethtool_by(self.socket.as_raw_fd(), name, ETHTOOL_GLINK) != Some(0)
    }

    /// Frames that found no free slot since this was last asked.
    pub(super) fn take_overruns(&self) -> u64 {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let got = get(self.socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut stats);
        if got.is_ok() { u64::from(stats.tp_drops) } else { 0 }
    }

    /// Most octets that fit into a slot to send.
    pub(super) fn most(&self) -> usize {
        self.slot - SEND_OFFSET
    }

    /// What can be waited on.
    pub(super) fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn status(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the status is the first field of a slot, which lies within the mapping and is aligned to its size. Both
        // sides access it as a whole; the kernel's stores are seen as atomic ones are.
        unsafe { AtomicU32::from_ptr(self.memory.at(at).cast()) }
    }

    /// What the kernel says of the frame in a slot that is ours.
    fn header(&self, at: usize) -> libc::tpacket2_hdr {
        // SAFETY: the header lies within the slot and the mapping, and consists of numbers, for which any octets do.
        unsafe { self.memory.at(at).cast::<libc::tpacket2_hdr>().read_volatile() }
    }
}

/// Missing in libc; Linux has it since 4.20. Without it a socket sees what it sends.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

fn ring(slots: u32, slot: u32) -> libc::tpacket_req {
    let a_block = BLOCK / slot;
    let blocks = slots.max(1).div_ceil(a_block);
    libc::tpacket_req {
        tp_block_size: BLOCK,
        tp_block_nr: blocks,
        tp_frame_size: slot,
        tp_frame_nr: blocks * a_block,
    }
}

/// Memory shared with the kernel, given back when it is dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping is memory of the process, not of a thread; there is one owner, and it is reached through it alone.
unsafe impl Send for Mapping {}

impl Mapping {
    fn of(socket: RawFd, length: usize) -> io::Result<Mapping> {
        let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, rights, kind, socket, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("a ring at address zero"))?;
        Ok(Mapping { start, length })
    }

    /// The address `offset` octets in.
    fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.length, "offset {offset} in a ring of {} octets", self.length);
        // SAFETY: the offset was just found to lie within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, whole, and nothing that borrows it outlives its owner.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

fn packet_socket() -> io::Result<OwnedFd> {
    // Without a protocol it hears nothing until it is bound to one interface.
    owned(|| {
        // SAFETY: no pointer is involved.
        unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) }
    })
}

fn owned(open: impl FnOnce() -> RawFd) -> io::Result<OwnedFd> {
    let raw = open();
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call just made it, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

fn bind(socket: RawFd, index: u32) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is whole, of the stated length, and outlives the call.
    check(unsafe { libc::bind(socket, ptr::from_ref(&address).cast(), length) })
}

fn set<T>(socket: RawFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is whole, of the stated length, and outlives the call.
    check(unsafe { libc::setsockopt(socket, libc::SOL_PACKET, option, ptr::from_ref(value).cast(), length) })
}

fn get<T>(socket: RawFd, level: libc::c_int, option: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most the stated length into the value, which is plain numbers.
    check(unsafe { libc::getsockopt(socket, level, option, ptr::from_mut(value).cast(), &raw mut length) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The number of an interface in this thread's network namespace.
pub(super) fn index_of(name: &str) -> io::Result<u32> {
    let name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: the name is a string that ends with a zero and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Waits until one of the sockets has a frame or trouble, or the time is up.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    polled: Vec<libc::pollfd>,
}

impl Waiter {
    /// One for these sockets.
    pub(crate) fn new(sockets: impl IntoIterator<Item = RawFd>) -> Waiter {
        // Timers of this thread end as exactly as the kernel can.
        // SAFETY: no pointer is involved, and a refusal costs precision only.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
        // A datapath goes before what else the machine does, where it may.
        // SAFETY: no pointer is involved; it concerns this thread alone, and a refusal is no matter.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -10) };
        let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        Waiter { polled: sockets.into_iter().map(polled).collect() }
    }

    /// Waits no longer than this. Interruptions end it early.
    pub(crate) fn wait(&mut self, most: Duration) {
        let most = libc::timespec {
            tv_sec: most.as_secs().min(3600) as libc::time_t,
            tv_nsec: libc::c_long::from(most.subsec_nanos() as i32),
        };
        let count = self.polled.len() as libc::nfds_t;
        // SAFETY: the array is ours, as long as stated, and outlives the call, as does the time.
        unsafe { libc::ppoll(self.polled.as_mut_ptr(), count, &raw const most, ptr::null()) };
    }
}

/// What this thread took of the processor so far, in its own code and in the kernel on its behalf.
pub(crate) fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is ours and outlives the call; if it fails, nothing was taken.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Moves this thread, and what it opens from now on, into a network namespace.
pub(crate) fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no pointer is involved; the descriptor is borrowed for the call.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// What the kernel says of an interface of this thread's network namespace: flags, longest payload, type and address.
pub(super) fn describe(name: &str) -> io::Result<(u32, usize, u16, [u8; 6])> {
    let none = || libc::__c_anonymous_ifr_ifru { ifru_mtu: 0 };
    let socket = plain_socket()?;
    let ask = |what| request(socket.as_raw_fd(), name, what, none());
    let (flags, mtu, hardware) =
        (ask(libc::SIOCGIFFLAGS)?, ask(libc::SIOCGIFMTU)?, ask(libc::SIOCGIFHWADDR)?);
    // SAFETY: the kernel filled in the part of each union that its request is about; all of them are numbers.
    let (flags, mtu, hardware) = unsafe { (flags.ifru_flags, mtu.ifru_mtu, hardware.ifru_hwaddr) };
    let address = std::array::from_fn(|at| hardware.sa_data[at] as u8);
    Ok((u32::from(flags.cast_unsigned()), usize::try_from(mtu).unwrap_or(0), hardware.sa_family, address))
}

/// A setting of an adapter that it states as one number (`ETHTOOL_G…`); `None` if it does not know it.
pub(crate) fn ethtool(name: &str, command: u32) -> Option<u32> {
    ethtool_by(plain_socket().ok()?.as_raw_fd(), name, command)
}

/// As [`ethtool`], of an interface in the network namespace of a socket.
fn ethtool_by(socket: RawFd, name: &str, command: u32) -> Option<u32> {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let mut value = Value { command, data: 0 };
    ask_adapter_by(socket, name, &mut value).then_some(value.data)
}

/// Whether the adapter answers PAUSE by itself: received, and sent.
pub(crate) fn pauses_in_hardware(name: &str) -> Option<(bool, bool)> {
    /// `struct ethtool_pauseparam`.
    #[repr(C)]
    struct Pauses {
        command: u32,
        negotiates: u32,
        receives: u32,
        sends: u32,
    }
    const ETHTOOL_GPAUSEPARAM: u32 = 0x12;
    let mut value = Pauses { command: ETHTOOL_GPAUSEPARAM, negotiates: 0, receives: 0, sends: 0 };
    ask_adapter(name, &mut value).then_some((value.receives != 0, value.sends != 0))
}

/// The name of the driver behind an interface, if it says so.
pub(super) fn driver(name: &str) -> Option<String> {
    /// `struct ethtool_drvinfo`.
    #[repr(C)]
    struct Driver {
        command: u32,
        driver: [u8; 32],
        rest: [u8; 160],
    }
    const ETHTOOL_GDRVINFO: u32 = 0x3;
    let mut value = Driver { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    if !ask_adapter(name, &mut value) {
        return None;
    }
    let text = value.driver.split(|octet| *octet == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Asks an adapter for what `form` is, which starts with a command and is what that command reads and writes.
fn ask_adapter<T>(name: &str, form: &mut T) -> bool {
    plain_socket().is_ok_and(|socket| ask_adapter_by(socket.as_raw_fd(), name, form))
}

fn ask_adapter_by<T>(socket: RawFd, name: &str, form: &mut T) -> bool {
    let form = libc::__c_anonymous_ifr_ifru { ifru_data: ptr::from_mut(form).cast() };
    request(socket, name, libc::SIOCETHTOOL, form).is_ok()
}

/// A socket that interfaces of this thread's network namespace can be asked by.
fn plain_socket() -> io::Result<OwnedFd> {
    owned(|| {
        // SAFETY: no pointer is involved.
        unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }
    })
}

/// Asks about an interface. What `about` points to, if it points anywhere, is of the form that `what` has.
fn request(
    socket: RawFd,
    name: &str,
    what: libc::c_ulong,
    about: libc::__c_anonymous_ifr_ifru,
) -> io::Result<libc::__c_anonymous_ifr_ifru> {
    let mut asked = libc::ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: about };
    if name.len() >= asked.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (slot, octet) in asked.ifr_name.iter_mut().zip(name.bytes()) {
        *slot = octet as libc::c_char;
    }
    // SAFETY: the request and what it points to are whole and outlive the call; `ask_adapter_by` is handed forms of the length
    // that their commands read and write.
    check(unsafe { libc::ioctl(socket, what as libc::Ioctl, &raw mut asked) })?;
    Ok(asked.ifr_ifru)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_at_least_the_slots_that_were_asked_for_in_whole_blocks() {
        let ring = ring(1000, 2048);
        assert_eq!((ring.tp_block_nr, ring.tp_frame_nr), (32, 1024));
        assert_eq!(ring.tp_frame_nr * ring.tp_frame_size, ring.tp_block_nr * ring.tp_block_size);
    }

    #[test]
    fn a_frame_to_send_starts_behind_its_header() {
        // What the kernel computes: TPACKET2_HDRLEN less the socket address.
        assert_eq!(SEND_OFFSET, 32);
    }

    #[test]
    fn an_interface_that_is_not_there_has_no_number() {
        assert!(index_of("quell-none0").is_err());
        assert!(index_of("lo").is_ok());
    }
}
