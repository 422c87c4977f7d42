"""Pictures in a conversation cost space too, and go where results are shortened."""

from typing import Any

from skillkit.agent.compaction import FILE_TOKENS, Compaction, compact, tokens_of

PICTURE = {"type": "data", "uri": "data:image/png;base64,AAAA", "media_type": "image/png"}


def conversation(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        text = {"type": "text", "text": "Drawn."}
        result = {
            "type": "function_result",
            "call_id": str(number),
            "result": "Drawn.",
            "items": [text, PICTURE],
        }
        messages += [
            {"role": "user", "contents": [{"type": "text", "text": "Draw."}]},
            {"role": "tool", "contents": [result]},
        ]
    return messages


def test_a_picture_counts() -> None:
    assert tokens_of(conversation(3)) >= 3 * FILE_TOKENS


def test_earlier_pictures_go_when_space_runs_out_and_the_latest_stays() -> None:
    messages = conversation(3)
    compaction = compact(messages, Compaction(), 2 * FILE_TOKENS)
    view = compaction.view(messages)
    kept = [message for message in view if PICTURE in (message["contents"][0].get("items") or ())]
    assert kept == messages[-1:]
    assert compaction.dropped == 0
    assert tokens_of(view) < 2 * FILE_TOKENS
