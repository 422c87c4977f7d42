"""When a conversation is shortened: which messages carry skill text in use, and which no longer count."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillkit.disclosure.messages import Messages, as_messages, text_of
from skillkit.disclosure.session import SkillSession


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Positions in the messages, and the skills whose text is gone."""

    keep: tuple[int, ...]
    """Messages with the text of an active skill: summarise around them."""
    superseded: tuple[int, ...]
    """Messages whose only skill text was replaced or put aside: these can go first."""
    missing: tuple[str, ...]
    """Active skills that were loaded by a tool call whose result is no longer there."""


def plan_compaction(messages: Messages, session: SkillSession) -> CompactionPlan:
    """What a compaction of `messages` must know about skills.

    Text counts by the nonce of its fence, so that nothing else in a message can claim to be kept.
    """
    texts = [text_of(message) for message in as_messages(messages)]
    current = {activation.nonce: activation for activation in session.active}
    keep: list[int] = []
    superseded: list[int] = []
    seen: set[str] = set()
    for index, text in enumerate(texts):
        carried = _carried(text, tuple(current))
        seen.update(carried)
        if carried:
            keep.append(index)
        elif _carried(text, tuple(session.superseded())):
            superseded.append(index)
    missing = tuple(
        activation.skill_id
        for nonce, activation in current.items()
        if activation.in_messages and nonce not in seen
    )
    return CompactionPlan(tuple(keep), tuple(superseded), missing)


def _carried(text: str, nonces: Sequence[str]) -> list[str]:
    return [nonce for nonce in nonces if f"[{nonce} begin]" in text and f"[{nonce} end]" in text]
