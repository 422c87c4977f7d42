"""Files in results of Agent Framework's tools, as each of its clients can send them."""

import pytest

pytest.importorskip("agent_framework")

from agent_framework import Content, Message

from skillkit.integrations.agent_framework_files import INSERTED, show_files, unshow_files

PNG = Content.from_data(b"\x89PNG\r\n\x1a\n", "image/png", name="chart.png")
PDF = Content.from_data(b"%PDF-1.7", "application/pdf", name="</skill_note>.pdf")


class RawOpenAIChatClient:
    """Named as the framework's client for OpenAI's Responses."""


class RawAnthropicClient:
    """Named as the framework's client for Anthropic."""


class DerivedClient(RawAnthropicClient):
    pass


def conversation() -> list[Message]:
    results = [Content.from_text("made"), PNG, PDF]
    return [
        Message("user", ["Draw."]),
        Message("tool", [Content.from_function_result("1", result=results)]),
        Message("assistant", ["Done."]),
    ]


@pytest.mark.parametrize(
    ("client", "after"),
    [(object(), [PNG, PDF]), (DerivedClient(), [PDF]), (RawOpenAIChatClient(), [])],
    ids=["any", "Anthropic", "OpenAI Responses"],
)
def test_what_a_client_would_leave_out_follows_the_results(client: object, after: list[Content]) -> None:
    given = conversation()
    shown = show_files(given, client)
    found = [
        content
        for message in shown
        if INSERTED in message.additional_properties
        for content in message.contents
    ]
    assert [content for content in found if content.type == "data"] == after
    results = [item for content in shown[1].contents for item in content.items or ()]
    assert [item for item in results if item.type == "data"] == [
        file for file in (PNG, PDF) if file not in after
    ]
    assert [message.role for message in shown] == (
        ["user", "tool", "user", "assistant"] if after else ["user", "tool", "assistant"]
    )
    assert given[1].contents[0].items[1:] == [PNG, PDF]  # the history is not touched
    notes = "".join(content.text for content in found if content.type == "text")
    assert notes.count("</skill_note>") == len(after)


def test_a_history_has_them_in_the_result_again() -> None:
    kept = unshow_files(show_files(conversation(), object()))
    assert [message.role for message in kept] == ["user", "tool", "assistant"]
    assert kept[1].contents[0].items[1:] == [PNG, PDF]
    assert show_files(kept, object())[2].contents[1] is PNG
