"""Whatever goes wrong, a Kalshi script says so as JSON and in words, with an exit code, in bounded time."""

import socket

import pytest

SCRIPTS = {
    "status": ("/exchange/status", []),
    "markets": ("/markets", []),
    "market": ("/markets/KXA-1", ["KXA-1"]),
    "orderbook": ("/markets/KXA-1/orderbook", ["KXA-1"]),
    "trades": ("/markets/trades", []),
    "events": ("/events", []),
    "event": ("/events/KXA", ["KXA"]),
    "series_list": ("/series", []),
    "series": ("/series/KX", ["KX"]),
    "search": ("/series", ["bitcoin"]),
}
every_script = pytest.mark.parametrize(
    "script",
    [pytest.param(name, marks=[] if name == "search" else pytest.mark.slow) for name in SCRIPTS],
)
OK = {"exchange_active": True, "trading_active": True}


@every_script
def test_a_refusal_is_an_object_on_stdout_words_on_stderr_and_an_exit_code(kalshi, exchange, answer, script):
    path, arguments = SCRIPTS[script]
    exchange.says(path, answer({"error": {"code": "invalid", "message": "bad filter"}}, 400))
    ran = kalshi(script, *arguments, "--json")
    assert ran.code == 1
    assert ran.json == {"error": {"code": "bad_request", "status": 400, "message": "HTTP 400: bad filter"}}
    assert ran.err.endswith("Error (bad_request): HTTP 400: bad filter\n")


@every_script
def test_an_answer_without_the_promised_part_is_named(kalshi, exchange, script):
    path, arguments = SCRIPTS[script]
    exchange.says(path, {"something": "else"})
    ran = kalshi(script, *arguments, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "bad_answer")


@every_script
def test_a_slow_answer_is_not_waited_for(kalshi, exchange, answer, script):
    path, arguments = SCRIPTS[script]
    exchange.says(path, answer(hangs=True))
    ran = kalshi(script, *arguments, "--timeout", "0.2", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "timeout")
    assert len(exchange.requests) == 1


@every_script
def test_every_script_asks_again_and_names_an_answer_that_is_no_json(kalshi, exchange, answer, script):
    path, arguments = SCRIPTS[script]
    exchange.says(path, answer("", 429, {"Retry-After": "0"}), answer("<html>busy</html>"))
    ran = kalshi(script, *arguments, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "bad_answer")
    assert [asked for asked, _ in exchange.requests] == [path, path]


@pytest.mark.parametrize("body", ["", "[]", b"\xff\xfe", '{"cut": "of'])
def test_an_answer_that_is_no_json_object_is_named(kalshi, exchange, answer, body):
    exchange.says("/exchange/status", answer(body))
    ran = kalshi("status", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "bad_answer")


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (400, {"code": "bad_request", "details": "limit too big"}, "bad_request, HTTP 400: limit too big"),
        (401, {"error": "login first"}, "unauthorized, HTTP 401: login first"),
        (403, "", "unauthorized, HTTP 403: Forbidden"),
        (404, {"error": {"message": "not found"}}, "not_found, HTTP 404: not found"),
        (302, "", "http_error, HTTP 302: Found"),
        (418, [], "http_error, HTTP 418: I'm a teapot"),
    ],
)
def test_what_is_final_is_asked_once(kalshi, exchange, answer, *, status, body, told):
    exchange.says("/exchange/status", answer(body, status))
    error = kalshi("status", "--json").json["error"]
    assert f"{error['code']}, {error['message']}" == told
    assert error["status"] == status
    assert len(exchange.requests) == 1


@pytest.mark.parametrize(
    ("status", "code"), [(429, "rate_limited"), (500, "server_error"), (503, "server_error")]
)
def test_a_busy_exchange_is_asked_three_times(kalshi, exchange, answer, status, code):
    exchange.says("/exchange/status", answer("", status, {"Retry-After": "0"}))
    ran = kalshi("status", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, code)
    assert len(exchange.requests) == 3


