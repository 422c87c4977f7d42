"""Plans for adding and updating skills: conflicts, requirements, the facts to show, and results."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillkit.core.availability import out_of_range
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata
from skillkit.core.text import escape_hidden, one_line
from skillkit.install.capabilities import Capabilities, capabilities
from skillkit.install.changes import FileChange, diff_lines, file_changes
from skillkit.install.clients import InstallTargets, Place
from skillkit.install.exceptions import InstallError, LocalEditsError, NameConflictError, Remedy
from skillkit.install.fetch import Choice, LoadedSkill, manifest
from skillkit.install.placement import PlaceState
from skillkit.install.proposal import ProposedSkill
from skillkit.install.record import InstalledSkill
from skillkit.install.registry import InstallRegistry
from skillkit.install.registry_state import RegistryState
from skillkit.install.sources.layout import Skipped
from skillkit.install.store import LOW_SPACE, SkillStore
from skillkit.install.tree import ANY_SIZE, SkillTree, read_folder


class AddedSkills(list[InstalledSkill]):
    """The skills that are installed now, and those of the source that were skipped."""

    def __init__(
        self, skills: Iterable[InstalledSkill], left_out: Iterable[Skipped], approved: tuple[Path, ...] = ()
    ) -> None:
        super().__init__(skills)
        self.left_out = tuple(left_out)
        self.approved = approved
        """Folders that were approved where they are, without being installed."""


@dataclass(frozen=True, slots=True)
class SourceListing:
    """The skills a source offers, and those skipped."""

    choices: tuple[Choice, ...]
    left_out: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The result of updating one skill."""

    name: str
    before: InstalledSkill | None = None
    after: InstalledSkill | None = None
    error: SkillsUseError | None = None


def is_installed(state: RegistryState, plan: LoadedSkill) -> bool:
    """Return whether these exact bytes are installed from the same source and approved."""
    old = state.skills.get(plan.skill.name_canonical)
    return old is not None and old.digest == plan.skill.digest and old.same_origin(plan.skill) and old.trusted


def refuse_conflict(state: RegistryState, store: SkillStore, plan: LoadedSkill) -> None:
    """Raise NameConflictError, naming both sources, when the name is taken."""
    new = plan.skill
    old = state.skills.get(new.name_canonical)
    if old is not None and not old.same_origin(new):
        raise NameConflictError(
            f"'{new.name}' is already installed from {old.origin} ({old.version}). "
            f"The new one is {new.origin} ({new.version}).",
            remedy=Remedy.ANOTHER_NAME,
            skill=new.name_canonical,
        )
    if old is not None and old.digest != new.digest:
        raise NameConflictError(
            f"'{new.name}' is already installed from {old.origin} at {old.version}; "
            f"the new one is {new.version} of {new.origin}.",
            remedy=Remedy.UPDATE,
            skill=new.name_canonical,
        )
    if store.occupied(new.name_canonical):
        raise NameConflictError(
            f"'{new.name}' from {new.origin} conflicts with a file or folder you created: "
            f"{store.link(new.name_canonical)}. Move that, or install the skill under another name.",
            remedy=Remedy.ANOTHER_NAME,
        )


def needed_by(state: RegistryState, skill: InstalledSkill) -> tuple[str, ...]:
    """Return notes for a removal: who needs the skill, and what was installed for it alone."""
    name = skill.name_canonical
    users = sorted(other.name for other in state.skills.values() if name in other.needs)
    notes = [f"needed by {', '.join(users)}"] if users else []
    users_of_others = [user for user in state.skills.values() if user.name_canonical != name]
    notes += [
        f"'{other.name}' came for it and nothing else needs that"
        for other in state.skills.values()
        if name in other.came_for and not any(other.name_canonical in user.needs for user in users_of_others)
    ]
    return tuple(notes)


def find_places(
    registry: InstallRegistry,
    state: RegistryState,
    skills: Sequence[InstalledSkill],
    placing: InstallTargets | None,
) -> dict[str, tuple[Place, ...]]:
    """Return the places of each skill in clients' folders. Raises NameConflictError for an occupied one."""
    if placing is None:
        return {}
    places = {skill.name_canonical: placing.places(skill.name_canonical) for skill in skills}
    for skill in skills:
        name = skill.name_canonical
        known = state.digests(name) | {skill.digest}
        for place in places[name]:
            found = registry.placement.state(place, name, skill.digest, known)
            if found in (PlaceState.TAKEN, PlaceState.EDITED):
                raise NameConflictError(
                    f"There is something else called '{name}' already: {place.path}. Move that first, "
                    "or install the skill under another name.",
                    remedy=Remedy.ANOTHER_NAME,
                )
    return places


