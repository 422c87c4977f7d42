"""Attacks from inside a script on every grant, for each backend that claims to hold it."""

import json
import os
import resource
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from skillkit.scripts import Grants

ATTACK = """
import ctypes, errno, json, os, socket, sys
library = ctypes.CDLL(None, use_errno=True)
outcome, refusals = {}, {}
def attempt(name, action):
    '''Record what an attack achieved: null when it was refused, else what it got.'''
    try:
        got = action()
    except (OSError, ValueError, StopIteration) as error:
        outcome[name] = None
        refusals[name] = errno.errorcode.get(getattr(error, "errno", None), str(error))
        return
    outcome[name] = repr(got)[:200]
def call(number, *arguments):
    ctypes.set_errno(0)
    arguments = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    result = library.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""
REPORT = "\nprint(json.dumps(outcome))\n"


def attack(workshop, sandbox, code, args=(), grants=None):
    """What each attempt of `code` achieved, by name."""
    workshop.skill("attack", attack_py=ATTACK + textwrap.dedent(code) + REPORT)
    answer = workshop.tools(grants, sandbox=sandbox).script_run("attack", "attack", [str(a) for a in args])
    assert answer["success"], answer
    assert answer["meta"]["backend"] == sandbox
    return answer["result"]


def assert_all_refused(outcome):
    assert outcome, "no attack was tried"
    assert {name: got for name, got in outcome.items() if got is not None} == {}


@pytest.fixture
def secret(workshop):
    """A file that any user of the machine could read, outside of everything that is granted."""
    folder = workshop.folder.parent / f"{workshop.folder.name}-outside"
    folder.mkdir()
    folder.chmod(0o777)
    path = folder / "secret.txt"
    path.write_text("the secret")
    path.chmod(0o666)
    yield path
    for left in folder.iterdir():
        left.unlink()
    folder.rmdir()


# Files


def test_nothing_outside_the_grants_can_be_read(workshop, confining, secret):
    other = workshop.skill("other", theirs_py="print('theirs')")
    outcome = attack(
        workshop,
        confining,
        """
        secret, other, home = sys.argv[1:4]
        work = os.environ["TMPDIR"]
        def by(link, name):
            link(secret, work + name)
            return open(work + name).read()
        def other_environments():
            return next(name for name in os.listdir(home + "/environments") if name not in sys.prefix)
        parent = os.getppid()
        elsewhere = "/var" if parent == 1 else "/proc/%d/cwd" % parent
        attempt("a secret", lambda: open(secret).read())
        attempt("its folder", lambda: os.listdir(os.path.dirname(secret)))
        attempt("by a link", lambda: by(os.symlink, "/soft"))
        attempt("by a hard link", lambda: by(os.link, "/hard"))
        attempt("by a parent of its own folder", lambda: open("../../other/scripts/theirs.py").read())
        attempt("another skill", lambda: open(other + "/SKILL.md").read())
        attempt("our state", lambda: os.listdir(home + "/cache"))
        attempt("another environment", other_environments)
        attempt("the user's home", lambda: os.listdir(os.path.expanduser("~root")))
        attempt("passwords", lambda: open("/etc/shadow").read())
        attempt("accounts", lambda: open("/etc/passwd").read())
        attempt("by a descriptor", lambda: os.listdir("/proc/1/root/etc/ssh"))
        attempt("by another process's folder", lambda: os.listdir(elsewhere))
        attempt("disks", lambda: open("/dev/vda", "rb"))
        attempt("memory", lambda: open("/dev/mem", "rb"))
        attempt("kernel log", lambda: open("/dev/kmsg", "rb"))
        """,
        [secret, other, workshop.home],
    )
    assert_all_refused(outcome)


def test_nothing_outside_the_work_folder_can_be_written(workshop, confining, secret):
    other = workshop.skill("other", theirs_py="print('theirs')")
    outcome = attack(
        workshop,
        confining,
        """
        secret, other, home = sys.argv[1:4]
        here = os.path.dirname(os.path.abspath(__file__))
        packages = next(p for p in sys.path if p.endswith("site-packages"))
        attempt("overwrite a file", lambda: open(secret, "w"))
        attempt("append to a file", lambda: open(secret, "a"))
        attempt("truncate a file", lambda: os.truncate(secret, 0))
        attempt("remove a file", lambda: os.unlink(secret))
        attempt("a new file beside it", lambda: open(os.path.dirname(secret) + "/new", "w"))
        attempt("itself", lambda: open(__file__, "a"))
        attempt("its own folder", lambda: open(here + "/new.py", "w"))
        attempt("its own SKILL.md", lambda: open(here + "/../SKILL.md", "a"))
        attempt("its own environment", lambda: open(packages + "/evil.pth", "w"))
        attempt("its own interpreter", lambda: os.rename(sys.executable, sys.executable + "x"))
        attempt("another skill", lambda: open(other + "/scripts/theirs.py", "a"))
        attempt("another's folder", lambda: os.chmod(here, 0o777) or open(here + "/new.py", "w"))
        attempt("the root", lambda: open("/new", "w"))
        attempt("usr", lambda: open("/usr/new", "w"))
        attempt("etc", lambda: open("/etc/new", "w"))
        attempt("a device", lambda: os.mknod(os.environ["TMPDIR"] + "/disk", 0o60666, os.makedev(254, 0)))
        attempt("kernel settings", lambda: open("/proc/sys/kernel/core_pattern", "w").write("|/tmp/x"))
        attempt("another mount", lambda: open("/var/tmp/new", "w"))
        """,
        [secret, other, workshop.home],
    )
    assert_all_refused(outcome)
    assert secret.read_text() == "the secret"
    assert sorted(path.name for path in secret.parent.iterdir()) == ["secret.txt"]


def test_what_belongs_to_our_user_is_not_changed_without_being_opened(workshop, confining, secret):
    """Modes, times, attributes and priorities need no open file, only the same user."""

    def state():
        found = secret.stat()
        return found.st_mode, found.st_mtime, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)

    before = state()
    limit = resource.getrlimit(resource.RLIMIT_CPU)
    base = workshop.skill("attack")
    attack(
        workshop,
        confining,
        """
        import resource
        secret, home, ours = sys.argv[1], sys.argv[2], int(sys.argv[3])
        for path in (secret, os.path.dirname(secret), __file__, os.path.dirname(__file__), sys.prefix):
            attempt("mode of " + path, lambda: os.chmod(path, 0o707))
            attempt("times of " + path, lambda: os.utime(path, (1, 1)))
            attempt("owner of " + path, lambda: os.chown(path, -1, os.getgid()))
            attempt("attribute of " + path, lambda: os.setxattr(path, "user.x", b"y"))
        file = os.open(__file__, os.O_RDONLY)
        attempt("mode of an open file", lambda: os.fchmod(file, 0o777))
        attempt("flags of an open file", lambda: __import__("fcntl").ioctl(file, 0x40086602, b"\\0" * 8))
        attempt("the shared store", lambda: os.mkdir(home + "/environments/new"))
        attempt("our priority", lambda: os.setpriority(os.PRIO_PROCESS, ours, 19))
        attempt("everybody's priority", lambda: os.setpriority(os.PRIO_USER, 0, 19))
        attempt("our limits", lambda: resource.prlimit(ours, resource.RLIMIT_CPU, (9999, 9999)))
        attempt("our processors", lambda: os.sched_setaffinity(ours, {0}))
        """,
        [secret, workshop.home, os.getpid()],
    )
    assert state() == before
    assert resource.getrlimit(resource.RLIMIT_CPU) == limit
    assert not (workshop.home / "environments" / "new").exists()
    assert stat.S_IMODE((base / "scripts" / "attack.py").stat().st_mode) & 0o111 == 0
    assert (base / "scripts").stat().st_mtime > 1
    assert "user.x" not in os.listxattr(secret)


def test_files_in_the_work_folder_can_be_copied_and_marked(workshop, confining):
    outcome = attack(
        workshop,
        confining,
        """
        import shutil, tempfile
        folder = tempfile.mkdtemp()
        attempt("copy", lambda: shutil.copy2(__file__, folder))
        attempt("mark", lambda: os.chmod(os.path.join(folder, os.path.basename(__file__)), 0o755))
        attempt("remove", lambda: shutil.rmtree(folder))
        """,
    )
    assert None not in outcome.values()


def test_extra_paths_are_granted_one_by_one(workshop, confining, secret):
    inbox = secret.parent / "inbox"
    inbox.mkdir()
    inbox.chmod(0o777)
    try:
        outcome = attack(
            workshop,
            confining,
            """
            secret, inbox = sys.argv[1:3]
            attempt("read", lambda: open(secret).read())
            attempt("write", lambda: open(secret, "a"))
            attempt("write where it may", lambda: open(inbox + "/made", "w").write("x"))
            """,
            [secret, inbox],
            Grants(read_paths=(secret,), write_paths=(inbox,)),
        )
        assert outcome == {"read": "'the secret'", "write": None, "write where it may": "1"}
        assert (inbox / "made").read_text() == "x"
    finally:
        (inbox / "made").unlink(missing_ok=True)
        inbox.rmdir()


# Secrets in the environment


def test_no_variable_that_was_not_granted_is_anywhere_to_be_found(workshop, confining):
    program = textwrap.dedent(
        """
        import json, sys
        from pathlib import Path
        from skillkit import SkillManager
        from skillkit.core.authority import TrustEverySkill
        from skillkit.scripts import LocalRunner, ScriptTools
        folder, home, sandbox = sys.argv[1:]
        manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="", plugin_dirs=[])
        manager.discover()
        tools = ScriptTools(manager, LocalRunner(Path(home), sandbox=sandbox), TrustEverySkill())
        print(json.dumps(tools.script_run("attack", "attack")))
        """
    )
    workshop.skill(
        "attack",
        "permissions:\n  env: [GRANTED_*]",
        attack_py=ATTACK
        + textwrap.dedent(
            """
            import glob
            places = ["/proc/self/environ", "/proc/1/environ"]
            for pattern in ("/proc/*/environ", "/proc/*/task/*/environ", "/proc/*/cmdline"):
                places += glob.glob(pattern)
            for path in places:
                attempt(path, lambda: b"TOP-SECRET" in open(path, "rb").read())
            leaks = [path for path, got in outcome.items() if got == "True"]
            outcome = {"leaks": leaks, "environment": dict(os.environ)}
            """
        )
        + REPORT,
    )
    environment = {**os.environ, "API_TOKEN": "TOP-SECRET", "GRANTED_KEY": "for the skill"}
    command = [sys.executable, "-c", program, workshop.folder, workshop.home, confining]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    answer = json.loads(ran.stdout)
    assert answer["success"], answer
    assert answer["result"]["leaks"] == []
    seen = answer["result"]["environment"]
    assert seen.pop("GRANTED_KEY") == "for the skill"
    allowed = {"PATH", "HOME", "LANG", "TMPDIR", "SKILL_NAME", "SKILL_BASE_DIR", "SKILL_VERSION", "PWD"}
    allowed.add("SKILL_OUTPUT_DIR")
    allowed |= {"GIT_CONFIG_NOSYSTEM"}
    assert {name for name in seen if not name.startswith("LC_")} <= allowed
    assert answer["meta"]["grants"]["env"] == ["GRANTED_KEY"]


def test_no_descriptor_of_ours_is_inherited(workshop, confining):
    outcome = attack(
        workshop,
        confining,
        """
        outcome["open"] = []
        for number in range(3, 512):
            try:
                os.fstat(number)
                outcome["open"].append(number)
            except OSError:
                pass
        outcome["stdin"] = sys.stdin.read()
        """,
    )
    assert outcome == {"open": [], "stdin": ""}


# Network

SOCKETS = """
    port, path, name = sys.argv[1:4]
    def connect(family, kind, protocol, address):
        with socket.socket(family, kind, protocol) as s:
            s.settimeout(5)
            s.connect(address)
            return "connected"
    def send(family, address):
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            return s.sendto(b"out", address)
    def listen():
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            return "listening"
    attempt("tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, 0, ("127.0.0.1", int(port))))
    attempt("mptcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, 262, ("127.0.0.1", int(port))))
    attempt("udp", lambda: send(socket.AF_INET, ("127.0.0.1", int(port))))
    attempt("udp6", lambda: send(socket.AF_INET6, ("::1", int(port))))
    attempt("listen", listen)
    attempt("unix by path", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, 0, path))
    attempt("unix abstract", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, 0, chr(0) + name))
    attempt("unix datagram", lambda: send(socket.AF_UNIX, path))
    attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).fileno())
    attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM).fileno())
    attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).fileno())
    attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).fileno())
    attempt("kernel crypto", lambda: socket.socket(38, socket.SOCK_SEQPACKET).fileno())
    attempt("bluetooth", lambda: socket.socket(31, socket.SOCK_RAW, 1).fileno())
    def by_pair(kind, address):
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        if kind not in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):  # these two send to the other half
            one.sendto(b"out", address)
        one.connect(address)
        return one.send(b"out")
    for kind in range(1, 11):
        for address in (path, path + ".datagrams", chr(0) + name, chr(0) + name + ".datagrams"):
            attempt("a pair %d to %r" % (kind, address), lambda: by_pair(kind, address))
