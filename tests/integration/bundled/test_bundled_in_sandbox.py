"""The bundled scripts through script_list, script_help and script_run: sandboxed, over real HTTP."""

import pytest

from skillkit import SkillManager
from skillkit.scripts import AsRequested, LocalRunner, ScriptTools

NAMES = "event events market markets orderbook search series series_list status trades"
SCRIPTS = tuple(NAMES.split(" "))


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
    yield ScriptTools(manager, runner, AsRequested())
    runner.close()


def test_all_ten_scripts_are_listed(tools):
    answer = tools.script_list("Kalshi_Markets")
    assert [script["name"] for script in answer["result"]["kalshi-markets"]] == list(SCRIPTS)
    assert tools.script_list()["message"] == "Found 11 scripts across 2 skills"


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
    assert answer["meta"]["grants"]["network"] is True
    assert answer["meta"]["grants"]["env"] == ["KALSHI_API_URL"]


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
