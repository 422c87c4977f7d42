# /// script
# requires-python = ">=3.11"
# dependencies = ["click>=8.1,<9", "httpx>=0.27,<1"]
# ///
"""Completed trades, newest first."""

import json
import os
import re
import sys
import time
from typing import IO, Any

import click
import httpx

COLUMNS = {
    "created_time": "TIME",
    "ticker": "TICKER",
    "taker_side": "TAKER",
    "count_fp": "COUNT",
    "yes_price_dollars": "YES $",
    "no_price_dollars": "NO $",
}

# -- shared part: client (the same lines in every script of this skill) --
API = (os.environ.get("KALSHI_API_URL") or "https://api.elections.kalshi.com/trade-api/v2").rstrip("/")
ATTEMPTS = 3
RUN_SECONDS = 50.0  # all requests and pauses together: a run must end within its minute
MAX_OUTPUT = 1_000_000  # bytes of JSON; more would be cut by whoever runs the script
CODES = {400: "bad_request", 401: "unauthorized", 403: "unauthorized", 404: "not_found", 429: "rate_limited"}


class KalshiError(click.ClickException):
    """What went wrong, with a code for programs."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code, self.status = code, status

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"Error ({self.code}): {self.message}", file, err=True)


class Kalshi:
    """The public API, read-only. Asks again, bounded and ever later, while the exchange is busy."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.client = httpx.Client(headers={"Accept": "application/json"})
        self.end = time.monotonic() + RUN_SECONDS

    def get(self, path: str, **filters: object) -> dict[str, Any]:
        query = {name: str(value) for name, value in filters.items() if value is not None}
        for attempt in range(ATTEMPTS):
            answer = self.request(path, query)
            if answer.status_code != 429 and answer.status_code < 500:
                break
            asked = answer.headers.get("Retry-After", "")
            pause = float(asked) if asked.isdecimal() else 0.5 * 2**attempt
            if attempt == ATTEMPTS - 1 or pause > self.end - time.monotonic():
                break
            click.echo(f"HTTP {answer.status_code}, asking again in {pause:g} s", err=True)
            time.sleep(pause)
        try:
            data = answer.json()
        except ValueError:
            data = None
        if not answer.is_success:
            raise refusal(answer.status_code, data)
        if not isinstance(data, dict):
            raise KalshiError("bad_answer", f"{path} did not answer with a JSON object", answer.status_code)
        return data

    def request(self, path: str, query: dict[str, str]) -> httpx.Response:
        seconds = min(self.timeout, max(0.1, self.end - time.monotonic()))
        try:
            return self.client.get(f"{API}{path}", params=query, timeout=seconds)
        except httpx.TimeoutException:
            raise KalshiError("timeout", f"No answer within {seconds:g} s; try again later") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise KalshiError("network", f"Cannot reach {API}: {error}") from None


def refusal(status: int, data: object) -> KalshiError:
    """The API's own words where it gives some."""
    said = data.get("error", data) if isinstance(data, dict) else None
    words = said.get("message") or said.get("details") if isinstance(said, dict) else said
    code = CODES.get(status, "server_error" if status >= 500 else "http_error")
    return KalshiError(code, f"HTTP {status}: {words or httpx.codes.get_reason_phrase(status)}", status)


def part(data: dict[str, Any], key: str, kind: type) -> Any:
    """`data[key]`, which the API promises to be a `kind`."""
    if not isinstance(data.get(key), kind):
        raise KalshiError("bad_answer", f"The answer has no usable '{key}'")
    return data[key]


def emit(data: object) -> None:
    text = json.dumps(data, separators=(",", ":"))
    if len(text) > MAX_OUTPUT:
        raise KalshiError("too_large", f"{len(text)} bytes of JSON; lower --limit or leave out --full")
    click.echo(text)


def plain(value: object) -> str:
    """Text on one line, without anything that could steer a terminal."""
    text = "" if value is None else str(value)
    return "".join(character if character.isprintable() else " " for character in text)


def run(command: click.Command) -> None:
    """An error is words on stderr, with --json also an object on stdout, and an exit code."""
    try:
        command.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        if "--json" in sys.argv:
            code, status = getattr(error, "code", "usage"), getattr(error, "status", None)
            told = {"code": code, "status": status, "message": error.format_message()}
            click.echo(json.dumps({"error": told}))
        error.show()
        sys.exit(error.exit_code)


# -- end of client --


# -- shared part: ticker --
def ticker_of(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Upper case, and nothing that could leave its place in an address."""
    if value is None:
        return None
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value):
        raise click.BadParameter(f"{value!r} is not a ticker such as KXHIGHNY or KXHIGHNY-26NOV15-T60")
    return value.upper()


# -- end of ticker --


# -- shared part: pages --
def pages(
    api: Kalshi, path: str, key: str, *, limit: int, page: int, cursor: str | None, **filters: object
) -> tuple[list[dict[str, Any]], str | None]:
    """At most `limit` items, `page` at a time, and the cursor of what comes after them."""
    items: list[dict[str, Any]] = []
    while len(items) < limit:
        answer = api.get(path, limit=min(page, limit - len(items)), cursor=cursor, **filters)
        found = [item for item in part(answer, key, list) if isinstance(item, dict)]
        items += found
        if not found or answer.get("cursor") == cursor:
            return items[:limit], None
        cursor = answer.get("cursor") or None
        if cursor is None:
            break
    return items[:limit], cursor


# -- end of pages --


# -- shared part: table --
def table(rows: list[dict[str, Any]], columns: dict[str, str], widest: int = 48) -> None:
    """Aligned columns with headings; `columns` maps a field to its heading."""
    cells = [list(columns.values())]
    cells += [[plain(row.get(field)) for field in columns] for row in rows]
    cells = [[cell if len(cell) <= widest else cell[: widest - 1] + "…" for cell in line] for line in cells]
    widths = [max(len(line[column]) for line in cells) for column in range(len(columns))]
    for line in cells:
        joined = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo(joined.rstrip())


# -- end of table --


@click.command(epilog="Example: trades --ticker KXHIGHNY-26NOV15-T60 --limit 10 --json")
@click.option("--ticker", callback=ticker_of, help="Only trades of this market; all markets without.")
@click.option("--since", type=int, help="After this Unix time.")
@click.option("--until", type=int, help="Before this Unix time.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--cursor", help="Go on where an earlier answer ended: its `cursor`.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 30), default=10, show_default=True, help="Seconds per answer."
)
@click.option("--json", "as_json", is_flag=True, help="Print nothing but JSON.")
def main(
    *,
    ticker: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    cursor: str | None,
    timeout: float,
    as_json: bool,
) -> None:
    """List completed trades, newest first, prices in dollars."""
    trades, more = pages(
        Kalshi(timeout),
        "/markets/trades",
        "trades",
        limit=limit,
        page=1000,
        cursor=cursor,
        ticker=ticker,
        min_ts=since,
        max_ts=until,
    )
    if as_json:
        emit({"trades": trades, "count": len(trades), "cursor": more})
        return
    if not trades:
        click.echo("No trades match.")
        return
    table(trades, COLUMNS)
    if more:
        click.echo(f"More: --cursor {plain(more)}")


if __name__ == "__main__":
    run(main)
