//! What is written is read; what others write is read; what is broken is named.

use super::*;
use proptest::prelude::*;

fn interfaces() -> Vec<Interface> {
    let interface = |name: &str| Interface {
        name: name.to_owned(),
        description: format!("frames that leave {name}"),
        speed_bps: 10_000_000_000,
    };
    vec![interface("s1->h3"), interface("h3->s1")]
}

fn written(frames: &[(u32, u64, Vec<u8>, u32)], snaplen: u32) -> Vec<u8> {
    let mut writer = CaptureWriter::new(Vec::new(), "quell", "a test", &interfaces(), snaplen).unwrap();
    for (interface, at, octets, length) in frames {
        writer.frame(*interface, *at, octets, *length).unwrap();
    }
    writer.finish().unwrap()
}

type Frame = (usize, Option<i128>, Vec<u8>, u32);

fn read(file: &[u8]) -> Result<(Vec<Frame>, Vec<Link>), CaptureError> {
    let mut reader = CaptureReader::new(file)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push((frame.link, frame.at_ns, frame.octets.to_vec(), frame.length));
    }
    Ok((frames, reader.links().to_vec()))
}

#[test]
fn frames_come_back_with_their_port_and_time() {
    let file = written(&[(0, 5, vec![1, 2, 3], 3), (1, 1 << 40, vec![4; 60], 60)], 128);
    let (frames, links) = read(&file).unwrap();
    assert_eq!(frames, [(0, Some(5), vec![1, 2, 3], 3), (1, Some(1 << 40), vec![4; 60], 60)]);
    let names: Vec<_> = links.iter().map(|it| it.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["s1->h3", "h3->s1"]);
    assert_eq!((links[0].speed_bps, links[0].kind), (Some(10_000_000_000), ETHERNET));
}

#[test]
fn a_frame_longer_than_asked_for_is_cut_and_a_shorter_one_filled_with_zeros() {
    let file = written(&[(0, 0, vec![7; 200], 1500), (0, 1, vec![7; 4], 6)], 128);
    let (frames, _) = read(&file).unwrap();
    assert_eq!((frames[0].2.as_slice(), frames[0].3), ([7; 128].as_slice(), 1500));
    assert_eq!(frames[1].2, [7, 7, 7, 7, 0, 0]);
}

#[test]
fn a_file_cut_anywhere_gives_what_is_whole_and_says_where_it_ends() {
    let file = written(&[(0, 5, vec![1; 61], 61), (1, 6, vec![2; 60], 60)], 128);
    for keep in 0..file.len() {
        match read(&file[..keep]) {
            Ok((frames, _)) => assert!(frames.len() <= 2),
            Err(CaptureError::CutShort { at }) => assert!(at < keep as u64),
            Err(CaptureError::NotACapture { found }) => assert!(found.len() == keep && keep < 4),
            Err(other) => panic!("cut at {keep}: {other}"),
        }
    }
}

#[test]
fn other_files_are_told_by_their_first_octets() {
    let says = |octets: &[u8]| read(octets).unwrap_err().to_string();
    assert_eq!(says(b""), "the file is empty");
    assert_eq!(says(b"title = \"x\""), "neither pcapng nor pcap: it starts with 74 69 74 6c");
}

/// A pcap file with one frame, in either byte order and resolution.
fn pcap(magic: u32, words: fn(u32) -> [u8; 4], halves: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mut file = words(magic).to_vec();
    file.extend(halves(2));
    file.extend(halves(4));
    for word in [0, 0, 65_535, 1] {
        file.extend(words(word));
    }
    for word in [7, 500, 4, 1500] {
        file.extend(words(word));
    }
    file.extend([1, 2, 3, 4]);
    file
}

#[test]
fn pcap_is_read_in_both_orders_and_both_resolutions() {
    let cases = [
        (pcap(0xa1b2_c3d4, u32::to_le_bytes, u16::to_le_bytes), 7_000_500_000),
        (pcap(0xa1b2_c3d4, u32::to_be_bytes, u16::to_be_bytes), 7_000_500_000),
        (pcap(0xa1b2_3c4d, u32::to_le_bytes, u16::to_le_bytes), 7_000_000_500),
        (pcap(0xa1b2_3c4d, u32::to_be_bytes, u16::to_be_bytes), 7_000_000_500),
    ];
    for (file, at) in cases {
        assert_eq!(read(&file).unwrap().0, [(0, Some(at), vec![1, 2, 3, 4], 1500)]);
    }
}