"""


@pytest.fixture
def listeners(secret):
    """Somebody to talk to: TCP, a unix socket that anybody may use, and an abstract one."""
    path = str(secret.parent / "socket")
    name = f"skillkit-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract_datagrams,
    ):
        datagrams.bind(path + ".datagrams")
        os.chmod(path + ".datagrams", 0o777)
        abstract_datagrams.bind("\0" + name + ".datagrams")
        unix.bind(path)
        os.chmod(path, 0o777)
        unix.listen()
        abstract.bind("\0" + name)
        abstract.listen()
        yield [tcp.getsockname()[1], path, name]


def test_no_kind_of_socket_leads_out_without_the_network(workshop, confining, listeners):
    assert_all_refused(attack(workshop, confining, SOCKETS, listeners))


@pytest.mark.this_machine
def test_the_network_grant_opens_the_internet_and_no_other_family(workshop, confining, listeners):
    outcome = attack(workshop, confining, SOCKETS, listeners, Grants(network=True))
    opened = {name for name, got in outcome.items() if got is not None}
    assert "tcp" in opened
    assert opened <= {"tcp", "mptcp", "udp", "udp6", "listen"}


def test_event_loops_still_work_without_the_network(workshop, confining):
    code = "import asyncio\nasync def main():\n    outcome['loop'] = 'ran'\nasyncio.run(main())\n"
    assert attack(workshop, confining, code) == {"loop": "ran"}


# The kernel


def test_system_calls_that_lead_out_are_refused(workshop, confining):
    outcome = attack(
        workshop,
        confining,
        """
        x86 = os.uname().machine == "x86_64"
        number = lambda on_x86, on_arm: on_x86 if x86 else on_arm
        buffer = ctypes.create_string_buffer(4096)
        attempt("io_uring_setup", lambda: call(425, 8, buffer))
        attempt("io_uring_enter", lambda: call(426, 0, 0, 0, 0, 0, 0))
        attempt("ptrace a process", lambda: call(number(101, 117), 16, os.getppid(), 0, 0))
        attempt("ptrace itself", lambda: call(number(101, 117), 0, 0, 0, 0))
        parent = os.getppid()
        attempt("read another's memory", lambda: call(number(310, 270), parent, buffer, 1, buffer, 1, 0))
        attempt("compare processes", lambda: call(number(312, 272), os.getpid(), os.getpid(), 0, 0, 1))
        attempt("take a descriptor", lambda: call(438, 0, 0, 0))
        spaces = {
            "user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000,
            "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000, "time": 0x80,
        }
        for name, flag in spaces.items():
            attempt("unshare " + name, lambda: call(number(272, 97), flag))
            if name != "time":
                attempt("clone " + name, lambda: call(number(56, 220), flag | 17, 0, 0, 0, 0) or os._exit(0))
        attempt("clone3", lambda: call(435, buffer, 88))
        attempt("join a namespace", lambda: call(number(308, 268), 0, 0))
        attempt("mount", lambda: call(number(165, 40), b"none", b"/tmp", b"tmpfs", 0, 0))
        attempt("unmount", lambda: call(number(166, 39), b"/tmp", 2))
        attempt("open_tree", lambda: call(428, -100 & 0xffffffffffffffff, b"/", 1))
        attempt("fsopen", lambda: call(430, b"tmpfs", 0))
        attempt("pivot_root", lambda: call(number(155, 41), b"/", b"/"))
        attempt("chroot", lambda: os.chroot("/"))
        attempt("keyring", lambda: call(number(250, 219), 0, -3 & 0xffffffff, 0))
        attempt("add_key", lambda: call(number(248, 217), b"user", b"x", b"y", 1, -3 & 0xffffffff))
        attempt("bpf", lambda: call(number(321, 280), 0, buffer, 64))
        attempt("perf", lambda: call(number(298, 241), buffer, 0, -1 & 0xffffffff, -1 & 0xffffffff, 0))
        attempt("userfaultfd", lambda: call(number(323, 282), 1))
        attempt("file handles", lambda: call(number(304, 265), -100 & 0xffffffff, buffer, 0))
        attempt("shared memory", lambda: call(number(29, 194), 0, 4096, 0o1666))
        attempt("message queue", lambda: call(number(68, 186), 0, 0o1666))
        attempt("posix queue", lambda: call(number(240, 180), b"q", 0o102, 0o666, 0))
        attempt("memory file", lambda: os.memfd_create("x"))
        attempt("secret memory", lambda: call(447, 0))
        attempt("modules", lambda: call(number(313, 273), 0, b"", 0))
        attempt("kernel log", lambda: call(number(103, 116), 3, buffer, 10))
        attempt("clock", lambda: call(number(227, 112), 0, buffer))
        attempt("host name", lambda: socket.sethostname("x"))
        attempt("be root", lambda: os.setuid(0) if os.getuid() else 1)
        attempt("priority", lambda: os.nice(-5))
        attempt("type into a terminal", lambda: __import__("fcntl").ioctl(0, 0x5412, b"x"))
        outcome["refusals"] = refusals
        """,
    )
    refusals = outcome.pop("refusals")
    assert_all_refused(outcome)
    assert refusals.pop("be root") in ("EPERM", "EINVAL")  # there is no root to be in a namespace
    # Any other error would mean that the call was made and only its arguments were bad.
    assert {name: why for name, why in refusals.items() if why not in ("EPERM", "ENOSYS")} == {}


def test_there_is_no_privilege_to_use_and_none_to_gain(workshop, confining):
    outcome = attack(
        workshop,
        confining,
        """
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        sets = (ctypes.c_uint32 * 6)()
        assert library.capget(header, sets) == 0
        outcome["capabilities"] = list(sets)
        outcome["new privileges"] = library.prctl(39, 0, 0, 0, 0)
        outcome["seccomp"] = library.prctl(21, 0, 0, 0, 0)
        outcome["user"] = os.getuid()
        """,
    )
    assert outcome.pop("user") != 0
    assert outcome == {"capabilities": [0] * 6, "new privileges": 1, "seccomp": 2}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="another calling convention exists on x86_64 only")
def test_another_calling_convention_is_the_end_of_the_script(workshop, confining):
    workshop.skill("attack", attack_py=ATTACK + "call(0x40000000 | 41, 2, 1, 0)\n")
    answer = workshop.tools(sandbox=confining).script_run("attack", "attack")
    assert answer["meta"]["exit_code"] == 128 + 31


def test_nobody_outside_can_be_signalled(workshop, confining):
    outcome = attack(
        workshop,
        confining,
        """
        import signal
        ours = int(sys.argv[1])
        def stop(target):
            os.kill(target, signal.SIGKILL)
            return "killed"
        attempt("our process", lambda: stop(ours))
        if os.getppid() != 1:  # the first process of a namespace only ignores it
            attempt("the machine's first process", lambda: stop(1))
            attempt("its parent", lambda: stop(os.getppid()))
        """,
        [os.getpid()],
    )
    assert_all_refused(outcome)


def test_killing_everything_in_sight_kills_only_the_script(workshop, confining):
    workshop.skill("attack", attack_py="import os, signal\nos.kill(-1, signal.SIGKILL)\nprint(1)\n")
    answer = workshop.tools(sandbox=confining).script_run("attack", "attack")
    assert answer["meta"]["exit_code"] in (0, 1, 137)
    assert Path("/proc/self").exists()
