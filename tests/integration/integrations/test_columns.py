"""Which columns of the conformance suite a build runs with the newest versions."""

import pytest
from recipes.columns import COLUMNS, of_build


@pytest.mark.parametrize(
    ("weekday", "changed", "chosen"),
    [
        (2, [], ["openai-agents"]),
        (6, ["src/skillkit/integrations/mcp/server.py", "src/skillkit/core/names.py"], ["langchain", "mcp"]),
        (4, ["src/skillkit/integrations/agent_framework_files.py"], ["agent-framework"]),
    ],
)
def test_a_build_runs_the_column_of_the_day_and_of_each_changed_integration(weekday, changed, chosen):
    assert of_build(weekday, changed) == chosen


def test_every_column_has_its_day():
    assert {name for day in range(7) for name in of_build(day, [])} == set(COLUMNS)
