"""A small seccomp filter as BPF bytes: what no script needs and what leads out of a sandbox."""

import errno
import platform
import struct
from functools import lru_cache

_LOAD_WORD = 0x20
_AND = 0x54
_JUMP_EQUAL = 0x15
_JUMP_GREATER_OR_EQUAL = 0x35
_JUMP_ANY_BIT = 0x45
_RETURN = 0x06

_ALLOW = 0x7FFF0000
_ERROR = 0x00050000
_KILL = 0x80000000

_DENIED = (_RETURN, 0, 0, _ERROR | errno.EPERM)
_ALLOWED = (_RETURN, 0, 0, _ALLOW)
_IGNORED = (_RETURN, 0, 0, _ERROR)
_NUMBER, _ARCHITECTURE = 0, 4
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_NEW_NAMESPACES = 0x7E020000
_SOCK_STREAM, _SOCK_DGRAM, _SOCK_SEQPACKET, _SOCK_TYPE_MASK = 1, 2, 5, 0xF
# TIOCSTI, TIOCLINUX type into a terminal; FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR need no writable descriptor.
_IOCTLS = (0x5412, 0x541C, 0x40086602, 0x401C5820)
_X32 = 0x40000000


def _argument(position: int) -> int:
    """Offset of the low half of an argument; both supported machines are little-endian."""
    return 16 + 8 * position


