//! Big repositories and big plans through whole flights: a history of two gigabytes, a file of 200 megabytes, a plan of
//! two thousand waypoints. Each has to be accepted, with memory that does not grow with it.

#![expect(clippy::print_stdout, reason = "its table is what a long run is for")]

use std::{
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::sys::resource::{UsageWho, getrusage};

use super::Terms;
use crate::world::World;

/// Bytes of each of the blobs that make the long history.
const BLOB_BYTES: usize = 1 << 20;
/// How many of them: two gigabytes together.
const BLOBS: usize = 2048;
/// Bytes of the large file.
const FILE_BYTES: usize = 200 << 20;
/// The most memory that any process of a flight may have had, in MiB.
const PEAK_MIB_MAX: i64 = 600;
/// Waypoints of plans, one after the other; the next is flown only if the time is likely to do for it.
const PLANS: [u32; 3] = [50, 500, 2000];
/// How long one flight may take at most, and how much longer for each waypoint it has.
const FLIGHT_MAX: Duration = Duration::from_secs(1200);
const WAYPOINT_MAX: Duration = Duration::from_secs(2);

/// One line of the table.
struct Row {
    what: String,
    took: Duration,
    peak_mib: i64,
}

/// Fills a world; gives the builder, and the number of builders.
type Prepare<'a> = &'a dyn Fn(&World) -> Result<(String, &'static str), String>;

/// Flies those whose name is asked for.
pub fn run(terms: &Terms) -> Result<(), String> {
    let mut rows = Vec::new();
    let mut others = Vec::new();
    let mut fly = |what: &str, waypoints: u32, prepare: Prepare<'_>| {
        if terms.only.as_ref().is_some_and(|only| !what.contains(only)) {
            others.push(what.to_owned());
            return Ok(Duration::ZERO);
        }
        let row = one(what, FLIGHT_MAX + WAYPOINT_MAX * waypoints, prepare)?;
        let took = row.took;
        print_row(&row);
        rows.push(row);
        Ok::<_, String>(took)
    };
    fly("a file of 200 MB", 1, &|world| large_file(world, terms.seed))?;
    fly("a history of 2 GB", 1, &|world| long_history(world, terms.seed))?;
    let (begun, mut expected) = (Instant::now(), Duration::ZERO);
    for waypoints in PLANS {
        if begun.elapsed() + expected > terms.time {
            println!("  {waypoints} waypoints: left out, they would take about {} s", expected.as_secs());
            break;
        }
        let what = format!("{waypoints} waypoints, 2 builders");
        expected = fly(&what, waypoints, &|world| many_waypoints(world, waypoints))? * 5;
    }
    if rows.is_empty() {
        return Err(format!("no flight's name has that in it: they are {}", others.join("; ")));
    }
    // The figure is the largest so far, so only the first one that is over is to blame.
    let over = rows.iter().find(|row| row.peak_mib > PEAK_MIB_MAX);
    over.map_or(Ok(()), |row| Err(format!("{}: a process had more than {PEAK_MIB_MAX} MiB", row.what)))
}

fn print_row(row: &Row) {
    println!("  {:<28} {:>7.1} s   largest process so far {:>5} MiB", row.what, row.took.as_secs_f64(), row.peak_mib);
}

/// Flies one plan in a world of its own, in at most `time`.
fn one(what: &str, time: Duration, prepare: Prepare<'_>) -> Result<Row, String> {
    let world = World::new(&[("kept", "kept\n")]);
    let (builder, builders) = prepare(&world)?;
    let begun = Instant::now();
    let run = world.start(&world.run_args(&["--builder", &builder, "--builders", builders]));
    let run = run.finish_by(begun + time).map_err(|_| format!("{what}: no end after {time:?}"))?;
    if run.code != 0 || run.json()["status"] != "accepted" {
        return Err(format!("{what}: exit {}: {}\n{}", run.code, run.stdout, run.stderr));
    }
    let branch = run.json()["branch"].as_str().unwrap_or_default().to_owned();
    world.git(&["fsck", "--connectivity-only", "--no-dangling", &branch]);
    Ok(Row { what: what.to_owned(), took: begun.elapsed(), peak_mib: peak_mib() })
}

/// The most memory that any process had that ended below this one, in MiB.
fn peak_mib() -> i64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss() >> 10)
}

const ONE_WAYPOINT: &str = "plan: big\nwaypoints:\n\
                            \x20 - {id: w, title: t, goal: g, criteria: [{id: c, statement: s, check: 'test -e result'}]}\n";

/// A builder that appends a line to the large file.
fn large_file(world: &World, seed: u64) -> Result<(String, &'static str), String> {
    world.plan(ONE_WAYPOINT);
    import(world, |out| {
        let message = "commit refs/heads/main\ncommitter T <t@localhost> 1700000000 +0000\ndata 1\nx\n";
        write!(out, "{message}from refs/heads/main^0\nM 100644 inline large.bin\ndata {FILE_BYTES}\n")?;
        let mut noise = Noise(seed);
        for _ in 0..FILE_BYTES / BLOB_BYTES {
            out.write_all(&noise.bytes(BLOB_BYTES))?;
        }
        writeln!(out)
    })?;
    Ok((world.program("builder.sh", "echo more >> large.bin\necho done > result"), "1"))
}

/// Every commit replaces one file of random bytes by another.
fn long_history(world: &World, seed: u64) -> Result<(String, &'static str), String> {
    world.plan(ONE_WAYPOINT);
    import(world, |out| {
        let mut noise = Noise(seed);
        for n in 0..BLOBS {
            let from = if n == 0 { "from refs/heads/main^0\n" } else { "" };
            let at = 1_700_000_000 + n;
            write!(out, "commit refs/heads/main\ncommitter T <t@localhost> {at} +0000\ndata 1\nx\n{from}")?;
            write!(out, "M 100644 inline asset.bin\ndata {BLOB_BYTES}\n")?;
            out.write_all(&noise.bytes(BLOB_BYTES))?;
            writeln!(out)?;
        }
        Ok(())
    })?;
    Ok((world.program("builder.sh", "echo done > result"), "1"))
}

/// Each waypoint writes a file of its own; none depends on another.
fn many_waypoints(world: &World, count: u32) -> Result<(String, &'static str), String> {
    let mut plan = "plan: many\nwaypoints:\n".to_owned();
    for n in 0..count {
        let _ = writeln!(
            plan,
            "  - {{id: w{n}, title: Waypoint {n}, goal: Write it, criteria: [{{id: c, statement: It is there, check: \
             'test -e f/w{n}'}}]}}"
        );
    }
    world.plan(&plan);
    Ok((world.program("builder.sh", "mkdir -p f\necho done > f/$HOLDPOINT_WAYPOINT"), "2"))
}

/// Feeds `git fast-import`, which keeps random bytes as they are and none of them in memory: it is not what is measured.
fn import(world: &World, feed: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot make the repository: {error}");
    let mut git = Command::new("git")
        .args(["-c", "core.compression=0", "-c", "core.bigFileThreshold=1m", "fast-import", "--quiet"])
        .current_dir(world.path("repo"))
        .stdin(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let fed = git.stdin.take().map_or(Ok(()), |stdin| {
        let mut out = std::io::BufWriter::new(stdin);
        feed(&mut out)?;
        out.flush()
    });
    let ended = git.wait().map_err(failed)?;
    fed.map_err(failed)?;
    if ended.success() { Ok(()) } else { Err(format!("cannot make the repository: git fast-import: {ended}")) }
}

/// Bytes that do not compress (splitmix64).
struct Noise(u64);

impl Noise {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count);
        while bytes.len() < count {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
