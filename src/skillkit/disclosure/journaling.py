"""Journal events of disclosure: matches, activations, tokens and tool calls."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skillkit.core.events import Event, Json, Kind, Writer, in_turn
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.disclosure.activator import Delivery
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.disclosed import TokenUse
from skillkit.disclosure.offer import Offer
from skillkit.disclosure.session import SkillSession
from skillkit.disclosure.tool_result import ToolResult
from skillkit.disclosure.tool_sources import WrappedTools
from skillkit.disclosure.tools import Argument, Tool, ToolSource, named_skill
from skillkit.matching import Match

WRITE_OFFER_AGAIN = 30 * 86_400.0
"""Seconds after which an unchanged offer is recorded again; well below the retention of a journal."""
_MAX_OFFERS = 256
_IDS_OF_EVENT = 400


def match_event(
    request: dict[str, Json],
    matched: Sequence[Match],
    left_out: Sequence[Match],
    near: Sequence[Match],
    offer: Offer,
    *,
    line: float | None,
) -> Event:
    """Return the event for a request, with its scores and reasons.

    `request` is the part of its text that may be recorded.
    """
    return Event(
        Kind.MATCHED,
        digest=offer.digest,
        data={
            "request": request,
            "matched": [_scored(match) for match in matched],
            "left_out": [_scored(match) for match in left_out],
            "near": [_scored(match) for match in near],
            "line": line,
        },
    )


class OfferLog:
    """Records the offer of requests: once per offer, and again at intervals, because a journal drops its
    oldest events."""

    def __init__(self) -> None:
        self._written: dict[str, float] = {}

    def news(self, offer: Offer, manager: SkillManager) -> list[Event]:
        """Return the events for an offer that is not yet recorded."""
        now = time.time()
        if now - self._written.get(offer.digest, 0.0) < WRITE_OFFER_AGAIN:
            return []
        if len(self._written) >= _MAX_OFFERS:
            self._written.clear()
        self._written[offer.digest] = now
        refused = [
            (skill_id(skill), _why_not_offered(skill, offer, manager))
            for skill in manager.list_skills()
            if not offer.admits(skill)
        ]
        parts = range(0, max(len(offer.ids), len(refused), 1), _IDS_OF_EVENT)
        return [
            Event(
                Kind.OFFERED,
                digest=offer.digest,
                data={
                    "count": len(offer.ids),
                    "ids": [*offer.ids[part : part + _IDS_OF_EVENT]],
                    "refused": dict(refused[part : part + _IDS_OF_EVENT]),
                },
            )
            for part in parts
        ]


def _why_not_offered(skill: SkillMetadata, offer: Offer, manager: SkillManager) -> Json:
    if skill_id(skill) in offer.waiting:
        return "waits for files that fit its paths"
    if skill.disable_model_invocation:
        return "models may not start it"
    refusal = manager.refusal(skill)
    return refusal.code if refusal is not None else "its header cannot be read as it is"


def activation_event(delivery: Delivery, tokens: int) -> Event:
    """Return the event for an activated skill and its tokens."""
    activation = delivery.activation
    data: dict[str, Json] = {"origin": activation.origin.value, "tokens": tokens}
    return Event(Kind.ACTIVATED, activation.skill_id, activation.digest, data)


def token_event(tokens: TokenUse) -> Event:
    """Return the event for the tokens that skills added to a request, by part."""
    return Event(Kind.TOKENS, data={**tokens.to_data()})


class JournaledTools(WrappedTools):
    """Records calls of tools that have a journal event kind, with their turn."""

    def __init__(self, source: ToolSource, journal: Writer) -> None:
        super().__init__(source)
        self.journal = journal

    def wrap(self, tool: Tool, session: SkillSession) -> Tool:
        async def recorded(**arguments: object) -> object:
            started = time.monotonic()
            with in_turn(session.id, session.turn):
                answer = await tool.handler(**arguments)
                session.use(canonical_name(tool.skill or named_skill(arguments)))
                if tool.event is not None:
                    took = time.monotonic() - started
                    self.journal.record(_call_event(tool, arguments, answer, took, session))
            return answer

        return replace(tool, handler=recorded)


def _call_event(
    tool: Tool, arguments: dict[str, object], answer: object, seconds: float, session: SkillSession
) -> Event:
    kind = tool.event or Kind.UNKNOWN
    data: dict[str, Json] = {"origin": "model", "duration_ms": round(seconds * 1000, 3)}
    failed = isinstance(answer, ToolResult) and answer.failed
    if tool.skill:  # its code ran, whatever the result
        data["tool"] = tool.name
        data["failed"] = failed or (isinstance(answer, Mapping) and answer.get("success") is False)
        return Event(kind, tool.skill, session.digest_of(tool.skill), data)
    if kind is Kind.READ:
        data["path"] = str(arguments.get(Argument.PATH, ""))[:512]
    if isinstance(answer, ToolResult) and answer.failed:
        data |= {"wanted": kind.value, "error": answer.error}
        kind = Kind.REFUSED
    skill = named_skill(arguments)
    return Event(kind, skill[:128], session.digest_of(skill), data)


def _scored(match: Match) -> dict[str, Json]:
    return {"id": skill_id(match.skill), "score": round(match.score, 4), "reasons": list(match.reasons[:8])}
