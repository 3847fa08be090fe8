//! System calls that ordinary programs do without and attacks do not.
//!
//! Refused with "not permitted", so that programs that only try them go on. Anything not named here is allowed: cargo,
//! python, node, go and git must work.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter, sock_filter,
};

use super::Failure;
use crate::wire::{Sockets, Step};

/// Other processes' memory; keys of the session; the kernel's own machinery; mounts and namespaces; the clock.
const REFUSED: [i64; 55] = [
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
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
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
    libc::SYS_move_pages,
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

/// Extended attributes of files, which Landlock does not guard: without mounts they could be changed anywhere. The last
/// two have no name in the library.
const ATTRIBUTES: [i64; 8] = [
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat
    466, // removexattrat
];

/// Calls that set limits or the priority of a process, and the argument that names it: 0 is the caller. Neither Landlock
/// nor the kernel keeps them from the other processes of the same user.
const OTHERS: [(i64, u8); 6] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
];

/// Calls that give a file its mode, the argument that says it, and the one with flags that say whether it counts.
const MODES: [(i64, u8, Option<u8>); 5] = [
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (452, 2, None), // fchmodat2
    (libc::SYS_openat, 3, Some(2)),
    (libc::SYS_mknodat, 2, None),
];
/// The older calls of x86-64 for the same.
#[cfg(target_arch = "x86_64")]
const OLD_MODES: [(i64, u8, Option<u8>); 4] =
    [(libc::SYS_chmod, 1, None), (libc::SYS_open, 2, Some(1)), (libc::SYS_creat, 1, None), (libc::SYS_mknod, 1, None)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_MODES: [(i64, u8, Option<u8>); 0] = [];
/// Flags with which opening makes a file; without them a mode is not even looked at.
const MAKES: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
/// A program that would run as the owner of its file: as the harness's user, who may be root.
const SET_USER_ID: u64 = 0o4000;

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

/// A filter that is made once and may be put on many threads.
#[derive(Debug)]
pub(crate) struct Filter(Vec<BpfProgram>);

impl Filter {
    /// The filter for what may make these sockets, with or without namespaces of its own.
    pub(crate) fn new(sockets: Sockets, namespaces: bool) -> Result<Self, Failure> {
        let refused = refused(sockets, namespaces).map_err(Failure::at(Step::Seccomp, "rules"))?;
        // These hide their flags behind a pointer. "No such call" makes libraries fall back to `clone` and `openat`.
        let hidden = Rules::from([libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new())));
        // Programs that copy files go on where a file system has no attributes.
        let attributes = if namespaces { Rules::new() } else { ATTRIBUTES.map(|call| (call, Vec::new())).into() };
        let filters = [(hidden, libc::ENOSYS), (attributes, libc::EOPNOTSUPP), (refused, libc::EPERM)];
        let filters = filters.into_iter().filter(|(rules, _)| !rules.is_empty());
        let programs = filters.map(|(rules, errno)| compile(rules, errno)).collect::<Result<Vec<_>, _>>();
        let mut programs = programs.map_err(Failure::at(Step::Seccomp, "compile"))?;
        if let Some(last) = programs.last_mut() {
            last.splice(0..0, SECOND_NUMBERS);
        }
        Ok(Self(programs))
    }

    /// Confines this thread for good, and what it starts.
    pub(crate) fn apply(&self) -> Result<(), Failure> {
        let at = |error: seccompiler::Error| Failure::new(Step::Seccomp, error.to_string());
        self.0.iter().try_for_each(|program| apply_filter(program).map_err(at))
    }
}

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let action = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, action, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn refused(sockets: Sockets, namespaces: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if !namespaces {
        rules.extend(IPC.iter().map(|call| (*call, Vec::new())));
        for (call, argument) in OTHERS {
            let other = condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
            rules.insert(call, vec![rule(vec![other])?]);
        }
    }
    for (call, mode, flags) in MODES.into_iter().chain(OLD_MODES) {
        rules.insert(call, set_user_id(mode, flags)?);
    }
    rules.insert(libc::SYS_socket, socket_rules(sockets)?);
    let flag = |flag: &i32| {
        let flag = u64::from(flag.unsigned_abs());
        rule(vec![condition(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    rules.insert(libc::SYS_clone, NAMESPACE_FLAGS.iter().map(flag).collect::<Result<_, _>>()?);
    let request = |request: &u64| rule(vec![condition(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *request)?]);
    rules.insert(libc::SYS_ioctl, TERMINAL_REQUESTS.iter().map(request).collect::<Result<_, _>>()?);
    add_machine_specific(&mut rules);
    Ok(rules)
}

fn set_user_id(mode: u8, flags: Option<u8>) -> Result<Vec<SeccompRule>, BackendError> {
    let has = |argument, bits| condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits);
    let Some(flags) = flags else { return Ok(vec![rule(vec![has(mode, SET_USER_ID)?])?]) };
    let made_by = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        rule(vec![has(mode, SET_USER_ID)?, has(flags, flag)?])
    };
    MAKES.into_iter().map(made_by).collect()
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

/// x86-64 has calls that reach its devices.
#[cfg(target_arch = "x86_64")]
fn add_machine_specific(rules: &mut Rules) {
    rules.extend([libc::SYS_iopl, libc::SYS_ioperm].map(|call| (call, Vec::new())));
}

#[cfg(not(target_arch = "x86_64"))]
fn add_machine_specific(_rules: &mut Rules) {}

/// x86-64 has all calls a second time, under numbers with one bit more (x32), which a list of refusals must not forget. No
/// program of today uses them: all are refused, by what the last of our filters begins with.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERS: [sock_filter; 3] = {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_UNLESS_BELOW: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const NUMBER_AT: u32 = 0;
    const X32_BIT: u32 = 0x4000_0000;
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    [
        sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: NUMBER_AT },
        sock_filter { code: JUMP_UNLESS_BELOW, jt: 0, jf: 1, k: X32_BIT },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: REFUSE },
    ]
};
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBERS: [sock_filter; 0] = [];

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
