"""Activate a skill in a session: resolve, authorise, render and wrap it in its envelope."""

import hashlib
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from skillkit.core.digest_memo import Pin, tree_digests
from skillkit.core.exceptions import (
    ChangedContentError,
    ContentLoadError,
    SizeLimitExceededError,
    SkillsUseError,
)
from skillkit.core.manager import SkillManager
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.processors import RenderContext
from skillkit.core.resources import Resource, ResourcePage
from skillkit.core.sources import project_root
from skillkit.core.text import cut, one_line
from skillkit.disclosure import envelope, notes
from skillkit.disclosure.catalogue import skill_id
from skillkit.disclosure.commands import InlineCommands, RunCommand
from skillkit.disclosure.exceptions import SkillRefusedError
from skillkit.disclosure.fence import nonce_for
from skillkit.disclosure.files_in_play import counts
from skillkit.disclosure.session import Activation, Origin, SkillSession
from skillkit.disclosure.settings import DEFAULT_MAX_INSTRUCTION_TOKENS
from skillkit.disclosure.tokens import TokenCounter, TokenEstimator
from skillkit.matching import Match

_MAX_LISTED_NAMES = 20
_MAX_COMPARED_NAMES = 1000
_ATTEMPTS = 4
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A skill's text in its envelope, and whether it is new to the session."""

    activation: Activation
    text: str
    fresh: bool


