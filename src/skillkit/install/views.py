"""Skills, cards and consents as JSON, for the command line, the inspector and programs.

Values that are written to files and read again have `to_data` and `from_data`; these are for display
and are never read back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit.core.codec import encode
from skillkit.core.models import SkillMetadata, SourceType
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.changes import FileChange
from skillkit.install.consents import Consent
from skillkit.install.enabled import ActivationReport, EnabledSkills, SkillStatus
from skillkit.install.exceptions import UnsafeTreeError
from skillkit.install.inspection import Freshness, Verification
from skillkit.install.placement import PlaceCheck
from skillkit.install.record import InstalledSkill
from skillkit.install.sources.layout import Skipped
from skillkit.install.tree import ANY_SIZE, SkillTree, read_folder
from skillkit.scripts.catalogue import find_scripts
from skillkit.scripts.needed_packages import MissingPackage
from skillkit.scripts.node_packages import NodeProject

if TYPE_CHECKING:
    from skillkit.matching import Match

Data = dict[str, object]


@dataclass(frozen=True, slots=True)
class SkillDetails:
    """Every displayed detail of one skill."""

    status: SkillStatus
    tree: SkillTree
    """Empty where it could not be installed."""
    problem: str
    """Why it could not be installed."""
    card: Capabilities
    tools: Sequence[str]
    """Names that its toolsets declare; nothing of them was imported."""
    edits: Sequence[FileChange]

    @classmethod
    def of(cls, enabled: EnabledSkills, skill: SkillMetadata) -> "SkillDetails":
        """Read the details of `skill` from its current files."""
        from skillkit.toolsets.declared import declared_tools  # costly, and for one skill only

        status = enabled.status(skill)
        problem = ""
        try:
            tree = _packed(read_folder(skill.base_dir, ANY_SIZE), skill)
        except UnsafeTreeError as error:
            tree, problem = SkillTree({}), str(error)
        tools = declared_tools(skill, lambda path: tree.files[path].content if path in tree.files else None)
        record = status.installed
        edits = enabled.registry.store.edits(record.stored, record.files) if record else []
        known = {other.canonical_name for other in enabled.manager.list_skills()}
        card = Capabilities() if problem else capabilities(tree, skill, known)
        return cls(status, tree, problem, card, tools, edits)


def _packed(tree: SkillTree, skill: SkillMetadata) -> SkillTree:
    """Return a bundled skill without the bytecode that installing skillkit left beside it."""
    if skill.source is not SourceType.BUNDLED:
        return tree
    return SkillTree(
        {path: file for path, file in tree.files.items() if "__pycache__" not in path.split("/")}
    )


def status_view(status: SkillStatus) -> Data:
    """Return a skill as JSON for lists."""
    skill, record = status.skill, status.installed
    return {
        "name": skill.name,
        "name_canonical": skill.canonical_name,
        "mended_from": record.mended_from or None if record else None,
        "description": skill.description,
        "version": skill.version,
        "source": skill.source_label,
        "path": str(skill.base_dir),
        "recovered": skill.recovered,
        "active": status.active,
        "refusal": encode(status.refusal) if status.refusal else None,
        "trusted": status.trust.trusted,
        "level": status.trust.level.name.lower(),
        "git_url": record.git_url if record else None,
        "commit_sha": record.commit_sha if record else None,
        "digest": status.trust.digest,
        "script_count": len(find_scripts(status.skill)),
        "toolset_count": len(skill.toolsets),
    }


def details_view(details: SkillDetails) -> Data:
    """Return the details of one skill as JSON."""
    skill = details.status.skill
    return {
        **status_view(details.status),
        "digest": None if details.problem else details.tree.digest.digest,
        "problem": details.problem or None,
        "edits": [encode(edit) for edit in details.edits],
        "scripts": [script.name for script in find_scripts(details.status.skill)],
        "toolsets": list(skill.toolsets),
        "tools": list(details.tools),
        "capabilities": encode(details.card),
        "files": {path: file.size for path, file in sorted(details.tree.digest.files.items())},
        "diagnostics": [encode(problem) for problem in skill.diagnostics],
    }


def report_view(report: ActivationReport) -> Data:
    """Return the activation report as JSON."""
    return {
        "selection": str(report.selection),
        "skills": [status_view(status) for status in report.skills],
        "failed": [encode(found) for found in report.failed],
        "hint": report.hint,
    }


def installed_view(skill: InstalledSkill) -> Data:
    """Return an installed skill as JSON; its earlier versions by identity only."""
    data = skill.to_data()
    data["previous"] = [version.revision or version.digest for version in skill.previous]
    return data


def verification_view(check: Verification) -> Data:
    """Return the verification of an installed skill as JSON."""
    return {
        "name": check.skill.name,
        "intact": check.intact,
        "trusted": check.skill.trusted,
        "digest": check.skill.digest,
        "edits": [encode(edit) for edit in check.edits],
        "places": [place_view(place) for place in check.places],
    }


def place_view(check: PlaceCheck) -> Data:
    """Return the places of a skill in clients' folders, with their state."""
    return {**encode(check.place), "state": check.state.name.lower()}


def freshness_view(item: Freshness) -> Data:
    """Return whether the source has an update, as JSON."""
    return {
        "name": item.skill.name,
        "outdated": item.outdated,
        "commit_sha": item.skill.commit_sha,
        "latest": item.latest,
        "note": item.note,
        "error": item.error or None,
    }


def consent_view(consent: Consent) -> Data:
    """Return the user's consents with their times."""
    return {name: value or None for name, value in encode(consent).items()}


def match_view(match: "Match", enabled: EnabledSkills) -> Data:
    """Return a match with its score and reasons as JSON."""
    refusal = enabled.manager.refusal(match.skill)
    return {
        "name": match.skill.canonical_name,
        "description": match.skill.description,
        "source": match.skill.source_label,
        "score": match.score,
        "reasons": list(match.reasons),
        "active": refusal is None,
        "refusal": encode(refusal) if refusal else None,
    }


def node_project_view(project: NodeProject) -> dict[str, object]:
    """Return the packages that Node.js scripts import, as JSON."""
    return {**encode(project, {"dependencies", "author_lock"}), "packages": project.requirements}


def needed_package_view(each: MissingPackage) -> dict[str, object]:
    """Return an undeclared package that scripts import, and how it was identified."""
    return {
        "module": each.module,
        "package": each.requirement,
        "because": each.source or None,
        "optional": each.optional,
        "scripts": list(each.scripts),
    }


def left_out_view(left_out: Iterable[Skipped]) -> list[dict[str, object]]:
    """Return the skipped skills as JSON."""
    return [encode(left, {"refused"}) for left in left_out]