def test_patience_is_rewarded(kalshi, exchange, answer):
    exchange.says(
        "/exchange/status",
        answer("", 429, {"Retry-After": "0"}),
        answer("<html>", 502, {"Retry-After": "0"}),
        OK,
    )
    ran = kalshi("status", "--json")
    assert (ran.code, ran.json) == (0, OK)
    assert "HTTP 429, asking again in 0 s" in ran.err


def test_without_a_hint_the_pause_is_the_scripts_own(kalshi, exchange, answer):
    later = {"Retry-After": "Sun, 15 Nov 2026 20:00:00 GMT"}
    exchange.says("/exchange/status", answer("", 500, later), OK)
    ran = kalshi("status", "--json")
    assert ran.json == OK
    assert "HTTP 500, asking again in 0.5 s" in ran.err


def test_a_pause_longer_than_the_run_is_not_taken(kalshi, exchange, answer):
    exchange.says("/exchange/status", answer("", 429, {"Retry-After": "3600"}))
    ran = kalshi("status", "--json")
    assert ran.json["error"]["code"] == "rate_limited"
    assert len(exchange.requests) == 1


def test_nobody_listening_is_a_network_error(kalshi):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        ran = kalshi("status", "--json", KALSHI_API_URL=f"http://127.0.0.1:{reserved.getsockname()[1]}")
    assert (ran.code, ran.json["error"]["code"]) == (1, "network")


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1/x", "http://[oops"])
def test_an_address_that_is_none_is_a_network_error(kalshi, address):
    ran = kalshi("status", "--json", KALSHI_API_URL=address)
    assert (ran.code, ran.json["error"]["code"]) == (1, "network")
    assert address in ran.json["error"]["message"]


@pytest.mark.parametrize(
    ("script", "ticker"),
    [
        ("market", "../portfolio"),
        ("orderbook", ".."),
        ("event", "A?x=1"),
        ("series", "A/B"),
        ("market", "A B"),
        ("market", ""),
        ("market", "-"),
    ],
)
def test_a_ticker_cannot_leave_its_place_in_the_address(kalshi, exchange, script, ticker):
    ran = kalshi(script, "--json", "--", ticker)
    assert (ran.code, ran.json["error"]["code"]) == (2, "usage")
    assert exchange.requests == []


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("markets", ["--limit", "0"]),
        ("markets", ["--limit", "1001"]),
        ("markets", ["--status", "sideways"]),
        ("orderbook", ["KXA-1", "--depth", "101"]),
        ("market", []),
        ("search", []),
        ("status", ["--nonsense"]),
    ],
)
def test_wrong_use_is_told_as_json_too(kalshi, exchange, script, arguments):
    ran = kalshi(script, *arguments, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "usage")
    assert "Usage:" in ran.err
    assert exchange.requests == []


def test_an_unreadable_level_of_the_order_book_is_named(kalshi, exchange):
    for level in (["0.5", "1", "2"], ["half", "1"], 7):
        exchange.says("/markets/KXA-1/orderbook", {"orderbook_fp": {"yes_dollars": [level]}})
        assert kalshi("orderbook", "KXA-1", "--json").json["error"]["code"] == "bad_answer"


def test_more_than_a_tool_may_return_is_an_error_and_not_a_cut(kalshi, exchange):
    market = {"ticker": "KXA-1", "rules_primary": "x" * 60_000}
    exchange.says("/markets", {"markets": [market] * 20, "cursor": ""})
    ran = kalshi("markets", "--full", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "too_large")
    assert "--full" in ran.json["error"]["message"]
    assert kalshi("markets", "--json").code == 0


def test_text_of_the_api_cannot_steer_a_terminal(kalshi, exchange):
    exchange.says(
        "/markets", {"markets": [{"ticker": "KXA-1", "title": "a\x1b[2Jb\r\n\u202ec\ud800"}], "cursor": ""}
    )
    text = kalshi("markets").out
    assert "a [2Jb   c" in text
    assert not {"\x1b", "\r", "\u202e"} & set(text)


def test_without_json_an_error_is_words_only(kalshi, exchange):
    ran = kalshi("market", "KXNONE")
    assert (ran.code, ran.out, ran.err) == (1, "", "Error (not_found): HTTP 404: not found\n")
