//! `trace` and `otlp-sink`: traces and metrics without a collector.

use std::{
    cmp::Reverse,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use holdpoint_otlp_sink::{LinesFile, Point, ReceivedSpan, Receiver, SpanFilter, read_file, tree};
use serde::Serialize;
use tokio::net::TcpStream;

use crate::{
    args::traces::{SinkArgs, TraceArgs},
    failure::{Exit, Failure, chain},
    interrupt::Interrupts,
    output,
    people::find::among_newest,
};

/// The attributes that say what a span is of.
const FLIGHT: &str = "holdpoint.flight";
const WAYPOINT: &str = "holdpoint.waypoint";
/// How long a sink may take to be reached before it counts as gone.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(3);

/// Prints the traces of a flight.
pub(super) fn trace(args: &TraceArgs) -> Result<Exit, Failure> {
    let spans = read_file(&args.from).map_err(|error| {
        let message = format!("cannot read {}: {error}", args.from.display());
        Failure::usage("file", message, "`holdpoint otlp-sink --out FILE` writes such a file")
    })?;
    let wanted = meant(&spans, args)?;
    let traces = wanted.traces(&spans);
    if traces.is_empty() {
        let message = format!("{} has no span of what was asked for", args.from.display());
        let hint = "spans arrive some seconds after their end, and `holdpoint status` lists the flights".to_owned();
        return Err(Failure::Other { exit: Exit::Incomplete, code: "no_trace", message, hint });
    }
    if args.json {
        spans.iter().filter(|span| traces.contains(span.trace_id.as_str())).for_each(output::json_line);
    } else {
        output::out(tree(&spans, &wanted).trim_end());
    }
    Ok(Exit::Success)
}

/// The flight and waypoint that are meant, of those that the spans are of. One that no span is of is left as it is.
fn meant(spans: &[ReceivedSpan], args: &TraceArgs) -> Result<SpanFilter, Failure> {
    let mut newest: Vec<&ReceivedSpan> = spans.iter().collect();
    newest.sort_by_key(|span| Reverse(span.start_ns));
    let of = |span: &&&ReceivedSpan, flight: &str| span.text(FLIGHT) == Some(flight);
    let flights = newest.iter().filter_map(|span| span.text(FLIGHT));
    let named = args.flight.as_str();
    let flight = among_newest("flight", named, flights)?.unwrap_or(named).to_owned();
    let waypoint = match &args.waypoint {
        Some(named) => {
            let (named, of_flight) = (named.as_str(), newest.iter().filter(|span| of(span, &flight)));
            let there = of_flight.filter_map(|span| span.text(WAYPOINT));
            Some(among_newest("waypoint", named, there)?.unwrap_or(named).to_owned())
        }
        None => None,
    };
    Ok(SpanFilter { flight, waypoint })
}

/// Receives spans and metrics until it is asked to end.
pub(super) async fn sink(args: SinkArgs) -> Result<Exit, Failure> {
    if args.healthcheck {
        return health(args.listen).await;
    }
    let mut interrupts = Interrupts::listen()?;
    let open = |path: &PathBuf| {
        LinesFile::open(path, args.limit.bytes()).map(Mutex::new).map_err(|error| {
            let message = format!("cannot write to {}: {error}", path.display());
            Failure::usage("file", message, "name a file in a folder that exists and can be written")
        })
    };
    let file = args.out.as_ref().map(open).transpose()?;
    let metrics = args.metrics.as_ref().map(open).transpose()?;
    let receiver = Receiver::listen(args.listen).await.map_err(|error| {
        Failure::environment(
            "listen",
            chain(&error),
            "another collector may run there: choose another port with --listen",
        )
    })?;
    output::err(&format!("receiving traces on {} (OTLP over gRPC)", receiver.address()));
    let take = move |spans: Vec<ReceivedSpan>| match &file {
        Some(file) => append(file, &spans),
        None => {
            spans.iter().for_each(output::json_line);
            Ok(())
        }
    };
    let take_points = move |points: Vec<Point>| match &metrics {
        Some(file) => append(file, &points),
        None => Err("this sink takes no metrics: start it with --metrics FILE".to_owned()),
    };
    tokio::select! {
        () = receiver.serve(take, take_points) => {}
        () = interrupts.next() => {}
    }
    Ok(Exit::Success)
}

/// Appends what came; the sender is asked to send it again where that fails.
fn append<T: Serialize>(file: &Mutex<LinesFile>, items: &[T]) -> Result<(), String> {
    let appended = file.lock().unwrap_or_else(PoisonError::into_inner).append(items);
    appended.map_err(|error| {
        output::err(&format!("what came cannot be written, and is asked for again: {error}"));
        "the sink has no room".to_owned()
    })
}

/// Whether a server listens there.
async fn health(listen: SocketAddr) -> Result<Exit, Failure> {
    let reached = tokio::time::timeout(HEALTH_TIMEOUT, TcpStream::connect(reachable(listen))).await;
    match reached {
        Ok(Ok(_)) => Ok(Exit::Success),
        Ok(Err(error)) => Err(Failure::environment("health", format!("no sink on {listen}: {error}"), "")),
        Err(_) => Err(Failure::environment("health", format!("no sink on {listen}: it does not answer"), "")),
    }
}

/// Where to reach who listens everywhere.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_reached_on_this_machine() {
        for (listen, reached) in
            [("0.0.0.0:4317", "127.0.0.1:4317"), ("[::]:1", "[::1]:1"), ("10.0.0.7:4317", "10.0.0.7:4317")]
        {
            assert_eq!(reachable(listen.parse().unwrap()), reached.parse().unwrap());
        }
    }
}
