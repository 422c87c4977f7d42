"""SkillContextProvider: disclose to each request the skills it needs."""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Unpack

from skillkit.core.authority import Requester, current_requester
from skillkit.core.events import NO_JOURNAL, Event, Json, Writer
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.manager import SkillManager
from skillkit.core.models import InitMode, SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.disclosure import notes
from skillkit.disclosure.activator import Activator, Delivery, SkillStarter
from skillkit.disclosure.catalogue import Catalogue, CatalogueStyle, Rank, by_distance, skill_id
from skillkit.disclosure.commands import RunCommand
from skillkit.disclosure.disclosed import Disclosure, ModelChoice, TokenUse, choice_of
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.files_in_play import named_files
from skillkit.disclosure.journaling import (
    JournaledTools,
    OfferLog,
    activation_event,
    match_event,
    token_event,
)
from skillkit.disclosure.messages import Messages, View, latest_user_text
from skillkit.disclosure.offer import NEAREST, NO_OFFER, Matcher, Offer, Offers
from skillkit.disclosure.placement import (
    Insertion,
    begins_turn,
    place_note,
    place_texts,
    recover,
    texts_in_use,
)
from skillkit.disclosure.session import Origin, SkillSession
from skillkit.disclosure.settings import DisclosureSettings, FallbackMode
from skillkit.disclosure.skill_texts import SkillTexts
from skillkit.disclosure.skill_tools import SkillToolSource
from skillkit.disclosure.tokens import TokenCounter, TokenEstimator
from skillkit.disclosure.tool_gate import Admission, ToolGate
from skillkit.disclosure.tool_sources import JoinedTools
from skillkit.disclosure.tools import Tool, ToolLookup, ToolSource
from skillkit.journal.sensitive import described
from skillkit.journal.telemetry import with_spans
from skillkit.matching import Match

logger = logging.getLogger(__name__)

Pinned = Sequence[str] | Callable[[Requester], Sequence[str]]
"""Skills active from the first request of a conversation, or a function that returns them for a requester."""

MAX_ACTIVE = 10
FALLBACK_BUDGET = 8000
LIST_AND_NEARBY, LEAST_NEARBY = 222, 80
"""Token budget of the list together with the lines of nearby skills, and the minimum for those lines."""
SKILLS = "{skills}"
"""Placeholder for the list of skills in a `template`."""
_BEYOND_LIMIT = 10
_COUNTS = 512