_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# The number of each call on these machines, None where there is no such call.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "clone": (56, 220),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "utime": (132, None),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "sched_setaffinity": (203, 122),
    "utimes": (235, None),
    "ioprio_set": (251, 30),
    "inotify_add_watch": (254, 27),
    "migrate_pages": (256, 238),
    "fchownat": (260, 54),
    "futimesat": (261, None),
    "fchmodat": (268, 53),
    "move_pages": (279, 239),
    "utimensat": (280, 88),
    "fanotify_init": (300, 262),
    "prlimit64": (302, 261),
    "sched_setattr": (314, 274),
    "ioctl": (16, 29),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "ptrace": (101, 117),
    "syslog": (103, 116),
    "pivot_root": (155, 41),
    "adjtimex": (159, 171),
    "chroot": (161, 51),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "lookup_dcookie": (212, 18),
    "clock_settime": (227, 112),
    "mq_open": (240, 180),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "clock_adjtime": (305, 266),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "memfd_create": (319, 279),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    # Identical on every machine: the calls added since Linux 5.1.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "clone3": (435, 435),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "mount_setattr": (442, 442),
    "quotactl_fd": (443, 443),
    "memfd_secret": (447, 447),
    "process_mrelease": (448, 448),
    "fchmodat2": (452, 452),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "open_tree_attr": (467, 467),
    "file_setattr": (469, 469),
}
_NEEDS_ITS_ARGUMENTS = frozenset({"socket", "socketpair", "clone", "ioctl"})
# Which arguments must be zero, so that a process changes itself and nobody else.
_ITSELF_ONLY = {
    "prlimit64": (0,),
    "setpriority": (0, 1),
    "ioprio_set": (1,),
    "sched_setaffinity": (0,),
    "sched_setscheduler": (0,),
    "sched_setparam": (0,),
    "sched_setattr": (0,),
}
# Programs fall back to older calls when these fail with ENOSYS. Memory files are
# among them because no limit counts what is written into one.
_NOT_IMPLEMENTED = frozenset(
    {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create"}
)
# Without namespaces of its own, a script shares what these change or watch with the whole machine.
_SHARED = frozenset("chown fchown lchown fchownat file_setattr inotify_add_watch fanotify_init".split())
# As on a disk that has none; programs that copy files are content with that.
_EXTENDED_ATTRIBUTES = frozenset(
    "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat removexattrat".split()
)
# The session and the process group end the whole tree: leaving them seems to succeed and does not happen.
_LEAVES_GROUP = frozenset({"setsid", "setpgid"})
# Landlock does not see modes and times, so as one and the same user a script could change them on
# any file. Archives and copies set them all the time: here that succeeds and changes nothing.
_ATTRIBUTES = frozenset("chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat".split())
_REASONS = {
    **dict.fromkeys(_NOT_IMPLEMENTED, errno.ENOSYS),
    **dict.fromkeys(_EXTENDED_ATTRIBUTES, errno.EOPNOTSUPP),
}


def supported() -> bool:
    return platform.machine() in _ARCHITECTURES


@lru_cache(maxsize=8)
def build_filter(
    *,
    network: bool,
    own_namespaces: bool = True,
    own_user: bool = False,
    machine: str = platform.machine(),
) -> bytes:
    """The program for `machine`, ready for `seccomp(2)` or `bwrap --seccomp`.

    Without `network` no socket can be made (a pair of streams can, event loops need one); with it
    only IPv4 and IPv6 ones. A backend without `own_namespaces` also keeps a script in its session
    and process group, which end the whole tree, and from what Landlock does not see: owners and
    attributes of files, and unless it runs as `own_user` of its own, their modes and times.
    """
    ignored = frozenset() if own_namespaces else _LEAVES_GROUP if own_user else _LEAVES_GROUP | _ATTRIBUTES
    skipped = _NEEDS_ITS_ARGUMENTS | (_SHARED | _EXTENDED_ATTRIBUTES if own_namespaces else frozenset())
    skipped |= (_LEAVES_GROUP | _ATTRIBUTES) - ignored
    column = list(_ARCHITECTURES).index(machine)
    numbers = {name: number for name, both in _CALLS.items() if (number := both[column]) is not None}
    program: list[tuple[int, int, int, int]] = [
        (_LOAD_WORD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD_WORD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        program += [(_JUMP_GREATER_OR_EQUAL, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for name, number in sorted(numbers.items(), key=lambda item: item[1]):
        if name in skipped:
            continue
        if name in _ITSELF_ONLY:
            program += _when(number, _zero_or_denied(_ITSELF_ONLY[name]))
            continue
        if name == "utimensat":
            program += _when(number, _touch_or_ignored())
            continue
        reason = 0 if name in ignored else _REASONS.get(name, errno.EPERM)
        program += _when(number, [(_RETURN, 0, 0, _ERROR | reason)])
    denied, allowed = _DENIED, _ALLOWED
    program += _when(
        numbers["clone"],
        [(_LOAD_WORD, 0, 0, _argument(0)), (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES), denied, allowed],
    )
    program += _when(
        numbers["ioctl"],
        [
            (_LOAD_WORD, 0, 0, _argument(1)),
            *((_JUMP_EQUAL, len(_IOCTLS) - position, 0, code) for position, code in enumerate(_IOCTLS)),
            allowed,
            denied,
        ],
    )
    # A datagram socket of a pair can be connected again, to anybody; a stream cannot. Other types of
    # unix sockets are turned into datagrams by the kernel, so only those that are known may pass.
    pairs = _sockets((_AF_UNIX,), (_SOCK_STREAM, _SOCK_SEQPACKET))
    program += _when(numbers["socketpair"], pairs)
    families = _sockets((_AF_INET, _AF_INET6), (_SOCK_STREAM, _SOCK_DGRAM))
    program += _when(numbers["socket"], families if network else [denied])
    program.append(allowed)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _sockets(families: tuple[int, ...], types: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """Allow sockets of these families and these types, and no others."""
    last = len(families) - 1
    return [
        (_LOAD_WORD, 0, 0, _argument(0)),
        *(
            (_JUMP_EQUAL, last - position, 2 + len(types) if position == last else 0, family)
            for position, family in enumerate(families)
        ),
        (_LOAD_WORD, 0, 0, _argument(1)),
        (_AND, 0, 0, _SOCK_TYPE_MASK),
        *((_JUMP_EQUAL, len(types) - position, 0, kind) for position, kind in enumerate(types)),
        _DENIED,
        _ALLOWED,
    ]


def _touch_or_ignored() -> list[tuple[int, int, int, int]]:
    """Setting times changes nothing, except that setting a path's to now fails.

    Programs that touch a file try this first and make the file when it fails; told that it had
    succeeded, they would go on without the file.
    """
    path, times = 1, 2
    checks: list[tuple[int, int, int, int]] = []
    for place in (_argument(times), _argument(times) + 4):
        checks += [(_LOAD_WORD, 0, 0, place), (_JUMP_EQUAL, 1, 0, 0), _IGNORED]
    checks += [
        (_LOAD_WORD, 0, 0, _argument(path)),
        (_JUMP_EQUAL, 0, 2, 0),
        (_LOAD_WORD, 0, 0, _argument(path) + 4),
        (_JUMP_EQUAL, 1, 0, 0),
        _DENIED,
        _IGNORED,
    ]
    return checks


def _zero_or_denied(positions: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    checks: list[tuple[int, int, int, int]] = []
    for position in positions:
        checks += [(_LOAD_WORD, 0, 0, _argument(position)), (_JUMP_EQUAL, 1, 0, 0), _DENIED]
    return [*checks, _ALLOWED]


def _when(number: int, instructions: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """`instructions` if the call is `number`; they must all end in a return."""
    return [(_JUMP_EQUAL, 0, len(instructions), number), *instructions]
