"""Where the texts of skills stand among the messages, and which of them a shortened conversation has lost.

Nothing before them is ever rewritten.
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
    """A text that stands in a request without being in the program's own history."""

    place: int
    """How many messages of the request stand before it."""
    text: str
    kept: bool
    """Whether it stands in the same place in all later requests too."""


def user_places(messages: Messages) -> dict[str, int]:
    """The place after each message of the user, by what marks that message in any view of a conversation."""
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
    """Where the `texts` of active skills stand among `messages`.

    A text stands after the message of the user that brought it. Where that message is gone, the text
    moves behind the newest one; unless earlier messages are kept `elsewhere`, and the text with them. A
    text that a program has written into its own history stands there already.
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
    """Where a `note` about this request alone stands: at the end, unless the model is to go on writing."""
    if not note:
        return []
    listed = as_messages(messages)
    unfinished = bool(listed) and role_of(listed[-1]) == "assistant"
    place = max(user_places(listed).values(), default=0) if unfinished else len(listed)
    return [Insertion(place, note, kept=False)]


def begins_turn(messages: Messages) -> bool:
    """Whether the user spoke last, so that nothing of an answer is there yet."""
    listed = as_messages(messages)
    return bool(listed) and bool(user_text(listed[-1]))


def with_insertions(
    messages: Sequence[Message], insertions: Iterable[Insertion], make: Callable[[Insertion], Message]
) -> list[Message]:
    """`messages` with the `insertions` in their places, each as the message that `make` makes of it."""
    extended = list(messages)
    for insertion in reversed(list(insertions)):
        extended.insert(insertion.place, make(insertion))
    return extended


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


def recover(
    messages: Messages, session: SkillSession, max_active: int, remarks: list[str], *, whole_history: bool
) -> None:
    """Bring back texts that a shortened conversation has lost, the ones used last first."""
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
    """Return the texts of active skills that no tool call has brought; what may no longer be used goes.

    `delivered` are the texts that this request has rendered already.
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
