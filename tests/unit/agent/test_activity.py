"""What somebody who waits is told of a call."""

import pytest

from skillkit.agent.middleware import _activity


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("load_skill", {"skill_id": "demo"}, "reading demo"),
        ("read_skill_resource", {"skill_id": "demo", "path": "a.md"}, "reading demo"),
        ("script_run", {"skill_id": "demo", "script_name": "find", "args": ["rain"]}, "running find rain"),
        ("script_run", {"skill_id": "demo", "script_name": "status"}, "running status"),
        ("greet", {"name": "Ann"}, "running greet"),
    ],
)
def test_a_call_is_told_by_what_it_does(tool: str, arguments: dict[str, object], told: str) -> None:
    assert _activity(tool, arguments) == told
