"""When a conversation is shortened: which messages carry skill text in use, and which no longer count."""

from dataclasses import dataclass

from skillkit.disclosure.fence import carries
from skillkit.disclosure.messages import Messages, as_messages, text_of
from skillkit.disclosure.placement import user_places
from skillkit.disclosure.session import SkillSession


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Positions in the messages, and the skills whose text is gone."""

    keep: tuple[int, ...]
    """Messages with the text of an active skill: summarise around them."""
    superseded: tuple[int, ...]
    """Messages whose only skill text was replaced or put aside: these can go first."""
    missing: tuple[str, ...]
    """Active skills whose text has no place any more: the result of the tool call that loaded it, or the
    message of the user after which it stood, is no longer there."""


def plan_compaction(messages: Messages, session: SkillSession) -> CompactionPlan:
    """What a compaction of `messages` must know about skills.

    Text counts by the nonce of its fence, so that nothing else in a message can claim to be kept.
    """
    texts = [text_of(message) for message in as_messages(messages)]
    current = {activation.nonce: activation for activation in session.active}
    past = session.superseded()
    keep: list[int] = []
    superseded: list[int] = []
    seen: set[str] = set()
    for index, text in enumerate(texts):
        carried = [nonce for nonce in current if carries(text, nonce)]
        seen.update(carried)
        if carried:
            keep.append(index)
        elif any(carries(text, nonce) for nonce in past):
            superseded.append(index)
    places = user_places(messages)
    missing = tuple(
        activation.skill_id
        for nonce, activation in current.items()
        if nonce not in seen and (activation.in_messages or activation.anchor not in {"", *places})
    )
    return CompactionPlan(tuple(keep), tuple(superseded), missing)
