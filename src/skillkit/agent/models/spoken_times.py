"""Times of day as people say them: 7pm is 19:00."""

import re

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
_SPOKEN = re.compile(
    r"\b(\d{1,2})(?:[:.h](\d{2}))?\s*(a\.?m\b|p\.?m\b|o['’]?clock\b|uhr\b|h\b)?", re.IGNORECASE
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
    times = {time for name, time in _BY_NAME.items() if re.search(rf"\b{name}\b", text, re.IGNORECASE)}
    for hour, minute, part in _SPOKEN.findall(text):
        if not minute and not part:
            continue
        given = int(hour), int(minute or 0)
        half = part.casefold().replace(".", "")
        if half == "pm":
            times.add((given[0] % 12 + 12, given[1]))
        elif half == "am":
            times.add((given[0] % 12, given[1]))
        else:
            times.add(given)
            if given[0] < 12 and _LATE.search(text):
                times.add((given[0] + 12, given[1]))
    return times
