use holdpoint_protocol::ids::role;

use super::*;

const MIB: u64 = 1 << 20;
const ROOM: Load = Load { bytes: 1_024 * MIB, messages: 1_000_000 };

/// A world of connections and streams that the test moves on.
struct World {
    meter: TrafficMeter<u64>,
    now: i64,
    held: BTreeMap<&'static str, Load>,
    sent: BTreeMap<(&'static str, u64), Load>,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn mib(mib: u64) -> Load {
    Load { bytes: mib * MIB, messages: mib * 4 }
}

impl World {
    fn new(share: u32) -> Self {
        let held = BTreeMap::from([("blobs", Load::default()), ("handoffs", Load::default())]);
        // Another builder is there, and does nothing.
        let sent = BTreeMap::from([(("idle", 1), Load::default())]);
        let mut world = Self { meter: TrafficMeter::new(share), now: 1_000_000, held, sent };
        world.look();
        world
    }

    /// A connection of a key sends, and some of it is stored in a stream.
    fn sends(&mut self, key: &'static str, connection: u64, load: Load, stream: &'static str, stored: Load) {
        let sent = self.sent.entry((key, connection)).or_default();
        *sent = sent.plus(load);
        let held = self.held.get_mut(stream).unwrap();
        *held = held.plus(stored);
    }

    fn stores(&mut self, key: &'static str, load: Load) {
        self.sends(key, 1, load, "blobs", load);
    }

    fn streams(&self) -> Vec<WrittenStream> {
        let stream = |(name, held): (&&str, &Load)| WrittenStream {
            name: (*name).to_owned(),
            role: role::id(role::BUILDER),
            held: *held,
            room: ROOM,
        };
        self.held.iter().map(stream).collect()
    }

    fn look(&mut self) -> Vec<Over> {
        self.now += 1;
        let streams = self.streams();
        let sending: Vec<Sending<u64>> = self
            .sent
            .iter()
            .map(|((key, connection), sent)| Sending {
                connection: *connection * 1_000 + u64::from(key.as_bytes()[0]),
                since: at(self.now - 1),
                key: (*key).to_owned(),
                role: Some(role::id(if key.starts_with('v') { role::VERIFIER } else { role::BUILDER })),
                sent: *sent,
            })
            .collect();
        self.meter.look(at(self.now), &streams, sending)
    }

