"""The packages that a skill's scripts need and bring no lock for: packages."""

import shlex
import sys
from dataclasses import replace
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Json, Yes, examples
from skillkit.agent.cli.overview import enabled_skills, get_loaded_skill
from skillkit.agent.cli.skill_names import SkillName
from skillkit.agent.cli.typed_ahead import discard_typed_ahead
from skillkit.agent.journal import open_journal
from skillkit.core.digest_memo import tree_digests
from skillkit.core.models import SkillMetadata
from skillkit.core.pythons import header_clauses
from skillkit.core.text import count_of, escape_hidden
from skillkit.install.consents import Consent, ConsentFile, ConsentKind, npm_consent, packages_consent
from skillkit.install.views import needed_package_view, node_project_view
from skillkit.scripts.distributions import normalised
from skillkit.scripts.exceptions import DependencyError
from skillkit.scripts.inline_metadata import InlineMetadata, InlineMetadataError
from skillkit.scripts.needed_packages import (
    KNOWN,
    SAME_NAME,
    MissingPackage,
    chosen_requirements,
    packages_of,
)
from skillkit.scripts.node_packages import NodeProject, locked_names, node_projects_of
from skillkit.scripts.runner import LocalRunner

app = Family()


@app.command(
    "packages",
    short_help="Accept or correct the packages of a skill's scripts.",
    epilog=examples(
        "agent skill packages pdf",
        "agent skill packages pdf --with 'pypdf<6' --without cv2",
        "agent skill packages pdf --yes --before 2026-01-31",
    ),
)
def packages(  # noqa: PLR0917 -- the options of a command
    name: SkillName,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="REQUIREMENT", help="Use this instead of the requirement with the same name."
        ),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Leave out this module or package.")
    ] = None,
    before: Annotated[str, typer.Option(metavar="DATE", help="Use no release newer than this date.")] = "",
    yes: Yes = False,
    json: Json = False,
) -> Result:
    """Accept or correct the packages that a skill's scripts import and do not declare, for its exact bytes.

    They are locked by version and hash, and only ready-made wheels are taken: nothing is built, and nothing
    is ever installed by a guess. For Node.js they are those that its package.json names or its scripts
    import, from npm, whose scripts never run.
    """
    skill = get_loaded_skill(enabled_skills(), name)
    needed = packages_of(skill, strict=True)
    projects = node_projects_of(skill)
    chosen = chosen_requirements(needed, with_ or [], without or [])
    npm = [*dict.fromkeys(each for project in projects for each in project.requirements)]
    view: dict[str, object] = {
        "needed": [needed_package_view(each) for each in needed],
        "npm": [node_project_view(project) for project in projects],
        "accepted": None,
    }
    if not json:
        _show(needed)
        _show_projects(projects)
    listed = [*chosen, *npm]
    if not listed and not json:
        output.say("There is nothing to accept.")
    if not listed or not (yes or _confirmed(listed, json=json)):
        return Result(view, lambda: None)
    digest = tree_digests.with_links(skill.base_dir).digest
    try:
        given = _lock(skill, digest, chosen, projects if npm else [], before)
    except DependencyError as error:
        missing = [each for each in chosen if not _can_be_had(skill, digest, each, before)]
        if not missing or missing == chosen:  # they do not go together, or the index does not answer
            raise
        options = [f"--with={each}" for each in with_ or []]
        options += [f"--without={each}" for each in (*(without or []), *map(normalised, missing))]
        command = shlex.join(("agent", "skill", "packages", skill.canonical_name, *options))
        raise DependencyError(f"{error}\nTo continue without it: {command}") from error
    ConsentFile(journal=open_journal()).grant(*given)
    locks = {each.kind.value: each.detail for each in given}
    view |= {"accepted": listed, "lock": locks.get("packages", ""), "npm_lock": locks.get("npm", "")}
    return Result(view, lambda: _show_given(skill, given))


def _show_given(skill: SkillMetadata, given: list[Consent]) -> None:
    for each in given:
        if each.kind is ConsentKind.NPM:
            words = f"{count_of(len(locked_names(each.detail)), 'package')} of Node.js"
        else:
            words = count_of(sum(1 for line in each.detail.splitlines() if "==" in line), "package")
        output.say(f"Scripts of {escape_hidden(skill.name)} get {words}, locked by hash.")
        output.remark(f"To revoke it: agent config revoke {skill.canonical_name} --kind {each.kind.value}")


def _lock(
    skill: SkillMetadata, digest: str, requirements: list[str], projects: list[NodeProject], before: str
) -> list[Consent]:
    """Resolve everything before anything is granted."""
    runner = LocalRunner()
    name = skill.canonical_name
    given = []
    try:
        if requirements:
            metadata = InlineMetadata.of(requirements, before)
            metadata = replace(metadata, requires_python=header_clauses(skill.requires.python or ""))
            lock = runner.environments.lock(name, metadata)
            given.append(packages_consent(name, digest, requirements, lock))
        if projects:
            locks = {project.folder: runner.node.lock(project, before) for project in projects}
            npm = [each for project in projects for each in project.requirements]
            given.append(npm_consent(name, digest, npm, locks))
    except InlineMetadataError as error:
        raise typer.BadParameter(str(error), param_hint="'--with'") from error
    finally:
        runner.close()
    return given


def _can_be_had(skill: SkillMetadata, digest: str, requirement: str, before: str) -> bool:
    try:
        _lock(skill, digest, [requirement], [], before)
    except DependencyError:
        return False
    return True


def _show(needed: list[MissingPackage]) -> None:
    rows = [(each.module, each.requirement or "?", _reason(each), ", ".join(each.scripts)) for each in needed]
    if rows:
        output.table(("Import", "Package", "Because", "Scripts"), rows, flexible="Scripts")
    if any(each.requirement is None for each in needed):
        output.remark("For those marked ? name the package yourself: --with REQUIREMENT", "yellow")


def _show_projects(projects: list[NodeProject]) -> None:
    rows = [
        (project.folder or ".", ", ".join(project.requirements) or "-", ", ".join(project.scripts))
        for project in projects
    ]
    if rows:
        output.table(("Folder", "Packages of Node.js", "Scripts"), rows, flexible="Scripts")
    undeclared = [each for project in projects for each in project.undeclared]
    if undeclared:
        shown = escape_hidden(", ".join(undeclared))
        output.remark(f"Imported, named in no package.json, and so of any version: {shown}", "yellow")
    for elsewhere in (each for project in projects for each in project.elsewhere):
        output.remark(f"Not from the registry, so it cannot be taken: {escape_hidden(elsewhere)}", "yellow")


def _reason(each: MissingPackage) -> str:
    words = {KNOWN: "known", SAME_NAME: "guess: same name", "": "nobody knows"}
    because = words.get(each.source, f"named in {each.source}")
    return f"{because}, optional" if each.optional else because


def _confirmed(chosen: list[str], *, json: bool) -> bool:
    listed = escape_hidden(", ".join(chosen))
    if json or not sys.stdin.isatty():
        output.remark(f"Nothing was changed. To accept {listed}: pass --yes")
        return False
    discard_typed_ahead()
    return typer.confirm(f"Give the scripts {listed}?", err=True)
