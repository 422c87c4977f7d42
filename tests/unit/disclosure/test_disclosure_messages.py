"""Messages of every framework are read the same way."""

from enum import Enum
from types import SimpleNamespace

import pytest

from skillkit.disclosure.messages import latest_user_text, role_of, text_of


class Role(Enum):
    USER = "user"


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"type": "human", "content": "hello"},
        {"role": "user", "parts": [{"text": "hello"}]},
        SimpleNamespace(role="user", text="hello"),
        SimpleNamespace(role=Role.USER, content="hello"),
        SimpleNamespace(type="human", content=[SimpleNamespace(type="text", text="hello")]),
        SimpleNamespace(role="user", contents=[SimpleNamespace(text="hello")]),
        {"content": "hello"},
    ],
)
def test_a_users_message_is_understood(message):
    assert role_of(message) == "user"
    assert text_of(message) == "hello"
    assert latest_user_text([message]) == "hello"


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "assistant", "content": "x"}, "assistant"),
        (SimpleNamespace(type="ai", content="x"), "assistant"),
        ({"role": "developer", "content": "x"}, "system"),
        ({"role": "tool", "content": "x"}, "tool"),
        ({"role": "function", "content": "x"}, "tool"),
    ],
)
def test_roles_have_one_name(message, role):
    assert role_of(message) == role
    assert latest_user_text([message]) is None


def test_results_of_tools_are_text_but_not_what_the_user_said():
    result = {"role": "user", "content": [{"type": "tool_result", "content": "from a tool"}]}
    assert text_of(result) == "from a tool"
    assert latest_user_text([{"role": "user", "content": "the question"}, result]) == "the question"


def test_a_message_without_text_is_empty():
    assert text_of({"role": "user", "content": None}) == ""
    assert latest_user_text([{"role": "user", "content": [{"type": "image", "data": b""}]}]) is None
    assert latest_user_text("  ") is None
