"""The ten Kalshi scripts answer questions of the API, as JSON and as text."""

import pytest

MARKET = {
    "ticker": "KXHIGHNY-26NOV15-T60",
    "event_ticker": "KXHIGHNY-26NOV15",
    "market_type": "binary",
    "title": "Will the high temperature in NYC be above 60° on Nov 15, 2026?",
    "subtitle": "61° or above",
    "yes_sub_title": "61° or above",
    "no_sub_title": "60° or below",
    "created_time": "2026-11-13T15:00:00Z",
    "updated_time": "2026-11-14T15:00:00Z",
    "open_time": "2026-11-14T15:00:00Z",
    "close_time": "2026-11-16T04:59:00Z",
    "latest_expiration_time": "2026-11-22T15:00:00Z",
    "settlement_timer_seconds": 3600,
    "status": "active",
    "notional_value_dollars": "1.0000",
    "yes_bid_dollars": "0.5400",
    "yes_ask_dollars": "0.5600",
    "no_bid_dollars": "0.4400",
    "no_ask_dollars": "0.4600",
    "yes_bid_size_fp": "120.00",
    "yes_ask_size_fp": "75.00",
    "last_price_dollars": "0.5500",
    "previous_yes_bid_dollars": "0.4900",
    "previous_yes_ask_dollars": "0.5100",
    "previous_price_dollars": "0.5000",
    "volume_fp": "10234.00",
    "volume_24h_fp": "4321.00",
    "liquidity_dollars": "1534.5000",
    "open_interest_fp": "8123.00",
    "result": "",
    "can_close_early": True,
    "fractional_trading_enabled": False,
    "expiration_value": "",
    "rules_primary": "If the highest temperature recorded is above 60°, the market resolves to Yes.",
    "rules_secondary": "",
    "price_level_structure": "linear_cent",
    "price_ranges": [{"start": "0.0000", "end": "1.0000", "step": "0.0100"}],
}
EVENT = {
    "event_ticker": "KXHIGHNY-26NOV15",
    "series_ticker": "KXHIGHNY",
    "sub_title": "On Nov 15, 2026",
    "title": "Highest temperature in NYC?",
    "collateral_return_type": "MECNET",
    "mutually_exclusive": True,
    "category": "Climate and Weather",
    "available_on_brokers": True,
}
SERIES = {
    "ticker": "KXHIGHNY",
    "frequency": "daily",
    "title": "Highest temperature in NYC",
    "category": "Climate and Weather",
    "tags": ["Daily temperature"],
    "settlement_sources": [{"name": "National Weather Service", "url": "https://example.org/nws"}],
    "contract_url": "https://example.org/contract.pdf",
    "contract_terms_url": "https://example.org/terms.pdf",
    "fee_type": "quadratic",
    "fee_multiplier": 1,
    "additional_prohibitions": [],
}
TRADE = {
    "trade_id": "7c2f",
    "ticker": "KXHIGHNY-26NOV15-T60",
    "count_fp": "12.00",
    "yes_price_dollars": "0.5500",
    "no_price_dollars": "0.4500",
    "taker_side": "yes",
    "created_time": "2026-11-15T12:00:01.5Z",
}


def test_status_says_whether_the_exchange_trades(kalshi, exchange):
    exchange.says("/exchange/status", {"exchange_active": True, "trading_active": False})
    assert kalshi("status", "--json").json == {"exchange_active": True, "trading_active": False}
    assert kalshi("status").out == "Exchange: active\nTrading:  closed\n"


def test_status_says_when_the_exchange_is_expected_back(kalshi, exchange):
    down = {"exchange_active": False, "trading_active": False}
    exchange.says("/exchange/status", {**down, "exchange_estimated_resume_time": "2026-11-15T14:00:00Z"})
    text = kalshi("status").out
    assert "down for maintenance" in text
    assert "Expected back: 2026-11-15T14:00:00Z" in text


def test_markets_are_listed_briefly_with_the_filters_that_were_given(kalshi, exchange):
    exchange.says("/markets", {"markets": [MARKET], "cursor": ""})
    answer = kalshi(
        "markets", "--event", "kxhighny-26nov15", "--status", "open", "--limit", "5", "--json"
    ).json
    assert exchange.requests == [
        ("/markets", {"event_ticker": "KXHIGHNY-26NOV15", "status": "open", "limit": "5"})
    ]
    assert (answer["count"], answer["cursor"]) == (1, None)
    [market] = answer["markets"]
    assert market["yes_ask_dollars"] == "0.5600"
    assert "rules_primary" not in market


