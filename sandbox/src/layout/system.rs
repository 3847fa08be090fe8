//! What every program may see of the system, and what in it is nobody's business.

use std::path::{Path, PathBuf};

/// Trees of the system that every program may read and execute.
pub(super) const TREES: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc", "/nix"];
/// Where names are looked up. It often leads into `/run`, which is otherwise closed.
pub(super) const RESOLVER: &str = "/etc/resolv.conf";
/// Folders that programs expect to be able to write; each gets its own.
pub(super) const PRIVATE: [&str; 2] = ["/dev/shm", "/tmp"];
pub(super) const PROC: &str = "/proc";
pub(super) const DEV: &str = "/dev";
/// Devices that are harmless to everybody.
pub(crate) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Readable to root on most systems, and we may be root.
const SECRETS: [&str; 28] = [
    "/etc/NetworkManager/system-connections",
    "/etc/apt/auth.conf",
    "/etc/apt/auth.conf.d",
    "/etc/boto.cfg",
    "/etc/ceph",
    "/etc/containers/auth.json",
    "/etc/docker",
    "/etc/exim4/passwd.client",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/msmtprc",
    "/etc/mysql/debian.cnf",
    "/etc/netrc",
    "/etc/pki/tls/private",
    "/etc/postfix/sasl_passwd",
    "/etc/ppp/chap-secrets",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
];
const SSH: &str = "/etc/ssh";

/// Secrets in the trees of the system, also the keys of the machine.
pub(super) fn secrets() -> Vec<PathBuf> {
    let mut secrets: Vec<PathBuf> = SECRETS.iter().map(PathBuf::from).collect();
    for entry in Path::new(SSH).read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("ssh_host_") && !name.ends_with(".pub") {
            secrets.push(entry.path());
        }
    }
    secrets
}
