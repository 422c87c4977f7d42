"""The documentation says of each framework what the suite has found. SKILLKIT_WRITE_DOCS=1 writes it."""

import os
from pathlib import Path

from conformance.drivers import DRIVERS
from conformance.scenarios import SCENARIOS
from conformance.table import BEGIN, END, page_with_table

PAGE = Path(__file__).parents[3] / "docs" / "integrations.md"


def test_the_table_in_the_documentation_is_up_to_date():
    page = PAGE.read_text(encoding="utf-8")
    assert page.count(BEGIN) == page.count(END) == 1
    expected = page_with_table(page)
    if os.environ.get("SKILLKIT_WRITE_DOCS"):
        PAGE.write_text(expected, encoding="utf-8")
    assert page == expected, "run this test with SKILLKIT_WRITE_DOCS=1 and commit docs/integrations.md"


def test_what_a_framework_cannot_do_is_the_name_of_a_promise():
    for driver in DRIVERS:
        assert set(driver.unable) <= set(SCENARIOS), driver