def test_every_filter_of_markets_reaches_the_api(kalshi, exchange):
    exchange.says("/markets", {"markets": [], "cursor": ""})
    given = [
        "--series",
        "KXHIGHNY",
        "--tickers",
        "A,B",
        "--min-close",
        "1",
        "--max-close",
        "2",
        "--cursor",
        "c",
    ]
    assert kalshi("markets", *given).out == "No markets match.\n"
    [(_, query)] = exchange.requests
    assert query == {
        "series_ticker": "KXHIGHNY",
        "tickers": "A,B",
        "min_close_ts": "1",
        "max_close_ts": "2",
        "cursor": "c",
        "limit": "20",
    }


def test_full_gives_every_field(kalshi, exchange):
    exchange.says("/markets", {"markets": [MARKET], "cursor": ""})
    exchange.says("/events", {"events": [EVENT], "cursor": ""})
    exchange.says("/series", {"series": [SERIES]})
    assert kalshi("markets", "--full", "--json").json["markets"] == [MARKET]
    assert kalshi("events", "--full", "--json").json["events"] == [EVENT]
    assert kalshi("series_list", "--full", "--json").json["series"] == [SERIES]


def test_a_table_has_headings_and_says_how_to_go_on(kalshi, exchange):
    exchange.says("/markets", {"markets": [MARKET, {**MARKET, "title": "x" * 90}], "cursor": "next-page"})
    lines = kalshi("markets", "--limit", "2").out.splitlines()
    assert lines[0].split() == [
        "TICKER",
        "TITLE",
        "YES",
        "MEANS",
        "BID",
        "ASK",
        "LAST",
        "24H",
        "VOLUME",
        "STATUS",
    ]
    assert "0.5400  0.5600  0.5500" in lines[1]
    assert "xxx…" in lines[2]
    assert lines[3] == "More: --cursor next-page"


def test_one_market_comes_with_its_rules(kalshi, exchange):
    exchange.says("/markets/KXHIGHNY-26NOV15-T60", {"market": MARKET})
    assert kalshi("market", "kxhighny-26nov15-t60", "--json").json == {"market": MARKET}
    text = kalshi("market", "KXHIGHNY-26NOV15-T60").out
    assert "Yes bid $:     0.5400" in text
    assert "Rules:         If the highest temperature" in text
    assert "Result" not in text


def test_the_order_book_is_best_first_with_ask_and_spread(kalshi, exchange):
    book = {"yes_dollars": [["0.5200", "10.00"], ["0.5400", "120.00"]], "no_dollars": [["0.4400", "75.00"]]}
    exchange.says("/markets/KXA-1/orderbook", {"orderbook_fp": book})
    answer = kalshi("orderbook", "KXA-1", "--depth", "2", "--json").json
    assert exchange.requests[0][1] == {"depth": "2"}
    assert answer["yes"] == [{"price": "0.5400", "count": "120.00"}, {"price": "0.5200", "count": "10.00"}]
    assert (answer["yes_bid"], answer["yes_ask"], answer["spread"]) == ("0.5400", "0.5600", "0.0200")
    text = kalshi("orderbook", "KXA-1").out
    assert "yes bid $0.5400  yes ask $0.5600  spread $0.0200" in text
    assert "0.5400 x 120.00         0.4400 x 75.00" in text


@pytest.mark.parametrize("book", [{}, {"yes_dollars": None, "no_dollars": []}])
def test_an_empty_order_book_has_no_prices(kalshi, exchange, book):
    exchange.says("/markets/KXA-1/orderbook", {"orderbook_fp": book})
    answer = kalshi("orderbook", "KXA-1", "--json").json
    assert (answer["yes"], answer["no"], answer["yes_bid"], answer["spread"]) == ([], [], None, None)


def test_trades_of_a_market_since_a_time(kalshi, exchange):
    exchange.says("/markets/trades", {"trades": [TRADE], "cursor": ""})
    given = ["--ticker", "KXHIGHNY-26NOV15-T60", "--since", "10", "--until", "20"]
    assert kalshi("trades", *given, "--json").json == {"trades": [TRADE], "count": 1, "cursor": None}
    query = {"ticker": "KXHIGHNY-26NOV15-T60", "min_ts": "10", "max_ts": "20", "limit": "20"}
    assert exchange.requests == [("/markets/trades", query)]
    assert (
        "2026-11-15T12:00:01.5Z  KXHIGHNY-26NOV15-T60  yes    12.00  0.5500  0.4500" in kalshi("trades").out
    )


