//! Any file is a capture or an error; what was read from one can be written to another, and reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quell_proto::wire::parse;
use quell_record::capture::{CaptureReader, CaptureWriter, Interface};

fuzz_target!(|file: &[u8]| {
    let Ok(mut reader) = CaptureReader::new(file) else { return };
    let mut frames = Vec::new();
    let mut octets_read = 0;
    while let Ok(Some(frame)) = reader.next_frame() {
        octets_read += frame.octets.len();
        let _ = parse(frame.octets);
        frames.push((frame.at_ns, frame.octets.to_vec()));
    }
    assert!(octets_read <= file.len(), "frames are part of the file");

    let interface = Interface { name: "p".to_owned(), description: String::new(), speed_bps: 1 };
    let mut writer = CaptureWriter::new(Vec::new(), "fuzz", "", &[interface], u32::MAX).expect("memory");
    for (at, octets) in &frames {
        let at = at.and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
        writer.frame(0, at, octets, octets.len() as u32).expect("memory");
    }
    let again = writer.finish().expect("memory");
    let mut reader = CaptureReader::new(&again[..]).expect("our own");
    for (_, octets) in &frames {
        let frame = reader.next_frame().expect("our own").expect("as many as were written");
        assert_eq!(frame.octets, octets);
    }
    assert!(reader.next_frame().expect("our own").is_none());
});
