# /// script
# requires-python = ">=3.11"
# dependencies = ["click>=8.1,<9", "httpx>=0.27,<1"]
# ///
"""Find series and open events by words, over a local copy of the lists."""

import hashlib
import json
import os
import re
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

import click
import httpx

MAX_EVENTS = 5000
KEPT = {
    "series": ("ticker", "title", "category", "tags"),
    "event": ("event_ticker", "title", "sub_title", "category", "series_ticker"),
}
COLUMNS = {"kind": "KIND", "ticker": "TICKER", "title": "TITLE", "category": "CATEGORY"}
Entry = dict[str, Any]

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


def entry(kind: str, item: Entry) -> Entry:
    kept = {key: item[key] for key in KEPT[kind] if item.get(key)}
    return {"kind": kind, "ticker": str(kept.pop("event_ticker", None) or kept.pop("ticker", "")), **kept}


def fetch(api: Kalshi) -> dict[str, Any]:
    """All series and the open events, as few fields as a search needs."""
    series = [item for item in part(api.get("/series"), "series", list) if isinstance(item, dict)]
    events, more = pages(api, "/events", "events", limit=MAX_EVENTS, page=200, cursor=None, status="open")
    entries = [entry("series", item) for item in series] + [entry("event", item) for item in events]
    return {"api": API, "fetched_at": int(time.time()), "complete": more is None, "entries": entries}


class Cache:
    """One file in a folder that is ours alone, or that the user chose; without one nothing is kept."""

    def __init__(self, folder: Path, *, chosen: bool) -> None:
        self.folder, self.chosen = folder, chosen
        self.file = folder / f"search-{hashlib.sha256(API.encode()).hexdigest()[:16]}.json"

    def load(self, max_age: int) -> dict[str, Any] | None:
        try:
            if not self.is_ours():
                return None
            data = json.loads(self.file.read_bytes())
            fresh = data["api"] == API and 0 <= time.time() - data["fetched_at"] <= max_age
            return data if fresh and isinstance(data["entries"], list) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, data: dict[str, Any]) -> bool:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.is_ours():
                return False
            with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False, encoding="utf-8") as file:
                json.dump(data, file)
            if self.chosen:  # a sandbox may run the next search as another user
                os.chmod(file.name, 0o644)
            os.replace(file.name, self.file)
        except OSError:
            return False
        return True

    def is_ours(self) -> bool:
        """A shared temporary folder may hold a folder of this name that somebody else put there."""
        found = self.folder.lstat()
        private = found.st_uid == os.getuid() and not found.st_mode & 0o022
        return stat.S_ISDIR(found.st_mode) and (private or self.chosen)


def score(item: Entry, words: list[str]) -> tuple[int, int]:
    """How many words an entry has, and how well: 3 for one in the title, 1 elsewhere; whole ones twice."""
    title = f"{item.get('title', '')} {item.get('sub_title', '')}".casefold()
    tags = item.get("tags")
    others = " ".join([item["ticker"], str(item.get("category", "")), *map(str, tags or ())]).casefold()
    found, total = 0, 0
    for word in words:
        place, worth = (title, 3) if word in title else (others, 1)
        if word in place:
            found += 1
            total += worth * (2 if re.search(rf"\b{re.escape(word)}\b", place) else 1)
    return found, total


@click.command(epilog="Example: search bitcoin price --limit 5 --json")
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(["series", "event"]), help="Only these; both without.")
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True)
@click.option(
    "--max-age",
    type=click.IntRange(0),
    default=3600,
    show_default=True,
    help="Oldest copy to use, in seconds.",
)
@click.option("--refresh", is_flag=True, help="Fetch the lists anew.")
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    help="Folder for the copy. Without it, a temporary one, which a sandbox empties after every run.",
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 30), default=10, show_default=True, help="Seconds per answer."
)
@click.option("--json", "as_json", is_flag=True, help="Print nothing but JSON.")
def main(
    *,
    words: tuple[str, ...],
    kind: str | None,
    limit: int,
    max_age: int,
    refresh: bool,
    cache: Path | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Find series and open events that contain all WORDS in title, ticker, category or tags.

    Where nothing has them all, what has most of them.

    Then: `markets --event TICKER` or `markets --series TICKER` for prices.
    """
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")
    store = Cache(cache or temporary / f"kalshi-markets-{os.getuid()}", chosen=cache is not None)
    data = None if refresh else store.load(max_age)
    cached = data is not None
    if data is None:
        data = fetch(Kalshi(timeout))
        store.save(data)
    wanted = [word for text in words for word in text.casefold().split()]
    scored = [(score(item, wanted), item) for item in data["entries"] if kind in (None, item["kind"])]
    most = max((count for (count, _), _ in scored), default=0)
    best = [(points, item) for (count, points), item in scored if count == most > len(wanted) / 2]
    found = [item for _, item in sorted(best, key=lambda pair: -pair[0])]
    shown = found[:limit]
    if as_json:
        age = int(time.time()) - data["fetched_at"]
        told = {"cached": cached, "age_seconds": age, "complete": data["complete"]}
        if found and most < len(wanted):
            told["words_found"] = f"{most} of {len(wanted)}"
        emit({"results": shown, "count": len(shown), "total": len(found), **told})
        return
    if not shown:
        click.echo(f"Nothing contains: {plain(' '.join(wanted))}. Try fewer or other words.")
        return
    if most < len(wanted):
        click.echo(
            f"Nothing contains all of: {plain(' '.join(wanted))}. These have {most} of {len(wanted)} words:"
        )
    table(shown, COLUMNS)
    if len(found) > len(shown):
        click.echo(f"{len(shown)} of {len(found)}; see --limit")


if __name__ == "__main__":
    run(main)
