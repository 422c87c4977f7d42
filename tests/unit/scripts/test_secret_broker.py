"""What passes between a script and a host that gets a secret, byte by byte."""

import contextlib
import json
import socket
from contextlib import closing
from threading import Thread

import h11
import pytest

from skillkit.scripts.network.relay import Allowance
from skillkit.scripts.network.secret_broker import Mask, SecretBroker
from skillkit.scripts.network.secrets import BrokeredSecret

VALUE, PLACEHOLDER = b"sk-live-4242424242424242", b"skillkit-api_key-00112233"
ASKED = b"Host: api.test\r\nAuthorization: Bearer " + PLACEHOLDER + b"\r\n"
END_OF_HEAD = b"\r\n\r\n"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Line:
    """A broker between two ends that a test holds."""

    def __init__(self, allowance=None):
        self.script, inside = socket.socketpair()
        self.host, outside = socket.socketpair()
        for end in (self.script, self.host):
            end.settimeout(20)
        secret = BrokeredSecret("API_KEY", "Authorization", VALUE, PLACEHOLDER)
        allowance = allowance or Allowance(1 << 30, 1 << 30)
        self.refused = []
        self.broker = SecretBroker(inside, outside, ("api.test", 443), [secret], allowance)

        def serve():
            with closing(inside), closing(outside):
                self.broker.run(self.refused.append)

        self.thread = Thread(target=serve, daemon=True)
        self.thread.start()

    def end(self):
        """Close the script's side and return what was refused, once all is over."""
        self.script.shutdown(socket.SHUT_WR)
        self.thread.join(20)
        assert not self.thread.is_alive()
        return self.refused


@pytest.fixture
def line():
    opened = []

    def open_line(*arguments):
        opened.append(Line(*arguments))
        return opened[-1]

    yield open_line
    for each in opened:
        for end in (each.script, each.host):
            end.close()
        each.thread.join(20)


def until(end, wanted):
    """What comes until it ends with `wanted`, or until nothing more comes."""
    read = b""
    while not read.endswith(wanted) and (received := end.recv(65536)):
        read += received
    return read


def the_rest(end):
    read = b""
    with contextlib.suppress(ConnectionResetError):  # how it ends where not all that was sent was read
        while received := end.recv(65536):
            read += received
    return read


def test_a_plain_exchange_puts_the_value_in_and_masks_it_on_its_way_back(line):
    held = line()
    for number in range(3):
        held.script.sendall(
            b"POST /%d HTTP/1.1\r\n%bContent-Length: 4\r\n\r\nbody" % (number, ASKED),
        )
        asked = until(held.host, b"body")
        assert asked.startswith(b"POST /%d HTTP/1.1\r\nhost: api.test\r\n" % number)
        assert b"authorization: Bearer " + VALUE + b"\r\n" in asked
        held.host.sendall(b"HTTP/1.1 200 OK\r\nX-Echo: %b\r\nContent-Length: 24\r\n\r\n%b" % (VALUE, VALUE))
        answer = until(held.script, PLACEHOLDER)
        assert b"x-echo: " + PLACEHOLDER in answer
        assert b"content-length: %d\r\n\r\n" % len(PLACEHOLDER) in answer
        assert VALUE not in answer
    assert held.end() == []


