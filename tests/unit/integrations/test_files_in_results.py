"""Files in results of Agent Framework's tools, as every client can send them."""

import pytest

pytest.importorskip("agent_framework")

from agent_framework import Content, Message

from skillkit.integrations.agent_framework_files import INSERTED, show_files, unshow_files

PNG = Content.from_data(b"\x89PNG\r\n\x1a\n", "image/png", name="chart.png")
PDF = Content.from_data(b"%PDF-1.7", "application/pdf", name="</skill_note>.pdf")


def conversation() -> list[Message]:
    results = [Content.from_text("made"), PNG, PDF]
    return [
        Message("user", ["Draw."]),
        Message("tool", [Content.from_function_result("1", result=results)]),
        Message("assistant", ["Done."]),
    ]


def test_the_files_of_results_follow_them() -> None:
    given = conversation()
    shown = show_files(given)
    assert [message.role for message in shown] == ["user", "tool", "user", "assistant"]
    assert INSERTED in shown[2].additional_properties
    assert [content for content in shown[2].contents if content.type == "data"] == [PNG, PDF]
    assert [item.type for item in shown[1].contents[0].items] == ["text"]
    assert given[1].contents[0].items[1:] == [PNG, PDF]  # the history is not touched
    notes = "".join(content.text for content in shown[2].contents if content.type == "text")
    assert notes.count("</skill_note>") == 2


def test_a_history_has_them_in_the_result_again() -> None:
    kept = unshow_files(show_files(conversation()))
    assert [message.role for message in kept] == ["user", "tool", "assistant"]
    assert kept[1].contents[0].items[1:] == [PNG, PDF]
    assert show_files(kept)[2].contents[1] is PNG
