//! How much memory a payload takes at the most, however it is made: the peak of a process of its own that reads it.

use std::{env, fs, process::Command};

use holdpoint_protocol::{
    api::Submit,
    artifact::HelpRequest,
    codec::{self, CodecError, Encoding, PAYLOAD_MAX, WEIGHT_MAX},
    turn::Turn,
};
use serde_json::Value;

use crate::samples;

/// What each payload weighs by the estimate, in bytes. All grows with it, so an eighth of the most shows the same.
const WEIGHT: usize = WEIGHT_MAX / 8;
/// What reading one may add to a process, in KiB: what it weighs, and a quarter of that for what nobody can know. So no
/// payload takes more than 320 MiB.
const PEAK_KIB_MAX: u64 = (WEIGHT + WEIGHT / 4) as u64 >> 10;
/// Says to the process of its own which payload to read.
const CASE: &str = "HOLDPOINT_TEST_PAYLOAD";

/// What a reader is made to work with: items of a list, in JSON and MessagePack.
#[derive(Clone, Copy)]
struct Item {
    json: &'static str,
    packed: &'static [u8],
    /// What the estimate says of one, in bytes.
    weight: usize,
}

const MAP: Item = Item { json: r#"{"":0}"#, packed: &[0x81, 0xa0, 0xc0], weight: 64 + 640 + 64 + 32 };
const LISTS: Item = Item { json: "[[[0]]]", packed: &[0x91, 0x91, 0x91, 0xc0], weight: 64 + 3 * (128 + 64) + 32 };
const TEXT: Item = Item { json: r#""""#, packed: &[0xa0], weight: 64 + 32 };
const NUMBER: Item = Item { json: "0", packed: &[0x00], weight: 64 + 32 };

/// One place of a payload to put a list in.
struct Case {
    name: &'static str,
    sample: &'static str,
    place: &'static str,
    item: Item,
    read: fn(&[u8], Encoding) -> Result<(), CodecError>,
}

fn read<T: serde::de::DeserializeOwned>(bytes: &[u8], encoding: Encoding) -> Result<(), CodecError> {
    codec::decode::<T>(bytes, encoding).map(drop)
}

const CASES: &[Case] = &[
    Case { name: "maps", sample: "help_request", place: "/context", item: MAP, read: read::<HelpRequest> },
    Case { name: "lists", sample: "help_request", place: "/context", item: LISTS, read: read::<HelpRequest> },
    Case { name: "numbers", sample: "help_request", place: "/context", item: NUMBER, read: read::<Value> },
    Case { name: "texts", sample: "help_request", place: "/source_refs", item: TEXT, read: read::<HelpRequest> },
    Case { name: "buffered", sample: "turn_build", place: "/request/unknown", item: LISTS, read: read::<Turn> },
    Case { name: "buffered and kept", sample: "turn_build", place: "/request/tests", item: MAP, read: read::<Turn> },
    Case { name: "of a plan", sample: "submit", place: "/plan/waypoints/0/tests", item: MAP, read: read::<Submit> },
];

/// Stands for the list until it is put in as bytes.
const HOLE: &str = "here the list goes";

/// The case's payload with `count` items in the list.
fn payload(case: &Case, encoding: Encoding, count: usize) -> Vec<u8> {
    let sample = samples::all().into_iter().find(|kind| kind.name() == case.sample).expect("a sample");
    let mut value: Value = serde_json::from_slice(&sample.write(Encoding::Json)).unwrap();
    let (parent, key) = case.place.rsplit_once('/').unwrap();
    value.pointer_mut(parent).unwrap()[key] = HOLE.into();
    let (frame, hole, list) = match encoding {
        Encoding::Json => {
            let mut list = case.item.json.to_owned();
            (1..count).for_each(|_| {
                list.push(',');
                list.push_str(case.item.json);
            });
            (serde_json::to_vec(&value).unwrap(), serde_json::to_vec(HOLE).unwrap(), format!("[{list}]").into_bytes())
        }
        Encoding::MsgPack => {
            let length = u32::try_from(count).unwrap().to_be_bytes();
            let list = [&[0xdd], &length[..], &case.item.packed.repeat(count)].concat();
            (rmp_serde::to_vec_named(&value).unwrap(), rmp_serde::to_vec(HOLE).unwrap(), list)
        }
    };
    let at = frame.windows(hole.len()).position(|window| window == hole).expect("the hole");
    [&frame[..at], &list, &frame[at + hole.len()..]].concat()
}

/// A line of what the system says of this process, in KiB.
fn kib(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let value = status.lines().find_map(|text| text.strip_prefix(line)).expect("a line of the system");
    value.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// In a process of its own: reads a payload of this weight, and prints by how much the peak grew.
#[expect(clippy::print_stdout, reason = "it tells the process that started it")]
fn measure(case: &Case, encoding: Encoding) {
    let item = match encoding {
        Encoding::Json => case.item.json.len() + 1,
        Encoding::MsgPack => case.item.packed.len(),
    };
    // The rest of the sample has its size too.
    let count = ((PAYLOAD_MAX - (64 << 10)) / item).min(WEIGHT / case.item.weight);
    let bytes = payload(case, encoding, count);
    // The memory to make the payload is not the memory to read it.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = kib("VmRSS");
    (case.read)(&bytes, encoding).expect("it is taken");
    println!("grew {}", kib("VmHWM").saturating_sub(before));
}

#[test]
fn what_would_weigh_more_than_the_limit_is_refused() {
    let case = &CASES[0];
    let bytes = payload(case, Encoding::MsgPack, WEIGHT_MAX / case.item.weight + 1);
    assert!(bytes.len() < PAYLOAD_MAX / 4 && (case.read)(&bytes, Encoding::MsgPack).is_err());
}

#[test]
fn no_payload_takes_more_memory_than_is_stated() {
    if let Ok(wanted) = env::var(CASE) {
        let (name, encoding) = wanted.split_once('/').unwrap();
        let case = CASES.iter().find(|case| case.name == name).expect("a case");
        return measure(case, if encoding == "json" { Encoding::Json } else { Encoding::MsgPack });
    }
    let own_name = "memory::no_payload_takes_more_memory_than_is_stated";
    for case in CASES {
        for encoding in ["json", "msgpack"] {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args(["--exact", own_name, "--nocapture"]).env(CASE, format!("{}/{encoding}", case.name));
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{} as {encoding}: {said}", case.name);
            let grew = said.lines().find_map(|line| line.split("grew ").nth(1)?.parse::<u64>().ok());
            let peak = grew.expect("it says by how much");
            println!("{:18} {encoding:8} {:4} MiB", case.name, peak >> 10);
            assert!(peak < PEAK_KIB_MAX, "{} as {encoding}: {peak} KiB", case.name);
        }
    }
}
