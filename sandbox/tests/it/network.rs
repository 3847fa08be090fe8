//! No network but an isolated loopback; no socket of the outside.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::lab::Lab;

fn connect(port: u16) -> String {
    format!("/usr/bin/python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'")
}

#[tokio::test]
async fn loopback_of_the_machine_is_out_of_reach() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for mut lab in Lab::both() {
        lab.refused(&connect(port)).await;
        lab.profile.network = holdpoint_sandbox::Network::Host;
        lab.ok(&connect(port)).await;
    }
}

#[tokio::test]
async fn program_has_a_loopback_of_its_own() {
    let code = "import socket; s=socket.create_server((\"127.0.0.1\",0)); socket.create_connection(s.getsockname())";
    Lab::full().ok(&format!("/usr/bin/python3 -c '{code}'")).await;
}

#[tokio::test]
async fn socket_outside_cannot_be_connected() {
    for mut lab in Lab::both() {
        let path = lab.outside().join("engine.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        for network in [holdpoint_sandbox::Network::Loopback, holdpoint_sandbox::Network::Host] {
            lab.profile.network = network;
            let code = format!("import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")", path.display());
            lab.refused(&format!("/usr/bin/python3 -c '{code}'")).await;
        }
    }
}

#[tokio::test]
async fn pair_of_sockets_works() {
    for lab in Lab::both() {
        lab.ok("/usr/bin/python3 -c 'import socket; a,b=socket.socketpair(); a.send(b\"x\"); b.recv(1)'").await;
    }
}

#[tokio::test]
async fn abstract_socket_outside_cannot_be_connected() {
    let name = format!("holdpoint-test-{}", std::process::id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    for mut lab in Lab::both() {
        for network in [holdpoint_sandbox::Network::Loopback, holdpoint_sandbox::Network::Host] {
            lab.profile.network = network;
            let code = format!("import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")");
            lab.refused(&format!("/usr/bin/python3 -c '{code}'")).await;
        }
    }
}