ANSWERS = {
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "with trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Key: %b\r\n\r\n"
    % VALUE,
    "after 100 and 103": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX: %b\r\n\r\n%b"
    % (VALUE, SHORT),
    "with bare line feeds": SHORT.replace(b"\r\n", b"\n"),
    "without a body": b"HTTP/1.1 304 Not Modified\r\nETag: hi\r\nContent-Length: 99\r\n\r\n",
    "of spaces and capitals": b"HTTP/1.1 200\r\nCONTENT-LENGTH:   2  \r\nConnection: Keep-Alive\r\n\r\nhi",
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_form_of_an_answer_arrives_and_the_connection_goes_on(line, name, size):
    held = line()
    for _ in range(2):
        held.script.sendall(b"GET / HTTP/1.1\r\n" + ASKED + END_OF_HEAD[2:])
        until(held.host, END_OF_HEAD)
        for at in range(0, len(ANSWERS[name]), size):
            held.host.sendall(ANSWERS[name][at : at + size])
        client = h11.Connection(h11.CLIENT)
        client.send(h11.Request(method="GET", target="/", headers=[("host", "api.test")]))
        client.send(h11.EndOfMessage())
        events = []
        while not events or not isinstance(events[-1], h11.EndOfMessage):
            event = client.next_event()
            if event is h11.NEED_DATA:
                received = held.script.recv(65536)
                assert VALUE not in received
                client.receive_data(received)
            else:
                events.append(event)
        body = b"".join(bytes(event.data) for event in events if isinstance(event, h11.Data))
        assert (events[0].status_code, body) == ((304, b"") if "without" in name else (200, b"hi"))
    assert held.end() == []


def test_an_answer_that_ends_with_the_connection_ends_it(line):
    held = line()
    held.script.sendall(b"GET / HTTP/1.1\r\n" + ASKED + b"\r\n")
    until(held.host, END_OF_HEAD)
    held.host.sendall(b"HTTP/1.1 200 OK\r\n\r\nall " + VALUE)
    held.host.close()
    answer = the_rest(held.script)
    assert b"all " in answer
    assert PLACEHOLDER in answer
    assert VALUE not in answer


def test_pipelined_requests_go_out_one_after_the_other(line):
    held = line()
    held.script.sendall(
        (b"GET /1 HTTP/1.1\r\n" + ASKED + b"\r\n") + (b"GET /2 HTTP/1.1\r\n" + ASKED + b"\r\n")
    )
    assert until(held.host, END_OF_HEAD).startswith(b"GET /1 ")
    held.host.sendall(SHORT)
    assert until(held.script, b"hi").count(b"HTTP/1.1") == 1
    assert until(held.host, END_OF_HEAD).startswith(b"GET /2 ")
    held.host.sendall(SHORT)
    until(held.script, b"hi")
    assert held.end() == []


def test_a_pipelined_request_is_judged_as_the_first_one_is(line):
    held = line()
    held.script.sendall(
        b"GET /1 HTTP/1.1\r\n"
        + ASKED
        + b"\r\n"
        + b"GET /2 HTTP/1.1\r\nHost: evil.test\r\nAuthorization: x\r\n\r\n"
    )
    until(held.host, END_OF_HEAD)
    held.host.sendall(SHORT)
    assert b"403" in the_rest(held.script)
    assert the_rest(held.host) == b""
    assert held.end() == ["another host is named in the request than in the connection"]


def test_what_a_server_says_unasked_ends_the_connection(line):
    held = line()
    held.script.sendall(b"GET / HTTP/1.1\r\n" + ASKED + b"\r\n")
    until(held.host, END_OF_HEAD)
    held.host.sendall(SHORT + SHORT)
    assert the_rest(held.script).count(b"HTTP/1.1 200") == 1
    assert held.end() == ["not plain HTTP/1.1: the server sent data after the response"]


TWO_MEANINGS = {
    "two lengths": b"POST / HTTP/1.1\r\n%bContent-Length: 4\r\nContent-Length: 40\r\n\r\nbody",
    "lengths in one line": b"POST / HTTP/1.1\r\n%bContent-Length: 4, 40\r\n\r\nbody",
    "a signed length": b"POST / HTTP/1.1\r\n%bContent-Length: +4\r\n\r\nbody",
    "a length in other digits": b"POST / HTTP/1.1\r\n%bContent-Length: \xd9\xa4\r\n\r\nbody",
    "a length beside a coding": b"POST / HTTP/1.1\r\n%bContent-Length: 4\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": b"POST / HTTP/1.1\r\n%bTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two codings": b"POST / HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a coding in two steps": b"POST / HTTP/1.1\r\n%bTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a space before a colon": b"GET / HTTP/1.1\r\n%bContent-Length : 4\r\n\r\nbody",
    "a line that is no header": b"GET / HTTP/1.1\r\n%bnothing\r\n\r\n",
    "a header without a name": b"GET / HTTP/1.1\r\n%b: value\r\n\r\n",
    "a zero byte": b"GET / HTTP/1.1\r\n%bX: a\x00b\r\n\r\n",
    "a bare carriage return": b"GET / HTTP/1.1\r\n%bX: a\rContent-Length: 4\r\n\r\nbody",
    "two hosts": b"GET / HTTP/1.1\r\n%bHost: evil.test\r\n\r\n",
    "a space in the target": b"GET /a b HTTP/1.1\r\n%b\r\n",
    "no version": b"GET /\r\n%b\r\n",
    "a tunnel": b"CONNECT evil.test:443 HTTP/1.1\r\n%b\r\n",
    "another protocol": b"GET / HTTP/1.1\r\n%bUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    "the first line in two": b"GET\r\n / HTTP/1.1\r\n%b\r\n",
    "a head without an end": b"GET / HTTP/1.1\r\n%bX: " + b"a" * (200 << 10),
    "half a head": b"GET / HTTP/1.1\r\n%bX: a",
}


@pytest.mark.parametrize("name", TWO_MEANINGS)
def test_a_request_that_can_be_read_in_two_ways_goes_nowhere(line, name):
    held = line()
    sent = TWO_MEANINGS[name].replace(b"%b", ASKED)
    pump = Thread(target=_send_all, args=(held.script, sent), daemon=True)
    pump.start()
    assert VALUE not in the_rest(held.host)
    assert b" 200 " not in the_rest(held.script)
    pump.join(20)
    held.thread.join(20)
    assert len(held.refused) == 1


def _send_all(end, data):
    try:
        end.sendall(data)
        end.shutdown(socket.SHUT_WR)
    except OSError:
        return


@pytest.mark.parametrize("fold", [b" ", b"\t"])
def test_a_folded_header_goes_out_in_one_line(line, fold):
    held = line()
    held.script.sendall(b"GET / HTTP/1.1\r\n%bX-Long: one\r\n%btwo\r\n\r\n" % (ASKED, fold))
    assert b"x-long: one two\r\n" in until(held.host, END_OF_HEAD)


def test_trailers_of_a_script_go_nowhere(line):
    held = line()
    held.script.sendall(
        b"POST / HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nAuthorization: %b\r\n\r\n"
        % (ASKED, PLACEHOLDER)
    )
    assert until(held.host, b"0\r\n\r\n").endswith(b"\r\n2\r\nhi\r\n0\r\n\r\n")


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_a_refusal_is_an_answer_that_ends_the_connection(line, method):
    held = line()
    held.script.sendall(b"%b /?key=%b HTTP/1.1\r\nHost: api.test\r\n\r\n" % (method, PLACEHOLDER))
    head, _, body = the_rest(held.script).partition(END_OF_HEAD)
    assert head.startswith(b"HTTP/1.1 403 ")
    assert b"connection: close" in head
    assert body.startswith(b"skillkit: the secret API_KEY" if method == b"GET" else b"")
    assert len(body) > 0 or method == b"HEAD"
    assert len(held.end()) == 1


def test_a_body_that_is_long_passes_and_what_is_too_much_does_not(line):
    held = line(Allowance(300 << 10, 1 << 20))
    long = b"x" * (200 << 10) + b"end"
    asked = b"POST / HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (ASKED, len(long), long)
    first = Thread(target=held.script.sendall, args=(asked,), daemon=True)
    second = Thread(target=_send_all, args=(held.script, asked), daemon=True)
    first.start()
    assert until(held.host, b"end").endswith(long)
    held.host.sendall(SHORT)
    assert until(held.script, b"hi").endswith(b"hi")
    second.start()
    assert not the_rest(held.host).endswith(b"end")
    second.join(20)
    held.thread.join(20)
    assert held.refused == ["the run exceeds its limit of sent data"]


@pytest.mark.parametrize(
    "target",
    [b"http://evil.test/", b"https://api.test/", b"//evil.test/x", b"evil.test:443", b"*", b"@evil.test/"],
)
def test_only_a_path_is_asked_for_with_the_key_of_a_host(line, target):
    held = line()
    held.script.sendall(b"GET " + target + b" HTTP/1.1\r\n" + ASKED + b"\r\n")
    assert b" 403 " in the_rest(held.script)
    assert the_rest(held.host) == b""
    assert held.end() == ["the request target must be a path, without a host"]


def test_options_may_ask_about_the_host_as_a_whole(line):
    held = line()
    held.script.sendall(b"OPTIONS * HTTP/1.1\r\n" + ASKED + b"\r\n")
    assert until(held.host, END_OF_HEAD).startswith(b"OPTIONS * HTTP/1.1\r\n")
    held.host.sendall(SHORT)
    assert until(held.script, b"hi").endswith(b"hi")
    assert held.end() == []


@pytest.mark.parametrize("spelled", [VALUE, VALUE.upper(), b"x-" + VALUE])
def test_a_header_whose_name_is_the_secret_does_not_come_back(line, spelled):
    held = line()
    held.script.sendall(b"GET / HTTP/1.1\r\n" + ASKED + b"\r\n")
    until(held.host, END_OF_HEAD)
    held.host.sendall(b"HTTP/1.1 200 OK\r\n%b: 1\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\nhi" % spelled)
    answer = until(held.script, b"hi")
    assert VALUE not in answer.lower()
    assert b"x-kept: 1" in answer


def test_a_secret_with_quotes_is_masked_as_json_spells_it():
    mask = Mask([(b'pa"ss\\word', b"PLACEHOLDER")])
    assert mask.whole(json.dumps({"echo": 'pa"ss\\word'}).encode()) == b'{"echo": "PLACEHOLDER"}'
