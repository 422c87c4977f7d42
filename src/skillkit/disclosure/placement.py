"""Place skill texts among the messages, and find those lost by compaction.

Messages before an inserted text are never rewritten.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from skillkit.disclosure import notes
from skillkit.disclosure.activator import Activator, Delivery
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.fence import carries
from skillkit.disclosure.messages import Messages, as_messages, role_of, text_of, user_text
from skillkit.disclosure.session import SkillSession

Message = TypeVar("Message")


@dataclass(frozen=True, slots=True)
class Insertion:
    """A text inserted into a request; it is not part of the program's history."""

    place: int
    """Number of messages before the text."""
    text: str
    kept: bool
    """Whether later requests keep the text in the same place."""


def user_places(messages: Messages) -> dict[str, int]:
    """Map each user message's anchor, stable across views of a conversation, to the position after it."""
    seen: Counter[str] = Counter()
    places: dict[str, int] = {}
    for index, message in enumerate(as_messages(messages), 1):
        said = user_text(message)
        if said:
            digest = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            seen[digest] += 1
            places[f"{digest}-{seen[digest]}"] = index
    return places


def place_texts(
    messages: Messages, texts: Mapping[str, str], session: SkillSession, *, elsewhere: bool = False
) -> list[Insertion]:
    """Return insertions of the `texts` of active skills among `messages`.

    A text follows the user message that matched it. If that message is missing, the text moves after the
    newest one, unless earlier messages are stored `elsewhere`, together with the text. A text that the
    program has copied into its own history is not inserted again.
    """
    if not texts:
        return []
    listed = as_messages(messages)
    places, carried = user_places(listed), [text_of(message) for message in listed]
    newest = next(reversed(places), "")
    insertions = []
    for activation in session.active:
        text = texts.get(activation.skill_id)
        if text is None or any(carries(each, activation.nonce) for each in carried):
            continue
        anchor = activation.anchor
        if anchor not in places and newest and not (anchor and elsewhere):
            anchor = newest
            session.anchor(activation.skill_id, anchor)
        if anchor in places:
            insertions.append(Insertion(places[anchor], text, kept=True))
    return sorted(insertions, key=lambda insertion: insertion.place)


def place_note(messages: Messages, note: str) -> list[Insertion]:
    """Return the insertion of a request's `note`: at the end, unless the model continues its own message."""
    if not note:
        return []
    listed = as_messages(messages)
    unfinished = bool(listed) and role_of(listed[-1]) == "assistant"
    place = max(user_places(listed).values(), default=0) if unfinished else len(listed)
    return [Insertion(place, note, kept=False)]


def begins_turn(messages: Messages) -> bool:
    """Return whether the last message is the user's, so that no part of a response exists yet."""
    listed = as_messages(messages)
    return bool(listed) and bool(user_text(listed[-1]))


def with_insertions(
    messages: Sequence[Message], insertions: Iterable[Insertion], make: Callable[[Insertion], Message]
) -> list[Message]:
    """Return `messages` with the `insertions` in place, each converted by `make`."""
    extended = list(messages)
    for insertion in reversed(list(insertions)):
        extended.insert(insertion.place, make(insertion))
    return extended


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Positions in the messages, and the skills whose text is lost."""

    keep: tuple[int, ...]
    """Messages with the text of an active skill: summarise around them."""
    superseded: tuple[int, ...]
    """Messages whose only skill text was superseded or set aside: drop these first."""
    missing: tuple[str, ...]
    """Active skills whose text has lost its place: the tool result that loaded it, or the user message it
    followed, is missing."""


def plan_compaction(messages: Messages, session: SkillSession) -> CompactionPlan:
    """Return the plan for a compaction of `messages` that keeps skill texts.

    Texts are identified by the nonce of their fence, so that no other text in a message can claim to be kept.
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


def recover(
    messages: Messages, session: SkillSession, max_active: int, remarks: list[str], *, whole_history: bool
) -> None:
    """Restore texts lost by a compaction, most recently used first."""
    if whole_history:
        for lost in plan_compaction(messages, session).missing:
            session.bring_back(lost)
    places = user_places(messages)
    held = [activation for activation in session.active if not activation.in_messages]
    displaced = {activation.skill_id for activation in held if activation.anchor not in places}
    displaced -= session.pinned
    unused = session.only_by_score()
    oldest_first = [identity for identity in session.least_recent() if identity in displaced]
    oldest_first.sort(key=lambda identity: identity not in unused)
    aside = oldest_first[: max(0, len(held) - max_active)]
    for identity in aside:
        session.deactivate(identity)
    if aside:
        remarks.append(notes.put_aside(aside))


def texts_in_use(
    activator: Activator, session: SkillSession, delivered: dict[str, Delivery], remarks: list[str]
) -> dict[str, str]:
    """Return the texts of active skills that no tool call delivered; deactivate skills no longer allowed.

    `delivered` are the texts already rendered for this request.
    """
    texts = {}
    for activation in session.active:
        identity = activation.skill_id
        ready = delivered.get(identity)
        try:
            if activation.in_messages:
                activator.usable(identity, session)
            elif ready is not None and ready.activation.nonce == activation.nonce:
                texts[identity] = ready.text
            else:
                texts[identity] = activator.deliver(identity, "", session, activation.origin).text
        except SkillRefusedError as refused:
            session.deactivate(identity)
            remarks.append(notes.withdrawn(identity, refused.code))
    return texts
