"""A little of what `python3 dev.py fuzz` does for a minute or a night."""

from itertools import islice

import pytest
from benchmarks.fuzz import fuzz


@pytest.mark.parametrize("seed", [1, 2])
def test_no_header_brings_the_parser_down(seed):
    read = [readable for _, readable in islice(fuzz(seed), 1000)]
    assert True in read
    assert False in read
