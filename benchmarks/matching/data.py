"""The libraries and requests that matching is measured on."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.models import SkillMetadata, SourceType

DEFAULT = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "matching"


@dataclass(frozen=True)
class Case:
    """A request, the skills that answer it and those that must not."""

    request: str
    relevant: tuple[str, ...]
    forbidden: tuple[str, ...]


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
        )
        for row in _rows(path / "queries.jsonl")
    )
    return Library(path.name, tuple(skills), bodies, cases)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
