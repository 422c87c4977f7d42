"""Named arguments of a framework's scripts as a command line."""

from skillkit.integrations.agent_framework_source import command_line


def test_a_zero_is_an_argument_and_only_false_and_none_are_left_out():
    given = {"count": 0, "share": 0.0, "quiet": False, "everything": True, "name": None}
    assert command_line(given) == ["--count", "0", "--share", "0.0", "--everything"]


def test_a_list_is_taken_as_it_is():
    assert command_line(["a", "--b"]) == ["a", "--b"]
    assert command_line(None) == []
