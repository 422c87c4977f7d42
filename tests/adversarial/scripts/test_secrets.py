"""A script uses a key that it never sees: only the granted hosts get it, only in the granted header."""

import base64
import json
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from certificates import certificate

from skillkit.core.models import SecretRequest
from skillkit.scripts import Grants
from skillkit.scripts.network import gateway
from skillkit.scripts.network.secret_broker import Mask
from skillkit.scripts.secret_store import SecretError, SecretStore

__all__ = ["certificate"]

VALUE = "sk-live-4242424242424242"
KEY = SecretRequest("API_KEY", ("api.test",))
GRANTS = Grants(secrets=(KEY,), hosts=("other.wild.test",))


class Echo(BaseHTTPRequestHandler):
    """Tells what it was sent, and what the path asks it to tell."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.title(): value for name, value in self.headers.items()}
        self.server.seen.append((self.path, headers, body))
        told = json.dumps({"headers": headers, "body": body.decode()}).encode()
        if self.path == "/bare":
            told = self.headers["Authorization"].rpartition(" ")[2].encode() * 3
        if self.path == "/encoded":
            told = base64.b64encode(VALUE.encode())
        self.send_response(200)
        self.send_header("X-Echo", self.headers.get("Authorization", ""))
        if self.path == "/compressed":
            self.send_header("Content-Encoding", "gzip")
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "https://other.wild.test/")
        if self.path == "/pieces":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in (b"<", *(bytes([byte]) for byte in VALUE.encode()), b">"):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def do_POST(self):
        self.do_GET()

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "12345")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def host(certificate, monkeypatch):
    """The server of every name; our own process trusts its certificate, the script need not."""
    public, context = certificate
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.seen = []
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    monkeypatch.setattr(gateway, "resolve", lambda name, port, private: [("127.0.0.1", server.server_port)])
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def run(workshop, host, tmp_path):
    """Run code with `fetch(path, headers, host, method, body)`; gives its outcome as data."""
    store = SecretStore(tmp_path / "agent")
    store.set("API_KEY", VALUE)

    def run(code, grants=GRANTS, **options):
        workshop.skill("demo", try_py=f"{PRELUDE}\n{code}\nprint(json.dumps(outcome))")
        tools = workshop.tools(grants, sandbox=options.get("sandbox", "bwrap"))
        tools._secrets = store
        return tools.script_run("demo", "try")

    return run


PRELUDE = """
import base64, http.client, json, os, ssl, sys, urllib.error, urllib.request
key = os.environ.get("API_KEY", "")
outcome = {}
def fetch(path="/", headers=None, host="api.test", method="GET", body=None, scheme="https"):
    request = urllib.request.Request(f"{scheme}://{host}{path}", body, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode() + str(answer.headers)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    except (OSError, http.client.HTTPException) as error:
        return f"failed {error}"
"""


def test_the_host_gets_the_value_and_the_script_never_does(run, host):
    answer = run('outcome = [key, fetch("/", {"Authorization": f"Bearer {key}"})]')
    key, told = answer["result"]
    assert key.startswith("skillkit-api_key-")
    assert host.seen[0][1]["Authorization"] == f"Bearer {VALUE}"
    assert VALUE not in json.dumps(answer)
    assert told.count(f"Bearer {key}") == 2  # echoed in the body and in a header
    assert answer["meta"]["grants"]["secrets"] == ["API_KEY"]
    (attempt,) = answer["meta"]["network"]
    assert attempt["allowed"]


def test_a_secret_goes_to_another_port_where_that_was_granted_and_not_to_both(run, host):
    grants = Grants(secrets=(SecretRequest("API_KEY", ("api.test:8443",)),), hosts=("api.test",))
    code = """
outcome["granted"] = fetch(headers={"Authorization": "Bearer " + key}, host="api.test:8443")
outcome["lied"] = fetch(headers={"Authorization": "Bearer " + key, "Host": "api.test"}, host="api.test:8443")
"""
    answer = run(code, grants)["result"]
    assert host.seen[0][1]["Authorization"] == f"Bearer {VALUE}"
    assert VALUE not in json.dumps(answer)
    assert answer["lied"].startswith("403 skillkit: another host")
    assert len(host.seen) == 1


def test_basic_credentials_are_filled_and_masked(run, host):
    code = """
basic = base64.b64encode(f"me:{key}".encode()).decode()
outcome = fetch("/", {"Authorization": "Basic " + basic})
"""
    answer = run(code)
    rendered = base64.b64encode(f"me:{VALUE}".encode()).decode()
    assert host.seen[0][1]["Authorization"] == f"Basic {rendered}"
    assert VALUE not in json.dumps(answer)
    assert rendered not in json.dumps(answer)


def test_an_answer_has_the_length_of_what_the_script_gets(run, host):
    code = """
connection = http.client.HTTPSConnection("api.test", timeout=10)
for method in ("GET", "HEAD", "GET"):
    connection.request(method, "/bare", headers={"Authorization": "Bearer " + key})
    answer = connection.getresponse()
    outcome.setdefault(method, []).append([answer.getheader("Content-Length"), len(answer.read())])
outcome["key"] = len(key)
"""
    answer = run(code)["result"]
    masked = 3 * answer["key"]
    assert answer["GET"] == [[str(masked), masked]] * 2
    assert answer["HEAD"] == [["12345", 0]]


def test_many_requests_share_a_connection_and_bodies_pass_as_they_are(run, host):
    code = """
connection = http.client.HTTPSConnection("api.test", timeout=10)
for number in range(3):
    connection.request("POST", f"/{number}", b"x" * 100000 + key.encode(), {"Authorization": key})
    outcome[number] = len(connection.getresponse().read())
"""
    answer = run(code)
    assert answer["success"], answer
    assert len({each[1]["Host"] for each in host.seen}) == 1
    assert [each[1]["Authorization"] for each in host.seen] == [VALUE] * 3
    assert all(VALUE.encode() not in each[2] and each[2].startswith(b"xxx") for each in host.seen)
    assert len(answer["meta"]["network"]) == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('fetch("/?key=" + key)', "goes into the header Authorization and nowhere else"),
        ('fetch("/", {"X-Other": key})', "goes into the header Authorization and nowhere else"),
        ('fetch("/", {"Cookie": "a=" + key, "Authorization": key})', "nowhere else"),
        ('fetch("/", {"Host": "evil.test", "Authorization": key})', "another host is named"),
        ('fetch("/", {"Upgrade": "websocket", "Connection": "upgrade"})', "only HTTP/1.1"),
        ('fetch("/compressed", {"Authorization": key})', "compressed"),
    ],
)
def test_a_use_that_was_not_granted_is_refused_and_said(run, host, code, said):
    answer = run(f"outcome = {code}")
    assert any(said in attempt.get("reason", "") for attempt in answer["meta"]["network"]), answer
    assert VALUE not in json.dumps(answer)
    sent = json.dumps([(path, headers) for path, headers, _ in host.seen if path != "/compressed"])
    assert VALUE not in sent


def test_another_host_and_a_redirect_get_the_useless_placeholder(run, host, certificate):
    code = """
context = ssl._create_unverified_context()
connection = http.client.HTTPSConnection("other.wild.test", timeout=10, context=context)
connection.request("GET", "/other", headers={"Authorization": key})
outcome = connection.getresponse().status
"""
    assert run(code)["result"] == 200
    assert [each[1]["Authorization"] for each in host.seen if each[0] == "/other"] != [VALUE]
    assert not any(VALUE in json.dumps(each[1]) for each in host.seen)


def test_a_server_that_cannot_prove_its_name_gets_nothing(run, host, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    answer = run('outcome = fetch("/", {"Authorization": key})')
    assert answer["result"].startswith("502 skillkit: api.test cannot be reached: [SSL: CERTIFICATE_VERIFY")
    assert host.seen == []
    assert "certificate verify failed" in answer["meta"]["network"][0]["reason"]


def test_plain_http_is_not_granted(run, host):
    answer = run('outcome = fetch("/", {"Authorization": key}, scheme="http")')
    assert answer["result"].startswith("failed")
    assert host.seen == []


def test_nothing_in_the_sandbox_holds_the_value_or_the_key_of_the_authority(run):
    code = """
import pathlib
found = []
for place in ("/proc/self/environ", "/proc/1/environ", "/proc/self/cmdline", "/proc/1/cmdline"):
    try:
        found.append(open(place, "rb").read())
    except OSError:
        pass
for folder in ("/etc", "/tmp", "/output", "/dev/shm", "/run"):
    for path in pathlib.Path(folder).rglob("*"):
        try:
            if path.is_file() and path.stat().st_size < 1 << 20:
                found.append(path.read_bytes())
        except OSError:
            pass
found = b"".join(found)
# In parts, because this script is in sight, too.
outcome = [b"sk-" + b"live" in found, b"PRIVATE" + b" KEY" in found, b"BEGIN CERTIFICATE" in found]
"""
    assert run(code)["result"] == [False, False, True]


def test_what_a_service_tells_in_another_form_is_not_recognised(run):
    """The one leak that nobody can prevent; the documentation says so."""
    answer = run('outcome = fetch("/encoded", {"Authorization": key})')
    assert base64.b64encode(VALUE.encode()).decode() in answer["result"]


def test_an_echo_in_pieces_is_masked_too(run):
    answer = run(
        'outcome = fetch("/pieces", {"Authorization": key}) + fetch("/bare", {"Authorization": key})'
    )
    assert VALUE not in answer["result"]
    assert answer["result"].count("skillkit-api_key-") >= 4


def test_a_mask_finds_the_value_wherever_it_is_cut():
    whole = b"a" * 10 + VALUE.encode() + b"b" * 40 + VALUE.encode()
    for size in range(1, len(whole)):
        mask = Mask([(VALUE.encode(), b"[key]")])
        out = b"".join(mask.feed(whole[at : at + size]) for at in range(0, len(whole), size)) + mask.rest()
        assert out == b"a" * 10 + b"[key]" + b"b" * 40 + b"[key]"


@pytest.mark.this_machine
def test_a_secret_is_not_given_beside_the_whole_network_nor_where_names_cannot_be_held(run):
    answer = run("", Grants(secrets=(KEY,), network=True))
    assert (answer["error"], "grant hosts by name" in answer["message"]) == ("permission_denied", True)
    answer = run("", GRANTS, sandbox="landlock")
    assert answer["error"] == "permission_denied"
    assert "api.test" in answer["message"]


def test_help_gets_no_secret_and_a_missing_one_is_named(workshop, tmp_path):
    workshop.skill("demo", try_py="import os; print('usage: try', os.environ.get('API_KEY'))")
    tools = workshop.tools(GRANTS, sandbox="bwrap")
    tools._secrets = SecretStore(tmp_path)
    assert tools.script_help("demo", "try")["result"]["usage"] == "usage: try None"
    answer = tools.script_run("demo", "try")
    assert "the secret API_KEY, which is not set" in answer["message"]


def test_the_file_of_secrets_is_the_owners_alone_and_repr_shows_no_value(tmp_path):
    store = SecretStore(tmp_path)
    store.set("API_KEY", VALUE)
    store.set("OTHER", "another-value")
    (path,) = tmp_path.glob("secrets.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SecretStore(tmp_path).value("API_KEY") == VALUE
    assert store.remove("OTHER")
    assert not store.remove("OTHER")
    assert store.names() == ["API_KEY"]
    for name, value in [("a b", "value"), ("A", "x"), ("A", "line\nbreak"), ("A", "k\u00e9y-long")]:
        with pytest.raises(SecretError):
            store.set(name, value)


def test_a_header_asks_for_a_secret_and_what_cannot_be_read_is_not_asked_for(workshop):
    asked = "{hosts: [api.test, '*.wild.test'], header: X-Api-Key}"
    workshop.skill("good", header=f"permissions: {{secrets: {{API_KEY: {asked}}}}}")
    wrong = ["{hosts: []}", "{hosts: [10.0.0.1]}", "{hosts: ['*']}", "{hosts: [$URL]}", "text"]
    wrong += ["{hosts: [api.test], header: 'a: b'}"]
    for number, rule in enumerate(wrong):
        workshop.skill(f"wrong-{number}", header=f"permissions: {{secrets: {{API_KEY: {rule}}}}}")
    manager = workshop.manager()
    granted = Grants.as_requested(manager.get_skill("good")).secrets
    assert granted == (SecretRequest("API_KEY", ("api.test", "*.wild.test"), "X-Api-Key"),)
    for number in range(len(wrong)):
        assert manager.get_skill(f"wrong-{number}").permissions.secrets == ()
