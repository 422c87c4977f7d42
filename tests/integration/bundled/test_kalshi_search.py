"""`search` finds series and events by words, over a copy that it keeps for a while where it may."""

import json
import os
from pathlib import Path

import pytest

SERIES = [
    {"ticker": "KXBTC", "title": "Bitcoin price range", "category": "Crypto", "tags": ["BTC"]},
    {"ticker": "KXETH", "title": "Ethereum price", "category": "Crypto", "tags": None},
    {"ticker": "KXFED", "title": "Fed funds rate", "category": "Economics", "tags": ["Rates"]},
]
EVENTS = [
    {
        "event_ticker": "KXBTC-26NOV",
        "series_ticker": "KXBTC",
        "title": "Bitcoin on Friday",
        "sub_title": "5pm",
    },
    {"event_ticker": "KXBTCX-1", "series_ticker": "KXBTCX", "title": "Bitcoins mined", "sub_title": ""},
]


@pytest.fixture
def lists(exchange):
    exchange.says("/series", {"series": SERIES})
    exchange.says("/events", {"events": EVENTS, "cursor": ""})
    return exchange


def tickers(ran):
    return [result["ticker"] for result in ran.json["results"]]


def cache_file(tmp_path: Path) -> Path:
    [file] = tmp_path.glob("kalshi-markets-*/search-*.json")
    return file


def test_series_and_open_events_that_contain_the_word(kalshi, lists):
    ran = kalshi("search", "BITCOIN", "--json")
    assert tickers(ran) == ["KXBTC", "KXBTC-26NOV", "KXBTCX-1"]
    assert ran.json["results"][0] == {
        "kind": "series",
        "ticker": "KXBTC",
        "title": "Bitcoin price range",
        "category": "Crypto",
        "tags": ["BTC"],
    }
    assert lists.requests[1] == ("/events", {"limit": "200", "status": "open"})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["price", "crypto"], ["KXBTC", "KXETH"]),
        (["bitcoin price"], ["KXBTC"]),
        (["rates"], ["KXFED"]),
        (["kxeth"], ["KXETH"]),
        (["bitcoin", "rate"], []),
        ([".*"], []),
    ],
)
def test_all_words_must_be_there_in_title_ticker_category_or_tags(kalshi, lists, words, found):
    assert tickers(kalshi("search", *words, "--json")) == found


def test_where_nothing_has_all_words_most_of_them_do(kalshi, lists):
    ran = kalshi("search", "bitcoin", "price", "tomorrow", "--json")
    assert tickers(ran) == ["KXBTC"]
    assert ran.json["words_found"] == "2 of 3"
    shown = kalshi("search", "bitcoin", "price", "tomorrow").out
    assert "Nothing contains all of: bitcoin price tomorrow. These have 2 of 3 words:" in shown
    assert "words_found" not in kalshi("search", "bitcoin", "--json").json


def test_kind_and_limit(kalshi, lists):
    ran = kalshi("search", "bitcoin", "--kind", "event", "--limit", "1", "--json")
    assert tickers(ran) == ["KXBTC-26NOV"]
    assert (ran.json["count"], ran.json["total"]) == (1, 2)
    assert "1 of 3; see --limit" in kalshi("search", "bitcoin", "--limit", "1").out


def test_as_text(kalshi, lists):
    assert "series  KXBTC   Bitcoin price range  Crypto" in kalshi("search", "price").out
    assert "Nothing contains: zebra" in kalshi("search", "zebra").out


def test_the_second_search_asks_nobody(kalshi, lists):
    first, second = kalshi("search", "bitcoin", "--json"), kalshi("search", "fed", "--json")
    assert (first.json["cached"], second.json["cached"]) == (False, True)
    assert tickers(second) == ["KXFED"]
    assert len(lists.requests) == 2


def test_a_copy_that_is_too_old_is_fetched_again(kalshi, lists, tmp_path):
    kalshi("search", "bitcoin", "--json")
    file = cache_file(tmp_path)
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "fetched_at": data["fetched_at"] - 100}))
    assert kalshi("search", "bitcoin", "--max-age", "1000", "--json").json["cached"]
    assert not kalshi("search", "bitcoin", "--max-age", "50", "--json").json["cached"]


def test_refresh_fetches_again(kalshi, lists):
    kalshi("search", "bitcoin", "--json")
    assert not kalshi("search", "bitcoin", "--refresh", "--json").json["cached"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"api": "elsewhere", "fetched_at": 9, "entries": []}'])
def test_a_damaged_copy_is_fetched_again(kalshi, lists, tmp_path, content):
    kalshi("search", "bitcoin", "--json")
    cache_file(tmp_path).write_text(content)
    ran = kalshi("search", "bitcoin", "--json")
    assert (ran.code, ran.json["cached"], ran.json["total"]) == (0, False, 3)
    assert json.loads(cache_file(tmp_path).read_text())["entries"]


def test_a_copy_of_another_api_is_another_copy(kalshi, lists, tmp_path):
    kalshi("search", "bitcoin", "--json")
    other = f"{lists.url.replace('127.0.0.1', 'localhost')}"
    assert not kalshi("search", "bitcoin", "--json", KALSHI_API_URL=other).json["cached"]


def test_where_nothing_can_be_written_the_search_still_works(kalshi, lists, tmp_path):
    (tmp_path / "file").touch()
    for _ in range(2):
        ran = kalshi("search", "bitcoin", "--json", TMPDIR=str(tmp_path / "file" / "beneath"))
        assert (ran.code, ran.json["cached"], ran.json["total"]) == (0, False, 3)


def test_a_folder_that_others_can_write_to_is_not_trusted(kalshi, lists, tmp_path):
    planted = tmp_path / f"kalshi-markets-{os.getuid()}"
    kalshi("search", "bitcoin", "--json")
    planted.chmod(0o777)
    assert not kalshi("search", "bitcoin", "--json").json["cached"]


def test_a_link_in_the_place_of_the_folder_is_not_followed(kalshi, lists, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"kalshi-markets-{os.getuid()}").symlink_to(elsewhere)
    assert kalshi("search", "bitcoin", "--json").json["total"] == 3
    assert list(elsewhere.iterdir()) == []


def test_the_copy_can_live_in_a_folder_of_ones_own(kalshi, lists, tmp_path):
    folder = tmp_path / "deep" / "cache"
    kalshi("search", "bitcoin", "--cache", str(folder), "--json")
    assert [file.suffix for file in folder.iterdir()] == [".json"]
    assert kalshi("search", "bitcoin", "--cache", str(folder), "--json").json["cached"]


def test_a_list_of_events_that_was_cut_is_said_to_be(kalshi, lists):
    page = {"events": [EVENTS[0]] * 200}
    lists.says("/events", *[{**page, "cursor": f"page-{number}"} for number in range(25)])
    ran = kalshi("search", "friday", "--json")
    assert (ran.json["complete"], ran.json["total"]) == (False, 5000)
