"""Putting skills to use for a request: those the user orders by name, and those that match."""

import logging
import re

from skillkit.core.models import SkillMetadata
from skillkit.disclosure import envelope, notes
from skillkit.disclosure.activator import Activator, Delivery
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.session import Origin, SkillSession
from skillkit.matching import Match

logger = logging.getLogger(__name__)

_COMMAND = re.compile(r"[/$]([^\s/$]+)(?:\s+(.*))?", re.DOTALL)


class SkillStarter:
    """Delivers skills to sessions; says how to start one that runs as a conversation of its own."""

    def __init__(self, activator: Activator) -> None:
        self.activator = activator

    def start_ordered(
        self,
        request: str | None,
        session: SkillSession,
        delivered: dict[str, Delivery],
        begun: dict[str, str],
    ) -> str:
        """`/name arguments` is the user's own order, and the one way to skills that models may not start.

        Return why it cannot be done; nothing when it is done or when there is no order. What runs as a
        conversation of its own goes into `begun`, with what to say about it.
        """
        command = _COMMAND.fullmatch(request) if request is not None else None
        if command is None or self.activator.manager.find_skill(command[1]) is None:
            return ""
        try:
            if _runs_alone(self.activator.manager.find_skill(command[1]), session):
                skill = self.activator.usable(command[1], session, by_user=True)
                identity = self.activator.id_of(skill, command[1])
                session.order(identity)
                begun[identity] = notes.ordered(identity, command[2] or "")
                return ""
            delivery = self.activator.deliver(
                command[1], command[2] or "", session, Origin.INVOKED, by_user=True
            )
        except SkillRefusedError as refused:
            if refused.code == "not_found":
                return ""
            return envelope.error(command[1], refused.code, str(refused))
        session.use(delivery.activation.skill_id)
        delivered[delivery.activation.skill_id] = delivery
        return ""

    def start_matched(
        self,
        matched: list[Match],
        session: SkillSession,
        delivered: dict[str, Delivery],
        remarks: list[str],
        begun: dict[str, str],
    ) -> list[Match]:
        """Make what matched active; a skill that cannot be read costs the others nothing."""
        activated = []
        for match in matched:
            identity = skill_id(match.skill)
            if _runs_alone(match.skill, session):
                begun.setdefault(identity, notes.runs_alone(identity))
                continue
            if session.get(identity) is None:
                unused = () if match.certain else session.only_by_score()
                try:
                    delivered[identity] = self.activator.deliver(
                        identity, "", session, Origin.MATCHED, by_score=not match.certain
                    )
                except SkillRefusedError as refused:
                    logger.warning("Matched skill '%s' cannot be used: %s", identity, refused)
                    remarks.append(notes.unusable(identity, refused.code))
                    continue
                for earlier in unused:  # of those that only scored well, the newest stays
                    session.deactivate(earlier)
                    logger.info("Skill '%s' was never used and makes way for '%s'", earlier, identity)
            if match.certain:
                session.use(identity)
            session.touch(identity)
            activated.append(match)
        return activated


def _runs_alone(skill: SkillMetadata | None, session: SkillSession) -> bool:
    return skill is not None and skill.runs_alone and session.starts_forks
