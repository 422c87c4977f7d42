"""Checks before a version is published; no script of a skill is run."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillkit.core.codec import encode
from skillkit.core.models import SkillMetadata
from skillkit.core.text import shortened
from skillkit.evaluation.discovery import find_suites, skills_in
from skillkit.evaluation.routing import RoutedCase
from skillkit.evaluation.tester import SkillTester
from skillkit.evaluation.validation import Validation, validate_file
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.exceptions import InstallError
from skillkit.install.fetch import manifest
from skillkit.install.tree import SKILL_FILE, SkillTree, write_tree
from skillkit.matching import Match, SkillMatcher
from skillkit.registry.exceptions import RejectedError
from skillkit.registry.names import check_skill

NEIGHBOURS = 200
OWN_CASES = 100
NEIGHBOUR_CASES = 5
MAX_DESCRIPTION = 1024
_NEAREST_SHOWN = 5
_MAX_PROBLEMS = 50
GROWTH = ("scripts", "hosts", "network", "environment", "secrets", "automatic", "toolsets")
"""Facts of a card whose growth holds a version: scripts, hosts, variables, hooks and toolsets."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A published skill that may compete: its title `owner/skill`, its text and its cases."""

    title: str
    instructions: str
    cases: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class CheckedSkill:
    """A valid skill with its card, reports and routing cases."""

    name: str
    tree: SkillTree
    metadata: SkillMetadata
    card: Capabilities
    report: dict[str, Any]
    """Description, validation, static tests and the number of routing cases."""
    cases: tuple[dict[str, Any], ...]

    @property
    def instructions(self) -> str:
        return self.tree.skill_file.decode("utf-8", "replace")


def check_tree(tree: SkillTree, folder: str) -> CheckedSkill:
    """Validate a skill and run its static tests; without a name in SKILL.md, `folder` is its name.

    Raises RejectedError with every reason.
    """
    if SKILL_FILE not in tree.files:
        raise RejectedError(f"The upload has no {SKILL_FILE} at its top level")
    try:
        metadata = manifest(tree.skill_file, folder)
    except InstallError as error:
        raise RejectedError(str(error)) from error
    name = check_skill(metadata.name)
    with tempfile.TemporaryDirectory(prefix="skillkit-registry-") as place:
        root = Path(place, name)
        write_tree(tree, root)
        validation = validate_file(root / SKILL_FILE)
        if validation.unloadable:
            raise RejectedError(*(found.message for found in validation.unloadable))
        on_disk = [skill for skill in skills_in([root]).list_skills() if skill.base_dir == root]
        tester = SkillTester(on_disk, find_suites([root]), about=name)
        static = [
            {
                "rule": result.id,
                "outcome": result.outcome.value,
                "problems": [str(each) for each in result.problems[:_MAX_PROBLEMS]] or [result.message],
            }
            for result in tester.run_static().results
            if result.outcome.value != "passed"
        ]
        cases = [_case(case) for case in tester.routed() if case.skill == name]
    report = {
        "description": shortened(metadata.description, MAX_DESCRIPTION),
        "validation": _validation(validation),
        "static": static,
        "cases": len(cases),
    }
    card = capabilities(tree, metadata)
    return CheckedSkill(name, tree, metadata, card, report, tuple(cases[:OWN_CASES]))


def _validation(found: Validation) -> dict[str, Any]:
    return {
        "errors": [f"{each.code}: {each.message}" for each in found.errors[:_MAX_PROBLEMS]],
        "warnings": [f"{each.code}: {each.message}" for each in found.warnings[:_MAX_PROBLEMS]],
        "clients": [encode(verdict) for verdict in found.verdicts],
    }


def _case(case: RoutedCase) -> dict[str, Any]:
    return {"request": case.request, "wanted": case.skill in case.wanted}


def route(checked: CheckedSkill, title: str, neighbours: Sequence[Neighbour]) -> dict[str, Any]:
    """Return which of its own cases the skill wins among its neighbours, and which of theirs it takes."""
    bodies = {title: checked.instructions, **{each.title: each.instructions for each in neighbours}}
    library = [_placed(checked.tree.skill_file, title)]
    library += [_placed(each.instructions.encode(), each.title) for each in neighbours]
    matcher = SkillMatcher(library, mode="lexical", body=lambda skill: bodies[_title(skill)])
    own = []
    for case in checked.cases:
        winner = _winner(matcher, case["request"])
        won = (winner == title) == bool(case["wanted"])
        own.append({**case, "won": won, "winner": winner})
    taken = [
        {"skill": neighbour.title, "request": theirs["request"]}
        for neighbour in neighbours
        for theirs in neighbour.cases[:NEIGHBOUR_CASES]
        if theirs["wanted"] and _winner(matcher, theirs["request"]) == title
    ]
    untried = sum(max(len(neighbour.cases) - NEIGHBOUR_CASES, 0) for neighbour in neighbours)
    near = [_title(found.skill) for found in matcher.rank(checked.metadata.description, _NEAREST_SHOWN + 1)]
    return {
        "own": own,
        "taken": taken,
        "nearest": [each for each in near if each != title][:_NEAREST_SHOWN],
        "untried": untried + checked.report["cases"] - len(checked.cases),
    }


def _placed(content: bytes, title: str) -> SkillMetadata:
    """Return the metadata of a skill that is not on disk; its path is the title."""
    return manifest(content, title, recover=True)


def _title(skill: SkillMetadata) -> str:
    return skill.base_dir.as_posix()


def _winner(matcher: SkillMatcher, request: str) -> str:
    found: list[Match] = matcher.match(request, 1)
    return _title(found[0].skill) if found else ""


def growth(before: Capabilities, after: Capabilities) -> list[str]:
    """Return the gains of the card that hold a version for review."""
    gained = []
    for name in GROWTH:
        new = sorted(set(getattr(after, name)) - set(getattr(before, name)))
        gained += [f"{name}: {value}" for value in new]
    return gained
