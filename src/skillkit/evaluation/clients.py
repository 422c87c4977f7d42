"""Clients of skills: the header fields each one reads, and its verdict on a file."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from skillkit.core.models import Diagnostic, SkillMetadata
from skillkit.core.names import MAX_NAME
from skillkit.core.text import one_line

CLAUDE_CODE_ENTRY = 1536
DESCRIPTION_BUDGET = 8000
"""Limit of Claude Code (1 % of 200k tokens) and Codex for all descriptions together, in characters."""
_XML = re.compile(r"<[A-Za-z/][^>]*>")
_GUESSED = ("broken-field", "no-header", "unterminated-header")
_RESERVED = ("anthropic", "claude")
_LIMITS = frozenset({"name-format", "name-folder", "description-length", "missing-field", "file-name"})
_SPECIFIED = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_CLAUDE_CODE = frozenset(
    "name description when_to_use argument-hint arguments disable-model-invocation user-invocable "
    "allowed-tools disallowed-tools model effort context agent background hooks paths shell".split()
)
Treatment = Literal["accepts", "warns", "refuses"]
Judgement = tuple[Treatment, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one client on the file."""

    client: str
    outcome: Treatment
    reason: str


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings about the header of one file, and the skill as far as it can be read."""

    skill: SkillMetadata | None
    errors: Sequence[Diagnostic]
    warnings: Sequence[Diagnostic]

    @property
    def codes(self) -> set[str]:
        return {found.code for found in self.errors}

    @property
    def rules(self) -> list[str]:
        """Every rule that is broken, also by an extension of the specification."""
        return sorted(self.codes | {found.code for found in self.warnings})

    @property
    def lacks_description(self) -> bool:
        return any(found.code == "missing-field" and "description" in found.message for found in self.errors)

    @property
    def share(self) -> str:
        length = len(one_line(self.skill.description)) if self.skill else 0
        return f"takes {length} of about {DESCRIPTION_BUDGET:,} characters that all descriptions share"


def _specification(found: Findings) -> Judgement:
    if found.rules:
        return "refuses", f"violates {', '.join(found.rules)}"
    return "accepts", "follows it to the letter"


def _claude_upload(found: Findings) -> Judgement:
    reasons = found.rules
    if found.skill is not None:
        if any(word in found.skill.canonical_name for word in _RESERVED):
            reasons.append(f"the name contains a reserved word ({' or '.join(_RESERVED)})")
        if _XML.search(found.skill.description):
            reasons.append("the description contains XML tags")
    if reasons:
        return "refuses", f"takes the six specified fields only: {', '.join(reasons)}"
    return "accepts", "only specified fields"


def _claude_code(found: Findings) -> Judgement:
    """Judge as Claude Code, which accepts every file and ignores invalid parts of a header."""
    if "yaml" in found.codes:
        return "warns", "the header is not YAML and counts as empty: only /name starts it, no request matches"
    if found.skill is None or "header" in found.codes or found.lacks_description:
        return "warns", "takes the first paragraph for the description"
    if len(one_line(found.skill.description)) > CLAUDE_CODE_ENTRY:
        return "warns", f"cuts the description at {CLAUDE_CODE_ENTRY}"
    return "accepts", found.share


def _codex(found: Findings) -> Judgement:
    """Judge as Codex, which repairs missing quotes, requires a description, and checks only lengths."""
    if found.lacks_description:
        return "refuses", "there is no description, so the skill is left out"
    noted = {each.code for each in found.skill.diagnostics} if found.skill else set[str]()
    lacks_only_name = "missing-name" in noted and noted.isdisjoint(_GUESSED)
    if found.skill is None or (found.skill.recovered and not lacks_only_name):
        return "refuses", "the header cannot be read, so the skill is left out"
    if len(found.skill.name) > MAX_NAME:
        return "refuses", f"the name is longer than {MAX_NAME} characters"
    if "file-name" in found.codes:
        return "warns", "may leave it out: file-name"
    return "accepts", f"{'puts quotes around a value; ' if 'yaml' in found.codes else ''}{found.share}"


def _vs_code(found: Findings) -> Judgement:
    """Judge as VS Code, which enforces the limits of the specification and ignores unknown fields."""
    if found.skill is None or found.skill.recovered:
        return "refuses", "the header cannot be read, so the skill is left out"
    if broken := sorted(found.codes & _LIMITS):
        return "warns", f"may leave it out: {', '.join(broken)}"
    return "accepts", ""


@dataclass(frozen=True, slots=True)
class ClientRules:
    """The header fields that one client of skills reads, and its verdict."""

    title: str
    """The name of its verdict."""
    judge: Callable[[Findings], Judgement]
    acts_on: frozenset[str] = _SPECIFIED
    refuses_others: bool = False
    """Whether it refuses other fields; else it ignores them."""
    folder: str = ""
    """Where it reads skills; an unreadable one is left out."""

    def treatment(self, field: str) -> str:
        """Return how the client treats a field."""
        if field in self.acts_on:
            return "used"
        return "refused" if self.refuses_others else "ignored"

    def verdict(self, found: Findings) -> Verdict:
        unreadable = [each.message for each in found.errors if each.code == "unreadable"]
        if self.folder and unreadable:
            return Verdict(self.title, "refuses", f"{unreadable[0]}, so the skill is left out")
        outcome, reason = self.judge(found)
        if self.folder and outcome != "refuses":
            reason = "; ".join(filter(None, (f"reads {self.folder}", reason)))
        return Verdict(self.title, outcome, reason)


CLIENTS = MappingProxyType(
    {
        "spec": ClientRules("Agent Skills specification", _specification, refuses_others=True),
        "claude.ai": ClientRules("claude.ai upload", _claude_upload, refuses_others=True),
        "claude-code": ClientRules("Claude Code", _claude_code, _CLAUDE_CODE, folder=".claude/skills"),
        "codex": ClientRules(
            "Codex", _codex, frozenset({"name", "description", "metadata"}), folder=".agents/skills"
        ),
    }
)
"""Rules by the argument of `--for`."""
_OTHERS = (ClientRules("VS Code", _vs_code, folder=".agents/skills"),)


def verdicts(found: Findings) -> tuple[Verdict, ...]:
    """Return the verdict of every client."""
    return tuple(client.verdict(found) for client in (*CLIENTS.values(), *_OTHERS))


def treatments(client: str, fields: Iterable[str]) -> dict[str, str]:
    """Return how one client treats each field: used, ignored or refused."""
    return {field: CLIENTS[client].treatment(field) for field in fields}
