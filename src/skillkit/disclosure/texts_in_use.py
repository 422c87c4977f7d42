"""The texts of the skills that a conversation uses: which still stand, which come back, which go."""

from skillkit.disclosure import notes
from skillkit.disclosure.activator import Activator, Delivery
from skillkit.disclosure.compaction import plan_compaction
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.messages import Messages
from skillkit.disclosure.placement import user_places
from skillkit.disclosure.session import SkillSession


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
