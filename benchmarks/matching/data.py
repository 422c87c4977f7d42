"""The libraries and requests that matching is measured on."""

import json
import os
import random
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.header import split
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.core.parser import SkillParser

DEFAULT = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "matching"
LABELLED = ("NVIDIA__skills", "coreyhaines31__marketingskills")
"""Repositories of the corpus whose skills are in the labelled libraries."""
SEED = 20261116


@dataclass(frozen=True)
class Case:
    """A request, the skills that answer it and those that must not."""

    request: str
    relevant: tuple[str, ...]
    forbidden: tuple[str, ...]
    kind: str = "trigger"
    """`trigger`: written to be told apart; `work`: out of an evaluation of what the skill makes."""


@dataclass(frozen=True)
class Library:
    """Skills of one origin with the requests written for them."""

    name: str
    skills: tuple[SkillMetadata, ...]
    bodies: dict[str, str]
    cases: tuple[Case, ...]

    def body(self, skill: SkillMetadata) -> str:
        return self.bodies[skill.name]

    @property
    def positive(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.relevant)

    def part(self, name: str, names: Sequence[str]) -> "Library":
        """Only these skills, with the requests that they answer."""
        kept = frozenset(names)
        return Library(
            name,
            tuple(skill for skill in self.skills if skill.name in kept),
            self.bodies,
            tuple(case for case in self.cases if case.relevant and kept.issuperset(case.relevant)),
        )

    def filled(self, others: "Library", size: int) -> "Library":
        """The same requests among `size` skills: strangers are added, and under new names once more."""
        names = {skill.name for skill in self.skills}
        strangers = [skill for skill in others.skills if skill.name not in names]
        random.Random(SEED).shuffle(strangers)
        grown = Library("", tuple(strangers), others.bodies, ()).repeated(size)
        skills = (*self.skills, *grown.skills)[:size]
        return Library(f"{self.name}@{size}", skills, {**grown.bodies, **self.bodies}, self.cases)

    def repeated(self, size: int) -> "Library":
        """`size` skills: these, and under new names once more, as often as it takes."""
        skills: list[SkillMetadata] = []
        bodies: dict[str, str] = {}
        for number in range(size if self.skills else 0):
            round_, place = divmod(number, len(self.skills))
            skill = self.skills[place]
            name = f"{skill.name}-{round_}" if round_ else skill.name
            skills.append(replace(skill, name=name))
            bodies[name] = self.bodies[skill.name]
        return Library(self.name, tuple(skills), bodies, self.cases)


def folder(argument: str | None) -> Path:
    chosen = argument or os.environ.get("SKILLKIT_MATCHING_DATA")
    return Path(chosen) if chosen else DEFAULT


def libraries(data: Path) -> list[Library]:
    """Every folder beneath `data` that has skills and queries."""
    found = sorted(path.parent for path in data.glob("*/skills.jsonl"))
    if not found:
        raise SystemExit(f"No libraries in {data}. Name the folder with --data or SKILLKIT_MATCHING_DATA.")
    return [_library(path) for path in found]


def unneeded(data: Path) -> list[str]:
    """Requests that need no skill."""
    return [row["query"] for row in _rows(data / "no_skill_needed.jsonl")]


def _library(path: Path) -> Library:
    names: dict[str, str] = {}
    skills, bodies = [], {}
    for row in _rows(path / "skills.jsonl"):
        names[row["skill_id"]] = row["name"]
        bodies[row["name"]] = row["body"]
        file = Path(path.name) / row["name"] / "SKILL.md"
        skills.append(SkillMetadata(row["name"], row["description"], file, source=SourceType.CUSTOM))
    cases = tuple(
        Case(
            row["query"],
            tuple(names[skill] for skill in row["relevant"] if skill in names),
            tuple(names[skill] for skill in row["negative_for"] if skill in names),
            row.get("kind", "trigger"),
        )
        for row in _rows(path / "queries.jsonl")
    )
    return Library(path.name, tuple(skills), bodies, cases)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def corpus(data: Path) -> Library | None:
    """The skills of the archives beside `data`, one for each name, none labelled; None without archives."""
    archives = sorted((data.parent / "corpus").glob("corpus-*-manifests.tar.xz"))
    if not archives:
        return None
    skills: dict[str, SkillMetadata] = {}
    bodies: dict[str, str] = {}
    for archive in archives:
        for path, content in _manifests(archive):
            if path.parts[0] in LABELLED:
                continue
            try:
                skill = SkillParser(recover=True).parse(content, path)
                body = content[split(content).body_start :].decode("utf-8")
            except (SkillsUseError, UnicodeDecodeError):
                continue
            if skill.canonical_name not in skills and skill.description:
                plain = SkillMetadata(skill.canonical_name, skill.description, path, source=SourceType.CUSTOM)
                skills[plain.name], bodies[plain.name] = plain, body
    return Library("corpus", tuple(skills.values()), bodies, ())


def held_out(others: Library) -> Library:
    """Requests taken out of descriptions, which lose them: a phrase that the author quotes as typical, or
    a part of a “Use when …” sentence. Short, vague and not written as requests: harder than real ones."""
    chance = random.Random(SEED)
    skills, cases = [], []
    for skill in others.skills:
        text = skill.description
        quoted = [found for found in _QUOTED.findall(text) if len(found.split()) >= 3]
        when = _USE_WHEN.search(text)
        if len(quoted) >= 2:
            request = chance.choice(quoted)
            text = text.replace(request, "")
        elif when and len(text) - len(when.group()) > 60:
            parts = [part for part in _PARTS.split(when.group(1)) if len(part.split()) >= 3]
            request = chance.choice(parts) if parts else ""
            text = text[: when.start()] + text[when.end() :] if parts else text
        else:
            request = ""
        skills.append(replace(skill, description=text))
        if request:
            cases.append(Case(request, (skill.name,), ()))
    return Library("held out", tuple(skills), others.bodies, tuple(cases))


_QUOTED = re.compile(r"\"([^\"\n]{8,80})\"")
_USE_WHEN = re.compile(
    r"(?:^|(?<=[.!?;]\s))\W*(?:use|invoke|activate|trigger)s?\s+(?:this\s+skill\s+|it\s+)?(?:when(?:ever)?|for|if|to)"
    r"\s+(?:the\s+user\s+(?:wants|asks|needs)\s+(?:to\s+|for\s+)?|you\s+(?:need|want)\s+to\s+)?"
    r"([^.\n]{15,200}?)(?=[.\n]|$)",
    re.IGNORECASE,
)
_PARTS = re.compile(r",\s*(?:or\s+|and\s+)?|\s+or\s+")


def _manifests(archive: Path) -> Iterator[tuple[Path, bytes]]:
    with tarfile.open(archive) as packed:
        for member in packed:
            content = packed.extractfile(member) if member.isfile() and member.size < 1_000_000 else None
            if content is not None and member.name.endswith("SKILL.md"):
                yield Path(member.name), content.read()
