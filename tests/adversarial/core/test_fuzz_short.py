"""A few seconds of what `python3 dev.py fuzz` does for a minute or a night."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.fuzz import fuzz


@pytest.mark.parametrize("seed", [1, 2])
def test_no_header_brings_the_parser_down_or_keeps_it_busy(seed):
    tried, read, _ = fuzz(3.0, seed)
    assert tried > 100
    assert 0 < read < tried