def test_no_trades_is_an_answer(kalshi, exchange):
    exchange.says("/markets/trades", {"trades": [], "cursor": ""})
    assert kalshi("trades").out == "No trades match.\n"


def test_events_can_bring_their_markets(kalshi, exchange):
    exchange.says("/events", {"events": [{**EVENT, "markets": [MARKET]}], "cursor": ""})
    given = ["--series", "KXHIGHNY", "--status", "open", "--min-close", "7", "--with-markets"]
    [event] = kalshi("events", *given, "--json").json["events"]
    assert exchange.requests[0][1] == {
        "series_ticker": "KXHIGHNY",
        "status": "open",
        "min_close_ts": "7",
        "with_nested_markets": "true",
        "limit": "20",
    }
    assert event["title"] == "Highest temperature in NYC?"
    assert event["markets"][0]["last_price_dollars"] == "0.5500"
    assert "rules_primary" not in event["markets"][0]
    assert "KXHIGHNY-26NOV15  Highest temperature in NYC?" in kalshi("events").out


def test_no_events_is_an_answer(kalshi, exchange):
    exchange.says("/events", {"events": [], "cursor": ""})
    assert kalshi("events").out == "No events match.\n"


@pytest.mark.parametrize("nested", [True, False])
def test_one_event_comes_with_its_markets_wherever_the_api_puts_them(kalshi, exchange, nested):
    answer = {"event": {**EVENT, "markets": [MARKET]}} if nested else {"event": EVENT, "markets": [MARKET]}
    exchange.says("/events/KXHIGHNY-26NOV15", answer)
    found = kalshi("event", "KXHIGHNY-26NOV15", "--json").json
    assert found["event"] == EVENT
    assert (found["count"], found["markets"][0]["ticker"]) == (1, "KXHIGHNY-26NOV15-T60")
    text = kalshi("event", "KXHIGHNY-26NOV15").out
    assert text.startswith(
        "KXHIGHNY-26NOV15  Highest temperature in NYC?\nOn Nov 15, 2026\nSeries: KXHIGHNY\n"
    )
    assert "61° or above" in text


def test_series_are_listed_in_slices_because_the_api_gives_all_at_once(kalshi, exchange):
    exchange.says("/series", {"series": [{**SERIES, "ticker": f"KX{number}"} for number in range(30)]})
    given = ["--category", "Economics", "--tags", "Rates", "--limit", "2", "--offset", "10"]
    answer = kalshi("series_list", *given, "--json").json
    assert exchange.requests == [("/series", {"category": "Economics", "tags": "Rates"})]
    assert [series["ticker"] for series in answer["series"]] == ["KX10", "KX11"]
    assert (answer["count"], answer["total"]) == (2, 30)
    assert kalshi("series_list", *given).out.endswith("11 to 12 of 30\n")
    assert kalshi("series_list", "--offset", "30").out == "No series match.\n"


def test_one_series_says_who_settles_it(kalshi, exchange):
    exchange.says("/series/KXHIGHNY", {"series": SERIES})
    assert kalshi("series", "KXHIGHNY", "--json").json == {"series": SERIES}
    assert "Settled by: National Weather Service" in kalshi("series", "KXHIGHNY").out


def test_pages_are_followed_up_to_the_limit(kalshi, exchange):
    def page(start: int, count: int, cursor: str) -> dict[str, object]:
        events = [{**EVENT, "event_ticker": f"KX-{number}"} for number in range(start, start + count)]
        return {"events": events, "cursor": cursor}

    exchange.says("/events", page(0, 200, "second"), page(200, 50, "third"))
    answer = kalshi("events", "--limit", "250", "--json").json
    assert [query for _, query in exchange.requests] == [
        {"limit": "200"},
        {"limit": "50", "cursor": "second"},
    ]
    assert (answer["count"], answer["cursor"]) == (250, "third")
    assert len({event["event_ticker"] for event in answer["events"]}) == 250


@pytest.mark.parametrize(
    "answers",
    [
        [{"trades": [TRADE], "cursor": "same"}, {"trades": [TRADE], "cursor": "same"}],
        [{"trades": [TRADE], "cursor": "a"}, {"trades": [], "cursor": "b"}],
        [{"trades": [TRADE], "cursor": "a"}, {"trades": [TRADE]}],
    ],
    ids=["a cursor that does not move", "an empty page", "no cursor"],
)
def test_paging_ends_even_when_the_api_does_not_say_so(kalshi, exchange, answers):
    exchange.says("/markets/trades", *answers)
    answer = kalshi("trades", "--limit", "1000", "--json").json
    assert answer["cursor"] is None
    assert len(exchange.requests) == 2
