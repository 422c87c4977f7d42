"""Report the skills that each client on this machine sees, and problems with them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkit.core.codec import encode
from skillkit.core.diagnostics import Diagnostic
from skillkit.core.digest import tree_digest
from skillkit.core.discovery import Discovery
from skillkit.core.disk import real_path
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata, SkillSource, SourceType
from skillkit.core.names import canonical_name
from skillkit.install.clients import Client, all_clients, detected_clients
from skillkit.install.context import InstallContext
from skillkit.install.exceptions import Advise, Remedy, plain_advice
from skillkit.install.inspection import verify
from skillkit.install.placement import PlaceState

_DEPTH = 3


@dataclass(frozen=True, slots=True)
class SeenSkill:
    """A skill as a client finds it."""

    name: str
    path: Path
    """Its folder, as the client reaches it."""
    installed_here: bool
    """Whether we placed it, as a link or a known copy."""
    metadata: SkillMetadata


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem and its remedy."""

    code: str
    message: str
    remedy: str
    client: str | None = None


@dataclass(frozen=True, slots=True)
class ClientView:
    """The skills one client sees."""

    id: str
    name: str
    folders: tuple[Path, ...]
    """Those of its folders that exist."""
    skills: tuple[SeenSkill, ...]
    client: Client


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Detected clients, the skills they see, and problems found."""

    clients: tuple[ClientView, ...]
    problems: tuple[Finding, ...]


def diagnose(context: InstallContext, project: Path, advise: Advise = plain_advice) -> Diagnosis:
    """Check every detected client on this machine; nothing is changed."""
    state = context.registry.load()
    places = [place for each in state.places.values() for place in each]
    named = {id_ for place in places for id_ in place.clients}
    known = {client.id: client for client in detected_clients(project)}
    known |= {id_: all_clients()[id_] for id_ in sorted(named) if id_ in all_clients()}
    ours = {place.path for place in places}
    folders: dict[Path, tuple[list[SeenSkill], list[Finding]]] = {}
    views = []
    for client in known.values():
        existing = tuple(path for path in client.searched_folders(project) if path.is_dir())
        for folder in existing:
            if folder not in folders:
                folders[folder] = _look(folder, ours, advise)
        skills = tuple(skill for path in existing for skill in folders[path][0])
        views.append(ClientView(client.id, client.name, existing, skills, client))
    problems = [problem for _, found in folders.values() for problem in found]
    problems += _installed_problems(context, advise)
    for view in views:
        problems += _client_problems(view)
    return Diagnosis(tuple(views), tuple(dict.fromkeys(problems)))


def _look(folder: Path, ours: set[str], advise: Advise) -> tuple[list[SeenSkill], list[Finding]]:
    skills: list[SeenSkill] = []
    problems = []
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if path.is_symlink() and not path.exists():
            remedy = "Delete the link, or install the skill again"
            problems.append(
                Finding("broken-link", f"{path} leads to {os.readlink(path)}, which does not exist", remedy)
            )
    for found in Discovery(max_depth=_DEPTH).discover(SkillSource(SourceType.CUSTOM, folder, 1)):
        if isinstance(found, Diagnostic):
            if found.severity.value == "error":
                message = f"{found.path} cannot be read: {found.message}"
                remedy = advise(Remedy.VALIDATE, str(found.path.parent))
                problems.append(Finding("unreadable", message, remedy))
            continue
        known = str(found.base_dir) in ours
        skills.append(SeenSkill(found.canonical_name, found.base_dir, known, found))
    return skills, problems


def _installed_problems(context: InstallContext, advise: Advise) -> Iterator[Finding]:
    for check in verify(context):
        name = check.skill.name_canonical
        if not check.intact:
            edits = ", ".join(str(edit) for edit in check.edits[:3])
            remedy = advise(Remedy.OVERWRITE_EDITS, name)
            yield Finding("edited", f"The installed {name} was edited: {edits}", remedy)
        for stray in check.strays:
            if stray.state in (PlaceState.MISSING, PlaceState.OLDER, PlaceState.BROKEN):
                remedy = advise(Remedy.UPDATE_AGAIN, name)
            else:
                remedy = (
                    f"Move it away. {advise(Remedy.UPDATE_AGAIN, name)}. Or keep it: nothing overwrites it"
                )
            yield Finding(f"place-{stray.state.name.lower()}", f"{name}: {stray}", remedy)


def _client_problems(view: ClientView) -> Iterator[Finding]:
    by_name: dict[str, list[SeenSkill]] = {}
    for skill in view.skills:
        by_name.setdefault(skill.name, []).append(skill)
        folder = canonical_name(skill.path.name)
        if folder != skill.name:
            message = f"{skill.path} declares the name '{skill.metadata.name}'"
            remedy = "Rename the folder: clients differ in which name they use"
            yield Finding("folder-name", message, remedy)
    for name, skills in by_name.items():
        places = {real_path(skill.path): skill for skill in skills}
        if len(places) > 1:
            yield _double(view.client, name, list(places.values()))
    yield from _over_budget(view)


def _double(client: Client, name: str, skills: Sequence[SeenSkill]) -> Finding:
    listed = " and ".join(str(skill.path) for skill in skills)
    if len({_digest(skill.path) for skill in skills}) == 1:
        remedy = "Keep one of them; the others take space in the list"
        return Finding(
            "double", f"{client.name} sees identical copies of {name}: {listed}", remedy, client.id
        )
    remedy = "Remove or rename one: clients differ in which one they use"
    return Finding(
        "name-clash", f"{client.name} sees different skills named {name}: {listed}", remedy, client.id
    )


def _digest(path: Path) -> str:
    try:
        return tree_digest(real_path(path)).digest
    except SkillsUseError:
        return str(path)


def _over_budget(view: ClientView) -> Iterator[Finding]:
    client = view.client
    if client.listing_chars is None:
        return
    listed = {skill.name: skill for skill in view.skills if not skill.metadata.disable_model_invocation}
    sizes = {
        name: len(name) + len(skill.metadata.description[: client.listing_chars_each])
        for name, skill in listed.items()
    }
    total = sum(sizes.values())
    if total > client.listing_chars:
        longest = ", ".join(sorted(sizes, key=lambda name: -sizes[name])[:3])
        message = (
            f"The list of {client.name} has {total:,} characters for {len(sizes)} skills; about "
            f"{client.listing_chars:,} fit into a window of 200,000 tokens, so descriptions are left out"
        )
        yield Finding(
            "budget", message, f"Remove skills or shorten descriptions; the longest: {longest}", client.id
        )


def diagnosis_data(diagnosis: Diagnosis) -> dict[str, object]:
    """Return the diagnosis as JSON."""
    views = [encode(view, {"client", "metadata"}) for view in diagnosis.clients]
    return {"clients": views, "problems": [encode(problem) for problem in diagnosis.problems]}
