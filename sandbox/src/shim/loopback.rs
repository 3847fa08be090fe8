//! Bringing up the loopback of a new network namespace: one netlink message, one answer.

use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, socket,
};

/// The loopback is the first interface of every namespace.
const LOOPBACK_INDEX: i32 = 1;
/// `struct nlmsghdr` and `struct ifinfomsg`, in bytes.
const MESSAGE_BYTES: u32 = 32;
/// Where the error number is in an answer: after the header.
const ERROR_OFFSET: usize = 16;

pub(super) fn bring_up() -> std::io::Result<()> {
    let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    sendto(socket.as_raw_fd(), &message(), &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 1024];
    let count = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let error = answer.get(ERROR_OFFSET..count.min(ERROR_OFFSET + 4)).and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(std::io::Error::from_raw_os_error(-error)),
        None => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

/// "Set the flag UP of interface 1, and answer."
fn message() -> Vec<u8> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    let up = libc::IFF_UP as u32;
    let mut bytes = Vec::with_capacity(MESSAGE_BYTES as usize);
    // Header: length, type, flags, sequence, port.
    bytes.extend(MESSAGE_BYTES.to_ne_bytes());
    bytes.extend(libc::RTM_NEWLINK.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    // Interface: family, padding, device type, index, flags, mask of the flags to change.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK_INDEX.to_ne_bytes());
    bytes.extend(up.to_ne_bytes());
    bytes.extend(up.to_ne_bytes());
    bytes
}