class SkillContextProvider(SkillTexts):
    """Discloses the skills of one manager to any number of conversations.

    Each conversation has its own `SkillSession`; a program with a single conversation may omit it. Nothing is
    read before it is needed: an unfilled manager is filled at the first request.
    """

    def __init__(
        self,
        manager: SkillManager,
        max_skills: int | None = None,
        *,
        matcher: Matcher | None = None,
        budget: int | None = None,
        style: CatalogueStyle | str = CatalogueStyle.COMPACT,
        fallback: FallbackMode | str | None = None,
        max_active: int = MAX_ACTIVE,
        counter: TokenCounter | None = None,
        rank: Rank = by_distance,
        tool_sources: Sequence[ToolSource] = (),
        template: str = SKILLS,
        run_command: RunCommand | None = None,
        pinned: Pinned = (),
        gate: ToolGate | None = None,
        shown_files: Sequence[str] = (),
        max_instruction_tokens: int | None = None,
    ) -> None:
        """Arguments that are None follow the environment (`SKILL_MAX_PER_REQUEST`, `SKILL_FALLBACK_MODE`,
        `SKILL_MAX_INSTRUCTION_TOKENS`). `pinned` skills are active from the first request of every
        conversation on; `gate` restricts the host's tools to those declared by active skills; `shown_files`
        are media types of script outputs that are passed to the model: `image/*`, `application/pdf`."""
        settings = DisclosureSettings.from_environment()
        max_skills = settings.max_skills if max_skills is None else max_skills
        if max_skills < 0:
            raise ConfigurationError(f"max_skills must be 0 or more, got {max_skills}", "max_skills")
        self.manager = manager
        self.max_skills = max_skills
        self.max_active = max(max_active, max_skills)
        self.fallback = settings.fallback if fallback is None else FallbackMode.parse(fallback)
        self.counter = counter or TokenEstimator()
        self.tool_sources = tuple(tool_sources)
        if SKILLS not in template:
            raise ConfigurationError(f"The template has no {SKILLS}, for the list", "template")
        self.template = template
        self.pinned = pinned
        self.gate = gate
        self.shown_files = shown_files
        self.session = SkillSession()
        """The session of calls without one."""
        limit = settings.max_instruction_tokens if max_instruction_tokens is None else max_instruction_tokens
        self._activator = Activator(manager, counter=self.counter, max_tokens=limit, run_command=run_command)
        self._starter = SkillStarter(self._activator)
        self._offers = Offers(
            manager,
            matcher,
            counter=self.counter,
            budget=budget,
            style=CatalogueStyle(style),
            rank=rank,
            names_files=self._names_files,
        )
        self._offer_log = OfferLog()
        self._count_again = lru_cache(_COUNTS)(self.counter.count)
        """Cache of texts that repeat from request to request."""

    def prepare(self) -> None:
        """Discover, render, index and embed now, so that the first request does not wait for it."""
        self._offers.prepare(self._offers.current())

    async def aprepare(self) -> None:
        """Call `prepare` without blocking the event loop."""
        await asyncio.to_thread(self.prepare)

    # For a request

    async def before_request(
        self, messages: Messages, session: SkillSession | None = None, **view: Unpack[View]
    ) -> Disclosure:
        """Call `disclose` without blocking the event loop."""
        return await asyncio.to_thread(self.disclose, messages, session, **view)

    def disclose(
        self,
        messages: Messages,
        session: SkillSession | None = None,
        *,
        whole_history: bool = False,
        elsewhere: bool = False,
    ) -> Disclosure:
        """Return the additions to the request; the keyword arguments describe `messages` (see View).

        Skills that match the user's latest message become active and remain so for the session.
        """
        session = self.session if session is None else session
        offer = self._offers.current(session, messages)
        if not session.catalogue_digest:
            listed = offer.ids if offer.catalogue.listed else ()
            session.show(self._framed(offer.catalogue.text), offer.digest, listed)
            self._pin_first(session)
        request = latest_user_text(messages)
        news = request is not None and session.begin_request(request)
        remarks: list[str] = []
        delivered: dict[str, Delivery] = {}
        begun: dict[str, str] = {}
        refused = self._starter.start_ordered(request, session, delivered, begun)
        # A refused order must not match as a request that happens to use the same words.
        matched, left_out = ([], []) if refused else self._match(request, offer, session, news=news)
        matched = self._starter.start_matched(matched, session, delivered, remarks, begun)
        begins = begins_turn(messages)
        if begins:
            remarks += begun.values()
        if left_out:
            remarks.append(notes.left_out(self.max_skills, left_out))
        if not elsewhere:
            recover(messages, session, self.max_active, remarks, whole_history=whole_history)
        texts = texts_in_use(self._activator, session, delivered, remarks)
        for delivery in delivered.values():
            if delivery.fresh:
                self._note_activation(session, delivery)
        candidates: tuple[Match, ...] = ()
        advice = ""
        if request is not None and begins:
            candidates, advice = self._suggest(request, offer, session, quiet=bool(refused or matched))
            changed = notes.changed(session.listed, offer.skills) if session.listed else ""
            advice = "\n\n".join(part for part in (changed, advice) if part)
        note = notes.wrapped(refused, advice, "\n".join(remarks))
        kept = place_texts(messages, texts, session, elsewhere=elsewhere)
        tools = self._source(offer).tools(session)
        tokens = TokenUse(
            catalogue=self._catalogue_tokens(offer, session),
            skills=sum(self._count_again(insertion.text) for insertion in kept),
            note=self.counter.count(note),
            tools=self._count_again(_as_json(tools)) if tools else 0,
        )
        self._record(session, token_event(tokens))
        return Disclosure(
            instructions=session.catalogue,
            insertions=(*kept, *place_note(messages, note)),
            note=note,
            tools=tools,
            matched=tuple(matched),
            left_out=tuple(left_out),
            active=session.active_ids,
            candidates=candidates,
            notes=tuple(remarks),
            tokens=tokens,
        )

    def pin(self, name: str, session: SkillSession, arguments: str = "") -> None:
        """Activate a skill on behalf of the program; it stays active until it is unloaded.

        Raises SkillRefusedError if it may not be used.
        """
        self._offers.current()
        delivery = self._activator.deliver(name, arguments, session, Origin.INVOKED, by_user=True)
        session.pin(delivery.activation.skill_id)

    def drop(self, name: str, session: SkillSession | None = None) -> bool:
        """Deactivate a skill in a conversation; return whether it was active.

        Matching does not reactivate it: only `/name` and `load_skill` do.
        """
        session = self.session if session is None else session
        active = {canonical_name(identity): identity for identity in session.active_ids}
        identity = active.get(canonical_name(name))
        if identity is not None:
            session.drop(identity)
        return identity is not None

    def forkable(self, name: str, arguments: str, session: SkillSession) -> tuple[SkillMetadata, str]:
        """Return a skill that `session` may run in a separate conversation, and its id; else raise
        SkillRefusedError."""
        session.add_files(named_files(arguments), self.manager.project_dir)
        skill = self.manager.find_skill(name)
        identity = name if skill is None else self._activator.id_of(skill, name)
        usable = self._activator.usable(name, session, by_user=identity in session.ordered)
        return usable, identity

    def admit(self, tool: str, session: SkillSession) -> Admission:
        """Return whether a host tool is currently allowed, needs approval, or is hidden."""
        if self.gate is None or not session.active:
            return Admission.FREE
        try:
            return self.gate.admit(tool, skills_in_use(self.manager, session))
        except Exception:
            logger.exception("Whether %s may be called could not be decided, so it asks", tool)
            return Admission.ASKS

    def model_choice(self, session: SkillSession) -> ModelChoice:
        """Return the model and effort requested by skills activated in this turn, or by the fork."""
        wanted = (*reversed(session.of_turn), session.fork_of)
        return choice_of(self.manager.find_skill(identity) for identity in wanted if identity)

    def _names_files(self, tool: str, session: SkillSession) -> bool:
        """Return whether a tool's arguments name files of the user; third-party tools are assumed to."""
        found = self._source(NO_OFFER).tool(tool, session)
        return found is None or found.names_files

    def _pin_first(self, session: SkillSession) -> None:
        named = self.pinned(current_requester()) if callable(self.pinned) else self.pinned
        for name in named:
            try:
                self.pin(name, session)
            except SkillRefusedError as refused:
                logger.warning("Skill '%s' is not pinned: %s", name, refused)

    def insertions(
        self, messages: Messages, session: SkillSession, note: str = "", *, elsewhere: bool = False
    ) -> tuple[Insertion, ...]:
        """Return the insertions for `messages`, another view of a conversation passed to `disclose`.

        `note` is the note it returned for this request. Without `elsewhere`, `messages` are all that the
        model will see.
        """
        remarks: list[str] = []
        if not elsewhere:
            recover(messages, session, self.max_active, remarks, whole_history=True)
        texts = texts_in_use(self._activator, session, {}, remarks)
        if remarks:
            note = "\n".join(part for part in (note, notes.wrapped(*remarks)) if part)
        kept = place_texts(messages, texts, session, elsewhere=elsewhere)
        return (*kept, *place_note(messages, note))

    def tools(self, session: SkillSession | None = None) -> tuple[Tool, ...]:
        """Return the tools of a conversation."""
        session = self.session if session is None else session
        return self._source(self._offers.current(session)).tools(session)

    @property
    def finds_tools_at_once(self) -> bool:
        """Return whether `tool` needs no thread: skills are known and every source can look up a single
        tool."""
        known = self.manager.init_mode is not InitMode.UNINITIALIZED
        return known and all(isinstance(source, ToolLookup) for source in self.tool_sources)

    def tool(self, name: str, session: SkillSession | None = None) -> Tool | None:
        """Return one tool of a conversation by name, without creating the others."""
        self.manager.ensure_discovered()
        return self._source(NO_OFFER).tool(name, self.session if session is None else session)

    def _source(self, offer: Offer) -> JournaledTools:
        own = SkillToolSource(
            self._activator,
            offer,
            lambda: self._offers.filled(self._offers.current()),
            self._note_activation,
        )
        return JournaledTools(JoinedTools((own, *self.tool_sources)), self._writer())

    def catalogue(self, session: SkillSession | None = None) -> str:
        """Return the list of skills as `session` sees it; empty when no skill is on offer."""
        session = self.session if session is None else session
        if session.catalogue_digest:
            return session.catalogue
        return self._framed(self._offers.current(session).catalogue.text)

    def near(self, messages: Messages, session: SkillSession | None = None) -> tuple[Match, ...]:
        """Return the inactive skills nearest to the request that are worth naming, whether or not they
        match."""
        session = self.session if session is None else session
        request, offer = latest_user_text(messages), self._offers.current(session)
        if request is None or not offer.skills:
            return ()
        return self._offers.near(request, offer, skills_in_use(self.manager, session), NEAREST)

    def _framed(self, catalogue: str) -> str:
        """Return the list of skills inserted into the program's `template`."""
        return self.template.replace(SKILLS, catalogue) if catalogue else ""

    # The steps of a request

    def _match(
        self, request: str | None, offer: Offer, session: SkillSession, *, news: bool
    ) -> tuple[list[Match], list[Match]]:
        if request is None or not offer.skills or not self.max_skills:
            return [], []
        found = [
            match
            for match in self._offers.match(request, offer, self.max_skills + _BEYOND_LIMIT)
            if match.ordered or skill_id(match.skill) not in session.dropped
        ]
        matched, left_out = found[: self.max_skills], found[self.max_skills :]
        if news:
            near: list[Match] = []
            said: dict[str, Json] = {"length": len(request)}
            if self.manager.journal is not NO_JOURNAL:
                nearest = self._offers.rank(request, offer)[:NEAREST]
                near = [match for match in nearest if match.score > 0 and match not in found]
                for event in self._offer_log.news(offer, self.manager):
                    self._record(session, event)
                said = described(request)
            line = self._offers.line(offer)
            self._record(session, match_event(said, matched, left_out, near, offer, line=line))
            scores = {skill_id(match.skill): round(match.score, 4) for match in matched}
            logger.info("Skill match: %s", json.dumps({"matched": scores, "characters": len(request)}))
        return matched, left_out

    def _writer(self) -> Writer:
        return with_spans(self.manager.journal, find=self.manager.find_skill)

    def _record(self, session: SkillSession, event: Event) -> None:
        self._writer().record(replace(event, conversation=session.id, turn=session.turn))

    def _note_activation(self, session: SkillSession, delivery: Delivery) -> None:
        self._record(session, activation_event(delivery, self._count_again(delivery.text)))

    def _suggest(
        self, request: str, offer: Offer, session: SkillSession, *, quiet: bool
    ) -> tuple[tuple[Match, ...], str]:
        """Return skills to suggest to the user, with the fallback note or the skills a truncated list
        omits."""
        if not offer.skills:
            return (), ""
        active = skills_in_use(self.manager, session)
        unmatched = not (quiet or session.active)
        if unmatched and self.fallback is FallbackMode.SHOW_ALL:
            return (), notes.show_all(offer.catalogue, self._offers.in_full(FALLBACK_BUDGET))
        if unmatched and self.fallback is FallbackMode.ASK_USER:
            nearest = self._offers.near(request, offer, active, max(1, self.max_skills))
            return nearest, notes.ask_user(nearest)
        if offer.catalogue.complete:
            return (), ""
        nearest = self._offers.near(request, offer, active, NEAREST)
        return nearest, notes.nearby(nearest, self._count_again, nearby_budget(offer.catalogue))

    def _catalogue_tokens(self, offer: Offer, session: SkillSession) -> int:
        same = session.catalogue == offer.catalogue.text
        return offer.catalogue.tokens if same else self._count_again(session.catalogue)


def skills_in_use(manager: SkillManager, session: SkillSession) -> list[SkillMetadata]:
    """Return the active skills of a conversation that still exist."""
    found = map(manager.find_skill, session.active_ids)
    return [skill for skill in found if skill is not None]


def nearby_budget(catalogue: Catalogue) -> int:
    """Return the token budget of the lines for nearby skills, next to a catalogue."""
    return max(LEAST_NEARBY, LIST_AND_NEARBY - catalogue.tokens)


def _as_json(tools: tuple[Tool, ...]) -> str:
    return json.dumps([tool.definition for tool in tools], separators=(",", ":"), default=dict)