def refuse_edits(
    skill: InstalledSkill, edits: Sequence[FileChange], so: str = ". Nothing was changed."
) -> None:
    """Raise LocalEditsError when files of an installed skill were edited."""
    if edits:
        listed = ", ".join(str(change) for change in edits[:10])
        raise LocalEditsError(
            f"'{skill.name}' was edited here ({listed}){so}",
            remedy=Remedy.OVERWRITE_EDITS,
            skill=skill.name_canonical,
        )


def refuse_other_versions(plan: LoadedSkill) -> None:
    """Raise InstallError if the skill does not support this version of skillkit."""
    reason = out_of_range(plan.metadata)
    if reason is not None:
        raise InstallError(f"{escape_hidden(reason)}. Nothing was changed.")


def offer(
    tree: SkillTree, metadata: SkillMetadata, known: Container[str], *, name: str, origin: str
) -> ProposedSkill:
    """Describe a skill relative to the `known` ones."""
    return ProposedSkill(
        name=name,
        origin=origin,
        digest=tree.digest.digest,
        description=one_line(metadata.description),
        file_count=len(tree.files),
        size=tree.size,
        capabilities=capabilities(tree, metadata, known),
        instructions=tree.skill_file.decode("utf-8", "replace"),
    )


def offer_of(
    plan: LoadedSkill,
    store: SkillStore,
    known: Container[str],
    old: InstalledSkill | None = None,
    notes: tuple[str, ...] = (),
) -> ProposedSkill:
    """Describe a planned skill relative to the `known` ones, and its changes to the installed version."""
    skill = plan.skill
    free = store.free_space()
    if free < LOW_SPACE:
        notes = (*notes, f"only {free // 1_000_000} MB are free on the disk")
    if skill.mended_from:
        notes = (*notes, f"name derived from '{escape_hidden(skill.mended_from)}'")
    elif skill.declared_name:
        declared = escape_hidden(skill.declared_name)
        notes = (*notes, f"it declares the name '{declared}' and is installed as '{skill.name}'")
    card = offer(plan.tree, plan.metadata, known, name=skill.name, origin=skill.origin)
    new = replace(card, commit=skill.revision, ref=skill.source.follows, notes=notes)
    if old is None:
        return new
    before, older = _as_it_is(store, old, known)
    return replace(
        new,
        previous_commit=old.revision,
        previous_digest=old.digest,
        changes=file_changes(before.digest.files, plan.tree.digest.files),
        diff=tuple(diff_lines(before.contents, plan.tree.contents)),
        capability_changes=tuple(older.difference(new.capabilities)),
    )


def _as_it_is(
    store: SkillStore, skill: InstalledSkill, known: Container[str]
) -> tuple[SkillTree, Capabilities]:
    """Return the skill as it is on disk, edited or not."""
    try:
        tree = read_folder(store.path(skill.stored), ANY_SIZE)
    except SkillsUseError:
        return SkillTree({}), Capabilities()
    try:
        metadata = manifest(tree.skill_file, skill.name_canonical, recover=True)
    except (SkillsUseError, KeyError):
        return tree, Capabilities()
    return tree, capabilities(tree, metadata, known)


def one_for_each_name(plans: Sequence[LoadedSkill], left_out: list[Skipped] | None) -> list[LoadedSkill]:
    """Return one plan for each name: duplicates are merged; of different skills the first is kept.

    The other goes to `left_out`, or is an error where that is None.
    """
    kept: dict[str, LoadedSkill] = {}
    for plan in plans:
        twin = kept.setdefault(plan.skill.name_canonical, plan)
        if twin.skill.digest == plan.skill.digest:
            continue
        if left_out is None:
            raise NameConflictError(
                f"Two skills of the source are named '{plan.skill.name}': {twin.skill.origin} and "
                f"{plan.skill.origin}. Add them one by one, under different names.",
                remedy=Remedy.ANOTHER_NAME,
            )
        reason = f"another skill '{plan.skill.name}' of the source is taken, {twin.skill.subpath}"
        left_out.append(Skipped(plan.skill.subpath, reason))
    return list(kept.values())