class Activator:
    """Delivers skills to the sessions of one manager."""

    def __init__(
        self,
        manager: SkillManager,
        *,
        counter: TokenCounter | None = None,
        max_tokens: int = DEFAULT_MAX_INSTRUCTION_TOKENS,
        run_command: RunCommand | None = None,
    ) -> None:
        """`run_command` runs the commands in instructions; without it they are marked as not run."""
        self._commands = InlineCommands(run_command)
        self.manager = manager
        self.counter = counter or TokenEstimator()
        self.max_tokens = max_tokens

    def usable(self, name: str, session: SkillSession, *, by_user: bool = False) -> SkillMetadata:
        """Return the skill called `name`; raises SkillRefusedError if it may not be used."""
        skill = self.manager.find_skill(name)
        if skill is None:
            raise SkillRefusedError("not_found", self._not_found(name))
        refusal = self.manager.refusal(skill)
        if refusal is not None:
            unknown = refusal.code == "not_found"
            raise SkillRefusedError(refusal.code, self._not_found(name) if unknown else refusal.reason)
        if by_user and not skill.user_invocable:
            raise SkillRefusedError(
                "disabled",
                f"Skill '{skill.name}' is not for use by /{skill.name}; its author turned that off",
            )
        hidden = skill.disable_model_invocation and not by_user
        if hidden and session.get(self.id_of(skill, name)) is None:
            raise SkillRefusedError(
                "disabled",
                f"Skill '{skill.name}' is for the user to start with /{skill.name}; a model may not load it",
            )
        waits = not by_user and not counts(skill, session, self.manager.project_dir)
        if waits and session.get(self.id_of(skill, name)) is None:
            raise SkillRefusedError(
                "unavailable",
                f"Skill '{skill.name}' is only for files that fit {', '.join(skill.paths)}, and the "
                "conversation is about none of them",
            )
        return skill

    def id_of(self, skill: SkillMetadata, asked: str) -> str:
        """Return the id of `skill` in a session: its qualified name if another skill shadows it."""
        for address in (skill_id(skill), skill.qualified_name):
            if self.manager.find_skill(address) is skill:
                return address
        return asked

    def deliver(
        self,
        name: str,
        arguments: str,
        session: SkillSession,
        origin: Origin,
        *,
        by_user: bool = False,
        by_score: bool = False,
    ) -> Delivery:
        """Render a skill and make it active; raises SkillRefusedError."""

        def read(skill: SkillMetadata, pin: Pin) -> tuple[str, str, Activation | None, str, list[Resource]]:
            identity = self.id_of(skill, name)
            before = session.get(identity)
            given = before.arguments if before is not None and not arguments else arguments
            sha256 = pin.sha256(skill.skill_path.name)
            return (identity, given, before, *self._read(skill, identity, given, sha256, session.id))

        identity, arguments, before, text, resources = self._as_judged(name, session, read, by_user=by_user)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        same = before is not None and before.digest == digest
        nonce = nonce_for(text, before.nonce if before is not None and same else None)
        by_score = by_score or (before is not None and before.by_score)
        wanted = Activation(identity, nonce, origin, arguments, digest, by_score=by_score)
        activation = session.activate(wanted)
        skill = self.manager.find_skill(identity)
        inline = skill is not None and skill.runs_alone and session.fork_of != identity
        shown = envelope.skill_context(identity, text, resources, activation.nonce, inline=inline)
        return Delivery(activation, shown, fresh=activation is wanted)

    def page(self, name: str, path: str, offset: int, limit: int, session: SkillSession) -> ResourcePage:
        """Return a page of a skill's file; raises SkillRefusedError."""

        def read(skill: SkillMetadata, pin: Pin) -> ResourcePage:
            identity = self.id_of(skill, name)
            sha256 = pin.sha256("/".join(part for part in path.split("/") if part not in ("", ".")))
            page = self.manager.read_resource(identity, path, offset, limit, sha256=sha256)
            session.use(identity)
            return page

        try:
            return self._as_judged(name, session, read)
        except SkillsUseError as error:
            if isinstance(error, SkillRefusedError):
                raise
            missing = isinstance(error, ContentLoadError) and str(error).startswith("File not found")
            if not missing:
                raise SkillRefusedError("read_error", str(error)) from error
            raise SkillRefusedError("not_found", f"{error}{self._near_file(name, path)}") from error

    def _near_file(self, name: str, path: str) -> str:
        """Return a hint at files whose last path component equals or resembles the requested one."""
        try:
            paths = [resource.path for resource in self.manager.list_resources(name)]
        except SkillsUseError:
            return ""
        wanted = path.rsplit("/", 1)[-1].lower()
        same = [each for each in paths if each.rsplit("/", 1)[-1].lower() == wanted]
        found = same or get_close_matches(path, paths[:_MAX_COMPARED_NAMES], n=3, cutoff=0.6)
        return f". Did you mean {' or '.join(found[:3])}?" if found else ""

    def _as_judged(
        self,
        name: str,
        session: SkillSession,
        read: Callable[[SkillMetadata, Pin], Read],
        *,
        by_user: bool = False,
    ) -> Read:
        """Return the result of `read` for exactly the bytes that were judged, even if the files change
        meanwhile."""
        found = self.manager.find_skill(name)
        for _ in range(_ATTEMPTS):
            with tree_digests.pin(found.base_dir if found is not None else Path()) as pin:
                skill = self.usable(name, session, by_user=by_user)
            try:
                return read(skill, pin)
            except ChangedContentError:
                continue
        raise SkillRefusedError("read_error", f"Skill '{skill.name}' keeps changing. Try again later.")

    def _read(
        self, skill: SkillMetadata, identity: str, arguments: str, sha256: str | None, session_id: str
    ) -> tuple[str, list[Resource]]:
        try:
            text = self.manager.invoke_skill(identity, arguments, sha256=sha256, session_id=session_id)
            text = self._commands.fill(
                skill,
                text,
                lambda: self.manager.load_skill(identity).content,
                RenderContext.of(skill, project_root(), session_id),
                session_id,
                identity,
                sha256 or "",
            )
            resources = self.manager.list_resources(identity)
        except ChangedContentError:
            raise
        except SizeLimitExceededError as error:
            raise SkillRefusedError("too_large", str(error)) from error
        except SkillsUseError as error:
            raise SkillRefusedError("read_error", str(error)) from error
        self.check_size(identity, text)
        return text, resources

    def check_size(self, identity: str, text: str) -> None:
        """Raise SkillRefusedError if instructions exceed the limit."""
        # A text has at most about two tokens per character: short ones need not be counted.
        if len(text) * 2 > self.max_tokens and (tokens := self.counter.count(text)) > self.max_tokens:
            raise SkillRefusedError(
                "too_large",
                f"The instructions of '{identity}' have about {tokens:,} tokens; the limit is "
                f"{self.max_tokens:,} (SKILL_MAX_INSTRUCTION_TOKENS). Read them page by page: "
                "read_skill_resource with path SKILL.md",
            )

    def _not_found(self, name: str) -> str:
        shown = cut(one_line(name), 80)
        offered = [skill_id(skill) for skill in self.manager.offered_skills()]
        close = (
            get_close_matches(canonical_name(name), offered, n=3, cutoff=0.6)
            if len(offered) <= _MAX_COMPARED_NAMES
            else []
        )
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        there = (
            f"There are {', '.join(offered)}."
            if 0 < len(offered) <= _MAX_LISTED_NAMES
            else "Use an id from the list of available skills."
        )
        return f"No skill has the id '{shown}'.{hint} {there}"


logger = logging.getLogger(__name__)

_COMMAND = re.compile(r"[/$]([^\s/$]+)(?:\s+(.*))?", re.DOTALL)


class SkillStarter:
    """Delivers skills to sessions, and explains how to start one that runs in a separate conversation."""

    def __init__(self, activator: Activator) -> None:
        self.activator = activator

    def start_ordered(
        self,
        request: str | None,
        session: SkillSession,
        delivered: dict[str, Delivery],
        begun: dict[str, str],
    ) -> str:
        """Start the skill named in the user's `/name arguments`; some skills can only be started this way.

        Return the reason for a refusal; empty on success or without an order. A skill that runs in a separate
        conversation is added to `begun`, with the note for the model.
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
        """Activate the matched skills; an unreadable skill does not affect the others."""
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
                for earlier in unused:  # of those that only scored well, keep the newest
                    session.deactivate(earlier)
                    logger.info("Skill '%s' was never used and makes way for '%s'", earlier, identity)
            if match.certain:
                session.use(identity)
            session.touch(identity)
            activated.append(match)
        return activated


def _runs_alone(skill: SkillMetadata | None, session: SkillSession) -> bool:
    return skill is not None and skill.runs_alone and session.starts_forks