    fn looks(&mut self) -> Vec<(String, String, TrafficBound)> {
        self.look().into_iter().map(|over| (over.key, over.stream, over.bound)).collect()
    }
}

/// Another key of the role.
fn idle() -> Sending<u64> {
    let role = Some(role::id(role::BUILDER));
    Sending { connection: 0, since: at(0), key: "idle".to_owned(), role, sent: Load::default() }
}

fn over(key: &str, stream: &str, bound: TrafficBound) -> Vec<(String, String, TrafficBound)> {
    vec![(key.to_owned(), stream.to_owned(), bound)]
}

#[test]
fn a_key_may_store_half_of_what_is_left_in_an_hour_and_is_out_beyond_it() {
    let mut world = World::new(50);
    world.stores("a", mib(512));
    assert_eq!(world.looks(), []);
    world.stores("a", mib(1));
    let found = world.look();
    let [found] = &*found else { panic!("{found:?}") };
    assert_eq!(
        (found.key.as_str(), found.bound, found.stored, found.most),
        ("a", TrafficBound::Bytes, 513 * MIB, 512 * MIB)
    );
    assert_eq!((found.term.lasts, found.term.times), (OUT_FIRST, 1));
    assert!(world.meter.is_out("a", at(world.now)) && !world.meter.is_out("b", at(world.now)));
    assert!(world.meter.is_any_out(at(world.now)));
    assert!(!world.meter.is_any_out(at(world.now).after(OUT_FIRST)));
}

#[test]
fn what_was_stored_more_than_an_hour_ago_does_not_count() {
    let mut world = World::new(50);
    for _ in 0..4 {
        world.stores("a", mib(200));
        assert_eq!(world.looks(), []);
        world.now += 2 * 60 * 60;
    }
}

#[test]
fn the_bound_follows_what_is_left_and_never_falls_below_a_sixteenth_of_the_room() {
    let mut world = World::new(50);
    world.held.insert("blobs", mib(900));
    world.look();
    world.stores("a", mib(62));
    assert_eq!(world.looks(), []);
    world.stores("b", mib(61));
    assert_eq!(world.looks(), [], "a sixteenth is 64 MiB");
    world.stores("a", mib(3));
    assert_eq!(world.looks(), over("a", "blobs", TrafficBound::Bytes));
}

#[test]
fn of_several_keys_the_one_that_stores_more_than_all_others_together_goes() {
    let mut world = World::new(50);
    for _ in 0..40 {
        world.stores("a", mib(15));
        world.stores("b", mib(5));
        if !world.looks().is_empty() {
            break;
        }
    }
    assert!(world.meter.is_out("a", at(world.now)) && !world.meter.is_out("b", at(world.now)));
    world.stores("b", mib(100));
    assert_eq!(world.looks(), []);
}

#[test]
fn keys_that_flood_at_the_same_time_are_each_charged_with_what_they_stored() {
    let flooders = ["a", "b", "c"];
    let mut world = World::new(50);
    for _ in 0..80 {
        flooders.iter().for_each(|flooder| world.stores(flooder, mib(4)));
        let found = world.look();
        assert!(found.iter().all(|over| over.stored <= 80 * 4 * MIB && over.stored >= 200 * MIB), "{found:?}");
    }
    for flooder in flooders {
        assert!(world.meter.is_out(flooder, at(world.now)), "{flooder}");
    }
    assert!(!world.meter.is_out("idle", at(world.now)));
}

#[test]
fn keys_that_flood_with_small_messages_at_the_same_time_are_each_found_by_their_number() {
    let mut world = World::new(50);
    let load = Load { bytes: 200 * 10_000, messages: 10_000 };
    let stored = Load { bytes: 400 * 10_000, messages: 10_000 };
    for _ in 0..40 {
        world.sends("a", 1, load, "handoffs", stored);
        world.sends("b", 1, load, "handoffs", stored);
        let found = world.look();
        assert!(found.iter().all(|over| over.bound == TrafficBound::Messages), "{found:?}");
    }
    assert!(world.meter.is_out("a", at(world.now)) && world.meter.is_out("b", at(world.now)));
}

#[test]
fn what_nobody_is_seen_to_have_sent_is_charged_to_nobody() {
    let mut world = World::new(50);
    for _ in 0..40 {
        // Two honest keys that send things that are there already, while connections store that are not seen.
        world.sends("a", 1, mib(10), "blobs", Load::default());
        world.sends("b", 1, mib(10), "blobs", mib(24));
        assert_eq!(world.looks(), []);
    }
}

#[test]
fn traffic_that_is_not_stored_and_other_roles_growth_are_not_charged() {
    let mut world = World::new(50);
    // Pulls, requests, chunks that are there already.
    world.sends("a", 1, Load { bytes: 5_000 * MIB, messages: 5_000_000 }, "blobs", Load::default());
    assert_eq!(world.looks(), []);
    // A verifier that sends while builders store.
    for _ in 0..40 {
        world.sends("v", 1, mib(100), "blobs", Load::default());
        world.stores("a", mib(10));
        assert_eq!(world.looks(), []);
    }
}

#[test]
fn a_flood_of_handoffs_is_its_senders_also_while_another_key_stores_a_large_blob() {
    let mut world = World::new(50);
    for second in 0..600 {
        world.sends("a", 1, mib(4), "handoffs", mib(4));
        if second % 2 == 0 {
            world.sends("b", 1, mib(5), "blobs", mib(1));
        }
        let found = world.looks();
        if !found.is_empty() {
            assert_eq!(found, over("a", "handoffs", TrafficBound::Bytes));
            return;
        }
    }
    panic!("nobody was found");
}

#[test]
fn a_busy_key_is_never_out_for_what_another_one_stored_whatever_their_names() {
    for (flooder, busy) in [("a", "b"), ("b", "a")] {
        let mut world = World::new(50);
        for _ in 0..240 {
            // As much to one stream as the other key stores in its own.
            world.sends(flooder, 1, mib(4), "handoffs", mib(4));
            world.sends(busy, 1, mib(5), "blobs", Load::default());
            assert_eq!(world.looks(), [], "nobody can be told from the other");
        }
        while world.held["handoffs"].bytes < ROOM.bytes {
            world.sends(flooder, 1, mib(4), "handoffs", mib(4));
            let found = world.looks();
            assert!(found.iter().all(|(key, ..)| key == flooder), "{found:?}");
            if !found.is_empty() {
                break;
            }
        }
    }
}

#[test]
fn two_keys_that_flood_together_have_no_third_one_put_out() {
    let mut world = World::new(50);
    for _ in 0..100 {
        world.sends("a", 1, mib(2), "handoffs", mib(2));
        world.sends("c", 2, mib(2), "handoffs", mib(2));
        world.sends("b", 1, mib(50), "blobs", Load::default());
        assert_eq!(world.looks(), []);
    }
}

#[test]
fn a_key_that_is_alone_in_its_role_takes_room_from_nobody() {
    let mut world = World::new(50);
    world.sent.clear();
    world.stores("a", mib(900));
    assert_eq!(world.looks(), []);
}

#[test]
fn messages_are_bounded_as_bytes_are_and_short_ones_count_with_their_subjects() {
    let mut world = World::new(50);
    let load = Load { bytes: 60_000, messages: 60_000 };
    let stored = Load { bytes: 60_000 * 400, messages: 60_000 };
    for _ in 0..8 {
        world.sends("a", 1, load, "blobs", stored);
        assert_eq!(world.looks(), []);
    }
    world.sends("a", 1, load, "blobs", stored);
    assert_eq!(world.looks(), over("a", "blobs", TrafficBound::Messages));
}

#[test]
fn many_short_connections_of_a_key_count_together_and_what_is_stored_late_counts() {
    let mut world = World::new(50);
    for connection in 0..60 {
        world.sends("a", connection, mib(10), "blobs", Load::default());
        assert_eq!(world.looks(), []);
        // Stored only after the look at its connection.
        world.sends("a", connection, Load::default(), "blobs", mib(10));
        if !world.looks().is_empty() {
            return;
        }
    }
    panic!("it was never found");
}

#[test]
fn what_an_old_connection_sent_before_it_was_first_seen_is_not_charged() {
    let mut meter: TrafficMeter<u64> = TrafficMeter::new(50);
    let stream = |held| WrittenStream { name: "blobs".to_owned(), role: role::id(role::BUILDER), held, room: ROOM };
    let sending = |sent| [Sending { connection: 1, since: at(0), key: "a".to_owned(), role: None, sent }, idle()];
    assert_eq!(meter.look(at(10_000), &[stream(mib(0))], []), []);
    assert_eq!(meter.look(at(10_001), &[stream(mib(600))], sending(mib(5_000))), []);
    let found = meter.look(at(10_002), &[stream(mib(900))], sending(mib(5_600)));
    assert_eq!(
        found.len(),
        1,
        "it sent 600 MiB since, of which 300 were stored: more than half of the 424 that were left"
    );
}

#[test]
fn a_connection_that_one_look_misses_is_not_charged_twice() {
    let mut meter: TrafficMeter<u64> = TrafficMeter::new(50);
    let stream = |held| WrittenStream { name: "blobs".to_owned(), role: role::id(role::BUILDER), held, room: ROOM };
    let sending = |sent| [Sending { connection: 1, since: at(100), key: "a".to_owned(), role: None, sent }, idle()];
    meter.look(at(100), &[stream(mib(0))], []);
    assert_eq!(meter.look(at(101), &[stream(mib(300))], sending(mib(300))), []);
    assert_eq!(meter.look(at(102), &[stream(mib(300))], [idle()]), []);
    // Another one stored what came meanwhile, over a connection that is not seen.
    assert_eq!(meter.look(at(103), &[stream(mib(600))], sending(mib(300))), []);
}

#[test]
fn a_key_of_an_unknown_role_is_charged_with_any_streams_growth() {
    let mut meter: TrafficMeter<u64> = TrafficMeter::new(50);
    let stream = |held| WrittenStream { name: "blobs".to_owned(), role: role::id(role::BUILDER), held, room: ROOM };
    let sending = Sending { connection: 1, since: at(100), key: "a".to_owned(), role: None, sent: mib(700) };
    meter.look(at(100), &[stream(mib(0))], []);
    assert_eq!(meter.look(at(101), &[stream(mib(700))], [sending, idle()]).len(), 1);
}

#[test]
fn each_time_a_key_stays_out_for_longer_until_it_behaves_for_a_day() {
    let mut meter: TrafficMeter<u64> = TrafficMeter::new(50);
    let mut now = at(0);
    let mut hours = Vec::new();
    for _ in 0..7 {
        let term = meter.put_out("a", now).unwrap();
        assert_eq!(meter.put_out("a", now), None, "it is out");
        hours.push(term.lasts.as_secs() / 3_600);
        now = term.until;
    }
    assert_eq!(hours, [1, 2, 4, 8, 16, 24, 24]);
    assert_eq!(meter.put_out("a", now.after(OUT_MAX)).unwrap().times, 1);
}

#[test]
fn one_key_alone_never_fills_a_room_before_five_terms_are_over() {
    let mut world = World::new(50);
    let mut hours_out = 0;
    while world.held["blobs"].bytes < ROOM.bytes - 8 * MIB {
        world.stores("a", mib(8));
        if let Some(found) = world.look().pop() {
            hours_out += found.term.lasts.as_secs() / 3_600;
            world.now += i64::try_from(found.term.lasts.as_secs()).unwrap();
        }
    }
    assert!(hours_out >= 15, "{hours_out} hours");
}

#[test]
fn connections_are_looked_at_once_a_stream_has_grown_by_a_part_of_its_room() {
    let mut world = World::new(50);
    world.stores("a", mib(16));
    assert!(!world.meter.is_due(&world.streams()));
    world.stores("a", mib(1));
    assert!(world.meter.is_due(&world.streams()));
    world.look();
    assert!(!world.meter.is_due(&world.streams()));
}

#[test]
fn a_share_of_all_bounds_nothing() {
    let mut world = World::new(SHARE_OFF);
    world.stores("a", ROOM);
    assert_eq!(world.looks(), []);
}
