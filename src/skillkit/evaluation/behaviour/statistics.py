"""Pass rates with intervals: few runs say little, and the report says so."""

import math

Z = 1.96


def wilson(passed: int, total: int) -> tuple[float, float] | None:
    """The 95 % interval of a share; None of nothing."""
    if not total:
        return None
    share = passed / total
    scale = 1 + Z * Z / total
    middle = (share + Z * Z / (2 * total)) / scale
    half = Z * math.sqrt(share * (1 - share) / total + Z * Z / (4 * total * total)) / scale
    return round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)


def difference(passed: int, total: int, passed_before: int, total_before: int) -> dict[str, object] | None:
    """The difference of two shares with its 95 % interval (Newcombe), and whether it is more than chance."""
    here, there = wilson(passed, total), wilson(passed_before, total_before)
    if here is None or there is None:
        return None
    first, second = passed / total, passed_before / total_before
    delta = first - second
    low = delta - math.hypot(first - here[0], there[1] - second)
    high = delta + math.hypot(here[1] - first, second - there[0])
    return {
        "delta": round(delta, 4),
        "interval": [round(low, 4), round(high, 4)],
        "more_than_chance": low > 0 or high < 0,
    }
