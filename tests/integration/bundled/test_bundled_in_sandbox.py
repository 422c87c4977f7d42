"""The bundled scripts through script_list, script_help and script_run: sandboxed, over real HTTP."""

from pathlib import Path

import pytest

import skillkit
from skillkit import SkillManager
from skillkit.core.authority import DefaultAuthority, TrustEverySkill
from skillkit.scripts import Grants, LocalRunner, ScriptTools

NAMES = "event events market markets orderbook search series series_list status trades"
SCRIPTS = tuple(NAMES.split(" "))
BUNDLED = Path(skillkit.__file__).parent / "bundled"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Environments are made once for the module, as they are once for a user."""
    return tmp_path_factory.mktemp("agent-home")


@pytest.fixture
def tools(home, exchange, monkeypatch):
    monkeypatch.setenv("KALSHI_API_URL", exchange.url)
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()
    runner = LocalRunner(home)
    yield ScriptTools(manager, runner, TrustEverySkill())
    runner.close()


def test_all_ten_scripts_are_listed(tools):
    answer = tools.script_list("Kalshi_Markets")
    assert [script["name"] for script in answer["result"]["kalshi-markets"]] == list(SCRIPTS)
    assert answer["message"].startswith("Found 10 scripts across 1 skill: event, events, market, ")
    everything = tools.script_list()
    assert everything["message"] == "Found 11 scripts across 2 skills"
    assert list(everything["result"]) == ["hello-extended", "kalshi-markets"]
    assert everything["result"]["kalshi-markets"] == answer["result"]["kalshi-markets"]
    for skill, scripts in everything["result"].items():
        folder = BUNDLED / skill / "scripts"
        assert all(script["path"] == str(folder / f"{script['name']}.py") for script in scripts)


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_helps(tools, script):
    answer = tools.script_help("kalshi-markets", script)
    assert answer["success"], answer
    assert answer["result"]["usage"].startswith(f"Usage: {script}.py")
    assert "--json" in answer["result"]["help_text"]


def test_a_run_asks_the_api_and_names_what_held_it(tools, exchange):
    exchange.says("/exchange/status", {"exchange_active": True, "trading_active": True})
    answer = tools.script_run("Kalshi-Markets", "Status")
    assert answer["success"], answer
    assert answer["result"] == {"exchange_active": True, "trading_active": True}
    assert answer["meta"]["backend"] != "none"
    assert answer["meta"]["grants"]["network"] is False
    address = exchange.url.removeprefix("http://").partition("/")[0]
    assert answer["meta"]["grants"]["hosts"] == ["api.elections.kalshi.com", address]
    assert answer["meta"]["grants"]["env"] == ["KALSHI_API_URL"]


MARKET = {"ticker": "KX-1", "event_ticker": "KX", "title": "Rain?", "status": "active"}
EVENT = {"event_ticker": "KX", "series_ticker": "KX", "title": "Rain?"}
SERIES = {"ticker": "KX", "title": "Rain", "category": "Weather"}
TRADE = {"trade_id": "1", "ticker": "KX-1", "created_time": "2026-11-15T12:00:00Z"}
BOOK = {"yes_dollars": [["0.5400", "10.00"]], "no_dollars": [["0.4400", "5.00"]]}
ANSWERS = {
    "status": ([], {"/exchange/status": {"exchange_active": True, "trading_active": True}}, "trading_active"),
    "markets": ([], {"/markets": {"markets": [MARKET], "cursor": ""}}, "markets"),
    "market": (["KX-1"], {"/markets/KX-1": {"market": MARKET}}, "market"),
    "orderbook": (["KX-1"], {"/markets/KX-1/orderbook": {"orderbook_fp": BOOK}}, "yes"),
    "trades": ([], {"/markets/trades": {"trades": [TRADE], "cursor": ""}}, "trades"),
    "events": ([], {"/events": {"events": [EVENT], "cursor": ""}}, "events"),
    "event": (["KX"], {"/events/KX": {"event": EVENT, "markets": [MARKET]}}, "event"),
    "series_list": ([], {"/series": {"series": [SERIES]}}, "series"),
    "series": (["KX"], {"/series/KX": {"series": SERIES}}, "series"),
    "search": (
        ["rain"],
        {"/series": {"series": [SERIES]}, "/events": {"events": [EVENT], "cursor": ""}},
        "results",
    ),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_runs_and_answers_with_json(tools, exchange, script):
    arguments, answers, part = ANSWERS[script]
    for path, body in answers.items():
        exchange.says(path, body)
    answer = tools.script_run("kalshi-markets", script, arguments)
    assert answer["success"], answer
    assert answer["result"][part], answer["result"]
    assert {path for path, _ in exchange.requests} == set(answers)
    words = tools.script_run("kalshi-markets", script, arguments, json=False)
    assert words["success"], words
    assert words["result"].strip()
    assert not words["result"].startswith("{")


def test_arguments_go_through_and_pages_are_followed(tools, exchange):
    event = {"event_ticker": "KX-1", "title": "Bitcoin on Friday", "series_ticker": "KX"}
    exchange.says("/events", {"events": [event] * 200, "cursor": "more"}, {"events": [event], "cursor": ""})
    answer = tools.script_run("kalshi-markets", "events", ["--status", "open", "--limit", "250"])
    assert answer["success"], answer
    assert answer["result"]["count"] == 201
    assert [query["status"] for _, query in exchange.requests] == ["open", "open"]


def test_search_works_in_a_sandbox_that_forgets(tools, exchange):
    exchange.says(
        "/series", {"series": [{"ticker": "KXBTC", "title": "Bitcoin price", "category": "Crypto"}]}
    )
    exchange.says("/events", {"events": [], "cursor": ""})
    for _ in range(2):
        answer = tools.script_run("kalshi-markets", "search", ["bitcoin"])
        assert answer["success"], answer
        assert [found["ticker"] for found in answer["result"]["results"]] == ["KXBTC"]
        assert answer["result"]["cached"] is False


def test_search_remembers_in_a_folder_that_was_granted(home, exchange, monkeypatch, tmp_path):
    exchange.says("/series", {"series": [SERIES]})
    exchange.says("/events", {"events": [EVENT], "cursor": ""})
    monkeypatch.setenv("KALSHI_API_URL", exchange.url)
    folder = tmp_path / "kept"
    folder.mkdir()
    folder.chmod(0o777)  # as root, scripts run as somebody else every time
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()

    class Decision(DefaultAuthority):
        def grants(self, skill, digest, requester):
            return Grants(env=("KALSHI_API_URL",), network=True, write_paths=(folder,))

    runner = LocalRunner(home)
    scripts = ScriptTools(manager, runner, Decision())
    answers = [
        scripts.script_run("kalshi-markets", "search", ["rain", "--cache", str(folder)]) for _ in range(2)
    ]
    runner.close()
    assert [answer["success"] for answer in answers] == [True, True], answers
    assert [answer["result"]["cached"] for answer in answers] == [False, True]
    assert [path for path, _ in exchange.requests] == ["/series", "/events"]


def test_a_refusal_of_the_api_reaches_the_model(tools):
    answer = tools.script_run("kalshi-markets", "market", ["KXNONE"])
    assert (answer["success"], answer["error"]) == (False, "execution_failed")
    assert "Error (not_found): HTTP 404: not found" in answer["message"]


def test_a_slow_api_reaches_the_model_as_a_timeout_of_the_script(tools, exchange, answer):
    exchange.says("/exchange/status", answer(hangs=True))
    told = tools.script_run("kalshi-markets", "status", ["--timeout", "0.3"])
    assert "Error (timeout)" in told["message"]


def test_bad_json_of_the_api_is_not_bad_json_of_the_script(tools, exchange, answer):
    exchange.says("/exchange/status", answer("<html>"))
    told = tools.script_run("kalshi-markets", "status")
    assert told["error"] == "execution_failed"
    assert "Error (bad_answer)" in told["message"]


def test_text_is_given_when_json_is_not_asked_for(tools, exchange):
    exchange.says("/exchange/status", {"exchange_active": True, "trading_active": False})
    assert tools.script_run("kalshi-markets", "status", json=False)["result"].startswith("Exchange: active")


def test_the_greeting_script_needs_neither_network_nor_variables(tools):
    answer = tools.script_run("hello-extended", "advanced_greeting", ["--language", "ja", "--time", "08:00"])
    assert answer["result"]["greetings"] == ["おはようございます、Worldさん"]
    assert answer["meta"]["grants"]["network"] is False
    assert answer["meta"]["grants"]["env"] == []
