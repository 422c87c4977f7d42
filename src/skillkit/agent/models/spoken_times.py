"""Times of day as people say them: 7pm is 19:00, half past eight in the evening 20:30."""

import re
from collections.abc import Iterator

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
_HOURS = {
    word: hour
    for hour, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
_MINUTES = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20}
_HOUR = rf"\d{{1,2}}|{'|'.join(_HOURS)}"
_PAST = re.compile(
    rf"\b({'|'.join(_MINUTES)}|[1-5]?\d)(?: minutes)? (past|after|to) ({_HOUR})\b", re.IGNORECASE
)
_SPOKEN = re.compile(
    rf"\b(?:(\d{{1,2}})[:.h](\d{{2}})|({_HOUR}))"
    r"\s*(a\.?m\b|p\.?m\b|o['’]?clock\b|uhr\b|h\b"
    r"|(?:in the |this |at )(?:morning|afternoon|evening|night)\b)?",
    re.IGNORECASE,
)
_BY_NAME = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}
_LATE = re.compile(r"\b(?:afternoon|evening|tonight|night)\b", re.IGNORECASE)

Time = tuple[int, int]


def clock_time(text: str) -> Time | None:
    """Return the hour and minute of a text such as 08:15; None for anything else."""
    found = _CLOCK.fullmatch(text.strip())
    return (int(found[1]), int(found[2])) if found else None


def spoken_times(text: str) -> set[Time]:
    """Return the times of day that a text speaks of; in the evening 7 may be 19 hours."""
    return {time for meant in _expressions(text) for time in meant}


def spoken_time(text: str) -> Time | None:
    """Return the one time of day that a text speaks of; None for none and for several."""
    found = list(_expressions(text))
    return max(found[0]) if len(found) == 1 else None


def _expressions(text: str) -> Iterator[set[Time]]:
    """Yield for each time that is spoken of what it may mean."""
    late = _LATE.search(text) is not None
    for name, time in _BY_NAME.items():
        if re.search(rf"\b{name}\b", text, re.IGNORECASE):
            yield {time}
    for minutes, side, hour in _PAST.findall(text):
        past = _MINUTES.get(minutes.casefold()) or int(minutes)
        whole = _HOURS.get(hour.casefold()) or int(hour)
        if whole <= _LAST_HOUR:
            yield _meant(
                whole if side != "to" else (whole - 1) % 24, past if side != "to" else 60 - past, late
            )
    for hour, minute, alone, part in _SPOKEN.findall(_PAST.sub(" ", text)):
        if not minute and not part and not re.search(rf"\bat {alone} tonight\b", text, re.IGNORECASE):
            continue
        whole = _HOURS.get(alone.casefold()) or int(hour or alone)
        half = part.casefold().replace(".", "")
        if half in ("am", "pm"):
            yield {(whole % 12 + 12 * (half == "pm"), int(minute or 0))}
        elif whole <= _LAST_HOUR:
            yield _meant(whole, int(minute or 0), late)


_LAST_HOUR = 23


def _meant(hour: int, minute: int, late: bool) -> set[Time]:
    return {(hour, minute), (hour + 12, minute)} if late and hour < 12 else {(hour, minute)}