/// A big-endian pcapng file with microseconds, an offset, an unknown block, an old and a simple packet, and a second
/// section.
fn foreign() -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_be_bytes();
        [&kind.to_be_bytes()[..], &length, body, &length].concat()
    };
    let section = block(SECTION, &[&BYTE_ORDER.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat());
    let offset = [&OPT_IF_OFFSET.to_be_bytes()[..], &[0, 8], &100_u64.to_be_bytes()].concat();
    let interface = |options: &[u8]| block(INTERFACE, &[&[0, 1, 0, 0, 0, 0, 0, 4], options].concat());
    let enhanced: Vec<u8> = [0, 0, 2, 3, 1500].iter().flat_map(|it: &u32| it.to_be_bytes()).collect();
    let old =
        [&[0, 0, 0, 0][..], &[0; 4], &[0, 0, 0, 9], &[0, 0, 0, 1], &[0, 0, 0, 1], &[5, 0, 0, 0]].concat();
    [
        section.clone(),
        interface(&offset),
        block(0x0bad_beef, &[1, 2, 3, 4]),
        block(ENHANCED_PACKET, &[&enhanced[..], &[1, 2, 3, 0]].concat()),
        section,
        interface(&[]),
        block(OLD_PACKET, &old),
        block(SIMPLE_PACKET, &[0, 0, 0, 9, 1, 2, 3, 4]),
    ]
    .concat()
}

#[test]
fn what_other_tools_write_is_read() {
    let (frames, links) = read(&foreign()).unwrap();
    assert_eq!(links.len(), 2);
    assert_eq!(
        frames,
        [
            (0, Some(100_000_002_000), vec![1, 2, 3], 1500),
            (1, Some(9000), vec![5], 1),
            (1, None, vec![1, 2, 3, 4], 9),
        ]
    );
}

#[test]
fn broken_blocks_are_named() {
    let mut file = written(&[(0, 5, vec![1; 60], 60)], 128);
    let packet = file.windows(4).rposition(|it| it == ENHANCED_PACKET.to_le_bytes()).unwrap();
    let says = |file: &[u8]| read(file).unwrap_err().to_string();
    let place = format!("the block at octet {packet} is damaged: ");
    let with = |at: usize, value: u32| {
        let mut file = file.clone();
        file[packet + at..][..4].copy_from_slice(&value.to_le_bytes());
        file
    };
    assert_eq!(says(&with(4, 13)), format!("{place}its length makes no sense"));
    assert_eq!(says(&with(4, 1 << 30)), format!("{place}it claims to be longer than 16 MiB"));
    assert_eq!(says(&with(8, 2)), format!("{place}it names an interface that was not described"));
    assert_eq!(says(&with(20, 61)), format!("{place}its packet is longer than itself"));
    file[12] = 2;
    assert_eq!(says(&file), "version 2.0 of its format is not known here");
    file[8] = 0;
    assert_eq!(says(&file), "the block at octet 0 is damaged: it does not tell its byte order");
}

proptest! {
    #[test]
    fn any_frames_come_back(
        frames in prop::collection::vec((0..2_u32, any::<u64>(), any::<Vec<u8>>()), 0..20),
        snaplen in 1..200_u32,
    ) {
        let frames: Vec<_> =
            frames.into_iter().map(|(port, at, octets)| (port, at, octets.clone(), octets.len() as u32)).collect();
        let (read, _) = read(&written(&frames, snaplen)).unwrap();
        prop_assert_eq!(read.len(), frames.len());
        for ((link, at, octets, length), (port, sent, whole, all)) in read.into_iter().zip(frames) {
            prop_assert_eq!((link, at, length), (port as usize, Some(i128::from(sent)), all));
            prop_assert_eq!(&octets[..], &whole[..whole.len().min(snaplen as usize)]);
        }
    }

    #[test]
    fn any_octets_are_frames_or_an_error(octets: Vec<u8>) {
        let _ = read(&octets);
    }

    #[test]
    fn any_edit_of_a_capture_is_frames_or_an_error(
        at: prop::sample::Index,
        with: u8,
        file in prop::sample::select(vec![written(&[(0, 5, vec![1; 61], 61)], 64), foreign()]),
    ) {
        let mut file = file;
        let at = at.index(file.len());
        file[at] = with;
        let _ = read(&file);
    }
}
