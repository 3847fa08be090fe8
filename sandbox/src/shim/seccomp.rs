//! System calls that ordinary programs do without and attacks do not.
//!
//! Refused with "not permitted", so that programs that only try them go on. Anything not named here is allowed: cargo,
//! python, node, go and git must work.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::Failure;
use crate::wire::{Sockets, Step};

/// Other processes' memory; keys of the session; the kernel's own machinery; mounts and namespaces; the clock.
const REFUSED: [i64; 52] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
];

/// System V memory, queues and semaphores, and POSIX queues: shared by name with the whole machine unless there is an
/// IPC namespace.
const IPC: [i64; 12] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
];

/// Flags of `clone` that make namespaces.
const NAMESPACE_FLAGS: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME, which the library does not name
];

/// Requests that put words into a terminal as if its user had typed them.
const TERMINAL_REQUESTS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this thread for good.
pub(super) fn confine(sockets: Sockets, own_ipc: bool) -> Result<(), Failure> {
    let at = |error: seccompiler::Error| Failure::new(Step::Seccomp, error.to_string());
    let refused = refused(sockets, own_ipc).map_err(Failure::at(Step::Seccomp, "rules"))?;
    let hidden = Rules::from([(libc::SYS_clone3, Vec::new())]);
    // `clone3` hides its flags behind a pointer. "No such call" makes the C library fall back to `clone`.
    for (rules, errno) in [(hidden, libc::ENOSYS), (refused, libc::EPERM)] {
        let program = compile(rules, errno).map_err(Failure::at(Step::Seccomp, "compile"))?;
        apply_filter(&program).map_err(at)?;
    }
    Ok(())
}

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let action = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, action, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn refused(sockets: Sockets, own_ipc: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if !own_ipc {
        rules.extend(IPC.iter().map(|call| (*call, Vec::new())));
    }
    rules.insert(libc::SYS_socket, socket_rules(sockets)?);
    let flag = |flag: &i32| {
        let flag = u64::from(flag.unsigned_abs());
        rule(vec![condition(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    rules.insert(libc::SYS_clone, NAMESPACE_FLAGS.iter().map(flag).collect::<Result<_, _>>()?);
    let request = |request: &u64| rule(vec![condition(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request)?]);
    rules.insert(libc::SYS_ioctl, TERMINAL_REQUESTS.iter().map(request).collect::<Result<_, _>>()?);
    add_second_numbers(&mut rules);
    Ok(rules)
}

/// No rule for a call means "always", so the empty list is right for "no sockets at all".
fn socket_rules(sockets: Sockets) -> Result<Vec<SeccompRule>, BackendError> {
    let mut families = match sockets {
        Sockets::None => return Ok(Vec::new()),
        Sockets::Internet | Sockets::All => vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    if sockets == Sockets::All {
        families.push(libc::AF_UNIX);
    }
    let other = families
        .into_iter()
        .map(|family| condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect::<Result<_, _>>()?;
    Ok(vec![rule(other)?])
}

/// On x86-64 the same calls exist a second time under the x32 numbers, which a list of refusals must not forget.
#[cfg(target_arch = "x86_64")]
fn add_second_numbers(rules: &mut Rules) {
    const X32_BIT: i64 = 0x4000_0000;
    const X32_ONLY: std::ops::RangeInclusive<i64> = 512..=547;
    let second: Vec<_> = rules.iter().map(|(call, list)| (call | X32_BIT, list.clone())).collect();
    rules.extend(second);
    rules.extend(X32_ONLY.map(|call| (call | X32_BIT, Vec::new())));
}

#[cfg(not(target_arch = "x86_64"))]
fn add_second_numbers(_rules: &mut Rules) {}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions)
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}
