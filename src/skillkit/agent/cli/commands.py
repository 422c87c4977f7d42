"""The slash commands of the chat."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit.agent.cli import output
from skillkit.agent.cli.overview import none_active, obstacle
from skillkit.agent.conversations import as_markdown, text_of
from skillkit.core.authority import Authority, Requester, WrappedAuthority
from skillkit.core.availability import Refusal
from skillkit.core.events import Kind
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.names import canonical_name
from skillkit.core.text import count_of, escape_hidden
from skillkit.disclosure.tools import Argument
from skillkit.matching import SkillMatcher

if TYPE_CHECKING:
    from skillkit.agent.runtime import AgentRuntime

NO_SHELL = (
    "There is no !command: the agent runs scripts of skills only. Use your shell, and @FILE to show a file."
)
MAX_FILE = 200_000


class ConversationAuthority(WrappedAuthority):
    """The authority of one chat: skills that the user turned on or off in it."""

    def __init__(self, base: Authority) -> None:
        super().__init__(base)
        self.on: set[str] = set()
        self.off: set[str] = set()

    def offer_refusal(self, skill: SkillMetadata, requester: Requester) -> Refusal | None:
        if skill.canonical_name in self.off:
            return Refusal("disabled", "it was turned off in this conversation")
        refusal = self.base.offer_refusal(skill, requester)
        disabled = refusal is not None and refusal.code == "disabled"
        return None if disabled and skill.canonical_name in self.on else refusal


class SkillSwitches:
    """`/skills on|off|pin|unpin NAME`: switches for this conversation only."""

    def __init__(self, runtime: "AgentRuntime") -> None:
        self.runtime = runtime
        self.pinned: set[str] = set()
        authority = runtime.manager.authority
        self.authority = (
            authority if isinstance(authority, ConversationAuthority) else ConversationAuthority(authority)
        )
        runtime.manager.authority = self.authority

    def take_over(self, other: "SkillSwitches") -> None:
        """Keep the switches when the conversation changes its model."""
        self.pinned |= other.pinned
        self.authority.on |= other.authority.on
        self.authority.off |= other.authority.off

    async def do(self, words: str) -> None:
        """Run a `/skills` command; without arguments list the skills."""
        action, _, name = words.partition(" ")
        if action:
            await self.change(action, name.strip())
        else:
            self.show()

    async def change(self, action: str, name: str) -> None:
        skill = self.runtime.manager.get_skill(name)
        identity = skill.canonical_name
        match action:
            case "on":
                self.authority.off.discard(identity)
                self.authority.on.add(identity)
            case "off":
                self.authority.on.discard(identity)
                self.authority.off.add(identity)
                self.pinned.discard(identity)
                self.runtime.skills.session.deactivate(identity)
            case "pin":
                await self._pin(identity)
            case "unpin":
                self.pinned.discard(identity)
                self.runtime.skills.session.deactivate(identity)
            case _:
                raise SkillsUseError(f"/skills knows on, off, pin and unpin, not '{action}'")
        output.say(f"{escape_hidden(skill.name)}: {self._state(skill)}")

    async def _pin(self, identity: str) -> None:
        session = self.runtime.skills.session
        if session.get(identity) is None:
            tools = self.runtime.skills.provider.tools(session)
            load = next(tool for tool in tools if tool.event is Kind.LOADED)
            result = await load.call({Argument.SKILL: identity})
            if session.get(identity) is None:
                raise SkillsUseError(f"{identity} cannot be pinned: {result.text}")
        session.bring_back(
            identity
        )  # its text follows with the next message, whatever becomes of the earlier ones
        self.pinned.add(identity)

    def before_turn(self) -> None:
        """Keep pinned skills from being dropped in a long conversation."""
        for identity in sorted(self.pinned):
            self.runtime.skills.session.touch(identity)

    def show(self) -> None:
        skills = self.runtime.manager.list_skills()
        rows = [
            (skill.name, self._state(skill), output.summary(skill.description, 120))
            for skill in skills
            if self.runtime.manager.refusal(skill) is None or skill.canonical_name in self.authority.off
        ]
        if rows:
            output.table(("Skill", "Now", "Description"), rows, flexible="Description")
        else:
            output.say(none_active(map(self.runtime.manager.refusal, skills)), whole=True)

    def _state(self, skill: SkillMetadata) -> str:
        refusal = self.runtime.manager.refusal(skill)
        if refusal is not None:
            return "off" if skill.canonical_name in self.authority.off else refusal.reason
        if skill.canonical_name in self.pinned:
            return "pinned"
        return "in use" if skill.canonical_name in self.runtime.active_skills else "on"


def compact(runtime: "AgentRuntime") -> None:
    before, after = runtime.compact_now()
    if before == after:
        output.say(f"Nothing to compact in the {before:,} tokens of earlier messages.")
        return
    output.say(f"Compacted earlier messages from {before:,} to {after:,} tokens.")


def drop(runtime: "AgentRuntime", name: str) -> None:
    """Stop using a skill in this conversation."""
    session, provider = runtime.skills.session, runtime.skills.provider
    if provider.drop(name, session):
        output.say(f"{escape_hidden(name)} is no longer in use. To use it again: /{escape_hidden(name)}")
        return
    in_use = ", ".join(session.active_ids) or "none"
    output.warn(f"{escape_hidden(name) or 'This skill'} is not in use. In use: {in_use}")


def show_undo(runtime: "AgentRuntime") -> None:
    question = undo(runtime)
    output.say("Nothing to undo." if question is None else f"Forgotten: {escape_hidden(question)}")


def show_why(runtime: "AgentRuntime") -> None:
    """Say why skills were used in the last turn, and how far the others were from it."""
    disclosed = runtime.skills.last
    if disclosed is None:
        output.say("Nothing was asked yet.")
        return
    matched = {match.skill.canonical_name: match for match in disclosed.matched}
    asked = {"role": "user", "content": runtime.skills.session.latest_request}
    nearest = (*disclosed.left_out, *runtime.skills.provider.near([asked], runtime.skills.session))
    near = {match.skill.canonical_name: match for match in nearest}
    explained = SkillMatcher(runtime.manager.list_skills()).explain(str(asked["content"]))
    fitting = {match.skill.canonical_name: match for match in explained.matches}
    near |= fitting | {match.skill.canonical_name: match for match in explained.near}
    rows = []
    for identity in dict.fromkeys((*matched, *disclosed.active, *near)):
        skill = runtime.manager.get_skill(identity)
        refusal = runtime.manager.refusal(skill)
        if identity in matched:
            reason = f"matched ({matched[identity].score:.2f}): {'; '.join(matched[identity].reasons)}"
        elif identity in disclosed.active:
            reason = "in use since an earlier turn, or loaded by the model"
        elif refusal is not None and identity in fitting:
            reason = f"fits ({fitting[identity].score:.2f}) but {obstacle(refusal)}"
        else:
            reason = f"near, but not enough ({near[identity].score:.2f}): {'; '.join(near[identity].reasons)}"
        rows.append((skill.name, reason))
    if rows:
        output.table(("Skill", "Why"), rows, flexible="Why")
    else:
        output.say("No skill came close to the last request.")
    others = len(runtime.manager.list_skills()) - len(rows)
    if others:
        output.say(f"{count_of(others, 'other skill')} did not come near. To see all: agent skill list")


def show_cost(runtime: "AgentRuntime") -> None:
    usage = runtime.trace.totals
    output.say(str(usage))
    if usage.cost is not None:
        output.say(f"cost: {usage.cost:.4f}")


def show_memory(runtime: "AgentRuntime") -> None:
    facts = runtime.memory.all() if runtime.memory is not None else []
    if runtime.memory is None:
        output.say("Nothing is remembered: the setting memory is off.")
    elif facts:
        output.table(("Id", "Fact"), [(fact.id, fact.text) for fact in facts], flexible="Fact")
        output.say("Forget one with: agent memory forget ID")
    else:
        output.say("Nothing is remembered yet.")


def undo(runtime: "AgentRuntime") -> str | None:
    """Remove the last question and everything after it; return the question."""
    messages = runtime.conversation.messages
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") == "user":
            question = text_of(messages[place])
            del messages[place:]
            runtime.conversation.results.clear()
            runtime.save()
            return question
    return None


def export(runtime: "AgentRuntime", name: str) -> None:
    if not runtime.conversation.messages:
        output.say("Nothing to export.")
        return
    path = Path(os.path.expanduser(name or f"conversation-{runtime.conversation.id}.md"))
    if path.exists():
        raise SkillsUseError(f"{path} exists already. Name another file: /export FILE")
    try:
        path.write_text(as_markdown(runtime.conversation), "utf-8")
    except OSError as error:
        raise SkillsUseError(f"{path} cannot be written: {error}") from error
    output.say(f"Wrote {path}", whole=True)


def with_files(text: str) -> str:
    """Return the request with the files that it names as `@FILE` at its end."""
    parts = [text]
    for name in dict.fromkeys(re.findall(r"(?:^|\s)@(\S+)", text)):
        path = Path(os.path.expanduser(name.rstrip(".,;:!?")))
        if not path.exists():
            path = Path(os.path.expanduser(name))
        if path.is_file():
            parts.append(f"File {path}:\n```\n{_contents(path)}\n```")
        elif "/" in name or "." in name:
            raise SkillsUseError(f"There is no file {name}. Nothing was sent")
    return "\n\n".join(parts)


def _contents(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SkillsUseError(f"{path} cannot be read: {error}. Nothing was sent") from error
    if len(data) > MAX_FILE:
        raise SkillsUseError(f"{path} has {len(data):,} bytes; at most {MAX_FILE:,} can be sent")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillsUseError(f"{path} is not UTF-8 text. Nothing was sent") from error


def is_name_of_skill(runtime: "AgentRuntime", command: str) -> bool:
    return runtime.skills.provider.get_skill(canonical_name(command[1:])) is not None
