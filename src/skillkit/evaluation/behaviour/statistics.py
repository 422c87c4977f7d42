"""Pass rates with confidence intervals, which stay wide for few cases however often each is run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.96
LEAST_CASES = 5
"""Minimum number of cases for estimating the correlation between the runs of one case."""


@dataclass(frozen=True, slots=True)
class PassRate:
    """A share of runs, with its effective number of independent runs."""

    share: float
    size: float

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval."""
        return wilson(self.share, self.size)


def pass_rate(cases: Sequence[tuple[int, int]]) -> PassRate | None:
    """Return the pass rate over cases, each given as passed runs and all runs; None without runs.

    Runs of one case are correlated: the correlation is estimated from the cases (the variance of a ratio
    between clusters), and the effective number is at least one run per case and at most all runs. With fewer
    than five cases, or if all runs have the same outcome, no estimate is possible and each case counts once.
    """
    counted = [(passed, runs) for passed, runs in cases if runs]
    runs = sum(each for _, each in counted)
    if not runs:
        return None
    share = sum(passed for passed, _ in counted) / runs
    number = len(counted)
    spread = sum((passed - share * each) ** 2 for passed, each in counted)
    if number < LEAST_CASES or not 0 < share < 1:
        return PassRate(share, float(number))
    variance = spread * number / (number - 1) / runs**2
    worth = share * (1 - share) / variance if variance else float(runs)
    return PassRate(share, min(max(worth, float(number)), float(runs)))


def wilson(share: float, total: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of independent runs."""
    scale = 1 + Z * Z / total
    middle = (share + Z * Z / (2 * total)) / scale
    half = Z * math.sqrt(share * (1 - share) / total + Z * Z / (4 * total * total)) / scale
    return round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)


def difference(here: PassRate | None, there: PassRate | None) -> dict[str, object] | None:
    """Return the difference of two rates with its 95 % interval (Newcombe), and whether it is significant.

    The pairing of cases is not used: the interval is conservative.
    """
    if here is None or there is None:
        return None
    (low_here, high_here), (low_there, high_there) = here.interval, there.interval
    delta = here.share - there.share
    low = delta - math.hypot(here.share - low_here, high_there - there.share)
    high = delta + math.hypot(high_here - here.share, there.share - low_there)
    return {
        "delta": round(delta, 4),
        "interval": [round(low, 4), round(high, 4)],
        "more_than_chance": low > 0 or high < 0,
    }
