//! Ports of this machine for what other programs publish, and publish again.

use std::{
    net::TcpListener,
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
};

/// Ports below those that Linux gives a process that asks for any.
const PORTS: Range<u32> = 20_000..30_000;

/// A port of this machine that is free now, and that no other process gets when it asks for any: what was down for a moment
/// finds it free again.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let count = PORTS.end - PORTS.start;
    // Not where another run of these tests, whose number is next to this one's, begins to look.
    let first = std::process::id().wrapping_mul(37);
    let ports = std::iter::repeat_with(|| TAKEN.fetch_add(1, Ordering::Relaxed));
    let mut ports = ports.take(count as usize).map(|taken| PORTS.start + first.wrapping_add(taken) % count);
    let free = ports.find_map(|port| {
        let port = u16::try_from(port).ok()?;
        TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
    });
    free.expect("one of 10,000 ports is free")
}
